"""Every text but some: the keys of an open object that are none of the declared ones.

The declared names are a trie. A text ends within it, or leaves it somewhere, and from there on it is free.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from structkit.regex.chars import complement, one, union
from structkit.regex.nodes import EMPTY, Alt, Node, Seq, Text, seq
from structkit.regex.strings import QUOTE, escape, json_text

__all__ = ["other_text"]

_STRIDE = 24
"""Characters that one step down the trie goes at most; a longer one would repeat too many beginnings."""


def other_text(names: Iterable[str], free: Node) -> Node:
    r"""The bodies, with the closing quote, of all JSON strings but the names.

    Args:
        names: Raw texts.
        free: Free text and the closing quote.

    >>> from structkit.regex.nodes import Rules
    >>> from structkit.regex.show import show
    >>> from structkit.regex.strings import text_body
    >>> import re
    >>> printed = show(Rules(other_text(["a", "ab"], text_body(0, None)), {}))
    >>> [bool(re.fullmatch(printed, key + '"')) for key in ("a", "ab", "", "abc", "b", '\\"')]
    [False, False, True, True, True, True]
    """
    ended, left = _ways(frozenset(names))
    return Alt((Seq((ended, QUOTE)), Seq((left, free))))


def _ways(rests: frozenset[str]) -> tuple[Node, Node]:
    """The true beginnings of the names that are no names themselves, and the texts that just left all names."""
    ended: list[Node] = [] if "" in rests else [EMPTY]
    starts: dict[str, list[str]] = {}
    for rest in sorted(rests - {""}):
        starts.setdefault(rest[0], []).append(rest)
    left: list[Node] = [_none_of("".join(sorted(starts)))]
    for group in starts.values():
        segment = _common_start(group[0], group[-1])[:_STRIDE]
        spelled = [_spelling(character) for character in segment]
        for length in range(1, len(segment)):
            beginning = Text("".join(spelled[:length]))
            ended.append(beginning)
            left.append(Seq((beginning, _none_of(segment[length]))))
        deeper = _ways(frozenset(rest[len(segment) :] for rest in group))
        for ways, way in zip((ended, left), deeper, strict=True):
            ways.append(seq(Text("".join(spelled)), way))
    # All different: `alt` would compare the whole trie at each step down.
    return Alt(tuple(ended)), Alt(tuple(left))


def _common_start(first: str, last: str) -> str:
    """The start that the first and the last of sorted texts have in common, and so all between."""
    same = (index for index, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1])
    return first[: next(same, min(len(first), len(last)))]


@lru_cache(maxsize=4096)
def _spelling(character: str) -> str:
    return json_text(character)[1:-1]


@lru_cache(maxsize=4096)
def _none_of(characters: str) -> Node:
    return escape(complement(union(map(one, characters))))
