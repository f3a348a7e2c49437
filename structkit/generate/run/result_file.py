"""A file of results, with which a batch that was stopped continues where it was."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import cast

from structkit.errors import StructkitError
from structkit.generate.input.guide_cache import GUIDE_CACHE
from structkit.generate.input.request import Request
from structkit.generate.output.result import FinishReason, Result, Usage
from structkit.rejected import Rejected
from structkit.targets.base import Target

__all__ = ["ResultFile", "stored_value"]


class ResultFile:
    """Results in JSON Lines, in the order of completion; a context manager.

    Each line has the `index` of the prompt, the `value` (JSON data, or a text), the `text` that it was parsed from, the
    `finish_reason`, the `attempts`, the `token_ids` and the `usage`, and hashes of the `prompt` and of the `target`. A
    line is written at once. An incomplete last line, of a process that was killed, is removed. One number for each
    result is in memory.

    Args:
        path: The file; it is created if it does not exist.

    Raises:
        StructkitError: The file cannot be read or written, or a line is not a result.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offsets: dict[int, int] = {}
        self._hashed: tuple[Target[object], str] | None = None
        try:
            if path.exists() and not path.is_file():
                raise OSError(f"{path} is not a regular file")
            self._file = path.open("a+b")
        except OSError as error:
            raise StructkitError(
                f"the file of results cannot be used: {error}; give another path", place=str(path)
            ) from error
        try:
            self._read_offsets()
        except BaseException:
            self._file.close()
            raise

    def has(self, request: Request) -> bool:
        """Return whether the file has the result of a prompt; with `on_limit="raise"` one that no limit changed."""
        offset = self._offsets.get(request.number)
        if offset is None or request.settings.on_limit == "answer":
            return offset is not None
        return self._line(offset).get("finish_reason") != "budget"

    def read(self, request: Request) -> Result[object]:
        """Return the result of a prompt. The validators of its type run again; the details of tokens are not stored.

        Raises:
            StructkitError: The line is the result of another prompt or target.
        """
        line = self._line(self._offsets[request.number])
        target = GUIDE_CACHE.read(request.target, request.settings.compile_settings)
        place = f"{self._path}, index {request.number}"
        if line.get("prompt") != _hash(request.prompt):
            raise StructkitError(
                "the file has the result of another prompt; give another file, or the prompts in the same order",
                place=place,
            )
        if line.get("target") != self._target_hash(target):
            raise StructkitError(
                f"the file has the result of another target than {target.name}; give another file",
                place=place,
            )
        try:
            text = cast("str", line["text"])
            value = target.parse(text, request.settings.context)
            if isinstance(value, Rejected):
                raise StructkitError(
                    f"the file has a value that {target.name} rejects, {text:.200}: {value.message}; give another file",
                    place=place,
                )
            return Result(
                value=value,
                text=text,
                finish_reason=cast("FinishReason", line["finish_reason"]),
                usage=Usage(**cast("dict[str, int]", line["usage"])),
                token_ids=tuple(cast("list[int]", line["token_ids"])),
                attempts=tuple(cast("list[str]", line["attempts"])),
            )
        except (KeyError, TypeError) as error:
            raise StructkitError(f"the line is not a result: {error!r}; remove it", place=place) from error

    def write(self, request: Request, result: Result[object]) -> None:
        """Append a result."""
        target = GUIDE_CACHE.read(request.target, request.settings.compile_settings)
        line = {
            "index": request.number,
            "value": stored_value(result.text, is_json=target.is_json),
            "text": result.text,
            "finish_reason": result.finish_reason,
            "attempts": result.attempts,
            "token_ids": result.token_ids,
            "usage": asdict(result.usage),
            "prompt": _hash(request.prompt),
            "target": self._target_hash(target),
        }
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise StructkitError(
                f"writing a result failed: {error}; make room, or give another path", place=str(self._path)
            ) from error

    def _read_offsets(self) -> None:
        self._file.seek(0)
        end = 0
        for number, line in enumerate(self._file, start=1):
            if not line.endswith(b"\n"):
                break
            index = _parse(line, f"{self._path}, line {number}").get("index")
            if not isinstance(index, int):
                raise StructkitError(
                    "the line has no index; give another file", place=f"{self._path}, line {number}"
                )
            self._offsets[index] = end
            end += len(line)
        self._file.truncate(end)

    def _target_hash(self, target: Target[object]) -> str:
        """Return a hash of the schema of a target. Requests of one target follow each other, so the last is kept."""
        if self._hashed is None or self._hashed[0] is not target:
            self._hashed = (target, _hash(target.json_schema()))
        return self._hashed[1]

    def _line(self, offset: int) -> Mapping[str, object]:
        self._file.seek(offset)
        return _parse(self._file.readline(), str(self._path))

    def __enter__(self) -> ResultFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
        except OSError:  # it writes again what could not be written
            if error is None:
                raise


def _parse(line: bytes, place: str) -> Mapping[str, object]:
    try:
        parsed: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise StructkitError(f"the line is not JSON: {error}; give another file", place=place) from error
    if not isinstance(parsed, dict):
        raise StructkitError("the line is not an object; give another file", place=place)
    return parsed


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, default=_plain).encode()).hexdigest()[:16]


def _plain(value: object) -> object:
    """Return a value that JSON can write; that of anything, for a prompt that is none has no result."""
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Sequence) else str(value)


def stored_value(text: str, *, is_json: bool) -> object:
    """Return the value of a text as JSON can write it: a number beyond 64 bits is its text, for JSON has no infinity.

    >>> stored_value("[0.5, 1e400]", is_json=True), stored_value("0.5", is_json=False)
    ([0.5, '1e400'], '0.5')
    """
    return json.loads(text, parse_float=_number) if is_json else text


def _number(text: str) -> float | str:
    value = float(text)
    return text if math.isinf(value) else value
