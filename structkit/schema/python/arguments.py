"""The arguments of a function as one type: an object with one key per parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeGuard, cast

from pydantic import ConfigDict, Field
from pydantic.fields import FieldInfo
from typing_extensions import NotRequired, TypedDict, TypeForm

__all__ = ["arguments_type", "is_field"]


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
