"""Decides what a string schema says about one text, or whether it allows any, by the automaton of its texts."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from structkit.errors import LimitExceeded, UnsupportedKeyword
from structkit.limits import Limits
from structkit.regex.texts import string_texts
from structkit.schema.nodes import String

if TYPE_CHECKING:
    from structkit.automaton.dfa import Dfa

__all__ = ["AutomatonTexts"]


class AutomatonTexts:
    """Answers for the schemas of one dialect; see `structkit.schema.texts.Texts`.

    Args:
        python: Whether patterns are those of pydantic, and not of ECMA-262.
        limits: Bounds patterns and automata; what is beyond has no answer.

    >>> texts = AutomatonTexts(python=False)
    >>> texts.holds(String(patterns=("^a",)), "ab"), texts.is_empty(String(patterns=("^a$",), forbidden=("a",)))
    (True, True)
    """

    def __init__(self, *, python: bool, limits: Limits = Limits()) -> None:  # noqa: B008
        self._python = python
        self._limits = limits

    def holds(self, node: String, text: str) -> bool | None:
        """Whether a text is one of the strings."""
        if len(text) < node.min_length or (node.max_length is not None and len(text) > node.max_length):
            return False
        # Without the lengths nothing is counted, and one automaton serves for all of them.
        dfa = _automaton(replace(node, min_length=0, max_length=None), self._python, self._limits)
        return None if dfa is None else dfa.accepts(text.encode("utf-8", "surrogatepass"))

    def is_empty(self, node: String) -> bool | None:
        """Whether there is no such string."""
        dfa = _automaton(node, self._python, self._limits)
        return None if dfa is None or dfa.least else dfa.is_empty


@lru_cache(maxsize=1024)
def _automaton(node: String, python: bool, limits: Limits) -> Dfa | None:
    """The automaton of the texts, unless it would be too large or cannot be said."""
    # Most schemas ask nothing, and then nothing is compiled.
    from structkit.automaton.build import rule_dfa

    try:
        return rule_dfa(string_texts(node, python=python, limits=limits), limits)
    except (LimitExceeded, UnsupportedKeyword):
        return None
