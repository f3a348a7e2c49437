"""Automata of ordered threads against `re.match`."""

from __future__ import annotations

import re
import sys
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structkit.errors import LimitExceeded, PatternError
from structkit.regex.charset import ANY, contains, partition
from structkit.regex.pattern.instructions import Look
from structkit.regex.pattern.match_network import match_network
from structkit.regex.pattern.parse import parse
from structkit.regex.pattern.program import prefers_longer, read_pattern
from structkit.regex.pattern.threads import TerminalAutomaton, Threads, build_terminal
from tests.regex.oracle import holds


def accepts(automaton: TerminalAutomaton, text: str) -> bool:
    state = 0
    for character in text:
        following = [
            target
            for source, charset, target in automaton.moves
            if source == state and contains(charset, ord(character))
        ]
        if not following:
            return False
        (state,) = following
    return state in automaton.accepting


def matches(pattern: str, text: str) -> bool:
    found = re.match(pattern, text)
    return found is not None and found.end() == len(text)


ATOMS = st.sampled_from(["a", "b", "ab", "(?:)", "[ab]", "[^a]", ".", r"\w", r"\s", " "])
EDGES = st.sampled_from(
    [
        r"\b",
        "^",
        "$",
        r"\Z",
        "(?<=a)",
        "(?<!b)",
        "(?<!ab)",
        "(?=b|$)",
        "(?!a|b)",
        "(?=ab)",
        r"(?!ab?\b)",
        r"(?=a\b|b)",
        r"(?!a+\Z)",
        r"(?=b\B)",
        "(?=a(?!b))",
        "(?!.(?=b(?!a)|$))",
        r"(?=\b.|(?<!a)b)",
        r"(?!\b(?:ab?)\b|(?<=b)a)",
        r"(?!(?:a|ab|a a)\b)",
    ]
)
QUANTIFIERS = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{1,2}", "{0,2}?", "{2}", "{2,}"])
PATTERNS = st.recursive(
    ATOMS | EDGES,
    lambda parts: st.one_of(
        st.lists(parts, min_size=2, max_size=3).map("".join),
        st.lists(parts, min_size=2, max_size=3).map(lambda p: f"(?:{'|'.join(p)})"),
        st.tuples(parts, QUANTIFIERS).map(lambda p: f"(?:{p[0]}){p[1]}"),
    ),
    max_leaves=8,
)


@given(PATTERNS, st.lists(st.text("ab \n", max_size=6), min_size=5, max_size=20))
def test_the_automaton_accepts_what_re_matches_as_a_whole(pattern: str, texts: list[str]) -> None:
    automaton = build_terminal(read_pattern(pattern))
    for text in filter(None, texts):
        assert accepts(automaton, text) == matches(pattern, text), (pattern, text)


