"""Numbers with all kinds of bounds, compared with decimal arithmetic on all short texts."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import product
from random import Random

import pytest

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.limits import Limits
from structkit.lowering.numbers.floats import DISTINCT_DIGITS, ROUND_TRIP_DIGITS, floats
from structkit.lowering.numbers.numbers import integral_numbers, numbers
from structkit.schema.ir.nodes import Bound, Integer, Number
from tests.shared import cases

TEXTS = [
    f"{sign}{integer}{fraction}"
    for sign, integer in product(["", "-"], ["0", "1", "2", "7", "10", "12", "99", "120"])
    for fraction in (
        "",
        *(f".{''.join(digits)}" for size in (1, 2, 3) for digits in product("01259", repeat=size)),
    )
]
ENDS = [
    Decimal(text)
    for text in ("-12", "-2.25", "-1", "-0.5", "0", "0.02", "0.5", "1", "1.05", "1.5", "2", "10.9", "99")
]


def _bound(random: Random) -> Bound | None:
    return random.choice([None, Bound(random.choice(ENDS), random.random() < 0.5)])


def _is_within(value: Decimal, low: Bound | None, high: Bound | None) -> bool:
    above = low is None or value > low.value or (value == low.value and not low.exclusive)
    return above and (high is None or value < high.value or (value == high.value and not high.exclusive))


@pytest.mark.long(every=4)
@pytest.mark.parametrize("seed", range(cases(25, of=250)))
@pytest.mark.parametrize("step", [None, "0.1", "0.25", "0.5", "1", "1.5", "2", "3"])
def test_a_number_has_exactly_the_texts_of_its_range(seed: int, step: str | None) -> None:
    random = Random(seed)
    low, high = _bound(random), _bound(random)
    of = None if step is None else Decimal(step)
    places = 3 if of is None or of == int(of) else -int(of.as_tuple().exponent)
    node = numbers(Number(minimum=low, maximum=high, multiple_of=of), bounded=random.random() < 0.5)
    accepted = regular_dfa(node).accepts_each([text.encode() for text in TEXTS])
    for text, is_accepted in zip(TEXTS, accepted, strict=True):
        value = Decimal(text)
        # A multiple of a fraction has no more decimal places than it; -0 is allowed only where negative numbers are.
        if len(text.partition(".")[2]) > places:
            assert not is_accepted, (low, high, step, text)
        elif value or not text.startswith("-"):
            expected = _is_within(value, low, high) and (of is None or value % of == 0)
            assert is_accepted == expected, (low, high, step, text)


@pytest.mark.parametrize("seed", range(cases(25, of=250)))
def test_an_integer_has_exactly_the_texts_of_its_range(seed: int) -> None:
    random = Random(seed)
    minimum, maximum = (random.choice([None, -120, -99, -10, -2, -1, 0, 1, 7, 10, 99, 120]) for _ in "lh")
    of = random.choice([None, None, 2, 3, 7, 10])
    schema = Integer(minimum=minimum, maximum=maximum, multiple_of=of)
    for canonical in (True, False):
        node = integral_numbers(schema, bounded=canonical, canonical=canonical, limits=Limits(), path="$")
        dfa = regular_dfa(node)
        for text in TEXTS:
            value = Decimal(text)
            is_written = text.rpartition(".")[2] == "0" if "." in text and not canonical else "." not in text
            above = minimum is None or value >= minimum
            expected = (
                is_written and above and (maximum is None or value <= maximum) and not (of and value % of)
            )
            if value or not text.startswith("-"):
                assert dfa.accepts(text.encode()) == expected, (schema, canonical, text)


@pytest.mark.parametrize("precision", [DISTINCT_DIGITS, ROUND_TRIP_DIGITS])
def test_floats_have_the_digits_of_their_precision(precision: int) -> None:
    dfa = regular_dfa(floats(precision))
    random = Random(precision)
    for size, power in product(range(1, 19), range(-10, 21)):
        digits = str(random.randrange(1, 10)) + "".join(random.choices("0123456789", k=size - 1))
        digits = digits[:-1] + random.choice("123456789")
        # The form of `repr`: fixed point from 1e-4 to 1e16, an exponent elsewhere.
        value = Decimal(f"{digits[0]}.{digits[1:]}e{power}")
        if -4 <= power < 16:
            text = f"{value:f}" if "." in f"{value:f}" else f"{value:f}.0"
        else:
            text = f"{digits[0]}{'.' * (size > 1)}{digits[1:]}e{power:+03}"

        assert dfa.accepts(text.encode()) == (size <= precision), text
        assert dfa.accepts(f"-{text}".encode()) == (size <= precision), text
        assert json.loads(text) == float(value)
