"""Grammars that would take minutes or gigabytes: the work on their automata is bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from pydantic import TypeAdapter

import structkit as sk
from structkit.automaton.construct import compile_rule
from structkit.automaton.construct.nfa import Nfa
from structkit.automaton.core.dfa import Dfa
from structkit.errors import GrammarError, LimitExceeded
from structkit.grammar.product.network import rules_of
from structkit.grammar.read import GrammarSource, Syntax
from structkit.grammar.syntax.gbnf import read_gbnf
from structkit.grammar.syntax.kbnf import read_kbnf
from structkit.grammar.syntax.lark_grammar import LarkOptions, Lexer, Parser
from structkit.limits import Limits
from structkit.regex.nodes import Network
from structkit.testing import byte_vocabulary

MAX_WORK = 12_000_000
"""States of subsets, which take about 0.1 µs each."""

HOSTILE = {
    "nested repetitions": "root ::= " + '("a" | "(" root ' * 300 + '"a"' + ")*" * 300,
    "rules that begin with each other": "\n".join(
        f'r{n} ::= r{(n + 1) % 800} "(" r{(n * 7 + 3) % 800} ")" | "x"' for n in range(800)
    )
    + "\nroot ::= r0",
    "rules that begin with each other behind empty ones": "\n".join(
        f'r{n} ::= e{n} r{(n + 1) % 300} "a" | "x"\ne{n} ::= "y"?' for n in range(300)
    )
    + "\nroot ::= r0",
    "exponential automata": "\n".join(f'r{n} ::= [ab]* "a" [ab]{{13}} "c{n}"' for n in range(400))
    + "\nroot ::= "
    + " ".join(f"r{n}" for n in range(400)),
    "optional calls": "root ::= "
    + " ".join(f"x{n}?" for n in range(800))
    + "\n"
    + "\n".join(f'x{n} ::= "a{n}" root?' for n in range(800)),
    "copies of large classes": "root ::= "
    + " ".join(
        "[" + "".join(chr(0x100 + (n * copy * 7) % 30_000) for n in range(60)) + "]*"
        for copy in range(1, 600)
    ),
}


@pytest.mark.long(every=3)
@pytest.mark.parametrize("grammar", HOSTILE.values(), ids=HOSTILE)
def test_the_work_is_bounded(grammar: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = 0
    determinize = compile_rule._determinize

    def counted(nfa: Nfa, limits: Limits) -> Dfa:
        nonlocal work
        work += nfa.size
        try:
            dfa = determinize(nfa, limits)
        except LimitExceeded:
            work += min(limits.states * 10, limits.transitions)
            raise
        work += dfa.work + dfa.targets.size // 16
        return dfa

    monkeypatch.setattr(compile_rule, "_determinize", counted)
    try:
        rules = rules_of(read_gbnf(grammar))
    except LimitExceeded:
        pass
    else:
        assert sum(len(node.moves) for node in rules.rules.values() if isinstance(node, Network)) < 100_000
    assert work < MAX_WORK


@pytest.mark.parametrize(
    ("syntax", "text", "states", "message"),
    [
        (
            "gbnf",
            'root ::= "x" | big "(" root ")" | '
            + " ".join(f"r{n}" for n in range(30))
            + '\n\nbig ::= [ab]* "a" [ab]{11} "c"\n'
            + "\n".join(f'r{n} ::= [ab]* "a" [ab]{{10}} "c{n}"' for n in range(30)),
            5_000,
            "the largest that of `big`, exceeds",
        ),
        (
            "gbnf",
            'root ::= "x" | big "(" root ")"\n\nbig ::= [ab]* "a" [ab]{13} "c"',
            1_000,
            "the automaton of a rule exceeds",
        ),
        (
            "lark",
            'root: "x" | BIG "(" root ")"\n\nBIG: /[ab]*a[ab]{8}c/',
            100,
            "the automaton of a rule exceeds",
        ),
    ],
)
def test_the_error_names_the_line_of_the_rule(syntax: Syntax, text: str, states: int, message: str) -> None:
    source = GrammarSource(text, "big.txt", syntax, LarkOptions(start="root"), limits=Limits(states=states))
    with pytest.raises(LimitExceeded, match=message) as caught:
        _ = source.rules
    assert caught.value.place == "big.txt, line 3"


@pytest.mark.parametrize(
    ("grammar", "what"),
    [
        (
            "\n".join(f"T{n}: T{n + 1} T{n + 1}" for n in range(30)) + '\nT30: "a"\nstart: T0',
            "the terminal T1",
        ),
        (
            "\n".join(f'T{n}: (T{n + 1} | "b") (T{n + 1} | "c")' for n in range(30))
            + '\nT30: "a"\nstart: T0',
            "the terminal T1",
        ),
        pytest.param(
            "\n".join(f"r{n}: /(a|b)*a(a|b){{8}}{n}/ start?" for n in range(300))
            + "\nstart: "
            + " | ".join(f"r{n}" for n in range(300)),
            "the terminal __ANON_",
            marks=pytest.mark.long,
        ),
        ("start: /" + "a?" * 2_000 + "b/", "the terminal __ANON_0"),
    ],
)
def test_large_terminals_are_refused(grammar: str, what: str) -> None:
    source = GrammarSource(grammar)
    with pytest.raises(LimitExceeded, match=what):
        _ = source.rules


LOOKAROUND = "start: (A | B)+\n\nA: /(?<!a.{%d})x+/\nB: /[a-z]/"


@pytest.mark.parametrize(
    "options",
    [LarkOptions(), LarkOptions(lexer="dynamic_complete"), LarkOptions(parser="lalr")],
    ids=["dynamic", "dynamic_complete", "lalr"],
)
def test_lookarounds_are_bounded_by_the_work(options: LarkOptions) -> None:
    few = Limits(work=40_000)
    assert GrammarSource(LOOKAROUND % 3, options=options).rules.rules
    source = GrammarSource(LOOKAROUND % 3, "look.lark", options=options, limits=few)
    with pytest.raises(LimitExceeded, match=r"exceeds the limit work=40000\n.*Limits\(work=") as caught:
        _ = source.rules
    assert caught.value.limit == "work"
    assert caught.value.place in ("look.lark, line 1", "look.lark, line 3", "look.lark, line 4")


@pytest.mark.parametrize("pattern", ["(?<!a.{12})x+", "(?:(?<=a.{9}b)c|[a-z])+", "(?:(?!.{15}b)[a-z])+"])
def test_exponential_lookarounds_are_refused(pattern: str) -> None:
    source = GrammarSource(f"start: (A | B)+\nA: /{pattern}/\nB: /[a-z]/", limits=Limits(work=1_000_000))
    with pytest.raises(LimitExceeded, match="work=1000000"):
        _ = source.rules


def test_exits_behind_one_another_do_not_repeat() -> None:
    """The lists of trie nodes at which rules end grew with each row, beyond the array in which they are united."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"x" * size for size in (2, 3, 4, 8, 16)] + [b""]
    vocabulary = sk.Vocabulary(tokens=tokens, eos_token_ids={len(tokens) - 1})
    rules = "\n".join(f"r{n} ::= r{n + 1} r{n + 1}" for n in range(14))
    grammar = sk.Grammar(f'root ::= r0\n{rules}\nr14 ::= "x"?', syntax="gbnf")
    cursor = sk.compile(grammar, vocabulary, cache=False).cursor()
    mask = np.zeros(vocabulary.mask_words, np.uint32)
    allowed = [ord("x"), *range(256, len(tokens))]
    for _ in range(8):
        cursor.fill_mask(mask)
        assert np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist() == allowed
        cursor.advance(258)


