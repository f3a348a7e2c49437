"""Grammars of llama.cpp."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.errors import GrammarError, LimitExceeded
from structkit.grammar.rules.cfg import Cfg, Terminal
from structkit.grammar.syntax.gbnf import read_gbnf
from structkit.limits import Limits
from structkit.targets.grammar import Grammar
from tests.grammar.recognize import expressions, recognizer
from tests.grammar.test_left_corner import GRAMMARS, TEXTS, derives
from tests.shared import SHARED

DATA = Path(__file__).parent / "data"
LLAMA_SUITE: list[dict[str, Any]] = [
    *map(json.loads, (DATA / "llama_suite.jsonl").read_text(encoding="utf-8").splitlines())
]
LABELLED = sorted((SHARED / "data" / "grammars").glob("*/grammar.gbnf"))


@pytest.mark.parametrize(
    ("grammar", "valid", "invalid"),
    [
        ('root ::= "a"', ["a"], ["", "aa"]),
        ('root ::= ""', [""], ["a"]),
        ('root ::= "a" | "bc" |', ["a", "bc", ""], ["b"]),
        ('root ::= "a" |\n "b"', ["a", "b"], ["ab"]),
        ('root ::=\n\n "a"', ["a"], [""]),
        ('root ::= ("a"\n# comment\n"b"\n)', ["ab"], ["a"]),
        ('# comment\r\n\r\nroot ::= x-1 # comment\r\nx-1 ::= "a"\r\n', ["a"], ["x"]),
        ('root ::= "a"\rx ::= "b"', ["a"], ["b"]),
        ("\t root\t::=\tx_1\n  x_1 ::= 1\n1 ::= -\n- ::= [-]", ["-"], [""]),
        (r'root ::= "\x41\u00e9\U0001F600\n\r\t\\\"\[\]\-"', ['Aé😀\n\r\t\\"[]-'], [""]),
        ('root ::= "a\nb"', ["a\nb"], ["ab"]),
        ("root ::= .", ["a", "\n", "é", "😀"], ["", "ab"]),
        ("root ::= [a-c-]", ["a", "b", "-"], ["d", ""]),
        ("root ::= [-a]", ["a", "-"], ["b"]),
        ("root ::= [--/]", ["-", ".", "/"], ["0"]),
        ("root ::= [^a-c\\]]", ["d", "\n", "[", "é"], ["b", "]", ""]),
        ("root ::= [a^]", ["a", "^"], ["b"]),
        (r"root ::= [\x00-\UFFFFFFFF]", ["a", "\0", "\U0010ffff"], [""]),
        ("root ::= [ぁ-ゟ]+", ["あい"], ["a"]),
        ('root ::= "ab"*', ["", "ab", "abab"], ["aba", "abb"]),
        ('root ::= "a"+ ("b" "c")?', ["a", "aabc"], ["bc", "ab"]),
        ('root ::= "a"{2}', ["aa"], ["a", "aaa"]),
        ('root ::= "a"{2,}', ["aa", "aaa"], ["a"]),
        ('root ::= "a"{ 1 , 2 }', ["a", "aa"], ["", "aaa"]),
        ('root ::= ("a"{\n1\n,\n2\n})', ["a", "aa"], ["", "aaa"]),
        ('root ::= "b" "a"{0}', ["b"], ["ba"]),
        ('root ::= "a"{2}{2}', ["aaaa"], ["aa", "aaa", "aaaaa"]),
        ('root ::= "a"+?', ["", "aa"], ["b"]),
        ('root ::= ("a"?)+', ["", "aa"], ["b"]),
        ("root ::= ()* ()", [""], ["a"]),
        ('root ::= "a"\nroot ::= "b"', ["b"], ["a"]),
        ('root ::= root "+" root | [0-9]', ["1", "1+2+3"], ["1+", "+"]),
        ('root ::= x "b"\nx ::= y? root | "a"\ny ::= "y"', ["ab", "yabb", "yyabbb"], ["a", "yb"]),
        ('root ::= "(" root? ")"', ["()", "(())"], ["", "(", "())"]),
        ('root ::= "a"\nx ::= x', ["a"], [""]),
        ('root ::= "a" | x "b"\nx ::= x "x"', ["a"], ["xb", "b"]),
    ],
)
def test_the_notation(grammar: str, valid: list[str], invalid: list[str]) -> None:
    accepts = recognizer(read_gbnf(grammar))
    assert [text for text in valid if not accepts(text)] == []
    assert [text for text in invalid if accepts(text)] == []


@pytest.mark.parametrize(
    ("part", "text"),
    [('"ab"', "ab"), ("[a]", "a"), ("x", "c"), ('(x | "a")', "a"), ("(d x)", "(())c"), ("d", "()")],
)
@pytest.mark.parametrize(("low", "high"), [(0, 5), (3, 3), (7, 40), (20, 20), (0, 33), (12, None)])
def test_counts(part: str, text: str, low: int, high: int | None) -> None:
    counts = f"{{{low},{'' if high is None else high}}}"
    accepts = recognizer(read_gbnf(f'root ::= {part}{counts} "!"\nx ::= "c"\nd ::= "(" d? ")"'))
    found = [count for count in range(50) if accepts(text * count + "!")]
    assert found == [count for count in range(50) if low <= count and (high is None or count <= high)]


def test_large_counts_are_small() -> None:
    for part in ("[a-z]", "x", "d"):
        grammar = f'root ::= {part}{{1,100000}} "!"\nx ::= "c"\nd ::= "(" d? ")"'
        cfg = read_gbnf(grammar)
        assert len(cfg.rules) < 100
        text = {"[a-z]": "q", "x": "c", "d": "()"}[part]
        assert recognizer(cfg)(text * 1_000 + "!")


@pytest.mark.parametrize("part", ['"ab"', "x", '"," x', '("a" | d)'])
def test_nested_optional_groups_are_a_count(part: str) -> None:
    """As llama.cpp writes `maxLength` and `maxItems` where it does not write counts."""
    grammar = f'root ::= {f"({part} " * 2_000}{")?" * 2_000} "!"\nx ::= "c"\nd ::= "(" d? ")"'
    accepts = recognizer(read_gbnf(grammar))
    text = {'"ab"': "ab", "x": "c", '"," x': ",c", '("a" | d)': "(())"}[part]
    assert [accepts(text * count + "!") for count in (0, 1, 300)] == [True] * 3
    assert not accepts(text * 2 + text[:1] + "?")
    few = recognizer(read_gbnf(f'root ::= ({part} ({part} ({part})?)?)?\nx ::= "c"\nd ::= "(" d? ")"'))
    assert [few(text * count) for count in range(5)] == [True] * 4 + [False]


QUANTIFIERS = {
    "?": "({})?",
    "*": "({})*",
    "+": "({})+",
    "{2}": "({}){{2}}",
    "{0,3}": "({}){{0,3}}",
    "{2,}": "({}){{2,}}",
}
RULES = "\nx ::= 'a' | 'b' 'c' | 'z' x 'z'\ny ::= | 'c' | 'z' y 'z'\n"


@given(expressions(QUANTIFIERS), st.lists(st.sampled_from(TEXTS), min_size=5, max_size=15))
def test_expressions_are_read_as_patterns(expression: tuple[str, str], texts: list[str]) -> None:
    grammar, pattern = expression
    accepts = recognizer(read_gbnf(f"root ::= {grammar}{RULES}".replace("'", '"')))
    for text in texts:
        assert accepts(text) == (re.fullmatch(pattern, text) is not None), (grammar, text)


@given(GRAMMARS, st.lists(st.sampled_from(TEXTS), min_size=5, max_size=15))
def test_random_grammars(cfg: Cfg, texts: list[str]) -> None:
    def shown(production: tuple[str | Terminal, ...]) -> str:
        return " ".join(f'"{s.name}"' if isinstance(s, Terminal) else s for s in production)

    defined = {name: productions for name, productions in cfg.rules.items() if productions}
    grammar = "\n".join(f"{name} ::= {' | '.join(map(shown, found))}\n" for name, found in defined.items())
    if cfg.start not in cfg.productive or any(
        symbol not in defined
        for _, production in cfg.productions()
        for symbol in production
        if isinstance(symbol, str)
    ):
        with pytest.raises(GrammarError):
            read_gbnf(grammar, cfg.start)
        return
    if re.search(r"(::=|\|) *\n\n\w", grammar):  # a line break behind these does not end a rule
        return
    accepts = recognizer(read_gbnf(grammar, cfg.start))
    for text in texts:
        assert accepts(text) == derives(cfg, text), (grammar, text)


@pytest.mark.parametrize(
    ("name", "valid", "invalid"),
    [
        ("chess", ["1. e4 e5\n2. Nf3 Nc6\n", "1. d4 Nf6\n10. O-O-O Bxe5+\n"], ["1. e4 e5\n", "2. e4 e5\n"]),
        ("json", ['{"a": [1, -2.5e3, {"b": null}], "é\\u00e9": ""}\n', "{}"], ["[]", '{"a" 1}', '{"\n": 1}']),
        ("list", ["- a\n- b c\n"], ["- a", "- \n", "- a\u2028\n"]),
        ("japanese", ["こんにちは 世界。"], ["hello", ""]),
        ("english", ["Hello, \\[world]-^! a~"], ["", "a  b", "é"]),
    ],
)
def test_grammars_of_llama_cpp(name: str, valid: list[str], invalid: list[str]) -> None:
    accepts = recognizer(read_gbnf((DATA / f"{name}.gbnf").read_text()))
    assert [text for text in valid if not accepts(text)] == []
    assert [text for text in invalid if accepts(text)] == []


@pytest.mark.parametrize("case", LLAMA_SUITE, ids=lambda case: str(case["name"]))
def test_verdicts_of_llama_cpp(case: dict[str, Any]) -> None:
    """Grammars as users write them: llama.cpp (xllamacpp 2026.10) has read generations, and texts close to these."""
    accepts = recognizer(read_gbnf(case["grammar"]))
    assert [text for text in case["valid"] if not accepts(text)] == []
    assert [text for text in case["invalid"] if accepts(text)] == []


@pytest.mark.skipif(not LABELLED, reason="needs the grammars of ../shared/data")
@pytest.mark.parametrize("path", LABELLED, ids=lambda path: path.parent.name)
def test_labelled_texts(path: Path) -> None:
    accepts = recognizer(read_gbnf(path.read_text()))
    cases = [json.loads(line) for line in (path.parent / "cases.jsonl").read_text().splitlines()]
    assert [case for case in cases if accepts(case["text"]) != case["valid"]] == []


@pytest.mark.parametrize(
    ("grammar", "line", "column", "message"),
    [
        ("", 1, 1, "`root`.* is not defined"),
        ('x ::= "a"', 1, 1, "`root`.* is not defined"),
        ('root ::= x\ny ::= "a"', 1, 10, "`x` is used but not defined"),
        ('root ::= "a" root', 1, 1, "no text ends"),
        ('x ::= "a"\nroot ::= x root', 2, 1, "no text ends"),
        ('root = "a"', 1, 6, "`::=` is missing"),
        ('root ::= "a"\n  "b"', 2, 3, "begins with its name"),
        ('root ::= "a"\n  | "b"', 2, 3, "end of the line before"),
        ('root ::= a b\na ::= "x" |\n\nb ::= "y"', 4, 1, "the rule `b` begins inside another one"),
        ('root ::= "a" x ::= "b"', 1, 14, "the rule `x` begins inside another one"),
        ('root ::= ("a"\nx ::= "b"', 1, 10, r"`\(` is not closed before the rule `x`"),
        ('root ::= "abc\nx ::= "d"\n', 1, 10, "closing .* is missing"),
        ('root ::= "a"\n  x', 2, 4, "`::=` is missing"),
        ('root ::= "a" ; "b"', 1, 14, "unexpected ';'"),
        ('root ::= "a")', 1, 13, r"unexpected '\)'"),
        ('root ::= ("a"', 1, 10, "not closed"),
        ('root ::= (("a") ]', 1, 17, "unexpected ']'"),
        ('root ::= "a', 1, 10, "is missing"),
        ("root ::= [a", 1, 10, "is missing"),
        ("root ::= [a-", 1, 10, "is missing"),
        ("root ::= []", 1, 10, "no character"),
        ("root ::= [^]", 1, 10, "no character"),
        (r"root ::= [^\x00-\U0010FFFF]", 1, 10, "no character"),
        (r"root ::= [\uD800-\uDFFF]", 1, 10, "no character"),
        ("root ::= [az-y]", 1, 12, "reverse"),
        (r'root ::= "ab\q"', 1, 13, r"invalid escape `\\q`"),
        (r'root ::= "\x4"', 1, 11, "invalid escape"),
        (r'root ::= "\uD800"', 1, 11, "not a character"),
        (r'root ::= "\U00110000"', 1, 11, "not a character"),
        ("root ::= *", 1, 10, "nothing comes before"),
        ('root ::= ""*', 1, 12, "nothing comes before"),
        ('root ::= "a" | +', 1, 16, "nothing comes before"),
        ('root ::= ({1} "a")', 1, 11, "nothing comes before"),
        ('root ::= "a"{0}*', 1, 16, "nothing comes before"),
        ('root ::= "a"{}', 1, 13, "invalid count"),
        ('root ::= "a"{,3}', 1, 13, "invalid count"),
        ('root ::= "a"{1,2', 1, 13, "invalid count"),
        ('root ::= "a"{1\n}', 1, 13, "invalid count"),
        ('root ::= "a"{3,2}', 1, 13, "below its minimum"),
        ("root ::= <a", 1, 10, "is a token"),
        ("root ::= <[a]>", 1, 10, "is a token"),
        ("root ::= <>", 1, 10, "is a token"),
        ("root ::= !<a>", 1, 10, "no fixed text"),
        ('root ::= (!<a> "b")*', 1, 11, "no fixed text"),
        ("root ::= !a*", 1, 11, "is a token"),
        ('\N{BYTE ORDER MARK}root ::= "a"', 1, 1, "byte order mark"),
        ('root ::= "a"\nx ::= "\0"', 2, 8, "NUL"),
        ("root ::= " + "(" * 30_000, 1, 5_010, "nested"),
        ("root ::= " + "(" * 600 + '"a"' + ")" * 600, 1, 109, "nested more than 500"),
    ],
)
def test_errors_have_a_place(grammar: str, line: int, column: int, message: str) -> None:
    with pytest.raises(GrammarError, match=message) as caught:
        read_gbnf(grammar, path="x.gbnf")
    assert (caught.value.line, caught.value.column, caught.value.place) == (line, column, "x.gbnf")
    assert caught.value.source == grammar.split("\n")[line - 1]


@pytest.mark.parametrize(
    ("grammar", "limit"),
    [
        ("\n".join(f'r{number} ::= "a"' for number in range(100_000)), "grammar_length"),
        ('root ::= "a"{99999999}', "iterations"),
        (f'root ::= "a"{{{"9" * 9_999}}}', "iterations"),
        ('root ::= x{1,1000}\nx ::= "(" x ")" | ', "parse_states"),
    ],
)
def test_large_grammars_are_refused(grammar: str, limit: str) -> None:
    with pytest.raises(LimitExceeded) as caught:
        read_gbnf(grammar)
    assert caught.value.limit == limit


@pytest.mark.parametrize(
    "grammar",
    [
        'root ::= "a"' + "*" * 60_000,
        "root ::= " + "(" * 500 + '"a"' + ")?" * 500,
        "root ::= " + '("a" | "(" root ' * 500 + '"a"' + ")*" * 500,
        "root ::= " + "[a-z]? " * 1_000,
        "\n".join(f"r{number} ::= r{number + 1} r{number + 1}" for number in range(40))
        + '\nr40 ::= "a"\nroot ::= r0',
        "root ::= (((d{1000}){1000}){1000}){1000}\n" + 'd ::= "(" d? ")"',
    ],
)
def test_hostile_grammars_end(grammar: str) -> None:
    assert not recognizer(read_gbnf(grammar))("?")


def test_a_larger_limit_can_be_passed() -> None:
    grammar = 'root ::= "a"\n' + "#" * 70_000
    assert recognizer(read_gbnf(grammar, limits=Limits(grammar_length=100_000)))("a")


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ('root ::= nmae\nname ::= "a"', "write name"),
        ("root ::= other", "define it"),
        ('roott ::= "a"', "pass start='roott'"),
        ('root = "a"', "write a rule as `name ::= ...`"),
        ('root ::= "a', "write it at the end"),
        ("root ::= 'a'", "write texts in double quotation marks"),
        ('root ::= ("a"', "write `)` at the end of the group"),
        ('root ::= "a"{2,1}', "swap them"),
        ("root ::= [z-a]", "swap its ends"),
        ('root ::= * "a"', "write what it repeats"),
        (r'root ::= "\d"', r"write `[0-9]`, or `\\` for a backslash"),
        (r"root ::= [\d.]", "write `0-9`, or"),
        (r'root ::= "\/"', "write `/`, or"),
        (r'root ::= "\b"', r"write `\x08`, or"),
        (r'root ::= "\u{e9}"', "write 4 hexadecimal digits behind it"),
        ('root ::= "\\', r"write `\\`"),
        (r'root ::= "\ud83d\ude00"', r"as `\UHHHHHHHH`"),
        ("root ::= \u201ca\u201d", "write texts in double quotation marks"),
        ('root ::=\u00a0"a"', "write a blank"),
        ('root ::= "a"\n  "b"', "its next line in parentheses or behind `|`"),
        ('root ::= "a"\n  | "b"', "write it at the end of the line before"),
        ("root ::= a |\n\na ::= ", 'write `""` for an empty alternative before it'),
    ],
)
def test_an_error_has_a_remedy(text: str, remedy: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar(text, syntax="gbnf")
    assert remedy in (caught.value.remedy or "")
