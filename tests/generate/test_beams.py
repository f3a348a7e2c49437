"""Beam search finds the likeliest text where all hypotheses fit, and never a less likely one than fewer beams find."""

from __future__ import annotations

import itertools
import math
import threading
from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import AfterValidator, BaseModel, Field, field_validator

import structkit as sk
from structkit.generate.beams import search
from structkit.generate.drive import Cancelled
from structkit.testing import RandomModel, byte_vocabulary

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")


class Tables:
    """Rows of a model whose logits depend on the last two tokens."""

    most, overhead = None, 1

    def __init__(self, seed: int) -> None:
        self.noise = np.random.default_rng(seed).standard_normal((64, 64, 257), np.float32) * 3
        self.rows: list[list[int]] = []

    def add(self, sequences: list[list[int]]) -> np.ndarray:
        self.rows += [list(each) for each in sequences]
        return np.stack([self.logits(row) for row in self.rows[-len(sequences) :]])

    def feed(self, token_ids: list[list[int]]) -> np.ndarray:
        for row, ids in zip(self.rows, token_ids, strict=True):
            row += ids
        return np.stack([self.logits(row) for row in self.rows])

    def keep(self, rows: list[int]) -> None:
        self.rows = [list(self.rows[row]) for row in rows]

    def logits(self, row: list[int]) -> np.ndarray:
        return self.noise[row[-2] % 64, row[-1] % 64].copy()


def _logprob(tables: Tables, prompt: list[int], text: bytes, texts: list[bytes]) -> float:
    """By the chain rule, over the bytes that the other texts allow; 256 ends a text."""
    total = 0.0
    for at in range(len(text) + 1):
        alike = [other for other in texts if other[:at] == text[:at]]
        allowed = sorted({other[at] if at < len(other) else 256 for other in alike})
        if len(allowed) == 1:
            continue
        row = tables.logits([*prompt, *text[:at]])[allowed].astype(np.float64)
        chosen = allowed.index(text[at] if at < len(text) else 256)
        total += row[chosen] - row.max() - math.log(np.exp(row - row.max()).sum())
    return total


@pytest.mark.parametrize("seed", range(8))
def test_enough_beams_find_the_likeliest(seed: int) -> None:
    vocabulary = byte_vocabulary()
    texts = [bytes(word) for n in (1, 2, 3) for word in itertools.product(b"abc", repeat=n)]
    guide = sk.compile(sk.Choice([text.decode() for text in texts]), vocabulary)
    prompt = [120, 121]
    wanted = sorted(((_logprob(Tables(seed), prompt, text, texts), text) for text in texts), reverse=True)
    found = search(Tables(seed), prompt, guide.cursor(), beams=39, budget=10)
    assert [bytes(beam.token_ids) for beam in found] == [text for _, text in wanted]
    assert [beam.logprob for beam in found] == pytest.approx([score for score, _ in wanted], abs=1e-4)
    best = [search(Tables(seed), prompt, guide.cursor(), beams=n, budget=10)[0].logprob for n in (1, 3, 39)]
    assert best[2] >= max(best) - 1e-6


class Person(BaseModel):
    name: str = Field(max_length=12)
    age: int
    job: Literal["nurse", "teacher"] | None


def test_a_real_model_finds_nothing_less_likely_than_greedy() -> None:
    model, text = sk.load(), "Ana Souza, 34, works as a nurse in Porto."
    greedy = sk.generate(model, text, Person, forced=False)
    beams = sk.generate(model, text, Person, beams=4)
    assert beams.value == Person.model_validate_json(beams.text)
    total = sum(token.logprob for token in beams.events)
    assert total >= sum(token.logprob for token in greedy.events) - 1e-3


def test_what_validators_refuse_gives_way_to_the_next() -> None:
    seen = []

    class Later(Person):
        @field_validator("age")
        @classmethod
        def second(cls, age: int) -> int:
            seen.append(age)
            if len(seen) == 1:
                raise ValueError("not the first")
            return age

    result = sk.generate(sk.load(), "Ana Souza, 34, works as a nurse in Porto.", Later, beams=4)
    assert len(result.attempts) == 2
    assert result.attempts[0] != result.attempts[1] == result.text
    assert result.usage.generated_tokens == len(result.token_ids)
    assert result.usage.discarded_tokens > 0


def test_what_was_refused_is_counted() -> None:
    def never(value: bool) -> bool:
        raise ValueError("neither")

    with pytest.raises(sk.ValidationFailed) as caught:
        sk.generate(sk.load(), "Is it so?", Annotated[bool, AfterValidator(never)], beams=2)
    usage = caught.value.usage
    assert isinstance(usage, sk.Usage)
    tokens = sum(len(sk.load().encode_text(attempt)) for attempt in caught.value.attempts)
    assert (usage.generated_tokens, usage.discarded_tokens) == (0, tokens)


def test_a_search_that_nobody_waits_for_ends() -> None:
    cancelled = threading.Event()
    cancelled.set()
    cursor = sk.compile(Literal["a", "b"], byte_vocabulary()).cursor()
    with pytest.raises(Cancelled):
        search(Tables(0), [1, 2], cursor, beams=2, budget=9, cancelled=cancelled)  # type: ignore[arg-type]


def test_what_cannot_be_meant() -> None:
    with pytest.raises(ValueError, match="leave out the temperature"):
        sk.extract(RandomModel(), "x", int, beams=2, temperature=1)
    with pytest.raises(ValueError, match="beams are for extract"):
        sk.extract_many(RandomModel(), ["x"], int, beams=2)
    for name, value in {
        "thinking": True,
        "timeout": 1.0,
        "processors": [print],
        "repetition_penalty": 2.0,
    }.items():
        with pytest.raises(ValueError, match=f"beams do not go together with {name}"):
            sk.extract(RandomModel(), "x", int, beams=2, **{name: value})
    with pytest.raises(sk.GenerationError, match="one sequence at a time"):
        sk.extract(RandomModel(), "x", int, beams=2)
    with pytest.raises(sk.GenerationError, match="MaxTokens"):
        sk.extract(sk.load(), "x", Annotated[str, sk.MaxTokens(3)], beams=2)
    with pytest.raises(sk.BudgetTooSmall):
        sk.extract(sk.load(), "x", Person, beams=2, max_tokens=3)
