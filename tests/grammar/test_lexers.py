"""Lark's LALR parser and its basic and contextual lexers: exactly the texts of Lark, and no dead end."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lark import Lark
from lark.common import ParserConf
from lark.exceptions import LarkError
from lark.parsers.lalr_analysis import LALR_Analyzer

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.errors import LimitExceeded
from structkit.grammar.read import GrammarSource
from structkit.grammar.syntax import lalr
from structkit.grammar.syntax.lark_grammar import LarkOptions
from structkit.limits import Limits
from structkit.testing import ScriptedModel, byte_vocabulary
from tests.grammar.test_against_lark import IGNORED, PATTERNS, accepts, lark_accepts, shortest_rest
from tests.grammars.walk import VOCABULARY as BYTES
from tests.grammars.walk import random_text
from tests.reading import accepts as accepts_bytes
from tests.shared import ROOT, cases

LEXERS = [("earley", "basic"), ("lalr", "basic"), ("lalr", "contextual")]
TEXTS = ["".join(letters) for length in range(6) for letters in product("abc ", repeat=length)]


@contextmanager
def without_interegular(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lark compares terminals with interegular where it is installed, and fails for some."""
    with monkeypatch.context() as patched:
        patched.setattr("lark.lexer.has_interegular", False)
        yield


def read(text: str, parser: Any, lexer: Any) -> Automaton:
    return link(GrammarSource(text, options=LarkOptions(parser=parser, lexer=lexer)).rules)


IGNORE = "\n%ignore / +/"
NAME = "NAME: /[a-z]+/" + IGNORE

TABLE = [
    ('start: A "a"\nA: /a+/', "aa", "nnn"),
    ("start: A B\nA: /a+/\nB: /ab/", "aab", "nnn"),
    ("start: A\nA: /a|ab/", "ab", "nnn"),
    ('start: X "1" | Y "2"\nX: /abc/\nY: /ab[cd]/', "abc1", "nnn"),
    ('start: X "1" | Y "2"\nX: /abc/\nY: /ab[cd]/', "abc2", "yyy"),
    (f'start: "if" NAME\n{NAME}', "ifx", "nny"),
    (f'start: "if" NAME\n{NAME}', "if if", "nny"),
    (f'start: IF NAME\nIF.1: "if"\n{NAME}', "if iffy", "nny"),
    (f'start: KW NAME\nKW: "if" | "for"\n{NAME}', "if x", "nny"),
    ('start: n "-" n\nn: SIGNED_INT\n%import common.SIGNED_INT', "1-2", "nny"),
    (f'start: "a" " b"{IGNORE}', "a b", "nnn"),
    ("start: A /b+/\nA: /ab*(?!b)/", "ab", "nnn"),
    # A token ends under an obligation: `1.` could become a FLOAT, which comes first.
    ('start: INT DOT INT | "z" FLOAT\nINT: /[0-9]+/\nDOT: "."\nFLOAT: /[0-9]+\\.[0-9]+/', "1.5", "nny"),
    # A conflict is resolved as a shift, which loses all texts.
    ('start: "a" b "c"\nb: x*\nx: "a" | "c"', "ac", "ynn"),
    # A keyword in other letters stays a token of its own, but loses on width.
    ('start: "if"i NAME\nNAME: /[a-z]/\n%ignore " "', "iF x", "yyy"),
    # A terminal that is ignored is never part of a text, even where a rule names it.
    ('start: "a" "b"\n%ignore "b"', "ab", "nnn"),
]


