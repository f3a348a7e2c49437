"""`unevaluatedProperties` and `unevaluatedItems`: keys and items that no adjacent keyword evaluates.

The evaluated keys and items depend on the alternatives that a value matches (core, sections 11.2 and 11.3). A schema is
therefore a union over the combinations of alternatives, each with the keys and items it evaluates. Several alternatives
can match at once; their combination is a separate member of the union. A member that evaluates less is only stricter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from structkit.errors import UnsupportedKeyword
from structkit.schema.ir.constructors import union
from structkit.schema.ir.nodes import Anything, Array, Boolean, Null, Number, Schema, String
from structkit.schema.ir.path import SchemaPath
from structkit.schema.json_schema.applicators import having
from structkit.schema.json_schema.parse_types import ParseContext, parse_type

__all__ = ["Evaluated", "UnevaluatedContext", "without_unevaluated"]

_MAX_PATHS = 64
"""Maximum number of combinations of alternatives in one schema."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The keys and items that keywords evaluate.

    Attributes:
        properties: Keys by name.
        patterns: Patterns of the names of evaluated keys.
        all_properties: Whether all keys are evaluated.
        prefix: Number of evaluated items at the start.
        all_items: Whether all items are evaluated.
        matching: Items that match one of these schemas are evaluated.
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
    """The keys and items that are evaluated for values that satisfy all conditions."""

    conditions: frozenset[Schema] = frozenset()
    evaluated: Evaluated = Evaluated()


class UnevaluatedContext(ParseContext, Protocol):
    """The part of the schema parser that this module depends on."""

    contains_evaluates: bool

    def reference_targets(
        self, raw: Mapping[str, object], path: SchemaPath
    ) -> Iterator[tuple[tuple[str, ...], object, SchemaPath]]:
        """Iterate over the targets of the references of a schema: pointer, schema and path."""


def _unevaluated_schema(
    evaluated: Evaluated, raw: Mapping[str, object], path: SchemaPath, parser: UnevaluatedContext
) -> Schema:
    """Return the values whose unevaluated keys and items match the `unevaluated*` keywords of a schema."""
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


def without_unevaluated(
    raw: Mapping[str, object], node: Schema, path: SchemaPath, parser: UnevaluatedContext
) -> Schema:
    """Return the values of `node` whose unevaluated keys and items match the `unevaluated*` keywords."""
    possible = (
        parser.intersect(
            (node, *option.conditions, _unevaluated_schema(option.evaluated, raw, path, parser)), path
        )
        for option in _evaluated_paths(raw, path, parser)
    )
    return union(possible, "unevaluatedProperties or unevaluatedItems forbids a required key or item")


