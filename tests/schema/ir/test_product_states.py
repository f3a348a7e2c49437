"""The states of object products, by brute force."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from structkit.errors import LimitExceeded
from structkit.schema.ir.nodes import (
    Case,
    Formula,
    Integer,
    Never,
    Null,
    ObjectProduct,
    ProductGroup,
    ProductKey,
    Schema,
    String,
)
from structkit.schema.ir.product_search import ProductStates, possible_product
from structkit.schema.ir.product_states import State, count_formula
from tests.shared import cases

KEYS, CONDITIONS = "abc", 4
PARTS = 0b11, 0b1100


@st.composite
def formulas(draw: st.DrawFn, depth: int = 2) -> Formula:
    """Formulas of at least one condition, as those of each combination are."""
    parts = tuple(draw(st.lists(formulas(depth - 1), max_size=2))) if depth else ()
    conditions = draw(st.integers(0 if parts else 1, (1 << CONDITIONS) - 1))
    count = conditions.bit_count() + len(parts)
    least = draw(st.integers(0, count))
    return count_formula(conditions, parts, least, draw(st.integers(least, count)))


@st.composite
def products(draw: st.DrawFn) -> ObjectProduct:
    bits = st.integers(0, (1 << CONDITIONS) - 1)
    keys = []
    for name in KEYS:
        cases = draw(st.lists(bits, max_size=2))
        required, without = draw(st.booleans()), draw(bits)
        values: list[Schema] = [Null(), Integer()]
        found = tuple(Case(value, violates) for value, violates in zip(values, cases, strict=False))
        keys.append(ProductKey(name, found, required, without))
    least = draw(st.integers(0, len(KEYS)))
    most = draw(st.none() | st.integers(least, len(KEYS)))
    groups = (ProductGroup(String(), (Case(Null(), draw(bits)),), False),) if draw(st.booleans()) else ()
    return ObjectProduct(tuple(keys), groups, draw(formulas()), draw(bits), least, most)


@st.composite
def separable_products(draw: st.DrawFn) -> ObjectProduct:
    """Products whose keys each touch one part of the formula, so that each part is searched alone."""
    node = draw(products())
    parts = [
        count_formula(mask, (), least, draw(st.integers(least, mask.bit_count())))
        for mask in PARTS
        for least in (draw(st.integers(0, mask.bit_count())),)
    ]
    keys = []
    for key in node.keys:
        mask = draw(st.sampled_from(PARTS))
        cases = tuple(replace(case, violates=case.violates & mask) for case in key.cases)
        keys.append(replace(key, cases=cases, violated_without=key.violated_without & mask))
    formula = count_formula(0, tuple(parts), 2, 2)
    return ObjectProduct(tuple(keys), (), formula)


def met(formula: Formula, violated: int) -> bool:
    count = (formula.conditions & ~violated).bit_count() + sum(met(part, violated) for part in formula.parts)
    return formula.min_count <= count <= formula.max_count


MAX_OTHERS = 4


def objects(node: ObjectProduct) -> Iterator[tuple[int | None, ...]]:
    """Iterate over the objects of a product with at most `MAX_OTHERS` undeclared keys.

    Each is the number of the case of each key, `None` where it is left out, and the number of undeclared keys.
    """
    others = range(MAX_OTHERS + 1) if node.additional else range(1)
    for *chosen, more in product(*([None, *range(len(key.cases))] for key in node.keys), others):
        written = len(chosen) - chosen.count(None) + more
        violated = 0 if written else node.violated_if_empty
        if more:
            violated |= node.additional[0].cases[0].violates
        for key, case in zip(node.keys, chosen, strict=True):
            violated |= key.violated_without if case is None else key.cases[case].violates
        missing = any(key.required and case is None for key, case in zip(node.keys, chosen, strict=True))
        is_few = node.max_properties is None or written <= node.max_properties
        if not missing and node.min_properties <= written and is_few and met(node.formula, violated):
            yield (*chosen, more)


def reached(states: ProductStates, count: int) -> set[tuple[int | None, ...]]:
    """Return the objects on the ways through the states; every state on them is alive exactly if one can follow."""

    def walk(state: State, chosen: tuple[int | None, ...], more: int) -> set[tuple[int | None, ...]]:
        found: set[tuple[int | None, ...]] = set()
        if (rest := states.rest(state)) is not None:
            least, most = rest
            for others in range(least, MAX_OTHERS + 1 if most is None else most + 1):
                found.add((*chosen, *[None] * (count - len(chosen)), more + others))
        for move in states.alive_moves(state) if states.is_alive(state) else ():
            index, case = move.entry
            skipped = [None] * (index - len(chosen))
            if index < count:
                found |= walk(move.after, (*chosen, *skipped, case), more)
            elif more < MAX_OTHERS:
                found |= walk(move.after, (*chosen, *skipped), more + 1)
        assert states.is_alive(state) == bool(found) or more == MAX_OTHERS
        if found and more < MAX_OTHERS:
            path = states.path(state)
            declared = {index: case for index, case in path if index < count}
            assert path[: len(declared)] == sorted(declared.items())
            others = more + len(path) - len(declared) + states.fewest_additional(state)
            assert (
                *chosen,
                *[declared.get(index) for index in range(len(chosen), count)],
                others,
            ) in found or others > MAX_OTHERS
        return found

    return {each for each in walk(states.start, (), 0) if each[-1] <= MAX_OTHERS}  # type: ignore[operator]


@settings(max_examples=cases(30, of=1_000), deadline=None, suppress_health_check=list(HealthCheck))
@given(products())
def test_the_states_of_a_product_are_those_of_its_objects(node: ObjectProduct) -> None:
    expected = set(objects(node))
    if all(key.cases or not key.required for key in node.keys):
        assert reached(ProductStates(node), len(node.keys)) == expected
    possible = possible_product(node)
    assert isinstance(possible, Never) == (not expected)
    if isinstance(possible, ObjectProduct):
        assert len(set(objects(possible))) == len(expected)


@settings(max_examples=cases(150, of=1_000), deadline=None, suppress_health_check=list(HealthCheck))
@given(separable_products())
def test_the_states_of_a_product_of_parts_are_those_of_its_objects(node: ObjectProduct) -> None:
    if all(key.cases or not key.required for key in node.keys):
        assert reached(ProductStates(node), len(node.keys)) == set(objects(node))


def test_undeclared_keys_that_no_object_can_have_are_left_out() -> None:
    """An undeclared key violates the condition that there are none, which must hold."""
    keys = (ProductKey("a", (Case(Null(), 0),), True, 0),)
    groups = (ProductGroup(String(), (Case(Null(), 1),), False),)
    found = possible_product(ObjectProduct(keys, groups, count_formula(0b11, (), 2, 2)))
    assert isinstance(found, ObjectProduct)
    assert found.additional == ()


def pigeons(count: int, holes: int) -> ObjectProduct:
    """Return a product of a key for each pigeon and hole, of which each pigeon has one, and each hole at most one.

    With a hole less than pigeons there is none, and proofs of this kind are exponential (Haken 1985). The first key
    needs a further pigeon.
    """
    first = 1 << (count + 1) * holes
    keys = [ProductKey("more", (Case(Null(), first),), False, 0)]
    keys += [
        ProductKey(f"k{number}", (Case(Null(), 0),), False, 1 << number)
        for number in range((count + 1) * holes)
    ]
    row, column = (1 << holes) - 1, sum(1 << holes * pigeon for pigeon in range(count + 1))
    housed = [count_formula(row << holes * pigeon, (), 1, holes) for pigeon in range(count)]
    more = count_formula(row << holes * count | first, (), 1, holes + 1)
    alone = [count_formula(column << hole, (), 0, 1) for hole in range(holes)]
    formulas = (*housed, more, *alone)
    return ObjectProduct(tuple(keys), (), count_formula(0, formulas, len(formulas), len(formulas)))


def test_a_search_without_end_is_refused() -> None:
    with pytest.raises(LimitExceeded, match="the search for an object"):
        possible_product(pigeons(17, 16))


def test_a_text_can_be_finished_where_other_continuations_are_not_found() -> None:
    states = ProductStates(pigeons(16, 16))
    state, written = states.start, 0
    assert [move.entry for move in states.alive_moves(state)] == [states.path(state)[0]]
    while states.rest(state) is None:
        state = states.alive_moves(state)[-1].after
        written += 1
    assert written == 16


@pytest.mark.parametrize(
    ("is_required", "violated_if_empty", "least", "fewest"),
    [(True, 0, 3, 2), (True, 0, 1, 0), (True, 0, 0, 0), (False, 0, 0, 0), (False, 0, 2, 2), (False, 1, 0, 1)],
)
def test_the_fewest_undeclared_keys(
    is_required: bool, violated_if_empty: int, least: int, fewest: int
) -> None:
    keys = (ProductKey("a", (Case(Null(), 0),), True, 0),) if is_required else ()
    groups = (ProductGroup(String(), (Case(Null(), 0),), False),)
    node = ObjectProduct(keys, groups, count_formula(1, (), 1, 1), violated_if_empty, least)
    states = ProductStates(node)
    assert len(states.path(states.start)) == is_required
    assert states.fewest_additional(states.start) == fewest
