"""A fuzzer with coverage: inputs that reach new lines of the library are kept and changed further."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, Generic, TypeVar

import structkit
from structkit.errors import StructkitError

__all__ = ["Finding", "Report", "Subject", "fuzz", "try_input"]

T = TypeVar("T")

ROOT = str(Path(structkit.__file__).parent)


@dataclass(frozen=True)
class Subject(Generic[T]):
    """A reader of untrusted input.

    Attributes:
        name: Its name.
        seeds: The first inputs.
        mutate: Returns a changed input, given others.
        run: Reads an input, and raises anything but a `StructkitError` if the answer is wrong. Its random choices
            depend only on the given source.
    """

    name: str
    seeds: Sequence[T]
    mutate: Callable[[Random, T, Sequence[T]], T]
    run: Callable[[Random, T], object]


@dataclass(frozen=True)
class Finding:
    """An input that raised what it must not.

    Attributes:
        subject: The name of the reader.
        content: The input.
        error: The traceback.
    """

    subject: str
    content: object
    error: str


@dataclass
class Report(Generic[T]):
    """What a campaign found.

    Attributes:
        runs: Inputs tried.
        refused: Inputs that raised a `StructkitError`.
        lines: Lines of the library that were reached; 0 without coverage.
        corpus: The inputs that are kept.
        findings: What went wrong, once for each line that raised.
    """

    corpus: list[T]
    runs: int = 0
    refused: int = 0
    lines: int = 0
    findings: dict[str, Finding] = field(default_factory=dict)


class TooSlow(BaseException):
    """An input took more than its seconds of CPU."""


def fuzz(
    subject: Subject[T], seed: int, count: int, *, seconds: float = 10, coverage: bool = True
) -> Report[T]:
    """Try the seeds of a subject and random inputs made of them.

    Args:
        subject: The reader.
        seed: The seed of all random choices.
        count: The number of inputs.
        seconds: Seconds of CPU that one input may take.
        coverage: Whether inputs that reach new lines are kept, which is slower.
    """
    chance = Random(f"{seed} {subject.name}")
    report: Report[T] = Report(list(subject.seeds))
    seen: set[tuple[str, int]] = set()
    for number in range(count):
        is_seed = number < len(subject.seeds)
        content = (
            subject.seeds[number]
            if is_seed
            else subject.mutate(chance, chance.choice(report.corpus), report.corpus)
        )
        lines: set[tuple[str, int]] = set()
        outcome = try_input(subject, content, seconds=seconds, lines=lines if coverage else None)
        report.runs += 1
        if isinstance(outcome, Finding):
            report.findings.setdefault(_place(outcome), outcome)
        report.refused += outcome == "refused"
        if lines - seen and not is_seed:
            report.corpus.append(content)
        seen |= lines
    report.lines = len(seen)
    return report


def try_input(
    subject: Subject[T], content: T, *, seconds: float = 10, lines: set[tuple[str, int]] | None = None
) -> Finding | str:
    """Try one input; return `"answered"`, `"refused"` or the finding; add the lines that it reaches to `lines`."""
    # `repr` escapes lone surrogates, which a seed cannot contain.
    chance = Random(ascii(content))
    try:
        with _limited(seconds), _traced(lines):
            subject.run(chance, content)
    except StructkitError:
        return "refused"
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Finding(subject.name, content, "".join(traceback.format_exception(error)[-12:]))
    return "answered"


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"more than {seconds:g} s of CPU")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def _traced(lines: set[tuple[str, int]] | None) -> Iterator[None]:
    if lines is None:
        yield
        return

    def in_frame(frame: FrameType, event: str, argument: Any) -> Any:
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return in_frame

    def at_call(frame: FrameType, event: str, argument: Any) -> Any:
        return in_frame if frame.f_code.co_filename.startswith(ROOT) else None

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        yield
    finally:
        sys.settrace(before)


def _place(finding: Finding) -> str:
    """The last line of the library and the kind of the error, which tell findings apart."""
    lines = finding.error.splitlines()
    places = [line.strip() for line in lines if f'File "{ROOT}' in line] or [
        line for line in lines if "File" in line
    ]
    return f"{finding.subject} {places[-1:]} {lines[-1].split(':')[0]}"
