"""The exception tree.

```
StructkitError                      ends with its place: "... at `$.items[2].age`"
├─ SchemaError                      the target or its JSON Schema
│  ├─ UnsupportedKeyword            a keyword structkit does not enforce
│  ├─ UnsatisfiableSchema           no value can satisfy the schema
│  └─ UnresolvedReference           a `$ref` that leads nowhere
├─ PatternError                     a pattern, with a caret under the column
├─ GrammarError                     a grammar, with line, column and caret
├─ VocabularyError                  a token the language needs does not exist, or a tokenizer cannot be read
├─ LimitExceeded                    which limit, its value, what was being built
├─ AgentError                       an agent that cannot be made, or that cannot go on from a state
├─ ToolError                        raised by a tool: what the model is told instead of an output
├─ ApprovalRequired                 raised by a tool: the run stops until somebody has decided
└─ GenerationError                  something went wrong while decoding
   ├─ TokenRejected                 a token that the mask forbids
   ├─ BudgetTooSmall                fewer tokens than the shortest value needs
   ├─ OutputValidationError         pydantic refused the value; every attempt is kept
   └─ ModelError                    the model could not be loaded, or broke while decoding
```
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "AgentError",
    "ApprovalRequired",
    "BudgetTooSmall",
    "GenerationError",
    "GrammarError",
    "LimitExceeded",
    "ModelError",
    "OutputValidationError",
    "PatternError",
    "SchemaError",
    "StructkitError",
    "TokenRejected",
    "ToolError",
    "UnresolvedReference",
    "UnsatisfiableSchema",
    "UnsupportedKeyword",
    "VocabularyError",
]


class StructkitError(Exception):
    """The root of every error that structkit raises.

    Attributes:
        message: What went wrong and what to do about it, without the place.
        place: Where: a schema path such as `$.items[2].age`, a token position, a file. May be `None`.
    """

    def __init__(self, message: str, *, place: str | None = None) -> None:
        message = _shortened(message, 2_000)  # a hostile schema is quoted, but not whole
        super().__init__(message)
        self.message = message
        self.place = None if place is None else _shortened(place, 300)

    def __str__(self) -> str:
        return self.message if self.place is None else f"{self.message} at `{self.place}`"

    def __reduce__(self) -> tuple[object, ...]:
        # The default would call the class with positional arguments only and lose the keyword ones.
        return (_rebuild, (type(self), self.args, self.__dict__.copy()))


def _rebuild(
    error_type: type[StructkitError], args: tuple[object, ...], attributes: Mapping[str, object]
) -> StructkitError:
    error = error_type.__new__(error_type, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


def _shortened(text: str, max_length: int) -> str:
    return text if len(text) <= max_length else f"{text[: max_length // 2]} ... {text[-max_length // 2 :]}"


class SchemaError(StructkitError):
    """The target is not a type that pydantic can describe, or not a JSON Schema."""


class UnsupportedKeyword(SchemaError):
    """A JSON Schema keyword, or a value of one, that structkit cannot enforce while decoding."""

    def __init__(self, keyword: str, message: str, *, place: str | None = None) -> None:
        super().__init__(message, place=place)
        self.keyword = keyword


class UnsatisfiableSchema(SchemaError):
    """No JSON value satisfies the schema, so nothing could ever be generated."""


class UnresolvedReference(SchemaError):
    """A `$ref` that leads nowhere, or outside the schema."""


class PatternError(StructkitError):
    """A pattern that cannot be read, or that says what no regular language can.

    Attributes:
        pattern: The pattern as given.
        column: The offending position in `pattern`, counted from 0.
    """

    def __init__(self, message: str, *, pattern: str, column: int, place: str | None = None) -> None:
        super().__init__(message, place=place)
        self.pattern = pattern
        self.column = column

    def __str__(self) -> str:
        shown, column = _window(self.pattern, self.column)
        return f"{super().__str__()}\n  {shown}\n  {' ' * column}^"


class GrammarError(StructkitError):
    """A grammar that cannot be read, or whose rules do not fit together.

    Attributes:
        line: The offending line, counted from 1.
        column: The offending column, counted from 1.
        source: The text of that line.
    """

    def __init__(
        self, message: str, *, line: int, column: int, source: str, place: str | None = None
    ) -> None:
        super().__init__(message, place=place)
        self.line = line
        self.column = column
        self.source = source

    def __str__(self) -> str:
        shown, column = _window(self.source, self.column - 1)
        return f"{super().__str__()}, line {self.line}, column {self.column}\n  {shown}\n  {' ' * column}^"


def _window(text: str, column: int, width: int = 100) -> tuple[str, int]:
    """Cut `text` to about `width` characters around `column`; a hostile pattern may be megabytes long."""
    start = max(0, column - width // 2)
    cut = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[start : start + width])
    return cut, column - start


class VocabularyError(StructkitError):
    """A tokenizer that cannot be read as bytes, or that cannot spell what the language needs."""


class LimitExceeded(StructkitError):
    """Something would have grown past one of the `Limits`.

    Attributes:
        limit: The name of the field of `Limits`.
        value: The value of that limit.
    """

    def __init__(self, limit: str, value: int, building: str, *, place: str | None = None) -> None:
        super().__init__(
            f"{building} exceeds the limit {limit}={value}; simplify it or pass Limits({limit}=...)",
            place=place,
        )
        self.limit = limit
        self.value = value


class AgentError(StructkitError):
    """An agent that cannot be made of its tools and its result, or a state that it cannot go on from."""


class ToolError(StructkitError):
    """Raised by a tool: the model is told its message in the place of an output, and the run goes on.

    >>> def lookup(name: str) -> str:
    ...     raise ToolError(f"nobody is called {name}; give the full name")
    """

    def __init__(self, message: object = "the call failed", *, place: str | None = None) -> None:
        super().__init__(f"{message}", place=place)


class ApprovalRequired(StructkitError):
    """Raised by a tool: the run stops, and goes on when somebody has decided; see `structkit.RunSuspended`.

    >>> def pay(euros: float) -> None:
    ...     if euros > 100:
    ...         raise ApprovalRequired("more than 100 euros")
    """

    def __init__(self, message: object = "the tool asks for a decision", *, place: str | None = None) -> None:
        super().__init__(f"{message}", place=place)


class GenerationError(StructkitError):
    """Something went wrong while decoding."""


class TokenRejected(GenerationError):
    """A token that the mask forbids was given to `advance`; the cursor is unchanged.

    Attributes:
        token_id: The refused token.
    """

    def __init__(self, token_id: int, message: str, *, place: str | None = None) -> None:
        super().__init__(message, place=place)
        self.token_id = token_id


class BudgetTooSmall(GenerationError):
    """`max_tokens` is smaller than the shortest value; raised before the first token.

    Attributes:
        needed: The fewest tokens that a complete value needs.
        budget: The tokens that were allowed.
    """

    def __init__(self, needed: int, budget: int, *, place: str | None = None) -> None:
        super().__init__(
            f"the shortest value needs {needed} tokens and only {budget} are allowed; "
            f"pass max_tokens={needed} or more",
            place=place,
        )
        self.needed = needed
        self.budget = budget


class OutputValidationError(GenerationError):
    """The text has the right form, but the type's own validators refuse it.

    Attributes:
        text: The text of the last attempt.
        attempts: The text of every attempt, the last one included.
        error: What pydantic said (a `pydantic.ValidationError`).
        usage: What the attempts took (a `structkit.Usage`), where a model made them.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str,
        attempts: tuple[str, ...],
        error: Exception,
        usage: object = None,
        place: str | None = None,
    ) -> None:
        super().__init__(message, place=place)
        self.text = text
        self.attempts = attempts
        self.error = error
        self.usage = usage


class ModelError(GenerationError):
    """The model could not be loaded, or gave something that is not logits; the cause is chained."""
