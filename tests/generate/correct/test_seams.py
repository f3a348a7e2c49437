"""Where a reply ends in a word, the word is written again, so that no value has a part of it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import structkit as sk
from structkit.generate.correct.likely import ReplyTokens
from structkit.generate.correct.reading import _may_grow
from structkit.generate.correct.seams import word_start
from structkit.generate.correct.settled import SettledLength
from structkit.models.text.scored import ScoredText, ScoredToken
from structkit.testing import byte_vocabulary


class Person(BaseModel):
    name: str
    age: int


class Ticket(BaseModel):
    title: str
    day: Literal["Monday", "Montag", "Friday"]


BREAK = "\0"
"""The end of a reply whose stream breaks off."""


def answering(
    target: Any, replies: Sequence[str], *, slow: bool = False, **options: Any
) -> tuple[sk.Result[Any], list[str]]:
    """Return the result of a function that gives replies, and the ends of the texts that it read."""
    texts: list[str] = []
    each = iter(replies)

    def function(text: str) -> Iterator[str]:
        texts.append(text.rpartition("\n")[2])
        reply = next(each, "")
        yield reply.removesuffix(BREAK)
        if reply.endswith(BREAK):
            if slow:
                time.sleep(20)
            raise OSError("the line is down")

    model = sk.from_function(function, timeout=1 if slow else 60)
    return sk.generate(model, "?", target, **options), texts


@pytest.mark.parametrize("slow", [False, True])
def test_a_number_that_breaks_off_is_written_again(slow: bool) -> None:
    result, texts = answering(Person, ['Ana", "age": 12' + BREAK, "123}"], slow=slow)
    assert result.value == Person(name="Ana", age=123)
    assert texts[1] == '{"name": "Ana", "age":'
    first, second = result.trace.drafts
    assert (first.accepted, first.rest, first.end) == ('Ana", "age": ', "12", "timeout" if slow else "failed")
    assert (second.healed, second.accepted) == (" ", "123}")
    assert result.trace.corrections == 0


def test_a_number_is_not_complete_where_its_reply_breaks_off() -> None:
    result, _ = answering(int, ["12" + BREAK, "123"])
    assert (result.value, result.usage.calls) == (123, 2)


def test_a_number_in_which_a_reply_ends_is_written_again() -> None:
    result, texts = answering(Person, ['Ana", "age": 12', "123}"])
    assert (result.value.age, texts[1]) == (123, '{"name": "Ana", "age":')


def test_a_word_of_a_string_that_breaks_off_is_written_again() -> None:
    result, texts = answering(Person, ["Ana Sou" + BREAK, ' Souza", "age": 3}'])
    assert (result.value.name, texts[1]) == ("Ana Souza", '{"name": "Ana')


def test_a_string_in_which_a_reply_ends_goes_on() -> None:
    result, texts = answering(Person, ["Ana Sou", 'za", "age": 3}'])
    assert (result.value.name, texts[1]) == ("Ana Souza", '{"name": "Ana Sou')


def test_an_escape_is_not_split() -> None:
    result, texts = answering(Person, [r"Ana \u0001bc" + BREAK, r' \u0001bcd", "age": 3}'])
    assert (result.value.name, texts[1]) == ("Ana \x01bcd", '{"name": "Ana')


def test_a_long_word_is_not_written_again() -> None:
    word = "x" * 50
    result, texts = answering(Person, [word + BREAK, 'y", "age": 3}'])
    assert (result.value.name, texts[1]) == (word + "y", '{"name": "' + word)


def test_the_only_word_of_a_reply_is_asked_for_again_once() -> None:
    result, texts = answering(Person, ['Ana", "age": ', "12" + BREAK, "12" + BREAK, "3}"])
    assert (result.value.age, result.usage.calls) == (123, 4)
    assert [text[-7:] for text in texts[1:]] == ['"age":', '"age":', 'age": 12'[-7:]] or texts[3].endswith(
        ": 12"
    )


def test_a_model_that_writes_a_character_at_a_time_goes_on() -> None:
    def function(text: str) -> str:
        rest = rest_of(text)
        return rest[: 1 + rest.startswith(" ")]

    result = sk.generate(sk.from_function(function), "?", Ticket)
    assert (result.text, result.trace.corrections) == (TEXT, 0)


def test_no_time_is_left_to_write_a_word_again() -> None:
    result, _ = answering(Person, ['Ana", "age": 12' + BREAK], slow=True, timeout=0.9, finish="shortest")
    assert (result.value.age, result.trace.forced_fields) == (12, ("age",))


def test_a_forced_part_of_a_word_is_left_out_of_the_request() -> None:
    result, texts = answering(sk.Regex("on (Monday|Montag)"), ["Montag"])
    assert (result.text, texts[0]) == ("on Montag", "on")
    (draft,) = result.trace.drafts
    assert (draft.healed, draft.skipped, draft.accepted) == (" Mon", "Mon", "tag")


@pytest.mark.parametrize("reply", ["Monday", " Monday", "day"])
def test_a_reply_can_repeat_the_forced_part(reply: str) -> None:
    result, _ = answering(sk.Regex("on (Monday|Montag)"), [reply])
    assert (result.text, result.usage.calls) == ("on Monday", 1)


def test_what_is_left_out_is_meant_before_what_could_follow() -> None:
    """`1` is forced and left out, so the reply `12` is 12, and not 112."""
    result, _ = answering(sk.Regex("no 1[0-9]+"), ["12"])
    assert result.text == "no 12"


def test_choices_follow_the_whole_text() -> None:
    result, texts = answering(sk.Regex("on (Monday|Montag)"), ["Friday", "day"])
    assert result.text == "on Monday"
    assert texts[1] == "on Mon"


def test_the_rendered_prompt_is_the_first_request() -> None:
    read: list[str] = []
    model = sk.from_function(lambda text: read.append(text) or "Montag")  # type: ignore[func-returns-value]
    target = sk.Regex("on (Monday|Montag)")
    sk.extract(model, "When?", target)
    assert sk.render_prompt(model, "When?", target) == read[0]


def test_a_stream_retracts_what_is_written_again() -> None:
    each = iter(["Ana Sou" + BREAK, 'Souza", "age": 3}'])

    def function(text: str) -> Iterator[str]:
        reply = next(each)
        yield reply.removesuffix(BREAK)
        if reply.endswith(BREAK):
            raise OSError("the line is down")

    events = list(sk.stream(sk.from_function(function), "?", Person))
    paths = [event.path for event in events if isinstance(event, sk.FieldRetracted)]
    assert paths == ["name"]
    after = events[events.index(sk.FieldRetracted("name")) :]
    assert "".join(event.text for event in after if isinstance(event, sk.TextDelta)) == "Ana Souza"


TEXT = '{"title": "No paper, 3rd floor", "day": "Montag"}'


def rest_of(text: str) -> str:
    """Return the rest of the answer, as a model that continues a text exactly."""
    begun = text.rpartition("\n")[2]
    return TEXT[len(begun) :] if TEXT.startswith(begun) else TEXT


@given(cuts=st.lists(st.integers(2, 12), max_size=40), ends=st.sampled_from(["break", "end"]))
def test_no_seam_changes_a_value(cuts: list[int], ends: str) -> None:
    """A model that says the same whenever it is asked, in replies of any length, is understood."""
    lengths = iter(cuts)

    def function(text: str) -> Iterator[str]:
        reply, length = rest_of(text), next(lengths, None)
        yield reply[:length]
        if length is not None and ends == "break" and reply[:length]:
            raise OSError("the line is down")

    make: Callable[..., Any] = sk.from_function
    result = sk.generate(make(function), "?", Ticket, max_corrections=50)
    assert result.text == TEXT


def test_the_last_word_of_a_long_text_is_found() -> None:
    text = b'{"name": "' + b"Ana " * 30
    assert word_start(text + b"Sou") == len(text)
    assert word_start(text + b"S" * 41) == len(text) + 41, "as long as no word is"


def test_a_choice_that_is_not_json_is_settled_as_a_whole() -> None:
    assert SettledLength(lambda path: ("low", "high"), is_json=False)(b"lo") == 0
    assert SettledLength(lambda path: None, is_json=False)(b"lo") == 2


@pytest.mark.parametrize(
    ("escape", "may_grow"),
    [
        (rb"\ud83d", True),
        (rb"\uD9ab", True),
        (rb"\udc00", False),
        (rb"\u00d8", False),
        (rb"\ud83d\ude00", False),
    ],
)
def test_only_half_of_a_pair_can_grow(escape: bytes, may_grow: bool) -> None:
    assert _may_grow(re.match(rb"(?s).*", escape)) == may_grow


def test_a_likely_token_takes_the_place_of_one_that_was_begun() -> None:
    """Of `Moon`, the reply's first two bytes can be in the answer, which then ends two bytes too late for `Fri`."""
    cursor = sk.compile(sk.Regex("on (Monday|Friday)"), byte_vocabulary()).cursor()
    for byte in b"on Mo":
        cursor.advance(byte)
    tokens = ReplyTokens()
    tokens.add(ScoredText("Moon", (ScoredToken(b"Moon", (b"Moon", b"Tue", b"Fri")),)))
    assert tokens.choose(2, cursor, b"on Mo", 100) == (b"Fri", 2)


