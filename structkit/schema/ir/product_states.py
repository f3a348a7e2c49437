"""The states of an object product: what is left of its formula after some entries.

A state is made when a text, or the search for one, reaches it: 12 conditions have 4,096 states, of which one text
visits 12. Each entry simplifies the formula, as a derivative (Brzozowski 1964) does a regular expression: a condition
that is violated never holds again, and one that no later entry can violate holds.

A state is alive if an object can follow. Parts of a formula that share no key are searched one by one; a part that
relates many keys to each other can be as hard as a puzzle, so that a search is bounded.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from structkit.errors import LimitExceeded
from structkit.frozen import CachedHash, cached_hash, frozen
from structkit.limits import Limits, Work
from structkit.schema.ir.nodes import Formula, Never, ObjectProduct, ProductGroup, ProductKey, Schema
from structkit.schema.ir.path import path_step

__all__ = ["Entry", "Move", "ProductStates", "State", "count_formula", "possible_product"]

P = TypeVar("P", ProductKey, ProductGroup)

_STEPS = 10
"""Work on one part of a formula, as `Limits.work` counts it."""

Entry: TypeAlias = tuple[int, int]
"""The number of a declared key, or the number of declared keys plus that of a group; and the case of the value."""


@cached_hash
@frozen
class State(CachedHash):
    """What may follow in an object.

    Attributes:
        position: The number of declared keys that were written or left out.
        formula: What must hold of the conditions that later entries may violate; `None` if nothing must.
        count: The number of entries so far, up to the number that still matters.
    """

    position: int
    formula: Formula | None
    count: int


@frozen
class Move:
    """An entry, and the state after it."""

    entry: Entry
    after: State


class _Steps:
    """The entries that can be next in a product, without a search."""

    def __init__(self, product: ObjectProduct) -> None:
        self.product = product
        self._keys = keys = product.keys
        self._in_groups = 0
        for group in product.additional:
            self._in_groups |= _violated(group)
        # What later entries may violate, and what is violated without them, before each key.
        self._later, self._without, self._required = [self._in_groups], [0], [False]
        # The keys that can still be written, and those that must be, before each key.
        self._room, self._needed = [math.inf if product.additional else 0], [0]
        self.touched = [key.violated_without | _violated(key) for key in keys]
        for key, touched in zip(reversed(keys), reversed(self.touched), strict=True):
            self._later.append(self._later[-1] | touched)
            self._without.append(self._without[-1] | key.violated_without)
            self._required.append(self._required[-1] or key.required)
            self._room.append(self._room[-1] + bool(key.cases))
            self._needed.append(self._needed[-1] + key.required)
        for suffixes in (self._later, self._without, self._required, self._room, self._needed):
            suffixes.reverse()
        self._most = math.inf if product.max_properties is None else product.max_properties
        self._counted = max(1, product.min_properties, product.max_properties or 0)

    def moves(self, state: State) -> Iterator[Move]:
        """Iterate over the entries that can be next."""
        formula, count = self._start(state), state.count
        for index in range(state.position, len(self._keys)):
            key = self._keys[index]
            for number, case in enumerate(key.cases):
                yield from self._move((index, number), formula, case.violates, count)
            if key.required:
                return
            formula = self._settle(formula, key.violated_without, index + 1, count)
            if formula is False:
                return
        yield from self._additional(formula, count)

    def last_first(self, state: State, work: Work) -> Iterator[Move]:
        """Iterate over the entries that matter in a search, the last key first.

        To leave out as many keys as possible leads to short objects, and to few conflicts.
        """
        keys, formula, first, written = self._keys, self._start(state), state.position, state.count
        missing = self.product.min_properties - written
        without = [0]
        for index in range(first, len(keys)):
            if keys[index].required or self._room[index + 1] < missing:
                break
            without.append(without[-1] | keys[index].violated_without)

        def without_next(count: int) -> Formula | bool:
            work.pay(_STEPS * _size(formula), _SEARCH)
            return self._settle(formula, without[count], first + count, written)

        most = bisect_left(range(len(without)), 1, key=lambda count: without_next(count) is False) - 1
        needs_any = missing > 0 or (not written and bool(self.product.violated_if_empty))
        for count in range(most, -1, -1):
            rest, index = without_next(count), first + count
            within = 0 if isinstance(rest, bool) else rest.within
            if index < len(keys) and (keys[index].required or needs_any or self.touched[index] & within):
                for number, case in enumerate(keys[index].cases):
                    yield from self._move((index, number), rest, case.violates, written)
        if first + most == len(keys):
            yield from self._additional(without_next(most), written)

    def _additional(self, formula: Formula | bool, count: int) -> Iterator[Move]:
        """Iterate over the undeclared keys that can be next, after the declared ones, if they violate conditions."""
        groups = self.product.additional if self._in_groups else ()
        for number, group in enumerate(groups, start=len(self._keys)):
            for case_number, case in enumerate(group.cases):
                yield from self._move((number, case_number), formula, case.violates, count)

    def is_stuck(self, state: State, work: Work) -> bool:
        """Return whether one of the next keys can neither be left out nor have a value, whatever the others are."""
        formula = self._start(state)
        for index in range(state.position, len(self._keys)):
            if isinstance(formula, bool):
                return not formula
            key = self._keys[index]
            if self.touched[index] & formula.within:
                work.pay(_STEPS * (1 + len(key.cases)) * _size(formula), _SEARCH)
                options = [case.violates for case in key.cases]
                options += [] if key.required else [key.violated_without]
                if all(_derive(formula, violated, 0) is False for violated in options):
                    return True
        return False

    def requires_after(self, position: int) -> bool:
        """Return whether there must be one of the keys from a position on."""
        return self._required[position]

    def rest(self, state: State) -> tuple[int, int | None] | None:
        """Return how many undeclared entries may follow, if no declared one does; `None` if one must.

        Undeclared entries that violate conditions are moves and not counted here.
        """
        product = self.product
        least = max(product.min_properties - state.count, 0)
        most = None if product.max_properties is None else product.max_properties - state.count
        if not product.additional or self._in_groups:
            most = 0
        if self._required[state.position] or (most is not None and most < least):
            return None
        if state.formula is None:
            return least, most
        violated = self._without[state.position]
        is_met = _is_met(state.formula, violated)
        if state.count or not product.violated_if_empty or least:
            return (least, most) if is_met else None
        if _is_met(state.formula, violated | product.violated_if_empty):
            return (0, most) if is_met else (0, 0)
        return (1, most) if is_met and most != 0 else None

    def can_end(self, state: State) -> bool:
        """Return whether the object may end without another declared entry."""
        return self.rest(state) is not None

    def _start(self, state: State) -> Formula | bool:
        if state.formula is None:
            return True
        return state.formula if state.count else self._settle(state.formula, 0, state.position, 0)

    def _move(self, entry: Entry, formula: Formula | bool, violated: int, count: int) -> Iterator[Move]:
        """Return the entry after `count` others, if it may be one."""
        position, count = min(entry[0] + 1, len(self._keys)), count + 1
        if (
            count + self._needed[position] > self._most
            or count + self._room[position] < self.product.min_properties
        ):
            return
        after = self._settle(formula, violated, position, count)
        if after is not False:
            yield Move(entry, State(position, None if after is True else after, min(count, self._counted)))

    def _settle(self, formula: Formula | bool, violated: int, position: int, count: int) -> Formula | bool:
        """Return a formula without the conditions that are violated, and without those that hold for good."""
        if isinstance(formula, bool):
            return formula
        later = self._later[position] | (0 if count else self.product.violated_if_empty)
        return _derive(formula, violated, ~(later | violated))


class _Search:
    """Searches for objects of a product; what is found is kept."""

    def __init__(self, product: ObjectProduct) -> None:
        self.steps = _Steps(product)
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
        open_ = [(state, self.steps.last_first(state, work))]
        taken: list[Move] = []
        looks_ahead = False  # a search without a dead end is faster without
        while open_:
            current, moves = open_[-1]
            work.pay(_STEPS, _SEARCH)
            if self.steps.can_end(current):
                self._next[current] = None
            elif current not in self._next:
                move = next((each for each in moves if self._is_open(each.after, current)), None)
                if move is not None and looks_ahead and self.steps.is_stuck(move.after, work):
                    self._dead.add(move.after)
                elif move is None:
                    looks_ahead = True
                    self._dead.add(current)
                    open_.pop()
                    if taken:
                        taken.pop()
                else:
                    taken.append(move)
                    open_.append((move.after, self.steps.last_first(move.after, work)))
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
    [(0, 0)]
    """

    def __init__(self, product: ObjectProduct, limits: Limits = Limits()) -> None:  # noqa: B008
        self._limits = limits
        self._steps = steps = _Steps(product)
        self._parts = [_Part(mask, steps) for mask in _independent_parts(steps)]
        self._part_of = {
            bit: number
            for number, part in enumerate(self._parts)
            for bit in range(max(part.mask, 0).bit_length())
            if part.mask >> bit & 1
        }
        searched = {index for part in self._parts for index in part.indices}
        self._alone = [
            index for index, key in enumerate(product.keys) if key.required and index not in searched
        ]
        self._forced: dict[State, list[Entry]] = {}

    @property
    def start(self) -> State:
        """The state before the first entry."""
        return State(0, self._steps.product.formula, 0)

    def rest(self, state: State) -> tuple[int, int | None] | None:
        """Return how many undeclared entries may follow, if no declared one does; `None` if one must.

        Undeclared entries that violate conditions are moves and not counted here.
        """
        return self._steps.rest(state)

    def is_alive(self, state: State) -> bool:
        """Return whether an object can follow.

        Raises:
            LimitExceeded: The search takes too much work.
        """
        return self._is_alive(state, Work(self._limits.work))

    def alive_moves(self, state: State) -> list[Move]:
        """Return the entries after which an object is found: all, unless the search takes too much work.

        If the state is alive and the object cannot end, there is one at least. So a text that is begun can be
        finished, and only in parts as hard as puzzles are some of its continuations not found.
        """
        work = Work(self._limits.work)
        found: list[Move] = []
        path = self.path(state)
        for move in self._steps.moves(state):
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
        return max(self._steps.product.min_properties - written, 0) if rest is None else rest[0]

    def _is_alive(self, state: State, work: Work) -> bool:
        return state in self._forced or all(
            part.search.is_alive(inner, work) for part, inner in self._split(state)
        )

    def _split(self, state: State) -> Iterator[tuple[_Part, State]]:
        """Iterate over the parts of which something must follow, and their states."""
        formulas: list[list[Formula]] = [[] for _ in self._parts]
        for formula in () if state.formula is None or not self._part_of else _conjuncts(state.formula):
            lowest = (formula.within & -formula.within).bit_length() - 1
            formulas[self._part_of[lowest]].append(formula)
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

    def __init__(self, mask: int, steps: _Steps) -> None:
        self.mask = mask
        self.indices = [index for index, touched in enumerate(steps.touched) if mask == -1 or touched & mask]
        product = steps.product
        keys = tuple(product.keys[index] for index in self.indices)
        self.search = _Search(product if mask == -1 else replace(product, keys=keys, additional=()))

    def within(self, state: State, formulas: Sequence[Formula]) -> State | None:
        """Return the state of this part in a state with these formulas of its own; `None` if nothing must follow."""
        if self.mask == -1:
            return state
        position = bisect_left(self.indices, state.position)
        if not formulas and not self.search.steps.requires_after(position):
            return None
        formula = formulas[0] if len(formulas) == 1 else None
        if len(formulas) > 1:
            formula = count_formula(0, tuple(formulas), len(formulas), len(formulas))
        return State(position, formula, 1)

    def path(self, state: State) -> list[Entry]:
        """Return entries of this part after which it can end."""
        found = self.search.path(state)
        return found if self.mask == -1 else [(self.indices[index], case) for index, case in found]


