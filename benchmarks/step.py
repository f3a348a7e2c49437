"""The masked step: the cost of selecting a token for each row of a batch under a mask, compared with no mask.

```
python -m benchmarks.step
```

Greedy, on the CPU, one thread. Logits are noise. Masks are wide as in a JSON string (98.7 % of the tokens), narrow as
in a key or a number (12 tokens), or half of the vocabulary, which no schema requires. The other engines apply
the packed masks to the logits with their own function, and torch takes the argmax, as in their logits processors.
`benchmarks.maskbench` measures the computation of masks.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from structkit.generate.sample.select import select_tokens
from structkit.generate.sample.step import SampleRequest

VOCABULARIES = (32_768, 131_072, 200_064)
BATCHES = (1, 8, 64)
SHARES = {"12 tokens": 0.0, "half": 0.5, "free text": 0.987}
REPETITIONS = 60
FORWARD_PASS = 10_000.0
"""Microseconds of the forward pass that is compared to the step."""

Step = Callable[[NDArray[np.float32]], object]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.step", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="seed of the noise")
    options = parser.parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    random = np.random.default_rng(options.seed)
    engines = [name for name in ("xgrammar", "llguidance") if find_spec(name)]
    print(
        "| vocabulary | batch | mask | unconstrained | structkit | of a 10 ms pass |",
        *(f"{name} |" for name in engines),
    )
    print("|---|---|---|---|---|---|" + "---|" * len(engines))
    for width in VOCABULARIES:
        for rows in BATCHES:
            for name, share in SHARES.items():
                masks = _masks(random, rows, width, share)
                steps = {"unconstrained": _unconstrained, "structkit": _structkit(masks)}
                steps |= {engine: _OTHER_ENGINES[engine](masks) for engine in engines}
                times_by_engine = _measure(steps, random.standard_normal((rows, width), np.float32))
                overhead = (times_by_engine["structkit"] - times_by_engine["unconstrained"]) / FORWARD_PASS
                cells = [f"{width:,}", str(rows), name, f"{times_by_engine['unconstrained']:,.0f} µs"]
                cells += [f"{times_by_engine['structkit']:,.0f} µs", f"{overhead:+.2%}"]
                print(
                    "|",
                    " | ".join([*cells, *(f"{times_by_engine[engine]:,.0f} µs" for engine in engines)]),
                    "|",
                    flush=True,
                )
    return 0


def _masks(random: np.random.Generator, rows: int, width: int, share: float) -> NDArray[np.uint32]:
    """Return random masks, uint32[rows, words]."""
    allowed = random.random((rows, width)) < share
    for row in allowed:
        row[random.integers(width, size=12)] = True
    return np.packbits(allowed, axis=1, bitorder="little").view(np.uint32)


def _measure(steps: dict[str, Step], logits: NDArray[np.float32]) -> dict[str, float]:
    """Return the median microseconds of each engine; engines take turns, each on fresh logits."""
    times_by_engine: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(REPETITIONS):
        for name, step in steps.items():
            fresh = logits.copy()
            start = time.perf_counter()
            step(fresh)
            times_by_engine[name].append(time.perf_counter() - start)
    return {name: 1e6 * float(np.median(times)) for name, times in times_by_engine.items()}


def _unconstrained(logits: NDArray[np.float32]) -> object:
    import torch

    return torch.from_numpy(logits).argmax(dim=-1).tolist()


def _structkit(masks: NDArray[np.uint32]) -> Step:
    return lambda logits: select_tokens(logits, [SampleRequest(token_ids=[], mask=mask) for mask in masks])


def _xgrammar(masks: NDArray[np.uint32]) -> Step:
    import torch

    xgrammar = import_module("xgrammar")
    packed = torch.from_numpy(masks.view(np.int32))

    def step(logits: NDArray[np.float32]) -> object:
        rows = torch.from_numpy(logits)
        xgrammar.apply_token_bitmask_inplace(rows, packed)
        return rows.argmax(dim=-1).tolist()

    return step


def _llguidance(masks: NDArray[np.uint32]) -> Step:
    import torch

    apply_masks = import_module("llguidance.torch").apply_token_bitmask_inplace
    packed = torch.from_numpy(masks.view(np.int32))

    def step(logits: NDArray[np.float32]) -> object:
        rows = torch.from_numpy(logits)
        apply_masks(rows, packed)
        return rows.argmax(dim=-1).tolist()

    return step


_OTHER_ENGINES = {"xgrammar": _xgrammar, "llguidance": _llguidance}

if __name__ == "__main__":
    sys.exit(main())
