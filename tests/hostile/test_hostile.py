"""A part of the campaign with a small vocabulary; `python -m tests.hostile` runs the whole one."""

from __future__ import annotations

import json
from random import Random

import jsonschema
import pytest

import structkit as sk
from structkit.testing import small_vocabulary
from tests.fuzz.walk import walk
from tests.hostile import keywords
from tests.hostile.case import Case
from tests.hostile.cases import BEYOND, CASES
from tests.shared import ALL

probe = pytest.importorskip("tests.hostile.probe", exc_type=ImportError)

VOCABULARY = small_vocabulary()

_SAMPLE = [case for case in CASES if f"{case.kind}: {case.name}" not in BEYOND][:: 5 if ALL else 50]


@pytest.mark.long(every=3)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    "case", _SAMPLE, ids=lambda case: f"{case.kind}: {case.name}".encode("ascii", "replace").decode()
)
def test_a_target_is_answered_or_refused(case: Case) -> None:
    outcome = probe.try_case(case, VOCABULARY, 20)
    assert outcome.ending in ("answered", "refused"), outcome.message
    assert outcome.has_place, outcome.message
    assert outcome.total < 10  # 1 s; the machine may be slow
    assert outcome.megabytes < probe.MAX_MEGABYTES


@pytest.mark.long(every=3)
@pytest.mark.parametrize("case", keywords.CASES[:: 1 if ALL else 3], ids=lambda case: case.name)
def test_values_of_keywords_that_meet_are_valid(case: Case) -> None:
    target = case.make()
    validator = jsonschema.Draft202012Validator(target)
    try:
        guide = sk.compile(target, VOCABULARY, cache=False)
    except sk.StructkitError:
        return  # the test above tells how
    for seed in range(5):
        validator.validate(json.loads(walk(guide, Random(seed), spare=40)))


def test_names_are_unique() -> None:
    names = [f"{case.kind}: {case.name}" for case in CASES]
    assert len(set(names)) == len(names) and set(names) >= BEYOND


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_target_without_end_is_killed() -> None:
    def make() -> None:
        while True:
            pass

    outcome = probe.try_case(Case("test", "endless", make), VOCABULARY, 0.5)
    assert outcome.ending == "killed" and outcome.stage == "make"
