"""The parser of arguments: its errors name what was probably meant."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from structkit.error_notes import without_python

__all__ = [
    "Parser",
    "any_int",
    "is_grammar",
    "is_schema",
    "not_negative",
    "port",
    "positive_float",
    "positive_int",
    "reason_of",
    "target_location",
    "type_location",
    "with_options",
]

_MEANT = {
    "structkit help": "--help",
    "structkit serve --model": "the model without an option, as in structkit serve MODEL",
}
"""What is meant by arguments that other commands have."""


class Parser(argparse.ArgumentParser):
    """Names the command, option or value that is closest to one that does not exist."""

    _given: Sequence[str] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        # The start of a name is a slip: `--api-key` would be `--api-key-env`, and the error of it show the key.
        super().__init__(*args, **{**options, "allow_abbrev": False})

    def parse_known_args(  # type: ignore[override]  # the overloads are those of the base class
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse arguments; an unknown one is the error of the command that does not have it."""
        self._given = list(args or ())
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Print the message and a line of usage, and exit."""
        slips = [
            text for text in self._given if text.startswith("--") and self._option(text) not in (None, text)
        ]
        if "required" in message and slips:  # an option with a slip is missing
            message = f"unrecognized arguments: {slips[0]}"
        meant = self._meant(message)
        remedy = "" if meant is None else f"\n  write {meant}"
        places = [f"{each.metavar or each.dest}" for each in self._actions if not each.option_strings]
        usage = " ".join(["usage:", self.prog, "[options]", *places])
        self.exit(2, f"{self.prog}: error: {message}{remedy}\n{usage}; {self.prog} --help says more\n")

    def _meant(self, message: str) -> str | None:
        wrong = re.search(r"invalid choice: '?([^' ]+)'? \(choose from (.*)\)", message)
        if wrong is not None and (found := _MEANT.get(f"{self.prog} {wrong[1]}")):
            return found
        if wrong is not None:
            close = get_close_matches(wrong[1], re.findall(r"[\w.-]+", wrong[2]), 1)
            return close[0] if close else None
        if "--type" in message and "required" in message:  # other commands take the type as their argument
            given = (f"--type {text}" for text in self._given if re.fullmatch(r"[\w./\\-]+:\w+", text))
            return next(given, None)
        unknown = re.search(r"unrecognized arguments: (?:.*?(?<!\S)(--?[A-Za-z][\w-]*)|[^-])", message)
        if unknown is None:
            return None
        option = unknown[1]
        if option is None:
            after = self._given[self._given.index("--choice") + 2 :] if "--choice" in self._given else ()
            is_choice = bool(after) and not after[0].startswith("-")
            return "--choice before each option" if is_choice else "an argument with spaces in quotes"
        if not option.startswith("--"):
            known = dict.fromkeys(each for each in self._options() if each.startswith(f"-{option}"))
            return f"-{option}" if f"-{option}" in known else " or ".join(known) or None
        return _MEANT.get(f"{self.prog} {option}") or self._option(option)

    def _option(self, text: str) -> str | None:
        """Return the option that is closest to a text."""
        close = get_close_matches(text.partition("=")[0], self._options(), 1)
        return close[0] if close else None

    def _options(self) -> list[str]:
        return re.findall(r"--[\w-]+", self.format_help())


def positive_int(text: str) -> int:
    """Read an integer above 0.

    >>> positive_int("x")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: must be an integer of at least 1, not 'x'
    """
    count = int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, not {text!r}")
    return count


def any_int(text: str) -> int:
    """Read an integer."""
    if not re.fullmatch(r"[+-]?\d{1,18}", text):
        raise argparse.ArgumentTypeError(f"must be an integer of at most 18 digits, not {text!r}")
    return int(text)


def port(text: str) -> int:
    """Read the number of a port; 0 is a free one."""
    number = int(text) if re.fullmatch(r"\d{1,5}", text) else -1
    if not 0 <= number <= 65_535:
        raise argparse.ArgumentTypeError(f"must be an integer from 0 to 65535, not {text!r}")
    return number


def positive_float(text: str) -> float:
    """Read a number above 0."""
    number = _number(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text!r}")
    return number


def not_negative(text: str) -> float:
    """Read a number of at least 0."""
    number = _number(text)
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"must be a number of at least 0, not {text!r}")
    return number


def _number(text: str) -> float:
    """Return a number; NaN, which no bound includes, for other text."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def is_schema(location: str) -> bool:
    """Return whether the location of a target is a JSON Schema: a file, or the schema itself."""
    return location.endswith(".json") or location.lstrip().startswith("{")


def is_grammar(location: str) -> bool:
    """Return whether the location of a target is the file of a grammar."""
    return location.endswith((".lark", ".gbnf", ".kbnf"))


def type_location(location: str) -> tuple[str, str]:
    """Read the place and the name of a type."""
    source, _, name = location.rpartition(":")
    if not source or not name:
        raise argparse.ArgumentTypeError(
            f"write path/to/file.py:Name or module:Name, such as builtins:int, not {location!r}"
        )
    return source, name


def target_location(location: str) -> str:
    """Read the location of a target."""
    if not is_schema(location) and not is_grammar(location):
        type_location(location)
    return location


def with_options(message: str, parser: argparse.ArgumentParser) -> str:
    r"""Return a message whose last line, the remedy, has the options of a command in place of arguments of Python.

    >>> parser = Parser()
    >>> _ = parser.add_argument("--max-tokens")
    >>> with_options("3 are allowed\n  pass max_tokens=8 or more, or limits=...", parser)
    '3 are allowed\n  pass --max-tokens 8 or more, or limits=...'
    >>> with_options("too many states\n  simplify it or pass Limits(states=...)", parser)
    'too many states\n  simplify it'
    """
    message = without_python(message)
    names = {action.dest for action in parser._actions if action.option_strings}
    start = message.rfind("\n") + 1

    def option(found: re.Match[str]) -> str:
        return f"--{found[1].replace('_', '-')} {found[3]}" if found[1] in names else found[0]

    return message[:start] + re.sub(r"\b([a-z_]+)=(['\"]?)([\w.-]+)\2", option, message[start:])


def reason_of(error: Exception) -> str:
    """Return why a file cannot be read or written, without its path and the number of the error.

    >>> reason_of(FileNotFoundError(2, "No such file or directory", "a.json"))
    'no such file or directory'
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.object[error.start]:#x} at position {error.start} is not UTF-8"
    return str(error)
