"""Right answers: fields and whole answers right, valid, tokens and seconds, of structkit and of other ways.

```
python -m benchmarks.outcome --count 20 --limit 300
python -m benchmarks.outcome --model FOLDER --sets schemas --arms "structkit; free, parsed"
```

Every arm is greedy and reads the same texts. An arm that fails has no right field in that text. Free answers are
parsed: a code fence or the first JSON value counts. Other engines run in the loop of transformers, with structkit's
prompt and with the JSON Schema in the prompt, as their documentation does. A field is right if it has the expected
value at the expected path. Shares have a 95 % bootstrap interval over the texts; tokens and seconds of processor time
are medians per text, with the 10th and the 90th percentile. The last column is the share of answers that are those of
the plain decode, which draws each token alone. Sets near the training data of the demo model and others are told apart.
The arms take turns, so that other load affects all of them, and `--limit` bounds the processor time of a set, for all
arms together.

A second table compares each arm with `--against` on the same texts: in how many it has more fields right, and in how
many fewer; the difference of the fields right with its bootstrap interval; and the p-value of the two-sided sign test,
which asks how often an arm that is as good would lead or trail in so many of the texts that differ. The last of these
tables is of all sets together. `--answers FILE` writes every answer as a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import TypeAlias, TypeVar, cast
from xml.sax.saxutils import escape

import structkit as sk
from benchmarks.outcome_arms import ARMS, Answer, Bench, installed
from benchmarks.outcome_sets import SETS, Grade, Task, make_set
from structkit.models.transformers.model import TransformersModel

__all__ = ["Column", "draw", "main", "measure", "paired", "sign_test"]

G = TypeVar("G")

Measure: TypeAlias = Callable[[Sequence[Grade]], float]
Share: TypeAlias = tuple[float, float, float]
"""A share, and the ends of its interval."""

_NO_ANSWER = Answer("", 0)

_RESAMPLES = 400
"""Samples of the bootstrap."""


@dataclass
class Column:
    """What one arm did on one set."""

    grades: list[Grade] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def add(self, grade: Grade, answer: Answer, seconds: float) -> None:
        """Add an answer."""
        self.grades.append(grade)
        self.texts.append(answer.text)
        self.tokens.append(answer.tokens)
        self.seconds.append(seconds)

    def share(self, measure: Measure) -> Share:
        """Return a share of the answers, and its 95 % bootstrap interval over the texts."""
        return _bootstrap(self.grades, measure)

    def against(self, other: Column) -> str:
        """Return the cells of a Markdown row that compare this arm with another on the same texts."""
        if not self.grades:
            return "not reached | | | | "
        pairs = list(zip(self.grades, other.grades, strict=True))
        more = sum(mine.right > theirs.right for mine, theirs in pairs)
        fewer = sum(mine.right < theirs.right for mine, theirs in pairs)
        same = sum(mine == theirs for mine, theirs in zip(self.texts, other.texts, strict=True))
        share, low, high = _bootstrap(pairs, paired)
        interval = f"{100 * share:+.1f} [{100 * low:+.0f}, {100 * high:+.0f}]"
        return f"{more} | {fewer} | {same / len(pairs):.0%} | {interval} | {sign_test(more, fewer):.2g}"

    def row(self, plain: Column | None) -> str:
        """Return the cells of a Markdown row; the last is the share of answers that are those of the plain decode."""
        if not self.grades:
            return "not reached | | | | | 0 | "
        shares = [self.share(measure) for measure in (fields_right, whole_right, valid)]
        cells = [f"{share:.1%} [{low:.0%}, {high:.0%}]" for share, low, high in shares]
        for values, form in ((self.tokens, ".0f"), (self.seconds, ".3f")):
            tenths = quantiles([*values, *values], n=10, method="inclusive")
            cells.append(f"{tenths[4]:{form}} [{tenths[0]:{form}}, {tenths[8]:{form}}]")
        failed = f" ({len(self.errors)} errors: {', '.join(sorted(set(self.errors)))})" if self.errors else ""
        cells.append(f"{len(self.grades)}{failed}")
        if plain is not None:
            same = sum(mine == other for mine, other in zip(self.texts, plain.texts, strict=True))
            cells.append(f"{same / len(self.texts):.1%}")
        return " | ".join(cells)


def fields_right(grades: Sequence[Grade]) -> float:
    """Return the share of right fields."""
    return sum(each.right for each in grades) / max(1, sum(each.fields for each in grades))


def whole_right(grades: Sequence[Grade]) -> float:
    """Return the share of answers without a wrong, missing or additional field."""
    return sum(each.is_exact for each in grades) / len(grades)


def valid(grades: Sequence[Grade]) -> float:
    """Return the share of valid answers."""
    return sum(each.is_valid for each in grades) / len(grades)


def paired(grades: Sequence[tuple[Grade, Grade]]) -> float:
    """Return by how much the share of right fields of the first answers exceeds that of the second."""
    mine, others = zip(*grades, strict=True)
    return fields_right(mine) - fields_right(others)


def sign_test(more: int, fewer: int) -> float:
    """Return the two-sided p-value of the sign test; texts on which both are equal do not count.

    >>> sign_test(0, 0), sign_test(3, 2), sign_test(8, 0)
    (1.0, 1.0, 0.0078125)
    """
    texts = more + fewer
    tail = sum(math.comb(texts, count) for count in range(min(more, fewer) + 1))
    return min(1.0, 2 * tail / (1 << texts))


def _bootstrap(graded: Sequence[G], measure: Callable[[Sequence[G]], float]) -> Share:
    """Return a measure, and its 95 % bootstrap interval over the texts."""
    rng = random.Random(0)
    shares = sorted(measure(rng.choices(graded, k=len(graded))) for _ in range(_RESAMPLES))
    tail = _RESAMPLES // 40
    return measure(graded), shares[tail], shares[-1 - tail]


def measure(bench: Bench, tasks: Sequence[Task], arms: Sequence[str], limit: float) -> dict[str, Column]:
    """Run all arms on each task; no task begins after `limit` seconds of processor time."""
    columns = {name: Column() for name in arms}
    for name in arms:  # a warm-up
        with suppress(Exception):
            ARMS[name][1](bench, tasks[0])
    begun = time.process_time()
    for task in tasks:
        if time.process_time() - begun > limit:
            break
        for name in arms:
            start, answer = time.process_time(), _NO_ANSWER
            grade = Grade(0, task.score(None)[1], False, False)
            try:
                answer = ARMS[name][1](bench, task)
            except Exception as error:  # an engine that refuses a schema has no answer to it
                columns[name].errors.append(type(error).__name__)
            else:
                grade = task.grade(answer.text)
            columns[name].add(grade, answer, time.process_time() - start)
    return columns


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the tables."""
    options = _parser().parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    loaded = sk.load() if options.model is None else sk.load(options.model)
    bench = Bench(cast("TransformersModel", loaded), options.max_tokens)
    available = installed()
    arms = available if options.arms is None else _read_names(options.arms, available, "arm")
    measured: dict[str, dict[str, Column]] = {}
    for name in SETS if options.sets is None else _read_names(options.sets, list(SETS), "set"):
        tasks = make_set(name, options.seed, options.count)
        relation = "near" if SETS[name][0] == "near" else "not near"
        if not tasks:
            print(f"\n{name}: left out, its data is not in ../shared/data")
            continue
        columns = measured[name] = measure(bench, tasks, arms, options.limit)
        print(f"\n**{name}**, {relation} the demo model's training, seed {options.seed}\n")
        plain = columns.get("structkit, plain decode")
        heads = ["arm", "fields right", "whole right", "valid", "tokens", "CPU seconds", "texts"]
        heads += ["as the plain decode"] * (plain is not None)
        print("|", " | ".join(heads), "|\n| ---", "| ---: " * (len(heads) - 1) + "|")
        for arm, column in columns.items():
            print(f"| {arm} | {column.row(plain)} |", flush=True)
        if options.answers:
            _write_answers(options.answers, name, tasks, columns)
        _print_against(options.against, name, columns)
    if len(measured) > 1:
        _print_against(options.against, "all sets", _joined(measured))
    if options.svg:
        shares = {
            name: {arm: column.share(fields_right) for arm, column in columns.items() if column.grades}
            for name, columns in measured.items()
        }
        options.svg.write_text(draw(shares), encoding="utf-8")
    return 0


