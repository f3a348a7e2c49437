"""Subtrees taken as a whole: the rows are those of a walk that visits every node."""

from __future__ import annotations

import codecs
from itertools import product
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.errors import LimitExceeded, UnsatisfiableSchema
from structkit.index.index import Index
from structkit.index.rows import subtrees
from structkit.index.rows.subtrees import Subtrees, subtrees_of
from structkit.limits import Limits
from structkit.regex.nodes import CharClass, Intersection, LiteralText, Node, Repeat, Rules, Seq, seq
from structkit.vocabulary.vocabulary import Vocabulary
from tests.languages import plain_nodes

_LETTERS = ["a", "b", "0", "é", "—", "😀", '"', "\\"]
_BROKEN = [b"a\xc3", b"b\xe2\x80", b"ab\xff", b"b\xa9b", b"\xa9a", b"0\xed\xa0\x80", b"0\xf0\x9f\x98"]

TOKENS = (
    *(bytes((byte,)) for byte in range(256)),
    *("".join(text).encode() for length in (2, 3, 4) for text in product(_LETTERS, repeat=length)),
    *(left + right.encode() for left in _BROKEN for right in _LETTERS),
    *_BROKEN,
    *(b"a" * length for length in range(5, 40)),
)


def _vocabulary() -> Vocabulary:
    """Return a vocabulary of which every subtree is taken as a whole if possible."""
    vocabulary = Vocabulary([*TOKENS, b""], eos_token_ids={len(TOKENS)})
    original, values = subtrees._MIN_NODES, vars(subtrees)
    values["_MIN_NODES"] = 2
    try:
        subtrees_of(vocabulary)
    finally:
        values["_MIN_NODES"] = original
    return vocabulary


V = _vocabulary()
_SMALL = Limits(states=2_000, product_states=2_000)
SUBTREES: Subtrees = subtrees_of(V)


def test_the_subtrees_equal_simple_ones() -> None:
    trie = V.trie
    texts, path = [b""], [b""]
    for node in range(1, len(trie)):
        depth = int(trie.depth[node])
        path[depth:] = [path[depth - 1] + bytes((int(trie.byte[node]),))]
        texts.append(path[depth])
    for node, text in enumerate(texts):
        found = int(SUBTREES.number[node])
        assert SUBTREES.characters[node] == sum(not 0x80 <= byte < 0xC0 for byte in text)
        is_lead = text[-1:] >= b"\xc2"
        before = text[:-1] if is_lead else text
        below = [_split(V.tokens[token][len(before) :]) for token in _tokens_below(node, included=is_lead)]
        rests = [rest for rest in below if rest is not None]
        characters = _split(before)
        inside = characters is None or (characters and len(characters[-1].decode(errors="ignore")) != 1)
        if (
            node == 0
            or inside
            or trie.end[node] == node + 1
            or len(rests) < len(below)
            or max(map(len, rests)) > 24
        ):
            assert found < 0
            continue
        row: list[Any] = SUBTREES.below[found].tolist()
        firsts = {character[0] for rest in rests for character in rest}
        assert row[0] & (2**64 - 1) == sum(1 << first for first in firsts if first < 64)
        assert row[1] & (2**64 - 1) == sum(1 << first - 64 for first in firsts if 64 <= first < 128)
        assert row[2] == sum(1 << first - 0xC2 for first in firsts if first >= 0xC2)
        assert row[3] == sum(1 << length for length in {len(rest) for rest in rests})


def _split(text: bytes) -> list[bytes] | None:
    """Return the bytes of each character, of which the last may lack bytes; `None` for other bytes."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        whole = decoder.decode(text)
    except UnicodeDecodeError:
        return None
    unfinished = decoder.getstate()[0]
    return [character.encode() for character in whole] + [unfinished] * bool(unfinished)


def _tokens_below(node: int, *, included: bool) -> list[int]:
    """Return the tokens that end below a node, and at the node if it is included."""
    trie = V.trie
    first = trie.first[node if included else node + 1]
    found: list[int] = trie.token_ids[first : trie.first[trie.end[node]]].tolist()
    return found


_any = CharClass(((0x20, 0x21), (0x23, 0x5B), (0x5D, 0xD7FF), (0xE000, 0x10FFFF)))
_loops = st.builds(
    lambda node, count: Repeat(node, *count), plain_nodes, st.sampled_from([(0, None), (2, 40)])
)
_patterns: st.SearchStrategy[Node] = st.builds(
    lambda before, node, after: seq(*before, node, *after, LiteralText('"')),
    st.lists(_loops, max_size=1),
    plain_nodes | _loops,
    st.lists(_loops, max_size=1),
)


@settings(deadline=None)
@given(_patterns, st.sampled_from([None, (0, 30), (3, 90)]))
@example(Seq((Repeat(_any), LiteralText("ab"), Repeat(_any), LiteralText('"'))), None)
@example(
    Seq((Repeat(Seq((Repeat(CharClass(((0x61, 0x62),)), 1), LiteralText("0"))), 0, 30), LiteralText("a"))),
    None,
)
@example(Seq((Repeat(_any, 30, 60), LiteralText('"'))), None)
@example(Seq((Repeat(_any, 3, 9), LiteralText('"'))), None)
def test_rows_equal_those_of_a_walk(node: Node, length: tuple[int, int] | None) -> None:
    text = Repeat(CharClass(((0, 0x10FFFF),)), *length) if length else None
    try:
        automaton = link(Rules(node if text is None else Intersection(node, text), {}), _SMALL)
    except (LimitExceeded, UnsatisfiableSchema):
        return
    index, states = Index(automaton, V), len(automaton.row)
    for state in range(0, states, 1 + states // 20):
        frame = automaton.frame(state, 2)
        row, walked = index.row(frame), index.row_within_budget(None, frame, 1 << 40, 0, None)
        assert (row.mask.dense(V.mask_words) == walked.mask.dense(V.mask_words)).all()
        assert row.exit_nodes.tolist() == walked.exit_nodes.tolist()
        assert row.max_cost_after >= walked.max_cost_after or not row.mask.any()
        assert row.max_cost_after < np.iinfo(np.int32).max
