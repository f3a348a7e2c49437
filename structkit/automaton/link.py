"""From the rules of a target to its automaton."""

from __future__ import annotations

from structkit.automaton.compile_notice import watch_compilation
from structkit.automaton.construct.compile_rule import rule_dfa
from structkit.automaton.core.dfa import RuleKey, node_of
from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.lazy_builder import LazyBuilder
from structkit.errors import UnsatisfiableSchema
from structkit.limits import Limits
from structkit.regex.lazy_rules import LazyRules
from structkit.regex.nodes import Rules

__all__ = ["link"]

watch_compilation()  # who uses structkit on a machine for the first time waits here


def link(rules: Rules, limits: Limits = Limits()) -> Automaton:  # noqa: B008
    """The automaton of a target. Of the rules in `rules.late` each is built when it is first called.

    Raises:
        LimitExceeded: An automaton would be too large.
        UnsatisfiableSchema: The language is empty.
    """
    builder = LazyBuilder(rules, limits)
    if builder.built[0].min_length >= UNREACHABLE:
        if builder.shortage is not None:
            name, needed, there = builder.shortage
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
        if builder.keys[rule] not in rules.lazy:
            builder.build(rule)
        rule += 1
    # What only late rules call need not be linked yet, but it must be known that it can be built.
    linked = {key for key in builder.keys if isinstance(key, str)}
    made = rules.rules.lowered if type(rules.rules) is LazyRules else rules.rules
    pending: list[RuleKey] = [name for name in made if name not in rules.lazy and name not in linked]
    while pending:
        dfa = rule_dfa(node_of(rules, pending.pop()), limits)
        pending += [key for key in dfa.callees if not isinstance(key, str)]
    return Automaton(builder.tables, limits, builder)
