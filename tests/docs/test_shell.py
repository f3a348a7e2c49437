"""The shell commands in the README and the docs print the documented output."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from structkit.cli import main
from tests.docs.blocks import PAGES, ROOT, find_blocks, needs_demo


def blocks(page: Path, language: str) -> list[str]:
    return [block.source for block in find_blocks(page, language)]


def structkit_commands(page: Path) -> list[tuple[list[str], str]]:
    """Return the `$ structkit ...` commands in the console blocks of a page, and their documented output."""
    commands = []
    for block in blocks(page, "console"):
        for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.M):
            words = shlex.split(command, comments=True)
            if words[0] == "structkit":
                commands.append((words[1:], printed))
    return commands


COMMANDS = [
    (page.relative_to(ROOT).as_posix(), arguments, printed)
    for page in PAGES
    for arguments, printed in structkit_commands(page)
]


def test_the_readme_begins_with_two_commands() -> None:
    demo, test = "".join(blocks(ROOT / "README.md", "sh")).splitlines()
    assert shlex.split(demo)[:2] == ["sh", "scripts/demo"]
    assert test == "sh scripts/test"


def test_the_demo_prints_the_documented_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_demo()
    monkeypatch.chdir(ROOT)
    sentence = shlex.split(blocks(ROOT / "README.md", "sh")[0])[2]
    printed = blocks(ROOT / "README.md", "text")[0]
    assert main(["extract", sentence, "--type", "examples/person.py:Person"]) == 0
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(("page", "arguments", "printed"), COMMANDS)
def test_commands_print_the_documented_output(
    page: str,
    arguments: list[str],
    printed: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "--model" in arguments:
        pytest.skip("the command downloads a model")
    needs_demo()
    monkeypatch.chdir(ROOT)
    main(arguments)
    output = capsys.readouterr()
    assert output.out + output.err == printed, page


def test_the_reference_lists_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("extract", "check", "explain", "sample", "doctor", "init", "serve"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
    actual = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(--[a-z-]+)", page, flags=re.M)) == actual - {"--help"}
