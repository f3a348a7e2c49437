"""The sets of `benchmarks.outcome`: texts with a target and the answers that count as right.

The sets of the demo model come from the generator of its training corpus, with values, sentences or schemas that
training excludes. All others are written here, or read from the Berkeley function-calling leaderboard; the demo model
was not trained near them.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Literal

from jsonschema import Draft202012Validator
from pydantic import BaseModel

from structkit.rejected import Rejected
from structkit.targets.targets import read_target

__all__ = ["BFCL", "SETS", "Grade", "Task", "equals", "make_set", "parts", "same_value", "text_of"]


@dataclass(frozen=True)
class Grade:
    """Fields right of all fields of one answer, and whether the answer is valid."""

    right: int
    fields: int
    is_exact: bool
    is_valid: bool


@dataclass(frozen=True)
class Task:
    """A text, the target, a function that grades an answer as JSON data, and the right answer if there is but one."""

    text: str
    target: Any
    score: Callable[[object], tuple[int, int, bool]]
    truth: object = None

    def grade(self, answer: str) -> Grade:
        """Grade an answer; a text that is not JSON has no right field, and one outside the target is not valid.

        >>> task = Task("", int, equals(3))
        >>> task.grade("3"), task.grade("three")  # doctest: +NORMALIZE_WHITESPACE
        (Grade(right=1, fields=1, is_exact=True, is_valid=True),
         Grade(right=0, fields=1, is_exact=False, is_valid=False))
        """
        try:
            value = json.loads(answer)
        except ValueError:
            return Grade(0, self.score(None)[1], False, False)
        return Grade(*self.score(value), self.fault(answer) is None)

    def fault(self, answer: str) -> str | None:
        """Return why pydantic, or jsonschema for a JSON Schema, refuses an answer; `None` if it is valid."""
        try:
            value = json.loads(answer)
        except ValueError as error:
            return f"it is not JSON: {error}"
        if isinstance(self.target, dict):
            faults = (error.message for error in Draft202012Validator(self.target).iter_errors(value))
            return next(faults, None)
        parsed = read_target(self.target).parse(answer)
        return parsed.message if isinstance(parsed, Rejected) else None


def parts(value: object, place: str = "$") -> dict[str, object]:
    """Return the leaves of JSON data by path; an empty array or object is a leaf.

    >>> parts({"a": [1, {"b": None}], "c": []})
    {'$.a[0]': 1, '$.a[1].b': None, '$.c': []}
    """
    if isinstance(value, dict) and value:
        inner = [parts(each, f"{place}.{key}") for key, each in value.items()]
    elif isinstance(value, list) and value:
        inner = [parts(each, f"{place}[{number}]") for number, each in enumerate(value)]
    else:
        return {place: value}
    return {path: leaf for each in inner for path, leaf in each.items()}


def equals(truth: object) -> Callable[[object], tuple[int, int, bool]]:
    """Return a score: a field is right if it is equal and of the same type; 12 and 12.0 are equal."""
    expected = parts(truth)

    def score(answer: object) -> tuple[int, int, bool]:
        given = parts(answer)
        right = sum(
            path in given and given[path] == leaf and isinstance(given[path], bool) == isinstance(leaf, bool)
            for path, leaf in expected.items()
        )
        return right, len(expected), right == len(expected) and given.keys() == expected.keys()

    return score


# The demo model's sets


def _demo(name: str) -> Callable[[int, int], list[Task]]:
    def make(seed: int, count: int) -> list[Task]:
        scripts = str(Path(__file__).parents[1] / "scripts")
        if scripts not in sys.path:
            sys.path.append(scripts)
        from demo_corpus import corpus, targets

        examples = getattr(corpus, f"heldout_{name}")(seed, count)
        return [
            Task(each.text, targets.python_type(each.shape), equals(each.value), each.value)
            for each in examples
        ]

    return make


# Sets written here

_NAMES = ("Ines Faber", "Oskar Lindqvist", "Priya Raman", "Tomas Vega", "Hana Sato", "Noor Haddad")
_GOODS = ("kettle", "lantern", "bicycle pump", "notebook", "tripod", "garden hose")
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
_MONTHS = ("January February March April May June July August September October November December").split()


def in_words(number: int) -> str:
    """Return a number below 1,000 in words.

    >>> in_words(7), in_words(42), in_words(315)
    ('seven', 'forty-two', 'three hundred and fifteen')
    """
    if number >= 100:
        rest = f" and {in_words(number % 100)}" if number % 100 else ""
        return f"{_ONES[number // 100]} hundred{rest}"
    if number < 20:
        return _ONES[number]
    return _TENS[number // 10] + (f"-{_ONES[number % 10]}" if number % 10 else "")


Topic = Literal["refund", "delivery", "account", "praise"]

_TOPICS: Mapping[str, Sequence[str]] = {
    "refund": (
        "Please send back what I paid for the {good}.",
        "I was charged twice for the {good}; return one payment.",
        "The {good} broke on the first day and I want my money.",
    ),
    "delivery": (
        "The {good} should have come last week. Where is it?",
        "My parcel with the {good} is still on its way.",
        "Can the courier bring the {good} after six?",
    ),
    "account": (
        "I cannot sign in to see my order of the {good}.",
        "How do I change my password? I only wanted a {good}.",
        "Please delete my profile; I bought a {good} once.",
    ),
    "praise": (
        "The {good} is wonderful, thank you!",
        "Best {good} that I ever had.",
        "I am very happy with the {good}.",
    ),
}


class Message(BaseModel):
    """The topic of a message."""

    topic: Topic


def _classification(seed: int, count: int) -> list[Task]:
    rng, tasks = random.Random(seed), []
    for _ in range(count):
        topic = rng.choice(list(_TOPICS))
        text = rng.choice(_TOPICS[topic]).format(good=rng.choice(_GOODS))
        tasks.append(Task(text, Message, equals({"topic": topic}), {"topic": topic}))
    return tasks


class Item(BaseModel):
    """A line of a delivery."""

    product: str
    count: int


class Parcel(BaseModel):
    """A parcel with its lines."""

    receiver: str
    items: list[Item]


class Delivery(BaseModel):
    """A delivery of several parcels."""

    parcels: list[Parcel]


def _nested(seed: int, count: int) -> list[Task]:
    rng, tasks = random.Random(seed), []
    for _ in range(count):
        parcels, sentences = [], []
        for name in rng.sample(_NAMES, rng.randint(1, 2)):
            items = [
                {"product": good, "count": rng.randint(2, 9)}
                for good in rng.sample(_GOODS, rng.randint(1, 3))
            ]
            parcels.append({"receiver": name, "items": items})
            lines = " and ".join(f"{item['count']} of the {item['product']}" for item in items)
            sentences.append(f"{name} receives {lines}.")
        tasks.append(Task(" ".join(sentences), Delivery, equals({"parcels": parcels}), {"parcels": parcels}))
    return tasks


class Booking(BaseModel):
    """A booking of a room."""

    guest: str
    arrival: date
    nights: int
    price: float


def _words(seed: int, count: int) -> list[Task]:
    rng, tasks = random.Random(seed), []
    for _ in range(count):
        day = date(2024, 1, 1) + timedelta(days=rng.randrange(900))
        guest, nights, price = rng.choice(_NAMES), rng.randint(1, 19), rng.randint(40, 320)
        text = (
            f"{guest} arrives on {day.day} {_MONTHS[day.month - 1]} {day.year} for {in_words(nights)} "
            f"night{'s' * (nights > 1)} at {in_words(price)} euros."
        )
        truth = {"guest": guest, "arrival": day.isoformat(), "nights": nights, "price": float(price)}
        tasks.append(Task(text, Booking, equals(truth), truth))
    return tasks


# Function calls

BFCL = Path(os.environ.get("STRUCTKIT_SHARED") or Path(__file__).parents[2] / "shared") / "data" / "bfcl"
"""The folder of the parts of the leaderboard."""

_BFCL_PARTS = ("simple_python", "multiple", "parallel", "parallel_multiple", "irrelevance")
_BFCL_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_UNSPELLED = re.compile(r"[ ,./\-_*^]")


def bfcl_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a schema in the dialect of the leaderboard; its objects are closed.

    >>> bfcl_schema({"type": "dict", "properties": {"a": {"type": "float"}}, "required": ["a"]})["properties"]
    {'a': {'type': 'number'}}
    """
    kept = {key: schema[key] for key in ("description", "enum") if schema.get(key)}
    kind = schema.get("type", "any")
    if kind != "any":
        kept["type"] = _BFCL_TYPES.get(kind, kind)
    if "items" in schema:
        kept["items"] = bfcl_schema(schema["items"])
    if "properties" in schema:
        kept["properties"] = {name: bfcl_schema(each) for name, each in schema["properties"].items()}
        kept["required"] = [name for name in schema.get("required", ()) if name in kept["properties"]]
        kept["additionalProperties"] = False
    return kept


