"""The command: `structkit extract "Ana is 34." --type examples/person.py:Person`, `structkit check module:Type`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import structkit

__all__ = ["main"]

_EXAMPLES = """\
examples:
  structkit extract "Ana Souza, 34, works as a nurse in Porto." --type examples/person.py:Person
  structkit extract --type package.models:Invoice --json < invoice.txt
  structkit extract "It is broken!" --schema ticket.json --model Qwen/Qwen3-0.6B
  structkit extract --type examples/person.py:Person --input texts.jsonl --output people.jsonl --resume
"""

_CHECK = (
    "look for values about which a type and its guide disagree",
    """

Random sentences of the type's language are validated, and values that are accepted are fed back. hypothesis
searches: pip install 'structkit[check]'. A JSON Schema is checked with the package jsonschema.
The type's module is run, as importing it would.""",
    """\
exit status:
  0  they agree
  1  there is a counterexample, no example was tried in time, or the type cannot be compiled
  2  the arguments are wrong, or there is no such type

examples:
  structkit check package.models:Invoice
  structkit check examples/person.py:Person --n 200 --seed 7
  structkit check ticket.json --json
  structkit check package.models:Clause --source contract.txt
""",
)

_EXPLAIN = (
    "say keyword by keyword what of a type is enforced, and what that costs",
    "",
    """\
exit status:
  0  everything is enforced, or checked after
  1  something is refused
  2  the arguments are wrong, or there is no such type

examples:
  structkit explain package.models:Invoice
  structkit explain ticket.json
""",
)

_SAMPLE = (
    "print example values of a type as lines of JSON, without a model",
    "",
    """\
examples:
  structkit sample package.models:Invoice --n 20
  structkit sample ticket.json --seed 7
""",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: What follows the command's name; by default what the shell gave.

    Returns:
        0; or 1 after an error, of which one message was written to standard error, or where `check` or `explain` found
        what they look for.

    Raises:
        SystemExit: With 2, after a mistake in the arguments; with 0, after `--help` and `--version`.
    """
    parsed = _parser().parse_args(arguments)
    run = _extract if parsed.command == "extract" else _run_target_command
    try:
        output, status = run(parsed)
    except structkit.StructkitError as error:
        return _fail(str(error))
    except ImportError as error:  # an extra that is not installed
        return _fail(str(error))
    except KeyboardInterrupt:
        return _fail("interrupted")
    _write(output)
    return status


def _extract(parsed: argparse.Namespace) -> tuple[str, int]:
    from structkit.cli.extract import (  # slow, and --version needs none of it
        extract,
        read_options,
        read_prompt,
    )

    try:
        options = read_options(parsed)
        prompt = "" if parsed.input else read_prompt(parsed.prompt)
    except ValueError as error:
        parsed.parser.error(str(error))
    return extract(parsed, prompt, options), 0


def _run_target_command(parsed: argparse.Namespace) -> tuple[str, int]:
    from structkit.cli.prove import COMMANDS, target_from_arguments

    try:
        target = target_from_arguments(parsed)
    except structkit.SchemaError as error:
        parsed.parser.error(str(error))
    return COMMANDS[parsed.command](parsed, target)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="structkit",
        description="Structured output from local language models.",
    )
    parser.add_argument("--version", action="version", version=f"structkit {structkit.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, (help_text, details, epilog, add) in {
        "extract": ("read a text into an instance of a type, and print it", "", _EXAMPLES, _add_extract),
        "check": (*_CHECK, _add_check),
        "explain": (*_EXPLAIN, _add_explain),
        "sample": (*_SAMPLE, _add_sample),
    }.items():
        description = f"{help_text[0].upper()}{help_text[1:]}.{details}"
        command = commands.add_parser(
            name,
            help=help_text,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(parser=command)
        add(command)
    return parser


def _add_check(command: argparse.ArgumentParser) -> None:
    _add_target(command)
    command.add_argument(
        "--n",
        type=_positive_int,
        default=1000,
        metavar="N",
        help="maximum number of examples of each search, 1000 by default",
    )
    command.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the random examples, 0 by default"
    )
    command.add_argument(
        "--seconds",
        type=_positive_float,
        default=60.0,
        metavar="S",
        help="time limit of each search, 60 by default",
    )
    _add_compile_options(command)
    command.add_argument("--json", action="store_true", help="print the report as JSON")


def _add_explain(command: argparse.ArgumentParser) -> None:
    _add_target(command)
    _add_compile_options(command)
    command.add_argument("--json", action="store_true", help="print the rows as JSON")


def _add_sample(command: argparse.ArgumentParser) -> None:
    _add_target(command)
    command.add_argument("--n", type=_positive_int, default=1, metavar="N", help="values, 1 by default")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="another seed, other values")
    _add_compile_options(command)


def _add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "target",
        type=_target_location,
        metavar="TARGET",
        help="module:Type, path/to/file.py:Type, or a JSON Schema in path/to/file.json",
    )


def _add_compile_options(
    command: argparse.ArgumentParser, *, source: str = "the text that fields with sk.Quote() are taken from"
) -> None:
    command.add_argument(
        "--defaults",
        choices=["always", "may_omit"],
        help="whether fields with a default are always written, as they are by default, or may be omitted",
    )
    command.add_argument(
        "--order",
        choices=["declared", "any"],
        help="of keys: declared, the default, or any",
    )
    command.add_argument(
        "--null",
        choices=["always", "may_omit", "omit"],
        help="what is written of optional fields without a value",
    )
    command.add_argument(
        "--whitespace", choices=["spaced", "compact"], help="spaced, the default, or no spaces in the JSON"
    )
    command.add_argument("--source", type=_source, metavar="FILE", help=source)


def _add_extract(command: argparse.ArgumentParser) -> None:
    command.add_argument("prompt", nargs="?", default="-", help="the text; by default standard input")
    target = command.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--type",
        type=_type_location,
        metavar="WHERE:NAME",
        help="a type: path/to/file.py:Person or module:Person",
    )
    target.add_argument("--schema", metavar="FILE", help="a JSON Schema in a file")
    command.add_argument(
        "--model", metavar="NAME", help="a folder or a Hugging Face name; else the demo model"
    )
    command.add_argument("--max-tokens", type=int, metavar="N", help="the most tokens to write")
    command.add_argument("--temperature", type=float, metavar="T", help="0, the default, is greedy")
    command.add_argument("--seed", type=int, metavar="N", help="makes sampling repeatable")
    _add_compile_options(
        command, source="the text that fields with sk.Quote() are taken from; by default the prompt"
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


def _type_location(location: str) -> tuple[str, str]:
    source, _, name = location.rpartition(":")
    if not source or not name:
        raise argparse.ArgumentTypeError(f"write path/to/file.py:Name or module:Name, not {location!r}")
    return source, name


def _target_location(location: str) -> str:
    if not location.endswith(".json"):
        _type_location(location)
    return location


def _source(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"the source cannot be read: {error}") from error


def _positive_int(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {count}")
    return count


def _positive_float(text: str) -> float:
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"must be more than 0, not {text}")
    return number


def _fail(message: str) -> int:
    sys.stderr.write(f"structkit: {message}\n")
    return 1


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    # A terminal that cannot show a character gets its escape instead of a traceback.
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
