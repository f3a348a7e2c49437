"""Long names and constants: a rule that may exceed a limit is built before the first token."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

import structkit as sk
from structkit.errors import LimitExceeded
from structkit.limits import Limits
from structkit.testing import byte_vocabulary

V = byte_vocabulary()


def _texts(count: int, length: int, letters: str) -> list[str]:
    random = Random(1)
    return ["".join(random.choice(letters) for _ in range(length)) for _ in range(count)]


def _fields(texts: list[str]) -> dict[str, object]:
    return {"properties": {text: {"type": "null"} for text in texts}, "additionalProperties": False}


def _constants(texts: list[str]) -> dict[str, object]:
    return {"properties": {f"k{n}": {"const": text} for n, text in enumerate(texts)}, "required": ["k1"]}


def _choices(texts: list[str]) -> dict[str, object]:
    return {"properties": {f"k{n}": {"enum": texts[n : n + 18]} for n in range(0, len(texts), 18)}}


def _items(texts: list[str]) -> dict[str, object]:
    return {"properties": {text: {"type": "null"} for text in texts}, "additionalProperties": True}


@pytest.mark.long(every=3)
@pytest.mark.parametrize("make", [_fields, _constants, _choices, _items])
@pytest.mark.parametrize(
    ("letters", "limits"),
    [
        ("abcdefgh", Limits(states=12_000)),
        ("abcdefgh", Limits(nfa_states=40_000)),
        ("éèàü€", Limits(product_states=12_000)),
        ("\x01\x02\x03\x04", Limits()),
    ],
    ids=["states", "nfa", "product", "default"],
)
def test_no_limit_is_exceeded_after_the_first_mask(
    make: Callable[[list[str]], dict[str, object]], letters: str, limits: Limits
) -> None:
    inner = {"type": "object"} | make(_texts(450, 99, letters))
    schema = {"type": "object", "properties": {"x": {"type": "null"}, "y": inner}, "required": ["y"]}
    try:
        cursor = sk.compile(schema, V, cache=False, limits=limits).cursor()
    except LimitExceeded:
        return
    for byte in b'{"y": {"':
        cursor.advance(byte)


@pytest.mark.parametrize("length", [10_000_001, 10**900])
def test_a_text_that_must_be_too_long_is_refused_with_its_place(length: int) -> None:
    schema = {"type": "object", "properties": {"a": {"items": {"type": "string", "minLength": length}}}}
    with pytest.raises(
        LimitExceeded, match=r"at least 100.* exceeds the limit iterations=10000000"
    ) as caught:
        sk.compile(schema, V, cache=False)
    assert caught.value.place == "$.a[]" and len(str(caught.value)) < 200
