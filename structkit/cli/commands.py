"""The commands and their options."""

from __future__ import annotations

import argparse
from pathlib import Path

import structkit
from structkit.cli.parser import (
    Parser,
    any_int,
    not_negative,
    port,
    positive_float,
    positive_int,
    reason_of,
    target_location,
    type_location,
)

__all__ = ["command_parser"]

_EXAMPLES = """\
examples:
  structkit extract "Ana Souza, 34, works as a nurse in Porto." --type examples/person.py:Person
  structkit extract --type package.models:Invoice --json < invoice.txt
  structkit extract --model ollama:qwen3 --type package.models:Invoice --file invoice.txt
  structkit extract "It is broken!" --schema ticket.json --model Qwen/Qwen3-0.6B
  structkit extract "It is broken!" --choice positive --choice negative
  structkit extract "The parcel left on 3 May." --regex "\\d{4}-\\d{2}-\\d{2}"
  structkit extract --type examples/person.py:Person --input texts.jsonl --output people.jsonl --resume
  cat texts.jsonl | structkit extract --type examples/person.py:Person --input - > people.jsonl

exit status:
  0    success
  1    an error, with one message on standard error; or a line of the output is an error
  2    the arguments are invalid
  130  interrupted
"""

_CHECK = (
    "search for texts on which a type and its guide disagree",
    """

Random sentences of the type's language are validated, and changed valid values must be in the language. The search
requires hypothesis: pip install "structkit-llm[check]". A JSON Schema is checked with the package jsonschema.
The module of the type is executed.""",
    """\
exit status:
  0  no counterexample was found
  1  there is a counterexample, no example was tried in time, or the type cannot be compiled
  2  the arguments are invalid, or the type does not exist

examples:
  structkit check package.models:Invoice
  structkit check examples/person.py:Person --n 200 --seed 7
  structkit check ticket.json --json
  structkit check package.models:Clause --source contract.txt
""",
)

