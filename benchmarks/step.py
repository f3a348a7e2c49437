"""The masked step: cost of choosing a token for each row of a batch under a mask, compared to no mask.

```
python -m benchmarks.step
```

Greedy, on the CPU, one thread. Logits are noise. Masks are wide as in a JSON string (98.7 % of the tokens), narrow as
in a key or a number (12 tokens), or half of the vocabulary, which no schema requires. The peers apply the packed masks
to the logits with their own function, and torch takes the argmax, as in their logits processors. The computation of
masks is measured by `benchmarks.maskbench`.
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
ROUNDS = 60
FORWARD = 10_000.0
"""Microseconds of the forward pass that is compared to the step."""

Step = Callable[[NDArray[np.float32]], object]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.step", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    options = parser.parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    random = np.random.default_rng(options.seed)
    peers = [name for name in ("xgrammar", "llguidance") if find_spec(name)]
    print(
        "| vocabulary | batch | mask | unconstrained | structkit | of a 10 ms pass |",
        *(f"{name} |" for name in peers),
    )
    print("|---|---|---|---|---|---|" + "---|" * len(peers))
    for width in VOCABULARIES:
        for rows in BATCHES:
            for name, share in SHARES.items():
                masks = _masks(random, rows, width, share)
                steps = {"unconstrained": _unconstrained, "structkit": _structkit(masks)}
                steps |= {peer: _PEERS[peer](masks) for peer in peers}
                took = _measure(steps, random.standard_normal((rows, width), np.float32))
                more = (took["structkit"] - took["unconstrained"]) / FORWARD
                cells = [f"{width:,}", str(rows), name, f"{took['unconstrained']:,.0f} µs"]
                cells += [f"{took['structkit']:,.0f} µs", f"{more:+.2%}"]
                print(
                    "|", " | ".join([*cells, *(f"{took[peer]:,.0f} µs" for peer in peers)]), "|", flush=True
                )
    return 0


def _masks(random: np.random.Generator, rows: int, width: int, share: float) -> NDArray[np.uint32]:
    """uint32[rows, words]."""
    allowed = random.random((rows, width)) < share
    for row in allowed:
        row[random.integers(width, size=12)] = True
    return np.packbits(allowed, axis=1, bitorder="little").view(np.uint32)


def _measure(steps: dict[str, Step], logits: NDArray[np.float32]) -> dict[str, float]:
    """Return the median microseconds of each engine; engines take turns, each on fresh logits."""
    took: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(ROUNDS):
        for name, step in steps.items():
            given = logits.copy()
            begin = time.perf_counter()
            step(given)
            took[name].append(time.perf_counter() - begin)
    return {name: 1e6 * float(np.median(times)) for name, times in took.items()}


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

    put = import_module("llguidance.torch").apply_token_bitmask_inplace
    packed = torch.from_numpy(masks.view(np.int32))

    def step(logits: NDArray[np.float32]) -> object:
        rows = torch.from_numpy(logits)
        put(rows, packed)
        return rows.argmax(dim=-1).tolist()

    return step


_PEERS = {"xgrammar": _xgrammar, "llguidance": _llguidance}

if __name__ == "__main__":
    sys.exit(main())
