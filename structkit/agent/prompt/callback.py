"""Functions of the user that a run calls, with its context or without."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args, get_origin

from typing_extensions import get_type_hints

from structkit.agent.tools.context import Context
from structkit.agent.tools.prepared import check_deps, check_deps_type

__all__ = ["Callback", "read_callback"]

_OPTIONAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Callback:
    """A function of the user that a run calls.

    Attributes:
        function: The function.
        location: Its place in the options of the agent, for messages.
        takes_context: Whether its first parameter is the context.
        deps_type: The type of the dependencies in the annotation of that parameter.
    """

    function: Callable[..., object]
    location: str
    takes_context: bool
    deps_type: object

    def __call__(self, context: Context[object], *arguments: object) -> object:
        """Call the function; the result of an async function must be awaited."""
        return self.function(context, *arguments) if self.takes_context else self.function(*arguments)

    def check_deps(self, deps: object) -> None:
        """Check the dependencies of a run; see `check_deps`."""
        check_deps(self.location, self.deps_type, deps)


def read_callback(
    function: Callable[..., object], location: str, arguments: tuple[str, ...], deps_type: object
) -> Callback:
    """Read the signature of a function of the user.

    Args:
        function: The function.
        location: Its place in the options of the agent.
        arguments: The names of its arguments, for messages; the context can come before them.
        deps_type: The type of the dependencies of the agent.

    Raises:
        TypeError: The function takes other arguments.
        AgentError: The function expects other dependencies than `deps_type`.
    """
    location = f"{location} ({getattr(function, '__name__', function)!s:.60})"
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return Callback(function, location, takes_context=False, deps_type=object)
    positional = [each for each in parameters if each.kind in _POSITIONAL]
    required = [each for each in parameters if each.default is each.empty and each.kind not in _OPTIONAL]
    annotation = _annotations(function).get(positional[0].name) if positional else None
    has_annotation = annotation is Context or get_origin(annotation) is Context
    takes_context = has_annotation or len(required) > len(arguments)
    count = len(arguments) + takes_context
    most = count if any(each.kind is each.VAR_POSITIONAL for each in parameters) else len(positional)
    if not len(required) <= count <= most or any(each not in positional for each in required):
        names = ", ".join(each.name for each in required) or "no argument"
        wanted = ", ".join(arguments)
        raise TypeError(
            f"{location} takes {names}; write a function of (context{wanted and f', {wanted}'}) or of ({wanted})"
        )
    expected = next(iter(get_args(annotation)), object) if has_annotation else object
    check_deps_type(location, expected, deps_type)
    return Callback(function, location, takes_context, expected)


def _annotations(function: object) -> dict[str, object]:
    try:
        return dict(get_type_hints(function))
    except Exception:  # an annotation is user code, and may name what is not imported
        return {}
