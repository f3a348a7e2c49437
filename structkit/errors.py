"""The exception tree.

```
StructkitError                      three lines: place, cause, remedy
├─ SchemaError                      the target or its JSON Schema
│  ├─ UnsupportedKeyword            a keyword structkit does not enforce
│  ├─ UnsatisfiableSchema           no value satisfies the schema
│  └─ UnresolvedReference           a `$ref` without a target in the schema
├─ PatternError                     an invalid pattern; a caret marks the column
├─ GrammarError                     an invalid grammar, with line, column and caret
├─ VocabularyError                  a tokenizer is unreadable, or lacks tokens that the target needs
├─ LimitExceeded                    work or memory would exceed one of the `Limits`
├─ MissingExtra                   a feature needs a package that is not installed; also an `ImportError`
├─ AgentError                       an invalid agent configuration, or a state that cannot be resumed
│  └─ AgentRecursionError           runs of agents start each other without end; also a `RecursionError`
├─ ToolError                        raised by a tool: the model reads the message instead of an output
├─ ApprovalRequired                 raised by a tool: the run is suspended until the call is approved
├─ Retry                            raised by a validator: the model generates another value
└─ GenerationError                  decoding failed
   ├─ TokenRejected                 a token that the mask forbids
   ├─ BudgetTooSmall                `max_tokens` is below the length of the shortest value
   ├─ BudgetExceeded                a limit would change the value, with `on_limit="raise"`
   ├─ OutputValidationError         validators rejected the value of every attempt
   ├─ CorrectionsExhausted          the replies of a text model did not complete a value within their bounds
   └─ ModelError                    the model could not be loaded, or failed while decoding
      └─ ScriptError                a scripted model has a reply that the target does not allow, or unused replies
```
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from structkit.rejected import Rejected

if TYPE_CHECKING:
    from structkit.trace.drawing import Drawing

__all__ = [
    "AgentError",
    "AgentRecursionError",
    "ApprovalRequired",
    "BudgetExceeded",
    "BudgetTooSmall",
    "CorrectionsExhausted",
    "GenerationError",
    "GrammarError",
    "LimitExceeded",
    "MissingExtra",
    "ModelError",
    "OutputValidationError",
    "PatternError",
    "Retry",
    "SchemaError",
    "ScriptError",
    "StructkitError",
    "TokenRejected",
    "ToolError",
    "UnresolvedReference",
    "UnsatisfiableSchema",
    "UnsupportedKeyword",
    "VocabularyError",
]


class StructkitError(Exception):
    """Base class of all structkit errors. `str` gives the place, the cause and the remedy, each on its own line.

    Attributes:
        message: The cause and the remedy on one line, separated by a semicolon.
        place: The location: a schema path such as `$.items[2].age`, a token position, or a file. `None` if unknown.

    >>> print(StructkitError("the type 'strng' is unknown; write 'string'", place="$.items"))
    at `$.items`:
      the type 'strng' is unknown
      write 'string'
    """

    def __init__(self, message: str, *, place: str | None = None) -> None:
        message = _shortened(message, 2_000)  # messages quote parts of untrusted schemas
        super().__init__(message)
        self.message = message
        self.place = None if place is None else _shortened(place, 300)

    @property
    def cause(self) -> str:
        """What is wrong: the message up to its first semicolon outside of quotes."""
        return self._parts()[0]

    @property
    def remedy(self) -> str | None:
        """What to do; `None` if the message does not say it."""
        return self._parts()[1]

    def __str__(self) -> str:
        lines = [
            *([] if self.place is None else [f"at `{self.place}`{self._where()}:"]),
            *f"{self.cause}{'' if self.place is not None else self._where()}".split("\n"),
            *self._picture(),
            *([] if self.remedy is None else [self.remedy]),
        ]
        return "\n  ".join(lines)

    def _parts(self) -> tuple[str, str | None]:
        for found in _SEMICOLON.finditer(self.message):
            if found[0] == "; ":
                return self.message[: found.start()], self.message[found.end() :]
        return self.message, None

    def _where(self) -> str:
        """Return where the fault is in the text at `place`."""
        return ""

    def _picture(self) -> tuple[str, ...]:
        """Return lines that show the fault, between the cause and the remedy."""
        return ()

    def __reduce__(self) -> tuple[object, ...]:
        # The default `__reduce__` passes positional arguments only and loses keyword-only ones.
        # Attributes are a separate state, because they can refer to the error itself.
        return (_rebuild, (type(self), self.args), self.__dict__.copy())


# A quoted text, or a semicolon outside of one. An apostrophe inside a word does not open a text.
_SEMICOLON = re.compile(r"""(?<!\w)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|; """)


def _rebuild(error_type: type[StructkitError], args: tuple[object, ...]) -> StructkitError:
    error = error_type.__new__(error_type, *args)
    error.args = args
    return error


def _shortened(text: str, max_length: int) -> str:
    return text if len(text) <= max_length else f"{text[: max_length // 2]} ... {text[-max_length // 2 :]}"


class SchemaError(StructkitError):
    """The target is not a type that pydantic supports, or is not a valid JSON Schema."""


class UnsupportedKeyword(SchemaError):
    """structkit cannot enforce this JSON Schema keyword, or this value of it, while decoding.

    Attributes:
        keyword: The keyword.
    """

    def __init__(self, keyword: str, message: str, *, place: str | None = None) -> None:
        super().__init__(message, place=place)
        self.keyword = keyword


class UnsatisfiableSchema(SchemaError):
    """No JSON value satisfies the schema."""


class UnresolvedReference(SchemaError):
    """The target of a `$ref` does not exist, or lies outside the schema."""


class PatternError(StructkitError):
    """The pattern has a syntax error, or is not a regular expression in the formal sense.

    Attributes:
        pattern: The pattern.
        column: The position of the fault in `pattern`, from 0.
    """

    def __init__(self, message: str, *, pattern: str, column: int, place: str | None = None) -> None:
        super().__init__(message, place=place)
        self.pattern = pattern
        self.column = column

    def _picture(self) -> tuple[str, ...]:
        return _window(self.pattern, self.column)


class GrammarError(StructkitError):
    """The grammar has a syntax error, or its rules contradict each other.

    Attributes:
        line: The line of the fault, from 1.
        column: The column of the fault, from 1.
        source: The text of the line.
    """

    def __init__(
        self, message: str, *, line: int, column: int, source: str, place: str | None = None
    ) -> None:
        super().__init__(message, place=place)
        self.line = line
        self.column = column
        self.source = source

    def _where(self) -> str:
        return f", line {self.line}, column {self.column}"

    def _picture(self) -> tuple[str, ...]:
        return _window(self.source, self.column - 1)


def _window(text: str, column: int) -> tuple[str, str]:
    """Return about 100 characters of `text` around `column`, and a line with a caret below it."""
    start = max(0, column - 50)
    shown = text[start : start + 100].replace("\t", " ")
    cut = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
    return cut, f"{' ' * (column - start)}^"


class VocabularyError(StructkitError):
    """The tokenizer cannot be read as bytes, or its tokens cannot spell the values of the target."""


class LimitExceeded(StructkitError):
    """Compilation would exceed one of the `Limits`, or a fixed bound on what is counted by one of them.

    Attributes:
        limit: The name of the field in `Limits`.
        value: The value of the limit.
    """

    def __init__(
        self, limit: str, value: int, building: str, *, place: str | None = None, is_fixed: bool = False
    ) -> None:
        fault = f"{building} exceeds the limit {limit}={value}"
        remedy = "which is fixed; simplify it" if is_fixed else f"simplify it or pass Limits({limit}=...)"
        super().__init__(f"{fault}{',' if is_fixed else ';'} {remedy}", place=place)
        self.limit = limit
        self.value = value


class MissingExtra(StructkitError, ImportError):
    """A feature needs a package that is not installed; the message ends with the command that installs it.

    Attributes:
        extra: The extra of the distribution `structkit-llm` that contains the package.

    >>> print(MissingExtra("mcp", "tools of MCP servers need", "mcp, version 2"))
    tools of MCP servers need the package mcp, version 2
      pip install "structkit-llm[mcp]"
    """

    def __init__(self, extra: str, feature: str, package: str, *, place: str | None = None) -> None:
        super().__init__(f"{feature} the package {package}; {self.command_of(extra)}", place=place)
        self.extra = extra

    @staticmethod
    def command_of(extra: str) -> str:
        """Return the command that installs structkit with an extra; shells of all platforms accept its quotes."""
        return f'pip install "structkit-llm[{extra}]"'


class AgentError(StructkitError):
    """The tools and the output type of an agent do not fit together, or a state cannot be resumed."""


class AgentRecursionError(AgentError, RecursionError):
    """Runs of agents are nested too deep: a tool, an instruction or a validator runs its own agent without end.

    It ends all of these runs, whatever their `errors` and the `reraise` of their tools say.
    """


class _FromUser(StructkitError):
    """An error whose message a user's code wrote, often for a model: it stays as it is, on one line."""

    def _parts(self) -> tuple[str, str | None]:
        return self.message, None


