"""Select the definitions and values that are lowered on first use.

A rule can be lowered and built in the middle of a text only if nothing can go wrong there: the schema is supported, it
has a value, and its automaton is small. `Summaries` proves this from the schema alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from math import floor
from typing import cast

from structkit.errors import LimitExceeded, PatternError
from structkit.limits import Limits
from structkit.lowering.containers.notation import Notation
from structkit.lowering.containers.objects import MAX_LAZY_SIZE
from structkit.lowering.small import MAX_REPETITIONS, is_small
from structkit.lowering.strings.raw_text import raw_language
from structkit.lowering.strings.rfc import MAX_COUNTED, format_example
from structkit.lowering.strings.strings import MAX_LAZY_LENGTH
from structkit.lowering.usage import differ_at_the_start
from structkit.regex.charset import ANY
from structkit.regex.example import example_text
from structkit.regex.json_string import json_text, with_separators
from structkit.regex.nodes import (
    NEVER,
    CharClass,
    Choice,
    Intersection,
    LiteralText,
    Node,
    Repeat,
    RuleRef,
    Seq,
    seq,
)
from structkit.regex.size_bound import is_small_string
from structkit.regex.walk import exceeds_size
from structkit.schema.algebra.membership import contains_value
from structkit.schema.algebra.string_oracle import UNDECIDED
from structkit.schema.ir.nodes import (
    FREE_STRING,
    Anything,
    Array,
    Boolean,
    Const,
    Integer,
    Never,
    Null,
    Number,
    Object,
    Ref,
    Schema,
    String,
    Union,
)

__all__ = [
    "LARGE_DOCUMENT",
    "Summaries",
    "Summary",
    "constants_discount",
]

_MIN_DEFERRED_SIZE = 8
"""Smallest schema, in schemas, that is deferred; a smaller one is not worth a rule of its own."""

_MIN_DEFERRED_DEFINITION = 4
"""Smallest definition, in schemas, that is deferred in a large document."""

LARGE_DOCUMENT = 200
"""Smallest size of a large document, in schemas."""

_FEW_STATES, _RANGE_STATES, _MANY_STATES = 20, 500, 2_000
"""Bounds on the states of a call or a small node, of a range of numbers, and of a format."""

_COUNTED_STATES = 500
"""Bound on the states that each character of a minimum length adds to a format."""

_MAX_EXAMPLE_LENGTH = 10_000
"""Largest length, in characters, of an example."""

_SMALL_BOUND, _MAX_BOUND_DIGITS = 10**15, 20
"""Exclusive limit of the bounds of a range of numbers, in magnitude, and of their digits, if its automaton is small."""

_MAX_REPEATED_STATES = 8_000
"""Largest number of states of an array with many items if they are written out."""


@dataclass(slots=True)
class Summary:
    """The properties of a simple schema, found without lowering it.

    Attributes:
        size: The number of schemas in its rule; a part that is deferred counts as one.
        states: An upper bound on the states of its rule.
        total: The number of all schemas.
        example: A part of its texts: a text, or a sequence of texts and calls.
        is_enumeration: Whether it is a union of constants.
    """

    size: int
    states: int
    total: int
    example: Node
    is_enumeration: bool = False


class Summaries:
    """The summaries of the schemas of one document.

    Args:
        lowered: The definitions lowered so far: node, height, whether the automaton is small, and size.
        postponed: The simple definitions that are lowered on first use, to be copied.
        notation: The spelling of values.
        comma: Separator of items and entries.
        colon: Separator of a key and its value.
        limits: Bounds the states of deferred rules.
        python: Whether patterns are in pydantic's dialect.
    """

    def __init__(
        self,
        lowered: Mapping[str, tuple[Node, int, bool, int]],
        postponed: Mapping[str, Summary],
        notation: Notation,
        comma: str,
        colon: str,
        limits: Limits = Limits(),  # noqa: B008
        *,
        python: bool = False,
    ) -> None:
        self._limits, self._python = limits, python
        # A state has at most 256 transitions. Half of each limit is a margin: the bounds on states are estimates.
        self._max_states = min(limits.states, limits.nfa_states, limits.transitions // 256) // 2
        self._lowered = lowered
        self._postponed = postponed
        self._notation = notation
        self._separators = comma, colon
        self._comma = LiteralText(comma)
        self._colon = colon
        self._simple: Mapping[type[Schema], Summary] = {
            Boolean: _leaf(notation.true),
            Null: _leaf(notation.null),
            Anything: _ZERO,
        }
        self._found: dict[int, tuple[Schema, Summary | None]] = {}

    def of(self, schema: Schema) -> Summary | None:
        """Return the summary of a schema; `None` if it is not simple.

        A simple schema has a value (if its references have), is supported, and has a small automaton.
        """
        if schema is FREE_STRING:  # the most frequent case
            return _STRING
        if not isinstance(schema, (Object, Array, Union)):
            return self._simple.get(type(schema)) or self._leaf(schema)
        known = self._found.get(id(schema))
        if known is None:  # the schema is kept, so that no other one gets its id
            known = self._found[id(schema)] = schema, self._composite(schema)
        return known[1]

    def _leaf(self, schema: Schema) -> Summary | None:
        """Return the summary of a schema without subschemas."""
        match schema:
            case String():
                if schema.patterns:
                    return _pattern(schema, self._python, self._limits)
                return _STRING if schema == FREE_STRING else _string(schema)
            case Ref(name):
                return self._reference(name)
            case Const():
                return _leaf(self._text(schema)) if is_small(schema) else None
            case Integer():
                return _integer(schema)
            case Number():
                return _ZERO if schema == _ANY_NUMBER else _number(schema)
            case _:
                return None

    def _text(self, constant: Const) -> str:
        """Return the text of a constant."""
        text = constant.text
        return text if text[0] == '"' else self._notation.render(with_separators(text, *self._separators))

    def _composite(self, schema: Object | Array | Union) -> Summary | None:
        match schema:
            case Object():
                return self._object(schema) if is_small(schema) else None
            case Array():
                return self._array(schema)
            case Union(branches):
                return self._union(branches) if is_small(schema) else None

    def _reference(self, name: str) -> Summary | None:
        """Return the summary of a reference; `None` if the definition is empty, or large and not a rule."""
        if (postponed := self._postponed.get(name)) is not None:
            return Summary(postponed.size, postponed.states, 1, postponed.example)
        node, _, small, size = self._lowered.get(name, (RuleRef(f"#{name}"), 0, True, 1))
        if not small or node is NEVER:
            return None
        return Summary(size, _FEW_STATES if isinstance(node, RuleRef) else size * _MANY_STATES, 1, node)

    def _object(self, schema: Object) -> Summary | None:
        if schema.any_order:
            return None
        example: list[Node] = []
        size = total = 1
        states = names = _FEW_STATES
        for prop in schema.properties:
            value = self.of(prop.value)
            if value is None or not prop.name.isascii():
                if isinstance(prop.value, Never) and not prop.required:
                    continue
                return None
            # A small part is not deferred, and most parts are small.
            is_small_part = value.size < _MIN_DEFERRED_SIZE
            inside = (value.size, value.states) if is_small_part else self._within(prop.value, value)
            size += inside[0]
            states += inside[1]
            names += _FEW_STATES + 6 * len(prop.name)  # each character may be escaped
            total += value.total
            if prop.required:
                key = LiteralText(json_text(prop.name) + self._colon)
                example += (self._comma, key, value.example)
        for group in schema.additional:
            value = self.of(group.value)
            if value is None:
                return None
            part_size, part_states = self._within(group.value, value)
            size += part_size
            states += part_states + names  # the keys differ from the declared ones
            total += value.total
        return _summary(size, states + names, total, _OPEN_BRACE, example, _CLOSE_BRACE)

    def _array(self, schema: Array) -> Summary | None:
        has_items = not isinstance(schema.items, Never)
        schemas = (*schema.prefix, schema.items) if has_items else schema.prefix
        found = [part for each in schemas if (part := self.of(each)) is not None]
        if schema.unique_items or schema.contains or not schemas or len(found) < len(schemas):
            return None
        if not has_items and schema.min_items > len(schemas):
            return None
        sizes, states = zip(*map(self._within, schemas, found), strict=True)
        total = sum([part.total for part in found], 1)
        count = max(schema.min_items, schema.max_items or 0, 1)
        bound = (_FEW_STATES + sum(states)) * count
        if count > MAX_REPETITIONS and bound > _MAX_REPEATED_STATES:
            return None
        found += [found[-1]] * (schema.min_items - len(found))
        example = [each for part in found[: schema.min_items] for each in (self._comma, part.example)]
        return _summary(1 + sum(sizes), bound, total, _OPEN_BRACKET, example, _CLOSE_BRACKET)

    def _union(self, branches: Sequence[Schema]) -> Summary | None:
        if (constants := _constants_of(branches)) is not None:
            return self._enumeration(constants)
        found = [part for branch in branches if (part := self.of(branch)) is not None]
        if len(found) < len(branches) or not differ_at_the_start(branches):
            return None
        # A branch that calls a rule may have no text.
        texts = [part.example for part in found if isinstance(part.example, LiteralText)]
        if not texts:
            return None
        sizes, states = zip(*map(self._within, branches, found), strict=True)
        size = 1 + sum(sizes) - constants_discount(sum([isinstance(branch, Const) for branch in branches]))
        shortest = min(texts, key=lambda text: len(text.value))
        return Summary(size, sum(states), sum([part.total for part in found], 1), shortest)

    def _enumeration(self, constants: Sequence[Const]) -> Summary | None:
        """Return the summary of a union of constants."""
        if not all(map(is_small, constants)):
            return None
        texts, count = list(map(self._text, constants)), len(constants)
        states = _FEW_STATES * count + 6 * sum(map(len, texts))
        size = 1 + count - constants_discount(count)
        return Summary(size, states, 1 + count, LiteralText(min(texts, key=len)), is_enumeration=True)

    def of_rule(self, schema: Schema) -> Summary | None:
        """Return the summary of a value that is worth a rule; see `is_worth_a_rule`."""
        if _is_surely_inline(schema):
            return None
        summary = self.of(schema)
        return summary if summary is not None and self.is_worth_a_rule(schema, summary) else None

    def is_worth_a_rule(self, schema: Schema, summary: Summary, *, is_large: bool = False) -> bool:
        """Return whether a simple schema is deferred: lowering it takes longer than a call, and its rule is small.

        Args:
            schema: A value or a definition.
            summary: Its summary.
            is_large: Whether it is a definition of a large document.
        """
        min_size = _MIN_DEFERRED_DEFINITION if is_large else _MIN_DEFERRED_SIZE
        if not min_size <= summary.size <= MAX_LAZY_SIZE or summary.states > self._max_states:
            return False
        # Constants are lowered quickly.
        return isinstance(schema, Object | Array) or (
            isinstance(schema, Union) and not summary.is_enumeration
        )

    def is_small(self, summary: Summary) -> bool:
        """Return whether a rule with this schema is certainly within the limits."""
        return summary.size <= MAX_LAZY_SIZE and summary.states <= self._max_states

    def _within(self, schema: Schema, summary: Summary) -> tuple[int, int]:
        """Return the size and the states of a part within the rule that contains it."""
        return (1, _FEW_STATES) if self.is_worth_a_rule(schema, summary) else (summary.size, summary.states)


def _is_surely_inline(schema: Schema) -> bool:
    """Return whether a value is not worth a rule: an enumeration, or one of a few parts without subschemas.

    Most values are; this takes a tenth of the time of their summaries.
    """
    parts: Sequence[Schema]
    match schema:
        case Union(parts):
            if _constants_of(parts) is not None:
                return True
        case Array():
            parts = (*schema.prefix, schema.items)
        case Object():
            parts = [prop.value for prop in schema.properties]
            parts += [group.value for group in schema.additional]
        case _:
            return False
    return len(parts) + 1 < _MIN_DEFERRED_SIZE and all(map(_is_leaf, parts))


def _is_leaf(schema: Schema) -> bool:
    """Return whether the summary of a schema has a size of one, if it has a summary."""
    return type(schema) in _LEAVES or (type(schema) is String and not schema.patterns)


def _constants_of(branches: Sequence[Schema]) -> Sequence[Const] | None:
    """Return the branches of a union if all are constants."""
    for branch in branches:
        if not isinstance(branch, Const):
            return None
    return cast("Sequence[Const]", branches)


_LEAVES = frozenset({Anything, Boolean, Const, Integer, Null, Number})

_OPEN_BRACE, _CLOSE_BRACE = LiteralText("{"), LiteralText("}")
_OPEN_BRACKET, _CLOSE_BRACKET = LiteralText("["), LiteralText("]")


def constants_discount(constants: int) -> int:
    """Return by how much constants count less than other schemas: each counts as an eighth."""
    return 7 * constants // 8


def _leaf(text: str, states: int = 0) -> Summary:
    """Return the summary of a schema without subschemas; by default, the text is the only one."""
    return Summary(1, states or _FEW_STATES + 6 * len(text), 1, LiteralText(text))


_ANY_NUMBER = Number()
_STRING, _ZERO = _leaf('""', _FEW_STATES), _leaf("0", _FEW_STATES)


def _summary(
    size: int, states: int, total: int, opening: Node, entries: Sequence[Node], closing: Node
) -> Summary | None:
    """Return the summary of an object or array; each entry of the example has a separator before it."""
    example = seq(opening, *entries[1:], closing)
    is_long = isinstance(example, LiteralText) and len(example.value) > _MAX_EXAMPLE_LENGTH
    return None if is_long else Summary(size, states, total, example)


def _string(schema: String) -> Summary | None:
    given = schema.format
    if given is None:
        unrestricted = String(min_length=schema.min_length, max_length=schema.max_length)
        is_simple = schema == unrestricted and schema.min_length <= MAX_LAZY_LENGTH
        return (
            _leaf(f'"{"0" * schema.min_length}"', _FEW_STATES + 20 * schema.min_length) if is_simple else None
        )
    example = format_example(schema)
    if example is None:
        return None
    return _leaf(f'"{example}"', _MANY_STATES + _COUNTED_STATES * min(schema.min_length, MAX_COUNTED))


@lru_cache(maxsize=256)
def _pattern(schema: String, python: bool, limits: Limits) -> Summary | None:
    """Return the summary of a string with patterns; an error is raised where it is lowered."""
    lengths = String(min_length=schema.min_length, max_length=schema.max_length, patterns=schema.patterns)
    if schema != lengths or schema.min_length > MAX_LAZY_LENGTH:
        return None
    try:
        body = raw_language(schema, python=python, limits=limits)
    except (PatternError, LimitExceeded):
        return None
    pattern, bounds = body, Repeat(ANY)
    match body:
        case Intersection(pattern, Repeat() as bounds, negate=False):
            pass
    text = example_text(pattern, bounds.min_count, bounds.max_count)
    if text is None or not text.isascii() or not is_small_string(body):
        return None
    states = _FEW_STATES if exceeds_size(pattern, _MAX_INLINE_NODES) else _states(body)
    return Summary(1, states, 1, LiteralText(json_text(text)))


_MAX_INLINE_NODES = 10
"""Fewest nodes of a pattern, without escapes, that certainly becomes a rule."""


def _states(node: Node) -> int:
    """Return a bound on the states of a small pattern, in which characters may be escaped."""
    match node:
        case LiteralText(value):
            return _FEW_STATES + 6 * len(value)
        case CharClass(ranges):
            return _FEW_STATES + 20 * len(ranges)
        case Repeat(part, min_count, max_count):
            return max(min_count, max_count or 1) * _states(part)
        case Seq(parts) | Choice(parts):
            return sum(map(_states, parts))
        case Intersection(left, Repeat(_, min_count), negate=False):
            return _states(left) * (min_count + 1)
        case _:
            return _MANY_STATES


def _number(schema: Number) -> Summary | None:
    """Return the summary of a range that contains an integer."""
    bounds = [bound.value for bound in (schema.minimum, schema.maximum) if bound is not None]
    if not is_small(schema) or not all(map(_is_short, bounds)):
        return None
    nearest = [floor(bound) + step for bound in bounds for step in (-1, 0, 1)]
    inside = (each for each in (0, *nearest) if contains_value(schema, each, UNDECIDED))
    example = next(inside, None)
    return None if example is None else _leaf(str(example), _RANGE_STATES)


def _is_short(bound: Decimal) -> bool:
    return abs(bound) < _SMALL_BOUND and len(bound.as_tuple().digits) <= _MAX_BOUND_DIGITS


def _integer(schema: Integer) -> Summary | None:
    low, high = schema.minimum, schema.maximum
    if low is None is high:
        return _ZERO if is_small(schema) else None
    if not is_small(schema) or any(abs(bound or 0) >= _SMALL_BOUND for bound in (low, high)):
        return None
    if low is not None and low > 0:
        return _leaf(str(low), _RANGE_STATES)
    return _leaf("0" if high is None or high >= 0 else str(high), _RANGE_STATES)
