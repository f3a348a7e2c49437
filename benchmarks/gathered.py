"""Concurrent calls: calls one by one, one call for many prompts, and gathered async calls, which share a batch.

```
python -m benchmarks.gathered
```

Each is the best of several rounds, in turn, on the demo model. A row also shows the throughput relative to
`extract_many` with as many rows.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable

from pydantic import BaseModel, Field

import structkit as sk
from benchmarks.verdict import CLOCKS, Clock
from structkit.models.transformers.model import TransformersModel

PEOPLE = (
    "Ana Souza, 34, works as a nurse in Porto.",
    "Tom is 7.",
    "Maria Silva is a 51-year-old engineer from Lisbon, and she has two brothers.",
    "Hello, I am Luca, I am 20.",
    "John Smith (45), teacher",
    "Nobody knows how old Eva is, but she is a doctor.",
    "Ben, 61.",
    "Carla Dias, 29, is a baker in Braga.",
)


class Person(BaseModel):
    """What the prompts tell."""

    name: str = Field(max_length=30)
    age: int
    job: str | None = None


async def _gathered(model: TransformersModel, prompts: list[str]) -> list[Person]:
    return await asyncio.gather(*(sk.aextract(model, prompt, Person) for prompt in prompts))


async def _one_by_one(model: TransformersModel, prompts: list[str]) -> list[Person]:
    return [await sk.aextract(model, prompt, Person) for prompt in prompts]


def _seconds(work: Callable[[], object], clock: Clock) -> float:
    start = clock()
    work()
    return clock() - start


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    options = _parser().parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    model, clock = sk.load(), CLOCKS[options.clock]
    prompts = [f"{PEOPLE[number % len(PEOPLE)]} ({number})" for number in range(options.calls)]
    kinds: dict[str, Callable[[], object]] = {
        "extract, one by one": lambda: [sk.extract(model, prompt, Person) for prompt in prompts],
        "aextract, one by one": lambda: asyncio.run(_one_by_one(model, prompts)),
        "extract_many, batch_size=8": lambda: sk.extract_many(model, prompts, Person, progress=False),
        f"extract_many, batch_size={len(prompts)}": lambda: sk.extract_many(
            model, prompts, Person, progress=False, batch_size=len(prompts)
        ),
        "aextract, gathered": lambda: asyncio.run(_gathered(model, prompts)),
    }
    best = dict.fromkeys(kinds, float("inf"))
    for _ in range(options.rounds + 1):
        for name, work in kinds.items():
            best[name] = min(best[name], _seconds(work, clock))
    together = best[f"extract_many, batch_size={len(prompts)}"]
    print(f"| {len(prompts)} prompts | values per second | relative |")
    print("|---|---|---|")
    for name, seconds in best.items():
        print(f"| {name} | {len(prompts) / seconds:.0f} | {together / seconds:.2f} |")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gathered", description=__doc__)
    parser.add_argument("--calls", type=int, default=32, help="number of prompts")
    parser.add_argument("--rounds", type=int, default=10, help="rounds, of which the best counts")
    parser.add_argument(
        "--clock", default="wall", choices=CLOCKS, help="cpu: processor time, for a busy machine"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
