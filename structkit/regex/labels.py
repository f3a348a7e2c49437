"""Rules with labels as rules without: a labelled rule becomes one rule for each label with which it can end."""

from __future__ import annotations

from collections.abc import Iterator

from structkit.errors import SchemaError
from structkit.regex.lazy_rules import LazyRules
from structkit.regex.nodes import EMPTY, Network, Node, ReturnLabel, RuleRef, Rules
from structkit.regex.walk import children, map_children, referenced_rules

__all__ = ["labelled_name", "resolve_labels", "without_labels"]

_END = 1
"""The state at which the paths of a `Network` end."""


def without_labels(rules: Rules) -> Rules:
    """Return rules of the same language without labels.

    The rules are returned as they are if none has labels.

    Raises:
        SchemaError: There is no end of the rules.

    >>> from structkit.regex.nodes import LiteralText
    >>> a, b = LiteralText("a"), LiteralText("b")
    >>> inner = Network(4, ((0, a, 2), (0, b, 3), (2, ReturnLabel(0), 1), (3, ReturnLabel(1), 1)))
    >>> moves = (0, RuleRef("x"), 2), (2, ReturnLabel(0, True), 3), (2, ReturnLabel(1, True), 1), (3, b, 1)
    >>> start = Network(5, moves)
    >>> list(without_labels(Rules(start, {"x": inner})).rules)
    ['x:0', 'x:1']
    """
    if isinstance(rules.rules, LazyRules) and rules.rules.unlisted is not None:
        raise SchemaError(rules.rules.unlisted)
    found: dict[str, Node] = {}
    owners: dict[str, tuple[str, int]] = {}
    start = resolve_labels(rules.start, None, owners)
    pending = [start]
    while pending:
        for name in sorted(referenced_rules(pending.pop()) - found.keys()):
            rule, label = owners.get(name, (name, None))
            found[name] = resolve_labels(rules.rules[rule], label, owners)
            pending.append(found[name])
    return Rules(start, found, rules.unenforced) if owners else rules


def labelled_name(rule: str, label: int) -> str:
    """Return the name of the rule of the texts of a rule that end with a label."""
    return f"{rule}:{label}"


def resolve_labels(node: Node, label: int | None, owners: dict[str, tuple[str, int]]) -> Node:
    """Return a node without labels.

    Args:
        node: The node of a rule.
        label: The label with which its texts end; `None` for a rule without labels.
        owners: Receives, for each new name of a rule that it calls, the rule and the label.
    """
    if not _has_labels(node):
        return node
    if isinstance(node, Network):
        return Network(node.size, tuple(_moves(node, label, owners)))
    return map_children(node, lambda part: resolve_labels(part, label, owners))


def _has_labels(node: Node) -> bool:
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ReturnLabel):
            return True
        if isinstance(
            part, Network
        ):  # its labels are moves of its own; the automata of its terminals are large
            if any(isinstance(each, ReturnLabel) for _, each, _ in part.moves):
                return True
        else:
            pending += children(part)
    return False


def _moves(
    network: Network, label: int | None, owners: dict[str, tuple[str, int]]
) -> Iterator[tuple[int, Node, int]]:
    """Yield the moves of a rule that ends with a label; new names of the rules that it calls are added to `owners`."""
    labels: dict[int, list[tuple[int, int]]] = {}
    for source, node, target in network.moves:
        if isinstance(node, ReturnLabel) and node.is_return:
            labels.setdefault(source, []).append((node.number, target))
    for source, node, target in network.moves:
        if isinstance(node, ReturnLabel):
            if not node.is_return and node.number == label:
                yield source, EMPTY, _END
        elif isinstance(node, RuleRef) and target in labels:
            for number, after in labels[target]:
                name = labelled_name(node.rule, number)
                owners[name] = node.rule, number
                yield source, RuleRef(name), after
        else:
            yield source, node, target
