"""The only door to pydantic: a Python type gives its JSON Schema here, and a text becomes a validated instance.

Pydantic's own JSON Schema is looser or stricter than what pydantic accepts in a dozen places (a naive `datetime`, the
keys of `dict[int, T]`, ...). `_PythonSchema` writes those from the core schema, in private formats and keywords that
only `read.py` knows; the user is given the plain schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum
from functools import cached_property
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Generic, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

from pydantic import PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticOmit, SchemaValidator, core_schema, to_json
from pydantic_core import SchemaError as CoreSchemaError
from typing_extensions import TypeForm

from structkit.errors import LimitExceeded, SchemaError
from structkit.limits import Limits
from structkit.schema.keywords import OPTIONAL, REFUSAL, STRIPPED
from structkit.schema.nodes import Document
from structkit.schema.parts import Part
from structkit.schema.read import read
from structkit.schema.texts import UNDECIDED, Texts

__all__ = ["OutputType"]

T = TypeVar("T")
JsonObject = dict[str, object]


class OutputType(Generic[T]):
    """A Python type as a target: its schema, and the way back from a text to an instance.

    >>> numbers = OutputType.of(list[int])
    >>> numbers.name, numbers.json_schema
    ('list[int]', {'items': {'type': 'integer'}, 'type': 'array'})
    >>> numbers.validate("[1, 2]")
    [1, 2]

    Attributes:
        name: The name of the type, for messages and prompts.
        document: The type as Schema nodes.
    """

    def __init__(self, adapter: TypeAdapter[T], name: str, document: Document) -> None:
        self._adapter = adapter
        self.name = name
        self.document = document

    @classmethod
    def of(
        cls,
        target: TypeForm[T],
        *,
        defaults: Literal["always", "may_omit"] = "always",
        limits: Limits = Limits(),  # noqa: B008
        texts: Texts = UNDECIDED,
    ) -> OutputType[T]:
        """Read a type.

        Args:
            target: Anything that a pydantic field may be annotated with.
            defaults: `"always"`: fields with a default are written too; `"may_omit"`: they may be left out.
            limits: Bounds the size of the schema.
            texts: Decides what patterns say about names.

        Raises:
            SchemaError: Pydantic cannot describe the type.
            UnsupportedKeyword: A part of the type cannot be enforced while decoding.
            UnsatisfiableSchema: The type has no value that can be written as JSON.
            LimitExceeded: The type is too large or too deep.
        """
        name = _name(target)
        try:
            adapter: TypeAdapter[T] = TypeAdapter(target)
            generator = _PythonSchema if defaults == "always" else _PythonSchemaWithTags
            schema = adapter.json_schema(schema_generator=generator)
        except (
            PydanticUserError,
            PydanticUndefinedAnnotation,
            CoreSchemaError,
            NameError,
            TypeError,
        ) as error:
            raise SchemaError(_explain(name, error), place="$") from error
        except RecursionError:
            raise LimitExceeded("schema_depth", limits.schema_depth, f"the type {name}", place="$") from None
        return cls(adapter, name, read(schema, python=True, defaults=defaults, limits=limits, texts=texts))

    @cached_property
    def part(self) -> Part:
        """The validators of its parts."""
        return Part.of(self._adapter)

    @cached_property
    def json_schema(self) -> JsonObject:
        """The JSON Schema as pydantic writes it."""
        return dict(self._adapter.json_schema())

    def validate(self, text: str) -> T:
        """The instance that a JSON text stands for.

        Raises:
            pydantic.ValidationError: The text is not JSON, or the type refuses it.
        """
        return self._adapter.validate_json(text)


def _name(target: object) -> str:
    """`list[Person]` for `list[package.module.Person]`; what `Annotated` adds is left out."""
    origin, arguments = get_origin(target), get_args(target)
    if origin is Annotated:
        return _name(arguments[0])
    if origin in (Union, UnionType):
        return " | ".join(map(_name, arguments))
    if origin is Literal:
        return f"Literal[{', '.join(str(value) if isinstance(value, Enum) else repr(value) for value in arguments)}]"
    if target is Ellipsis:
        return "..."
    name = "None" if target in (None, NoneType) else getattr(origin or target, "__name__", repr(target))
    return f"{name}[{', '.join(map(_name, arguments))}]" if arguments and isinstance(origin, type) else name


def _explain(name: str, error: Exception) -> str:
    """What pydantic said, in one line, and what to do."""
    said = str(error).split("\n\nFor further information")[0]
    said = " ".join(said.split())
    if isinstance(error, NameError) or "not fully defined" in said:
        return f"{name} refers to a name that is not defined: {said}; define it where {name} is defined"
    return f"pydantic cannot describe {name}: {said}; use a type that pydantic can validate from JSON"


def _refused(reason: str) -> JsonObject:
    """A subschema that `read` refuses with its path."""
    return {REFUSAL: reason}


_DIGITS_AS_KEYS = "structkit:digits"
"""A private keyword: an enum whose values pydantic also accepts as strings, and so as keys."""

# What a key of a JSON object may look like for a key type that is not a string: canonical, and of bounded length.
_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
_FRACTIONAL = r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$"
_KEYS: dict[str, JsonObject] = {
    "integer": {"type": "string", "pattern": _WHOLE},
    "number": {"type": "string", "pattern": _FRACTIONAL},
    "boolean": {"enum": ["true", "false"]},
}

_EXACT_DIGITS = 15
"""Decimal digits that survive the float through which pydantic reads a number of JSON."""

_TOLERATED = 4_000_000.0
"""Below it two roundings stay under the 1e-9 by which pydantic lets a float miss a multiple."""


if TYPE_CHECKING:  # several of these are younger than the oldest pydantic that is supported
    _Field: TypeAlias = core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField
    _AnyDictSchema: TypeAlias = (
        core_schema.DictSchema
        | core_schema.FrozenDictSchema
        | core_schema.OrderedDictSchema
        | core_schema.CounterSchema
    )


class _PythonSchema(GenerateJsonSchema):
    """Pydantic's generator, corrected where its schema is not what pydantic accepts."""

    requires_tags = False

    def sort(self, value: JsonObject, parent_key: str | None = None) -> JsonObject:
        return value

    def emit_warning(self, kind: str, detail: str) -> None:
        """Defaults that cannot be written as JSON do not matter here; the plain schema warns of them."""

    def normalize_name(self, name: str) -> str:
        return name

    def field_title_should_be_set(self, schema: object) -> bool:
        return False

    def handle_invalid_for_json_schema(self, schema: Mapping[str, object], error_info: str) -> JsonObject:
        name = getattr(schema.get("cls"), "__name__", schema["type"])
        return _refused(f"{name} has no JSON form; use a type that can be written as JSON")

    # Fields

    def field_is_present(self, field: _Field | core_schema.ComputedField) -> bool:
        # Pydantic describes dataclass fields with init=False and then ignores or forbids them.
        return field.get("init") is not False and super().field_is_present(field)

    def model_field_schema(self, schema: core_schema.ModelField) -> JsonObject:
        return self._field(schema)

    def dataclass_field_schema(self, schema: core_schema.DataclassField) -> JsonObject:
        return self._field(schema)

    def typed_dict_field_schema(self, schema: core_schema.TypedDictField) -> JsonObject:
        return self._field(schema)

    def _field(self, field: _Field) -> JsonObject:
        if self._reaches_far(field):
            return _refused(
                "an AliasPath reaches into another key, which is not supported; use a plain alias"
            )
        try:
            return self.generate_inner(field["schema"])
        except PydanticOmit:
            if field["schema"]["type"] == "default":
                raise
            return _refused("SkipJsonSchema hides a field that must be written; give it a default")

    def _get_alias_name(self, field: _Field | core_schema.ComputedField, name: str) -> str:
        # Older pydantics describe the alias even where validate_by_alias is off.
        by_alias = getattr(self._config, "validate_by_alias", None) is not False
        return super()._get_alias_name(field, name) if by_alias else name

    def _reaches_far(self, field: _Field) -> bool:
        alias = field.get("validation_alias")
        if (
            alias is None
            or isinstance(alias, str)
            or getattr(self._config, "validate_by_alias", None) is False
        ):
            return False
        return not any(
            isinstance(path, list) and len(path) == 1 and isinstance(path[0], str) for path in alias
        )

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonObject:
        described = super().typed_dict_schema(schema)
        required, properties = described.get("required", ()), described.get("properties", {})
        described[OPTIONAL] = [name for name in properties if name not in required]
        return described

    # Strings

    def str_schema(self, schema: core_schema.StringSchema) -> JsonObject:
        described = super().str_schema(schema)
        for keyword, length in (
            ("minLength", self._config.str_min_length),
            ("maxLength", self._config.str_max_length),
        ):
            if length:
                described.setdefault(keyword, length)
        pattern = schema.get("pattern")
        if isinstance(pattern, re.Pattern):
            described["pattern"] = _with_flags(pattern)
        if schema.get("strip_whitespace", self._config.str_strip_whitespace) and len(described) > 1:
            # Lengths and the pattern hold after stripping, so nothing that can be stripped is written.
            described["allOf"] = [{"type": "string", "pattern": STRIPPED}]
        return described

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonObject:
        if self._config.val_json_bytes != "utf8" or "min_length" in schema or "max_length" in schema:
            return _refused("bytes are supported only as UTF-8 and without lengths; use str")
        return {"type": "string"}

    def json_schema(self, schema: core_schema.JsonSchema) -> JsonObject:
        return _refused("Json (JSON inside a string) is not supported; use the inner type")

    def complex_schema(self, schema: core_schema.ComplexSchema) -> JsonObject:
        return _refused("complex is not supported; use a model with two floats")

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonObject:
        return _refused("a class cannot be written as JSON; use a Literal of its names")

    def uuid_schema(self, schema: core_schema.UuidSchema) -> JsonObject:
        return {"type": "string", "format": f"python:uuid{schema.get('version') or ''}"}

    # Dates and times

    def date_schema(self, schema: core_schema.DateSchema) -> JsonObject:
        return _temporal("date", schema)

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonObject:
        zone = schema.get("tz_constraint")
        if isinstance(zone, int):
            return _refused("a datetime with one fixed offset is not supported; use AwareDatetime")
        return _temporal(f"datetime-{zone}" if zone else "datetime", schema)

    def time_schema(self, schema: core_schema.TimeSchema) -> JsonObject:
        if schema.get("tz_constraint") not in (None, "naive"):
            return _refused("a time with an offset is not supported; use time")
        return _temporal("time", schema)

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonObject:
        return _temporal("timedelta", schema)

    # Numbers

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonObject:
        described = super().float_schema(schema)
        of = schema.get("multiple_of")
        if of is None or of <= 0:
            return described
        most = _largest_multiple(of)
        if (
            schema.get("ge", schema.get("gt", -most)) > most
            or schema.get("le", schema.get("lt", most)) < -most
        ):
            return _refused(f"a float cannot tell the multiples of {of} beyond {most:g}; use Decimal")
        return {"allOf": [described, {"type": "number", "minimum": -most, "maximum": most}]}

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonObject:
        described: JsonObject = {"type": "number"}
        self.update_with_validations(described, schema, self.ValidationsMapping.numeric)
        digits, places = schema.get("max_digits"), schema.get("decimal_places")
        if places is None and digits is None:
            return described
        if places is None or (digits or 0) > _EXACT_DIGITS or places > _EXACT_DIGITS:
            return _refused(
                f"Decimal is supported with decimal_places up to {_EXACT_DIGITS}, alone or with max_digits up to "
                f"{_EXACT_DIGITS}; give both"
            )
        fixed: JsonObject = {"type": "number", "multipleOf": _power_of_ten(-places)}
        if digits is not None:
            above = _power_of_ten(max(digits - places, 0))
            fixed |= {"exclusiveMinimum": -above, "exclusiveMaximum": above}
        return {"allOf": [described, fixed]}

    # Choices

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonObject:
        members = [member.value for member in schema["members"]]
        described = _unwritable(schema, members) or super().enum_schema(schema)
        if schema.get("sub_type") == "int":
            described[_DIGITS_AS_KEYS] = True
        return described

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonObject:
        return _unwritable(schema, schema["expected"]) or super().literal_schema(schema)

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonObject:
        described = super().tagged_union_schema(schema)
        branches = described.pop("oneOf")
        tag = described.pop("discriminator", {}).get("propertyName")
        if self.requires_tags and tag is not None:
            # Without its tag pydantic does not know the branch, even where the tag has a default.
            present = {"type": "object", "required": [tag], "additionalProperties": True}
            branches = [{"allOf": [branch, present]} for branch in branches]
        return {**described, "anyOf": branches}

    # Objects with any keys

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonObject:
        return self._mapping(schema)

    def frozendict_schema(self, schema: core_schema.FrozenDictSchema) -> JsonObject:
        return self._mapping(schema)

    def ordered_dict_schema(self, schema: core_schema.OrderedDictSchema) -> JsonObject:
        return self._mapping(schema)

    def counter_schema(self, schema: core_schema.CounterSchema) -> JsonObject:
        return self._mapping(schema)

    def _mapping(self, schema: _AnyDictSchema) -> JsonObject:
        described: JsonObject = {"type": "object", "additionalProperties": True}
        if "values_schema" in schema:
            described["additionalProperties"] = self.generate_inner(schema["values_schema"])
        if "keys_schema" in schema and (names := self._keys(schema["keys_schema"])):
            described["propertyNames"] = names
        self.update_with_validations(described, schema, self.ValidationsMapping.object)
        return described

    def _keys(self, keys: core_schema.CoreSchema) -> JsonObject:
        """The schema of the names, for names are strings whatever the type of the key."""
        names = self.generate_inner(keys)
        plain = self.resolve_ref_schema(names) if "$ref" in names else names
        values = [plain["const"]] if "const" in plain else plain.get("enum")
        if values is not None:
            if _DIGITS_AS_KEYS in plain:
                return {"enum": [str(value) for value in values]}
            strings = all(isinstance(value, str) for value in values)
        else:
            strings = not plain or plain.get("type") == "string"
        if strings or REFUSAL in plain:
            return names
        if len(plain) == 1 and plain.get("type") in _KEYS:
            return _KEYS[str(plain["type"])]
        return _refused("keys of this type are not supported; use dict[str, ...], or a list of pairs")


