"""Random walks: sentences of the compiled language, written byte by byte.

A walk has no access to the schema. The guide allows the next bytes, so every text is a sentence; a byte budget is fixed
at the start, so every walk ends. The choices make the sentences useful as examples:

- *Groups of bytes*: bytes that lead to the same state form one group, and groups are equally likely. Bounds and rare
  branches are separate states, so they are reached often.
- *Moods*: each string and number draws a mood at its start (after Groce et al., Swarm Testing, ISSTA 2012): readable,
  any bytes, hostile, or always the lowest or the highest byte; and a probability of continuing, from low to almost 1,
  so that numbers of all magnitudes occur.
- *Names*: the probability of optional fields and further items is drawn once per sentence, from never to always.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.errors import GenerationError, TokenRejected
from structkit.generate.output.json_reader import JsonReader
from structkit.guide.guide import Cursor, Guide
from structkit.testing.proof.random_source import RandomSource
from structkit.testing.proof.words import HOSTILE, WORDS

__all__ = ["RandomWalks"]

_K = TypeVar("_K")
_V = TypeVar("_V")

_MAX_BYTES = 200_000
"""Maximum number of bytes of the shortest sentence: about four seconds."""

_EXTRA_BYTES = (16, 64, 256, 1024)
"""Bytes that a sentence may have beyond the shortest sentence."""

_CONTINUE_PROBABILITIES = (0.4, 0.7, 0.9, 0.98)
"""Probabilities of continuing a string or a number after each byte."""

_MORE_PROBABILITIES = (0.5, 0.8, 0.95, 1.0, 0.0)
"""Probabilities of another field or item."""

_LATE_BYTES = 2_000
"""Bytes beyond the budget after which a sentence with distinct texts must end."""

_MAX_DEPTH = 20
"""Nesting depth beyond which no optional container is opened."""

_MAX_NAME = 12
"""Bytes reserved for a further name, which must be long enough to be distinct, and its value."""

_READABLE, _ANY, _HOSTILE, _LOWEST, _HIGHEST = range(5)
_MOODS = (*[_READABLE] * 10, *[_ANY] * 2, *[_HOSTILE] * 2, _LOWEST, _HIGHEST)

_SIMILAR = (b"0123456789", b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b" ")
_LETTERS = frozenset(_SIMILAR[1] + _SIMILAR[2])
_MAX_FREE_TEXT = 40
"""Minimum number of allowed letters in text that is free enough for words."""

_QUOTE, _COMMA = ord('"'), ord(",")
_CLOSING = frozenset(b"]}")
_ENDING = _CLOSING | {_COMMA}
_KINDS = {byte: kind for kind, group in enumerate((b"n", b"f", b"t", b"0123456789-", b'"')) for byte in group}

_CACHE_SIZE = 20_000
"""Maximum number of cached results per state."""


class RandomWalks:
    """Random sentences of one guide over the byte vocabulary.

    Args:
        guide: The language, over `structkit.testing.byte_vocabulary()`.
        is_json: Whether its texts are JSON.
        names: Known field names, in the order in which they are written.
    """

    def __init__(self, guide: Guide, *, is_json: bool, names: Iterable[str] = ()) -> None:
        self.guide = guide
        self.is_json = is_json
        self.names = tuple(dict.fromkeys(_escaped_name(name) for name in names))
        self._allowed: dict[bytes, tuple[int, ...]] = {}
        self._byte_groups: dict[tuple[frozenset[int], tuple[int, ...]], list[list[int]]] = {}
        self._start = guide.cursor()
        self._shortest = self._start.min_tokens_to_end()

    def walk(self, random_source: RandomSource) -> str:
        """Return a random sentence.

        Raises:
            GenerationError: The shortest sentence is too long.
        """
        if self._shortest > _MAX_BYTES:
            raise GenerationError(
                f"the shortest value has about {self._shortest} bytes, and examples have at most {_MAX_BYTES}; "
                "lower the minimum lengths of the type"
            )
        return _RandomWalk(self, self._start.fork(), random_source, self._shortest).write()

    def allowed_bytes(self, mask: NDArray[np.uint32]) -> tuple[int, ...]:
        """Return the bytes of a mask."""
        key = mask.tobytes()
        known = self._allowed.get(key)
        if known is None:
            bits = np.unpackbits(mask[:8].view(np.uint8), bitorder="little")
            known = tuple(np.flatnonzero(bits).tolist())
            _cache_put(self._allowed, key, known)
        return known

    def byte_groups(self, cursor: Cursor, allowed: tuple[int, ...]) -> list[list[int]]:
        """Group bytes by the states that they lead to."""
        frames = cursor.state.frames
        key = (frozenset(frame.state for frame in frames), allowed)
        known = self._byte_groups.get(key)
        if known is None:
            automaton = self.guide.automaton
            columns = [
                automaton.targets[
                    automaton.row[state] + automaton.classes[automaton.rule[state]].astype(np.int32)
                ]
                for state in sorted(key[0])
            ]
            grouped: dict[tuple[int, ...], list[int]] = {}
            for byte in allowed:
                grouped.setdefault(tuple(int(column[byte]) for column in columns), []).append(byte)
            known = sorted(grouped.values(), key=_cost_rank)
            _cache_put(self._byte_groups, key, known)
        return known


class _RandomWalk:
    """A sentence that is being written."""

    def __init__(
        self, walks: RandomWalks, cursor: Cursor, random_source: RandomSource, shortest: int
    ) -> None:
        self.walks, self.cursor, self.random_source = walks, cursor, random_source
        self.mask = np.zeros(cursor.guide.vocabulary.mask_words, np.uint32)
        self.fields = JsonReader()
        self.text = self.fields.text if walks.is_json else bytearray()
        self.max_bytes = shortest + _EXTRA_BYTES[random_source.below(len(_EXTRA_BYTES))]
        self.end_at: int | None = None
        self.more_probability = _MORE_PROBABILITIES[random_source.below(len(_MORE_PROBABILITIES))]
        self.names: dict[int, set[bytes]] = {}
        self.items: dict[int, float] = {}
        self.mood, self.continue_probability = _READABLE, 0.0
        self._change_mood()

    def write(self) -> str:
        """Write and return the sentence."""
        while True:
            allowed = self._allowed()
            if not allowed or (self.cursor.is_accepting and self._should_stop()):
                return self.text.decode()
            if len(allowed) == 1:
                self._read(bytes(allowed))
            elif self.walks.is_json and not self._in_string():
                self._read(bytes((self._structural_byte(allowed),)))
            else:
                self._extend_text(allowed)

    def _allowed(self) -> tuple[int, ...]:
        """Return the bytes after which the sentence can still end within the budget."""
        budget: int | None = self.max_bytes - len(self.text)
        if self._tracks_names():
            # The remaining length with distinct texts requires a search, so it is computed once, when it is needed.
            if self.end_at is None and len(self.text) >= self.max_bytes + _LATE_BYTES:
                self.end_at = len(self.text) + self.cursor.min_tokens_to_end() + _EXTRA_BYTES[0]
            budget = None if self.end_at is None else self.end_at - len(self.text)
        self.cursor.fill_mask(self.mask, budget)
        return self.walks.allowed_bytes(self.mask)

    def _tracks_names(self) -> bool:
        return self.walks.guide.automaton.has_distinct

    def _is_deep(self) -> bool:
        return len(self.fields.open_fields) > _MAX_DEPTH

    def _is_late(self) -> bool:
        return self._tracks_names() and len(self.text) >= self.max_bytes

    def _structural_byte(self, allowed: tuple[int, ...]) -> int:
        """Return a byte outside of strings: of a number, or one that starts, separates or closes values."""
        ends = [byte for byte in allowed if byte in _ENDING]
        others = tuple(byte for byte in allowed if byte not in _ENDING)
        if self.fields.open_fields and self.fields.open_fields[-1].kind == "number":
            if others and not (ends and self._should_stop()):
                return self._byte(others)
        elif others and not (ends and not self._wants_more()):
            return self._value_start(others)
        if len(ends) > 1:
            wanted = self._wants_more()
            ends = [byte for byte in ends if (byte == _COMMA) == wanted]
        return ends[0]

    def _wants_more(self) -> bool:
        """Return whether the innermost container gets another field or item."""
        holder = next(
            field for field in reversed(self.fields.open_fields) if field.kind in ("object", "array")
        )
        if self._is_deep() or self._is_late():
            return False
        if holder.kind == "object" and self.max_bytes - len(self.text) < _MAX_NAME:
            return False
        if holder.kind == "object" and any(name not in self._used_names() for name in self.walks.names):
            return self.random_source.coin(self.more_probability)
        if holder.start not in self.items:
            self.items[holder.start] = _CONTINUE_PROBABILITIES[
                self.random_source.below(len(_CONTINUE_PROBABILITIES))
            ]
        return self.random_source.coin(self.items[holder.start])

    def _value_start(self, allowed: tuple[int, ...]) -> int:
        """Return the first byte of a value, with all kinds of values equally likely."""
        self._change_mood()
        kinds: dict[int, list[int]] = {}
        for byte in allowed:
            kinds.setdefault(_KINDS.get(byte, byte), []).append(byte)
        if self._is_deep() or self._is_late():
            kinds = {kind: some for kind, some in kinds.items() if kind not in b"[{"} or kinds
        names = sorted(kinds)
        return self._byte(tuple(kinds[names[self.random_source.below(len(names))]]))

    def _extend_text(self, allowed: tuple[int, ...]) -> None:
        """Continue a string, a name, or a text that is not JSON; or end it."""
        if self.walks.is_json:
            if self._at_string_start():
                self._change_mood()
                if self.fields.in_key and self._name():
                    return
            if _QUOTE in allowed and not self._escaped():
                inside = tuple(byte for byte in allowed if byte != _QUOTE)
                if not inside or (self._should_stop() and not self._repeats()):
                    self._close()
                    return
                allowed = inside
        free = len(_LETTERS.intersection(allowed)) >= _MAX_FREE_TEXT
        words = {_READABLE: WORDS, _HOSTILE: HOSTILE}.get(self.mood) if free and not self._is_late() else None
        if words is None or not self._word(words):
            self._read(bytes((self._byte(allowed),)))

    def _name(self) -> bool:
        """Write a known name, if the sentence includes optional fields or must end."""
        wanted = self._is_deep() or self._is_late() or self.random_source.coin(self.more_probability)
        if not self.walks.names or not wanted:
            return False
        named = self._used_names()
        for name in self.walks.names:
            if name not in named and self._try(name):
                named.add(name)
                return True
        return False

    def _used_names(self) -> set[bytes]:
        """Return the names in the innermost object."""
        holder = next((field for field in reversed(self.fields.open_fields) if field.kind == "object"), None)
        return self.names.setdefault(holder.start, set()) if holder else set()

    def _repeats(self) -> bool:
        """Return whether the current name equals a name in the object."""
        return self.fields.in_key and self._open_name() in self._used_names()

    def _close(self) -> None:
        if self.fields.in_key:
            self._used_names().add(self._open_name())
        self._read(b'"')

    def _open_name(self) -> bytes:
        """Return the current name as spelled, followed by a quote."""
        return bytes(self.text[self.fields.key_start + 1 :]) + b'"'

    def _word(self, words: Sequence[bytes]) -> bool:
        word = words[self.random_source.below(len(words))]
        gap = b" " if self.mood == _READABLE and self.text[-1:].isalnum() else b""
        return self._try(gap + word)

    def _byte(self, allowed: tuple[int, ...]) -> int:
        """Choose one of the bytes."""
        if (
            self.mood in (_LOWEST, _HIGHEST) and not self._is_late()
        ):  # some bytes, such as spaces, never end the text
            return allowed[0 if self.mood == _LOWEST else -1]
        groups = (
            _similar_bytes(allowed)
            if self.mood == _READABLE
            else self.walks.byte_groups(self.cursor, allowed)
        )
        group = groups[self.random_source.below(len(groups))]
        return group[self.random_source.below(len(group))]

    def _try(self, text: bytes) -> bool:
        """Write a text if the language and the budget allow it."""
        left = self.max_bytes - len(self.text) - len(text)
        done = 0
        try:
            for done, byte in enumerate(text):  # noqa: B007
                self.cursor.advance(byte)
        except TokenRejected:
            self.cursor.rollback(done)
            return False
        if not self._tracks_names() and (left < 0 or not self.cursor.fits(left)):
            self.cursor.rollback(len(text))
            return False
        self._append(text)
        return True

    def _read(self, text: bytes) -> None:
        for byte in text:
            self.cursor.advance(byte)
        self._append(text)

    def _append(self, text: bytes) -> None:
        if self.walks.is_json:
            self.fields.read(text)
        else:
            self.text += text

    def _change_mood(self) -> None:
        """Draw a mood."""
        self.mood = _MOODS[self.random_source.below(len(_MOODS))]
        self.continue_probability = _CONTINUE_PROBABILITIES[
            self.random_source.below(len(_CONTINUE_PROBABILITIES))
        ]

    def _should_stop(self) -> bool:
        # A word counts as several bytes.
        words = self.mood == _READABLE and self.text[-1:].isalpha()
        return self._is_late() or not self.random_source.coin(
            self.continue_probability**4 if words else self.continue_probability
        )

    def _in_string(self) -> bool:
        return self.fields.in_key or bool(
            self.fields.open_fields and self.fields.open_fields[-1].kind == "string"
        )

    def _at_string_start(self) -> bool:
        """Return whether only the opening quote of the current name or string is written."""
        begin = self.fields.key_start if self.fields.in_key else self.fields.open_fields[-1].start
        return len(self.text) == begin + 1

    def _escaped(self) -> bool:
        rest = self.text.rstrip(b"\\")
        return (len(self.text) - len(rest)) % 2 == 1


@lru_cache(maxsize=1024)
def _similar_bytes(allowed: tuple[int, ...]) -> list[list[int]]:
    """Group digits, small letters, capital letters and spaces; each other ASCII character is a group.

    >>> _similar_bytes(tuple(b"-01"))
    [[48, 49], [45]]
    """
    groups: dict[int, list[int]] = {}
    for byte in allowed:
        kind = next((kind for kind, bytes_ in enumerate(_SIMILAR) if byte in bytes_), -byte)
        groups.setdefault(kind, []).append(byte)
    ordered = sorted(groups.values(), key=_cost_rank)
    return [group for group in ordered if group[0] < 128] or ordered


def _cost_rank(group: list[int]) -> tuple[bool, int]:
    """Order groups so that bytes that make a number longer or stranger come last."""
    return group[0] in b"-+.eE", group[0]


def _escaped_name(name: str) -> bytes:
    return json.dumps(name, ensure_ascii=False)[1:].encode(errors="replace")


def _cache_put(cache: dict[_K, _V], key: _K, value: _V) -> None:
    if len(cache) >= _CACHE_SIZE:
        cache.clear()
    cache[key] = value
