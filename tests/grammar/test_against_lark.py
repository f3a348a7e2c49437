"""Random grammars against Lark: the same texts are accepted, and no text leads to a dead end."""

from __future__ import annotations

import random
import sys
from itertools import product

import pytest
from lark import Lark
from lark.exceptions import GrammarError as LarkGrammarError
from lark.exceptions import LarkError

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.stack import Frame
from structkit.grammar.read import GrammarSource
from structkit.grammar.syntax.lark_grammar import LarkOptions, Lexer, Parser
from tests.shared import cases

PATTERNS = [
    "/a+/", "/a|ab/", "/a+?/", "/ab*/", "/[ab]+/", "/a(?!b)/", "/a(?=b)/", "/(?<=a)b/", "/(?<!a)b/", "/b+(?!c)/",
    *(("/(?>a|ab)c?/", "/[ab]++/", "/(?:ab?)*+c/") if sys.version_info >= (3, 11) else ()),
    "/a(?=b(?!c))/", "/a(?!b(?=c))/", r"/(?!\bab\b)[ab]+/", r"/\w+\b/", r"/\bb/",
    "/a{1,2}/", "/c?a/", "/ab*c/", "/(ab)+/", "/a*b/", "/(a|b)*?c/",
]  # fmt: skip
IGNORED = ['" "', "/ +/", '"c"', "/c+/", "/ c*/", "/c(?!a)/"]
TEXTS = ["".join(letters) for length in range(6) for letters in product("abc ", repeat=length)]


def random_grammar(choose: random.Random) -> str:
    terminals = {
        name: choose.choice([*PATTERNS, '"a"', '"ab"', '"b"']) for name in "ABC"[: choose.randint(1, 3)]
    }
    symbols = [*terminals, '"a"', '"b"', "x", "y"]

    def production() -> str:
        parts = [
            choose.choice(symbols) + choose.choice(["", "", "", "?", "*"])
            for _ in range(choose.randint(1, 3))
        ]
        return " ".join(parts)

    rules = {name: [production() for _ in range(choose.randint(1, 3))] for name in ("start", "x", "y")}
    if choose.random() < 0.3:
        rules[choose.choice(["start", "x", "y"])].append("")
    lines = [f"{name}: {' | '.join(found)}" for name, found in rules.items()]
    lines += [f"{name}: {pattern}" for name, pattern in terminals.items()]
    if choose.random() < 0.4:
        lines.append(f"%ignore {choose.choice(IGNORED)}")
    return "\n".join(lines)


def lark_accepts(lark: Lark, text: str) -> bool:
    try:
        lark.parse(text)
    except LarkError:
        return False
    except RuntimeError:  # lark-parser/lark#1576: the text is in the language
        return True
    return True


def accepts(automaton: Automaton, text: str) -> bool:
    frames = automaton.start_frames()
    for byte in text.encode():
        frames = automaton.step(frames, byte)
    return bool(frames) and automaton.is_accepting(frames)


def walk(automaton: Automaton, choose: random.Random) -> str:
    """Return a text found by a random walk; fails at a dead end."""
    frames, text = automaton.start_frames(), ""
    for _ in range(8):
        following = {letter: after for letter in "abc " if (after := automaton.step(frames, ord(letter)))}
        assert following or automaton.is_accepting(frames), text
        if not following or (automaton.is_accepting(frames) and choose.random() < 0.3):
            break
        letter = choose.choice(sorted(following))
        text, frames = text + letter, following[letter]
    return text


def shortest_rest(automaton: Automaton, frames: frozenset[Frame]) -> str | None:
    """Return a shortest text after which the frames accept; `None` if there is none of up to 16 letters."""
    found, pending = {frames}, [(frames, "")]
    for frames, text in pending:
        if automaton.is_accepting(frames):
            return text
        for letter in "abc " if len(text) < 16 else "":
            after = automaton.step(frames, ord(letter))
            if after and after not in found:
                found.add(after)
                pending.append((after, text + letter))
    return None


@pytest.mark.long(every=3)
@pytest.mark.parametrize("lexer", ["dynamic", "dynamic_complete"])
@pytest.mark.parametrize("seed", range(cases(20, of=300)))
def test_random_grammars(seed: int, lexer: Lexer) -> None:
    """Every other grammar is one whose rules have no labels, as those of a language with distinct texts."""
    choose = random.Random(seed)
    text = random_grammar(choose)
    try:
        lark = Lark(text, parser="earley", lexer=lexer, ambiguity="forest")
    except LarkGrammarError:
        with pytest.raises(sk.GrammarError):
            sk.Grammar(text, lexer=lexer)
        return
    try:
        automaton = link(GrammarSource(text, options=LarkOptions(lexer=lexer), labelled=seed % 2 > 0).rules)
        assert seed % 2 or not automaton.has_labels
    except sk.GrammarError:
        assert not any(lark_accepts(lark, each) for each in choose.sample(TEXTS, 60)), text
        return
    try:
        for each in [*choose.sample(TEXTS, 40), *(walk(automaton, choose) for _ in range(15))]:
            assert accepts(automaton, each) == lark_accepts(lark, each), (text, each)
    except sk.LimitExceeded:
        pytest.skip("a very ambiguous grammar has too many ways to read a text")


