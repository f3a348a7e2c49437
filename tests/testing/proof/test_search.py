"""Choices from the bytes that hypothesis draws."""

from __future__ import annotations

import pytest

from structkit.testing.proof.language import _property_names
from structkit.testing.proof.search import _Drawn


@pytest.mark.parametrize("count", [1, 2, 3, 255, 256])
def test_numbers_follow_the_bytes_and_are_0_behind_them(count: int) -> None:
    """Each number is chosen by some byte, larger ones by larger bytes; a choice of one takes no byte."""
    chosen = [_Drawn(bytes([byte])).below(count) for byte in range(256)]
    assert chosen == sorted(chosen) and {*chosen} == {*range(count)}
    drawn = _Drawn(bytes([255]))
    assert [drawn.below(count) for _ in range(3)] == [count - 1, 0, 0]
    assert _Drawn(bytes([255])).below(1) == 0 and _Drawn(bytes([255])).coin(0.5)


@pytest.mark.parametrize("probability", [0, 0.25, 0.5, 1])
def test_a_coin_is_true_for_the_largest_bytes(probability: float) -> None:
    chosen = [_Drawn(bytes([byte])).coin(probability) for byte in range(256)]
    assert chosen == sorted(chosen) and sum(chosen) == 256 * probability


def test_the_names_of_properties_are_found_in_the_order_of_the_schema() -> None:
    schema = {
        "properties": {"a": {"properties": {"b": True, 5: {}}}, "c": {"items": {"properties": {"d": {}}}}},
        "anyOf": [{"properties": {"e": False}}, True, {"additionalProperties": {"properties": {"f": {}}}}],
        "$defs": {"x": {"properties": {"g": {}}}},
    }
    assert _property_names(schema)[:2] == ["a", "c"]
    assert sorted(_property_names(schema)) == [*"abcdefg"]
    for count in (499, 500):
        first = {f"k{number}": {} for number in range(count)}
        names = _property_names({"properties": first, "anyOf": [{"properties": {"last": {}}}]})
        assert ("last" in names) == (count < 500)
