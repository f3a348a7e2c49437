"""String oracle based on automata: membership of a text in a string schema, and emptiness of the schema."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from structkit.errors import LimitExceeded, UnsatisfiableSchema, UnsupportedKeyword
from structkit.limits import Limits, Work
from structkit.lowering.strings.raw_text import can_exclude, raw_language, uncertain_formats
from structkit.regex.nodes import Rules
from structkit.regex.walk import has_text
from structkit.schema.algebra.intersect_strings import literal_text
from structkit.schema.ir.nodes import Format, String
from structkit.schema.markers.quote import needs_source

if TYPE_CHECKING:
    from structkit.automaton.core.dfa import Dfa
    from structkit.automaton.runtime.automaton import Automaton

__all__ = ["AutomatonOracle"]

_STEPS_OF_LARGE = 2_500_000
"""Work on an automaton that is too large, until it was seen to be."""

_BYTES_PER_STEP = 32
"""Bytes that an automaton without calls reads in a step of `Limits.work`."""

_STEPS_PER_FRAME = 40
"""Steps of `Limits.work` in which an automaton with calls reads a byte in one of its parses."""


class AutomatonOracle:
    """Answer queries for one dialect of patterns; implements `structkit.schema.algebra.string_oracle.StringOracle`.

    Args:
        python: Whether patterns are in pydantic's dialect; otherwise in that of ECMA-262.
        limits: Bounds patterns and automata; the answer beyond them is `None`. The work for all answers is an error.

    >>> oracle = AutomatonOracle(python=False)
    >>> oracle.contains_each(String(patterns=("^a",)), ["ab", "ba"])
    [True, False]
    >>> oracle.is_empty(String(patterns=("^a$",), forbidden=("a",)))
    True
    """

    def __init__(self, *, python: bool, limits: Limits = Limits()) -> None:  # noqa: B008
        self._python = python
        self._limits = limits
        self._work = Work(limits.work)
        self._counted: set[tuple[String, bool]] = set()

    def contains_each(self, node: String, texts: Sequence[str]) -> list[bool | None]:
        """Return for each text whether it is one of the strings; `None` if unknown.

        Each automaton reads all texts in one pass.
        """
        answers: list[bool | None] = [False] * len(texts)
        most = math.inf if node.max_length is None else node.max_length
        literals, excluded = _forbidden(node)
        only = {pattern: text for pattern in node.patterns if (text := literal_text(pattern)) is not None}
        allowed = tuple(pattern for pattern in node.patterns if pattern not in only)
        plain, lines = list[int](), list[int]()
        for place, text in enumerate(texts):
            if node.min_length <= len(text) <= most:
                # In some dialects `$` also stands before a last line break.
                if text.endswith("\n"):
                    lines.append(place)
                elif text not in literals and all(known == text for known in only.values()):
                    plain.append(place)
        for places, patterns, forbidden in (
            (plain, allowed, excluded),
            (lines, node.patterns, node.forbidden),
        ):
            if places:
                found = self._match(node, patterns, forbidden, [texts[place] for place in places])
                for place, answer in zip(places, found, strict=True):
                    answers[place] = answer
        return answers

    def _match(
        self, node: String, patterns: Sequence[str], forbidden: Sequence[str], texts: Sequence[str]
    ) -> list[bool | None]:
        """Return for each text whether it has the patterns and the format of a node, and no forbidden ones."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        # One automaton per part, without lengths, is smaller than the product.
        required = [String(patterns=(pattern,)) for pattern in patterns]
        if not all(map(str.isascii, texts)):  # half of a surrogate pair is no text
            required.append(String())
        required += [String(format=each) for each in node.formats]
        excluded = (
            *(String(patterns=(pattern,)) for pattern in forbidden),
            *(String(format=each) for each in node.forbidden_formats),
        )
        answers: list[Sequence[bool | None]] = [self._accept(part, encoded) for part in required]
        answers += [
            [None if answer is None else not answer for answer in self._accept(part, encoded)]
            for part in excluded
        ]
        if not answers:
            return [True] * len(texts)
        return [
            False if False in each else None if None in each else True for each in zip(*answers, strict=True)
        ]

    def _accept(self, node: String, texts: Sequence[bytes]) -> Sequence[bool | None]:
        """Return for each text whether the node has it; `False` only if the widened language lacks it too."""
        accepted = None if _needs_source(node) else self._read(node, texts, widened=False)
        if accepted is None:
            return [None] * len(texts)
        if all(accepted) or not uncertain_formats(node):
            return accepted
        wider = self._read(node, texts, widened=True) or [True] * len(texts)
        return [
            True if surely else None if perhaps else False
            for surely, perhaps in zip(accepted, wider, strict=True)
        ]

    def _read(self, node: String, texts: Sequence[bytes], *, widened: bool) -> list[bool] | None:
        """Return for each text whether the automaton accepts it; `None` if it cannot be built."""
        dfa = self._dfa(node, widened=widened)
        if dfa is None or not dfa.callees:
            self._pay(sum(map(len, texts)) // _BYTES_PER_STEP + len(texts))
            return None if dfa is None else dfa.accepts_each(texts)
        automaton = _linked(node, self._python, widened, self._limits)
        try:
            return None if automaton is None else [self._reads(automaton, text) for text in texts]
        except LimitExceeded as error:
            if error.limit == "parse_states":
                return None
            raise

    def _reads(self, automaton: Automaton, text: bytes) -> bool:
        """Return whether an automaton with calls accepts a text."""
        frames = automaton.start_frames()
        for byte in text:
            self._pay(_STEPS_PER_FRAME * len(frames))
            frames = automaton.step(frames, byte)
        return automaton.is_accepting(frames)

    def is_empty(self, node: String) -> bool | None:
        """Return whether there is no such string; `None` if unknown."""
        if _needs_source(node):
            return None
        if len(node.patterns) == 1 and not node.forbidden and _has_text(node, self._python, self._limits):
            return False
        dfa = self._dfa(node, widened=False)
        if dfa is None or dfa.min_count:
            return None
        if dfa.is_empty and uncertain_formats(node):
            wider = self._dfa(node, widened=True)
            return True if wider is not None and not wider.min_count and wider.is_empty else None
        return dfa.is_empty

    def can_exclude(self, given: Format) -> bool:
        """Return whether strings that are not of a format can be generated."""
        return can_exclude(given)

    def _dfa(self, node: String, *, widened: bool) -> Dfa | None:
        """Return the automaton of a node, and pay for it once."""
        dfa = _automaton(node, self._python, widened, self._limits)
        if (node, widened) not in self._counted:
            self._counted.add((node, widened))
            self._pay(_STEPS_OF_LARGE if dfa is None else dfa.steps)
        return dfa

    def _pay(self, steps: int) -> None:
        self._work.pay(steps, "the work on the automata of all patterns")


def _needs_source(node: String) -> bool:
    return any(map(needs_source, (*node.formats, *node.forbidden_formats)))


@lru_cache(maxsize=64)
def _forbidden(node: String) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the texts that a node forbids one by one (there can be thousands), and its other patterns."""
    texts = [literal_text(pattern) for pattern in node.forbidden]
    others = (pattern for pattern, text in zip(node.forbidden, texts, strict=True) if text is None)
    return frozenset(text for text in texts if text is not None), tuple(others)


@lru_cache(maxsize=1024)
def _automaton(node: String, python: bool, widened: bool, limits: Limits) -> Dfa | None:
    """Return the automaton of the texts; `None` if it is too large or unsupported."""
    # Most schemas make no query: import the compiler on first use.
    from structkit.automaton.construct.compile_rule import rule_dfa

    try:
        return rule_dfa(raw_language(node, python=python, widened=widened, limits=limits), limits)
    except (LimitExceeded, UnsupportedKeyword):
        return None


@lru_cache(maxsize=1024)
def _has_text(node: String, python: bool, limits: Limits) -> bool:
    """Return whether there certainly is such a string; no automaton is built."""
    try:
        return has_text(raw_language(node, python=python, limits=limits))
    except (LimitExceeded, UnsupportedKeyword):
        return False


@lru_cache(maxsize=64)
def _linked(node: String, python: bool, widened: bool, limits: Limits) -> Automaton | None:
    """Return the automaton of the texts with all rules that it calls; `None` as `_automaton`."""
    from structkit.automaton.link import link

    try:
        return link(Rules(raw_language(node, python=python, widened=widened, limits=limits), {}), limits)
    except (LimitExceeded, UnsatisfiableSchema):
        return None
