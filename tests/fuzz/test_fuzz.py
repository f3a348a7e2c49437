"""A part of the fuzzing; `python -m tests.fuzz` runs more of it, with coverage."""

from __future__ import annotations

import sys
from random import Random
from typing import Any

import pytest

if sys.platform == "win32":
    pytest.skip("the fuzzer needs `setitimer`", allow_module_level=True)
pytest.importorskip("jsonschema", reason="jsonschema is not installed")

import structkit as sk
from tests.fuzz.engine import Finding, Subject, fuzz, try_input
from tests.fuzz.mutate import mutate_text
from tests.fuzz.subjects import SUBJECTS
from tests.shared import cases


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_inputs_are_answered_rightly_or_refused(subject: Subject[Any]) -> None:
    if subject.name == "tokenizers":
        pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    report = fuzz(subject, 33, cases(20, of=2_000), seconds=60, coverage=False)
    assert not report.findings, next(iter(report.findings.values())).error
    assert report.runs - report.refused > 0, "some are answered"


def _read(chance: Random, text: str) -> None:
    if "(" not in text:
        raise sk.StructkitError("no bracket")
    if "[" in text:
        raise RuntimeError(text)
    while ")" in text:
        pass


def test_findings_and_inputs_that_take_too_long_are_reported() -> None:
    subject: Subject[str] = Subject("test", ["("], mutate_text, _read)
    assert try_input(subject, "(") == "answered" and try_input(subject, "x") == "refused"
    found = try_input(subject, "([")
    assert isinstance(found, Finding) and "RuntimeError: ([" in found.error
    endless = try_input(subject, "()", seconds=0.1)
    assert isinstance(endless, Finding) and "TooSlow: more than 0.1 s" in endless.error


def _read_a_schema(chance: Random, content: object) -> None:
    sk.compile({"type": content}, sk.testing.byte_vocabulary(), cache=False)


def test_inputs_that_reach_new_lines_are_kept() -> None:
    kinds = iter(["integer", "integer", "array", "array", "nothing"])
    subject: Subject[object] = Subject("test", ["null"], lambda *_: next(kinds), _read_a_schema)
    report = fuzz(subject, 1, 6)
    assert set(report.corpus) == {"null", "integer", "array", "nothing"} and report.corpus[0] == "null"
    assert (report.runs, report.refused, report.findings) == (6, 1, {}) and report.lines > 100
