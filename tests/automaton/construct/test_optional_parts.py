"""Optional parts that share a trie, compared with parts emitted one by one."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from structkit.automaton.construct import optional_parts
from structkit.automaton.construct.compile_rule import build_rule
from structkit.automaton.core.dfa import Dfa, intersection
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.limits import Limits
from structkit.regex.nodes import CharClass, ListPart, LiteralText, Node, Repeat, Rules, SeparatedList, Seq

_rests = st.sampled_from([(), (LiteralText("x"),), (Repeat(CharClass(((0x61, 0x62),)), 0, 2),)])
_nodes: st.SearchStrategy[Node] = st.builds(
    lambda text, rest: Seq((LiteralText(text), *rest)) if rest else LiteralText(text),
    st.text("abé", max_size=4),
    _rests,
)
_parts = st.builds(
    lambda node, bounds: ListPart(node, *bounds),
    _nodes,
    st.sampled_from([(0, 1), (0, 1), (0, 1), (0, 1), (1, 1), (0, None), (0, 0), (1, 2)]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(parts=st.lists(_parts, min_size=1, max_size=8), separator=st.sampled_from([",", "a", ""]))
def test_parts_in_a_trie_equal_parts_emitted_one_by_one(
    monkeypatch: pytest.MonkeyPatch, parts: list[ListPart], separator: str
) -> None:
    node = SeparatedList(tuple(parts), separator)
    monkeypatch.setattr(optional_parts, "_MAX_SEPARATE_PARTS", 1)
    shared = build_rule(node, Limits())
    monkeypatch.setattr(optional_parts, "_MAX_SEPARATE_PARTS", 1_000)
    separate = build_rule(node, Limits())
    assert _is_subset(shared, separate) and _is_subset(separate, shared)


def _is_subset(left: Dfa, right: Dfa) -> bool:
    rest = intersection(left, right, 100_000, negate=True)
    return rest is not None and rest.is_empty


def test_many_parts_take_one_state_per_byte() -> None:
    parts = tuple(ListPart(LiteralText(f'"key{number}": 1'), 0, 1) for number in range(2_000))
    automaton = link(Rules(SeparatedList(parts, ", "), {}), Limits(nfa_states=60_000))
    reader = Reader(automaton)
    assert reader.accepts(b'"key3": 1, "key77": 1, "key1999": 1')
    assert not reader.accepts(b'"key77": 1, "key3": 1') and not reader.accepts(b'"key3": 1, "key3": 1')
