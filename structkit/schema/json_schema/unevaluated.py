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
from structkit.schema.ir.path import SchemaPath
from structkit.schema.json_schema.parse_types import ParseContext, parse_type

__all__ = ["Evaluated", "UnevaluatedContext", "evaluated_paths", "unevaluated_schema"]

_MAX_PATHS = 64
"""Ways in which the alternatives of one schema can be satisfied."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What keywords have looked at.

    Attributes:
        properties: Keys by name.
        patterns: Keys by the patterns that their names match.
        all_properties: All keys.
        prefix: So many items at the start.
        all_items: All items.
        matching: The items that are among one of these.
    """

    properties: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    all_properties: bool = False
    prefix: int = 0
    all_items: bool = False
    matching: frozenset[Schema] = frozenset()

    def __or__(self, other: Evaluated) -> Evaluated:
        return Evaluated(
            self.properties | other.properties,
            self.patterns | other.patterns,
            self.all_properties or other.all_properties,
            max(self.prefix, other.prefix),
            self.all_items or other.all_items,
            self.matching | other.matching,
        )


@dataclass(frozen=True, slots=True)
class EvaluatedPath:
    """What a value that satisfies the conditions has had looked at."""

    conditions: frozenset[Schema] = frozenset()
    evaluated: Evaluated = Evaluated()


class UnevaluatedContext(ParseContext, Protocol):
    """What is needed of the reader of the whole schema."""

    contains_evaluates: bool

    def reference_targets(
        self, raw: Mapping[str, object], path: SchemaPath
    ) -> Iterator[tuple[tuple[str, ...], object, SchemaPath]]:
        """What the references of a schema name: pointer, schema and place."""

    def object_with_property(self, name: str) -> Schema:
        """The objects that have a key."""


def unevaluated_schema(
    evaluated: Evaluated, raw: Mapping[str, object], path: SchemaPath, parser: UnevaluatedContext
) -> Schema:
    """The values whose keys and items that were not looked at are what `unevaluated*` of a schema says."""
    rest = True if evaluated.all_properties else raw.get("unevaluatedProperties", True)
    keys: dict[str, object] = {
        "properties": dict.fromkeys(sorted(evaluated.properties), True),
        "patternProperties": dict.fromkeys(sorted(evaluated.patterns), True),
        "additionalProperties": rest,
    }
    item = True if evaluated.all_items else raw.get("unevaluatedItems", True)
    items = union((*evaluated.matching, parser.parse(item, path.child("unevaluatedItems"))))
    arrays = Array((Anything(),) * evaluated.prefix, items)
    return union((Null(), Boolean(), Number(), String(), arrays, parse_type("object", keys, path, parser)))


def evaluated_paths(
    raw: object,
    path: SchemaPath,
    parser: UnevaluatedContext,
    open_pointers: frozenset[tuple[str, ...]] = frozenset(),
) -> list[EvaluatedPath]:
    """The ways to satisfy a schema, with what its keywords look at but for its own `unevaluated*`.

    Raises:
        UnsupportedKeyword: There are too many.
    """
    found = [EvaluatedPath()]
    if isinstance(raw, Mapping):
        found = [EvaluatedPath(evaluated=_directly_evaluated(raw, path, parser))]
        for choice in _choices(raw, path, parser, open_pointers):
            found = _product(found, choice, path)
    return found


def _subschema_paths(
    raw: object, path: SchemaPath, parser: UnevaluatedContext, open_pointers: frozenset[tuple[str, ...]]
) -> list[EvaluatedPath]:
    """The ways to satisfy a subschema: its `unevaluated*` look at all that is left."""
    closed = Evaluated()
    if isinstance(raw, Mapping):
        closed = Evaluated(all_properties="unevaluatedProperties" in raw, all_items="unevaluatedItems" in raw)
    return [
        EvaluatedPath(way.conditions, way.evaluated | closed)
        for way in evaluated_paths(raw, path, parser, open_pointers)
    ]


def _directly_evaluated(raw: Mapping[str, object], path: SchemaPath, parser: UnevaluatedContext) -> Evaluated:
    """What the keywords look at that hold keys and items."""
    names, patterns = raw.get("properties"), raw.get("patternProperties")
    prefix, items = raw.get("prefixItems"), raw.get("items")
    if isinstance(items, list | tuple):
        prefix, items = items, raw.get("additionalItems")
    hits: frozenset[Schema] = frozenset()
    if "contains" in raw and parser.contains_evaluates:
        hits = frozenset({parser.parse(raw["contains"], path.child("contains"))})
    return Evaluated(
        properties=frozenset(names) if isinstance(names, Mapping) else frozenset(),
        patterns=frozenset(patterns) if isinstance(patterns, Mapping) else frozenset(),
        all_properties="additionalProperties" in raw,
        prefix=len(prefix) if isinstance(prefix, list | tuple) else 0,
        all_items=items is not None,
        matching=hits,
    )


