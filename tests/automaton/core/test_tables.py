"""The arrays of all rules: each rule is read as it was added."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import build_rule
from structkit.automaton.core.tables import TableBuilder, extract_dfa
from structkit.limits import Limits
from structkit.regex.nodes import LiteralText, Node, Repeat, Seq
from tests.regex.strategies import NODES

_COUNTED = st.builds(
    lambda node, least, more: Repeat(
        Seq((LiteralText("d"), node)), least, None if more is None else least + more
    ),
    NODES,
    st.integers(0, 400),
    st.none() | st.integers(0, 400),
)


@given(st.lists(NODES | _COUNTED, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_a_rule_is_read_as_it_was_added(nodes: list[Node], random: object) -> None:
    builder = TableBuilder()
    dfas = [build_rule(node, Limits()) for node in nodes]
    order = list(range(len(nodes)))
    random.shuffle(order)  # type: ignore[attr-defined]
    for rule in order:
        tables = builder.add(rule, dfas[rule], [], len(nodes))
    first = 0
    for rule in order:
        dfa, stop = dfas[rule], first + len(dfas[rule].final)
        found = extract_dfa(tables, rule, first, stop)
        assert int(tables.start[rule]) == first and (tables.rule[first:stop] == rule).all()
        for name in ("classes", "targets", "final"):
            assert np.array_equal(getattr(found, name), getattr(dfa, name)), name
        assert (found.min_count, found.max_count) == (dfa.min_count, dfa.max_count)
        first = stop
