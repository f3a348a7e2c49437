"""Search for disagreements between a guide and its target, with hypothesis."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from structkit.arguments.checks import check_count, check_type
from structkit.arguments.names import check_names
from structkit.schema.markers.annotations import has_annotation
from structkit.schema.markers.grammar import GRAMMAR_KEYWORD
from structkit.schema.python.judge import Refused
from structkit.targets.targets import AnyTarget
from structkit.testing.proof.language import CompileOptions, Language
from structkit.testing.proof.oracle import oracle_of
from structkit.testing.proof.report import CheckReport, Counterexample, Rejection

if TYPE_CHECKING:
    from structkit.testing.proof.search import Bounds

__all__ = ["check"]

_SMALLER = 200
"""Minimum number of examples of a search for a smaller value."""

_TIMED_OUT = "the time limit ended the search early; raise `seconds` to try more examples"

_NOT_GENERATED = "it is the canonical text of a valid value"

_NOT_ROUND_TRIPPED = (
    "pydantic does not accept its own serialization of this type, so changed values were not checked"
)

_QUOTED = "quotes depend on the source and not on the type, so changed values were not checked"

_OF_GRAMMARS = "pydantic does not check the grammar of a field, so changed values were not checked"


def check(
    target: AnyTarget,
    *,
    n: int = 1000,
    seed: int = 0,
    seconds: float = 60.0,
    **options: Unpack[CompileOptions],
) -> CheckReport:
    """Search for texts about which a guide and its target disagree, with hypothesis.

    There are two searches, one for each side of a disagreement. The first validates sentences of the compiled language:
    with pydantic for a type, with `jsonschema` for a JSON Schema. The second changes parts of valid values, also to
    bounds in the schema; if the result is valid, its canonical text must be in the language. hypothesis shrinks the
    results, so the report has at most one small counterexample per side.

    A sentence that a custom validator rejects is not a counterexample, because a mask cannot enforce validators. The
    report counts these separately, because each one costs a retry.

    Args:
        target: A type, a JSON Schema as a dict, `structkit.Regex` or `structkit.Choice`.
        n: Maximum number of examples of each search.
        seed: Seed of the examples. The same seed gives the same report with the same versions of structkit, pydantic
            and hypothesis.
        seconds: Time limit of each search. A search that reaches it has tried fewer than `n` examples.
        **options: `defaults`, `order`, `null`, `whitespace`, `source` and `limits`, as for `structkit.compile`.

    Returns:
        The report. A counterexample raises nothing; use `assert report.ok, str(report)`.

    Raises:
        StructkitError: The target cannot be compiled, as in `structkit.compile`.
        GenerationError: The shortest text has more than 200,000 bytes.
        MissingExtra: hypothesis is not installed; or, for a JSON Schema, the package `jsonschema`.
        ValueError: `n` is less than 1.

    >>> report = check(dict[str, int | None], n=100)
    >>> report.ok, report.n, report.rejection_rate
    (True, 100, 0.0)
    """
    from structkit.testing.proof.search import Bounds, Change, changes, sentences, smallest

    check_count("n", n, 1)
    check_type("seed", seed, int, "an integer")
    check_names("check", options, ("n", "seed", "seconds", *CompileOptions.__annotations__))
    language = Language.compile(target, **options)
    oracle = oracle_of(target, language.target)
    judged: list[tuple[str, Refused | None]] = []

    def is_refused(text: str) -> bool:
        refusal = oracle.rejection(text)
        judged.append((text, refusal))
        return refusal is not None and not refusal.by_validator

    def is_unwritten(change: Change) -> bool | None:
        before, after = oracle.canonical(change.text), oracle.canonical(change.changed)
        if before is None or after is None or not language.writes(before):
            return None
        return not (language.contains(change.changed) or language.writes(after))

    bounds = Bounds(n, seed, seconds)
    counterexamples = []
    written = smallest(sentences(language), is_refused, bounds)
    refusals = _refusals(judged[: written.tried])
    if (text := written.example) is not None:
        text = _shrunk(text, language, is_refused, bounds)
        refusal = oracle.rejection(text)
        error = "" if refusal is None else f"{refusal.message} at `{refusal.place}`"
        counterexamples.append(Counterexample(text, "generated but rejected", error))
    fed, note = 0, _TIMED_OUT if written.timed_out else ""
    if language.target.has_quotes:
        note = note or _QUOTED
    elif has_annotation(language.target.json_schema(), GRAMMAR_KEYWORD):
        note = note or _OF_GRAMMARS
    elif oracle.dump is not None:
        unwritten = smallest(changes(language), is_unwritten, bounds)
        fed = unwritten.tried
        note = _TIMED_OUT if unwritten.timed_out else note or ("" if fed else _NOT_ROUND_TRIPPED)
        if (change := unwritten.example) is not None:
            text = oracle.canonical(change.changed) or change.changed
            counterexamples.append(Counterexample(text, "valid but not generated", _NOT_GENERATED))
    return CheckReport(language.target.name, written.tried, fed, tuple(counterexamples), refusals, note)


def _shrunk(text: str, language: Language, is_refused: Callable[[str], bool], bounds: Bounds) -> str:
    """Return a smaller sentence that is also rejected: hypothesis minimizes choices, which may leave large values."""
    from structkit.testing.proof.search import Change, changes, smallest

    def is_smaller(change: Change) -> bool:
        smaller = _length(change.changed) < _length(text)
        return smaller and language.contains(change.changed) and is_refused(change.changed)

    bounds = bounds._replace(n=max(bounds.n, _SMALLER))
    while language.target.is_json:
        change = smallest(changes(language, text), is_smaller, bounds).example
        if change is None:
            break
        text = change.changed
    return text


def _refusals(judged: Sequence[tuple[str, Refused | None]]) -> tuple[Rejection, ...]:
    """Group the rejections of validators by path and message."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for text, refusal in judged:
        if refusal is not None and refusal.by_validator:
            place = re.sub(r"\[\d+\]", "[]", refusal.place)
            # Numbers and quoted strings in messages differ between values.
            kind = re.sub(r"""-?\d[\d.eE+-]*|'[^']*'|"[^"]*\"""", "...", refusal.message)
            groups.setdefault((place, kind), []).append((text, refusal.message))
    refusals = []
    for (place, _), texts in groups.items():
        text, message = min(texts, key=lambda each: _length(each[0]))
        refusals.append(Rejection(place, message, len(texts), text))
    return tuple(sorted(refusals, key=lambda each: (-each.count, each.path)))


def _length(text: str) -> tuple[int, str]:
    return len(text), text
