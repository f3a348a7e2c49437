"""Quotes: the cost of fields that quote a source, by the length of the source.

```
python -m benchmarks.quotes --tokenizer tokenizer.json
```

Each run compiles a guide for three quotes from a source, computes the first mask, and walks a quote of up to 200
characters. The table has the fastest of three runs with distinct sources.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel

import structkit as sk
from benchmarks.data import read_tokenizer
from benchmarks.verdict import CLOCKS, Clock

__all__ = ["Entry", "main", "source_of"]

SIZES = (1_000, 2_000, 10_000, 50_000, 100_000)
SYLLABLES = "an bor cu dem el fi gan hu in jo ka lem mo nu or pa que ri so tu ul vo wa xe ye zi".split()


class Entry(BaseModel):
    """Three quotes."""

    name: Annotated[str, sk.Quote()]
    job: Annotated[str, sk.Quote()] | None
    city: Annotated[str, sk.Quote()] | None


def source_of(size: int, seed: int) -> str:
    """Return a text of up to `size` characters, with word frequencies of natural language (Zipf)."""
    random_ = random.Random(seed)
    vocabulary = ["".join(random_.choices(SYLLABLES, k=random_.randint(1, 4))) for _ in range(5_000)]
    words = random_.choices(vocabulary, [1 / rank for rank in range(1, len(vocabulary) + 1)], k=size // 3 + 1)
    return " ".join(words)[:size].rstrip()


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tokenizer", type=Path, required=True, help="a tokenizer.json")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="wall time or processor time")
    arguments = parser.parse_args()
    clock = CLOCKS[arguments.clock]
    tokenizer = read_tokenizer(arguments.tokenizer)
    vocabulary = sk.Vocabulary.from_tokenizer(tokenizer)
    sk.compile(Entry, vocabulary, source="compiles the kernels").cursor()
    print("characters  compile ms  mask p50 µs  states")
    for size in SIZES:
        rows = [_measure(source_of(size, seed), vocabulary, tokenizer, clock) for seed in range(3)]
        compile_ms, mask, states = (min(column) for column in zip(*rows, strict=True))
        print(f"{size:>10,}  {compile_ms:>10.1f}  {mask:>11.0f}  {states:>6,}")


def _measure(
    source: str, vocabulary: sk.Vocabulary, tokenizer: object, clock: Clock
) -> tuple[float, float, int]:
    mask = np.zeros(vocabulary.mask_words, np.uint32)
    begin = clock()
    cursor = sk.compile(Entry, vocabulary, source=source).cursor()
    cursor.fill_mask(mask)
    compile_ms = 1000 * (clock() - begin)
    middle = source.index(" ", len(source) // 2) + 1
    quote = source[middle : middle + 200].rsplit(" ", 1)[0]
    encode = getattr(tokenizer, "encode")  # noqa: B009 (tokenizers has no type for it)
    times = []
    for token in encode(f'{{"name": {json.dumps(quote)}', add_special_tokens=False).ids:
        begin = clock()
        cursor.fill_mask(mask)
        cursor.advance(token)
        times.append(1e6 * (clock() - begin))
    states = len(cursor.guide.index.automaton.row)
    return compile_ms, sorted(times)[len(times) // 2], states


if __name__ == "__main__":
    main()
