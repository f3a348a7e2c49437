"""Automata of multiples, compared with arithmetic on all short texts."""

from __future__ import annotations

from itertools import product

import pytest

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.regex.nodes import MultipleOf


@pytest.mark.parametrize("places", [0, 1, 2, 3])
@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 12, 25])
def test_texts_are_the_multiples_of_the_step(step: int, places: int) -> None:
    dfa = regular_dfa(MultipleOf(step, places))
    integers = ["0", "5", "10", "12", "36", "101", "00", "01", "", ":", "1:", "/"]
    fractions = [
        "",
        ".",
        *(f".{''.join(digits)}" for size in range(1, 5) for digits in product("0257", repeat=size)),
    ]
    for integer, fraction in product(integers, fractions):
        digits = fraction[1:]
        is_written = (
            integer not in ("00", "01", "", ":", "1:", "/") and fraction != "." and len(digits) <= places
        )
        expected = is_written and int(integer + digits.ljust(places, "0")) % step == 0
        assert dfa.accepts((integer + fraction).encode()) == expected, integer + fraction
