"""The states of an object product: what is left of its formula after some entries.

A state is made when a text, or the search for one, reaches it: 12 conditions have 4,096 states, of which one text
visits 12. Each entry simplifies the formula, as a derivative (Brzozowski 1964) does a regular expression: a condition
that is violated never holds again, and one that no later entry can violate holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from structkit.errors import LimitExceeded
from structkit.frozen import CachedHash, cached_hash, frozen
from structkit.schema.ir.nodes import Formula, Never, ObjectProduct, ProductGroup, ProductKey, Schema
from structkit.schema.ir.path import path_step

__all__ = ["Move", "ProductStates", "State", "count_formula", "possible_product"]

P = TypeVar("P", ProductKey, ProductGroup)

_MAX_STEPS = 200_000
"""Maximum number of states of one product that are searched for an object, at about 5 µs each."""


@cached_hash
@frozen
class State(CachedHash):
    """What may follow in an object.

    Attributes:
        position: The number of declared keys that were written or left out.
        formula: What must hold of the conditions that later entries may violate; `None` if nothing must.
        started: Whether there was an entry.
    """

    position: int
    formula: Formula | None
    started: bool


@frozen
class Move:
    """An entry, and the state after it.

    Attributes:
        index: The number of the declared key, or the number of declared keys plus that of a group.
        case: The number of the case of its value.
        after: The next state.
    """

    index: int
    case: int
    after: State


class ProductStates:
    """The states of one product.

    >>> from structkit.schema.ir.nodes import Case, Null
    >>> one = count_formula(0b11, (), 1, 1)  # exactly one of two conditions
    >>> keys = tuple(ProductKey(name, (Case(Null(), 0),), False, 1 << n) for n, name in enumerate("ab"))
    >>> states = ProductStates(ObjectProduct(keys, (), one))
    >>> [move.index for move in states.path(states.start)]
    [0]
    """

    def __init__(self, product: ObjectProduct) -> None:
        self._product = product
        self._keys = keys = product.keys
        always = 0
        for group in product.additional:
            for case in group.cases:
                always |= case.violates
        # The conditions that later entries may violate, before each key.
        self._later = later = [always]
        self._without, self._required = [0], [False]
        for key in reversed(keys):
            may_violate = key.violated_without
            for case in key.cases:
                may_violate |= case.violates
            later.append(later[-1] | may_violate)
            self._without.append(self._without[-1] | key.violated_without)
            self._required.append(self._required[-1] or key.required)
        for suffixes in (later, self._without, self._required):
            suffixes.reverse()
        self._next: dict[State, Move | None] = {}
        self._dead: set[State] = set()
        self._steps = 0

    @property
    def start(self) -> State:
        """The state before the first entry."""
        return State(0, self._product.formula, started=False)

    def moves(self, state: State) -> Iterator[Move]:
        """Iterate over the entries that can be next, whether or not an object can follow."""
        formula: Formula | bool = True if state.formula is None else state.formula
        if not state.started:
            formula = self._settle(formula, 0, state.position, started=False)
        for index in range(state.position, len(self._keys)):
            key = self._keys[index]
            for number, case in enumerate(key.cases):
                yield from self._move(index, number, formula, case.violates, index + 1)
            if key.required:
                return
            formula = self._settle(formula, key.violated_without, index + 1, started=state.started)
            if formula is False:
                return
        for number, group in enumerate(self._product.additional, start=len(self._keys)):
            for case_number, case in enumerate(group.cases):
                yield from self._move(number, case_number, formula, case.violates, len(self._keys))

    def _move(
        self, index: int, case: int, formula: Formula | bool, violated: int, position: int
    ) -> Iterator[Move]:
        after = self._settle(formula, violated, position, started=True)
        if after is not False:
            yield Move(index, case, State(position, None if after is True else after, started=True))

    def _settle(
        self, formula: Formula | bool, violated: int, position: int, *, started: bool
    ) -> Formula | bool:
        """Return a formula without the conditions that are violated, and without those that hold for good."""
        if isinstance(formula, bool):
            return formula
        later = self._later[position] | (0 if started else self._product.violated_if_empty)
        return _derive(formula, violated, ~(later | violated))

    def can_end(self, state: State) -> bool:
        """Return whether the object may end without another entry."""
        if self._required[state.position] or (self._product.not_empty and not state.started):
            return False
        if state.formula is None:
            return True
        violated = self._without[state.position]
        if not state.started:
            violated |= self._product.violated_if_empty
        return _derive(state.formula, violated, ~violated) is True

    def is_alive(self, state: State) -> bool:
        """Return whether an object can follow.

        Raises:
            LimitExceeded: The search takes too many steps.
        """
        if state in self._next:
            return True
        if state in self._dead:
            return False
        open_ = [(state, self.moves(state))]
        taken: list[Move] = []
        while open_:
            current, moves = open_[-1]
            self._steps += 1
            if self._steps > _MAX_STEPS:
                raise LimitExceeded(
                    "work", _MAX_STEPS, "the search for an object that meets all conditions", is_fixed=True
                )
            if self.can_end(current):
                self._next[current] = None
            elif current not in self._next:
                move = next((each for each in moves if self._is_open(each.after, current)), None)
                if move is None:
                    self._dead.add(current)
                    open_.pop()
                    if taken:
                        taken.pop()
                else:
                    taken.append(move)
                    open_.append((move.after, self.moves(move.after)))
                continue
            for (each, _), move in zip(open_, taken, strict=False):
                self._next[each] = move
            return True
        return False

    def _is_open(self, state: State, before: State) -> bool:
        return state not in self._dead and state != before

    def path(self, state: State) -> list[Move]:
        """Return entries after which the object can end; the state is alive. Most keys are left out."""
        found: list[Move] = []
        while self.is_alive(state) and (move := self._next[state]) is not None:
            found.append(move)
            state = move.after
        return found


def count_formula(conditions: int, parts: tuple[Formula, ...], min_count: int, max_count: int) -> Formula:
    """Return the formula of so many of some conditions and parts."""
    within = conditions
    for part in parts:
        within |= part.within
    return Formula(conditions, parts, min_count, max_count, within)


def _derive(formula: Formula, violated: int, holding: int) -> Formula | bool:
    """Return what is left of a formula when some conditions are violated and others hold."""
    if not formula.within & (violated | holding):
        return formula
    conditions = formula.conditions & ~(violated | holding)
    met = (formula.conditions & holding).bit_count()
    parts: list[Formula] = []
    for part in formula.parts:
        found = _derive(part, violated, holding)
        if found is True:
            met += 1
        elif found is not False:
            parts.append(found)
    count = conditions.bit_count() + len(parts)
    min_count, max_count = formula.min_count - met, formula.max_count - met
    if max_count < 0 or min_count > count:
        return False
    if min_count <= 0 and max_count >= count:
        return True
    if count == min_count == 1 and parts:
        return parts[0]
    return count_formula(conditions, tuple(parts), max(min_count, 0), min(max_count, count))


def possible_product(node: ObjectProduct) -> Schema:
    """Return the product without impossible cases, or `Never` if no object meets its formula.

    Raises:
        LimitExceeded: The search for an object takes too many steps.
    """
    keys = [_possible(key) for key in node.keys]
    for key in keys:
        if key.required and not key.cases:
            return Never("no alternative allows a value of a required key", (path_step(key.name),))
    additional = [group for group in map(_possible, node.additional) if group.cases]
    node = replace(node, keys=tuple(keys), additional=tuple(additional))
    states = ProductStates(node)
    return node if states.is_alive(states.start) else Never("the alternatives exclude each other")


def _possible(part: P) -> P:
    return replace(part, cases=tuple(case for case in part.cases if not isinstance(case.value, Never)))
