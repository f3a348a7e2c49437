"""Runs of an agent that is a tool of another agent."""

from __future__ import annotations

from structkit.agent.run.budget import UsageLimits, min_limit
from structkit.agent.run.driver import drive_sync
from structkit.agent.run.record import UsageLimitExceeded
from structkit.agent.run.run import Run
from structkit.agent.run.state import RunSuspended
from structkit.agent.tools.context import Context
from structkit.errors import BudgetTooSmall, ToolError
from structkit.generate.input.settings import Settings
from structkit.models.text.protocol import AnyModel

__all__ = ["drive_nested", "nested_limits"]


def nested_limits(settings: Settings, context: Context[object]) -> UsageLimits:
    """Return the limits of a nested run: those of its agent and of the calling run together."""
    return UsageLimits(
        max_tokens=min_limit(settings.max_tokens, context.tokens_left),
        timeout=min_limit(settings.timeout, context.seconds_left),
    )


def drive_nested(run: Run, model: AnyModel, context: Context[object], name: str) -> object:
    """Return the result of a nested run; its usage counts as usage of the calling run.

    Args:
        run: The nested run.
        model: Its model.
        context: The context of the call.
        name: The name of the tool, for messages.

    Raises:
        ToolError: A call requires approval.
        UsageLimitExceeded: The nested run reached a limit, or the calling run leaves too few tokens for a result.
        Exception: See `structkit.Agent.run`.
    """
    try:
        return drive_sync(run, model, cancelled=context.cancelled)
    except RunSuspended as suspended:
        call = suspended.state.pending[0]
        raise ToolError(
            f"the call of {call.name} requires approval, which a nested run cannot request ({call.reason})"
        ) from suspended
    except UsageLimitExceeded as error:
        error.place = name if error.place is None else f"{name}: {error.place}"
        raise
    except BudgetTooSmall as error:
        if error.budget != context.tokens_left:
            raise
        raise UsageLimitExceeded(
            f"the calling run leaves {error.budget} tokens for {name}, whose shortest result needs {error.needed}; "
            "increase max_tokens",
            limit="max_tokens",
            record=run.record(),
            place=name,
        ) from error
    finally:
        context.spend(run.usage)
