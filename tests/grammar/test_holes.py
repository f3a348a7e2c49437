"""Holes of grammars: parts that are values of types."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from lark import Lark, Tree
from lark.indenter import PythonIndenter
from pydantic import BaseModel, Field, RootModel, field_validator

import structkit as sk
from structkit.rejected import Rejected
from structkit.targets.targets import read_target
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary
from tests.grammar.grammar_cases import SUM, accepts
from tests.grammars.walk import random_text
from tests.shared import SHARED

GRAMMARS = SHARED / "data" / "grammars"


needs_grammars = pytest.mark.skipif(not GRAMMARS.is_dir(), reason="needs the grammars of ../shared/data")


class Order(BaseModel):
    item: str
    count: Annotated[int, Field(le=9)]


HOLES = 'start: "buy(" order ("," order)* ")" (" at " price)?'


def test_holes_are_values_of_types() -> None:
    grammar = sk.Grammar(HOLES, holes={"order": Order, "price": sk.Regex(r"[0-9]+\.[0-9]{2}")}, value="tree")
    text = 'buy({"item": "tea", "count": 2},{"item": "}", "count": 3}) at 3.50'
    tree = sk.extract(ScriptedModel([text]), "Tea", grammar)
    values = [child.children[0] for child in tree.children if isinstance(child, Tree)]
    assert values == [Order(item="tea", count=2), Order(item="}", count=3), "3.50"]


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ({}, 'n={"a": 1, "b": null, "c": 2}'),
        ({"null": "omit"}, 'n={"a": 1, "c": 2}'),
        ({"defaults": "may_omit"}, 'n={"a": 1}'),
        ({"defaults": "may_omit", "null": "always"}, 'n={"a": 1, "b": null}'),
        ({"whitespace": "compact"}, 'n={"a":1,"b":null,"c":2}'),
    ],
)
def test_holes_follow_the_style_of_the_call(style: dict[str, str], text: str) -> None:
    class Settings(BaseModel):
        a: int
        b: int | None = None
        c: int = 2

    grammar = sk.Grammar('start: "n=" settings', holes={"settings": Settings}, value="tree")
    found = sk.generate(ScriptedModel([text]), "?", grammar, **style)  # type: ignore[call-overload]
    assert found.text == text
    (hole,) = found.value.find_data("settings")
    assert hole.children == [Settings(a=1)]


def test_each_text_with_holes_has_values() -> None:
    grammar = sk.Grammar(HOLES, holes={"order": Order, "price": sk.Choice(["3.50", "4"])}, value="tree")
    for seed in range(10):
        tree = sk.extract(RandomModel(seed=seed), "Tea", grammar, max_tokens=60)
        assert isinstance(tree.children[0].children[0], Order)


@pytest.mark.parametrize(
    ("rule", "hole", "valid", "invalid"),
    [
        ('start: e ["7"]', int, ["5", "57"], []),
        ('start: e [".5"]', int, ["5", "12"], ["5.5"]),
        ('start: e [".x"] "."?', int, ["5", "5.", "5.x."], []),
        ('start: e ["e3"]', float, ["1.5"], ["1.5e3"]),
        ('start: e ["7"]', Literal["a", 5], ['"a"', "5"], ["57"]),
        ('start: e ["7"]', Literal["a", "b"], ['"a"', '"b"7'], []),
        ("start: e f", str, ['"a"5'], []),
        ('start: e ["x"]', sk.Regex("[a-z]+"), ["ab", "abx"], []),
        ('start: e ["c"]', sk.Regex("a|ab"), ["a", "ac"], ["ab", "abc"]),
        ('start: e ["b"]', sk.Choice(["a", "aa"]), ["a", "aa", "ab", "aab"], []),
        ('start: e ["7"]', sk.Choice([1, 12]), ["1", "12"], ["17", "127"]),
        ('start: e ["7"]', {"type": ["integer", "boolean"]}, ["5", "true"], []),
    ],
    ids=str,
)
def test_no_text_continues_a_hole_that_lark_reads_as_longer(
    rule: str, hole: Any, valid: list[str], invalid: list[str]
) -> None:
    """Each text that is allowed has a value, because Lark divides it as the guide does."""
    holes = {"e": hole} | ({"f": int} if "f" in rule else {})
    grammar = sk.Grammar(rule, holes=holes, value="tree")
    for text in valid:
        assert accepts(grammar, text) and isinstance(read_target(grammar).parse(text), Tree), text
    for text in invalid:
        assert not accepts(grammar, text), text


def test_a_hole_is_read_that_python_does_not_read_as_a_number() -> None:
    grammar = sk.Grammar("start: e", holes={"e": {"type": "integer"}}, value="tree")
    rejected = read_target(grammar).parse("1" * 5_000)
    assert isinstance(rejected, Rejected) and "4300 digits" in rejected.message


class Note(BaseModel):
    text: str


@pytest.mark.parametrize("rule", ["start: (e | f)+", "start: (f | e)+", 'start: e* | f+ | "{}"'])
def test_a_hole_of_the_type_of_its_text_is_chosen(rule: str) -> None:
    grammar = sk.Grammar(rule, holes={"e": Order, "f": Note}, value="tree")
    note, order = Note(text="x"), Order(item="y", count=1)
    for values in ([note], [order], [note, note], [order, order], [order, note]):
        text = "".join(json.dumps(value.model_dump()) for value in values)
        if accepts(grammar, text):
            tree = sk.extract(ScriptedModel([text]), "x", grammar)
            assert [hole.children[0] for hole in tree.children] == values


@pytest.mark.parametrize("texts", [dict[str, int], set[int], list[str]], ids=str)
def test_texts_with_distinct_parts_behind_an_open_terminal_end_within_their_budget(texts: Any) -> None:
    """The terminal before the hole has ends that differ in what may follow."""
    grammar = sk.Grammar('start: /[a-z]+/? "," e\n%ignore /[ ,]+/', holes={"e": texts}, value="tree")
    guide, target = sk.compile(grammar, byte_vocabulary(), cache=False), read_target(grammar)
    for seed in range(4):
        text = random_text(guide, random.Random(seed), 30)
        assert isinstance(target.parse(text), Tree), text
    assert guide.cursor().min_tokens_to_end() == 3


class Queries(BaseModel):
    query: Annotated[str, sk.Grammar('start: /[a-z]+/ ("," /[a-z]+/)* x?\nx: /[0-9]+/\n%ignore / +/')]
    counts: dict[str, int]


def test_a_field_of_a_grammar_beside_distinct_keys_ends_within_its_budget() -> None:
    guide = sk.compile(Queries, byte_vocabulary(), cache=False)
    for seed in range(4):
        Queries.model_validate_json(random_text(guide, random.Random(seed), 60))


def test_a_number_that_would_be_too_long_for_its_type_is_divided() -> None:
    grammar = sk.Grammar(
        "start: e* | f*", lexer="dynamic_complete", holes={"e": str, "f": Literal[5]}, value="tree"
    )
    found = sk.extract(ScriptedModel(["555"]), "x", grammar)
    assert [hole.children for hole in found.children] == [[5], [5], [5]]


def test_holes_that_continue_each_other_are_refused() -> None:
    with pytest.raises(sk.GrammarError, match="put a separator between them"):
        sk.compile(sk.Grammar("start: e f", holes={"e": int, "f": float}), byte_vocabulary())


def test_a_validator_of_a_hole_is_asked_again() -> None:
    class Even(RootModel[int]):
        @field_validator("root")
        @classmethod
        def even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("odd")
            return value

    grammar = sk.Grammar('start: "n=" even', holes={"even": Even})
    result = sk.generate(ScriptedModel(["n=3", "n=4"]), "x", grammar)
    assert (result.value, result.attempts) == ("n=4", ("n=3", "n=4"))


FORMULA = 'start: sum\nsum: sum "+" atom | atom\natom: /[0-9]/ | "(" sum ")" | "\\""'


class Formula(BaseModel):
    text: Annotated[str, sk.Grammar(FORMULA)]


def test_a_field_follows_a_grammar() -> None:
    assert sk.extract(ScriptedModel([r'{"text": "1+(2+\"+3)"}']), "x", Formula) == Formula(text='1+(2+"+3)')
    for seed in range(10):
        value = sk.extract(RandomModel(seed=seed), "x", Formula, max_tokens=40)
        assert Lark(FORMULA).parse(value.text)
    with pytest.raises(sk.UnsupportedKeyword, match="other constraints"):
        sk.compile(Annotated[str, sk.Grammar(SUM), Field(max_length=3)], byte_vocabulary())
    with pytest.raises(sk.SchemaError, match="only to strings"):
        sk.compile(Annotated[int, sk.Grammar(SUM)], byte_vocabulary())


@needs_grammars
@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(folder, marks=pytest.mark.long if folder.name in ("python", "sql") else ())
        for folder in (sorted(GRAMMARS.iterdir()) if GRAMMARS.is_dir() else [])
    ],
    ids=lambda path: path.name,
)
def test_labelled_texts(folder: Path) -> None:
    if not folder.is_dir():
        pytest.skip("not a grammar")
    options = json.loads((folder / "options.json").read_text())
    if options.get("syntax") == "gbnf":
        guide = sk.compile(sk.Grammar(folder / "grammar.gbnf", syntax="gbnf"), byte_vocabulary(), cache=False)
        check_labels(guide, folder)
        return
    names = ("start", "parser", "lexer", "maybe_placeholders", "priority", "g_regex_flags")
    arguments = {name: options[name] for name in names if name in options}
    if options.get("postlex") == "PythonIndenter":
        arguments["postlex"] = PythonIndenter()
    paths = [folder / name for name in options.get("import_paths", ())]
    grammar = sk.Grammar(folder / "grammar.lark", import_paths=paths, **arguments)
    check_labels(sk.compile(grammar, byte_vocabulary(), cache=False), folder)


def check_labels(guide: sk.Guide, folder: Path) -> None:
    for line in (folder / "cases.jsonl").read_text().splitlines():
        case = json.loads(line)
        cursor = guide.cursor()
        try:
            for byte in case["text"].encode():
                cursor.advance(byte)
            found = cursor.is_accepting
        except sk.TokenRejected:
            found = False
        assert found == case["valid"], case


@pytest.mark.parametrize(
    ("text", "holes", "message"),
    [
        ('start: "a" age', {"aeg": int}, "'age' used but not defined.*write aeg"),
        ('start: age\nage: "b"', {"age": int}, "defined more than once.*leave out this one, or the hole"),
        ('start: a\na: "b"\na: "c"', {}, "defined more than once.*join its definitions with |"),
    ],
)
def test_a_slip_in_a_hole_has_a_remedy(text: str, holes: dict[str, Any], message: str) -> None:
    with pytest.raises(sk.GrammarError, match=f"(?s){message}"):
        sk.Grammar(text, holes=holes)


def test_a_hole_that_no_rule_uses_is_an_error() -> None:
    with pytest.raises(ValueError, match="does not use the hole 'age'; write age in a rule"):
        sk.Grammar('start: "a" aged\naged: "b"', holes={"age": int})


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(?i)ab", "AB"),
        (re.compile("ab", re.IGNORECASE), "aB"),
        (re.compile("a b  # c\n c", re.VERBOSE), "abc"),
        (re.compile("a b  # c", re.VERBOSE), "ab"),
        ("(?s)a.b", "a\nb"),
        (r"a\/b/c", "a/b/c"),
        (r"a\\/", "a\\/"),
        ("a\nb\\\nc", "a\nb\nc"),
        (r"^\d+$", "12"),
        (r"^(?:a|b)\Z", "b"),
    ],
)
def test_flags_slashes_and_line_breaks_of_a_pattern(pattern: str | re.Pattern[str], text: str) -> None:
    grammar = sk.Grammar('start: "<" hole ">"', holes={"hole": sk.Regex(pattern)}, value="tree")
    tree = sk.extract(ScriptedModel([f"<{text}>"]), "x", grammar)
    assert tree.children[0].children == [text]


@pytest.mark.parametrize("target", [sk.Regex("a*"), sk.Regex("(?=a)"), sk.Choice(["", "b"])])
def test_a_hole_that_can_be_empty_is_named(target: object) -> None:
    with pytest.raises(
        sk.GrammarError, match=r"(?s)the hole `item` can be empty.*optional where it is used"
    ) as caught:
        sk.Grammar('start: "x"\n     | item "y"', holes={"item": target})
    assert (caught.value.line, caught.value.column) == (2, 8)


@pytest.mark.parametrize(
    "pattern", ["a+", "^a+$", r"\Aa+\Z", "(?x)^ a+ $", "(?x) a+ $", "(?x)^ a+ # $", "(?ix)^a+$"]
)
def test_anchors_at_the_ends_of_a_hole_are_those_of_its_text(pattern: str) -> None:
    grammar = sk.Grammar('start: "<" name ">"', holes={"name": sk.Regex(pattern)})
    for text in ("<>", "<a>", "<aa>", "<a a>", "<b>", "a"):
        assert accepts(grammar, text) == (text in ("<a>", "<aa>")), text


@pytest.mark.parametrize("option", ["é", "😀", 'a"b', "a\\b", "\u2028", "\x7f", "\\u00e9"])
def test_options_of_any_characters_are_written_as_they_are(option: str) -> None:
    grammar = sk.Grammar('start: "<" hole ">"', holes={"hole": sk.Choice([option, "other"])}, value="tree")
    tree = sk.extract(ScriptedModel([f"<{option}>"]), "x", grammar)
    assert [child.children[0] for child in tree.children if isinstance(child, Tree)] == [option]