@pytest.mark.long(every=3)
@pytest.mark.parametrize(
    ("parser", "lexer"),
    [("earley", "dynamic"), ("earley", "dynamic_complete"), ("lalr", "contextual"), ("lalr", "basic")],
)
@pytest.mark.parametrize(
    "grammar",
    [
        "start: (QUOTED | /a+/)+\nQUOTED: /(?P<n>[bc])(?:(?!(?P=n)).)*?(?P=n)/",
        "start: A? B\nA: /(?P<n>a|ab)c?/\nB: /(?P<m>b|c| )a*(?P=m)+/",
        'start: "a" DOC "b"*\nDOC: /<<(?P<n>a|ab|b)>.*?(?P=n)>/\n',
    ],
)
def test_back_references(grammar: str, parser: Parser, lexer: Lexer) -> None:
    lark = Lark(grammar, parser=parser, lexer=lexer)
    automaton = link(GrammarSource(grammar, options=LarkOptions(parser=parser, lexer=lexer)).rules)
    documents = [f"a<<{name}>{text}>b" for name in ("a", "ab", "b") for text in TEXTS[:400]]
    for text in TEXTS + documents * ("DOC" in grammar):
        assert accepts(automaton, text) == lark_accepts(lark, text), text


@pytest.mark.long(every=4)
@pytest.mark.parametrize(
    "pattern",
    [
        "abc|a(?=b)",
        "a(?=b+c)|ab+",
        "ab+c|a(?=b)",
        "[ab]+c|[ab]+?(?=b)",
        "a(?=.b)|a..?",
        "a(?!b)|abc?",
        r"(?!ab\b)[abc]+",
    ],
)
def test_beginnings_of_a_match_that_are_matched_alone(pattern: str) -> None:
    """`dynamic_complete` cuts a match off at each character, and a lookahead sees the text up to there."""
    for rest in ('"bc"', "/[abc]+/", '"b" A', "A A", '"c"* A?')[: cases(3, of=5)]:
        grammar = f"start: A {rest}\nA: /{pattern}/"
        lark = Lark(grammar, lexer="dynamic_complete", ambiguity="forest")
        automaton = link(GrammarSource(grammar, options=LarkOptions(lexer="dynamic_complete")).rules)
        for text in TEXTS:
            assert accepts(automaton, text) == lark_accepts(lark, text), (grammar, text)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [(r"(a|b)\1", r"write `\(\?P<name>"), ("(?P<n>a|b)(?P=n)", "write another name")],
)
def test_lark_joins_the_patterns_of_a_lexer(pattern: str, message: str) -> None:
    """Its `re.error` at a text is an error of the grammar."""
    grammar = f"start: A B\nA: /{pattern}/\nB: /(?P<n>a|b)c/"
    assert sk.Grammar(grammar)
    with pytest.raises(sk.GrammarError, match=message):
        sk.Grammar(grammar, parser="lalr")


@pytest.mark.long(every=3)
@pytest.mark.parametrize("lexer", ["dynamic", "dynamic_complete"])
@pytest.mark.parametrize("seed", range(1140, 1140 + cases(7, of=300)))
def test_prefixes(seed: int, lexer: Lexer) -> None:
    """Exactly the beginnings of texts of Lark are read."""
    text = random_grammar(random.Random(seed))
    try:
        automaton = link(GrammarSource(text, options=LarkOptions(lexer=lexer)).rules)
    except sk.GrammarError:
        return
    lark = Lark(text, parser="earley", lexer=lexer, ambiguity="forest")
    words = [word for word in TEXTS if len(word) < 5 and lark_accepts(lark, word)]
    beginnings = {word[:length] for word in words for length in range(len(word) + 1)}
    for each in (each for each in TEXTS if len(each) < 4):
        frames = automaton.start_frames()
        for byte in each.encode():
            frames = automaton.step(frames, byte)
        assert frames or each not in beginnings, each
        if frames:
            rest = shortest_rest(automaton, frames)
            assert rest is not None, each
            assert lark_accepts(lark, each + rest), (each, rest)
