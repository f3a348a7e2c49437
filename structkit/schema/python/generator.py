"""A generator of JSON Schemas that describe exactly the JSON that pydantic accepts.

Pydantic's own schemas are looser or stricter than its validators (a naive `datetime`, keys of `dict[int, T]`). This
generator uses the core schema, with private formats and keywords.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import pydantic_core
from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import CoreRef, GenerateJsonSchema, JsonRef
from pydantic_core import PydanticOmit, core_schema

from structkit.errors import SchemaError
from structkit.schema.ir.keywords import CONTENT, ORDER
from structkit.schema.markers.json_style import JsonStyle, style_of, without_null
from structkit.schema.python.aliases import FieldAt, Path, Paths, object_of, paths_of
from structkit.schema.python.constraints import (
    bounds_of,
    non_string_reason,
    push_constraint,
    satisfying_members,
    string_constraints,
    text_schema,
    unenforceable_reason,
    with_read_bounds,
)
from structkit.schema.python.core_schema import (
    DIGITS_AS_KEYS,
    HASHABLE,
    NO_JSON,
    Core,
    base64_schema,
    branches_of,
    decimal_schema,
    enum_members,
    float_schema,
    fraction_schema,
    invalid_message,
    is_readable,
    key_reason,
    key_schema,
    name_of,
    url_schema,
)
from structkit.schema.python.custom_types import (
    NO_FIELDS,
    custom_core_schema,
    predicate_schema,
    report_parameters,
    strict_text,
    with_restrictions_of_both,
    without_unknown_format,
)
from structkit.schema.python.hashable import set_reason, unhashable_type, without_references
from structkit.schema.python.json_codec import enum_json_value, unwritable
from structkit.schema.python.temporal import (
    date_of,
    datetime_of,
    duration_of,
    format_schema,
    time_of,
    unsupported,
)
from structkit.schema.python.unions import possible_members, with_remedy_of_default

__all__ = ["PlainSchema", "schema_generator", "written_schema_generator"]

S = TypeVar("S", bound=Mapping[str, Any])
JsonObject = dict[str, object]

if TYPE_CHECKING:  # the oldest supported pydantic lacks some of these
    _Field: TypeAlias = core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField


def schema_generator(policy: JsonStyle) -> type[_PythonSchema]:
    """Return the generator for a JSON style."""
    return type(_PythonSchema.__name__, (_PythonSchema,), {"policy": policy})


def written_schema_generator(policy: JsonStyle) -> type[_WrittenSchema]:
    """Return pydantic's own generator, for the fields that a JSON style writes."""
    return type(_WrittenSchema.__name__, (_WrittenSchema,), {"policy": policy})


