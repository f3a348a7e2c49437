"""The derivation that Lark chooses for a text: rules with their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lark import Lark

__all__ = ["Derivation", "DerivationParser"]


@dataclass(frozen=True, eq=False)
class Derivation:
    """A rule in a text.

    Attributes:
        rule: The name of the rule.
        start: The position of its first character; -1 if its text is empty.
        end: The position behind its last character.
        result: What Lark makes of it: a tree, or a token where the rule has `?`.
        parts: The rules in it.
    """

    rule: str
    start: int
    end: int
    result: Any
    parts: tuple[Derivation, ...]

    def walk(self) -> Iterator[tuple[Derivation, bool]]:
        """Iterate over this rule and those in it: each when it begins, with `True`, and when it ends, with `False`."""
        pending = [(self, True)]
        while pending:
            found, begins = pending.pop()
            yield found, begins
            if begins:
                pending.append((found, False))
                pending += [(part, True) for part in reversed(found.parts)]


class DerivationParser:
    """Lark's Earley parser with derivations in place of trees.

    Args:
        lark: The parser, which nothing else uses.
    """

    def __init__(self, lark: Lark) -> None:
        earley: Any = lark.parser.parser
        earley.callbacks = {rule: _recorded(rule, make) for rule, make in earley.callbacks.items()}
        self._lark = lark

    def parse(self, text: str, rule: str) -> Derivation:
        """Return the derivation of a text.

        Raises:
            lark.exceptions.LarkError: The rule does not contain the text.
            RuntimeError: Lark fails to choose a tree (lark-parser/lark#1576).
        """
        found: object = self._lark.parse(text, start=rule)
        if not isinstance(found, Derivation):
            raise TypeError(f"Lark returned {type(found).__name__}")
        return found


def _recorded(rule: Any, make: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Derivation]:
    def record(children: list[Any]) -> Derivation:
        parts = tuple(child for child in children if isinstance(child, Derivation))
        places = [_place(child) for child in children]
        written = [place for place in places if place[0] >= 0]
        start, end = (written[0][0], written[-1][1]) if written else (-1, -1)
        result = make([child.result if isinstance(child, Derivation) else child for child in children])
        return Derivation(str(rule.origin.name), start, end, result, parts)

    return record


def _place(child: Any) -> tuple[int, int]:
    if isinstance(child, Derivation):
        return child.start, child.end
    return child.start_pos, child.end_pos
