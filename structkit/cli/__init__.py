"""The command: `structkit extract "Ana Souza, 34, is a nurse." --type examples/person.py:Person`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import structkit

__all__ = ["main"]

_EXAMPLES = """\
examples:
  structkit extract "Ana Souza, 34, works as a nurse in Porto." --type examples/person.py:Person
  structkit extract --type package.models:Invoice --json < invoice.txt
  structkit extract "It is broken!" --schema ticket.json --model Qwen/Qwen3-0.6B
  structkit extract --type examples/person.py:Person --input texts.jsonl --output people.jsonl --resume
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: What follows the command's name; by default what the shell gave.

    Returns:
        0, or 1 after an error, of which one message was written to standard error.

    Raises:
        SystemExit: With 2, after a mistake in the arguments; with 0, after `--help` and `--version`.
    """
    parsed = _parser().parse_args(arguments)
    from structkit.cli.extract import (
        extract,
        read_options,
        read_prompt,
    )  # slow, and --version needs none of it

    try:
        options = read_options(parsed)
        prompt = "" if parsed.input else read_prompt(parsed.prompt)
    except ValueError as error:
        parsed.parser.error(str(error))
    try:
        output = extract(parsed, prompt, options)
    except structkit.StructkitError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return _fail("interrupted")
    _write(output)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="structkit",
        description="Structured output from local language models.",
    )
    parser.add_argument("--version", action="version", version=f"structkit {structkit.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    help_text = "read a text into an instance of a type, and print it"
    _add_extract(
        commands.add_parser(
            "extract",
            help=help_text,
            description=f"{help_text.capitalize()}.",
            epilog=_EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )
    return parser


def _add_extract(command: argparse.ArgumentParser) -> None:
    command.set_defaults(parser=command)
    command.add_argument("prompt", nargs="?", default="-", help="the text; by default standard input")
    target = command.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--type", type=_place, metavar="WHERE:NAME", help="a type: path/to/file.py:Person or module:Person"
    )
    target.add_argument("--schema", metavar="FILE", help="a JSON Schema in a file")
    command.add_argument(
        "--model", metavar="NAME", help="a folder or a Hugging Face name; else the demo model"
    )
    command.add_argument("--max-tokens", type=int, metavar="N", help="the most tokens to write")
    command.add_argument("--temperature", type=float, metavar="T", help="0, the default, is greedy")
    command.add_argument("--seed", type=int, metavar="N", help="makes sampling repeatable")
    command.add_argument(
        "--order", choices=["declared", "any"], help="of keys: declared, the default, or as the model likes"
    )
    command.add_argument(
        "--whitespace", choices=["spaced", "compact"], help="spaced, the default, or no spaces in the JSON"
    )
    command.add_argument(
        "--defaults", choices=["always", "may_omit"], help="whether fields with a default are always written"
    )
    command.add_argument(
        "--null",
        choices=["always", "may_omit", "omit"],
        help="what to write of optional fields without a value",
    )
    many = command.add_argument_group("a file of prompts")
    many.add_argument("--input", metavar="FILE", help="JSON lines: texts, or objects with a prompt and an id")
    many.add_argument(
        "--output", metavar="FILE", help="where to write a line with the value or error of each"
    )
    many.add_argument(
        "--batch-size", type=int, default=8, metavar="N", help="prompts computed at once, 8 by default"
    )
    many.add_argument(
        "--resume", action="store_true", help="go on after the lines that the output has already"
    )
    command.add_argument("--json", action="store_true", help="print JSON instead of Python's repr")


def _place(where: str) -> tuple[str, str]:
    source, _, name = where.rpartition(":")
    if not source or not name:
        raise argparse.ArgumentTypeError(f"write path/to/file.py:Name or module:Name, not {where!r}")
    return source, name


def _fail(message: str) -> int:
    sys.stderr.write(f"structkit: {message}\n")
    return 1


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    # A terminal that cannot show a character gets its escape instead of a traceback.
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
