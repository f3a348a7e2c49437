"""A file with a target, and a scripted model."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from structkit.testing import ScriptedModel
from tests.cli.targets import ANA, SOURCE


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helper_of_the_cli_tests.py").write_text("Age = int\n")
    path = tmp_path / "person.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    model = ScriptedModel([ANA])
    monkeypatch.setattr("structkit.cli.extract.load", lambda name: model)
    return model