@pytest.mark.parametrize(("grammar", "text", "expected"), TABLE)
def test_the_table_of_lexers(grammar: str, text: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for (parser, lexer), answer in zip(LEXERS, expected, strict=True):
        with without_interegular(monkeypatch):
            assert lark_accepts(Lark(grammar, parser=parser, lexer=lexer), text) == (answer == "y"), lexer
        try:
            found = accepts(read(grammar, parser, lexer), text)
        except sk.GrammarError:  # no text is in the language
            found = False
        assert found == (answer == "y"), (parser, lexer)


def documented_rows() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the grammar, the text and the answers of each row of the table in the documentation."""
    page = (ROOT / "docs/reference/grammars.md").read_text(encoding="utf-8")
    for line in page.split("| Grammar | Text |")[1].splitlines()[2:]:
        if not line.startswith("| "):
            return
        parts = line.split("`")
        rest = [cell.strip() for cell in parts[-1].split("|")[1:-1]]
        yield "\n".join(parts[1:-2:2]), parts[-2], rest


@pytest.mark.parametrize(("grammar", "text", "answers"), [*documented_rows()])
def test_the_table_of_the_documentation(
    grammar: str, text: str, answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lexers = [("earley", "dynamic"), ("earley", "dynamic_complete"), *LEXERS[:1], LEXERS[2], LEXERS[1]]
    for (parser, lexer), answer in zip(lexers, answers, strict=True):
        with without_interegular(monkeypatch):
            reader = Lark(grammar, parser=parser, lexer=lexer)  # type: ignore[arg-type]
        try:
            found = accepts(read(grammar, parser, lexer), text)
        except sk.GrammarError:  # no text is in the language
            found = False
        assert [lark_accepts(reader, text), found] == [answer == "yes"] * 2, (parser, lexer)


def test_the_table_of_the_documentation_has_rows() -> None:
    assert len([*documented_rows()]) >= 15


def random_grammar(choose: random.Random) -> str:
    words = ['"a"', '"ab"', '"b"', '"abc"', '"c"', '"A"i']
    terminals = {name: choose.choice([*PATTERNS, *words]) for name in "ABC"[: choose.randint(1, 3)]}
    symbols = [*terminals, '"a"', '"b"', '"c"', "x", "y"]

    def production() -> str:
        parts = [
            choose.choice(symbols) + choose.choice(["", "", "", "?", "*"])
            for _ in range(choose.randint(1, 3))
        ]
        return " ".join(parts)

    rules = {name: [production() for _ in range(choose.randint(1, 3))] for name in ("start", "x", "y")}
    if choose.random() < 0.3:
        rules[choose.choice(["start", "x", "y"])].append("")
    lines = [
        f"{name}{choose.choice(['', '', '.2']) if name != 'start' else ''}: {' | '.join(found)}"
        for name, found in rules.items()
    ]
    lines += [f"{name}{choose.choice(['', '', '.1'])}: {pattern}" for name, pattern in terminals.items()]
    if choose.random() < 0.4:
        lines.append(f"%ignore {choose.choice(IGNORED)}")
    return "\n".join(lines)


PARTS = [
    '"a" x "b"',
    'x "c" x',
    "y",
    'x "c"',
    '"a" y',
    '"b" x',
    "x y",
    '"a" x ["c" y] "b"',
    'y "a" x',
    '"c" x "a" x',
]
PARTS += ['x "a" y "b" x', '"ab"', "A", "B", '"a" y "c" x']


def recursive_grammar(choose: random.Random) -> str:
    """Return a grammar with brackets, operators and optional parts, most of which have conflicts."""
    lines = ["start: " + choose.choice(["x", "y", "x y", 'x "c"?', '"a" x'])]
    for rule in "xy":
        found = [choose.choice(PARTS) for _ in range(choose.randint(1, 3))]
        found.append(choose.choice(['"a"', '"b"', '"c"', "A", "B", ""]))
        lines.append(f"{rule}: {' | '.join(found)}")
    lines += [f"{name}: {choose.choice(PATTERNS)}" for name in "AB"]
    if choose.random() < 0.5:
        lines.append(f"%ignore {choose.choice(IGNORED)}")
    return "\n".join(lines)


def completion(grammar: sk.Grammar[str], text: str) -> str:
    """Return the rest of a text that the masks of a tight budget lead to."""
    cursor = sk.compile(grammar, byte_vocabulary(), cache=False).cursor()
    mask = np.zeros(len(cursor.guide.eos_mask), np.uint32)
    rest = bytearray()
    for byte in text.encode():
        cursor.advance(byte)
    while not cursor.is_accepting:
        cursor.fill_mask(mask, cursor.min_tokens_to_end())
        rest.append(int(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))[0]))
        cursor.advance(rest[-1])
    return rest.decode()


@contextmanager
def seconds(limit: float) -> Iterator[None]:
    """Raise `TimeoutError` after some seconds: Lark's LALR parser reduces without end in some grammars."""

    def expire(_: int, frame: FrameType | None) -> None:
        # Callbacks of the garbage collector swallow exceptions.
        if frame is not None and "lalr_parser" in frame.f_code.co_filename:
            raise TimeoutError

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, limit, 0.01)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.long(every=4)
@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs a timer of the process")
@pytest.mark.parametrize(("parser", "lexer"), LEXERS)
@pytest.mark.parametrize(
    "seed", [*range(cases(6, of=40)), *range(40, 40 + cases(3, of=60)), *range(100, 100 + cases(0, of=200))]
)
def test_random_grammars(seed: int, parser: Any, lexer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (recursive_grammar if 40 <= seed < 100 else random_grammar)(random.Random(seed))
    forest = {"ambiguity": "forest"} if parser == "earley" else {}
    try:
        with without_interegular(monkeypatch):
            lark = Lark(text, parser=parser, lexer=lexer, **forest)
    except LarkError:
        with pytest.raises(sk.GrammarError):
            read(text, parser, lexer)
        return
    try:
        with seconds(cases(1, of=3)):
            words = {each for each in TEXTS if lark_accepts(lark, each)}
    except TimeoutError:
        pytest.skip("Lark does not end")
    try:
        automaton = read(text, parser, lexer)
    except sk.GrammarError:
        assert not words
        return
    for each in TEXTS:
        assert accepts(automaton, each) == (each in words), (text, each)
    beginnings = {word[:length] for word in words for length in range(len(word) + 1)}
    for each in (each for each in TEXTS if len(each) < 4):
        frames = automaton.start_frames()
        for byte in each.encode():
            frames = automaton.step(frames, byte)
        assert frames or each not in beginnings, (text, each)
        if frames:
            rest = shortest_rest(automaton, frames)
            if rest is None:  # a long one
                rest = completion(sk.Grammar(text, parser=parser, lexer=lexer), each)
            assert lark_accepts(lark, each + rest), (text, each, rest)


def lookaheads(analyzer: Any) -> dict[frozenset[str], dict[str, set[str]]]:
    """Return the rules that end before each terminal, for each state of the parser."""
    return {
        frozenset(map(str, state.closure)): {
            symbol.name: set(map(str, rules)) for symbol, rules in state.lookaheads.items()
        }
        for state in analyzer.lr0_itemsets
    }


@pytest.mark.long
def test_the_analysis_of_an_lalr_grammar_is_that_of_lark() -> None:
    python = "%import python (file_input)\nstart: file_input\n%declare _INDENT _DEDENT"
    for text in [python, *(random_grammar(random.Random(seed)) for seed in range(100))]:
        rules = Lark(text).rules
        expected = LALR_Analyzer(ParserConf(rules, {}, ["start"]))
        try:
            expected.compute_lalr()
        except LarkError:
            continue
        analyzer = lalr._analyzed(SimpleNamespace(rules=rules), "start", Limits())
        assert lookaheads(analyzer) == lookaheads(expected), text


def test_a_rule_that_ends_with_itself_excludes_what_would_continue_it() -> None:
    """The conflict after `s "u" s` is a shift, so the outer rule never goes on after the inner one."""
    automaton = read('start: s ";"?\ns: "q" | s "u" s | "(" s ")"', "lalr", "contextual")
    assert all(accepts(automaton, text) for text in ("ququq;", "(quq)u(q)"))
    assert not any(accepts(automaton, text) for text in ("qu", "q;;"))


@pytest.mark.parametrize(("parser", "lexer"), LEXERS)
def test_the_budget_of_a_grammar_without_calls_is_exact(parser: Any, lexer: Any) -> None:
    vocabulary = sk.Vocabulary(tokens=[b"a", b"b", b"c", b"bc", b""], eos_token_ids={4})
    grammar = sk.Grammar('start: "ab" A\nA: "c" | "bb"', parser=parser, lexer=lexer)
    assert sk.compile(grammar, vocabulary, cache=False).cursor().min_tokens_to_end() == 2


def test_trees_come_from_the_same_parser() -> None:
    grammar = sk.Grammar(f'start: "if" NAME\n{NAME}', parser="lalr", value="tree")
    tree = sk.extract(ScriptedModel(["if if"]), "?", grammar)
    assert [str(child) for child in tree.children] == ["if"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('start: a | b\na: "x"\nb: "x"', "Reduce/Reduce"),
        ("start: A\nA: /a*/", "zero-width"),
        ('start: "a"\n%ignore B\nB: /b?/', "zero-width"),
        ("start: A\nA: /(a)\\1/", "not supported"),
    ],
)
@pytest.mark.parametrize("lexer", ["basic", "contextual"])
def test_grammars_that_are_refused(text: str, message: str, lexer: Any) -> None:
    with pytest.raises(sk.GrammarError, match=message) as caught:
        sk.Grammar(text, parser="lalr", lexer=lexer)
    assert caught.value.line >= 1


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ('start: "a" b "c"\nb: x*\nx: "a" | "c"', {"parser": "lalr"}, "Shift/Reduce conflict"),
        ("start: A | B\nA: /a+/\nB: /[ab]+/", {"parser": "lalr"}, "Collision"),
        ("start: A | B\nA: /a+/\nB: /[ab]+/", {"lexer": "basic"}, "Collision"),
        ("start: A | B\nA: /a+/\nB: /[ab]+/", {}, None),
        ("start: A | B\nA: /a+/\nB: /b+/", {"parser": "lalr"}, None),
    ],
)
def test_strict(text: str, options: dict[str, Any], message: str | None) -> None:
    if message is None:
        Lark(text, strict=True, **options)
        sk.Grammar(text, strict=True, **options)
        return
    with pytest.raises(LarkError, match=message):
        Lark(text, strict=True, **options)
    with pytest.raises(sk.GrammarError, match=message):
        sk.Grammar(text, strict=True, **options)


