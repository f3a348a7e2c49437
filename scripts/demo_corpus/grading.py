"""Evaluation: correct fields, and answers with all fields correct."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from demo_corpus.example import Example


@dataclass(frozen=True)
class Grade:
    """Counts over a set of exercises; copied fields are strings that occur in the text, and codes have a digit."""

    fields: int
    fields_right: int
    objects: int
    objects_right: int
    words: int
    words_right: int
    codes: int
    codes_right: int

    def line(self) -> str:
        share = self.fields_right / max(1, self.fields)
        return f"fields {share:.3f} complete {self.objects_right / max(1, self.objects):.3f}"


def grade(examples: list[Example], answers: Iterable[str]) -> Grade:
    """Compare answers as JSON with the expected ones; all fields of invalid JSON count as wrong."""
    objects_right = 0
    rights: list[bool] = []
    words: list[bool] = []
    codes: list[bool] = []
    for example, answer in zip(examples, answers, strict=True):
        truth = leaves(example.value)
        given = leaves(parsed(answer))
        right = [place in given and same(given[place], value) for place, value in truth.items()]
        for value, is_right in zip(truth.values(), right, strict=True):
            if isinstance(value, str) and value in example.text:
                (codes if any(map(str.isdigit, value)) else words).append(is_right)
        rights += right
        objects_right += truth.keys() == given.keys() and all(right)
    counts = (number for each in (words, codes) for number in (len(each), sum(each)))
    return Grade(len(rights), sum(rights), len(examples), objects_right, *counts)


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
