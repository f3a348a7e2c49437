"""The benchmark of drafts runs."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers", reason="needs transformers")


@pytest.mark.parametrize("count", [1, pytest.param(None, marks=pytest.mark.long)])
def test_it_prints_a_row_for_each_task(
    count: int | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import extraction

    monkeypatch.setattr(extraction, "TASKS", tasks := dict(list(extraction.TASKS.items())[:count]))
    assert extraction.main(["--prompts", "2", "--batches", "1"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [row.split("|")[1].strip() for row in rows[2:]] == list(tasks)
