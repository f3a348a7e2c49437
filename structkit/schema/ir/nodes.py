"""Schema nodes: what a type or a JSON Schema says, read once into a closed family of frozen values.

Everything later (the regex, the description in the prompt) is a walk over these nodes, never over dicts.
A node denotes a set of JSON values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from typing import TypeAlias

from structkit.frozen import CachedHash, cached_hash, frozen
from structkit.unenforced import Unenforced

__all__ = [
    "Additional",
    "Anything",
    "Array",
    "Boolean",
    "Bound",
    "Const",
    "Contains",
    "Document",
    "Integer",
    "Never",
    "Note",
    "Null",
    "Number",
    "Object",
    "Property",
    "Ref",
    "Schema",
    "String",
    "Union",
]


@frozen
class Note:
    """What a schema says to its reader and not about its values."""

    title: str | None = None
    description: str | None = None
    examples: tuple[str, ...] = ()
    """Example values, as JSON text."""


@frozen
class _Node(CachedHash):
    note: Note | None = field(default=None, compare=False, kw_only=True)


@frozen
class Never(_Node):
    """No value. `reason` says why, for the error message, and `relative_path` lead from here to where (`.a`, `[0]`)."""

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
    """One JSON value. `text` is its compact JSON: `json.dumps(value, ensure_ascii=False, separators=(",", ":"))`."""

    text: str


@frozen
class Bound:
    """One end of a range of numbers."""

    value: Decimal
    exclusive: bool = False


@cached_hash
@frozen
class Integer(_Node):
    """Whole numbers, ends included."""

    minimum: int | None = None
    maximum: int | None = None
    multiple_of: int | None = None
    not_multiple_of: tuple[Decimal, ...] = ()


@cached_hash
@frozen
class Number(_Node):
    """Numbers with or without a fraction."""

    minimum: Bound | None = None
    maximum: Bound | None = None
    multiple_of: Decimal | None = None
    not_multiple_of: tuple[Decimal, ...] = ()


@cached_hash
@frozen
class String(_Node):
    """Strings: lengths in code points; every pattern and the format must hold together, and nothing forbidden."""

    min_length: int = 0
    max_length: int | None = None
    patterns: tuple[str, ...] = ()
    format: str | None = None
    forbidden: tuple[str, ...] = ()
    """Patterns that must not match."""
    forbidden_formats: tuple[str, ...] = ()
    content: Schema | None = None
    """What the JSON says that the string is."""


@frozen
class Contains:
    """How many items of an array after its prefix must be among `matching`; all others are then among `others`."""

    matching: Schema
    others: Schema
    min_count: int = 1
    max_count: int | None = None


@cached_hash
@frozen
class Array(_Node):
    """Arrays: the `prefix` first, each after its schema, then any number of `items`."""

    prefix: tuple[Schema, ...] = ()
    items: Schema = field(default_factory=Anything)
    min_items: int = 0
    max_items: int | None = None
    unique_items: bool = False
    contains: tuple[Contains, ...] = ()


@frozen
class Property:
    """One declared key of an object.

    `in_order`: it has a place in the order of a `properties`. `also_additional`: it is one of the additional keys
    too, and may be
    written there instead.
    """

    name: str
    value: Schema
    required: bool = True
    in_order: bool = field(default=True, compare=False)
    also_additional: bool = field(default=False, compare=False)


@frozen
class Additional:
    """Keys that are not declared: those whose name is among `names`, and their value.

    `implicit`: nothing was said about them, so the specification allows them.
    """

    names: String
    value: Schema
    implicit: bool = field(default=False, compare=False)


@cached_hash
@frozen
class Object(_Node):
    """Objects: the declared properties in their order, then additional keys, in groups that share no name.

    Without a group there are no additional keys.
    """

    properties: tuple[Property, ...] = ()
    additional: tuple[Additional, ...] = ()
    required_groups: tuple[tuple[Additional, ...], ...] = ()
    """Of the keys of each choice of groups at least one is there; each group lies within one of `additional`."""
    min_properties: int = 0
    max_properties: int | None = None
    any_order: bool = False
    """Whether the keys may come in any order, though not all objects of the document do."""


@cached_hash
@frozen
class Union(_Node):
    """Values of any of the branches."""

    branches: tuple[Schema, ...]


@cached_hash
@frozen
class Ref(_Node):
    """A named definition of the document."""

    name: str


Schema: TypeAlias = (
    Never | Anything | Null | Boolean | Const | Integer | Number | String | Array | Object | Union | Ref
)


@frozen
class Document:
    """A schema and the definitions it refers to.

    `bounded` holds for Python types: their numbers have a bounded count of digits, so that a model cannot
    write digits for ever. A JSON Schema given as a dict means what the specification says.
    `unenforced` is what its values must be checked for besides.
    """

    root: Schema
    definitions: Mapping[str, Schema] = field(default_factory=dict)
    bounded: bool = True
    unenforced: tuple[Unenforced, ...] = ()
