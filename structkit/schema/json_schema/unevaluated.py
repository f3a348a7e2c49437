"""What `unevaluatedProperties` and `unevaluatedItems` leave: the keys and items that no keyword beside them looks at.

What is looked at depends on which alternatives a value is one of (core, sections 11.2 and 11.3). So a schema is a union
over the ways in which its alternatives can be satisfied, each with what it looks at. More alternatives than one may
hold at once; what they look at together is a way of its own. A way that looks at less is only stricter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from structkit.errors import UnsupportedKeyword
from structkit.schema.ir.constructors import union
from structkit.schema.ir.nodes import Anything, Array, Boolean, Null, Number, Schema, String
from structkit.schema.ir.path import Place
from structkit.schema.json_schema.parse_types import Subschemas, read_kind

__all__ = ["Applying", "Evaluated", "closing", "ways"]

_MOST = 64
"""Ways in which the alternatives of one schema can be satisfied."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What keywords have looked at.

    Attributes:
        names: Keys by name.
        patterns: Keys by the patterns that their names match.
        every_key: All keys.
        prefix: So many items at the start.
        every_item: All items.
        hits: The items that are among one of these.
    """

    names: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    every_key: bool = False
    prefix: int = 0
    every_item: bool = False
    hits: frozenset[Schema] = frozenset()

    def __or__(self, other: Evaluated) -> Evaluated:
        return Evaluated(
            self.names | other.names,
            self.patterns | other.patterns,
            self.every_key or other.every_key,
            max(self.prefix, other.prefix),
            self.every_item or other.every_item,
            self.hits | other.hits,
        )


@dataclass(frozen=True, slots=True)
class Way:
    """What a value that satisfies the conditions has had looked at."""

    conditions: frozenset[Schema] = frozenset()
    seen: Evaluated = Evaluated()


class Applying(Subschemas, Protocol):
    """What is needed of the reader of the whole schema."""

    contains_evaluates: bool

    def targets(
        self, raw: Mapping[str, object], at: Place
    ) -> Iterator[tuple[tuple[str, ...], object, Place]]:
        """What the references of a schema name: pointer, schema and place."""

    def having(self, name: str) -> Schema:
        """The objects that have a key."""


def closing(seen: Evaluated, raw: Mapping[str, object], at: Place, reader: Applying) -> Schema:
    """The values whose keys and items that were not looked at are what `unevaluated*` of a schema says."""
    rest = True if seen.every_key else raw.get("unevaluatedProperties", True)
    keys: dict[str, object] = {
        "properties": dict.fromkeys(sorted(seen.names), True),
        "patternProperties": dict.fromkeys(sorted(seen.patterns), True),
        "additionalProperties": rest,
    }
    item = True if seen.every_item else raw.get("unevaluatedItems", True)
    items = union((*seen.hits, reader.schema(item, at.under("unevaluatedItems"))))
    arrays = Array((Anything(),) * seen.prefix, items)
    return union((Null(), Boolean(), Number(), String(), arrays, read_kind("object", keys, at, reader)))


def ways(
    raw: object, at: Place, reader: Applying, within: frozenset[tuple[str, ...]] = frozenset()
) -> list[Way]:
    """The ways to satisfy a schema, with what its keywords look at but for its own `unevaluated*`.

    Raises:
        UnsupportedKeyword: There are too many.
    """
    found = [Way()]
    if isinstance(raw, Mapping):
        found = [Way(seen=_own(raw, at, reader))]
        for choice in _choices(raw, at, reader, within):
            found = _product(found, choice, at)
    return found


def _inside(raw: object, at: Place, reader: Applying, within: frozenset[tuple[str, ...]]) -> list[Way]:
    """The ways to satisfy a subschema: its `unevaluated*` look at all that is left."""
    closed = Evaluated()
    if isinstance(raw, Mapping):
        closed = Evaluated(every_key="unevaluatedProperties" in raw, every_item="unevaluatedItems" in raw)
    return [Way(way.conditions, way.seen | closed) for way in ways(raw, at, reader, within)]


def _own(raw: Mapping[str, object], at: Place, reader: Applying) -> Evaluated:
    """What the keywords look at that hold keys and items."""
    names, patterns = raw.get("properties"), raw.get("patternProperties")
    prefix, items = raw.get("prefixItems"), raw.get("items")
    if isinstance(items, list | tuple):
        prefix, items = items, raw.get("additionalItems")
    hits: frozenset[Schema] = frozenset()
    if "contains" in raw and reader.contains_evaluates:
        hits = frozenset({reader.schema(raw["contains"], at.under("contains"))})
    return Evaluated(
        names=frozenset(names) if isinstance(names, Mapping) else frozenset(),
        patterns=frozenset(patterns) if isinstance(patterns, Mapping) else frozenset(),
        every_key="additionalProperties" in raw,
        prefix=len(prefix) if isinstance(prefix, list | tuple) else 0,
        every_item=items is not None,
        hits=hits,
    )


def _choices(
    raw: Mapping[str, object], at: Place, reader: Applying, within: frozenset[tuple[str, ...]]
) -> Iterator[list[Way]]:
    """For each group of subschemas that apply to the same value the ways to satisfy it."""
    for pointer, schema, place in reader.targets(raw, at):
        if pointer not in within:
            yield _inside(schema, place, reader, within | {pointer})

    def under(keyword: str, part: int | str | None = None) -> list[Way]:
        """The ways to satisfy one subschema that need not hold."""
        here = at.under(keyword, part)
        schema = raw[keyword] if part is None else raw[keyword][part]  # type: ignore[index]
        inner = _inside(schema, here, reader, within)
        if all(way.seen == Evaluated() for way in inner):
            return []
        condition = frozenset({reader.schema(schema, here)})
        return [Way(way.conditions | condition, way.seen) for way in inner]

    for index in range(len(_list(raw, "allOf"))):
        yield _inside(raw["allOf"][index], at.under("allOf", index), reader, within)  # type: ignore[index]
    for index in range(len(_list(raw, "anyOf"))):
        yield [*under("anyOf", index), Way()]
    yield [*(way for index in range(len(_list(raw, "oneOf"))) for way in under("oneOf", index)), Way()]
    for name in _names(raw, "dependentSchemas"):
        having = frozenset({reader.having(name)})
        yield [*(Way(way.conditions | having, way.seen) for way in under("dependentSchemas", name)), Way()]
    if "if" in raw:
        yield [*_conditional(raw, at, reader, under), Way()]


class _Under(Protocol):
    def __call__(self, keyword: str, part: int | str | None = None) -> list[Way]: ...


def _conditional(raw: Mapping[str, object], at: Place, reader: Applying, under: _Under) -> Iterator[Way]:
    """The ways of `if` with `then`, and of `else`."""
    here = at.under("if")
    condition = reader.schema(raw["if"], here)
    met = Way(frozenset({condition}))
    yield from _product([*under("if"), met], [*(under("then") if "then" in raw else ()), Way()], at)
    if "else" in raw and (others := under("else")):
        unmet = frozenset({reader.minus(Anything(), condition, here)})
        yield from (Way(way.conditions | unmet, way.seen) for way in others)


def _product(left: Iterable[Way], right: Iterable[Way], at: Place) -> list[Way]:
    """The ways to satisfy both, without those that ask as much as another one and look at no more."""
    pairs = dict.fromkeys(
        Way(one.conditions | other.conditions, one.seen | other.seen) for one in left for other in right
    )
    kept = [way for way in pairs if not any(_is_better(other, way) for other in pairs)]
    if len(kept) > _MOST:
        message = (
            "what is evaluated beside it depends on too many alternatives; list the keys or items instead"
        )
        raise UnsupportedKeyword("unevaluatedProperties", message, place=at.path)
    return kept


def _is_better(left: Way, right: Way) -> bool:
    """Whether the first way asks no more and looks at no less, and is not the same."""
    return left != right and left.conditions <= right.conditions and left.seen | right.seen == left.seen


def _list(raw: Mapping[str, object], keyword: str) -> list[object] | tuple[object, ...]:
    found = raw.get(keyword)
    return found if isinstance(found, list | tuple) else ()


def _names(raw: Mapping[str, object], keyword: str) -> Iterable[str]:
    found = raw.get(keyword)
    return found.keys() if isinstance(found, Mapping) else ()
