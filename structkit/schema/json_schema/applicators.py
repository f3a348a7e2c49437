"""The keywords of JSON Schema that combine schemas: their members, and the order of the keys that these declare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from structkit.errors import SchemaError
from structkit.schema.ir.constructors import union
from structkit.schema.ir.nodes import ANY_KEYS, Anything, Object, Property, Schema
from structkit.schema.ir.path import SchemaPath

__all__ = ["DEPENDENT_KEYWORDS", "conditional", "dependent", "having", "in_document_order", "members"]


def in_document_order(parts: Iterable[tuple[str, Schema]], raw: Mapping[str, object]) -> list[Schema]:
    """Return nodes in the order of their keywords in a schema, so that the keys of objects have this order.

    The alternatives of `anyOf` are last: most of them restrict keys that the schema declares itself.

    >>> from structkit.schema.ir.nodes import String
    >>> raw = {"anyOf": [], "allOf": [], "properties": {}}
    >>> parts = [("properties", Anything()), ("allOf", String()), ("anyOf", Object())]
    >>> in_document_order(parts, raw) == [String(), Anything(), Object()]
    True
    """
    found = list(parts)
    if len(found) == 1:
        return [found[0][1]]
    if found:
        keywords = [keyword for keyword in raw if keyword != "anyOf"] + ["anyOf"]
        found.sort(key=lambda part: keywords.index(part[0]))
    return [node for _, node in found]


def having(names: Iterable[str]) -> Object:
    """Return the objects with all of some keys."""
    keys = tuple(Property(name, Anything(), in_order=False) for name in names)
    return Object(keys, additional=ANY_KEYS)


def members(raw: Mapping[str, object], keyword: str, path: SchemaPath) -> Sequence[object]:
    """Return the schemas of `allOf`, `anyOf` or `oneOf`.

    Raises:
        SchemaError: The value is no list of schemas, or an empty one.
    """
    found = raw[keyword]
    if not isinstance(found, list | tuple) or not found:
        raise SchemaError(f"{keyword} must be a list of schemas; write [{{}}]", place=path.text)
    return found


def _conditions(
    raw: Mapping[str, object], path: SchemaPath, parse: Callable[[object, SchemaPath], Schema]
) -> Iterator[tuple[Schema, Schema]]:
    """Iterate over the keys that others depend on: the objects with the key, and what applies to them."""
    for keyword in _DEPENDENT:
        entries = raw.get(keyword, {})
        if not isinstance(entries, Mapping) or not all(isinstance(name, str) for name in entries):
            fault = f"{keyword} must map names to names or schemas; write {{'name': ['other']}}"
            raise SchemaError(fault, place=path.text)
        for name, entry in entries.items():
            here = path.child(keyword, name)
            if not isinstance(entry, list | tuple):
                yield having([name]), parse(entry, here)
            elif all(isinstance(other, str) for other in entry):
                yield having([name]), having(dict.fromkeys(map(str, entry)))
            else:
                raise SchemaError(f"{keyword} must list names; write ['name']", place=here.text)


_DEPENDENT = ("dependencies", "dependentRequired", "dependentSchemas")

DEPENDENT_KEYWORDS = frozenset(_DEPENDENT)
"""Keywords whose entries depend on a key."""


class Combining(Protocol):
    """The part of the schema parser that conditions depend on."""

    def parse(self, raw: object, path: SchemaPath) -> Schema:
        """Parse a subschema."""

    def intersect(self, nodes: Iterable[Schema], path: SchemaPath) -> Schema:
        """Return the intersection of nodes."""

    def difference(self, left: Schema, right: Schema, path: SchemaPath) -> Schema:
        """Return the values of `left` that are not values of `right`."""

    def combine(
        self, parts: Sequence[Schema], min_count: int, max_count: int, path: SchemaPath
    ) -> Schema | None:
        """Return the values in the given number of the parts; `None` if combinations are multiplied out."""


def dependent(raw: Mapping[str, object], others: Schema, path: SchemaPath, parser: Combining) -> Schema:
    """Return the values of `others` that meet the keywords whose entries depend on a key."""
    chosen: list[Schema] = []
    for condition, met in _conditions(raw, path, parser.parse):
        option = _choose(condition, met, Anything(), path, parser)
        if option is not None:
            chosen.append(option)
            continue
        others = union(
            (parser.intersect((others, condition, met), path), parser.difference(others, condition, path)),
            "a dependent keyword allows neither objects with the key nor objects without it",
        )
    return parser.intersect((others, *chosen), path)


def conditional(raw: Mapping[str, object], others: Schema, path: SchemaPath, parser: Combining) -> Schema:
    """Return the values of `others` that meet `if`, `then` and `else`."""
    condition = parser.parse(raw["if"], path.child("if"))
    if_met = parser.parse(raw.get("then", True), path.child("then"))
    otherwise = parser.parse(raw.get("else", True), path.child("else"))
    option = _choose(condition, if_met, otherwise, path, parser)
    if option is not None:
        return parser.intersect((others, option), path)
    met = parser.intersect((others, condition, if_met), path)
    unmet = parser.difference(parser.intersect((others, otherwise), path), condition, path)
    return union((met, unmet), "neither then nor else can be satisfied")


def _choose(
    condition: Schema, met: Schema, unmet: Schema, path: SchemaPath, parser: Combining
) -> Schema | None:
    """Return the values of `met` that meet a condition, and those of `unmet` that do not, as a combination."""
    without = parser.combine((condition,), 0, 0, path)
    if without is None:
        return None
    pairs = (condition, met), (without, unmet)
    options = [found for pair in pairs if (found := parser.combine(pair, 2, 2, path)) is not None]
    return parser.combine(options, 1, 2, path)