def _independent_parts(steps: _Steps) -> list[int]:
    """Return the conditions of the parts of a product that share no key, as masks; -1 is the whole product."""
    product = steps.product
    counts = product.min_properties or product.max_properties is not None or product.violated_if_empty
    if counts or any(map(_violated, product.additional)):
        return [-1]
    masks: list[int] = []
    for mask in (*(part.within for part in _conjuncts(product.formula)), *steps.touched):
        joined = [each for each in masks if each & mask]
        for each in joined:
            mask |= each
            masks.remove(each)
        masks.append(mask)
    return [mask for mask in masks if mask]


def _conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """Return the parts of a formula of which all must hold."""
    count = formula.conditions.bit_count() + len(formula.parts)
    return formula.parts if formula.min_count == count and not formula.conditions else (formula,)


def _violated(part: ProductKey | ProductGroup) -> int:
    found = 0
    for case in part.cases:
        found |= case.violates
    return found


def count_formula(conditions: int, parts: tuple[Formula, ...], min_count: int, max_count: int) -> Formula:
    """Return the formula of so many of some conditions and parts."""
    within = conditions
    for part in parts:
        within |= part.within
    return Formula(conditions, parts, min_count, max_count, within)


def _size(formula: Formula | bool) -> int:
    return 1 if isinstance(formula, bool) else 1 + len(formula.parts)


