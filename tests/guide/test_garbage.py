"""What a dropped guide leaves: nothing for the garbage collector."""

from __future__ import annotations

import gc
import gzip
import json
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest

from structkit.compile import compile
from structkit.errors import StructkitError
from structkit.limits import Limits
from structkit.testing import byte_vocabulary
from tests.shared import SHARED

RECURSIVE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name", "kids"],
            "additionalProperties": False,
        }
    },
}
DISTINCT = {"type": "array", "items": {"type": "string", "maxLength": 4}, "uniqueItems": True, "minItems": 2}
OPEN = {
    "type": "object",
    "properties": {"id": {"type": "integer", "minimum": 0}},
    "required": ["id"],
    "additionalProperties": {"type": ["number", "string"]},
}
CONTAINS = {"type": "array", "items": {"type": "integer"}, "contains": {"const": 1}, "maxItems": 4}


@pytest.fixture
def garbage(few_objects: None) -> Iterator[list[object]]:
    """What a collection finds during the test is kept here."""
    thresholds = gc.get_threshold()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.set_threshold(700, 10, 10)
    yield gc.garbage
    gc.set_threshold(*thresholds)
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


def _ours(garbage: list[object]) -> set[str]:
    gc.collect()
    kinds = {type(found) for found in garbage}
    return {
        f"{kind.__module__}.{kind.__qualname__}" for kind in kinds if kind.__module__.startswith("structkit")
    }


@pytest.mark.parametrize("budgets", [False, True])
@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (RECURSIVE, b'{"name": "aaaa", "kids": [{"name": "b", "kids": []}, {"name": "c", "kids": []}]}'),
        (DISTINCT, b'["aa", "bb", "aab", "b"]'),
        (OPEN, b'{"id": 12, "x": "yyy", "z": 1.5}'),
        ({"type": "string", "pattern": "^(ab|cd)*$"}, b'"ababcdcdab"'),
        (CONTAINS, b"[2, 2, 1]"),
    ],
    ids=["recursive", "distinct", "open", "pattern", "contains"],
)
def test_a_dropped_guide_leaves_no_garbage(
    schema: dict[str, object], text: bytes, budgets: bool, garbage: list[object]
) -> None:
    guide = compile(schema, byte_vocabulary(), cache=False)
    mask = np.zeros(guide.vocabulary.mask_words, np.uint32)
    cursor = guide.cursor()
    for count, byte in enumerate(text):
        cursor.fill_mask(mask, 2 * len(text) - count if budgets else None)
        cursor.advance(byte)
        if budgets:
            cursor.min_tokens_to_end()
        else:
            cursor.forced_bytes()
    assert cursor.is_accepting
    del guide, cursor
    assert _ours(garbage) == set()


def test_a_full_cache_of_states_leaves_no_garbage(garbage: list[object]) -> None:
    guide = compile(
        {"type": "string", "pattern": "^[ab]{0,600}$"},
        byte_vocabulary(),
        limits=Limits(row_bytes=1),  # 256 states
        cache=False,
    )
    cursor = guide.cursor()
    for byte in b'"' + 600 * b"a" + b'"':
        cursor.advance(byte)
    del guide, cursor
    assert _ours(garbage) == set()


def test_no_collection_finds_parts_of_guides(garbage: list[object]) -> None:
    """The garbage collector runs while many schemas are compiled and read, and each guide is dropped."""
    path = SHARED / "data" / "maskbench" / "sample.jsonl.gz"
    if not path.exists():
        pytest.skip(f"the MaskBench sample is not at {path}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        entries = [json.loads(line) for line in list(lines)[::15] if len(line) < 20_000]
    vocabulary = byte_vocabulary()
    mask = np.zeros(vocabulary.mask_words, np.uint32)
    collections: list[dict[str, int]] = []

    def watch(phase: str, info: dict[str, int]) -> None:
        collections.append(info)

    gc.callbacks.append(watch)
    gc.enable()
    try:
        for entry in entries:
            for instance in entry["tests"][:1]:
                with suppress(StructkitError):
                    cursor = compile(entry["schema"], vocabulary, cache=False).cursor()
                    for byte in json.dumps(instance["data"], ensure_ascii=False).encode()[:200]:
                        cursor.fill_mask(mask)
                        cursor.advance(byte)
    finally:
        gc.callbacks.remove(watch)
    assert collections
    del cursor
    assert _ours(garbage) == set()