_EXPLAIN = (
    "list the keywords of a type: whether each is enforced, and its cost",
    "",
    """\
exit status:
  0  every keyword is enforced, or checked afterwards
  1  at least one keyword is not supported
  2  the arguments are invalid, or the type does not exist

examples:
  structkit explain package.models:Invoice
  structkit explain ticket.json
  structkit explain query.lark --parser lalr
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

_DOCTOR = (
    "say what this machine, a model or a server can do",
    """

Without MODEL: packages, kernels and cache of this machine. With a URL: which server it is, whether it replies,
continues the start of an answer and obeys constraints, by requests of a few tokens. With a folder or a name: the
model is loaded. Each `no` has its remedy.""",
    """\
exit status:
  0  no check failed
  1  a check failed

examples:
  structkit doctor
  structkit doctor http://localhost:8000
  structkit doctor https://api.example.com/v1 --model small --api-key-env EXAMPLE_API_KEY
""",
)


_INIT = (
    "write a program that runs, to start from",
    "",
    """\
examples:
  structkit init
  structkit init people.py --model Qwen/Qwen3-0.6B
""",
)

_COMPLETION = (
    "print a script that completes commands and options in a shell",
    """

It requires shtab: pip install "structkit-llm[completion]".""",
    """\
examples:
  structkit completion bash > ~/.local/share/bash-completion/completions/structkit
  structkit completion zsh > ~/.zfunc/_structkit
""",
)

_SERVE = (
    "serve a local model to clients of OpenAI",
    """

The API of OpenAI under /v1, with /health, and /metrics for Prometheus. Every answer to a request with a JSON Schema, a
regex or a grammar matches it. Needs the extra serve.""",
    """\
examples:
  structkit serve
  structkit serve Qwen/Qwen3-0.6B --port 9000
  MY_KEYS=secret structkit serve models/small --host 0.0.0.0 --api-key-env MY_KEYS
""",
)


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = Parser(
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
        "doctor": (*_DOCTOR, _add_doctor),
        "init": (*_INIT, _add_init),
        "completion": (*_COMPLETION, _add_completion),
        "serve": (*_SERVE, _add_serve),
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
        type=positive_int,
        default=1000,
        metavar="N",
        help="maximum number of examples of each search, 1000 by default",
    )
    command.add_argument(
        "--seed", type=any_int, default=0, metavar="N", help="seed of the random examples, 0 by default"
    )
    command.add_argument(
        "--seconds",
        type=positive_float,
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
    command.add_argument(
        "--n", type=positive_int, default=1, metavar="N", help="number of values, 1 by default"
    )
    command.add_argument(
        "--seed", type=any_int, default=0, metavar="N", help="seed of the random values, 0 by default"
    )
    _add_compile_options(command)


def _add_doctor(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", nargs="?", metavar="MODEL", help="the URL of a server, a folder or a name")
    command.add_argument("--model", metavar="NAME", help="the model of the server, if it has several")
    command.add_argument("--api-key-env", metavar="VARIABLE", help="the environment variable with the key")
    command.add_argument("--json", action="store_true", help="print the checks as JSON")


def _add_init(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "path", nargs="?", default="extract_person.py", metavar="FILE", help="extract_person.py by default"
    )
    command.add_argument("--model", metavar="NAME", help="as for `extract`; by default the demo model")


def _add_completion(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=["bash", "zsh", "tcsh"])


def _add_serve(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "model", nargs="?", metavar="MODEL", help="a folder, a GGUF file or a name; by default the demo model"
    )
    command.add_argument(
        "--host", default="127.0.0.1", metavar="HOST", help="the address, 127.0.0.1 by default"
    )
    command.add_argument("--port", type=port, default=8000, metavar="N", help="the port, 8000 by default")
    command.add_argument(
        "--name", metavar="NAME", help="the name of the model in requests; by default its own"
    )
    command.add_argument(
        "--api-key-env",
        metavar="VARIABLE",
        help="the environment variable with the key, or with several and commas between them",
    )
    command.add_argument(
        "--allowed-host",
        action="append",
        metavar="NAME",
        help="a name in the header Host that is accepted, such as that of a proxy; can be repeated",
    )
    command.add_argument(
        "--temperature",
        type=not_negative,
        default=1.0,
        metavar="T",
        help="that of requests without one, 1 by default",
    )
    command.add_argument(
        "--no-playground", action="store_true", help="without the page for browsers at the path /"
    )
    for name, default, what in (
        ("--max-running", 32, "maximum number of answers at once"),
        ("--max-waiting", 256, "maximum number of answers that wait"),
        ("--max-tokens", 4096, "maximum number of tokens of an answer"),
    ):
        command.add_argument(
            name, type=positive_int, default=default, metavar="N", help=f"{what}, {default} by default"
        )
    command.add_argument(
        "--timeout",
        type=positive_float,
        default=120.0,
        metavar="S",
        help="seconds of a request, 120 by default",
    )
    command.add_argument(
        "--shutdown-timeout",
        type=positive_float,
        default=10.0,
        metavar="S",
        help="seconds that answers in progress have when the server is stopped, 10 by default",
    )


def _add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "target",
        type=target_location,
        metavar="TARGET",
        help="module:Type, path/to/file.py:Type, path/to/file.json with a JSON Schema, the schema itself, or "
        "path/to/file.lark, .gbnf or .kbnf with a grammar",
    )
    _add_grammar_options(command)


def _add_compile_options(
    command: argparse.ArgumentParser, *, source: str = "the source text of fields with sk.Quote()"
) -> None:
    command.add_argument(
        "--defaults",
        choices=["always", "may_omit"],
        help="whether fields with a default are always written, the default, or may be omitted",
    )
    command.add_argument(
        "--order",
        choices=["declared", "any"],
        help="order of keys: declared, the default, or any",
    )
    command.add_argument(
        "--null",
        choices=["always", "may_omit", "omit"],
        help="how optional fields without a value are written",
    )
    command.add_argument(
        "--whitespace", choices=["spaced", "compact"], help="spaced, the default, or no spaces in the JSON"
    )
    command.add_argument("--source", type=_source, metavar="FILE", help=source)


def _add_extract(command: argparse.ArgumentParser) -> None:
    command.add_argument("prompt", nargs="?", default="-", help="the prompt; by default standard input")
    command.add_argument("--file", metavar="FILE", help="read the prompt from a file")
    _add_target_options(command)
    command.add_argument(
        "--model",
        metavar="NAME",
        help="a folder, a GGUF file, a Hugging Face name, or a provider and its model, such as openai:gpt-5-mini or "
        "ollama:qwen3; by default the demo model",
    )
    command.add_argument("--max-tokens", type=positive_int, metavar="N", help="maximum number of tokens")
    command.add_argument(
        "--on-limit",
        choices=["answer", "raise"],
        help="if --max-tokens or the context is too small for the value: complete it within the limit, the default, or "
        "end with an error",
    )
    command.add_argument("--temperature", type=not_negative, metavar="T", help="0, the default, is greedy")
    command.add_argument("--seed", type=any_int, metavar="N", help="seed of sampling")
    _add_compile_options(command, source="the source text of fields with sk.Quote(); by default the prompt")
    _add_many(command.add_argument_group("a file of prompts"))
    command.add_argument("--json", action="store_true", help="print JSON instead of Python's repr")


def _add_target_options(command: argparse.ArgumentParser) -> None:
    target = command.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--type",
        type=type_location,
        metavar="LOCATION:NAME",
        help="a type: path/to/file.py:Person or module:Person",
    )
    target.add_argument(
        "--schema", metavar="FILE", help="a file with a JSON Schema, or the schema itself: {...}"
    )
    target.add_argument("--regex", metavar="PATTERN", help="a regular expression that the whole text matches")
    target.add_argument(
        "--choice", action="append", metavar="TEXT", help="one of several texts; repeat it for each of them"
    )
    target.add_argument("--grammar", metavar="FILE", help="a file with a grammar")
    _add_grammar_options(command)


def _add_grammar_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--syntax", choices=["lark", "gbnf", "kbnf"], help="the syntax of the grammar; by default lark"
    )
    command.add_argument(
        "--start", metavar="RULE", help="the first rule of the grammar; by default `start` or `root`"
    )
    command.add_argument(
        "--parser",
        choices=["earley", "lalr"],
        dest="parser_of_lark",
        help="the parser of a Lark grammar; by default earley",
    )
    command.add_argument(
        "--lexer",
        choices=["auto", "dynamic", "dynamic_complete", "basic", "contextual"],
        help="the lexer of a Lark grammar; by default that of Lark for the parser",
    )


def _add_many(many: argparse._ArgumentGroup) -> None:
    many.add_argument(
        "--input",
        metavar="FILE",
        help="JSON lines: strings, or objects with a prompt and an id; - is standard input",
    )
    many.add_argument(
        "--output",
        metavar="FILE",
        help="JSON lines: the value or error of each prompt; by default standard output",
    )
    many.add_argument(
        "--batch-size",
        type=positive_int,
        metavar="N",
        help="maximum number of prompts per batch, 8 by default",
    )
    many.add_argument(
        "--resume", action="store_true", help="continue after the lines that are already in the output"
    )


def _source(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"the source cannot be read: {reason_of(error)}") from error
