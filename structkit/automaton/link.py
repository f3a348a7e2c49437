"""From the rules of a target to its automaton."""

from __future__ import annotations

from structkit.automaton.automaton import Automaton
from structkit.automaton.build import rule_dfa
from structkit.automaton.dfa import Key, node_of
from structkit.automaton.notice import watch
from structkit.limits import Limits
from structkit.regex.nodes import Rules

__all__ = ["link"]

watch()  # who uses structkit on a machine for the first time waits here


def link(rules: Rules, limits: Limits = Limits()) -> Automaton:  # noqa: B008
    """The automaton of a target. Of the rules in `rules.late` each is built when it is first called.

    Raises:
        LimitExceeded: An automaton would be too large.
        UnsatisfiableSchema: The language is empty.
    """
    automaton = Automaton(rules, limits)
    rule = 0
    while rule < len(automaton.keys):
        if automaton.keys[rule] not in rules.late:
            automaton.enter(rule)
        rule += 1
    # What only late rules call need not be linked yet, but it must be known that it can be built.
    linked = {key for key in automaton.keys if isinstance(key, str)}
    pending: list[Key] = [name for name in rules.rules if name not in rules.late and name not in linked]
    while pending:
        dfa = rule_dfa(node_of(rules, pending.pop()), limits)
        pending += {key for _, key, _, _ in dfa.calls if not isinstance(key, str)}
    return automaton