_QUANTIFIED = [f"{many}{kind}" for many in ("*", "+", "?", "{2}", "{,2}", "{1,}") for kind in ("", "?", "+")]
ATOMIC_PARTS = st.recursive(
    st.sampled_from(["a", "b", "ab", "ba", "[ab]", "[^a]", "(?=a)", "(?!b)a"]),
    lambda parts: st.one_of(
        st.lists(parts, min_size=2, max_size=3).map("".join),
        st.lists(parts, min_size=2, max_size=3).map(lambda p: f"(?:{'|'.join(p)})"),
        st.lists(parts, min_size=1, max_size=3).map(lambda p: f"(?>{'|'.join(p)})"),
        st.tuples(parts, st.sampled_from(_QUANTIFIED)).map(lambda p: f"(?:{p[0]}){p[1]}"),
    ),
    max_leaves=7,
)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="`re` has atomic groups since Python 3.11")
@given(ATOMIC_PARTS, st.lists(st.text("ab ", max_size=6), min_size=5, max_size=20))
@example("(?:aa|a){2}+", ["aa", "aaa"])
@example("(?>(?:aa|a){2})", ["aa", "aaa"])
@example("(?>a|ab)(?>a+?)", ["aba", "aa", "aaa"])
@example("(?>(?>a|ab)c|a)b", ["ab", "abb"])
@example("(?i:(?>[^A]|.)*+)b", ["Bab", "aB"])
def test_atomic_parts(pattern: str, texts: list[str]) -> None:
    refusal = None
    try:
        program, node = read_pattern(pattern), parse(pattern, search=False, unicode=True)
    except PatternError as error:
        refusal = error.message
    if refusal is not None:  # a loop whose part may be empty
        assert "atomic" in refusal or "possessive" in refusal
        return
    automaton = build_terminal(program)
    for text in filter(None, texts):
        assert accepts(automaton, text) == matches(pattern, text), (pattern, text)
        assert holds(node, text) == bool(re.fullmatch(pattern, text)), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a|ab", "ab", False),
        ("ab|a", "ab", True),
        ("a+?", "aa", False),
        (r'".*?(?<!\\)(\\\\)*?"', '"a", "b"', False),
        (r'".*?(?<!\\)(\\\\)*?"', r'"a\"b"', True),
        (r"(b??)+", "b", False),
        ("(?:(?:a|(?:)|b)(?:c|d)?)*", "ab", False),
        ("(?:(?:a|(?:)|b)(?<!c))*", "aab", False),
        ("(?:(?:(?!b))(?:(?=a|$)|a)|ba){0,2}b", "abab", True),
        ("(?i:k)", "\N{KELVIN SIGN}", True),
        ("(?i:[r-t])", "\N{LATIN SMALL LETTER LONG S}", True),
        ("(?a:\\w)", "é", False),
        (r"\w", "é", True),
        (".", "\r", True),
        (".", "\n", False),
        ("(?s:.)", "\n", True),
        ("(?m:^a$)", "a", True),
        (r"a$", "a\n", False),
        (r"\bé\b", "é", True),
        (r"(?!\b(?:if|do)\b)[a-z]+", "if", False),
        (r"(?!\b(?:if|do)\b)[a-z]+", "iffy", True),
        (r"\|.*?(?=(?<!\\)\|(?!==)|$)", r"|a\|b", True),
        (r"(?:(?!/(?!/)).)+", "a//b", False),
        (r"(?:(?!/(?!/)).)+/", "a//", True),
    ],
)
def test_texts(pattern: str, text: str, expected: bool) -> None:
    assert matches(pattern, text) == expected
    assert accepts(build_terminal(read_pattern(pattern)), text) == expected


@pytest.mark.parametrize("empty", ["(?:)", "(?:(?:){60000})", "(?=a)", r"(?:(?:)|\b)"])
@pytest.mark.parametrize("many", ["{60000}", "{,4000000000}", "{7,4000000000}?", "*", "+"])
def test_no_number_of_empty_texts_takes_long(empty: str, many: str) -> None:
    """`re` itself counts them one by one."""
    automaton = build_terminal(read_pattern(f"{empty}{many}a"))
    assert accepts(automaton, "a") and not accepts(automaton, "aa")


@pytest.mark.parametrize("letter", ["k", "s", "ß", "σ", "µ", "ı", "İ", "A"])
@pytest.mark.parametrize("form", ["{}", "[{}0]", "[^{}]"])
def test_case_is_ignored_as_in_re(letter: str, form: str) -> None:
    pattern = form.format(letter)
    automaton = build_terminal(read_pattern(pattern, re.IGNORECASE))
    cased = [
        chr(code)
        for code in range(0x2200)
        if chr(code).lower() != chr(code) or chr(code).upper() != chr(code)
    ]
    expected = [c for c in cased if re.fullmatch(pattern, c, re.IGNORECASE)]
    assert [c for c in cased if accepts(automaton, c)] == expected


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)\1",
        "(?P<x>a+)(?P=x)",
        "(a)?(?(1)b|c)",
        "(?=a(?<=b))",
        "(?<=a(?=b))",
        r"(?=a\bb)",
        "(",
        "(" * 60 + ")" * 60,
    ],
)
def test_patterns_that_are_not_regular_are_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        read_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:(?:(?:a\B[ab]|\bc){2,5}\B[ab]|\bc){2,5}\B[ab]|\bc){2,5}",
        r"(?:(?:(?:a(?<=[ab])|(?<!b)c){2,5}(?<=[ab])|(?<!b)c){2,5}(?<=[ab])|(?<!b)c){2,5}",
        r"(?m)(?:^[ab]*$\n?){1,50}",
        r"(?:(?=(?:ab?)*c)[abc]){1,50}",
    ],
)
def test_copies_of_a_part_share_their_lookarounds(pattern: str) -> None:
    program = read_pattern(pattern)
    assert len(program.lookbehinds) <= 2
    match_network(program, 200_000)
    assert 1 <= len({each.start for each in program.instructions if isinstance(each, Look)}) <= 3


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:(?=[ab]*a[ab]{14}c)[abc])*",
        r"(?:(?<!a[ab]{17}c)[abc])*",
    ],
)
def test_the_steps_are_bounded(pattern: str) -> None:
    program = read_pattern(pattern)
    with pytest.raises(LimitExceeded):
        match_network(program, 20_000)
    threads = Threads(program, ordered=False)
    state = threads.start()
    for letter in "abcab":
        before = threads.steps
        state = threads.step(state, ord(letter))
        assert threads.steps - before < 60_000
    with pytest.raises(PatternError) as caught:
        parse(pattern, search=False, unicode=True)
    assert caught.value.pattern == pattern


