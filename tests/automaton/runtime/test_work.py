"""The automata of all rules of a target are built within one bound on work."""

from __future__ import annotations

import json

import pytest

from structkit.compile import compile
from structkit.errors import LimitExceeded
from structkit.limits import Limits
from structkit.testing import byte_vocabulary

V = byte_vocabulary()


def _fields(count: int, length: int = 6) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {
            f"k{n}": {"type": "string", "pattern": f"^(a|b)*a[ab]{{{length}}}{n}$"} for n in range(count)
        },
        "required": [f"k{n}" for n in range(count)],
    }


def test_many_automata_exceed_the_work_that_each_of_them_is_within() -> None:
    limits = Limits(work=20_000)
    compile(_fields(1), V, limits=limits, cache=False)
    with pytest.raises(LimitExceeded) as caught:
        compile(_fields(200), V, limits=limits, cache=False)
    assert caught.value.limit == "work" and caught.value.place is not None
    assert caught.value.place.startswith("$")
    compile(_fields(200), V, cache=False)


def test_equal_automata_are_counted_once() -> None:
    fields = {f"k{n}": {"type": "string", "pattern": "^(a|b)*a[ab]{6}$"} for n in range(200)}
    schema = {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}
    compile(schema, V, limits=Limits(work=150_000), cache=False)


def test_many_automata_exceed_the_memory_that_each_of_them_is_within() -> None:
    limits = Limits(memory=2_500_000)
    compile(_fields(5, 12), V, limits=limits, cache=False)
    with pytest.raises(LimitExceeded, match="the size of the automata of all rules") as caught:
        compile(_fields(20, 12), V, limits=limits, cache=False)
    assert caught.value.limit == "memory" and caught.value.place is not None
    assert caught.value.place.startswith("$")


def test_rules_that_a_text_enters_later_are_not_refused() -> None:
    inner = {
        "type": "object",
        "properties": {f"a{n}": {"enum": [f"x{n}y{i}" for i in range(9)]} for n in range(12)},
        "required": [f"a{n}" for n in range(12)],
    }
    schema = {"type": "object", "properties": {f"k{n}": inner | {"title": str(n)} for n in range(6)}}
    guide = compile(schema, V, limits=Limits(work=30_000), cache=False)
    cursor = guide.cursor()
    value = {f"k{n}": {f"a{m}": f"x{m}y{n}" for m in range(12)} for n in range(6)}
    for byte in json.dumps(value).encode():
        cursor.advance(byte)


@pytest.mark.parametrize(("name", "limit"), [("states", 5_000), ("transitions", 256 * 5_000)])
def test_low_limits_refuse_rules_without_end_before_the_first_token(name: str, limit: int) -> None:
    """Rules of a product are made while a text is read, where an error would come too late."""
    keys = {f"k{number}": {"type": "integer"} for number in range(60)}
    schema = {"type": "object", "properties": keys, "minProperties": 30, "additionalProperties": False}
    with pytest.raises(LimitExceeded) as caught:
        compile(schema, V, limits=Limits(**{name: limit}), cache=False)
    assert caught.value.limit == name
    compile(schema, V, limits=Limits(**{name: 4 * limit}), cache=False)


@pytest.mark.long
def test_patterns_that_are_too_large_to_compare_count_as_work() -> None:
    fields = {f"k{n}": {"type": "string", "not": {"pattern": f"a.{{0,30}}b{n}"}} for n in range(20)}
    with pytest.raises(LimitExceeded, match="the automata of all patterns") as caught:
        compile({"type": "object", "properties": fields}, V, cache=False)
    assert caught.value.limit == "work" and caught.value.place == "$.properties.k4"


def test_a_schema_of_many_parts_is_refused_before_it_is_read_to_the_end() -> None:
    with pytest.raises(LimitExceeded) as caught:
        compile(_fields(500), V, limits=Limits(work=50_000), cache=False)
    assert caught.value.limit == "work" and caught.value.place is not None
    assert caught.value.place.startswith("$.properties.k1")  # of 500 fields


def test_a_list_that_is_too_long_is_refused_at_once() -> None:
    members = [{"type": "integer", "minimum": n} for n in range(20)]
    for keyword in ("anyOf", "oneOf", "allOf"):
        with pytest.raises(LimitExceeded) as caught:
            compile({keyword: members}, V, limits=Limits(schema_nodes=15), cache=False)
        assert caught.value.limit == "schema_nodes" and caught.value.place == "$"
