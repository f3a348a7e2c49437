"""Guides and cursors compared with a reference without precomputation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.configurations import Outdated
from structkit.automaton.runtime.reader import Reader
from structkit.compile import compile
from structkit.errors import LimitExceeded, TokenRejected, VocabularyError
from structkit.guide.guide import Cursor, Guide
from structkit.guide.state import rows_below
from structkit.index.rows.mask import Mask
from structkit.index.rows.row import Row
from structkit.limits import Limits, Work
from structkit.regex.nodes import (
    CharClass,
    Choice,
    Distinct,
    Intersection,
    ListPart,
    LiteralText,
    Node,
    Repeat,
    RuleRef,
    Rules,
    SeparatedList,
    Seq,
)
from structkit.testing import byte_vocabulary
from structkit.vocabulary.vocabulary import Vocabulary
from tests.guide.reference import ReferenceCursor
from tests.languages import linked, plain_nodes, recursive_rules, vocabulary
from tests.shared import cases

V = vocabulary()
END = 300


def _mask(cursor: Cursor | ReferenceCursor, budget: int | None = None) -> list[int]:
    out = np.empty(V.mask_words, np.uint32)
    if isinstance(cursor, Cursor):
        cursor.fill_mask(out, budget)
    else:
        cursor.fill_mask(out)
    return np.flatnonzero(np.unpackbits(out.view(np.uint8), bitorder="little")).tolist()


@given(recursive_rules, st.data())
def test_guide_equals_the_reference(rules: Rules, data: st.DataObject) -> None:
    automaton = linked(rules)
    if automaton is None:
        return
    cursor, reference = Guide(automaton, V).cursor(), ReferenceCursor(automaton, V)
    for _ in range(6):
        allowed = _mask(cursor)
        assert allowed == _mask(reference)
        assert cursor.is_accepting == reference.can_end
        tokens = [token for token in allowed if token != END]
        if not tokens:
            break
        token = data.draw(st.sampled_from(tokens))
        cursor.advance(token)
        reference.advance(token)


_LETTERS = Repeat(CharClass(((0x61, 0x62),)))
_STRING = Seq((LiteralText('"'), RuleRef("text")))
_FEW = Seq(
    (
        LiteralText("{"),
        SeparatedList((ListPart(Distinct(Choice((LiteralText("a"), LiteralText("b")))), 0, None),), ","),
        LiteralText("}"),
    )
)


def _set_of(item: Node) -> Automaton:
    """Return the automaton of lists with any number of distinct items."""
    items = Seq(
        (LiteralText("["), SeparatedList((ListPart(Distinct(item), 0, None),), ","), LiteralText("]"))
    )
    rules = {"text": Seq((_LETTERS, LiteralText('"'))), "items": items}
    return link(Rules(Seq((LiteralText("<"), RuleRef("items"), LiteralText(">"))), rules))


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (_STRING, '["ab","a","b","aa"]'),
        (_STRING, '["ab","a"]'),
        (Choice((_STRING, LiteralText("null"))), '["a",null,"ab","b"]'),
        (
            Choice((LiteralText("null"), LiteralText("nab"), LiteralText("ab"), _LETTERS)),
            "[null,ab,nab,abb,a]",
        ),
        (
            Seq(
                (LiteralText("{"), SeparatedList((ListPart(Distinct(_STRING), 0, 3),), ","), LiteralText("}"))
            ),
            '[{"a","b"},{"a"},{"b"}]',
        ),
        (Seq((LiteralText("{"), Repeat(_STRING, 1, 2), LiteralText("}"))), '[{"a"},{"a""a"},{"a""b"}]'),
        pytest.param(
            Seq((LiteralText("x"), Repeat(LiteralText("a"), 90, 92))),
            f"[x{'a' * 90},x{'a' * 92},x{'a' * 91}]",
            marks=pytest.mark.long,
        ),
        (Repeat(LiteralText("a"), 1, None), f"[{'a' * 300},a,aa]"),
        (_FEW, "[{},{a},{b},{a,b},{b,a}]"),
    ],
)
def test_no_token_repeats_a_distinct_text(item: Node, text: str) -> None:
    """Compare masks along a text whose substrings are tokens, so that tokens start and end distinct texts."""
    text = f"<{text}>"
    pieces = {text[i : i + size].encode() for size in range(2, 10) for i in range(len(text))}
    tokens = Vocabulary([*(bytes([byte]) for byte in range(256)), *pieces], eos_token_ids={256 + len(pieces)})
    automaton = _set_of(item)
    cursor, reference = Guide(automaton, tokens).cursor(), ReferenceCursor(automaton, tokens)
    for position, byte in enumerate(text.encode()):
        # The reference reads every token at every position.
        if position % cases(1 + len(text) // 30, of=1) == 0:
            actual, expected = np.empty((2, tokens.mask_words), np.uint32)
            cursor.fill_mask(actual)
            reference.fill_mask(expected)
            assert (actual == expected).all(), cursor.token_ids
        cursor.advance(byte)
        reference.advance(byte)


@pytest.mark.parametrize(
    ("item", "text", "follows"),
    [
        (Seq((LiteralText("x"), Repeat(LiteralText("a"), 90, 91))), f"[x{'a' * 90},x{'a' * 91}", "]"),
        (Seq((LiteralText("x"), Repeat(LiteralText("a"), 90, 91))), f"[x{'a' * 90},x{'a' * 90}", "a"),
        (Choice((LiteralText("null"), LiteralText("nab"))), "[null,n", "a"),
        (Choice((LiteralText("null"), _STRING)), "[null,", '"'),
        (Choice((LiteralText("null"), _STRING)), '[null,"', 'ab"'),
        (_STRING, '["a","a', "ab"),
        (_FEW, "[{},{a},{b},{a,b},{b,a}", "]"),
        (_FEW, "[{},{a},{b},{a,b},{b", ","),
        (_FEW, "[{},{b},{a,b},{b,a},{a", "}"),
        (Repeat(LiteralText("a"), 1, None), "[a,aa,a", "a"),
    ],
)
def test_allowed_bytes_in_distinct_texts(item: Node, text: str, follows: str) -> None:
    cursor = Guide(_set_of(item), V).cursor()
    for byte in f"<{text}".encode():
        cursor.advance(byte)
    assert {token for token in _mask(cursor) if token < 256} == set(follows.encode())


@given(recursive_rules, st.integers(0, 12), st.data())
def test_every_budget_that_fits_is_kept(rules: Rules, extra: int, data: st.DataObject) -> None:
    automaton = linked(rules)
    if automaton is None:
        return
    cursor = Guide(automaton, V).cursor()
    fewest = cursor.min_tokens_to_end()
    assert fewest == 0 or automaton.has_distinct or not cursor.fits(fewest - 1)
    _ends_in(cursor, fewest + extra, data)


@given(plain_nodes, st.integers(0, 20), st.none() | st.integers(0, 30), st.integers(0, 12), st.data())
@example(Repeat(Choice((LiteralText("bbbb"), LiteralText("é0")))), 19, 0, 3, None)
@example(Repeat(Choice((LiteralText("aaaa"), LiteralText("b")))), 15, 15, 0, None)
def test_a_pattern_of_bounded_length_ends_in_any_budget_that_fits(
    node: Node, min_count: int, slack: int | None, extra: int, data: st.DataObject | None
) -> None:
    max_count = None if slack is None else min_count + slack
    length = Repeat(CharClass(((0, 0x10FFFF),)), min_count, max_count)
    try:
        automaton = linked(Rules(Intersection(node, length), {}))
    except LimitExceeded:
        reject()
    if automaton is not None:
        cursor = Guide(automaton, V).cursor()
        _ends_in(cursor, cursor.min_tokens_to_end() + extra, data)


def _ends_in(cursor: Cursor, budget: int, data: st.DataObject | None) -> None:
    text = b""
    for remaining in range(budget, -1, -1):
        allowed = _mask(cursor, remaining)
        assert allowed, "the mask is never empty"
        tokens = [token for token in allowed if token != END]
        if not tokens or (END in allowed and data is not None and data.draw(st.booleans())):
            break
        token = tokens[0] if data is None else data.draw(st.sampled_from(tokens))
        cursor.advance(token)
        text += V.tokens[token]
        assert cursor.fits(remaining - 1)
    assert cursor.is_accepting and cursor.guide.reader.accepts(text)


@given(recursive_rules, st.data())
def test_rollback_undoes_advance(rules: Rules, data: st.DataObject) -> None:
    automaton = linked(rules)
    if automaton is None:
        return
    cursor = Guide(automaton, V).cursor()
    masks = []
    for _ in range(4):
        masks.append(_mask(cursor))
        if not masks[-1]:
            break
        cursor.advance(data.draw(st.sampled_from(masks[-1])))
        if cursor.is_terminated:
            break
    count = len(cursor.token_ids)
    other = cursor.fork()
    for back in range(1, count + 1):
        other.rollback(1)
        assert _mask(other) == masks[count - back]
    cursor.rollback(count)
    assert _mask(cursor) == masks[0] and cursor.token_ids == () and not cursor.is_terminated


def test_rejected_tokens_leave_the_cursor_unchanged() -> None:
    cursor = Guide(link(Rules(LiteralText("abc"), {})), V).cursor()
    cursor.advance(ord("a"))
    for token in (ord("x"), END, 10_000, -1, 299):
        with pytest.raises(TokenRejected, match="at `token 1`"):
            cursor.advance(token)
    assert cursor.token_ids == (ord("a"),) and cursor.forced_bytes() == b"bc"


def test_end_token_terminates_the_sequence() -> None:
    cursor = Guide(link(Rules(Repeat(LiteralText("a"), 0, 2), {})), V).cursor()
    assert cursor.is_accepting and not cursor.is_finished
    cursor.advance(END)
    assert cursor.is_terminated and _mask(cursor) == [END]
    with pytest.raises(TokenRejected):
        cursor.advance(ord("a"))
    cursor.rollback(1)
    cursor.advance(ord("a"))
    cursor.advance(ord("a"))
    assert cursor.is_finished and _mask(cursor) == [END]


def test_multiple_end_tokens_and_tokens_of_equal_bytes() -> None:
    tokens = Vocabulary([b"a", b"b", b"a", None, b"</s>"], eos_token_ids={4, 7})
    out = np.zeros(1, np.uint32)
    Guide(link(Rules(Repeat(LiteralText("a")), {})), tokens).cursor().fill_mask(out)
    assert out[0] == 0b10010101


def test_tokens_whose_completion_cannot_be_spelled_are_masked() -> None:
    # After "ab" only "d" could follow, which is not a token; after "a" the token "c" can follow.
    incomplete = Vocabulary([b"a", b"ab", b"c", b"e"], eos_token_ids={4})
    cursor = Guide(link(Rules(Choice((LiteralText("abd"), LiteralText("ac"))), {})), incomplete).cursor()
    out = np.zeros(1, np.uint32)
    cursor.fill_mask(out)
    assert out[0] == 0b1
    with pytest.raises(TokenRejected):
        cursor.advance(1)
    cursor.advance(0)
    cursor.fill_mask(out)
    assert out[0] == 0b100


@pytest.mark.parametrize("shift", range(6))
def test_a_token_is_accepted_if_and_only_if_it_is_in_the_mask(shift: int) -> None:
    """Also if some tokens of the language cannot be completed, wherever the others are in the mask."""
    tokens = 2 * [b"a", b"ab", b"c", b"e", b"abd", b"d"]
    texts = (LiteralText("abx"), LiteralText("ac"), LiteralText("abde"))
    guide = Guide(link(Rules(Choice(texts), {})), Vocabulary(tokens[shift : shift + 6], eos_token_ids={6}))
    pending = [guide.cursor()]
    while pending:
        cursor = pending.pop()
        out = np.zeros(1, np.uint32)
        cursor.fill_mask(out)
        for token in range(7):
            after = cursor.fork()
            if out[0] >> token & 1:
                after.advance(token)
                pending += [after] if not after.is_terminated else []
            else:
                with pytest.raises(TokenRejected):
                    after.advance(token)


def test_vocabulary_that_cannot_spell_the_language_is_rejected() -> None:
    with pytest.raises(VocabularyError, match="b'z'"):
        Guide(link(Rules(LiteralText("az"), {})), Vocabulary([b"a", b"b"], eos_token_ids={2}))


def test_a_budget_includes_the_rest_of_calling_rules() -> None:
    """The token `",0` closes the string and completes the value; every budget measure must count it."""
    rules = Rules(
        Seq((LiteralText('"'), RuleRef("text"), LiteralText(",0"))),
        {"text": Seq((Repeat(CharClass(((0x61, 0x7A),))), LiteralText('"')))},
    )
    cursor = Guide(link(rules), V).cursor()
    assert cursor.min_tokens_to_end() == 2
    assert _mask(cursor, 2) == [ord('"')]
    cursor.advance(ord('"'))
    assert [V.tokens[token] for token in _mask(cursor, 1)] == [b'",0']


def test_a_long_minimum_length_has_an_exact_budget() -> None:
    rules = Rules(Seq((Repeat(CharClass(((0x61, 0x7A),)), 5000, 6000), LiteralText('"'))), {})
    cursor = Guide(link(rules), vocabulary(b"a" * 100)).cursor()
    assert cursor.fits(51) and cursor.min_tokens_to_end() == 51


@pytest.mark.parametrize("shape", [(9,), (11,), (1, 10)])
def test_mask_of_wrong_shape_is_rejected(shape: tuple[int, ...]) -> None:
    cursor = Guide(link(Rules(LiteralText("a"), {})), V).cursor()
    with pytest.raises(ValueError, match=r"uint32\[10\]"):
        cursor.fill_mask(np.zeros(shape, np.uint32))


@pytest.mark.parametrize("min_count", [300_000, 10_000_000])
def test_values_that_exceed_the_budget_are_detected(min_count: int) -> None:
    rules = Rules(Seq((Repeat(CharClass(((0x61, 0x7A),)), min_count, None), LiteralText('"'))), {})
    cursor = Guide(link(rules), V).cursor()
    assert not cursor.fits(1000) and min_count / 3 <= cursor.min_tokens_to_end() <= min_count + 1


def test_nested_counts_do_not_overflow() -> None:
    node: Node = LiteralText("a")
    for _ in range(5):
        node = Seq((LiteralText("["), Repeat(Seq((LiteralText(","), node)), 5000, 5000), LiteralText("]")))
    cursor = Guide(link(Rules(node, {})), V).cursor()
    assert not cursor.fits(10**6)
    assert _mask(cursor) == [ord("[")]


def test_counts_beyond_the_limit_are_rejected() -> None:
    with pytest.raises(LimitExceeded, match="iterations=10000000"):
        link(Rules(Repeat(LiteralText("ab"), 10**30, None), {}))
    assert Reader(link(Rules(Repeat(LiteralText("ab"), 0, 10**30), {}))).accepts(b"ab" * 1000)


def test_guide_with_full_arrays_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arrays and caches of a guide are bounded, and cursors continue with new ones."""
    monkeypatch.setattr("structkit.guide.parser._MIN_BYTES", 4096)
    letter = CharClass(((0x61, 0x7A),))
    guide = Guide(link(Rules(Repeat(letter, 0, 2000), {}), Limits(row_bytes=1)), V)
    cursor, other = guide.cursor(), guide.cursor()
    parsers = {id(guide.parser): guide.parser}
    for count in range(1500):
        cursor.advance(ord("a"))
        assert len(_mask(cursor)) > 20
        assert len(guide.index.rows) <= 1
        parsers[id(guide.parser)] = guide.parser
        if count % 100 == 0:
            other.advance(ord("b"))
    assert 2 < len(parsers) < 200
    cursor.rollback(1400)
    assert len(_mask(cursor)) > 20 and cursor.is_accepting and cursor.min_tokens_to_end() == 0
    assert other.fork().token_ids == (ord("b"),) * 15 and _mask(other) == _mask(cursor)


