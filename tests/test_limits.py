"""The work that is left."""

from __future__ import annotations

import pytest

from structkit.errors import LimitExceeded
from structkit.limits import Limits, Work


def test_all_work_can_be_taken_and_no_more() -> None:
    work = Work(10)
    work.pay(6, "the test")
    work.pay(4, "the test")
    assert work.left == 0
    with pytest.raises(LimitExceeded, match="the test") as caught:
        work.pay(1, "the test", "$.a")
    assert caught.value.place == "$.a"
    assert caught.value.limit == "work"


def test_work_without_a_rest_begins_with_none() -> None:
    assert Work(10, 0).left == 0
    assert Work(10, 3).left == 3


def test_a_limit_is_an_integer_that_is_not_negative() -> None:
    for name in Limits.__slots__:
        least = 1 if name == "integer_digits" else 0
        assert getattr(Limits(**{name: least}), name) == least
        said = "integer_digits must be from 1 to .*, not 0" if least else f"{name} must be at least 0, not -1"
        with pytest.raises(ValueError, match=f"^{said}$"):
            Limits(**{name: least - 1})
        for value in (1.0, True, "1", None):
            with pytest.raises(TypeError, match=f"{name} must be an integer, not {value!r}"):
                Limits(**{name: value})  # type: ignore[arg-type]
