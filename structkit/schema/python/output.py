"""Python types as targets: from a type to its schema with pydantic, and from a text to a validated instance.

The parsed JSON Schema is that of `schema/python/generator.py`; users get pydantic's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import is_dataclass
from fractions import Fraction
from functools import cached_property, partial
from inspect import isabstract
from itertools import pairwise, product
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter
from pydantic_core import PydanticOmit, PydanticSerializationError, ValidationError
from pydantic_core import SchemaError as CoreSchemaError
from typing_extensions import TypeForm

from structkit.error_notes import safe_str
from structkit.errors import LimitExceeded, SchemaError, StructkitError
from structkit.limits import Limits
from structkit.rejected import Rejected
from structkit.schema.algebra.string_oracle import UNDECIDED, StringOracle
from structkit.schema.ir.json_values import repr_of
from structkit.schema.ir.keywords import IGNORED_FORMAT
from structkit.schema.ir.nodes import Document
from structkit.schema.json_schema.parse import parse_schema
from structkit.schema.markers.json_style import JsonStyle, Whitespace, style_of
from structkit.schema.python.aliases import paths_of
from structkit.schema.python.calls import ReadFunction, adapter_of, new_serializer, reject_function
from structkit.schema.python.core_schema import Core, describe_error, name_of
from structkit.schema.python.custom_types import is_of_user
from structkit.schema.python.generator import PlainSchema, schema_generator, written_schema_generator
from structkit.schema.python.json_codec import enum_json_value
from structkit.schema.python.unions import check_unions
from structkit.schema.python.validators import PartValidator, is_of_path
from structkit.schema.view.rejection import rejection_of

__all__ = ["OutputType"]

T = TypeVar("T")
JsonObject = dict[str, object]


class OutputType(Generic[T]):
    """A Python type as a target: its schema, and validation of texts.

    >>> numbers = OutputType.of(list[int])
    >>> numbers.name, numbers.json_schema
    ('list[int]', {'items': {'type': 'integer'}, 'type': 'array'})
    >>> numbers.parse("[1, 2]")
    [1, 2]
    >>> numbers.parse('[1, "x"]').path
    (1,)

    Attributes:
        name: The name of the type, for messages and prompts.
        document: The type as Schema nodes.
        whitespace: The style that the type sets, if any.
        policy: The JSON style of the call.
        full_json_schema: The parsed JSON Schema, with private keywords that pydantic's own does not have.
    """

    def __init__(
        self,
        adapter: TypeAdapter[T],
        name: str,
        document: Document,
        whitespace: Whitespace | None = None,
        policy: JsonStyle = JsonStyle(),  # noqa: B008
    ) -> None:
        self._adapter = adapter
        self.name = name
        self.document = document
        self.whitespace = whitespace
        self.policy = policy
        self.full_json_schema: JsonObject = {}

    @classmethod
    def of(
        cls,
        target: TypeForm[T],
        *,
        policy: JsonStyle = JsonStyle(),  # noqa: B008
        limits: Limits = Limits(),  # noqa: B008
        oracle: StringOracle = UNDECIDED,
        read_function: ReadFunction = reject_function,
    ) -> OutputType[T]:
        """Parse a type.

        Args:
            target: Any annotation of a pydantic field, or a `TypeAdapter`.
            policy: The JSON style of the call.
            limits: Bounds the size of the schema.
            oracle: Decides which names match patterns.
            read_function: Returns the form of each function in the type. Validation never calls a function.

        Raises:
            SchemaError: Pydantic cannot describe the type, or a function in it cannot be read.
            UnsupportedKeyword: A part of the type cannot be enforced while decoding.
            UnsatisfiableSchema: No value of the type has a JSON form.
            LimitExceeded: The type is too large or too deep.
        """
        given: object = target
        name = name_of(given._type if isinstance(given, TypeAdapter) else given)
        _reject_models(given)
        try:
            adapter = adapter_of(target, read_function)
            schema = adapter.json_schema(schema_generator=schema_generator(policy))
            check_unions(cast("Core", adapter.core_schema), policy, limits)
        except RecursionError:
            raise LimitExceeded("schema_depth", limits.schema_depth, f"the type {name}", place="$") from None
        except PydanticOmit:
            raise SchemaError(
                f"{name} is excluded from JSON Schemas; remove SkipJsonSchema or WithJsonSchema(None)",
                place="$",
            ) from None
        except (
            PydanticUserError,
            PydanticUndefinedAnnotation,
            CoreSchemaError,
            LookupError,  # a root model of itself
            NameError,
            RuntimeError,  # a constraint that a type cannot have
            TypeError,
            AssertionError,  # Literal[()]
        ) as error:
            undefined = _undefined_name(given)
            described = given._type if isinstance(given, TypeAdapter) else given
            raise SchemaError(
                _meant(given) or describe_error(described, error, undefined), place="$"
            ) from error
        except StructkitError:
            raise
        except Exception as error:  # a `__repr__` or a hook of the type may raise anything
            raise SchemaError(
                f"code of {name} raises {type(error).__name__} while pydantic reads it; correct this code, "
                "for example its __repr__",
                place="$",
            ) from error
        parse = partial(parse_schema, schema, python=True, limits=limits, oracle=oracle)
        try:
            document = parse(products="never")
        except LimitExceeded:  # of combinations of `if`, `not` and the like, which a user added
            if policy.order == "any":
                raise
            document = parse(products="many")
        found = cls(adapter, name, document, style_of(adapter._type).whitespace, policy)
        found.full_json_schema = schema
        return found

    @cached_property
    def validators(self) -> PartValidator:
        """The validators of the parts of the type."""
        return PartValidator.of(self._adapter)

    @cached_property
    def json_schema(self) -> JsonObject:
        """The JSON Schema that pydantic generates."""
        return dict(self._adapter.json_schema(schema_generator=PlainSchema))

    @cached_property
    def written_schema(self) -> JsonObject:
        """The JSON Schema of the texts: that of pydantic, with the fields that are always written as required ones.

        >>> from pydantic import BaseModel
        >>> class Person(BaseModel):
        ...     name: str
        ...     age: int = 0
        >>> OutputType.of(Person).written_schema["required"]
        ['name', 'age']
        """
        return dict(self._adapter.json_schema(schema_generator=written_schema_generator(self.policy)))

    @cached_property
    def ignored_formats(self) -> frozenset[str]:
        """The formats that the type adds to strings, and that are not known."""
        found, pending = set[str](), list[object]([self.full_json_schema])
        while pending:
            value = pending.pop()
            if isinstance(value, dict):
                found.update(name for key, name in value.items() if key == IGNORED_FORMAT)
                pending += value.values()
            elif isinstance(value, list):
                pending += value
        return frozenset(found)

    def serialize(
        self, value: object, *, exclude_unset: bool = False, context: object = None
    ) -> Iterator[tuple[object, object] | Rejected]:
        """Yield the JSON values of a Python value; see `_serialize`."""
        return _serialize(self._adapter, value, exclude_unset=exclude_unset, context=context)

    def parse(self, text: str, context: object = None) -> T | Rejected:
        """Return the instance that a JSON text represents, or why the type rejects the text.

        Args:
            text: The text.
            context: The `context` of `pydantic.ValidationInfo` in validators.
        """
        try:
            return self._adapter.validate_json(text, context=context)
        except ValueError as error:  # pydantic does not wrap the error of a default factory
            return rejection_of(error, text)
        except OSError as error:
            if not is_of_path(error):
                raise
            return rejection_of(error, text)


def _reject_models(given: object) -> None:
    """Reject a value instead of its class, and a class of pydantic 1.

    Raises:
        SchemaError: The target is one of these.
    """
    kind = given if isinstance(given, type) else type(given)
    if isinstance(given, BaseModel) or (is_dataclass(given) and given is not kind):
        raise SchemaError(f"{repr_of(given):.60} is a value; pass its class {kind.__name__}", place="$")
    has_fields = issubclass(kind, BaseModel) or is_dataclass(kind)
    if has_fields and isabstract(kind):
        missing = ", ".join(sorted(vars(kind)["__abstractmethods__"]))
        raise SchemaError(
            f"{kind.__name__} is an abstract class; pass a class derived from it that defines {missing}",
            place="$",
        )
    if not issubclass(kind, BaseModel) and hasattr(kind, "__fields__") and hasattr(kind, "parse_obj"):
        raise SchemaError(
            f"{kind.__name__} is a model of pydantic 1; derive it from the BaseModel of pydantic 2",
            place="$",
        )


def _undefined_name(given: object) -> str | None:
    """Return the first name in a type that is not defined, if there is one."""
    try:
        form = cast("TypeForm[object]", given)
        adapter = given if isinstance(given, TypeAdapter) else TypeAdapter(form)
        adapter.rebuild(force=True, raise_errors=True)
    except PydanticUndefinedAnnotation as error:
        return error.name
    except Exception:  # the type has another fault, whose error the caller has
        return None
    return None


def _meant(given: object) -> str | None:
    """Return the message about a class without fields, or about a value that is no type; `None` for other targets."""
    if isinstance(given, type) and given.__module__ != "builtins":
        is_plain = (
            given.__mro__[1:] == (object,) and "__annotations__" in vars(given) and not is_dataclass(given)
        )
        remedy = (
            f"write class {given.__name__}(pydantic.BaseModel), or decorate it with @dataclasses.dataclass"
        )
        return (
            f"{given.__name__} is a class whose fields pydantic does not read; {remedy}" if is_plain else None
        )
    kind = type(given)
    if isinstance(given, (type, TypeAdapter)) or kind.__module__ in (
        "builtins",
        "types",
        "typing",
        "typing_extensions",
    ):
        return None
    is_own = kind.__module__.partition(".")[0] in ("pydantic", "structkit")
    remedy = "pass a type" if is_own else f"pass the class {kind.__name__}"
    return f"{repr_of(given):.60} is an object of {kind.__name__}, not a type; {remedy}"


def _serialize(
    adapter: TypeAdapter[T], value: object, *, exclude_unset: bool, context: object = None
) -> Iterator[tuple[object, object] | Rejected]:
    """Yield JSON values of a Python value: first of the value itself, then of the validated value.

    Validation decodes values of some types, such as Base64, a second time; values of other types, such as a dict for
    a model, need it. Both are tried, with aliases, with field names, and as pydantic reads them. The last is the value
    itself, which can be JSON.

    Args:
        adapter: The type.
        value: The value.
        exclude_unset: Whether the first attempt excludes unset fields; the second attempt does the opposite.
        context: The `context` of `pydantic.ValidationInfo` in validators.

    Yields:
        The Python value, and its JSON value; last a `Rejected` if the type rejects the value.

    >>> next(_serialize(TypeAdapter(set[int]), {3}, exclude_unset=False))
    ({3}, [3])
    """
    for validated in (False, True):
        try:
            candidate = _validated(adapter, value, context) if validated else value
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            yield Rejected(first["loc"], first["msg"], error)
            return
        except ValueError as error:  # from a default factory; pydantic does not wrap it
            yield Rejected((), safe_str(error), error)
            return
        for by_alias in (True, False):
            for unset in (exclude_unset, not exclude_unset):
                with suppress(PydanticSerializationError, AttributeError, TypeError):
                    yield (
                        candidate,
                        adapter.dump_python(
                            cast("T", candidate),
                            mode="json",
                            by_alias=by_alias,
                            exclude_unset=unset,
                            warnings=False,
                        ),
                    )
        for plain, compact, unset in product(
            (False, True), (False, True), (exclude_unset, not exclude_unset)
        ):
            with suppress(PydanticSerializationError, AttributeError, TypeError, ValueError, IndexError):
                core = _core_as_read(adapter.core_schema, plain=plain, compact=compact)
                yield candidate, _dump_as_read(adapter, core, candidate, exclude_unset=unset)
    with suppress(TypeError, ValueError):  # not JSON
        yield candidate, json.loads(json.dumps(value, allow_nan=False))


def _validated(adapter: TypeAdapter[Any], value: object, context: object) -> object:
    """Return the validated value; a strict type takes a date as a text from JSON only.

    Raises:
        ValidationError: Pydantic rejects the value.
    """
    try:
        return adapter.validate_python(value, context=context)
    except ValidationError as error:
        try:
            return adapter.validate_json(json.dumps(value, allow_nan=False), context=context)
        except (TypeError, ValueError):  # not JSON, or rejected, too
            raise error from None


def _dump_as_read(adapter: TypeAdapter[Any], core: Any, value: object, *, exclude_unset: bool) -> object:
    """Return the JSON value that pydantic reads as a value, where it does not read what it writes.

    Examples are fields that are read from another alias than they are written to, and fields that are excluded.

    Raises:
        PydanticSerializationError, AttributeError, TypeError, ValueError, IndexError: There is none.
    """
    serializer = new_serializer(core, _config_as_read(cast("Any", adapter._config)))
    written = serializer.to_python(
        value, mode="json", by_alias=True, round_trip=True, exclude_unset=exclude_unset, warnings=False
    )
    return _value_as_read(written)


def _core_as_read(core: object, *, plain: bool, compact: bool) -> Any:
    """Return a core schema whose serializer writes what pydantic reads, for `_value_as_read`.

    The aliases are those of validation, and no field is excluded.

    Args:
        core: The core schema.
        plain: Whether values are written as their types are, without the serializers of the user, and decimals and
            fractions as numbers.
        compact: Whether JSON inside of a string has no spaces.
    """
    if isinstance(core, (list, tuple)):
        return type(core)(_core_as_read(each, plain=plain, compact=compact) for each in core)
    if not isinstance(core, Mapping):
        return core
    found = {
        key: each if key in _NO_SCHEMAS else _core_as_read(each, plain=plain, compact=compact)
        for key, each in core.items()
        if key not in _EXCLUSIONS
        and not (plain and key == "serialization" and is_of_user(each.get("function")))
    }
    if "config" in found:
        found["config"] = _config_as_read(found["config"])
    if "serialization" not in found:
        kind = found.get("type")
        if kind == "enum" or (kind in ("decimal", "fraction") and plain):
            found["serialization"] = {"type": "function-plain", "function": _as_read, "when_used": "json"}
        elif kind == "json":
            function = partial(_json_text, separators=(",", ":") if compact else (", ", ": "))
            found["serialization"] = {"type": "function-wrap", "function": function, "when_used": "json"}
    fields = found.get("fields")
    if isinstance(fields, dict):
        found["fields"] = {name: _written_where_read(name, field) for name, field in fields.items()}
    elif isinstance(fields, list):  # those of a dataclass are a list, and their names another one
        found["fields"] = [
            _written_where_read(each["name"], each) if isinstance(each, dict) else each for each in fields
        ]
    return found


def _config_as_read(config: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """Return a configuration without the option that writes dates as numbers, which are written as text."""
    return config and {key: value for key, value in config.items() if key != "ser_json_temporal"}


def _as_read(value: object) -> object:
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return enum_json_value(getattr(value, "value", value))


def _json_text(value: object, handler: Callable[[object], str], *, separators: tuple[str, str]) -> str:
    read = _value_as_read(json.loads(handler(value)))
    return json.dumps(read, ensure_ascii=False, separators=separators)


_EXCLUSIONS = {"serialization_exclude", "serialization_exclude_if"}
_NO_SCHEMAS = {"config", "default", "expected", "members", "metadata"}
_PATH = "\0"
"""Begins a key that stands for an alias path."""


def _written_where_read(name: str, field: Mapping[str, Any]) -> JsonObject:
    path, _ = paths_of(field, name)
    alias = path[0] if len(path) == 1 else _PATH + json.dumps(path)
    return {**field, "serialization_alias": alias}


def _value_as_read(value: object) -> object:
    r"""Return a value that such a serializer has written, with the fields at their alias paths.

    >>> _value_as_read({'\0["a", 1]': 2, '\0["a", 0, "b"]': 3})
    {'a': [{'b': 3}, 2]}
    """
    if isinstance(value, list):
        return [_value_as_read(each) for each in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for key, each in value.items():
        path = json.loads(key[1:]) if key.startswith(_PATH) else [key]
        within: Any = found
        for step, following in pairwise(path):
            within = _child(within, step, [] if isinstance(following, int) else {})
        _child(within, path[-1], _value_as_read(each))
    return found


def _child(within: dict[str, object] | list[object], step: Any, new: object) -> object:
    """Return the value at a step of an object or array, which is `new` if there is none."""
    if isinstance(within, dict):
        return within.setdefault(step, new)
    within += [None] * (step + 1 - len(within))
    within[step] = new if within[step] is None else within[step]
    return within[step]
