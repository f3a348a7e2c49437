"""Lower schema nodes to rules of regexes over canonical JSON.

Canonical JSON has one spelling: the separators of one whitespace style, keys in the order of the schema, and canonical
strings and numbers. The texts of a schema are then a regular language, except for recursion: each recursive definition
becomes a rule that other rules call.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property

from structkit.errors import LimitExceeded, PatternError, StructkitError, UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.alternatives import UnionLowerer
from structkit.lowering.containers.any_json import any_json
from structkit.lowering.containers.arrays import MAX_INLINE_NODES, ArrayLowerer
from structkit.lowering.containers.notation import JSON, Notation, keywords_of
from structkit.lowering.containers.objects import MAX_LAZY_SIZE, ObjectLowerer, text_size
from structkit.lowering.containers.product_rule import Deferred, ProductRule
from structkit.lowering.containers.products import UNLISTED, ProductLowerer
from structkit.lowering.containers.spelling import SharedKeys, canonical_constant, shared_keys
from structkit.lowering.lazy import LARGE_DOCUMENT, Summaries, Summary
from structkit.lowering.naming import RuleNames
from structkit.lowering.numbers.integers import constant_spellings
from structkit.lowering.numbers.rules import NumberLowerer
from structkit.lowering.small import MAY_BE_LARGE, is_small
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.lowering.strings.raw_text import FormatRule, format_body
from structkit.lowering.strings.strings import ANY_STRING, ANY_TEXT, StringLowerer
from structkit.lowering.usage import Usage, canonical_rule_name, usages, with_multiple_spellings
from structkit.regex.json_string import with_separators
from structkit.regex.lazy_rules import LazyRules
from structkit.regex.nodes import NEVER, Choice, LiteralText, Node, RuleRef, Rules, seq
from structkit.regex.walk import exceeds_size, has_distinct
from structkit.schema.algebra.membership import expand
from structkit.schema.algebra.weaken import relaxations
from structkit.schema.ir.nodes import (
    FREE_STRING,
    Anything,
    Array,
    Boolean,
    Combined,
    Const,
    Document,
    Integer,
    Never,
    Null,
    Number,
    Object,
    ObjectProduct,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.unsatisfiable import unsatisfiable
from structkit.schema.json_schema.document_keys import with_document_keys
from structkit.schema.json_schema.relax_unsupported import keyword_of
from structkit.schema.markers.json_style import Order, Whitespace
from structkit.unenforced import Unenforced

__all__ = ["lower"]

_SEPARATORS = {"spaced": (", ", ": "), "compact": (",", ":")}

_MIN_SHARED = 100
"""Minimum number of lowered schemas before equal nested schemas are lowered once."""

_MAX_NESTING = 16
"""Largest nesting of schemas within one rule. Deeper schemas become rules, which bounds later recursion."""


def lower(
    document: Document,
    *,
    whitespace: Whitespace | None = None,
    order: Order | None = None,
    strict: bool = True,
    source: str | None = None,
    limits: Limits = Limits(),  # noqa: B008
    notation: Notation = JSON,
    document_keys: bool = False,
) -> Rules:
    """Return the language of the canonical JSON texts of a document's values.

    Args:
        document: The schema and its definitions.
        whitespace: `spaced`, the default, writes `{"a": 1, "b": [1, 2]}`, `compact` writes `{"a":1,"b":[1,2]}`.
        order: `declared`, the default, writes keys in the order of the schema; `any` allows every order, except inside
            unique items, where each value has one spelling, and in objects that count their keys.
        strict: Whether a keyword that cannot be enforced is an error; otherwise the language is larger than the schema.
        source: The source of quotes that have no source.
        limits: Bounds digits, nodes and patterns.
        notation: The spelling of values.
        document_keys: Whether `$schema` and `$id` come first where the root allows them and the order is `declared`.

    Returns:
        The start and the rules. `text...` is free text and its closing quote; a format (`date`) is a string of that
        format and its closing quote; `integer`, `number` and `json` are any integer, number and value. Names that begin
        with `#` are definitions, ranges of numbers, deeply nested parts, and lists of distinct texts.

    >>> from structkit.schema.ir.nodes import Document, Null, Object, Property
    >>> lower(Document(Object((Property("a", Null()),)))).start
    LiteralText(value='{"a": null}')

    Raises:
        UnsatisfiableSchema: No value satisfies the schema.
        UnsupportedKeyword: A keyword, or its value, cannot be enforced.
        PatternError: A pattern cannot be parsed.
        LimitExceeded: The schema is too large or too deep.
    """
    if document_keys and order != "any":
        document = with_document_keys(document, AutomatonOracle(python=document.bounded, limits=limits))
    options = whitespace or "spaced", order or "declared", strict, source, limits, notation
    try:
        lowering = _Lowering(document, *options)
        start = lowering.run(document.root)
        if lowering.product_rules and lowering.has_distinct(start):
            lowering = _Lowering(document, *options, counts_many=False)
            start = lowering.run(document.root)
    except RecursionError:
        raise LimitExceeded("schema_depth", limits.schema_depth, "the nesting of the schema") from None
    if start is NEVER:
        raise unsatisfiable(*(lowering.empty_reason or ("its parts contradict each other", "$")))
    rules: Mapping[str, Node] = lowering.rules
    if lowering.deferred:
        if (unlisted := UNLISTED if lowering.product_rules else None) and lowering.has_distinct(start):
            ProductLowerer(lowering).list_rules()
            unlisted = None
        parts = lowering.rules, lowering.deferred, lowering.examples, lowering.lower_deferred
        rules = LazyRules(*parts, unlisted=unlisted, formats=lowering.formats)
    return Rules(start, rules, (*document.unenforced, *lowering.unenforced), lowering.lazy, document.narrowed)


class _Lowering:
    """One walk over a document, which fills `rules`."""

    def __init__(
        self,
        document: Document,
        whitespace: Whitespace,
        order: Order,
        strict: bool,
        source: str | None,
        limits: Limits,
        notation: Notation,
        *,
        counts_many: bool = True,
    ) -> None:
        self.counts_many = counts_many
        self.source = source
        self.strict = strict
        self.unenforced: dict[Unenforced, None] = {}
        self.uses = usages(document)
        self.order = order
        self.bounded = document.bounded
        self.integral_floats = document.integral_floats and not document.bounded
        self.bounded_numbers = document.bounded or document.bounded_numbers
        self.limits = limits
        self.comma, self.colon = _SEPARATORS[whitespace]
        self.rules: dict[str, Node] = {}
        self.lazy: set[str] = set()
        self.formats: dict[str, tuple[str, int, int | None]] = {}
        self.product_rules = 0
        self.small = True
        self.size = 0
        self.root, self.definitions = document.root, document.definitions
        self.lowered: dict[str, tuple[Node, int, bool, int]] = {}
        self.deferred: dict[str, tuple[Deferred, str]] = {}
        self.examples: dict[str, Node] = {}
        self.names = RuleNames(self.rules, self.examples, document.definitions)
        self.deferred_names: dict[Schema, str] = {}
        self.shared: dict[tuple[Schema, bool, bool], tuple[Node, int, bool, int]] = {}
        self.lowered_strings: dict[tuple[String, bool], Node] = {}
        self.empty_reason: tuple[str, str] | None = None
        self.count = 0
        self.canonical = self.overlapping = False
        self.pending: list[str] = []
        self.notation = notation
        self.postponed: dict[str, Summary] = {}
        self.summaries = Summaries(
            self.lowered, self.postponed, notation, self.comma, self.colon, limits, python=document.bounded
        )
        self.keywords = False
        self.depth = self.max_depth = 0
        self.escaped: dict[str, None] = {}

    @cached_property
    def with_multiple_spellings(self) -> set[str]:
        """The definitions that have a value with more than one spelling."""
        any_order = self.order == "any"
        return with_multiple_spellings(
            self.definitions, self.uses, any_order=any_order, shared_keys=self.shared_keys
        )

    @cached_property
    def shared_keys(self) -> SharedKeys:
        """The keys inside unique items that have the same order in all objects; none in values of Python types."""
        if self.bounded:
            return {}
        roots = (self.root, *self.definitions.values())
        return shared_keys(roots, self.definitions, AutomatonOracle(python=False, limits=self.limits))

    # Made for each use: a reference in both directions would keep the schema until the next garbage collection.
    @property
    def strings(self) -> StringLowerer:
        """Lowers the strings of the document."""
        return StringLowerer(self)

    @property
    def objects(self) -> ObjectLowerer:
        """Lowers the objects of the document."""
        return ObjectLowerer(self)

    def run(self, root: Schema) -> Node:
        """Return the language of the root and add its rules to `rules`."""
        is_large = sum(use.size for use in self.uses.values()) >= LARGE_DOCUMENT
        for name, use in self.uses.items():
            if not self.postpone(name, use, is_large=is_large):
                self.define(name, use)
        start = self.arguments(root) if self.notation.python_call else self.node(root, "$")
        self.canonical = True
        while self.pending:
            name = self.pending.pop()
            self.depth = 0
            self.rules[canonical_rule_name(name)] = self.node(self.definitions[name], self.uses[name].path)
        self.strings.finish()
        self.shared.clear()
        return start

    def arguments(self, root: Schema) -> Node:
        """Return the language of the arguments of a Python call."""
        named = keywords_of(Document(root, self.definitions)) if self.strict else None
        if named is None:
            return seq(LiteralText("**"), self.node(root, "$"))
        self.keywords = True
        return self.node(named, "$")

    def postpone(self, name: str, use: Usage, *, is_large: bool) -> bool:
        """Postpone the lowering of a simple definition: of a rule to its first call, of other ones to their first use.

        Return whether the definition is postponed. Calls of several rules at once are slower than their union, so that
        alternatives that overlap are copied.
        """
        if self.order == "any" or (use.overlapping and not is_large):
            return False
        schema = self.definitions[name]
        if (summary := self.summaries.of(schema)) is None or not self.summaries.is_small(summary):
            return False
        if use.recursive or self.summaries.is_worth_a_rule(schema, summary, is_large=is_large):
            self.defer(f"#{name}", schema, use.path, summary)
            self.lowered[name] = RuleRef(f"#{name}"), 0, True, 1
        else:
            self.charge(summary.total, use.path)
            self.postponed[name] = summary
        return True

    def deferrable(self, schema: Schema) -> Summary | None:
        """Return the summary of a value that can be lowered on first use here, otherwise `None`."""
        if self.canonical or self.overlapping or self.order == "any":
            return None
        return self.summaries.of_rule(schema)

    def defer(self, rule: str, schema: Schema, path: str, summary: Summary) -> None:
        """Add a rule that is lowered on first use."""
        self.charge(summary.total, path)
        self.deferred[rule] = schema, path
        self.examples[rule] = summary.example
        self.lazy.add(rule)

    def defer_rule(self, rule: str, given: FormatRule | ProductRule, path: str) -> None:
        """Add a rule of a format or of a product, which is lowered on first use."""
        self.deferred[rule] = given, path

    def deferred_value(self, schema: Schema, path: str, summary: Summary) -> Node:
        """Make a value a rule that is lowered on first use, and return the call; equal values share a rule."""
        name = self.deferred_names.get(schema)
        if name is None:
            name = self.deferred_names[schema] = self.names.new(path)
            self.defer(name, schema, path, summary)
        self.size += 1
        return RuleRef(name)

    def has_distinct(self, start: Node) -> bool:
        """Return whether the rules have texts that must be distinct."""
        return any(map(has_distinct, (start, *self.rules.values())))

    def lower_deferred(self, rule: str) -> None:
        """Lower a deferred rule."""
        schema, path = self.deferred.pop(rule)
        if isinstance(schema, FormatRule):
            self.rules[rule] = format_body(schema.given, schema.min_length, schema.max_length)
            return
        if isinstance(schema, ProductRule):
            self.rules[rule] = ProductLowerer(self).rule(schema)
            return
        self.canonical = self.keywords = self.overlapping = False
        self.count = self.depth = self.max_depth = self.size = 0
        self.small = True
        self.rules[rule] = any_json(self, rule) if isinstance(schema, Anything) else self.node(schema, path)

    def reference(self, name: str) -> tuple[Node, int, bool, int]:
        """Return a lowered definition; one that is not lowered yet is recursive, or postponed."""
        found = self.lowered.get(name)
        if found is None and name in self.postponed:
            outer = self.depth, self.max_depth, self.small, self.size, self.count
            flags = self.canonical, self.keywords
            self.canonical = self.keywords = False
            self.define(name, self.uses[name])
            self.depth, self.max_depth, self.small, self.size, self.count = outer
            self.canonical, self.keywords = flags
            found = self.lowered[name]
        return found or (RuleRef(f"#{name}"), 0, True, 1)

    def define(self, name: str, use: Usage) -> None:
        """Lower a definition, and choose whether its uses are copies or calls."""
        self.depth = self.max_depth = 0
        self.small, self.size = True, 0
        overlapping, self.overlapping = self.overlapping, use.overlapping
        node = self.node(self.definitions[name], use.path)
        large = use.count > 1 and exceeds_size(node, MAX_INLINE_NODES)
        if use.recursive or (node is not NEVER and (large or self.max_depth >= _MAX_NESTING)):
            self.add(f"#{name}", node)
            self.lowered[name] = RuleRef(f"#{name}"), 0, True, 1
        else:
            self.lowered[name] = node, self.max_depth, self.small, self.size
        self.overlapping = overlapping
        self.depth = self.max_depth = 0
        self.small, self.size = True, 0

    def node(self, schema: Schema, path: str) -> Node:
        """Lower one schema; if it cannot be enforced and `strict` is false, lower a larger schema."""
        try:
            return self.lower_exact(schema, path)
        except StructkitError as error:
            error.place = error.place or path
            if self.strict or not isinstance(error, (UnsupportedKeyword, PatternError)):
                raise
            self.unenforced[Unenforced(error.place, keyword_of(error), error.message)] = None
            return self.relax(schema, path)

    def relax(self, schema: Schema, path: str) -> Node:
        """Lower the first weaker schema that can be enforced."""
        for larger in relaxations(schema):
            with suppress(UnsupportedKeyword, PatternError):
                return self.lower_exact(larger, path)
        return self.lower_exact(Anything(), path)

    def charge(self, count: int, path: str) -> None:
        """Count lowered schemas.

        Raises:
            LimitExceeded: There are more than `limits.regex_nodes`.
        """
        self.count += count
        if self.count > self.limits.regex_nodes:
            raise LimitExceeded("regex_nodes", self.limits.regex_nodes, "the regex of the schema", place=path)

    def lower_exact(self, schema: Schema, path: str) -> Node:
        """Lower one schema exactly."""
        self.count += 1
        if self.count > self.limits.regex_nodes:
            self.charge(0, path)
        if isinstance(schema, (Object, Array, Union, ObjectProduct)):
            return self.nested(schema, path)
        self.small = self.small and (type(schema) not in MAY_BE_LARGE or is_small(schema))
        self.size += 1
        if isinstance(schema, Const):
            self.size += text_size(schema.text)
        match schema:
            case Const(text) if text[0] == '"':  # the most frequent case; equal in all styles
                return LiteralText(text)
            case String():
                is_known = schema is FREE_STRING and ANY_TEXT.rule in self.rules
                return ANY_STRING if is_known else self.shared_string(schema, path)
            case Anything():
                return self.anything()
            case Boolean():
                return Choice((LiteralText(self.notation.true), LiteralText(self.notation.false)))
            case Ref(name) if self.canonical and (self.bounded or name in self.with_multiple_spellings):
                return self.canonical_definition(name)
            case Ref(name):
                return self.place(self.reference(name))
            case Integer():
                return NumberLowerer(self).integer(schema, path)
            case Number():
                return NumberLowerer(self).number(schema, path)
            case Null():
                return LiteralText(self.notation.null)
            case Const(text) if (
                self.order == "any" and not self.canonical and text[0] in "[{" and "," in text
            ):
                return self.node(expand(schema), path)
            case Const(text):
                if self.canonical and not self.bounded:
                    text = canonical_constant(text, self.shared_keys)
                text = self.notation.render(with_separators(text, self.comma, self.colon))
                if self.canonical or self.bounded:
                    return LiteralText(text)
                return constant_spellings(text, has_points=self.integral_floats)
            case Never(reason):
                self.empty_reason = self.empty_reason or (reason, path)
                return NEVER
            case Combined():
                raise TypeError("a document has no combinations; call tabulate when it is parsed")

    def shared_string(self, schema: String, path: str) -> Node:
        """Lower a string; equal strings of a document share a rule, because patterns are often repeated."""
        key = schema, self.canonical
        if key not in self.lowered_strings:
            self.lowered_strings[key] = self.strings.string(schema, path)
        return self.lowered_strings[key]

    def canonical_definition(self, name: str) -> Node:
        """Return a call of a definition inside unique items, where each value has one spelling."""
        rule = canonical_rule_name(name)
        if rule not in self.rules:
            self.rules[rule] = NEVER
            self.pending.append(name)
        return RuleRef(rule)

    def nested(self, schema: Object | Array | Union | ObjectProduct, path: str) -> Node:
        """Lower a nested schema, or defer it below the root; in a large document, equal schemas are lowered once."""
        if self.depth and path != "$" and (summary := self.deferrable(schema)) is not None:
            return self.deferred_value(schema, path, summary)
        if self.count < _MIN_SHARED or not self.depth:
            return self.lower_nested(schema, path)
        key = schema, self.canonical, self.overlapping
        if (known := self.shared.get(key)) is None:
            outer, unenforced = (self.max_depth, self.small, self.size), len(self.unenforced)
            self.max_depth, self.small, self.size = self.depth, True, 0
            try:
                known = self.lower_nested(schema, path), self.max_depth - self.depth, self.small, self.size
            finally:
                self.max_depth, self.small, self.size = outer
            if len(self.unenforced) == unenforced:  # otherwise each place of the schema is reported
                self.shared[key] = known
        return self.place(known)

    def place(self, lowered: tuple[Node, int, bool, int]) -> Node:
        """Return the node of a lowered schema, and count it as a part of the current one."""
        node, height, small, size = lowered
        self.max_depth = max(self.max_depth, self.depth + height)
        self.small = self.small and small
        self.size += size
        return node

    def lower_nested(self, schema: Object | Array | Union | ObjectProduct, path: str) -> Node:
        """Lower a nested schema; every `_MAX_NESTING` levels start a rule."""
        outer, small, size = (self.depth, self.max_depth), self.small, self.size
        self.small, self.size = is_small(schema), 1
        starts_rule = self.depth == _MAX_NESTING
        self.depth = 0 if starts_rule else self.depth + 1
        self.max_depth = self.depth if starts_rule else max(self.depth, self.max_depth)
        match schema:
            case Object():
                node = ProductLowerer(self).object(schema, path)
            case Array():
                node = ArrayLowerer(self).array(schema, path)
            case Union(branches):
                self.objects.check_orders(branches, path)
                node = UnionLowerer(self).union(branches, path)
            case ObjectProduct():
                node = ProductLowerer(self).product(schema, path)
        if starts_rule:
            self.depth, self.max_depth = outer
            node = self.rule(node, path)
        else:
            self.depth = outer[0]
        self.small = small and (self.small or isinstance(node, RuleRef))
        self.size = size + (1 if isinstance(node, RuleRef) else self.size)
        return node

    def rule(self, node: Node, path: str, *, small: bool | None = None) -> Node:
        """Add `node` as a rule with a new name, and return the call; `NEVER` stays itself."""
        if node is NEVER:
            return node
        name = self.names.of(path, node)
        self.add(name, node, small=small)
        return RuleRef(name)

    def add(self, name: str, node: Node, *, small: bool | None = None) -> None:
        """Add a rule. It is built lazily if `small`, by default if all schemas lowered into it are small."""
        self.rules[name] = node
        if (self.small and self.size <= MAX_LAZY_SIZE) if small is None else small:
            self.lazy.add(name)

    def anything(self) -> Node:
        """Return a call of the recursive rule of any JSON value."""
        name = canonical_rule_name("json") if self.canonical else "json"
        if self.canonical and name not in self.rules:
            self.rules[name] = any_json(self, name)
            self.lazy.add(name)
        elif name not in self.examples and not self.canonical:
            self.deferred[name] = Anything(), "$"
            self.examples[name] = LiteralText("0")
            self.lazy.add(name)
        return RuleRef(name)
