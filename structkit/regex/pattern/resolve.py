"""Anchors and lookarounds resolved: what a pattern matches, as a language without them.

Where a piece of a pattern stands, its left edge is or is not the start of the text, and its right edge is or is not
the end. `^` is then the empty text or nothing at all, and so is `$`; a sequence passes the start on to a part only
where all parts before it match nothing. A lookahead says something about the whole rest of the text: an intersection.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from structkit.regex.charset import ANY
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    Alt,
    Both,
    Call,
    Chars,
    Joined,
    Multiple,
    Node,
    Repeat,
    Seq,
    Text,
    alt,
    seq,
)
from structkit.regex.walk import children

__all__ = ["Choice", "Edge", "Look", "Loop", "Raw", "Refused", "Row", "choice", "loop", "resolve", "row"]

_PLAIN = (Text, Chars, Seq, Alt, Repeat, Both, Multiple, Joined, Call)
_REST = Repeat(ANY, 0, None)

_MOST = 20_000
"""Steps of the walks and nodes of what they make; patterns that people write take a few hundred."""

_ENTANGLED = "the anchors stand in too many places; write `^` and `$` at the ends of the alternatives"


@dataclass(frozen=True, slots=True)
class Edge:
    """The start or the end of the text."""

    start: bool


@dataclass(frozen=True, slots=True)
class Look:
    """A lookahead or lookbehind at `column` of the pattern."""

    inner: Raw
    ahead: bool
    negate: bool
    column: int


@dataclass(frozen=True, slots=True)
class Row:
    """One after the other, with an edge or a lookaround somewhere inside."""

    parts: tuple[Raw, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any of the parts, with an edge or a lookaround somewhere inside."""

    parts: tuple[Raw, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A repetition with an edge or a lookaround somewhere inside."""

    part: Raw
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Meet:
    """An intersection or a difference. Its right edge is always the end of the text."""

    left: Raw
    right: Raw
    negate: bool


Raw: TypeAlias = Node | Edge | Look | Row | Choice | Loop | Meet


class Refused(Exception):
    """Anchors or a lookaround that cannot be expressed, at a column of the pattern."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


def row(parts: Iterable[Raw]) -> Raw:
    """One after the other; a plain node where all parts are plain."""
    flat: list[Raw] = []
    for part in parts:
        flat += part.parts if isinstance(part, Row) else (part,)
    plain = [part for part in flat if isinstance(part, _PLAIN)]
    if len(plain) == len(flat):
        return seq(*plain)
    return flat[0] if len(flat) == 1 else Row(tuple(flat))


def choice(parts: Iterable[Raw]) -> Raw:
    """Any of the parts; a plain node where all parts are plain."""
    parts = tuple(parts)
    plain = [part for part in parts if isinstance(part, _PLAIN)]
    if len(plain) == len(parts):
        return alt(plain)
    return parts[0] if len(parts) == 1 else Choice(parts)


def loop(part: Raw, least: int, most: int | None) -> Raw:
    """A repetition; a plain node where the part is plain."""
    if most == 0:
        return EMPTY
    if least == most == 1:
        return part
    return Repeat(part, least, most) if isinstance(part, _PLAIN) else Loop(part, least, most)


def resolve(pattern: Raw, *, search: bool) -> Node:
    """The texts that a pattern matches, as a whole or, with `search`, anywhere.

    >>> resolve(row([Edge(start=True), Text("a")]), search=True)
    Seq(parts=(Text(value='a'), Repeat(part=Chars(ranges=((0, 55295), (57344, 1114111))), least=0, most=None)))

    Raises:
        Refused: A lookaround inside a repetition, a lookbehind before more text, or anchors in so many places that
            the regex would grow beyond all measure.
    """
    branches = pattern.parts if isinstance(pattern, Choice) and _has_look(pattern) else (pattern,)
    resolver = _Resolver()
    found: list[Node] = []
    for branch in branches:
        if search and isinstance(branch, _PLAIN) and _empty(branch):
            return _REST
        whole = resolver.without_looks(row([_REST, branch]) if search else branch, _REST if search else EMPTY)
        for behind in resolver.behind:
            whole = Meet(whole, row([_REST, behind.inner]), behind.negate)
        resolver.behind.clear()
        found.append(resolver.texts(whole, True, True))
    return alt(found)


class _Resolver:
    """The walks; `steps` counts them, for a pattern can make each edge double the work."""

    def __init__(self) -> None:
        self.steps = 0
        self.behind: list[Look] = []
        self.weights: dict[int, tuple[Node, int]] = {}

    def without_looks(self, raw: Raw, rest: Raw) -> Raw:
        """`raw` and then `rest`, which runs to the end of the text."""
        self.step()
        match raw:
            case Look(inner, ahead=True, negate=negate):
                return Meet(rest, self.without_looks(inner, _REST), negate)
            case Look():
                if _has_look(raw.inner) or not isinstance(raw.inner, _PLAIN) or not self.is_over(rest):
                    raise Refused("a lookbehind can be expressed only before the end of the text", raw.column)
                self.behind.append(raw)
                return rest
            case Row(parts):
                for part in reversed(parts):
                    rest = self.without_looks(part, rest)
                return rest
            case Choice(parts) if _has_look(raw):
                kept = len(self.behind)
                ways = choice(self.without_looks(part, rest) for part in parts)
                if len(self.behind) > kept:
                    raise Refused(
                        "a lookbehind in one of several alternatives cannot be expressed",
                        self.behind[-1].column,
                    )
                return ways
            case Loop(part, least, most) if look := _has_look(raw):
                if most == 1:
                    return choice([self.without_looks(part, rest), rest])
                return self.tempered(part, least, most, rest, look)
            case _:
                return row([raw, rest])

    def tempered(self, part: Raw, least: int, most: int | None, rest: Raw, look: Look) -> Raw:
        """`(?:(?!X).)*` at the end of the text: no `X` anywhere."""
        match part:
            case Row((Look(inner, ahead=True, negate=True), Chars() as each)) if isinstance(inner, _PLAIN):
                if not _empty(inner) and self.is_over(rest):
                    return Meet(row([Repeat(each, least, most), rest]), row([_REST, inner, _REST]), True)
        raise Refused("a lookaround inside a repetition cannot be expressed", look.column)

    def is_over(self, rest: Raw) -> bool:
        """Whether nothing but the end of the text can follow."""
        return self.texts(rest, False, True) in (EMPTY, NEVER)

    def step(self) -> None:
        self.steps += 1
        if self.steps > _MOST:
            raise Refused(_ENTANGLED, 0)

    def weigh(self, node: Node) -> None:
        """Stop before equal parts, of which there is only one in memory, make the node huge to walk over."""
        if self.weight(node) > _MOST:
            raise Refused(_ENTANGLED, 0)

    def weight(self, node: Node) -> int:
        known = self.weights.get(id(node))
        if known is None:
            # The node is kept, so that its id stays its own.
            known = self.weights[id(node)] = node, 1 + sum(map(self.weight, children(node)))
        return known[1]

    def texts(self, raw: Raw, left: bool, right: bool) -> Node:
        """What `raw` matches where its left edge is the start, or not, and its right edge is the end, or not."""
        self.step()
        match raw:
            case Edge(start):
                return EMPTY if (left if start else right) else NEVER
            case Row(parts):
                return self.row(parts, left, right, filled=False)
            case Choice(parts):
                return alt(self.texts(part, left, right) for part in parts)
            case Loop():
                none = [EMPTY] if raw.least == 0 or self.empty(raw.part, left, right) else []
                return alt([*none, *self.rounds(raw, left, right)])
            case Meet(inner, other, negate):
                return _meet(self.texts(inner, left, True), self.texts(other, left, True), negate)
            case Look():
                raise Refused("this lookaround cannot be expressed", raw.column)
            case _:
                return raw

    def filled(self, raw: Raw, left: bool, right: bool) -> Node:
        """The same without the empty text."""
        self.step()
        match raw:
            case Edge():
                return NEVER
            case Row(parts):
                return self.row(parts, left, right, filled=True)
            case Choice(parts):
                return alt(self.filled(part, left, right) for part in parts)
            case Loop():
                return alt(self.rounds(raw, left, right))
            case Meet(inner, other, negate):
                return _meet(self.filled(inner, left, True), self.texts(other, left, True), negate)
            case Look():
                raise Refused("this lookaround cannot be expressed", raw.column)
            case _:
                return _filled(raw)

    def empty(self, raw: Raw, left: bool, right: bool) -> bool:
        """Whether `raw` can match nothing there."""
        self.step()
        match raw:
            case Edge(start):
                return left if start else right
            case Row(parts):
                return all(self.empty(part, left, right) for part in parts)
            case Choice(parts):
                return any(self.empty(part, left, right) for part in parts)
            case Loop(part, least):
                return least == 0 or self.empty(part, left, right)
            case Meet(inner, other, negate):
                return self.empty(inner, left, True) and self.empty(other, left, True) is not negate
            case Look():
                raise Refused("this lookaround cannot be expressed", raw.column)
            case _:
                return _empty(raw)

    def row(self, parts: tuple[Raw, ...], left: bool, right: bool, *, filled: bool) -> Node:
        """A sequence, from its end: for each tail what it matches, with the start at its left edge and without."""
        edges = (True, False) if left else (False,)
        whole: dict[bool, Node] = dict.fromkeys(edges, EMPTY)
        some: dict[bool, Node] = dict.fromkeys(edges, NEVER)
        none = dict.fromkeys(edges, True)
        tail_asks = False
        for part in reversed(parts):
            asks, tells = _asks(part, start=True), _asks(part, start=False)
            next_whole, next_some, next_none = {}, {}, {}
            for edge in edges:
                begun = self.begun(part, edge, right, tells, whole[False], some[False], none[False])
                skipped = self.empty(part, edge, False)
                next_none[edge] = none[edge] and (skipped or self.empty(part, edge, right))
                next_some[edge] = alt([some[edge], begun]) if skipped else begun
                if not tells and not tail_asks:
                    next_whole[edge] = seq(self.texts(part, edge, False), whole[edge])
                elif skipped:
                    next_whole[edge] = alt([whole[edge], begun])
                else:
                    next_whole[edge] = alt([EMPTY, begun]) if next_none[edge] else begun
                self.weigh(next_whole[edge])
            whole, some, none = next_whole, next_some, next_none
            tail_asks = tail_asks or asks
        return some[left] if filled else whole[left]

    def begun(
        self, part: Raw, edge: bool, right: bool, tells: bool, whole: Node, some: Node, none: bool
    ) -> Node:
        """`part` matches something, and then the tail of which `whole`, `some` and `none` tell."""
        if not tells:
            return seq(self.filled(part, edge, False), whole)
        ending = [self.filled(part, edge, right)] if none else []
        return alt([seq(self.filled(part, edge, False), some), *ending])

    def rounds(self, raw: Loop, left: bool, right: bool) -> list[Node]:
        """At least one round that matches something; the empty rounds may stand anywhere between."""
        part, least, most = raw.part, raw.least, raw.most
        ways: list[Node] = []
        idle = self.empty(part, left, False) or self.empty(part, False, right)
        if least <= 1 or idle:
            ways.append(self.filled(part, left, right))
        if most is None or most >= 2:
            inner = self.filled(part, False, False)
            fewest = 0 if idle else max(least - 2, 0)
            middle = (
                EMPTY
                if inner is NEVER and fewest == 0
                else loop_of(inner, fewest, None if most is None else most - 2)
            )
            ways.append(seq(self.filled(part, left, False), middle, self.filled(part, False, right)))
        return ways


def loop_of(node: Node, least: int, most: int | None) -> Node:
    """A repetition of a plain node."""
    return NEVER if node is NEVER else EMPTY if most == 0 else Repeat(node, least, most)


def _meet(left: Node, right: Node, negate: bool) -> Node:
    if left is NEVER or (right is NEVER and not negate):
        return NEVER
    if right is NEVER or (right == _REST and not negate):
        return left
    return NEVER if right == _REST else Both(left, right, negate)


def _has_look(raw: Raw) -> Look | None:
    match raw:
        case Look():
            return raw
        case Row(parts) | Choice(parts):
            return next((look for part in parts if (look := _has_look(part))), None)
        case Loop(part):
            return _has_look(part)
        case _:
            return None


def _asks(raw: Raw, *, start: bool) -> bool:
    """Whether what `raw` matches depends on its left edge (`start`) or its right edge."""
    match raw:
        case Edge():
            return raw.start is start
        case Row(parts) | Choice(parts):
            return any(_asks(part, start=start) for part in parts)
        case Loop(part):
            return _asks(part, start=start)
        case Meet(left, right):
            return start and (_asks(left, start=True) or _asks(right, start=True))
        case _:
            return False


def _empty(node: Node) -> bool:
    """Whether a plain node holds the empty text."""
    match node:
        case Text(value):
            return not value
        case Seq(parts):
            return all(map(_empty, parts))
        case Alt(parts):
            return any(map(_empty, parts))
        case Repeat(part, least):
            return least == 0 or _empty(part)
        case Both(left, right, negate):
            return _empty(left) and _empty(right) is not negate
        case _:
            return False


def _filled(node: Node) -> Node:
    """A plain node without the empty text."""
    if not _empty(node):
        return node
    match node:
        case Seq(parts):
            head, tail = parts[0], seq(*parts[1:])
            return alt([seq(_filled(head), tail), _filled(tail)])
        case Alt(parts):
            return alt(_filled(part) for part in parts)
        case Repeat(part, _, most):
            return loop_of(_filled(part), 1, most)
        case Both(left, right, negate):
            return Both(_filled(left), right, negate)
        case _:
            return NEVER
