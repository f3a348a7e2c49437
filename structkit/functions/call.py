"""Calls: a function with generated arguments."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from structkit.arguments.names import missing_attribute

__all__ = ["Call"]

R_co = TypeVar("R_co", covariant=True)

_OTHER_ATTRIBUTES = {
    "args": ".arguments",
    "execute": ".call()",
    "function_name": ".name",
    "input": ".arguments",
    "invoke": ".call()",
    "kwargs": ".arguments",
    "run": ".call()",
    "tool_name": ".name",
}
"""What other libraries call the attributes of a call, and what to write here."""


@dataclass(frozen=True)
class Call(Generic[R_co]):
    """A function and its validated arguments, not yet called: the value of a function in a target.

    Attributes:
        function: The function.
        name: Its name.
        arguments: Values of the parameters by name, in their declared types. A parameter that the model omitted has
            its default.

    >>> def add(a: int, b: int = 1) -> int:
    ...     return a + b
    >>> call = Call(add, "add", {"a": 2, "b": 3})
    >>> call.call()
    5
    """

    function: Callable[..., object]
    name: str
    arguments: Mapping[str, object]

    def call(self) -> R_co:
        """Call the function and return its result; an async function runs in a new event loop.

        Raises:
            RuntimeError: The function is async and an event loop already runs in this thread; await `acall` instead.
            Exception: Any exception of the function.
        """
        made = self.function(**self.arguments)
        if not inspect.isawaitable(made):
            return cast("R_co", made)
        awaited = _run_awaitable(cast("Awaitable[R_co]", made))
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(awaited)
        awaited.close()
        if inspect.iscoroutine(made):
            made.close()
        raise RuntimeError(f"{self.name} is async and an event loop runs here; write `await call.acall()`")

    async def acall(self) -> R_co:
        """Call the function and await its result if it is awaitable; a sync function blocks the event loop."""
        made = self.function(**self.arguments)
        return await cast("Awaitable[R_co]", made) if inspect.isawaitable(made) else cast("R_co", made)

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Name the attribute that is meant."""
            argument = {name: f".arguments[{name!r}]"} if name in vars(self).get("arguments", ()) else {}
            raise missing_attribute(self, name, {**_OTHER_ATTRIBUTES, **argument})

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"Call({self.name}({arguments}))"


async def _run_awaitable(awaitable: Awaitable[R_co]) -> R_co:
    return await awaitable
