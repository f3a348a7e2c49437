"""Types that a set cannot contain: those that are not hashable, and sets, if the outer one must have two items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, TypeVar, cast

from structkit.schema.python.core_schema import branches_of, inner_schema

__all__ = ["set_reason", "unhashable_type", "without_references"]

S = TypeVar("S")

Core: TypeAlias = Mapping[str, Any]

_UNHASHABLE_KINDS = frozenset(
    {"counter", "defaultdict", "deque", "dict", "list", "ordered-dict", "set", "typed-dict"}
)

_TRANSPARENT_KINDS = frozenset(
    {"default", "definitions", "function-before", "json", "json-or-python", "lax-or-strict"}
)
"""Wrappers whose value is the value of the inner schema."""

_FIELD_CLASS_KINDS = frozenset({"dataclass", "model"})


def set_reason(schema: Core, definitions: Mapping[str, Core]) -> str | None:
    """Return why a set with these items cannot be enforced; `None` if it can.

    Args:
        schema: The core schema of a set.
        definitions: The referenced schemas, by their references.

    >>> pairs = {"type": "set", "min_length": 2, "items_schema": {"type": "frozenset"}}
    >>> set_reason(pairs, {})
    'a set of two or more sets cannot be enforced, because [1, 2] and [2, 1] are equal; use tuples, or drop min_length'
    """
    items: Core | None = schema.get("items_schema")
    if items is None:
        return None
    if name := unhashable_type(items, definitions):
        return f"a set cannot contain {name}, which is not hashable; use a list, or tuples or frozen classes"
    if schema.get("min_length", 0) > 1 and _contains_set(items, definitions, frozenset()):
        return (
            "a set of two or more sets cannot be enforced, because [1, 2] and [2, 1] are equal; "
            "use tuples, or drop min_length"
        )
    return None


def _contains_set(schema: Core, definitions: Mapping[str, Core], seen: frozenset[str]) -> bool:
    """Return whether the hash of a value may be that of a set of two or more items."""
    kind = schema["type"]
    if kind == "definition-ref":
        name = schema["schema_ref"]
        return (
            name in definitions
            and name not in seen
            and _contains_set(definitions[name], definitions, seen | {name})
        )
    if kind == "frozenset":
        most: int | None = schema.get("max_length")
        return most is None or most > 1
    if kind in ("union", "tagged-union"):
        parts = list(branches_of(schema))
    elif kind in ("nullable", "function-after"):
        parts = [schema["schema"]]
    else:
        inner = inner_schema(schema) if kind in _TRANSPARENT_KINDS else None
        parts = list(_parts(schema)) if inner is None else [inner]
    return any(_contains_set(part, definitions, seen) for part in parts)


def unhashable_type(schema: Core, definitions: Mapping[str, Core]) -> str | None:
    """Return the type that makes all values of a schema unhashable, so that no set can contain them.

    Args:
        schema: A core schema.
        definitions: The referenced schemas, by their references.

    Returns:
        The name of a type; `None` if some values are hashable, or this is unknown.

    >>> unhashable_type({"type": "tuple", "items_schema": [{"type": "int"}, {"type": "list"}]}, {})
    'list'
    """
    return next(_unhashable_types(schema, definitions, set()), None)


def _unhashable_types(schema: Core, definitions: Mapping[str, Core], seen: set[str]) -> Iterator[str]:
    """Yield the types within a schema whose values are not hashable."""
    kind = schema["type"]
    if kind == "definition-ref":
        name = schema["schema_ref"]
        if name in definitions and name not in seen:
            yield from _unhashable_types(definitions[name], definitions, {*seen, name})
    elif kind in _UNHASHABLE_KINDS:
        yield kind
    elif kind in _TRANSPARENT_KINDS:
        if (inner := inner_schema(schema)) is not None:
            yield from _unhashable_types(inner, definitions, seen)
    elif kind == "function-after":
        yield from _function_result(schema, definitions, seen)
    elif kind in ("union", "tagged-union"):
        found = [next(_unhashable_types(branch, definitions, seen), None) for branch in branches_of(schema)]
        if found and None not in found:
            yield str(found[0])
    else:
        yield from _class(schema)
        for part in _parts(schema):
            yield from _unhashable_types(part, definitions, seen)


def _function_result(schema: Core, definitions: Mapping[str, Core], seen: set[str]) -> Iterator[str]:
    """Yield unhashable types of the result of a function of pydantic, a validator of a class, or a class method."""
    function = schema["function"]["function"]
    result = getattr(function, "__self__", function)
    constrains = str(getattr(getattr(function, "func", function), "__module__", "")).startswith("pydantic")
    if isinstance(result, type):
        yield from _class({"cls": result})
    elif constrains or schema["schema"]["type"] in _FIELD_CLASS_KINDS:
        yield from _unhashable_types(schema["schema"], definitions, seen)


def _class(schema: Core) -> Iterator[str]:
    cls = schema.get("cls")
    if isinstance(cls, type) and cls.__hash__ is None:
        yield cls.__name__


def _parts(schema: Core) -> Iterator[Core]:
    """Yield the parts whose hashes the hash of a value uses."""
    kind = schema["type"]
    if kind == "tuple":
        yield from schema["items_schema"]
    elif kind in ("model", "dataclass"):
        if _hashes_fields(schema["cls"]):
            yield schema["schema"]
    elif kind in ("named-tuple", "model-fields", "dataclass-args"):
        fields = schema["fields"]
        yield from (field["schema"] for field in (fields.values() if isinstance(fields, Mapping) else fields))


def _hashes_fields(cls: type) -> bool:
    """Return whether pydantic or `dataclasses` generated the hash of a class from its fields."""
    hash_: Any = cls.__hash__
    code = getattr(hash_, "__code__", None)
    return str(hash_.__module__).startswith("pydantic") or getattr(code, "co_filename", "") == "<string>"


def without_references(schema: S, definitions: Mapping[str, Core], seen: frozenset[str] = frozenset()) -> S:
    """Return the schema of a set in which other types than classes are not defined by themselves.

    The definition of `JsonValue`, for example, has lists, which an item of a set cannot be.

    Args:
        schema: The core schema, or a part of it.
        definitions: The referenced schemas, by their references.
        seen: The references around the part.
    """
    found: object = schema
    if isinstance(schema, list):
        found = [without_references(each, definitions, seen) for each in schema]
    elif isinstance(schema, dict) and schema.get("type") == "definition-ref":
        name = schema["schema_ref"]
        target = definitions.get(name, schema)
        if name not in seen and target["type"] not in _REFERENCED_KINDS:
            plain = {key: value for key, value in target.items() if key != "ref"}
            found = without_references(plain, definitions, seen | {name})
    elif isinstance(schema, dict):
        found = {
            key: without_references(each, definitions, seen) if key in _INNER_KEYS else each
            for key, each in schema.items()
        }
    return cast("S", found)


_REFERENCED_KINDS = frozenset({"dataclass", "definition-ref", "model", "named-tuple", "typed-dict"})
_INNER_KEYS = frozenset({"choices", "items_schema", "schema", "json_schema", "lax_schema", "steps"})
