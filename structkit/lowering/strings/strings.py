"""JSON strings with their quotes: free text, formats, patterns, and JSON inside a string."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Protocol, cast

from structkit.automaton.construct.stored import FORMATS
from structkit.errors import UnsupportedKeyword
from structkit.grammar.read import GrammarSource
from structkit.grammar.syntax.holes import with_prefix
from structkit.grammar.syntax.lark_grammar import LarkOptions
from structkit.limits import Limits, check_iterations
from structkit.lowering.strings.raw_text import FormatRule, can_exclude, format_body, raw_language
from structkit.lowering.strings.registry import format_names, is_known, language
from structkit.lowering.strings.rfc import FORMAT_EXAMPLES, format_example
from structkit.regex.charset import ANY
from structkit.regex.json_string import (
    ESCAPED_SUFFIX,
    QUOTE,
    escape,
    free_text_body,
    free_text_except,
    free_text_name,
    string_tail,
)
from structkit.regex.nodes import (
    NEVER,
    Intersection,
    LiteralText,
    Node,
    Repeat,
    RuleRef,
    Substring,
    choice,
    seq,
)
from structkit.regex.size_bound import is_small_string
from structkit.regex.substring import encode_source
from structkit.regex.walk import exceeds_size, referenced_rules
from structkit.schema.algebra.string_oracle import not_of_format
from structkit.schema.ir.nodes import FREE_STRING, Format, Schema, String
from structkit.schema.ir.unsatisfiable import no_string_reason
from structkit.schema.markers.grammar import GRAMMAR_FORMAT, grammar_parts
from structkit.schema.markers.quote import QUOTE_FORMAT, with_source

__all__ = ["ANY_STRING", "ANY_TEXT", "MAX_LAZY_LENGTH", "StringLowerer", "StringLowering"]

ANY_TEXT = RuleRef(free_text_name(0, None))
"""The rule of any text and its closing quote: the most frequent case."""

ANY_STRING = seq(QUOTE, ANY_TEXT)
"""The language of any string; it calls a rule, which `StringLowerer` adds."""

_MAX_INLINE_STRING = 3
"""Largest string with a pattern, in nodes, that does not become a rule; too small to contain a repetition."""

MAX_LAZY_LENGTH = 500
"""Largest minimum length, in characters, of a text whose rule is built lazily."""

_MAX_EMBEDDING = 4
"""Maximum nesting of JSON inside strings: each level doubles the backslashes."""


class StringLowering(Protocol):
    """The part of the lowering of a document that strings use; `escaped` names the rules of escaped texts."""

    bounded: bool
    limits: Limits
    canonical: bool
    empty_reason: tuple[str, str] | None
    source: str | None
    escaped: dict[str, None]
    rules: dict[str, Node]
    examples: dict[str, Node]
    lazy: set[str]
    formats: dict[str, tuple[str, int, int | None]]

    def node(self, schema: Schema, path: str) -> Node:
        """Lower one schema."""

    def rule(self, node: Node, path: str, *, small: bool | None = None) -> Node:
        """Add `node` as a rule with a new name, and return the call."""

    def add(self, name: str, node: Node, *, small: bool | None = None) -> None:
        """Add a rule."""

    @property
    def deferred(self) -> Mapping[str, object]:
        """The rules that are not lowered yet."""

    def defer_rule(self, rule: str, given: FormatRule, path: str) -> None:
        """Add the rule of a format, which is lowered on first use."""

    def lower_deferred(self, rule: str) -> None:
        """Lower a deferred rule."""


class StringLowerer:
    """Lower the strings of one document."""

    __slots__ = ("_lowering",)

    def __init__(self, lowering: StringLowering) -> None:
        self._lowering = lowering

    def string(
        self, schema: String, path: str, excluded: Sequence[str] = (), *, canonical: bool | None = None
    ) -> Node:
        """Lower a string that is none of `excluded`; if `canonical`, each value has one spelling."""
        lowering = self._lowering
        if schema is FREE_STRING or schema == FREE_STRING:  # the identity is the most frequent case
            if not excluded:
                if ANY_TEXT.rule not in lowering.rules:
                    self.free_text(0, None, path)
                return ANY_STRING
            return seq(QUOTE, lowering.rule(free_text_except(excluded), path))
        canonical = lowering.canonical if canonical is None else canonical
        if schema.content is not None:
            return self._embedded(schema, schema.content, path, excluded)
        given = schema.format
        if given is not None and given.name == QUOTE_FORMAT:
            return self._quote(schema, given, path, excluded)
        if given is not None and given.name == GRAMMAR_FORMAT:
            return self._grammar(schema, given, path, excluded)
        if given is not None and not is_known(given) and lowering.bounded:
            message = (
                f"the format '{given}' cannot be enforced; drop it, or use one of {', '.join(format_names())}"
            )
            raise UnsupportedKeyword("format", message, place=path)
        if not all(map(can_exclude, schema.forbidden_formats)):
            others = next(each for each in schema.forbidden_formats if not can_exclude(each))
            lowering.empty_reason = lowering.empty_reason or (not_of_format(others), path)
            return NEVER
        if given is not None and is_known(given) and not excluded:
            if schema == String(format=given):
                return self._format(given, canonical=canonical)
            if not canonical and (example := format_example(schema)) is not None:
                return self._lazy_format(schema, given, example)
        body = raw_language(
            schema, python=lowering.bounded, limits=lowering.limits, path=path, canonical=canonical
        )
        if body is NEVER:
            return self._none(schema, path)
        if isinstance(body, Repeat) and body.part == ANY and not excluded:
            return seq(QUOTE, self.free_text(body.min_count, body.max_count, path))
        if excluded:
            body = Intersection(body, choice(LiteralText(name) for name in excluded), negate=True)
        text = string_tail(body)
        if not exceeds_size(text, _MAX_INLINE_STRING):
            return seq(QUOTE, text)
        # The masks of a rule without calls are faster to compute, and shared.
        return seq(QUOTE, lowering.rule(text, path, small=is_small_string(body)))

    def _format(self, given: Format, *, canonical: bool) -> Node:
        """Lower a known format; one of the specification is lowered on first use."""
        if not canonical and given.name in FORMAT_EXAMPLES:
            return self._lazy_format(String(format=given), given, FORMAT_EXAMPLES[given.name])
        lowering = self._lowering
        rule = str(given)
        text = format_body(given, canonical=canonical)
        if text is NEVER:
            return NEVER
        if canonical and text != format_body(given):
            rule = f"{rule} canonical"
        lowering.add(rule, text)
        return seq(QUOTE, RuleRef(rule))

    def _lazy_format(self, schema: String, given: Format, example: str) -> Node:
        """Return a call of the rule of a format and its lengths, which is lowered on first use."""
        lowering = self._lowering
        lengths = schema.min_length, schema.max_length
        rule = str(given) if lengths == (0, None) else f"{given} {free_text_name(*lengths)}"
        if rule not in lowering.examples:
            lowering.defer_rule(rule, FormatRule(given, *lengths), "$")
            lowering.examples[rule] = LiteralText(f'{example}"')
            lowering.lazy.add(rule)
            if str(given) in FORMATS.names:
                lowering.formats[rule] = str(given), *lengths
        return seq(QUOTE, RuleRef(rule))

    def _quote(self, schema: String, given: Format, path: str, excluded: Sequence[str]) -> Node:
        """Lower a quote of a source."""
        lowering = self._lowering
        given = with_source(given, lowering.source, path)
        if not encode_source(cast("Substring", string_tail(language(given)))).starts.size:
            lowering.empty_reason = lowering.empty_reason or (
                "the source of the quote is empty or blank",
                path,
            )
            return NEVER
        schema = replace(schema, format=given)
        body = raw_language(schema, python=lowering.bounded, limits=lowering.limits, path=path)
        if excluded and body is not NEVER:
            body = Intersection(body, choice(LiteralText(other) for other in excluded), negate=True)
        return self._none(schema, path) if body is NEVER else seq(QUOTE, string_tail(body))

    def _none(self, schema: String, path: str) -> Node:
        """Return the empty language, and keep why it is empty."""
        lowering = self._lowering
        lowering.empty_reason = lowering.empty_reason or (no_string_reason(schema), path)
        return NEVER

    def _grammar(self, schema: String, given: Format, path: str, excluded: Sequence[str]) -> Node:
        """Lower a text of a grammar."""
        if excluded or schema != String(format=given):
            message = "a text of a grammar cannot have other constraints; write them into the grammar"
            raise UnsupportedKeyword("x-structkit-grammar", message, place=path)
        text, file, syntax, options = grammar_parts(given)
        source = GrammarSource(
            text, file, syntax, LarkOptions.of(options), limits=self._lowering.limits, labelled=False
        )
        name = blake2b(str(given).encode(), digest_size=8).hexdigest()
        rules = with_prefix(source.rules, f"grammar:{name}:")
        self._lowering.rules.update(
            (name + ESCAPED_SUFFIX, escape(node)) for name, node in rules.rules.items()
        )
        return seq(QUOTE, escape(rules.start), QUOTE)

    def free_text(self, min_length: int, max_length: int | None, path: str) -> Node:
        """Return a call of the rule of free text and its closing quote, which all schemas share.

        Raises:
            LimitExceeded: The text is too long; the rule itself has no place.
        """
        check_iterations(min_length, self._lowering.limits, path)
        name = free_text_name(min_length, max_length)
        self._lowering.rules[name] = free_text_body(min_length, max_length)
        if min_length <= MAX_LAZY_LENGTH:
            self._lowering.lazy.add(name)
        return RuleRef(name)

    def _embedded(self, schema: String, content: Schema, path: str, excluded: Sequence[str]) -> Node:
        """Lower a string that contains JSON of a schema."""
        if excluded or schema != String(content=content):
            message = "a string that contains JSON cannot have other constraints; constrain the inner type"
            raise UnsupportedKeyword("contentSchema", message, place=path)
        inner = self._lowering.node(content, path)
        return NEVER if inner is NEVER else seq(QUOTE, self._record_calls(escape(inner)), QUOTE)

    def _record_calls(self, node: Node) -> Node:
        """Return the node, and record the rules of escaped texts that it calls."""
        self._lowering.escaped.update(dict.fromkeys(referenced_rules(node)))
        return node

    def finish(self) -> None:
        """Add the rules of escaped texts, after the rules that they escape.

        Raises:
            UnsupportedKeyword: JSON inside strings is nested too deep, for example recursive.
        """
        lowering = self._lowering
        while pending := [name for name in lowering.escaped if name not in lowering.rules]:
            for name in pending:
                if name.count(ESCAPED_SUFFIX) > _MAX_EMBEDDING:
                    message = (
                        f"JSON in strings is nested at most {_MAX_EMBEDDING} levels deep; use the inner type"
                    )
                    raise UnsupportedKeyword("contentSchema", message, place="$")
                plain = name.removesuffix(ESCAPED_SUFFIX)
                if plain in lowering.deferred:
                    lowering.lower_deferred(plain)
                if plain in lowering.rules:
                    lowering.rules[name] = self._record_calls(escape(lowering.rules[plain]))
                    lowering.lazy.update({name} if plain in lowering.lazy else ())