class ToolError(_FromUser):
    """Report a failed call to the model: the message replaces the output of the tool, and the run continues.

    Tools raise this error.

    >>> def lookup(name: str) -> str:
    ...     raise ToolError(f"there is no customer {name}; give the full name")
    """

    def __init__(self, message: object = "the call failed", *, place: str | None = None) -> None:
        super().__init__(f"{message}", place=place)


class ApprovalRequired(_FromUser):
    """Suspend the run until the call is approved or denied; see `structkit.RunSuspended`.

    Tools raise this error, and not again when the call is approved.

    >>> import structkit as sk
    >>> def pay(context: sk.Context[object], euros: float) -> None:
    ...     if euros > 100 and not context.approved:
    ...         raise ApprovalRequired("more than 100 euros")
    """

    def __init__(self, message: object = "the call requires approval", *, place: str | None = None) -> None:
        super().__init__(f"{message}", place=place)


class Retry(_FromUser, ValueError):
    """Reject a value: the model reads the message, and generates another value.

    The validators of `validate=`, and those of pydantic, raise this error or another `ValueError`. In a tool it is a
    `ToolError`.

    >>> def known(name: str) -> None:
    ...     if name not in ("Ana", "Tom"):
    ...         raise Retry("nobody is called that; give the full name")
    """

    def __init__(self, message: object = "give another value", *, place: str | None = None) -> None:
        super().__init__(f"{message}", place=place)


