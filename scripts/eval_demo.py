"""Print the accuracy tables of the demo model in Markdown: `python scripts/eval_demo.py`.

The script evaluates three sets of extractions that training excludes: new values in training sentences, new sentences
about known topics, and topics with new field names. `structkit.generate` generates every answer, so every answer is
valid; the table has the share of correct ones. With `--agents`, it also evaluates agent runs: with questions, values
and invented tools that training excludes, and with the four tools of an assistant. A run is correct if it makes exactly
the correct calls and ends with the correct value.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from demo_corpus.agents import KINDS
from demo_corpus.assistant import MAKERS, Assistant
from demo_corpus.conversation import RunOutcome, Task
from demo_corpus.corpus import (
    heldout_questions,
    heldout_schemas,
    heldout_sentences,
    heldout_tasks,
    heldout_values,
)
from demo_corpus.example import Example
from demo_corpus.grading import Grade, grade
from demo_corpus.targets import python_type
from pydantic import Field

import structkit as sk
from structkit.models.protocols import LogitsModel

SETS: dict[str, Callable[[int, int], list[Example]]] = {
    "new values in known sentences": heldout_values,
    "new sentences": heldout_sentences,
    "new schemas": heldout_schemas,
}


def main() -> None:
    options = read_options()
    model = sk.load(options.model)
    lines = [
        "| excluded from training | exercises | fields correct | copied words | copied codes | answers correct |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    same: list[str] = []
    for name, make in SETS.items() if options.count else ():
        examples = make(options.seed, options.count)
        answers = [answer(model, example, options.max_tokens) for example in examples]
        lines.append(row(name, grade(examples, answers)))
        if options.forced:
            free = [answer(model, example, options.max_tokens, forced=False) for example in examples]
            equal = sum(a == b for a, b in zip(answers, free, strict=True))
            same.append(f"{row(name, grade(examples, free))} {equal / len(free):.1%} |")
        if options.wrong:
            show_wrong(examples, answers, options.wrong)
    if options.agents:
        lines += [
            "",
            "| agent runs | runs | first call correct | run correct |",
            "| --- | ---: | ---: | ---: |",
        ]
        lines += agent_rows(model, options)
    if same:
        lines += ["", "Without forced text, and how often the answer is the same:", "", *same]
    sys.stdout.write("\n".join(lines) + "\n")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a model folder; by default the demo model of the package")
    parser.add_argument("--count", type=int, default=300, help="exercises in each set")
    parser.add_argument("--agents", type=int, default=0, help="runs of agents of each kind")
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument("--max-tokens", type=int, default=300)
    parser.add_argument(
        "--wrong", type=int, default=0, help="number of wrong answers of each set to print to standard error"
    )
    parser.add_argument(
        "--forced",
        action="store_true",
        help="compare with fast_forward=False, where the model chooses all tokens",
    )
    return parser.parse_args()


def answer(model: LogitsModel, example: Example, max_tokens: int, *, forced: bool = True) -> str:
    """Return the model's greedy answer as text."""
    shape = python_type(example.shape)
    return sk.generate(
        model, example.text, shape, max_tokens=max_tokens, fast_forward=forced, confidence=False
    ).text


def agent_rows(model: LogitsModel, options: argparse.Namespace) -> list[str]:
    """Return a row for each kind of run, and for the agent of the tutorial."""
    kinds = {kind: heldout_tasks(options.seed, options.agents, kind) for kind in KINDS}
    rows = [
        run_row(kind, tasks, [run(model, task) for task in tasks], options.wrong)
        for kind, tasks in kinds.items()
    ]
    assistant = Assistant(model)
    for kind in MAKERS:
        tasks = heldout_questions(options.seed, options.agents, kind)
        outcomes = [RunOutcome.of(assistant.run(task).messages) for task in tasks]
        rows.append(run_row(f"assistant: {kind}", tasks, outcomes, options.wrong))
    return rows


def run(model: LogitsModel, task: Task) -> RunOutcome:
    """Return the model's greedy run of a task."""
    agent = sk.Agent(
        model,
        task.functions(),
        # A plain `str` is free text; the corpus has JSON.
        output_type=Annotated[str, Field()] if task.result is str else task.result,
        instructions=task.instructions,
        max_steps=5,
        max_tokens=400,
        on_limit="answer",
    )
    return RunOutcome.of(agent.run(task.question).messages)


def run_row(name: str, tasks: list[Task], outcomes: list[RunOutcome], wrong: int) -> str:
    first = sum(
        each.calls[:1] == [(step.tool, dict(step.arguments)) for step in task.steps[:1]]
        for task, each in zip(tasks, outcomes, strict=True)
    )
    complete = sum(task.is_right(each) for task, each in zip(tasks, outcomes, strict=True))
    for task, each in zip(tasks, outcomes, strict=True):
        if wrong and not task.is_right(each):
            steps = [(step.tool, dict(step.arguments), step.output) for step in task.steps]
            sys.stderr.write(f"{name}: {task.question}\n  expected  {steps} {task.value!r}\n")
            sys.stderr.write(f"  generated {each.calls} {each.value!r}\n")
            wrong -= 1
    return f"| {name} | {len(tasks)} | {first / len(tasks):.1%} | {complete / len(tasks):.1%} |"


def row(name: str, result: Grade) -> str:
    counts = [
        (result.fields_right, result.fields),
        (result.words_right, result.words),
        (result.codes_right, result.codes),
        (result.objects_right, result.objects),
    ]
    shares = " | ".join(f"{right / max(1, number):.1%} of {number}" for right, number in counts)
    return f"| {name} | {result.objects} | {shares} |"


def show_wrong(examples: list[Example], answers: list[str], count: int) -> None:
    for example, answer in zip(examples, answers, strict=True):
        if count and json.loads(answer) != example.value:
            sys.stderr.write(f"{example.text}\n  expected  {example.answer}\n  generated {answer}\n")
            count -= 1


if __name__ == "__main__":
    main()