@pytest.mark.parametrize(("texts", "expected"), [((b"on ", b"noon"), b"Fri"), ((b"on", b"noon"), b"")])
def test_the_place_of_a_later_token_is_known_if_all_tokens_are_the_text(
    texts: tuple[bytes, bytes], expected: bytes
) -> None:
    cursor = sk.compile(sk.Regex("on (Monday|Friday)"), byte_vocabulary()).cursor()
    for byte in b"on ":
        cursor.advance(byte)
    tokens = ReplyTokens()
    tokens.add("")
    scored = tuple(ScoredToken(text, (text, b"Fri")) for text in texts)
    tokens.add(ScoredText("on noon", scored))
    assert tokens.choose(3, cursor, b"on ", 100)[0] == expected


def test_a_word_begins_behind_the_last_character_that_is_none() -> None:
    random = Random(1)
    for _ in range(400):
        text = bytes(
            random.choices(rb'a_.+-0Z "\{:' + b"\xc3\x7f", [*[9] * 7, *[1] * 7], k=random.choice((3, 9, 60)))
        )
        start = len(text)
        while start and (text[start - 1] > 127 or re.match(rb"[\w.+-]", text[start - 1 : start])):
            start -= 1
        expected = len(text) if len(text) - start > 40 else start
        while 0 < expected < len(text) and text[expected - 1 : expected] == b"\\":
            expected -= 1
        assert word_start(text) == expected, text