class PlainSchema(GenerateJsonSchema):
    """Pydantic's own generator, which also describes parts whose only JSON is null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonObject:
        """Describe a part that may be null."""
        try:
            return super().nullable_schema(schema)
        except PydanticInvalidForJsonSchema:
            return {"type": "null"}

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonObject:
        """Describe a class, which is not JSON."""
        return self.handle_invalid_for_json_schema(schema, "a class")


class _WrittenSchema(PlainSchema):
    """Pydantic's generator: the fields are in the order in which they are written, and required if they always are."""

    policy = JsonStyle()
    _class: object = None

    def _named_required_fields_schema(
        self, named_required_fields: Sequence[tuple[str, bool, _Field | core_schema.ComputedField]]
    ) -> JsonObject:
        written = [*self._written(named_required_fields)]
        return cast("JsonObject", super()._named_required_fields_schema(cast("Any", written)))

    def _written(
        self, fields: Sequence[tuple[str, bool, _Field | core_schema.ComputedField]]
    ) -> Iterator[tuple[str, bool, _Field | core_schema.ComputedField]]:
        """Yield the fields, with whether they are required, as the JSON style writes them."""
        # Pydantic puts the fields of a dataclass with kw_only last.
        places = {name: at for at, name in enumerate(getattr(self._class, "__dataclass_fields__", ()))}
        fields = sorted(fields, key=lambda each: places.get(each[0], len(places)))
        policy = self.policy.merge(style_of(self._class))
        for name, required, field in policy.sort_fields(fields, name_of(self._class)):
            optional = without_null(cast("Mapping[str, Any]", field).get("schema", {}))
            if optional is not None:
                required = policy.null_fields == "always"
                if policy.null_fields == "omit":
                    field = cast("_Field", {**field, "schema": optional})
            elif field["type"] != "typed-dict-field" and not _may_be_missing(field):
                required = required or policy.writes_defaults
            yield name, required, field

    def emit_warning(self, kind: str, detail: str) -> None:
        """Ignore defaults without a JSON form: the plain schema warns of them."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonObject:
        if schema["cls"] is BaseModel:  # pydantic makes an object of it that fails when it is printed
            raise SchemaError(NO_FIELDS)
        report_parameters(schema["cls"])
        return self._class_schema(schema, super().model_schema)

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonObject:
        return self._class_schema(schema, super().dataclass_schema)

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonObject:
        return self._class_schema(schema, super().typed_dict_schema)

    def _class_schema(self, schema: S, describe: Callable[[S], JsonObject]) -> JsonObject:
        """Return the schema of a class, with the JSON style of the class."""
        outer, self._class = self._class, schema.get("cls")
        try:
            return describe(schema)
        finally:
            self._class = outer


def _may_be_missing(field: Mapping[str, Any]) -> bool:
    """Return whether the value of a field without a key is `MISSING`, which has no other form in JSON."""
    schema: Mapping[str, Any] = field.get("schema", {})
    return schema.get("type") == "default" and schema.get("default") is _MISSING


_MISSING: object = getattr(pydantic_core, "MISSING", object())  # older versions have none


class _PythonSchema(_WrittenSchema):
    """Pydantic's generator, with corrected methods where the schema differs from what pydantic accepts."""

    _sets = _distinct = 0
    _other_keys: Sequence[str] = ()
    _cores: Mapping[str, Any] = MappingProxyType({})

    def generate_inner(self, schema: core_schema.CoreSchema) -> JsonObject:
        schema = with_restrictions_of_both(schema)
        if not is_readable(schema):
            return unsupported("a pattern of bytes cannot be read from JSON; use Pattern[str]")
        inner = push_constraint(schema, self._cores) or custom_core_schema(schema)
        if inner is None:
            described = without_unknown_format(schema, super().generate_inner(schema))
            text = strict_text(schema, self._config)
            return described if text is None else {"allOf": [described, self.generate_inner(text)]}
        return self._named(schema, super().generate_inner(cast("core_schema.CoreSchema", inner)))

    def _named(self, schema: core_schema.CoreSchema, json_schema: JsonObject) -> JsonObject:
        """Return the JSON Schema, or a reference to it if the core schema can be referenced."""
        if "ref" not in schema:
            return json_schema
        name, reference = self.get_cache_defs_ref_schema(CoreRef(schema["ref"]))
        if json_schema != reference:
            self.definitions[name] = json_schema
        return reference

    def sort(self, value: JsonObject, parent_key: str | None = None) -> JsonObject:
        return value

    def normalize_name(self, name: str) -> str:
        return name

    def field_title_should_be_set(self, schema: object) -> bool:
        return False

    def handle_invalid_for_json_schema(self, schema: Core, error_info: str) -> JsonObject:
        return unsupported(invalid_message(schema))

    # Fields

    def field_is_present(self, field: _Field | core_schema.ComputedField) -> bool:
        # Pydantic describes dataclass fields with init=False, but ignores or forbids them.
        return field.get("init") is not False and super().field_is_present(field)

    def model_field_schema(self, schema: core_schema.ModelField) -> JsonObject:
        return self._field(schema)

    def dataclass_field_schema(self, schema: core_schema.DataclassField) -> JsonObject:
        return self._field(schema)

    def typed_dict_field_schema(self, schema: core_schema.TypedDictField) -> JsonObject:
        return self._field(schema)

    def _field(self, field: _Field) -> JsonObject:
        try:
            return with_remedy_of_default(field["schema"], self.generate_inner(field["schema"]))
        except PydanticOmit:
            if field["schema"]["type"] == "default":
                raise
            return unsupported("SkipJsonSchema hides a required field; give the field a default")

    def _named_required_fields_schema(
        self, named_required_fields: Sequence[tuple[str, bool, _Field | core_schema.ComputedField]]
    ) -> JsonObject:
        fields: list[FieldAt] = []
        hidden: list[Path] = []
        for name, required, field in self._written(named_required_fields):
            paths = self._paths(field, name)
            try:
                described = self.generate_inner(cast("core_schema.CoreSchema", field)).copy()
            except PydanticOmit:
                hidden += paths[1]
                continue
            fields.append((name, paths, required, self.handle_ref_overrides(described)))
        described, self._other_keys = object_of(fields, hidden)
        policy = self.policy.merge(style_of(self._class))
        order: JsonObject = {ORDER: "any"} if policy.order == "any" else {}
        return {"properties": {}, **described, **order}

    def _paths(self, field: _Field | core_schema.ComputedField, name: str) -> Paths:
        # Older versions of pydantic lack some of these options.
        by_alias, by_name = (getattr(self._config, f"validate_by_{key}", None) for key in ("alias", "name"))
        by_name = by_name or self._config.populate_by_name
        return paths_of(field, name, by_alias=by_alias, by_name=by_name)

    def _class_schema(self, schema: S, describe: Callable[[S], JsonObject]) -> JsonObject:
        outer, self._other_keys = self._other_keys, []
        described = super()._class_schema(schema, describe)
        if "properties" in described and not schema.get("root_model"):
            # Written explicitly, because the schemas that a user adds are open, as the specification says.
            described.setdefault("additionalProperties", False)
        others, self._other_keys = self._other_keys, outer
        if others and described.get("additionalProperties", False) is not False:
            # Pydantic would read them as fields.
            allowed: JsonObject = {"not": {"enum": others}}
            names = described.get("propertyNames")
            described["propertyNames"] = allowed if names is None else {"allOf": [names, allowed]}
        return described

    # Strings

    def str_schema(self, schema: core_schema.StringSchema) -> JsonObject:
        return text_schema(schema, super().str_schema(schema), self._config, is_distinct=self._distinct > 0)

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonObject:
        lengths = {f"{end}_bytes": schema.get(f"{end}_length") for end in ("min", "max")}
        if self._config.val_json_bytes == "base64":
            return format_schema("base64", url=True, **lengths)
        if self._config.val_json_bytes == "hex":
            return format_schema("hex", **lengths)
        return {"type": "string"} if set(lengths.values()) == {None} else format_schema("bytes", **lengths)

    def url_schema(self, schema: core_schema.UrlSchema) -> JsonObject:
        return url_schema(schema)

    def multi_host_url_schema(self, schema: core_schema.MultiHostUrlSchema) -> JsonObject:
        return url_schema(schema, hosts=True)

    def json_schema(self, schema: core_schema.JsonSchema) -> JsonObject:
        return {"type": "string", CONTENT: self.generate_inner(schema.get("schema", {"type": "any"}))}

    def complex_schema(self, schema: core_schema.ComplexSchema) -> JsonObject:
        return format_schema("complex")

    def fraction_schema(self, schema: core_schema.CoreSchema) -> JsonObject:
        described: JsonObject = {"type": "number"}
        self.update_with_validations(described, schema, self.ValidationsMapping.numeric)
        return fraction_schema(schema, described)

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonObject:
        return unsupported(f"a class {NO_JSON}; use a Literal of its names")

    def uuid_schema(self, schema: core_schema.UuidSchema) -> JsonObject:
        return format_schema("uuid", version=schema.get("version"))

    # Dates and times

    def date_schema(self, schema: core_schema.DateSchema) -> JsonObject:
        return date_of(with_read_bounds(schema))

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonObject:
        return datetime_of(with_read_bounds(schema))

    def time_schema(self, schema: core_schema.TimeSchema) -> JsonObject:
        return time_of(with_read_bounds(schema))

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonObject:
        return duration_of(with_read_bounds(schema), seconds=self._config.ser_json_timedelta == "float")

    # Numbers

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonObject:
        return float_schema(schema, super().float_schema(schema))

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonObject:
        described: JsonObject = {"type": "number"}
        self.update_with_validations(described, schema, self.ValidationsMapping.numeric)
        return decimal_schema(schema, described)

    # Choices

    def any_schema(self, schema: core_schema.AnySchema) -> JsonObject:
        return dict(HASHABLE) if self._sets else {}

    def is_instance_schema(self, schema: core_schema.IsInstanceSchema) -> JsonObject:
        return dict(HASHABLE) if schema["cls"] is Hashable else super().is_instance_schema(schema)

    def chain_schema(self, schema: core_schema.ChainSchema) -> JsonObject:
        first, *others = schema["steps"]
        if (texts := string_constraints(schema)) is not None:
            reason = non_string_reason(first, texts)
            schemas = [self.generate_inner(each) for each in (first, *texts)]
            return {"allOf": schemas} if reason is None else unsupported(reason)
        # Any JSON, then an instance of a class.
        instances = [each for each in others if each["type"] == "is-instance" and first["type"] == "any"]
        return self.generate_inner(instances[0]) if instances else super().chain_schema(schema)

    def function_after_schema(self, schema: core_schema.AfterValidatorFunctionSchema) -> JsonObject:
        if (encoded := base64_schema(schema)) is not None:
            return {"type": "string", "allOf": [self.generate_inner(schema["schema"]), encoded]}
        if (members := satisfying_members(schema)) is not None:
            return members
        if (reason := unenforceable_reason(schema, self._config)) is not None:
            return unsupported(reason)
        described = super().function_after_schema(schema)
        others = predicate_schema(schema) or bounds_of(schema)
        inner = cast("list[object]", described.get("allOf", []))
        return {**described, "allOf": [*inner, others]} if others else described

    def set_schema(self, schema: core_schema.SetSchema) -> JsonObject:
        return self._set(schema)

    def frozenset_schema(self, schema: core_schema.FrozenSetSchema) -> JsonObject:
        return self._set(schema)

    def _set(self, schema: core_schema.SetSchema | core_schema.FrozenSetSchema) -> JsonObject:
        if (reason := set_reason(schema, self._cores)) is not None:
            return unsupported(reason)
        self._sets += 1
        self._distinct += 1
        try:
            return self._common_set_schema(without_references(schema, self._cores))
        finally:
            self._sets -= 1
            self._distinct -= 1

    def _unhashable(self, schema: core_schema.CoreSchema) -> str | None:
        return unhashable_type(schema, self._cores)

    def definitions_schema(self, schema: core_schema.DefinitionsSchema) -> JsonObject:
        self._cores = {**self._cores, **{each["ref"]: each for each in schema["definitions"]}}
        return super().definitions_schema(schema)

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonObject:
        if self._sets and self._unhashable(schema["schema"]):
            return {"type": "null"}
        return possible_members(super().nullable_schema(schema))

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonObject:
        described = unwritable(schema, enum_members(schema)) or super().enum_schema(schema)
        if "enum" in described:
            described = {**described, "enum": [enum_json_value(value) for value in enum_members(schema)]}
            described.pop("type", None)
        if schema.get("sub_type") == "int":
            # Keys are members only, not combinations of flags.
            described[DIGITS_AS_KEYS] = [str(int(member.value)) for member in schema["members"]]
        return described

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonObject:
        return unwritable(schema, schema["expected"]) or super().literal_schema(schema)

    def union_schema(self, schema: core_schema.UnionSchema) -> JsonObject:
        if self._sets:
            hashable = [each for each in branches_of(schema) if not self._unhashable(each)]
            schema = cast("core_schema.UnionSchema", {**schema, "choices": hashable})
        return possible_members(super().union_schema(schema))

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonObject:
        if self._sets:
            choices = {tag: each for tag, each in schema["choices"].items() if not self._unhashable(each)}
            schema = {**schema, "choices": choices}
        described = super().tagged_union_schema(schema)
        branches = described.pop("oneOf")
        tag = described.pop("discriminator", {}).get("propertyName")
        if tag is not None:
            # Pydantic needs the tag to select the branch, even if the tag has a default.
            has_tag = {"type": "object", "required": [tag], "additionalProperties": True}
            branches = [
                {"allOf": [branch, has_tag]} if self._is_optional_key(branch, tag) else branch
                for branch in branches
            ]
        return {**described, "anyOf": branches}

    def _is_optional_key(self, branch: dict[str, Any], key: str) -> bool:
        """Return whether a key of an object is optional; for a definition not generated yet, whether it may be."""
        plain = self.get_schema_from_definitions(JsonRef(branch["$ref"])) if "$ref" in branch else branch
        return not self.policy.writes_defaults if plain is None else key not in plain.get("required", ())

    # Tuples, and named tuples, which may be shorter than their fields if these have defaults

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonObject:
        # Pydantic replaces the number of items by the bounds.
        plain: Any = {key: each for key, each in schema.items() if key not in ("min_length", "max_length")}
        described = super().tuple_schema(plain)
        bounds: JsonObject = {}
        self.update_with_validations(bounds, schema, self.ValidationsMapping.array)
        return {**described, "allOf": [bounds]} if bounds else described

    def named_tuple_schema(self, schema: core_schema.NamedTupleSchema) -> JsonObject:
        return self._complete(super().named_tuple_schema(schema))

    def p_arguments_schema(
        self, arguments: list[core_schema.ArgumentsParameter], var_args_schema: core_schema.CoreSchema | None
    ) -> JsonObject:
        return self._complete(super().p_arguments_schema(arguments, var_args_schema))

    def _complete(self, described: JsonObject) -> JsonObject:
        prefix = cast("list[object]", described.get("prefixItems", []))
        return {**described, "minItems": len(prefix)} if prefix and self.policy.writes_defaults else described

    # Objects with any keys

    def model_fields_schema(self, schema: core_schema.ModelFieldsSchema) -> JsonObject:
        described = super().model_fields_schema(schema)
        if "extras_keys_schema" in schema:
            others = self._keys(schema["extras_keys_schema"], distinct_values=False)
            described["propertyNames"] = {"anyOf": [{"enum": list(described["properties"])}, others]}
        return described

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonObject:
        return self._mapping(schema)

    def frozendict_schema(self, schema: core_schema.FrozenDictSchema) -> JsonObject:
        return self._mapping(schema)

    def ordered_dict_schema(self, schema: core_schema.OrderedDictSchema) -> JsonObject:
        return self._mapping(schema)

    def counter_schema(self, schema: core_schema.CounterSchema) -> JsonObject:
        return self._mapping(schema)

    def _mapping(self, schema: Any) -> JsonObject:
        values: object = "values_schema" not in schema or self.generate_inner(schema["values_schema"])
        described: JsonObject = {"type": "object", "additionalProperties": values}
        if "keys_schema" in schema:
            names = self._keys(schema["keys_schema"], distinct_values=(schema.get("min_length") or 0) > 1)
            described |= {"propertyNames": names} if names else {}
        self.update_with_validations(described, schema, self.ValidationsMapping.object)
        return described

    def _keys(self, keys: core_schema.CoreSchema, *, distinct_values: bool) -> JsonObject:
        """Return the schema of the names of keys, which are strings for any key type."""
        if name := self._unhashable(keys):
            return unsupported(
                f"a key cannot be {name}, which is not hashable; use dict[str, ...], or a list of pairs"
            )
        self._distinct += 1
        try:
            names = self.generate_inner(keys)
        finally:
            self._distinct -= 1
        plain: dict[str, Any] = self.resolve_ref_schema(names) if "$ref" in names else names
        branches = [self.resolve_ref_schema(branch) for branch in plain.get("anyOf", ())]
        found = key_schema(
            {**plain, "anyOf": branches} if branches else plain, distinct_values=distinct_values
        )
        if found is None:
            return unsupported(key_reason(self._cores.get(keys.get("schema_ref", ""), keys)))
        return names if found == plain else found
