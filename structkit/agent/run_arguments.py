"""Arguments that a method of an agent does not have: the error says what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from structkit.arguments.names import names_arguments

__all__ = ["names_run_arguments"]

_OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "additional_args": "deps",
        "context": "deps",
        "decisions": "approvals",
        "deferred_tool_results": "approvals",
        "input": "prompt",
        "max_turns": "max_steps",
        "message_history": "messages",
        "session": "messages",
        "tool_description": "description",
        "tool_name": "name",
        "toolsets": "tools",
        "user_prompt": "prompt",
    }
)
"""What other libraries call an argument, and what it is called here."""

_HINTS: Mapping[str, str] = MappingProxyType(
    {
        "approvals": "write agent.resume(state, approvals=...), with the state of RunSuspended",
        "custom_output_extractor": "write a tool that runs the agent, and returns what it takes of the value",
        "callbacks": "iterate over agent.stream(...)",
        "config": "write deps=... or usage_limits=...",
        "event_stream_handler": "iterate over agent.stream(...)",
        "history": "make another agent, with Agent(..., history=...)",
        "hooks": "iterate over agent.stream(...)",
        "instructions": "write `with agent.override(instructions=...):` around it",
        "max_steps": "write usage_limits=structkit.UsageLimits(max_steps=...) in the call of a run",
        "max_tokens": "write usage_limits=structkit.UsageLimits(max_tokens=...) in the call of a run",
        "model": "write agent.with_model(model) in place of agent",
        "model_settings": "its options are arguments of Agent, such as Agent(..., temperature=0.5)",
        "output_type": "make another agent, with Agent(..., output_type=...)",
        "retries": "make another agent, with Agent(..., retries=...)",
        "reset": "write messages=..., with result.messages of the run before",
        "stream": "write agent.stream(...)",
        "stream_mode": "leave it out: the events have the calls, the outputs and the text",
        "temperature": "write Agent(..., temperature=...)",
        "timeout": "write usage_limits=structkit.UsageLimits(timeout=...) in the call of a run",
        "tools": "write `with agent.override(tools=[...]):` around it",
        "usage": "in a tool write context.spend(result.usage) after the run, elsewhere result.usage + other.usage",
    }
)
"""What to write instead of an argument that another function has."""

F = TypeVar("F", bound=Callable[..., object])


def names_run_arguments(method: F) -> F:
    """Make a method of an agent say what to write instead of an argument that it does not have.

    >>> import structkit as sk
    >>> agent = sk.Agent(sk.testing.ScriptedModel(["Hello."]))
    >>> agent.run("Hi", message_history=[])
    Traceback (most recent call last):
    TypeError: Agent.run() has no argument 'message_history'; write messages=...
    >>> agent.run()
    Traceback (most recent call last):
    TypeError: Agent.run() has no prompt; write agent.run(prompt)
    """
    return names_arguments(method, _HINTS, _OTHER_NAMES, "Agent")
