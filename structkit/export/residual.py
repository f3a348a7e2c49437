"""The rest of a language after a text: what may follow, as rules that can be printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import TypeAlias

from structkit.automaton.core.dfa import ENTER, EXIT, NO_OP, node_of
from structkit.automaton.core.kernels import OPERATION_BITS, OPERATION_MASK, UNREACHABLE
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.stack import Below, Frame
from structkit.errors import LimitExceeded
from structkit.export.characters import CharacterMoves
from structkit.export.gbnf import format_gbnf
from structkit.export.lark import format_lark
from structkit.limits import Limits
from structkit.regex.labels import without_labels
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    CharClass,
    Network,
    Node,
    Repeat,
    ReturnLabel,
    RuleRef,
    Rules,
    choice,
    seq,
)
from structkit.regex.print import format_regex
from structkit.regex.walk import referenced_rules

__all__ = ["Residual", "residual"]

_START, _END = 0, 1
"""The states of a `Network` at which its paths start and end."""

_Moves: TypeAlias = "dict[int, list[tuple[Node, int, int]]]"
"""For each state, what a move reads, its operation on the counter, and the state after it."""


@dataclass(frozen=True)
class Residual:
    """The texts that may follow a text, so that both together are a text of a language.

    Returned by `Cursor.residual`. Parts that must differ, such as the items of a set and the additional keys of an
    object, may be equal to those of the text before: a grammar does not remember them.

    Attributes:
        rules: The rest as rules of regexes.
        limits: Bounds on the size of what is printed.
    """

    rules: Rules
    limits: Limits

    def to_regex(self) -> str:
        """Return the rest as a regex, as `structkit.to_regex` does.

        Raises:
            LimitExceeded: The regex would be too long.
            SchemaError: Keys may have any order, or parts are quotes of a source.
        """
        return format_regex(self.rules, self.limits)

    def to_gbnf(self, start: str = "root") -> str:
        """Return the rest as a grammar of llama.cpp, as `structkit.to_gbnf` does. Raises as `to_gbnf`."""
        return format_gbnf(self.rules, start, self.limits)

    def to_lark(self, start: str = "start") -> str:
        """Return the rest as a grammar of Lark, as `structkit.to_lark` does. Raises as `to_lark`."""
        return format_lark(self.rules, start, self.limits)


def residual(automaton: Automaton, frames: Iterable[Frame]) -> Residual:
    """Return the rest of a language after the text that leads to the frames.

    Raises:
        ValueError: The text ends inside a character.
        LimitExceeded: The rest of a counted repetition would be too large.
    """
    with automaton.lock:  # the rules are lowered on their first lookup
        rest = _Rest(automaton)
        start = choice(rest.of(frame) for frame in sorted(frames, key=lambda frame: frame.state))
        return Residual(rest.rules(start), automaton.limits)


class _Rest:
    """Makes the rest of each frame a node.

    The rest of a frame is that of its rule, then that of a frame below it. The frames of a text include those of the
    rules that can begin or end there, so the rest of a frame on top begins with a character.
    """

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._source = automaton.builder.rules
        self._characters: dict[int, CharacterMoves] = {}
        self._below: dict[Frame, str] = {}
        self._pending: list[Frame] = []
        self._labelled: dict[str, Node] = {}

    def rules(self, start: Node) -> Rules:
        """Return the rules that a node calls."""
        found: dict[str, Node] = {}
        while self._pending:
            frame = self._pending.pop()
            found[self._below[frame]] = self.from_frame(frame, first=False)
        found |= self._labelled
        pending = [start, *found.values()]
        while pending:
            for name in referenced_rules(pending.pop()) - found.keys():
                found[name] = self._source.rules[name]
                pending.append(found[name])
        return without_labels(Rules(start, found))

    def of(self, frame: Frame) -> Node:
        """Return the rest after a frame on top."""
        return self.from_frame(frame, first=True)

    def from_frame(self, frame: Frame, *, first: bool) -> Node:
        """Return the rest of a frame's rule, see `rule`, and what follows the rule."""
        node, labels = self.rule(frame, first=first), self.labels(self._automaton.rule_of[frame.state])
        if not labels:
            return seq(node, self.below(frame.below))
        if not isinstance(node, RuleRef):
            name = self.new_name()
            self._labelled[name] = node
            node = RuleRef(name)
        moves: list[tuple[int, Node, int]] = [(_START, node, 2)]
        for state, label in enumerate(labels, 3):
            moves += [
                (2, ReturnLabel(label, is_return=True), state),
                (state, self.below(frame.below, label), _END),
            ]
        return Network(3 + len(labels), tuple(moves))

    def labels(self, rule: int) -> list[int]:
        """Return the labels with which a rule ends."""
        ends = self._automaton.builder.built[rule].label_distance
        return [label for label, to_end in enumerate(ends) if to_end.min() < UNREACHABLE]

    def label(self, rule: int, state: int, number: int) -> ReturnLabel:
        """Return a label with which a rule ends in a state, or which it finds there behind a call."""
        ends = self._automaton.builder.built[rule].label_distance
        first = self._automaton.state_range(rule)[0]
        is_end = number < len(ends) and ends[number, state - first] == 0
        return ReturnLabel(number, is_return=not is_end)

    def below(self, below: Below, label: int | None = None) -> Node:
        """Return the rest after the rule above ends."""
        if below is None:
            return EMPTY
        frames = (below,) if isinstance(below, Frame) else below.frames
        if label is not None:
            frames = tuple(self._automaton.labelled_return(frame, label) for frame in frames)
        return choice(map(self.call, frames))

    def call(self, frame: Frame) -> Node:
        """Return the call of a rule for the rest after a frame."""
        if frame not in self._below:
            self._below[frame] = self.new_name()
            self._pending.append(frame)
        return RuleRef(self._below[frame])

    def new_name(self) -> str:
        """Return a name that no rule has."""
        number = len(self._below) + len(self._labelled) + 1
        taken = {*self._below.values(), *self._labelled}
        while f"rest-{number}" in self._source.rules or f"rest-{number}" in taken:
            number += 1
        return f"rest-{number}"

    def rule(self, frame: Frame, *, first: bool) -> Node:
        """Return the rest of a frame's rule; with `first` at least one character, unless the whole text may end."""
        automaton, state = self._automaton, frame.state
        rule = automaton.rule_of[state]
        if state == automaton.start_state(rule) and frame.count == 0:
            return self.callee(rule)
        moves = self.reachable(rule, state)
        if any(operation != NO_OP for leaving in moves.values() for _, operation, _ in leaving):
            return self.counted(rule, frame, moves)
        paths = {source: [(node, target) for node, _, target in leaving] for source, leaving in moves.items()}
        ends = {source for source in moves if self._automaton.final[source]}
        if not first:
            return _network(paths, paths[state], ends, is_end=state in ends)
        characters = [each for each in paths[state] if isinstance(each[0], CharClass)]
        return _network(paths, characters, ends, is_end=state in ends and frame.below is None)

    def counted(self, rule: int, frame: Frame, moves: _Moves) -> Node:
        """Return the rest of a rule with a counter.

        If each round of its repetition ends in a state from which the same moves leave, the repetition stays one.
        Otherwise the states have a count.
        """
        automaton, state = self._automaton, frame.state
        least, most = automaton.counter_bounds[rule]
        between = {source for source, leaving in moves.items() if any(each[1] != NO_OP for each in leaving)}
        within = {
            source: [(node, target) for node, _, target in leaving]
            for source, leaving in moves.items()
            if source not in between
        }
        (leaving, is_final), *others = {
            (tuple(moves[source]), bool(automaton.final[source])) for source in between
        }
        started = [(node, target) for node, operation, target in leaving if operation == ENTER]
        ended = [(node, target) for node, operation, target in leaving if operation == EXIT]
        inside, after = (_reached(within, [target for _, target in each]) for each in (started, ended))
        before = _reached(within, [state])
        is_simple = (
            not others
            and len(started) + len(ended) == len(leaving)
            and not after & (between | before)
            and not any(automaton.final[source] for source in (inside | before) - between)
        )
        if not is_simple:
            return self.unrolled(rule, frame, moves)
        head = EMPTY if state in between else _network(within, within[state], between)
        part = Repeat(
            _network(within, started, between),
            max(least - frame.count, 0),
            most - frame.count if most >= 0 else None,
        )
        ends = {source for source in after if automaton.final[source]}
        tail = _network(within, ended, ends, is_end=is_final)
        return seq(head, part, tail)

    def unrolled(self, rule: int, frame: Frame, moves: _Moves) -> Node:
        """Return the rest of a rule with a counter, with a state for each state and count."""
        automaton = self._automaton
        numbers = {(frame.state, frame.count): 0}
        paths: dict[int, list[tuple[Node, int]]] = {}
        ends: set[int] = set()
        pending = [(frame.state, frame.count)]
        while pending:
            state, count = pending.pop()
            number = numbers[state, count]
            if automaton.final[state] and count >= automaton.counter_bounds[rule][0]:
                ends.add(number)
            leaving = paths[number] = []
            for node, operation, target in moves[state]:
                following = automaton.apply_operation(rule, count, operation)
                if following is None:
                    continue
                if (target, following) not in numbers:
                    numbers[target, following] = len(numbers)
                    pending.append((target, following))
                leaving.append((node, numbers[target, following]))
            if len(numbers) > automaton.limits.search_states:
                raise LimitExceeded(
                    "search_states", automaton.limits.search_states, "the rest of a counted pattern"
                )
        return _network(paths, paths[0], ends, is_end=0 in ends)

    def reachable(self, rule: int, state: int) -> _Moves:
        """Return the moves of the states of a rule that can be reached from a state, over characters and calls."""
        automaton, first = self._automaton, self._automaton.state_range(rule)[0]
        characters = self._characters.get(rule)
        if characters is None:
            characters = self._characters[rule] = CharacterMoves(automaton.dfa(rule))
        if characters.is_inside(state - first):
            raise ValueError("the text ends inside a character; go back to its first byte")
        found: _Moves = {}
        pending = [state]
        while pending:
            source = pending.pop()
            if source in found:
                continue
            leaving: list[tuple[Node, int, int]] = [
                (node, move & OPERATION_MASK, (move >> OPERATION_BITS) + first)
                for move, node in characters.of(source - first).items()
            ]
            for call in range(automaton.call_first.item(source), automaton.call_first.item(source + 1)):
                number = automaton.call_rule.item(call)
                callee = self.callee(number) if number >= 0 else self.label(rule, source, -1 - number)
                leaving.append((callee, automaton.call_operation.item(call), automaton.call_next.item(call)))
                if number < 0 and automaton.final[automaton.call_next.item(call)]:
                    found[automaton.call_next.item(call)] = []
            found[source] = leaving
            pending += [target for _, _, target in leaving]
        return found

    def callee(self, rule: int) -> Node:
        """Return the node of the texts of a rule."""
        key = self._automaton.builder.keys[rule]
        return RuleRef(key) if isinstance(key, str) else node_of(self._source, key)


