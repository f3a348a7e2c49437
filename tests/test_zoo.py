"""Every type of the zoo: what pydantic accepts can be written, what is written pydantic accepts."""

from __future__ import annotations

import json
import os
import re

import pytest
from pydantic import TypeAdapter

import structkit as sk
from structkit.testing import RandomModel, byte_vocabulary
from tests.zoo import ZOO

WALKS = int(os.environ.get("STRUCTKIT_WALKS", "4"))
NAMES = list(ZOO)


def _accepts(target: object, text: str) -> bool:
    cursor = sk.compile(target, byte_vocabulary(), cache=False).cursor()
    try:
        for byte in text.encode():
            cursor.advance(byte)
    except sk.TokenRefused:
        return False
    return cursor.can_end


def _dump(adapter: TypeAdapter[object], value: object) -> str:
    return json.dumps(adapter.dump_python(value, mode="json", by_alias=True), ensure_ascii=False)


@pytest.mark.parametrize("name", NAMES)
def test_dumps_of_accepted_values_are_in_the_language(name: str) -> None:
    specimen = ZOO[name]
    adapter = TypeAdapter(specimen.target)
    for value in specimen.accepts:
        text = _dump(adapter, value)
        adapter.validate_json(text)
        assert _accepts(specimen.target, text), text


@pytest.mark.parametrize("name", NAMES)
def test_refused_texts_are_not_in_the_language(name: str) -> None:
    for text in ZOO[name].refuses:
        assert not _accepts(ZOO[name].target, text), text


@pytest.mark.parametrize("name", NAMES)
def test_printed_regex_is_the_language(name: str) -> None:
    specimen = ZOO[name]
    printed = sk.to_regex(specimen.target)
    if "\n" in printed:
        pytest.skip("recursive: rules, not one pattern")
    pattern = re.compile(printed)
    adapter = TypeAdapter(specimen.target)
    for value in specimen.accepts:
        assert pattern.fullmatch(_dump(adapter, value))
    for text in specimen.refuses:
        # A pattern cannot say that items or keys differ, so it may hold more.
        assert not pattern.fullmatch(text) or _repeats(text), text


def _repeats(text: str) -> bool:
    try:
        pairs = json.loads(text, object_pairs_hook=lambda pairs: [key for key, _ in pairs])
    except ValueError:
        return False
    return isinstance(pairs, list) and len({json.dumps(item) for item in pairs}) < len(pairs)


@pytest.mark.parametrize("name", NAMES)
def test_random_walks_validate(name: str) -> None:
    target = ZOO[name].target
    for seed in range(WALKS):
        model = RandomModel(seed=seed)
        result = sk.generate(model, "", target, max_tokens=100 + 40 * seed, temperature=1.0, seed=seed)
        assert result.usage.generated_tokens <= 100 + 40 * seed
        TypeAdapter(target).validate_json(result.text)
        assert _accepts(target, result.text)
