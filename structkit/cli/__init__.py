"""The command line: `structkit extract "Ana is 34." --type examples/person.py:Person`, `structkit check` and others."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import structkit
from structkit.cli.commands import command_parser
from structkit.cli.parser import reason_of, with_options
from structkit.cli.start import init, print_completion

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: The arguments after the command's name; by default those of the process.

    Returns:
        The exit status: 0; or 1 after an error, with one message on standard error, if an answer in a file is an error,
        or if `check` or `explain` report a problem; or 130 if it is interrupted.

    Raises:
        SystemExit: With 2 after invalid arguments; with 0 after `--help` and `--version`.
    """
    parser = command_parser()
    parsed = parser.parse_args(arguments)
    commands: dict[str, Callable[[argparse.Namespace], tuple[str, int]]] = {
        "extract": _extract,
        "doctor": _doctor,
        "init": init,
        "serve": _serve,
        "completion": partial(print_completion, parser=parser),
    }
    try:
        with warnings.catch_warnings():
            warnings.showwarning = partial(_show_warning, warnings.showwarning)
            output, status = commands.get(parsed.command, _run_target_command)(parsed)
    except structkit.StructkitError as error:
        return _fail(with_options(str(error), parsed.parser))
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    fault = _write(output) if output else None
    return status if fault is None else _fail(fault)


def _extract(parsed: argparse.Namespace) -> tuple[str, int]:
    # Imported here because it is slow and --version does not need it.
    from structkit.cli.extract import extract, read_options, read_prompt

    try:
        options = read_options(parsed)
        prompt = "" if parsed.input else read_prompt(parsed.prompt, parsed.file)
    except ValueError as error:
        parsed.parser.error(str(error))
    return extract(parsed, prompt, options)


def _doctor(parsed: argparse.Namespace) -> tuple[str, int]:
    from structkit.cli.doctor import doctor

    return doctor(parsed)


def _serve(parsed: argparse.Namespace) -> tuple[str, int]:
    from structkit.cli.serve import serve

    return serve(parsed)


def _run_target_command(parsed: argparse.Namespace) -> tuple[str, int]:
    from structkit.cli.prove import COMMANDS, target_from_arguments

    try:
        target = target_from_arguments(parsed)
    except (structkit.SchemaError, ValueError) as error:
        parsed.parser.error(str(error))
    return COMMANDS[parsed.command](parsed, target)


def _show_warning(
    otherwise: Callable[..., None], message: Warning | str, category: type[Warning], *place: Any
) -> None:
    """Print a warning of structkit as a message, without the line of the program that issued it."""
    if category.__module__.startswith("structkit"):
        sys.stderr.write(f"structkit: warning: {message}\n")
    else:
        otherwise(message, category, *place)


def _fail(message: str, status: int = 1) -> int:
    sys.stderr.write(f"structkit: {message}\n")
    return status


def _write(text: str) -> str | None:
    """Write to standard output; return what is wrong with it."""
    encoding = sys.stdout.encoding or "utf-8"
    # Characters that the terminal cannot encode are escaped.
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes again at its end
        if not isinstance(error, BrokenPipeError):  # otherwise the reader, such as `head`, has exited
            return f"the output cannot be written: {reason_of(error)}\n  write it to another place"
    return None
