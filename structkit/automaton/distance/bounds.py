"""How long a text of a rule need be: known from its node, without its automaton."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from structkit.automaton.core.dfa import RuleKey
from structkit.automaton.core.kernels import UNREACHABLE
from structkit.automaton.distance.cardinality import Cardinality, find_shortage, min_distinct
from structkit.regex.json_string import free_text_body
from structkit.regex.nodes import (
    AnyOrder,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    LiteralText,
    MultipleOf,
    Node,
    Repeat,
    RuleRef,
    Rules,
    SeparatedList,
    Seq,
    Substring,
)
from structkit.regex.substring import END, encode_source

__all__ = ["DISTINCT_MARGIN", "LengthBounds"]

DISTINCT_MARGIN = 3
"""Bytes, or tokens, more than the shortest that a unique text may need to differ from those seen: three digits, say."""

_FREE_TEXT = free_text_body(0, None)


class LengthBounds:
    """For each rule the bytes that are enough for one of its texts, `FAR` if it has none.

    Only what must be in a text is looked at, and of alternatives the first that has a text: so few other rules are,
    and the bytes are not always the fewest. With unique texts, which must differ, they are an estimate.

    Args:
        rules: The rules.
        product: The bytes of a shortest text of an intersection or a difference.
        cardinality: Counts texts, where a rule needs several unique ones; without it there are enough.

    Attributes:
        shortage: The first rule found with fewer unique texts than it needs: its name, what it needs, and what there
            are.

    >>> lengths = LengthBounds(Rules(RuleRef("a"), {"a": Choice((Seq((LiteralText("("), RuleRef("a"))), LiteralText("x")))}), lambda node: 0)
    >>> lengths.of("a")
    1
    """

    def __init__(
        self, rules: Rules, product: Callable[[Intersection], int], cardinality: Cardinality | None = None
    ) -> None:
        self._rules = rules
        self._product = product
        self._counts = cardinality
        self.shortage: tuple[str, int, int] | None = None
        self._lengths: dict[RuleKey, int] = {}

    def of(self, key: RuleKey) -> int:
        """The bytes that are enough for a text of what a call names."""
        missing: set[str] = set()
        if isinstance(key, str):
            if key not in self._lengths:
                node = self._rules.rules[key]
                common = None if key.startswith("#") else _common_length(node)
                if common is not None:
                    self._lengths[key] = common
                    return common
                length = self._of_node(node, missing)
                if length < UNREACHABLE and not self._is_short(key):  # most often
                    self._lengths[key] = length
                else:
                    self._find([key])
            return self._lengths[key]
        length = self._of_node(key, missing)
        if length < UNREACHABLE or not missing:
            return length
        self._find(sorted(missing))
        return self._of_node(key, set())

    def _find(self, rules: Iterable[str]) -> None:
        """Find the bytes of rules and of those they need: each is looked at again once others are known."""
        stuck: dict[str, set[str]] = {}
        pending = list(rules)
        while pending:
            while pending:
                current = pending.pop()
                if current in stuck or current in self._lengths:
                    continue
                missing: set[str] = set()
                length = self._of_node(self._rules.rules[current], missing)
                if length < UNREACHABLE and self._is_short(current):
                    length = UNREACHABLE
                    missing.clear()
                if length < UNREACHABLE:
                    self._lengths[current] = length
                else:
                    stuck[current] = missing
                    pending += sorted(missing)  # in any process the same
            pending = [at for at, missing in stuck.items() if any(rule in self._lengths for rule in missing)]
            for at in pending:
                del stuck[at]
        # The rest wait for each other, so none has a text.
        self._lengths.update(dict.fromkeys(stuck, UNREACHABLE))

    def _is_short(self, rule: str) -> bool:
        """Whether a rule needs more unique texts than there are."""
        found = None if self._counts is None else find_shortage(self._rules.rules[rule], self._counts)
        if found is not None:
            self.shortage = self.shortage or (rule, *found)
        return found is not None

    def _of_node(self, node: Node, missing: set[str]) -> int:
        """The bytes of a node, or `FAR`; then `missing` receives the rules of which none is known yet."""
        match node:
            case LiteralText():
                return len(node.utf8)
            case CharClass(ranges):
                return len(chr(ranges[0][0]).encode()) if ranges else UNREACHABLE
            case MultipleOf():
                return 1
            case Substring():
                return _shortest_quote(node)
            case RuleRef(rule):
                known = self._lengths.get(rule)
                if known is None:
                    missing.add(rule)
                return UNREACHABLE if known is None else known
            case Distinct(inner):
                return _sum((self._of_node(inner, missing), DISTINCT_MARGIN))
            case Seq(parts):  # all are looked at, so that what is missing is known at once
                return _sum([self._of_node(part, missing) for part in parts])
            case Choice(parts):
                return self._of_any(parts, missing)
            case Repeat(part, least):
                return _times(least, self._of_node(part, missing)) if least else 0
            case SeparatedList(parts, separator):
                needed = [part for part in parts if part.min_count]
                each = (_times(part.min_count, self._of_node(part.node, missing)) for part in needed)
                return _sum((*each, len(separator.encode()) * max(0, sum(p.min_count for p in needed) - 1)))
            case AnyOrder(entries, separator, least):
                if not least:
                    return 0
                counting = [entry for entry in entries if entry.counted]
                each = (
                    _sum((self._of_node(e.key, missing), self._of_node(e.value, missing))) for e in counting
                )
                cheapest = (*sorted(each), *[UNREACHABLE] * least)[:least]
                return _sum((*cheapest, len(separator.encode()) * (least - 1)))
            case Intersection(left, Choice(texts), negate=True) if left == _FREE_TEXT and _are_texts(texts):
                # Of as many numbers as there are excluded texts, and one more, one is none of them.
                return len(str(len(texts))) + 1
            case Intersection():
                return self._product(node)

    def _of_any(self, parts: tuple[Node, ...], missing: set[str]) -> int:
        texts = [len(part.utf8) for part in parts if isinstance(part, LiteralText)]
        if texts:
            return min(texts)
        for part in parts:
            length = self._of_node(part, missing)
            if length < UNREACHABLE:
                return length
        return UNREACHABLE


@lru_cache(maxsize=256)
def _common_length(node: Node) -> int | None:
    """The bytes of a rule that many targets have, such as free text; `None` if that is not known from it alone."""
    missing: set[str] = set()
    length = LengthBounds(Rules(node, {}), lambda product: UNREACHABLE)._of_node(node, missing)
    return None if length >= UNREACHABLE or missing or min_distinct(node) else length


def _shortest_quote(node: Substring) -> int:
    found = encode_source(node)
    ends = np.flatnonzero(found.ends == END)
    following = np.searchsorted(ends, found.starts, side="right")
    reached = following < len(ends)
    lengths = ends[following[reached]] - found.starts[reached]
    return int(lengths.min()) + node.with_end_quote if len(lengths) else UNREACHABLE


def _are_texts(parts: tuple[Node, ...]) -> bool:
    return all(isinstance(part, LiteralText) for part in parts)


def _sum(lengths: Sequence[int]) -> int:
    """A sum that is `FAR` only where a part is: a long text is not the same as none."""
    return UNREACHABLE if UNREACHABLE in lengths else min(UNREACHABLE - 1, sum(lengths))


def _times(count: int, length: int) -> int:
    return UNREACHABLE if length >= UNREACHABLE else min(UNREACHABLE - 1, count * length)