@pytest.mark.parametrize(
    "files",
    [
        {"a": "a: " + " | ".join(f'"x{n}"' for n in range(10_000))},
        {"a": '%import .a (a) -> b\na: "x" b'},
        {
            **{f"f{n}": f"%import .f{n + 1} (a) -> b\n%import .g{n + 1} (a) -> c\na: b c" for n in range(20)},
            **{f"g{n}": f"%import .f{n + 1} (a) -> b\n%import .g{n + 1} (a) -> c\na: b c" for n in range(20)},
            "a": '%import .f0 (a) -> b\na: "x" b',
        },
    ],
    ids=["large", "of itself", "doubling"],
)
def test_large_imports_are_refused(files: dict[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / f"{name}.lark").write_text(text, encoding="utf-8")
    with pytest.raises((LimitExceeded, GrammarError)) as caught:
        sk.Grammar("%import .a (a)\nstart: a", import_paths=[tmp_path])
    if isinstance(caught.value, LimitExceeded):
        assert caught.value.limit == "grammar_length"
        assert caught.value.place is not None and ".lark" in caught.value.place


def test_a_terminal_that_is_only_declared_is_refused() -> None:
    source = GrammarSource('start: "a" _INDENT\n%declare _INDENT')
    with pytest.raises(GrammarError, match="_INDENT is only declared"):
        _ = source.rules


def test_many_large_complements_are_refused() -> None:
    parts = [f"#ex'(a|b)*a(a|b){{11}}{n}' '.'" for n in range(700)]
    with pytest.raises(LimitExceeded, match="complements"):
        read_kbnf(f"start ::= {' '.join(parts)};")


def test_the_grammar_of_a_json_schema_reads_no_file(tmp_path: Path) -> None:
    (tmp_path / "letters.lark").write_text('b: "b"\n', encoding="utf-8")
    path = tmp_path / "own.lark"
    path.write_text('start: "a" b\n%import .letters.b\n', encoding="utf-8")
    written = TypeAdapter(Annotated[str, sk.Grammar(path)])
    assert sk.to_regex(Annotated[str, sk.Grammar(path)]) == '"ab"'
    schema = written.json_schema()
    with pytest.raises(sk.GrammarError, match=r"letters\.lark is not found"):
        sk.to_regex(schema)
    schema["x-structkit-grammar"][3][3] = [str(tmp_path)]
    schema["x-structkit-grammar"][0] = 'start: "a" b\n%import letters.b\n'
    with pytest.raises(sk.GrammarError, match=r"letters\.lark is not found"):
        sk.to_regex(schema)


@pytest.mark.parametrize(
    "value", [None, {}, [], ["a", None, "lark", []], ["a", None, "lark", [*range(9)]], [1, 2, 3, 4]]
)
def test_a_grammar_keyword_of_another_shape_is_refused(value: object) -> None:
    with pytest.raises(sk.SchemaError, match="must be text, path, syntax and options"):
        sk.to_regex({"type": "string", "x-structkit-grammar": value})


def test_too_many_parses_name_the_rule() -> None:
    rules = [f'r{n}: r{(n + 1) % 30} "a" r{(n * 7 + 3) % 30} |' for n in range(30)]
    vocabulary = byte_vocabulary()
    guide = sk.compile(sk.Grammar("start: r0\n" + "\n".join(rules)), vocabulary, cache=False)
    mask = np.zeros(vocabulary.mask_words, np.uint32)
    cursor = guide.cursor()

    def read() -> None:
        for _ in range(20):
            cursor.advance(ord("a"))
            cursor.fill_mask(mask)

    with pytest.raises(LimitExceeded, match="most of them in this rule") as caught:
        read()
    assert (caught.value.place or "").strip("0123456789") == "r"


def test_an_lalr_rule_may_have_eight_optional_parts() -> None:
    """As a `SELECT` has them: their combinations are 256 productions, which 16 levels of operators can contain."""
    parts = " ".join(f'["{part}" e0]' for part in "abcdefg")
    levels = "\n".join(f'e{n}: e{n + 1} | e{n} "{n}" e{n + 1}' for n in range(16))
    grammar = f'start: q\nq: "s" e0 {parts} ["u" q]\n{levels}\ne16: "x" | "(" q ")"'
    cursor = sk.compile(sk.Grammar(grammar, parser="lalr"), byte_vocabulary(), cache=False).cursor()
    for byte in b"sxbx3(sxgx)usx":
        cursor.advance(byte)
    assert cursor.is_accepting


def test_the_states_of_an_lalr_parser_are_bounded() -> None:
    """Each level of operators begins in the states of all levels above it."""

    def grammar(levels: int, work: int) -> GrammarSource:
        lines = "\n".join(f'e{n}: e{n + 1} | e{n} "o{n}" e{n + 1}' for n in range(levels))
        text = f'start: e0\n{lines}\ne{levels}: "x"'
        return GrammarSource(text, options=LarkOptions(parser="lalr"), limits=Limits(work=work))

    with pytest.raises(LimitExceeded, match="the LALR parser of a grammar exceeds the limit work"):
        _ = grammar(300, Limits().work).cfg
    with pytest.raises(LimitExceeded, match=r"(?s)the LALR parser .* or pass Limits\(work=\.\.\.\)"):
        _ = grammar(20, 20_000).cfg
    assert grammar(20, 200_000).cfg.start


def test_what_an_lalr_parser_expects_is_bounded() -> None:
    """Behind each of 800 optional rules, any later one may come; the limit of the work is reached much later."""
    names = [f"x{number}" for number in range(800)]
    rules = "\n".join(f'{name}: "{name}"?' for name in names)
    source = GrammarSource(f"start: {' '.join(names)}\n{rules}", options=LarkOptions(parser="lalr"))
    with pytest.raises(
        LimitExceeded, match="what the LALR parser of a grammar expects exceeds the limit work"
    ):
        _ = source.cfg


def test_a_conflict_is_found_before_a_terminal_is_too_large() -> None:
    source = GrammarSource(
        "start: a | b\na: A\nb: A\nA: /" + "a?" * 2_000 + "b/", options=LarkOptions(parser="lalr")
    )
    with pytest.raises(GrammarError, match=r"before \$END, the parser could end (a or b|b or a)"):
        _ = source.rules


@pytest.mark.parametrize(
    ("text", "message"),
    [("\ufeffstart: 'a'", "begins with a byte order mark"), ('start: "a\0"', "contains the character NUL")],
)
def test_characters_that_no_grammar_has_are_named(text: str, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        sk.Grammar(text)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (r'start: "\q\8\x"', 9, r"truncated \xXX escape in `\q\8\x`; write `\\` for a backslash"),
        (r'start: "a" /\x4/', 13, r"truncated \xXX escape in `\x4`; write"),
        ('start: "a" "\ud800"', 13, "half of a surrogate pair; decode its text as UTF-8"),
    ],
)
def test_escapes_and_characters_that_do_not_exist(text: str, column: int, message: str) -> None:
    with pytest.raises(sk.GrammarError) as caught:
        sk.Grammar(text)
    assert message in caught.value.message
    assert caught.value.column == column


