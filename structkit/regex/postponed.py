"""Definitions of a large document that are lowered when a text first comes to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from structkit.regex.languages import is_known
from structkit.regex.nodes import Node
from structkit.regex.plain import is_plain
from structkit.regex.references import Use
from structkit.schema.nodes import (
    Anything,
    Array,
    Boolean,
    Const,
    Integer,
    Null,
    Number,
    Object,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.quote import FORMAT

__all__ = ["GrowingRules", "postponed"]

_LARGE = 200
"""Schemas in the definitions of a document of which some are postponed; fewer are as soon lowered as told apart."""

_WORTH = 4
"""Schemas in a definition that is postponed."""

_ROUNDS = 64
"""Characters that a text must at least have."""

_DIGITS = 10**15
"""What the ends of an integer's range are below, so that its automaton is surely small."""


class GrowingRules(Mapping[str, Node]):
    """Rules by name, of which some are made when they are first asked for.

    Args:
        made: Those that were made, to which the others are added.
        unmade: The names of the others.
        make: Makes one of them, which is none of the others then.
    """

    def __init__(self, made: dict[str, Node], unmade: set[str], make: Callable[[str], None]) -> None:
        self.made = made
        self._unmade = unmade
        self._make = make

    def __getitem__(self, name: str) -> Node:
        if name in self._unmade:
            self._make(name)
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        for name in sorted(self._unmade):
            self._make(name)
        return iter(self.made)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def postponed(definitions: Mapping[str, Schema], uses: Mapping[str, Use], most: int) -> set[str]:
    """The definitions that need not be lowered before a text comes to them.

    Args:
        definitions: The schemas.
        uses: How they are used.
        most: Schemas that the automaton of one rule may hold and still be built late.
    """
    if sum(use.size for use in uses.values()) < _LARGE:
        return set()
    return {
        name for name, use in uses.items() if _WORTH <= use.size <= most and _is_simple(definitions[name])
    }


def _is_simple(schema: Schema) -> bool:
    """Whether it has texts unless what it refers to has none, nothing in it is refused, and its automata are small."""
    pending = [schema]
    while pending:
        match pending.pop():
            case Object() as node:
                if not is_plain(node) or node.any_order or not all(p.name.isascii() for p in node.properties):
                    return False
                pending += [prop.value for prop in node.properties]
                pending += [group.value for group in node.additional]
            case Array() as node:
                if not is_plain(node) or node.unique:
                    return False
                pending += (*node.prefix, node.items)
            case Union(branches) as node:
                if not is_plain(node) or not _differ(branches):
                    return False
                pending += branches
            case String(format=name) as node:
                if name is None:
                    plain = String(min_length=min(node.min_length, _ROUNDS), max_length=node.max_length)
                else:
                    plain = String(format=name)
                if node != plain or (name and (name.startswith(FORMAT) or not is_known(name))):
                    return False
            case Integer() as node:
                ends = [end for end in (node.minimum, node.maximum) if end is not None]
                if not is_plain(node) or any(abs(end) >= _DIGITS for end in ends):
                    return False
            case Number() as node:
                if node != Number():
                    return False
            case Const() as node:
                if not is_plain(node):
                    return False
            case Ref() | Anything() | Boolean() | Null():
                pass
            case _:
                return False
    return True


def _differ(branches: Sequence[Schema]) -> bool:
    """Whether alternatives are told apart by their first character, constants aside."""
    kinds = [type(branch) for branch in branches if not isinstance(branch, Const | Null | Boolean)]
    if Ref in kinds or Anything in kinds:
        return len(kinds) == 1
    return len(set(kinds)) == len(kinds) and not {Integer, Number} <= set(kinds)
