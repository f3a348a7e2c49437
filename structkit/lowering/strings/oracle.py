"""String oracle based on automata: membership of a text in a string schema, and emptiness of the schema."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from structkit.errors import LimitExceeded, UnsupportedKeyword
from structkit.limits import Limits, Work
from structkit.lowering.strings.raw_text import can_exclude, raw_language, uncertain_formats
from structkit.schema.algebra.intersect_strings import literal_text
from structkit.schema.ir.nodes import Format, String
from structkit.schema.markers.quote import needs_source

if TYPE_CHECKING:
    from structkit.automaton.core.dfa import Dfa

__all__ = ["AutomatonOracle"]

_STEPS_OF_LARGE = 2_500_000
"""Work on an automaton that is too large, until it was seen to be."""


_NO_TEXTS: frozenset[str] = frozenset()


class AutomatonOracle:
    """Answer queries for one dialect of patterns; implements `structkit.schema.algebra.string_oracle.StringOracle`.

    Args:
        python: Whether patterns are in pydantic's dialect; otherwise in that of ECMA-262.
        limits: Bounds patterns and automata; the answer beyond them is `None`. The work for all answers is an error.

    >>> oracle = AutomatonOracle(python=False)
    >>> oracle.contains(String(patterns=("^a",)), "ab"), oracle.is_empty(String(patterns=("^a$",), forbidden=("a",)))
    (True, True)
    """

    def __init__(self, *, python: bool, limits: Limits = Limits()) -> None:  # noqa: B008
        self._python = python
        self._limits = limits
        self._work = Work(limits.work)
        self._counted: set[tuple[String, bool]] = set()

    def contains(self, node: String, text: str) -> bool | None:
        """Return whether a text is one of the strings; `None` if unknown."""
        if len(text) < node.min_length or (node.max_length is not None and len(text) > node.max_length):
            return False
        if text.endswith("\n"):  # in some dialects `$` also stands before a last line break
            literals, allowed, patterns = _NO_TEXTS, node.patterns, node.forbidden
        else:
            literals, patterns = _forbidden(node)
            texts = [literal_text(pattern) for pattern in node.patterns]
            if text in literals or any(known is not None and known != text for known in texts):
                return False
            allowed = tuple(
                pattern for pattern, known in zip(node.patterns, texts, strict=True) if known is None
            )
        # One automaton per part, without lengths, is smaller than the product.
        required = [String(patterns=(pattern,)) for pattern in allowed]
        if not text.isascii():  # half of a surrogate pair is no text
            required.append(String())
        required += [String(format=each) for each in node.formats]
        forbidden = (
            *(String(patterns=(pattern,)) for pattern in patterns),
            *(String(format=each) for each in node.forbidden_formats),
        )
        if not required and not forbidden:
            return True
        encoded = text.encode("utf-8", "surrogatepass")
        answers = [self._answer(part, lambda dfa: dfa.accepts(encoded)) for part in required]
        for part in forbidden:
            answer = self._answer(part, lambda dfa: dfa.accepts(encoded))
            answers.append(None if answer is None else not answer)
        return False if False in answers else None if None in answers else True

    def is_empty(self, node: String) -> bool | None:
        """Return whether there is no such string; `None` if unknown."""
        nonempty = self._answer(node, lambda dfa: None if dfa.min_count else not dfa.is_empty)
        return None if nonempty is None else not nonempty

    def can_exclude(self, given: Format) -> bool:
        """Return whether strings that are not of a format can be generated."""
        return can_exclude(given)

    def _answer(self, node: String, query: Callable[[Dfa], bool | None]) -> bool | None:
        """Return the answer of the automaton; `False` only if the automaton of the widened language agrees."""
        if any(map(needs_source, (*node.formats, *node.forbidden_formats))):
            return None
        answer = self._query(node, query, widened=False)
        if answer is False and uncertain_formats(node):
            return None if self._query(node, query, widened=True) is not False else False
        return answer

    def _query(self, node: String, query: Callable[[Dfa], bool | None], *, widened: bool) -> bool | None:
        dfa = _automaton(node, self._python, widened, self._limits)
        if (node, widened) not in self._counted:
            self._counted.add((node, widened))
            steps = _STEPS_OF_LARGE if dfa is None else dfa.steps
            self._work.pay(steps, "the work on the automata of all patterns")
        return None if dfa is None else query(dfa)


@lru_cache(maxsize=64)
def _forbidden(node: String) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the texts that a node forbids one by one, of which there can be thousands, and its other patterns."""
    texts = [literal_text(pattern) for pattern in node.forbidden]
    others = (pattern for pattern, text in zip(node.forbidden, texts, strict=True) if text is None)
    return frozenset(text for text in texts if text is not None), tuple(others)


@lru_cache(maxsize=1024)
def _automaton(node: String, python: bool, widened: bool, limits: Limits) -> Dfa | None:
    """Return the automaton of the texts; `None` if it is too large or unsupported."""
    # Most schemas make no query: import the compiler on first use.
    from structkit.automaton.construct.compile_rule import rule_dfa

    try:
        return rule_dfa(raw_language(node, python=python, widened=widened, limits=limits), limits)
    except (LimitExceeded, UnsupportedKeyword):
        return None
