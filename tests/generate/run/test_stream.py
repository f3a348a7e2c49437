"""What a stream tells while a value is written is what the value turns out to be."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, TypeAdapter, field_validator
from typing_extensions import TypeAliasType, TypedDict

import structkit as sk
from structkit.models.protocols import Session
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary

SMALL = small_vocabulary()


class Person(BaseModel):
    name: str
    age: int
    tags: list[str] = Field(max_length=4)


class Team(BaseModel):
    title: str
    people: list[Person] = Field(max_length=3)
    lead: Person | None


@dataclass
class Point:
    x: float
    y: float


TARGETS = [Person, Team, list[Person], dict[str, list[int]], int, str, list[Point], bool | None, list[bool]]


def _places(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    yield path or "$", value
    if isinstance(value, dict):
        for name, item in value.items():
            step = f".{name}" if path else name
            yield from _places(
                item, path + (step if name.isidentifier() else f"[{json.dumps(name, ensure_ascii=False)}]")
            )
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _places(item, f"{path}[{at}]")


def _within(part: object, whole: object) -> bool:
    """Whether a part may become a whole: nothing in it changes but strings that grow, and what is added."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and _within(item, whole[name]) for name, item in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(_within, part, whole))
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return part == whole


def _dumped(value: object) -> object:
    return TypeAdapter(object).dump_python(value, mode="json", warnings=False)


@settings(deadline=None)
@given(st.sampled_from(TARGETS), st.integers(0, 10**6), st.sampled_from([15, 40, 120]))
def test_what_is_told_is_what_comes(target: object, seed: int, budget: int) -> None:
    model = RandomModel(seed, SMALL, brevity=seed % 5)
    stream = sk.stream(model, "x", target, temperature=1.0, seed=seed, max_tokens=budget + 40)
    begun, done, texts, partials = [], {}, {}, []
    for event in stream:
        if isinstance(event, sk.FieldStart):
            begun.append(event.path)
        elif isinstance(event, sk.TextDelta):
            texts[event.path] = texts.get(event.path, "") + event.text
        elif isinstance(event, sk.FieldEnd):
            done[event.path] = event.value
        partials.append(_dumped(stream.partial))
    assert isinstance(event, sk.StreamEnd)
    whole = json.loads(event.result.text)
    places = dict(_places(whole))
    assert sorted(begun) == sorted(places)
    assert {path: _dumped(value) for path, value in done.items()} == {
        path: _dumped(value) for path, value in places.items()
    }
    assert texts == {path: value for path, value in places.items() if isinstance(value, str) and value}
    assert all(partial is None or _within(partial, _dumped(event.result.value)) for partial in partials)
    assert stream.partial == event.result.value == stream.result.value
    assert stream.text == event.result.text


def test_parts_have_the_types_of_the_target() -> None:
    text = '{"title": "T", "people": [{"name": "Ana", "age": 34, "tags": []}, {"name": "To'
    whole = text + 'm", "age": 7, "tags": ["a"]}], "lead": null}'
    stream = sk.stream(ScriptedModel([whole]), "x", Team)
    values, last = {}, None
    for event in stream:
        if isinstance(event, sk.FieldEnd):
            values[event.path] = event.value
        if stream.text.endswith("7"):
            last = stream.partial
    assert values["people[0]"] == Person(name="Ana", age=34, tags=[])
    assert isinstance(last, Team)
    assert last.people[0] == Person(name="Ana", age=34, tags=[])
    assert last.people[1].name == "Tom"
    assert not hasattr(last.people[1], "age")
    assert not hasattr(last, "lead")


class Mood(Enum):
    GOOD = "good"
    BAD = "bad"


class Visit(BaseModel):
    day: date
    mood: Mood
    word: Literal["yes", "no"]
    note: str = "nothing"
    tags: list[str] = Field(default_factory=lambda: ["none"])


