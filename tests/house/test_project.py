"""The changelog, requirements, scripts and links are consistent with the code and with each other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
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
    requirements = [
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
    for requirement in map(Requirement, requirements):
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier


def test_scripts_are_short_sh_scripts(root: Path) -> None:
    scripts = [path for path in (root / "scripts").iterdir() if path.is_file() and not path.suffix]
    expected = {"build", "check", "demo", "docs", "install", "lint", "publish", "test"}
    assert expected <= {path.name for path in scripts}
    for script in scripts:
        lines = script.read_text(encoding="utf-8").splitlines()
        assert lines[0] == "#!/bin/sh"
        assert len(lines) <= 20


RELEASE = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0]\n\n- Old.\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize(
    ("changelog", "tags", "fault"),
    [
        (RELEASE, [], ""),
        (RELEASE, ["v1.1.0"], ""),
        (RELEASE, ["v1.2.0"], "the tag v1.2.0 exists"),
        (RELEASE.replace("1.2.0", "1.1.0"), [], "newest version is 1.1.0"),
        (RELEASE.replace("## [1.2.0]", "- New.\n\n## [1.2.0]"), [], "lines under Unreleased"),
    ],
)
def test_publish_builds_only_releases(
    root: Path, tmp_path: Path, changelog: str, tags: list[str], fault: str
) -> None:
    for name in ("structkit", "scripts"):
        (tmp_path / name).mkdir()
    (tmp_path / "structkit/__init__.py").write_text('__version__ = "1.2.0"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    (tmp_path / "scripts/build").write_text("echo building\n", encoding="utf-8")
    shutil.copy(root / "scripts/publish", tmp_path / "scripts/publish")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("GIT", "GITHUB"))
    }
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["commit", "-q", "-m", "a"],
        *(["tag", tag] for tag in tags),
    ):
        subprocess.run([*git, *command], cwd=tmp_path, env=environment, check=True)
    publish = ["sh", "scripts/publish"]
    run = subprocess.run(publish, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert fault in run.stderr
    assert (run.returncode == 0, "building" in run.stdout) == (not fault, not fault)
    (tmp_path / "new").touch()
    dirty = subprocess.run(publish, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "not clean" in dirty.stderr


@pytest.mark.parametrize(
    "page", ["README.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
)
def test_links_into_the_repository_exist(root: Path, page: str) -> None:
    text = (root / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", text)
    assert not [link for link in links if not (root / link).exists()]
