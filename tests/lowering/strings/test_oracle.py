"""Membership of texts in the strings of patterns, compared with `re`."""

from __future__ import annotations

import random
import re

import pytest

import structkit as sk
from structkit.errors import UnsatisfiableSchema
from structkit.limits import Limits
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.ir.nodes import Format, String
from tests.shared import cases

PATTERNS = [
    "^a{300}$",
    "^(ab|b){2,400}$",
    "^a{0,350}b",
    "(.{0,300}e){3}",
    "^(.{2,300}e){2}$",
    "^(a{280,300}b){2}$",
    "a.*b",
    "^[^a]*$",
]
"""Patterns whose automata count, call others, or do neither."""


@pytest.mark.long(every=4)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_texts_equal_those_of_re(pattern: str) -> None:
    oracle = AutomatonOracle(python=False, limits=Limits(work=10**9))
    chance = random.Random(pattern)
    texts = [
        "".join(chance.choices(letters, k=chance.randrange(12) + chance.choice([0, 0, 280, 295])))
        for letters in ("a", "ab", "abe", "xe")
        for _ in range(cases(40, of=400))
    ]
    texts += ["a" * count for count in range(296, 303)]
    texts += ["a" * count + "b" + "a" * 290 + "b" for count in range(278, 302)]
    expected = [bool(re.search(pattern, text)) for text in texts]
    assert {*expected} == {True, False}
    assert oracle.contains_each(String(patterns=(pattern,)), texts) == expected
    for text, accepts in zip(texts[:20], expected, strict=False):
        assert oracle.contains_each(String(patterns=(pattern,)), [text]) == [accepts]
        assert oracle.contains_each(String(forbidden=(pattern,)), [text]) == [not accepts]


def test_lengths_formats_and_forbidden_texts() -> None:
    oracle = AutomatonOracle(python=False)
    texts = ["a", "ab", "abc", "abc\n", "2020-02-30", "2020-02-29", "x.y"]
    node = String(min_length=2, max_length=4, patterns=("^a",), forbidden=("^ab$", "c\n$"))
    assert oracle.contains_each(node, texts) == [False, False, True, False, False, False, False]
    dates = oracle.contains_each(String(format=Format("date")), texts)
    assert dates == [False, False, False, False, False, True, False]
    others = oracle.contains_each(String(forbidden_formats=(Format("date"),)), texts)
    assert others == [True, True, True, True, True, False, True]
    # Not all texts of the format are known: those that are not generated are undecided.
    assert None in oracle.contains_each(
        String(format=Format("hostname")), ["a", "bücher.example", "x..y", "1"]
    )


def test_texts_that_are_not_of_the_pattern_are_no_values() -> None:
    schema = {"enum": ["aaa", "b" * 300, "ab" * 150, "b" * 301], "pattern": "^[ab]{300}$"}
    texts = sk.to_regex(schema).split("|")
    assert texts == [f'"{"b" * 300}"', f'"{"ab" * 150}"']
    assert sk.to_regex({"enum": ["xexexe", "xe"], "pattern": "(.{0,300}e){3}"}) == '"xexexe"'
    with pytest.raises(UnsatisfiableSchema):
        sk.compile({"enum": ["aaa"], "pattern": "^a{300}$"}, sk.testing.byte_vocabulary(), cache=False)


@pytest.mark.long
def test_many_texts_are_compared_with_many_patterns() -> None:
    texts = [f"word{number * 7919 % 100_000}x{number}" for number in range(5_000)]
    patterns = [{"pattern": f"{chr(97 + number)}.*{number}"} for number in range(20)]
    regex = re.compile(sk.to_regex({"enum": texts, "anyOf": patterns}))
    for text in texts:
        expected = any(re.search(each["pattern"], text) for each in patterns)
        assert bool(regex.fullmatch(f'"{text}"')) is expected


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
    assert AutomatonOracle(python=False, limits=Limits(work=0)).contains_each(node, [text]) == [expected]


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (String(patterns=("^a$",)), "a\n"),
        (String(patterns=("^\ud800$",)), "\ud800"),
        (String(patterns=("^a$", "b")), "a"),
    ],
)
def test_texts_that_no_json_has_or_that_end_in_a_line_are_left_to_automata(node: String, text: str) -> None:
    assert AutomatonOracle(python=False).contains_each(node, [text]) == [False]


def test_a_pattern_alone_needs_no_automaton_to_have_a_text() -> None:
    oracle = AutomatonOracle(python=False, limits=Limits(work=10))
    assert oracle.is_empty(String(patterns=("^(a|b|ab){1,200}(c?d?e?){50}$",))) is False
    assert AutomatonOracle(python=False).is_empty(String(patterns=("^[^\\s\\S]$",))) is True


def test_strings_without_constraints_have_every_text() -> None:
    oracle = AutomatonOracle(python=True)
    assert (
        oracle.contains_each(String(), []) == []
        and [*oracle.contains_each(String(), ["a", "", "é"])] == [True] * 3
    )
    quote = String(format=Format("python:quote", (("words", True),)))
    assert [*oracle.contains_each(quote, ["a", "b"])] == [None, None]
