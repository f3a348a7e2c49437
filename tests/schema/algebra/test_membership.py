"""What is known of a part decides what is known of the whole; `None` is not known."""

from __future__ import annotations

from itertools import product

from structkit.schema.algebra.membership import _all, _any


def test_logic_of_three_values() -> None:
    for length in range(4):
        for answers in product((True, False, None), repeat=length):
            known = None if None in answers else False
            assert _any(answers) is (True if True in answers else known)
            known = None if None in answers else True
            assert _all(answers) is (False if False in answers else known)
