"""Events of the rules of a grammar."""

from __future__ import annotations

import asyncio
import random

import pytest
from lark import Token, Tree
from pydantic import BaseModel

import structkit as sk
from structkit.automaton.link import link
from structkit.grammar.incremental import Boundary, History
from structkit.grammar.read import GrammarSource
from structkit.grammar.syntax.lark_grammar import LarkOptions, Lexer
from structkit.regex.nodes import EMPTY, Rules
from structkit.targets.rule_reader import RuleReader
from structkit.testing import ScriptedModel
from tests.grammar.test_against_lark import random_grammar, walk
from tests.shared import cases

PAIRS = sk.Grammar(
    """
    start: pair ("," pair)*
    pair: NAME "=" value
    value: NAME | NUMBER
    NAME: /[a-zé]+/
    NUMBER: /[0-9]+/
    %ignore " "
    """
)


def shown(grammar: sk.Grammar[object], text: str, *rules: str) -> list[str]:
    """Return the events in short form, with adjacent text joined."""
    found: list[str] = []
    for event in sk.stream(ScriptedModel([text]), "Go", grammar, rules=rules):
        if isinstance(event, sk.RuleStart):
            found.append(f"<{event.path}>")
        elif isinstance(event, sk.RuleEnd):
            found.append(f"</{event.path}>")
        elif isinstance(event, sk.TextDelta):
            more = f"{event.path}: {event.text}"
            if found and found[-1].startswith(f"{event.path}: "):
                found[-1] += event.text
            else:
                found.append(more)
        else:
            found.append(type(event).__name__)
    return found


def test_each_named_rule_has_events() -> None:
    assert shown(PAIRS, "a = 1, bé=c", "pair", "value") == [
        "<pair[0]>", "pair[0]: a = ", "<pair[0].value[0]>", "pair[0].value[0]: 1", "</pair[0].value[0]>", "</pair[0]>",
        "$: , ",
        "<pair[1]>", "pair[1]: bé=", "<pair[1].value[0]>", "pair[1].value[0]: c", "</pair[1].value[0]>", "</pair[1]>",
        "StreamEnd",
    ]  # fmt: skip


def test_the_end_has_the_tree() -> None:
    ends = [
        event.tree
        for event in sk.stream(ScriptedModel(["a=1,b=c"]), "Go", PAIRS, rules=["value"])
        if isinstance(event, sk.RuleEnd)
    ]
    assert ends == [Tree("value", [Token("NUMBER", "1")]), Tree("value", [Token("NAME", "c")])]


def test_an_event_comes_with_the_byte_that_decides_it() -> None:
    stream = sk.stream(ScriptedModel(["a=1,b=c"]), "Go", PAIRS, rules=["pair"])
    for event in stream:
        if isinstance(event, sk.RuleEnd):
            break
    assert stream.text == stream.partial == "a=1,"


def test_a_hole_has_its_value() -> None:
    class Point(BaseModel):
        x: int

    grammar = sk.Grammar('start: "at " point', holes={"point": Point})
    (end,) = (
        event
        for event in sk.stream(ScriptedModel(['at {"x": 3}']), "Go", grammar, rules=["point"])
        if isinstance(event, sk.RuleEnd)
    )
    assert end.tree.children == [Point(x=3)]


def test_left_recursion_waits_for_the_end() -> None:
    sums = sk.Grammar('start: sum\n?sum: atom | sum "+" atom\natom: /[0-9]/ | "(" sum ")"')
    assert shown(sums, "1+2", "sum") == [
        "<sum[0]>", "<sum[0].sum[0]>", "sum[0].sum[0]: 1", "</sum[0].sum[0]>", "sum[0]: +2", "</sum[0]>", "StreamEnd",
    ]  # fmt: skip
    assert shown(sums, "(1)", "atom")[:3] == ["<atom[0]>", "atom[0]: (", "<atom[0].atom[0]>"]


def test_an_ambiguous_text_has_the_rules_of_the_tree() -> None:
    grammar = sk.Grammar('start: x | y\nx.2: a a\ny: a a a?\na: "a"+')
    events = shown(grammar, "aaa", "x", "y", "a")
    assert events[0] == "<x[0]>"
    assert events[-2:] == ["</x[0]>", "StreamEnd"]


def test_a_rule_that_looks_at_its_surroundings_waits_for_the_end() -> None:
    grammar = sk.Grammar('start: "x" a b\na: /(?<=x)y/\nb: "z"')
    assert shown(grammar, "xyz", "a", "b") == [
        "$: x", "<a[0]>", "a[0]: y", "</a[0]>", "<b[0]>", "b[0]: z", "</b[0]>", "StreamEnd",
    ]  # fmt: skip


def test_a_rejected_text_is_retracted() -> None:
    def refuse_one(value: str) -> None:
        if value.startswith("a"):
            raise ValueError("not a")

    events = list(sk.stream(ScriptedModel(["a=1", "b=1"]), "Go", PAIRS, rules=["pair"], validate=refuse_one))
    retracted = events.index(sk.FieldRetracted("$"))
    assert events[retracted + 1] == sk.RuleStart("pair[0]", "pair")
    assert "".join(e.text for e in events[retracted:] if isinstance(e, sk.TextDelta)) == "b=1"


