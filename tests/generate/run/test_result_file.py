"""A file of results: each line exactly, and each error with its place."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import structkit as sk
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.run.result_file import ResultFile, stored_value
from structkit.testing import ScriptedModel


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _request(prompt: Any = "b", target: Any = int, number: int = 1, **settings: Any) -> Request:
    return Request(
        model=ScriptedModel([]), prompt=prompt, target=target, number=number, settings=Settings(**settings)
    )


def _written(path: Path) -> list[sk.Result[int]]:
    """Write the results 1 and 22 of two prompts."""
    return sk.generate_many(ScriptedModel(["1", "22"]), ["a", "b"], int, results_file=path, progress=False)


def test_a_line_has_the_result_and_the_hashes_of_what_it_answers(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results = _written(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines == [
        {
            "index": index,
            "value": result.value,
            "text": result.text,
            "finish_reason": "stop",
            "attempts": [result.text],
            "token_ids": list(result.token_ids),
            "usage": asdict(result.usage),
            "prompt": _hash("ab"[index]),
            "target": _hash(sk.to_json_schema(int)),
        }
        for index, result in enumerate(results)
    ]


class _FullDisk(io.FileIO):
    def write(self, data: object) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")


def test_a_full_disk_is_one_error_with_its_remedy_and_the_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    result, file = _written(path)[1], ResultFile(path)
    file._file.close()
    file._file = io.BufferedRandom(_FullDisk(path, "r+"))

    def write() -> None:
        with file:
            file.write(_request(), result)

    with pytest.raises(
        sk.StructkitError, match=r"no space left on device\n  make room, or give another path"
    ):
        write()
    assert file._file.closed
    assert len(path.read_text().splitlines()) == 2


def test_a_stored_result_is_read_and_the_rest_is_written_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results = _written(path)
    with path.open("ab") as unfinished:
        unfinished.write(b'{"index": 2, "te')
    with ResultFile(path) as file:
        assert [file.has(_request(number=number)) for number in range(4)] == [True, True, False, False]
        for _ in range(2):
            read = file.read(_request())
            assert (read.value, read.text, read.usage) == (22, "22", results[1].usage)
            assert (read.token_ids, read.attempts) == (results[1].token_ids, ("22",))
        file.write(_request(["x", ("y", {"z": 1.5})], number=7), results[0])
        file.write(_request({2, 1}, number=8), results[0])
    lines = path.read_bytes().splitlines(keepends=True)
    assert [json.loads(line)["index"] for line in lines] == [0, 1, 7, 8] and lines[-1].endswith(b"\n")
    assert json.loads(lines[2])["prompt"] == _hash(["x", ["y", {"z": 1.5}]])
    assert json.loads(lines[3])["prompt"] == _hash("{1, 2}")
    with pytest.raises(ValueError, match="closed"):
        file.write(_request(), results[0])


def test_a_value_that_a_limit_changed_is_missing_only_where_limits_raise(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    _written(path)
    shortened = path.read_text().replace('"stop"', '"budget"', 1)
    path.write_text(shortened)
    with ResultFile(path) as file:
        for number, reason in enumerate(["budget", "stop"]):
            assert file.has(_request(number=number))
            assert file.has(_request(number=number, on_limit="raise")) == (reason == "stop")
            assert file.read(_request("ab"[number], number=number)).finish_reason == reason
        assert not file.has(_request(number=2, on_limit="raise"))


def _without(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda line: line.pop(name)


@pytest.mark.parametrize(
    ("change", "target", "message", "remedy"),
    [
        (
            lambda line: line.update(prompt="0"),
            int,
            "the file has the result of another prompt",
            "give another file, or the prompts in the same order",
        ),
        (
            lambda line: line.update(target="0"),
            int,
            "the file has the result of another target than int",
            "give another file",
        ),
        (
            lambda line: line.update(text="22.5"),
            int,
            "the file has a value that int rejects, 22.5: "
            "Input should be a valid integer, got a number with a fractional part",
            "give another file",
        ),
        (_without("text"), int, "the line is not a result: KeyError('text')", "remove it"),
        (_without("token_ids"), int, "the line is not a result: KeyError('token_ids')", "remove it"),
        (
            lambda line: line.update(attempts=None),
            int,
            "the line is not a result: TypeError(\"'NoneType' object is not iterable\")",
            "remove it",
        ),
    ],
)
def test_a_line_that_is_not_the_result_is_refused(
    change: Callable[[dict[str, Any]], object], target: Any, message: str, remedy: str, tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    _written(path)
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    change(second)
    path.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    with ResultFile(path) as file, pytest.raises(sk.StructkitError) as raised:
        file.read(_request(target=target))
    assert str(raised.value).splitlines() == [f"at `{path}, index 1`:", f"  {message}", f"  {remedy}"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no json", "the line is not JSON: Expecting value: line 2 column 1 (char 1)"),
        ("[" * 100_000, "the line is not JSON: maximum recursion depth exceeded"),
        ("[1]", "the line is not an object"),
        ('{"text": "1"}', "the line has no index"),
        ('{"index": "1"}', "the line has no index"),
    ],
)
def test_a_file_of_something_else_is_refused_with_its_line(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    content = f'{{"index": 0}}\n{line}\n{{"index": 1'
    path.write_text(content)
    with pytest.raises(sk.StructkitError, match=re.escape(f"at `{path}, line 2`")) as raised:
        ResultFile(path)
    assert message.partition(": Exp")[0] in str(raised.value) and "give another file" in str(raised.value)
    assert path.read_text() == content


def test_a_folder_is_no_file_of_results(tmp_path: Path) -> None:
    with pytest.raises(sk.StructkitError) as raised:
        ResultFile(tmp_path)
    assert str(raised.value).splitlines() == [
        f"at `{tmp_path}`:",
        f"  the file of results cannot be used: {tmp_path} is not a regular file",
        "  give another path",
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e308", 1e308), ("1e309", "1e309"), ("[-1e400, 2]", ["-1e400", 2]), ('{"a": 0.5}', {"a": 0.5})],
)
def test_a_stored_number_is_finite(text: str, value: object) -> None:
    assert stored_value(text, is_json=True) == value
    assert stored_value(text, is_json=False) == text