def test_a_cursor_that_waited_does_not_continue_with_full_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structkit.guide.parser._MIN_BYTES", 4096)
    letters, digits = (Repeat(CharClass((each,)), 0, 2000) for each in ((0x61, 0x7A), (0x30, 0x39)))
    guide = Guide(link(Rules(Choice((letters, digits)), {}), Limits(row_bytes=1)), V)
    waits = guide.cursor()
    waits.advance(ord("1"))
    for is_renewed in (False, True):  # its own arrays, and those of the cursors that went on meanwhile
        if is_renewed:
            guide.renew(guide.parser, 1)
        configuration = guide.parser.start
        with suppress(Outdated):
            while True:
                configuration = guide.parser.advance(configuration, ord("a"))
    waits.advance(ord("2"))
    assert waits.min_tokens_to_end() == 0 and waits.token_ids == (ord("1"), ord("2"))


def test_a_rule_is_built_when_a_text_enters_it() -> None:
    # No other test has made the automaton of the keys other than this one.
    schema = {"type": "object", "properties": {"a key of this test": {"type": "integer"}}}
    guide = compile(schema, byte_vocabulary(), cache=False)
    cursor, out = guide.cursor(), np.empty(guide.vocabulary.mask_words, np.uint32)
    numbers = []
    for byte in b'{"':
        cursor.fill_mask(out)
        assert out[byte >> 5] >> (byte & 31) & 1
        numbers.append(len(guide.automaton.built))
        cursor.advance(byte)
    assert numbers == [numbers[0]] * 2  # the mask before `"` does not need the rule of other keys
    cursor.fill_mask(out)
    assert len(guide.automaton.built) > numbers[0]
    assert out[ord("b") >> 5] >> (ord("b") & 31) & 1


