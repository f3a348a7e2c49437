"""Random sentences: a text of the compiled language, written byte by byte, as whoever chooses likes it.

Nothing here knows a schema. What may come next says the guide, so every text is a sentence, and a budget is known from
the start, so every walk ends. What makes the sentences good examples is how they are chosen:

- *Ways, not bytes*: bytes that lead to the same state are one way, and ways are equally likely. Bounds and rare
  branches are states of their own, so they are met often.
- *Moods*: each string and number has a mood of its own, drawn when it begins (after Groce et al., Swarm Testing, ISSTA
  2012): readable, any bytes, hostile, or always the lowest or the highest byte; and a wish to go on, from almost none
  to almost endless, so that there are numbers of all magnitudes.
- *Names*: whether optional fields and further items are wanted is drawn once for a sentence, from never to always.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.errors import GenerationError, TokenRefused
from structkit.generate.output.json_reader import JsonReader
from structkit.guide.guide import Cursor, Guide
from structkit.testing.proof.random_source import Chance
from structkit.testing.proof.words import HOSTILE, WORDS

__all__ = ["Walks"]

_K = TypeVar("_K")
_V = TypeVar("_V")

_LONGEST = 200_000
"""Bytes of the shortest text of a language that is walked at all: about four seconds."""

_EXTRA = (16, 64, 256, 1024)
"""Bytes that a sentence may have beyond the shortest one."""

_GO_ON = (0.4, 0.7, 0.9, 0.98)
"""How likely a string or a number goes on, byte by byte."""

_MORE = (0.5, 0.8, 0.95, 1.0, 0.0)
"""How likely another field or item is wanted."""

_LATE = 2_000
"""Bytes after which a sentence with unique texts must end, once it should."""

_DEEP = 20
"""Values in values, beyond which none are opened that need not be."""

_NAME = 12
"""Bytes that are left for a further name, which must be long enough to differ, and its value."""

_READABLE, _ANY, _HOSTILE, _LOWEST, _HIGHEST = range(5)
_MOODS = (*[_READABLE] * 10, *[_ANY] * 2, *[_HOSTILE] * 2, _LOWEST, _HIGHEST)

_ALIKE = (b"0123456789", b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b" ")
_LETTERS = frozenset(_ALIKE[1] + _ALIKE[2])
_FREE = 40
"""Letters that are possible where text is free enough for words."""

_QUOTE, _COMMA = ord('"'), ord(",")
_CLOSING = frozenset(b"]}")
_ENDING = _CLOSING | {_COMMA}
_KINDS = {byte: kind for kind, group in enumerate((b"n", b"f", b"t", b"0123456789-", b'"')) for byte in group}

_KEPT = 20_000
"""Answers about states that are remembered."""


class Walks:
    """Random sentences of one guide, whose vocabulary is the bytes.

    Args:
        guide: The language, over `structkit.testing.byte_vocabulary()`.
        is_json: Whether its texts are JSON.
        names: The names of fields, in the order in which they are written, where they are known.
    """

    def __init__(self, guide: Guide, *, is_json: bool, names: Iterable[str] = ()) -> None:
        self.guide = guide
        self.is_json = is_json
        self.names = tuple(dict.fromkeys(_spelled(name) for name in names))
        self._allowed: dict[bytes, tuple[int, ...]] = {}
        self._ways: dict[tuple[frozenset[int], tuple[int, ...]], list[list[int]]] = {}
        self._start = guide.cursor()
        self._shortest = self._start.tokens_to_end()

    def walk(self, chance: Chance) -> str:
        """One sentence.

        Raises:
            GenerationError: Even the shortest is too long to be written byte by byte.
        """
        if self._shortest > _LONGEST:
            raise GenerationError(
                f"the shortest value has about {self._shortest} bytes, and examples have at most {_LONGEST}"
            )
        return _Walk(self, self._start.fork(), chance, self._shortest).write()

    def allowed(self, mask: NDArray[np.uint32]) -> tuple[int, ...]:
        """The bytes of a mask."""
        key = mask.tobytes()
        known = self._allowed.get(key)
        if known is None:
            bits = np.unpackbits(mask[:8].view(np.uint8), bitorder="little")
            known = tuple(np.flatnonzero(bits).tolist())
            _keep(self._allowed, key, known)
        return known

    def ways(self, cursor: Cursor, among: tuple[int, ...]) -> list[list[int]]:
        """Bytes by the states that they lead to."""
        frames = cursor.state.frames
        key = (frozenset(frame.state for frame in frames), among)
        known = self._ways.get(key)
        if known is None:
            automaton = self.guide.automaton
            columns = [
                automaton.targets[
                    automaton.row[state] + automaton.classes[automaton.rule[state]].astype(np.int32)
                ]
                for state in sorted(key[0])
            ]
            grouped: dict[tuple[int, ...], list[int]] = {}
            for byte in among:
                grouped.setdefault(tuple(int(column[byte]) for column in columns), []).append(byte)
            known = sorted(grouped.values(), key=_longer)
            _keep(self._ways, key, known)
        return known


class _Walk:
    """One sentence being written."""

    def __init__(self, walks: Walks, cursor: Cursor, chance: Chance, shortest: int) -> None:
        self.walks, self.cursor, self.chance = walks, cursor, chance
        self.mask = np.zeros(cursor.guide.vocabulary.words, np.uint32)
        self.fields = JsonReader()
        self.text = self.fields.text if walks.is_json else bytearray()
        self.most = shortest + _EXTRA[chance.below(len(_EXTRA))]
        self.end: int | None = None
        self.more = _MORE[chance.below(len(_MORE))]
        self.names: dict[int, set[bytes]] = {}
        self.items: dict[int, float] = {}
        self.mood, self.go_on = _READABLE, 0.0
        self._turn()

    def write(self) -> str:
        """The sentence."""
        while True:
            allowed = self._allowed()
            if not allowed or (self.cursor.can_end and self._stops()):
                return self.text.decode()
            if len(allowed) == 1:
                self._read(bytes(allowed))
            elif self.walks.is_json and not self._in_string():
                self._read(bytes((self._between(allowed),)))
            else:
                self._grow(allowed)

    def _allowed(self) -> tuple[int, ...]:
        """The bytes after which the sentence still ends in time."""
        budget: int | None = self.most - len(self.text)
        if self._remembers():
            # How long unique texts take to an end is found by searching, so that is done once, when it must be known.
            if self.end is None and len(self.text) >= self.most + _LATE:
                self.end = len(self.text) + self.cursor.tokens_to_end() + _EXTRA[0]
            budget = None if self.end is None else self.end - len(self.text)
        self.cursor.fill_mask(self.mask, budget)
        return self.walks.allowed(self.mask)

    def _remembers(self) -> bool:
        return self.walks.guide.automaton.remembers

    def _is_deep(self) -> bool:
        return len(self.fields.open) > _DEEP

    def _is_late(self) -> bool:
        return self._remembers() and len(self.text) >= self.most

    def _between(self, allowed: tuple[int, ...]) -> int:
        """A byte outside of strings: of a number, or one that begins, parts or closes values."""
        ends = [byte for byte in allowed if byte in _ENDING]
        others = tuple(byte for byte in allowed if byte not in _ENDING)
        if self.fields.open and self.fields.open[-1].kind == "number":
            if others and not (ends and self._stops()):
                return self._byte(others)
        elif others and not (ends and not self._wants_more()):
            return self._kind(others)
        if len(ends) > 1:
            wanted = self._wants_more()
            ends = [byte for byte in ends if (byte == _COMMA) == wanted]
        return ends[0]

    def _wants_more(self) -> bool:
        """Whether what is open gets another field or item."""
        holder = next(field for field in reversed(self.fields.open) if field.kind in ("object", "array"))
        if self._is_deep() or self._is_late():
            return False
        if holder.kind == "object" and self.most - len(self.text) < _NAME:
            return False
        if holder.kind == "object" and any(name not in self._named() for name in self.walks.names):
            return self.chance.happens(self.more)
        if holder.start not in self.items:
            self.items[holder.start] = _GO_ON[self.chance.below(len(_GO_ON))]
        return self.chance.happens(self.items[holder.start])

    def _kind(self, allowed: tuple[int, ...]) -> int:
        """The first byte of a value, each kind of value as likely as the others."""
        self._turn()
        kinds: dict[int, list[int]] = {}
        for byte in allowed:
            kinds.setdefault(_KINDS.get(byte, byte), []).append(byte)
        if self._is_deep() or self._is_late():
            kinds = {kind: some for kind, some in kinds.items() if kind not in b"[{"} or kinds
        names = sorted(kinds)
        return self._byte(tuple(kinds[names[self.chance.below(len(names))]]))

    def _grow(self, allowed: tuple[int, ...]) -> None:
        """Go on with a string, a name, or a text that is no JSON; or end it."""
        if self.walks.is_json:
            if self._begins():
                self._turn()
                if self.fields.in_name and self._name():
                    return
            if _QUOTE in allowed and not self._escaped():
                inside = tuple(byte for byte in allowed if byte != _QUOTE)
                if not inside or (self._stops() and not self._repeats()):
                    self._close()
                    return
                allowed = inside
        free = len(_LETTERS.intersection(allowed)) >= _FREE
        words = {_READABLE: WORDS, _HOSTILE: HOSTILE}.get(self.mood) if free and not self._is_late() else None
        if words is None or not self._word(words):
            self._read(bytes((self._byte(allowed),)))

    def _name(self) -> bool:
        """Write a name that is known, if the sentence wants all that there are, or should come to its end."""
        wanted = self._is_deep() or self._is_late() or self.chance.happens(self.more)
        if not self.walks.names or not wanted:
            return False
        named = self._named()
        for name in self.walks.names:
            if name not in named and self._try(name):
                named.add(name)
                return True
        return False

    def _named(self) -> set[bytes]:
        """The names in the object that is open."""
        holder = next((field for field in reversed(self.fields.open) if field.kind == "object"), None)
        return self.names.setdefault(holder.start, set()) if holder else set()

    def _repeats(self) -> bool:
        """Whether the text stands at the end of a name that the object has already."""
        return self.fields.in_name and self._begun() in self._named()

    def _close(self) -> None:
        if self.fields.in_name:
            self._named().add(self._begun())
        self._read(b'"')

    def _begun(self) -> bytes:
        """The name that is open, as it is spelled, and with a quote after it."""
        return bytes(self.text[self.fields.name_start + 1 :]) + b'"'

    def _word(self, words: Sequence[bytes]) -> bool:
        word = words[self.chance.below(len(words))]
        gap = b" " if self.mood == _READABLE and self.text[-1:].isalnum() else b""
        return self._try(gap + word)

    def _byte(self, allowed: tuple[int, ...]) -> int:
        """One of the bytes."""
        if self.mood in (_LOWEST, _HIGHEST) and not self._is_late():  # spaces, say, may go on for ever
            return allowed[0 if self.mood == _LOWEST else -1]
        ways = _alike(allowed) if self.mood == _READABLE else self.walks.ways(self.cursor, allowed)
        way = ways[self.chance.below(len(ways))]
        return way[self.chance.below(len(way))]

    def _try(self, text: bytes) -> bool:
        """Write a text if the language and the budget allow it."""
        left = self.most - len(self.text) - len(text)
        done = 0
        try:
            for done, byte in enumerate(text):  # noqa: B007
                self.cursor.advance(byte)
        except TokenRefused:
            self.cursor.rollback(done)
            return False
        if not self._remembers() and (left < 0 or not self.cursor.fits(left)):
            self.cursor.rollback(len(text))
            return False
        self._keep(text)
        return True

    def _read(self, text: bytes) -> None:
        for byte in text:
            self.cursor.advance(byte)
        self._keep(text)

    def _keep(self, text: bytes) -> None:
        if self.walks.is_json:
            self.fields.read(text)
        else:
            self.text += text

    def _turn(self) -> None:
        """Another mood."""
        self.mood = _MOODS[self.chance.below(len(_MOODS))]
        self.go_on = _GO_ON[self.chance.below(len(_GO_ON))]

    def _stops(self) -> bool:
        # A word counts as several bytes.
        words = self.mood == _READABLE and self.text[-1:].isalpha()
        return self._is_late() or not self.chance.happens(self.go_on**4 if words else self.go_on)

    def _in_string(self) -> bool:
        return self.fields.in_name or bool(self.fields.open and self.fields.open[-1].kind == "string")

    def _begins(self) -> bool:
        """Whether nothing but its quote is written of the name or string that is open."""
        begin = self.fields.name_start if self.fields.in_name else self.fields.open[-1].start
        return len(self.text) == begin + 1

    def _escaped(self) -> bool:
        rest = self.text.rstrip(b"\\")
        return (len(self.text) - len(rest)) % 2 == 1


@lru_cache(maxsize=1024)
def _alike(allowed: tuple[int, ...]) -> list[list[int]]:
    """Digits, small and capital letters and spaces are each one way, and so is each other mark of ASCII.

    >>> _alike(tuple(b"-01"))
    [[48, 49], [45]]
    """
    ways: dict[int, list[int]] = {}
    for byte in allowed:
        kind = next((kind for kind, bytes_ in enumerate(_ALIKE) if byte in bytes_), -byte)
        ways.setdefault(kind, []).append(byte)
    ordered = sorted(ways.values(), key=_longer)
    return [way for way in ordered if way[0] < 128] or ordered


def _longer(way: list[int]) -> tuple[bool, int]:
    """What makes a number longer or stranger comes last."""
    return way[0] in b"-+.eE", way[0]


def _spelled(name: str) -> bytes:
    return json.dumps(name, ensure_ascii=False)[1:].encode(errors="replace")


def _keep(kept: dict[_K, _V], key: _K, value: _V) -> None:
    if len(kept) >= _KEPT:
        kept.clear()
    kept[key] = value
