"""The description of a target in the prompt: a compact type expression with comments.

`Person = {"name": string, "age": integer (0 to 120), "job": string | null /* as written */}`
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from structkit.schema.ir.constructors import union
from structkit.schema.ir.keywords import STRIPPED_PATTERN, written_pattern
from structkit.schema.ir.nodes import (
    Additional,
    Anything,
    Array,
    Boolean,
    Bound,
    Case,
    Combined,
    Const,
    Contains,
    Document,
    Format,
    Integer,
    Never,
    Null,
    Number,
    Object,
    ObjectProduct,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.markers.quote import QUOTE_FORMAT as QUOTE

__all__ = ["describe"]

_MAX_TEXT = 8_000
_MAX_MEMBERS = 60
_MAX_COMMENT = 200
_MAX_PATTERN = 200
_MAX_EXAMPLE = 120
_MAX_EXAMPLES = 3
_MAX_DEPTH = 40
"""Maximum nesting; deeper parts are written as `...`."""

_FORMATS = {
    "date-time": "datetime",
    "python:isalnum": "string of letters and digits",
    "python:isalpha": "string of letters",
    "python:isascii": "string of ASCII",
    "python:isdecimal": "string of decimal digits",
    "python:isdigit": "string of digits",
    "python:isidentifier": "identifier",
    "python:islower": "string in lower case",
    "python:isnumeric": "string of numeric characters",
    "python:isprintable": "string of printable characters",
    "python:isspace": "string of spaces",
    "python:istitle": "string in title case",
    "python:isupper": "string in upper case",
    "python:bytes": "string",
    "python:complex": "complex number",
    "python:float-key": "number",
    "python:ip-address": "IPv{} address",
    "python:ip-interface": "IPv{} interface",
    "python:ip-network": "IPv{} network",
    "python:lower": "string in lower case",
    "python:name-email": "name <email>",
    "python:timedelta": "duration",
    "python:upper": "string in upper case",
    "python:url": "URL",
    "python:uuid": "uuid{}",
    "python:zone": "time zone",
}


def describe(document: Document, name: str | None = None) -> str:
    """Describe a document in at most about 8,000 characters.

    Args:
        document: The document.
        name: The name of the target; the default is the title of the schema.

    Returns:
        One line for the target and one for each definition that is recursive or used more than once.

    >>> from structkit.schema.json_schema.parse import parse_schema
    >>> age = {"type": "integer", "minimum": 0, "description": "in years"}
    >>> describe(parse_schema({"title": "Cat", "type": "object", "properties": {"age": age}, "required": ["age"],
    ...     "additionalProperties": False}))
    'Cat = {"age": integer (at least 0) /* in years */}'
    """
    text = _Description(document).text(name)
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 4].rstrip() + " ..."


class _Description:
    """The traversal of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._named = _named(document)
        self._depth = 0
        self._remaining = 2 * _MAX_TEXT

    def text(self, name: str | None) -> str:
        """Return all lines."""
        root = self._document.root
        if isinstance(root, Ref):
            first, node = root.name, self._document.definitions[root.name]
        else:
            first, node = None, root
        title = node.note.title if node.note else None
        name = first if first in self._named else name or title or first
        line = self._type(node) + _comment(node)
        lines = [line if name is None else f"{_one_line(name, 80)} = {line}"]
        for other in self._named:
            if other != first and self._remaining > 0:
                definition = self._document.definitions[other]
                lines.append(f"{other} = {self._type(definition)}{_comment(definition)}")
        return "\n".join(lines)

    def _type(self, node: Schema) -> str:
        if self._remaining <= 0 or self._depth > _MAX_DEPTH:
            return "..."
        self._depth += 1
        text = self._expression(node)
        self._depth -= 1
        if not isinstance(node, Array | Object | Union | Ref):
            self._remaining -= len(text)
        return text

    def _expression(self, node: Schema) -> str:
        match node:
            case Anything():
                return "any"
            case Never():
                return "nothing"
            case Null():
                return "null"
            case Boolean():
                return "boolean"
            case Const(text=text):
                return _one_line(text, _MAX_COMMENT)
            case Integer() | Number():
                return _number(node)
            case String(content=content) if content is not None:
                return f"string of JSON ({self._type(content)})"
            case String():
                return _string(node)
            case Array():
                return self._array(node)
            case Object():
                return self._object(node)
            case ObjectProduct():
                return self._product(node)
            case Combined():
                return "object"
            case Union():
                return self._union(node)
            case Ref(name=name):
                return name if name in self._named else self._type(self._document.definitions[name])

    def _union(self, node: Union) -> str:
        shown = [self._type(branch) + self._comment_of(branch) for branch in node.branches[:_MAX_MEMBERS]]
        if len(node.branches) > _MAX_MEMBERS:
            shown.append("...")
        return " | ".join(shown)

    def _array(self, node: Array) -> str:
        items = [self._item(item) for item in node.prefix]
        if node.max_items is None or node.max_items > len(node.prefix):
            items += [self._item(node.items), "..."]
        min_items = node.min_items if node.min_items > len(node.prefix) or "..." in items else 0
        max_items = node.max_items if "..." in items else None
        counts = _range(min_items or None, max_items, "item")
        return f"[{', '.join(items)}]{_constraints(counts, *map(self._contains, node.contains))}"

    def _contains(self, node: Contains) -> str | None:
        count = "no item" if node.max_count == 0 else _range(node.min_count or None, node.max_count, "item")
        return count and f"{count} of type {self._item(node.matching)}"

    def _item(self, node: Schema) -> str:
        text = self._type(node)
        return (f"({text})" if isinstance(self._inner(node), Union) else text) + self._comment_of(node)

    def _inner(self, node: Schema) -> Schema:
        """Return the node, or the definition that is inlined in its place."""
        while isinstance(node, Ref) and node.name not in self._named:
            node = self._document.definitions[node.name]
        return node

    def _comment_of(self, node: Schema) -> str:
        """Return the comment of a node, or of the definition that is inlined in its place."""
        comment = _comment(node) or _comment(self._inner(node))
        self._remaining -= len(comment)
        return comment

    def _object(self, node: Object) -> str:
        keys = []
        for key in node.properties:
            if self._remaining <= 0:
                keys.append("...")
                break
            if not isinstance(key.value, Never):
                keys.append(self._key(key))
        low, high = node.min_properties, node.max_properties
        counted = low > sum(key.required for key in node.properties) or (
            high is not None and high < len(keys)
        )
        if node.additional:
            keys += [*self._groups(node.additional), "..."]
        counts = _range(low or None, high, "key") if node.additional or counted else None
        some = (f"at least 1 key of {{{', '.join(self._groups(choice))}}}" for choice in node.required_groups)
        return f"{{{', '.join(keys)}}}{_constraints(counts, *some)}"

    def _product(self, node: ObjectProduct) -> str:
        """Return the text of a product; which keys go together is not shown."""
        keys = []
        for key in node.keys:
            if self._remaining <= 0:
                keys.append("...")
                break
            if key.cases:
                keys.append(self._key(Property(key.name, _any_of(key.cases), key.required)))
        keys += self._groups(Additional(group.names, _any_of(group.cases)) for group in node.additional)
        return f"{{{', '.join((*keys, '...') if node.additional else keys)}}}"

    def _groups(self, groups: Iterable[Additional]) -> list[str]:
        return [
            f"{_string(group.names)}: {self._type(group.value)}{self._comment_of(group.value)}"
            for group in groups
        ]

    def _key(self, key: Property) -> str:
        name = json.dumps(key.name, ensure_ascii=False)
        self._remaining -= len(name) + 4
        comment = self._comment_of(key.value)
        return f"{name}{'' if key.required else '?'}: {self._type(key.value)}{comment}"


