"""Budgets of fields: a part of a value that has its tokens is brought to its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.generate.output.json_reader import Field, JsonReader, Path
from structkit.guide.guide import Guide

__all__ = ["FieldBudgets", "FieldLimits", "FieldReader"]

FieldLimits: TypeAlias = "Callable[[Path], int | None]"
"""The tokens that a value at a place may have, if that is bounded."""

_CLOSING_BYTES = b'"]}'
_CLOSING = {"string": b'"', "array": b"]", "object": b"}", "number": b",]}) \n"}


class FieldReader(Protocol):
    """What reads where values are in a text; `JsonReader` in JSON."""

    text: bytearray

    @property
    def open_fields(self) -> Sequence[Field]:
        """The values that have begun and not ended, the outermost first."""
        ...

    def read(self, text: bytes) -> None:
        """Read on."""
        ...


class FieldBudgets:
    """The budgets of one sequence.

    Args:
        guide: Its guide.
        limits: The tokens that a value at a place may have; limits of one that is more than a JSON value have `fields`,
            which makes a reader of it.
        reader: What reads JSON; whoever takes text back rewinds it.
    """

    def __init__(self, guide: Guide, limits: FieldLimits, reader: JsonReader) -> None:
        self._guide = guide
        self._limits = limits
        self._reader_factory: Callable[[], FieldReader] | None = getattr(limits, "field_reader", None)
        self._fields: FieldReader = reader if self._reader_factory is None else self._reader_factory()

    def restrict(self, mask: NDArray[np.uint32], text: bytearray, token_ids: list[int]) -> None:
        """Allow only tokens that close what is open, if a value has had its tokens and any of them is allowed.

        Args:
            mask: uint32[words], the allowed tokens; changed in place.
            text: What was written.
            token_ids: The tokens of it.
        """
        self._fields.read(bytes(text[len(self._fields.text) :]))
        opened = self._fields.open_fields
        spent = self._exhausted(opened, token_ids, len(text))
        if spent is None:
            return
        inner = opened[-1]
        first = _CLOSING.get(inner.kind if spent is inner or inner.kind == "string" else spent.kind, b"")
        starts = [
            token for byte in first for token in self._guide.index.prefix_and_extension_tokens(bytes((byte,)))
        ]
        tokens = self._guide.vocabulary.tokens
        # Inside of a value that is spent, a token must not begin another part of it.
        ends = [token for token in starts if spent is inner or not tokens[token].strip(_CLOSING_BYTES)]
        closing = np.zeros_like(mask)
        for token in ends:
            closing[token >> 5] |= np.uint32(1 << (token & 31))
        closing &= mask
        if closing.any():
            mask[:] = closing

    def _exhausted(self, open_fields: Sequence[Field], token_ids: list[int], length: int) -> Field | None:
        """The outermost open value that has had as many tokens as it may."""
        tokens = self._guide.vocabulary.tokens
        for field in open_fields:
            limit = self._limits(field.path)
            used, at = 0, length
            for token in reversed(token_ids) if limit is not None else ():
                if at <= field.start or used == limit:
                    break
                used += 1
                at -= len(tokens[token])
            if used == limit:
                return field
        return None

    def truncate(self, length: int) -> None:
        """Forget what lies past the first bytes of the text."""
        if self._reader_factory is not None:
            text = bytes(self._fields.text[:length])
            self._fields = self._reader_factory()
            self._fields.read(text)
