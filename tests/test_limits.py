"""The work that is left."""

from __future__ import annotations

import pytest

from structkit.errors import LimitExceeded
from structkit.limits import Work


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
