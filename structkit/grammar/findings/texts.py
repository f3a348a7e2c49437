"""Texts of findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structkit.grammar.syntax.lark_grammar import LarkGrammar

__all__ = ["Names", "by_length", "joined", "tightened", "written_rule"]


class Names:
    """The symbols of a grammar as its author wrote them.

    Args:
        grammar: The grammar.
    """

    def __init__(self, grammar: LarkGrammar) -> None:
        self._grammar = grammar

    def shown(self, name: str) -> str:
        """Return a symbol as the grammar writes it: the text of a terminal without a name, the rule of a repetition."""
        written = written_rule(name)
        if written != name:
            return f"the repetition in {written}"
        return self._literals.get(name, name)

    @cached_property
    def _literals(self) -> dict[str, str]:
        """The texts of terminals whose names Lark has made."""
        text = self._grammar.text
        found = {}
        for terminal in self._grammar.lark.terminals:
            literal = terminal.pattern.raw
            if literal and literal in text and not re.search(rf"(?<!\w){terminal.name}(?!\w)", text):
                found[terminal.name] = literal
        return found


def by_length(text: str) -> tuple[int, str]:
    """Return a key that sorts shorter texts first."""
    return len(text), text


def tightened(parts: Sequence[str], gaps: Sequence[str], is_wanted: Callable[[str], bool]) -> str:
    """Return a text of parts without what can be left out between them."""
    kept = list(gaps)
    for place, gap in enumerate(gaps):
        kept[place] = ""
        if gap and not is_wanted(joined(parts, kept)):
            kept[place] = gap
    return joined(parts, kept)


def joined(parts: Sequence[str], gaps: Sequence[str]) -> str:
    """Return a text of parts, each but the last one followed by a gap."""
    return "".join(part + gap for part, gap in zip(parts, [*gaps, ""], strict=False))


def written_rule(name: str) -> str:
    """Return the rule for whose repetition Lark made a rule."""
    made = re.fullmatch(r"__(.+)_(?:star|plus)_\d+", name)
    return made[1] if made else name
