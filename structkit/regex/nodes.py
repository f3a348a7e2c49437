"""Regex nodes: languages of texts (sequences of code points).

A node denotes its complete language, never a leftmost-first match: `a|ab` contains both `a` and `ab`. Nodes are
immutable, and the family of node types is closed.
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
    "Network",
    "Node",
    "Repeat",
    "ReturnLabel",
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
    r"""Exactly one text; `LiteralText("")` is the empty text.

    Lone surrogates from U+DC80 to U+DCFF represent bytes that are not valid UTF-8 (PEP 383), such as control tokens.

    >>> LiteralText("\udcff[X]").utf8
    b'\xff[X]'
    """

    value: str

    @property
    def utf8(self) -> bytes:
        """The UTF-8 encoding; surrogates become the bytes they represent."""
        return self.value.encode(errors="surrogateescape")


@cached_hash
@frozen
class CharClass(CachedHash):
    """One code point of sorted, disjoint, non-adjacent ranges; ends are inclusive, surrogates excluded."""

    ranges: tuple[tuple[int, int], ...]


@final
@cached_hash
@frozen
class Seq(CachedHash):
    """The concatenation of the parts."""

    parts: tuple[Node, ...]


@cached_hash
@frozen
class Choice(CachedHash):
    """The union of the parts; `NEVER` is the only choice without parts."""

    parts: tuple[Node, ...]

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        # Copying and unpickling must preserve the identity of `NEVER`; a string names the module attribute to load.
        return "NEVER" if self is NEVER else object.__reduce_ex__(self, protocol)


@cached_hash
@frozen
class Repeat(CachedHash):
    """`part`, repeated `min_count` to `max_count` times; `None` is unbounded."""

    part: Node
    min_count: int = 0
    max_count: int | None = None


@cached_hash
@frozen
class Intersection(CachedHash):
    """The intersection of `left` and `right`, or the difference `left` - `right` if `negate`.

    `lookahead` is a regex that matches directly after the node wherever the node is used: an unescaped character that
    no text of the node contains. With it the node can be printed as a lookahead of `re`.
    """

    left: Node
    right: Node
    negate: bool = False
    lookahead: str = r"\Z"


@frozen
class MultipleOf:
    """The multiples of `step / 10 ** places`: digits without leading zeros, and at most `places` decimal places."""

    step: int
    places: int = 0


@cached_hash
@frozen
class Substring(CachedHash):
    """The non-empty substrings of a source; with `whole_words` those that begin and end at word boundaries.

    Attributes:
        source: The text.
        whole_words: Whether substrings begin and end at word boundaries.
        json_escaped: Whether the substrings are escaped as in canonical JSON.
        with_end_quote: Whether the closing quote of the JSON string follows.
    """

    source: str
    whole_words: bool = True
    json_escaped: bool = False
    with_end_quote: bool = False


@frozen
class ListPart:
    """A part of a `SeparatedList`, repeated `min_count` to `max_count` times."""

    node: Node
    min_count: int = 1
    max_count: int | None = 1


@cached_hash
@frozen
class SeparatedList(CachedHash):
    """The parts in order, with `separator` between consecutive items.

    `SeparatedList((ListPart(a, 0, 1), ListPart(b, 0, None)), ",")` contains the empty text, `a`, `a,b` and `b,b` but
    not `,b`.
    """

    parts: tuple[ListPart, ...]
    separator: str


@frozen
class AnyOrderEntry:
    """An entry of `AnyOrder`: a key that occurs once, and the value that follows it."""

    key: Distinct
    value: Node
    counted: bool = True


@cached_hash
@frozen
class AnyOrder(CachedHash):
    """The entries in any order, joined by `separator`; `min_count` to `max_count` of the counted entries.

    A regular expression would have exponential size, so the state of the sequence stores the written keys.
    """

    entries: tuple[AnyOrderEntry, ...]
    separator: str
    min_count: int = 0
    max_count: int | None = None


@cached_hash
@frozen
class Network(CachedHash):
    """The texts on the paths of a finite automaton from state 0 to state 1; its moves read a text of a node.

    Attributes:
        size: The number of states.
        moves: The moves `(source, node, target)`; the node of a move without a text is `EMPTY`.
    """

    size: int
    moves: tuple[tuple[int, Node, int], ...]


@final
@frozen
class RuleRef:
    """The language of a named rule."""

    rule: str


@final
@frozen
class ReturnLabel:
    """How a rule ends, on which its caller depends: the end of a labelled rule, or a move behind a call of such a rule.

    It occurs in `Network`s only, and has no text. All paths of a labelled rule end with a label; behind each call of
    the rule there is a move for each label with which it can end, and no other move. The state behind a label that ends
    a rule is an end, too. Moves from there to the end are not part of the language: they read the bytes with which the
    text behind the rule can begin, so that masks need not look behind the others.

    Attributes:
        number: The label, at most `structkit.automaton.core.kernels.MAX_LABEL`.
        is_return: Whether it is a move behind a call. Behind a call of a rule without labels, there can be an end.
    """

    number: int
    is_return: bool = False


@cached_hash
@frozen
class Distinct(CachedHash):
    """The texts of `node` that differ from the texts of earlier `Distinct` nodes in the same activation of a rule.

    Each activation of a rule stores its own texts. The language is not regular: the texts are part of the state of the
    sequence.
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
    | Network
    | RuleRef
    | ReturnLabel
    | Distinct
)

EMPTY = LiteralText("")
NEVER = Choice(())
"""The empty language. A single object; compare with `is`."""


@frozen
class Rules:
    """A start node and the rules that it calls, directly or indirectly. Rules can be recursive.

    Attributes:
        start: The node of complete texts.
        rules: The rules by name.
        unenforced: The keywords and validators that are checked after decoding.
        lazy: Rules with provably small automata, which are therefore built on their first call. With `LazyRules` the
            set grows during decoding.
        narrowed: The terminals of a grammar, or the places of a schema, that lack texts, because the rules
            would be too large with them.
    """

    start: Node
    rules: Mapping[str, Node]
    unenforced: tuple[Unenforced, ...] = ()
    lazy: Set[str] = frozenset()
    narrowed: tuple[str, ...] = ()


def seq(*parts: Node | str) -> Node:
    """Concatenate nodes: nested sequences are flattened, adjacent texts merged; `NEVER` if any part is `NEVER`.

    A part can be the text of a `LiteralText`, which saves making one that is merged anyway. Sequences among the parts
    must have been created by this function.

    >>> seq("a", LiteralText("b"), seq(EMPTY, LiteralText("c")))
    LiteralText(value='abc')
    """
    flat: list[Node] = []
    text = ""  # the adjacent texts at the end of the parts so far
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
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
    """Return the union of nodes: nested choices are flattened and duplicates removed.

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
