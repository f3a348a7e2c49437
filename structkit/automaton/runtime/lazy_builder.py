"""Lazy construction of the rules of a target: rules are numbered by discovery and built when first called."""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from structkit.automaton.construct.compile_rule import build_rule, known_dfa, rule_dfa
from structkit.automaton.construct.stored import FORMATS
from structkit.automaton.core.dfa import Dfa, RuleKey, node_of
from structkit.automaton.core.tables import TableBuilder, Tables
from structkit.automaton.distance.bounds import LengthBounds
from structkit.automaton.distance.cardinality import Cardinality
from structkit.automaton.distance.trim import TrimmedRule, measure_labelled, trim_rule
from structkit.errors import LimitExceeded
from structkit.limits import Limits, Work
from structkit.regex.lazy_rules import LazyRules
from structkit.regex.nodes import Node, ReturnLabel, Rules
from structkit.regex.walk import exceeds_size

__all__ = ["LazyBuilder", "place_of", "written_name"]

_SUFFIX_OF_RULE = re.compile(r"[#/~@].*")
"""What follows the name of a rule of a grammar: its context."""

_MIN_COMPARED = 32
"""Rules beyond which equal rules get one number: to compare all rules takes a tenth of the time to the first mask."""

_MAX_KNOWN, _MAX_KNOWN_TRANSITIONS = 16, 4096
"""Callees of a rule among which known automata are looked for, and the size of those that are added with the rule."""

_MAX_BESIDE, _MAX_NODES_BESIDE, _MAX_STEPS_BESIDE = 16, 64, 20_000
"""Callees behind an entered rule that are considered, the nodes of a small one, and the steps that all may take."""

_RULE_NUMBER = re.compile(r"('\d+)?'*$")
"""The end of a name by which the rules of one place differ."""


