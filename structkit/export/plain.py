"""Plain rules: texts, classes, sequences, unions, repetitions and calls, which every notation of grammars has."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from structkit.automaton.construct.compile_rule import regular_dfa, rule_dfa
from structkit.automaton.core.dfa import Dfa, RuleKey, node_of
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.errors import SchemaError, UnsatisfiableSchema
from structkit.export.characters import CharacterMoves
from structkit.export.states import state_rules
from structkit.limits import Limits, Work
from structkit.regex.charset import single_char, union
from structkit.regex.labels import without_labels
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    AnyOrder,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    LiteralText,
    MultipleOf,
    Network,
    Node,
    Repeat,
    ReturnLabel,
    RuleRef,
    Rules,
    SeparatedList,
    Seq,
    Substring,
    choice,
    seq,
)
from structkit.regex.pattern.empty_text import is_nullable, without_empty_text
from structkit.regex.walk import children, exceeds_size, referenced_rules

__all__ = ["Plain", "plain_rules"]


def plain_rules(rules: Rules, limits: Limits = Limits()) -> Rules:  # noqa: B008
    r"""Return rules of the same language that are made of texts, classes, sequences, unions, repetitions and calls.

    No rule calls itself before it reads a character, unless the given rules do so, and the part of an unbounded
    repetition is not empty. What must be distinct may be equal. Intersections, differences, multiples and networks
    become rules for the states of their automaton, over characters.

    >>> from structkit.regex.charset import DIGIT
    >>> even = Intersection(Repeat(DIGIT, 1, None), MultipleOf(2))
    >>> plain_rules(Rules(even, {})).rules.keys()
    dict_keys(['start-1', 'start-2'])

    Raises:
        LimitExceeded: The rules would be too large.
        SchemaError: The rules contain keys in any order, quotes of a source, or bytes that are not UTF-8.
        UnsatisfiableSchema: The language is empty.
    """
    plain = Plain(without_labels(rules), limits)
    return plain.finish(plain.node(rules.start, "start"))


_MAX_REPEATED = 8
"""Maximum size of a part that is written several times instead of called, in nodes."""

_NODE_STEPS, _MOVE_STEPS = 100, 500
"""Steps for a node and for a move of an automaton: all passes over them, and their text."""


class Plain:
    """Makes nodes plain, and collects the rules that they call.

    Args:
        source: The rules.
        limits: Bounds on the size of the automata and of the result.
    """

    def __init__(self, source: Rules, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self._rules: dict[str, Node] = {}
        self._names: dict[Node, str] = {}
        self._pending: list[str] = []
        self._made = 0
        self._work = Work(limits.work)

    def finish(self, start: Node) -> Rules:
        """Return the rules that a plain node calls, directly or indirectly, without those that have no text."""
        while self._pending:
            name = self._pending.pop()
            self._rules[name] = NEVER  # in its place, before the rules that it calls
            self._rules[name] = self.node(node_of(self._source, name), name)
        rules = _reachable(_without_dead(_without_empty(Rules(start, self._rules))))
        if rules.start is NEVER:
            raise UnsatisfiableSchema(
                "no text satisfies all parts of the target; change one of its patterns",
                place="$",
            )
        return rules

    def node(self, node: Node, name: str) -> Node:
        """Return the plain form of a node. `name` names the rules made for its parts."""
        self._work.pay(_NODE_STEPS, "the printed grammar")
        match node:
            case LiteralText():
                return node
            case CharClass(ranges):
                return node if ranges else NEVER
            case Seq(parts):
                return seq(*(self.node(part, name) for part in parts))
            case Choice(parts):
                return _union(self.node(part, name) for part in parts)
            case Repeat(part, low, high):
                return _repeat(self.node(part, name), low, high)
            case RuleRef(rule):
                return self.call(rule)
            case Distinct(inner):
                return self.node(inner, name)
            case SeparatedList():
                return self.separated_list(node, name)
            case Intersection() | MultipleOf():
                rules = self._source.rules if referenced_rules(node) else None
                return self.states(regular_dfa(node, self._limits, rules), name)
            case Network():
                # Without a counter: large repetitions in a network are rules that it calls.
                return self.states(rule_dfa(node, self._limits), name)
            case ReturnLabel():
                raise TypeError("a label outside of a labelled rule")
            case Substring():
                raise SchemaError("quotes of a source have no grammar; remove the fields with Quote")
            case AnyOrder():
                raise SchemaError("keys in any order have no grammar; use order='declared'")

    def call(self, rule: str) -> Node:
        """Return the call of a rule, which will be made plain."""
        if rule not in self._rules and rule not in self._pending:
            self._pending.append(rule)
        return RuleRef(rule)

    def separated_list(self, node: SeparatedList, name: str) -> Node:
        """Return a list. Where several parts may be the first, a rule has what follows the items of a part."""
        parts = [(self.node(part.node, name), part.min_count, part.max_count) for part in node.parts]
        parts = [(part, low, high) for part, low, high in parts if high != 0 and (part is not NEVER or low)]
        separator = LiteralText(node.separator)
        leading = 1 + next((i for i, (_, low, _) in enumerate(parts) if low), len(parts))
        after: Node = EMPTY  # what follows an item of an earlier part
        starts: list[Node] = []
        for index in reversed(range(len(parts))):
            part, low, high = parts[index]
            if index < leading:
                if index:
                    after = self.shared(after, name)
                if index or high != 1:
                    part = self.shared(part, name)
                more = _repeat(seq(separator, part), max(low - 1, 0), None if high is None else high - 1)
                starts.append(seq(part, more, after))
            if index:
                after = seq(_repeat(seq(separator, part), low, high), after)
        return choice([*reversed(starts), *([] if leading <= len(parts) else [EMPTY])])

    def shared(self, node: Node, name: str) -> Node:
        """Return a node to be used several times: itself if it is small, or a call of its rule."""
        return RuleRef(self.add_rule(node, None, name)) if exceeds_size(node, _MAX_REPEATED) else node

    def add_rule(self, node: Node | None, rule: str | None, name: str) -> str:
        """Return the name of the rule of a node, which is made unless there is one; `None` reserves a name."""
        if node is None or rule is None:
            known = None if node is None else self._names.get(node)
            if known is not None:
                return known
            rule = self.new_name(name)
        if node is not None:
            self._rules[rule] = node
            self._names[node] = rule
        return rule

    def new_name(self, name: str) -> str:
        """Return a name that no rule has."""
        while True:
            self._made += 1
            made = f"{name}-{self._made}"
            if made not in self._rules and made not in self._source.rules:
                return made

    def states(self, dfa: Dfa, name: str) -> Node:
        """Return the rules of an automaton's states."""
        if dfa.is_empty:
            return NEVER
        moves, ends = self.moves(dfa, 0, name)
        return state_rules(moves, ends, 0, lambda node, rule: self.add_rule(node, rule, name))

    def moves(
        self, dfa: Dfa, start: int, name: str
    ) -> tuple[dict[int, list[tuple[Node, int]]], dict[int, Node]]:
        """Return the moves of an automaton without a counter, over characters and calls, and its ends."""
        characters = CharacterMoves(dfa)
        callees = [self.key(key, name) for key in dfa.rules_called]  # there are no labels left
        calls: dict[int, list[tuple[Node, int]]] = {}
        for state, callee, after, _ in dfa.calls.tolist():
            calls.setdefault(state, []).append((callees[callee], after))
        moves: dict[int, list[tuple[Node, int]]] = {}
        pending = [start]
        while pending:
            state = pending.pop()
            if state in moves:
                continue
            read = [(each, move >> OPERATION_BITS) for move, each in characters.of(state).items()]
            moves[state] = [*read, *calls.get(state, ())]
            self._work.pay(_MOVE_STEPS * len(moves[state]), "the printed grammar")
            pending += [target for _, target in moves[state]]
        return moves, {state: EMPTY for state in moves if dfa.final[state]}

    def key(self, key: RuleKey, name: str) -> Node:
        """Return the plain node of a callee."""
        return self.call(key) if isinstance(key, str) else self.node(node_of(self._source, key), name)


