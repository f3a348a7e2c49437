"""Steps of an agent, with and without caching of read tokens between steps.

```
OMP_NUM_THREADS=1 python -m benchmarks.agent --clock cpu
```

An agent with three tools and eight steps, greedy, with outputs of about a hundred tokens, on the demo model and on a
larger Llama with random weights and the demo model's tokens, within their contexts. A bias on `{` makes the model call
a tool in each step but the last. The runs are equal with and without the cache. The second table is a conversation of
three turns, each with the messages of the previous one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

import structkit as sk
from benchmarks.verdict import CLOCKS, Clock
from structkit.agent.run import driver
from structkit.agent.run.run import Run
from structkit.agent.run.state import AgentResult, RunState
from structkit.messages import User
from structkit.models.transformers.model import TransformersModel


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
    """The result and the cost of a run; `tokens_read` is the number of tokens fed to the model."""

    result: AgentResult[object]
    seconds: float
    tokens_read: int


def create_agent(model: TransformersModel, max_steps: int, prefix_cache_tokens: int) -> sk.Agent[bool]:
    """Return the agent; a logits processor makes it call tools."""
    opening = [token for token, text in enumerate(model.vocabulary.tokens) if text.startswith(b"{")]

    def prefer_calls(ids: object, scores: Any) -> Any:
        scores[..., opening] += 50.0
        return scores

    return sk.Agent(
        model,
        tools=[search, order_status, weather],
        output_type=bool,
        max_steps=max_steps,
        max_tokens=600,
        on_limit="answer",
        processors=[prefer_calls],
        limits=sk.Limits(prefix_cache_tokens=prefix_cache_tokens),
    )


@contextmanager
def counting(model: TransformersModel) -> Iterator[list[int]]:
    """Count the tokens fed to a model."""
    fed = [0]
    original = type(model).check_readable

    def counted(self: TransformersModel, ids: list[int], before: int) -> None:
        fed[0] += len(ids)
        original(self, ids, before)

    type(model).check_readable = counted  # type: ignore[method-assign, assignment]
    try:
        yield fed
    finally:
        type(model).check_readable = original  # type: ignore[method-assign]


def run(model: TransformersModel, *, reuse_prefix: bool, clock: Clock) -> Outcome:
    """Measure one run of the agent."""
    agent = create_agent(model, 8, 0)
    state = RunState(
        agent_fingerprint="", messages=(User(content="Where is my order 7 of The Silent River?"),), pending=()
    )
    with counting(model) as fed:
        start = clock()
        result = driver.drive_sync(Run(agent._config, state, None), model, reuse_prefix=reuse_prefix)
        if not isinstance(result, AgentResult):
            raise RuntimeError("the run stopped after a step")
        return Outcome(result, clock() - start, fed[0])


def conversation(model: TransformersModel, *, reuse_prefix: bool, clock: Clock) -> list[Outcome]:
    """Measure three turns of a conversation."""
    agent = create_agent(model, 3, 8_192 if reuse_prefix else 0)
    outcomes: list[Outcome] = []
    for prompt in ("Where is my order 7?", "And order 8?", "Is it sunny there?"):
        messages = outcomes[-1].result.messages if outcomes else ()
        with counting(model) as fed:
            start = clock()
            result = cast("AgentResult[object]", agent.run(prompt, messages=messages))
            outcomes.append(Outcome(result, clock() - start, fed[0]))
    return outcomes


def random_llama(demo: TransformersModel) -> TransformersModel:
    """Return a Llama with 100 million random weights."""
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
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="wall time or processor time")
    clock = CLOCKS[parser.parse_args().clock]
    demo = sk.load()
    print(
        "| model | prefix cache | steps | tokens read | tokens read per step | seconds | steps per second |"
    )
    print("|---|---|---:|---:|---:|---:|---:|")
    models = {"demo": demo, "Llama, 100 M": random_llama(demo)}
    for name, model in models.items():
        run(model, reuse_prefix=True, clock=clock)
        for reuse_prefix in (False, True):
            outcome = run(model, reuse_prefix=reuse_prefix, clock=clock)
            steps = outcome.result.steps
            print(
                f"| {name} | {'yes' if reuse_prefix else 'no'} | {steps} | {outcome.tokens_read:,} "
                f"| {outcome.tokens_read / steps:,.0f} "
                f"| {outcome.seconds:.2f} | {steps / outcome.seconds:.2f} |"
            )
    print(
        "\n| model | prefix cache between turns | tokens read in turn 1 | 2 | 3 | seconds of turn 1 | 2 | 3 |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name, model in models.items():
        for reuse_prefix in (False, True):
            outcomes = conversation(model, reuse_prefix=reuse_prefix, clock=clock)
            read = " | ".join(f"{each.tokens_read:,}" for each in outcomes)
            seconds = " | ".join(f"{each.seconds:.2f}" for each in outcomes)
            print(f"| {name} | {'yes' if reuse_prefix else 'no'} | {read} | {seconds} |")


if __name__ == "__main__":
    main()
