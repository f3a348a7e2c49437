"""The states of an object product: what is left of its formula after some entries.

A state is made when a text, or the search for one, reaches it: 12 conditions have 4,096 states, of which one text
visits 12. Each entry simplifies the formula, as a derivative (Brzozowski 1964) does a regular expression: a condition
that is violated never holds again, and one that no later entry can violate holds.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from typing import TypeAlias

from structkit.frozen import CachedHash, cached_hash, frozen
from structkit.limits import Work
from structkit.schema.ir.nodes import Formula, ObjectProduct, ProductGroup, ProductKey

__all__ = [
    "PART_WORK",
    "SEARCH",
    "Entry",
    "Move",
    "State",
    "Transitions",
    "count_formula",
    "may_be_met",
    "violated_by",
]

PART_WORK = 10
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


class Transitions:
    """The entries that can be next in a product, without a search."""

    def __init__(self, product: ObjectProduct) -> None:
        self.product = product
        self._keys = keys = product.keys
        self._in_groups = 0
        for group in product.additional:
            self._in_groups |= violated_by(group)
        # What later entries may violate, and what is violated without them, before each key.
        self._later, self._without, self._required = [self._in_groups], [0], [False]
        # The keys that can still be written, and those that must be, before each key.
        self._room, self._needed = [math.inf if product.additional else 0], [0]
        self.touched = [key.violated_without | violated_by(key) for key in keys]
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
            work.pay(PART_WORK * _size(formula), SEARCH)
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
                work.pay(PART_WORK * (1 + len(key.cases)) * _size(formula), SEARCH)
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


def violated_by(part: ProductKey | ProductGroup) -> int:
    """Return the conditions that some value of a key violates."""
    found = 0
    for case in part.cases:
        found |= case.violates
    return found


def count_formula(conditions: int, parts: tuple[Formula, ...], min_count: int, max_count: int) -> Formula:
    """Return the formula of the given number of some conditions and parts."""
    within = conditions
    for part in parts:
        within |= part.within
    return Formula(conditions, parts, min_count, max_count, within)


def may_be_met(formula: Formula, violated: int) -> bool:
    """Return whether a formula may still be met when some conditions are violated.

    >>> may_be_met(count_formula(0b11, (), 1, 2), 0b01), may_be_met(count_formula(0b11, (), 1, 2), 0b11)
    (True, False)
    """
    return _derive(formula, violated, 0) is not False


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


SEARCH = "the search for an object that meets all conditions"
"""The name of the search in errors."""
