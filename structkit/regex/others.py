"""Every text but some: the keys of an open object that are none of the declared ones.

The declared names are a trie. A text leaves it somewhere, and from there on it is free: a call of the rule that all
schemas share. So a schema with many names adds few states, and no state of its own in which nearly all tokens live.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from structkit.regex.chars import complement, one, union
from structkit.regex.nodes import Alt, Node, Seq, Text, seq
from structkit.regex.strings import QUOTE, escape, json_text

__all__ = ["other_text"]

_STRIDE = 24
"""Characters that one step down the trie goes at most; a longer one would repeat too many beginnings."""


def other_text(names: Iterable[str], free: Node) -> Node:
    r"""The bodies, with the closing quote, of all JSON strings but the names.

    Args:
        names: Raw texts.
        free: Free text and the closing quote, usually a call.

    >>> from structkit.regex.nodes import Call, Rules
    >>> from structkit.regex.show import show
    >>> from structkit.regex.strings import text_body
    >>> import re
    >>> printed = show(Rules(other_text(["a", "ab"], Call("text")), {"text": text_body(0, None)}))
    >>> [bool(re.fullmatch(printed, key + '"')) for key in ("a", "ab", "", "abc", "b", '\\"')]
    [False, False, True, True, True, True]
    """
    rests = frozenset(names)
    options: list[Node] = [] if "" in rests else [QUOTE]
    starts: dict[str, list[str]] = {}
    for rest in sorted(rests - {""}):
        starts.setdefault(rest[0], []).append(rest)
    options.append(_leaving(starts, free))
    for group in starts.values():
        segment = _common_start(group[0], group[-1])[:_STRIDE]
        spelled = [_spelling(character) for character in segment]
        options += [
            Seq((Text("".join(spelled[:length])), _ended_or_leaving(segment[length], free)))
            for length in range(1, len(segment))
        ]
        options.append(
            seq(Text("".join(spelled)), other_text((rest[len(segment) :] for rest in group), free))
        )
    return Alt(tuple(options))  # all different: `alt` would compare the whole trie at each step down


def _common_start(first: str, last: str) -> str:
    """The start that the first and the last of sorted texts have in common, and so all between."""
    same = (index for index, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1])
    return first[: next(same, min(len(first), len(last)))]


def _leaving(starts: Iterable[str], free: Node) -> Node:
    """One character that is none of `starts`, and what may follow it."""
    return seq(_none_of("".join(sorted(starts))), free)


@lru_cache(maxsize=4096)
def _spelling(character: str) -> str:
    return json_text(character)[1:-1]


@lru_cache(maxsize=4096)
def _ended_or_leaving(character: str, free: Node) -> Node:
    return Alt((QUOTE, _leaving(character, free)))


@lru_cache(maxsize=4096)
def _none_of(characters: str) -> Node:
    return escape(complement(union(map(one, characters))))