def test_a_terminal_that_is_only_declared_has_no_text() -> None:
    automaton = read('start: "a" | _INDENT "b"\n%declare _INDENT', "lalr", "contextual")
    assert (accepts(automaton, "a"), accepts(automaton, "b")) == (True, False)


def test_what_needs_the_dynamic_lexers() -> None:
    with pytest.raises(sk.GrammarError, match="has no holes") as caught:
        sk.Grammar("start: hole", parser="lalr", holes={"hole": int})
    assert caught.value.remedy == "use parser='earley' with lexer='dynamic'"
    grammar = sk.Grammar(f'start: "if" NAME\n{NAME}', parser="lalr")
    with pytest.raises(ValueError, match="dynamic lexer"):
        list(sk.stream(ScriptedModel(["if x"]), "?", grammar, rules=["start"]))


def test_a_grammar_with_too_many_productions() -> None:
    many = "\n".join(f'r{n}: "a{n}"' for n in range(3_000))
    with pytest.raises(sk.LimitExceeded):
        sk.Grammar("start: " + " | ".join(f"r{n}" for n in range(3_000)) + "\n" + many, parser="lalr")


@pytest.mark.long
def test_a_parser_with_exponentially_many_states() -> None:
    """The grammar of Ukkonen (1983), whose LR(0) automaton has more than 2 ** n states."""
    n = 20
    lines = ["start: " + " | ".join(f"a{i}" for i in range(n))]
    for i in range(n):
        own, end = f'"{chr(97 + i)}"', f'"{chr(65 + i)}"'
        others = [chr(97 + j) for j in range(n) if j != i]
        lines.append(f"a{i}: " + " | ".join(f'"{each}" a{i}' for each in others) + f" | {own} b{i} | {end}")
        lines.append(f"b{i}: " + " | ".join(f'"{each}" b{i}' for each in others) + f" | {own}")
    with pytest.raises(sk.LimitExceeded, match="the LALR parser of a grammar"):
        sk.Grammar("\n".join(lines), parser="lalr")


