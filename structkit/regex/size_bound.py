"""Size bounds of patterns: which automata are small without being built."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from structkit.regex.nodes import Alt, Both, Call, Chars, Node, Repeat, Seq, Text

__all__ = ["begin_apart", "is_plain_text"]

_FEW = 12
"""Characters of a pattern whose automaton, at 2 ** 12 states, is small in any case."""

_MANY = 1_000
"""Characters of a pattern that is looked at closely."""

_MANY_COUNTED = 100
"""The same, of a pattern that stands beside a length: the two are multiplied."""

Ranges: TypeAlias = tuple[tuple[int, int], ...]


def begin_apart(branches: Iterable[Node]) -> bool:
    """Whether alternatives are told apart by how they begin; texts and calls need not be.

    >>> begin_apart([Seq((Text('"a'), Call("b"))), Text('"c'), Seq((Text("["), Call("d")))])
    True
    """
    seen: set[str] = set()
    for branch in branches:
        if isinstance(branch, (Text, Call)):
            continue
        beginnings = _beginnings(branch)
        if beginnings & seen:
            return False
        seen |= beginnings
    return True


def _beginnings(node: Node) -> set[str]:
    match node:
        case Text() | Call():
            return set()
        case Alt(parts):
            return set().union(*map(_beginnings, parts))
        case Seq((Text(value), *_)):
            return {value[:1]}
        case Seq((first, *_)):
            return _beginnings(first) or {"call"}
        case _:
            return {"number"}


def is_plain_text(body: Node) -> bool:
    """Whether the automaton of a pattern's texts has about as many states as the pattern has characters.

    It has if at each character it is known from this one alone where in the pattern it is (one-unambiguous
    expressions, Brüggemann-Klein and Wood 1998). Patterns with few characters are small in any case.

    >>> is_plain_text(Seq((Repeat(Chars(((97, 122),))), Text("-"))))
    True
    >>> is_plain_text(Seq((Repeat(Chars(((97, 122),))), Repeat(Text("x"), 20, 20))))
    False
    """
    most = _MANY
    if isinstance(body, Both) and not body.negate and isinstance(body.right, Repeat):
        body, most = body.left, _MANY_COUNTED
    size = _size(body)
    return size <= _FEW or (size <= most and _ends(body) is not None)


def _size(node: Node) -> int:
    """The characters of a pattern, repetitions written out; more than `_MANY` where that is not known."""
    match node:
        case Text(value):
            return len(value)
        case Chars():
            return 1
        case Repeat(part, least, most):
            return _size(part) * max(least, most or 1)
        case Seq(parts) | Alt(parts):
            return sum(map(_size, parts))
        case _:
            return _MANY + 1


@dataclass(frozen=True, slots=True)
class _Ends:
    """How texts begin, what may go on after one, and whether there is an empty one."""

    first: Ranges
    more: Ranges
    empty: bool


def _ends(node: Node) -> _Ends | None:
    """The ends of a pattern that is one-unambiguous, `None` for another."""
    match node:
        case Text(value):
            return _Ends(((ord(value[0]),) * 2,) if value else (), (), not value)
        case Chars(ranges):
            return _Ends(ranges, (), False)
        case Repeat(part, least, most):
            ends = _ends(part)
            if ends is None or most == 1 or most == 0:
                return ends and _Ends(ends.first, ends.more, ends.empty or not least)
            more = _apart(ends.more, ends.first)
            if most is not None and ends.empty:
                more = None
            return None if more is None else _Ends(ends.first, more, ends.empty or not least)
        case Seq(parts):
            whole: _Ends | None = _Ends((), (), True)
            for part in parts:
                whole = whole and _followed(whole, _ends(part))
            return whole
        case Alt(parts):
            first: Ranges | None = ()
            every = [_ends(part) for part in parts]
            for ends in every:
                first = None if first is None or ends is None else _apart(first, ends.first)
            found = [ends for ends in every if ends is not None]
            more = tuple(span for ends in found for span in ends.more)
            return None if first is None else _Ends(first, more, any(ends.empty for ends in found))
        case _:
            return None


def _followed(whole: _Ends, part: _Ends | None) -> _Ends | None:
    if part is None or _apart(whole.more, part.first) is None:
        return None
    first = _apart(whole.first, part.first) if whole.empty else whole.first
    more = (*part.more, *part.first, *whole.more) if part.empty else part.more
    return None if first is None else _Ends(first, more, whole.empty and part.empty)


def _apart(left: Ranges, right: Ranges) -> Ranges | None:
    """Both, or `None` if they share a character."""
    shared = any(a <= d and c <= b for a, b in left for c, d in right)
    return None if shared else (*left, *right)
