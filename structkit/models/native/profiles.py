"""What the JSON Schema of a request enforces at each kind of server."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ANTHROPIC", "GEMINI", "LLAMA_CPP", "OPENAI_STRICT", "SchemaProfile"]

_COMMON = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "definitions",
        "enum",
        "items",
        "properties",
        "required",
        "type",
    }
)
_BOUNDS = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaProfile:
    """The part of JSON Schema that a server enforces while it writes.

    The tables are those of the servers' documentation and code as of 2026. What a table lists too much is noticed,
    since each reply is checked; what it lists too little costs corrections.
    """

    name: str
    """The name in explanations."""

    keywords: frozenset[str]
    """The keywords that are enforced; others are left out of the request."""

    formats: frozenset[str] = frozenset()
    """The values of `format` that are enforced."""

    is_object: bool = False
    """Whether the value must be an object, and the schema no union."""

    is_closed: bool = False
    """Whether objects cannot have additional properties."""

    requires_all: bool = False
    """Whether all properties are required."""

    requires_type: bool = False
    """Whether a schema without `type`, `enum`, `const`, `anyOf` or `$ref` is refused."""

    is_recursive: bool = True
    """Whether a schema can refer to itself."""

    alone: frozenset[str] = frozenset({"$ref"})
    """The keywords beside which others are not enforced."""

    overridden: tuple[tuple[str, frozenset[str]], ...] = ()
    """Keywords, each with those beside which it is not enforced."""

    plain_patterns: bool = False
    """Whether a pattern is enforced only from `^` to `$`, without names of classes such as `\\d`, and without lengths
    beside it."""

    orders_required: bool = False
    """Whether required properties are written before optional ones, in whatever order the schema has them."""

    joins_references: bool = True
    """Whether a schema of `allOf` can be a `$ref`."""

    least_items: frozenset[int] | None = None
    """The values of `minItems` that are enforced; `None` for all."""

    max_properties: int | None = None
    """Maximum number of properties of all objects."""

    max_optional: int | None = None
    """Maximum number of optional properties of all objects."""

    max_unions: int | None = None
    """Maximum number of schemas with `anyOf`, or with several types."""

    max_enum: int | None = None
    """Maximum number of values of all enums."""

    max_depth: int | None = None
    """Maximum depth of objects in objects."""


OPENAI_STRICT = SchemaProfile(
    name="OpenAI",
    keywords=_COMMON | _BOUNDS | {"const", "format", "maxItems", "minItems", "multipleOf", "pattern"},
    formats=frozenset({"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"}),
    is_object=True,
    is_closed=True,
    requires_all=True,
    requires_type=True,
    max_properties=5_000,
    max_enum=1_000,
    max_depth=10,
)
"""`response_format` with `strict` of OpenAI."""

ANTHROPIC = SchemaProfile(
    name="Anthropic",
    keywords=_COMMON | {"allOf", "const", "format", "minItems"},
    formats=frozenset(
        {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"}
    ),
    is_closed=True,
    requires_type=True,
    is_recursive=False,
    joins_references=False,
    least_items=frozenset({0, 1}),
    max_optional=24,
    max_unions=16,
)
"""`output_config.format` of Anthropic."""

GEMINI = SchemaProfile(
    name="Gemini",
    keywords=_COMMON | {"format", "maxItems", "maximum", "minItems", "minimum", "oneOf", "prefixItems"},
    formats=frozenset({"date", "date-time", "time"}),
)
"""`response_json_schema` of Gemini."""

LLAMA_CPP = SchemaProfile(
    name="llama.cpp",
    keywords=_COMMON
    | {
        "allOf",
        "const",
        "format",
        "maxItems",
        "maxLength",
        "minItems",
        "minLength",
        "oneOf",
        "pattern",
        "prefixItems",
    },
    formats=frozenset({"date", "date-time", "time", "uuid"}),
    alone=frozenset({"$ref", "anyOf", "const", "enum", "oneOf"}),
    overridden=(
        ("allOf", frozenset({"additionalProperties", "items", "prefixItems", "properties"})),
        ("format", frozenset({"pattern"})),
        ("items", frozenset({"prefixItems"})),
        ("maxItems", frozenset({"prefixItems"})),
        ("maxLength", frozenset({"format", "pattern"})),
        ("minItems", frozenset({"prefixItems"})),
        ("minLength", frozenset({"format", "pattern"})),
    ),
    orders_required=True,
    plain_patterns=True,
)
"""The schemas of llama.cpp, which Ollama and LM Studio hand on to it; llama.cpp itself gets a grammar."""