STRINGS = r"""
start: sum (";" sum)*
sum: term (("+" | "-") term)*
term: atom (("*" | "/") atom)*
atom: A | B | C | NAME | NAME "(" [sum ("," sum)*] ")" | "(" sum ")" | "[" [sum ("," sum)*] "]"
A: /"(\\\"|[^"])*"/
B: /'(\\\'|[^'])*'/
C: /`(\\\`|[^`])*`/
NAME: /[a-z]+/
%ignore " "
"""
"""Behind a string that ends with an escaped quotation mark, the mark may not come again."""

LASTING = ['"a\\"', "'\\'; `\\`", "\"a\\\" + 'b'"]


def test_texts_that_would_make_rules_too_large_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    found = Lark(STRINGS, parser="lalr")
    texts = ['a + "b\\"c" * f(\'x\', `y`)', "[`\\`\\``, 'a\\'b'];b", '"" - (`"`)']
    exact = sk.compile(sk.Grammar(STRINGS, parser="lalr"), BYTES, cache=False)
    limits = sk.Limits(work=100_000)
    assert not caplog.records
    grammar = sk.Grammar(STRINGS, parser="lalr", limits=limits)
    narrow = sk.compile(grammar, BYTES, cache=False)
    [record] = caplog.records
    assert "some texts of the terminals A, B, C of a grammar are left out" in record.getMessage()
    narrowed = [each for each in sk.explain(grammar).findings if each.kind == "narrowed"]
    assert [(each.name, each.line) for each in narrowed] == [("A", 6), ("B", 7), ("C", 8)]
    for text in texts + LASTING:
        found.parse(text)
        assert accepts_bytes(exact, text)
        assert accepts_bytes(narrow, text) == (text in texts)
    source = random.Random(0)
    for _ in range(cases(30, of=300)):
        found.parse(random_text(narrow, source, 40))


