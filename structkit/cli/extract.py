"""`structkit extract`: read target and prompt, generate a value, and return the output."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import cast

from structkit.api.single import generate, load
from structkit.cli.parser import reason_of
from structkit.error_notes import type_and_message
from structkit.errors import SchemaError
from structkit.generate.input.options import Options
from structkit.generate.input.settings import Settings
from structkit.generate.output.result import value_of
from structkit.targets.grammar import Grammar, Lexer, Parser
from structkit.targets.specs import Choice, Regex
from structkit.targets.targets import AnyTarget

__all__ = [
    "check_grammar_options",
    "extract",
    "read_grammar",
    "read_options",
    "read_prompt",
    "read_schema",
    "read_type",
]


def extract(arguments: argparse.Namespace, prompt: str, options: Options) -> tuple[str, int]:
    """Run the command; return its output and the exit status.

    Raises:
        StructkitError: The target, the model or the generation failed.
    """
    target = _target(arguments)
    if arguments.input:
        from structkit.cli.many import extract_file

        return extract_file(arguments, target, options)
    result = generate(load(arguments.model), prompt, cast("type[object]", target), **options)
    value = value_of(result)
    if isinstance(target, (Choice, Grammar, Regex)):
        return (json.dumps(result.text, ensure_ascii=False) if arguments.json else result.text), 0
    return (result.text if arguments.json or arguments.schema else repr(value)), 0


def _target(arguments: argparse.Namespace) -> AnyTarget:
    if arguments.grammar:
        return read_grammar(Path(arguments.grammar), arguments)
    if arguments.regex is not None:
        return Regex(arguments.regex)
    if arguments.choice:
        return Choice(arguments.choice)
    return read_type(*arguments.type) if arguments.type else read_schema(arguments.schema)


def read_grammar(path: Path, arguments: argparse.Namespace) -> Grammar[str]:
    """Read a grammar from a file, with the options of grammars.

    Raises:
        GrammarError: The grammar is invalid.
        SchemaError: The file cannot be read, or an option is not for its syntax.
    """
    parser: Parser = arguments.parser_of_lark or "earley"
    lexer: Lexer = arguments.lexer or "auto"
    try:
        return Grammar(path, arguments.start, parser, lexer, syntax=arguments.syntax or "lark")
    except (OSError, UnicodeDecodeError) as error:
        cause, _, remedy = reason_of(error).partition("; ")
        raise SchemaError(
            f"the grammar cannot be read: {cause}; {remedy or 'give a file of UTF-8 text'}", place=str(path)
        ) from error
    except ValueError as error:  # an option of Lark
        raise SchemaError(str(error), place=str(path)) from error


def check_grammar_options(arguments: argparse.Namespace, *, has_grammar: bool, remedy: str) -> None:
    """Check that options of grammars come with a grammar.

    Raises:
        ValueError: One does not.
    """
    for name in ("syntax", "start", "parser_of_lark", "lexer"):
        if not has_grammar and getattr(arguments, name) is not None:
            raise ValueError(f"--{name.partition('_')[0]} {remedy}")


def read_type(source: str, name: str) -> AnyTarget:
    """Import a type by its location. The file or module is executed.

    Args:
        source: A file such as `path/to/file.py`, or a module.
        name: The name of the type in it, with dots for a nested type.

    Raises:
        SchemaError: The file, module or name does not exist.

    >>> read_type("decimal", "Decimal")
    <class 'decimal.Decimal'>
    """
    if source.endswith(".py") and not Path(source).is_file():
        raise SchemaError(f"there is no file {source}; write path/to/file.py:Name or module:Name")
    try:
        value: object = _import_file(Path(source)) if source.endswith(".py") else _import_module(source)
    except (Exception, SystemExit) as error:  # user code
        is_missing = isinstance(error, ModuleNotFoundError) and error.name == source.partition(".")[0]
        remedy = "write path/to/file.py:Name or module:Name" if is_missing else f"correct {source}"
        raise SchemaError(f"{source} cannot be imported: {type_and_message(error)}; {remedy}") from error
    for part in name.split("."):
        if not hasattr(value, part):
            raise SchemaError(f"{source} has no {name!r}; {_class_names(value, part)}")
        value = getattr(value, part)
    return cast("AnyTarget", value)


def read_schema(given: str) -> AnyTarget:
    """Read a JSON Schema from a file, or the schema itself, which starts with a brace.

    Raises:
        SchemaError: The file does not exist, or does not contain a JSON object.
    """
    is_text = given.lstrip().startswith("{")
    place = "--schema" if is_text else given
    try:
        schema = json.loads(given if is_text else Path(given).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        remedy = "write JSON, with double quotes" if is_text else "give a file of JSON"
        raise SchemaError(
            f"the JSON Schema cannot be read: {reason_of(error)}; {remedy}", place=place
        ) from error
    if not isinstance(schema, dict):
        raise SchemaError(
            f"a JSON Schema is an object, not {schema!r:.40}; write {{}} for any value", place=place
        )
    return cast("dict[str, object]", schema)


def read_prompt(prompt: str, file: str | None = None) -> str:
    """Return the prompt; read it from a file, or from standard input if it is `-`.

    Raises:
        ValueError: The prompt is empty, the file cannot be read, or both are given.
    """
    if file is not None and prompt != "-":
        raise ValueError("give a prompt or --file, not both")
    if file not in (None, "-"):
        try:
            text = Path(str(file)).read_text(encoding="utf-8-sig").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{file} cannot be read: {reason_of(error)}; give another --file") from error
    else:
        try:
            text = sys.stdin.read().strip() if prompt == "-" else prompt
        except UnicodeDecodeError as error:
            raise ValueError(f"standard input cannot be read: {reason_of(error)}; write UTF-8") from error
    if not text:
        raise ValueError("the prompt is empty; give a string, or pipe one to standard input")
    return text


def read_options(arguments: argparse.Namespace) -> Options:
    """Return the options of `generate` that were given.

    Raises:
        ValueError: An option is out of range.
    """
    if arguments.output and not arguments.input:
        raise ValueError("--output requires --input, the file of prompts")
    if arguments.input and (arguments.prompt != "-" or arguments.file):
        raise ValueError("give a prompt or --input, not both")
    if arguments.resume and (arguments.input == "-" or arguments.output in (None, "-")):
        raise ValueError("--resume requires files as --input and --output")
    if arguments.batch_size is not None and not arguments.input:
        raise ValueError("--batch-size requires --input, the file of prompts")
    remedy = "requires --grammar, the file of a grammar"
    check_grammar_options(arguments, has_grammar=bool(arguments.grammar), remedy=remedy)
    options = Options(max_tokens=arguments.max_tokens)
    # A model that returns text has no settings of sampling.
    for name in ("seed", "temperature", "order", "whitespace", "defaults", "null", "source", "on_limit"):
        if (value := getattr(arguments, name)) is not None:
            options[name] = value
    Settings.read("extract", options)
    return options


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"structkit_target_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # pydantic resolves annotations there
    sys.path.insert(0, str(path.resolve().parent))
    spec.loader.exec_module(module)
    return module


def _import_module(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module(name)


def _class_names(owner: object, name: str) -> str:
    """Return the name that is close to one that a module or class does not have, or those that it defines."""
    module = owner.__name__ if isinstance(owner, ModuleType) else getattr(owner, "__module__", "")
    defined = sorted(
        name for name, value in vars(owner).items() if getattr(value, "__module__", "") == module
    )
    if close := get_close_matches(name, defined, 1):
        return f"write {close[0]}"
    return f"it defines {', '.join(defined[:10])}" if defined else "it defines no types"