def _repeat(part: Node, low: int, high: int | None) -> Node:
    """Return the repetition of a plain node."""
    if high == 0 or part == EMPTY:
        return EMPTY
    if part is NEVER:
        return EMPTY if low == 0 else NEVER
    if is_nullable(part):
        part, low = without_empty_text(part), 0
    return part if low == high == 1 else Repeat(part, low, high)


def _union(parts: Iterable[Node]) -> Node:
    """Return the union of plain nodes, with the single characters in one class."""
    single: list[CharClass] = []
    rest: list[Node] = []
    for part in parts:
        if isinstance(part, LiteralText) and len(part.value) == 1:
            single.append(single_char(part.value))
        elif isinstance(part, CharClass):
            single.append(part)
        else:
            rest.append(part)
    return choice([union(single), *rest] if single else rest)


def _without_empty(rules: Rules) -> Rules:
    """Return the rules without the empty text, which becomes an alternative of their calls."""
    nullable: set[str] = set()

    def optional(node: Node) -> Node:
        if isinstance(node, RuleRef):
            return choice([node, EMPTY]) if node.rule in nullable else node
        return _simplified(node, optional)

    while found := {
        name for name, node in rules.rules.items() if name not in nullable and is_nullable(optional(node))
    }:
        nullable |= found
    if not nullable:
        return rules
    nodes = {name: optional(node) for name, node in rules.rules.items()}
    changed = {name: without_empty_text(node) if name in nullable else node for name, node in nodes.items()}
    return Rules(optional(rules.start), changed)


def _without_dead(rules: Rules) -> Rules:
    """Return the rules without the parts that have no text."""
    alive: set[str] = set()

    def living(node: Node) -> Node:
        if isinstance(node, RuleRef):
            return node if node.rule in alive else NEVER
        return _simplified(node, living)

    pending = rules.rules
    while found := {name for name, node in pending.items() if living(node) is not NEVER}:
        alive |= found
        pending = {name: node for name, node in pending.items() if name not in found}
    if not pending:
        return rules
    return Rules(
        living(rules.start), {name: living(rules.rules[name]) for name in rules.rules if name in alive}
    )


def _simplified(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return a plain node with `change` applied to its direct children."""
    match node:
        case Seq(parts):
            return seq(*map(change, parts))
        case Choice(parts):
            return choice(map(change, parts))
        case Repeat(part, low, high):
            return _repeat(change(part), low, high)
        case _:
            return node


def _reachable(rules: Rules) -> Rules:
    """Return the rules that are called, in the order of their first calls, without those that only call another."""

    def direct(node: Node) -> Node:
        while isinstance(node, RuleRef) and isinstance(callee := rules.rules[node.rule], RuleRef):
            node = callee
        return _simplified(node, direct)

    found: dict[str, Node] = {}
    start = direct(rules.start)
    pending = [start]
    while pending:
        node = pending.pop()
        if isinstance(node, RuleRef) and node.rule not in found:
            found[node.rule] = direct(rules.rules[node.rule])
            pending.append(found[node.rule])
        pending += reversed(children(node))
    return Rules(start, found)
