"""Steps of an agent, with and without what the model has read being kept from step to step.

```
OMP_NUM_THREADS=1 python -m benchmarks.agent --clock cpu
```

An agent with three tools and eight steps, greedy, whose outputs are about a hundred tokens each, on the demo model and
on a larger Llama of random weights with the demo model's tokens, within their contexts. A bias on `{` has them call a
tool in each step but the last. The runs are the same with and without; `read` is the tokens that the model was fed.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, Literal

import structkit as sk
from benchmarks.outcome import CLOCKS, Clock
from structkit.messages import User
from structkit.models.local import TransformersModel
from structkit.tools import drive
from structkit.tools.run import Run
from structkit.tools.state import AgentResult, RunState


def search(words: str) -> str:
    """Search the catalogue."""
    return "The Silent River by Marta Silva, 1984, in stock; " * 6


def order_status(order: int) -> str:
    """The status of an order."""
    return "The order was packed on Monday and left the house on Tuesday. " * 6


def weather(city: str, days: Literal[1, 2, 3] = 1) -> str:
    """The weather in a city."""
    return "It is sunny in the morning and rains in the evening. " * 6


@dataclass(frozen=True)
class Outcome:
    """One run."""

    result: AgentResult[object]
    seconds: float
    read: int


def run(model: TransformersModel, *, keep: bool, clock: Clock) -> Outcome:
    """One run of the agent."""
    opening = [token for token, text in enumerate(model.vocabulary.tokens) if text.startswith(b"{")]

    def call(ids: object, scores: Any) -> Any:
        scores[..., opening] += 50.0
        return scores

    agent = sk.Agent(
        model,
        tools=[search, order_status, weather],
        result=bool,
        max_steps=8,
        max_tokens=600,
        processors=[call],
    )
    state = RunState(
        agent="", messages=(User(content="Where is my order 7 of The Silent River?"),), pending=()
    )
    fed = [0]
    plain = type(model).check_readable

    def counted(self: TransformersModel, ids: list[int], before: int) -> None:
        fed[0] += len(ids)
        plain(self, ids, before)

    type(model).check_readable = counted  # type: ignore[method-assign, assignment]
    begin = clock()
    try:
        result = drive.drive(Run(agent._setup, state, None), model, keep=keep)
    finally:
        type(model).check_readable = plain  # type: ignore[method-assign]
    return Outcome(result, clock() - begin, fed[0])


def larger(demo: TransformersModel) -> TransformersModel:
    """A Llama of 100 million random weights."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=demo.model.config.vocab_size,
        hidden_size=768,
        intermediate_size=2048,
        num_hidden_layers=12,
        num_attention_heads=12,
        max_position_embeddings=2048,
    )
    model = transformers.LlamaForCausalLM(config)
    model.generation_config.eos_token_id = demo.tokenizer.eos_token_id
    return sk.from_transformers(model, demo.tokenizer)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="what is measured")
    clock = CLOCKS[parser.parse_args().clock]
    demo = sk.load()
    print("| model | kept | steps | read | tokens read a step | seconds | steps per second |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name, model in (("demo", demo), ("Llama, 100 M", larger(demo))):
        run(model, keep=True, clock=clock)
        for keep in (False, True):
            made = run(model, keep=keep, clock=clock)
            steps = made.result.steps
            print(
                f"| {name} | {'yes' if keep else 'no'} | {steps} | {made.read:,} | {made.read / steps:,.0f} "
                f"| {made.seconds:.2f} | {steps / made.seconds:.2f} |"
            )


if __name__ == "__main__":
    main()
