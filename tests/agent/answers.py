"""An output type with a validator, and tools, for the tests of agents."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, field_validator

import structkit as sk
from structkit import messages


class Plain(BaseModel):
    city: str
    celsius: int


class Answer(BaseModel):
    city: str
    celsius: int

    @field_validator("celsius")
    @classmethod
    def possible(cls, celsius: int) -> int:
        if celsius > 60:
            raise ValueError("no city is that hot")
        return celsius


def weather(city: str, days: int = 1) -> dict[str, int]:
    """The weather in a city.

    Args:
        city: Which city.
    """
    return {"celsius": 17 + days}


def fail(text: str) -> str:
    raise KeyError(text)


ANSWER = '{"city": "Porto", "celsius": 18}'


def is_even(number: int) -> int:
    """A validator of even numbers."""
    if number % 2:
        raise ValueError("it is odd")
    return number


@dataclass
class Db:
    rows: dict[str, int]


def stock(context: sk.Context[Db], item: str) -> int:
    """The number of items."""
    assert context.step == 1
    assert isinstance(context.messages[-1], messages.Calls)
    return context.deps.rows[item]