def _print_against(reference: str, name: str, columns: Mapping[str, Column]) -> None:
    """Print how the other arms compare with one."""
    if reference not in columns or len(columns) == 1:
        return
    print(f"\n**{name}**, each arm against {reference} on the same texts\n")
    heads = ["arm", "more fields right", "fewer", "the same answer", "difference, points", "p"]
    print("|", " | ".join(heads), "|\n| ---", "| ---: " * (len(heads) - 1) + "|")
    for arm, column in columns.items():
        if arm != reference:
            print(f"| {arm} | {column.against(columns[reference])} |", flush=True)


def _joined(measured: Mapping[str, Mapping[str, Column]]) -> dict[str, Column]:
    """Return the columns of all sets together."""
    joined: dict[str, Column] = {}
    for columns in measured.values():
        for arm, column in columns.items():
            whole = joined.setdefault(arm, Column())
            whole.grades += column.grades
            whole.texts += column.texts
    return joined


def _write_answers(file: Path, name: str, tasks: Sequence[Task], columns: Mapping[str, Column]) -> None:
    """Append a line of JSON for each answer."""
    with file.open("a", encoding="utf-8") as lines:
        for arm, column in columns.items():
            for task, text, grade in zip(tasks, column.texts, column.grades, strict=False):
                record = {"set": name, "text": task.text, "truth": task.truth, "arm": arm, "answer": text}
                record |= {"right": grade.right, "fields": grade.fields}
                lines.write(json.dumps(record, ensure_ascii=False) + "\n")


