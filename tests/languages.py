"""Strategies for random languages: regex nodes over a small alphabet, and rules that call each other."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.errors import UnsatisfiableSchema
from structkit.regex.nodes import (
    EMPTY,
    CharClass,
    Choice,
    Distinct,
    Intersection,
    ListPart,
    LiteralText,
    MultipleOf,
    Node,
    Repeat,
    RuleRef,
    Rules,
    SeparatedList,
    Seq,
)
from structkit.vocabulary.vocabulary import Vocabulary

ALPHABET = "abé0😀"

_leaves = st.one_of(
    st.text(ALPHABET, max_size=3).map(LiteralText),
    st.sampled_from(
        [
            CharClass(((0x61, 0x62),)),
            CharClass(((0x61, 0x61), (0xE9, 0x1F600))),
            CharClass(((0x20, 0xD7FF), (0xE000, 0x10FFFF))),
            CharClass(((0x62, 0x7FF),)),
        ]
    ),
)


def _bounds(max_count: int) -> st.SearchStrategy[tuple[int, int | None]]:
    return st.tuples(st.integers(0, max_count), st.none() | st.integers(0, max_count)).map(
        lambda pair: (pair[0], None if pair[1] is None else pair[0] + pair[1])
    )


def _larger(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    few = st.lists(inner, min_size=1, max_size=3)
    part = st.builds(lambda node, bounds: ListPart(node, *bounds), inner, _bounds(2))
    return st.one_of(
        few.map(lambda parts: Seq(tuple(parts))),
        few.map(lambda parts: Choice(tuple(parts))),
        st.builds(lambda node, bounds: Repeat(node, *bounds), inner, _bounds(3)),
        st.builds(lambda parts: SeparatedList(tuple(parts), ","), st.lists(part, min_size=1, max_size=3)),
    )


plain_nodes: st.SearchStrategy[Node] = st.recursive(_leaves, _larger, max_leaves=8)
"""Nodes without calls and products."""

nodes: st.SearchStrategy[Node] = plain_nodes | st.builds(
    Intersection, plain_nodes, plain_nodes, st.booleans()
)
"""Nodes without calls."""

texts: st.SearchStrategy[str] = st.text(ALPHABET + ",", max_size=8)


def matches(node: Node, text: str) -> bool:
    """Return whether the node matches the text, using Python's `re`."""
    if isinstance(node, Intersection):
        return matches(node.left, text) and matches(node.right, text) != node.negate
    return re.fullmatch(pattern(node), text, re.DOTALL) is not None


def pattern(node: Node) -> str:
    """Return a plain node as a pattern for `re`, by a direct translation."""
    match node:
        case LiteralText(value):
            return re.escape(value)
        case CharClass(ranges):
            return (
                "[" + "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in ranges) + "]"
            )
        case Seq(parts):
            return "".join(f"(?:{pattern(part)})" for part in parts)
        case Choice(parts):
            return "(?:" + "|".join(map(pattern, parts)) + ")" if parts else "(?!)"
        case Repeat(part, min_count, max_count):
            return f"(?:{pattern(part)}){{{min_count},{'' if max_count is None else max_count}}}"
        case SeparatedList(parts, separator):
            return _joined(
                [(pattern(p.node), p.min_count, p.max_count) for p in parts], re.escape(separator), False
            )
        case Intersection() | MultipleOf() | RuleRef() | Distinct():
            raise ValueError(node)


def _joined(parts: list[tuple[str, int, int | None]], separator: str, written: bool) -> str:
    if not parts:
        return ""
    (node, min_count, max_count), rest = parts[0], parts[1:]
    options = []
    if min_count == 0:
        options.append(_joined(rest, separator, written))
    if max_count != 0:
        bounds = f"{max(min_count - 1, 0)},{'' if max_count is None else max_count - 1}"
        following = f"(?:{separator}(?:{node})){{{bounds}}}"
        lead = separator if written else ""
        options.append(f"{lead}(?:{node}){following}{_joined(rest, separator, True)}")
    return "(?:" + "|".join(options) + ")"


