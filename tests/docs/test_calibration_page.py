"""The benchmark of calibration: a set and its table."""

from __future__ import annotations

from benchmarks.calibration import judged_of, table
from benchmarks.outcome_sets import SETS, make_set
from structkit.testing import RandomModel


def test_sets_with_one_right_answer_are_judged() -> None:
    assert all(task.truth is not None for task in make_set("classification", 3, 4))
    texts = judged_of(RandomModel(1), "classification", 3, 90)
    assert len(texts) == len(make_set("classification", 3, 90))
    lines = table("random", texts, 30).splitlines()
    assert lines[0].startswith("| kind | fitted to | held out |")
    everything = lines[-1].split(" | ")
    assert (everything[0], int(everything[1]) + int(everything[2])) == ("| all", sum(map(len, texts)))


def test_sets_with_many_right_answers_are_left_out() -> None:
    calls = next(name for name in SETS if name.startswith("calls"))
    assert judged_of(RandomModel(1), calls, 3, 2) == []
