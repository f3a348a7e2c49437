"""Random walks: pydantic accepts every text that a random model generates under the mask.

```
python -m benchmarks.walks --tokenizer tokenizer.json --walks 2000
```

The walks use the types of `tests/zoo` in turn, the complete vocabulary, and a new seed, brevity and budget for each
walk. The command prints the counts of each type, and exits with 1 if a text is invalid.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import structkit as sk
from benchmarks.data import read_tokenizer
from structkit.testing import RandomModel
from tests.zoo import ZOO

BREVITIES = (0.0, 4.0, 8.0)
"""Brevities of the random model: no, some and strong preference for closing open values."""


@dataclass(slots=True)
class Tally:
    """The outcome of the walks of one type."""

    ends: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    seconds: float = 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Walk, print the counts, and return 1 if a text is invalid."""
    options = _parser().parse_args(arguments)
    vocabulary = sk.Vocabulary.from_tokenizer(read_tokenizer(options.tokenizer))
    models = [RandomModel(options.seed, vocabulary, brevity=brevity) for brevity in BREVITIES]
    tallies = {name: Tally() for name in options.types or ZOO}
    wrong = 0
    for walk, name in zip(range(options.walks), cycle(tallies), strict=False):
        wrong += _walk(name, options.seed + walk, models[walk // len(tallies) % len(models)], tallies[name])
        if (walk + 1) % 200 == 0:
            print(f"{walk + 1} of {options.walks} walks, {wrong} wrong", file=sys.stderr, flush=True)
    print(_table(tallies))
    print(f"\n{options.walks} walks over {len(tallies)} types on {vocabulary}: {wrong} wrong")
    return 1 if wrong else 0


def _walk(name: str, seed: int, model: RandomModel, tally: Tally) -> bool:
    """Generate one text and validate it; print a failure and return whether there was one."""
    specimen = ZOO[name]
    target = specimen.target
    budget = random.Random(seed).choice((20, 50, 100, 200, 400))
    begin = time.perf_counter()
    text = ""
    try:
        result = sk.generate(model, "", target, max_tokens=budget, temperature=1.0, seed=seed)
        text = result.text
        specimen.adapter.validate_json(text)
        if result.usage.generated_tokens > budget:
            raise ValueError(f"{result.usage.generated_tokens} tokens of {budget}")
    except sk.BudgetTooSmall as error:
        tally.ends["too small"] += 1
        return _is_inconsistent(error, budget, name)
    except sk.OutputValidationError as error:
        tally.ends["checked"] += 1
        if not specimen.checked:
            print(f"WRONG {name}, seed {seed}: {error.text!r}", flush=True)
        return not specimen.checked
    except Exception as error:
        tally.ends["wrong"] += 1
        text = getattr(error, "text", text)
        print(f"WRONG {name}, seed {seed}, max_tokens {budget}: {type(error).__name__}: {error}")
        print(f"  {text!r}", flush=True)
        return True
    tally.ends[result.finish_reason] += 1
    tally.tokens += result.usage.generated_tokens
    tally.seconds += time.perf_counter() - begin
    return False


def _is_inconsistent(error: sk.BudgetTooSmall, budget: int, name: str) -> bool:
    """Whether a `BudgetTooSmall` reports a budget that suffices."""
    if error.needed > budget:
        return False
    print(f"WRONG {name}: {error}, but the budget is {budget}", flush=True)
    return True


def _table(tallies: dict[str, Tally]) -> str:
    lines = [
        "| type | stop | budget | too small | checked | wrong | tokens | ms a token |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, tally in tallies.items():
        ends = " | ".join(str(tally.ends[end]) for end in ("stop", "budget", "too small", "checked", "wrong"))
        each = 1000 * tally.seconds / max(1, tally.tokens)
        lines.append(f"| {name} | {ends} | {tally.tokens} | {each:.2f} |")
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.walks", description=__doc__)
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer.json, gzipped or not")
    parser.add_argument("--walks", type=int, default=2000, help="total number of walks")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first walk; each walk increments it")
    parser.add_argument(
        "--types", nargs="*", choices=list(ZOO), metavar="NAME", help="types of the zoo; by default all"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