class GenerationError(StructkitError):
    """Decoding failed.

    Attributes:
        trace: A `structkit.Trace` of everything that was received until then, which `print` draws; of
            `structkit.UsageLimitExceeded` a `structkit.RunTrace`. `None` if no generation had started. A type checker
            knows the attributes of `structkit.Trace` after `isinstance(error.trace, structkit.Trace)`.
    """

    trace: Drawing | None = None


class TokenRejected(GenerationError):
    """The mask forbids the token passed to `advance`; the cursor is unchanged.

    Attributes:
        token_id: The rejected token.
    """

    def __init__(self, token_id: int, message: str, *, place: str | None = None) -> None:
        super().__init__(message, place=place)
        self.token_id = token_id


class BudgetTooSmall(GenerationError):
    """`max_tokens` is below the length of the shortest value; raised before the first token.

    Attributes:
        needed: Length of the shortest value, in tokens.
        budget: The allowed number of tokens.
    """

    def __init__(
        self, needed: int, budget: int, *, context: str | None = None, place: str | None = None
    ) -> None:
        least = f"the shortest value needs {needed} token{'s' * (needed != 1)}"
        # A larger `max_tokens` does not help if the context of the model is full.
        super().__init__(
            f"{least} and only {budget} {'is' if budget == 1 else 'are'} allowed; pass max_tokens={needed} or more"
            if context is None
            else f"{least} and the context of the model leaves {budget}: {context}",
            place=place,
        )
        self.needed = needed
        self.budget = budget


ExceededLimit: TypeAlias = Literal["max_tokens", "timeout", "context", "depth"]


class BudgetExceeded(GenerationError):
    """A limit was reached before the value was complete, and the call has `on_limit="raise"`.

    With `on_limit="answer"` the value is completed within the limit instead, and `Result.finish_reason` is `"budget"`.

    Attributes:
        limit: `"max_tokens"`; `"timeout"`; `"context"`, the context length of the model; or `"depth"`, the depth of
            JSON that pydantic reads.
        text: What the model has written of the value until then, not a complete value.
    """

    def __init__(self, message: str, *, limit: ExceededLimit, text: str, place: str | None = None) -> None:
        super().__init__(message, place=place)
        self.limit: ExceededLimit = limit
        self.text = text


class OutputValidationError(GenerationError):
    """The text matches the schema, but validators of the type reject the value.

    Attributes:
        text: The text of the last attempt.
        attempts: The texts of all attempts, including the last.
        rejected: Why the last attempt was rejected: path, message and cause in one value.
        usage: The `structkit.Usage` of all attempts; `None` if no model was called.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str,
        attempts: tuple[str, ...],
        rejected: Rejected,
        usage: object = None,
        place: str | None = None,
    ) -> None:
        super().__init__(message, place=place)
        self.text = text
        self.attempts = attempts
        self.rejected = rejected
        self.usage = usage

    @property
    def path(self) -> tuple[str | int, ...]:
        """Keys and indices that lead to the rejected part of the last attempt; empty for the complete value."""
        return self.rejected.path

    @property
    def error(self) -> Exception:
        """The error of the validators for the last attempt: a `pydantic.ValidationError` for a Python type."""
        return self.rejected.cause


class CorrectionsExhausted(GenerationError):
    """The replies of a text model did not complete a value within the bounds on corrections, calls and seconds.

    Attributes:
        prefix: The accepted start of the answer.
        drafts: All replies, as far as they were read.
    """

    def __init__(
        self, message: str, *, prefix: str, drafts: tuple[str, ...], place: str | None = None
    ) -> None:
        super().__init__(message, place=place)
        self.prefix = prefix
        self.drafts = drafts


class ModelError(GenerationError):
    """The model could not be loaded, or did not return logits or a reply; the cause is chained.

    Attributes:
        prefix: The accepted start of the answer of a text model.
        drafts: The replies of a text model before it failed, as far as they were read.
    """

    prefix: str = ""
    drafts: tuple[str, ...] = ()


class ScriptError(ModelError):
    """A `structkit.testing.ScriptedModel` has a reply that the target does not allow, or unused replies."""
