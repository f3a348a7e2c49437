"""Traversals of nodes: children, size, called rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from structkit.regex.nodes import (
    AnyOrder,
    AnyOrderEntry,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    ListPart,
    LiteralText,
    Network,
    Node,
    Repeat,
    RuleRef,
    Rules,
    SeparatedList,
    Seq,
)

__all__ = ["children", "exceeds_size", "is_recursive", "map_children", "referenced_rules"]


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct children of a node.

    >>> children(Repeat(RuleRef("a")))
    (RuleRef(rule='a'),)
    """
    match node:
        case Seq(parts) | Choice(parts):
            return parts
        case Repeat(part) | Distinct(part):
            return (part,)
        case Intersection(left, right):
            return left, right
        case SeparatedList(parts):
            return tuple(part.node for part in parts)
        case AnyOrder(entries):
            return tuple(node for entry in entries for node in (entry.key, entry.value))
        case Network(_, moves):
            return tuple(node for _, node, _ in moves)
        case _:
            return ()


def map_children(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return a copy of a node with `change` applied to its direct children.

    >>> map_children(Repeat(RuleRef("a")), lambda inner: LiteralText("b"))
    Repeat(part=LiteralText(value='b'), min_count=0, max_count=None)
    """
    match node:
        case Seq(parts):
            return Seq(tuple(change(part) for part in parts))
        case Choice(parts):
            return Choice(tuple(change(part) for part in parts)) if parts else node
        case Repeat(part):
            return replace(node, part=change(part))
        case Distinct(inner):
            return Distinct(change(inner))
        case Intersection(left, right):
            return replace(node, left=change(left), right=change(right))
        case SeparatedList(members):
            return replace(
                node,
                parts=tuple(ListPart(change(each.node), each.min_count, each.max_count) for each in members),
            )
        case AnyOrder(entries):
            changed = (
                AnyOrderEntry(Distinct(change(each.key.node)), change(each.value), each.counted)
                for each in entries
            )
            return replace(node, entries=tuple(changed))
        case Network(size, moves):
            return Network(size, tuple((source, change(each), target) for source, each, target in moves))
        case _:
            return node


def exceeds_size(node: Node, count: int) -> bool:
    """Return whether a node has more than `count` nodes; stops at the first node beyond `count`.

    >>> exceeds_size(Repeat(RuleRef("a")), 1)
    True
    """
    found = [node]
    for current in found:
        if isinstance(current, (Seq, Choice)):
            found += current.parts
        elif not isinstance(current, (LiteralText, RuleRef, CharClass)):
            found += children(current)
        if len(found) > count:
            return True
    return False


def referenced_rules(node: Node) -> set[str]:
    """Return the names of the rules that a node calls directly.

    >>> referenced_rules(Repeat(RuleRef("a")))
    {'a'}
    """
    found: set[str] = set()
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, RuleRef):
            found.add(current.rule)
        pending += children(current)
    return found


def is_recursive(rules: Rules) -> bool:
    """Return whether a rule reachable from the start calls itself, directly or indirectly.

    >>> is_recursive(Rules(RuleRef("a"), {"a": Repeat(RuleRef("a"))}))
    True
    """
    done: set[str] = set()
    active: set[str] = set()
    walk: list[tuple[str | None, set[str]]] = [(None, referenced_rules(rules.start))]
    while walk:
        name, callees = walk[-1]
        if callees:
            callee = callees.pop()
            if callee in active:
                return True
            if callee not in done:
                active.add(callee)
                walk.append((callee, referenced_rules(rules.rules[callee])))
        else:
            walk.pop()
            if name is not None:
                active.discard(name)
                done.add(name)
    return False
