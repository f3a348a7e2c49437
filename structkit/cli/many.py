"""`structkit extract --input in.jsonl --output out.jsonl`: a file of prompts to a file of values, line by line."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from structkit.api import load
from structkit.errors import StructkitError
from structkit.generate.generation import run_many
from structkit.generate.result import Result
from structkit.generate.settings import Batch, Options, Settings
from structkit.models.base import LogitsModel
from structkit.targets import AnyTarget, Choice, Regex

__all__ = ["extract_file"]

_CHUNK = 16
"""Batches whose values are written together: what is lost at most when the machine stops."""


def extract_file(arguments: argparse.Namespace, target: AnyTarget, options: Options) -> str:
    """Run the command and return what it prints.

    Every line of the input is a prompt: a JSON string, or an object with a `prompt`, which is a text or messages, and
    perhaps an `id`. Every line of the output belongs to the same line of the input: an object with the `value` or the
    `error`, and the `id`.

    Raises:
        StructkitError: A file cannot be read or written, or there is an output already, or the target is wrong.
    """
    source, sink = Path(arguments.input), Path(arguments.output)
    done = _done(sink) if arguments.resume else 0
    if sink.exists() and not arguments.resume:
        raise StructkitError("there is such a file; pass --resume to go on with it", place=str(sink))
    model, failed, written = load(arguments.model), 0, 0
    settings = Settings.read("extract_many", options)
    try:
        with (
            source.open(encoding="utf-8") as lines,
            sink.open("a", encoding="utf-8", errors="backslashreplace") as output,
        ):
            rest = islice(lines, done, None)
            while chunk := list(islice(rest, _CHUNK * arguments.batch_size)):
                for answer in _answers(model, chunk, target, settings, arguments.batch_size):
                    output.write(json.dumps(answer, ensure_ascii=False) + "\n")
                    failed += "error" in answer
                    written += 1
                output.flush()
    except (OSError, UnicodeDecodeError) as error:
        raise StructkitError(f"the files cannot be read and written: {error}", place=str(source)) from error
    skipped = f", {done} were there" if done else ""
    return f"{written} lines written to {sink}, {failed} of them errors{skipped}"


def _done(sink: Path) -> int:
    """The lines that were written before; one that is not whole is taken back."""
    if not sink.exists():
        return 0
    content = sink.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with sink.open("r+b") as file:
            file.truncate(whole)
    return content.count(b"\n")


def _answers(
    model: LogitsModel, lines: list[str], target: AnyTarget, settings: Settings, size: int
) -> Iterator[dict[str, object]]:
    """The answers to lines, in order."""
    read = [_read(line) for line in lines]
    asked = [number for number, (prompt, _) in enumerate(read) if not isinstance(prompt, Exception)]
    prompts = [read[number][0] for number in asked]
    batch = Batch(size=size, progress=None, keep_errors=True)
    is_json = not isinstance(target, Regex) and not (isinstance(target, Choice) and target.raw)
    results = dict(
        zip(asked, run_many(model, prompts, [target] * len(asked), settings, batch), strict=True)  # type: ignore[arg-type]
    )
    for number, (prompt, name) in enumerate(read):
        result = results.get(number, prompt)
        if isinstance(result, Result):
            answer: dict[str, object] = {"value": json.loads(result.text) if is_json else result.text}
        else:
            answer = {"error": f"{type(result).__name__}: {result}"}
        yield answer if name is None else {"id": name, **answer}


def _read(line: str) -> tuple[object, object]:
    """The prompt of a line, or what is wrong with it, and its id."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        return ValueError(f"the line is no JSON: {error}"), None
    if isinstance(entry, dict):
        return entry.get("prompt", ValueError("the line has no prompt")), entry.get("id")
    return entry, None
