"""Back-references to groups with few texts; the oracle is Python's `re`."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded, PatternError, UnsatisfiableSchema
from structkit.regex.nodes import Node, Rules
from structkit.regex.pattern.back_references import first_reference, without_references
from structkit.regex.pattern.parse import parse
from structkit.regex.pattern.program import read_pattern
from structkit.regex.pattern.threads import build_terminal

TEXTS = ["".join(letters) for length in range(6) for letters in product("abB", repeat=length)]

atoms = st.sampled_from(
    ["a", "b", "ab", "[ab]", "B", "(?:a|ab)", "b?", "a??", "(?:ab){1,2}", "", r"\1", r"\2", "."]
)
sequences = st.lists(atoms, max_size=3).map("".join)
options = st.lists(sequences, min_size=1, max_size=2).map("|".join)
groups = st.recursive(
    options.map("({})".format) | sequences,
    lambda parts: st.one_of(
        st.lists(parts, min_size=2, max_size=3).map("".join),
        st.tuples(
            parts, st.sampled_from(["({})", "(?:{})*", "(?:{})?", "(?:{}|a)", "(?={})", "(?!{})", "(?i:{})"])
        ).map(lambda found: found[1].format(found[0])),
    ),
    max_leaves=5,
)
patterns = st.tuples(groups, st.sampled_from([r"\1", r"b\1", r"(?:\1b)*", r"\2\1", r"(\1)", ""])).map("".join)


def language(node: Node) -> set[str]:
    try:
        reader = Reader(link(Rules(node, {})))
    except UnsatisfiableSchema:
        return set()
    return {text for text in TEXTS if reader.accepts(text.encode())}


@pytest.mark.filterwarnings("ignore")
@given(st.sampled_from(["", "(?i)", "(?s)"]), patterns)
def test_patterns_match_as_in_re(flags: str, pattern: str) -> None:
    pattern = flags + pattern
    try:
        oracle = re.compile(pattern)
    except re.error:
        with pytest.raises(PatternError):
            parse(pattern, search=False, unicode=True)
        assert without_references(pattern, "python") == pattern
        return
    plain = without_references(pattern, "python")
    for text in TEXTS:
        whole, found = re.fullmatch(plain, text), re.match(plain, text)
        assert bool(whole) == bool(oracle.fullmatch(text)), (pattern, text)
        expected = oracle.match(text)
        assert (found and found.end()) == (expected and expected.end()), (pattern, text)
    try:
        node = parse(pattern, search=False, unicode=True)
    except (PatternError, LimitExceeded):
        return
    assert language(node) == {text for text in TEXTS if oracle.fullmatch(text)}, pattern


QUOTED = r"""(?P<q>['"])(?:(?!(?P=q)).)*(?P=q)"""


@pytest.mark.parametrize(
    ("pattern", "valid", "invalid"),
    [
        (r"(['\"])[a-z]*\1", ["'a'", '""'], ["'a\"", "'a"]),
        (QUOTED, ["'\"'", '"a"', "''"], ["'''", "'\""]),
        (r"<(?P<tag>b|em)>[a-z]*</(?P=tag)>", ["<b>x</b>", "<em></em>"], ["<b>x</em>", "<b></b"]),
        (r"<(?:(b|i)>(?:<(b|i)>x</\2>)*</\1>)", ["<b><i>x</i></b>", "<i></i>"], ["<b><i>x</b></i>"]),
        (r"(a|ab)(c|bcd)\2\1", ["acca", "abcdbcda", "abccab"], ["accab", "abcca"]),
        (r"(?i)(div|k)\1", ["divDIV", "kK", "k\u212a", "d\u0131vd\u0131v"], ["divdk", "divd\u0131v"]),
        (r"(?ai)(s)\1", ["sS"], ["s\u017f"]),
        (r"(?i:(s)-\1)", ["s-S", "\u017f-\u017f"], ["s-\u017f"]),
        (r"([+-]?)[0-9]\1", ["1", "+1+"], ["+1", "1+"]),
        (r"(\d{2}-)?([ab])\2", ["aa", "12-bb"], ["ab"]),
        ("('''|\"\"\")x*\\1", ["'''xx'''", '""""""'], ["'''x\"\"\""]),
    ],
)
def test_groups_with_few_texts(pattern: str, valid: list[str], invalid: list[str]) -> None:
    reader = Reader(link(Rules(parse(pattern, search=False, unicode=True), {})))
    for text in valid + invalid:
        assert reader.accepts(text.encode()) == bool(re.fullmatch(pattern, text)) == (text in valid), text


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)\1",
        r"(\w)\1",
        r"([a-z]{2})\1",
        r"([a-h])([a-i])\2\1",
        r"(a|b)?\1",
        r"(?:(a|b)c)*\1",
        r"(?:(a)|b)\1",
        r"(?=(a|b)).\1",
        r"(?x)(a|b) \1",
        r"(?i)(é)\1",
        r"(?i:(a))\1",
        r"(?:\1x|(a|b))*",
        r"((((((a{60}){60}){60}){60}){60}){60})\1",
        r"(" + "|".join(f"a{n}" for n in range(1_000)) + r")\1",
    ],
)
def test_other_references_are_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="at most 64 texts") as caught:
        parse(pattern, search=False, unicode=True)
    assert caught.value.column == pattern.index("\\1") or "\\2" in pattern


