"""The demo model's accuracy table: `python scripts/eval_demo.py`, in Markdown.

Three sets, none of them trained on: new values in known sentences, new sentences about known things, and things whose
field names were never seen. Every answer is made by `structkit.generate`, so every one is valid; the table says how
many are right.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from demo_corpus.corpus import heldout_schemas, heldout_sentences, heldout_values
from demo_corpus.example import Example
from demo_corpus.grading import Grade, grade
from demo_corpus.targets import python_type

import structkit as sk
from structkit.models.base import LogitsModel

SETS: dict[str, Callable[[int, int], list[Example]]] = {
    "new values in known sentences": heldout_values,
    "new sentences": heldout_sentences,
    "schemas never seen": heldout_schemas,
}


def main() -> None:
    options = read_options()
    model = sk.load(options.model)
    lines = ["| held out | exercises | fields right | whole answers right |", "| --- | ---: | ---: | ---: |"]
    same: list[str] = []
    for name, make in SETS.items():
        examples = make(options.seed, options.count)
        answers = [answer(model, example, options.max_tokens) for example in examples]
        lines.append(row(name, grade(examples, answers)))
        if options.forced:
            free = [answer(model, example, options.max_tokens, forced=False) for example in examples]
            equal = sum(a == b for a, b in zip(answers, free, strict=True))
            same.append(f"{row(name, grade(examples, free))} {equal / len(free):.1%} |")
        if options.wrong:
            show_wrong(examples, answers, options.wrong)
    if same:
        lines += ["", "Without forced text, and how often the answer is the same:", "", *same]
    sys.stdout.write("\n".join(lines) + "\n")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a model folder; by default the demo model of the package")
    parser.add_argument("--count", type=int, default=300, help="exercises in each set")
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument("--max-tokens", type=int, default=300)
    parser.add_argument(
        "--wrong", type=int, default=0, help="how many wrong answers of each set to print to standard error"
    )
    parser.add_argument(
        "--forced",
        action="store_true",
        help="compare with answers in which the model chooses the tokens of all text",
    )
    return parser.parse_args()


def answer(model: LogitsModel, example: Example, max_tokens: int, *, forced: bool = True) -> str:
    """The model's answer, greedy, as it is written."""
    shape = python_type(example.shape)
    return sk.generate(
        model, example.text, shape, max_tokens=max_tokens, forced=forced, confidence=False
    ).text


def row(name: str, result: Grade) -> str:
    fields, whole = result.fields_right / result.fields, result.objects_right / result.objects
    return f"| {name} | {result.objects} | {fields:.1%} | {whole:.1%} |"


def show_wrong(examples: list[Example], answers: list[str], count: int) -> None:
    for example, said in zip(examples, answers, strict=True):
        if count and json.loads(said) != example.value:
            sys.stderr.write(f"{example.text}\n  wanted {example.answer}\n  got    {said}\n")
            count -= 1


if __name__ == "__main__":
    main()