_DIGIT = CharClass(((0x30, 0x39),))
_LETTER = CharClass(((0x61, 0x62), (0xE9, 0xE9)))
_RULES: dict[str, Node] = {
    "text": Seq((Repeat(_LETTER), LiteralText('"'))),
    "short": Seq((Repeat(_LETTER, 2, 90), LiteralText('"'))),
    "tree": Choice(
        (
            LiteralText("0"),
            Seq(
                (
                    LiteralText("["),
                    SeparatedList((ListPart(RuleRef("tree"), 0, None),), ","),
                    LiteralText("]"),
                )
            ),
        )
    ),
    "set": Seq(
        (
            LiteralText("["),
            SeparatedList(
                (
                    ListPart(
                        Distinct(Choice((RuleRef("tree"), LiteralText("a"), Repeat(_LETTER, 1, 2)))), 0, None
                    ),
                ),
                ",",
            ),
            LiteralText("]"),
        )
    ),
    "few": Seq(
        (
            LiteralText("("),
            SeparatedList(
                (ListPart(Distinct(Choice((LiteralText("a"), LiteralText("ab"), LiteralText("b")))), 2, 3),),
                ",",
            ),
            LiteralText(")"),
        )
    ),
    "names": Seq(
        (
            LiteralText("["),
            SeparatedList((ListPart(Distinct(RuleRef("name")), 0, None),), ","),
            LiteralText("]"),
        )
    ),
    "name": Choice(
        (Seq((LiteralText('"'), RuleRef("text"))), LiteralText("ab"), RuleRef("set"), RuleRef("pairs"))
    ),
    "pairs": Seq(
        (
            LiteralText("("),
            SeparatedList(
                (
                    ListPart(
                        Seq((Distinct(Seq((LiteralText('"'), RuleRef("text")))), RuleRef("maybe"))), 0, 3
                    ),
                ),
                ",",
            ),
            LiteralText(")"),
        )
    ),
    "maybe": Choice((EMPTY, RuleRef("tree"))),
    "many": Repeat(Choice((LiteralText("a"), LiteralText("é("))), 0, 90),
    "even": Seq((LiteralText("("), RuleRef("odd"), LiteralText(")"))),
    "endless": Seq(
        (LiteralText("("), Choice((RuleRef("endless"), Seq((LiteralText("a"), RuleRef("endless"))))))
    ),
    "hope": Choice(
        (RuleRef("endless"), Seq((LiteralText("["), RuleRef("tree"), LiteralText("]"))), RuleRef("odd"))
    ),
    "plus": Seq((LiteralText("("), RuleRef("either"), Repeat(LiteralText("a"), 1, 3), LiteralText(")"))),
    "minus": Seq(
        (LiteralText("("), RuleRef("either"), Choice((LiteralText("a"), LiteralText("b"))), LiteralText(")"))
    ),
    "either": Choice((LiteralText("0"), RuleRef("plus"), RuleRef("minus"))),
    "odd": Choice((LiteralText("a"), RuleRef("even"), Seq((LiteralText('"'), RuleRef("text"))))),
}

_starts: st.SearchStrategy[Node] = st.recursive(
    st.sampled_from([RuleRef(name) for name in _RULES]) | st.text("ab0[", max_size=2).map(LiteralText),
    _larger,
    max_leaves=6,
)
recursive_rules: st.SearchStrategy[Rules] = st.builds(
    lambda start, lazy: Rules(start, _RULES, lazy=frozenset(lazy)),
    _starts,
    st.sets(st.sampled_from(sorted(_RULES))),
)
"""Rules that call each other, counted and recursive, some of them lazy and some without any text."""


def vocabulary(*extra: bytes) -> Vocabulary:
    """Return a vocabulary of all single bytes and some longer tokens; the end token is 300."""
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
    return Vocabulary(
        [bytes([byte]) for byte in range(256)] + list(longer) + list(extra), eos_token_ids={300}
    )


def linked(rules: Rules) -> Automaton | None:
    """Return the automaton of rules; `None` if they have no texts."""
    try:
        return link(rules)
    except UnsatisfiableSchema:
        return None
