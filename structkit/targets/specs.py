"""Targets that are not types: `Regex`, `Choice` and `JsonSchema`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from typing_extensions import Never

from structkit.arguments.checks import check_choice
from structkit.arguments.names import hints_arguments, names_arguments
from structkit.errors import SchemaError
from structkit.lowering.alternatives import option_text
from structkit.schema.ir.json_values import shorten_repr
from structkit.schema.ir.keywords import with_flags
from structkit.schema.markers.json_style import Whitespace

__all__ = ["Choice", "JsonSchema", "Regex", "TextTarget", "short_text"]

T_co = TypeVar("T_co", covariant=True)

_MAX_SHOWN_LENGTH = 40
"""Maximum number of characters of a target in its name."""


_INSTEAD = {
    "Choice": "Literal[...] with its options",
    "Grammar": "Annotated[str, Grammar(...)]",
    "Regex": 'Annotated[str, pydantic.Field(pattern=r"^(?:...)$")]',
}
"""What a field has instead of a target."""


class TextTarget(Generic[T_co]):
    """A target that is not a type; `T_co` is the type of its values."""

    def __get_pydantic_core_schema__(self, source: object, handler: Any) -> Any:
        """Refuse a target in the place of a type, such as `list[Regex("a")]`.

        Raises:
            SchemaError: The target is the type itself.
        """
        if source is not self:
            return handler(source)
        raise SchemaError(
            f"{shorten_repr(repr(self))} is a target and no type; write {_INSTEAD.get(type(self).__name__, 'a type')}"
        )

    def __get_pydantic_json_schema__(self, core_schema: object, handler: object) -> dict[str, object]:
        """Refuse a target as an annotation, which pydantic does not check.

        Raises:
            SchemaError: Always; `Grammar`, which can annotate a string, has its own method.
        """
        name = type(self).__name__
        raise SchemaError(
            f"{shorten_repr(repr(self))} is a target and cannot annotate a type; write {_INSTEAD.get(name, 'a type')}"
        )


@hints_arguments(dict.fromkeys(("flags", "*"), "write Regex(re.compile(pattern, flags))"))
@dataclass(frozen=True, init=False)
class Regex(TextTarget[str]):
    r"""Text that matches a pattern from start to end; the value is the text.

    The syntax is that of `re.fullmatch`: what `re` rejects raises `PatternError` when the target is compiled, and so do
    constructs that are not regular, which are back-references and some lookaround.

    Args:
        pattern: A pattern, or what `re.compile` returns, whose flags become part of the attribute.

    >>> Regex(r"[A-Z]{2}-\d{4}")
    Regex(pattern='[A-Z]{2}-\\d{4}')
    >>> Regex(re.compile("[A-Z] \\d+  # a gate", re.VERBOSE))
    Regex(pattern='(?x)[A-Z] \\d+  # a gate')
    """

    pattern: str

    def __init__(self, pattern: str | re.Pattern[str]) -> None:
        """Create the target."""
        text: object = with_flags(pattern) if isinstance(pattern, re.Pattern) else pattern
        if not isinstance(text, str) or (
            isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, bytes)
        ):
            given = "a pattern of bytes" if isinstance(pattern, re.Pattern) else type(pattern).__name__
            raise TypeError(
                f"the pattern of Regex must be a str or a compiled pattern, not {given}; write a str"
            )
        object.__setattr__(self, "pattern", text)


@names_arguments
@dataclass(frozen=True, init=False)
class Choice(TextTarget[T_co]):
    """One of the options; the value is the chosen option.

    If all options are strings, they are generated without quotes; otherwise each is generated as JSON.

    >>> Choice(["yes", "no"]).values_by_text()
    {'yes': 'yes', 'no': 'no'}
    >>> Choice(["none", 1, [2, 3]]).values_by_text()
    {'"none"': 'none', '1': 1, '[2, 3]': [2, 3]}
    """

    options: tuple[T_co, ...]

    def __init__(self, options: Sequence[T_co], *more: Never) -> None:
        """Create a choice.

        Args:
            options: Strings or other JSON values, all different.
            *more: Nothing; it makes the error of `Choice("a", "b")` say what to write.

        Raises:
            SchemaError: There is no option, an option is not JSON, or two options have the same text.
        """
        if more:
            meant = shorten_repr(repr([options, *more]))
            raise SchemaError(
                f"Choice takes one list of options, not {1 + len(more)} arguments; write Choice({meant})"
            )
        if isinstance(options, str):
            raise SchemaError(f"Choice takes a list of options, not one string; write Choice([{options!r}])")
        if not isinstance(options, Iterable):
            raise SchemaError(
                f"Choice takes a list of options, not {short_text(repr(options))}; write Choice(['a', 'b'])"
            )
        object.__setattr__(self, "options", tuple(options))
        if not self.options:
            raise SchemaError("Choice needs at least one option; write Choice(['a', 'b'])")
        self.values_by_text()

    @property
    def is_raw(self) -> bool:
        """Whether the options are generated without quotes."""
        return all(isinstance(option, str) for option in self.options)

    def values_by_text(self, whitespace: Whitespace = "spaced") -> dict[str, T_co]:
        """Return the options by their texts."""
        texts: dict[str, T_co] = {}
        raw = self.is_raw
        for position, option in enumerate(self.options):
            path = f"options[{position}]"
            text = option_text(option, whitespace, is_raw=raw, path=path)
            if text in texts:
                raise SchemaError(f"the option {text!r} occurs twice; options must differ", place=path)
            texts[text] = option
        return texts


@names_arguments
@dataclass(frozen=True)
class JsonSchema(TextTarget[object]):
    """A JSON Schema with options; a plain dict is equivalent to `JsonSchema(schema)`.

    Args:
        schema: The schema, as `json.loads` returns it.
        additional: With `"open"`, objects may have undeclared keys unless the schema forbids them, as the specification
            defines. With `"closed"`, they may not unless the schema allows them, as in strict structured outputs.
        strict: Whether a keyword that cannot be enforced while decoding is an error. Otherwise the package `jsonschema`
            checks it after decoding, and an invalid value raises `OutputValidationError`.
        bounded_numbers: Whether numbers have the bounds of Python types: an integer has at most `Limits.integer_digits`
            digits, and other numbers fit a float. Otherwise a model can write digits until its budget ends.
        resources: Other documents that the schema refers to, by URI. Nothing is fetched.

    >>> JsonSchema({"type": "object"}, additional="closed").additional
    'closed'
    """

    schema: Mapping[str, object]
    additional: Literal["open", "closed"] = "open"
    strict: bool = True
    resources: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    bounded_numbers: bool = False

    def __post_init__(self) -> None:
        for schema in (self.schema, self.resources, *self.resources.values()):
            if not isinstance(schema, (dict, Mapping)):
                remedy = "; write json.loads(...)" if isinstance(schema, str) else ""
                remedy = f"; pass {schema.__name__} itself" if isinstance(schema, type) else remedy
                remedy = "; write {} for any value" if schema is True else remedy
                raise TypeError(f"JsonSchema requires schemas as dicts, not {type(schema).__name__}{remedy}")
        check_choice("additional", self.additional, ("open", "closed"))


def short_text(text: str) -> str:
    """Return the beginning of a text, for messages."""
    return shorten_repr(text, _MAX_SHOWN_LENGTH)
