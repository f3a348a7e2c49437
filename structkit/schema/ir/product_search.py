"""Searches for objects of a product: a state is alive if an object can follow.

Parts of a formula that share no key are searched one by one. A part that relates many keys to each other can be as hard
as a puzzle, so that a search is bounded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from structkit.errors import LimitExceeded
from structkit.limits import Limits, Work
from structkit.schema.ir.nodes import Formula, Never, ObjectProduct, ProductGroup, ProductKey, Schema
from structkit.schema.ir.path import path_step
from structkit.schema.ir.product_states import (
    PART_WORK,
    SEARCH,
    Entry,
    Move,
    State,
    Transitions,
    count_formula,
    may_be_met,
    violated_by,
)

__all__ = ["ProductStates", "possible_product"]

P = TypeVar("P", ProductKey, ProductGroup)


class _Search:
    """Searches for objects of a product; what is found is kept."""

    def __init__(self, product: ObjectProduct) -> None:
        self.transitions = Transitions(product)
        self._next: dict[State, Move | None] = {}
        self._dead: set[State] = set()

    def is_alive(self, state: State, work: Work) -> bool:
        """Return whether an object can follow.

        Raises:
            LimitExceeded: The search takes too much work.
        """
        if state in self._next:
            return True
        if state in self._dead:
            return False
        open_ = [(state, self.transitions.last_first(state, work))]
        taken: list[Move] = []
        looks_ahead = False  # a search without a dead end is faster without
        while open_:
            current, moves = open_[-1]
            work.pay(PART_WORK, SEARCH)
            if self.transitions.can_end(current):
                self._next[current] = None
            elif current not in self._next:
                move = next((each for each in moves if self._is_open(each.after, current)), None)
                if move is not None and looks_ahead and self.transitions.is_stuck(move.after, work):
                    self._dead.add(move.after)
                elif move is None:
                    looks_ahead = True
                    self._dead.add(current)
                    open_.pop()
                    if taken:
                        taken.pop()
                else:
                    taken.append(move)
                    open_.append((move.after, self.transitions.last_first(move.after, work)))
                continue
            for (each, _), move in zip(open_, taken, strict=False):
                self._next[each] = move
            return True
        return False

    def _is_open(self, state: State, before: State) -> bool:
        return state not in self._dead and state != before

    def path(self, state: State) -> list[Entry]:
        """Return entries after which the object can end; the state was found to be alive."""
        found: list[Entry] = []
        while (move := self._next[state]) is not None:
            found.append(move.entry)
            state = move.after
        return found


class ProductStates:
    """The states of one product.

    Args:
        product: The product; each required key has a case.
        limits: Bounds the work of one search.

    >>> from structkit.schema.ir.nodes import Case, Null
    >>> one = count_formula(0b11, (), 1, 1)  # exactly one of two conditions
    >>> keys = tuple(ProductKey(name, (Case(Null(), 0),), False, 1 << n) for n, name in enumerate("ab"))
    >>> states = ProductStates(ObjectProduct(keys, (), one))
    >>> states.path(states.start)
    [(1, 0)]
    """

    def __init__(self, product: ObjectProduct, limits: Limits = Limits()) -> None:  # noqa: B008
        self._limits = limits
        self._transitions = transitions = Transitions(product)
        self._parts = [_Part(mask, transitions) for mask in _independent_parts(transitions)]
        self._part_of = {
            condition: number
            for number, part in enumerate(self._parts)
            for condition in _each(max(part.mask, 0))
        }
        searched = {index for part in self._parts for index in part.indices}
        self._alone = [
            index for index, key in enumerate(product.keys) if key.required and index not in searched
        ]
        self._forced: dict[State, list[Entry]] = {}

    @property
    def start(self) -> State:
        """The state before the first entry."""
        return State(0, self._transitions.product.formula, 0)

    def rest(self, state: State) -> tuple[int, int | None] | None:
        """Return how many undeclared entries may follow, if no declared one does; `None` if one must.

        Undeclared entries that violate conditions are moves and not counted here.
        """
        return self._transitions.rest(state)

    def is_alive(self, state: State) -> bool:
        """Return whether an object can follow.

        Raises:
            LimitExceeded: The search takes too much work.
        """
        return self._is_alive(state, Work(self._limits.work))

    def alive_moves(self, state: State) -> list[Move]:
        """Return the entries after which an object is found: all, unless the search takes too much work.

        If the state is alive and the object cannot end, there is one at least. So a text that is started can be
        finished, and only in parts as hard as puzzles are some of its continuations not found.
        """
        work = Work(self._limits.work)
        found: list[Move] = []
        path = self.path(state)
        for move in self._transitions.moves(state):
            try:
                is_alive = self._is_alive(move.after, work)
            except LimitExceeded:
                is_alive = [move.entry] == path[:1]
                if is_alive:
                    self._forced[move.after] = path[1:]
            if is_alive:
                found.append(move)
        return found

    def path(self, state: State) -> list[Entry]:
        """Return entries, in order, after which the object can end; the state is alive. Most keys are left out."""
        if (forced := self._forced.get(state)) is not None:
            return forced
        self.is_alive(state)
        found = [(index, 0) for index in self._alone if index >= state.position]
        for part, inner in self._split(state):
            found += part.path(inner)
        return sorted(found)

    def fewest_additional(self, state: State) -> int:
        """Return how many undeclared entries follow the declared ones of `path`, at least."""
        written = state.count + len(self.path(state))
        rest = None if written else self.rest(state)
        return max(self._transitions.product.min_properties - written, 0) if rest is None else rest[0]

    def _is_alive(self, state: State, work: Work) -> bool:
        return state in self._forced or all(
            part.search.is_alive(inner, work) for part, inner in self._split(state)
        )

    def _split(self, state: State) -> Iterator[tuple[_Part, State]]:
        """Iterate over the parts that are not complete, and their states."""
        formulas: list[list[Formula]] = [[] for _ in self._parts]
        for formula in () if state.formula is None or not self._part_of else _conjuncts(state.formula):
            formulas[self._part_of[next(_each(formula.within))]].append(formula)
        for part, own in zip(self._parts, formulas, strict=True):
            if (inner := part.within(state, own)) is not None:
                yield part, inner


class _Part:
    """A part of a product that shares no key with the others.

    Attributes:
        mask: Its conditions; -1 for the whole product.
        indices: The numbers of its keys.
        search: Searches its objects.
    """

    def __init__(self, mask: int, transitions: Transitions) -> None:
        self.mask = mask
        self.indices = [
            index for index, touched in enumerate(transitions.touched) if mask == -1 or touched & mask
        ]
        product = transitions.product
        keys = tuple(product.keys[index] for index in self.indices)
        self.search = _Search(product if mask == -1 else replace(product, keys=keys, additional=()))

    def within(self, state: State, formulas: Sequence[Formula]) -> State | None:
        """Return the state of this part in a state with these formulas of its own; `None` if nothing must follow."""
        if self.mask == -1:
            return state
        position = bisect_left(self.indices, state.position)
        if not formulas and not self.search.transitions.requires_after(position):
            return None
        formula = formulas[0] if len(formulas) == 1 else None
        if len(formulas) > 1:
            formula = count_formula(0, tuple(formulas), len(formulas), len(formulas))
        return State(position, formula, 1)

    def path(self, state: State) -> list[Entry]:
        """Return entries of this part after which it can end."""
        found = self.search.path(state)
        return found if self.mask == -1 else [(self.indices[index], case) for index, case in found]


def _independent_parts(transitions: Transitions) -> list[int]:
    """Return the conditions of the parts of a product that share no key, as masks; -1 is the whole product."""
    product = transitions.product
    counts = product.min_properties or product.max_properties is not None or product.violated_if_empty
    if counts or any(map(violated_by, product.additional)):
        return [-1]
    masks: list[int] = []
    for mask in (*(part.within for part in _conjuncts(product.formula)), *transitions.touched):
        joined = [each for each in masks if each & mask]
        for each in joined:
            mask |= each
            masks.remove(each)
        masks.append(mask)
    return [mask for mask in masks if mask]


def _each(conditions: int) -> Iterator[int]:
    """Iterate over the conditions of a set, each as a set of its own."""
    while conditions:
        lowest = conditions & -conditions
        yield lowest
        conditions ^= lowest


def _conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """Return the parts of a formula that must all hold."""
    count = formula.conditions.bit_count() + len(formula.parts)
    return formula.parts if formula.min_count == count and not formula.conditions else (formula,)


def possible_product(node: ObjectProduct, limits: Limits = Limits()) -> Schema:  # noqa: B008
    """Return the product without impossible cases, or `Never` if no object meets its formula.

    Raises:
        LimitExceeded: The search for an object takes too much work.
    """
    is_small = len(node.keys) * len(node.formula.parts) <= _MAX_DERIVED
    keys = [_possible(key, node.formula if is_small else None) for key in node.keys]
    for key in keys:
        if key.required and not key.cases:
            return Never("no alternative allows a value of a required key", (path_step(key.name),))
    groups = [_possible(group, node.formula) for group in node.additional]
    additional = [group for group in groups if group.cases]
    node = replace(node, keys=tuple(keys), additional=tuple(additional))
    states = ProductStates(node, limits)
    return node if states.is_alive(states.start) else Never("the alternatives exclude each other")


_MAX_DERIVED = 20_000
"""Maximum keys times parts of a formula for which the values of keys are examined, at about 0.1 µs each. The states of
larger products leave them out one by one."""


def _possible(part: P, formula: Formula | None) -> P:
    """Return a key or group without the values that are none, or after which the formula cannot be met."""
    cases = (
        case
        for case in part.cases
        if not isinstance(case.value, Never) and (formula is None or may_be_met(formula, case.violates))
    )
    return replace(part, cases=tuple(cases))
