"""Grammars in KBNF; what kbnf 0.4.2 accepts was found by running it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import GrammarError, LimitExceeded
from structkit.grammar.syntax.kbnf import read_kbnf
from tests.grammar.recognize import expressions, recognizer
from tests.grammar.test_left_corner import TEXTS


@pytest.mark.parametrize(
    ("grammar", "valid", "invalid"),
    [
        ("start ::= 'a';", ["a"], ["", "aa"]),
        ('start="a";', ["a"], [""]),
        ("(* c *) start (*) *) ::= (***) 'a' (* * ) *) ; (* end *)", ["a"], [""]),
        ("start ::= 'a'; start ::= 'b'; start ::= 'a';", ["a", "b"], ["ab"]),
        ("start ::= 'a' 'b' | 'c', 'd';", ["ab", "cd"], ["abd", "ac"]),
        ("start ::= ('a' | 'b' 'c')+ 'z';", ["az", "abcz"], ["z", "abz"]),
        ("start ::= ['a' | 'b'] {'c' 'd'};", ["", "a", "bcdcd"], ["c", "ab"]),
        ("start ::= ['a']? {'b'}+;", ["", "abb"], ["ba"]),
        ("start ::= 'a' ? 'b' * 'c' +;", ["c", "abbcc"], ["ab"]),
        ("start ::= (')' ']' '}' \"(*\");", [")]}(*"], [""]),
        ("_a1 ::= 'a'; start ::= _a1;\r\n\tB ::= B;", ["a"], [""]),
        ("start ::= '' | 'a';", ["", "a"], ["aa"]),
        ("start ::= '\u00e9\n';", ["é\n"], [""]),
        (
            r"start ::= '\b\f\n\r\t\\\/\"\'\x41\u00e9\u{1F600}\101\7\08';",
            ["\b\f\n\r\t\\/\"'Aé😀A\7\0" + "8"],
            [""],
        ),
        ("start ::= start '+' start | #'[0-9]';", ["1", "1+2+3"], ["1+"]),
        ("start ::= '(' [start] ')';", ["()", "(())"], ["", "(()"]),
        (r'start ::= #"\\d+(\\.\\d+)?";', ["1", "1.5"], ["1."]),
        (r"start ::= #'\"[^\"\\\\]*\"';", ['""', '"a b"'], ['"', '"\\"']),
        ("start ::= #'ab|a' 'bc';", ["abc", "abbc"], ["ab"]),
        ("start ::= #'a*' 'c';", ["c", "aac"], ["a"]),
        ("start ::= #'' 'c';", ["c"], [""]),
        ("start ::= #'.' 'z';", ["éz", "\rz"], ["\nz"]),
        ("start ::= #'^a$' 'z';", ["az"], ["z"]),
        ("start ::= #e'a*' 'c';", ["ac"], ["c", "aac"]),
        ("start ::= #e'a*b?' 'c';", ["ac", "bc"], ["abc", "c"]),
        (r'start ::= #e"(.|\n)*\n\n";', ["a\n\n", "\n\n"], ["a\n\nb\n\n", "\n\n\n", "a"]),
        ("start ::= #e'' | 'z';", ["z"], [""]),
        ("start ::= #ex'ab' 'c';", ["bc", "xac", "ac", "cc", "\nc"], ["c", "abc", "xabxc"]),
        ("start ::= #ex'a*' | 'z';", ["z"], ["", "b"]),
        ("start ::= #ex'a|ab' 'c';", ["bc", "bbc"], ["ac", "c"]),
        ("start ::= {#ex'a+' 'a'};", ["", "ba", "babca"], ["a", "baa"]),
        ("start ::= #substrs'hello' '.';", ["ell.", ".", "o.", "hello."], ["eo.", "hel"]),
        ("start ::= #substrs\"\" 'z';", ["z"], [""]),
        ("start ::= ('-' #substrs'é\\u{1F600}' [start]);", ["-é", "-", "-😀-é😀"], ["-😀é"]),
    ],
)
def test_the_notation(grammar: str, valid: list[str], invalid: list[str]) -> None:
    accepts = recognizer(read_kbnf(grammar))
    assert [text for text in valid if not accepts(text)] == []
    assert [text for text in invalid if accepts(text)] == []


QUANTIFIERS = {"?": "[{}]", "*": "{{{}}}", "+": "({})+"}
RULES = "x ::= 'a'; x ::= 'b' 'c' | 'z' x 'z'; y ::= ['c'] | 'z' y 'z';"


@given(expressions(QUANTIFIERS), st.lists(st.sampled_from(TEXTS), min_size=5, max_size=15))
def test_expressions_are_read_as_patterns(expression: tuple[str, str], texts: list[str]) -> None:
    grammar, pattern = expression
    accepts = recognizer(read_kbnf(f"start ::= {grammar};{RULES}"))
    for text in texts:
        assert accepts(text) == (re.fullmatch(pattern, text) is not None), (grammar, text)


PATTERNS = st.recursive(
    st.sampled_from(["a", "b", "ab", "[ab]", "c?", ""]),
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=3).map("".join),
        st.lists(parts, min_size=1, max_size=3).map(lambda found: f"(?:{'|'.join(found)})"),
        st.tuples(parts, st.sampled_from("?*+")).map(lambda found: f"(?:{found[0]}){found[1]}"),
    ),
    max_leaves=6,
)


@given(PATTERNS, st.sampled_from(TEXTS))
def test_patterns(pattern: str, text: str) -> None:
    """A regex, its texts that no other of its texts begins, and the texts without it."""

    def contains(part: str) -> bool:
        return re.fullmatch(pattern, part) is not None

    expected = {
        "#": contains(text),
        "#e": bool(text) and contains(text) and not any(contains(text[:n]) for n in range(1, len(text))),
        "#ex": bool(text)
        and not any(contains(text[i:j]) for i in range(len(text) + 1) for j in range(i, len(text) + 1)),
    }
    for kind, is_valid in expected.items():
        accepts = recognizer(read_kbnf(f"start ::= '-' | '-' {kind}'{pattern}' '!';"))
        assert accepts(f"-{text}!") == is_valid, kind


@pytest.mark.parametrize(
    ("grammar", "line", "column", "message"),
    [
        ("", 1, 1, "`start`.* is not defined"),
        ("Start ::= 'a';", 1, 1, "`start`.* is not defined"),
        ("start ::= 'b'\n | x; y ::= 'a';", 2, 4, "`x` is used but not defined"),
        ("x ::= 'a';\nstart ::= x start;", 2, 1, "no text ends"),
        ("start ::= #ex'a*';", 1, 1, "no text ends"),
        ("1a ::= 'b';", 1, 1, "begins with its name"),
        ("é ::= 'b';", 1, 1, "begins with its name"),
        ("start := 'a';", 1, 7, "expected `::=`"),
        ("start ::= 'a'", 1, 14, "`;` is missing"),
        ("start ::= ;", 1, 11, "at least one item"),
        ("start ::= 'a' | ;", 1, 17, "at least one item"),
        ("start ::= (| 'a');", 1, 12, "at least one item"),
        ("start ::= ();", 1, 12, "at least one item"),
        ("start ::= , 'a';", 1, 11, "at least one item"),
        ("start ::= ('a';", 1, 11, r"`\(` is not closed"),
        ("start ::= ('a'];", 1, 15, "unexpected ']'"),
        ("start ::= 'a');", 1, 14, r"unexpected '\)'"),
        ("start ::= x\nx ::= 'a';", 2, 3, "(?s)unexpected ':'.*end the rule before this one with `;`"),
        ("start ::= 'a", 1, 11, "closing `'` is missing"),
        ('start ::= #e"a', 1, 11, 'closing `"` is missing'),
        ("start ::= # 'a';", 1, 11, "unexpected '#'"),
        ("start ::= ?;", 1, 11, "nothing comes before"),
        ("start ::= 'a'??;", 1, 15, "nothing comes before"),
        ("start ::= 'a' (* b;", 1, 15, "not closed"),
        (r"start ::= 'a\q';", 1, 13, "invalid escape"),
        (r"start ::= #'\d';", 1, 13, "double"),
        (r"start ::= '\ud800';", 1, 12, "not a character"),
        (r"start ::= '\u{110000}';", 1, 12, "not a character"),
        ("start ::= 'a'\n#'[';", 2, 1, "invalid regular expression"),
        (r"start ::= #'(a)\\1';", 1, 11, "invalid regular expression"),
        ("start ::= #'(?=a)[a-z]+';", 1, 11, "lookaround"),
        ("start ::= any!;", 1, 14, "version 0.5"),
        ("start ::= except!('a') 'z';", 1, 17, "version 0.5"),
        ("\N{BYTE ORDER MARK}start ::= 'a';", 1, 1, "byte order mark"),
        ("start ::= '\0';", 1, 12, "NUL"),
        ("start ::= " + "[" * 30_000, 1, 5_011, "nested"),
    ],
)
def test_errors_have_a_place(grammar: str, line: int, column: int, message: str) -> None:
    with pytest.raises(GrammarError, match=message) as caught:
        read_kbnf(grammar, path="x.kbnf")
    assert (caught.value.line, caught.value.column, caught.value.place) == (line, column, "x.kbnf")


@pytest.mark.parametrize(
    ("grammar", "limit"),
    [
        ("start ::= 'a';" * 100_000, "grammar_length"),
        ("start ::= #ex'(a|b)*a(a|b){20}';", "states"),
        ("start ::= #e'(a|b)*a(a|b){20}';", "states"),
        (f"start ::= #'{'a' * 20_000}';", "pattern_length"),
    ],
)
def test_large_grammars_are_refused(grammar: str, limit: str) -> None:
    with pytest.raises(LimitExceeded) as caught:
        read_kbnf(grammar)
    assert caught.value.limit == limit


@pytest.mark.parametrize(
    "grammar",
    [
        "start ::= #'(a|b){1,100000}';",
        "start ::= " + "['a' {" * 250 + "'a'" + "}]" * 250 + ";",
        "start ::= 'a' start;" * 3_000 + "start ::= 'b';",
        f"start ::= #substrs'{'ab c' * 12_000}' 'z';",
        f"start ::= #'{'a?' * 2_000}' 'c';",
        f"start ::= #e'{'a?' * 2_000}' 'c';",
    ],
)
def test_hostile_grammars_end(grammar: str) -> None:
    assert not recognizer(read_kbnf(grammar))("?")
