"""Strings of JSON, quotes included: free text, formats, patterns, and JSON inside a string."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, cast

from structkit.errors import UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.strings.raw_text import format_body, raw_language
from structkit.lowering.strings.registry import format_names, is_known, language
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
from structkit.schema.ir.nodes import Format, Schema, String
from structkit.schema.markers.quote import QUOTE_FORMAT, with_source

__all__ = ["MAX_LAZY_LENGTH", "StringLowerer", "StringLowering"]

_FREE = String()
"""Any string: most are, so that nothing else is asked about them."""

_ANY_TEXT = RuleRef(free_text_name(0, None))
_ANY_STRING = seq(QUOTE, _ANY_TEXT)

_LITERAL = 3
"""Nodes that a string with a pattern may have and still be written where it stands; too few to hold a repetition."""

MAX_LAZY_LENGTH = 500
"""Characters that a text must at least have and its rule still be built only when it is called."""

_MAX_EMBEDDING = 4
"""Strings of JSON inside strings of JSON: each one doubles the backslashes."""


class StringLowering(Protocol):
    """What strings need of the walk over the whole schema."""

    bounded: bool
    limits: Limits
    canonical: bool
    empty_reason: tuple[str, str] | None
    source: str | None
    rules: dict[str, Node]
    deferred: set[str]
    lazy: set[str]

    def node(self, schema: Schema, path: str) -> Node:
        """The texts of one schema."""

    def rule(self, node: Node, path: str, *, small: bool | None = None) -> Node:
        """A call to `node` under a name of its own."""

    def add(self, name: str, node: Node, *, small: bool | None = None) -> None:
        """Add a rule."""

    def lower_deferred(self, rule: str) -> None:
        """Make a rule that was postponed."""


class StringLowerer:
    """The strings of one lowering."""

    def __init__(self, lowering: StringLowering) -> None:
        self._lowering = lowering
        self._escaped: dict[str, None] = {}

    def string(
        self, schema: String, path: str, excluded: Sequence[str] = (), *, canonical: bool | None = None
    ) -> Node:
        """A string that is none of `excluded`; `canonical` if each value is written in one way only."""
        lowering = self._lowering
        if schema == _FREE and not excluded:
            if _ANY_TEXT.rule not in lowering.rules:
                self.free_text(0, None)
            return _ANY_STRING
        if schema == _FREE:
            return seq(QUOTE, lowering.rule(free_text_except(excluded), path))
        canonical = lowering.canonical if canonical is None else canonical
        if schema.content is not None:
            return self._embedded(schema, schema.content, path, excluded)
        given = schema.format
        if given is not None and given.name == QUOTE_FORMAT:
            return self._quote(schema, given, path, excluded)
        if given is not None and not is_known(given) and lowering.bounded:
            message = (
                f"the format '{given}' cannot be enforced; drop it, or use one of {', '.join(format_names())}"
            )
            raise UnsupportedKeyword("format", message, place=path)
        if given is not None and is_known(given) and schema == String(format=given) and not excluded:
            text = format_body(given, canonical=canonical)
            if text is NEVER:
                return NEVER
            rule = str(given) if not canonical or text == format_body(given) else f"{given} once"
            lowering.add(rule, text)
            return seq(QUOTE, RuleRef(rule))
        body = raw_language(
            schema, python=lowering.bounded, limits=lowering.limits, path=path, canonical=canonical
        )
        if body is NEVER:
            return NEVER
        if isinstance(body, Repeat) and body.part == ANY and not excluded:
            return seq(QUOTE, self.free_text(body.min_count, body.max_count))
        if excluded:
            body = Intersection(body, choice(LiteralText(name) for name in excluded), negate=True)
        text = string_tail(body)
        if not exceeds_size(text, _LITERAL):
            return seq(QUOTE, text)
        # In a rule that calls no other masks are quicker, and shared.
        return seq(QUOTE, lowering.rule(text, path, small=is_small_string(body)))

    def _quote(self, schema: String, given: Format, path: str, excluded: Sequence[str]) -> Node:
        """A part of a source."""
        lowering = self._lowering
        given = with_source(given, lowering.source, path)
        if not encode_source(cast("Substring", string_tail(language(given)))).starts.size:
            lowering.empty_reason = lowering.empty_reason or (
                "there is nothing to quote, for the source is empty",
                path,
            )
            return NEVER
        schema = replace(schema, format=given)
        body = raw_language(schema, python=lowering.bounded, limits=lowering.limits, path=path)
        if excluded and body is not NEVER:
            body = Intersection(body, choice(LiteralText(other) for other in excluded), negate=True)
        return NEVER if body is NEVER else seq(QUOTE, string_tail(body))

    def free_text(self, min_length: int, max_length: int | None) -> Node:
        """Free text and its closing quote, a rule that all schemas share."""
        name = free_text_name(min_length, max_length)
        self._lowering.rules[name] = free_text_body(min_length, max_length)
        if min_length <= MAX_LAZY_LENGTH:
            self._lowering.lazy.add(name)
        return RuleRef(name)

    def _embedded(self, schema: String, content: Schema, path: str, excluded: Sequence[str]) -> Node:
        """The JSON texts of a schema, as a string."""
        if excluded or schema != String(content=content):
            message = "a string of JSON cannot be restricted besides; restrict what it says"
            raise UnsupportedKeyword("contentSchema", message, place=path)
        inner = self._lowering.node(content, path)
        return NEVER if inner is NEVER else seq(QUOTE, self._calling(escape(inner)), QUOTE)

    def _calling(self, node: Node) -> Node:
        """The node, and a note of the rules of escaped texts that it calls."""
        self._escaped.update(dict.fromkeys(referenced_rules(node)))
        return node

    def finish(self) -> None:
        """Make the rules of escaped texts, now that those are known that they are made of.

        Raises:
            UnsupportedKeyword: A string of JSON holds itself, and so ever more backslashes.
        """
        lowering = self._lowering
        while pending := [name for name in self._escaped if name not in lowering.rules]:
            for name in pending:
                if name.count(ESCAPED_SUFFIX) > _MAX_EMBEDDING:
                    message = (
                        f"JSON inside a string is written at most {_MAX_EMBEDDING} deep; use the inner type"
                    )
                    raise UnsupportedKeyword("contentSchema", message, place="$")
                plain = name.removesuffix(ESCAPED_SUFFIX)
                if plain in lowering.deferred:
                    lowering.lower_deferred(plain)
                if plain in lowering.rules:
                    lowering.rules[name] = self._calling(escape(lowering.rules[plain]))
                    lowering.lazy.update({name} if plain in lowering.lazy else ())
