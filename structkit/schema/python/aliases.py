"""The keys at which pydantic looks for the fields of an object: aliases, alias paths, and names.

Core schemas are plain dicts here; this module does not import pydantic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from structkit.schema.python.temporal import JsonObject, unsupported

__all__ = ["FieldAt", "Path", "Paths", "object_of", "paths_of"]

Path: TypeAlias = Sequence[str | int]
"""The keys and indices at which pydantic looks for a field."""

Paths: TypeAlias = tuple[Path, Sequence[Path]]
"""The path of a field in the generated JSON, and all paths at which pydantic looks for it, in this order."""

FieldAt: TypeAlias = tuple[str, Paths, bool, JsonObject]
"""A field, its paths, whether it is required, and its schema."""

_MAX_INDEX = 1_000
"""Maximum index in an alias path, counted from either end: all items before it are generated."""

_Value: TypeAlias = tuple[Path, bool, JsonObject]
"""The path of a value in an object, whether it is required, and its schema."""


def paths_of(
    field: Mapping[str, Any], name: str, *, by_alias: object = None, by_name: object = None
) -> Paths:
    """Return the paths of a field.

    The path in the generated JSON is the first alias of one step, or else the first alias path. No alias is taken
    behind a path that begins with the same key.

    Args:
        field: The core schema of the field.
        name: The field.
        by_alias: `validate_by_alias` of the configuration.
        by_name: `validate_by_name` of the configuration.

    >>> paths_of({"validation_alias": [["a", 0], ["b"]]}, "name", by_name=True)
    (['b'], [['a', 0], ['b'], ['name']])
    >>> paths_of({"validation_alias": [["a", 0], ["a"]]}, "name")
    (['a', 0], [['a', 0], ['a']])
    """
    alias: Any = field.get("validation_alias")
    if alias is None or by_alias is False:
        return [name], [[name]]
    aliases: list[Path] = (
        [[alias]] if isinstance(alias, str) else alias if isinstance(alias[0], list) else [alias]
    )
    position = next((at for at, path in enumerate(aliases) if len(path) == 1), 0)
    chosen = aliases[position]
    if any(path[0] == chosen[0] for path in aliases[:position]):
        chosen = aliases[0]
    return chosen, [*aliases, [name]] if by_name and [name] not in aliases else aliases


def object_of(fields: Sequence[FieldAt], hidden: Sequence[Path] = ()) -> tuple[JsonObject, list[str]]:
    """Return the schema of an object in which pydantic finds each field at one path, and no field elsewhere.

    Args:
        fields: The fields.
        hidden: The paths of the fields that are never written.

    Returns:
        The schema, and the keys that no other value of the object may have.

    >>> object_of([("a", (["a"], [["a"], ["b", 0]]), True, {"type": "null"})])
    ({'type': 'object', 'properties': {'a': {'type': 'null'}}, 'required': ['a']}, ['b'])
    """
    keys = {chosen[0] for _, (chosen, _), _, _ in fields}
    owners: dict[str | int, str] = {}
    values, excluded = list[_Value](), list[_Value]()
    others = {str(path[0]) for path in hidden}
    for name, (chosen, paths), required, schema in fields:
        position = paths.index(chosen)
        for at, path in enumerate(paths):
            if path[0] not in keys:
                others.add(str(path[0]))
            elif path[0] != chosen[0] and at < position:  # pydantic takes this value first
                excluded.append((path[:1], False, {"not": _with_path(path[1:])}))
            elif path[0] != chosen[0]:  # pydantic takes this value if the field is left out
                required = True
        values.append((chosen, required, _shared_name(owners, chosen, name) or schema))
    return _to_object([*values, *excluded]), sorted(others)


def _with_path(path: Path) -> JsonObject:
    """Return a schema of all values in which a path leads to a value."""
    if not path:
        return {}
    step, inner = path[0], _with_path(path[1:])
    if isinstance(step, str):
        return {
            "type": "object",
            "properties": {step: inner},
            "required": [step],
            "additionalProperties": True,
        }
    if step < 0:
        return {"type": "array", "minItems": -step}
    if step > _MAX_INDEX:
        return _too_far(step)
    return {"type": "array", "prefixItems": [*([{}] * step), inner], "minItems": step + 1}


def _shared_name(owners: dict[str | int, str], path: Path, name: str) -> JsonObject | None:
    """Return a refused schema if an earlier field has the same name in JSON; otherwise note the field.

    Args:
        owners: The earlier fields by their names in JSON.
        path: The path of the field.
        name: The field.
    """
    if len(path) != 1 or (other := owners.setdefault(path[0], name)) == name:
        return None
    return unsupported(
        f"the fields {other} and {name} have the same name {path[0]!r} in JSON; give each an alias of its own"
    )


def _to_object(fields: Iterable[_Value]) -> JsonObject:
    """Return the schema of the object in which pydantic finds all fields.

    >>> first = (["names", 0], True, {"type": "string"})
    >>> _to_object([first])["properties"]["names"]["prefixItems"]
    [{'type': 'string'}]
    """
    groups: dict[str | int, list[_Value]] = {}
    for path, required, schema in fields:
        groups.setdefault(path[0], []).append((path[1:], required, schema))
    properties: JsonObject = {}
    for name, group in groups.items():
        properties[str(name)] = _at(group)
    needed = [str(name) for name, group in groups.items() if any(required for _, required, _ in group)]
    described: JsonObject = {"type": "object", "properties": properties}
    return {**described, "required": needed} if needed else described


def _at(group: Sequence[_Value]) -> JsonObject:
    """Return the schema at the common start of some paths."""
    ends = [schema for path, _, schema in group if not path]
    further = [each for each in group if each[0]]
    if not further:
        return ends[0] if len(ends) == 1 else {"allOf": ends}
    steps = {type(path[0]) for path, _, _ in further}
    if len(steps) > 1:
        return unsupported("alias paths use this value both as an object and as a list; use one of the two")
    inner = _to_object(further) if steps == {str} else _list(further)
    return {"allOf": [*ends, inner]} if ends else inner


def _list(fields: Sequence[_Value]) -> JsonObject:
    """Return the schema of the shortest list; indices from the end follow indices from the start."""
    indices = {path[0] for path, _, _ in fields if isinstance(path[0], int)}
    if (index := max(indices, key=abs)) not in range(-_MAX_INDEX, _MAX_INDEX + 1):
        return _too_far(index)
    before, after = max(indices) + 1, -min(indices)
    size = max(before, 0) + max(after, 0)
    groups: dict[int, list[_Value]] = {}
    for path, required, schema in fields:
        index = path[0] if isinstance(path[0], int) else 0
        groups.setdefault(index % size, []).append((path[1:], required, schema))
    items = [_at(groups[index]) if index in groups else {} for index in range(size)]
    return {"type": "array", "prefixItems": items, "minItems": size, "maxItems": size}


def _too_far(index: int) -> JsonObject:
    return unsupported(
        f"the index {index} of an alias path is beyond {_MAX_INDEX}, and all items before it would be generated; "
        "use a smaller index"
    )
