"""Linking: the rules of a target become one automaton."""

from __future__ import annotations

from functools import partial

from structkit.automaton.compile_notice import watch_compilation
from structkit.automaton.core.dfa import RuleKey, node_of
from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.lazy_builder import LazyBuilder, place_of
from structkit.errors import LimitExceeded, UnsatisfiableSchema
from structkit.limits import Limits
from structkit.regex.lazy_rules import LazyRules
from structkit.regex.nodes import Rules

__all__ = ["build_called", "link", "start_building"]

_MAX_LAZY = 20_000
"""Maximum states of a lazy rule; the NFA that it is made from has at most three times as many.

With lower limits all rules are built before the first token.
"""

_MAX_POSTPONED = 50_000
"""Transitions of an automaton that is added to the arrays when its rule is first called; this takes about 0.2 ms."""

watch_compilation()  # the first use on a machine compiles the kernels


def link(rules: Rules, limits: Limits = Limits()) -> Automaton:  # noqa: B008
    """Return the automaton of a target. Raises as `start_building`."""
    builder = start_building(rules, limits)
    return Automaton(builder.tables, limits, builder)


def start_building(rules: Rules, limits: Limits) -> LazyBuilder:
    """Return the builder of a target's rules, after it built those that are built before the first token.

    It numbers the rules equally in each process, which `LazyBuilder.replay` continues.

    Rules in `rules.lazy` are built when they are first called, unless the limits are low. The automata of the others
    are built, and small ones are added to the arrays when they are first called.

    Raises:
        LimitExceeded: An automaton would be too large.
        UnsatisfiableSchema: The language is empty.
    """
    builder = LazyBuilder(rules, limits)
    if builder.built[0].min_length >= UNREACHABLE:
        if builder.shortage is not None:
            name, needed, available = builder.shortage
            raise UnsatisfiableSchema(
                f"at least {needed} different items or keys are required, but only {available} "
                f"{'is' if available == 1 else 'are'} possible; require fewer, or allow more",
                place=place_of(name),
            )
        raise UnsatisfiableSchema(
            "no text satisfies all parts of the target; check for patterns, lengths or bounds that exclude each other",
            place="$",
        )
    # A lazy rule is small by bounds that do not depend on the limits, so low limits could be exceeded by it.
    tightest = min(("states", "nfa_states", "product_states", "transitions"), key=partial(_scaled, limits))
    if _scaled(limits, tightest) < _MAX_LAZY:
        if builder.is_unbounded:  # the rules of a product or of indented blocks cannot all be built
            raise LimitExceeded(
                tightest, getattr(limits, tightest), "a target whose rules are built while it is read"
            )
        builder.build_all()
    else:
        _check_eager_rules(builder)
    builder.automata.stop_counting()
    return builder


def _scaled(limits: Limits, name: str) -> int:
    """Return a limit in states."""
    limit: int = getattr(limits, name)
    return limit // {"transitions": 256, "nfa_states": 3}.get(name, 1)


def _check_eager_rules(builder: LazyBuilder) -> None:
    """Build the automata of the rules that may be too large, so that `LimitExceeded` is raised before the first token.

    Those that are small are added to the arrays when they are first called.
    """
    rules = builder.rules
    reached = [key for key in builder.keys if key is not None]
    known = set(reached)
    for key in reached:
        if key in rules.lazy:
            continue
        dfa = builder.check(key)
        if dfa.targets.size > _MAX_POSTPONED:
            builder.build(builder.number(key))
        found = [callee for callee in dfa.rules_called if callee not in known]
        known.update(found)
        reached += found
    # Rules that only lazy rules call are too large or not, whatever calls them.
    lowered = rules.rules.lowered if type(rules.rules) is LazyRules else rules.rules
    pending: list[RuleKey] = [name for name in lowered if name not in rules.lazy and name not in known]
    while pending:
        key = pending.pop()
        try:
            dfa = builder.automata.of(node_of(rules, key))
        except (LimitExceeded, RecursionError) as error:
            raise builder.placed(error, key) from None
        pending += [key for key in dfa.rules_called if not isinstance(key, str)]


def build_called(automaton: Automaton, states: set[int]) -> bool:
    """Build the rules that states call without a byte; return whether some were not built.

    A walk over tokens enters them in any case, and starts again when it meets a rule that is not built.

    Raises:
        LimitExceeded: An automaton would be too large.
    """
    is_new = False
    pending = [*states]
    for state in pending:
        tables = automaton.tables
        calls = slice(tables.call_first.item(state), tables.call_first.item(state + 1))
        for rule in tables.call_rule[calls].tolist():
            if rule < 0:
                continue
            is_new |= tables.start.item(rule) < 0
            start = automaton.start_state(rule)
            if start not in states:
                states.add(start)
                pending.append(start)
    return is_new
