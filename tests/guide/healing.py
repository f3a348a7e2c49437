"""Languages and ends of prompts to heal."""

from __future__ import annotations

from typing import Literal

import numpy as np
from hypothesis import strategies as st
from pydantic import BaseModel

import structkit as sk
from structkit.testing import small_vocabulary

__all__ = ["GUIDES", "PROMPTS", "SMALL", "TARGETS", "allowed_tokens"]

SMALL = small_vocabulary()


class Person(BaseModel):
    name: str
    age: int


TARGETS = {
    "person": Person,
    "words": sk.Regex(r"[a-z]+( [a-z]+)*"),
    "anything": sk.Regex(r"(?s).{1,40}"),
    "blank first": sk.Regex(r"\s?[a-zA-Z0-9]+"),
    "choice": sk.Choice(["yes", "yesterday", " no", "not now"]),
    "number": int,
    "string": str,
    "set": set[Literal["a", "b", "ab"]],
    "tree": {"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}},
}
GUIDES = {name: sk.compile(target, SMALL, cache=False) for name, target in TARGETS.items()}
PROMPTS = st.text('ab {}[]",:\n 01ntyes', min_size=1, max_size=12) | st.sampled_from(
    ["The answer is", 'x = "', "n", "Is it? ", "[1, 2", "a  ", 'true, "', "\n\n"]
)


def allowed_tokens(cursor: sk.Cursor, budget: int | None = None) -> set[int]:
    """Return the tokens of a cursor's mask."""
    mask = np.full(cursor.guide.vocabulary.mask_words, 0xFFFFFFFF, np.uint32)
    cursor.fill_mask(mask, budget)
    return set(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist())
