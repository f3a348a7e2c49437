"""From the rules of a target to its automaton."""

from __future__ import annotations

from structkit.automaton.compile_notice import watch
from structkit.automaton.construct.compile_rule import rule_dfa
from structkit.automaton.core.dfa import Key, node_of
from structkit.automaton.core.kernels import FAR
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.lazy_builder import Builder
from structkit.errors import UnsatisfiableSchema
from structkit.limits import Limits
from structkit.regex.lazy_rules import GrowingRules
from structkit.regex.nodes import Rules

__all__ = ["link"]

watch()  # who uses structkit on a machine for the first time waits here


def link(rules: Rules, limits: Limits = Limits()) -> Automaton:  # noqa: B008
    """The automaton of a target. Of the rules in `rules.late` each is built when it is first called.

    Raises:
        LimitExceeded: An automaton would be too large.
        UnsatisfiableSchema: The language is empty.
    """
    builder = Builder(rules, limits)
    if builder.built[0].length >= FAR:
        if builder.short is not None:
            name, needed, there = builder.short
            raise UnsatisfiableSchema(
                f"{needed} different items or keys must be written, and there {'is' if there == 1 else 'are'} only "
                f"{there}; ask for fewer, or allow more",
                place=name.removeprefix("#").rstrip("'"),
            )
        raise UnsatisfiableSchema(
            "no text satisfies all parts of the target; look for patterns, lengths or bounds that exclude each other",
            place="$",
        )
    rule = 1
    while rule < len(builder.keys):
        if builder.keys[rule] not in rules.late:
            builder.build(rule)
        rule += 1
    # What only late rules call need not be linked yet, but it must be known that it can be built.
    linked = {key for key in builder.keys if isinstance(key, str)}
    made = rules.rules.made if type(rules.rules) is GrowingRules else rules.rules
    pending: list[Key] = [name for name in made if name not in rules.late and name not in linked]
    while pending:
        dfa = rule_dfa(node_of(rules, pending.pop()), limits)
        pending += [key for key in dfa.callees if not isinstance(key, str)]
    return Automaton(builder.tables, limits, builder)
