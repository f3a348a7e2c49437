"""`structkit init` writes a program that runs; `structkit completion` prints a script for the completion of a shell."""

from __future__ import annotations

import argparse
from pathlib import Path

from structkit.cli.parser import reason_of
from structkit.errors import MissingExtra, StructkitError

__all__ = ["init", "print_completion"]

_STARTER = '''\
"""Reads a text into an instance of a class: `python {name} "Ana Souza, 34, works as a nurse in Porto."`

The same on the command line: `structkit extract --type {name}:Person --file notes.txt`
"""

import sys

from pydantic import BaseModel, Field

import structkit as sk


class Person(BaseModel):
    """What is read. The descriptions of the fields are part of the prompt."""

    name: str = Field(description="the full name")
    age: int = Field(ge=0, le=130)
    job: str | None = Field(default=None, description="in the words of the text")


# The demo model needs no download, and knows little. Others: sk.load("Qwen/Qwen3-0.6B"), sk.load("model.gguf"),
# sk.load("openai:gpt-5-mini"), sk.connect("http://localhost:8000/v1").
MODEL = {model}


def main() -> None:
    text = " ".join(sys.argv[1:]) or "Ana Souza, 34, works as a nurse in Porto."
    model = sk.load(MODEL)
    result = sk.generate(model, text, Person)
    print(repr(result.value))
    for path, confidence in result.confidence.items():
        print(f"  {{path}}: {{confidence.probability:.0%}}")


if __name__ == "__main__":
    main()
'''


def init(parsed: argparse.Namespace) -> tuple[str, int]:
    """Write the program; return what to do next, and the exit status.

    Raises:
        StructkitError: The file exists, or cannot be written.
    """
    path = Path(parsed.path)
    program = _STARTER.format(name=path.name, model=repr(parsed.model))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(program)
    except FileExistsError:
        raise StructkitError("the file already exists; give another name", place=str(path)) from None
    except OSError as error:
        raise StructkitError(
            f"the file cannot be written: {reason_of(error)}; give another path", place=str(path)
        ) from error
    return f"{path} is written. Run it:\n  python {path}", 0


def print_completion(parsed: argparse.Namespace, parser: argparse.ArgumentParser) -> tuple[str, int]:
    """Return the script of a shell that completes commands, options and their values.

    Raises:
        MissingExtra: shtab is not installed.
    """
    try:
        import shtab
    except ImportError as error:
        raise MissingExtra("completion", "completion of the command line needs", "shtab") from error
    return str(shtab.complete(parser, shell=parsed.shell)), 0
