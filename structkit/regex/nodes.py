"""Regex nodes: a language of texts (code points), as a closed family of frozen values.

A node denotes its whole language, never a leftmost-first match: `a|ab` holds both `a` and `ab`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import SupportsIndex, TypeAlias, final

from structkit.frozen import Hashed, hashed_once, value
from structkit.unenforced import Unenforced

__all__ = [
    "EMPTY",
    "NEVER",
    "Alt",
    "Both",
    "Call",
    "Chars",
    "Entry",
    "Joined",
    "Multiple",
    "Node",
    "Part",
    "Repeat",
    "Rules",
    "Seq",
    "Substring",
    "Text",
    "Unique",
    "Unordered",
    "alt",
    "seq",
]


@final
@value
class Text:
    r"""Exactly this text; `Text("")` is the empty text.

    A lone surrogate from U+DC80 on is a byte that no text holds (PEP 383): so marks are said that are no text.

    >>> Text("\udcff[X]").spelled
    b'\xff[X]'
    """

    value: str

    @property
    def spelled(self) -> bytes:
        """The bytes."""
        return self.value.encode(errors="surrogateescape")


@value
class Chars:
    """One code point of the ranges: sorted, disjoint, not adjacent, ends included, without surrogates."""

    ranges: tuple[tuple[int, int], ...]


@final
@hashed_once
@value
class Seq(Hashed):
    """One part after the other."""

    parts: tuple[Node, ...]


@hashed_once
@value
class Alt(Hashed):
    """Any of the parts; the empty language is `NEVER`, which alone has none."""

    parts: tuple[Node, ...]

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        # A copy of `NEVER` is itself; the name is how `copy` and `pickle` are told.
        return "NEVER" if self is NEVER else object.__reduce_ex__(self, protocol)


@hashed_once
@value
class Repeat(Hashed):
    """`part`, from `least` to `most` times; `most=None` is without end."""

    part: Node
    least: int = 0
    most: int | None = None


@hashed_once
@value
class Both(Hashed):
    """Texts in `left` and in `right` (`negate` false), or in `left` and not in `right` (`negate` true).

    `end` is what must follow wherever the node is used: a character that no text of the node holds unescaped.
    It lets the node be printed for `re` as a lookahead.
    """

    left: Node
    right: Node
    negate: bool = False
    end: str = r"\Z"


@value
class Multiple:
    """The multiples of `of / 10 ** places`: digits without leading zeros, and up to `places` digits after a point."""

    of: int
    places: int = 0


@hashed_once
@value
class Substring(Hashed):
    """The parts of a source that are not empty; with `words` those that begin and end with whole words.

    `spelled`: as canonical JSON spells them; `closed`: with the quote that ends a JSON string.
    """

    source: str
    words: bool = True
    spelled: bool = False
    closed: bool = False


@value
class Part:
    """A part of `Joined`, written from `least` to `most` times in a row."""

    node: Node
    least: int = 1
    most: int | None = 1


@hashed_once
@value
class Joined(Hashed):
    """The parts in their order with `separator` between any two that are written.

    `Joined((Part(a, 0, 1), Part(b, 0, None)), ",")` holds the empty text, `a`, `a,b`, `b,b` but not `,b`.
    """

    parts: tuple[Part, ...]
    separator: str


@value
class Entry:
    """A part of `Unordered`: a key that no other entry repeats, and what follows it."""

    key: Unique
    rest: Node
    counts: bool = True


@hashed_once
@value
class Unordered(Hashed):
    """The entries in any order, with `separator` between two; from `least` to `most` of those that count.

    No regular language of a reasonable size can say this: the sequence's state holds which keys were written.
    """

    entries: tuple[Entry, ...]
    separator: str
    least: int = 0
    most: int | None = None


@value
class Call:
    """The language of a named rule."""

    rule: str


@hashed_once
@value
class Unique(Hashed):
    """`node`, but no text that an earlier `Unique` of the same entry of a rule had.

    A rule may be entered many times; each entry remembers its own texts. No regular language can say this: the
    sequence's state holds it.
    """

    node: Node


Node: TypeAlias = (
    Text | Chars | Seq | Alt | Repeat | Both | Multiple | Substring | Joined | Unordered | Call | Unique
)

EMPTY = Text("")
NEVER = Alt(())
"""The empty language: this one object, told by `is`."""


@value
class Rules:
    """A start node and the rules that it and they call. Rules may call each other in cycles.

    Attributes:
        start: Where every text begins.
        rules: The rules by name.
        unenforced: What the texts do not hold to, and what their values must be checked for.
        late: Rules whose automata are surely small, so that they need not be built before they are called. Where
            rules are made when they are asked for, it grows as they do.
    """

    start: Node
    rules: Mapping[str, Node]
    unenforced: tuple[Unenforced, ...] = ()
    late: Set[str] = frozenset()


def seq(*parts: Node) -> Node:
    """One after the other: flattened, texts merged, `NEVER` if any part is; sequences are parts as this makes them.

    >>> seq(Text("a"), Text("b"), seq(EMPTY, Text("c")))
    Text(value='abc')
    """
    flat: list[Node] = []
    text = ""  # what the last pieces say, as long as they are texts
    for part in parts:
        if type(part) is Text:
            text += part.value
            continue
        if part is NEVER:
            return NEVER
        pieces = part.parts if type(part) is Seq else (part,)
        if pieces and type(first := pieces[0]) is Text:
            text += first.value
            pieces = pieces[1:]
        if not pieces:
            continue
        if text:
            flat.append(Text(text))
            text = ""
        if type(last := pieces[-1]) is Text:
            text = last.value
            pieces = pieces[:-1]
        flat += pieces
    if not flat:
        return Text(text) if text else EMPTY
    if text:
        flat.append(Text(text))
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def alt(parts: Iterable[Node]) -> Node:
    """Any of the parts: flattened, equal parts once.

    >>> alt([Text("a"), alt([Text("b"), Text("a")])])
    Alt(parts=(Text(value='a'), Text(value='b')))
    >>> alt([]) is NEVER
    True
    """
    flat: dict[Node, None] = {}
    for part in parts:
        if type(part) is Alt:
            flat.update(dict.fromkeys(part.parts))
        else:
            flat[part] = None
    if len(flat) == 1:
        return next(iter(flat))
    return Alt(tuple(flat)) if flat else NEVER
