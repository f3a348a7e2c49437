"""Regex nodes: a language of texts (code points), as a closed family of frozen values.

A node denotes its whole language, never a leftmost-first match: `a|ab` holds both `a` and `ab`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import SupportsIndex, TypeAlias, final

from structkit.frozen import CachedHash, cached_hash, frozen
from structkit.unenforced import Unenforced

__all__ = [
    "EMPTY",
    "NEVER",
    "AnyOrder",
    "AnyOrderEntry",
    "CharClass",
    "Choice",
    "Distinct",
    "Intersection",
    "ListPart",
    "LiteralText",
    "MultipleOf",
    "Node",
    "Repeat",
    "RuleRef",
    "Rules",
    "SeparatedList",
    "Seq",
    "Substring",
    "choice",
    "seq",
]


@final
@frozen
class LiteralText:
    r"""Exactly this text; `Text("")` is the empty text.

    A lone surrogate from U+DC80 on is a byte that no text holds (PEP 383): so marks are said that are no text.

    >>> LiteralText("\udcff[X]").utf8
    b'\xff[X]'
    """

    value: str

    @property
    def utf8(self) -> bytes:
        """The bytes."""
        return self.value.encode(errors="surrogateescape")


@frozen
class CharClass:
    """One code point of the ranges: sorted, disjoint, not adjacent, ends included, without surrogates."""

    ranges: tuple[tuple[int, int], ...]


@final
@cached_hash
@frozen
class Seq(CachedHash):
    """One part after the other."""

    parts: tuple[Node, ...]


@cached_hash
@frozen
class Choice(CachedHash):
    """Any of the parts; the empty language is `NEVER`, which alone has none."""

    parts: tuple[Node, ...]

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        # A copy of `NEVER` is itself; the name is how `copy` and `pickle` are told.
        return "NEVER" if self is NEVER else object.__reduce_ex__(self, protocol)


@cached_hash
@frozen
class Repeat(CachedHash):
    """`part`, from `min_count` to `max_count` times; `most=None` is without end."""

    part: Node
    min_count: int = 0
    max_count: int | None = None


@cached_hash
@frozen
class Intersection(CachedHash):
    """Texts in `left` and in `right` (`negate` false), or in `left` and not in `right` (`negate` true).

    `lookahead` is what must follow wherever the node is used: a character that no text of the node holds unescaped.
    It lets the node be printed for `re` as a lookahead.
    """

    left: Node
    right: Node
    negate: bool = False
    lookahead: str = r"\Z"


@frozen
class MultipleOf:
    """The multiples of `of / 10 ** places`: digits without leading zeros, and up to `places` digits after a point."""

    step: int
    places: int = 0


@cached_hash
@frozen
class Substring(CachedHash):
    """The parts of a source that are not empty; with `whole_words` those that begin and end with whole words.

    `json_escaped`: as canonical JSON spells them; `with_end_quote`: with the quote that ends a JSON string.
    """

    source: str
    whole_words: bool = True
    json_escaped: bool = False
    with_end_quote: bool = False


@frozen
class ListPart:
    """A part of `Joined`, written from `min_count` to `max_count` times in a row."""

    node: Node
    min_count: int = 1
    max_count: int | None = 1


@cached_hash
@frozen
class SeparatedList(CachedHash):
    """The parts in their order with `separator` between any two that are written.

    `Joined((Part(a, 0, 1), Part(b, 0, None)), ",")` holds the empty text, `a`, `a,b`, `b,b` but not `,b`.
    """

    parts: tuple[ListPart, ...]
    separator: str


@frozen
class AnyOrderEntry:
    """A part of `Unordered`: a key that no other entry repeats, and what follows it."""

    key: Distinct
    value: Node
    counted: bool = True


@cached_hash
@frozen
class AnyOrder(CachedHash):
    """The entries in any order, with `separator` between two; from `min_count` to `max_count` of those that count.

    No regular language of a reasonable size can say this: the sequence's state holds which keys were written.
    """

    entries: tuple[AnyOrderEntry, ...]
    separator: str
    min_count: int = 0
    max_count: int | None = None


@frozen
class RuleRef:
    """The language of a named rule."""

    rule: str


@cached_hash
@frozen
class Distinct(CachedHash):
    """`node`, but no text that an earlier `Unique` of the same entry of a rule had.

    A rule may be entered many times; each entry remembers its own texts. No regular language can say this: the
    sequence's state holds it.
    """

    node: Node


Node: TypeAlias = (
    LiteralText
    | CharClass
    | Seq
    | Choice
    | Repeat
    | Intersection
    | MultipleOf
    | Substring
    | SeparatedList
    | AnyOrder
    | RuleRef
    | Distinct
)

EMPTY = LiteralText("")
NEVER = Choice(())
"""The empty language: this one object, told by `is`."""


@frozen
class Rules:
    """A start node and the rules that it and they call. Rules may call each other in cycles.

    Attributes:
        start: Where every text begins.
        rules: The rules by name.
        unenforced: What the texts do not hold to, and what their values must be checked for.
        lazy: Rules whose automata are surely small, so that they need not be built before they are called. Where
            rules are made when they are asked for, it grows as they do.
    """

    start: Node
    rules: Mapping[str, Node]
    unenforced: tuple[Unenforced, ...] = ()
    lazy: Set[str] = frozenset()


def seq(*parts: Node) -> Node:
    """One after the other: flattened, texts merged, `NEVER` if any part is; sequences are parts as this makes them.

    >>> seq(LiteralText("a"), LiteralText("b"), seq(EMPTY, LiteralText("c")))
    LiteralText(value='abc')
    """
    flat: list[Node] = []
    text = ""  # what the last pieces say, as long as they are texts
    for part in parts:
        if type(part) is LiteralText:
            text += part.value
            continue
        if part is NEVER:
            return NEVER
        pieces = part.parts if type(part) is Seq else (part,)
        if pieces and type(first := pieces[0]) is LiteralText:
            text += first.value
            pieces = pieces[1:]
        if not pieces:
            continue
        if text:
            flat.append(LiteralText(text))
            text = ""
        if type(last := pieces[-1]) is LiteralText:
            text = last.value
            pieces = pieces[:-1]
        flat += pieces
    if not flat:
        return LiteralText(text) if text else EMPTY
    if text:
        flat.append(LiteralText(text))
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def choice(parts: Iterable[Node]) -> Node:
    """Any of the parts: flattened, equal parts once.

    >>> choice([LiteralText("a"), choice([LiteralText("b"), LiteralText("a")])])
    Choice(parts=(LiteralText(value='a'), LiteralText(value='b')))
    >>> choice([]) is NEVER
    True
    """
    flat: dict[Node, None] = {}
    for part in parts:
        if type(part) is Choice:
            flat.update(dict.fromkeys(part.parts))
        else:
            flat[part] = None
    if len(flat) == 1:
        return next(iter(flat))
    return Choice(tuple(flat)) if flat else NEVER
