"""JSON style options: whitespace, key order, defaults and nulls, set by a call or by a class.

An option that is `None` is not set. An option of a call applies to everything in the call. An option of a class applies
to its own fields wherever the class is used. Without either, the default applies.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args

from typing_extensions import is_typeddict

from structkit.arguments.checks import check_choice
from structkit.arguments.names import names_arguments
from structkit.errors import SchemaError

__all__ = [
    "Defaults",
    "JsonStyle",
    "NullFields",
    "Order",
    "Whitespace",
    "json_style",
    "style_of",
    "without_null",
]

Whitespace: TypeAlias = Literal["spaced", "compact"]
Order: TypeAlias = Literal["declared", "any"]
Defaults: TypeAlias = Literal["always", "may_omit"]
NullFields: TypeAlias = Literal["always", "may_omit", "omit"]

C = TypeVar("C", bound=type)
F = TypeVar("F")

_ATTRIBUTE = "__structkit_json_style__"
"""The class attribute that stores the style; subclasses inherit it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonStyle:
    """A set of style options; see `structkit.json_style`.

    >>> call, own = JsonStyle(defaults="may_omit"), JsonStyle(defaults="always", null="omit")
    >>> call.merge(own)
    JsonStyle(whitespace=None, defaults='may_omit', order=None, null='omit')
    """

    whitespace: Whitespace | None = None
    defaults: Defaults | None = None
    order: Order | tuple[str, ...] | None = None
    null: NullFields | None = None

    def __post_init__(self) -> None:
        for name, known in _ALLOWED_VALUES.items():
            value = getattr(self, name)
            if value is None or (name == "order" and isinstance(value, tuple)):
                continue
            check_choice(name, value, known)

    def merge(self, other: JsonStyle) -> JsonStyle:
        """Return the options set here; options that are not set here are taken from `other`."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(other, **{name: value for name, value in given.items() if value is not None})

    @property
    def writes_defaults(self) -> bool:
        """Whether fields with a default are always written."""
        return self.defaults != "may_omit"

    @property
    def null_fields(self) -> NullFields:
        """How a field `X | None = None` without a value is written; by default like other fields with a default."""
        return self.null or ("always" if self.writes_defaults else "may_omit")

    def sort_fields(
        self, fields: Sequence[tuple[str, bool, F]], type_name: str
    ) -> Sequence[tuple[str, bool, F]]:
        """Return the fields with those named by `order` first.

        Raises:
            SchemaError: `order` names an unknown field.
        """
        if not isinstance(self.order, tuple):
            return fields
        by_name = {each[0]: each for each in fields}
        for name in self.order:
            if name not in by_name:
                raise SchemaError(
                    f"the field order of {type_name} names the unknown field {name!r}; the fields are "
                    f"{', '.join(by_name)}"
                )
        first = [by_name[name] for name in self.order]
        return [*first, *(each for each in fields if each[0] not in self.order)]


_ALLOWED_VALUES: Mapping[str, tuple[str, ...]] = {
    "whitespace": get_args(Whitespace),
    "defaults": get_args(Defaults),
    "order": get_args(Order),
    "null": get_args(NullFields),
}


@names_arguments
def json_style(
    *,
    whitespace: Whitespace | None = None,
    defaults: Defaults | None = None,
    order: Order | Sequence[str] | None = None,
    null: NullFields | None = None,
) -> Callable[[C], C]:
    """Set how the values of a class are written. A decorator.

    Supports pydantic models, dataclasses and `TypedDict`. (A `NamedTuple` is written as an array and has no style.) The
    options apply to the fields of the class and of its subclasses, but not to classes used in its fields. Options of a
    call, such as `extract(..., defaults="may_omit")`, take precedence and apply to all classes. Decorate a class at its
    definition, before its first use.

    Args:
        whitespace: `"spaced"` or `"compact"`. Applies only if the class is the target, because a text has one style.
        defaults: `"always"` writes fields that have a default; `"may_omit"` lets the model omit them.
        order: `"declared"` writes keys in the order of declaration; `"any"` lets the model choose the order. A sequence
            of field names writes these fields first, and the others in the order of declaration.
        null: How a field `X | None = None` without a value is written: `"always"` writes `null`, `"omit"` omits the
            field, `"may_omit"` allows both. The default follows `defaults`.

    Returns:
        A decorator that returns the class.

    Raises:
        ValueError: An option has an unknown value.
        TypeError: The decorated object is not a supported class.

    >>> from pydantic import BaseModel
    >>> import structkit as sk
    >>> @json_style(null="omit", order=["reason"])
    ... class Verdict(BaseModel):
    ...     guilty: bool
    ...     reason: str
    ...     sentence: int | None = None
    >>> model = sk.testing.ScriptedModel(['{"reason": "no proof", "guilty": false}'])
    >>> sk.extract(model, "Is he?", Verdict)
    Verdict(guilty=False, reason='no proof', sentence=None)
    """
    first_fields = None if order is None or isinstance(order, str) else tuple(order)
    style = JsonStyle(
        whitespace=whitespace, defaults=defaults, order=first_fields or cast("Order | None", order), null=null
    )

    def decorate(cls: C) -> C:
        model = hasattr(cls, "__pydantic_core_schema__") or hasattr(cls, "__pydantic_fields__")
        if not (inspect.isclass(cls) and (model or is_dataclass(cls) or is_typeddict(cls))):
            raise TypeError(
                f"json_style decorates pydantic models, dataclasses and TypedDict, not {cls!r:.60}"
            )
        setattr(cls, _ATTRIBUTE, style.merge(style_of(cls)))
        return cls

    return decorate


def style_of(cls: object) -> JsonStyle:
    """Return the style of a class, its own or inherited."""
    found = getattr(cls, _ATTRIBUTE, None)
    if isinstance(found, JsonStyle):
        return found
    # A TypedDict has no base classes at run time, only `__orig_bases__`.
    inherited = map(style_of, getattr(cls, "__orig_bases__", ())) if is_typeddict(cls) else ()
    return next((style for style in inherited if style != _NO_STYLE), _NO_STYLE)


_NO_STYLE = JsonStyle()

_WRAPPER_TYPES = ("default", "function-after", "function-before", "function-wrap")
"""The core schemas that may wrap an optional schema."""


def without_null(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the core schema of a field `X | None = None` without null; `None` for any other field.

    >>> optional = {"type": "nullable", "schema": {"type": "int"}}
    >>> without_null({"type": "default", "default": None, "schema": optional})
    {'type': 'default', 'default': None, 'schema': {'type': 'int'}}
    """
    if schema.get("type") != "default" or schema.get("default", ...) is not None:
        return None
    return _without_nullable(schema)


def _without_nullable(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if schema["type"] == "nullable":
        inner: Mapping[str, Any] = schema["schema"]
        return inner
    if schema["type"] not in _WRAPPER_TYPES:
        return None
    stripped = _without_nullable(schema["schema"])
    return None if stripped is None else {**schema, "schema": stripped}
