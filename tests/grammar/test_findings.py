"""What `explain` finds in a Lark grammar, with its examples against Lark."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

import lark
import pytest
from lark import Lark
from lark.exceptions import LarkError
from lark.indenter import PythonIndenter

import structkit as sk
from structkit.grammar.findings import search
from structkit.grammar.findings.finding import GrammarFinding
from structkit.grammar.findings.texts import joined
from structkit.grammar.read import GrammarSource
from structkit.grammar.syntax.indenter import read_indenter
from structkit.grammar.syntax.lark_grammar import LarkOptions
from tests.grammar.test_against_lark import lark_accepts
from tests.grammar.test_lexers import random_grammar, recursive_grammar, seconds, without_interegular
from tests.shared import SHARED, cases

NAME = "NAME: /[a-z]+/\n%ignore / +/"
KEYWORDS = f'start: "1" | KW NAME\nKW: "if" | "for"\n{NAME}'
SHORT = ["".join(letters) for length in range(7) for letters in product("abc", repeat=length)]


def findings(text: str, parser: Any = "lalr", lexer: Any = "auto") -> tuple[GrammarFinding, ...]:
    """Return what is found in a grammar, without the automata that `explain` also makes."""
    return GrammarSource(text, options=LarkOptions(parser=parser, lexer=lexer)).findings


def test_explain_shows_a_conflict_that_loses_texts() -> None:
    text = 'start: "d"\n    | "a" b "c"\nb: x*\nx: "a" | "c"'
    (first, second) = sk.explain(sk.Grammar(text, parser="lalr")).findings
    assert (first.kind, first.name, first.line, first.column) == ("conflict", "b", 3, 1)
    assert {first.example, second.example} == {"ac", "aac"}
    assert 'before "c", b does not end with `nothing`, since the parser shifts' in str(first) + str(second)
    for found in (first, second):
        assert found.example is not None
        assert not lark_accepts(Lark(text, parser="lalr"), found.example)
        assert lark_accepts(Lark(text), found.example)


def test_a_conflict_of_two_readings_loses_no_text() -> None:
    (found,) = findings('start: st\nst: "if" st | "if" st "else" st | "x"')
    assert found.kind == "conflict" and found.example is None
    assert found.reason.endswith("no text was found that this loses, in 3,000 steps")


def test_a_conflict_that_priorities_resolve() -> None:
    text = 'start: "d" | x "b" | y "c" | y "b" "b"\nx.2: "a"\ny: "a"'
    (found,) = findings(text)
    assert (found.kind, found.name, found.line, found.example) == ("conflict", "y", 3, "abb")
    assert 'before "b", y does not end with `"a"`, since x has a higher priority' in found.reason
    assert not lark_accepts(Lark(text, parser="lalr"), "abb")
    assert lark_accepts(Lark(text), "abb")


def test_the_lexer_is_not_blamed_on_a_conflict() -> None:
    """With `A: /a+/` no text has two of these tokens, so that the conflict loses a sentence, but no text."""
    (found,) = findings('start: "d" | A b "c"\nb: "c"?\nA: /a+/')
    assert (found.kind, found.example) == ("conflict", "ac")
    found = findings('start: "d" | A b A\nb: A?\nA: /a+/')[0]
    assert (found.kind, found.example) == ("conflict", None)


@pytest.mark.parametrize("lexer", ["basic", "contextual"])
def test_the_text_of_a_keyword(lexer: Any) -> None:
    text = f'start: NAME "=" | "if" NAME "," | "is"\n{NAME}'
    found = next(each for each in findings(text, lexer=lexer) if each.kind == "keyword")
    assert (found.name, found.line, found.example) == ("NAME", 2, "if=")
    assert "the keywords are 'if', 'is'" in found.reason
    assert not lark_accepts(Lark(text, parser="lalr", lexer=lexer), "if=")
    assert lark_accepts(Lark(text), "if=")


@pytest.mark.parametrize("parser", ["lalr", "earley"])
def test_a_hidden_terminal(parser: Any) -> None:
    (found,) = findings(KEYWORDS, parser, "basic")
    assert found.example is not None
    assert (found.kind, found.name, found.line, found.example) == ("hidden terminal", "KW", 2, "ifa")
    assert "NAME is tried first" in found.reason
    assert not lark_accepts(Lark(KEYWORDS, parser=parser, lexer="basic"), found.example)
    assert lark_accepts(Lark(KEYWORDS), found.example)


@pytest.mark.parametrize(
    "terminals",
    [
        'KW: "if" | "for"\nNAME: /[A-Z]+/',
        'KW: "if" | "a1"\nNAME: /[a-z]{2,}/',
        'KW.1: "if" | "for"\nNAME: /[a-z]+/',
        'KW: "if"\nNAME: /[a-z]+/',
        'KW: "if" | "for"\nNAME: /[a-z]+(?=;)/',
    ],
)
def test_terminals_that_are_not_hidden(terminals: str) -> None:
    found = findings(f'start: "1" | KW NAME | "{{"\n{terminals}', lexer="basic")
    assert [each for each in found if each.kind == "hidden terminal"] == []


@pytest.mark.parametrize("parser", ["lalr", "earley"])
@pytest.mark.parametrize(
    ("text", "name", "first", "example"),
    [
        ("start: A | B\nA: /[a-c]+/\nB: /[a-z]+/", "B", "A", "ax"),
        ('start: INT "." INT | "z" FLOAT\nINT: /[0-9]+/\nFLOAT: /[0-9]+[.][0-9]+/', "INT", "FLOAT", "0.0"),
        ('start: A B | AB "c"\nA: "a"\nB: "b"\nAB: "ab"', "A", "AB", "ab"),
    ],
)
def test_a_terminal_at_whose_place_the_lexer_finds_another_one(
    text: str, name: str, first: str, example: str, parser: Any
) -> None:
    (found,) = (each for each in findings(text, parser, "basic") if each.kind == "overlap")
    assert (found.name, found.example) == (name, example)
    assert f"the lexer finds {first}, which is tried first" in found.reason
    assert not lark_accepts(Lark(text, parser=parser, lexer="basic"), example)
    assert lark_accepts(Lark(text), example)


@pytest.mark.parametrize(
    "text",
    [
        'start: INT "." INT | "z" FLOAT\nINT: /[0-9]+/\nFLOAT: /[0-9]+[.][0-9]+/\n%ignore " "',
        f'start: "if" NAME | NAME "="\n{NAME}',
        'start: (A | B)+\nA: "a"\nB: "ab"',
    ],
)
def test_no_terminal_is_lost_if_a_blank_separates_it(text: str) -> None:
    assert not any(each.kind == "overlap" for each in findings(text, lexer="basic"))


@pytest.mark.parametrize(
    ("text", "example"),
    [
        (KEYWORDS, "ifa"),
        (f'start: "if" NAME\n{NAME}', "ifa"),
        ('start: n "-" n\nn: SIGNED_INT\n%import common.SIGNED_INT', "0-0"),
        ('start: INT DOT INT | "z" FLOAT\nINT: /[0-9]+/\nDOT: "."\nFLOAT: /[0-9]+\\.[0-9]+/', "0.0"),
    ],
)
def test_a_text_that_only_the_contextual_lexer_accepts(text: str, example: str) -> None:
    (found,) = (each for each in findings(text) if each.kind == "lexer")
    assert found.example == example
    assert lark_accepts(Lark(text, parser="lalr"), example)
    assert not lark_accepts(Lark(text, parser="lalr", lexer="basic"), example)
    # No shorter text differs, of those with the letters of the example.
    shorter = ["".join(t) for n in range(len(example)) for t in product(sorted(set(example)), repeat=n)]
    for each in shorter:
        assert lark_accepts(Lark(text, parser="lalr"), each) == lark_accepts(
            Lark(text, parser="lalr", lexer="basic"), each
        )


@pytest.mark.parametrize(("parser", "lexer"), [("earley", "auto"), ("earley", "basic"), ("lalr", "auto")])
def test_rules_without_a_text(parser: Any, lexer: Any) -> None:
    found = findings('start: "a" | x\nx: "b" x\ny: "c"', parser, lexer)
    assert [(each.kind, each.name, each.line) for each in found] == [("no text", "x", 2), ("unused", "y", 3)]


@pytest.mark.long
def test_python_loses_calls_of_match() -> None:
    path = Path(lark.__file__).parent / "grammars/python.lark"
    options: Any = {"start": "file_input", "parser": "lalr", "postlex": PythonIndenter()}
    reader = Lark(path.read_text(), **options)
    basic = Lark(path.read_text(), lexer="basic", **options)
    read = LarkOptions("file_input", "lalr", indenter=read_indenter(PythonIndenter()))
    started = time.process_time()
    found = GrammarSource(path.read_text(), str(path), options=read).findings
    assert time.process_time() - started < 20  # 3 s, and as much for the rules
    lost = [each.example for each in found if each.kind == "conflict" and each.example]
    assert len(lost) == 5 and "match()\n" in lost
    compile("match()\n", "example", "exec", dont_inherit=True)
    assert not any(lark_accepts(reader, text) for text in lost)
    keyword = next(each for each in found if each.kind == "keyword")
    assert (keyword.name, keyword.example) == ("NAME", "if\n")
    differing = [each.example for each in found if each.kind == "lexer" and each.example]
    assert "except\n" in differing  # a name, where a statement begins
    assert all(lark_accepts(reader, text) and not lark_accepts(basic, text) for text in differing)
    assert [each.name for each in found if each.kind == "hidden terminal"] == ["COMMENT"]
    assert "the search for examples was cut off at its bound" in found[-1].reason


@pytest.mark.skipif(not (SHARED / "data/grammars").is_dir(), reason="the shared grammars are not there")
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        pytest.param("sql", {"conflict", "keyword", "lexer"}, marks=pytest.mark.long),
        ("lark", set()),
        ("json", set()),
    ],
)
def test_labelled_grammars(name: str, kinds: set[str]) -> None:
    text = (SHARED / f"data/grammars/{name}/grammar.lark").read_text()
    started = time.process_time()
    found = findings(text)
    assert time.process_time() - started < 20  # 4 s for sql, and 1 s for its rules
    assert {each.kind for each in found} - {"unused", "incomplete"} == kinds
    reader, basic = Lark(text, parser="lalr"), Lark(text, parser="lalr", lexer="basic")
    for each in found:
        if each.example is not None:
            accepted = lark_accepts(reader, each.example), lark_accepts(basic, each.example)
            assert accepted == (each.kind == "lexer", False), each


def test_the_text_of_an_explanation() -> None:
    explained = str(sk.explain(sk.Grammar(f'start: "if" NAME\n{NAME}', parser="lalr")))
    assert (
        """line 1, column 8: lexer "if": the contextual lexer reads 'if' as "if", the basic lexer 'ifa' as NAME; """
        """only the contextual one accepts the example; example: 'ifa'"""
    ) in explained.splitlines()


def test_other_syntaxes_and_targets_have_no_findings() -> None:
    assert sk.explain(sk.Grammar('root ::= "a"', syntax="gbnf")).findings == ()
    assert sk.explain(list[int]).findings == ()


def test_the_place_in_a_grammar_whose_lines_are_indented() -> None:
    (found,) = findings('\n  start: "d" | "a" b "c"\n  b.2 : "c"?\n')
    assert (found.name, found.line, found.column, found.example) == ("b", 3, 3, "ac")


def test_a_name_from_another_file_has_no_place() -> None:
    """`%import` brings the terminals that a terminal needs under names that the text does not have."""
    found = findings('start: INT "." INT | FLOAT\n%import common (INT, FLOAT)')
    assert all((each.line is None) == (each.column is None) for each in found)


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'start: "d" | "a" b "c"\nb: x*\nx: "a" | "c"'
    monkeypatch.setattr(search, "_MAX_PARSES", 0)
    found = findings(text)
    assert [(each.kind, each.example) for each in found] == [
        ("conflict", None),
        ("conflict", None),
        ("incomplete", None),
    ]
    assert "was cut off at its bound" in found[-1].reason
    monkeypatch.setattr(search, "_MAX_WORD_STEPS", 0)
    assert [each.kind for each in findings(KEYWORDS, lexer="basic")] == ["incomplete"]


def test_a_parser_that_reduces_without_end() -> None:
    """Lark ends the empty `a` again and again, since its priority is higher than that of `b`: no text is tried."""
    text = 'start: b "c"\nb: a b | \na.2:'
    with pytest.raises(TimeoutError), seconds(0.3):
        Lark(text, parser="lalr").parse("c")
    first, second = findings(text)
    assert (first.kind, first.name, first.example) == ("conflict", "b", None)
    assert second.reason == "Lark's parser may reduce without end, so that no example is tried"


def conflict_grammar(choose: random.Random) -> str:
    """Return a grammar whose terminals are letters, so that only conflicts lose texts."""

    def production() -> str:
        symbols = ['"a"', '"b"', '"c"', "x", "y", "z"]
        return " ".join(
            choose.choice(symbols) + choose.choice(["", "", "", "", "?", "*"])
            for _ in range(choose.randint(1, 4))
        )

    lines = ["start: " + " | ".join(production() for _ in range(choose.randint(1, 3)))]
    for rule in "xyz":
        found = [production() for _ in range(choose.randint(1, 3))]
        lines.append(f"{rule}: " + " | ".join([*found, choose.choice(['"a"', '"b"', '"c"', ""])]))
    return "\n".join(lines)


@pytest.mark.long
def test_the_shortest_lost_text_is_found() -> None:
    """Of random grammars that Lark takes, some have conflicts; the example is the shortest lost text of all."""
    compared = 0
    for seed in range(cases(100, of=2500)):
        text = conflict_grammar(random.Random(seed))
        try:
            reader = Lark(text, parser="lalr", lexer="basic")
            found = findings(text, lexer="basic")
        except (LarkError, sk.GrammarError):
            continue
        examples = [each.example for each in found if each.kind == "conflict" and each.example is not None]
        if not any(each.kind == "conflict" for each in found):
            continue
        rules = Lark(text, lexer="basic", ambiguity="forest")
        with seconds(3):
            lost = next(
                (each for each in SHORT if lark_accepts(rules, each) and not lark_accepts(reader, each)), None
            )
        assert all(lark_accepts(rules, each) and not lark_accepts(reader, each) for each in examples), text
        if lost is not None:
            compared += 1
            assert min(map(len, examples), default=None) == len(lost), (text, lost)
    assert compared >= 5


@pytest.mark.long(every=3)
@pytest.mark.parametrize("lexer", ["basic", "contextual"])
@pytest.mark.parametrize("seed", range(cases(20, of=40)))
def test_random_grammars(seed: int, lexer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lark treats each example as the finding says, and finds no hidden terminal in any short text."""
    choose = random.Random(seed)
    text = (random_grammar if seed % 2 else recursive_grammar)(choose)
    try:
        with without_interegular(monkeypatch):
            reader = Lark(text, parser="lalr", lexer=lexer)
            basic = Lark(text, parser="lalr", lexer="basic")
            rules = Lark(text, lexer="dynamic_complete", ambiguity="forest")
    except LarkError:
        pytest.skip("Lark refuses the grammar")
    try:
        found = findings(text, lexer=lexer)
    except sk.GrammarError:
        pytest.skip("no text is in the language")
    hidden = {each.name for each in found if each.kind == "hidden terminal"}
    for each in found:
        if each.example is None:
            continue
        with seconds(3):
            if each.kind == "lexer":
                assert lark_accepts(reader, each.example) != lark_accepts(basic, each.example), (text, each)
            else:
                assert not lark_accepts(reader, each.example), (text, each)
                assert lark_accepts(rules, each.example), (text, each)
    if not hidden or lexer == "contextual":
        return
    reader.lexer = reader._build_lexer()  # otherwise `lex` builds it for each text
    for each in map("".join, product("abc ", repeat=4)):
        found_tokens = set()
        try:
            for token in reader.lex(each):
                found_tokens.add(token.type)
        except LarkError:
            pass
        assert hidden.isdisjoint(found_tokens), (text, each)


def test_a_finding_is_written_with_its_place_and_example_if_it_has_them() -> None:
    finding = GrammarFinding("unused", "A", "no text uses it")
    assert str(finding) == "unused A: no text uses it"
    placed = replace(finding, line=2, column=5, example="x")
    assert str(placed) == "line 2, column 5: unused A: no text uses it; example: 'x'"


def test_each_state_that_reads_a_terminal_has_one_sentence() -> None:
    text = 'start: "a" x | "b" x | "b" "b" x | x "d"\nx: "c" D | "c" x D\nD: "d"'
    found = search._Search(sk.Grammar(text, parser="lalr").source.lark)
    list(found.findings())
    for name in ("D", "C", "A", "B"):
        states = sum(name in shifts for shifts in found.table.shifts)
        sentences = found.sentences.through(name, 1000)
        assert 0 < len(sentences) <= states
        assert all(name in sentence for sentence in sentences)


def test_a_text_has_a_gap_between_two_parts() -> None:
    for count in range(4):
        parts, gaps = ["a", "bc", "", "d"][:count], [" ", "", "\n"][: max(count - 1, 0)]
        expected = "".join(part + gap for part, gap in zip_longest(parts, gaps, fillvalue=""))
        assert joined(parts, gaps) == expected
