"""The places of rules in a text that is read in pieces."""

from __future__ import annotations

from typing import Any

import pytest

from structkit.grammar.read import GrammarSource
from structkit.grammar.syntax.lark_grammar import LarkOptions
from structkit.limits import Limits
from structkit.regex.nodes import EMPTY, Rules
from structkit.targets.rule_reader import RuleReader

PAIRS = 'start: pair+\npair: KEY "=" value ";"\nvalue: /[0-9]+/\nKEY: /[a-zé]+/'
EITHER = 'start: x | y\nx: "a" "b"\ny: "a" "b"'


def _reader(grammar: str, rules: list[str], **limits: int) -> RuleReader:
    source = GrammarSource(grammar, options=LarkOptions(), limits=Limits(**limits))
    return RuleReader(source, rules, Rules(EMPTY, {}), lambda tree, text: None)


def _places(found: Any) -> list[tuple[str, int]]:
    return [(each.rule, each.at) for each in found]


WHOLE = [
    ("pair", 0),
    ("value", 3),
    ("value", 5),
    ("pair", 6),
    ("pair", 6),
    ("value", 8),
    ("value", 9),
    ("pair", 10),
]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_places_are_known_as_soon_as_they_are_certain(size: int) -> None:
    reader, text = _reader(PAIRS, ["pair", "value"]), "é=12;a=3;".encode()
    known: list[tuple[str, int]] = []
    for start in range(0, len(text), size):
        reader.read(text[start : start + size])
        found, unknown = reader.boundaries()
        read = min(start + size, len(text))
        assert _places(found)[: len(known)] == known and unknown <= read
        known = _places(found)
        assert known == [place for place in WHOLE if place[1] <= unknown][: len(known)]
        assert all(place in known for place in WHOLE if place[1] < unknown)
    found, end = reader.boundaries(is_whole=True)
    assert (_places(found), end) == (WHOLE, len(text))
    trees = [each.tree for each in found if each.tree is not None]
    assert [str(tree.data) for tree in trees] == ["value", "pair", "value", "pair"]
    assert trees[0].children == ["12"] and trees[1].children[0] == "é"
    reader.clear()
    assert reader.boundaries() == _reader(PAIRS, ["pair", "value"]).boundaries()


def test_a_text_that_two_rules_can_have_is_decided_at_its_end() -> None:
    reader = _reader(EITHER, ["x", "y"])
    reader.read(b"a")
    assert reader.boundaries() == ([], 0)
    reader.read(b"b")
    assert reader.boundaries() == ([], 0)
    found, end = reader.boundaries(is_whole=True)
    assert [place[1] for place in _places(found)] == [0, 2] and end == 2
    assert len({place[0] for place in _places(found)}) == 1
