"""Random generations in the tokens of a real tokenizer: the parser of each language reads all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache

import pytest
from tokenizers import Tokenizer

import structkit as sk
from benchmarks.data import read_tokenizer
from tests.grammar.test_against_lark import lark_accepts
from tests.grammars.generations import Kinds, generate
from tests.grammars.labelled_grammars import FOLDER, NAMES, LabelledGrammar
from tests.grammars.test_grammars import LANGUAGES, grammar
from tests.shared import SHARED, cases

TOKENIZER = SHARED / "data" / "tokenizers" / "deepseek.tokenizer.json.gz"

pytestmark = pytest.mark.skipif(
    not (NAMES and TOKENIZER.is_file()), reason="needs the grammars and tokenizers of ../shared/data"
)

LARGE = {"lark", "python", "sql"}
"""The languages with 5,000 generations; the others have 10,080 together."""

PART = 250
"""Generations of one test."""


def parts() -> Iterator[tuple[str, range]]:
    for name in NAMES:
        count = cases(4, of=5_000 if name in LARGE else 560)
        for first in range(0, count, PART):
            yield name, range(first, min(first + PART, count))


@lru_cache(maxsize=1)
def tokenizer() -> Tokenizer:
    return read_tokenizer(TOKENIZER)


@lru_cache(maxsize=1)
def kinds() -> Kinds:
    return Kinds(sk.Vocabulary.from_tokenizer(tokenizer()))


@lru_cache(maxsize=2)
def labelled_guide(name: str) -> sk.Guide:
    return sk.compile(LabelledGrammar(FOLDER / name).grammar(), kinds().vocabulary, cache=False)


def budgets(labelled: LabelledGrammar) -> tuple[int, int, int, int]:
    """Return budgets: Lark's Earley parser takes seconds for a text of 40 tokens, and longer for an ambiguous one."""
    if labelled.folder.name == "ambiguous-ss":
        return 2, 4, 6, 8
    return (4, 8, 12, 16) if labelled.is_earley else (5, 20, 60, 150)


def random_text(guide: sk.Guide, budgets: tuple[int, int, int, int], seed: str, number: int) -> str:
    """Return a random text; every other one knows its budget from the start."""
    source = random.Random(f"{seed} {number}")
    return generate(guide, kinds(), source, budgets[number // 2 % 4], limited=number % 2 == 0)


@pytest.mark.long(every=8)
@pytest.mark.parametrize(("name", "numbers"), [*parts()])
def test_lark_reads_each_generation(name: str, numbers: range) -> None:
    labelled = LabelledGrammar(FOLDER / name)
    oracle = labelled.oracle()
    for number in numbers:
        text = random_text(labelled_guide(name), budgets(labelled), name, number)
        assert lark_accepts(oracle, text), text


@pytest.mark.long(every=8)
@pytest.mark.parametrize("name", LANGUAGES)
def test_the_oracle_of_the_library_reads_each_generation(name: str) -> None:
    guide = sk.compile(grammar(name), kinds().vocabulary, cache=False)
    for number in range(cases(4, of=304)):
        text = random_text(guide, (5, 20, 60, 150), name, number)
        try:
            LANGUAGES[name][1](text)
        except Exception as error:
            raise AssertionError(f"{error!r} in {text!r}") from error


@pytest.mark.long(every=8)
@pytest.mark.parametrize("name", NAMES)
def test_the_masks_allow_what_the_labels_say(name: str) -> None:
    """A text is in the language if the masks allow each of its tokens, and an end behind it."""
    texts = LabelledGrammar(FOLDER / name).cases
    for text, is_valid in random.Random(0).sample(texts, min(len(texts), cases(8, of=len(texts)))):
        cursor = labelled_guide(name).cursor()
        try:
            for token in tokenizer().encode(text, add_special_tokens=False).ids:
                cursor.advance(token)
        except sk.TokenRejected:
            assert not is_valid, text
        else:
            assert cursor.is_accepting == is_valid, text