def _any_of(cases: Iterable[Case]) -> Schema:
    return union(case.value for case in cases)


def _named(document: Document) -> dict[str, None]:
    """Return the definitions used more than once, which get a line of their own; every recursion contains one."""
    uses: Counter[str] = Counter()
    stack: list[Schema] = [document.root, *document.definitions.values()]
    while stack:
        match stack.pop():
            case Ref(name=name):
                uses[name] += 1
            case Union(branches=branches):
                stack.extend(branches)
            case String(content=content) if content is not None:
                stack.append(content)
            case Array(prefix=prefix, items=items, contains=contains):
                stack.extend((*prefix, items, *(each.matching for each in contains)))
            case ObjectProduct(keys=keys, additional=groups):
                stack.extend(case.value for key in keys for case in key.cases)
                stack.extend(case.value for group in groups for case in group.cases)
            case Object(properties=properties, additional=additional, required_groups=some):
                stack.extend(key.value for key in properties)
                stack.extend(group.value for groups in (additional, *some) for group in groups)
    return {name: None for name in document.definitions if uses[name] > 1}


def _number(node: Integer | Number) -> str:
    if isinstance(node, Integer):
        name, between = "integer", _range(node.minimum, node.maximum)
    else:
        name, between = "number", _bounds(node.minimum, node.maximum)
    multiple = None if node.multiple_of is None else f"multiple of {_digits(Decimal(node.multiple_of))}"
    others = ("not whole" if of == 1 else f"not a multiple of {_digits(of)}" for of in node.not_multiple_of)
    return name + _constraints(between, multiple, *others)


