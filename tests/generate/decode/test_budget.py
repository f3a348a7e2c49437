"""The remedy for a context that is full."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from structkit.generate.decode.budget import full_context


def _request(context: int | None, max_tokens: int | None, thinking: int) -> Any:
    settings = SimpleNamespace(max_tokens=max_tokens, max_thinking_tokens=thinking)
    return SimpleNamespace(settings=settings, logits_model=SimpleNamespace(context_length=context))


@pytest.mark.parametrize(("free", "remedy"), [(100, "thinking=50"), (3, "thinking=1"), (2, "thinking=1")])
def test_thoughts_leave_room_for_the_value(free: int, remedy: str) -> None:
    """Half of what the prompt, the value and the tags of the thoughts leave."""
    found = full_context(_request(1000, None, 500), 200, 1000 - 200 - 16 - free, 10)
    assert found is not None and found.endswith(f"500 are kept for thinking; pass {remedy}")


@pytest.mark.parametrize("free", [1, 0, -50])
def test_thoughts_are_left_out_where_there_is_no_room(free: int) -> None:
    found = full_context(_request(1000, None, 500), 200, 1000 - 200 - 16 - free, 10)
    assert found is not None and found.endswith("shorten the prompt, or pass thinking=False")


def test_the_context_is_full_unless_max_tokens_is_less() -> None:
    assert full_context(_request(None, None, 0), 200, 10, 10) is None
    assert full_context(_request(1000, 10, 0), 200, 10, 10) is None
    assert (
        full_context(_request(1000, 11, 0), 200, 10, 10)
        == "of 1000 tokens, 200 are the prompt; shorten the prompt"
    )
