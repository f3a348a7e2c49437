"""Strings that are copied from a source, such as the prompt: `Annotated[str, Quote()]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from structkit.arguments.checks import check_type
from structkit.arguments.names import names_arguments
from structkit.errors import SchemaError
from structkit.schema.ir.nodes import Format
from structkit.schema.ir.path import SchemaPath

__all__ = ["QUOTE_FORMAT", "QUOTE_KEYWORD", "Quote", "needs_source", "quote_format", "with_source"]

QUOTE_KEYWORD = "x-structkit-quote"
"""The JSON Schema keyword of quotes; other libraries ignore it."""

QUOTE_FORMAT = "python:quote"
"""The format that represents the keyword, with the fields of `Quote` as arguments."""


@names_arguments
@dataclass(frozen=True)
class Quote:
    """A non-empty string that occurs verbatim in a source: the prompt, or a given text.

    The model can only write parts of the source. `Result.spans` contains the position of each quote. Use
    `Annotated[str, Quote()] | None` for an optional quote.

    Args:
        source: The text to quote from. The default is the argument `source` of the call, or else the prompt; for chat
            messages, the messages of the user joined by blank lines.
        words: Whether the quote begins and ends at word boundaries, and not with whitespace. A word is a sequence of
            letters, digits and underscores, as in regular expressions; in scripts without spaces between words, such
            as Chinese, Japanese and Thai, each character is a word.

    >>> from typing import Annotated
    >>> import structkit as sk
    >>> model = sk.testing.ScriptedModel(['"Ana Souza"'])
    >>> result = sk.generate(model, "Ana Souza is 34.", Annotated[str, Quote()])
    >>> result.value, result.spans["$"]
    ('Ana Souza', Span(start=0, end=9))
    """

    source: str | None = None
    words: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.source, (str, type(None))):
            raise TypeError(f"source must be a string, not {type(self.source).__name__}")
        check_type("words", self.words, bool, "True or False")

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """Add the keyword to the JSON Schema."""
        described: dict[str, Any] = handler(core_schema)
        if described.get("type") != "string":
            raise SchemaError(
                "Quote applies only to strings; write Annotated[str, Quote()] | None for an optional quote, and "
                "list[Annotated[str, Quote()]] for a list of quotes"
            )
        return {**described, QUOTE_KEYWORD: self.arguments}

    @property
    def arguments(self) -> dict[str, bool | str]:
        """The value of the keyword in a schema."""
        return {"words": self.words} | (
            {} if self.source is None else {"source": _LONE_SURROGATES.sub(_SURROGATE, self.source)}
        )

    @classmethod
    def read(cls, raw: object, path: str | None = None) -> Quote:
        """Parse the value of the keyword.

        Raises:
            SchemaError: The value is invalid.
        """
        given = raw if isinstance(raw, Mapping) else {}
        source, words = given.get("source"), given.get("words", True)
        known = given.keys() <= {"source", "words"} and (raw is True or isinstance(raw, Mapping))
        if not (known and isinstance(words, bool) and isinstance(source, (str, type(None)))):
            raise SchemaError(
                f"{QUOTE_KEYWORD} must be true, or an object with `words` (a boolean) and `source` (a string); "
                "write true",
                place=path,
            )
        return cls(source, words)


def quote_format(raw: object, path: SchemaPath) -> Format:
    """Return the format for a value of the keyword.

    >>> str(quote_format(True, SchemaPath()))
    'python:quote(words=True)'
    """
    return Format.of(QUOTE_FORMAT, Quote.read(raw, path.text).arguments)


def needs_source(given: Format) -> bool:
    """Return whether a format is a quote without a source, so that its language is unknown.

    >>> needs_source(Format(QUOTE_FORMAT, (("words", True),))), needs_source(Format("date"))
    (True, False)
    """
    return given.name == QUOTE_FORMAT and "source" not in dict(given.arguments)


def with_source(given: Format, source: str | None, path: str) -> Format:
    """Return the format of a quote, with `source` if it has no source.

    >>> str(with_source(Format(QUOTE_FORMAT, (("words", True),)), "Ana", "$"))
    "python:quote(source='Ana', words=True)"

    Raises:
        SchemaError: Neither the format nor `source` has a text.
    """
    if not needs_source(given):
        return given
    if source is None:
        raise SchemaError(
            "the quote has no source, because no model is called with a prompt; pass source=..., "
            "Quote(source=...) or --source FILE",
            place=path,
        )
    return Format.of(given.name, {**Quote(source).arguments, **dict(given.arguments)})


_SURROGATE = "\ud800"
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
"""Replaced by one and the same surrogate: two different ones in sequence would be parsed from JSON as one character."""
