"""The remedy for a context that is full."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import structkit as sk
from structkit.generate.decode.budget import DEFAULT_MAX_TOKENS, budget_exceeded, full_context, token_budget
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.run.request import _start, compile_request, encode_request
from structkit.models.protocols import SupportsThinking
from structkit.testing import ScriptedModel, byte_vocabulary


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


@pytest.mark.parametrize(
    ("max_tokens", "context", "prompt", "expected"),
    [
        (None, None, 7, DEFAULT_MAX_TOKENS),
        (30, None, 7, 30),
        (30, 37, 7, 30),
        (30, 36, 7, 29),
        (None, 50, 7, 43),
        (30, 7, 7, 0),
        (30, 6, 7, 0),
        (0, 50, 7, 0),
    ],
)
def test_the_budget_is_what_the_call_and_the_context_leave(
    max_tokens: int | None, context: int | None, prompt: int, expected: int
) -> None:
    guide = sk.compile(sk.Regex("a*"), byte_vocabulary(), cache=False)
    assert token_budget(guide, max_tokens, context, prompt) == expected
    long = sk.compile(sk.Regex("a{3000}"), byte_vocabulary(), cache=False)
    assert token_budget(long, None, None, 0) == 3000


@pytest.mark.parametrize("thinking", [0, 1, 40])
def test_thoughts_and_their_tags_take_a_part_of_the_context(thinking: int) -> None:
    class Thinking(ScriptedModel):
        context_length = 300
        end_of_thinking = (1, 2, 3)
        start_of_thinking = ()

    model = Thinking([])
    settings = Settings(max_thinking_tokens=thinking)
    request = Request(model=model, prompt="a b c", target=int, settings=settings)
    prepared = encode_request(compile_request(request))
    assert prepared.compiled is not None
    _, _, budget = _start(prepared, prepared.compiled)
    assert isinstance(model, SupportsThinking)
    taken = thinking + 2 + 3 if thinking else 0
    assert budget == 300 - len(prepared.prompt_ids) - taken