def _derive(formula: Formula, violated: int, holding: int) -> Formula | bool:
    """Return what is left of a formula when some conditions are violated and others hold."""
    known = violated | holding
    if formula.within and not formula.within & known:
        return formula
    conditions = formula.conditions & ~known
    met = (formula.conditions & holding).bit_count()
    parts: list[Formula] = []
    for part in formula.parts:
        if not part.within & known and part.within:  # the most frequent case, without a call
            parts.append(part)
            continue
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


def _is_met(formula: Formula, violated: int) -> bool:
    """Return whether enough conditions hold, and not too many, if all that are not violated hold."""
    met = (formula.conditions & ~violated).bit_count()
    missing = formula.min_count - met - len(formula.parts)
    for part in formula.parts:
        if missing > 0:
            return False
        if _is_met(part, violated):
            met += 1
        else:
            missing += 1
    return formula.min_count <= met <= formula.max_count


def possible_product(node: ObjectProduct, limits: Limits = Limits()) -> Schema:  # noqa: B008
    """Return the product without impossible cases, or `Never` if no object meets its formula.

    Raises:
        LimitExceeded: The search for an object takes too much work.
    """
    keys = [_possible(key) for key in node.keys]
    for key in keys:
        if key.required and not key.cases:
            return Never("no alternative allows a value of a required key", (path_step(key.name),))
    additional = [group for group in map(_possible, node.additional) if group.cases]
    node = replace(node, keys=tuple(keys), additional=tuple(additional))
    states = ProductStates(node, limits)
    return node if states.is_alive(states.start) else Never("the alternatives exclude each other")


def _possible(part: P) -> P:
    return replace(part, cases=tuple(case for case in part.cases if not isinstance(case.value, Never)))


_SEARCH = "the search for an object that meets all conditions"