def test_many_references_are_answered_or_refused() -> None:
    for count in (20, 80, 300):
        pattern = "".join(f"(?P<n{n}>a)(?P=n{n})" for n in range(count))
        plain = without_references(pattern, "python")
        assert plain == pattern or re.fullmatch(plain, "aa" * count)
    nested = "".join(f"(?P<n{n}>a|b)" for n in range(20)) + "".join(f"(?P=n{n})" for n in range(20))
    assert without_references(nested, "python") == nested  # 2 ** 20 texts


def test_no_engine_of_rust_has_them() -> None:
    for engine in (None, "rust"):
        with pytest.raises(PatternError, match="back-reference"):
            parse(r"(a|b)\1", search=True, unicode=True, rust=True, engine=engine)
    assert parse(r"(a|b)\1", search=True, unicode=True, rust=True, engine="python")


def test_the_error_of_the_rest_quotes_the_pattern() -> None:
    with pytest.raises(PatternError, match="cannot follow another") as caught:
        parse(r"(a|b)\1b**", search=False, unicode=False)
    assert (caught.value.pattern, caught.value.column) == (r"(a|b)\1b**", 5)


@pytest.mark.parametrize("pattern", [r"(a|ab)(?:c|bcd)\1", r"(ab?|b)a??\1*", r"([ab])[ab]*?\1", QUOTED])
def test_terminals_end_where_re_ends(pattern: str) -> None:
    accepts = language(build_terminal(read_pattern(pattern)).node)
    assert accepts == {t for t in TEXTS if (found := re.match(pattern, t)) and found.end() == len(t)}


def test_in_schemas() -> None:
    schema = {"type": "string", "pattern": "^(['\"])[a-z]*\\1$"}
    assert sk.to_regex(schema) == sk.to_regex({"type": "string", "pattern": "^('[a-z]*'|\"[a-z]*\")$"})


PIECES = [
    r"\1",
    r"\k<n>",
    "(?P=n)",
    r"[\1]",
    r"[^\]\1]",
    r"[]\1]",
    r"\\",
    r"\[",
    "a",
    "(",
    ")",
    r"\01",
    r"\123",
    "|",
]


@given(st.lists(st.sampled_from(PIECES), max_size=4))
def test_the_column_of_the_first_reference(pieces: list[str]) -> None:
    columns = [len("".join(pieces[:number])) for number, each in enumerate(pieces) if each in PIECES[:3]]
    assert first_reference("".join(pieces)) == min(columns, default=-1)
