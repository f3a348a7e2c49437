"""Walks over nodes: what is inside, how much of it, and which rules it calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from structkit.regex.nodes import (
    Alt,
    Both,
    Call,
    Chars,
    Entry,
    Joined,
    Node,
    Part,
    Repeat,
    Rules,
    Seq,
    Text,
    Unique,
    Unordered,
)

__all__ = ["calls", "children", "is_larger", "is_recursive", "mapped"]


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly inside a node.

    >>> children(Repeat(Call("a")))
    (Call(rule='a'),)
    """
    match node:
        case Seq(parts) | Alt(parts):
            return parts
        case Repeat(part) | Unique(part):
            return (part,)
        case Both(left, right):
            return left, right
        case Joined(parts):
            return tuple(part.node for part in parts)
        case Unordered(entries):
            return tuple(node for entry in entries for node in (entry.key, entry.rest))
        case _:
            return ()


def mapped(node: Node, change: Callable[[Node], Node]) -> Node:
    """A node with each of the nodes directly inside it changed.

    >>> mapped(Repeat(Call("a")), lambda inner: Text("b"))
    Repeat(part=Text(value='b'), least=0, most=None)
    """
    match node:
        case Seq(parts):
            return Seq(tuple(change(part) for part in parts))
        case Alt(parts):
            return Alt(tuple(change(part) for part in parts)) if parts else node
        case Repeat(part):
            return replace(node, part=change(part))
        case Unique(inner):
            return Unique(change(inner))
        case Both(left, right):
            return replace(node, left=change(left), right=change(right))
        case Joined(members):
            return replace(
                node, parts=tuple(Part(change(each.node), each.least, each.most) for each in members)
            )
        case Unordered(entries):
            changed = (
                Entry(Unique(change(each.key.node)), change(each.rest), each.counts) for each in entries
            )
            return replace(node, entries=tuple(changed))
        case _:
            return node


def is_larger(node: Node, count: int) -> bool:
    """Whether there are more nodes than `count`; no more than that are looked at.

    >>> is_larger(Repeat(Call("a")), 1)
    True
    """
    found = [node]
    for current in found:
        if isinstance(current, (Seq, Alt)):
            found += current.parts
        elif not isinstance(current, (Text, Call, Chars)):
            found += children(current)
        if len(found) > count:
            return True
    return False


def calls(node: Node) -> set[str]:
    """The rules that a node calls directly.

    >>> calls(Repeat(Call("a")))
    {'a'}
    """
    found: set[str] = set()
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, Call):
            found.add(current.rule)
        pending += children(current)
    return found


def is_recursive(rules: Rules) -> bool:
    """Whether a rule that the start reaches calls itself, directly or through others.

    >>> is_recursive(Rules(Call("a"), {"a": Repeat(Call("a"))}))
    True
    """
    done: set[str] = set()
    opened: set[str] = set()
    walk: list[tuple[str | None, set[str]]] = [(None, calls(rules.start))]
    while walk:
        name, callees = walk[-1]
        if callees:
            callee = callees.pop()
            if callee in opened:
                return True
            if callee not in done:
                opened.add(callee)
                walk.append((callee, calls(rules.rules[callee])))
        else:
            walk.pop()
            if name is not None:
                opened.discard(name)
                done.add(name)
    return False