def test_what_is_half_is_not_there() -> None:
    """No half choice, no half date, no default before its field begins, and no change of what was there."""
    text = '{"day": "2024-03-15", "mood": "good", "word": "yes", "note": "fine", "tags": ["a", "b"]}'
    stream = sk.stream(ScriptedModel([text], byte_vocabulary()), "x", Visit)
    seen = [(stream.partial, repr(stream.partial)) for _ in stream]
    days = {vars(visit).get("day") for visit, _ in seen}
    assert days == {None, date(2024, 3, 15)}
    assert {vars(visit).get("mood") for visit, _ in seen} == {None, Mood.GOOD}
    assert {vars(visit).get("word") for visit, _ in seen} == {None, "yes"}
    assert {vars(visit).get("note") for visit, _ in seen} >= {None, "", "f", "fine"}
    assert [repr(visit) for visit, _ in seen] == [shown for _, shown in seen]
    for target, whole in ((sk.Choice(["yes", "no"]), "yes"), ({"enum": ["yes", "no"]}, '"yes"')):
        stream = sk.stream(ScriptedModel([whole], byte_vocabulary()), "x", target)
        assert {stream.partial for _ in stream} <= {None, "yes"}


def test_a_part_of_a_model_runs_none_of_its_code() -> None:
    class Greeting(BaseModel):
        name: str
        age: int

        def model_post_init(self, context: object) -> None:
            self.name += "!"

    class Ages(RootModel[dict[str, int]]):
        pass

    stream = sk.stream(ScriptedModel(['{"name": "Ana", "age": 3}']), "x", Greeting)
    shown = [repr(stream.partial) for _ in stream]
    assert "Greeting(name='Ana')" in shown
    assert stream.partial == stream.result.value
    stream = sk.stream(ScriptedModel(['{"Ana": 3}']), "x", Ages)
    assert [repr(stream.partial) for _ in stream][-1] == "Ages(root={'Ana': 3})"


def test_what_is_refused_is_told_and_taken_back() -> None:
    class Even(BaseModel):
        name: str
        value: int

        @field_validator("value")
        @classmethod
        def even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("odd")
            return value

    stream = sk.stream(ScriptedModel(['{"name": "a", "value": 3}', '{"name": "a", "value": 4}']), "x", Even)
    events = list(stream)
    assert sk.FieldRetracted("value") in events
    after = events[[isinstance(event, sk.FieldRetracted) for event in events].index(True) :]
    assert sk.FieldEnd("value", 4) in after
    assert stream.result.value == Even(name="a", value=4)
    assert len(stream.result.attempts) == 2


def test_a_stream_shows_how_it_ended() -> None:
    stream = sk.stream(ScriptedModel(["3"]), "x", int)
    assert repr(stream).endswith("0 characters so far>")
    assert list(stream) and repr(stream).endswith("ended with 3>")
    failed = sk.stream(ScriptedModel(["x"]), "x", int)
    with pytest.raises(sk.StructkitError):
        list(failed)
    assert repr(failed).endswith("failed with ScriptError>")


def test_an_async_stream_shows_what_the_stream_does() -> None:
    async def run() -> None:
        stream = sk.astream(ScriptedModel(["[1, 2]"]), "x", list[int])
        shown = sk.stream(ScriptedModel(["[1, 2]"]), "x", list[int])
        for event in shown:
            assert await anext(stream) == event or isinstance(event, sk.StreamEnd)
            assert (stream.text, stream.partial) == (shown.text, shown.partial)
            assert repr(stream) == f"<Async{repr(shown)[1:]}"
            assert stream._repr_html_().startswith("<")
        assert (await stream.result()).value == [1, 2]
        for name, hint in {"data": "(await stream.result()).value", "cancel": ".aclose()"}.items():
            with pytest.raises(AttributeError, match=re.escape(f"'{name}'; write {hint}")):
                getattr(stream, name)

    asyncio.run(run())


def test_text_that_is_not_json_only_grows() -> None:
    events = list(sk.stream(ScriptedModel(["abc abc"]), "x", sk.Regex("[a-c ]+")))
    assert "".join(event.text for event in events if isinstance(event, sk.TextDelta)) == "abc abc"
    assert {type(event) for event in events} == {sk.TextDelta, sk.StreamEnd}


def test_what_is_wrong_is_raised_when_events_are_asked_for() -> None:
    with pytest.raises(sk.UnsatisfiableSchema):
        next(sk.stream(RandomModel(), "x", {"type": "integer", "minimum": 3, "maximum": 2}))
    with pytest.raises(TypeError, match="stream\\(\\) has no argument"):
        sk.stream(RandomModel(), "x", int, tokens=3)


