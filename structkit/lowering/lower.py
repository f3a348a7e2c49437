"""Schema nodes to rules of regexes over canonical JSON.

JSON is written in one way: the separators of one whitespace style, keys in the order of the schema, every string and
number in its canonical spelling. So a schema's values are a language of texts, regular but for recursion, and each
recursive definition becomes a rule that is called.
"""

from __future__ import annotations

from functools import partial

from structkit.errors import LimitExceeded, PatternError, UnsatisfiableSchema, UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.alternatives import options
from structkit.lowering.containers.any_json import any_json
from structkit.lowering.containers.contains import containing, prefixed
from structkit.lowering.containers.notation import JSON, Notation, keywords_of
from structkit.lowering.containers.objects import LATE, Objects
from structkit.lowering.lazy import is_plain, postponed
from structkit.lowering.numbers.floats import ALL_FIGURES, APART_FIGURES
from structkit.lowering.numbers.integers import constant
from structkit.lowering.numbers.numbers import numbers, whole_numbers, without_multiples
from structkit.lowering.strings.strings import Strings
from structkit.lowering.usage import Use, uses
from structkit.regex.json_string import spaced
from structkit.regex.lazy_rules import GrowingRules
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    Alt,
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
from structkit.regex.size_bound import begin_apart
from structkit.regex.walk import is_larger
from structkit.schema.algebra.distinct import apart
from structkit.schema.algebra.membership import expand
from structkit.schema.algebra.weaken import relaxed
from structkit.schema.ir.nodes import (
    Anything,
    Array,
    Boolean,
    Const,
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
from structkit.schema.json_schema.relax_unsupported import keyword_of
from structkit.schema.markers.json_style import Order, Whitespace
from structkit.unenforced import Unenforced

__all__ = ["lower"]

_SEPARATORS = {"spaced": (", ", ": "), "compact": (",", ":")}

_SMALL = 64
"""Nodes that a definition used more than once may have and still be copied to where it is used."""

_RANGE = 8
"""Nodes of a number that becomes a rule."""

_HEIGHT = 16
"""Schemas nested in schemas within one rule; deeper ones become rules, so that no later walk recurses far."""


def lower(
    document: Document,
    *,
    whitespace: Whitespace | None = None,
    order: Order | None = None,
    strict: bool = True,
    source: str | None = None,
    limits: Limits = Limits(),  # noqa: B008
    notation: Notation = JSON,
) -> Rules:
    """The language of the canonical JSON texts of a document's values.

    Args:
        document: The schema and its definitions.
        whitespace: `spaced`, the default, writes `{"a": 1, "b": [1, 2]}`, `compact` writes `{"a":1,"b":[1,2]}`.
        order: `declared`, the default, writes keys as the schema lists them; `any` lets them come in any
            order, but where that would write one value in several ways (in unique items), or where keys are counted
            besides.
        strict: Whether what cannot be enforced is an error; else the language is larger than the schema.
        source: What quotes are taken from that name no source of their own.
        limits: Bounds digits, nodes and patterns.
        notation: How values are spelled.

    Returns:
        The start and the rules it calls. `text` and its kin are free text and its closing quote, and so is a format
        (`date`); `integer` and `number` are any number and `json` any value; names that begin with `#` are definitions,
        ranges of numbers, deeply nested parts, and what remembers unique texts.

    >>> from structkit.schema.ir.nodes import Document, Null, Object, Property
    >>> lower(Document(Object((Property("a", Null()),)))).start
    Text(value='{"a": null}')

    Raises:
        UnsatisfiableSchema: No value satisfies the schema.
        UnsupportedKeyword: A keyword, or a value of one, that cannot be enforced.
        PatternError: A pattern that cannot be read.
        LimitExceeded: The schema is too large or too deep.
    """
    lowering = _Lowering(document, whitespace or "spaced", order or "declared", strict, source, limits)
    lowering.notation = notation
    try:
        start = lowering.run(document.root)
    except RecursionError:
        raise LimitExceeded("schema_depth", limits.schema_depth, "the nesting of the schema") from None
    if start is NEVER:
        reason, place = lowering.nothing or ("no value satisfies the schema", "$")
        raise UnsatisfiableSchema(reason, place=place)
    unenforced = (*document.unenforced, *dict.fromkeys(lowering.unenforced))
    rules, unmade = lowering.rules, lowering.unmade
    return Rules(
        start, GrowingRules(rules, unmade, lowering.make) if unmade else rules, unenforced, lowering.late
    )


def _once(name: str) -> str:
    """The rule of a definition, or of any JSON, in which each value is written in one way only."""
    return f"#{name} once"


class _Lowering:
    """The walk over one document; `rules` fills up as it goes."""

    def __init__(
        self,
        document: Document,
        whitespace: Whitespace,
        order: Order,
        strict: bool,
        source: str | None,
        limits: Limits,
    ) -> None:
        self.source = source
        self.strict = strict
        self.unenforced: list[Unenforced] = []
        self.uses = uses(document, any_order=order == "any")
        self.order = order
        self.bounded = document.bounded
        self.limits = limits
        self.comma, self.colon = _SEPARATORS[whitespace]
        self.rules: dict[str, Node] = {}
        self.late: set[str] = set()
        self.plain = True
        self.size = 0
        self.definitions = document.definitions
        self.known: dict[str, tuple[Node, int, bool, int]] = {}
        self.unmade: set[str] = set()
        self.nothing: tuple[str, str] | None = None
        self.count = 0
        self.once = False
        self.waiting: list[str] = []
        self.notation = JSON
        self.keywords = False
        self.depth = 0
        self.deepest = 0
        self.strings = Strings(self)
        self.objects = Objects(self)

    def run(self, root: Schema) -> Node:
        """The texts of the root; the rules it calls are then in `rules`."""
        simple = self.uses and self.order == "declared"
        may_wait = postponed(self.definitions, self.uses, LATE) if simple else ()
        for name, use in self.uses.items():
            if name in may_wait and not any(self.is_nothing(callee) for callee in use.callees):
                self.postpone(name, use)
            else:
                self.define(name, use)
        start = self.arguments(root) if self.notation.call else self.node(root, "$")
        self.once = True
        while self.waiting:
            name = self.waiting.pop()
            self.depth = 0
            self.rules[_once(name)] = self.node(self.definitions[name], self.uses[name].place)
        self.strings.finish()
        return start

    def arguments(self, root: Schema) -> Node:
        """The arguments of a call of Python."""
        named = keywords_of(Document(root, self.definitions)) if self.strict else None
        if named is None:
            return seq(Text("**"), self.node(root, "$"))
        self.keywords = True
        return self.node(named, "$")

    def is_nothing(self, name: str) -> bool:
        """Whether it is known that a definition has no texts."""
        return name in self.known and self.known[name][0] is NEVER

    def postpone(self, name: str, use: Use) -> None:
        """Let a definition be a rule that is made when it is asked for."""
        self.charge(use.size, use.place)
        self.unmade.add(rule := f"#{name}")
        self.late.add(rule)
        self.known[name] = Call(rule), 0, True, 1

    def make(self, rule: str) -> None:
        """Make a rule that was postponed."""
        name = rule[1:]
        self.once = self.keywords = False
        self.count = self.depth = self.deepest = self.size = 0
        self.plain = True
        self.rules[rule] = self.node(self.definitions[name], self.uses[name].place)
        self.unmade.discard(rule)

    def define(self, name: str, use: Use) -> None:
        """Lower a definition once, and decide whether its uses are copies or calls."""
        self.depth = self.deepest = 0
        self.plain, self.size = True, 0
        node = self.node(self.definitions[name], use.place)
        large = use.count > 1 and is_larger(node, _SMALL)
        if use.recursive or (node is not NEVER and (large or self.deepest >= _HEIGHT)):
            self.add(f"#{name}", node)
            self.known[name] = Call(f"#{name}"), 0, True, 1
        else:
            self.known[name] = node, self.deepest, self.plain, self.size
        self.depth = self.deepest = 0
        self.plain, self.size = True, 0

    def node(self, schema: Schema, place: str) -> Node:
        """The texts of one schema, or of a larger one where that is allowed and it cannot be enforced."""
        try:
            return self.exactly(schema, place)
        except (UnsupportedKeyword, PatternError) as error:
            if self.strict:
                raise
            self.unenforced.append(Unenforced(error.place or place, keyword_of(error), error.message))
            return self.larger(schema, place)

    def larger(self, schema: Schema, place: str) -> Node:
        """The texts of a schema that asks less."""
        for larger in relaxed(schema):
            try:
                return self.exactly(larger, place)
            except (UnsupportedKeyword, PatternError):
                continue
        return self.exactly(Anything(), place)

    def charge(self, schemas: int, place: str) -> None:
        """Count what is lowered."""
        self.count += schemas
        if self.count > self.limits.regex_nodes:
            raise LimitExceeded(
                "regex_nodes", self.limits.regex_nodes, "the regex of the schema", place=place
            )

    def exactly(self, schema: Schema, place: str) -> Node:
        """The texts of one schema."""
        self.charge(1, place)
        if isinstance(schema, (Object, Array, Union)):
            return self.nested(schema, place)
        self.plain = self.plain and is_plain(schema)
        self.size += 1
        match schema:
            case Const(text) if text[0] == '"':  # of all there are the most; in any style it is spelled so
                return Text(text)
            case String():
                return self.strings.string(schema, place)
            case Integer():
                return self.integer(schema, place)
            case Number():
                return self.number(schema, place)
            case Boolean():
                return Alt((Text(self.notation.true), Text(self.notation.false)))
            case Null():
                return Text(self.notation.null)
            case Const(text) if self.order == "any" and not self.once and text[0] in "[{" and "," in text:
                return self.node(expand(schema), place)
            case Const(text):
                text = self.notation.spelled(spaced(text, self.comma, self.colon))
                return Text(text) if self.bounded or self.once else constant(text)
            case Anything():
                return self.anything()
            case Ref(name) if self.once and (self.bounded or self.uses[name].several):
                return self.written_once(name)
            case Ref(name):
                node, height, plain, size = self.known.get(name, (Call(f"#{name}"), 0, True, 1))
                self.deepest = max(self.deepest, self.depth + height)
                self.plain = self.plain and plain
                self.size += size
                return node
            case Never(reason):
                self.nothing = self.nothing or (reason, place)
                return NEVER

    def written_once(self, name: str) -> Node:
        """A definition inside unique items, where each value is written in one way only."""
        rule = _once(name)
        if rule not in self.rules:
            self.rules[rule] = NEVER
            self.waiting.append(name)
        return Call(rule)

    def nested(self, schema: Object | Array | Union, place: str) -> Node:
        """Go one level down; every so many levels begin a rule."""
        outer, plain, size = (self.depth, self.deepest), self.plain, self.size
        self.plain, self.size = is_plain(schema), 1
        begins_rule = self.depth == _HEIGHT
        self.depth = 0 if begins_rule else self.depth + 1
        self.deepest = self.depth if begins_rule else max(self.depth, self.deepest)
        match schema:
            case Object():
                node = self.objects.object(schema, place)
            case Array():
                node = self.array(schema, place)
            case Union(branches):
                alternatives = apart(branches, self.definitions) if self.once and self.bounded else branches
                nodes = [self.node(branch, place) for branch in alternatives]
                self.plain = self.plain and begin_apart(nodes)
                # A constant is far less than another schema.
                self.size -= 7 * sum(isinstance(branch, Const) for branch in branches) // 8
                node = options(nodes, partial(self.rule, plain=True), place)
        if begins_rule:
            self.depth, self.deepest = outer
            node = self.rule(node, place)
        else:
            self.depth = outer[0]
        self.plain = plain and (self.plain or isinstance(node, Call))
        self.size = size + (1 if isinstance(node, Call) else self.size)
        return node

    def rule(self, node: Node, place: str, *, plain: bool | None = None) -> Node:
        """A call to `node` under a name of its own."""
        if node is NEVER:
            return node
        name = f"#{place}"
        while self.rules.get(name, node) != node or name[1:] in self.definitions:
            name += "'"
        self.add(name, node, plain=plain)
        return Call(name)

    def add(self, name: str, node: Node, *, plain: bool | None = None) -> None:
        """Add a rule; it may be built late if it is plain, or if everything lowered for it so far is."""
        self.rules[name] = node
        if (self.plain and self.size <= LATE) if plain is None else plain:
            self.late.add(name)

    def integer(self, schema: Integer, place: str) -> Node:
        """A whole number; any is a rule, whose masks all targets share, and so is a range."""
        written = partial(
            whole_numbers, schema, bounded=self.bounded, once=self.once, limits=self.limits, place=place
        )
        if self.once or schema != Integer():
            return self.of_range(written(), schema, place)
        if "integer" not in self.rules:
            self.add("integer", written(), plain=True)
        return Call("integer")

    def number(self, schema: Number, place: str) -> Node:
        """A number; any is a rule, as any whole number is."""
        if self.once or schema != Number():
            # What is no multiple is told by its digits, so it is written without an exponent.
            once = self.once or bool(schema.not_multiple_of)
            # Where items must differ, no two texts may be the same float.
            figures = APART_FIGURES if self.once else ALL_FIGURES
            node = numbers(
                schema, bounded=self.bounded, once=once, figures=figures, limits=self.limits, place=place
            )
            node = without_multiples(node, schema.not_multiple_of, self.limits, place)
            return self.of_range(node, schema, place)
        if "number" not in self.rules:
            self.add("number", numbers(schema, bounded=self.bounded, limits=self.limits), plain=True)
        return Call("number")

    def of_range(self, node: Node, schema: Integer | Number, place: str) -> Node:
        """Numbers as a rule, unless they are all there is or soon written: many schemas have the same, built once."""
        if self.once or place == "$" or not is_larger(node, _RANGE):
            return node
        return self.rule(node, place, plain=is_plain(schema))

    def anything(self) -> Node:
        """Any JSON value: a rule that calls itself."""
        name = _once("json") if self.once else "json"
        if name not in self.rules:
            kinds: list[Schema] = [Number()]
            if self.bounded:
                # An int of Python has more digits than the whole numbers among its floats.
                kinds = apart([Integer(), *kinds]) if self.once else [*kinds, Integer()]
            self.rules[name] = any_json(
                Call(name),
                self.strings.text(0, None),
                alt(self.node(kind, "$") for kind in kinds),
                self.comma,
                self.colon,
                differ=self.bounded,
                most=1 if self.once else None,
                notation=self.notation,
            )
            self.late.add(name)
        return Call(name)

    def array(self, schema: Array, place: str) -> Node:
        """The items in brackets."""
        prefix = [self.items(schema, f"{place}[{index}]", item) for index, item in enumerate(schema.prefix)]
        most = schema.max_items
        if NEVER in prefix:
            most = min(prefix.index(NEVER), len(prefix) if most is None else most)
        items = NEVER if most is not None and most <= len(prefix) else self.items(schema, f"{place}[]")
        if items is NEVER and not schema.contains:
            most = len(prefix) if most is None else min(most, len(prefix))
        if most is not None and schema.min_items > most:
            return NEVER
        least = max(schema.min_items - len(prefix), 0)
        more = None if most is None else max(most - len(prefix), 0)
        rule = None if schema.unique else self.rule
        inside: Node
        if schema.contains:
            inside = containing(
                schema,
                partial(self.contained, schema, place),
                comma=self.comma,
                rule=rule,
                place=place,
            )
        elif more == 0:
            inside = EMPTY
        elif prefix:
            inside = Repeat(seq(Text(self.comma), items), least, more)
        else:
            inside = Joined((Part(items, least, more),), self.comma)
        inside = prefixed(prefix[:most], inside, schema.min_items, comma=self.comma, rule=rule, place=place)
        array = seq(Text("["), inside, Text("]"))
        return self.rule(array, place) if schema.unique else array

    def items(self, schema: Array, place: str, item: Schema | None = None) -> Node:
        """One item, after the prefix if none is given."""
        outer = self.once
        # Pydantic merges equal items, which only matters where there must be several.
        self.once = outer or (schema.unique and (schema.min_items > 1 or not self.bounded))
        node = self.node(schema.items if item is None else item, place)
        self.once = outer
        return Unique(node) if schema.unique and node is not NEVER else node

    def contained(self, schema: Array, place: str, item: Schema) -> Node:
        """One item of an array that must contain some; it may be copied to many places."""
        node = self.items(schema, f"{place}[]", item)
        return self.rule(node, f"{place}[]") if not schema.unique and is_larger(node, _SMALL) else node
