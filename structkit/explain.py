"""What of a target is enforced while decoding, what is checked after, what is refused; and what it costs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from structkit.errors import PatternError, UnsupportedKeyword
from structkit.limits import Limits
from structkit.regex.from_schema import Order
from structkit.schema.keywords import ANNOTATIONS, IMPLEMENTED, REFUSED
from structkit.schema.place import joined, step
from structkit.schema.references import subschemas
from structkit.targets import AnyTarget, Defaults, JsonSchema, Target, read_target

__all__ = ["Cost", "Explanation", "How", "Row", "explain"]

How: TypeAlias = Literal["enforced", "checked after", "refused", "annotation", "unknown"]

_MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Row:
    """One keyword at one place of the target's JSON Schema, and the reason where it is not enforced."""

    place: str
    keyword: str
    how: How
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the automaton of a target takes: rules, states, bytes, and the seconds that making it took now."""

    rules: int
    states: int
    nbytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """What becomes of a target, keyword by keyword.

    Attributes:
        name: What the target is called.
        rows: The keywords, in the order of the schema.
        cost: What the automaton takes; `None` if something is refused.
    """

    name: str
    rows: tuple[Row, ...]
    cost: Cost | None

    @property
    def enforced(self) -> bool:
        """Whether everything that constrains is enforced while decoding."""
        return all(row.how not in ("checked after", "refused") for row in self.rows)

    def __str__(self) -> str:
        """A table."""
        cells = [("place", "keyword", "how", "reason")]
        cells += [(row.place, row.keyword, row.how, row.reason) for row in self.rows]
        widths = [min(max(len(row[column]) for row in cells), 60) for column in range(3)]
        lines = [
            "  ".join(
                (*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3])
            ).rstrip()
            for row in cells
        ]
        if self.cost is not None:
            cost = self.cost
            lines.append(
                f"{cost.rules} rules, {cost.states} states, {cost.nbytes:,} bytes, {1000 * cost.seconds:.1f} ms"
            )
        return "\n".join(lines)


def explain(
    target: AnyTarget,
    *,
    defaults: Defaults = "always",
    order: Order = "declared",
    limits: Limits = Limits(),  # noqa: B008
) -> Explanation:
    """Say what of a target is enforced, and what that costs; nothing that can be refused is raised.

    Args:
        target: A type, a JSON Schema as a dict or `JsonSchema`, `Regex` or `Choice`.
        defaults: As for `generate`.
        order: As for `generate`.
        limits: As for `generate`.

    >>> found = explain({"type": "array", "unevaluatedItems": False})
    >>> [(row.keyword, row.how) for row in found.rows]
    [('type', 'enforced'), ('unevaluatedItems', 'refused')]

    Raises:
        SchemaError: The target is no schema, or no value satisfies it.
        LimitExceeded: It is too large.
    """
    refusals: dict[tuple[str, str], str] = {}
    cost: Cost | None = None
    left: How = "refused"
    if isinstance(target, Mapping):
        target = JsonSchema(target)
    if isinstance(target, JsonSchema):
        left = "refused" if target.strict else "checked after"
        target = JsonSchema(target.schema, target.additional, strict=False)
    read: Target[object] | None = None
    try:
        read = read_target(target, defaults=defaults, limits=limits)
        refusals.update({(one.place, one.keyword): one.reason for one in read.unenforced()})
        cost = _cost(read, order, limits)
    except UnsupportedKeyword as error:
        refusals[error.place or "$", error.keyword] = error.message
    except PatternError as error:
        refusals[error.place or "$", "pattern"] = error.message
    schema = target.schema if isinstance(target, JsonSchema) else read.json_schema() if read else {}
    rows = [
        row if (reason := refusals.pop((row.place, row.keyword), None)) is None
        else Row(row.place, row.keyword, left, reason)
        for row in _rows(schema)
    ]  # fmt: skip
    rows += [Row(place, keyword, left, reason) for (place, keyword), reason in refusals.items()]
    name = read.name if read else getattr(target, "__name__", repr(target))
    return Explanation(name, tuple(rows), None if any(row.how == "refused" for row in rows) else cost)


def _cost(read: Target[object], order: Order, limits: Limits) -> Cost:
    # What only reads a schema should not load the kernels.
    from structkit.automaton.link import link

    begin = time.perf_counter()
    automaton = link(read.rules(order=order, limits=limits), limits)
    seconds = time.perf_counter() - begin
    arrays = (automaton.row, automaton.targets, automaton.classes, automaton.final, automaton.call_rule)
    return Cost(len(automaton.start), len(automaton.row), sum(array.nbytes for array in arrays), seconds)


def _rows(schema: Mapping[str, object]) -> Iterator[Row]:
    """The keywords of a schema and of all inside, outer ones first."""
    pending: list[tuple[tuple[str, ...], Mapping[str, object]]] = [((), schema)]
    count = 0
    while pending:
        pointer, current = pending.pop()
        place = "$" + joined([step(int(part) if part.isdigit() else part) for part in pointer])
        for keyword in current:
            count += 1
            if count > _MOST_ROWS:
                return
            yield Row(place, keyword, *_said(keyword))
        inner = [((*pointer, *path), one) for path, one in subschemas(current) if isinstance(one, Mapping)]
        pending += reversed(inner)


def _said(keyword: str) -> tuple[How, str]:
    if keyword in IMPLEMENTED:
        return "enforced", ""
    if keyword in REFUSED:
        return "refused", REFUSED[keyword]
    if keyword in ANNOTATIONS:
        return "annotation", ""
    return "unknown", "the specification says that unknown keywords are ignored"