def test_a_closed_stream_ends_and_frees_the_model() -> None:
    model = RandomModel(1, SMALL)
    with sk.stream(model, "x", list[str], max_tokens=500) as stream:
        next(stream)
        assert sk.extract(model, "y", bool) in (True, False)  # between two steps others may use it
    with pytest.raises(StopIteration):
        next(stream)
    with pytest.raises(sk.GenerationError, match="closed before its end"):
        _ = stream.result


def test_the_async_twin() -> None:
    async def main() -> None:
        async with sk.astream(ScriptedModel(["[1, 2]"]), "x", list[int]) as stream:
            events = [event async for event in stream]
            assert (await stream.result()).value == [1, 2]
        assert sk.FieldEnd("[0]", 1) in events
        assert isinstance(events[-1], sk.StreamEnd)
        stream = sk.astream(RandomModel(1, SMALL), "x", list[str], max_tokens=500)
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(main())


class Eager(BaseModel):
    name: str
    age: int = 7

    def model_post_init(self, context: object) -> None:
        assert self.age >= 0


class Names(RootModel[dict[str, int]]): ...


class Root(RootModel[Eager]): ...


@pytest.mark.parametrize("target", [Eager, Root])
def test_a_part_has_no_defaults_in_it_and_runs_no_code(target: type[BaseModel]) -> None:
    stream = sk.stream(ScriptedModel(['{"name": "Ana", "age": 34}']), "x", target)
    dumped = [stream.partial.model_dump() for _ in stream if isinstance(stream.partial, BaseModel)]
    assert dumped[0] == {}
    assert [part for part in dumped if "age" not in part]
    assert all(part.get("age") in (None, 34) for part in dumped)
    assert dumped[-1] == {"name": "Ana", "age": 34}


def test_parts_are_values_that_do_not_change() -> None:
    stream = sk.stream(ScriptedModel(["[1, 2, 3]"]), "x", list[int])
    seen = [(stream.partial, repr(stream.partial)) for _ in stream]
    assert all(repr(part) == shown for part, shown in seen)
    names = sk.stream(ScriptedModel(['{"a": 1, "b": 2}']), "x", Names)
    assert [names.partial for _ in names][-1] == Names({"a": 1, "b": 2})


def test_a_refused_value_is_named() -> None:
    class Grown(BaseModel):
        name: str
        age: int

        @field_validator("age")
        @classmethod
        def grown(cls, age: int) -> int:
            if age < 18:
                raise ValueError("too young")
            return age

    texts = ['{"name": "Ana", "age": 3}', '{"name": "Ana", "age": 34}']
    events = list(sk.stream(ScriptedModel(texts), "x", Grown))
    assert [event.path for event in events if isinstance(event, sk.FieldRetracted)] == ["age"]
    # What was not refused is not told again.
    assert [event.path for event in events if isinstance(event, sk.FieldStart)] == ["$", "name", "age", "age"]
    end = events[-1]
    assert isinstance(end, sk.StreamEnd)
    assert end.result.usage.discarded_tokens == 2, "the number, and the brace that ended it"


def test_a_task_that_is_cancelled_in_the_middle_of_a_step_closes_its_stream() -> None:
    class Slow(RandomModel):
        def session(self) -> Session:
            session = super().session()
            begun, logits = threading.Event(), session.logits
            sessions.append(begun)

            def slow(token_ids: Sequence[int]) -> np.ndarray:
                begun.set()
                time.sleep(0.05)
                return logits(token_ids)

            session.logits = slow  # type: ignore[method-assign]
            return session

    sessions: list[threading.Event] = []

    async def read() -> None:
        async with sk.astream(Slow(1, SMALL), "x", list[str]) as stream:
            async for _ in stream:
                pass

    async def main() -> None:
        task = asyncio.create_task(read())
        while not (sessions and sessions[0].is_set()):
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_stream_that_failed_says_so_again() -> None:
    stream = sk.stream(RandomModel(), "x", {"type": "integer", "minimum": 3, "maximum": 2})
    for _ in range(2):
        with pytest.raises(sk.UnsatisfiableSchema):
            _ = stream.result


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Plain(BaseModel):
    text: str