@pytest.mark.long
def test_a_terminal_is_not_left_out() -> None:
    grammar = STRINGS.replace(r'/"(\\\"|[^"])*"/', r'/".*"/')
    ahead = "start: A+\nA: /[ab](?=.{10}a)|b/"  # nothing ends the text otherwise
    for text, work in ((grammar, 200_000), (ahead, 10_000_000)):
        with pytest.raises(LimitExceeded, match="what its terminals require"):
            sk.Grammar(text, parser="lalr", limits=sk.Limits(work=work))


def test_rules_that_are_made_when_they_are_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structkit.grammar.product.network._MAX_EAGER", 0)
    guide = sk.compile(sk.Grammar(STRINGS, parser="lalr"), BYTES, cache=False)
    assert all(accepts_bytes(guide, text) for text in [*LASTING, "a*(b)"])
    assert not any(accepts_bytes(guide, text) for text in ["", '"a\\" + "b"', "'"])
    found = Lark(STRINGS, parser="lalr")
    for seed in range(10):
        found.parse(random_text(guide, random.Random(seed), 40))
    assert sk.explain(sk.Grammar(STRINGS, parser="lalr"))


def test_a_token_with_more_ends_than_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind each letter that ends `T`, other texts may not follow: names without a `c` as long as `T` could go on."""
    monkeypatch.setattr("structkit.grammar.product.network._MAX_EAGER", 0)
    text = 'start: T NAME ";" NAME\nT.1: /a[ab]{0,63}c/\nNAME: /[a-z]+/\n%ignore " "'
    with without_interegular(monkeypatch):
        lark = Lark(text, parser="lalr")
    guide = sk.compile(sk.Grammar(text, parser="lalr"), BYTES, cache=False)
    assert guide.cursor().min_tokens_to_end() >= len("acb;b")
    choose, verdicts = random.Random(0), set()
    for length in (0, 1, 2, 30, 61, 62, 63, 64):
        word = "a" + "".join(choose.choice("ab") for _ in range(length)) + "c"
        for rest in ("b;b", "bbc;b", " ac;b", " b;ac", f" {word[1:]};b", "cb;cb"):
            expected = lark_accepts(lark, word + rest)
            verdicts.add(expected)
            assert accepts_bytes(guide, word + rest) == expected, word + rest
    assert verdicts == {False, True}


@pytest.mark.parametrize("parser", ["earley", "lalr"])
def test_strict_refuses_conflicts_of_lalr_only(parser: Any) -> None:
    text = 'start: a | b\na: "x"\nb: "x"'
    if parser == "earley":
        assert sk.Grammar(text, parser=parser, strict=True).text == text
    else:
        with pytest.raises(sk.GrammarError, match="Reduce/Reduce collision"):
            sk.Grammar(text, parser=parser, strict=True)
