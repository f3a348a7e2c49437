"""Networks: their texts, and the length of the shortest, by enumeration of paths."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.distance.bounds import LengthBounds
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import UnsatisfiableSchema
from structkit.regex.nodes import CharClass, LiteralText, Network, Node, RuleRef, Rules, Seq

_WIDE = CharClass(tuple((code, code) for code in (0x61, 0xE9, 0xEB, 0xED, 0x4E2D, 0x1F600)))
_PARTS: dict[Node, list[str]] = {
    LiteralText(""): [""],
    LiteralText("a"): ["a"],
    LiteralText("ba"): ["ba"],
    RuleRef("r"): ["aaa"],
    _WIDE: ["a", "é", "ë", "í", "中", "😀"],
}
_STATES = st.integers(0, 3)
_NETWORKS = st.builds(
    Network,
    st.just(4),
    st.lists(st.tuples(_STATES, st.sampled_from([*_PARTS]), _STATES), max_size=7).map(tuple),
)
_LONGEST = 3
_TEXTS = ["".join(letters) for size in range(_LONGEST + 1) for letters in product("abé", repeat=size)]


def _texts(network: Network) -> set[str]:
    """Return the texts of a network that have few characters."""
    reached, pending = {(0, "")}, [(0, "")]
    while pending:
        state, text = pending.pop()
        for source, part, target in network.moves:
            for more in _PARTS[part] if source == state else ():
                after = target, text + more
                if len(after[1]) <= _LONGEST and after not in reached:
                    reached.add(after)
                    pending.append(after)
    return {text for state, text in reached if state == 1}


def _shortest(network: Network) -> int:
    """Return the bytes of a shortest text."""
    distances = {0: 0}
    for _ in range(network.size):
        for source, part, target in network.moves:
            length = distances.get(source, UNREACHABLE) + min(len(text.encode()) for text in _PARTS[part])
            distances[target] = min(length, distances.get(target, UNREACHABLE))
    return distances.get(1, UNREACHABLE)


@given(_NETWORKS)
@example(Network(4, ((0, _WIDE, 2), (3, _WIDE, 2), (0, LiteralText("a"), 3), (2, LiteralText(""), 1))))
@example(Network(4, ((0, LiteralText(""), 1), (1, LiteralText("a"), 0))))
def test_the_texts_of_a_network_are_those_of_its_paths(network: Network) -> None:
    rules: dict[str, Node] = {
        "r": LiteralText("aaa"),
        "n": Seq((LiteralText("("), network, LiteralText(")"))),
    }
    expected, shortest = _texts(network), _shortest(network)
    found = regular_dfa(network, rules=rules).accepts_each([text.encode() for text in _TEXTS])
    assert found == [text in expected for text in _TEXTS]
    bound = LengthBounds(Rules(RuleRef("n"), rules), lambda node: 0).of("n")
    assert bound == min(shortest + 2, UNREACHABLE)
    try:
        reader = Reader(link(Rules(RuleRef("n"), rules)))
    except UnsatisfiableSchema:
        assert shortest == UNREACHABLE
        return
    for text in _TEXTS[::5]:
        assert reader.accepts(f"({text})".encode()) == (text in expected)
