"""Whether a guide and what it was made from agree: random sentences are validated, valid values are fed back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from typing_extensions import Unpack

from structkit.proof.chance import Seeded
from structkit.proof.language import Compiling, Language
from structkit.proof.mutants import mutants, shape
from structkit.proof.oracle import Oracle, oracle_of
from structkit.proof.report import CheckReport, Counterexample, Refusal, Side
from structkit.proof.shrink import shrunk
from structkit.schema.judge import Refused
from structkit.targets import AnyTarget

__all__ = ["check"]

_SHOWN = 20
"""Counterexamples that a report keeps."""

_MUTANTS = 2
"""Changed values for each sentence."""

_SHRUNK, _TRIES = 5, 500
"""Counterexamples that are made smaller, and the values tried for each."""

_UNWRITTEN = "it is the canonical text of a value that is accepted"

_OTHERWISE = "what pydantic dumps of this type is not what it reads, so changed values were not fed back"

_QUOTED = "what may be quoted is said by the source and not by the type, so changed values were not fed back"


def check(target: AnyTarget, *, n: int = 1000, seed: int = 0, **options: Unpack[Compiling]) -> CheckReport:
    """Look for texts about which a guide and its target disagree.

    Two ways: random sentences of the compiled language are validated, with pydantic for a type and with `jsonschema`
    for a JSON Schema; and values that these accept, those of the sentences and changed ones, some of them at the bounds
    that the schema names, are written canonically and must be in the language.

    A validator of your own that refuses a sentence is no counterexample: no mask can know what it will say. The report
    counts these apart, for each costs an attempt.

    Args:
        target: A type, a JSON Schema as a dict, `structkit.Regex` or `structkit.Choice`.
        n: How many random sentences.
        seed: Another seed, other sentences.
        **options: `defaults`, `order`, `null`, `whitespace`, `source` and `limits`, as for `structkit.compile`.

    Returns:
        The report. Nothing is raised for a counterexample; `assert report.ok, str(report)` shows all of it.

    Raises:
        StructkitError: The target cannot be compiled, as in `structkit.compile`.
        GenerationError: Even the shortest text has more than 200,000 bytes.
        ImportError: For a JSON Schema, without the package `jsonschema`.
        ValueError: `n` is less than 1.

    >>> report = check(dict[str, int | None], n=100)
    >>> report.ok, report.n, report.refusal_rate
    (True, 100, 0.0)
    """
    if n < 1:
        raise ValueError(f"n must be 1 or more, not {n}")
    language = Language.of(target, **options)
    oracle = oracle_of(target, language.target).forming(language.formed)
    findings = _Findings()
    accepted = [
        text
        for text in (language.sentence(Seeded(f"{seed} {number}")) for number in range(n))
        if findings.judged(text, oracle.refusal(text))
    ]
    if oracle.dump is not None:
        _feed_back(accepted, language, oracle, findings, Seeded(f"{seed} changed"))
    return CheckReport(
        name=language.target.name,
        n=n,
        fed=len(findings.fed),
        respelled=findings.respelled,
        found=len(findings.counterexamples),
        counterexamples=_smallest(language, oracle, findings),
        refusals=findings.refusals(),
        note=findings.note,
    )


@dataclass
class _Findings:
    """What was found so far."""

    counterexamples: dict[str, Counterexample] = field(default_factory=dict)
    fed: set[str] = field(default_factory=set)
    respelled: int = 0
    note: str = ""
    _refused: dict[tuple[str, str], list[tuple[str, str]]] = field(default_factory=dict)

    def judged(self, text: str, refusal: Refused | None) -> bool:
        """Note what was said of a sentence; whether it was accepted."""
        if refusal is None:
            return True
        if refusal.by_validator:
            place = re.sub(r"\[\d+\]", "[]", refusal.place)
            # Numbers and quoted texts in messages differ from value to value.
            kind = re.sub(r"""-?\d[\d.eE+-]*|'[^']*'|"[^"]*\"""", "...", refusal.message)
            self._refused.setdefault((place, kind), []).append((text, refusal.message))
        else:
            self.add(text, "written but refused", f"{refusal.message} at `{refusal.place}`")
        return False

    def add(self, text: str, side: Side, error: str) -> None:
        self.counterexamples.setdefault(text, Counterexample(text, side, error))

    def refusals(self) -> tuple[Refusal, ...]:
        refusals = []
        for (place, _), texts in self._refused.items():
            text, message = min(texts, key=lambda each: (len(each[0]), each[0]))
            refusals.append(Refusal(place, message, len(texts), text))
        return tuple(sorted(refusals, key=lambda each: (-each.count, each.place)))


