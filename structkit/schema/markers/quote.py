"""Strings that stand in a source, such as the prompt, and where: `Annotated[str, Quote()]`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from structkit.errors import SchemaError
from structkit.schema.ir.path import SchemaPath

__all__ = ["QUOTE_FORMAT", "QUOTE_KEYWORD", "Quote", "needs_source", "quote_format", "with_source"]

QUOTE_KEYWORD = "x-structkit-quote"
"""What a JSON Schema says it with. Others ignore it, as they do all keywords that they do not know."""

QUOTE_FORMAT = "python:quote"
"""The format that it becomes, with the fields of `Quote` as arguments."""


@dataclass(frozen=True)
class Quote:
    """A string of which every character is copied from a source: the prompt, or a text that is given.

    Nothing can be made up: the model may only write a part of the source, as it stands there, and not an empty one.
    `Result.spans` says where each quote stands. What may be absent is `Annotated[str, Quote()] | None`.

    Args:
        source: The text to take it from. By default it is what the call gives as `source`, or else the prompt: of
            messages those of the user, joined by blank lines.
        words: Whether it begins and ends with whole words, and not with white space. Words are letters, digits and
            underscores in a row, as for a regular expression; in scripts that put no spaces between them, such as
            Chinese, Japanese and Thai, each character is one.

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
            raise TypeError(f"Quote takes its source as a text, not {type(self.source).__name__}")
        if not isinstance(self.words, bool):
            raise TypeError(f"words must be True or False, not {self.words!r}")

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """Say it in the JSON Schema that pydantic makes."""
        described: dict[str, Any] = handler(core_schema)
        if described.get("type") != "string":
            raise SchemaError(
                "Quote is for strings alone; write Annotated[str, Quote()] | None for one that may be absent, and "
                "list[Annotated[str, Quote()]] for several"
            )
        return {**described, QUOTE_KEYWORD: self.arguments}

    @property
    def arguments(self) -> dict[str, object]:
        """What a schema says of it."""
        return {"words": self.words} | (
            {} if self.source is None else {"source": _HALVES.sub(_HALF, self.source)}
        )

    @classmethod
    def read(cls, raw: object, path: str | None = None) -> Quote:
        """What a schema says.

        Raises:
            SchemaError: It is not what it should be.
        """
        given = raw if isinstance(raw, Mapping) else {}
        source, words = given.get("source"), given.get("words", True)
        known = given.keys() <= {"source", "words"} and (raw is True or isinstance(raw, Mapping))
        if not (known and isinstance(words, bool) and isinstance(source, (str, type(None)))):
            raise SchemaError(
                f"{QUOTE_KEYWORD} must be true, or an object with `words` (true or false) and `source` (a text)",
                place=path,
            )
        return cls(source, words)


def quote_format(raw: object, path: SchemaPath) -> str:
    """The format that the keyword says.

    >>> quote_format(True, SchemaPath())
    'python:quote {"words": true}'
    """
    return f"{QUOTE_FORMAT} {json.dumps(Quote.read(raw, path.text).arguments)}"


def needs_source(name: str) -> bool:
    """Whether a format is that of quotes of which the source is not known yet, so that nothing is known of them.

    >>> needs_source('python:quote {"words": true}'), needs_source("date")
    (True, False)
    """
    return name.startswith(QUOTE_FORMAT) and "source" not in json.loads(name.partition(" ")[2])


def with_source(name: str, source: str | None, path: str) -> str:
    """The format with a source, if it has none of its own.

    >>> with_source('python:quote {"words": true}', "Ana", "$")
    'python:quote {"words": true, "source": "Ana"}'

    Raises:
        SchemaError: There is none.
    """
    given = json.loads(name.partition(" ")[2])
    if "source" in given:
        return name
    if source is None:
        raise SchemaError(
            "there is no source to quote from; give one as source=..., as Quote(source=...), or in the shell as "
            "--source FILE: only where a model is asked is the prompt the source",
            place=path,
        )
    # Two halves of a pair, side by side, would be read back as one character.
    return f"{QUOTE_FORMAT} {json.dumps({**given, 'source': _HALVES.sub(_HALF, source)})}"


_HALF = "\ud800"
_HALVES = re.compile("[\ud800-\udfff]")