def test_the_line_of_a_pattern_without_a_name() -> None:
    with pytest.raises(sk.LimitExceeded, match="at `line 2`"):
        sk.Grammar('start: "a"\n    | /(a|b)*a(a|b){25}/')


def test_files_that_import_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.lark").write_text("%import .b (x)\ny: x")
    (tmp_path / "b.lark").write_text("%import .a (y)\nx: y")
    with pytest.raises(sk.GrammarError, match="or files import each other") as caught:
        sk.Grammar("\n%import a (y)\nstart: y", import_paths=[tmp_path])
    assert caught.value.line == 2


@pytest.mark.parametrize("parser", ["earley", "lalr"])
def test_nested_counts_are_not_written_out(parser: Parser) -> None:
    grammar = 'start: ((("a"~49)~49)~49)~49 "b"'
    if parser == "lalr":
        with pytest.raises(sk.LimitExceeded, match="at `line 1`"):
            sk.Grammar(grammar, parser=parser)
    else:
        guide = sk.compile(sk.Grammar(grammar), byte_vocabulary(), cache=False)
        assert guide.cursor().min_tokens_to_end() == 49**4 + 1


@pytest.mark.long
def test_nested_ranges_of_counts_are_bounded_before_they_are_counted() -> None:
    grammar = f'start: {"(" * 8}"a"{")~0..49" * 8}'
    assert sk.Grammar(grammar)
    with pytest.raises(sk.LimitExceeded, match="at `line 1`"):
        sk.Grammar(grammar, parser="lalr")


