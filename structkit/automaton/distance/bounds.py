"""How long a text of a rule need be: known from its node, without its automaton."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from structkit.automaton.core.dfa import Key
from structkit.automaton.core.kernels import FAR
from structkit.automaton.distance.cardinality import Counts, fewest_unique, lacking
from structkit.regex.json_string import text_body
from structkit.regex.nodes import (
    Alt,
    Both,
    Call,
    Chars,
    Joined,
    Multiple,
    Node,
    Repeat,
    Rules,
    Seq,
    Substring,
    Text,
    Unique,
    Unordered,
)
from structkit.regex.substring import END, spelling

__all__ = ["TO_DIFFER", "Lengths"]

TO_DIFFER = 3
"""Bytes, or tokens, more than the shortest that a unique text may need to differ from those seen: three digits, say."""

_FREE = text_body(0, None)


class Lengths:
    """For each rule the bytes that are enough for one of its texts, `FAR` if it has none.

    Only what must be in a text is looked at, and of alternatives the first that has a text: so few other rules are,
    and the bytes are not always the fewest. With unique texts, which must differ, they are an estimate.

    Args:
        rules: The rules.
        product: The bytes of a shortest text of an intersection or a difference.
        counts: Counts texts, where a rule needs several unique ones; without it there are enough.

    Attributes:
        short: The first rule found with fewer unique texts than it needs: its name, what it needs, and what there are.

    >>> lengths = Lengths(Rules(Call("a"), {"a": Alt((Seq((Text("("), Call("a"))), Text("x")))}), lambda node: 0)
    >>> lengths.of("a")
    1
    """

    def __init__(self, rules: Rules, product: Callable[[Both], int], counts: Counts | None = None) -> None:
        self._rules = rules
        self._product = product
        self._counts = counts
        self.short: tuple[str, int, int] | None = None
        self._known: dict[Key, int] = {}

    def of(self, key: Key) -> int:
        """The bytes that are enough for a text of what a call names."""
        missing: set[str] = set()
        if isinstance(key, str):
            if key not in self._known:
                node = self._rules.rules[key]
                common = None if key.startswith("#") else _of_common(node)
                if common is not None:
                    self._known[key] = common
                    return common
                length = self._of_node(node, missing)
                if length < FAR and not self._is_short(key):  # most often
                    self._known[key] = length
                else:
                    self._find([key])
            return self._known[key]
        length = self._of_node(key, missing)
        if length < FAR or not missing:
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
                if current in stuck or current in self._known:
                    continue
                missing: set[str] = set()
                length = self._of_node(self._rules.rules[current], missing)
                if length < FAR and self._is_short(current):
                    length = FAR
                    missing.clear()
                if length < FAR:
                    self._known[current] = length
                else:
                    stuck[current] = missing
                    pending += sorted(missing)  # in any process the same
            pending = [at for at, missing in stuck.items() if any(rule in self._known for rule in missing)]
            for at in pending:
                del stuck[at]
        # The rest wait for each other, so none has a text.
        self._known.update(dict.fromkeys(stuck, FAR))

    def _is_short(self, rule: str) -> bool:
        """Whether a rule needs more unique texts than there are."""
        found = None if self._counts is None else lacking(self._rules.rules[rule], self._counts)
        if found is not None:
            self.short = self.short or (rule, *found)
        return found is not None

    def _of_node(self, node: Node, missing: set[str]) -> int:
        """The bytes of a node, or `FAR`; then `missing` receives the rules of which none is known yet."""
        match node:
            case Text():
                return len(node.spelled)
            case Chars(ranges):
                return len(chr(ranges[0][0]).encode()) if ranges else FAR
            case Multiple():
                return 1
            case Substring():
                return _shortest_quote(node)
            case Call(rule):
                known = self._known.get(rule)
                if known is None:
                    missing.add(rule)
                return FAR if known is None else known
            case Unique(inner):
                return _sum((self._of_node(inner, missing), TO_DIFFER))
            case Seq(parts):  # all are looked at, so that what is missing is known at once
                return _sum([self._of_node(part, missing) for part in parts])
            case Alt(parts):
                return self._of_any(parts, missing)
            case Repeat(part, least):
                return _times(least, self._of_node(part, missing)) if least else 0
            case Joined(parts, separator):
                needed = [part for part in parts if part.least]
                each = (_times(part.least, self._of_node(part.node, missing)) for part in needed)
                return _sum((*each, len(separator.encode()) * max(0, sum(p.least for p in needed) - 1)))
            case Unordered(entries, separator, least):
                if not least:
                    return 0
                counting = [entry for entry in entries if entry.counts]
                each = (
                    _sum((self._of_node(e.key, missing), self._of_node(e.rest, missing))) for e in counting
                )
                cheapest = (*sorted(each), *[FAR] * least)[:least]
                return _sum((*cheapest, len(separator.encode()) * (least - 1)))
            case Both(left, Alt(texts), negate=True) if left == _FREE and _are_texts(texts):
                # Of as many numbers as there are excluded texts, and one more, one is none of them.
                return len(str(len(texts))) + 1
            case Both():
                return self._product(node)

    def _of_any(self, parts: tuple[Node, ...], missing: set[str]) -> int:
        texts = [len(part.spelled) for part in parts if isinstance(part, Text)]
        if texts:
            return min(texts)
        for part in parts:
            length = self._of_node(part, missing)
            if length < FAR:
                return length
        return FAR


@lru_cache(maxsize=256)
def _of_common(node: Node) -> int | None:
    """The bytes of a rule that many targets have, such as free text; `None` if that is not known from it alone."""
    missing: set[str] = set()
    length = Lengths(Rules(node, {}), lambda product: FAR)._of_node(node, missing)
    return None if length >= FAR or missing or fewest_unique(node) else length


def _shortest_quote(node: Substring) -> int:
    found = spelling(node)
    ends = np.flatnonzero(found.ends == END)
    following = np.searchsorted(ends, found.starts, side="right")
    reached = following < len(ends)
    lengths = ends[following[reached]] - found.starts[reached]
    return int(lengths.min()) + node.closed if len(lengths) else FAR


def _are_texts(parts: tuple[Node, ...]) -> bool:
    return all(isinstance(part, Text) for part in parts)


def _sum(lengths: Sequence[int]) -> int:
    """A sum that is `FAR` only where a part is: a long text is not the same as none."""
    return FAR if FAR in lengths else min(FAR - 1, sum(lengths))


def _times(count: int, length: int) -> int:
    return FAR if length >= FAR else min(FAR - 1, count * length)