class Shouted(TypedDict):
    __pydantic_config__ = ConfigDict(str_to_upper=True)
    text: str


class Named(TypedDict):
    text: str


Short = TypeAliasType("Short", Annotated[str, Field(min_length=1)])


class Configured(BaseModel):
    model_config = ConfigDict(
        str_strip_whitespace=True, val_json_bytes="base64", strict=True, use_enum_values=True, frozen=True
    )
    text: str
    data: bytes
    texts: list[str]
    short: Short
    again: Short
    plain: Plain
    shouted: Shouted
    named: Named
    colour: Colour
    day: date
    below: Annotated[list[Configured], Field(max_length=1)]


def _configured(below: str) -> str:
    return (
        '{"text": "a ", "data": "aGk=", "texts": ["b "], "short": "c ", "again": "d ", "plain": {"text": " e "}, '
        '"shouted": {"text": "F"}, "named": {"text": " g"}, "colour": "red", "day": "2024-02-29", '
        f'"below": [{below}]}}'
    )


def test_parts_are_validated_as_the_whole_is() -> None:
    """With the configuration of the class that they are in, and not with that of a class around it."""
    text = _configured(_configured(""))
    stream = sk.stream(ScriptedModel([text]), "x", Configured, max_tokens=600)
    done = {event.path: event.value for event in stream if isinstance(event, sk.FieldEnd)}
    value = stream.result.value
    assert json.loads(stream.result.text)["data"] == "aGk="
    wanted = {"$": value}
    for prefix, each in (("", value), ("below[0].", value.below[0])):
        for name in Configured.model_fields:
            wanted[prefix + name] = getattr(each, name)
        wanted[prefix + "texts[0]"] = each.texts[0]
        wanted[prefix + "plain.text"] = each.plain.text
        wanted[prefix + "shouted.text"] = each.shouted["text"]
        wanted[prefix + "named.text"] = each.named["text"]
    wanted["below[0]"] = value.below[0]
    assert done == wanted
    assert done["data"] == b"hi"
    assert done["colour"] == "red"
    assert (done["text"], stream.result.text[:14]) == ("a", '{"text": "a ",')


def test_a_number_without_a_container_ends_with_the_text() -> None:
    kinds = [type(event).__name__ for event in sk.stream(ScriptedModel(["12"]), "x", int)]
    assert kinds[0] == "FieldStart" and kinds[-2:] == ["FieldEnd", "StreamEnd"]


def _stream_in_use(use: Callable[[], None]) -> sk.Stream[dict[str, int]]:
    """A stream that another thread uses once while it makes its first token."""

    uses = [use]

    def processor(ids: Any, row: Any) -> Any:
        while uses:
            thread = threading.Thread(target=uses.pop())
            thread.start()
            thread.join(20)
        return row

    return sk.stream(ScriptedModel(['{"a": 1}']), "one", dict[str, int], processors=[processor])


def test_a_thread_that_disturbs_the_reader_of_a_stream_is_told_and_changes_nothing() -> None:
    said: list[str] = []

    def disturb() -> None:
        for disturbing in (lambda: next(stream), stream.close):
            with pytest.raises(sk.GenerationError) as raised:
                disturbing()
            said.append(str(raised.value))

    stream = _stream_in_use(disturb)
    assert stream.result.value == {"a": 1}
    assert [text.partition(";")[0].split("\n")[0] for text in said] == [
        "another thread reads this stream"
    ] * 2


def test_the_reader_of_a_stream_that_is_cancelled_is_told() -> None:
    stream = _stream_in_use(lambda: stream.cancel())
    with pytest.raises(sk.GenerationError, match="the stream was cancelled before its end"):
        list(stream)


def test_a_task_that_closes_the_stream_of_another_is_told() -> None:
    reading = asyncio.Event()

    async def look() -> str:
        """Look."""
        reading.set()
        await asyncio.sleep(60)
        return "seen"

    async def main() -> None:
        stream = sk.Agent(ScriptedModel(['{"name": "look", "arguments": {}}']), tools=[look]).astream("Go.")
        reader = asyncio.ensure_future(stream.result())
        await reading.wait()
        with pytest.raises(sk.GenerationError, match="another task reads this stream\n  cancel that task"):
            await stream.aclose()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader

    asyncio.run(main())
