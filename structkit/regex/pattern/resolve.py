"""Removal of anchors and lookarounds from patterns.

The language of a part depends on its edges: whether its left edge is the start of the text, and its right edge the end.
`^` is the empty text at the start and `NEVER` elsewhere; `$` likewise at the end. In a sequence, a part is at the start
only if all parts before it match the empty text. A lookahead restricts the rest of the text: an intersection.
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
from structkit.regex.pattern.empty_text import (
    is_nullable,
    plain_repeat,
    rotate,
    shorten,
    without_empty_text,
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
"""Maximum steps and result nodes; practical patterns take a few hundred."""

_TOO_MANY_ANCHORS = "the pattern has too many anchors; move `^` and `$` to the ends of the alternatives"


@dataclass(frozen=True, slots=True)
class Anchor:
    """The start or the end of the text."""

    at_start: bool


_START, _END = Anchor(at_start=True), Anchor(at_start=False)


@dataclass(frozen=True, slots=True)
class Lookaround:
    """A lookahead or lookbehind at `column` of the pattern."""

    inner: AnchoredNode
    ahead: bool
    negate: bool
    column: int


@dataclass(frozen=True, slots=True)
class AnchoredSeq:
    """A concatenation that contains an anchor or a lookaround."""

    parts: tuple[AnchoredNode, ...]


@dataclass(frozen=True, slots=True)
class AnchoredChoice:
    """A union that contains an anchor or a lookaround."""

    parts: tuple[AnchoredNode, ...]


@dataclass(frozen=True, slots=True)
class AnchoredRepeat:
    """A repetition that contains an anchor or a lookaround."""

    part: AnchoredNode
    min_count: int
    max_count: int | None


@dataclass(frozen=True, slots=True)
class AnchoredIntersection:
    """An intersection, or a difference if `negate`. Its right edge is always the end of the text."""

    left: AnchoredNode
    right: AnchoredNode
    negate: bool


AnchoredNode: TypeAlias = (
    Node | Anchor | Lookaround | AnchoredSeq | AnchoredChoice | AnchoredRepeat | AnchoredIntersection
)


class UnsupportedAnchor(Exception):
    """A part that only the threads of a pattern can tell, such as a word boundary, at a column of the pattern."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


def anchored_seq(parts: Iterable[AnchoredNode]) -> AnchoredNode:
    """Concatenate parts; the result is a plain node if all parts are plain."""
    flat: list[AnchoredNode] = []
    for part in parts:
        flat += part.parts if isinstance(part, AnchoredSeq) else (part,)
    plain = [part for part in flat if isinstance(part, _PLAIN_NODES)]
    if len(plain) == len(flat):
        return seq(*plain)
    return flat[0] if len(flat) == 1 else AnchoredSeq(tuple(flat))


def anchored_choice(parts: Iterable[AnchoredNode]) -> AnchoredNode:
    """Return the union of parts; a plain node if all parts are plain."""
    parts = tuple(parts)
    plain = [part for part in parts if isinstance(part, _PLAIN_NODES)]
    if len(plain) == len(parts):
        return choice(plain)
    return parts[0] if len(parts) == 1 else AnchoredChoice(parts)


def anchored_repeat(part: AnchoredNode, min_count: int, max_count: int | None) -> AnchoredNode:
    """Repeat a part; the result is a plain node if the part is plain."""
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
    """Return the texts that a pattern matches entirely or, with `search`, anywhere.

    >>> node = resolve(anchored_seq([Anchor(at_start=True), LiteralText("a")]), search=True)
    >>> node == seq(LiteralText("a"), Repeat(ANY))
    True

    Raises:
        UnsupportedAnchor: The pattern has a lookaround inside a repetition, a lookbehind before more text, or so many
            anchors that the regex would become too large.
    """
    branches = (
        pattern.parts if isinstance(pattern, AnchoredChoice) and _find_lookaround(pattern) else (pattern,)
    )
    resolver = _Resolver()
    found: list[Node] = []
    for branch in branches:
        if search and isinstance(branch, _PLAIN_NODES) and is_nullable(branch):
            return _ANY_STRING
        if (simple := _between_anchors(branch, search=search)) is not None:
            found.append(simple)
            continue
        expanded = resolver.expand_lookarounds(
            anchored_seq([_ANY_STRING, branch]) if search else branch, _ANY_STRING if search else EMPTY
        )
        for lookbehind in resolver.lookbehinds:
            expanded = AnchoredIntersection(
                expanded, anchored_seq([_ANY_STRING, lookbehind.inner]), lookbehind.negate
            )
        resolver.lookbehinds.clear()
        found.append(resolver.language(expanded, True, True))
    return choice(found)


