"""Evaluation: correct fields, and answers with all fields correct."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from demo_corpus.example import Example


@dataclass(frozen=True)
class Grade:
    """Counts over a set of exercises."""

    fields: int
    fields_right: int
    objects: int
    objects_right: int

    def line(self) -> str:
        share = self.fields_right / max(1, self.fields)
        return f"fields {share:.3f} complete {self.objects_right / max(1, self.objects):.3f}"


def grade(examples: list[Example], answers: Iterable[str]) -> Grade:
    """Compare answers as JSON with the expected ones; all fields of invalid JSON count as wrong."""
    fields = fields_right = objects_right = 0
    for example, answer in zip(examples, answers, strict=True):
        truth = leaves(example.value)
        given = leaves(parsed(answer))
        correct = sum(1 for place, value in truth.items() if place in given and same(given[place], value))
        fields += len(truth)
        fields_right += correct
        objects_right += truth.keys() == given.keys() and correct == len(truth)
    return Grade(fields, fields_right, len(examples), objects_right)


def parsed(answer: str) -> object:
    try:
        return json.loads(answer)
    except ValueError:
        return {"": "not JSON"}


def same(given: object, truth: object) -> bool:
    """Whether values are equal and of one type, except for integers written as decimals.

    >>> same(12, 12.0), same(True, 1)
    (True, False)
    """
    return given == truth and isinstance(given, bool) == isinstance(truth, bool)


def leaves(value: object, place: str = "$") -> dict[str, object]:
    """Return the leaf values of a JSON tree by path; an empty array is a leaf too.

    >>> leaves({"a": [1, {"b": None}]})
    {'$.a[0]': 1, '$.a[1].b': None}
    """
    if isinstance(value, dict):
        parts = [leaves(inner, f"{place}.{key}") for key, inner in value.items()]
    elif isinstance(value, list) and value:
        parts = [leaves(inner, f"{place}[{index}]") for index, inner in enumerate(value)]
    else:
        return {place: value}
    return {key: inner for part in parts for key, inner in part.items()}
