"""Inside unique items each value has one text, whatever alternative writes it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from random import Random

import pytest
from jsonschema import Draft202012Validator

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import UnsatisfiableSchema
from structkit.targets.targets import read_target
from tests.shared import cases


def _reader(schema: dict[str, object]) -> Reader:
    return Reader(link(read_target(schema).rules()))


def _unique(items: object, **others: object) -> dict[str, object]:
    return {"type": "array", "uniqueItems": True, "items": items, **others}


def _declares(*names: str, **others: object) -> dict[str, object]:
    return {"type": "object", "properties": {name: {"type": "integer"} for name in names}, **others}


_INTEGERS = {"$defs": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}


@pytest.mark.parametrize(
    ("schema", "one", "other"),
    [
        (_unique({"$ref": "#/$defs/a"}, **_INTEGERS), "1", "1.0"),
        (_unique({"$ref": "#/$defs/b"}, **_INTEGERS), "[1]", "[1.0]"),
        (_unique({"anyOf": [{"const": 2.0}, {"type": "integer"}]}), "2", "2.0"),
        (_unique({"anyOf": [{"const": -0.0}, {"type": "integer"}]}), "0", "-0.0"),
        (_unique({"anyOf": [{"const": 1e-7}, {"type": "number"}]}), "0.0000001", "1e-07"),
        (_unique({"anyOf": [{"const": [1.0]}, {"type": "array"}]}), "[1]", "[1.0]"),
        (_unique({"anyOf": [{"const": {"b": 1, "a": 2}}, _declares("a", "b")]}),
         '{"b": 1, "a": 2}', '{"a": 2, "b": 1}'),
        (_unique({"anyOf": [_declares("a", "b"), _declares("b", "a")]}), '{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
        (_unique({"anyOf": [{"type": "array", "prefixItems": [_declares("a", "b")]},
                            {"type": "array", "items": _declares("b", "a")}]}),
         '[{"a": 1, "b": 2}]', '[{"b": 2, "a": 1}]'),
        (_unique(_declares("a"), prefixItems=[_declares("a", "b"), _declares("b", "a")], minItems=2),
         '{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
    ],
)  # fmt: skip
def test_equal_values_are_not_written_in_two_texts(schema: dict[str, object], one: str, other: str) -> None:
    reader = _reader(schema)
    for pair in itertools.permutations((one, other)):
        assert not reader.accepts(f"[{', '.join(pair)}]".encode())
    if "minItems" not in schema:
        assert reader.accepts(f"[{one}]".encode())


def test_keys_of_alternatives_that_exclude_each_other_keep_their_order() -> None:
    tagged = [
        _declares(*names, required=["kind"], **{"additionalProperties": False})
        for names in (("kind", "a", "b"), ("kind", "b", "a"))
    ]
    for number, each in enumerate(tagged):
        each["properties"] = {**each["properties"], "kind": {"const": number}}  # type: ignore[dict-item]
    reader = _reader(_unique({"anyOf": tagged}))
    assert reader.accepts(b'[{"kind": 0, "a": 1, "b": 2}, {"kind": 1, "b": 2, "a": 1}]')
    assert not reader.accepts(b'[{"kind": 0, "b": 2}, {"kind": 0, "b": 2}]')


def _spellings(value: object) -> Iterator[str]:
    """Iterate over the texts of a value: keys in any order, integers with and without a point."""
    if isinstance(value, dict):
        for keys in itertools.permutations(value):
            for texts in itertools.product(*(list(_spellings(value[key])) for key in keys)):
                yield (
                    "{"
                    + ", ".join(f"{json.dumps(key)}: {text}" for key, text in zip(keys, texts, strict=True))
                    + "}"
                )
    else:
        yield json.dumps(value)
        yield f"{value}.0"


def _schema(chance: Random, depth: int) -> dict[str, object]:
    kind = chance.choice(
        ("integer", "const", "ref", "object", "object", "union") if depth else ("integer", "const")
    )
    if kind == "integer":
        return {"type": "integer"}
    if kind == "const":
        return {"const": chance.choice((1, 1.0, {"b": 1, "a": 1.0}, {"a": {"b": 1, "a": 2}}))}
    if kind == "ref":
        return {"$ref": f"#/$defs/{chance.choice('xy')}"}
    if kind == "union":
        return {"anyOf": [_schema(chance, depth - 1) for _ in range(2)]}
    names = chance.sample("abc", chance.randint(0, 3))
    closed = {"additionalProperties": False} if chance.random() < 0.6 else {}
    return {"type": "object", "properties": {name: _schema(chance, depth - 1) for name in names}, **closed}


def _value(chance: Random, depth: int) -> object:
    if depth and chance.random() < 0.7:
        return {name: _value(chance, depth - 1) for name in chance.sample("abc", chance.randint(0, 2))}
    return chance.randint(1, 2)


def test_random_values_have_at_most_one_text() -> None:
    written = 0
    for seed in range(cases(40, of=400)):
        chance = Random(seed)
        # The definitions refer to each other only below a key.
        defs = {
            name: _declares() | {"properties": {"a": _schema(chance, 2), "b": _schema(chance, 1)}}
            for name in "xy"
        }
        schema = _unique({"anyOf": [_schema(chance, 2) for _ in range(3)]}, **{"$defs": defs})
        try:
            reader = _reader(schema)
        except UnsatisfiableSchema:
            continue
        validator = Draft202012Validator(schema)
        for _ in range(12):
            value = _value(chance, 2)
            texts = [text for text in _spellings(value) if reader.accepts(f"[{text}]".encode())]
            assert len(texts) <= 1, (schema, texts)
            assert len(texts) <= validator.is_valid([value])
            written += len(texts)
    assert written > cases(60, of=600)