def _read_names(text: str, known: Sequence[str], what: str) -> list[str]:
    """Return the names in a list; exit if one is unknown."""
    names = [name.strip() for name in text.split(";")]
    for name in names:
        if name not in known:
            raise SystemExit(f"there is no {what} {name!r} here; there are: " + "; ".join(known))
    return names


def draw(shares: Mapping[str, Mapping[str, Share]]) -> str:
    """Return an SVG with a row for each arm and a column for each set: a bar of the fields right, with its interval.

    Shares are drawn in whole per cents, as a table has them.

    Args:
        shares: The share of right fields and its interval, by set and arm.
    """
    left, wide, step, rowed = 260, 56, 104, 17
    titles = [textwrap.wrap(name, 17, break_long_words=False) for name in shares]
    above = 14 * max(len(lines) for lines in titles) + 10
    arms = list(dict.fromkeys(arm for each in shares.values() for arm in each))
    parts = [
        f'<text x="{left - 8}" y="{above + rowed * row + 11}" text-anchor="end">{escape(arm)}</text>'
        for row, arm in enumerate(arms)
    ]
    for column, (lines, each) in enumerate(zip(titles, shares.values(), strict=True)):
        start = left + step * column
        parts += [
            f'<text x="{start}" y="{14 * number + 16}" font-weight="bold">{escape(line)}</text>'
            for number, line in enumerate(lines)
        ]
        for arm, interval in each.items():
            top = above + rowed * arms.index(arm)
            share, low, high = (start + wide * round(number, 2) for number in interval)
            color = "#00796b" if arm.startswith("structkit") else "#d95f02"
            parts.append(
                f'<rect x="{start}" y="{top}" width="{share - start:.1f}" height="13" fill="{color}"/>'
                f'<path d="M{low:.1f} {top + 6.5}H{high:.1f}" stroke="#16302b"/>'
                f'<text x="{start + wide + 6}" y="{top + 11}">{interval[0]:.0%}</text>'
            )
    size = f"{left + step * len(shares)} {above + rowed * len(arms)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" '
        f'font-size="11" fill="#16302b"><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.outcome", description=__doc__)
    parser.add_argument("--model", type=Path, help="a model folder; by default the demo model")
    parser.add_argument("--sets", help="names, separated by semicolons; by default all: " + "; ".join(SETS))
    parser.add_argument("--arms", help="names, separated by semicolons; by default those that are installed")
    parser.add_argument("--count", type=_positive, default=30, help="texts of each set")
    parser.add_argument("--limit", type=float, default=120, help="processor seconds for each set")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--max-tokens", type=_positive, default=200)
    parser.add_argument("--against", default="structkit", help="the arm that all others are compared with")
    parser.add_argument("--answers", type=Path, help="a file to which every answer is appended")
    parser.add_argument("--svg", type=Path, help="the file of the plot")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return number


if __name__ == "__main__":
    sys.exit(main())
