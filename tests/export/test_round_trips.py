"""Printed grammars, read again, have the texts of the target."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from itertools import combinations, product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark, UnexpectedInput

import structkit as sk
from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.errors import LimitExceeded, UnsatisfiableSchema
from structkit.export.gbnf import format_gbnf
from structkit.export.lark import format_lark
from structkit.regex.nodes import CharClass, LiteralText, Node, Repeat, Rules, Seq
from structkit.targets.targets import AnyTarget, read_target
from tests.languages import nodes, texts
from tests.shared import SHARED, cases
from tests.zoo import ZOO

LIMITS = sk.Limits(grammar_length=3_000_000)
MASKBENCH = SHARED / "data" / "maskbench" / "sample.jsonl.gz"
MAX_GRAMMAR = 12_000
"""Characters of a grammar that is read again; longer ones take seconds."""

GRAMMARS: dict[str, Callable[[], AnyTarget]] = {
    "arithmetic": lambda: sk.grammars.arithmetic(["x"]),
    "csv": lambda: sk.grammars.csv({"name": str, "age": int}),
    "iso8601": lambda: sk.grammars.iso8601(),
    "mermaid": lambda: sk.grammars.mermaid_flowchart(),
    "python": lambda: sk.grammars.python_expression(["x"]),
    "regular expression": lambda: sk.grammars.regular_expression(),
    "smiles": lambda: sk.grammars.smiles(2),
    "sqlite": lambda: sk.grammars.sqlite_select({"people": ["name", "age"]}),
    "unified diff": lambda: sk.grammars.unified_diff(["a.py"], max_lines=2),
    "parentheses": lambda: sk.Grammar('start: "(" start ")" start | "x"?'),
    "left recursion": lambda: sk.Grammar('start: start "+" start | /[0-9]+/\n%ignore " "'),
    "regex": lambda: sk.Regex(r"a(?!b).*é{2,}|\w{3}"),
    "choice": lambda: sk.Choice(["yes", "yes, maybe", '"no"\\', "\n", ""]),
    "length": lambda: {"type": "string", "minLength": 2_001, "maxLength": 2_345},
}
"""They are read when a test needs them, since collecting the tests would take a second longer in each process."""


def _walk(automaton: Automaton, chance: Random, length: int = 60) -> bytes | None:
    """Return a random text; after `length` bytes closing brackets and quotes are preferred."""
    reader, frames, text = Reader(automaton), automaton.start_frames(), b""
    for _ in range(3_000):
        if automaton.is_accepting(frames) and (len(text) > length or chance.random() < 0.3):
            return text
        following = sorted(set(automaton.next_bytes(frames)))
        plain = [byte for byte in following if byte in b'"\\{}[]:,. 0159-+aeux']
        closing = [byte for byte in following if byte in b'"}])0\n'] if len(text) > length else []
        byte = chance.choice(closing or (plain if plain and chance.random() < 0.7 else following) or [0])
        after = reader.read(frames, b"", bytes([byte]))[0]
        if after:
            frames, text = after, text + bytes([byte])
    return None


def _changed(text: bytes, chance: Random) -> bytes:
    """Return a text with one or two random edits."""
    letters = list(text.decode(errors="replace"))
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(len(letters) + 1)
        replaced = chance.choice((0, 1, 1, 2))
        letters[at : at + replaced] = chance.choice(["", *'"\\{}[]:, 0159.+-aeué😀\n'])
    return "".join(letters).encode()


def _texts(automaton: Automaton, seed: str, walks: int) -> set[bytes]:
    chance = Random(seed)
    walked = [text for _ in range(walks) if (text := _walk(automaton, chance)) is not None]
    return {*walked, *(_changed(text, chance) for text in walked for _ in range(2)), b""}


def _reader(grammar: sk.Grammar[str]) -> Reader:
    return Reader(link(read_target(grammar).rules()))


def _assert_same(rules: Rules, seed: str, walks: int = 30) -> None:
    """Assert that both grammars have exactly the texts of the rules, on random texts."""
    automaton = link(rules)
    expected = Reader(automaton)
    samples = _texts(automaton, seed, walks)
    for syntax, text in (("gbnf", format_gbnf(rules)), ("lark", format_lark(rules))):
        if len(text) > MAX_GRAMMAR:
            continue
        grammar = sk.Grammar(text, syntax="gbnf" if syntax == "gbnf" else "lark", limits=LIMITS)
        printed = _reader(grammar)
        wrong = [sample for sample in samples if printed.accepts(sample) != expected.accepts(sample)]
        assert not wrong, (syntax, wrong[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", sorted(Random(0).sample(sorted(ZOO), cases(6, of=60))))
def test_types(name: str) -> None:
    _assert_same(read_target(ZOO[name].target).rules(source=" ? "), name)


@pytest.mark.long(every=3)
@pytest.mark.parametrize("name", GRAMMARS)
def test_grammars_patterns_and_choices(name: str) -> None:
    target = GRAMMARS[name]()
    _assert_same(read_target(target).rules(), name, cases(4, of=60))


@pytest.mark.long
@pytest.mark.skipif(not MASKBENCH.exists(), reason="the schemas of MaskBench are not there")
def test_schemas_of_maskbench() -> None:
    with gzip.open(MASKBENCH) as lines:
        schemas = [json.loads(line)["schema"] for line in lines][: cases(10, of=60)]
    checked = 0
    for number, schema in enumerate(schemas):
        try:
            rules = read_target(schema).rules()
            format_gbnf(rules)
        except (sk.SchemaError, LimitExceeded):
            continue
        _assert_same(rules, str(number), 4)
        checked += 1
    assert checked >= 0.9 * len(schemas)


@settings(max_examples=cases(33, of=200), deadline=None)
@given(nodes, st.lists(texts, max_size=8))
def test_random_languages(node: Node, samples: list[str]) -> None:
    rules = Rules(node, {})
    try:
        text = format_gbnf(rules)
    except UnsatisfiableSchema:
        with pytest.raises(UnsatisfiableSchema):
            link(rules)
        return
    expected = Reader(link(rules))
    for grammar in (sk.Grammar(text, syntax="gbnf"), sk.Grammar(format_lark(rules))):
        printed = _reader(grammar)
        for sample in samples:
            assert printed.accepts(sample.encode()) == expected.accepts(sample.encode()), sample


def test_lark_itself_reads_the_grammar() -> None:
    for name in ("arithmetic", "iso8601", "choice", "left recursion", "regex"):
        rules = read_target(GRAMMARS[name]()).rules()
        automaton = link(rules)
        for lexer in ("dynamic", "dynamic_complete"):
            lark = Lark(format_lark(rules), parser="earley", lexer=lexer, ambiguity="forest")
            for sample in _texts(automaton, name, 8):
                text = sample.decode()
                if len(text) < 40:
                    assert _parses(lark, text) == Reader(automaton).accepts(sample), (name, lexer, text)


def _parses(lark: Lark, text: str) -> bool:
    try:
        lark.parse(text)
    except UnexpectedInput:
        return False
    except RuntimeError:  # lark-parser/lark#1576: the text is in the language
        return True
    return True


def test_large_counts_stay_below_the_bound_of_llama_cpp() -> None:
    digits = Repeat(Seq((LiteralText("a"), LiteralText("b"))), 2_001, 1_234_567)
    for length in (1_999, 2_000, 2_001, 1_234_567):
        counts = [
            int(number)
            for count in sk.to_gbnf(sk.JsonSchema({"type": "string", "maxLength": length})).split("{")[1:]
            for number in count.split("}")[0].split(",")
        ]
        assert counts
        assert max(counts) < 2_000
    assert "1999" not in format_gbnf(Rules(digits, {}))


def test_bytes_that_are_not_text_are_refused() -> None:
    with pytest.raises(sk.SchemaError, match="not UTF-8"):
        format_gbnf(Rules(LiteralText("\udcff"), {}))


def test_the_name_of_the_start_is_checked() -> None:
    assert sk.to_gbnf(bool, "answer").startswith("answer ::= ")
    with pytest.raises(ValueError, match="letters, digits and hyphens"):
        sk.to_gbnf(bool, "no name")
    with pytest.raises(ValueError, match="lowercase"):
        sk.to_lark(bool, "Start")


def test_keys_in_any_order_and_quotes_are_refused() -> None:
    schema = {"properties": {"a": {}, "b": {}}, "type": "object"}
    with pytest.raises(sk.SchemaError, match="any order"):
        sk.to_gbnf(schema, order="any")


def test_a_grammar_that_is_too_large_is_refused() -> None:
    with pytest.raises(LimitExceeded):
        sk.to_gbnf({"type": "string", "pattern": "^a.*z$"}, limits=sk.Limits(regex_nodes=20))


def test_an_automaton_of_many_moves_is_refused_before_it_is_written() -> None:
    with pytest.raises(LimitExceeded, match="work"):
        sk.to_gbnf({"type": "integer", "multipleOf": 9973})


def test_a_class_of_one_character_is_written_as_its_text() -> None:
    for character in 'a"\\\n]-é😀':
        one, text = (
            Rules(CharClass(((ord(character), ord(character)),)), {}),
            Rules(LiteralText(character), {}),
        )
        assert format_gbnf(one) == format_gbnf(text) and format_lark(one) == format_lark(text)


@pytest.mark.parametrize(("low", "high"), [*product(range(4), [None]), *combinations(range(5), 2), (2, 2)])
def test_a_repetition_has_the_counts_of_the_node(low: int, high: int | None) -> None:
    rules = Rules(Repeat(Seq((LiteralText("ab"), LiteralText("c"))), low, high), {})
    for syntax, text in (("gbnf", format_gbnf(rules)), ("lark", format_lark(rules))):
        reader = _reader(sk.Grammar(text, syntax="gbnf" if syntax == "gbnf" else "lark"))
        counts = [count for count in range(7) if reader.accepts(b"abc" * count)]
        assert counts == [count for count in range(7) if low <= count <= (6 if high is None else high)], text
