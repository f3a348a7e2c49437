"""Regular expressions."""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase, digits

from structkit.targets.grammar import Grammar

__all__ = ["regular_expression"]

_GRAMMAR = r"""
start: alternation
alternation: sequence ("|" sequence)*
sequence: item*
item: ANCHOR | (character | group) QUANTIFIER?
group: "(" (LOOKAROUND | "?:")? alternation ")" | ("(?<=" | "(?<!") character+ ")"
character: PLAIN | "." | ESCAPE | "[" "^"? member+ "]"
member: RANGE | MEMBER | ESCAPE | MEMBER_ESCAPE
ANCHOR: "^" | "$" | "\\b" | "\\B"
LOOKAROUND: "?=" | "?!"
PLAIN: /[^\\.^$*+?{}[\]|()\x00-\x1f\x7f]/
ESCAPE: /\\[dDwWsSnrt\\.^$*+?{}[\]|()\/]/
MEMBER: /[^\\[\]^\-&~|\x00-\x1f\x7f]/
MEMBER_ESCAPE: /\\[\-&~]/
QUANTIFIER: /(?:[*+?]|COUNTS)\??/
RANGE: /RANGES/
"""


def _ranges() -> str:
    """Return a pattern of the ranges of a character class whose ends are in order."""
    alphabets = (ascii_lowercase, ascii_uppercase, digits)
    return "|".join(f"{first}-[{first}-{alphabet[-1]}]" for alphabet in alphabets for first in alphabet)


def _counts() -> str:
    """Return a pattern of `{m}`, `{m,}`, and `{m,n}` with one digit in m, up to two in n, and m <= n."""
    pairs = "|".join(f"{low},(?:[{low}-9]|[1-9][0-9])" for low in digits)
    return rf"\{{(?:[1-9]?[0-9],?|{pairs})\}}"


def regular_expression() -> Grammar[str]:
    r"""Return the grammar of regular expressions: each text passes `re.compile`.

    There are alternatives, groups, lookaheads, lookbehinds of a fixed width, classes, anchors and quantifiers. The
    bounds of a range or of a quantifier are in order. Back-references, names of groups and inline flags are not in the
    language: what they refer to is not context-free. `re` refuses some hundreds of nested groups.

    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> sk.extract(ScriptedModel([r"[A-Z]{2}\d+"]), "Two letters and a number?", sk.grammars.regular_expression())
    '[A-Z]{2}\\d+'
    """
    return Grammar(_GRAMMAR.replace("COUNTS", _counts()).replace("RANGES", _ranges()))
