"""Values of Python types as JSON text, and back."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from enum import Enum

import pytest
from pydantic import BaseModel

from structkit.schema.python.json_codec import JsonCodec, enum_json_value, json_text_of


class Item(BaseModel):
    name: str
    days: set[int]


@pytest.mark.parametrize("value", [[], [Item(name="é", days={1})], [Item(name="", days=set())] * 2])
def test_a_value_is_read_as_it_was_written(value: list[Item]) -> None:
    codec = JsonCodec(list[Item])
    text = codec.dumps(value)
    assert json.loads(text) == [{"name": each.name, "days": list(each.days)} for each in value]
    assert codec.loads(text) == value == codec.loads(text.encode())


def test_what_is_not_of_the_type_is_an_error_of_one_line() -> None:
    codec = JsonCodec(list[Item])
    with pytest.raises(ValueError, match=r"`0\.name`") as caught:
        codec.loads('[{"name": 1, "days": []}]')
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"at `\$`"):
        codec.loads("1")
    with pytest.raises(ValueError, match="Expected") as caught:
        codec.dumps([3])  # type: ignore[list-item]
    assert "\n" not in str(caught.value)


def test_the_text_of_a_value_has_its_characters() -> None:
    day = datetime.date(2000, 1, 2)
    assert json_text_of({"é": Item(name="日", days={1}), "day": day}) == (
        '{"é": {"name": "日", "days": [1]}, "day": "2000-01-02"}'
    )
    with pytest.raises(ValueError, match="serialize"):
        json_text_of(object())


class Price(Enum):
    LOW = Decimal("1.5")


def test_the_value_of_an_enum_is_what_pydantic_reads() -> None:
    values = [Price.LOW.value, 1, "a", datetime.date(2000, 1, 2)]
    assert [enum_json_value(value) for value in values] == [1.5, 1, "a", "2000-01-02"]
