"""What several tests of the fields of requests use."""

from __future__ import annotations

import pytest

from tests.serve.running import ANA, Served, client_of, tool

openai = pytest.importorskip("openai")


WEATHER, CLOCK = tool("weather", city="string"), tool("clock", zone="integer")


CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Porto"}'}}
    ],
}


OUTPUT = {"role": "tool", "tool_call_id": "a", "content": "sun"}
REPLY = {"role": "assistant", "content": "Hello."}


def answers(served: Served, **fields: object) -> list[str]:
    """Return the answers to a request."""
    completion = client_of(served).chat.completions.create(**{"model": "demo", "messages": ANA, **fields})
    return [choice.message.content for choice in completion.choices]
