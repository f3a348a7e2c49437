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
    CharClass,
    Choice,
    Intersection,
    LiteralText,
    MultipleOf,
    Node,
    Repeat,
    RuleRef,
    SeparatedList,
    Seq,
    choice,
    seq,
)
from structkit.regex.walk import children

__all__ = [
    "Anchor",
    "AnchoredChoice",
    "AnchoredNode",
    "AnchoredRepeat",
    "AnchoredSeq",
    "Lookaround",
    "UnsupportedAnchor",
    "anchored_choice",
    "anchored_repeat",
    "anchored_seq",
    "resolve",
]

_PLAIN_NODES = (LiteralText, CharClass, Seq, Choice, Repeat, Intersection, MultipleOf, SeparatedList, RuleRef)
_ANY_STRING = Repeat(ANY, 0, None)

_MAX_STEPS = 20_000
"""Steps of the walks and nodes of what they make; patterns that people write take a few hundred."""

_ENTANGLED = "the anchors stand in too many places; write `^` and `$` at the ends of the alternatives"


@dataclass(frozen=True, slots=True)
class Anchor:
    """The start or the end of the text."""

    at_start: bool


@dataclass(frozen=True, slots=True)
class Lookaround:
    """A lookahead or lookbehind at `column` of the pattern."""

    inner: AnchoredNode
    ahead: bool
    negate: bool
    column: int


@dataclass(frozen=True, slots=True)
class AnchoredSeq:
    """One after the other, with an edge or a lookaround somewhere inside."""

    parts: tuple[AnchoredNode, ...]


@dataclass(frozen=True, slots=True)
class AnchoredChoice:
    """Any of the parts, with an edge or a lookaround somewhere inside."""

    parts: tuple[AnchoredNode, ...]


@dataclass(frozen=True, slots=True)
class AnchoredRepeat:
    """A repetition with an edge or a lookaround somewhere inside."""

    part: AnchoredNode
    min_count: int
    max_count: int | None


@dataclass(frozen=True, slots=True)
class AnchoredIntersection:
    """An intersection or a difference. Its right edge is always the end of the text."""

    left: AnchoredNode
    right: AnchoredNode
    negate: bool


AnchoredNode: TypeAlias = (
    Node | Anchor | Lookaround | AnchoredSeq | AnchoredChoice | AnchoredRepeat | AnchoredIntersection
)


