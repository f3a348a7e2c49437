"""Distinct texts: an open text must still have a completion that differs from all texts seen before.

If every prefix has infinitely many completions, as in free text, such a completion always exists, and only the end of
the text must be checked.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core import kernels
from structkit.automaton.core.dfa import DEAD
from structkit.automaton.core.kernels import OPERATION_BITS, UNREACHABLE
from structkit.automaton.core.tables import UNBUILT, Tables, extract_dfa
from structkit.automaton.distance.trim import measure_rule
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.stack import Below, Frame

__all__ = [
    "DistinctTexts",
    "Fuel",
    "can_still_differ",
    "cannot_repeat",
    "forbidden_suffixes",
    "has_unused_text",
]

_MAX_CALL_DEPTH = 16
"""Rules that call each other and are examined whether there is an end of their texts."""

_MAX_RULES = 256
"""Rules that are examined for what may come next; if there are more, they may repeat anything."""

_MAX_SWEEPS = 64
"""How far from the end of a rule states are looked for from which there is an end of texts."""

_MIN_LARGE_RULE_STATES = 256
"""States of a rule for which a search goes only an eighth as far; all texts further from the end may be repeated."""

_READS_PER_TEXT = 0.12
"""What the beginning of a text takes of `Fuel` where one that differs from the texts seen is searched: about 8 µs."""


class Fuel:
    """The reads that searches may still make, each of which takes about 0.05 ms.

    Attributes:
        reads: Their number; negative when they are spent.
    """

    __slots__ = ("reads",)

    def __init__(self, reads: float) -> None:
        self.reads = reads


class DistinctTexts:
    """Facts about the distinct texts that the rules of an automaton call, computed on first use."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self._infinite: dict[int, NDArray[np.bool_]] = {}
        # Of rules that call what is not built yet, as long as that is so.
        self._provisional: dict[int, NDArray[np.bool_]] = {}
        self._tables: Tables | None = None
        self._unrestricted: dict[int, bool] = {}
        self._may_contain_distinct: dict[int, bool] = {}
        self._direct: dict[int, tuple[frozenset[int], frozenset[int]]] = {}
        self._upcoming: dict[int, frozenset[int]] = {}
        self._requires_distinct: dict[tuple[int, bool], NDArray[np.bool_]] = {}
        self._needs: dict[bool, tuple[Tables, NDArray[np.bool_]]] = {}  # those of all rules

    def is_infinite(self, state: int) -> bool:
        """Return whether a rule has infinitely many completions from a state.

        The answer is no, too, where rules are not built yet, and where it would take long to find out.
        """
        rule = self.automaton.rule_of[state]
        return bool(self._states(rule, ())[state - self.automaton.state_range(rule)[0]])

    def rule_is_infinite(self, rule: int) -> bool:
        """Return whether a rule has infinitely many texts."""
        return self.automaton.start[rule] != UNBUILT and self.is_infinite(int(self.automaton.start[rule]))

    def _states(self, rule: int, callers: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return bool[states of the rule], see `endless`; `callers` are the rules that called this one."""
        automaton = self.automaton
        if self._tables is not automaton.tables:
            self._tables = automaton.tables
            self._provisional.clear()
        known = self._infinite.get(rule, self._provisional.get(rule))
        if known is not None:
            return known
        first, stop = automaton.state_range(rule)
        calls = automaton.call_first[first : stop + 1]
        row, width = int(automaton.row[first]), automaton.tables.width(first, stop)
        targets = automaton.targets[row : row + (stop - first) * width].reshape(-1, width)
        called = slice(calls[0], calls[-1])
        is_call = automaton.call_rule[called] >= 0  # what follows a label is not examined
        callees, back = automaton.call_rule[called][is_call], automaton.call_next[called][is_call] - first
        starts = automaton.start[callees]
        built = bool((starts != UNBUILT).all())
        from_state = np.repeat(np.arange(stop - first), np.diff(calls))[is_call]
        inside = [self._callee_is_infinite(callee, (*callers, rule)) for callee in callees.tolist()]
        calling = np.zeros(stop - first, bool)
        calling[from_state[inside]] = True
        # A rule on a cycle must not be empty, and its texts not distinct: otherwise there may be an end of them.
        past = automaton.has_moves[starts] & (starts != UNBUILT) & ~automaton.call_distinct[called][is_call]
        endless = np.full(stop - first, automaton.counter_bounds[rule][1] < 0)
        sweeps = _MAX_SWEEPS if stop - first < _MIN_LARGE_RULE_STATES else _MAX_SWEEPS // 8
        if kernels.remove_finite(targets, first, from_state, back, past, calling, endless, sweeps):
            endless[:] = False
        (self._infinite if built else self._provisional)[rule] = endless
        return endless

    def _callee_is_infinite(self, rule: int, callers: tuple[int, ...]) -> bool:
        """Return whether there is no end of the texts of a rule called by others."""
        if rule in callers or len(callers) == _MAX_CALL_DEPTH or self.automaton.start[rule] == UNBUILT:
            return False
        return bool(self._states(rule, callers)[0])

    def may_contain_distinct(self, rule: int) -> bool:
        """Return whether a distinct text can start in a rule or a rule that it calls; `True` if unknown."""
        known = self._may_contain_distinct.get(rule)
        if known is None:
            known = any(not self._is_built(each) or self._calls(each)[1] for each in self._called([rule]))
            if not known:
                self._may_contain_distinct[rule] = False
        return known

    def next_distinct_rules(self, rule: int) -> frozenset[int]:
        """Return the rules of the next distinct texts that can start in a rule or a rule that it calls, if known."""
        near = islice(self._called([rule]), _MAX_RULES)
        return frozenset(callee for each in near for callee in self._calls(each)[1])

    def is_unrestricted(self, rule: int) -> bool:
        """Return whether every non-final prefix of a text of the rule has infinitely many completions."""
        known = self._unrestricted.get(rule)
        if known is None:
            rules = list(islice(self._called([rule]), _MAX_RULES))
            if not all(self._is_built(each) for each in rules):
                return False
            known = self._unrestricted[rule] = len(rules) < _MAX_RULES and not any(
                self._calls(each)[1] or self._finite_states(each).any() for each in rules
            )
        return known

    def _called(self, rules: Iterable[int]) -> Iterator[int]:
        """Return the rules, and those that they call, as far as that is known; the nearest first."""
        waiting = list(rules)
        reached = set(waiting)
        for rule in waiting:
            yield rule
            called = self._calls(rule)[0] - reached
            reached |= called
            waiting += called

    def _calls(self, rule: int) -> tuple[frozenset[int], frozenset[int]]:
        """Return the rules that a rule calls, and those whose texts are distinct; none for a rule that is not built."""
        known = self._direct.get(rule)
        if known is not None:
            return known
        if not self._is_built(rule):
            return frozenset(), frozenset()
        automaton = self.automaton
        first, stop = automaton.state_range(rule)
        calls = slice(automaton.call_first[first], automaton.call_first[stop])
        rules, is_distinct = automaton.call_rule[calls], automaton.call_distinct[calls]
        called, is_distinct = rules[rules >= 0], is_distinct[rules >= 0]
        known = frozenset(called.tolist()), frozenset(called[is_distinct].tolist())
        self._direct[rule] = known
        return known

    def distinct_callees(self, rule: int) -> frozenset[int]:
        """Return the rules whose texts are distinct in a rule."""
        return self._calls(rule)[1]

    def _is_built(self, rule: int) -> bool:
        return bool(self.automaton.start[rule] != UNBUILT)

    def _finite_states(self, rule: int) -> NDArray[np.bool_]:
        """Return bool[states of the rule], whether it can continue there, but not without end."""
        automaton = self.automaton
        first, stop = automaton.state_range(rule)
        calls = np.diff(automaton.call_first[first : stop + 1]) > 0
        return (automaton.has_moves[first:stop] | calls) & ~self._states(rule, ())

    def tables_without_distinct(self, tables: Tables, started: Collection[int] = ()) -> Tables:
        """Return the tables without calls of distinct texts, and without transitions to states that require one.

        Args:
            tables: The automaton's own.
            started: Rules whose texts may be started nevertheless, as far as their continuations have no end, but not
                ended.
        """
        automaton, states, some = self.automaton, len(tables.row), bool(started)
        reached = list(islice(self._called(started), _MAX_RULES))
        if len(reached) == _MAX_RULES:
            return self.tables_without_distinct(tables)
        needs = self._needs.get(some)
        if needs is None or needs[0] is not tables:
            built = [rule for rule in automaton.built[:] if automaton.state_range(rule)[0] < states]
            found = np.concatenate([self.requires_distinct(rule, only_finite=some) for rule in built])
            needs = self._needs[some] = tables, found
        endless = [rule for rule in started if tables.start[rule] != UNBUILT and self.rule_is_infinite(rule)]
        narrow = np.zeros(states, bool)
        for rule in reached:
            if tables.start[rule] != UNBUILT:
                first, stop = automaton.state_range(rule)
                narrow[first:stop] = self._finite_states(rule)
        calls = tables.call_distinct & ~np.isin(tables.call_rule, endless)
        return tables.without(calls, needs[1], narrow, endless)

    def requires_distinct(self, rule: int, *, only_finite: bool) -> NDArray[np.bool_]:
        """Return the states, bool[states of the rule], from which the rule cannot end without another distinct text.

        Args:
            rule: The rule.
            only_finite: Whether distinct texts are left out of which there is no end.
        """
        known = self._requires_distinct.get((rule, only_finite))
        if known is not None:
            return known
        automaton, distinct = self.automaton, self._calls(rule)[1]
        first, stop = automaton.state_range(rule)
        needs = np.zeros(stop - first, bool)
        if distinct:
            endless = [callee for callee in distinct if only_finite and self.rule_is_infinite(callee)]
            called = automaton.call_first[first : stop + 1]
            made = slice(called[0], called[-1])
            calls = np.zeros((called[-1] - called[0], 4), np.int32)
            calls[:, 0] = np.repeat(np.arange(stop - first), np.diff(called))
            calls[:, 1] = np.arange(len(calls))
            calls[:, 2] = automaton.call_next[made] - first
            missing = automaton.call_distinct[made] & ~np.isin(automaton.call_rule[made], endless)
            dfa = extract_dfa(automaton.tables, rule, first, stop)
            dfa = replace(dfa, calls=calls, callees=("",) * len(calls), min_count=0, max_count=None)
            needs = measure_rule(dfa, np.where(missing, UNREACHABLE, 1).tolist())[0].distance >= UNREACHABLE
        if not only_finite or all(callee in self._infinite for callee in distinct):
            self._requires_distinct[rule, only_finite] = needs
        return needs

    def upcoming_distinct_rules(self, state: int) -> frozenset[int]:
        """Return the rules of the distinct texts that may come next in the rule of a state."""
        if state not in self._upcoming:
            automaton = self.automaton
            pending, reached = [state], {state}
            while pending:
                after = set(self._successors(pending.pop())) - reached
                pending += after
                reached |= after
            self._upcoming[state] = frozenset(
                int(automaton.call_rule[call])
                for at in reached
                for call in range(automaton.call_first[at], automaton.call_first[at + 1])
                if automaton.call_distinct[call]
            )
        return self._upcoming[state]

    def _successors(self, state: int) -> list[int]:
        """Return where a byte, or a call of what is not distinct, leads from a state in its rule."""
        automaton = self.automaton
        row = int(automaton.row[state])
        width = automaton.tables.width(*automaton.state_range(automaton.rule_of[state]))
        after = [
            target >> OPERATION_BITS
            for target in automaton.targets[row : row + width].tolist()
            if target != DEAD
        ]
        calls = range(automaton.call_first[state], automaton.call_first[state + 1])
        return after + [int(automaton.call_next[call]) for call in calls if not automaton.call_distinct[call]]


def cannot_repeat(distinct: DistinctTexts, frame: Frame, fuel: Fuel | None = None) -> bool:
    """Return whether no distinct text can be repeated in the frame, nor on the bytes of its rule that led to it.

    What holds at the end of the bytes holds before: an earlier state has all completions of a later one.
    """
    return (not frame.inside_distinct or distinct.is_infinite(frame.state)) and has_unused_text(
        distinct, frame, fuel
    )


def can_still_differ(distinct: DistinctTexts, frame: Frame, buffer: bytes, fuel: Fuel | None = None) -> bool:
    """Return whether every open distinct text on the frame's stack can still end as a new text.

    If texts must be searched, this takes reads from `fuel`, but does not end when it is spent.
    """
    automaton = distinct.automaton
    above: list[Frame] = []
    at: Below = frame
    while isinstance(at, Frame) and at.must_differ:
        texts = _texts_with_prefix(at, buffer)
        if texts and not any(distinct.is_infinite(each.state) for each in above):
            # The frame that the distinct text entered is the one right above, unless its rule ended with a call, for
            # example of a key with one text.
            entered = automaton.rule_of[above[-1].state] if above else -1
            is_called = entered in distinct.distinct_callees(automaton.rule_of[at.state])
            only = automaton.sole_text(entered) if is_called else None
            repeats = (
                not _has_more_bytes(distinct, above, len(texts))
                and not _differs(distinct, above, forbidden_suffixes(at, buffer), buffer, fuel)
                if only is None
                else only in texts
            )
            if repeats:
                return False
        above.append(at)
        at = at.below
    return True


def has_unused_text(distinct: DistinctTexts, frame: Frame, fuel: Fuel | None = None) -> bool:
    """Return whether the rule of a frame can end without another distinct text, or a new distinct text exists.

    A separator, say, must not be written once all texts that may follow it are taken.
    """
    memory = frame.seen_texts
    if memory is None or memory.open_start is not None or not memory.texts:
        return True
    automaton = distinct.automaton
    rule = automaton.rule_of[frame.state]
    if not distinct.requires_distinct(rule, only_finite=True)[frame.state - int(automaton.start[rule])]:
        return True
    for callee in distinct.upcoming_distinct_rules(frame.state):
        if distinct.rule_is_infinite(callee):
            return True
        only = automaton.sole_text(callee)
        entered = automaton.frame(automaton.start_state(callee))
        if (
            not memory.contains(only)
            if only is not None
            else _differs(distinct, [entered], memory.texts, b"", fuel)
        ):
            return True
    return False


def forbidden_suffixes(frame: Frame, buffer: bytes) -> list[bytes]:
    """Return the forbidden completions of the frame's open distinct text, sorted: suffixes of texts seen before."""
    start = len(buffer) - (frame.seen_texts.open_start or 0) if frame.seen_texts else 0
    return [text[start:] for text in _texts_with_prefix(frame, buffer)]


def _texts_with_prefix(frame: Frame, buffer: bytes) -> tuple[bytes, ...]:
    """Return the texts seen that begin as the frame's open distinct text does."""
    memory = frame.seen_texts
    return (
        () if memory is None or memory.open_start is None else memory.with_prefix(buffer[memory.open_start :])
    )


def _has_more_bytes(distinct: DistinctTexts, stack: list[Frame], count: int) -> bool:
    """Return whether certainly more than `count` bytes continue; not all need to if distinct texts are inside."""
    automaton, top = distinct.automaton, stack[0]
    rule = automaton.rule_of[top.state]
    most = automaton.counter_bounds[rule][1]
    if 0 <= most < top.count + automaton.max_increments.item(rule):  # the counter may forbid some
        return False
    return automaton.byte_out_degree(top.state) > count and not any(
        frame.seen_texts is not None and frame.seen_texts.texts for frame in stack
    )


def _differs(
    distinct: DistinctTexts, stack: list[Frame], excluded: Sequence[bytes], buffer: bytes, fuel: Fuel | None
) -> bool:
    """Return whether the rule that the lowest of `stack` entered can end with a text that the sorted `excluded` lacks.

    Any byte that leads away from all of them will do, since every state leads to an end; so only their own
    beginnings are walked.
    """
    automaton = distinct.automaton
    rule = automaton.rule_of[stack[0].state]
    if len(stack) == 1 and not automaton.has_calls(rule) and automaton.counter_bounds[rule] == (0, -1):
        return _differs_in_rule(automaton, stack[0].state, excluded, fuel)
    below: Frame | None = None
    for frame in reversed(stack):
        below = automaton.frame(frame.state, frame.count, below, frame.seen_texts)
    if _has_more_bytes(distinct, stack, len({rest[:1] for rest in excluded})):
        return True
    pending = [(automaton.epsilon_closure([below] if below else [], buffer), b"")]
    while pending:
        frames, text = pending.pop()
        if fuel is not None:
            fuel.reads -= _READS_PER_TEXT
        if automaton.is_accepting(frames) and _first_from(excluded, text) != text:
            return True
        for byte in dict.fromkeys(automaton.next_bytes(frames)):
            longer = text + bytes((byte,))
            after = frozenset(
                frame
                for frame in automaton.step(frames, byte, buffer + longer)
                if can_still_differ(distinct, frame, buffer + longer, fuel)
                and has_unused_text(distinct, frame, fuel)
            )
            following = _first_from(excluded, longer)
            if after and (following is None or not following.startswith(longer)):
                return True
            pending.append((after, longer))
    return False


def _differs_in_rule(automaton: Automaton, state: int, excluded: Sequence[bytes], fuel: Fuel | None) -> bool:
    """Return whether a rule without calls and counter can end, from a state, with a text that `excluded` lacks."""
    classes = automaton.classes[automaton.rule_of[state]].tolist()
    pending = [(state, 0, len(excluded), 0)]
    while pending:
        state, first, stop, length = pending.pop()
        if fuel is not None:
            fuel.reads -= _READS_PER_TEXT
        is_excluded = first < stop and len(excluded[first]) == length
        if automaton.final[state] and not is_excluded:
            return True
        first += is_excluded
        row, left = automaton.row.item(state), sum(1 for _ in automaton.next_bytes([automaton.frame(state)]))
        while first < stop:
            byte = excluded[first][length]
            after = bisect_left(excluded, byte + 1, first, stop, key=lambda text: text[length])
            target = automaton.targets.item(row + classes[byte])
            if target != DEAD:
                left -= 1
                pending.append((target >> OPERATION_BITS, first, after, length + 1))
            first = after
        if left:
            return True
    return False


def _first_from(texts: Sequence[bytes], text: bytes) -> bytes | None:
    """Return the first of some sorted texts that is not before a text."""
    at = bisect_left(texts, text)
    return texts[at] if at < len(texts) else None
