"""Decides what a string schema says about one text, or whether it allows any, by the automaton of its texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from structkit.errors import LimitExceeded, UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.strings.raw_text import raw_language, uncertain_formats
from structkit.schema.ir.nodes import String
from structkit.schema.markers.quote import needs_source

if TYPE_CHECKING:
    from structkit.automaton.core.dfa import Dfa

__all__ = ["AutomatonOracle"]


class AutomatonOracle:
    """Answers for the schemas of one dialect; see `structkit.schema.algebra.string_oracle.Texts`.

    Args:
        python: Whether patterns are those of pydantic, and not of ECMA-262.
        limits: Bounds patterns and automata; what is beyond has no answer.

    >>> texts = AutomatonOracle(python=False)
    >>> texts.contains(String(patterns=("^a",)), "ab"), texts.is_empty(String(patterns=("^a$",), forbidden=("a",)))
    (True, True)
    """

    def __init__(self, *, python: bool, limits: Limits = Limits()) -> None:  # noqa: B008
        self._python = python
        self._limits = limits

    def contains(self, node: String, text: str) -> bool | None:
        """Whether a text is one of the strings."""
        if len(text) < node.min_length or (node.max_length is not None and len(text) > node.max_length):
            return False
        encoded = text.encode("utf-8", "surrogatepass")
        # One automaton for each part, and not their product; without the lengths nothing is counted either.
        required = (*(String(patterns=(pattern,)) for pattern in node.patterns), String(format=node.format))
        banned = (
            *(String(patterns=(pattern,)) for pattern in node.forbidden),
            *(String(format=each) for each in node.forbidden_formats),
        )
        answers = [self._decided(part, lambda dfa: dfa.accepts(encoded)) for part in required]
        for part in banned:
            answer = self._decided(part, lambda dfa: dfa.accepts(encoded))
            answers.append(None if answer is None else not answer)
        return False if False in answers else None if None in answers else True

    def is_empty(self, node: String) -> bool | None:
        """Whether there is no such string."""
        some = self._decided(node, lambda dfa: None if dfa.min_count else not dfa.is_empty)
        return None if some is None else not some

    def _decided(self, node: String, query: Callable[[Dfa], bool | None]) -> bool | None:
        """What the automaton says; it says no only if that of all texts that the formats may mean does too."""
        if (node.format is not None and needs_source(node.format)) or any(
            map(needs_source, node.forbidden_formats)
        ):
            return None
        answer = self._asked(node, query, widened=False)
        if answer is False and uncertain_formats(node):
            return None if self._asked(node, query, widened=True) is not False else False
        return answer

    def _asked(self, node: String, query: Callable[[Dfa], bool | None], *, widened: bool) -> bool | None:
        dfa = _automaton(node, self._python, widened, self._limits)
        return None if dfa is None else query(dfa)


@lru_cache(maxsize=1024)
def _automaton(node: String, python: bool, widened: bool, limits: Limits) -> Dfa | None:
    """The automaton of the texts, unless it would be too large or cannot be said."""
    # Most schemas ask nothing, and then nothing is compiled.
    from structkit.automaton.construct.compile_rule import rule_dfa

    try:
        return rule_dfa(raw_language(node, python=python, widened=widened, limits=limits), limits)
    except (LimitExceeded, UnsupportedKeyword):
        return None
