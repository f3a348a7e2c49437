"""Faithful sampling: how far values are from the model's own distribution of valid answers, and what they cost.

```
python -m benchmarks.faithful --runs 2000 --svg docs/assets/faithful.svg
```

The models are tables: the logits of a token follow from the tokens before it, so that the distribution of the valid
answers can be computed by enumeration, and so can that of masking. The table has the total variation distance between
the law of one value and the exact distribution, the mean effective sample size, and the forward passes of a call: steps
of a batch, and rows in them.
"""

from __future__ import annotations

import argparse
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import structkit as sk
from benchmarks.plot import Panel, draw

__all__ = ["CASES", "Case", "TableModel", "distance", "exact_law", "main", "masked_law"]

PARTICLES = (1, 2, 4, 8, 16, 32, 64, 128)


class TableModel:
    """A model of a few tokens, whose logits are normal numbers that follow from the last tokens of the sequence.

    Args:
        tokens: The tokens; the end token is added.
        seed: Seed of the logits.
        spread: Standard deviation of the logits.
        order: How many tokens the next one depends on.

    Attributes:
        passes: The number of tokens whose logits were computed, each in a row of its own.
    """

    name = "table"
    context_length = None

    def __init__(self, tokens: Sequence[str], seed: int = 0, *, spread: float = 2.0, order: int = 8) -> None:
        texts = [token.encode() for token in tokens]
        self.vocabulary = sk.Vocabulary([*texts, b"<end>"], eos_token_ids={len(texts)})
        self.seed, self.spread, self.order = seed, spread, order
        self.passes = 0

    def encode(self, prompt: object) -> list[int]:
        """Return one token, whatever the prompt is."""
        return [0]

    def encode_text(self, text: str) -> list[int]:
        """Return the tokens of a text, longest first."""
        ids, rest = [], text.encode()
        while rest:
            fitting = [
                at for at, token in enumerate(self.vocabulary.tokens) if token and rest.startswith(token)
            ]
            if not fitting:
                return []
            ids.append(max(fitting, key=lambda at: len(self.vocabulary.tokens[at])))
            rest = rest[len(self.vocabulary.tokens[ids[-1]]) :]
        return ids

    def logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Return the logits after some tokens, float32[width]."""
        seed = zlib.crc32(bytes([self.seed, *token_ids[-self.order :]]))
        drawn = np.random.default_rng(seed).standard_normal(self.vocabulary.size)
        return (self.spread * drawn).astype(np.float32)

    def session(self) -> _Session:
        """Start a sequence."""
        return _Session(self)


@dataclass
class _Session:
    model: TableModel
    token_ids: list[int] = field(default_factory=list)

    @property
    def length(self) -> int:
        return len(self.token_ids)

    def logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        self.token_ids += token_ids
        self.model.passes += 1
        return self.model.logits(self.token_ids)

    def crop(self, length: int) -> None:
        del self.token_ids[length:]


@dataclass(frozen=True)
class Case:
    """A model, a finite language, and texts that validators refuse."""

    name: str
    model: TableModel
    target: sk.Regex
    refused: frozenset[str] = frozenset()

    def check(self, text: str) -> None:
        """Refuse some texts."""
        if text in self.refused:
            raise ValueError("it is refused")


CASES = (
    Case("words", TableModel(["a", "b", "c", "ab", "bc", "ca"], 3), sk.Regex("(a|b)(a|c){0,3}|cab?c?")),
    Case(
        "seams", TableModel(["x", "y", "xy", "yx", "-"], 5, spread=3.0), sk.Regex("xyx(-y|yx)|(yx){1,2}-?x")
    ),
    Case(
        "validator",
        TableModel(["a", "b", "c", "ab", "bc", "ca"], 11),
        sk.Regex("[abc]{1,3}"),
        frozenset({"a", "b", "c", "ab", "ca", "cab"}),
    ),
)


def _walk(case: Case, *, is_masked: bool) -> Iterator[tuple[str, float]]:
    """Yield each valid token sequence as its text, and its probability with or without masks."""
    guide = sk.compile(case.target, case.model.vocabulary)
    ends, tokens = guide.vocabulary.eos_token_ids, guide.vocabulary.tokens
    pending = [(guide.cursor(), case.model.encode(""), "", 1.0)]
    while pending:
        cursor, ids, text, chance = pending.pop()
        mask = np.zeros(guide.vocabulary.mask_words, np.uint32)
        cursor.fill_mask(mask)
        logits = case.model.logits(ids).astype(np.float64)
        chances = np.exp(logits - logits.max())
        chances /= chances.sum()
        allowed = [token for token in range(len(chances)) if int(mask[token >> 5]) >> (token & 31) & 1]
        if is_masked:
            chances = chances / chances[allowed].sum()
        for token in allowed:
            if token in ends:
                yield text, chance * float(chances[token])
                continue
            forked = cursor.fork()
            forked.advance(token)
            pending.append(
                (forked, [*ids, token], text + tokens[token].decode(), chance * float(chances[token]))
            )


def exact_law(case: Case) -> tuple[dict[str, float], float]:
    """Return the probability of each valid text among the model's own valid answers, and that of a valid answer."""
    found: defaultdict[str, float] = defaultdict(float)
    for text, chance in _walk(case, is_masked=False):
        if text not in case.refused:
            found[text] += chance
    total = sum(found.values())
    return {text: chance / total for text, chance in found.items()}, total


