"""The remedy for a context that is full."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from structkit.generate.decode.budget import budget_exceeded, full_context
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.testing import ScriptedModel


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


@pytest.mark.parametrize(
    ("settings", "given", "limit", "reached"),
    [
        ({}, {"budget": 1024}, "max_tokens", "max_tokens is 1024 by default, and"),
        ({}, {"budget": 1023}, "context", "the context of scripted leaves 1023 for the value, and"),
        ({}, {"budget": 1024, "default": 1025}, "context", "the context of scripted leaves 1024"),
        ({"max_tokens": 30}, {"budget": 30}, "max_tokens", "max_tokens is 30, and"),
        ({"max_tokens": 30}, {"budget": 29}, "context", "the context of scripted leaves 29"),
        ({"max_tokens": 30}, {"budget": 1024}, "max_tokens", "max_tokens is 1024, and"),
        (
            {"timeout": 0.5},
            {"budget": 3, "is_overdue": True, "is_deep": True},
            "timeout",
            "timeout=0.5 has passed",
        ),
        ({}, {"budget": 3, "is_deep": True}, "depth", "levels are open, and pydantic reads no more than 200"),
    ],
)
def test_the_error_of_a_limit_names_it(
    settings: dict[str, Any], given: dict[str, Any], limit: str, reached: str
) -> None:
    request = Request(model=ScriptedModel([]), prompt="a", target=int, settings=Settings(**settings))
    text = ('{"a": [1, "' + "b" * 70 + "é").encode() + b"\xc3"
    for is_json in (True, False):
        error = budget_exceeded(request, text=text, is_json=is_json, **{"is_overdue": False, **given})
        said = str(error)
        assert error.limit == limit and reached in said
        assert f"the model had more to write after {'b' * 59 + 'é'!r}" in said
        assert 'or pass on_limit="answer" for a value that ends within the limit' in said
        assert error.place == ("a[1]" if is_json else None)
        assert error.text == text[:-1].decode()
