"""Plain nodes of patterns: the empty text, edges that may be empty, and sequences that are easier to follow."""

from __future__ import annotations

from collections.abc import Sequence

from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    Choice,
    Intersection,
    LiteralText,
    Node,
    Repeat,
    Seq,
    choice,
    seq,
)

__all__ = ["is_nullable", "plain_repeat", "rotate", "shorten", "without_empty_text"]


def plain_repeat(node: Node, min_count: int, max_count: int | None) -> Node:
    """Repeat a plain node; `NEVER` and zero repetitions are simplified."""
    return NEVER if node is NEVER else EMPTY if max_count == 0 else Repeat(node, min_count, max_count)


def is_nullable(node: Node) -> bool:
    """Return whether a plain node contains the empty text."""
    match node:
        case LiteralText(value):
            return not value
        case Seq(parts):
            return all(map(is_nullable, parts))
        case Choice(parts):
            return any(map(is_nullable, parts))
        case Repeat(part, min_count):
            return min_count == 0 or is_nullable(part)
        case Intersection(left, right, negate):
            return is_nullable(left) and is_nullable(right) is not negate
        case _:
            return False


def without_empty_text(node: Node) -> Node:
    """Return a plain node without the empty text."""
    if not is_nullable(node):
        return node
    match node:
        case Seq(parts):
            head, tail = parts[0], seq(*parts[1:])
            return choice([seq(without_empty_text(head), tail), without_empty_text(tail)])
        case Choice(parts):
            return choice(without_empty_text(part) for part in parts)
        case Repeat(part, _, max_count):
            return plain_repeat(without_empty_text(part), 1, max_count)
        case Intersection(left, right, negate):
            return Intersection(without_empty_text(left), right, negate)
        case _:
            return NEVER


def shorten(node: Node, *, at_start: bool) -> Node:
    """Return a plain node without what the text beside it may contain as well, where any text may stand there.

    A search for `x{0,100}ab+` finds the same texts as one for `ab`, whose automaton is much smaller.

    Args:
        node: The node.
        at_start: Whether any text may stand before the node, otherwise behind it.

    >>> shorten(Seq((Repeat(LiteralText("x"), 0, 100), LiteralText("ab"))), at_start=True)
    LiteralText(value='ab')
    >>> shorten(Repeat(LiteralText("ab"), 2, 5), at_start=False)
    Repeat(part=LiteralText(value='ab'), min_count=2, max_count=2)
    """
    if is_nullable(node):
        return EMPTY
    match node:
        case Seq(parts):
            first = next(
                i for i, part in enumerate(parts if at_start else parts[::-1]) if not is_nullable(part)
            )
            if at_start:
                return seq(shorten(parts[first], at_start=True), *parts[first + 1 :])
            last = len(parts) - 1 - first
            return seq(*parts[:last], shorten(parts[last], at_start=False))
        case Choice(parts):
            return choice(shorten(part, at_start=at_start) for part in parts)
        case Repeat(part, min_count):
            edge, others = shorten(part, at_start=at_start), min_count - 1
            if edge == part:
                return part if others == 0 else Repeat(part, min_count, min_count)
            rest = plain_repeat(part, others, others)
            return seq(edge, rest) if at_start else seq(rest, edge)
        case _:
            return node


def rotate(parts: Sequence[Node]) -> list[Node]:
    """Return the parts of a sequence with `(xy){0,9}x` written as `x(yx){0,9}`.

    In the second form the first character of `y` decides whether there is another repetition, so that the automaton
    has one place for each character of the pattern.

    >>> words, space = Repeat(LiteralText("a"), 1, None), LiteralText(" ")
    >>> rotate([Repeat(Seq((words, space)), 0, 9), words]) == [words, Repeat(Seq((space, words)), 0, 9)]
    True
    """
    rotated = list(parts)
    for index in range(len(rotated) - 1):
        match rotated[index]:
            case Repeat(Seq((first, *rest)), min_count, max_count) if first == rotated[index + 1]:
                rotated[index : index + 2] = first, Repeat(seq(*rest, first), min_count, max_count)
    return rotated