class _PythonSchemaWithTags(_PythonSchema):
    """For `defaults="may_omit"`, where the tag of a discriminated union must be written all the same."""

    requires_tags = True


_BOUNDS = ("ge", "gt", "le", "lt", "now_op")


def _largest_multiple(of: float) -> float:
    """Up to where pydantic takes every multiple for one, though floats are rounded."""
    if Decimal(repr(of)) == Decimal(of):
        return 2.0**53 / of.as_integer_ratio()[1]
    return max(_TOLERATED, of)


def _temporal(kind: str, schema: Mapping[str, object]) -> JsonObject:
    """A date or time in the private format that tells offsets apart; bounds are not in the schema at all."""
    bound = next((key for key in _BOUNDS if key in schema), None)
    if bound is not None:
        return _refused(f"bounds on a {kind.split('-')[0]} are not supported; check them in a validator")
    return {"type": "string", "format": f"python:{kind}"}


def _unwritable(
    schema: core_schema.EnumSchema | core_schema.LiteralSchema, values: Sequence[object]
) -> JsonObject:
    """Refuse values such as tuples and bytes, which pydantic writes as JSON and does not read back."""
    if all(isinstance(value, str | int | float | None) for value in values):
        return {}
    validator = SchemaValidator(schema)
    for value in values:
        try:
            validator.validate_json(to_json(value))
        except (ValidationError, ValueError):
            return _refused(f"the value {value!r:.60} cannot be read back from JSON; use a string")
    return {}


def _power_of_ten(exponent: int) -> Decimal:
    return Decimal(10**exponent) if exponent >= 0 else Decimal((0, (1,), exponent))


def _with_flags(pattern: re.Pattern[str]) -> str:
    """The text of a compiled pattern, with the flags that pydantic's schema loses."""
    letters = "".join(letter for flag, letter in _FLAGS.items() if pattern.flags & flag)
    return f"(?{letters}){pattern.pattern}" if letters else pattern.pattern


_FLAGS = {re.ASCII: "a", re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}
