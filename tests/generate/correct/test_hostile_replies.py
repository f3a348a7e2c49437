"""Functions that reply in every wrong way: each run ends in a valid value or a typed error, within its bounds."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

import structkit as sk
from structkit.generate.input.options import ResultOptions
from structkit.models.protocols import Message
from structkit.models.text.function import FunctionModel
from structkit.models.text.scored import ScoredText, ScoredToken
from structkit.targets.targets import AnyTarget, read_target
from structkit.vocabulary.vocabulary import byte_vocabulary
from tests.shared import cases

RUNS = int(os.environ.get("STRUCTKIT_RANDOM_RUNS", cases(150, of=300)))
"""Runs of the test; 1,000 take half a minute."""


class Item(BaseModel):
    name: str
    price: Annotated[float, Field(ge=0, le=1000)]


class Order(BaseModel):
    customer: str
    status: Literal["open", "paid", "sent to the customer"]
    items: Annotated[list[Item], Field(max_length=3)]
    note: str | None = None


class Node(BaseModel):
    value: int
    left: Node | None = None


QUERY = """
start: "find" NAME ("where" test ("and" test)*)?
test: NAME /[=<>]/ /[0-9]{1,3}/
NAME: "name" | "age" | "job"
%ignore " "
"""

ORDER = {
    "customer": 'Ana "Á" Souza',
    "status": "paid",
    "items": [{"name": "tea", "price": 3.5}],
    "note": None,
}
TARGETS: list[tuple[AnyTarget, str]] = [
    (Order, json.dumps(ORDER, ensure_ascii=False)),
    (Node, '{"value": 1, "left": {"value": -2, "left": null}}'),
    (list[int], "[1, 22, 333]"),
    (int, "42"),
    (bool, "true"),
    (str, '"a b"'),
    (sk.Choice(["yes", "no", "not yet"]), "not yet"),
    (sk.Regex(r"[A-Z]{2}-\d{3}( é)?"), "AB-123 é"),
    ({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, '{"a": 7}'),
    (sk.grammars.arithmetic(), "2 * (3 + 4)"),
    (sk.Grammar(QUERY), "find name where age > 30 and job = 7"),
    (dict[str, list[bool]], '{"x": [true, false]}'),
    (set[Literal["a", "b", "c"]], '["a", "c"]'),
    (sk.Choice(["Sure!", "```", "{}", " "]), "```"),
    (sk.Regex(r"(?s)(?=.*\d).{1,30}"), "a\nb 1"),
    ({}, '{"any": [1, "b", null]}'),
    (
        {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "array", "uniqueItems": True}]},
        '[1, "a", {"b": 2}]',
    ),
]

Reply = Callable[[random.Random, str, str], str]
"""Makes a reply from the right answer and the text that the function reads."""


def rest_of(answer: str, text: str) -> str:
    """Return what follows the longest start of the answer at the end of the text."""
    for length in range(len(answer), 0, -1):
        if text.rstrip().endswith(answer[:length].rstrip()):
            return answer[length:]
    return answer


def noise(rng: random.Random, answer: str, text: str) -> str:
    return bytes(rng.randrange(256) for _ in range(rng.randrange(60))).decode(errors="surrogateescape")


def printable(rng: random.Random, answer: str, text: str) -> str:
    return "".join(rng.choice('{}[]":, \n0123456789abtrufnl\\-.eé`<>') for _ in range(rng.randrange(80)))


def wrong_middle(rng: random.Random, answer: str, text: str) -> str:
    at = rng.randrange(len(answer) + 1)
    return answer[:at] + noise(rng, answer, text) + answer[at:]


def wrong_keys(rng: random.Random, answer: str, text: str) -> str:
    return re.sub(r'"(\w+)":', lambda match: f'"{match[1]}s":' if rng.random() < 0.5 else match[0], answer)


REPLIES: dict[str, Reply] = {
    "right": lambda rng, answer, text: answer,
    "continued": lambda rng, answer, text: rest_of(answer, text),
    "noise": noise,
    "printable": printable,
    "wrong middle": wrong_middle,
    "wrong keys": wrong_keys,
    "early stop": lambda rng, answer, text: rest_of(answer, text)[: rng.randrange(8)],
    "empty": lambda rng, answer, text: "",
    "white space": lambda rng, answer, text: rest_of(answer, text)[:3] + rng.choice(" \n\t") * 5_000,
    "fence": lambda rng, answer, text: f"```json\n{answer}\n```",
    "open fence": lambda rng, answer, text: f"```\n{rest_of(answer, text)}",
    "prose": lambda rng, answer, text: f"Sure! Here {{it}} is [1]:\n\n{answer}\n\nAnything else?",
    "only prose": lambda rng, answer, text: "I am sorry, I cannot help with that." * rng.randrange(1, 40),
    "repeated": lambda rng, answer, text: text[-rng.randrange(1, 40) :] + rest_of(answer, text),
    "no spaces": lambda rng, answer, text: answer.replace(" ", ""),
    "pretty": lambda rng, answer, text: answer.replace(", ", ",\n    ").replace("{", "{\n    "),
    "reasoning": lambda rng, answer, text: f"<think>Is it {{}}? {answer[:9]}</think>{answer}",
    "open reasoning": lambda rng, answer, text: "<think>" + "hm " * 500,
    "deep": lambda rng, answer, text: rng.choice(['{"value": 1, "left": ', "[", "{", '"x']) * 300,
    "long string": lambda rng, answer, text: rest_of(answer, text)[:-1] + "x" * 50_000,
    "upper": lambda rng, answer, text: answer.upper(),
    "quoted": lambda rng, answer, text: json.dumps(answer),
    "marks": lambda rng, answer, text: (
        rng.choice(["\ufeff", "\u200b", "\u202e", "**", "1. ", "Answer: "]) + answer
    ),
    "table": lambda rng, answer, text: f"| key | value |\n|---|---|\n| a | {answer} |\n\n{answer}",
    "fences": lambda rng, answer, text: f"````markdown\n```json\n{answer}\n```\n````",
    "two fences": lambda rng, answer, text: f"```json\n{answer[:5]}\n```\nRather:\n```json\n{answer}\n```",
    "comments": lambda rng, answer, text: re.sub(
        r"([,{\[])", rng.choice(["\\1 // x\n", "\\1 /* x */ "]), answer
    ),
    "commas": lambda rng, answer, text: re.sub(r"([}\]])", r",\1", answer),
    "numbers": lambda rng, answer, text: re.sub(
        r"\d+", lambda match: rng.choice([*NUMBERS, match[0] * 400]), answer
    ),
    "quotes": lambda rng, answer, text: answer.translate(
        {ord('"'): rng.choice(["'", "”", "＂", "&quot;", "\\'"])}
    ),
    "Python": lambda rng, answer, text: answer.replace("true", "True").replace("null", "None"),
    "escapes": lambda rng, answer, text: "".join(
        f"\\u{ord(each):04x}" if each.isalpha() else each for each in answer
    ),
    "pairs": lambda rng, answer, text: answer.replace(rng.choice("aey "), "\ud83d\ude00", 1),
    "halves": lambda rng, answer, text: answer.replace("a", rng.choice(["\ud83d", "\ude00", r"\ud83d"]), 1),
    "other case": lambda rng, answer, text: text[-rng.randrange(1, 40) :].swapcase() + rest_of(answer, text),
    "control": lambda rng, answer, text: answer.replace(" ", rng.choice(["\0", "\x1b[0m", "\u00a0", "\r\n"])),
    "closing tag": lambda rng, answer, text: f"hm</think>{answer}<|im_end|>\n<|im_start|>user\n{answer}",
    "call": lambda rng, answer, text: rng.choice(CALLS).replace("ANSWER", answer),
}

NUMBERS = ["NaN", "-Infinity", "1e999", "0x1F", "007", "+1", ".5", "1.", "-0"]
CALLS = [
    '<tool_call>\n{"name": "answer", "arguments": ANSWER}\n</tool_call>',
    '[TOOL_CALLS][{"name": "answer", "arguments": ANSWER}]',
    '<|python_tag|>{"name": "answer", "parameters": ANSWER}<|eom_id|>',
    "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>ANSWER<|return|>",
    "[answer(value=ANSWER)]",
    "<function=answer><parameter=value>ANSWER</parameter></function>",
]


def ranked(rng: random.Random, answer: str, piece: str) -> str:
    """Return a piece with its tokens, some of which are wrong, and with likely others."""
    data = piece.encode(errors="surrogatepass")
    at = rng.randrange(len(data) + 1)
    texts = rng.choice([(data,), (data[:at], data[at:]), (b"", data), (b"?",), ()])
    tokens = []
    for text in texts:
        start = rng.randrange(len(answer) + 1)
        others = [
            answer[start : start + rng.randrange(6)].encode(),
            b" ",
            b"<|end|>",
            b"\xff",
            noise(rng, "", "").encode(errors="replace"),
        ]
        tokens.append(ScoredToken(text, (text, *rng.sample(others, rng.randrange(len(others))))))
    return ScoredText(piece, tuple(tokens))


def check_run(seed: int) -> str:
    """Run one target with a hostile function; return how it ended."""
    rng = random.Random(seed)
    target, answer = rng.choice(TARGETS)
    names = rng.sample([*REPLIES], rng.randrange(1, 5))
    raises, chat, in_pieces = rng.random() < 0.1, rng.random() < 0.4, rng.random() < 0.4
    ranks = random.Random(seed).random() < 0.3
    calls = 0

    def function(given: str | list[Message]) -> str | Iterator[str]:
        nonlocal calls
        calls += 1
        text = given if isinstance(given, str) else " ".join(each["content"] for each in given[-2:])
        if raises and rng.random() < 0.3:
            raise OSError("the line is down")
        reply = REPLIES[rng.choice(names)](rng, answer, text)
        return pieces(reply) if in_pieces or ranks else reply

    def pieces(reply: str) -> Iterator[str]:
        while reply:
            length = rng.randrange(1, 9)
            yield ranked(rng, answer, reply[:length]) if ranks else reply[:length]
            reply = reply[length:]
            if raises and rng.random() < 0.2:
                raise OSError("the line is down")

    async def awaited(given: str | list[Message]) -> str | Iterator[str]:
        return function(given)

    model = sk.from_function(
        rng.choice([function, awaited]), chat=chat, continues=rng.random() < 0.5, max_calls=12
    )
    finish: Literal["error", "shortest"] = rng.choice(["error", "shortest"])
    max_tokens = rng.choice([None, None, 200, 1_000])
    started = time.process_time()  # each piece waits for another thread, which takes long on a busy machine
    options: ResultOptions = {"finish": finish, "max_corrections": 5}
    if max_tokens is not None:
        options["max_tokens"] = max_tokens
    try:
        way = rng.random()
        if way < 0.3:
            result = streamed(model, target, options)
        elif way < 0.5:
            result = asyncio.run(sk.agenerate(model, "Answer.", target, **options))
        else:
            result = sk.generate(model, "Answer.", target, **options)
    except (sk.CorrectionsExhausted, sk.OutputValidationError) as error:
        return type(error).__name__
    except sk.ModelError as error:
        assert raises
        return type(error).__name__
    finally:
        assert calls <= 12, names
        assert time.process_time() - started < 20, names
    assert result.usage.calls == calls
    check_text(target, result)
    return result.finish_reason


def streamed(model: FunctionModel, target: AnyTarget, options: ResultOptions) -> sk.Result[object]:
    """Stream a value, and check that its events build up to the value."""
    events: list[sk.FieldStart | sk.TextDelta | sk.FieldEnd] = []
    with sk.stream(model, "Answer.", target, **options) as stream:
        for event in stream:
            if isinstance(event, sk.FieldRetracted):
                paths = [each.path for each in events]
                del events[paths.index(event.path) if event.path in paths else len(events) :]
            elif isinstance(event, (sk.FieldStart, sk.TextDelta, sk.FieldEnd)):
                events.append(event)
    result = stream.result
    texts: dict[str, str] = {}
    ended: dict[str, object] = {}
    for each in events:
        if isinstance(each, sk.TextDelta):
            texts[each.path] = texts.get(each.path, "") + each.text
        elif isinstance(each, sk.FieldEnd):
            assert each.path not in ended
            ended[each.path] = each.value
    if read_target(target).is_json:
        assert ended["$"] == result.value
        assert all(ended[path] == text for path, text in texts.items() if isinstance(ended[path], str))
    else:
        assert texts.get("$", "") == result.text
    return result


def check_text(target: AnyTarget, result: sk.Result[object]) -> None:
    """Check that the guide accepts the text, and that the value and the trace belong to the text."""
    cursor = sk.compile(target, byte_vocabulary()).cursor()
    for byte in result.text.encode():
        cursor.advance(byte)
    assert cursor.is_accepting
    assert result.value == read_target(target).parse(result.text)
    if isinstance(target, type):
        assert TypeAdapter(target).validate_json(result.text) == result.value
    text = ""
    for draft in result.trace.drafts:
        if draft.attempt < len(result.attempts) - 1:
            continue
        assert text.startswith(draft.prefix) or not text
        assert not draft.chosen or draft.is_correction
        text = draft.text
    assert result.text.startswith(text)
    assert result.text == text or result.finish_reason == "budget" or not result.trace.drafts
    assert "".join(span.text for span in result.trace.spans) == result.text
    for draft in result.trace.drafts:
        assert draft.reply.startswith(draft.skipped)
        assert draft.reply.endswith(draft.refused or draft.rest)
        assert len(draft.skipped + draft.refused + draft.rest) <= len(draft.reply)
    lines = str(result.trace).split("\n")
    assert all(line.isprintable() and len(line) <= 100 for line in lines)


@pytest.mark.parametrize(
    "pieces",
    [["\ud83d\ude00"], ["\ud83d", "\ude00"], ["a\ud83d", "", "\ude00"], ["é", "\ud83d", "\ude00b"]],
)
def test_the_halves_of_a_character_are_joined(pieces: list[str]) -> None:
    model = sk.from_function(lambda text: iter(['"', *pieces, '"']))
    expected = "".join(pieces).replace("\ud83d\ude00", "😀")
    assert sk.extract(model, "Answer.", str) == expected


@pytest.mark.long(every=3)
@pytest.mark.parametrize("start", range(0, RUNS, 50))
def test_every_run_ends_in_a_valid_value_or_a_typed_error(start: int) -> None:
    ends = [check_run(seed) for seed in range(start, min(start + 50, RUNS))]
    assert {"stop"} < {*ends}
