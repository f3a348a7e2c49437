"""Adapters of types that contain functions or iterables, whose values are created from JSON as structkit defines it.

Pydantic validates a function in a type by calling it. An adapter of this module calls no function: in its core schema
the arguments of the function are an object, and a `FunctionForm` creates the value from them. `arguments_type` is the
type of this object.

Pydantic reads an `Iterable[T]` as an iterator that validates an item when it is used. In an adapter of this module it
is a list, so that all items are validated with the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from inspect import isroutine
from operator import is_
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeGuard, TypeVar, Union, cast, get_args, get_origin

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import SchemaSerializer, SchemaValidator
from typing_extensions import NotRequired, TypedDict, TypeForm

from structkit.errors import SchemaError
from structkit.schema.python.core_schema import Core, function_of, name_of

__all__ = [
    "FunctionForm",
    "ReadFunction",
    "adapter_of",
    "arguments_type",
    "called_function",
    "is_field",
    "new_serializer",
    "new_validator",
    "nodes_of",
    "reject_function",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FunctionForm:
    """The values of a function in a type.

    Attributes:
        arguments: The type of the arguments, an object.
        make: Creates a value from the validated arguments; must not call the function.
        arguments_of: Returns the arguments of a value, and any other object unchanged.
    """

    arguments: TypeForm[object]
    make: Callable[[dict[str, object]], object]
    arguments_of: Callable[[object], object]


ReadFunction: TypeAlias = "Callable[[Callable[..., object]], FunctionForm]"
"""Returns the form of a function, or raises `SchemaError`."""


def reject_function(function: Callable[..., object]) -> FunctionForm:
    """Reject a function in a type.

    Raises:
        SchemaError: Always.
    """
    name = name_of(function)
    raise SchemaError(
        f"the function {name} is not supported here as a type; use the type of its arguments", place=name
    )


def adapter_of(target: TypeForm[T] | TypeAdapter[T], read_function: ReadFunction) -> TypeAdapter[T]:
    """Return an adapter of a type whose validation calls none of the functions in it, and reads iterables as lists.

    Args:
        target: A type, or an adapter of one, which is not changed.
        read_function: Returns the form of each function.

    Raises:
        SchemaError: The signature of a function is not supported, or pydantic would call the function in spite of the
            adapter, in the `__init__` of a class.
    """
    given: object = target
    adapter: TypeAdapter[T] = (
        given if isinstance(given, TypeAdapter) else TypeAdapter(cast("TypeForm[T]", _marked(target)))
    )
    rebuild: Callable[[], object] | None = getattr(adapter.core_schema, "rebuild", None)
    if rebuild is not None:  # a class whose schema is built on first use
        rebuild()
    if not any(_is_call(node) or node.get("type") == "generator" for node in nodes_of(adapter.core_schema)):
        return adapter
    rewriter = _Rewriter(read_function)
    core = rewriter.rewrite(cast("Core", adapter.core_schema))
    if rewriter.definitions:
        core = {"type": "definitions", "schema": core, "definitions": [*rewriter.definitions.values()]}
    rewritten, config = copy(adapter), cast("Any", adapter._config)
    rewritten.core_schema = cast("Any", core)
    rewritten.validator = SchemaValidator(rewritten.core_schema, config, **_options(core))
    rewritten.serializer = SchemaSerializer(rewritten.core_schema, config, **_options(core))
    return rewritten


def new_validator(core: Core, config: Mapping[str, object] | None) -> SchemaValidator:
    """Return the validator of a part of the core schema of an adapter."""
    return SchemaValidator(cast("Any", core), cast("Any", config), **_options(core))


def new_serializer(core: Core, config: Mapping[str, object] | None) -> SchemaSerializer:
    """Return the serializer of a core schema that is not that of the classes in it.

    Raises:
        TypeError: The installed pydantic always uses the serializers of classes.
    """
    return SchemaSerializer(cast("Any", core), cast("Any", config), **_NOT_PREBUILT)


def _options(core: Core) -> dict[str, Any]:
    """Return the options with which pydantic validates classes by the given core schema.

    By default pydantic uses the cached validator of a class inside the schema, which calls the functions in its fields
    and leaves iterables unread.

    Raises:
        SchemaError: The installed pydantic has no such option.
    """
    classes = [node for node in nodes_of(core) if node.get("type") in ("model", "dataclass")]
    found = next((node for node in classes if any(map(_is_rewritten, nodes_of(node)))), None)
    if found is None:
        return {}
    try:
        SchemaValidator({"type": "any"}, None, **_NOT_PREBUILT)
    except TypeError as error:
        name = name_of(found["cls"])
        raise SchemaError(
            f"{name} has a function or an Iterable in a field, and the installed pydantic validates it in its own way; "
            "install a newer pydantic",
            place=name,
        ) from error
    return _NOT_PREBUILT


_NOT_PREBUILT: dict[str, Any] = {"_use_prebuilt": False}
"""Pydantic 2.12 has this option."""


class _MakeCall:
    """A wrap validator and serializer: from arguments to a value, and back."""

    def __init__(self, form: FunctionForm, function: Callable[..., object]) -> None:
        self.function = function
        self._form = form

    def validate(self, value: object, handler: Callable[[object], dict[str, object]]) -> object:
        return self._form.make(handler(self._form.arguments_of(value)))

    def serialize(self, value: object, handler: Callable[[object], object]) -> object:
        return handler(self._form.arguments_of(value))


@dataclass(frozen=True, eq=False)
class _Mark:
    """A placeholder for a function in a type.

    Without it pydantic would resolve the annotations of the function in this module, not in that of the function.
    """

    function: Callable[..., object]

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Core:
        arguments = {"type": "arguments", "arguments_schema": []}
        return {"type": "call", "arguments_schema": arguments, "function": self.function}


def _marked(form: Any) -> Any:
    """Return a type with its functions replaced by marks, except those in the fields of classes."""
    if isroutine(form) or isinstance(form, partial):
        return Annotated[object, _Mark(form)]
    origin, parts = get_origin(form), get_args(form)
    if not parts or origin is Literal:
        return form
    if origin is Annotated:
        marked = (_marked(parts[0]), *form.__metadata__)
        return form if marked[0] is parts[0] else Annotated[marked]
    marked = tuple(map(_marked, parts))
    if all(map(is_, marked, parts)):
        return form
    if origin in (Union, UnionType):
        return Union[marked]  # noqa: UP007
    return form.copy_with(marked) if hasattr(form, "copy_with") else origin[marked]


class _Rewriter:
    """Replaces the functions in core schemas.

    Attributes:
        definitions: The definitions of the schemas, by reference.
    """

    def __init__(self, read_function: ReadFunction) -> None:
        self.definitions: dict[str, Core] = {}
        self._read_function = read_function
        self._calls: dict[int, Core] = {}
        self._types: list[object] = []  # a reference contains the id of its type

    def rewrite(self, core: Core) -> Core:
        """Return a core schema without functions."""
        if core.get("type") == "definitions":
            for each in cast("list[Core]", core["definitions"]):
                reference = cast("str", each["ref"])
                if reference not in self.definitions:
                    self.definitions[reference] = {}  # the definition may contain itself
                    self.definitions[reference] = self.rewrite(each)
            return self.rewrite(cast("Core", core["schema"]))
        if _is_call(core):
            return self._call(core)
        if core.get("type") == "generator":
            core = {
                **core,
                "type": "list",
                "metadata": {**cast("Core", core.get("metadata") or {}), _READ: True},
            }
        rewritten = {key: value if key in _NO_SCHEMAS else self._inside(value) for key, value in core.items()}
        if rewritten.get("custom_init") and any(map(_is_value, nodes_of(rewritten))):
            name = name_of(rewritten["cls"])
            raise SchemaError(
                f"{name} has a function in a field and an __init__, in which pydantic calls the function; remove "
                "the __init__, or use the function itself as the target",
                place=name,
            )
        return rewritten

    def _inside(self, value: object) -> object:
        if isinstance(value, dict):
            return self.rewrite(value) if isinstance(value.get("type"), str) else self._inside_all(value)
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._inside, value))
        return value

    def _inside_all(self, values: dict[str, object]) -> dict[str, object]:
        return {key: self._inside(value) for key, value in values.items()}

    def _call(self, core: Core) -> Core:
        function = cast("Callable[..., object]", core["function"])
        if id(function) not in self._calls:
            form = self._read_function(function)
            self._types.append(form.arguments)
            arguments = self.rewrite(cast("Core", TypeAdapter(form.arguments).core_schema))
            maker = _MakeCall(form, function)
            self._calls[id(function)] = {
                "type": "function-wrap",
                "function": {"type": "no-info", "function": maker.validate},
                "schema": arguments,
                "serialization": {"type": "function-wrap", "function": maker.serialize, "schema": arguments},
            }
        return self._calls[id(function)]


def _is_call(core: Core) -> bool:
    """Return whether a core schema calls a function; pydantic creates named tuples with calls of their class."""
    return core.get("type") == "call" and not isinstance(core["function"], type)


def called_function(core: Core) -> Callable[..., object] | None:
    """Return the function whose value a core schema creates from its arguments; `None` for other schemas."""
    maker = getattr(function_of(core), "__self__", None)
    return maker.function if isinstance(maker, _MakeCall) else None


def _is_value(core: Core) -> bool:
    return called_function(core) is not None


def _is_rewritten(core: Core) -> bool:
    return _is_value(core) or _READ in cast("Core", core.get("metadata") or {})


def nodes_of(core: object) -> Iterator[Core]:
    """Yield a core schema and all core schemas inside it, including parts such as fields."""
    pending, seen = [core], set[int]()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, dict):
            yield current
            pending += [value for key, value in current.items() if key not in _NO_SCHEMAS]
        elif isinstance(current, (list, tuple)):
            pending += current


_READ = "structkit_read"
"""Key in the metadata of a list that was an iterable."""

_NO_SCHEMAS = {"cls", "default", "expected", "members", "metadata", "serialization"}


def arguments_type(
    name: str, parameters: Mapping[str, tuple[object, bool, str | None]], description: str
) -> TypeForm[object]:
    """Return a TypedDict of parameters. Unlike a model, it allows any key, including `copy` and `_id`.

    Args:
        name: The name of the function.
        parameters: By name: the type, whether it is required, and a description.
        description: The description of the function.

    >>> arguments = arguments_type("add", {"a": (int, True, "The first."), "b": (int, False, None)}, "Add.")
    >>> sorted(arguments.__required_keys__), sorted(arguments.__optional_keys__)
    (['a'], ['b'])
    """
    keys: dict[str, Any] = {}
    for key, (annotation, required, text) in parameters.items():
        described: Any = Annotated[cast("Any", annotation), Field(description=text)] if text else annotation
        keys[key] = described if required else NotRequired[described]
    typed_dict: Any = TypedDict
    arguments = typed_dict(name, keys)
    arguments.__doc__ = description or None
    arguments.__pydantic_config__ = ConfigDict(extra="forbid")
    return cast("TypeForm[object]", arguments)


def is_field(default: object) -> TypeGuard[FieldInfo]:
    """Return whether the default of a parameter is a pydantic `Field(...)`, which contains the default."""
    return isinstance(default, FieldInfo)