class _Automata:
    """Makes the automata of a target.

    Args:
        limits: What may be made, each and, until `stop_counting`, all together.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._work: Work | None = Work(limits.work)
        self._bytes = 0
        self._counted: dict[int, Dfa] = {}

    def of(self, node: Node) -> Dfa:
        """Return the automaton of a node.

        Raises:
            LimitExceeded: It would be too large, or all that were counted took too much work or memory.
        """
        dfa = rule_dfa(node, self._limits)
        if self._work is not None and id(dfa) not in self._counted:
            self._counted[id(dfa)] = dfa
            self._work.pay(dfa.steps, "the work on the automata of all rules")
            self._bytes += dfa.nbytes
            if self._bytes > self._limits.memory:
                raise LimitExceeded("memory", self._limits.memory, "the size of the automata of all rules")
        return dfa

    def stop_counting(self) -> None:
        """Count no more: rules that are made in the middle of a text are small by their bounds."""
        self._work = None
        self._counted.clear()


class LazyBuilder:
    """Builds rules one by one. Rule 0 is the start and is built immediately.

    Attributes:
        rules: The rules.
        limits: What may be built.
        keys: What calls name, by the number of the rule; `None` is the start.
        built: The numbers of the rules that were built, in their order, each with its automaton.
        tables: The arrays of these rules.
        automata: Makes the automata.
        has_labels: Whether a rule that was built or checked ends with labels, or calls such a rule.

    Raises:
        LimitExceeded: An automaton would be too large.
    """

    def __init__(self, rules: Rules, limits: Limits) -> None:
        self.rules = rules
        self.limits = limits
        self.keys: list[RuleKey | None] = [None]
        self.built: dict[int, TrimmedRule] = {}
        self.has_labels = False
        self._numbers: dict[RuleKey | None, int] = {None: 0}
        # The same names in two nodes are the same rules, unless each rule names its callees in its own way.
        known = rules.rules
        self._lowered: Mapping[str, Node] = known
        if type(known) is LazyRules:
            self._lowered = {} if known.has_own_names else known.lowered
        self._equal: dict[Node, int] = {}
        self._callers: dict[RuleKey, RuleKey | None] = {}
        self.automata = automata = _Automata(limits)
        self._growing = TableBuilder()
        self._lengths = LengthBounds(
            rules,
            lambda node: trim_rule(automata.of(node)).min_length,
            Cardinality(lambda key: automata.of(node_of(rules, key))),
        )
        self.tables = self.build(0)

    @property
    def shortage(self) -> tuple[str, int, int] | None:
        """A rule with fewer distinct texts than it needs; see `LengthBounds.shortage`."""
        return self._lengths.shortage

    def build(self, rule: int) -> Tables:
        """Build a rule if necessary; return the arrays that include it.

        Raises:
            LimitExceeded: Its automaton would be too large.
        """
        if rule in self.built:
            return self.tables
        key = self.keys[rule]
        try:
            # The start is specific to a target, so a search among the rules of others is useless.
            dfa = build_rule(self.rules.start, self.limits) if key is None else self._dfa_of(key)
            self._name_callees(key, dfa)
            if ReturnLabel in map(type, dfa.callees):
                self.has_labels = True
                found = measure_labelled(dfa, self._length)
            else:
                lengths = self._lengths
                found = trim_rule(dfa, [lengths.of(callee) for callee in dfa.rules_called])
            number = self.number
            callees = [
                -1 - key.number if type(key) is ReturnLabel else number(key) for key in found.dfa.callees
            ]
        except (LimitExceeded, RecursionError) as error:
            raise self.placed(error, key) from None
        return self._add(rule, found, callees)

    def _add(self, rule: int, found: TrimmedRule, callees: list[int]) -> Tables:
        self.built[rule] = found
        self.tables = self._growing.add(rule, found.dfa, callees, len(self.keys))
        return self.tables

    def build_ahead(self, rule: int) -> None:
        """Build rules that a text is likely to enter soon after a built rule, where this takes little time."""
        self._build_known_callees(rule)
        self._build_beside(rule)

    def _build_known_callees(self, rule: int) -> None:
        """Build the call-free rules that a built rule calls and whose automata are known.

        Texts soon enter them. Rules that are added together take little more time than one, and a token that enters
        them is not delayed.
        """
        for key in self.built[rule].dfa.rules_called[:_MAX_KNOWN]:
            node = self._lowered.get(key) if isinstance(key, str) else None
            if node is None or (number := self.number(key)) in self.built:
                continue
            dfa = known_dfa(node, self.limits)
            if dfa is not None and not dfa.callees and dfa.targets.size <= _MAX_KNOWN_TRANSITIONS:
                self._add(number, trim_rule(dfa), [])

    def _build_beside(self, rule: int) -> None:
        """Build small rules that the first caller of a built rule calls behind it.

        Texts are likely to enter them next. Rules that are built together take less time than one by one, and fewer
        tokens are delayed.
        """
        key = self.keys[rule]
        if key is None or not self._lowered:
            return
        caller = self.built.get(self._numbers.get(self._callers[key], -1))
        callees = [] if caller is None else caller.dfa.rules_called
        if key not in callees:
            return
        first, steps = callees.index(key) + 1, 0
        for beside in callees[first : first + _MAX_BESIDE]:
            node = self._lowered.get(beside) if isinstance(beside, str) else None
            if node is None or (number := self.number(beside)) in self.built:
                continue
            if not exceeds_size(node, _MAX_NODES_BESIDE) and steps < _MAX_STEPS_BESIDE:
                with suppress(LimitExceeded):
                    self.build(number)
                    steps += self.built[number].dfa.steps

    def _dfa_of(self, key: RuleKey) -> Dfa:
        """Return the automaton of a rule, with the callees' own names; that of a format may be stored."""
        rules = self.rules.rules
        if type(rules) is not LazyRules or not isinstance(key, str):
            return self.automata.of(node_of(self.rules, key))
        given = rules.formats.get(key)
        if given is not None and (stored := FORMATS.get(given[0], self.limits, *given[1:])) is not None:
            return stored
        dfa = self.automata.of(rules[key])
        if not rules.has_own_names:
            return dfa
        names = [rules.callee(key, callee) if isinstance(callee, str) else callee for callee in dfa.callees]
        return replace(dfa, callees=tuple(names))

    @property
    def is_unbounded(self) -> bool:
        """Whether rules call ever more rules, so that they cannot all be built."""
        rules = self.rules.rules
        return type(rules) is LazyRules and rules.is_unbounded

    def _length(self, key: RuleKey, label: int | None) -> int:
        """Return the bytes that are enough for a text of a callee that ends with a label."""
        return (
            self._lengths.of_label(key, label)
            if isinstance(key, str) and label is not None
            else self._lengths.of(key)
        )

    def build_all(self) -> None:
        """Build all rules that are reached from the start, if there is an end of them. Raises as `build`."""
        if self.is_unbounded:
            return
        rule = 0
        while rule < len(self.keys):
            self.build(rule)
            rule += 1

    def check(self, key: RuleKey) -> Dfa:
        """Return the automaton of a rule, without the arrays; afterwards `build` does not raise. Raises as `build`."""
        try:
            dfa = self._dfa_of(key)
            self._name_callees(key, dfa)
            if any(isinstance(callee, ReturnLabel) for callee in dfa.callees):
                self.has_labels = True
            else:
                for callee in dfa.rules_called:
                    self._lengths.of(callee)
        except (LimitExceeded, RecursionError) as error:
            raise self.placed(error, key) from None
        return dfa

    def placed(self, error: LimitExceeded | RecursionError, key: RuleKey | None) -> LimitExceeded:
        """Return the error of a rule with the rule's place in the schema."""
        if isinstance(error, RecursionError):
            depth = sys.getrecursionlimit()
            return LimitExceeded(
                "regex_nodes", depth, "the nesting of a regex", place=self._place(key), is_fixed=True
            )
        if error.place is None:
            error.place = self._place(key)
        return error

    def too_many_parses(self, rules: Iterable[int]) -> LimitExceeded:
        """Return the error for a text with too many parses: its place is the rule in which most of them are.

        That is the first rule if none was entered: there are too many ways to begin a text.
        """
        rule = max(Counter(rules).items(), key=lambda each: each[1], default=(0, 0))[0]
        what = "the ways to read one text, most of them in this rule,"
        return LimitExceeded("parse_states", self.limits.parse_states, what, place=self.place(rule))

    def place(self, rule: int) -> str | None:
        """Return the place of a rule in the target: the path in a schema, or the name in a grammar."""
        key = self.keys[rule]
        place = self._place(key)
        return written_name(key) if place is None and isinstance(key, str) else place

    def _place(self, key: RuleKey | None) -> str | None:
        """Return the place of a rule: its own, or that of the nearest caller with one; rules of grammars have none."""
        if key is None:
            return "$"
        while key is not None:
            if isinstance(key, str) and key.startswith("#"):
                return place_of(key)
            key = self._callers.get(key)
        return None

    def _name_callees(self, key: RuleKey | None, dfa: Dfa) -> None:
        for callee in dfa.rules_called:
            self._callers.setdefault(callee, key)

    def number(self, key: RuleKey) -> int:
        """Return the number of a rule; the next one if neither it nor an equal one was reached before."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.keys)
            is_large = number >= _MIN_COMPARED
            node = self._lowered.get(key) if is_large and isinstance(key, str) else None
            if node is not None:  # fields of one type have equal rules
                number = self._numbers[key] = self._equal.setdefault(node, number)
            if number == len(self.keys):
                self.keys.append(key)
        return number

    def replay(self, tables: Tables) -> bool:
        """Build the rules of stored arrays in the stored order, so that the numbers of rules and states are equal.

        Returns whether the arrays are equal then. They differ if they are those of another target.

        Raises:
            LimitExceeded: An automaton would be too large.
        """
        for rule in dict.fromkeys(tables.rule.tolist()):
            if rule >= len(self.keys):
                return False
            self.build(rule)
        pairs: Iterable[tuple[Any, Any]] = zip(self.tables, tables, strict=True)
        return all(np.array_equal(mine, stored) for mine, stored in pairs)

    @property
    def fingerprint(self) -> str:
        """A hash of everything that determines the language and the distances of the built rules."""
        digest = hashlib.blake2b(digest_size=16)
        for array in self.tables:
            digest.update(array.tobytes())
        for found in self.built.values():
            digest.update(found.distance.tobytes())
        return digest.hexdigest()


def place_of(name: str) -> str:
    """Return the place in the schema from the name of a rule.

    >>> place_of("#$.a''"), place_of("#$.a'12'")
    ('$.a', '$.a')
    """
    return _RULE_NUMBER.sub("", name.removeprefix("#"))


def written_name(rule: str) -> str:
    """Return the name that a grammar gives a rule.

    >>> written_name("sum#12/3/1"), written_name("$NAME/7")
    ('sum', 'NAME')
    """
    return _SUFFIX_OF_RULE.sub("", rule.removeprefix("$"))
