"""The empty text in plain nodes of patterns: whether it is there, and the other texts."""

from __future__ import annotations

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

__all__ = ["is_nullable", "plain_repeat", "without_empty_text"]


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