def test_a_comment_may_contain_what_lark_reads_there() -> None:
    assert sk.Grammar('start: "a" // \0')


@pytest.mark.parametrize(
    ("parser", "lexer"), [("earley", "dynamic"), ("earley", "basic"), ("lalr", "contextual")]
)
def test_the_start_that_needs_a_declared_terminal(parser: Parser, lexer: Lexer) -> None:
    with pytest.raises(GrammarError, match="_X is only declared") as raised:
        sk.Grammar("start: _X\n%declare _X", parser=parser, lexer=lexer)
    assert str(raised.value).endswith("pass the postlex that makes it")


@pytest.mark.parametrize("opening", ["[", "("])
def test_groups_that_lark_cannot_read(opening: str) -> None:
    """In brackets, the error of Python is inside one of Lark."""
    closing = {"[": "]", "(": ")"}[opening]
    for depth in (300, 3_000):
        text = "start: " + opening * depth + '"a"' + closing * depth
        if opening == "[" or depth == 3_000:
            with pytest.raises(
                GrammarError, match=r"nested too deeply(?s:.*)write its inner groups as rules"
            ):
                sk.Grammar(text)


def test_terminals_that_lark_cannot_compare() -> None:
    """The package with which Lark compares the terminals of strict grammars raises an `AttributeError`."""
    with pytest.raises(GrammarError, match="strict=True compares no terminals with anchors"):
        sk.Grammar("start: A | B\nA: /a$/\nB: /^b/", lexer="basic", strict=True)
