"""The validators of the fields and items of a type, by path.

The source is pydantic's core schema, which, unlike the JSON Schema, contains the validators of users.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from traceback import walk_tb
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, cast

from pydantic import BaseModel, TypeAdapter
from pydantic_core import SchemaError, SchemaValidator

from structkit.schema.ir.path import path_step
from structkit.schema.python.aliases import paths_of
from structkit.schema.python.calls import new_validator
from structkit.schema.python.core_schema import encoder_of, function_of
from structkit.schema.python.custom_types import (
    PREDICATE_FUNCTION,
    is_of_user,
    is_value_of_enum,
    predicate_schema,
)
from structkit.unenforced import Unenforced

__all__ = ["PartValidator", "is_of_path", "own_functions"]

_Core: TypeAlias = "Mapping[str, Any]"

_INNER = {
    "default", "nullable", "function-before", "function-after", "function-wrap", "model", "dataclass", "lax-or-strict",
    "json-or-python", "model-field", "typed-dict-field", "dataclass-field",
}  # fmt: skip
_PREFIX_TYPES = {"str", "any", "union", "tagged-union"}
_CONFIGURED = {"model", "dataclass", "typed-dict"}
_ITEMS = {"list", "set", "frozenset", "generator"}
_INNER_VALUES = {"items_schema", "keys_schema", "values_schema", "extras_schema"}
_NO_SCHEMAS = {"default", "definitions", "expected", "members", "metadata", "serialization"}
_CHECKS_OF_PYDANTIC = MappingProxyType(
    {
        PREDICATE_FUNCTION: "Predicate runs when the value is complete",
        "validate_directory": "whether there is such a directory",
        "validate_file": "whether there is such a file",
        "validate_new": "whether the path is free and its directory exists",
        "validate_socket": "whether there is such a socket",
    }
)
"""Functions of pydantic that decide what no text can show, by name; those of paths are methods."""


class _Scope(NamedTuple):
    """The context of a part.

    Attributes:
        definitions: The schemas that the part can refer to.
        config: The configuration of the enclosing class, such as `strict` or `str_strip_whitespace`.
        context: The `context` of `pydantic.ValidationInfo` in validators.
    """

    definitions: Mapping[str, _Core] = {}
    config: Mapping[str, Any] | None = None
    context: object = None


class PartValidator:
    """The validator of a part of a type.

    >>> from pydantic import BaseModel
    >>> class Person(BaseModel):
    ...     name: str
    ...     age: int
    >>> person = PartValidator.of(TypeAdapter(list[Person])).child(0)
    >>> person.child("age").validate("34"), person.build_partial({"name": "An"})
    (34, Person(name='An'))
    """

    def __init__(self, core: _Core, scope: _Scope) -> None:
        self._core = core
        self._scope = scope
        self._children: dict[str | int, PartValidator | None] = {}

    @classmethod
    def of(cls, adapter: TypeAdapter[Any]) -> PartValidator:
        """Return the validator of a complete type."""
        return cls(adapter.core_schema, _Scope())._resolved

    def with_context(self, context: object) -> PartValidator:
        """Return a validator whose parts pass `context` to the validators of the user."""
        return PartValidator(self._core, self._scope._replace(context=context))

    def child(self, step: str | int) -> PartValidator | None:
        """Return the part at a name or position; `None` if the type does not determine it, as in a union."""
        if step not in self._children:
            within = self._unwrapped
            found = within._find(step)
            self._children[step] = (
                None if found is None else PartValidator(found, within._inner_scope)._resolved
            )
        return self._children[step]

    def validate(self, text: str) -> object:
        """Return the value of a JSON text; the result of `json.loads` if validators need the rest of the value.

        Raises:
            ValueError: The text is not a value of the part (a `pydantic.ValidationError` is a `ValueError`).
        """
        if self._validator is None:
            return json.loads(text)
        try:
            return self._validator.validate_json(text, context=self._scope.context)
        except ValueError:
            raise
        except Exception:  # a validator of the user that reads missing fields
            return json.loads(text)

    def build_partial(self, fields: Mapping[str, object]) -> object:
        """Return an object with some of its fields: an instance of a model without validation, or a dict.

        Missing fields get no default, because their values are not known yet. No code of the model runs.
        """
        core = self
        while core._core["type"] in _INNER - {"model"} and core._core.get("schema") is not None:
            core = PartValidator(core._core["schema"], core._inner_scope)._resolved
        model: type[Any] | None = core._core.get("cls") if core._core["type"] == "model" else None
        if model is None:
            return dict(fields)
        if core._core.get("root_model"):
            root = PartValidator(core._core["schema"], core._inner_scope)._resolved
            return _instance(model, {"root": root.build_partial(fields)})
        part = self._unwrapped
        names = {part._key(name, field): name for name, field in part._core.get("fields", {}).items()}
        known = {names[key]: value for key, value in fields.items() if key in names}
        return _instance(model, known)

    @property
    def own_functions(self) -> Iterator[Unenforced]:
        """The functions of users that decide about the parts; see `own_functions`."""
        return own_functions(self._core, self._scope.definitions)

    @property
    def accepts_prefix(self) -> bool:
        """Whether an incomplete string is a value: the prefix of a date is not a date."""
        return self._unwrapped._core["type"] in _PREFIX_TYPES

    @cached_property
    def _validator(self) -> SchemaValidator | None:
        core: Any = self._core
        if self._scope.definitions:
            named = [*self._scope.definitions.values()]
            core = {"type": "definitions", "schema": core, "definitions": named}
        try:
            return new_validator(core, self._scope.config)
        except SchemaError:
            return None

    @property
    def _resolved(self) -> PartValidator:
        """The part after resolving references."""
        part = self
        while part._core["type"] in ("definitions", "definition-ref"):
            scope = part._scope
            if part._core["type"] == "definitions":
                named = {each["ref"]: each for each in part._core["definitions"]}
                part = PartValidator(
                    part._core["schema"], scope._replace(definitions={**scope.definitions, **named})
                )
            else:
                part = PartValidator(scope.definitions[part._core["schema_ref"]], scope)
        return part

    @property
    def _inner_scope(self) -> _Scope:
        """The scope of the inner parts: a class has its own configuration, or none."""
        if self._core["type"] in _CONFIGURED:
            return self._scope._replace(config=self._core.get("config"))
        return self._scope

    @cached_property
    def _unwrapped(self) -> PartValidator:
        """The part without its wrappers: validators, defaults, null, the class of a model."""
        part = self
        while part._core["type"] in _INNER:
            names = ("schema", "json_schema", "lax_schema")
            inner = next(part._core[name] for name in names if part._core.get(name) is not None)
            part = PartValidator(inner, part._inner_scope)._resolved
        return part

    def _find(self, step: str | int) -> _Core | None:
        core = self._core
        kind = core["type"]
        if isinstance(step, int):
            if kind in _ITEMS:
                return cast("_Core | None", core.get("items_schema"))
            if kind == "tuple":
                items, variadic = core["items_schema"], core.get("variadic_item_index")
                position = step if variadic is None else min(step, variadic)
                return cast("_Core", items[position]) if position < len(items) else None
        elif kind == "dict":
            return cast("_Core | None", core.get("values_schema"))
        elif kind in ("model-fields", "typed-dict"):
            for name, field in core["fields"].items():
                if self._key(name, field) == step:
                    return cast("_Core", field["schema"])
        elif kind == "dataclass-args":
            for field in core["fields"]:
                if self._key(field["name"], field) == step:
                    return cast("_Core", field["schema"])
        return None

    def _key(self, name: str, field: _Core) -> str:
        """Return the key at which the object has a field, or what contains it."""
        return _key(name, field, self._scope.config)


def own_functions(
    core: object, definitions: Mapping[str, _Core] = MappingProxyType({})
) -> Iterator[Unenforced]:
    """Yield the functions of users that decide about the parts of a type, which no automaton can predict.

    Args:
        core: The core schema of the type.
        definitions: The schemas that it can refer to, besides its own.

    >>> from typing import Annotated
    >>> from pydantic import AfterValidator
    >>> names = TypeAdapter(list[Annotated[str, AfterValidator(str.strip)]])
    >>> [(found.path, found.keyword) for found in own_functions(names.core_schema)]
    [('$[]', 'validator')]
    """
    named = dict[str, object](definitions)
    done = set[object]()
    pending: list[tuple[str, object]] = [("$", core)]
    while pending:
        path, current = pending.pop()
        if isinstance(current, (list, tuple)):
            pending += [(path, each) for each in reversed(current)]
        if not isinstance(current, Mapping) or id(current) in done:
            continue
        done.add(id(current))
        if current.get("type") == "definitions":
            named.update({each["ref"]: each for each in current["definitions"]})
        if current.get("type") == "definition-ref":
            pending.append((path, named.get(current["schema_ref"])))
        yield from _functions_at(path, current)
        pending += reversed([inner for key in current for inner in _parts(path, key, current)])


def is_of_path(error: OSError) -> bool:
    """Return whether pydantic raised an error because it cannot look for a path, such as one that is too long.

    >>> from pydantic import FilePath
    >>> try:
    ...     TypeAdapter(FilePath).validate_python("/" + 1000 * "a")
    ... except OSError as error:
    ...     print(is_of_path(error))
    True
    """
    frames = (frame for frame, _ in walk_tb(error.__traceback__))
    return any(
        frame.f_code.co_name in _CHECKS_OF_PYDANTIC and frame.f_globals.get("__name__") == "pydantic.types"
        for frame in frames
    )


def _functions_at(path: str, core: _Core) -> Iterator[Unenforced]:
    decode = getattr(encoder_of(core), "decode", None)
    validators = (decode or function_of(core), *_initializers(core))
    for keyword, called, does in (
        *(("validator", each, "runs when the value is complete") for each in validators),
        ("discriminator", core.get("discriminator"), "chooses the type when the value is complete"),
    ):
        if not callable(called) or is_value_of_enum(core) or predicate_schema(core) is not None:
            continue
        owner = getattr(called, "func", called)  # of a partial function
        name = str(getattr(owner, "__qualname__", type(owner).__qualname__))
        if is_of_user(called):
            yield Unenforced(path, keyword, f"{name.rpartition('<locals>.')[2]} {does}")
        elif check := _CHECKS_OF_PYDANTIC.get(name, _CHECKS_OF_PYDANTIC.get(name.rpartition(".")[2])):
            yield Unenforced(path, keyword, check)


def _initializers(core: _Core) -> Iterator[object]:
    """Yield the methods of a class that pydantic calls with the fields of a new object."""
    if core.get("custom_init"):
        yield core["cls"].__init__
    if post_init := core.get("post_init"):  # of a model its name
        yield getattr(core["cls"], post_init if isinstance(post_init, str) else "__post_init__")


def _parts(path: str, key: str, core: _Core) -> Iterator[tuple[str, object]]:
    """Yield what a key of a core schema contains, each with its path in the value."""
    value = core[key]
    if key == "fields" and isinstance(value, (Mapping, list)):
        # Those of a dataclass are a list, and their names another one.
        listed = [(each["name"], each) for each in value if isinstance(each, Mapping)]
        for name, field in value.items() if isinstance(value, Mapping) else listed:
            yield path + path_step(_key(name, field)), field
    elif key == "items_schema" and isinstance(value, list):
        variadic = core.get("variadic_item_index", len(value))
        for position, item in enumerate(value):
            yield path + (f"[{position}]" if position < variadic else "[]"), item
    elif key == "choices" and isinstance(value, Mapping):
        yield path, [*value.values()]
    elif key not in _NO_SCHEMAS:
        yield path + "[]" * (key in _INNER_VALUES), value


def _key(name: str, field: _Core, config: _Core | None = None) -> str:
    """Return the key at which an object has a field, or what contains it."""
    by_alias = None if config is None else config.get("validate_by_alias")
    return str(paths_of(field, name, by_alias=by_alias)[0][0])


def _instance(model: type[BaseModel], values: dict[str, object]) -> BaseModel:
    """Return an instance with these values only; `model_construct` adds defaults and calls `model_post_init`."""
    instance = model.__new__(model)
    state: dict[str, object] = {"__dict__": values, "__pydantic_fields_set__": set(values)}
    if not model.__pydantic_root_model__:
        state["__pydantic_extra__"] = {} if model.model_config.get("extra") == "allow" else None
        state["__pydantic_private__"] = {} if model.__private_attributes__ else None
    for name, value in state.items():
        object.__setattr__(instance, name, value)
    return instance