def test_async_streams_have_the_same_events() -> None:
    async def main() -> list[object]:
        stream = sk.astream(ScriptedModel(["a=1,b=2"]), "Go", PAIRS, rules=["pair"])
        return [event async for event in stream]

    expected = list(sk.stream(ScriptedModel(["a=1,b=2"]), "Go", PAIRS, rules=["pair"]))
    assert asyncio.run(main())[:-1] == expected[:-1]


@pytest.mark.parametrize(
    ("target", "rules", "message"),
    [
        (PAIRS, ["pairs"], "the grammar has no rule 'pairs'; it has pair, start, value"),
        (
            PAIRS,
            ["NAME"],
            "'NAME' is a terminal, and only rules have events; write one of pair, start, value",
        ),
        (
            PAIRS,
            ["_pair"],
            "'_pair' begins with an underscore, so that Lark's trees do not have it; write one of pair",
        ),
        (int, ["pair"], "rules are those of a structkit.Grammar; int has none"),
        (sk.Grammar('root ::= "a"', syntax="gbnf"), ["root"], "for Lark grammars only"),
    ],
)
def test_unknown_rules_are_refused(target: sk.Grammar[str], rules: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sk.stream(ScriptedModel(["1"]), "Go", target, rules=rules)
    with pytest.raises(TypeError, match="rules must be a list of the names of rules, not 'pair'"):
        sk.stream(ScriptedModel(["1"]), "Go", target, rules="pair")


@pytest.mark.long(every=3)
@pytest.mark.parametrize("lexer", ["dynamic", "dynamic_complete"])
@pytest.mark.parametrize("seed", range(cases(15, of=40)))
def test_what_is_certain_is_in_the_derivation_of_lark(seed: int, lexer: Lexer) -> None:
    choose = random.Random(seed)
    source = GrammarSource(random_grammar(choose), options=LarkOptions(lexer=lexer))
    try:
        automaton = link(source.rules)
        reader = RuleReader(source, ["x", "y"], Rules(EMPTY, {}), lambda tree, text: None)
        texts = {walk(automaton, choose) for _ in range(20)}
    except (sk.GrammarError, sk.LimitExceeded, ValueError):
        return
    for text in filter(lambda text: source.lark.rejection(text) is None, texts):
        check_what_is_certain(source, reader, text)


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ('start: x A?\nx: C y?\ny: B\nA: /b/\nB: /b*c/\nC: /b+/\n%ignore " "', "bb b"),
        ('start: y | B A?\nx: B "a"?\ny: B "a" | x* "b" | y y\nA: /b+(?!c)/\nB: /(ab)+/', "abb"),
    ],
)
def test_rules_with_several_ends(grammar: str, text: str) -> None:
    """The rule above depends on what the last terminal requires of the text behind it."""
    source = GrammarSource(grammar, options=LarkOptions())
    check_what_is_certain(
        source, RuleReader(source, ["x", "y"], Rules(EMPTY, {}), lambda tree, text: None), text
    )


def check_what_is_certain(source: GrammarSource, reader: RuleReader, text: str) -> None:
    reader.clear()
    certain: list[object] = []
    for letter in text:
        reader.read(letter.encode())
        found = [each[:2] for each in reader.boundaries()[0]]
        assert found[: len(certain)] == certain
        certain = [*found]
    derivation = source.lark.derive(reader._lark, text, "start")
    if derivation is not None:
        rules = [
            (part.rule, part.start if begins else part.end)
            for part, begins in derivation.walk()
            if part.rule in ("x", "y") and part.start >= 0
        ]
        assert rules[: len(certain)] == certain, text
        assert [each[:2] for each in reader.boundaries(is_whole=True)[0]] == rules, text


def _history(choose: random.Random) -> History:
    """Return a history with a few boundaries, in their order."""
    places = sorted(choose.choices(range(4), k=choose.randrange(4)))
    known = tuple(Boundary(choose.choice("ab"), at, choose.random() < 0.5) for at in places)
    return History(known, choose.choice((None, None, 4, 5)))


def test_histories_are_joined_up_to_what_is_unknown() -> None:
    choose = random.Random(1)
    for _ in range(300):
        one, two, three = _history(choose), _history(choose), _history(choose)
        assert one.then(two).then(three) == one.then(two.then(three))
        assert one.then(History()) == History().then(one) == one
        ends_known = one.unknown_from is None
        expected = History(one.boundaries + two.boundaries, two.unknown_from) if ends_known else one
        assert one.then(two) == expected


def test_what_two_histories_have_in_common_holds_for_both() -> None:
    choose = random.Random(2)
    for _ in range(300):
        one, two = _history(choose), _history(choose)
        both = one.common(two)
        assert both == two.common(one) and one.common(one) == one
        assert one == two or both.unknown_from is not None
        for each in (one, two):
            known = len(both.boundaries)
            assert each.boundaries[:known] == both.boundaries
            later = [boundary.at for boundary in each.boundaries[known:]]
            later += [] if each.unknown_from is None else [each.unknown_from]
            assert all(both.unknown_from is not None and both.unknown_from <= at for at in later)