class UnsupportedAnchor(Exception):
    """Anchors or a lookaround that cannot be expressed, at a column of the pattern."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


def anchored_seq(parts: Iterable[AnchoredNode]) -> AnchoredNode:
    """One after the other; a plain node where all parts are plain."""
    flat: list[AnchoredNode] = []
    for part in parts:
        flat += part.parts if isinstance(part, AnchoredSeq) else (part,)
    plain = [part for part in flat if isinstance(part, _PLAIN_NODES)]
    if len(plain) == len(flat):
        return seq(*plain)
    return flat[0] if len(flat) == 1 else AnchoredSeq(tuple(flat))


def anchored_choice(parts: Iterable[AnchoredNode]) -> AnchoredNode:
    """Any of the parts; a plain node where all parts are plain."""
    parts = tuple(parts)
    plain = [part for part in parts if isinstance(part, _PLAIN_NODES)]
    if len(plain) == len(parts):
        return choice(plain)
    return parts[0] if len(parts) == 1 else AnchoredChoice(parts)


def anchored_repeat(part: AnchoredNode, min_count: int, max_count: int | None) -> AnchoredNode:
    """A repetition; a plain node where the part is plain."""
    if max_count == 0:
        return EMPTY
    if min_count == max_count == 1:
        return part
    return (
        Repeat(part, min_count, max_count)
        if isinstance(part, _PLAIN_NODES)
        else AnchoredRepeat(part, min_count, max_count)
    )


def resolve(pattern: AnchoredNode, *, search: bool) -> Node:
    """The texts that a pattern matches, as a whole or, with `search`, anywhere.

    >>> resolve(anchored_seq([Anchor(at_start=True), LiteralText("a")]), search=True)
    Seq(parts=(LiteralText(value='a'), Repeat(part=CharClass(ranges=((0, 55295), (57344, 1114111))), min_count=0, max_count=None)))

    Raises:
        Refused: A lookaround inside a repetition, a lookbehind before more text, or anchors in so many places that
            the regex would grow beyond all measure.
    """
    branches = (
        pattern.parts if isinstance(pattern, AnchoredChoice) and _find_lookaround(pattern) else (pattern,)
    )
    resolver = _Resolver()
    found: list[Node] = []
    for branch in branches:
        if search and isinstance(branch, _PLAIN_NODES) and _empty(branch):
            return _ANY_STRING
        whole = resolver.expand_lookarounds(
            anchored_seq([_ANY_STRING, branch]) if search else branch, _ANY_STRING if search else EMPTY
        )
        for behind in resolver.lookbehinds:
            whole = AnchoredIntersection(whole, anchored_seq([_ANY_STRING, behind.inner]), behind.negate)
        resolver.lookbehinds.clear()
        found.append(resolver.language(whole, True, True))
    return choice(found)


class _Resolver:
    """The walks; `steps` counts them, for a pattern can make each edge double the work."""

    def __init__(self) -> None:
        self.steps = 0
        self.lookbehinds: list[Lookaround] = []
        self.weights: dict[int, tuple[Node, int]] = {}

    def expand_lookarounds(self, raw: AnchoredNode, rest: AnchoredNode) -> AnchoredNode:
        """`raw` and then `rest`, which runs to the end of the text."""
        self.step()
        match raw:
            case Lookaround(inner, ahead=True, negate=negate):
                return AnchoredIntersection(rest, self.expand_lookarounds(inner, _ANY_STRING), negate)
            case Lookaround():
                if (
                    _find_lookaround(raw.inner)
                    or not isinstance(raw.inner, _PLAIN_NODES)
                    or not self.matches_only_end(rest)
                ):
                    raise UnsupportedAnchor(
                        "a lookbehind can be expressed only before the end of the text", raw.column
                    )
                self.lookbehinds.append(raw)
                return rest
            case AnchoredSeq(parts):
                for part in reversed(parts):
                    rest = self.expand_lookarounds(part, rest)
                return rest
            case AnchoredChoice(parts) if _find_lookaround(raw):
                kept = len(self.lookbehinds)
                ways = anchored_choice(self.expand_lookarounds(part, rest) for part in parts)
                if len(self.lookbehinds) > kept:
                    raise UnsupportedAnchor(
                        "a lookbehind in one of several alternatives cannot be expressed",
                        self.lookbehinds[-1].column,
                    )
                return ways
            case AnchoredRepeat(part, least, most) if look := _find_lookaround(raw):
                if most == 1:
                    return anchored_choice([self.expand_lookarounds(part, rest), rest])
                return self.tempered_repeat(part, least, most, rest, look)
            case _:
                return anchored_seq([raw, rest])

    def tempered_repeat(
        self,
        part: AnchoredNode,
        min_count: int,
        max_count: int | None,
        rest: AnchoredNode,
        lookaround: Lookaround,
    ) -> AnchoredNode:
        """`(?:(?!X).)*` at the end of the text: no `X` anywhere."""
        match part:
            case AnchoredSeq((Lookaround(inner, ahead=True, negate=True), CharClass() as each)) if isinstance(
                inner, _PLAIN_NODES
            ):
                if not _empty(inner) and self.matches_only_end(rest):
                    return AnchoredIntersection(
                        anchored_seq([Repeat(each, min_count, max_count), rest]),
                        anchored_seq([_ANY_STRING, inner, _ANY_STRING]),
                        True,
                    )
        raise UnsupportedAnchor("a lookaround inside a repetition cannot be expressed", lookaround.column)

    def matches_only_end(self, rest: AnchoredNode) -> bool:
        """Whether nothing but the end of the text can follow."""
        return self.language(rest, False, True) in (EMPTY, NEVER)

    def step(self) -> None:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise UnsupportedAnchor(_ENTANGLED, 0)

    def check_weight(self, node: Node) -> None:
        """Stop before equal parts, of which there is only one in memory, make the node huge to walk over."""
        if self.weight(node) > _MAX_STEPS:
            raise UnsupportedAnchor(_ENTANGLED, 0)

    def weight(self, node: Node) -> int:
        known = self.weights.get(id(node))
        if known is None:
            # The node is kept, so that its id stays its own.
            known = self.weights[id(node)] = node, 1 + sum(map(self.weight, children(node)))
        return known[1]

    def language(self, raw: AnchoredNode, left: bool, right: bool) -> Node:
        """What `raw` matches where its left edge is the start, or not, and its right edge is the end, or not."""
        self.step()
        match raw:
            case Anchor(start):
                return EMPTY if (left if start else right) else NEVER
            case AnchoredSeq(parts):
                return self.sequence(parts, left, right, nonempty=False)
            case AnchoredChoice(parts):
                return choice(self.language(part, left, right) for part in parts)
            case AnchoredRepeat():
                none = [EMPTY] if raw.min_count == 0 or self.is_nullable(raw.part, left, right) else []
                return choice([*none, *self.iterations(raw, left, right)])
            case AnchoredIntersection(inner, other, negate):
                return _intersect(self.language(inner, left, True), self.language(other, left, True), negate)
            case Lookaround():
                raise UnsupportedAnchor("this lookaround cannot be expressed", raw.column)
            case _:
                return raw

    def nonempty_language(self, raw: AnchoredNode, left: bool, right: bool) -> Node:
        """The same without the empty text."""
        self.step()
        match raw:
            case Anchor():
                return NEVER
            case AnchoredSeq(parts):
                return self.sequence(parts, left, right, nonempty=True)
            case AnchoredChoice(parts):
                return choice(self.nonempty_language(part, left, right) for part in parts)
            case AnchoredRepeat():
                return choice(self.iterations(raw, left, right))
            case AnchoredIntersection(inner, other, negate):
                return _intersect(
                    self.nonempty_language(inner, left, True), self.language(other, left, True), negate
                )
            case Lookaround():
                raise UnsupportedAnchor("this lookaround cannot be expressed", raw.column)
            case _:
                return _filled(raw)

    def is_nullable(self, raw: AnchoredNode, left: bool, right: bool) -> bool:
        """Whether `raw` can match nothing there."""
        self.step()
        match raw:
            case Anchor(start):
                return left if start else right
            case AnchoredSeq(parts):
                return all(self.is_nullable(part, left, right) for part in parts)
            case AnchoredChoice(parts):
                return any(self.is_nullable(part, left, right) for part in parts)
            case AnchoredRepeat(part, least):
                return least == 0 or self.is_nullable(part, left, right)
            case AnchoredIntersection(inner, other, negate):
                return (
                    self.is_nullable(inner, left, True) and self.is_nullable(other, left, True) is not negate
                )
            case Lookaround():
                raise UnsupportedAnchor("this lookaround cannot be expressed", raw.column)
            case _:
                return _empty(raw)

    def sequence(self, parts: tuple[AnchoredNode, ...], left: bool, right: bool, *, nonempty: bool) -> Node:
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
                begun = self.join_head(part, edge, right, tells, whole[False], some[False], none[False])
                skipped = self.is_nullable(part, edge, False)
                next_none[edge] = none[edge] and (skipped or self.is_nullable(part, edge, right))
                next_some[edge] = choice([some[edge], begun]) if skipped else begun
                if not tells and not tail_asks:
                    next_whole[edge] = seq(self.language(part, edge, False), whole[edge])
                elif skipped:
                    next_whole[edge] = choice([whole[edge], begun])
                else:
                    next_whole[edge] = choice([EMPTY, begun]) if next_none[edge] else begun
                self.check_weight(next_whole[edge])
            whole, some, none = next_whole, next_some, next_none
            tail_asks = tail_asks or asks
        return some[left] if nonempty else whole[left]

    def join_head(
        self,
        part: AnchoredNode,
        edge: bool,
        right: bool,
        depends_on_edge: bool,
        tail_at_start: Node,
        tail_inside: Node,
        tail_nullable: bool,
    ) -> Node:
        """`part` matches something, and then the tail of which `tail_at_start`, `tail_inside` and `tail_nullable`
        tell.
        """
        if not depends_on_edge:
            return seq(self.nonempty_language(part, edge, False), tail_at_start)
        ending = [self.nonempty_language(part, edge, right)] if tail_nullable else []
        return choice([seq(self.nonempty_language(part, edge, False), tail_inside), *ending])

    def iterations(self, raw: AnchoredRepeat, left: bool, right: bool) -> list[Node]:
        """At least one round that matches something; the empty rounds may stand anywhere between."""
        part, least, most = raw.part, raw.min_count, raw.max_count
        ways: list[Node] = []
        idle = self.is_nullable(part, left, False) or self.is_nullable(part, False, right)
        if least <= 1 or idle:
            ways.append(self.nonempty_language(part, left, right))
        if most is None or most >= 2:
            inner = self.nonempty_language(part, False, False)
            fewest = 0 if idle else max(least - 2, 0)
            middle = (
                EMPTY
                if inner is NEVER and fewest == 0
                else plain_repeat(inner, fewest, None if most is None else most - 2)
            )
            ways.append(
                seq(
                    self.nonempty_language(part, left, False),
                    middle,
                    self.nonempty_language(part, False, right),
                )
            )
        return ways


def plain_repeat(node: Node, min_count: int, max_count: int | None) -> Node:
    """A repetition of a plain node."""
    return NEVER if node is NEVER else EMPTY if max_count == 0 else Repeat(node, min_count, max_count)


def _intersect(left: Node, right: Node, negate: bool) -> Node:
    if left is NEVER or (right is NEVER and not negate):
        return NEVER
    if right is NEVER or (right == _ANY_STRING and not negate):
        return left
    return NEVER if right == _ANY_STRING else Intersection(left, right, negate)


def _find_lookaround(raw: AnchoredNode) -> Lookaround | None:
    match raw:
        case Lookaround():
            return raw
        case AnchoredSeq(parts) | AnchoredChoice(parts):
            return next((look for part in parts if (look := _find_lookaround(part))), None)
        case AnchoredRepeat(part):
            return _find_lookaround(part)
        case _:
            return None


def _asks(raw: AnchoredNode, *, start: bool) -> bool:
    """Whether what `raw` matches depends on its left edge (`start`) or its right edge."""
    match raw:
        case Anchor():
            return raw.at_start is start
        case AnchoredSeq(parts) | AnchoredChoice(parts):
            return any(_asks(part, start=start) for part in parts)
        case AnchoredRepeat(part):
            return _asks(part, start=start)
        case AnchoredIntersection(left, right):
            return start and (_asks(left, start=True) or _asks(right, start=True))
        case _:
            return False


def _empty(node: Node) -> bool:
    """Whether a plain node holds the empty text."""
    match node:
        case LiteralText(value):
            return not value
        case Seq(parts):
            return all(map(_empty, parts))
        case Choice(parts):
            return any(map(_empty, parts))
        case Repeat(part, least):
            return least == 0 or _empty(part)
        case Intersection(left, right, negate):
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
            return choice([seq(_filled(head), tail), _filled(tail)])
        case Choice(parts):
            return choice(_filled(part) for part in parts)
        case Repeat(part, _, most):
            return plain_repeat(_filled(part), 1, most)
        case Intersection(left, right, negate):
            return Intersection(_filled(left), right, negate)
        case _:
            return NEVER