def _choices(
    raw: Mapping[str, object],
    path: SchemaPath,
    parser: UnevaluatedContext,
    open_pointers: frozenset[tuple[str, ...]],
) -> Iterator[list[EvaluatedPath]]:
    """For each group of subschemas that apply to the same value the ways to satisfy it."""
    for pointer, schema, place in parser.reference_targets(raw, path):
        if pointer not in open_pointers:
            yield _subschema_paths(schema, place, parser, open_pointers | {pointer})

    def under(keyword: str, part: int | str | None = None) -> list[EvaluatedPath]:
        """The ways to satisfy one subschema that need not hold."""
        here = path.child(keyword, part)
        schema = raw[keyword] if part is None else raw[keyword][part]  # type: ignore[index]
        inner = _subschema_paths(schema, here, parser, open_pointers)
        if all(way.evaluated == Evaluated() for way in inner):
            return []
        condition = frozenset({parser.parse(schema, here)})
        return [EvaluatedPath(way.conditions | condition, way.evaluated) for way in inner]

    for index in range(len(_list(raw, "allOf"))):
        yield _subschema_paths(raw["allOf"][index], path.child("allOf", index), parser, open_pointers)  # type: ignore[index]
    for index in range(len(_list(raw, "anyOf"))):
        yield [*under("anyOf", index), EvaluatedPath()]
    yield [
        *(way for index in range(len(_list(raw, "oneOf"))) for way in under("oneOf", index)),
        EvaluatedPath(),
    ]
    for name in _names(raw, "dependentSchemas"):
        having = frozenset({parser.object_with_property(name)})
        yield [
            *(
                EvaluatedPath(way.conditions | having, way.evaluated)
                for way in under("dependentSchemas", name)
            ),
            EvaluatedPath(),
        ]
    if "if" in raw:
        yield [*_conditional(raw, path, parser, under), EvaluatedPath()]


class _OptionalPaths(Protocol):
    def __call__(self, keyword: str, part: int | str | None = None) -> list[EvaluatedPath]: ...


def _conditional(
    raw: Mapping[str, object], path: SchemaPath, parser: UnevaluatedContext, optional_paths: _OptionalPaths
) -> Iterator[EvaluatedPath]:
    """The ways of `if` with `then`, and of `else`."""
    here = path.child("if")
    condition = parser.parse(raw["if"], here)
    met = EvaluatedPath(frozenset({condition}))
    yield from _product(
        [*optional_paths("if"), met],
        [*(optional_paths("then") if "then" in raw else ()), EvaluatedPath()],
        path,
    )
    if "else" in raw and (others := optional_paths("else")):
        unmet = frozenset({parser.difference(Anything(), condition, here)})
        yield from (EvaluatedPath(way.conditions | unmet, way.evaluated) for way in others)


def _product(
    left: Iterable[EvaluatedPath], right: Iterable[EvaluatedPath], path: SchemaPath
) -> list[EvaluatedPath]:
    """The ways to satisfy both, without those that ask as much as another one and look at no more."""
    pairs = dict.fromkeys(
        EvaluatedPath(one.conditions | other.conditions, one.evaluated | other.evaluated)
        for one in left
        for other in right
    )
    kept = [way for way in pairs if not any(_is_better(other, way) for other in pairs)]
    if len(kept) > _MAX_PATHS:
        message = (
            "what is evaluated beside it depends on too many alternatives; list the keys or items instead"
        )
        raise UnsupportedKeyword("unevaluatedProperties", message, place=path.text)
    return kept


def _is_better(left: EvaluatedPath, right: EvaluatedPath) -> bool:
    """Whether the first way asks no more and looks at no less, and is not the same."""
    return (
        left != right
        and left.conditions <= right.conditions
        and left.evaluated | right.evaluated == left.evaluated
    )


def _list(raw: Mapping[str, object], keyword: str) -> list[object] | tuple[object, ...]:
    found = raw.get(keyword)
    return found if isinstance(found, list | tuple) else ()


def _names(raw: Mapping[str, object], keyword: str) -> Iterable[str]:
    found = raw.get(keyword)
    return found.keys() if isinstance(found, Mapping) else ()
