"""Regular expressions."""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase, digits

from structkit.targets.grammar import Grammar

__all__ = ["counts", "pattern_rules", "ranges", "regular_expression"]

_RULES = r"""
alternation: sequence ("|" sequence)*
sequence: item*
item: ANCHOR | (character | group) QUANTIFIER?
group: "(" (LOOKAROUND | "?:")? alternation ")" | ("(?<=" | "(?<!") character+ ")"
character: PLAIN | "." | ESCAPE | "[" "^"? member+ "]"
member: RANGE | MEMBER | ESCAPE | MEMBER_ESCAPE
ANCHOR: "^" | "$" | "\\b" | "\\B"
LOOKAROUND: "?=" | "?!"
PLAIN: /[^EXCEPT\\.^$*+?{}[\]|()\x00-\x1f\x7f]/
ESCAPE: /\\[dDwWsSnrt\\.^$*+?{}[\]|()\/]/
MEMBER: /[^EXCEPT\\[\]^\-&~|\x00-\x1f\x7f]/
MEMBER_ESCAPE: /\\[\-&~]/
QUANTIFIER: /(?:[*+?]|COUNTS)\??/
RANGE: /RANGES/
"""


def ranges(between: str = "-") -> str:
    """Return a pattern of the ranges of letters or digits whose ends are in order."""
    alphabets = (ascii_lowercase, ascii_uppercase, digits)
    return "|".join(
        f"{first}{between}[{first}-{alphabet[-1]}]" for alphabet in alphabets for first in alphabet
    )


def counts(between: str = ",") -> str:
    """Return a pattern of `m,n` with one digit in m, up to two in n, and m <= n."""
    return "|".join(f"{low}{between}(?:[{low}-9]|[1-9][0-9])" for low in digits)


def pattern_rules(excluded: str = "") -> str:
    """Return the rules of `alternation`, a pattern of `re`, without some characters that are not escaped."""
    quantifier = rf"\{{(?:[1-9]?[0-9],?|{counts()})\}}"
    text = _RULES.replace("EXCEPT", excluded)
    return text.replace("COUNTS", quantifier).replace("RANGES", ranges())


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
    return Grammar(f"start: alternation\n{pattern_rules()}")
