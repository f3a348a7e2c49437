"""A chat of a bookshop: streamed text beside tool calls, and a history that is stored between the turns.

The model is scripted; for a real one, use `sk.load("Qwen/Qwen3-0.6B")`. Prints:

    user: Which titles by Costa do you have?
    One moment.
    [search(author='Costa')]
    We have two:

    - Salt
    - The Silent River
    user: Is the second one new?
    Yes, it is from 2026.
    6 messages are stored
"""

from __future__ import annotations

import structkit as sk
from structkit.testing import ScriptedModel

REPLIES = [
    'One moment.\n<tool_call>\n{"name": "search", "arguments": {"author": "Costa"}}\n</tool_call>',
    "We have two:\n\n- Salt\n- The Silent River",
    "Yes, it is from 2026.",
]


def search(author: str) -> list[str]:
    """The titles by an author."""
    return ["Salt", "The Silent River"]


agent = sk.Agent(
    ScriptedModel(REPLIES),
    tools=[search],
    instructions="You answer the customers of a bookshop.",
    format="hermes",  # marks where a call starts, so text can precede it
)


def answer(prompt: str, stored: str) -> str:
    """Print the answer while the model writes it, and return the history with it."""
    for event in agent.stream(prompt, messages=sk.messages.loads(stored)):
        match event:
            case sk.TextDelta(text=text):
                print(text, end="", flush=True)
            case sk.ToolResult(call):
                print(f"\n[{call.name}(author={call.arguments['author']!r})]")
            case sk.RunEnd(result):
                print()
                return sk.messages.dumps(result.messages)
    raise RuntimeError("a stream ends with RunEnd")


def main() -> None:
    stored = sk.messages.dumps(())
    for prompt in ("Which titles by Costa do you have?", "Is the second one new?"):
        print(f"user: {prompt}")
        stored = answer(prompt, stored)
    print(f"{len(sk.messages.loads(stored))} messages are stored")


if __name__ == "__main__":
    main()
