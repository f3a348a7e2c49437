"""Extraction with the demo model: tokens per second with and without drafts, and the memory of many prompts.

```
python -m benchmarks.extraction --clock cpu
python -m benchmarks.extraction --memory 1000
```

The messages about people and orders are similar to the demo model's training data. "Unconstrained" and "processor" run
in the loop of transformers, the second with `structkit.LogitsProcessor`; the others run in structkit's loop. All are
greedy and read the same prompts. Unconstrained text has as many tokens as structkit's values have on average. Passes
are forward passes of the model, including prompts. All engines take turns, so that other load affects all of them.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel, Field

import structkit as sk
from benchmarks.generation import Setting
from benchmarks.verdict import CLOCKS
from structkit.generate.input.prompt import build_prompt
from structkit.models.protocols import LogitsModel
from structkit.targets.targets import read_target

NAMES = (
    "Ana Souza",
    "Peter Novak",
    "Clara Mendes",
    "Tom Baker",
    "Maria Silva",
    "Eva Lang",
    "John Smith",
    "Rosa Lima",
)
CITIES = ("Porto", "Lisbon", "Graz", "Cambridge")
JOBS = ("nurse", "teacher", "gardener", "engineer", "baker")
TITLES = ("Winter Garden", "Blue Harbour", "The Silent River", "Green Garden")


class Person(BaseModel):
    """A person."""

    name: str
    age: int
    job: str
    city: str


class Line(BaseModel):
    """A line of an order."""

    title: str
    quantity: int = Field(ge=1)


class Order(BaseModel):
    """An order."""

    customer: str
    items: list[Line] = Field(min_length=1)


def people(count: int) -> list[str]:
    """Return messages about people."""
    mixed = zip(
        itertools.cycle(NAMES), itertools.cycle(JOBS), itertools.cycle((*CITIES, "Vienna")), strict=False
    )
    texts = (
        f"{name}, {20 + 7 * number % 60}, works as a {job} in {city}."
        for number, (name, job, city) in enumerate(mixed)
    )
    return list(itertools.islice(texts, count))


def orders(count: int) -> list[str]:
    """Return messages about orders, of one to three lines."""
    texts = []
    for number in range(count):
        lines = [
            f"{1 + (number + line) % 9} copies of {TITLES[(number + line) % 4]}"
            for line in range(1 + number % 3)
        ]
        texts.append(f"{NAMES[number % 8]} ordered {' and '.join(lines)}.")
    return texts


TASKS: dict[str, tuple[type[BaseModel], Callable[[int], list[str]]]] = {
    "people": (Person, people),
    "orders": (Order, orders),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the tables."""
    options = _parser().parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    model = sk.load()
    if options.memory:
        _memory(model, options.memory)
        return 0
    setting = Setting(model, 200, CLOCKS[options.clock], is_trained=True)
    print("| prompts | batch | " + " | ".join(ENGINES) + " | passes without and with drafts |")
    print("| --- | ---: | " + "---: | " * (len(ENGINES) + 1))
    for task, (target, make) in TASKS.items():
        for size in map(int, options.batches.split(",")):
            row = _row(setting, target, make(max(options.prompts, 2 * size)), size)
            print(f"| {task} | {size} | {row} |", flush=True)
    return 0


def _row(setting: Setting, target: type[BaseModel], texts: list[str], size: int) -> str:
    results = sk.generate_many(setting.model, texts, target, progress=False, batch_size=size)
    length = sum(result.usage.generated_tokens for result in results) // len(results)
    tokens, seconds, passes = (dict.fromkeys(ENGINES, 0.0) for _ in range(3))
    batches = [texts[first : first + 2 * size] for first in range(0, len(texts), 2 * size)]
    for number, batch in enumerate(batches[:1] + batches):  # the first batch is a warm-up
        for name, run in ENGINES.items():
            with _count_passes(setting) as count:
                start = setting.clock()
                generated = run(setting, target, batch, size, length)
                elapsed = setting.clock() - start
            if number:
                tokens[name] += generated
                seconds[name] += elapsed
                passes[name] += count[0]
    rates = [f"{tokens[name] / seconds[name]:,.0f}" for name in ENGINES]
    return " | ".join([*rates, f"{passes['no drafts']:,.0f} and {passes['drafts']:,.0f}"])


@contextmanager
def _count_passes(setting: Setting) -> Iterator[list[int]]:
    """Count the forward passes of the model."""
    count = [0]

    def increment(*_: object) -> None:
        count[0] += 1

    model: Any = setting.model.model
    handle = model.register_forward_pre_hook(increment)
    try:
        yield count
    finally:
        handle.remove()


def _transformers(
    setting: Setting,
    target: type[BaseModel],
    texts: list[str],
    size: int,
    options: Callable[[], dict[str, object]],
) -> int:
    prompts = [setting.model.encode(_with_description(text, target)) for text in texts]
    return setting.generate(prompts, size, lambda rows: options())


def _with_description(text: str, target: type[BaseModel]) -> str:
    """Return the text with the description of the target, as in the prompts of structkit."""
    prompt = build_prompt(text, read_target(target).description())
    return prompt if isinstance(prompt, str) else text


def _unconstrained(
    setting: Setting, target: type[BaseModel], texts: list[str], size: int, length: int
) -> int:
    fixed: dict[str, object] = {"min_new_tokens": length, "max_new_tokens": length}
    return _transformers(setting, target, texts, size, lambda: fixed)


def _processor(setting: Setting, target: type[BaseModel], texts: list[str], size: int, length: int) -> int:
    guide = sk.compile(target, setting.model.vocabulary)
    return _transformers(
        setting, target, texts, size, lambda: {"logits_processor": [sk.LogitsProcessor(guide)]}
    )


def _structkit(
    setting: Setting, target: type[BaseModel], texts: list[str], size: int, *, prompt_lookup: bool
) -> int:
    results = sk.generate_many(
        setting.model,
        texts,
        target,
        batch_size=size,
        max_tokens=setting.max_tokens,
        prompt_lookup=prompt_lookup,
        progress=False,
    )
    return sum(result.usage.generated_tokens for result in results)


Engine = Callable[[Setting, type[BaseModel], list[str], int, int], int]

ENGINES: dict[str, Engine] = {
    "unconstrained": _unconstrained,
    "processor": _processor,
    "no drafts": lambda setting, target, texts, size, _: _structkit(
        setting, target, texts, size, prompt_lookup=False
    ),
    "drafts": lambda setting, target, texts, size, _: _structkit(
        setting, target, texts, size, prompt_lookup=True
    ),
}


def _memory(model: LogitsModel, count: int) -> None:
    """Measure the growth of the peak memory of the process with the number of prompts."""
    texts = orders(count)
    sk.extract_many(model, texts[:64], Order, progress=False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sk.extract_many(model, texts, Order, progress=False)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{count} prompts after 64 similar ones: the peak memory grew by {(after - before) / 1024:.1f} MB")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.extraction", description=__doc__)
    parser.add_argument(
        "--prompts", type=int, default=64, help="minimum number of prompts for each batch size"
    )
    parser.add_argument("--batches", default="1,8,32", help="batch sizes, separated by commas")
    parser.add_argument(
        "--memory", type=int, default=0, help="measure only the memory of this number of prompts"
    )
    parser.add_argument(
        "--clock", default="wall", choices=CLOCKS, help="cpu: processor time, for a busy machine"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
