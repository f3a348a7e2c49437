"""Events of a text that grows, compared with a walk of the value of the whole text."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from structkit.generate.decode.config import GeneratedTokens, TextView
from structkit.generate.output.json_reader import Path, format_path
from structkit.generate.run.events import EventEmitter, FieldEnd, FieldRetracted, FieldStart, TextDelta

Short = list[tuple[object, ...]]


def _value(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(4 if depth == 0 else 6)
    if kind == 4:
        return [_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 5:
        return {
            name: _value(rng, depth - 1) for name in rng.sample(["a", "b c", "é", 'q"'], rng.randrange(4))
        }
    return [
        rng.choice([True, None]),
        rng.choice([0, -1.5, 12e9]),
        "".join(rng.choices('aé😀\\"\n{', k=4)),
        "",
    ][kind]


def _walk(value: Any, path: Path) -> Iterator[tuple[object, ...]]:
    shown = format_path(path)
    kinds = {dict: "object", list: "array", str: "string", int: "number", float: "number"}
    yield "start", shown, kinds.get(type(value), "literal")
    if isinstance(value, str) and value:
        yield "text", shown, value
    for step, item in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from _walk(item, (*path, step))
    yield "end", shown, value


class Stream:
    """A text that grows, and its events in short form."""

    def __init__(self, *, is_json: bool = True, start: int = 0, choices: Any = None) -> None:
        self.generated = GeneratedTokens()
        self.view = TextView(self.generated)
        self.emitter = EventEmitter(self.view, None, lambda path: choices, is_json=is_json, start=start)
        self.found: Short = []

    def write(self, text: bytes, *, finish: bool = False) -> None:
        self.generated.text += text
        self.view.update()
        for event in self.emitter.finish() if finish else self.emitter.poll():
            match event:
                case FieldStart(path, kind):
                    self.found.append(("start", path, kind))
                case TextDelta(path, text_added):
                    if self.found and self.found[-1][:2] == ("text", path):
                        self.found[-1] = ("text", path, f"{self.found[-1][2]}{text_added}")
                    else:
                        self.found.append(("text", path, text_added))
                case FieldEnd(path, value):
                    self.found.append(("end", path, value))
                case FieldRetracted(path):
                    self.found.append(("retracted", path))


@pytest.mark.parametrize("seed", range(40))
def test_the_events_are_those_of_the_value_whatever_the_pieces(seed: int) -> None:
    rng = random.Random(seed)
    value = _value(rng, 3)
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode()
    start = rng.choice([0, 3])
    stream = Stream(start=start)
    stream.write(b"xyz"[:start])
    for at in range(0, len(text), 2):
        stream.write(text[at : at + 2])
    stream.write(b"", finish=True)
    assert stream.found == [*_walk(value, ())]
    assert stream.emitter.partial == value


def test_a_partial_value_has_what_is_final() -> None:
    stream = Stream()
    for text, partial in [
        ("", None), ('{"a', {}), ('": [1', {"a": []}), (", tr", {"a": [1]}), ('ue, "x', {"a": [1, True, "x"]}),
        ("é", {"a": [1, True, "xé"]}), ('"]', {"a": [1, True, "xé"]}), (', "b": "', {"a": [1, True, "xé"], "b": ""}),
        ('"}', {"a": [1, True, "xé"], "b": ""}),
    ]:  # fmt: skip
        stream.write(text.encode())
        assert stream.emitter.partial == partial, text


@pytest.mark.parametrize(("choices", "partial"), [(None, "ye"), (["yes", "no"], None)])
def test_a_part_of_a_choice_is_no_value(choices: object, partial: object) -> None:
    stream = Stream(choices=choices)
    stream.write(b'"ye')
    assert stream.emitter.partial == partial
    stream.write(b's"')
    assert stream.emitter.partial == "yes"


def test_a_value_that_is_taken_back_is_retracted_and_written_again() -> None:
    stream = Stream()
    stream.write(b'{"a": 1, "b": "xy"')
    before = len(stream.found)
    stream.generated.truncate(0, len(b'{"a": 1, "b": "x'), ("b",))
    stream.write(b'z"}', finish=True)
    assert stream.found[before:] == [
        ("retracted", "b"),
        ("text", "b", "z"),
        ("end", "b", "xz"),
        ("end", "$", {"a": 1, "b": "xz"}),
    ]
    assert stream.emitter.partial == {"a": 1, "b": "xz"}


def test_a_text_that_is_not_json_is_one_string() -> None:
    stream = Stream(is_json=False)
    stream.write("a\\né".encode()[:-1])
    stream.write("é".encode()[1:], finish=True)
    assert stream.found == [("text", "$", "a\\né")] and stream.emitter.partial == "a\\né"


def test_an_attribute_of_another_event_is_named() -> None:
    with pytest.raises(
        AttributeError, match="FieldEnd has no attribute 'text'; it has path, value, and events of"
    ):
        FieldEnd("a", 1).text  # type: ignore[attr-defined]  # noqa: B018
