"""The entries of an object: declared ones in their order, then additional ones, and how many there may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

from structkit.errors import UnsupportedKeyword
from structkit.lowering.containers.contains import among
from structkit.regex.nodes import EMPTY, NEVER, Joined, Node, Part, Repeat, Text, alt, seq
from structkit.regex.walk import is_larger
from structkit.schema.ir.nodes import Object

__all__ = ["any_order", "entries", "with_kinds"]

_TALLIES = 20_000
"""Alternatives in the rules that count the entries of one object."""

_SMALL = 64
"""Nodes of an entry that is copied wherever it may stand; a larger one becomes a rule."""


def entries(
    declared: Sequence[Part],
    additional: Node,
    least: int,
    most: int | None,
    *,
    comma: str,
    rule: Callable[[Node, str], Node],
    place: str,
    extra: int | None = None,
) -> Node:
    """Between the braces of an object.

    Args:
        declared: An entry each, required (`least` 1) or optional (`least` 0).
        additional: One additional entry; `NEVER` where there are none.
        least: The fewest entries.
        most: The most entries; `None` for any number.
        comma: What stands between two entries.
        rule: Makes a rule of a node, under a name, and gives the call.
        place: The schema path, for errors and names.
        extra: The most additional entries; `None` for any number.

    >>> parts = [Part(Text("a")), Part(Text("b"))]
    >>> entries(parts, NEVER, 0, None, comma=", ", rule=lambda node, name: node, place="$")
    Text(value='a, b')

    Raises:
        UnsupportedKeyword: There are too many optional entries to count.
    """
    needed, total = sum(part.least for part in declared), len(declared)
    if any(part.node is NEVER for part in declared) or (most is not None and most < max(needed, least)):
        return NEVER
    if additional is NEVER and total < least:
        return NEVER
    if needed == total:
        low, high = max(least - total, 0), None if most is None else most - total
    elif least <= needed and (most is None or (additional is NEVER and most >= total)):
        low, high = 0, None
    else:
        return _tallied(declared, additional, least, most, comma, rule, place, extra)
    high = _lesser(high, extra)
    if high is not None and high < low:
        return NEVER
    parts = (*declared,) if additional is NEVER or high == 0 else (*declared, Part(additional, low, high))
    if needed < total or len(parts) > total:
        return Joined(parts, comma)
    # All are there: one sequence, whose texts merge.
    return seq(*[piece for part in declared for piece in (Text(comma), part.node)][1:])


def _tallied(
    declared: Sequence[Part],
    additional: Node,
    least: int,
    most: int | None,
    comma: str,
    rule: Callable[[Node, str], Node],
    place: str,
    extra: int | None,
) -> Node:
    """A rule for each declared entry and number of entries before it; beyond `least`, or `most`, none is counted."""
    top = least if most is None else most
    if len(declared) ** 2 * (top + 1) > _TALLIES:
        keyword = "minProperties" if most is None else "maxProperties"
        message = f"`{keyword}` beside {len(declared)} optional properties cannot be enforced; drop it"
        raise UnsupportedKeyword(keyword, message, place=place)
    nodes = [
        rule(part.node, f"{place}/{i}") if is_larger(part.node, _SMALL) else part.node
        for i, part in enumerate(declared)
    ]
    after: dict[tuple[int, int], Node] = {}
    for index in reversed(range(len(declared) + 1)):
        for written in range(top + 1):
            options: list[Node] = []
            for here in range(index, len(declared)):
                if most is None or written < top:
                    following = after[here + 1, min(written + 1, top)]
                    options.append(seq(Text(comma if written else ""), nodes[here], following))
                if declared[here].least:
                    break
            else:
                left = _lesser(None if most is None else most - written, extra)
                options.append(_rest(additional, max(least - written, 0), left, comma, begun=written > 0))
            node = alt(options)
            after[index, written] = rule(node, f"{place}/{index}/{written}") if is_larger(node, 1) else node
    return after[0, 0]


def _rest(additional: Node, least: int, most: int | None, comma: str, *, begun: bool) -> Node:
    """The additional entries, after the declared ones."""
    if additional is NEVER or most == 0 or (most is not None and most < least):
        return NEVER if least else EMPTY
    if begun:
        return Repeat(seq(Text(comma), additional), least, most)
    return Joined((Part(additional, least, most),), comma)


def with_kinds(
    declared: Sequence[Part],
    additional: Node,
    kinds: Sequence[Node],
    least: int,
    most: int | None,
    *,
    comma: str,
    place: str,
    extra: int | None = None,
) -> Node:
    """Like `entries`, with an additional entry of each kind, all different.

    >>> with_kinds([], NEVER, [Text("a")], 0, None, comma=",", place="$")
    Text(value='a')

    Raises:
        UnsupportedKeyword: There would be too many orders and counts to write out.
    """
    if NEVER in kinds or any(part.node is NEVER for part in declared):
        return NEVER
    needed = sum(part.least for part in declared)
    least, most = max(least - needed, 0), None if most is None else most - needed
    if extra is not None or (needed < len(declared) and (least > len(kinds) or most is not None)):
        message = "an additional key that must be there beside a count of keys cannot be enforced; drop one"
        raise UnsupportedKeyword("minProperties", message, place=place)
    if needed == len(declared):
        written = [piece for part in declared for piece in (Text(comma), part.node)][1:]
        inner = among(kinds, additional, least, most, comma=comma, rule=None, place=place, begun=needed > 0)
        return seq(*written, inner)
    others = () if additional is NEVER else (Part(additional, 0, None),)
    return alt(
        Joined((*declared, *others, *(part for kind in order for part in (Part(kind), *others))), comma)
        for order in permutations(kinds)
    )


def _lesser(left: int | None, right: int | None) -> int | None:
    return right if left is None else left if right is None else min(left, right)


def any_order(schema: Object) -> tuple[int, int | None] | None:
    """The fewest and the most of the keys that count, if its keys can come in any order; else `None`."""
    required = sum(prop.required for prop in schema.properties)
    most = schema.max_properties
    if schema.some or len(schema.properties) + len(schema.additional) < 2:
        return None
    if not schema.additional and most is not None and most >= len(schema.properties):
        most = None
    if schema.min_properties <= required and most is None:
        return required, None
    return None if required else (schema.min_properties, most)
