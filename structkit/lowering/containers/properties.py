"""The entries of an object: declared entries in order, then additional ones, and their counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Protocol

from structkit.errors import UnsupportedKeyword
from structkit.lowering.containers.contains import interleave
from structkit.regex.json_string import min_defined
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    ListPart,
    LiteralText,
    Node,
    Repeat,
    SeparatedList,
    choice,
    seq,
)
from structkit.regex.walk import exceeds_size
from structkit.schema.ir.nodes import Object

__all__ = ["any_order_bounds", "counts_many", "entries", "entries_with_required"]

_MAX_COUNTING_ALTERNATIVES = 20_000
"""Maximum number of alternatives in the rules that count the entries of one object."""

_MAX_INLINE_NODES = 64
"""Largest entry, in nodes, that is copied to each of its positions; a larger one becomes a rule."""


def entries(
    declared: Sequence[ListPart],
    additional: Node,
    min_count: int,
    max_count: int | None,
    *,
    comma: str,
    rule: Callable[[Node, str], Node],
    path: str,
    max_additional: int | None = None,
) -> Node:
    """Return the language between the braces of an object.

    Args:
        declared: The declared entries, required (`min_count` 1) or optional (`min_count` 0).
        additional: One additional entry; `NEVER` for none.
        min_count: Minimum number of entries.
        max_count: Maximum number of entries; `None` for no maximum.
        comma: Separator of entries.
        rule: Adds a node as a rule of a given name and returns the call.
        path: The schema path, for errors and the names of rules.
        max_additional: Maximum number of additional entries; `None` for no maximum.

    >>> parts = [ListPart(LiteralText("a")), ListPart(LiteralText("b"))]
    >>> entries(parts, NEVER, 0, None, comma=", ", rule=lambda node, name: node, path="$")
    LiteralText(value='a, b')

    Raises:
        UnsupportedKeyword: There are too many optional entries to count.
    """
    needed, total = 0, len(declared)
    for part in declared:
        if part.node is NEVER:
            return NEVER
        needed += part.min_count
    if max_count is not None and max_count < max(needed, min_count):
        return NEVER
    if additional is NEVER and total < min_count:
        return NEVER
    if needed == total:
        low, high = max(min_count - total, 0), None if max_count is None else max_count - total
    elif min_count <= needed and (max_count is None or (additional is NEVER and max_count >= total)):
        low, high = 0, None
    else:

        def rest(low: int, high: int | None, *, started: bool) -> Node:
            return _rest(additional, low, min_defined(high, max_additional), comma, started=started)

        return _counted_entries(declared, rest, min_count, max_count, comma, rule, path)
    high = min_defined(high, max_additional)
    if high is not None and high < low:
        return NEVER
    parts = (*declared,) if additional is NEVER or high == 0 else (*declared, ListPart(additional, low, high))
    if needed < total or len(parts) > total:
        return SeparatedList(parts, comma)
    # All entries are required: one sequence, whose literals merge.
    return seq(*[piece for part in declared for piece in (comma, part.node)][1:])


class _Rest(Protocol):
    """Lowers the additional entries, after the declared ones."""

    def __call__(self, low: int, high: int | None, *, started: bool) -> Node:
        """Return from `low` to `high` entries."""


def _counted_entries(
    declared: Sequence[ListPart],
    rest: _Rest,
    min_count: int,
    max_count: int | None,
    comma: str,
    rule: Callable[[Node, str], Node],
    path: str,
) -> Node:
    """Return a rule for each declared entry and number of entries before it.

    The count saturates at `max_count`, or at `min_count` if there is no maximum.
    """
    saturated_count = min_count if max_count is None else max_count
    if counts_many(len(declared), sum(part.min_count for part in declared), min_count, max_count):
        keyword = "minProperties" if max_count is None else "maxProperties"
        message = f"`{keyword}` with {len(declared)} optional properties cannot be enforced; drop it"
        raise UnsupportedKeyword(keyword, message, place=path)
    nodes = [
        rule(part.node, f"{path}/{i}") if exceeds_size(part.node, _MAX_INLINE_NODES) else part.node
        for i, part in enumerate(declared)
    ]
    after: dict[tuple[int, int], Node] = {}
    for index in reversed(range(len(declared) + 1)):
        for written in range(saturated_count + 1):
            options: list[Node] = []
            for next_index in range(index, len(declared)):
                if max_count is None or written < saturated_count:
                    following = after[next_index + 1, min(written + 1, saturated_count)]
                    options.append(seq(comma if written else "", nodes[next_index], following))
                if declared[next_index].min_count:
                    break
            else:
                remaining = None if max_count is None else max_count - written
                options.append(rest(max(min_count - written, 0), remaining, started=written > 0))
            node = choice(options)
            after[index, written] = rule(node, f"{path}/{index}/{written}") if exceeds_size(node, 1) else node
    return after[0, 0]


def counts_many(declared: int, required: int, min_count: int, max_count: int | None) -> bool:
    """Return whether optional entries are counted, and are too many for a rule for each entry and count.

    >>> counts_many(20, 0, 5, None), counts_many(100, 0, 50, None), counts_many(100, 100, 50, None)
    (False, True, False)
    """
    is_counted = min_count > required or max_count is not None
    count = min_count if max_count is None else max_count
    return required < declared and is_counted and declared**2 * (count + 1) > _MAX_COUNTING_ALTERNATIVES


def _rest(additional: Node, min_count: int, max_count: int | None, comma: str, *, started: bool) -> Node:
    """Return the additional entries, after the declared ones."""
    if additional is NEVER or max_count == 0 or (max_count is not None and max_count < min_count):
        return NEVER if min_count else EMPTY
    if started:
        return Repeat(seq(comma, additional), min_count, max_count)
    return SeparatedList((ListPart(additional, min_count, max_count),), comma)


def entries_with_required(
    declared: Sequence[ListPart],
    additional: Node,
    required: Sequence[Node],
    min_count: int,
    max_count: int | None,
    *,
    comma: str,
    rule: Callable[[Node, str], Node],
    path: str,
    max_additional: int | None = None,
) -> Node:
    """Return entries as `entries` does, with a distinct additional entry of each required kind.

    >>> kinds = [LiteralText("a")]
    >>> entries_with_required([], NEVER, kinds, 0, None, comma=",", rule=lambda node, name: node, path="$")
    LiteralText(value='a')

    Raises:
        UnsupportedKeyword: There are too many orders and counts.
    """
    if NEVER in required or any(part.node is NEVER for part in declared):
        return NEVER
    if max_additional is not None and len(required) > max_additional:
        message = (
            f"{len(required)} required additional keys inside `uniqueItems` cannot be enforced; drop one"
        )
        raise UnsupportedKeyword("minProperties", message, place=path)

    def rest(low: int, high: int | None, *, started: bool) -> Node:
        high = min_defined(high, max_additional)
        if high is not None and high < max(low, len(required)):
            return NEVER
        # In a rule of its own, an additional key would not see those before it, from which it must differ.
        return interleave(required, additional, low, high, comma=comma, rule=None, path=path, started=started)

    needed = sum(part.min_count for part in declared)
    least, most = max(min_count - needed, 0), None if max_count is None else max_count - needed
    if needed == len(declared):
        written = [piece for part in declared for piece in (LiteralText(comma), part.node)][1:]
        return seq(*written, rest(least, most, started=needed > 0))
    if least > len(required) or most is not None or max_additional is not None:
        return _counted_entries(declared, rest, min_count, max_count, comma, rule, path)
    others = () if additional is NEVER else (ListPart(additional, 0, None),)
    return choice(
        SeparatedList(
            (*declared, *others, *(part for kind in order for part in (ListPart(kind), *others))), comma
        )
        for order in permutations(required)
    )


def any_order_bounds(schema: Object) -> tuple[int, int | None] | None:
    """Return the minimum and maximum of counted keys if the keys can be in any order, otherwise `None`."""
    required = sum(prop.required for prop in schema.properties)
    max_count = schema.max_properties
    if schema.required_groups or len(schema.properties) + len(schema.additional) < 2:
        return None
    if not schema.additional and max_count is not None and max_count >= len(schema.properties):
        max_count = None
    if schema.min_properties <= required and max_count is None:
        return required, None
    return None if required else (schema.min_properties, max_count)
