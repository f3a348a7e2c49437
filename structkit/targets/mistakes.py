"""What was probably meant by a target that is none."""

from __future__ import annotations

import builtins
import enum
import re
import typing
from collections.abc import Mapping
from inspect import isroutine
from types import MappingProxyType, MethodType, ModuleType

import typing_extensions

from structkit.errors import SchemaError
from structkit.schema.ir.json_values import repr_of, shorten_repr
from structkit.schema.markers.max_tokens import MaxTokens
from structkit.schema.markers.quote import Quote
from structkit.targets.specs import TextTarget

__all__ = ["reject_value"]


def reject_value(target: object) -> None:
    """Reject a value that is neither a type nor another target.

    Raises:
        SchemaError: The target is such a value; the remedy names what was probably meant.

    >>> reject_value(["yes", "no"])
    Traceback (most recent call last):
    structkit.errors.SchemaError: invalid target ['yes', 'no']
      one of several texts is structkit.Choice(['yes', 'no'])
    """
    for module in (typing, typing_extensions, enum):
        for name, example in _INCOMPLETE.items():
            if target is getattr(module, name, module):
                raise SchemaError(f"invalid target {name}, which is not a complete type; write {example}")
    remedy = _remedy(target)
    if remedy is not None:
        raise SchemaError(f"invalid target {shorten_repr(repr_of(target))}; {remedy}")


_INCOMPLETE: Mapping[str, str] = MappingProxyType(
    {
        "Annotated": "the type and its annotations, such as Annotated[int, Field(ge=0)]",
        "Literal": "its values, such as Literal['yes', 'no']",
        "Optional": "the type of the value, such as Optional[int]",
        "Union": "its members, such as Union[int, str]",
        **{name: f"a class of it, such as class Person({name})" for name in ("NamedTuple", "TypedDict")},
        **{
            name: f"a class of it, such as class Colour({name})"
            for name in ("Enum", "Flag", "IntEnum", "IntFlag", "StrEnum")
        },
    }
)
"""What to write in place of what only makes types."""


def _remedy(target: object) -> str | None:
    """Return what to write in place of a target; `None` for what can be one."""
    if isinstance(target, MethodType):
        name = f"{getattr(target.__self__, '__name__', 'value')}.{target.__name__}"
        is_schema = target.__name__ in ("model_json_schema", "json_schema")
        return f"call it, as in {name}(), or pass the class itself" if is_schema else None
    if isinstance(target, ModuleType):
        return f"it is a module; write a class of it, such as {target.__name__}.Person"
    if isinstance(target, type) and issubclass(target, TextTarget):
        return f"it is a class; pass an object of it, structkit.{target.__name__}(...)"
    marker = target if isinstance(target, type) else type(target)
    if marker in (MaxTokens, Quote):
        example = "Quote()" if marker is Quote else "MaxTokens(20)"
        return f"it annotates a type; write Annotated[str, structkit.{example}]"
    if isinstance(target, str):
        return _remedy_of_text(target)
    if isinstance(target, (list, tuple, set, frozenset)):
        return _remedy_of_items(list(target))
    if isinstance(target, re.Pattern):
        written = target if target.flags & ~re.UNICODE else target.pattern
        return f"write structkit.Regex({shorten_repr(repr(written))})"
    if not isinstance(target, type) and isinstance(getattr(target, "source_grammar", None), str):
        return "write structkit.Grammar(...) with the source_grammar and the arguments of the Lark object"
    if isinstance(target, (bytes, int, float)):
        return "pass a type, a function, a JSON Schema as a dict, structkit.Regex(...) or structkit.Choice([...])"
    function = getattr(target, "__dict__", {}).get("function")
    if not isinstance(target, type) and isroutine(function):
        return f"it is a {type(target).__name__} of a function; pass the function, {function.__name__}"
    if not isinstance(target, type) and hasattr(target, "vocabulary") and hasattr(target, "session"):
        return "it is a model, which is the first argument of extract and generate"
    return None


def _remedy_of_text(text: str) -> str:
    found = getattr(builtins, text, None)
    if isinstance(found, type):
        return f"write {text} without quotation marks"
    if text.isidentifier():
        return f"pass the class {text} itself, or write structkit.Regex({text!r}) for a pattern"
    if text.lstrip().startswith("{"):
        return "pass the JSON Schema as a dict, which json.loads(...) returns"
    pattern = f"a pattern is written structkit.Regex({shorten_repr(repr(text), 40)})"
    return f"if it is the prompt, write it before the target; {pattern}" if " " in text else pattern


def _remedy_of_items(items: list[object]) -> str:
    if items and all(isinstance(item, type) or isroutine(item) or item is None for item in items):
        names = [str(getattr(item, "__name__", item)) for item in items]
        if len(names) == 1:
            return f"write list[{names[0]}] for a list, or {names[0]} for one"
        if any(map(isroutine, items)):  # the operator | does not take them
            union = f"typing.Union[{', '.join(names)}]"
            return f"write {union} for one of them, and list[{union}] for a list"
        return f"write {' | '.join(names)} for one of them, and list[{' | '.join(names)}] for a list"
    if items and all(isinstance(item, Mapping) for item in items):
        return "a JSON Schema is one dict; write {'anyOf': [...]} for one of several"
    written = repr_of(items)
    shown = shorten_repr(written)
    if len(shown) < len(written) or not written.startswith("["):  # a `__repr__` failed
        shown = "[...]"
    return f"one of several texts is structkit.Choice({shown})"
