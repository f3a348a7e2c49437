"""Explanations of a target: which keywords are enforced, checked after decoding or refused, and the cost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from structkit.errors import PatternError, UnsupportedKeyword
from structkit.grammar.findings.finding import GrammarFinding
from structkit.limits import Limits
from structkit.regex.nodes import Rules
from structkit.schema.ir.descend import format_step
from structkit.schema.ir.keywords import (
    ANNOTATIONS,
    DEPENDENT_KEYWORDS,
    FORMATS,
    PYDANTIC_CONSTRAINTS,
    keyword_status,
)
from structkit.schema.ir.path import SchemaPath, join_path, path_step
from structkit.schema.ir.refs import References, ReferenceTarget, subschemas
from structkit.schema.json_schema.relax_unsupported import keyword_of
from structkit.schema.json_schema.unknown import near_format, refused_keys
from structkit.schema.markers.json_style import Defaults, JsonStyle, NullFields, Order, Whitespace
from structkit.targets.grammar import Grammar
from structkit.targets.specs import JsonSchema
from structkit.targets.targets import AnyTarget, read_target
from structkit.trace.table import draw_table
from structkit.unenforced import Unenforced

__all__ = ["Cost", "Explanation", "KeywordRow", "KeywordStatus", "explain_target", "keyword_path"]

KeywordStatus: TypeAlias = Literal["enforced", "checked after", "refused", "annotation", "unknown"]


@dataclass(frozen=True, slots=True)
class KeywordRow:
    """A keyword of the target's JSON Schema: its path, its status, and the reason if it is not enforced.

    The guide enforces what is `"enforced"`: it masks tokens, or checks and corrects the replies of a text model.
    """

    path: str
    keyword: str
    how: KeywordStatus
    reason: str = ""
    server: Literal["", "enforced", "checked"] = ""
    """Whether the server of a text model enforces the keyword while it writes; empty without such a model."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The size of a target's automaton: rules, states and bytes, and the seconds its construction took.

    If texts make further rules without end, it is the size of what is built before the first token, and `is_growing` is
    true.
    """

    rules: int
    states: int
    nbytes: int
    seconds: float
    is_growing: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The status of each keyword of a target.

    Attributes:
        name: The name of the target.
        rows: The keywords, in the order of the schema.
        cost: The size of the automaton; `None` if a keyword is refused.
        findings: What the author of a Lark grammar may not expect, such as texts that a conflict loses.
    """

    name: str
    rows: tuple[KeywordRow, ...]
    cost: Cost | None
    findings: tuple[GrammarFinding, ...] = ()

    @property
    def enforced(self) -> bool:
        """Whether all constraints are enforced while decoding."""
        return all(row.how not in ("checked after", "refused") for row in self.rows)

    def __repr__(self) -> str:
        counts = Counter(row.how for row in self.rows)
        shown = ", ".join(f"{count} {how}" for how, count in counts.items())
        return f"<Explanation of {self.name}: {shown or 'no keywords'}>"

    def _repr_html_(self) -> str:
        more = ""
        if self.findings:
            header = ("line", "column", "kind", "name", "reason", "example")
            cells = ([getattr(found, name) for name in header] for found in self.findings)
            rows = [["" if cell is None else str(cell) for cell in row] for row in cells]
            more = draw_table("What the author of the grammar may not expect", header, rows)
        return draw_table(
            f"What is enforced of {self.name}", *self._cells(), note=self._cost_line(), more=more
        )

    def __str__(self) -> str:
        """Format the rows as a table, with the findings and the cost below."""
        header, rows = self._cells()
        cells = [header, *rows]
        widths = [min(max(len(row[column]) for row in cells), 60) for column in range(len(header) - 1)]
        lines = [
            "  ".join(
                (*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1])
            ).rstrip()
            for row in cells
        ]
        return "\n".join([*lines, *map(str, self.findings), *filter(None, [self._cost_line()])])

    def _cells(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the header and the rows of a table; only explanations for a text model have a column `server`."""
        if any(row.server for row in self.rows):
            return ("path", "keyword", "how", "server", "reason"), [
                (row.path, row.keyword, row.how, row.server, row.reason) for row in self.rows
            ]
        return ("path", "keyword", "how", "reason"), [
            (row.path, row.keyword, row.how, row.reason) for row in self.rows
        ]

    def _cost_line(self) -> str:
        if self.cost is None:
            return ""
        cost = self.cost
        rules, states = f"rule{'s' * (cost.rules != 1)}", f"state{'s' * (cost.states != 1)}"
        size = f"{cost.rules} {rules}, {cost.states} {states}, {cost.nbytes:,} bytes, {1000 * cost.seconds:.1f} ms"
        return f"{size}; texts make further rules" if cost.is_growing else size


def explain_target(
    target: AnyTarget,
    *,
    whitespace: Whitespace | None = None,
    defaults: Defaults | None = None,
    order: Order | None = None,
    null: NullFields | None = None,
    source: str | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> Explanation:
    """Explain which keywords of a target are enforced, and the cost; refused keywords are rows, not errors.

    Args:
        target: A type, a JSON Schema as a dict or `JsonSchema`, `Regex`, `Choice` or `Grammar`.
        whitespace: As for `generate`.
        defaults: As for `generate`.
        order: As for `generate`.
        null: As for `generate`.
        source: The source text of `Quote` fields; required if the target has any.
        limits: As for `generate`.

    >>> found = explain_target({"type": "array", "not": {"uniqueItems": True}})
    >>> [(row.keyword, row.how) for row in found.rows]
    [('type', 'enforced'), ('not', 'refused'), ('uniqueItems', 'refused')]

    Raises:
        SchemaError: The target is invalid, or no value satisfies it.
        LimitExceeded: The target is too large.
    """
    style = JsonStyle(whitespace=whitespace, defaults=defaults, order=order, null=null)
    schema: Mapping[str, object] = {}
    unenforced_status: KeywordStatus = "checked after"  # by the type itself
    if isinstance(target, Mapping):
        target = JsonSchema(target)
    if isinstance(target, JsonSchema):
        schema = target.schema
        unenforced_status = "refused" if target.strict else "checked after"
        # Lenient parsing reports all keywords that cannot be enforced, not only the first.
        target = replace(target, strict=False)
    name, cost = getattr(target, "__name__", repr(target)), None
    unenforced: tuple[Unenforced, ...] = ()
    narrowed: tuple[str, ...] = ()
    ignored: Set[str] = frozenset()
    try:
        parsed = read_target(target, policy=style, limits=limits)
        name, schema = parsed.name, parsed.json_schema()
        ignored = parsed.ignored_formats
        start_time = time.perf_counter()
        rules = parsed.rules(whitespace=whitespace, order=order, source=source, limits=limits)
        cost, part = _cost(rules, limits, start_time), parsed.validators()
        narrowed = rules.narrowed
        unenforced = (*rules.unenforced, *(part.own_functions if part is not None else ()))
    except (UnsupportedKeyword, PatternError) as error:
        unenforced = (Unenforced(error.place or "$", keyword_of(error), error.message),)
        if not isinstance(target, JsonSchema):
            unenforced_status = "refused"
    is_json_schema = isinstance(target, JsonSchema)
    refused = _refused(schema) if is_json_schema and unenforced_status == "refused" else {}
    rows = tuple(
        _rows(schema, unenforced, unenforced_status, refused, ignored, is_json_schema=is_json_schema)
    )
    rows = tuple([_with_narrowing(row, narrowed) for row in rows])
    findings: tuple[GrammarFinding, ...] = ()
    if isinstance(target, Grammar):
        findings = target.source.findings
        unused = ", ".join(target.source.unused)
        rows = (KeywordRow("$", "grammar", "enforced", f"never used: {unused}" if unused else ""),)
    is_refused = any(row.how == "refused" for row in rows)
    return Explanation(name, rows, None if is_refused else cost, findings)


def _cost(rules: Rules, limits: Limits, start_time: float) -> Cost:
    # Imported here because the kernels load slowly.
    from structkit.automaton.link import link

    automaton = link(rules, limits)
    is_growing = automaton.is_unbounded
    if not is_growing:
        automaton.build_all()
    seconds = time.perf_counter() - start_time
    count = len(automaton.built) if is_growing else len(automaton.start)
    return Cost(count, len(automaton.row), automaton.tables.nbytes, seconds, is_growing)


def _rows(
    schema: Mapping[str, object],
    unenforced: Sequence[Unenforced],
    fallback: KeywordStatus,
    refused: Mapping[tuple[tuple[str, ...], str], str],
    ignored_formats: Set[str],
    *,
    is_json_schema: bool,
) -> Iterator[KeywordRow]:
    """Yield rows for the keywords of a schema and its subschemas, outer first; then the reasons without a keyword."""
    paths = {keyword_path(pointer): pointer for pointer, _, _ in _keywords(schema)} if unenforced else {}
    reasons: dict[tuple[tuple[str, ...], str], str] = {}
    for one in unenforced:
        found = {paths[one.path]} if one.path in paths else set()
        # The automaton reports paths through the value, not through the schema.
        for pointer in found | _at_value(schema, one.path):
            for keyword in (one.keyword, *DEPENDENT_KEYWORDS.get(one.keyword, ())):
                reasons[pointer, keyword] = one.reason
    constraints = frozenset[str]() if is_json_schema else PYDANTIC_CONSTRAINTS
    reported = set[str]()
    unrestricted = _unrestricted(schema)
    for pointer, keyword, value in _keywords(schema):
        reason = reasons.get((pointer, keyword))
        if (pointer, keyword) in refused:
            yield KeywordRow(keyword_path(pointer), keyword, "refused", refused[pointer, keyword])
        elif (
            reason is None
            and keyword == "format"
            and (value in ignored_formats or (is_json_schema and value not in FORMATS))
        ):
            yield KeywordRow(keyword_path(pointer), keyword, "unknown", _unknown_format(value))
        elif reason is None and keyword == "required" and isinstance(value, bool):  # as in draft 3
            yield KeywordRow(keyword_path(pointer), keyword, "unknown", _REQUIRED)
        elif reason is None:
            is_enforced = keyword in constraints or keyword.startswith(
                "x-structkit-"
            )  # a marker, such as a quote
            status = "enforced" if is_enforced else keyword_status(keyword)
            found_reason = _ANY_JSON if (pointer, keyword) in unrestricted else _REASONS.get(status, "")
            yield KeywordRow(keyword_path(pointer), keyword, status, found_reason)
        else:
            reported.add(reason)
            yield KeywordRow(keyword_path(pointer), keyword, fallback, reason)
    for one in unenforced:
        if one.reason not in reported:
            yield KeywordRow(one.path, one.keyword, fallback, one.reason)


def _with_narrowing(row: KeywordRow, narrowed: Collection[str]) -> KeywordRow:
    """Return the row of a `oneOf` that lacks some of its objects."""
    if row.keyword != "oneOf" or row.how != "enforced" or row.path not in narrowed:
        return row
    return replace(row, reason=_NARROWED)


_NARROWED = "too many combinations: only objects are written that one key tells apart from other alternatives"

_ANY_JSON = "any JSON: no keyword restricts the value"

_REQUIRED = "ignored: since draft 4, `required` is a list of names beside `properties`"

_REASONS: Mapping[KeywordStatus, str] = {
    "unknown": "the specification says that unknown keywords are ignored"
}


def _unrestricted(schema: Mapping[str, object]) -> Set[tuple[tuple[str, ...], str]]:
    """Return the keywords that take any JSON, and one annotation of each schema that has nothing else.

    >>> _unrestricted({"properties": {"a": {"title": "A"}, "b": {"type": "array", "items": {}}}}) == {
    ...     (("properties", "a"), "title"),
    ...     (("properties", "b"), "items"),
    ... }
    True
    """
    found = set[tuple[tuple[str, ...], str]]()
    for pointer, current in _schemas(schema):
        found |= {
            (pointer, name) for name in ("additionalProperties", "items") if current.get(name) in (True, {})
        }
        if current and current.keys() <= ANNOTATIONS:
            found.add((pointer, next(iter(current))))
    return found


def _unknown_format(name: object) -> str:
    meant = near_format(name, sorted(FORMATS)) if isinstance(name, str) else None
    ignored = "the specification says that unknown formats are ignored"
    return ignored if meant is None else f"{ignored}; {meant!r} is one that is enforced"


def _refused(schema: Mapping[str, object]) -> dict[tuple[tuple[str, ...], str], str]:
    """Return why keys are refused that are no keywords, by the pointer of their schema and the key."""
    return {
        (pointer, key): reason
        for pointer, current in _schemas(schema)
        for key, reason in refused_keys(current, SchemaPath(keyword_path(pointer)))
    }


def _keywords(schema: Mapping[str, object]) -> Iterator[tuple[tuple[str, ...], str, object]]:
    for pointer, current in _schemas(schema):
        yield from ((pointer, keyword, value) for keyword, value in current.items())


def _schemas(schema: Mapping[str, object]) -> Iterator[tuple[tuple[str, ...], Mapping[str, object]]]:
    """Yield a schema and its subschemas with their pointers."""
    pending: list[tuple[tuple[str, ...], Mapping[str, object]]] = [((), schema)]
    while pending:
        pointer, current = pending.pop()
        yield pointer, current
        inner = [((*pointer, *path), one) for path, one in subschemas(current) if isinstance(one, Mapping)]
        pending += reversed(inner)


def keyword_path(pointer: Sequence[str]) -> str:
    """Return the path of the schema at a pointer, as in `KeywordRow.path`."""
    return "$" + join_path([path_step(int(part) if part.isdigit() else part) for part in pointer])


def _at_value(schema: Mapping[str, object], target_path: str) -> set[tuple[str, ...]]:
    """Return the subschemas for a path through a value, such as `$.people[].age`."""
    references = References(schema)
    pending, done = [("$", references.root)], set[tuple[str, ReferenceTarget]]()
    while pending:
        path, current = pending.pop()
        if target_path.startswith(path) and (path, current) not in done:
            done.add((path, current))
            pending += [(path + format_step(step), inner) for _, step, inner in references.inside(current)]
    return {target.pointer for path, target in done if path == target_path}