def test_a_known_automaton_is_added_with_its_caller() -> None:
    text = {"type": "string", "pattern": "^one (text|of this test)*$"}

    def built(name: str, content: str = "") -> int:
        schema = {"type": "object", "properties": {name: text}, "required": [name]}
        closed = schema | {"additionalProperties": False}  # other tests may have made the rule of other keys
        guide = compile(closed, byte_vocabulary(), cache=False)
        cursor = guide.cursor()
        for byte in content.encode():
            cursor.advance(byte)
        assert cursor.is_accepting == bool(content)
        return len(guide.automaton.built)

    alone = built("a")
    assert built("a", '{"a": "one text"}') == alone + 1  # the text entered the rule
    assert built("b") == built("b", '{"b": "one text"}') == alone + 1


def test_threads_build_lazy_rules_of_one_guide() -> None:
    definitions = {
        f"D{number}": {
            "type": "object",
            "properties": {
                f"n{number}": {"type": "integer"},
                "next": {"$ref": f"#/$defs/D{(number + 1) % 40}"},
                "list": {"type": "array", "items": {"$ref": f"#/$defs/D{(7 * number + 1) % 40}"}},
            },
            "additionalProperties": False,
        }
        for number in range(40)
    }
    schema = {"$ref": "#/$defs/D0", "$defs": definitions}

    def masks(guide: Guide, seed: int) -> list[bytes]:
        cursor, chance, out = guide.cursor(), np.random.default_rng(seed), np.empty(V.mask_words, np.uint32)
        found = []
        for _ in range(150):
            cursor.fill_mask(out, 400)
            found.append(out.tobytes())
            tokens = [token for token in _mask(cursor) if token != END]
            if not tokens:
                break
            cursor.advance(int(chance.choice(tokens)))
        return found

    expected = [masks(compile(schema, V, cache=False), seed) for seed in range(8)]
    shared = compile(schema, V, cache=False)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda seed: masks(shared, seed), range(8))) == expected


def test_the_frames_below_that_tokens_reach_are_charged() -> None:
    automaton = link(Rules(LiteralText("ab"), {}))
    row = Row(Mask(None), np.zeros(1, np.int32), 0)
    exits = [(row.exit_nodes, automaton.frame(0, count)) for count in range(3)]
    with pytest.raises(LimitExceeded, match="tokens of a mask"):
        rows_below(automaton, exits, lambda nodes, at: row, Work(250))
    assert len(rows_below(automaton, exits, lambda nodes, at: row, Work(1_000))) == 3


def test_a_cursor_shows_its_text_and_whether_it_may_end() -> None:
    guide = Guide(linked(Rules(Choice((LiteralText("a"), LiteralText("ab"))), {})), byte_vocabulary())
    cursor = guide.cursor()
    assert repr(cursor) == "<Cursor after 0 tokens, b'', not at an end>"
    cursor.advance(ord("a"))
    assert repr(cursor) == "<Cursor after 1 token, b'a', may end>"
    cursor.advance(guide.vocabulary.eos_token_ids[0])
    assert repr(cursor) == "<Cursor after 2 tokens, b'a', terminated>"
