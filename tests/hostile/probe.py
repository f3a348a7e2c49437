"""One hostile target, tried in a process of its own: seconds of CPU, peak of memory, and how it ended."""

from __future__ import annotations

import json
import os
import random
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import structkit as sk
from structkit.errors import StructkitError
from structkit.targets.targets import AnyTarget
from structkit.vocabulary.vocabulary import Vocabulary
from tests.hostile.case import Case

__all__ = ["MAX_MEGABYTES", "MAX_SECONDS", "Outcome", "Walk", "try_case", "try_here"]

MAX_SECONDS = 1.0
MAX_MEGABYTES = 500

_STEPS = 40
"""Masks without a budget, and as many with one."""

_SPARE = 60
"""Tokens of the budget beyond the fewest."""

_MEGABYTE = 2**20

_Stage = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a case ended.

    Attributes:
        ending: `answered`, `refused`, or what went wrong: the name of an exception, `invalid`, `unfinished`, `killed`.
        stage: The last stage: `make`, `compile`, `masks`, `end`, `budget`.
        seconds: Seconds of CPU by stage.
        megabytes: The peak of memory beyond that of the process before.
        message: The message of a refusal or of an error.
        has_place: Whether a refusal names a place.
        is_read: Whether the making of the target counts; see `Case`.
    """

    ending: str
    stage: str
    seconds: dict[str, float]
    megabytes: float
    message: str = ""
    has_place: bool = True
    is_read: bool = False

    @property
    def total(self) -> float:
        """The seconds of all stages; the making of a target counts if it reads it."""
        return sum(seconds for stage, seconds in self.seconds.items() if self.is_read or stage != "make")

    @property
    def is_good(self) -> bool:
        """Whether the target was answered or refused in time and memory."""
        ends = self.ending == "answered" or (self.ending == "refused" and self.has_place)
        return ends and self.total <= MAX_SECONDS and self.megabytes <= MAX_MEGABYTES


def try_case(case: Case, vocabulary: Vocabulary, patience: float) -> Outcome:
    """Try a case in a fork of this process, which has imported everything and read the vocabulary.

    Args:
        case: The case.
        vocabulary: The tokens.
        patience: Seconds of CPU after which the process is killed.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            _try_in_child(case, vocabulary, patience, writing)
        finally:
            os._exit(0)
    os.close(writing)
    lines = _lines(reading, 5 * patience)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    last = json.loads(lines[-1]) if lines else {}
    if "ending" in last:
        return Outcome(**last)
    seconds = {**last.get("seconds", {}), last.get("stage", "make"): patience}
    return Outcome(
        "killed", last.get("stage", "make"), seconds, last.get("megabytes", 0.0), is_read=case.is_read
    )


def try_here(case: Case, vocabulary: Vocabulary) -> None:
    """Do with a case all that is measured, in this process."""
    for act in Walk(case, vocabulary).stages().values():
        act()


def _lines(reading: int, patience: float) -> list[str]:
    """Read what the process writes until it ends, at most for `patience` seconds."""
    text, end = b"", time.monotonic() + patience
    while (left := end - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            more = os.read(reading, 1 << 16)
            if not more:
                break
            text += more
    return text.decode().splitlines()


def _try_in_child(case: Case, vocabulary: Vocabulary, patience: float, writing: int) -> None:
    seconds = int(time.process_time() + patience) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 3 * 2**30, size + 3 * 2**30))
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory counts from here
    before = _peak()
    spent: dict[str, float] = {}
    walk = Walk(case, vocabulary)
    ending, message, has_place, stage = "answered", "", True, "make"
    for stage, act in walk.stages().items():
        note = {"stage": stage, "seconds": spent, "megabytes": (_peak() - before) / _MEGABYTE}
        os.write(writing, json.dumps(note).encode() + b"\n")
        start = time.process_time()
        try:
            act()
        except StructkitError as error:
            ending, message = "refused", str(error)
            # Elsewhere the target is one text, or the error has the line.
            has_place = bool(error.place) or not isinstance(walk.target, Mapping)
        except BaseException as error:
            ending = type(error).__name__
            message = "".join(traceback.format_exception(error)[-6:])
        spent[stage] = time.process_time() - start
        if ending != "answered":
            break
    megabytes = (_peak() - before) / _MEGABYTE
    outcome = Outcome(ending, stage, spent, megabytes, message[-3000:], has_place, case.is_read)
    os.write(writing, json.dumps(asdict(outcome)).encode() + b"\n")


def _peak() -> int:
    """The peak of memory in bytes, since it was reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


class Walk:
    """What is done with a target.

    Attributes:
        target: The target, once it is made.
    """

    def __init__(self, case: Case, vocabulary: Vocabulary) -> None:
        self._case = case
        self._vocabulary = vocabulary
        self.target: AnyTarget = None

    def stages(self) -> dict[str, _Stage]:
        """Return what is done in each stage, in order."""
        return {
            "make": self._make,
            "compile": self._compile,
            "masks": self._masks,
            "end": self._end,
            "budget": self._budget,
        }

    def _make(self) -> None:
        self.target = self._case.make()

    def _compile(self) -> None:
        self._guide = sk.compile(self.target, self._vocabulary, cache=False, order=self._case.order)

    def _masks(self) -> None:
        self._cursor = self._guide.cursor()
        _steps(self._cursor, self._vocabulary, None)

    def _end(self) -> None:
        self._cursor.min_tokens_to_end()

    def _budget(self) -> None:
        cursor = self._guide.cursor()
        _steps(cursor, self._vocabulary, cursor.min_tokens_to_end() + _SPARE)


def _steps(cursor: sk.Cursor, vocabulary: Vocabulary, budget: int | None) -> None:
    """Take random allowed tokens."""
    chance = random.Random(1)
    mask: NDArray[np.uint32] = np.zeros(vocabulary.mask_words, np.uint32)
    for step in range(_STEPS):
        cursor.fill_mask(mask, None if budget is None else budget - step)
        for token in vocabulary.eos_token_ids:
            mask[token >> 5] &= ~np.uint32(1 << (token & 31))
        tokens = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        if not len(tokens):
            if not cursor.is_accepting:
                raise RuntimeError("no token is allowed, and the value is not complete")
            return
        cursor.advance(int(tokens[chance.randrange(len(tokens))]))


if sys.platform == "win32":
    raise ImportError("the campaign needs `os.fork`")
