"""Rules with labels as rules without: a labelled rule becomes one rule for each label with which it can end."""

from __future__ import annotations

from collections.abc import Iterator

from structkit.regex.nodes import EMPTY, Network, Node, ReturnLabel, RuleRef, Rules
from structkit.regex.walk import children, map_children, referenced_rules

__all__ = ["without_labels"]

_END = 1
"""The state at which the paths of a `Network` end."""


def without_labels(rules: Rules) -> Rules:
    """Return rules of the same language without labels.

    The rules are returned as they are if none has labels.

    >>> from structkit.regex.nodes import LiteralText
    >>> a, b = LiteralText("a"), LiteralText("b")
    >>> inner = Network(4, ((0, a, 2), (0, b, 3), (2, ReturnLabel(0), 1), (3, ReturnLabel(1), 1)))
    >>> start = Network(5, ((0, RuleRef("x"), 2), (2, ReturnLabel(0), 3), (2, ReturnLabel(1), 1), (3, b, 1)))
    >>> list(without_labels(Rules(start, {"x": inner})).rules)
    ['x:0', 'x:1']
    """
    found: dict[str, Node] = {}
    owners: dict[str, tuple[str, int]] = {}
    has_labels = False

    def resolved(node: Node, label: int | None = None) -> Node:
        nonlocal has_labels
        if not _has_labels(node):
            return node
        has_labels = True
        if isinstance(node, Network):
            return Network(node.size, tuple(_moves(node, label, owners)))
        return map_children(node, resolved)

    start = resolved(rules.start)
    pending = [start]
    while pending:
        for name in referenced_rules(pending.pop()) - found.keys():
            rule, label = owners.get(name, (name, None))
            found[name] = resolved(rules.rules[rule], label)
            pending.append(found[name])
    return Rules(start, found, rules.unenforced) if has_labels else rules


def _has_labels(node: Node) -> bool:
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ReturnLabel):
            return True
        pending += children(part)
    return False


def _moves(
    network: Network, label: int | None, owners: dict[str, tuple[str, int]]
) -> Iterator[tuple[int, Node, int]]:
    """Yield the moves of a rule that ends with a label; new names of the rules that it calls are added to `owners`."""
    labels: dict[int, list[tuple[int, int]]] = {}
    for source, node, target in network.moves:
        if isinstance(node, ReturnLabel):
            labels.setdefault(source, []).append((node.number, target))
    behind_calls = {target for _, node, target in network.moves if isinstance(node, RuleRef)}
    for source, node, target in network.moves:
        if isinstance(node, ReturnLabel):
            if source not in behind_calls and node.number == label:
                yield source, EMPTY, _END
        elif isinstance(node, RuleRef) and target in labels:
            for number, after in labels[target]:
                name = f"{node.rule}:{number}"
                owners[name] = node.rule, number
                yield source, RuleRef(name), after
        else:
            yield source, node, target
