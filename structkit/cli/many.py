"""`structkit extract --input in.jsonl --output out.jsonl`: from a file of prompts to a file of values, line by line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import cast

from structkit.api.single import load
from structkit.cli.parser import reason_of, with_options
from structkit.error_notes import type_and_message
from structkit.errors import StructkitError
from structkit.generate.input.options import Options
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.settings import BatchSettings, Settings
from structkit.generate.output.result import Result
from structkit.generate.run.batch import run_as_completed
from structkit.generate.run.result_file import stored_value
from structkit.models.protocols import LogitsModel
from structkit.targets.targets import AnyTarget, read_target

__all__ = ["extract_file"]


def extract_file(arguments: argparse.Namespace, target: AnyTarget, options: Options) -> tuple[str, int]:
    """Run the command; return its output, and the exit status: 1 if an answer is an error.

    Every line of the input is a prompt: a JSON string, or an object with a `prompt` (a string or messages) and an
    optional `id`. The same line of the output is an object with the `value` or the `error`, and the `id`. A value that
    a limit changed has the `finish_reason` `"budget"`, and `repaired` has the paths of values that validators refused.

    Raises:
        StructkitError: A file cannot be read or written, the output already exists, or the target is invalid.
    """
    source = Path(arguments.input)
    sink = None if arguments.output in (None, "-") else Path(arguments.output)
    if sink is not None and sink.resolve() == source.resolve():
        raise StructkitError("the input and the output are one file; give another --output", place=str(sink))
    if sink is not None and sink.exists() and not arguments.resume:
        raise StructkitError("the file already exists; pass --resume to continue it", place=str(sink))
    model, failed, written = load(arguments.model), 0, 0
    settings = Settings.read("extract_many", options)
    try:
        with _input(source) as lines, _OutputStream() if sink is None else _OutputFile(sink) as output:
            existing = output.existing
            length = None if arguments.input == "-" else max(0, _count_lines(source) - existing)
            batch = BatchSettings(size=arguments.batch_size or 8, progress=None, return_exceptions=True)
            rest = ((number, line) for number, line in enumerate(lines) if not output.has(number))
            with closing(_answers(model, rest, target, settings, batch, length)) as answers:
                for number, answer in answers:
                    if "error" in answer:
                        answer["error"] = with_options(str(answer["error"]), arguments.parser)
                    output.put(number, answer)
                    failed += "error" in answer
                    written += 1
    except (OSError, UnicodeDecodeError) as error:
        is_text = isinstance(error, UnicodeDecodeError)
        remedy = "save it as UTF-8" if is_text else "give a file of JSON lines, and one to write"
        raise StructkitError(
            f"reading or writing the files failed: {reason_of(error)}; {remedy}",
            place=str(getattr(error, "filename", None) or source),
        ) from error
    if sink is None:
        return "", int(failed > 0)
    skipped = f", {existing} already existed" if existing else ""
    return f"{written} lines written to {sink}, {failed} of them errors{skipped}", int(failed > 0)


@contextmanager
def _input(source: Path) -> Iterator[Iterable[str]]:
    if str(source) == "-":
        yield sys.stdin
        return
    with source.open(encoding="utf-8-sig") as lines:  # editors of Windows write a byte order mark
        yield lines


def _count_lines(source: Path) -> int:
    with source.open("rb") as lines:
        return sum(1 for _ in lines)


class _OutputStream:
    """Standard output: answers are written in the order of the lines, as early as possible."""

    existing = 0

    def __init__(self) -> None:
        self._pending: dict[int, str] = {}
        self._next = 0

    def has(self, number: int) -> bool:
        """Return whether the answer to a line exists: never."""
        return False

    def put(self, number: int, answer: dict[str, object]) -> None:
        """Add the answer to a line."""
        self._pending[number] = json.dumps(answer)  # ASCII, which every encoding of a terminal has
        while (text := self._pending.pop(self._next, None)) is not None:
            sys.stdout.write(text + "\n")
            self._next += 1
        sys.stdout.flush()

    def __enter__(self) -> _OutputStream:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave standard output open."""


