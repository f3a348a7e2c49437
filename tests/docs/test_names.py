"""The names, files and options that the pages, the docstrings and the errors name exist."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from structkit.cli.commands import command_parser
from tests.docs.blocks import PAGES
from tests.shared import ROOT

SOURCES = [
    *(
        path
        for folder in ("structkit", "examples", "scripts")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ),
    *(path for path in sorted((ROOT / "scripts").iterdir()) if path.is_file() and not path.suffix),
]
TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *SOURCES]

ATTRIBUTES_OF_SPANS = re.compile(
    r"structkit\.(attempts|calls|corrections|discarded_tokens|forced_tokens|reply|steps)\b"
)
MADE = ("docs/llms.txt", "structkit/automaton/core/compiled", "tests/file.py")
"""Files that a script makes, and the example of a name."""


def lines_of(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each line."""
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            yield f"{path.relative_to(ROOT).as_posix()}:{number}", line


@cache
def exists(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute or an annotated field of one."""
    modules = name.split(".")
    names: list[str] = []
    while True:
        try:
            value: object = importlib.import_module(".".join(modules))
            break
        except ImportError:
            names.insert(0, modules.pop())
    for each in names:
        classes = value.__mro__ if isinstance(value, type) else ()
        if any(each in getattr(owner, "__annotations__", {}) for owner in classes):
            return True
        if not hasattr(value, each):
            return False
        value = getattr(value, each)
    return True


def test_names_and_files_exist() -> None:
    missing = []
    for place, line in lines_of(TEXTS):
        if re.match(r"\s*(from|import) ", line):
            continue
        for found in re.finditer(r"(?<![\w./-])(?:sk|structkit)((?:\.[A-Za-z_]\w*)+)(?![\w/])", line):
            name = f"structkit{found[1]}"
            if (
                not ATTRIBUTES_OF_SPANS.match(name)
                and not name.endswith((".json", ".jsonl"))
                and not exists(name)
            ):
                missing.append(f"{place} {name}")
        for found in re.finditer(
            r"(?<![\w./-])(?:structkit|tests|scripts|examples|benchmarks|docs)/[\w./-]+", line
        ):
            file = found[0].rstrip("./-")
            if file not in MADE and not (ROOT / file).exists():
                missing.append(f"{place} {file}")
    assert not missing


def test_pages_say_where_the_programs_that_they_import_are() -> None:
    """A wheel does not have them."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for package, module in re.findall(r"^from (examples[.\w]*)\.(\w+) import", text, flags=re.M):
            file = f"`{package.replace('.', '/')}/{module}.py` of the"
            assert file in text.replace("\n", " "), f"{page}: {file} repository"


def test_pages_say_how_their_packages_are_installed() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for package in ("fastapi", "pydantic_evals"):
            if f"\nfrom {package}" in text:
                assert f"pip install {package.replace('_', '-')}" in text, f"{page}: {package}"


def options_of(words: list[str]) -> str | None:
    """Return a text that contains the options of a command; `None` for a command of another project."""
    words = [word for word in words if "=" not in word]
    if words[:1] == ["structkit"]:
        action = next(each for each in command_parser()._actions if each.dest == "command")
        assert isinstance(action.choices, dict)
        command = action.choices.get(words[1]) if len(words) > 1 else None
        return (command or command_parser()).format_help()
    if words[:2] == ["python", "-m"] and words[2].startswith("benchmarks."):
        file = ROOT / f"{words[2].replace('.', '/')}.py"
    elif words[:1] == ["python"] and words[1].startswith("scripts/"):
        file = ROOT / words[1]
    else:
        return None
    return "".join(
        each.read_text(encoding="utf-8")
        for each in {file, *(ROOT / "benchmarks").rglob("*.py")}
        if each.is_file()
    )


def test_options_of_commands_exist() -> None:
    missing = []
    for place, line in lines_of(PAGES):
        for command in re.findall(r"(?:^|[$|`] ?)((?:structkit|python) [^`|]*--[a-z][^`|]*)", line):
            try:
                words = shlex.split(command, comments=True)
            except ValueError:  # a command that goes on in the next line
                words = command.split()
            known = options_of(words)
            for option in re.findall(r"--[a-z][a-z-]*", " ".join(words)):
                if known is not None and not re.search(rf"{option}(?![\w-])", known):
                    missing.append(f"{place} {option}")
    assert not missing
