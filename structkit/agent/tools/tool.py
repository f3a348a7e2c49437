"""Tools: functions that an agent can call, with their options."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from inspect import iscoroutinefunction
from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeAlias, TypeVar, cast, overload

from structkit.agent.tools.context import Context
from structkit.arguments.checks import check_function, check_int, check_number, check_type
from structkit.arguments.names import hints_arguments, missing_attribute
from structkit.errors import AgentError
from structkit.functions.call import Call
from structkit.functions.signature import is_function
from structkit.targets.specs import JsonSchema

__all__ = ["AnyTool", "Availability", "Tool", "as_tool", "tool"]

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
D = TypeVar("D")

Availability: TypeAlias = "Callable[[Context[object]], bool | Awaitable[bool]]"
"""The type of the predicates that make tools available."""

_HINTS: Mapping[str, str] = MappingProxyType(
    {
        "args_schema": "annotate the parameters of the function",
        "description_override": "write description=...",
        "docstring_format": "leave it out: Google, NumPy and Sphinx docstrings are recognized",
        "failure_error_function": "raise structkit.ToolError in the function, or write Agent(..., errors='report')",
        "func": "write structkit.tool(f)",
        "handle_tool_error": "raise structkit.ToolError in the function, or write Agent(..., errors='report')",
        "is_enabled": "write available=...",
        "max_retries": "write tool_retries=...",
        "max_uses": "write max_calls=...",
        "name_override": "write name=...",
        "needs_approval": "write requires_approval=...",
        "parse_docstring": "leave it out: Google, NumPy and Sphinx docstrings are recognized",
        "prepare": "write available=...",
        "response_format": "let the function return structkit.Return(content, metadata=artifact)",
        "retries": "write tool_retries=...",
        "return_direct": "write Agent(..., output_type=f)",
        "strict": "leave it out: a call always has the arguments that the function accepts",
        "takes_ctx": "annotate the first parameter of the function with structkit.Context",
        "usage_limit": "write max_calls=...",
    }
)
"""What other libraries call an option, and what to write here."""

_OTHER_ATTRIBUTES = dict.fromkeys(
    ("ainvoke", "arun", "forward", "invoke", "on_invoke_tool", "run"), "the call of the function, f(...)"
)
"""What other libraries call the call of a tool."""


@hints_arguments({**_HINTS, "*": "write structkit.tool(f)"})
@dataclass(frozen=True, kw_only=True)
class Tool(Generic[P, R_co]):
    """A function that an agent can call, with options. A plain function is a tool with default options.

    Created by `structkit.tool`. Calling the tool calls the function.
    """

    function: Callable[P, R_co]
    """The function."""

    name: str
    """Name of the tool in calls."""

    description: str | None = None
    """Description for the model; by default from the docstring."""

    tool_retries: int = 2
    """Number of consecutive retries after an error. One more error raises `UsageLimitExceeded`, or makes the tool
    unavailable if the agent has `on_limit="answer"`."""

    timeout: float | None = None
    """Timeout of a call in seconds, after which the model reads an error; a `timeout` of the run applies too. A sync
    function cannot be interrupted and continues in its own thread."""

    max_calls: int | None = None
    """Maximum number of calls per run; then the tool becomes unavailable."""

    sequential: bool = False
    """Whether a call runs alone: after the calls before it in the same step, and before those after it."""

    reraise: tuple[type[BaseException], ...] | None = None
    """Exceptions that end the run; all others are reported to the model. `None`: the agent's option `errors` decides. A
    `ToolError` or a `Retry` ends the run only if a type listed here is one of them or a subclass. `StopIteration`,
    `GeneratorExit` and `asyncio.CancelledError` are raised as the cause of an `AgentError`, because they would end the
    caller's loop or task. A `RecursionError`, such as `AgentRecursionError`, and other `BaseException`s, such as
    `KeyboardInterrupt`, always end the run."""

    requires_approval: bool | Callable[[Call[object]], bool] = False
    """Whether the run suspends before the tool is called, until the call is approved; or a predicate of the call."""

    defer: bool = False
    """Whether the caller executes the calls: the run suspends before a call, and `Agent.resume` takes the result as
    `structkit.Return(value)`. The function only describes the parameters."""

    available: Availability | None = None
    """Predicate of the context, sync or async, evaluated before each step: whether the model can call the tool, and its
    prompt describes it."""

    schema: Mapping[str, object] | JsonSchema | None = None
    """JSON Schema of the arguments, if the parameters of the function do not describe them. In a plain dict, objects
    have no additional properties by default; a `structkit.JsonSchema` has its own setting."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function."""
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R_co]:
        """Bind a decorated method to its instance."""
        if instance is None:
            return self
        bind: Callable[..., Callable[..., R_co]] = getattr(self.function, "__get__")  # noqa: B009
        return cast("Tool[..., R_co]", replace(self, function=bind(instance, owner)))

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Name what other libraries call otherwise."""
            raise missing_attribute(self, name, _OTHER_ATTRIBUTES)

    def __post_init__(self) -> None:
        if not callable(self.function):
            hint = f"name={self.function!r:.60}" if isinstance(self.function, str) else "function"
            raise TypeError(f"a tool is a function, not {self.function!r:.60}; write structkit.tool({hint})")
        for what, value, kind in (
            ("name", self.name, str),
            ("description", self.description, (str, NoneType)),
        ):
            if not isinstance(value, kind):
                raise TypeError(f"the {what} of a tool is a string, not {value!r:.60}")
        if self.available is not None:
            check_function(f"available of {self.name}", self.available, "context")
        if not re.fullmatch(r"[\w-][\w.-]{0,63}", self.name):
            remedy = "use up to 64 letters, digits, `_`, `-` or `.`, with no `.` first"
            if self.name in ("", "<lambda>"):
                remedy = "write a def, or structkit.tool(..., name='...')"
            raise AgentError(f"invalid tool name {self.name!r}; {remedy}")
        check_int("tool_retries", self.tool_retries, 0)
        check_int("max_calls", self.max_calls, 1)
        if self.timeout is not None:
            check_number("timeout", self.timeout, 0, float("inf"), exclusive=True)
        for error in cast("tuple[object, ...]", self.reraise or ()):
            if not (isinstance(error, type) and issubclass(error, BaseException)):
                raise TypeError(f"reraise takes exception types, such as KeyError, not {error!r:.60}")
        approval: object = self.requires_approval
        if not (callable(approval) or isinstance(approval, bool)):
            raise TypeError(
                f"requires_approval is True, False, or a function of the call, not {approval!r:.60}"
            )
        if not isinstance(approval, bool):
            check_function(f"requires_approval of {self.name}", approval, "call")
        check_type(f"defer of {self.name}", self.defer, bool, "True or False")
        check_type(f"sequential of {self.name}", self.sequential, bool, "True or False")
        if iscoroutinefunction(approval):
            raise TypeError(
                f"requires_approval of {self.name} must be sync; use def, or raise ApprovalRequired in the tool"
            )


_INNER = ("func", "coroutine", "function", "forward", "fn")
"""Where tools of other libraries have their functions."""

AnyTool: TypeAlias = "Callable[..., object] | Tool[..., object]"
"""The types that an agent accepts as a tool."""


@overload
def tool(function: Callable[P, R_co], /) -> Tool[P, R_co]: ...
@overload
def tool(
    function: Callable[P, R_co],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    tool_retries: int = 2,
    timeout: float | None = None,
    max_calls: int | None = None,
    sequential: bool = False,
    reraise: type[BaseException] | tuple[type[BaseException], ...] | None = None,
    requires_approval: bool | Callable[[Call[object]], bool] = False,
    defer: bool = False,
    available: Callable[[Context[D]], bool | Awaitable[bool]] | None = None,
) -> Tool[P, R_co]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    tool_retries: int = 2,
    timeout: float | None = None,
    max_calls: int | None = None,
    sequential: bool = False,
    reraise: type[BaseException] | tuple[type[BaseException], ...] | None = None,
    requires_approval: bool | Callable[[Call[object]], bool] = False,
    defer: bool = False,
    available: Callable[[Context[D]], bool | Awaitable[bool]] | None = None,
) -> Callable[[Callable[P, R_co]], Tool[P, R_co]]: ...
@hints_arguments(_HINTS)
def tool(
    function: Callable[P, R_co] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    tool_retries: int = 2,
    timeout: float | None = None,
    max_calls: int | None = None,
    sequential: bool = False,
    reraise: type[BaseException] | tuple[type[BaseException], ...] | None = None,
    requires_approval: bool | Callable[[Call[object]], bool] = False,
    defer: bool = False,
    available: Callable[[Context[D]], bool | Awaitable[bool]] | None = None,
) -> Tool[P, R_co] | Callable[[Callable[P, R_co]], Tool[P, R_co]]:
    """Set options of a tool; as a decorator, or around a function.

    Args:
        function: The function, sync or async, or a method.
        name: Name of the tool in calls; by default the name of the function.
        description: Description for the model; by default from the docstring.
        tool_retries: Number of consecutive retries after an error of the tool; one more error raises
            `UsageLimitExceeded`, or makes the tool unavailable if the agent has `on_limit="answer"`.
        timeout: Timeout of a call in seconds, after which the model reads an error.
        max_calls: Maximum number of calls per run.
        sequential: Whether a call runs alone: after the calls before it in the same step, and before those after it.
        reraise: One or more exceptions that end the run; all others are reported to the model. By default the agent's
            option `errors` decides.
        requires_approval: Whether the run suspends before the call until it is approved; or a predicate of the call.
        defer: Whether the caller executes the calls: the run suspends, and `Agent.resume` takes the result.
        available: A predicate of the context, sync or async, evaluated before each step. While it is false, the model
            cannot call the tool, and the prompt does not mention it.

    Raises:
        AgentError: The name is not a valid tool name.
        ValueError: A number is out of range.

    >>> @tool(max_calls=1)
    ... def today() -> str:
    ...     '''The date of today.'''
    ...     return "2026-11-21"
    >>> today.name, today.max_calls, today()
    ('today', 1, '2026-11-21')
    """

    def made(function: Callable[P, R_co]) -> Tool[P, R_co]:
        return Tool(
            function=_read_function(function),
            name=_name_of(function) if name is None else name,
            description=description,
            tool_retries=tool_retries,
            timeout=timeout,
            max_calls=max_calls,
            sequential=sequential,
            reraise=reraise if reraise is None or isinstance(reraise, tuple) else (reraise,),
            requires_approval=requires_approval,
            defer=defer,
            available=cast("Availability | None", available),
        )

    return made if function is None else made(function)


def _read_function(given: Callable[P, R_co]) -> Callable[P, R_co]:
    """Return what a tool calls: for an object with `__call__`, this method, whose module has the annotations' names.

    Raises:
        AgentError: The argument is a tool.
    """
    if isinstance(given, Tool):
        raise AgentError(
            f"{given.name} is a tool already; give its options to the first structkit.tool, or write "
            f"dataclasses.replace({given.name}, max_calls=1)"
        )
    is_wrapper = hasattr(given, "__wrapped__")  # it has the signature of the function inside
    if isinstance(given, (type, partial)) or is_wrapper or is_function(given) or not callable(given):
        return given
    method: Callable[P, R_co] = getattr(given, "__call__")  # noqa: B004, B009
    return method


def _name_of(function: object) -> str:
    """Return the name of a function, or of the function in a `functools.partial`."""
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", ""))


def as_tool(given: AnyTool) -> Tool[..., object]:
    """Convert a function to a tool.

    Raises:
        AgentError: The argument is neither a function nor a tool.
    """
    if isinstance(given, Tool):
        return given
    if not is_function(given):
        kind = f"the class {given.__name__}" if isinstance(given, type) else repr(given)
        hint = (
            ""
            if isinstance(given, type) or not callable(given)
            else "; for a callable object, write structkit.tool(object, name='...')"
        )
        if isinstance(given, Mapping):
            hint = "; for a JSON Schema, write structkit.Tool(function=f, name='...', schema={...})"
        if isinstance(given, str) and given.isidentifier():
            hint = f"; write {given} without quotation marks"
        inner = next((each for each in _INNER if callable(getattr(given, each, None))), None)
        hint = "; for an agent, give agent.as_tool(name)" if hasattr(given, "as_tool") else hint
        hint = "; for an MCP server, give its tools()" if hasattr(given, "atools") else hint
        if inner is not None and (hasattr(given, "name") or hasattr(given, "metadata")):
            hint = f"; for a tool of another library, give its function, tool.{inner}"
        raise AgentError(
            f"{kind:.80} is not a tool; give functions, methods, or structkit.tool(...) of them{hint}"
        )
    return tool(given)
