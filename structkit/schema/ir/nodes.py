"""Schema nodes: the intermediate representation of Python types and JSON Schemas.

A node denotes a set of JSON values. Nodes are immutable, and the family of node types is closed. Later steps (the
regex, the description in the prompt) read nodes, never dicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from typing import TypeAlias

from structkit.frozen import CachedHash, cached_hash, frozen
from structkit.unenforced import Unenforced

__all__ = [
    "ANY_KEYS",
    "FREE_STRING",
    "Additional",
    "Anything",
    "Array",
    "Boolean",
    "Bound",
    "Case",
    "Combined",
    "Const",
    "Contains",
    "Document",
    "Format",
    "FormatArgument",
    "Formula",
    "Integer",
    "Never",
    "Note",
    "Null",
    "Number",
    "Object",
    "ObjectProduct",
    "ProductGroup",
    "ProductKey",
    "Property",
    "Ref",
    "Schema",
    "String",
    "Union",
]


@frozen
class Note:
    """Text for readers of a schema; it does not restrict the values."""

    title: str | None = None
    description: str | None = None
    examples: tuple[str, ...] = ()
    """Example values as JSON text."""


@frozen
class _Node(CachedHash):
    note: Note | None = field(default=None, compare=False, kw_only=True)


@frozen
class Never(_Node):
    """No value.

    Attributes:
        reason: Why no value is valid, for the error message.
        relative_path: The steps from this node to the contradiction, such as `(".a", "[0]")`.
    """

    reason: str
    relative_path: tuple[str, ...] = field(default=(), compare=False)


@frozen
class Anything(_Node):
    """Every JSON value."""


@frozen
class Null(_Node):
    """`null`."""


@frozen
class Boolean(_Node):
    """`true` and `false`."""


@cached_hash
@frozen
class Const(_Node):
    """One JSON value; `text` is its compact JSON: `json.dumps(value, ensure_ascii=False, separators=(",", ":"))`."""

    text: str


@frozen
class Bound:
    """One end of a range of numbers."""

    value: Decimal
    exclusive: bool = False


@cached_hash
@frozen
class Integer(_Node):
    """Integers between `minimum` and `maximum`, both inclusive."""

    minimum: int | None = None
    maximum: int | None = None
    multiple_of: int | None = None
    not_multiple_of: tuple[Decimal, ...] = ()


@cached_hash
@frozen
class Number(_Node):
    """Integers and numbers with a fraction."""

    minimum: Bound | None = None
    maximum: Bound | None = None
    multiple_of: Decimal | None = None
    not_multiple_of: tuple[Decimal, ...] = ()


FormatArgument: TypeAlias = str | int | tuple[str, ...]


@frozen
class Format:
    """A string format: a name of JSON Schema, or a private `python:` name with arguments, sorted by name.

    >>> str(Format("date")), str(Format.of("python:date", {"low": "2020-01-01", "high": None}))
    ('date', "python:date(low='2020-01-01')")
    """

    name: str
    arguments: tuple[tuple[str, FormatArgument], ...] = ()

    @classmethod
    def of(cls, name: str, arguments: Mapping[str, FormatArgument | None]) -> Format:
        """Return the format with those arguments that are not `None`."""
        return cls(name, tuple(sorted((key, value) for key, value in arguments.items() if value is not None)))

    def __str__(self) -> str:
        if not self.arguments:
            return self.name
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.arguments)})"


@cached_hash
@frozen
class String(_Node):
    """Strings that match all patterns and formats, and none of the forbidden ones; lengths are in code points."""

    min_length: int = 0
    max_length: int | None = None
    patterns: tuple[str, ...] = ()
    format: Format | None = None
    forbidden: tuple[str, ...] = ()
    """Patterns that the string must not match."""
    forbidden_formats: tuple[Format, ...] = ()
    """Formats that the string must not have."""
    content: Schema | None = None
    """The schema of the JSON document inside the string."""
    more_formats: tuple[Format, ...] = ()
    """Formats that the string has besides `format`, in the order of their names; a quote is never one of them."""

    @property
    def formats(self) -> tuple[Format, ...]:
        """All formats that the string has."""
        return () if self.format is None else (self.format, *self.more_formats)


FREE_STRING = String()
"""All strings."""


@frozen
class Contains:
    """A bound on the number of items after the prefix that match `matching`; all remaining items match `others`."""

    matching: Schema
    others: Schema
    min_count: int = 1
    max_count: int | None = None


@cached_hash
@frozen
class Array(_Node):
    """Arrays: one item for each schema of `prefix`, then items that match `items`."""

    prefix: tuple[Schema, ...] = ()
    items: Schema = field(default_factory=Anything)
    min_items: int = 0
    max_items: int | None = None
    unique_items: bool = False
    contains: tuple[Contains, ...] = ()
    repeats_item: bool = False
    """Whether some items must be equal. Only while a schema is parsed: such arrays are not generated, see `prune`."""


@frozen
class Property:
    """A declared key of an object.

    Attributes:
        name: The key.
        value: The schema of its value.
        required: Whether the key must be present.
        in_order: Whether the declared order of the properties applies to the key.
        also_additional: Whether the key also matches a group of additional keys and may be written among them.
    """

    name: str
    value: Schema
    required: bool = True
    in_order: bool = field(default=True, compare=False)
    also_additional: bool = field(default=False, compare=False)


@frozen
class Additional:
    """Undeclared keys with a name among `names`, and the schema of their values.

    Attributes:
        names: The allowed names.
        value: The schema of the values.
        implicit: Whether the keys are allowed only because the schema does not mention them.
    """

    names: String
    value: Schema
    implicit: bool = field(default=False, compare=False)


ANY_KEYS = (Additional(String(), Anything()),)
"""All undeclared keys, with any value."""


@cached_hash
@frozen
class Object(_Node):
    """Objects: declared properties in order, then additional keys.

    The groups of `additional` have disjoint names; without a group, additional keys are not allowed.
    """

    properties: tuple[Property, ...] = ()
    additional: tuple[Additional, ...] = ()
    required_groups: tuple[tuple[Additional, ...], ...] = ()
    """At least one key of each tuple of groups is required; each group is a subset of a group in `additional`."""
    min_properties: int = 0
    max_properties: int | None = None
    any_order: bool = False
    """Whether the keys may have any order even if other objects of the document have the declared order."""


@cached_hash
@frozen
class Combined(_Node):
    """Objects that match between `min_count` and `max_count` of the parts.

    Only while a schema is parsed, where multiplying the parts out would take too long. In a document it is an
    `ObjectProduct`.

    Attributes:
        parts: The objects, and combinations of objects.
        min_count: Minimum number of parts that match.
        max_count: Maximum number of parts that match.
        negated: Whether a `not` asks for objects that do not match a part, so that all of them are wanted.
    """

    parts: tuple[Object | Combined, ...]
    min_count: int
    max_count: int
    negated: bool = False


@cached_hash
@frozen
class Formula(CachedHash):
    """Whether enough conditions hold: between `min_count` and `max_count` of `conditions` and `parts`.

    Attributes:
        conditions: A set of conditions, as the bits of a number.
        parts: Formulas that are counted, too.
        min_count: Minimum number of those that hold.
        max_count: Maximum number of those that hold.
        within: The conditions here and in all parts; at least one.
    """

    conditions: int
    parts: tuple[Formula, ...]
    min_count: int
    max_count: int
    within: int


@frozen
class Case:
    """Values of a key, and the conditions that they violate, as the bits of a number."""

    value: Schema
    violates: int


@frozen
class ProductKey:
    """A declared key of an `ObjectProduct`.

    Attributes:
        name: The key.
        cases: The values, in disjoint cases; a key without a case is forbidden.
        required: Whether the key must be present.
        violated_without: The conditions that an object without the key violates.
        also_additional: As for `Property`.
    """

    name: str
    cases: tuple[Case, ...]
    required: bool
    violated_without: int
    also_additional: bool = field(default=False, compare=False)


@frozen
class ProductGroup:
    """Undeclared keys of an `ObjectProduct`; see `Additional`."""

    names: String
    cases: tuple[Case, ...]
    implicit: bool = field(compare=False)


@cached_hash
@frozen
class ObjectProduct(_Node):
    """Objects of many combinations: an entry violates conditions, and a formula states which of them must hold.

    Attributes:
        keys: The declared keys, in order.
        additional: Groups of undeclared keys with disjoint names.
        formula: The conditions that must hold; those that no entry violates hold.
        violated_if_empty: The conditions that the object without a key violates.
        min_properties: Minimum number of keys.
        max_properties: Maximum number of keys.
    """

    keys: tuple[ProductKey, ...]
    additional: tuple[ProductGroup, ...]
    formula: Formula
    violated_if_empty: int = 0
    min_properties: int = 0
    max_properties: int | None = None


@cached_hash
@frozen
class Union(_Node):
    """Values that match at least one branch."""

    branches: tuple[Schema, ...]


@cached_hash
@frozen
class Ref(_Node):
    """A reference to a named definition of the document."""

    name: str


Schema: TypeAlias = (
    Never
    | Anything
    | Null
    | Boolean
    | Const
    | Integer
    | Number
    | String
    | Array
    | Object
    | Combined
    | ObjectProduct
    | Union
    | Ref
)


@frozen
class Document:
    """A schema and the definitions it refers to.

    Attributes:
        root: The schema of the document.
        definitions: Schemas by name.
        bounded: Whether numbers have a bounded number of digits. True for Python types, so that a model cannot write
            digits forever; false for JSON Schemas, which follow the specification.
        bounded_numbers: Whether the numbers of a JSON Schema are bounded, too.
        unenforced: The keywords and validators that are checked after decoding.
        integral_floats: Whether an integer of a JSON Schema can also be written as 1.0, which draft 4 does not allow.
        narrowed: The places of each `oneOf` that lacks some of its objects, because they would have too many
            combinations.
    """

    root: Schema
    definitions: Mapping[str, Schema] = field(default_factory=dict)
    bounded: bool = True
    unenforced: tuple[Unenforced, ...] = ()
    bounded_numbers: bool = False
    integral_floats: bool = True
    narrowed: tuple[str, ...] = ()
