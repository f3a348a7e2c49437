"""Nodes as values, and the functions that make and read them, compared with plain ones."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.regex.charset import DIGIT
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    AnyOrder,
    AnyOrderEntry,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    ListPart,
    LiteralText,
    Network,
    Node,
    Repeat,
    RuleRef,
    Rules,
    SeparatedList,
    Seq,
    choice,
    seq,
)
from structkit.regex.walk import (
    children,
    components,
    exceeds_size,
    has_distinct,
    has_text,
    inlined,
    is_recursive,
    map_children,
    referenced_rules,
)
from tests.regex.strategies import NODES

_TEXTS = ["".join(letters).encode() for size in range(5) for letters in product("abc", repeat=size)]

_A, _B = LiteralText("a"), RuleRef("b")
_ENTRY = AnyOrderEntry(Distinct(_A), _B, counted=True)
_KINDS: list[tuple[Node, list[Node]]] = [
    (_A, []),
    (_B, []),
    (DIGIT, []),
    (NEVER, []),
    (Seq((_A, _B)), [_A, _B]),
    (Choice((_A, _B)), [_A, _B]),
    (Repeat(_B, 1, 3), [_B]),
    (Distinct(_B), [_B]),
    (Intersection(_A, _B, True), [_A, _B]),
    (SeparatedList((ListPart(_A, 0, 1), ListPart(_B, 2, None)), ","), [_A, _B]),
    (AnyOrder((_ENTRY, _ENTRY), ",", 1, 2), [Distinct(_A), _B] * 2),
    (Network(3, ((0, _A, 2), (2, _B, 1))), [_A, _B]),
]


def _texts(node: Node) -> list[bool]:
    return regular_dfa(node).accepts_each(_TEXTS)


@given(st.lists(NODES.map(lambda node: seq(node)) | st.sampled_from([EMPTY, NEVER]), max_size=4))
def test_a_sequence_has_the_texts_of_its_parts_one_after_the_other(parts: list[Node]) -> None:
    found = seq(*parts)
    assert _texts(found) == _texts(Seq(tuple(parts)))
    assert found is NEVER or NEVER not in parts
    pieces = found.parts if isinstance(found, Seq) else ()
    texts = [isinstance(piece, LiteralText) for piece in pieces]
    assert not any(map(min, pairwise(texts))), "adjacent texts are merged"
    assert len(pieces) != 1
    written = [part.value if isinstance(part, LiteralText) else part for part in parts]
    assert seq(*written) == found == seq(seq(*parts[:2]), *parts[2:])


@given(st.lists(NODES.filter(lambda node: not isinstance(node, Choice)), max_size=4))
def test_a_choice_has_the_texts_of_all_parts_once(parts: list[Node]) -> None:
    found = choice(parts)
    assert _texts(found) == _texts(Choice(tuple(parts)))
    assert choice([choice(parts[:2]), *parts[2:], *parts]) == found
    assert found is NEVER or parts
    if isinstance(found, Choice):
        assert len(set(found.parts)) == len(found.parts) != 1


def test_copies_of_the_empty_language_are_the_same_object() -> None:
    for node in (NEVER, Seq((NEVER, _A))):
        for copied in (copy.deepcopy(node), copy.copy(node), pickle.loads(pickle.dumps(node))):
            assert copied == node and (node is not NEVER or copied is NEVER)
            assert not isinstance(copied, Seq) or copied.parts[0] is NEVER
    other = Choice((_A, _B))
    assert pickle.loads(pickle.dumps(other)) == other == copy.deepcopy(other)


def test_the_children_of_each_kind_of_node() -> None:
    for node, expected in _KINDS:
        assert list(children(node)) == expected
        assert map_children(node, lambda child: child) == node
        changed = map_children(
            node, lambda child: Seq((child, _A)) if not isinstance(child, Distinct) else child
        )
        entries = isinstance(node, AnyOrder)
        assert len(children(changed)) == len(expected) and (changed == node) == (not expected)
        assert entries or list(children(changed)) == [
            child if isinstance(child, Distinct) else Seq((child, _A)) for child in expected
        ]
        names = {"b"} if _B in (node, *expected) else set()
        assert referenced_rules(node) == names == referenced_rules(Seq((_A, Repeat(node))))
        is_distinct = isinstance(node, Distinct | AnyOrder)
        assert has_distinct(node) == is_distinct == has_distinct(Repeat(Choice((_A, node, node))))


def _all(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from _all(child)


@given(NODES)
def test_sizes_and_texts_of_nodes(node: Node) -> None:
    size = len(list(_all(node)))
    assert [exceeds_size(node, count) for count in range(1, 2 * size)] == [
        count < size for count in range(1, 2 * size)
    ]
    assert has_text(node) == (len(regular_dfa(node).final) > 0 and any(regular_dfa(node).final))
    assert (
        has_text(Seq((node, NEVER))) is False
        and has_text(Repeat(NEVER, 0, 3))
        and not has_text(Repeat(NEVER, 1))
    )
    assert not has_text(CharClass(())) and not has_text(Intersection(_A, _A))


_GRAPHS = st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3))


def _reached(edges: dict[str, list[str]], start: str) -> set[str]:
    """Return the nodes that are reached from one by an edge or more."""
    found: set[str] = set()
    pending = list(edges.get(start, ()))
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending += edges.get(node, ())
    return found


@given(_GRAPHS)
def test_components_are_the_sets_that_reach_each_other(edges: dict[str, list[str]]) -> None:
    edges = {node: edges.get(node, []) for node in "abcdef"}
    reached = {node: _reached(edges, node) for node in edges}
    found = components(edges)
    assert sorted(node for component in found for node in component) == sorted(edges)
    for place, component in enumerate(found):
        for node in component:
            mutual = {other for other in edges if other in reached[node] and node in reached[other]} | {node}
            assert set(component) == mutual
            assert reached[node] <= {other for earlier in found[: place + 1] for other in earlier}
    from_a = components(edges, ["a"])
    assert {node for component in from_a for node in component} == reached["a"] | {"a"}


@given(_GRAPHS)
def test_rules_are_recursive_if_one_that_is_reached_reaches_itself(edges: dict[str, list[str]]) -> None:
    rules = {node: Seq(tuple(map(RuleRef, edges.get(node, ())))) for node in "abcdef"}
    reached = _reached(edges, "a") | {"a"}
    expected = any(node in _reached(edges, node) for node in reached)
    assert is_recursive(Rules(RuleRef("a"), rules)) == expected


@given(NODES)
def test_rules_in_place_of_their_calls(node: Node) -> None:
    """`a` calls `b` twice; a rule that calls itself, and a name without a rule, are in no inlined node."""
    called, twice = RuleRef("b"), Seq((RuleRef("b"), _A, RuleRef("b")))
    assert inlined(map_children(node, lambda child: child), {}) == (
        node if not referenced_rules(node) else None
    )
    assert inlined(RuleRef("a"), {"a": twice, "b": _A}) == Seq((_A, _A, _A))
    for part in (node, *children(node)):
        if not isinstance(part, AnyOrder) and not referenced_rules(part):
            assert inlined(Seq((called, RuleRef("a"))), {"a": twice, "b": part}) == Seq(
                (part, Seq((part, _A, part)))
            )
    assert inlined(called, {"b": twice}) is None and inlined(called, {"a": _A}) is None
