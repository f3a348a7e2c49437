"""Random sentences end within the budget, with unbounded and with distinct parts."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, StringConstraints

from structkit.testing.proof.language import Language
from structkit.testing.proof.random_source import SeededSource

LONGEST = 2_000
"""Maximum number of bytes: the budget of at most 1,024, and the bytes that close the sentence."""


class Open(BaseModel):
    """A key of any name may precede the required keys, and its value may contain further such objects."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Open]
    name: str
    age: int
    others: list[Open] = []


class Stripped(BaseModel):
    """A string that must not end in a space, but may contain any number of spaces."""

    model_config = ConfigDict(str_strip_whitespace=True, str_to_lower=True)
    words: set[str]
    scores: dict[str, Annotated[str, StringConstraints(min_length=1)]]


@pytest.mark.long(every=2)
@pytest.mark.parametrize(
    ("target", "options"), [(Open, {}), (Open, {"order": "any"}), (Stripped, {}), (set[str], {})]
)
def test_sentences_end_within_the_budget(target: Any, options: dict[str, Any]) -> None:
    language = Language.compile(target, **options)
    sizes = [len(language.sentence(SeededSource(f"{number}")).encode()) for number in range(40)]
    assert max(sizes) < LONGEST
