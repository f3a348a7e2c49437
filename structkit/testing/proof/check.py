"""Whether a guide and its target agree: hypothesis searches for a text about which they do not."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from structkit.schema.python.judge import Refused
from structkit.targets.targets import AnyTarget
from structkit.testing.proof.language import CompileOptions, Language
from structkit.testing.proof.oracle import oracle_of
from structkit.testing.proof.report import CheckReport, Counterexample, Rejection

if TYPE_CHECKING:
    from structkit.testing.proof.search import Bounds

__all__ = ["check"]

_SMALLER = 200
"""The least examples that are tried for a smaller value."""

_TIMED_OUT = "the time limit ended the search early; raise `seconds` to try more examples"

_NOT_GENERATED = "it is the canonical text of a value that is accepted"

_NOT_ROUND_TRIPPED = (
    "what pydantic dumps of this type is not what it reads, so changed values were not fed back"
)

_QUOTED = "what may be quoted is said by the source and not by the type, so changed values were not fed back"


def check(
    target: AnyTarget,
    *,
    n: int = 1000,
    seed: int = 0,
    seconds: float = 60.0,
    **options: Unpack[CompileOptions],
) -> CheckReport:
    """Search for texts about which a guide and its target disagree, with hypothesis.

    There are two searches, one for each side of a disagreement. Sentences of the compiled language are validated: with
    pydantic for a type, with `jsonschema` for a JSON Schema. And parts of valid values are changed, to bounds that the
    schema names among others; where the result is accepted, its canonical text must be in the language. hypothesis
    shrinks what it finds, so the report has at most one small counterexample for each side.

    A sentence that a validator of yours refuses is no counterexample: no mask can know what a validator says. The
    report counts these apart, because each costs an attempt.

    Args:
        target: A type, a JSON Schema as a dict, `structkit.Regex` or `structkit.Choice`.
        n: The most examples of each search.
        seed: Another seed, other examples. The same seed gives the same report with the same versions of structkit,
            pydantic and hypothesis.
        seconds: The most that each search may take. A search that ends so has tried fewer than `n` examples.
        **options: `defaults`, `order`, `null`, `whitespace`, `source` and `limits`, as for `structkit.compile`.

    Returns:
        The report. Nothing is raised for a counterexample; `assert report.ok, str(report)` shows all of it.

    Raises:
        StructkitError: The target cannot be compiled, as in `structkit.compile`.
        GenerationError: Even the shortest text has more than 200,000 bytes.
        ImportError: hypothesis is not installed; or, for a JSON Schema, the package `jsonschema`.
        ValueError: `n` is less than 1.

    >>> report = check(dict[str, int | None], n=100)
    >>> report.ok, report.n, report.rejection_rate
    (True, 100, 0.0)
    """
    from structkit.testing.proof.search import Bounds, Change, changes, sentences, smallest

    if n < 1:
        raise ValueError(f"n must be 1 or more, not {n}")
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
    elif oracle.dump is not None:
        unwritten = smallest(changes(language), is_unwritten, bounds)
        fed = unwritten.tried
        note = _TIMED_OUT if unwritten.timed_out else note or ("" if fed else _NOT_ROUND_TRIPPED)
        if (change := unwritten.example) is not None:
            text = oracle.canonical(change.changed) or change.changed
            counterexamples.append(Counterexample(text, "valid but not generated", _NOT_GENERATED))
    return CheckReport(language.target.name, written.tried, fed, tuple(counterexamples), refusals, note)


def _shrunk(text: str, language: Language, is_refused: Callable[[str], bool], bounds: Bounds) -> str:
    """A sentence with smaller parts that is refused as well: as small as its choices are, its values may be larger."""
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
    """What validators refuse, by the place and the message."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for text, refusal in judged:
        if refusal is not None and refusal.by_validator:
            place = re.sub(r"\[\d+\]", "[]", refusal.place)
            # Numbers and quoted texts in messages differ from value to value.
            kind = re.sub(r"""-?\d[\d.eE+-]*|'[^']*'|"[^"]*\"""", "...", refusal.message)
            groups.setdefault((place, kind), []).append((text, refusal.message))
    refusals = []
    for (place, _), texts in groups.items():
        text, message = min(texts, key=lambda each: _length(each[0]))
        refusals.append(Rejection(place, message, len(texts), text))
    return tuple(sorted(refusals, key=lambda each: (-each.count, each.path)))


def _length(text: str) -> tuple[int, str]:
    return len(text), text