@pytest.mark.parametrize(
    "pattern",
    [
        r"\|.*?(?=[0-9.]*[<>]*[a-d]?\|)",
        r"(?:(?!\b(?:a|ab|abc|abcd)\b|link:|image:|https?:|ftps?:|mailto:|tel:)[a-z:])+",
    ],
)
def test_ends_that_need_more_than_an_end_before_them_are_left_out(pattern: str) -> None:
    assert len(build_terminal(read_pattern(pattern), 50_000).states) < 100


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a", True),
        ("[a-c]+", True),
        ("[^a]", True),
        (".*b{2,3}", True),
        ("(a|ab)+", False),
        ("(?:a|b?)", True),  # an empty alternative is last
        ("(?:b?|a)", False),
        ("(?:a||b)", False),
        ("a+?", False),
        ("a??", False),
        ("(?:ab*?)+", False),
        ("(?:a|(?:b|c+?))", False),
        ("^a", False),
        ("a$", False),
        (r"\bx", False),
        ("a(?=b)", False),
        ("(?<!a)b", False),
        (r"(a)\1", False),
        ("(", False),
        ("a{99999999999999}", False),
        ("(" * 3000 + ")" * 3000, False),
    ],
)
def test_a_pattern_that_prefers_longer_texts(pattern: str, expected: bool) -> None:
    assert prefers_longer(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("ab", False),
        ("a(?<=a)b", False),  # reads the text of the terminal only
        ("(?<=b)a", True),
        ("(?<!b)a", True),
        (r"\ba", True),
        ("(?:(?<=b)a|a)", False),
        ("(?:(?<=b)|c)a", True),
        ("a(?<=ba)b", True),
        ("a(?<!ba)b", True),
        ("ab(?<=cab)", True),
        ("(?:a(?<=ba)|b(?<=ab))", True),
        ("aab(?<=cab)", False),
    ],
)
def test_whether_the_past_changes_which_texts_match(pattern: str, expected: bool) -> None:
    """Compared with `re`: a text matches after one past, and not after another."""
    compiled = re.compile(f"(?:{pattern})")
    texts = ["".join(letters) for size in range(5) for letters in product("abc", repeat=size)]
    pasts = ("", "a", "b", "c", "bb", "ab", "cb", "ba")
    differs = any(
        len({compiled.fullmatch(past + text, len(past)) is None for past in pasts}) > 1 for text in texts
    )
    assert differs == expected
    assert build_terminal(read_pattern(pattern)).looks_behind == expected


@pytest.mark.parametrize(
    "pattern",
    [
        r".*(?<=ab)c?.*",
        r"(?:..)*(?<!ab)c.*(?<=a.c)",
        r"(?:a.|.(?<=ba))+",
        r"(?:(?=ab?c).|(?!b.c)..)*",
        r"\b.+(?<!bb)",
    ],
)
def test_characters_of_one_class_have_the_same_step(pattern: str) -> None:
    threads = Threads(read_pattern(pattern))
    seen = {threads.start()}
    pending = [*seen]
    while pending and len(seen) < 60:
        state = pending.pop()
        for part in partition([*threads.classes_at(state), ANY]):
            steps = {threads.step(state, ord(each)) for each in "abcd. " if contains(part, ord(each))}
            assert len(steps) <= 1, (state, part)
            pending += steps - seen
            seen |= steps
    assert len(seen) > 3
