"""Strings of JSON, quotes included: free text, formats, patterns, and JSON inside a string."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, cast

from structkit.errors import UnsupportedKeyword
from structkit.limits import Limits
from structkit.lowering.strings.raw_text import format_text, string_texts
from structkit.lowering.strings.registry import format_names, is_known, language
from structkit.regex.charset import ANY
from structkit.regex.json_string import QUOTE, SPELLED, closed, escape, other_text, text_body, text_name
from structkit.regex.nodes import NEVER, Both, Call, Node, Repeat, Substring, Text, alt, seq
from structkit.regex.size_bound import is_plain_text
from structkit.regex.substring import spelling
from structkit.regex.walk import calls, is_larger
from structkit.schema.ir.nodes import Schema, String
from structkit.schema.markers.quote import FORMAT, with_source

__all__ = ["LATE_TEXT", "Lowering", "Strings"]

_FREE = String()
"""Any string: most are, so that nothing else is asked about them."""

_ANY_TEXT = Call(text_name(0, None))
_ANY_STRING = seq(QUOTE, _ANY_TEXT)

_LITERAL = 3
"""Nodes that a string with a pattern may have and still be written where it stands; too few to hold a repetition."""

LATE_TEXT = 500
"""Characters that a text must at least have and its rule still be built only when it is called."""

_DEEPEST = 4
"""Strings of JSON inside strings of JSON: each one doubles the backslashes."""


class Lowering(Protocol):
    """What strings need of the walk over the whole schema."""

    bounded: bool
    limits: Limits
    once: bool
    nothing: tuple[str, str] | None
    source: str | None
    rules: dict[str, Node]
    unmade: set[str]
    late: set[str]

    def node(self, schema: Schema, place: str) -> Node:
        """The texts of one schema."""

    def rule(self, node: Node, place: str, *, plain: bool | None = None) -> Node:
        """A call to `node` under a name of its own."""

    def add(self, name: str, node: Node, *, plain: bool | None = None) -> None:
        """Add a rule."""

    def make(self, rule: str) -> None:
        """Make a rule that was postponed."""


class Strings:
    """The strings of one lowering."""

    def __init__(self, lowering: Lowering) -> None:
        self._lowering = lowering
        self._escaped: dict[str, None] = {}

    def string(
        self, schema: String, place: str, without: Sequence[str] = (), *, once: bool | None = None
    ) -> Node:
        """A string that is none of `without`; `once` if each value is written in one way only."""
        lowering = self._lowering
        if schema == _FREE and not without:
            if _ANY_TEXT.rule not in lowering.rules:
                self.text(0, None)
            return _ANY_STRING
        if schema == _FREE:
            return seq(QUOTE, lowering.rule(other_text(without), place))
        once = lowering.once if once is None else once
        if schema.content is not None:
            return self._embedded(schema, schema.content, place, without)
        name = schema.format
        if name is not None and name.startswith(FORMAT):
            return self._quote(schema, name, place, without)
        if name is not None and not is_known(name) and lowering.bounded:
            message = (
                f"the format {name!r} cannot be enforced; drop it, or use one of {', '.join(format_names())}"
            )
            raise UnsupportedKeyword("format", message, place=place)
        if name is not None and is_known(name) and schema == String(format=name) and not without:
            text = format_text(name, once=once)
            if text is NEVER:
                return NEVER
            rule = name if not once or text == format_text(name) else f"{name} once"
            lowering.add(rule, text)
            return seq(QUOTE, Call(rule))
        body = string_texts(schema, python=lowering.bounded, limits=lowering.limits, place=place, once=once)
        if body is NEVER:
            return NEVER
        if isinstance(body, Repeat) and body.part == ANY and not without:
            return seq(QUOTE, self.text(body.least, body.most))
        if without:
            body = Both(body, alt(Text(name) for name in without), negate=True)
        text = closed(body)
        if not is_larger(text, _LITERAL):
            return seq(QUOTE, text)
        # In a rule that calls no other masks are quicker, and shared.
        return seq(QUOTE, lowering.rule(text, place, plain=is_plain_text(body)))

    def _quote(self, schema: String, name: str, place: str, without: Sequence[str]) -> Node:
        """A part of a source."""
        lowering = self._lowering
        name = with_source(name, lowering.source, place)
        if not spelling(cast("Substring", closed(language(name)))).starts.size:
            lowering.nothing = lowering.nothing or (
                "there is nothing to quote, for the source is empty",
                place,
            )
            return NEVER
        schema = replace(schema, format=name)
        body = string_texts(schema, python=lowering.bounded, limits=lowering.limits, place=place)
        if without and body is not NEVER:
            body = Both(body, alt(Text(other) for other in without), negate=True)
        return NEVER if body is NEVER else seq(QUOTE, closed(body))

    def text(self, least: int, most: int | None) -> Node:
        """Free text and its closing quote, a rule that all schemas share."""
        name = text_name(least, most)
        self._lowering.rules[name] = text_body(least, most)
        if least <= LATE_TEXT:
            self._lowering.late.add(name)
        return Call(name)

    def _embedded(self, schema: String, content: Schema, place: str, without: Sequence[str]) -> Node:
        """The JSON texts of a schema, as a string."""
        if without or schema != String(content=content):
            message = "a string of JSON cannot be restricted besides; restrict what it says"
            raise UnsupportedKeyword("contentSchema", message, place=place)
        inner = self._lowering.node(content, place)
        return NEVER if inner is NEVER else seq(QUOTE, self._calling(escape(inner)), QUOTE)

    def _calling(self, node: Node) -> Node:
        """The node, and a note of the rules of escaped texts that it calls."""
        self._escaped.update(dict.fromkeys(calls(node)))
        return node

    def finish(self) -> None:
        """Make the rules of escaped texts, now that those are known that they are made of.

        Raises:
            UnsupportedKeyword: A string of JSON holds itself, and so ever more backslashes.
        """
        lowering = self._lowering
        while pending := [name for name in self._escaped if name not in lowering.rules]:
            for name in pending:
                if name.count(SPELLED) > _DEEPEST:
                    message = f"JSON inside a string is written at most {_DEEPEST} deep; use the inner type"
                    raise UnsupportedKeyword("contentSchema", message, place="$")
                plain = name.removesuffix(SPELLED)
                if plain in lowering.unmade:
                    lowering.make(plain)
                if plain in lowering.rules:
                    lowering.rules[name] = self._calling(escape(lowering.rules[plain]))
                    lowering.late.update({name} if plain in lowering.late else ())