def same_value(given: object, accepted: object) -> bool:
    """Whether an argument counts as an accepted one, by the rule of the leaderboard.

    Strings are compared without spaces, punctuation and case, numbers as floats; an object of the accepted values has a
    list of values for each key.

    >>> same_value("New-York", "new york"), same_value(3, 3.0), same_value(True, 1)
    (True, True, False)
    >>> same_value({"a": 1}, {"a": [1, 2], "b": [""]})
    True
    """
    if isinstance(given, bool) or isinstance(accepted, bool):
        return given is accepted
    if isinstance(given, (int, float)) and isinstance(accepted, (int, float)):
        return float(given) == float(accepted)
    if isinstance(given, str) and isinstance(accepted, str):
        spelled = [_UNSPELLED.sub("", each).lower().replace("'", '"') for each in (given, accepted)]
        return spelled[0] == spelled[1]
    if isinstance(given, list) and isinstance(accepted, list):
        return len(given) == len(accepted) and all(map(same_value, given, accepted))
    if isinstance(given, dict) and isinstance(accepted, dict):
        return _right_arguments(given, accepted) == len(given.keys() | accepted.keys())
    return given is None and accepted is None


def _right_arguments(given: Mapping[str, object], accepted: Mapping[str, Any]) -> int:
    """Return how many names of both have an accepted value, or are left out where that is accepted."""
    return sum(
        any(same_value(given[name], each) for each in accepted.get(name, ()))
        if name in given
        else "" in accepted[name]
        for name in given.keys() | accepted.keys()
    )


