"""The files around the code agree with it and with each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import structkit as sk

tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no tomllib")


def test_the_changelog_begins_with_this_version(root: Path) -> None:
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.+?)\]", text, flags=re.M)[:2] == ["Unreleased", sk.__version__]


def test_every_requirement_is_pinned_within_its_range(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    asked = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["transformers"],
        *(line for name in ("test", "dev", "docs") for line in groups[name] if isinstance(line, str)),
    ]
    pins = [
        Requirement(line)
        for line in (root / "constraints.txt").read_text().splitlines()
        if line[:1].isalnum()
    ]
    pinned = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in pins}
    for requirement in map(Requirement, asked):
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier


def test_scripts_are_a_few_lines_of_sh(root: Path) -> None:
    scripts = [path for path in (root / "scripts").iterdir() if path.is_file() and not path.suffix]
    assert {"build", "check", "demo", "docs", "install", "lint", "test"} <= {path.name for path in scripts}
    for script in scripts:
        lines = script.read_text(encoding="utf-8").splitlines()
        assert lines[0] == "#!/bin/sh"
        assert len(lines) <= 20


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_into_the_repository_lead_somewhere(root: Path, page: str) -> None:
    text = (root / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", text)
    assert not [link for link in links if not (root / link).exists()]
