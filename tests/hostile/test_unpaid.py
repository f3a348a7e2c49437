"""No loop of the engine runs for long without a payment into a counter of `Limits`, also one that is added later."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import structkit
from structkit.errors import StructkitError
from structkit.testing import small_vocabulary
from tests.hostile.case import Case
from tests.hostile.cases import BEYOND, CASES

probe = pytest.importorskip("tests.hostile.probe", exc_type=ImportError)

ROOT = str(Path(structkit.__file__).parent)

MAX_LINES = 8_000_000
"""Lines of Python between two payments, less than half a second. What is linear in the size of a target does not pay, nor
do searches with a counter of their own, such as that of a distinct text."""

PAYING = frozenset({"_charge", "_pay", "charge", "pay", "advance", "fill_mask"})
"""The names of the functions that pay, and of those that begin a question with a counter of its own."""

_LONG = {"sizes: unknown keywords, 100,000", "combinations: a row of 100 colours"}
_SAMPLE = [
    case
    for number, case in enumerate(CASES)
    if f"{case.kind}: {case.name}" in _LONG
    or (number % 40 == 3 and f"{case.kind}: {case.name}" not in BEYOND)
]


class Lines:
    """Counts the lines of structkit that run between two payments.

    Attributes:
        most: The lines of the longest time without one, by function.
    """

    def __init__(self) -> None:
        self._most: Counter[int] = Counter()
        self._now: Counter[int] = Counter()
        self._codes: dict[
            int, CodeType
        ] = {}  # by identity: the hash of code is computed from its bytes each time

    @property
    def most(self) -> Counter[CodeType]:
        return Counter({self._codes[key]: count for key, count in self._most.items()})

    def trace(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(ROOT):
            return None
        if code.co_name in PAYING:
            self.pay()
            return None
        self._codes[id(code)] = code
        return self._line

    def pay(self) -> None:
        if self._now.total() > self._most.total():
            self._most = self._now
        self._now = Counter()

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            self._now[id(frame.f_code)] += 1
        return self._line


@pytest.mark.long(every=12)
@pytest.mark.parametrize(
    "case", _SAMPLE, ids=lambda case: f"{case.kind}: {case.name}".encode("ascii", "replace").decode()
)
def test_few_lines_run_without_a_payment(case: Case) -> None:
    before = sys.gettrace()
    for stage, act in probe.Walk(case, small_vocabulary()).stages().items():
        lines = Lines()
        sys.settrace(lines.trace)
        try:
            act()
        except StructkitError:
            break
        finally:
            sys.settrace(before)
            lines.pay()
            spent = [
                f"{code.co_filename[len(ROOT) :]}: {code.co_name}: {count:,}"
                for code, count in lines.most.most_common(3)
            ]
            assert lines.most.total() < MAX_LINES, (stage, spent)
