"""The corpus: infinite streams of mixed exercises for training, and evaluation sets."""

from __future__ import annotations

from collections.abc import Iterator

from demo_corpus import (
    agents,
    assistant,
    calls,
    commerce,
    frames,
    heldout,
    invented,
    life,
    nonsense,
    opinions,
    orders,
    people,
)
from demo_corpus.conversation import Task
from demo_corpus.example import Example
from demo_corpus.values import Source

FRAMES = [*people.FRAMES, *life.FRAMES, opinions.TICKET, opinions.TICKET, *commerce.FRAMES]


def train_examples(seed: int) -> Iterator[Example]:
    """Yield an infinite stream of training exercises, with training sentences and training values."""
    source = Source(seed, "train")
    while True:
        yield exercise(source)


def train_tasks(seed: int) -> Iterator[Task]:
    """Yield an infinite stream of agent runs for training; a quarter use the tutorial's assistant."""
    source = Source(seed, "train")
    while True:
        yield assistant.task(source) if source.chance(0.25) else agents.task(source)


def heldout_tasks(seed: int, count: int, kind: str | None = None) -> list[Task]:
    """Return agent runs, of one kind or of all, with questions, values and invented tools that training excludes."""
    source = Source(seed, "heldout")
    return [agents.task(source, heldout=True, kind=kind) for _ in range(count)]


def heldout_questions(seed: int, count: int, kind: str) -> list[Task]:
    """Return questions of one kind to the tutorial's assistant, with words and values that training excludes."""
    source = Source(seed, "heldout")
    return [assistant.task(source, heldout=True, kind=kind) for _ in range(count)]


def heldout_values(seed: int, count: int) -> list[Example]:
    """Return training sentences and kinds, filled with strings that training excludes."""
    source = Source(seed, "heldout")
    return [exercise(source, nonsense_share=0) for _ in range(count)]


def heldout_sentences(seed: int, count: int) -> list[Example]:
    """Return training kinds with sentences and values that training excludes."""
    source = Source(seed, "heldout")
    return [exercise(source, nonsense_share=0, heldout=True) for _ in range(count)]


def heldout_schemas(seed: int, count: int) -> list[Example]:
    """Return kinds, field names, sentences and values that training excludes."""
    source = Source(seed, "heldout")
    return [frames.exercise(source.rng.choice(heldout.FRAMES), source) for _ in range(count)]


def exercise(source: Source, nonsense_share: float = 0.4, heldout: bool = False) -> Example:
    """Return one exercise of any kind; a share has invented words or an invented kind."""
    if source.chance(nonsense_share):
        return nonsense.exercise(source) if source.chance(0.35) else invented.exercise(source)
    kind = source.rng.random()
    if kind < 0.12:
        return orders.order(source, heldout)
    if kind < 0.22:
        return orders.review(source, heldout)
    if kind < 0.42:
        return calls.call(source, heldout)
    usable = [each for each in FRAMES if frames.sentences(each.sentences, heldout)]
    return frames.exercise(source.rng.choice(usable), source, heldout)
