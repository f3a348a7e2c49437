"""Bounded URLs are no longer than their bound."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pytest
from pydantic import AnyUrl, UrlConstraints

import structkit as sk
from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.automaton.core.dfa import Dfa
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.lowering.strings import network
from structkit.testing import byte_vocabulary
from tests.reading import reads


def _longest(dfa: Dfa) -> int | None:
    """Return the length of a longest text in bytes; `None` if there is none."""
    reached = np.zeros(len(dfa.final), bool)
    reached[0] = True
    found = 0
    for length in range(len(dfa.final) + 1):
        if (reached & dfa.final).any():
            found = length
        if not reached.any():
            return found
        following = np.unique(dfa.targets.reshape(len(dfa.final), -1)[reached] >> OPERATION_BITS)
        reached = np.zeros(len(dfa.final), bool)
        reached[following[following >= 0]] = True
    return None


def test_the_parts_of_a_long_url_have_together_at_most_its_length() -> None:
    max_length = network._MIN_LENGTH_FOR_ALL_PARTS
    longest = _longest(regular_dfa(network.url(("https",), max_length=max_length)))
    assert longest is not None
    assert 0 < longest <= max_length


@pytest.mark.parametrize("max_length", [30, 640, 699, 700])
def test_a_url_is_accepted_up_to_its_length(max_length: int) -> None:
    target = Annotated[AnyUrl, UrlConstraints(max_length=max_length, allowed_schemes=["https"])]
    guide = sk.compile(target, byte_vocabulary(), cache=False)
    for length in (max_length - 1, max_length, max_length + 1, max_length + 60):
        labels = "/".join(["a" * 9] * 99)
        text = f"https://a.bc/{labels}"[:length].rstrip("/").ljust(length, "b")
        accepted = reads(guide.cursor(), f'"{text}"'.encode())
        assert accepted <= (length <= max_length), (length, text)
        if max_length < network._MIN_LENGTH_FOR_ALL_PARTS:
            assert accepted == (length <= max_length), (length, text)
