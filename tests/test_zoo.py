"""Types of the zoo: pydantic accepts exactly the texts that can be written."""

from __future__ import annotations

import json
import random
import re
from collections import deque
from functools import cache
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

import structkit as sk
from structkit.guide.guide import Cursor, Guide
from structkit.testing import ScriptedModel, byte_vocabulary
from tests.reading import reads
from tests.shared import cases
from tests.zoo import KINDS, REFUSED, ZOO
from tests.zoo.specimen import dump

WALKS = cases(4, of=200)
LONG = 24
"""Bytes after which a walk prefers closing brackets."""
ROUND_TRIPS = 10
"""Number of walks whose values are dumped and read again."""

NAMES = list(ZOO)
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@cache
def _guide(name: str) -> Guide:
    return sk.compile(ZOO[name].target, byte_vocabulary(), cache=False)


def _accepts(name: str, text: str) -> bool:
    cursor = _guide(name).cursor()
    return reads(cursor, text.encode()) and cursor.is_accepting


def _pydantic_accepts(adapter: TypeAdapter[Any], text: str) -> bool:
    try:
        adapter.validate_json(text)
    except (ValidationError, ValueError, OverflowError, TypeError):
        # Numbers of epochs may overflow, and pydantic raises TypeError for constraints that do not apply to a value.
        return False
    return True


def test_the_zoo_is_large() -> None:
    assert len(ZOO) >= 150
    assert len(ZOO) + len(REFUSED) == sum(map(len, KINDS.values()))


@pytest.mark.long(every=4)
@pytest.mark.parametrize("name", NAMES)
def test_dumps_of_accepted_values_are_in_the_language(name: str) -> None:
    specimen = ZOO[name]
    texts = specimen.written()
    assert texts or specimen.checked
    adapter = specimen.adapter
    for text in texts:
        assert _pydantic_accepts(adapter, text), text
        assert _accepts(name, text), text


@pytest.mark.long(every=4)
@pytest.mark.parametrize("name", NAMES)
def test_rejected_texts_are_not_in_the_language(name: str) -> None:
    specimen = ZOO[name]
    adapter = specimen.adapter
    assert not all(_pydantic_accepts(adapter, text) for text in specimen.refuses)
    for text in specimen.refuses:
        assert not _accepts(name, text), text


@pytest.mark.parametrize("name", [name for name in NAMES if ZOO[name].checked])
def test_what_is_checked_afterwards_is_explained(name: str) -> None:
    assert not sk.explain(ZOO[name].target).enforced


@pytest.mark.parametrize("name", [name for name in NAMES if ZOO[name].fails])
def test_validators_reject_values_without_repair(name: str) -> None:
    specimen = ZOO[name]
    assert specimen.checked
    for text in specimen.fails:
        assert _accepts(name, text), text
        assert not _pydantic_accepts(specimen.adapter, text), text
        with pytest.raises(sk.OutputValidationError) as caught:
            sk.extract(ScriptedModel([text]), "", specimen.target, retries=0)
        assert caught.value.text == text


@pytest.mark.long(every=4)
@pytest.mark.parametrize("name", NAMES)
def test_random_walks_validate(name: str) -> None:
    specimen = ZOO[name]
    adapter = specimen.adapter
    dumps = not specimen.texts and not specimen.checked
    start = _guide(name).cursor()
    for seed in range(WALKS):
        text = _walk(start.fork(), random.Random(f"{name} {seed}"))
        if specimen.checked:
            json.loads(text)
            continue
        value = adapter.validate_json(text)
        if dumps and seed < ROUND_TRIPS:
            assert _accepts(name, dumped := dump(adapter, value)), (text, dumped)


def _walk(cursor: Cursor, chance: random.Random) -> str:
    """Return a random text of the language; a budget ends long texts."""
    written = bytearray()
    mask = np.zeros(cursor.guide.vocabulary.mask_words, np.uint32)
    longest = None
    while True:
        for byte in cursor.forced_bytes():
            cursor.advance(byte)
            written.append(byte)
        if longest is None and len(written) > LONG:
            longest = len(written) + 2 * cursor.min_tokens_to_end() + LONG
        cursor.fill_mask(mask, None if longest is None else longest - len(written))
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
        allowed = [byte for byte in np.flatnonzero(bits).tolist() if byte < 256]
        if cursor.is_accepting and (longest is not None or not allowed or chance.random() < 0.3):
            return written.decode()
        closing = [byte for byte in allowed if byte in b'"]}']
        closes = closing and chance.random() < (0.3 if longest is None else 0.9)
        byte = chance.choice(closing if closes else allowed)
        cursor.advance(byte)
        written.append(byte)


@pytest.mark.long(every=4)
@pytest.mark.parametrize("name", NAMES)
def test_the_printed_regex_equals_the_language(name: str) -> None:
    specimen = ZOO[name]
    printed = sk.to_regex(specimen.target)
    if "\n" in printed:
        return  # recursive: rules, not one pattern
    pattern = re.compile(printed)
    for text in specimen.written():
        assert pattern.fullmatch(text), text
    for text in specimen.refuses:
        # A pattern cannot require items or keys to differ, so it may match more texts.
        assert not pattern.fullmatch(text) or _repeats(text), text


def _repeats(text: str) -> bool:
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: [key for key, _ in pairs])
        pairs = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return False
    return isinstance(pairs, list) and len({json.dumps(item) for item in pairs}) < len(pairs)


@pytest.mark.parametrize("name", REFUSED)
def test_rejected_types_have_an_error_message(name: str) -> None:
    with pytest.raises((sk.UnsupportedKeyword, sk.SchemaError)) as caught:
        sk.to_regex(REFUSED[name].target)
    assert REFUSED[name].error in caught.value.message


def test_the_place_of_a_rejected_part_is_named() -> None:
    with pytest.raises(sk.UnsupportedKeyword, match=r"a set cannot contain deque") as caught:
        sk.to_regex(dict[str, set[deque[int]]])
    assert caught.value.place == "$[]"
