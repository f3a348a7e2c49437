"""Prompts of any number: results as they are complete, in bounded memory, and from a file of an earlier call."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import json
import os
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field

import structkit as sk
from structkit.generate.schedule.scheduler import SCHEDULERS
from structkit.testing import RandomModel, ScriptedModel
from tests.api.test_many import PEOPLE, Person


@pytest.fixture(scope="module")
def demo():
    pytest.importorskip("transformers", reason="needs transformers")
    return sk.load()


def _endless(read: list[int]) -> Iterator[str]:
    for number in itertools.count():
        read.append(number)
        yield PEOPLE[number % len(PEOPLE)]


@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.long), 4])
def test_an_endless_source_is_read_as_rows_become_free(demo, size: int) -> None:
    read: list[int] = []
    expected = sk.extract_many(demo, PEOPLE, int)
    results = sk.stream_many(demo, _endless(read), int, batch_size=size, progress=False)
    for count, (index, result) in enumerate(itertools.islice(results, 60), start=1):
        assert result.value == expected[index % len(PEOPLE)]
        assert len(read) <= count + 2 * size
    results.close()
    assert SCHEDULERS.of(demo).is_idle


def test_memory_does_not_grow_with_the_prompts(few_objects: None) -> None:
    model = RandomModel(1)
    results = sk.stream_many(model, ("x" for _ in itertools.count()), bool, progress=False)
    counts = []
    for number, _ in zip(range(300), results, strict=False):
        if number in (100, 299):
            gc.collect()
            counts.append(len([each for each in gc.get_objects() if type(each) is sk.Result]))
    assert counts[1] <= counts[0] + 2


def test_short_values_come_first(demo) -> None:
    targets = [Annotated[list[int], Field(min_length=12)], bool, bool]
    order = [index for index, _ in sk.stream_many(demo, PEOPLE[:3], targets, max_tokens=200)]
    assert sorted(order[:2]) == [1, 2]


def test_any_iterable_is_a_list_of_prompts(demo) -> None:
    expected = sk.extract_many(demo, PEOPLE, Person)

    async def source() -> AsyncIterator[str]:
        for each in PEOPLE:
            await asyncio.sleep(0)
            yield each

    async def main() -> None:
        assert await sk.aextract_many(demo, source(), Person, batch_size=3) == expected
        assert await sk.aextract_many(demo, iter(PEOPLE), Person, batch_size=3) == expected
        results = {index: result.value async for index, result in sk.astream_many(demo, source(), Person)}
        assert [results[index] for index in range(len(PEOPLE))] == expected

    assert sk.extract_many(demo, (each for each in PEOPLE), Person, batch_size=2) == expected
    assert dict.fromkeys(PEOPLE).keys() == set(PEOPLE)
    assert sk.extract_many(demo, dict.fromkeys(PEOPLE).keys(), Person) == expected
    asyncio.run(main())


def test_a_seed_does_not_depend_on_how_prompts_are_read(demo) -> None:
    options = {"temperature": 1.5, "seed": 3, "max_tokens": 30}
    listed = sk.extract_many(demo, PEOPLE, str, **options)
    read = {
        index: result.value
        for index, result in sk.stream_many(demo, iter(PEOPLE), str, batch_size=2, **options)
    }
    assert [read[index] for index in range(len(PEOPLE))] == listed


def test_errors_of_prompts_are_in_place_and_those_of_the_source_are_raised(demo) -> None:
    def source() -> Iterator[str]:
        yield from ["Ana is 34.", "Ana " * 3000, "Tom is 7."]
        raise OSError("the disk is full")

    results = sk.stream_many(demo, source(), int, batch_size=1, return_exceptions=True)
    found = dict(itertools.islice(results, 3))
    with pytest.raises(OSError, match="the disk is full"):
        next(results)
    assert [each.value if isinstance(each, sk.Result) else type(each) for each in found.values()] == [
        34,
        sk.GenerationError,
        7,
    ]
    with pytest.raises(sk.GenerationError, match=r"prompts\[1\]"):
        list(sk.stream_many(demo, iter(["Ana is 34.", "Ana " * 3000]), int))
    assert SCHEDULERS.of(demo).is_idle


@pytest.mark.parametrize(("prompts", "targets"), [(["a"], [int, int]), (["a", "b", "c"], [int, int])])
def test_numbers_of_prompts_and_targets_that_differ(prompts: list[str], targets: list[object]) -> None:
    with pytest.raises(ValueError, match=r"prompts? (and|than the) 2 targets|prompts and 2 targets"):
        sk.extract_many(ScriptedModel(["1", "2"]), iter(prompts), targets)
    with pytest.raises(TypeError, match="stream_many\\(\\) takes a list of prompts"):
        sk.stream_many(ScriptedModel([]), 5, int)


def test_who_leaves_an_async_stream_frees_its_rows(demo) -> None:
    async def left() -> None:
        async with contextlib.aclosing(sk.astream_many(demo, _endless([]), Person)) as results:
            async for _ in results:
                break

    async def cancelled() -> None:
        async def read() -> None:
            async for _ in sk.astream_many(demo, _endless([]), Person):
                pass

        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(read(), 0.2)
        assert await sk.aextract(demo, PEOPLE[1], int) == 7

    asyncio.run(left())
    assert SCHEDULERS.of(demo).is_idle
    asyncio.run(cancelled())
    gc.collect()


def test_text_models_read_any_iterable_too() -> None:
    model = sk.from_function(lambda text: "7" if "seven" in text else "8", name="f")
    results = dict(sk.stream_many(model, iter(["seven", "eight", "seven"]), int, batch_size=2))
    assert [results[index].value for index in range(3)] == [7, 8, 7]


class Order(BaseModel):
    title: str
    quantity: int


def test_a_call_that_was_stopped_goes_on_where_it_was(demo, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    expected = sk.generate_many(demo, PEOPLE, Person)
    with contextlib.closing(sk.stream_many(demo, PEOPLE, Person, batch_size=2, results_file=path)) as results:
        first = dict(itertools.islice(results, 3))
    with path.open("ab") as file:
        file.write(b'{"index": 6, "te')  # the process was killed
    read: list[str] = []

    def source() -> Iterator[str]:
        for each in PEOPLE:
            read.append(each)
            yield each

    forwards = 0
    forward = type(demo.model).forward

    def counted(self: object, *args: object, **kwargs: object) -> object:
        nonlocal forwards
        forwards += 1
        return forward(self, *args, **kwargs)

    rest = dict(sk.stream_many(demo, source(), Person, batch_size=2, results_file=str(path)))
    assert [rest[index].value for index in range(7)] == [each.value for each in expected]
    assert [rest[index].token_ids for index in first] == [each.token_ids for each in first.values()]
    assert [rest[index].usage for index in first] == [each.usage for each in first.values()]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(line["index"] for line in lines) == list(range(7))
    assert Person.model_validate(lines[0]["value"]) == expected[lines[0]["index"]].value
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(demo.model), "forward", counted)
        assert sk.extract_many(demo, PEOPLE, Person, results_file=path) == [each.value for each in expected]
    assert forwards == 0


def test_failed_prompts_are_tried_again(tmp_path: Path) -> None:
    path, bad = tmp_path / "results.jsonl", True

    def check(value: int) -> int:
        if bad and value == 2:
            raise ValueError("not today")
        return value

    target = Annotated[int, AfterValidator(check)]
    options = {"results_file": path, "retries": 0, "return_exceptions": True}
    first = sk.extract_many(ScriptedModel(["1", "2", "3"]), ["a", "b", "c"], target, **options)
    assert [type(each) for each in first] == [int, sk.OutputValidationError, int]
    bad = False
    model = ScriptedModel(["2"])
    assert sk.extract_many(model, ["a", "b", "c"], target, **options) == [1, 2, 3]
    assert model.prompts[0].startswith("b")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no json\n", "line 1.*|not JSON"),
        ("[1]\n", "not an object"),
        ('{"text": "1"}\n', "no index"),
        ('{"index": 0, "prompt": "0"}\n', "another prompt"),
    ],
)
def test_a_file_of_something_else_is_left_alone(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(content)
    with pytest.raises(sk.StructkitError, match=message):
        sk.extract_many(ScriptedModel(["1"]), ["a"], int, results_file=path)
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("reply", "first", "second"),
    [("true", bool, int), ("1", int, float), ("1", Annotated[int, Field(ge=1)], Annotated[int, Field(ge=0)])],
)
def test_a_text_that_another_target_would_take_is_refused(
    reply: str, first: Any, second: Any, tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    model = ScriptedModel([reply, reply])
    kept = sk.extract_many(model, ["a"], first, results_file=path)
    assert sk.extract_many(model, ["a"], first, results_file=path) == kept
    with pytest.raises(sk.StructkitError, match="result of another target than"):
        sk.extract_many(model, ["a"], second, results_file=path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
def test_a_file_whose_end_never_comes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(sk.StructkitError, match="is not a regular file"):
        sk.extract_many(ScriptedModel([]), ["a"], int, results_file=path)


def test_a_prompt_that_is_none_has_no_stored_result(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    sk.extract_many(ScriptedModel(["1"]), ["a"], int, results_file=path)
    with pytest.raises(sk.StructkitError, match="another prompt"):
        sk.extract_many(ScriptedModel([]), [5], int, results_file=path)  # type: ignore[list-item]


def test_a_line_is_json_also_if_a_number_is_beyond_64_bits(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    values = sk.extract_many(ScriptedModel(["1e400"]), ["a"], {"type": "number"}, results_file=path)
    assert values == sk.extract_many(ScriptedModel([]), ["a"], {"type": "number"}, results_file=path)
    assert json.loads(path.read_text(), parse_constant=pytest.fail)["value"] == "1e400"


def test_a_file_of_another_target_or_a_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    sk.extract_many(ScriptedModel(['"x"']), ["a"], str, results_file=path)
    with pytest.raises(sk.StructkitError, match="index 0"):
        sk.extract_many(ScriptedModel(["1"]), ["a"], int, results_file=path)
    with pytest.raises(sk.StructkitError, match="cannot be used"):
        sk.extract_many(ScriptedModel(["1"]), ["a"], int, results_file=tmp_path)
    with pytest.raises(TypeError, match="results_file must be a path"):
        sk.extract_many(ScriptedModel(["1"]), ["a"], int, results_file=3)


def test_a_bar_without_a_total(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm", reason="needs tqdm")
    sk.extract_many(ScriptedModel(["1", "2"]), iter(["a", "b"]), int, progress=True)
    assert "2value" in capsys.readouterr().err


def test_streams_of_several_threads_share_the_model(demo) -> None:
    expected = sk.extract_many(demo, PEOPLE, int)
    outcomes: list[dict[int, object]] = []

    def work() -> None:
        outcomes.append({index: result.value for index, result in sk.stream_many(demo, iter(PEOPLE), int)})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [dict(enumerate(expected))] * 4