def masked_law(case: Case) -> dict[str, float]:
    """Return the probability of each valid text if tokens are masked and refused values are drawn again."""
    found: defaultdict[str, float] = defaultdict(float)
    for text, chance in _walk(case, is_masked=True):
        if text not in case.refused:
            found[text] += chance
    total = sum(found.values())
    return {text: chance / total for text, chance in found.items()}


def distance(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """Return the total variation distance.

    >>> distance({"a": 0.5, "b": 0.5}, {"a": 1.0})
    0.5
    """
    return sum(abs(first.get(text, 0.0) - second.get(text, 0.0)) for text in {*first, *second}) / 2


@dataclass(frozen=True)
class Row:
    """What was measured with a number of particles.

    Attributes:
        law: The distance of one value's law from the exact distribution.
        population: The mean distance of the weighted particles of one call.
        size: The mean effective sample size.
        validity: The mean weight, which estimates the probability of a valid answer.
        steps: The mean number of forward passes of a batch.
        rows: The mean number of rows in all of them.
        lost: The share of calls in which validators refused all particles; all figures but the mean weight are of the
            other calls.
    """

    law: float
    population: float
    size: float
    validity: float
    steps: float
    rows: float
    lost: float


def measure(case: Case, particles: int, runs: int, seed: int) -> Row:
    """Draw particles many times."""
    exact, _ = exact_law(case)
    law: defaultdict[str, float] = defaultdict(float)
    sums = np.zeros(5)
    lost = 0
    for run in range(runs):
        case.model.passes = 0
        try:
            results = sk.generate(
                case.model,
                "a valid answer",
                case.target,
                n=particles,
                sampling="faithful",
                validate=case.check,
                seed=seed + run,
                confidence=False,
                limits=sk.Limits(batch_rows=max(PARTICLES)),
            )
        except sk.OutputValidationError:
            lost += 1  # all particles were refused
            continue
        weights = np.exp([result.log_weight or 0.0 for result in results])
        own: defaultdict[str, float] = defaultdict(float)
        for result, weight in zip(results, weights / weights.sum(), strict=True):
            own[result.value] += float(weight)
        for text, chance in own.items():
            law[text] += chance
        longest = max(len(result.token_ids) for result in results) + 1
        sums += [
            distance(own, exact),
            results[0].effective_sample_size or 0.0,
            float(weights.mean()),
            longest,
            case.model.passes,
        ]
    kept = runs - lost
    mean = sums / kept
    return Row(
        distance({text: value / kept for text, value in law.items()}, exact),
        float(mean[0]),
        float(mean[1]),
        float(sums[2] / runs),
        float(mean[3]),
        float(mean[4]),
        lost / runs,
    )


def table(rows: Mapping[str, Mapping[int, Row]]) -> str:
    """Return the table in Markdown."""
    lines = [
        "| case | particles | distance of a value | of the particles | effective size | passes | rows | all refused |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for case in CASES:
        exact, _ = exact_law(case)
        lines.append(f"| {case.name} | masked | {distance(masked_law(case), exact):.3f} | | | | | |")
        lines += [
            f"| | {count} | {row.law:.3f} | {row.population:.3f} | {row.size:.1f} | {row.steps:.1f} | {row.rows:.1f} | "
            f"{row.lost:.0%} |"
            for count, row in rows[case.name].items()
        ]
    return "\n".join(lines)


def panels(rows: Mapping[str, Mapping[int, Row]]) -> list[Panel]:
    """Return the panels of the plot: distance by particles, and by rows."""
    floor = 1e-4
    by_count, by_rows = {}, {}
    for case in CASES:
        masked = distance(masked_law(case), exact_law(case)[0])
        measured = rows[case.name]
        by_count[case.name] = [(float(count), max(row.law, floor)) for count, row in measured.items()]
        by_rows[case.name] = [(row.rows, max(row.law, floor)) for row in measured.values()]
        by_count[f"{case.name}, masked"] = [(float(count), masked) for count in measured]
        by_rows[f"{case.name}, masked"] = [(row.rows, masked) for row in measured.values()]
    return [
        Panel("total variation by particles", by_count, {}),
        Panel("total variation by rows of forward passes", by_rows, {}),
    ]


def main() -> None:
    """Print the table; draw the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=1000, help="calls for each number of particles")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--svg", type=Path, help="the file of the plot")
    arguments = parser.parse_args()
    rows: dict[str, dict[int, Row]] = {}
    for case in CASES:
        _, total = exact_law(case)
        rows[case.name] = {}
        for count in PARTICLES:
            runs = max(50, arguments.runs // max(1, count // 8))
            row = rows[case.name][count] = measure(case, count, runs, arguments.seed)
            print(f"{case.name} {count}: mean weight {row.validity:.4f}, exact {total:.4f}", flush=True)
    print(table(rows))
    if arguments.svg is not None:
        arguments.svg.write_text(draw(panels(rows)), encoding="utf-8")


if __name__ == "__main__":
    main()