def _feed_back(
    accepted: Sequence[str], language: Language, oracle: Oracle, findings: _Findings, chance: Seeded
) -> None:
    """Feed canonical texts of valid values into the guide."""
    otherwise = 0
    for text in accepted:
        again = oracle.canonical(text)
        if again is None:
            otherwise += 1
        elif again not in findings.fed and not language.holds(again):
            findings.respelled += 1
            otherwise += 0 if _alike(text, again) else len(accepted)
        findings.fed.add(again or text)
    if language.target.has_quotes or otherwise * 2 > len(accepted):
        findings.note = _QUOTED if language.target.has_quotes else _OTHERWISE
        return
    values = [json.loads(text) for text in accepted]
    for value in mutants(values, oracle.hints, chance, _MUTANTS * len(values)):
        text = language.text(value)
        again = oracle.canonical(text)
        if again is None or again in findings.fed or not _alike(text, again):
            continue
        findings.fed.add(again)
        if not language.holds(again):
            if _is_written(text, again, language, oracle):
                findings.respelled += 1
            else:
                findings.add(again, "accepted but not written", _UNWRITTEN)


def _is_written(text: str, again: str, language: Language, oracle: Oracle) -> bool:
    """Whether the value of a dump is in the language in another spelling."""
    value = json.loads(again, parse_float=Decimal)
    for other in (text, _plain(again)):
        read = oracle.canonical(other) if language.holds(other) else None
        if read is not None and json.loads(read, parse_float=Decimal) == value:
            return True
    return False


_STRING_OR_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*')


def _plain(text: str) -> str:
    """A JSON text with whole numbers as integers and no exponents.

    >>> _plain('[1.0, 5e-3, "1.0"]')
    '[1, 0.005, "1.0"]'
    """
    return _STRING_OR_NUMBER.sub(lambda found: _plain_number(found[0]), text)


def _plain_number(text: str) -> str:
    if text.startswith('"'):
        return text
    exact = Decimal(text)
    return f"{int(exact)}" if exact == int(exact) else f"{exact:f}"


def _smallest(language: Language, oracle: Oracle, findings: _Findings) -> tuple[Counterexample, ...]:
    """The counterexamples, each made smaller while it remains one, the shortest first."""
    ordered = sorted(findings.counterexamples.values(), key=_length)
    if language.target.is_json:
        ordered = [*(_shrunk(each, language, oracle) for each in ordered[:_SHRUNK]), *ordered]
    distinct = {each.text: each for each in sorted(ordered, key=_length)}
    return tuple(distinct.values())[:_SHOWN]


def _shrunk(found: Counterexample, language: Language, oracle: Oracle) -> Counterexample:
    def written(value: object) -> bool:
        text = language.text(value)
        refusal = oracle.refusal(text) if language.holds(text) else None
        return refusal is not None and not refusal.by_validator

    def unwritten(value: object) -> bool:
        text = language.text(value)
        again = oracle.canonical(text)
        alike = again == text and not language.holds(text)
        return alike and not _is_written(text, text, language, oracle)

    shows = written if found.side == "written but refused" else unwritten
    value = json.loads(found.text)
    if not shows(value):  # its spelling matters
        return found
    text = language.text(shrunk(value, shows, _TRIES))
    refusal = oracle.refusal(text)
    error = found.error if refusal is None else f"{refusal.message} at `{refusal.place}`"
    return replace(found, text=text, error=error)


def _length(found: Counterexample) -> tuple[int, str]:
    return len(found.text), found.text


def _alike(text: str, again: str) -> bool:
    """Whether a dump has the names and kinds of what was read: else it is no spelling of it.

    Serializers, aliases for writing alone and fields that are not dumped make another text than is read.
    """
    read, dumped = json.loads(text), json.loads(again)
    return shape(read) == shape(dumped) or shape(_without_nulls(read)) == shape(_without_nulls(dumped))


def _without_nulls(value: object) -> object:
    """A value without the fields that may be left out just as well."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
