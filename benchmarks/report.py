"""The tables of a run in Markdown, and its failures as dicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.plot import Panel
from benchmarks.verdict import Kind, Outcome

__all__ = ["PERCENTILES", "failures_of", "panels", "report", "spread"]

PERCENTILES = (25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)

_GROUPS = ("engine", "reason", "schemas", "with instances")

_KINDS: tuple[Kind, ...] = ("passed", "too loose", "too strict", "refused", "timeout", "crashed")


def report(outcomes: Mapping[str, Sequence[Outcome]], peaks: Mapping[str, int], *, limit: float) -> str:
    """Return the tables: counts, times in µs, memory, and the reasons of rejections.

    Args:
        outcomes: By engine.
        peaks: Peak bytes of each engine's process.
        limit: Time limit of a schema in seconds; a timeout before the first mask counts as this time.
    """
    common = _accepted_by_all(outcomes)
    return "\n\n".join(
        (
            _table(("", *_count_header()), [row for e in outcomes for row in _counts(e, outcomes[e])]),
            "Time from the schema to the first mask, µs (without refused schemas):",
            _times({engine: _first_masks(outcomes[engine], limit) for engine in outcomes}),
            "One mask and one advance, µs:",
            _times({engine: [s for o in outcomes[engine] for s in o.steps] for engine in outcomes}),
            "The same two times, for the schemas that every engine accepted and compiled in time:",
            _times({engine: _first_masks(common[engine], limit) for engine in common}),
            _times({engine: [s for o in common[engine] for s in o.steps] for engine in common}),
            "Time to a refusal, µs:",
            _times({e: [o.first_mask or 0.0 for o in outcomes[e] if o.kind == "refused"] for e in outcomes}),
            "Memory up to the first mask, KiB per schema, and the peak of the process in MiB:",
            _memory(outcomes, peaks),
            "Refused:",
            _table(_GROUPS, [row for e in outcomes for row in _groups(e, outcomes[e])]),
        )
    )


def _accepted_by_all(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, list[Outcome]]:
    """Return, by engine, the outcomes of the schemas that every engine supports."""
    accepted = [
        {o.name for o in each if o.kind not in ("refused", "timeout", "crashed")}
        for each in outcomes.values()
    ]
    common = set.intersection(*accepted)
    return {engine: [o for o in each if o.name in common] for engine, each in outcomes.items()}


def panels(outcomes: Mapping[str, Sequence[Outcome]], *, limit: float) -> list[Panel]:
    """Draw the times as two panels: rarity of a longer time on the x-axis, time on the y-axis."""
    first_masks = {engine: _first_masks(outcomes[engine], limit) for engine in outcomes}
    steps = {engine: [step for outcome in outcomes[engine] for step in outcome.steps] for engine in outcomes}
    titles = (
        "µs to the first mask: one in n takes longer",
        "µs for a mask and an advance: one in n takes longer",
    )
    return [
        Panel(title, {engine: _tail(seconds) for engine, seconds in times.items() if len(seconds)}, {})
        for title, times in zip(titles, (first_masks, steps), strict=True)
    ]


def _tail(seconds: Sequence[float]) -> list[tuple[float, float]]:
    """Return points (n, t): one in n takes longer than t microseconds."""
    rare = [4 / 3, 2, 4, 10, 20, 100, 1000]
    values = 1e6 * np.percentile(np.asarray(seconds), [100 - 100 / each for each in rare])
    return [(each, float(value)) for each, value in zip(rare, values, strict=True) if each <= len(seconds)]


def failures_of(engine: str, outcome: Outcome) -> Iterator[dict[str, object]]:
    """Yield the failures of one schema: a dict for each wrong verdict, or one for the schema."""
    common = {"engine": engine, "id": outcome.name, "kind": outcome.kind, "tested": outcome.tested}
    if outcome.kind in ("refused", "timeout", "crashed"):
        yield {**common, "group": outcome.group, "reason": outcome.reason, "seconds": outcome.first_mask}
    for number, verdict in enumerate(outcome.verdicts):
        if verdict.valid != verdict.accepted:
            kind = "too strict" if verdict.valid else "too loose"
            location = {"instance": number, "token": verdict.stopped, "tokens": verdict.tokens}
            yield {**common, "kind": kind, **location, "reason": verdict.reason}


def spread(seconds: Sequence[float]) -> list[float]:
    """Return percentiles, maximum and mean, in µs."""
    if not len(seconds):
        return [float("nan")] * (len(PERCENTILES) + 2)
    micros = np.asarray(seconds) * 1e6
    return [*np.percentile(micros, PERCENTILES).tolist(), float(micros.max()), float(micros.mean())]


def _count_header() -> tuple[str, ...]:
    return ("schemas", *_KINDS, "passed %", "instances", "tokens")


def _counts(engine: str, outcomes: Sequence[Outcome]) -> Iterator[list[str]]:
    for name, chosen in (
        (engine, outcomes),
        (f"{engine}, with instances", [o for o in outcomes if o.tested]),
    ):
        kinds = Counter(outcome.kind for outcome in chosen)
        share = 100 * kinds["passed"] / max(1, len(chosen))
        instances = sum(len(outcome.verdicts) for outcome in chosen)
        tokens = sum(len(outcome.steps) for outcome in chosen)
        numbers = [len(chosen), *(kinds[kind] for kind in _KINDS)]
        yield [name, *map(str, numbers), f"{share:.1f}", str(instances), str(tokens)]


def _first_masks(outcomes: Sequence[Outcome], limit: float) -> list[float]:
    accepted = [o for o in outcomes if o.kind != "refused"]
    times = [
        o.first_mask if o.first_mask is not None else limit
        for o in accepted
        if o.first_mask or o.kind == "timeout"
    ]
    return times


def _times(by_engine: Mapping[str, Sequence[float]]) -> str:
    header = ("", "n", *(f"p{p:g}" for p in PERCENTILES), "max", "mean")
    return _table(header, [[e, str(len(s)), *map(_short, spread(s))] for e, s in by_engine.items()])


def _memory(outcomes: Mapping[str, Sequence[Outcome]], peaks: Mapping[str, int]) -> str:
    rows = []
    for engine, chosen in outcomes.items():
        growth = np.array(
            [o.memory / 1024 for o in chosen if o.first_mask is not None and o.kind != "refused"] or [0]
        )
        numbers = [*np.percentile(growth, (50, 90, 99)), growth.max(), growth.mean()]
        rows.append([engine, *map(_short, map(float, numbers)), f"{peaks[engine] / 2**20:.0f}"])
    return _table(("", "p50", "p90", "p99", "max", "mean", "peak MiB"), rows)


def _groups(engine: str, outcomes: Sequence[Outcome]) -> Iterator[list[str]]:
    refused = [outcome for outcome in outcomes if outcome.kind == "refused"]
    tested = Counter(outcome.group for outcome in refused if outcome.tested)
    for group, count in Counter(outcome.group for outcome in refused).most_common():
        yield [engine, group, str(count), str(tested[group])]


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
