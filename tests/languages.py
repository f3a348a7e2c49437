"""Random languages for property tests: Regex nodes over a small alphabet, and rules that call each other."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from structkit.regex.nodes import (
    EMPTY,
    Alt,
    Both,
    Call,
    Chars,
    Joined,
    Multiple,
    Node,
    Part,
    Repeat,
    Rules,
    Seq,
    Text,
    Unique,
)
from structkit.vocabulary.vocabulary import Vocabulary

ALPHABET = "abé0😀"

_leaves = st.one_of(
    st.text(ALPHABET, max_size=3).map(Text),
    st.sampled_from(
        [
            Chars(((0x61, 0x62),)),
            Chars(((0x61, 0x61), (0xE9, 0x1F600))),
            Chars(((0x20, 0xD7FF), (0xE000, 0x10FFFF))),
            Chars(((0x62, 0x7FF),)),
        ]
    ),
)


def _bounds(most: int) -> st.SearchStrategy[tuple[int, int | None]]:
    return st.tuples(st.integers(0, most), st.none() | st.integers(0, most)).map(
        lambda pair: (pair[0], None if pair[1] is None else pair[0] + pair[1])
    )


def _larger(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    few = st.lists(inner, min_size=1, max_size=3)
    part = st.builds(lambda node, bounds: Part(node, *bounds), inner, _bounds(2))
    return st.one_of(
        few.map(lambda parts: Seq(tuple(parts))),
        few.map(lambda parts: Alt(tuple(parts))),
        st.builds(lambda node, bounds: Repeat(node, *bounds), inner, _bounds(3)),
        st.builds(lambda parts: Joined(tuple(parts), ","), st.lists(part, min_size=1, max_size=3)),
    )


plain_nodes: st.SearchStrategy[Node] = st.recursive(_leaves, _larger, max_leaves=8)
"""Nodes without calls and products."""

nodes: st.SearchStrategy[Node] = plain_nodes | st.builds(Both, plain_nodes, plain_nodes, st.booleans())
"""Nodes without calls."""

texts: st.SearchStrategy[str] = st.text(ALPHABET + ",", max_size=8)


def matches(node: Node, text: str) -> bool:
    """Whether the node holds the text, by Python's `re`."""
    if isinstance(node, Both):
        return matches(node.left, text) and matches(node.right, text) != node.negate
    return re.fullmatch(pattern(node), text, re.DOTALL) is not None


def pattern(node: Node) -> str:
    """A plain node as a pattern for `re`, written as naively as can be."""
    match node:
        case Text(value):
            return re.escape(value)
        case Chars(ranges):
            return (
                "[" + "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in ranges) + "]"
            )
        case Seq(parts):
            return "".join(f"(?:{pattern(part)})" for part in parts)
        case Alt(parts):
            return "(?:" + "|".join(map(pattern, parts)) + ")" if parts else "(?!)"
        case Repeat(part, least, most):
            return f"(?:{pattern(part)}){{{least},{'' if most is None else most}}}"
        case Joined(parts, separator):
            return _joined([(pattern(p.node), p.least, p.most) for p in parts], re.escape(separator), False)
        case Both() | Multiple() | Call() | Unique():
            raise ValueError(node)


def _joined(parts: list[tuple[str, int, int | None]], separator: str, written: bool) -> str:
    if not parts:
        return ""
    (node, least, most), rest = parts[0], parts[1:]
    options = []
    if least == 0:
        options.append(_joined(rest, separator, written))
    if most != 0:
        again = f"(?:{separator}(?:{node})){{{max(least - 1, 0)},{'' if most is None else most - 1}}}"
        lead = separator if written else ""
        options.append(f"{lead}(?:{node}){again}{_joined(rest, separator, True)}")
    return "(?:" + "|".join(options) + ")"


_DIGIT = Chars(((0x30, 0x39),))
_LETTER = Chars(((0x61, 0x62), (0xE9, 0xE9)))
_RULES: dict[str, Node] = {
    "text": Seq((Repeat(_LETTER), Text('"'))),
    "short": Seq((Repeat(_LETTER, 2, 90), Text('"'))),
    "tree": Alt((Text("0"), Seq((Text("["), Joined((Part(Call("tree"), 0, None),), ","), Text("]"))))),
    "set": Seq(
        (
            Text("["),
            Joined((Part(Unique(Alt((Call("tree"), Text("a"), Repeat(_LETTER, 1, 2)))), 0, None),), ","),
            Text("]"),
        )
    ),
    "few": Seq(
        (Text("("), Joined((Part(Unique(Alt((Text("a"), Text("ab"), Text("b")))), 2, 3),), ","), Text(")"))
    ),
    "names": Seq((Text("["), Joined((Part(Unique(Call("name")), 0, None),), ","), Text("]"))),
    "name": Alt((Seq((Text('"'), Call("text"))), Text("ab"), Call("set"), Call("pairs"))),
    "pairs": Seq(
        (
            Text("("),
            Joined((Part(Seq((Unique(Seq((Text('"'), Call("text")))), Call("maybe"))), 0, 3),), ","),
            Text(")"),
        )
    ),
    "maybe": Alt((EMPTY, Call("tree"))),
    "many": Repeat(Alt((Text("a"), Text("é("))), 0, 90),
    "even": Seq((Text("("), Call("odd"), Text(")"))),
    "endless": Seq((Text("("), Alt((Call("endless"), Seq((Text("a"), Call("endless"))))))),
    "hope": Alt((Call("endless"), Seq((Text("["), Call("tree"), Text("]"))), Call("odd"))),
    "plus": Seq((Text("("), Call("either"), Repeat(Text("a"), 1, 3), Text(")"))),
    "minus": Seq((Text("("), Call("either"), Alt((Text("a"), Text("b"))), Text(")"))),
    "either": Alt((Text("0"), Call("plus"), Call("minus"))),
    "odd": Alt((Text("a"), Call("even"), Seq((Text('"'), Call("text"))))),
}

_starts: st.SearchStrategy[Node] = st.recursive(
    st.sampled_from([Call(name) for name in _RULES]) | st.text("ab0[", max_size=2).map(Text),
    _larger,
    max_leaves=6,
)
recursive_rules: st.SearchStrategy[Rules] = st.builds(
    lambda start, late: Rules(start, _RULES, late=frozenset(late)),
    _starts,
    st.sets(st.sampled_from(sorted(_RULES))),
)
"""Rules that call each other, counted and recursive, some of them built late and some without any text."""


def vocabulary(*extra: bytes) -> Vocabulary:
    """All single bytes and a few longer tokens; the end is token 300."""
    longer = (
        b"ab",
        b"ba",
        b'a"',
        b'",',
        b'",0',
        b"0]",
        b"],[",
        b"[[",
        b"]]",
        b"\xc3\xa9a",
        b"\xa9",
        b"aab",
        b"(a)",
        b",",
        b'["',
        b'"a"',
        b'a","',
        b'"","',
    )
    return Vocabulary([bytes([byte]) for byte in range(256)] + list(longer) + list(extra), end_ids={300})