def _bounds(low: Bound | None, high: Bound | None) -> str | None:
    """Return text such as `0 to 120` or `more than 0, at most 1.5`."""
    if low and high and not low.exclusive and not high.exclusive:
        return f"{_digits(low.value)} to {_digits(high.value)}"
    parts = []
    if low:
        parts.append(f"{'more than' if low.exclusive else 'at least'} {_digits(low.value)}")
    if high:
        parts.append(f"{'less than' if high.exclusive else 'at most'} {_digits(high.value)}")
    return ", ".join(parts) or None


def _digits(value: Decimal) -> str:
    """Return a number in decimal notation, or in scientific notation if it is long."""
    if abs(value.adjusted()) > 20 or len(value.as_tuple().digits) > 40:
        return f"{value:.6e}"
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _range(low: int | None, high: int | None, unit: str = "") -> str | None:
    """Return text such as `2 to 10 characters`, `at least 1 item` or `3 items`."""
    if low is None and high is None:
        return None
    if low is None or high is None:
        last = high if low is None else low
        text = f"{'at most' if low is None else 'at least'} {last}"
    else:
        last = high
        text = f"{low}" if unit and low == high else f"{low} to {high}"
    return f"{text} {unit}{'' if last == 1 else 's'}" if unit else text


def _string(node: String) -> str:
    name, *details = ["string"] if node.format is None else _format(node.format)
    details += [f"also {_format(other)[0]}" for other in node.more_formats]
    parts = details + [
        "no space at the ends"
        if pattern == STRIPPED_PATTERN
        else f"pattern {_one_line(written_pattern(pattern), _MAX_PATTERN)}"
        for pattern in node.patterns
    ]
    parts += [
        f"not pattern {_one_line(written_pattern(pattern), _MAX_PATTERN)}" for pattern in node.forbidden
    ]
    parts += [f"not {_format(other)[0]}" for other in node.forbidden_formats]
    return name + _constraints(_range(node.min_length or None, node.max_length, "character"), *parts)


def _format(given: Format) -> list[str]:
    """Return the text of a format and the texts of its arguments.

    >>> _format(Format("python:date", (("high", "2024-12-31"),)))
    ['date', 'until 2024-12-31']
    """
    name = given.name
    if name == QUOTE:
        return ["string", "copied from the text"]
    arguments: dict[str, Any] = dict(given.arguments)
    found = [_FORMATS.get(name, name.removeprefix("python:")).format(arguments.get("version") or "")]
    if "negate" in arguments:
        found = [f"string that is no {found[0]}"]
    if name == "python:timedelta":
        arguments = {end: f"{arguments[end] / 1_000_000:g} seconds" for end in arguments}
    if "schemes" in arguments:
        found.append(" or ".join(f"{scheme}://" for scheme in arguments["schemes"][:_MAX_SCHEMES]))
    found += [f"{word} {arguments[key]}" for key, word in _ARGUMENTS.items() if key in arguments]
    for key, unit in (("max_digits", "digit"), ("decimal_places", "decimal place")):
        found += [_range(None, arguments[key], unit) or ""] if key in arguments else []
    if name == "python:url":
        sizes = _range(None, arguments.get("max_length"), "character")
    else:
        sizes = _range(arguments.get("min_bytes"), arguments.get("max_bytes"), "byte")
    return [*found, *([sizes] if sizes else [])]


_ARGUMENTS = {
    "low": "from",
    "high": "until",
    "ge": "at least",
    "gt": "more than",
    "le": "at most",
    "lt": "less than",
    "multiple_of": "multiple of",
}
_MAX_SCHEMES = 4


def _constraints(*parts: str | None) -> str:
    text = ", ".join(part for part in parts if part)
    return f" ({text})" if text else ""


def _comment(node: Schema) -> str:
    """Return the description and examples of a node as a comment."""
    if node.note is None:
        return ""
    parts = [_one_line((node.note.description or "").replace("*/", ""), _MAX_COMMENT)]
    examples = [text.replace("*/", "") for text in node.note.examples if len(text) <= _MAX_EXAMPLE]
    if examples:
        parts.append(f"such as {_one_line(', '.join(examples[:_MAX_EXAMPLES]), _MAX_COMMENT)}")
    text = "; ".join(filter(None, parts))
    return f" /* {text} */" if text else ""


def _one_line(text: str, max_length: int) -> str:
    """Return a text on one line, cut to `max_length` characters."""
    line = " ".join(text[: 4 * max_length].split())
    return line if len(line) <= max_length else line[: max_length - 3].rstrip() + "..."
