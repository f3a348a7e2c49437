"""The benchmark of drafts runs."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers", reason="needs transformers")


def test_it_prints_a_row_for_each_task(capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks.extraction import TASKS, main

    assert main(["--prompts", "2", "--batches", "1"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [row.split("|")[1].strip() for row in rows[2:]] == list(TASKS)
