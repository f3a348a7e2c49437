"""`structkit check`, `structkit explain` and `structkit sample`: commands that need a target and no model."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from structkit.api.explain import explain
from structkit.cli.extract import check_grammar_options, read_grammar, read_schema, read_type
from structkit.cli.parser import is_grammar, is_schema
from structkit.targets.targets import AnyTarget
from structkit.testing.proof.check import check
from structkit.testing.proof.language import CompileOptions, Language
from structkit.testing.proof.sample import texts_and_values

__all__ = ["COMMANDS", "target_from_arguments"]


def target_from_arguments(arguments: argparse.Namespace) -> AnyTarget:
    """Return the target of the arguments: a JSON Schema or a grammar, in a file, or a type by its location.

    Raises:
        GrammarError: The grammar is invalid.
        SchemaError: The target does not exist.
        ValueError: An option is for grammars, and the target is none.
    """
    location: str = arguments.target
    remedy = "is for files with a grammar, which end with .lark, .gbnf or .kbnf"
    check_grammar_options(arguments, has_grammar=is_grammar(location), remedy=remedy)
    if is_grammar(location):
        return read_grammar(Path(location), arguments)
    if is_schema(location):
        return read_schema(location)
    source, _, name = location.rpartition(":")
    return read_type(source, name)


def _check(arguments: argparse.Namespace, target: AnyTarget) -> tuple[str, int]:
    """Return the report, and 1 if there is a counterexample or nothing was tried."""
    report = check(
        target, n=arguments.n, seed=arguments.seed, seconds=arguments.seconds, **_compile_options(arguments)
    )
    if arguments.json:
        summary = {"ok": report.ok, "refused": report.rejected, "refusal_rate": report.rejection_rate}
        return _json({**summary, **asdict(report)}), int(not report.ok)
    return _escape_for_terminal(str(report)), int(not report.ok)


def _explain(arguments: argparse.Namespace, target: AnyTarget) -> tuple[str, int]:
    """Return the table, and 1 if a keyword is not supported."""
    explanation = explain(target, **_compile_options(arguments))
    refused = any(row.how == "refused" for row in explanation.rows)
    if arguments.json:
        return _json({"enforced": explanation.enforced, **asdict(explanation)}), int(refused)
    return _escape_for_terminal(str(explanation)), int(refused)


def _sample(arguments: argparse.Namespace, target: AnyTarget) -> tuple[str, int]:
    """Return a line of JSON for each value."""
    language = Language.compile(target, **_compile_options(arguments))
    texts = [text for text, _ in texts_and_values(language, arguments.seed, arguments.n)]
    if not language.target.is_json:
        texts = [json.dumps(text, ensure_ascii=False) for text in texts]
    return "\n".join(map(_escape_for_terminal, texts)), 0


COMMANDS: dict[str, Callable[[argparse.Namespace, AnyTarget], tuple[str, int]]] = {
    "check": _check,
    "explain": _explain,
    "sample": _sample,
}
"""For each command, the function that returns its output and exit status."""


def _compile_options(arguments: argparse.Namespace) -> CompileOptions:
    return CompileOptions(
        defaults=arguments.defaults,
        order=arguments.order,
        null=arguments.null,
        whitespace=arguments.whitespace,
        source=arguments.source,
    )


def _json(value: object) -> str:
    return _escape_for_terminal(json.dumps(value, ensure_ascii=False, indent=2))


def _escape_for_terminal(text: str) -> str:
    """Escape, as in JSON, characters that move the cursor or change the writing direction of a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
