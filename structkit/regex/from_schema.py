"""Schema nodes to rules of regexes over canonical JSON.

JSON is written in one way: the separators of one whitespace style, keys in the order of the schema, every string and
number in its canonical spelling. So a schema's values are a language of texts, regular but for recursion, and each
recursive definition becomes a rule that is called.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from typing import Literal, TypeAlias

from structkit.errors import LimitExceeded, UnsatisfiableSchema, UnsupportedKeyword
from structkit.limits import Limits
from structkit.regex.chars import ANY
from structkit.regex.entries import entries
from structkit.regex.formats import KNOWN_FORMATS
from structkit.regex.integers import multiples
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    Alt,
    Both,
    Call,
    Joined,
    Node,
    Part,
    Repeat,
    Rules,
    Text,
    Unique,
    alt,
    seq,
)
from structkit.regex.numbers import NUMBER_END, numbers
from structkit.regex.others import other_text
from structkit.regex.references import Use, uses
from structkit.regex.rules import is_larger
from structkit.regex.strings import QUOTE, escape, json_text, text_body, text_name
from structkit.regex.texts import string_texts
from structkit.schema.nodes import (
    Additional,
    Anything,
    Array,
    Boolean,
    Const,
    Contains,
    Document,
    Integer,
    Never,
    Null,
    Number,
    Object,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.place import step

__all__ = ["Whitespace", "lower"]

Whitespace: TypeAlias = Literal["spaced", "compact"]

_SEPARATORS = {"spaced": (", ", ": "), "compact": (",", ":")}

_PUNCTUATION = re.compile(r'"(?:[^"\\]|\\.)*"|[,:]')

_SMALL = 64
"""Nodes that a definition used more than once may have and still be copied to where it is used."""

_HITS = 3
"""Things that one array must contain, or one object must have some key of; their orders are written out."""

_PLACES = 32
"""Places of a hit that are written out in an array of bounded length."""

_HEIGHT = 16
"""Schemas nested in schemas within one rule; deeper ones become rules, so that no later walk recurses far."""


def lower(
    document: Document,
    *,
    whitespace: Whitespace = "spaced",
    limits: Limits = Limits(),  # noqa: B008
) -> Rules:
    """The language of the canonical JSON texts of a document's values.

    Args:
        document: The schema and its definitions.
        whitespace: `spaced` writes `{"a": 1, "b": [1, 2]}`, `compact` writes `{"a":1,"b":[1,2]}`.
        limits: Bounds digits, nodes and patterns.

    Returns:
        The start and the rules it calls. `text` and its kin are free text and its closing quote, and so is a format
        (`date`); `number` is any float and `json` any value; names that begin with `#` are definitions, deeply nested
        parts, and what remembers unique texts.

    >>> from structkit.schema.nodes import Document, Null, Object, Property
    >>> lower(Document(Object((Property("a", Null()),)))).start
    Text(value='{"a": null}')

    Raises:
        UnsatisfiableSchema: No value satisfies the schema.
        UnsupportedKeyword: A keyword, or a value of one, that cannot be enforced.
        PatternError: A pattern that cannot be read.
        LimitExceeded: The schema is too large or too deep.
    """
    lowering = _Lowering(document, whitespace, limits)
    try:
        start = lowering.run(document.root)
    except RecursionError:
        raise LimitExceeded("schema_depth", limits.schema_depth, "the nesting of the schema") from None
    if start == NEVER:
        reason, place = lowering.nothing or ("no value satisfies the schema", "$")
        raise UnsatisfiableSchema(reason, place=place)
    return Rules(start, lowering.rules)


@lru_cache(maxsize=64)
def _format_rule(name: str) -> Node:
    """The body of a string of a format, and its closing quote."""
    return seq(escape(KNOWN_FORMATS[name]()), QUOTE)


def _once(name: str) -> str:
    """The rule of a definition, or of any JSON, in which each value is written in one way only."""
    return f"#{name} once"


class _Lowering:
    """The walk over one document; `rules` fills up as it goes."""

    def __init__(self, document: Document, whitespace: Whitespace, limits: Limits) -> None:
        self.uses = uses(document)
        self.bounded = document.bounded
        self.limits = limits
        self.comma, self.colon = _SEPARATORS[whitespace]
        self.rules: dict[str, Node] = {}
        self.definitions = document.definitions
        self.known: dict[str, tuple[Node, int]] = {}
        self.nothing: tuple[str, str] | None = None
        self.count = 0
        self.once = False
        self.waiting: list[str] = []
        self.depth = 0
        self.deepest = 0

    def run(self, root: Schema) -> Node:
        """The texts of the root; the rules it calls are then in `rules`."""
        for name, use in self.uses.items():
            self.define(name, use)
        start = self.node(root, "$")
        self.once = True
        while self.waiting:
            name = self.waiting.pop()
            self.depth = 0
            self.rules[_once(name)] = self.node(self.definitions[name], self.uses[name].place)
        return start

    def define(self, name: str, use: Use) -> None:
        """Lower a definition once, and decide whether its uses are copies or calls."""
        self.depth = self.deepest = 0
        node = self.node(self.definitions[name], use.place)
        large = use.count > 1 and is_larger(node, _SMALL)
        if use.recursive or (node != NEVER and (large or self.deepest >= _HEIGHT)):
            self.rules[f"#{name}"] = node
            self.known[name] = Call(f"#{name}"), 0
        else:
            self.known[name] = node, self.deepest
        self.depth = self.deepest = 0

    def node(self, schema: Schema, place: str) -> Node:
        """The texts of one schema."""
        self.count += 1
        if self.count > self.limits.regex_nodes:
            raise LimitExceeded(
                "regex_nodes", self.limits.regex_nodes, "the regex of the schema", place=place
            )
        match schema:
            case Object() | Array() | Union():
                return self.nested(schema, place)
            case String():
                return self.string(schema, place)
            case Integer(minimum=low, maximum=high, multiple_of=of):
                digits = self.limits.integer_digits if self.bounded else None
                whole = multiples(low, high, of or 1, digits, limits=self.limits, place=place)
                return self.without_multiples(whole, schema, place)
            case Number():
                return self.number(schema, place)
            case Boolean():
                return Alt((Text("true"), Text("false")))
            case Null():
                return Text("null")
            case Const(text):
                return Text(self.spaced(text))
            case Anything():
                return self.anything()
            case Ref(name) if self.once and self.uses[name].several:
                return self.written_once(name)
            case Ref(name):
                node, height = self.known.get(name, (Call(f"#{name}"), 0))
                self.deepest = max(self.deepest, self.depth + height)
                return node
            case Never(reason):
                self.nothing = self.nothing or (reason, place)
                return NEVER

    def written_once(self, name: str) -> Node:
        """A definition inside unique items, where each value is written in one way only."""
        if _once(name) not in self.rules:
            self.rules[_once(name)] = NEVER
            self.waiting.append(name)
        return Call(_once(name))

    def nested(self, schema: Object | Array | Union, place: str) -> Node:
        """Go one level down; every so many levels begin a rule."""
        outer = self.depth, self.deepest
        begins_rule = self.depth == _HEIGHT
        self.depth = 0 if begins_rule else self.depth + 1
        self.deepest = self.depth if begins_rule else max(self.depth, self.deepest)
        match schema:
            case Object():
                node = self.object(schema, place)
            case Array():
                node = self.array(schema, place)
            case Union(branches):
                node = alt(self.node(branch, place) for branch in branches)
        if not begins_rule:
            self.depth = outer[0]
            return node
        self.depth, self.deepest = outer
        return self.rule(node, place)

    def rule(self, node: Node, place: str) -> Node:
        """A call to `node` under a name of its own."""
        if node == NEVER:
            return node
        name = f"#{place}"
        while self.rules.get(name, node) != node or name[1:] in self.definitions:
            name += "'"
        self.rules[name] = node
        return Call(name)

    def number(self, schema: Number, place: str) -> Node:
        """A number; that of a Python type without a range is a rule, for it takes long to build."""
        if not self.bounded or self.once or schema != Number():
            # What is no multiple is told by its digits, so it is written without an exponent.
            fixed = self.once or bool(schema.not_multiple_of)
            node = numbers(schema, bounded=self.bounded, once=fixed, limits=self.limits, place=place)
            return self.without_multiples(node, schema, place)
        if "number" not in self.rules:
            self.rules["number"] = numbers(schema, bounded=True, limits=self.limits)
        return Call("number")

    def without_multiples(self, node: Node, schema: Integer | Number, place: str) -> Node:
        """The numbers of `node` that are multiples of none of what the schema excludes."""
        for of in schema.not_multiple_of:
            several = numbers(Number(multiple_of=of), bounded=False, limits=self.limits, place=place)
            node = Both(node, several, negate=True, end=NUMBER_END)
        return node

    def string(self, schema: String, place: str, without: Sequence[str] = ()) -> Node:
        """A string, quotes included, that is none of `without`."""
        if schema.format is not None and schema.format not in KNOWN_FORMATS and self.bounded:
            known = ", ".join(sorted(KNOWN_FORMATS))
            message = f"the format {schema.format!r} cannot be enforced; drop it, or use one of {known}"
            raise UnsupportedKeyword("format", message, place=place)
        name = schema.format
        if name is not None and name in KNOWN_FORMATS and schema == String(format=name) and not without:
            self.rules[name] = _format_rule(name)
            return seq(QUOTE, Call(name))
        body = string_texts(schema, python=self.bounded, limits=self.limits, place=place)
        if body == NEVER:
            return NEVER
        if isinstance(body, Repeat) and body.part == ANY:
            if not without:
                return seq(QUOTE, self.text(body.least, body.most))
            if (body.least, body.most) == (0, None):
                return seq(QUOTE, other_text(without, self.text(0, None)))
        if without:
            body = Both(body, alt(Text(name) for name in without), negate=True)
        return seq(QUOTE, escape(body), QUOTE)

    def text(self, least: int, most: int | None) -> Node:
        """Free text and its closing quote, a rule that all schemas share."""
        name = text_name(least, most)
        self.rules[name] = text_body(least, most)
        return Call(name)

    def anything(self) -> Node:
        """Any JSON value: a rule that calls itself."""
        name = _once("json") if self.once else "json"
        if name not in self.rules:
            value = Call(name)
            key = seq(QUOTE, self.text(0, None))
            entry = seq(Unique(key) if self.bounded else key, Text(self.colon), value)
            self.rules[name] = alt(
                [
                    seq(QUOTE, self.text(0, None)),
                    self.number(Number(), "$"),
                    seq(
                        Text("{"), Joined((Part(entry, 0, 1 if self.once else None),), self.comma), Text("}")
                    ),
                    seq(Text("["), Joined((Part(value, 0, None),), self.comma), Text("]")),
                    *(Text(word) for word in ("true", "false", "null")),
                ]
            )
        return Call(name)

    def spaced(self, text: str) -> str:
        """Compact JSON in the whitespace style."""
        return _PUNCTUATION.sub(
            lambda found: {",": self.comma, ":": self.colon}.get(found[0], found[0]), text
        )

    def array(self, schema: Array, place: str) -> Node:
        """The items in brackets."""
        if schema.unique and schema.prefix and schema.max_items != 1:
            message = "`uniqueItems` beside `prefixItems` cannot be enforced; drop one of them"
            raise UnsupportedKeyword("uniqueItems", message, place=place)
        prefix = [self.node(item, f"{place}[{index}]") for index, item in enumerate(schema.prefix)]
        most = schema.max_items
        if NEVER in prefix:
            most = min(prefix.index(NEVER), len(prefix) if most is None else most)
        items = NEVER if most is not None and most <= len(prefix) else self.items(schema, f"{place}[]")
        if schema.contains:
            some = seq(Text("["), self.containing(schema, items, place), Text("]"))
            return self.rule(some, place) if schema.unique else some
        if items == NEVER:
            most = len(prefix) if most is None else min(most, len(prefix))
        if most is not None and schema.min_items > most:
            return NEVER
        least = max(schema.min_items - len(prefix), 0)
        more = None if most is None else max(most - len(prefix), 0)
        if not prefix:
            inside: Node = EMPTY if more == 0 else Joined((Part(items, least, more),), self.comma)
        else:
            inside = EMPTY if more == 0 else Repeat(seq(Text(self.comma), items), least, more)
            inside = self.prefixed(prefix[:most], inside, schema.min_items, place)
        array = seq(Text("["), inside, Text("]"))
        return self.rule(array, place) if schema.unique else array

    def containing(self, schema: Array, items: Node, place: str) -> Node:
        """The items of an array, some of which are counted."""
        counted = [each for each in schema.contains if each.most is not None or each.least != 1]
        if counted and (
            schema.prefix
            or len(schema.contains) > 1
            or schema.max_items is not None
            or schema.min_items > counted[0].least
        ):
            message = "counts of `contains` beside other bounds of the array cannot be enforced; drop one"
            raise UnsupportedKeyword("contains", message, place=place)
        if schema.prefix or len(schema.contains) > _HITS:
            message = (
                f"`contains` beside prefixItems, or more than {_HITS} of them, cannot be enforced; drop some"
            )
            raise UnsupportedKeyword("contains", message, place=place)
        if counted:
            return self.counted_hits(schema, counted[0], items, place)
        hits = [self.items(schema, f"{place}[]", each.hits) for each in schema.contains]
        if schema.max_items is None and schema.min_items <= 1:
            return self.with_hits(hits, items)
        return self.within_length(schema, hits, items, place)

    def counted_hits(self, schema: Array, contains: Contains, items: Node, place: str) -> Node:
        """Others, a hit, others, a hit, and so on."""
        hit = self.items(schema, f"{place}[]", contains.hits)
        miss = items if contains.most is None else self.items(schema, f"{place}[]", contains.misses)
        none = Joined((Part(miss, 0, None),), self.comma)
        if contains.most == 0:
            return none
        others = Repeat(seq(Text(self.comma), miss))
        most = None if contains.most is None else contains.most - 1
        more = Repeat(seq(Text(self.comma), hit, others), max(contains.least - 1, 0), most)
        some = seq(Repeat(seq(miss, Text(self.comma))), hit, others, EMPTY if most == 0 else more)
        return some if contains.least else alt([some, none])

    def with_hits(self, hits: Sequence[Node], miss: Node) -> Node:
        """Any number of items, with each of the hits among them; one item may be several of the hits."""
        before, after = Repeat(seq(miss, Text(self.comma))), Repeat(seq(Text(self.comma), miss))
        if len(hits) == 1:
            return seq(before, hits[0], after)
        options = []
        for order in permutations(hits):
            rest = [piece for hit in order[1:] for piece in (after, Text(self.comma), hit)]
            options.append(seq(before, order[0], *rest, after))
        return alt(options)

    def within_length(self, schema: Array, hits: Sequence[Node], miss: Node, place: str) -> Node:
        """At least one hit in an array of bounded length, by where it is."""
        most = schema.max_items
        places = max(schema.min_items if most is None else most, 1)
        if places > _PLACES or len(hits) > 1:
            message = "`contains` beside a large minItems or maxItems cannot be enforced; drop one of them"
            raise UnsupportedKeyword("contains", message, place=place)
        before, after = seq(miss, Text(self.comma)), seq(Text(self.comma), miss)
        options = []
        for index in range(places):
            if most is None and index == places - 1:
                options.append(seq(Repeat(before, index, None), hits[0], Repeat(after)))
            else:
                high = None if most is None else most - index - 1
                rest = EMPTY if high == 0 else Repeat(after, max(schema.min_items - index - 1, 0), high)
                options.append(seq(*[before] * index, hits[0], rest))
        return alt(options)

    def items(self, schema: Array, place: str, item: Schema | None = None) -> Node:
        """One item after the prefix."""
        outer, self.once = self.once, self.once or schema.unique
        node = self.node(schema.items if item is None else item, place)
        self.once = outer
        return Unique(node) if schema.unique and node != NEVER else node

    def prefixed(self, prefix: list[Node], inside: Node, least: int, place: str) -> Node:
        """The prefix and what follows it; an item is there only if all items before it are."""
        for index in reversed(range(len(prefix))):
            inside = seq(Text(self.comma if index else ""), prefix[index], inside)
            if index >= least:
                inside = Repeat(inside, 0, 1)
                if index and index % _HEIGHT == 0:
                    inside = self.rule(inside, f"{place}[{index}]")
        return inside

    def object(self, schema: Object, place: str) -> Node:
        """The entries in braces."""
        parts: list[Part] = []
        for prop in schema.properties:
            value = self.node(prop.value, place + step(prop.name))
            if value == NEVER and not prop.required:
                continue
            entry = seq(Text(json_text(prop.name, place=place) + self.colon), value)
            parts.append(Part(entry, int(prop.required)))
        more = self.additional(schema, place)
        count = schema.min_properties, schema.max_properties
        # Two additional keys could change places, and the value would be written in a second way.
        extra = 1 if self.once else None
        if self.once and more != NEVER and count[0] > len(parts) + 1:
            message = (
                "`minProperties` beside free keys inside `uniqueItems` cannot be enforced; drop one of them"
            )
            raise UnsupportedKeyword("minProperties", message, place=place)
        if schema.some:
            inside = self.with_keys(schema, parts, more, place)
        else:
            inside = entries(parts, more, *count, extra=extra, comma=self.comma, rule=self.rule, place=place)
        braces = seq(Text("{"), inside, Text("}"))
        # Each entry of a rule remembers its own unique texts.
        return self.rule(braces, place) if self.remembers(schema) else braces

    def with_keys(self, schema: Object, parts: list[Part], more: Node, place: str) -> Node:
        """The entries of an object that must have additional keys of some kinds."""
        needed = sum(part.least for part in parts) + 1
        if (
            schema.max_properties is not None
            or schema.min_properties > needed
            or len(schema.some) > _HITS
            or self.once
        ):
            message = "an additional key that must be there beside a count of keys cannot be enforced"
            raise UnsupportedKeyword("minProperties", message, place=place)
        declared, unique = [prop.name for prop in schema.properties], self.remembers(schema)
        kinds = [
            alt(self.group(group, declared, place, unique=unique) for group in choice)
            for choice in schema.some
        ]
        others = Part(more, 0, None)
        if NEVER in kinds or any(part.node == NEVER for part in parts):
            return NEVER
        return alt(
            Joined((*parts, others, *(piece for kind in order for piece in (Part(kind), others))), self.comma)
            for order in permutations(kinds)
        )

    def additional(self, schema: Object, place: str) -> Node:
        """One additional entry; `NEVER` where there are none."""
        declared = [prop.name for prop in schema.properties]
        return alt(
            self.group(group, declared, place, unique=self.remembers(schema)) for group in schema.additional
        )

    def group(self, group: Additional, declared: Sequence[str], place: str, *, unique: bool) -> Node:
        """One additional entry of a group."""
        key = self.string(group.names, place, declared)
        if unique and key != NEVER:
            key = Unique(key)
        return seq(key, Text(self.colon), self.node(group.value, f"{place}[]"))

    def remembers(self, schema: Object) -> bool:
        """Whether additional keys must differ: always in a Python value, else where they are counted."""
        return bool(schema.additional) and (self.bounded or schema.min_properties > 1)
