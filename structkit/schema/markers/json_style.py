"""How values are written where a type leaves it open: by the call, by the class, or by default.

A policy says nothing where it holds `None`. What a call says counts for everything in it, what a class says counts for
its own fields wherever it is used, and what neither says is the default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args

from typing_extensions import is_typeddict

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

_ATTRIBUTE = "__structkit_policy__"
"""Where a class keeps its policy; subclasses inherit it as they do everything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonStyle:
    """How values are written; see `structkit.json_style`.

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
            if value not in known:
                raise ValueError(f"{name} must be {' or '.join(map(repr, known))}, not {value!r}")

    def merge(self, other: JsonStyle) -> JsonStyle:
        """What this says, and the other where this says nothing."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(other, **{name: value for name, value in said.items() if value is not None})

    @property
    def writes_defaults(self) -> bool:
        """Whether a field with a default is always written."""
        return self.defaults != "may_omit"

    @property
    def null_fields(self) -> NullFields:
        """What becomes of a field `X | None = None` that has no value; by default what becomes of other defaults."""
        return self.null or ("always" if self.writes_defaults else "may_omit")

    def sort_fields(
        self, fields: Sequence[tuple[str, bool, F]], type_name: str
    ) -> Sequence[tuple[str, bool, F]]:
        """The fields, those first that are to be written first.

        Raises:
            SchemaError: There is no such field.
        """
        if not isinstance(self.order, tuple):
            return fields
        by_name = {each[0]: each for each in fields}
        for name in self.order:
            if name not in by_name:
                raise SchemaError(
                    f"{type_name} is configured to write the field {name!r} first and has none; its fields are "
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


def json_style(
    *,
    whitespace: Whitespace | None = None,
    defaults: Defaults | None = None,
    order: Order | Sequence[str] | None = None,
    null: NullFields | None = None,
) -> Callable[[C], C]:
    """Say how the values of a class are written, wherever it is used: a decorator.

    For models of pydantic, dataclasses and `TypedDict`; a `NamedTuple` is written as an array, so there is nothing to
    say. What the class says counts for its own fields, not for those of classes inside it, which may say something
    else; subclasses inherit it. An option of a call, such as `extract(..., defaults="may_omit")`, counts more: it is
    for everything in that call. Decorate a class where it is defined, before it is first used.

    Args:
        whitespace: `"spaced"` or `"compact"`; it counts where the class itself is the target, for a text has one style.
        defaults: `"always"` writes fields that have a default too; `"may_omit"` leaves that to the model.
        order: `"declared"` writes keys in the order of the declaration; `"any"` leaves it to the model; names of fields
            are written first, in this order, and the others follow as declared.
        null: What is written of a field `X | None = None` that has no value: `"always"` writes `null`, `"omit"` leaves
            the field out, `"may_omit"` allows both. If nothing is said, `defaults` decides.

    Returns:
        What decorates the class, and gives back the same class.

    Raises:
        ValueError: An option is none of its values.
        TypeError: What is decorated is no such class.

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
    first = None if order is None or isinstance(order, str) else tuple(order)
    policy = JsonStyle(
        whitespace=whitespace, defaults=defaults, order=first or cast("Order | None", order), null=null
    )

    def decorate(cls: C) -> C:
        model = hasattr(cls, "__pydantic_core_schema__") or hasattr(cls, "__pydantic_fields__")
        if not (inspect.isclass(cls) and (model or is_dataclass(cls) or is_typeddict(cls))):
            raise TypeError(f"configure decorates models, dataclasses and TypedDict, not {cls!r:.60}")
        setattr(cls, _ATTRIBUTE, policy.merge(style_of(cls)))
        return cls

    return decorate


def style_of(cls: object) -> JsonStyle:
    """What a class says, or one that it inherits from."""
    found = getattr(cls, _ATTRIBUTE, None)
    if isinstance(found, JsonStyle):
        return found
    # A TypedDict has no base classes, it only remembers them.
    said = map(style_of, getattr(cls, "__orig_bases__", ())) if is_typeddict(cls) else ()
    return next((policy for policy in said if policy != _NO_STYLE), _NO_STYLE)


_NO_STYLE = JsonStyle()

_WRAPPER_TYPES = ("default", "function-after", "function-before", "function-wrap")
"""The core schemas inside which an optional one is looked for."""


def without_null(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The core schema of a field `X | None = None` without its null; `None` if the field is no such one.

    >>> optional = {"type": "nullable", "schema": {"type": "int"}}
    >>> without_null({"type": "default", "default": None, "schema": optional})
    {'type': 'default', 'default': None, 'schema': {'type': 'int'}}
    """
    if schema.get("type") != "default" or schema.get("default", ...) is not None:
        return None
    return _stripped(schema)


def _stripped(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if schema["type"] == "nullable":
        inner: Mapping[str, Any] = schema["schema"]
        return inner
    if schema["type"] not in _WRAPPER_TYPES:
        return None
    stripped = _stripped(schema["schema"])
    return None if stripped is None else {**schema, "schema": stripped}
