"""The benchmark of servers reads the replies of a server while a model of it reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.servers import ARMS, TARGETS, main
from tests.models.servers.fake import error, serve


def test_every_arm_has_a_value_of_each_target(tmp_path: Path) -> None:
    with serve("I do not know.", kind="llama.cpp") as server:
        url = f"llama.cpp={server.url}"
        assert (
            main(["--url", url, "--prompts", "1", "--corrections", "2", "--json", str(tmp_path / "runs")])
            == 0
        )
    runs = [json.loads(line) for line in (tmp_path / "runs").read_text().splitlines()]
    assert [(run["arm"], run["target"]) for run in runs] == [(arm, name) for arm in ARMS for name in TARGETS]
    assert all(run["outcome"] == "value" and len(run["replies"]) == run["calls"] for run in runs)


def test_a_failure_is_one_of_the_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    with serve(error(401, "no")) as server:
        assert main(["--url", f"fake={server.url}", "--prompts", "1"]) == 1
    assert "ModelError" in capsys.readouterr().err