class _OutputFile:
    """The output file. Answers are added in any order, and written in the order of the lines, as early as possible.

    An answer whose predecessors are missing is stored in a file beside the output, so that no answer is lost if the
    process is killed. Existing files are continued.

    Attributes:
        existing: Number of answers that already existed.
    """

    def __init__(self, path: Path) -> None:
        self._pending: dict[int, str] = {}
        self._pending_path = path.with_name(path.name + ".pending")
        self._next = _count_complete_lines(path)
        if not path.exists():
            self._pending_path.unlink(missing_ok=True)
        elif _count_complete_lines(self._pending_path):
            self._recover()
        self.existing = self._next + len(self._pending)
        self._file = path.open("a", encoding="utf-8", errors="backslashreplace")
        self._pending_file = self._pending_path.open("a", encoding="utf-8", errors="backslashreplace")
        self._write()

    def has(self, number: int) -> bool:
        """Return whether the answer to a line exists."""
        return number < self._next or number in self._pending

    def put(self, number: int, answer: dict[str, object]) -> None:
        """Add the answer to a line."""
        text = self._pending[number] = json.dumps(answer, ensure_ascii=False)
        if number == self._next:
            self._write()
        else:
            self._pending_file.write(f"{number} {text}\n")
            self._pending_file.flush()

    def _recover(self) -> None:
        """Read the stored answers; an invalid line is dropped, so that its prompt is computed again."""
        with self._pending_path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                number, _, text = line.rstrip("\n").partition(" ")
                with suppress(ValueError, RecursionError):
                    json.loads(text)
                    self._pending[int(number)] = text
        self._pending = {number: text for number, text in self._pending.items() if number >= self._next}

    def _write(self) -> None:
        while (text := self._pending.pop(self._next, None)) is not None:
            self._file.write(text + "\n")
            self._next += 1
        self._file.flush()
        if not self._pending:
            self._pending_file.truncate(0)

    def __enter__(self) -> _OutputFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._pending_file.close()
        if not self._pending:
            self._pending_path.unlink()


def _count_complete_lines(sink: Path) -> int:
    """Count the complete lines of a file, if it exists; truncate an incomplete last line."""
    if not sink.exists():
        return 0
    content = sink.read_bytes()
    end = content.rfind(b"\n") + 1
    if end < len(content):
        with sink.open("r+b") as file:
            file.truncate(end)
    return content.count(b"\n")


def _answers(
    model: LogitsModel,
    lines: Iterable[tuple[int, str]],
    target: AnyTarget,
    settings: Settings,
    batch: BatchSettings,
    length: int | None,
) -> Generator[tuple[int, dict[str, object]], None, None]:
    """Yield line numbers and answers, in the order of completion."""
    ids: dict[int, object] = {}
    unreadable: list[tuple[int, Exception]] = []

    def prompts() -> Iterator[tuple[int, Prompt]]:
        for number, line in lines:
            prompt, ids[number] = _read(line)
            if isinstance(prompt, Exception):
                unreadable.append((number, prompt))
            else:
                yield number, cast("Prompt", prompt)

    is_json = read_target(target).is_json
    for number, result in run_as_completed(model, prompts(), target, settings, batch, length=length):
        while unreadable:
            bad, error = unreadable.pop()
            yield bad, _answer(error, ids.pop(bad), is_json=False)
        yield number, _answer(result, ids.pop(number), is_json=is_json)
    for bad, error in unreadable:
        yield bad, _answer(error, ids.pop(bad), is_json=False)


def _answer(result: Result[object] | Exception, line_id: object, *, is_json: bool) -> dict[str, object]:
    if isinstance(result, Result):
        answer: dict[str, object] = {"value": stored_value(result.text, is_json=is_json)}
        if result.finish_reason == "budget":
            answer["finish_reason"] = "budget"
        if result.repaired:
            answer["repaired"] = [each.path for each in result.repaired]
    else:
        answer = {"error": type_and_message(result)}
    return answer if line_id is None else {"id": line_id, **answer}


def _read(line: str) -> tuple[object, object]:
    """Return the prompt of a line, or an error, and its id."""
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        fault = f"not JSON: {error.msg}, at character {error.pos + 1}" if line.strip() else "empty"
        return ValueError(f"the line is {fault}"), None
    except (ValueError, RecursionError) as error:  # an integer has too many digits, or a value is too deep
        return ValueError(f"the line is not JSON: {error}"), None
    if isinstance(entry, dict):
        return entry.get("prompt", ValueError("the line has no 'prompt'")), entry.get("id")
    return entry, None
