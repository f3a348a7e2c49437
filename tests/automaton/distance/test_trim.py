"""The parts of a rule that cannot reach its end, and the distances of the others."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import build_rule, regular_dfa
from structkit.automaton.core.dfa import DEAD, OPERATION_BITS
from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.distance.trim import trim_rule
from structkit.limits import Limits
from structkit.regex.nodes import NEVER, Choice, LiteralText, Node, Repeat, RuleRef, Seq

_TEXTS = ["".join(letters) for size in range(6) for letters in product("ab", repeat=size)]
_LENGTHS = {"one": 1, "two": 2, "dead": UNREACHABLE}
_LEAVES = st.sampled_from([*map(RuleRef, _LENGTHS), LiteralText("a"), LiteralText("b"), NEVER])
_NODES: st.SearchStrategy[Node] = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Seq(tuple(parts)))
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: Choice(tuple(parts)))
        | st.builds(Repeat, inner, st.integers(0, 2))
    ),
    max_leaves=7,
)


@given(_NODES)
@example(Choice((Seq((RuleRef("one"), NEVER)), Seq((LiteralText("a"), RuleRef("one"))))))
@example(Choice((RuleRef("dead"), Seq((RuleRef("two"), RuleRef("one"))))))
def test_what_is_left_reaches_the_end_of_the_rule(node: Node) -> None:
    dfa = build_rule(node, Limits())
    found = trim_rule(dfa, [_LENGTHS[str(callee)] for callee in dfa.rules_called])
    replaced = regular_dfa(_replaced(node))
    texts = [
        text
        for text, is_text in zip(_TEXTS, replaced.accepts_each([t.encode() for t in _TEXTS]), strict=True)
        if is_text
    ]
    if texts:
        assert found.min_length == len(texts[0])
    assert texts or found.min_length > 5
    if found.min_length == UNREACHABLE:
        return
    used = list(dict.fromkeys(found.dfa.calls[:, 1].tolist()))
    assert used == list(range(len(found.dfa.callees))), "the callees are those of the calls, in their order"
    assert "dead" not in found.dfa.callees
    assert (found.distance[found.dfa.calls[:, 2]] < UNREACHABLE).all()
    after = found.dfa.targets[found.dfa.targets != DEAD] >> OPERATION_BITS
    assert (found.distance[after] < UNREACHABLE).all()


def _replaced(node: Node) -> Node:
    """Return a node with texts in place of calls."""
    match node:
        case RuleRef("dead") | Choice(()):
            return NEVER
        case RuleRef(name):
            return LiteralText("a" * _LENGTHS[name])
        case Seq(parts) | Choice(parts):
            return type(node)(tuple(map(_replaced, parts)))
        case Repeat(part, low, high):
            return Repeat(_replaced(part), low, high)
    return node