def _evaluated_paths(
    raw: object,
    path: SchemaPath,
    parser: UnevaluatedContext,
    open_pointers: frozenset[tuple[str, ...]] = frozenset(),
) -> list[EvaluatedPath]:
    """Return the combinations of alternatives of a schema; its own `unevaluated*` keywords do not count.

    Raises:
        UnsupportedKeyword: There are too many combinations.
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
    """Return the combinations of a subschema; its `unevaluated*` keywords evaluate all remaining keys and items."""
    closed = Evaluated()
    if isinstance(raw, Mapping):
        closed = Evaluated(all_properties="unevaluatedProperties" in raw, all_items="unevaluatedItems" in raw)
    return [
        EvaluatedPath(option.conditions, option.evaluated | closed)
        for option in _evaluated_paths(raw, path, parser, open_pointers)
    ]


def _directly_evaluated(raw: Mapping[str, object], path: SchemaPath, parser: UnevaluatedContext) -> Evaluated:
    """Return the keys and items that the keywords of a schema evaluate directly."""
    names, patterns = raw.get("properties"), raw.get("patternProperties")
    prefix, items = raw.get("prefixItems"), raw.get("items")
    if isinstance(items, list | tuple):
        prefix, items = items, raw.get("additionalItems")
    matching: frozenset[Schema] = frozenset()
    if "contains" in raw and parser.contains_evaluates:
        matching = frozenset({parser.parse(raw["contains"], path.child("contains"))})
    return Evaluated(
        properties=frozenset(names) if isinstance(names, Mapping) else frozenset(),
        patterns=frozenset(patterns) if isinstance(patterns, Mapping) else frozenset(),
        all_properties="additionalProperties" in raw,
        prefix=len(prefix) if isinstance(prefix, list | tuple) else 0,
        all_items=items is not None,
        matching=matching,
    )


def _choices(
    raw: Mapping[str, object],
    path: SchemaPath,
    parser: UnevaluatedContext,
    open_pointers: frozenset[tuple[str, ...]],
) -> Iterator[list[EvaluatedPath]]:
    """Iterate over the groups of subschemas that apply to the same value; each is a list of combinations."""
    for pointer, schema, target_path in parser.reference_targets(raw, path):
        if pointer not in open_pointers:
            yield _subschema_paths(schema, target_path, parser, open_pointers | {pointer})

    def optional_paths(keyword: str, part: int | str | None = None) -> list[EvaluatedPath]:
        """Return the combinations of an optional subschema."""
        here = path.child(keyword, part)
        schema = raw[keyword] if part is None else raw[keyword][part]  # type: ignore[index]
        inner = _subschema_paths(schema, here, parser, open_pointers)
        if all(option.evaluated == Evaluated() for option in inner):
            return []
        condition = frozenset({parser.parse(schema, here)})
        return [EvaluatedPath(option.conditions | condition, option.evaluated) for option in inner]

    for index in range(len(_list(raw, "allOf"))):
        yield _subschema_paths(raw["allOf"][index], path.child("allOf", index), parser, open_pointers)  # type: ignore[index]
    for index in range(len(_list(raw, "anyOf"))):
        yield [*optional_paths("anyOf", index), EvaluatedPath()]
    yield [
        *(option for index in range(len(_list(raw, "oneOf"))) for option in optional_paths("oneOf", index)),
        EvaluatedPath(),
    ]
    for name in _names(raw, "dependentSchemas"):
        with_name = frozenset({having([name])})
        yield [
            *(
                EvaluatedPath(option.conditions | with_name, option.evaluated)
                for option in optional_paths("dependentSchemas", name)
            ),
            EvaluatedPath(),
        ]
    if "if" in raw:
        yield [*_conditional(raw, path, parser, optional_paths), EvaluatedPath()]


class _OptionalPaths(Protocol):
    def __call__(self, keyword: str, part: int | str | None = None) -> list[EvaluatedPath]: ...


def _conditional(
    raw: Mapping[str, object], path: SchemaPath, parser: UnevaluatedContext, optional_paths: _OptionalPaths
) -> Iterator[EvaluatedPath]:
    """Iterate over the combinations of `if` and `then`, and of `else`."""
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
        yield from (EvaluatedPath(option.conditions | unmet, option.evaluated) for option in others)


def _product(
    left: Iterable[EvaluatedPath], right: Iterable[EvaluatedPath], path: SchemaPath
) -> list[EvaluatedPath]:
    """Return the combinations of both, without those that another one makes redundant."""
    pairs = dict.fromkeys(
        EvaluatedPath(one.conditions | other.conditions, one.evaluated | other.evaluated)
        for one in left
        for other in right
    )
    result = [option for option in pairs if not any(_is_better(other, option) for other in pairs)]
    if len(result) > _MAX_PATHS:
        message = (
            "the evaluated keys and items depend on too many alternatives; list the keys or items instead"
        )
        raise UnsupportedKeyword("unevaluatedProperties", message, place=path.text)
    return result


def _is_better(left: EvaluatedPath, right: EvaluatedPath) -> bool:
    """Return whether the first has at most the conditions of the second, evaluates at least as much, and differs."""
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
