"""The arguments of a function as one type: an object with a key for each parameter."""

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
    """A TypedDict of parameters: unlike a model it may have keys of any name, `copy` and `_id` too.

    Args:
        name: The name of the function.
        parameters: By name: the type, whether it must be written, and a description.
        description: What the function does.

    >>> made = arguments_type("add", {"a": (int, True, "The first."), "b": (int, False, None)}, "Add.")
    >>> sorted(made.__required_keys__), sorted(made.__optional_keys__)
    (['a'], ['b'])
    """
    keys: dict[str, Any] = {}
    for key, (annotation, required, said) in parameters.items():
        form: Any = Annotated[cast("Any", annotation), Field(description=said)] if said else annotation
        keys[key] = form if required else NotRequired[form]
    make: Any = TypedDict
    made = make(name, keys)
    made.__doc__ = description or None
    made.__pydantic_config__ = ConfigDict(extra="forbid")
    return cast("TypeForm[object]", made)


def is_field(default: object) -> TypeGuard[FieldInfo]:
    """Whether the default of a parameter is a `Field(...)` of pydantic, which says what the default is."""
    return isinstance(default, FieldInfo)
