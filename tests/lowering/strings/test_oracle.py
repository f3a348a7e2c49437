"""The oracle about strings."""

from __future__ import annotations

import pytest

from structkit.limits import Limits
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.ir.nodes import String


@pytest.mark.parametrize(
    ("node", "text", "expected"),
    [
        (String(patterns=("^a$",)), "a", True),
        (String(patterns=("^a$",)), "ab", False),
        (String(patterns=("^a$", r"^\.$")), "a", False),
        (String(patterns=("^a$",), forbidden=("^a$",)), "a", False),
        (String(patterns=("^a$",), forbidden=("^b$",)), "a", True),
    ],
)
def test_patterns_of_one_text_need_no_automaton(node: String, text: str, expected: bool) -> None:
    assert AutomatonOracle(python=False, limits=Limits(work=0)).contains(node, text) is expected


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (String(patterns=("^a$",)), "a\n"),
        (String(patterns=("^\ud800$",)), "\ud800"),
        (String(patterns=("^a$", "b")), "a"),
    ],
)
def test_texts_that_no_json_has_or_that_end_in_a_line_are_left_to_automata(node: String, text: str) -> None:
    assert AutomatonOracle(python=False).contains(node, text) is False