def _reached(paths: Mapping[int, list[tuple[Node, int]]], starts: Iterable[int]) -> set[int]:
    """Return the states that can be reached; a state without an entry in `paths` is not left."""
    found: set[int] = set()
    pending = [*starts]
    while pending:
        state = pending.pop()
        if state not in found:
            found.add(state)
            pending += [target for _, target in paths.get(state, ())]
    return found


def _network(
    paths: Mapping[int, list[tuple[Node, int]]],
    first: list[tuple[Node, int]],
    ends: Set[int],
    *,
    is_end: bool = False,
) -> Node:
    """Return the paths from the first moves to the ends; a state without an entry in `paths` is not left.

    Args:
        paths: The moves of each state.
        first: The moves at the start.
        ends: The states at which a path may end.
        is_end: Whether the start is an end.
    """
    numbers = {state: number for number, state in enumerate(_reached(paths, [each[1] for each in first]), 2)}
    if not numbers:
        return EMPTY if is_end else NEVER
    moves: list[tuple[int, Node, int]] = [(_START, node, numbers[target]) for node, target in first]
    moves += [
        (number, node, numbers[target])
        for state, number in numbers.items()
        for node, target in paths.get(state, ())
    ]
    moves += [(number, EMPTY, _END) for state, number in numbers.items() if state in ends]
    if is_end:
        moves.append((_START, EMPTY, _END))
    return Network(len(numbers) + 2, tuple(moves))
