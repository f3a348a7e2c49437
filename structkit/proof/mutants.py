"""Other values from known ones: changed a little, put together anew, and with what a schema names as bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from structkit.errors import SchemaError
from structkit.proof.chance import Chance
from structkit.proof.words import HOSTILE, WORDS
from structkit.schema.place import Place
from structkit.schema.references import References, subschemas

__all__ = ["Hints", "Json", "at_path", "mutants", "paths", "shape", "with_part"]

Json: TypeAlias = object
_Path: TypeAlias = "tuple[str | int, ...]"

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_VALUES = ("const", "default")
_LISTS = ("enum", "examples")

_MOST_HINTS = 1_000
_LONGEST = 300
"""Characters and items that a value is made as long as, because a schema says so."""

_INTEGERS = 10**15
"""Beyond this, and closer to 0 than its inverse, some numbers of Python types are not written; `Limits` says so."""


_FIGURES = 15


@dataclass(frozen=True, slots=True)
class Hints:
    """What a schema names: numbers at and around its bounds, lengths, whole values; and which strings may change.

    Attributes:
        numbers: Bounds, and the numbers next to them.
        lengths: Lengths of strings, arrays and objects.
        values: Constants, defaults and examples.
        free: Whether a string at a path may be changed to any other.
    """

    numbers: tuple[int | float, ...]
    lengths: tuple[int, ...]
    values: tuple[Json, ...]
    free: Callable[[_Path], bool]

    @classmethod
    def of(cls, schema: Mapping[str, object]) -> Hints:
        """The hints in a schema and all inside.

        >>> Hints.of({"items": {"minimum": 3}, "maxItems": 2}).numbers
        (2, 3, 4)
        """
        numbers: list[int | float] = []
        lengths: list[int] = []
        values: list[Json] = []
        pending: list[Mapping[str, object]] = [schema]
        while pending and len(numbers) + len(lengths) + len(values) < _MOST_HINTS:
            current = pending.pop()
            bounds = [current[word] for word in _BOUNDS if word in current]
            numbers += [near for bound in bounds for near in _near(bound)]
            lengths += [value for word in _LENGTHS if isinstance(value := current.get(word), int)]
            values += [current[word] for word in _VALUES if word in current]
            for word in _LISTS:
                listed = current.get(word)
                values += listed[:_MOST_HINTS] if isinstance(listed, list) else []
            pending += [inner for _, inner in subschemas(current) if isinstance(inner, Mapping)]
        return cls(
            tuple(dict.fromkeys(numbers)), tuple(sorted({*lengths})), tuple(values), partial(_is_free, schema)
        )


def mutants(values: Sequence[Json], hints: Hints, chance: Chance, count: int) -> Iterator[Json]:
    """Values that are like those given, but for one or two places.

    Args:
        values: JSON values, not changed.
        hints: What the schema of the values names.
        chance: Who chooses.
        count: How many.
    """
    pool = [part for value in values[:200] for path in paths(value) for part in (at_path(value, path),)]
    for _ in range(count if values else 0):
        value = values[chance.below(len(values))]
        for _ in range(1 + chance.below(2)):
            places = paths(value)
            path = places[chance.below(len(places))]
            value = with_part(value, path, _changed(value, path, pool, hints, chance))
        if all(_is_written(at_path(value, path)) for path in paths(value)):
            yield value


def shape(value: Json) -> frozenset[tuple[str, ...]]:
    """The names on the way to each part of a value, and of what kind it is; positions are left out.

    >>> sorted(shape({"a": [1, 2.5]}))
    [(), ('a',), ('a', '[]'), ('a', '[]', 'number'), ('a', 'array'), ('object',)]
    """
    found: set[tuple[str, ...]] = set()
    pending: list[tuple[tuple[str, ...], Json]] = [((), value)]
    while pending:
        path, current = pending.pop()
        found |= {path, (*path, _kind(current))}
        if isinstance(current, dict):
            pending += [((*path, name), inner) for name, inner in current.items()]
        elif isinstance(current, list):
            pending += [((*path, "[]"), inner) for inner in current]
    return frozenset(found)


def _kind(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    kinds: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def _changed(whole: Json, path: _Path, pool: Sequence[Json], hints: Hints, chance: Chance) -> Json:
    """Another value at a path."""
    value = at_path(whole, path)
    if chance.below(4) == 0:
        other = pool[chance.below(len(pool))]
        return value if isinstance(other, str) and not hints.free(path) else other
    if hints.values and chance.below(6) == 0:
        return hints.values[chance.below(len(hints.values))]
    if isinstance(value, bool) or value is None:
        return (None, True, False)[chance.below(3)]
    if isinstance(value, int | float):
        return _number(value, hints, chance)
    if isinstance(value, str):
        return _string(value, hints, chance) if hints.free(path) else value
    if isinstance(value, list):
        return _list(value, hints, chance)
    return _dict(value, chance) if isinstance(value, dict) else value


def _is_written(part: Json) -> bool:
    """Whether a part is no number, or one that is written wherever numbers are."""
    if not isinstance(part, int | float) or isinstance(part, bool) or part == 0:
        return True
    return 1 / _INTEGERS < abs(part) < _INTEGERS


def _number(value: int | float, hints: Hints, chance: Chance) -> int | float:
    if hints.numbers and chance.below(2):
        return hints.numbers[chance.below(len(hints.numbers))]
    if isinstance(value, float):
        changes: Sequence[Callable[[], int | float]] = (
            lambda: round(value + 0.5, 6), lambda: -value, lambda: round(value / 8, 6), lambda: 0.25, lambda: 0.1,
            lambda: value * 4,
        )  # fmt: skip
    else:
        changes = (lambda: value + 1, lambda: value - 1, lambda: -value, lambda: value * 10, lambda: value // 2,
                   lambda: 0, lambda: 2**chance.below(59))  # fmt: skip
    changed = changes[chance.below(len(changes))]()
    # Where numbers must differ, -0.0 and those of more digits are not written.
    return float(f"{changed:.{_FIGURES}g}") + 0.0 if isinstance(changed, float) else changed


def _string(value: str, hints: Hints, chance: Chance) -> str:
    words = HOSTILE if chance.below(2) else WORDS
    word = words[chance.below(len(words))].decode()
    at = chance.below(len(value) + 1)
    lengths = [length for length in hints.lengths if length <= _LONGEST]
    changes: Sequence[Callable[[], str]] = (
        lambda: "", lambda: word, lambda: value[:at] + word + value[at:], lambda: value[:at] + value[at + 1 :],
        value.upper, value.lower, value.strip, lambda: value[:at], lambda: value + value[:1],
        lambda: (value + word * _LONGEST)[: lengths[chance.below(len(lengths))]] if lengths else value,
    )  # fmt: skip
    return changes[chance.below(len(changes))]()


def _list(value: list[Json], hints: Hints, chance: Chance) -> list[Json]:
    at = chance.below(len(value) + 1)
    lengths = [length for length in hints.lengths if length <= _LONGEST]
    changes: Sequence[Callable[[], list[Json]]] = (
        list, lambda: value[:at] + value[at + 1 :], lambda: value[:at], lambda: value[::-1],
        lambda: value[:at] + value[at : at + 1] + value[at:],
        lambda: (value * _LONGEST)[: lengths[chance.below(len(lengths))]] if lengths else value,
    )  # fmt: skip
    return changes[chance.below(len(changes))]()


def _dict(value: dict[str, Json], chance: Chance) -> dict[str, Json]:
    if value and chance.below(2):
        gone = list(value)[chance.below(len(value))]
        return {name: inner for name, inner in value.items() if name != gone}
    return {**value, WORDS[chance.below(len(WORDS))].decode(): None}


_READ = {"format", "pattern", "contentEncoding", "contentMediaType", "contentSchema"}

_ASIDE = ("allOf", "anyOf", "oneOf")


def _is_free(schema: Mapping[str, object], path: _Path) -> bool:
    """Whether strings at a path are known to be any text.

    What is written of a date, a URL or a pattern, or of a number in quotes, is one spelling of several that are read.
    """
    found = False
    pending: list[tuple[object, _Path]] = [(schema, path)]
    references, seen = References(schema), set[tuple[int, _Path]]()
    while pending:
        current, rest = pending.pop()
        if not isinstance(current, Mapping) or (id(current), rest) in seen:
            continue
        seen.add((id(current), rest))
        if isinstance(reference := current.get("$ref"), str):
            with suppress(SchemaError):
                pending.append((references.find(reference, "", Place()).schema, rest))
        pending += [(each, rest) for word in _ASIDE for each in _listed(current.get(word))]
        if rest:
            pending += [(each, rest[1:]) for each in _below(current, rest[0])]
        elif not _READ.isdisjoint(current) or current.get("type") in ("number", "integer"):
            return False
        else:
            found = found or current.get("type") == "string"
    return found


def _below(schema: Mapping[str, object], step: str | int) -> Iterator[object]:
    if isinstance(step, int):
        prefix = _listed(schema.get("prefixItems"))
        yield prefix[step] if step < len(prefix) else schema.get("items")
    else:
        properties = schema.get("properties")
        declared = isinstance(properties, Mapping) and step in properties
        yield properties[step] if declared else schema.get("additionalProperties")  # type: ignore[index]


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _near(bound: object) -> Iterator[int | float]:
    """A bound and what is next to it, as far as numbers are written."""
    if isinstance(bound, int | float) and not isinstance(bound, bool) and abs(bound) < _INTEGERS:
        step = 1 if isinstance(bound, int) else 0.5
        yield from (bound - step, bound, bound + step)


def paths(value: Json) -> list[_Path]:
    """The paths to all parts of a value, itself first."""
    places: list[_Path] = []
    pending: list[tuple[_Path, Json]] = [((), value)]
    while pending:
        path, current = pending.pop()
        places.append(path)
        if isinstance(current, dict):
            pending += [((*path, name), inner) for name, inner in current.items()]
        elif isinstance(current, list):
            pending += [((*path, at), inner) for at, inner in enumerate(current)]
    return places


def at_path(value: Json, path: _Path) -> Json:
    """The part of a value at a path."""
    for step in path:
        value = value[step]  # type: ignore[index]
    return value


def with_part(value: Json, path: _Path, part: Json) -> Json:
    """The value with another part at a path."""
    if not path:
        return part
    if isinstance(value, dict):
        return {**value, path[0]: with_part(value[path[0]], path[1:], part)}
    if isinstance(value, list):
        return [
            with_part(inner, path[1:], part) if at == path[0] else inner for at, inner in enumerate(value)
        ]
    return value
