"""The value of a run: the generated one, or what an output function returns, and the outputs that it refuses."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import cast

from structkit.agent.formats.output import OutputFunction, function_of
from structkit.agent.run.actions import Action, CallOutcome, ExecuteCalls, PreparedCall
from structkit.agent.run.config import AgentConfig
from structkit.agent.run.state import RunSuspended, nested_suspension
from structkit.agent.tools.context import Context
from structkit.errors import AgentError, OutputValidationError, Retry, ToolError
from structkit.functions.call import Call
from structkit.generate.input.prompt import Prompt
from structkit.generate.run.rejection import with_rejections
from structkit.rejected import Rejected
from structkit.vocabulary.control_tokens import display_text

__all__ = ["check_refusals", "output_value", "with_refusals"]

_MAX_MESSAGE = 2_000
"""Maximum number of characters of a refusal in the prompt."""


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
    if isinstance(outcome.error, RunSuspended):
        raise nested_suspension(tool.name, outcome.error) from outcome.error
    if outcome.error is not None:
        raise outcome.error
    return outcome.result


def with_refusals(turns: Prompt, refused: Sequence[tuple[str, str]]) -> Prompt:
    """Return the prompt of a step with the outputs that an output function refused, and why."""
    return with_rejections(turns, [(text, message[:_MAX_MESSAGE]) for text, message in refused])


def check_refusals(
    refused: Sequence[tuple[str, str]], refusal: Retry | ToolError, config: AgentConfig, *, is_last: bool
) -> None:
    """Check that a further step may generate another output.

    Args:
        refused: The refused outputs so far, each with the message for the model.
        refusal: The error of the last one.
        config: The configuration of the agent.
        is_last: Whether no step follows. With `on_limit="raise"` the next step raises the error of the limit.

    Raises:
        OutputValidationError: All retries, or all steps, are used.
    """
    used = len(refused) > config.settings.retries
    if not (used or (is_last and config.on_limit == "answer")):
        return
    text, message = refused[-1]
    reason = f"retries={config.settings.retries} are used" if used else "all steps are used"
    remedy = "increase retries" if used else "increase max_steps"
    raise OutputValidationError(
        f"the output function refused {display_text(text):.200}, and {reason}: {message}; {remedy}, or let the "
        "instructions say what it accepts",
        text=display_text(text),
        attempts=tuple(display_text(each) for each, _ in refused),
        rejected=Rejected((), message, refusal),
    ) from refusal
