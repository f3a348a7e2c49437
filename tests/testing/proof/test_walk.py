"""Random sentences end soon, whatever may go on without end and whatever must differ."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, StringConstraints

from structkit.testing.proof.language import Language
from structkit.testing.proof.random_source import SeededSource

LONGEST = 2_000
"""Bytes: those wished for, at most 1,024, and what still has to be closed then."""


class Open(BaseModel):
    """A key of any name may come before those that must be there, and holds another of these."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Open]
    name: str
    age: int
    others: list[Open] = []


class Stripped(BaseModel):
    """A string must not end in a space, and may have any number of them before that."""

    model_config = ConfigDict(str_strip_whitespace=True, str_to_lower=True)
    words: set[str]
    scores: dict[str, Annotated[str, StringConstraints(min_length=1)]]


@pytest.mark.parametrize(
    ("target", "options"), [(Open, {}), (Open, {"order": "any"}), (Stripped, {}), (set[str], {})]
)
def test_sentences_end_soon(target: Any, options: dict[str, Any]) -> None:
    language = Language.compile(target, **options)
    sizes = [len(language.sentence(SeededSource(f"{number}")).encode()) for number in range(40)]
    assert max(sizes) < LONGEST
