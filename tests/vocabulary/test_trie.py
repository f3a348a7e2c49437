"""The trie compared with a simple one of dicts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.vocabulary.trie import Trie

vocabularies = st.lists(st.binary(max_size=6) | st.text("ab", max_size=5).map(str.encode), max_size=40)


def plain(tokens: list[bytes]) -> list[tuple[int, int, int, list[int]]]:
    """Return byte, depth, end and ids of every node in depth-first order."""
    root: dict = {"ids": [], "children": {}}
    for token_id, token in enumerate(tokens):
        node = root
        for byte in token:
            node = node["children"].setdefault(byte, {"ids": [], "children": {}})
        if token:
            node["ids"].append(token_id)
    rows: list[tuple[int, int, int, list[int]]] = []

    def visit(node: dict, byte: int, depth: int) -> None:
        index = len(rows)
        rows.append((byte, depth, 0, node["ids"]))
        for child in sorted(node["children"]):
            visit(node["children"][child], child, depth + 1)
        rows[index] = (byte, depth, len(rows), node["ids"])

    visit(root, 0, 0)
    return rows


def rows_of(trie: Trie) -> list[tuple[int, int, int, list[int]]]:
    return [
        (
            int(trie.byte[i]),
            int(trie.depth[i]),
            int(trie.end[i]),
            trie.token_ids[trie.first[i] : trie.first[i + 1]].tolist(),
        )
        for i in range(len(trie))
    ]


@given(vocabularies)
def test_the_trie_equals_the_simple_one(tokens: list[bytes]) -> None:
    assert rows_of(Trie.build(tokens)) == plain(tokens)


@given(vocabularies)
def test_the_path_to_every_token_spells_it(tokens: list[bytes]) -> None:
    trie = Trie.build(tokens)
    path = bytearray()
    read = {}
    for node in range(1, len(trie)):
        del path[trie.depth[node] - 1 :]
        path.append(trie.byte[node])
        for token_id in trie.token_ids[trie.first[node] : trie.first[node + 1]].tolist():
            read[token_id] = bytes(path)
    assert read == {token_id: token for token_id, token in enumerate(tokens) if token}


@pytest.mark.parametrize(
    "tokens", [[], [b""], [b"a"], [b"a", b"a"], [b"\0", b"\0\0"], [b"a" * 300, b"a" * 299 + b"b"]]
)
def test_the_trie_of_small_and_deep_vocabularies_equals_the_simple_one(tokens: list[bytes]) -> None:
    assert rows_of(Trie.build(tokens)) == plain(tokens)


def test_the_arrays_have_fixed_types_and_are_read_only() -> None:
    trie = Trie.build([b"ab", b"b"])
    types = [
        (array.dtype, array.flags.writeable)
        for array in (trie.byte, trie.depth, trie.end, trie.first, trie.token_ids)
    ]
    assert types == [(np.uint8, False)] + [(np.int32, False)] * 4
