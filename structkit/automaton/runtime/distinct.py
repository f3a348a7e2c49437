"""Unique texts: an open one must still be able to become different from those seen before.

Where there is no end of texts, whatever one begins with, as of free text, it always can. So it need be looked at only
where it ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from structkit.automaton.core.dfa import DEAD
from structkit.automaton.core.kernels import BITS, FAR
from structkit.automaton.core.tables import UNBUILT, Tables, cut
from structkit.automaton.distance.trim import measured
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.stack import Below, Frame

__all__ = ["UniqueTexts", "ahead", "cannot_repeat", "has_another", "leaves_room"]

_DEEP = 16
"""Rules that call each other and are looked at whether there is an end of their texts."""

_NEAR = 256
"""Rules that are looked at for what may come next; if there are more, they may repeat anything."""

_ROUNDS = 64
"""How far from the end of a rule states are looked for from which there is an end of texts."""

_MANY = 256
"""In a rule of so many states only an eighth as far; where that is not enough, all of its texts may be repeated."""


class UniqueTexts:
    """What is known of the unique texts that the rules of an automaton call; found when it is first asked for."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self._endless: dict[int, NDArray[np.bool_]] = {}
        # Of rules that call what is not built yet, as long as that is so.
        self._unsure: dict[int, NDArray[np.bool_]] = {}
        self._tables: Tables | None = None
        self._free: dict[int, bool] = {}
        self._may_follow: dict[int, bool] = {}
        self._direct: dict[int, tuple[frozenset[int], frozenset[int]]] = {}
        self._ahead: dict[int, frozenset[int]] = {}
        self._needs: dict[tuple[int, bool], NDArray[np.bool_]] = {}

    def endless(self, state: int) -> bool:
        """Whether a rule can go on from a state in so many ways that there is no end of them.

        The answer is no, too, where rules are not built yet, and where it would take long to find out.
        """
        rule = self.automaton.rule_of[state]
        return bool(self._states(rule, ())[state - self.automaton.states_of(rule)[0]])

    def begins(self, rule: int) -> bool:
        """Whether there is no end of the texts of a rule."""
        return self.automaton.start[rule] != UNBUILT and self.endless(int(self.automaton.start[rule]))

    def _states(self, rule: int, above: tuple[int, ...]) -> NDArray[np.bool_]:
        """bool[states of the rule]: see `endless`; `above` are the rules that called this one."""
        automaton = self.automaton
        if self._tables is not automaton.tables:
            self._tables = automaton.tables
            self._unsure.clear()
        known = self._endless.get(rule, self._unsure.get(rule))
        if known is not None:
            return known
        first, stop = automaton.states_of(rule)
        calls = automaton.call_first[first : stop + 1]
        row, width = int(automaton.row[first]), automaton.tables.width(first, stop)
        targets = automaton.targets[row : row + (stop - first) * width].reshape(-1, width)
        alive = targets != DEAD
        after = np.where(alive, (targets >> BITS) - first, 0)
        called = slice(calls[0], calls[-1])
        callees, back = automaton.call_rule[called], automaton.call_next[called] - first
        starts = automaton.start[callees]
        built = bool((starts != UNBUILT).all())
        from_state = np.repeat(np.arange(stop - first), np.diff(calls))
        inside = [self._begins(callee, (*above, rule)) for callee in callees.tolist()]
        calling = np.zeros(stop - first, bool)
        calling[from_state[inside]] = True
        # What is called again and again must not be empty, and not unique, for then there may be an end of it.
        past = automaton.live[starts] & (starts != UNBUILT) & ~automaton.call_unique[called]
        endless = np.full(stop - first, automaton.counters[rule][1] < 0)
        for _ in range(_ROUNDS if stop - first < _MANY else _ROUNDS // 8):
            before, endless = endless, endless & ((alive & endless[after]).any(axis=1) | calling)
            endless[from_state[before[from_state] & before[back] & past]] = True
            if (before == endless).all():
                break
        else:
            endless[:] = False
        (self._endless if built else self._unsure)[rule] = endless
        return endless

    def _begins(self, rule: int, above: tuple[int, ...]) -> bool:
        """Whether there is no end of the texts of a rule called by others."""
        if rule in above or len(above) == _DEEP or self.automaton.start[rule] == UNBUILT:
            return False
        return bool(self._states(rule, above)[0])

    def may_follow(self, rule: int) -> bool:
        """Whether a unique text can begin inside a rule, or inside one that it calls, as far as that is known."""
        known = self._may_follow.get(rule)
        if known is None:
            known = any(not self._is_built(each) or self._calls(each)[1] for each in self._called([rule]))
            if not known:
                self._may_follow[rule] = False
        return known

    def following(self, rule: int) -> frozenset[int]:
        """The rules of the next unique texts that can begin inside a rule, or inside one that it calls, if known."""
        near = islice(self._called([rule]), _NEAR)
        return frozenset(callee for each in near for callee in self._calls(each)[1])

    def is_free(self, rule: int) -> bool:
        """Whether there is no end of what a unique text of the rule can go on with, as long as it can."""
        known = self._free.get(rule)
        if known is None:
            rules = list(islice(self._called([rule]), _NEAR))
            if not all(self._is_built(each) for each in rules):
                return False
            known = self._free[rule] = len(rules) < _NEAR and not any(
                self._calls(each)[1] or self._narrow(each).any() for each in rules
            )
        return known

    def _called(self, rules: Iterable[int]) -> Iterator[int]:
        """The rules, and those that they call, as far as that is known; the nearest first."""
        waiting = list(rules)
        reached = set(waiting)
        for rule in waiting:
            yield rule
            called = self._calls(rule)[0] - reached
            reached |= called
            waiting += called

    def _calls(self, rule: int) -> tuple[frozenset[int], frozenset[int]]:
        """The rules that a rule calls, and those of them whose texts are unique; none of one that is not built."""
        known = self._direct.get(rule)
        if known is not None:
            return known
        if not self._is_built(rule):
            return frozenset(), frozenset()
        automaton = self.automaton
        first, stop = automaton.states_of(rule)
        calls = slice(automaton.call_first[first], automaton.call_first[stop])
        called, unique = automaton.call_rule[calls], automaton.call_unique[calls]
        known = frozenset(called.tolist()), frozenset(called[unique].tolist())
        self._direct[rule] = known
        return known

    def _is_built(self, rule: int) -> bool:
        return bool(self.automaton.start[rule] != UNBUILT)

    def _narrow(self, rule: int) -> NDArray[np.bool_]:
        """bool[states of the rule]: whether it can go on there, but not without end."""
        automaton = self.automaton
        first, stop = automaton.states_of(rule)
        calls = np.diff(automaton.call_first[first : stop + 1]) > 0
        return (automaton.live[first:stop] | calls) & ~self._states(rule, ())

    def unwritten(self, tables: Tables, begun: Collection[int] = ()) -> Tables:
        """The tables without the calls of unique texts, and without the ways to where only these can follow.

        Args:
            tables: The automaton's own.
            begun: Rules whose texts may be begun nevertheless, as far as there is no end of what they may go on with,
                but not ended.
        """
        automaton, states, some = self.automaton, len(tables.row), bool(begun)
        reached = list(islice(self._called(begun), _NEAR))
        if len(reached) == _NEAR:
            return self.unwritten(tables)
        built = [rule for rule in automaton.built[:] if automaton.states_of(rule)[0] < states]
        needs = np.concatenate([self.needs(rule, some=some) for rule in built])
        endless = [rule for rule in begun if tables.start[rule] != UNBUILT and self.begins(rule)]
        narrow = np.zeros(states, bool)
        for rule in reached:
            if tables.start[rule] != UNBUILT:
                first, stop = automaton.states_of(rule)
                narrow[first:stop] = self._narrow(rule)
        calls = tables.call_unique & ~np.isin(tables.call_rule, endless)
        return tables.without(calls, needs, narrow, endless)

    def needs(self, rule: int, *, some: bool) -> NDArray[np.bool_]:
        """bool[states of the rule]: whether it cannot end before another unique text; the counter is left out.

        Args:
            rule: The rule.
            some: Whether unique texts are left out of which there is no end.
        """
        known = self._needs.get((rule, some))
        if known is not None:
            return known
        automaton, unique = self.automaton, self._calls(rule)[1]
        first, stop = automaton.states_of(rule)
        needs = np.zeros(stop - first, bool)
        if unique:
            endless = [callee for callee in unique if some and self.begins(callee)]
            called = automaton.call_first[first : stop + 1]
            made = slice(called[0], called[-1])
            calls = np.zeros((called[-1] - called[0], 4), np.int32)
            calls[:, 0] = np.repeat(np.arange(stop - first), np.diff(called))
            calls[:, 1] = np.arange(len(calls))
            calls[:, 2] = automaton.call_next[made] - first
            missing = automaton.call_unique[made] & ~np.isin(automaton.call_rule[made], endless)
            dfa = cut(automaton.tables, rule, first, stop)
            dfa = replace(dfa, calls=calls, callees=("",) * len(calls), least=0, most=None)
            needs = measured(dfa, np.where(missing, FAR, 1).tolist())[0].end >= FAR
        if not some or all(callee in self._endless for callee in unique):
            self._needs[rule, some] = needs
        return needs

    def ahead(self, state: int) -> frozenset[int]:
        """The rules of the unique texts that may come next in the rule of a state."""
        if state not in self._ahead:
            automaton = self.automaton
            pending, reached = [state], {state}
            while pending:
                after = set(self._after(pending.pop())) - reached
                pending += after
                reached |= after
            self._ahead[state] = frozenset(
                int(automaton.call_rule[call])
                for at in reached
                for call in range(automaton.call_first[at], automaton.call_first[at + 1])
                if automaton.call_unique[call]
            )
        return self._ahead[state]

    def _after(self, state: int) -> list[int]:
        """Where a byte, or a call of what is not unique, leads from a state in its rule."""
        automaton = self.automaton
        row = int(automaton.row[state])
        width = automaton.tables.width(*automaton.states_of(automaton.rule_of[state]))
        after = [target >> BITS for target in automaton.targets[row : row + width].tolist() if target != DEAD]
        calls = range(automaton.call_first[state], automaton.call_first[state + 1])
        return after + [int(automaton.call_next[call]) for call in calls if not automaton.call_unique[call]]


def cannot_repeat(unique: UniqueTexts, frame: Frame) -> bool:
    """Whether no unique text can be repeated where the frame is, nor on the way there from others that it came by."""
    return frame.memory is None and (not frame.opened or unique.endless(frame.state))


def leaves_room(unique: UniqueTexts, frame: Frame, kept: bytes) -> bool:
    """Whether every unique text that is open in the frame's stack can still end as one not seen before."""
    automaton = unique.automaton
    above: list[Frame] = []
    at: Below = frame
    while isinstance(at, Frame) and at.opened:
        texts = _alike(at, kept)
        if texts and not any(unique.endless(each.state) for each in above):
            # The frame that the unique text entered is the one right above: a key of its own, say, with one text.
            only = automaton.only_text(automaton.rule_of[above[-1].state]) if above else None
            repeats = (
                not _has_more_ways(unique, above, len(texts))
                and not _differs(unique, above, frozenset(ahead(at, kept)), kept)
                if only is None
                else only in texts
            )
            if repeats:
                return False
        above.append(at)
        at = at.below
    return True


def has_another(unique: UniqueTexts, frame: Frame) -> bool:
    """Whether the rule of a frame can end without another unique text, or there is one that was not seen before.

    A separator, say, must not be written once all texts that may follow it are taken.
    """
    memory = frame.memory
    if memory is None or memory.begin is not None or not memory.seen:
        return True
    automaton = unique.automaton
    rule = automaton.rule_of[frame.state]
    if not unique.needs(rule, some=True)[frame.state - int(automaton.start[rule])]:
        return True
    for callee in unique.ahead(frame.state):
        if unique.begins(callee):
            return True
        only = automaton.only_text(callee)
        entered = automaton.frame(automaton.enter(callee))
        if not memory.has(only) if only is not None else _differs(unique, [entered], memory.seen, b""):
            return True
    return False


def ahead(frame: Frame, kept: bytes) -> list[bytes]:
    """What the frame's open unique text must not go on with, in order: the rests of those seen that begin alike."""
    begun = len(kept) - (frame.memory.begin or 0) if frame.memory else 0
    return [text[begun:] for text in _alike(frame, kept)]


def _alike(frame: Frame, kept: bytes) -> tuple[bytes, ...]:
    """The texts seen that begin as the frame's open unique text does."""
    memory = frame.memory
    return () if memory is None or memory.begin is None else memory.starting(kept[memory.begin :])


def _has_more_ways(unique: UniqueTexts, above: list[Frame], ways: int) -> bool:
    """Whether more bytes than `ways` surely lead on; not all need to where the text itself has unique ones."""
    return unique.automaton.ways_on(above[0].state) > ways and not any(
        frame.memory is not None and frame.memory.seen for frame in above
    )


def _differs(unique: UniqueTexts, above: list[Frame], rests: Collection[bytes], kept: bytes) -> bool:
    """Whether the rule entered by the lowest of `above` can end with a text that is not among `rests`.

    Any byte that leads away from all of them will do, since every state leads to an end; so only their own
    beginnings are walked.
    """
    automaton = unique.automaton
    below: Frame | None = None
    for frame in reversed(above):
        below = automaton.frame(frame.state, frame.count, below, frame.memory)
    if _has_more_ways(unique, above, len({rest[:1] for rest in rests})):
        return True
    beginnings = {rest[:length] for rest in rests for length in range(len(rest) + 1)}
    pending = [(automaton.settle([below] if below else [], kept), b"")]
    while pending:
        frames, text = pending.pop()
        if automaton.can_end(frames) and text not in rests:
            return True
        for byte in dict.fromkeys(automaton.next_bytes(frames)):
            longer = text + bytes((byte,))
            after = frozenset(
                frame
                for frame in automaton.step(frames, byte, kept + longer)
                if leaves_room(unique, frame, kept + longer) and has_another(unique, frame)
            )
            if after and longer not in beginnings:
                return True
            pending.append((after, longer))
    return False