def _between_anchors(branch: AnchoredNode, *, search: bool) -> Node | None:
    """Return the texts of a sequence with anchors at its ends only, the common case; `None` for other patterns."""
    parts = branch.parts if isinstance(branch, AnchoredSeq) else (branch,)
    at_start, at_end = parts[0] == _START, parts[-1] == _END
    inner = parts[at_start : len(parts) - at_end]
    plain = [part for part in inner if isinstance(part, _PLAIN_NODES)]
    if len(plain) < len(inner):
        return None
    found = seq(*rotate(plain))
    if search and not at_start:
        found = seq(_ANY_STRING, shorten(found, at_start=True))
    if search and not at_end:
        found = seq(shorten(found, at_start=False), _ANY_STRING)
    return found


class _Resolver:
    """The recursive functions; `steps` bounds their work, which anchors can make exponential."""

    def __init__(self) -> None:
        self.steps = 0
        self.lookbehinds: list[Lookaround] = []
        self.weights: dict[int, tuple[Node, int]] = {}

    def expand_lookarounds(self, raw: AnchoredNode, rest: AnchoredNode) -> AnchoredNode:
        """Return `raw` followed by `rest`, which extends to the end of the text."""
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
                        "a lookbehind is supported only at the end of the pattern; write the pattern without it",
                        raw.column,
                    )
                self.lookbehinds.append(raw)
                return rest
            case AnchoredSeq(parts):
                for part in reversed(parts):
                    rest = self.expand_lookarounds(part, rest)
                return rest
            case AnchoredChoice(parts) if _find_lookaround(raw):
                before = len(self.lookbehinds)
                options = anchored_choice(self.expand_lookarounds(part, rest) for part in parts)
                if len(self.lookbehinds) > before:
                    raise UnsupportedAnchor(
                        "a lookbehind in one of several alternatives is not supported; write the pattern without it",
                        self.lookbehinds[-1].column,
                    )
                return options
            case AnchoredRepeat(part, min_count, max_count) if found_lookaround := _find_lookaround(raw):
                if max_count == 1:
                    return self.expand_lookarounds(AnchoredChoice((part, EMPTY)), rest)
                return self.tempered_repeat(part, min_count, max_count, rest, found_lookaround)
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
        """Return `(?:(?!X).)*` at the end of the text: texts without `X`."""
        match part:
            case AnchoredSeq((Lookaround(inner, ahead=True, negate=True), CharClass() as each)) if isinstance(
                inner, _PLAIN_NODES
            ):
                if not is_nullable(inner) and self.matches_only_end(rest):
                    return AnchoredIntersection(
                        anchored_seq([Repeat(each, min_count, max_count), rest]),
                        anchored_seq([_ANY_STRING, inner, _ANY_STRING]),
                        True,
                    )
        raise UnsupportedAnchor(
            "a lookaround inside a repetition is not supported; write the pattern without it",
            lookaround.column,
        )

    def matches_only_end(self, rest: AnchoredNode) -> bool:
        """Return whether `rest` contains no text but the empty one, also if it is the whole text."""
        return all(self.language(rest, left, True) in (EMPTY, NEVER) for left in (False, True))

    def step(self) -> None:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise UnsupportedAnchor(_TOO_MANY_ANCHORS, 0)

    def check_weight(self, node: Node) -> None:
        """Bound the size of a node as a tree: shared parts count each time, because later walks visit them again."""
        if self.weight(node) > _MAX_STEPS:
            raise UnsupportedAnchor(_TOO_MANY_ANCHORS, 0)

    def weight(self, node: Node) -> int:
        known = self.weights.get(id(node))
        if known is None:
            # The reference keeps the node alive, so that its id stays unique.
            known = self.weights[id(node)] = node, 1 + sum(map(self.weight, children(node)))
        return known[1]

    def language(self, raw: AnchoredNode, left: bool, right: bool) -> Node:
        """Return the texts of `raw` if its left edge is (not) the start and its right edge is (not) the end."""
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
                raise UnsupportedAnchor(
                    "this lookaround is not supported; write the pattern without it", raw.column
                )
            case _:
                return raw

    def nonempty_language(self, raw: AnchoredNode, left: bool, right: bool) -> Node:
        """Return `language` without the empty text."""
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
                raise UnsupportedAnchor(
                    "this lookaround is not supported; write the pattern without it", raw.column
                )
            case _:
                return without_empty_text(raw)

    def is_nullable(self, raw: AnchoredNode, left: bool, right: bool) -> bool:
        """Return whether `raw` matches the empty text with these edges."""
        self.step()
        match raw:
            case Anchor(start):
                return left if start else right
            case AnchoredSeq(parts):
                return all(self.is_nullable(part, left, right) for part in parts)
            case AnchoredChoice(parts):
                return any(self.is_nullable(part, left, right) for part in parts)
            case AnchoredRepeat(part, min_count):
                return min_count == 0 or self.is_nullable(part, left, right)
            case AnchoredIntersection(inner, other, negate):
                return (
                    self.is_nullable(inner, left, True) and self.is_nullable(other, left, True) is not negate
                )
            case Lookaround():
                raise UnsupportedAnchor(
                    "this lookaround is not supported; write the pattern without it", raw.column
                )
            case _:
                return is_nullable(raw)

    def sequence(self, parts: tuple[AnchoredNode, ...], left: bool, right: bool, *, nonempty: bool) -> Node:
        """Return the texts of a sequence, computed from its end: for each tail, with and without the start."""
        edges = (True, False) if left else (False,)
        tails: dict[bool, Node] = dict.fromkeys(edges, EMPTY)
        nonempty_tails: dict[bool, Node] = dict.fromkeys(edges, NEVER)
        nullable_tails = dict.fromkeys(edges, True)
        tail_uses_start = False
        for part in reversed(parts):
            uses_start, uses_end = _uses_edge(part, start=True), _uses_edge(part, start=False)
            next_tails, next_nonempty, next_nullable = {}, {}, {}
            for edge in edges:
                extended = self.join_head(
                    part, edge, right, uses_end, tails[False], nonempty_tails[False], nullable_tails[False]
                )
                skipped = self.is_nullable(part, edge, False)
                next_nullable[edge] = nullable_tails[edge] and (
                    skipped or self.is_nullable(part, edge, right)
                )
                next_nonempty[edge] = choice([nonempty_tails[edge], extended]) if skipped else extended
                if not uses_end and not tail_uses_start:
                    next_tails[edge] = seq(self.language(part, edge, False), tails[edge])
                elif skipped:
                    next_tails[edge] = choice([tails[edge], extended])
                else:
                    next_tails[edge] = choice([EMPTY, extended]) if next_nullable[edge] else extended
                self.check_weight(next_tails[edge])
            tails, nonempty_tails, nullable_tails = next_tails, next_nonempty, next_nullable
            tail_uses_start = tail_uses_start or uses_start
        return nonempty_tails[left] if nonempty else tails[left]

    def join_head(
        self,
        part: AnchoredNode,
        edge: bool,
        right: bool,
        depends_on_edge: bool,
        tail: Node,
        nonempty_tail: Node,
        tail_nullable: bool,
    ) -> Node:
        """Return the non-empty texts of `part`, each followed by a text of the tail."""
        if not depends_on_edge:
            return seq(self.nonempty_language(part, edge, False), tail)
        ending = [self.nonempty_language(part, edge, right)] if tail_nullable else []
        return choice([seq(self.nonempty_language(part, edge, False), nonempty_tail), *ending])

    def iterations(self, raw: AnchoredRepeat, left: bool, right: bool) -> list[Node]:
        """Return the options with at least one non-empty iteration; empty iterations can be anywhere between."""
        part, min_count, max_count = raw.part, raw.min_count, raw.max_count
        options: list[Node] = []
        can_be_empty = self.is_nullable(part, left, False) or self.is_nullable(part, False, right)
        if min_count <= 1 or can_be_empty:
            options.append(self.nonempty_language(part, left, right))
        if max_count is None or max_count >= 2:
            inner = self.nonempty_language(part, False, False)
            min_inner = 0 if can_be_empty else max(min_count - 2, 0)
            middle = (
                EMPTY
                if inner is NEVER and min_inner == 0
                else plain_repeat(inner, min_inner, None if max_count is None else max_count - 2)
            )
            options.append(
                seq(
                    self.nonempty_language(part, left, False),
                    middle,
                    self.nonempty_language(part, False, right),
                )
            )
        return options


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
            return next((found for part in parts if (found := _find_lookaround(part))), None)
        case AnchoredRepeat(part):
            return _find_lookaround(part)
        case _:
            return None


def _uses_edge(raw: AnchoredNode, *, start: bool) -> bool:
    """Return whether the texts of `raw` depend on its left edge (`start`) or its right edge."""
    match raw:
        case Anchor():
            return raw.at_start is start
        case AnchoredSeq(parts) | AnchoredChoice(parts):
            return any(_uses_edge(part, start=start) for part in parts)
        case AnchoredRepeat(part):
            return _uses_edge(part, start=start)
        case AnchoredIntersection(left, right):
            return start and (_uses_edge(left, start=True) or _uses_edge(right, start=True))
        case _:
            return False
