"""Numbers of more digits than Python writes as text."""

from __future__ import annotations

import pytest

import structkit as sk
from structkit.testing import byte_vocabulary

STEPS = [{"multipleOf": 10**900 + 2 * n + 1} for n in range(6)]
"""The multiples of all of them are those of a number of 5,400 digits."""


@pytest.mark.parametrize(
    ("kind", "said"), [("integer", r"the multiples of 333\.\.\. \(5400 digits\)"), ("number", "multipleOf")]
)
def test_multiples_of_a_number_that_python_does_not_write_are_refused_with_a_place(
    kind: str, said: str
) -> None:
    with pytest.raises(sk.StructkitError, match=said) as caught:
        sk.compile({"type": kind, "allOf": STEPS}, byte_vocabulary())
    assert caught.value.place == "$"
    assert len(str(caught.value)) < 200


def test_its_only_multiple_in_a_range_is_found() -> None:
    assert sk.to_regex({"type": "integer", "allOf": STEPS, "minimum": 0, "maximum": 5}) == r"0|0\.0"