def _score_call(call: object, truth: Mapping[str, Any]) -> tuple[int, int]:
    ((name, accepted),) = truth.items()
    fields = 1 + len(accepted)
    if not isinstance(call, dict) or call.get("name") != name or not isinstance(call.get("arguments"), dict):
        return 0, fields
    given = call["arguments"]
    extra = len(given.keys() - accepted.keys())
    return 1 + max(0, _right_arguments(given, accepted)), fields + extra


def _calls(truths: Sequence[Mapping[str, Any]]) -> Callable[[object], tuple[int, int, bool]]:
    def score(answer: object) -> tuple[int, int, bool]:
        given = list(answer) if isinstance(answer, list) else []
        right, fields = 0, 0
        for truth in truths:  # in any order, each call once
            best = max(range(len(given)), key=lambda at: _score_call(given[at], truth)[0], default=None)
            counts = _score_call(None if best is None else given.pop(best), truth)
            right, fields = right + counts[0], fields + counts[1]
        fields += len(given)
        if not truths:  # no call is right where none fits
            right, fields = int(answer == []), 1
        return right, fields, right == fields

    return score


def _bfcl(part: str) -> Callable[[int, int], list[Task]]:
    def make(seed: int, count: int) -> list[Task]:
        path = BFCL / f"{part}.jsonl"
        if not path.exists():
            return []
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        random.Random(seed).shuffle(records)
        return [_bfcl_task(record) for record in records[:count]]

    return make


def text_of(question: Sequence[Sequence[Mapping[str, str]]]) -> str:
    """Return the text of a question of the leaderboard."""
    return "\n".join(message["content"] for turn in question for message in turn)


def _bfcl_task(record: Mapping[str, Any]) -> Task:
    calls = [
        {
            "type": "object",
            "description": each.get("description", ""),
            "properties": {"name": {"const": each["name"]}, "arguments": bfcl_schema(each["parameters"])},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for each in record["function"]
    ]
    schema: dict[str, Any] = {"type": "array", "items": calls[0] if len(calls) == 1 else {"anyOf": calls}}
    return Task(
        f"{text_of(record['question'])}\nAnswer with the calls, or with [] if none fits.",
        schema,
        _calls(record.get("answers") or []),
    )


SETS: Mapping[str, tuple[str, Callable[[int, int], list[Task]]]] = {
    "values": ("near", _demo("values")),
    "sentences": ("near", _demo("sentences")),
    "schemas": ("near", _demo("schemas")),
    "classification": ("far", _classification),
    "nested lists": ("far", _nested),
    "dates and numbers in words": ("far", _words),
    **{f"calls: {part}": ("far", _bfcl(part)) for part in _BFCL_PARTS},
}
"""By name: whether the demo model was trained near the set, and the function of a seed and a count to its tasks."""


def make_set(name: str, seed: int, count: int) -> list[Task]:
    """Return at most `count` tasks of a set, each once; empty if its data is not on this machine.

    A set of few sentences draws some twice. Twice the same text is one observation.

    Raises:
        ValueError: There is no such set.
    """
    if name not in SETS:
        raise ValueError(f"there is no set {name!r}; the sets are {', '.join(SETS)}")
    tasks = SETS[name][1](seed, count)
    return list({(task.text, repr(task.target), repr(task.truth)): task for task in tasks}.values())
