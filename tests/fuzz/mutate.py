"""Mutations of texts, bytes and JSON values, as a stranger would send them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeAlias

__all__ = ["Json", "mutate_bytes", "mutate_json", "mutate_text"]

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

_Container: TypeAlias = "dict[str, Json] | list[Json]"

_PIECES = (
    *"()[]{}|*+?^$.\\\"'/-,:=#&~<>\n\t 019azZ_",
    *("é", "\x00", "\ud800", "\ufeff", "\u2028", "😀", "ß", "\xad"),
    *(
        "{0,9}",
        "{3}",
        "(?:",
        "(?=",
        "(?!",
        "(?<=",
        "(?<!",
        "(?i)",
        "(?x)",
        "\\b",
        "\\d",
        "\\W",
        "\\p{L}",
        "\\1",
    ),
    *(
        "[^a]",
        "[a-",
        "[]]",
        "\\x",
        "\\u12",
        "\\N{",
        ".*",
        "..",
        "::=",
        "%ignore ",
        "%import ",
        "~ 0..9",
        "->",
    ),
    *("null", "true", "NaN", "1e999", "-0", "9" * 30, "<|end|>", "<tool_call>", "</s>", "$ref", "__proto__"),
)

_VALUES: tuple[Json, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 0.5, 1e308, 10**30, -0.0, 2**63),
    *(
        "",
        "a",
        "x" * 300,
        "#",
        "#/",
        "#/$defs/a",
        "integer",
        "string",
        "object",
        "array",
        "^a",
        "(",
        "date",
        "é\x00",
    ),
    *([], {}, [[]], [{}], {"": {}}, {"a": {"$ref": "#"}}, {"$ref": "#"}, ["a", "b"], [1, "1", 1.0, True]),
)

_DEPTH = 60


def mutate_text(chance: Random, text: str, others: Sequence[str], most: int = 400) -> str:
    """Return a text with a few changes.

    Args:
        chance: Decides.
        text: The text.
        others: Texts whose parts are spliced in.
        most: Maximum length.
    """
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        start, end = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
        end = min(end, start + 20)
        other = chance.choice(others)
        at = chance.randint(0, len(other))
        new = (
            "",
            chance.choice(_PIECES),
            chance.choice(_PIECES),
            text[start:end] * 2,
            text[start:end][::-1],
            other[at : at + chance.randint(1, 30)],
            chr(chance.choice((chance.randrange(128), chance.randrange(0x300), chance.randrange(0x110000)))),
        )
        text = text[:start] + chance.choice(new) + text[end if chance.random() < 0.6 else start :]
    return text[:most]


def mutate_bytes(chance: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return bytes with a few changes; `others` are spliced in."""
    content = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randint(0, len(content))
        match chance.randrange(6):
            case 0 if at < len(content):
                content[at] ^= 1 << chance.randrange(8)
            case 1 if at < len(content):
                content[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            case 2:
                del content[at : at + chance.choice((1, 4, 8, len(content)))]
            case 3:
                content[at:at] = chance.randbytes(chance.choice((1, 4, 8)))
            case 4:
                other = chance.choice(others)
                start = chance.randint(0, len(other))
                part = other[start : start + chance.choice((4, 16, 200))]
                content[at : at + len(part)] = part
            case _:
                content[at : at + 4] = chance.choice((0, 1, 2**31 - 1, 2**32 - 1)).to_bytes(4, "little")
    return bytes(content)


def mutate_json(chance: Random, value: Json, others: Sequence[Json]) -> Json:
    """Return a JSON value with a few changes.

    Args:
        chance: Decides.
        value: The value, which is not changed.
        others: Values whose parts are put in.
    """
    value = copy.deepcopy(value)
    for _ in range(chance.choice((1, 1, 2, 4))):
        places = [place for place in _places(value) if place]
        if not places:
            return copy.deepcopy(chance.choice(others))
        container, key = chance.choice(places)
        _change(chance, container, key, others)
    return value if _depth(value) <= _DEPTH else copy.deepcopy(chance.choice(others))


def _change(chance: Random, container: _Container, key: str | int, others: Sequence[Json]) -> None:
    old = _get(container, key)
    match chance.randrange(8):
        case 0:
            del container[key]  # type: ignore[arg-type]
        case 1:
            _set(container, key, chance.choice(_VALUES))
        case 2 | 3:
            parts = [_get(*place) for place in _places(chance.choice(others))]
            _set(container, key, chance.choice(parts) if parts else None)
        case 4:
            _set(
                container,
                key,
                chance.choice(([old], {"a": old}, {"anyOf": [old, {}]}, {"not": old}, [old, old])),
            )
        case 5 if isinstance(container, dict):
            inner = [place for place in _places(chance.choice(others)) if isinstance(place[0], dict)]
            if inner:
                other, name = chance.choice(inner)
                container[str(name)] = _get(other, name)
        case 6 if isinstance(container, dict):
            container[chance.choice(("", "a", "é", "$ref", "__class__", str(key)[1:], str(key) + "s"))] = (
                container.pop(str(key))
            )
        case _ if isinstance(old, str):
            _set(container, key, mutate_text(chance, old, [old, "a"], 100))
        case _ if isinstance(old, int | float):
            _set(container, key, chance.choice((old + 1, -old, old * 2, 0, str(old))))
        case _ if isinstance(container, list):
            container.insert(chance.randint(0, len(container)), old)
        case _:
            _set(container, key, chance.choice(_VALUES))
    # What was put in belongs to another value.
    _set_all(container)


def _set_all(container: _Container) -> None:
    for key in list(container) if isinstance(container, dict) else range(len(container)):
        _set(container, key, copy.deepcopy(_get(container, key)))


def _places(value: Json) -> Iterator[tuple[_Container, str | int]]:
    """Yield each container of a value with each of its keys."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            keys: list[str] | range = list(each) if isinstance(each, dict) else range(len(each))
            for key in keys:
                yield each, key
                waiting.append(_get(each, key))


def _get(container: _Container, key: str | int) -> Json:
    return container[key]  # type: ignore[call-overload, index, no-any-return]


def _set(container: _Container, key: str | int, value: Json) -> None:
    container[key] = value  # type: ignore[call-overload, index]


def _depth(value: Json) -> int:
    """The depth of the brackets, counted in the text, since a text may be deeper than the stack."""
    deepest = depth = 0
    for character in json.dumps(value):
        depth += (character in "[{") - (character in "]}")
        deepest = max(deepest, depth)
    return deepest
