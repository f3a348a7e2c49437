"""A pydantic-ai program on a structkit model: a chat that streams text, with a tool and a stored history.

The model is scripted; for a real one, call `structkit.load("Qwen/Qwen3-0.6B")`. Install `structkit-llm[pydantic-ai]`.

Prints:

    user: Which titles by Costa do you have?
    [search]
    assistant: We have two: Salt and The Silent River.
    user: Is the second one new?
    assistant: Yes, it is from 2026.
    6 messages, the answer in more than one piece: True
"""

import asyncio

from pydantic_ai import Agent, ModelMessagesTypeAdapter

from structkit.integrations.pydantic_ai import StructkitModel
from structkit.testing import ScriptedModel

SCRIPT = [
    '{"name": "search", "arguments": {"author": "Costa"}}',
    "We have two: Salt and The Silent River.",
    "Yes, it is from 2026.",
]

agent = Agent(StructkitModel(ScriptedModel(SCRIPT)), instructions="You answer the customers of a bookshop.")


@agent.tool_plain
def search(author: str) -> list[str]:
    """The titles by an author."""
    print("[search]")
    return ["Salt", "The Silent River"]


async def main() -> None:
    stored = b"[]"
    pieces = 0
    for prompt in ("Which titles by Costa do you have?", "Is the second one new?"):
        print(f"user: {prompt}")
        history = ModelMessagesTypeAdapter.validate_json(stored)
        async with agent.run_stream(prompt, message_history=history) as result:
            text = ""
            async for delta in result.stream_text(delta=True, debounce_by=None):
                text += delta
                pieces += 1
        print(f"assistant: {text}")
        stored = result.all_messages_json()
    count = len(ModelMessagesTypeAdapter.validate_json(stored))
    print(f"{count} messages, the answer in more than one piece: {pieces > 2}")


if __name__ == "__main__":
    asyncio.run(main())
