"""Tools: functions that an agent may call, with what must be said of them besides."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from inspect import iscoroutinefunction
from types import NoneType
from typing import Generic, ParamSpec, TypeAlias, TypeVar, cast, overload

from structkit.agent.tools.context import Context
from structkit.errors import AgentError
from structkit.functions.call import Call
from structkit.functions.signature import is_function
from structkit.generate.sample.sample import check_int, check_number
from structkit.targets.targets import JsonSchema

__all__ = ["AnyTool", "Tool", "as_tool", "tool"]

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[P, R_co]):
    """A function that an agent may call. A plain function is a tool too; this says what must be said otherwise.

    Made by `structkit.tool`. It can be called as the function is.
    """

    function: Callable[P, R_co]
    """The function."""

    name: str
    """What the model calls it by."""

    description: str | None = None
    """What the model is told of it; by default what the docstring says."""

    retries: int = 2
    """How often in a row the model may try again after an error; then the tool is no longer among those it can call."""

    timeout: float | None = None
    """Seconds after which the model is told that there is no output; where a run has a `timeout`, no call is waited for
    when that is over. A function that is not async cannot be stopped: it is left to itself, in a thread of its own."""

    max_calls: int | None = None
    """How often it may be called in a run; then it is no longer among those that can be called."""

    reraise: tuple[type[BaseException], ...] = ()
    """Exceptions that end the run instead of being told to the model. `StopIteration`, `GeneratorExit` and
    `asyncio.CancelledError` do as the cause of an `AgentError`, for they would end whatever loop or task the run is in.
    What is no `Exception`, such as `KeyboardInterrupt`, ends it anyway."""

    requires_approval: bool | Callable[[Call[object]], bool] = False
    """Whether the run stops before the tool is called, until somebody has decided; or which calls it stops before."""

    available: Callable[[Context[object]], bool | Awaitable[bool]] | None = None
    """Whether it is among the tools that can be called, asked once before each step; an async function is awaited."""

    schema: Mapping[str, object] | JsonSchema | None = None
    """A JSON Schema of the arguments, where the function's own parameters do not say what they are. The objects of a
    plain dict have no other keys than it declares; a `structkit.JsonSchema` says itself whether they have."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function."""
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R_co]:
        """The tool of an instance, where a method was decorated."""
        if instance is None:
            return self
        bind: Callable[..., Callable[..., R_co]] = getattr(self.function, "__get__")  # noqa: B009
        return cast("Tool[..., R_co]", replace(self, function=bind(instance, owner)))

    def __post_init__(self) -> None:
        for what, said, kind in (
            ("name", self.name, str),
            ("description", self.description, (str, NoneType)),
        ):
            if not isinstance(said, kind):
                raise TypeError(f"the {what} of a tool is a text, not {said!r:.60}")
        if not (self.available is None or callable(self.available)):
            raise TypeError(
                f"available of {self.name} is a function of the run's context, not {self.available!r:.60}"
            )
        if not re.fullmatch(r"[^\W\d][\w.-]{0,63}", self.name):
            raise AgentError(
                f"{self.name!r} is no name for a tool: take a letter, then up to 63 letters, digits, `_`, `-` or `.`"
            )
        check_int("retries", self.retries, 0)
        check_int("max_calls", self.max_calls, 1)
        if self.timeout is not None:
            check_number("timeout", self.timeout, 0, float("inf"), exclusive=True)
        for error in cast("tuple[object, ...]", self.reraise):
            if not (isinstance(error, type) and issubclass(error, BaseException)):
                raise TypeError(f"reraise takes types of exceptions, such as KeyError, not {error!r:.60}")
        asked: object = self.requires_approval
        if not (callable(asked) or isinstance(asked, bool)):
            raise TypeError(
                f"requires_approval is True, False, or a function of each call, not {asked!r:.60}"
            )
        if iscoroutinefunction(asked):
            raise TypeError(
                f"requires_approval of {self.name} is not awaited; write a def, or raise structkit.Pause in the tool"
            )


AnyTool: TypeAlias = "Callable[..., object] | Tool[..., object]"
"""What an agent takes as a tool."""


@overload
def tool(function: Callable[P, R_co], /) -> Tool[P, R_co]: ...
@overload
def tool(
    function: Callable[P, R_co],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    retries: int = 2,
    timeout: float | None = None,
    max_calls: int | None = None,
    reraise: type[BaseException] | tuple[type[BaseException], ...] = (),
    requires_approval: bool | Callable[[Call[object]], bool] = False,
) -> Tool[P, R_co]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    retries: int = 2,
    timeout: float | None = None,
    max_calls: int | None = None,
    reraise: type[BaseException] | tuple[type[BaseException], ...] = (),
    requires_approval: bool | Callable[[Call[object]], bool] = False,
) -> Callable[[Callable[P, R_co]], Tool[P, R_co]]: ...
def tool(
    function: Callable[P, R_co] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    retries: int = 2,
    timeout: float | None = None,
    max_calls: int | None = None,
    reraise: type[BaseException] | tuple[type[BaseException], ...] = (),
    requires_approval: bool | Callable[[Call[object]], bool] = False,
) -> Tool[P, R_co] | Callable[[Callable[P, R_co]], Tool[P, R_co]]:
    """Say of a tool what its function does not; as a decorator, or around a function.

    Args:
        function: The function, sync or async, or a method.
        name: What the model calls it by; by default its own name.
        description: What the model is told of it; by default what the docstring says.
        retries: How often in a row the model may try again after an error of the tool; then it disappears from what
            the model can call.
        timeout: Seconds after which the model is told that there is no output.
        max_calls: How often it may be called in a run.
        reraise: An exception, or several, that end the run instead of being told to the model.
        requires_approval: Whether the run stops before the call until somebody has decided; or a function that says of
            each call whether it does.

    Raises:
        AgentError: The name is none that a model could call it by.
        ValueError: A number is out of its range.

    >>> @tool(max_calls=1)
    ... def today() -> str:
    ...     '''The date of today.'''
    ...     return "2026-11-21"
    >>> today.name, today.max_calls, today()
    ('today', 1, '2026-11-21')
    """

    def made(function: Callable[P, R_co]) -> Tool[P, R_co]:
        return Tool(
            function=function,
            name=str(getattr(function, "__name__", "")) if name is None else name,
            description=description,
            retries=retries,
            timeout=timeout,
            max_calls=max_calls,
            reraise=reraise if isinstance(reraise, tuple) else (reraise,),
            requires_approval=requires_approval,
        )

    return made if function is None else made(function)


def as_tool(given: AnyTool) -> Tool[..., object]:
    """A tool of what an agent was given as one.

    Raises:
        AgentError: It is neither a function nor a tool.
    """
    if isinstance(given, Tool):
        return given
    if not is_function(given):
        kind = f"the class {given.__name__}" if isinstance(given, type) else repr(given)
        hint = "" if isinstance(given, type) or not callable(given) else "; of an object give its __call__"
        hint = "; of an agent give agent.as_tool(name)" if hasattr(given, "as_tool") else hint
        raise AgentError(
            f"{kind:.80} is no tool; give functions, methods, or structkit.tool(...) of them{hint}"
        )
    inner = given
    while (partly := getattr(inner, "func", None)) is not None:
        inner = partly
    return tool(given, name=str(getattr(inner, "__name__", "")))
