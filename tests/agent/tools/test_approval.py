"""What a predicate says of whether a call requires approval."""

from __future__ import annotations

import gc
import warnings

import pytest

from structkit.agent.tools.approval import is_approval_required
from structkit.functions.call import Call


def pay(euros: int) -> None: ...


def test_the_coroutine_of_a_predicate_is_closed() -> None:
    async def asks(call: Call[object]) -> bool:
        return True

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(TypeError, match="returned an awaitable"):
            is_approval_required(asks, Call(pay, "pay", {"euros": 1}))  # type: ignore[arg-type]
        gc.collect()
    assert not caught
