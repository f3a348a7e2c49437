"""Traversals of nodes: children, size, called rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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

__all__ = [
    "children",
    "components",
    "exceeds_size",
    "has_distinct",
    "has_text",
    "inlined",
    "is_recursive",
    "map_children",
    "referenced_rules",
]


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


def inlined(node: Node, rules: Mapping[str, Node]) -> Node | None:
    """Return a node with its rules in place of their calls; `None` if one is recursive or not among `rules`.

    >>> inlined(Repeat(RuleRef("a")), {"a": RuleRef("b"), "b": LiteralText("1")})
    Repeat(part=LiteralText(value='1'), min_count=0, max_count=None)
    >>> inlined(RuleRef("a"), {"a": Repeat(RuleRef("a"))})
    """
    open_rules: list[str] = []

    def change(part: Node) -> Node:
        if not isinstance(part, RuleRef):
            return map_children(part, change)
        if part.rule in open_rules or part.rule not in rules:
            raise LookupError
        open_rules.append(part.rule)
        body = change(rules[part.rule])
        open_rules.pop()
        return body

    try:
        return change(node)
    except LookupError:
        return None


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


def has_distinct(node: Node) -> bool:
    """Return whether a node contains texts that must be distinct.

    >>> has_distinct(Seq((LiteralText("a"), Distinct(LiteralText("b"))))), has_distinct(LiteralText("a"))
    (True, False)
    """
    pending, seen = [node], set[int]()
    while pending:
        current = pending.pop()
        if isinstance(current, Distinct | AnyOrder):
            return True
        if id(current) not in seen:
            seen.add(id(current))
            pending += children(current)
    return False


def has_text(node: Node) -> bool:
    """Return whether a language certainly has a text; products and calls are not examined.

    >>> has_text(Seq((LiteralText("a"), Repeat(RuleRef("b"))))), has_text(RuleRef("b"))
    (True, False)
    """
    match node:
        case LiteralText():
            return True
        case CharClass(ranges):
            return bool(ranges)
        case Seq(parts):
            return all(map(has_text, parts))
        case Choice(parts):
            return any(map(has_text, parts))
        case Repeat(part, min_count):
            return not min_count or has_text(part)
        case _:
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


def components(edges: Mapping[str, Iterable[str]], roots: Iterable[str] | None = None) -> list[list[str]]:
    """Return the strongly connected components of a graph, those reached first (Tarjan 1972), without recursion.

    Args:
        edges: The successors of each node.
        roots: Where to start; by default at each node.

    >>> components({"a": ["b"], "b": ["a", "c"], "c": []})
    [['c'], ['b', 'a']]
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for root in edges if roots is None else roots:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        walk = [(root, iter(edges[root]))]
        while walk:
            node, following = walk[-1]
            for after in following:
                if after not in index:
                    index[after] = low[after] = len(index)
                    stack.append(after)
                    on_stack.add(after)
                    walk.append((after, iter(edges.get(after, ()))))
                    break
                if after in on_stack:
                    low[node] = min(low[node], index[after])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == index[node]:
                    component: list[str] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                    on_stack.difference_update(component)
                    found.append(component)
    return found
