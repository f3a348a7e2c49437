"""The value of a run: the generated one, or what an output function returns."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import cast

from structkit.agent.formats.output import OutputFunction, function_of
from structkit.agent.run.actions import Action, CallOutcome, ExecuteCalls, PreparedCall
from structkit.agent.tools.context import Context
from structkit.errors import AgentError
from structkit.functions.call import Call

__all__ = ["output_value"]


def output_value(
    value: object, functions: Sequence[OutputFunction], context: Context[object]
) -> Generator[Action, object, object]:
    """Request the execution of an output function, once, and return what it returns; return any other value.

    The timeout of the run does not apply, because the outcome of an abandoned call would be unknown.

    Raises:
        AgentError: The function raised an exception that would end a generator.
        BaseException: Any other exception of the function.
    """
    tool = function_of(value, functions)
    if tool is None:
        return value
    call = cast("Call[object]", value)
    prepared = PreparedCall("output", tool, call, replace(context, seconds_left=None), dict(call.arguments))
    (outcome,) = cast("Sequence[CallOutcome]", (yield ExecuteCalls((prepared,))))
    if isinstance(outcome.error, (StopIteration, StopAsyncIteration, GeneratorExit)):
        raise AgentError(
            f"{tool.name} raised {type(outcome.error).__name__}; raise another error", place=tool.name
        ) from outcome.error
    if outcome.error is not None:
        raise outcome.error
    return outcome.result
