"""Exceptions of tools: faults of the program are raised, `ToolError` is reported to the model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

import structkit as sk
from structkit.testing import ScriptedModel
from tests.agent.answers import is_even
from tests.agent.run.test_execute import RUNS, SIGNALS, call

SECRET = "/etc/secret"

Run = Callable[[sk.Agent[Any]], sk.AgentResult[Any]]


def secret() -> str:
    raise KeyError(SECRET)


async def asecret() -> str:
    await asyncio.sleep(0)
    raise KeyError(SECRET)


def items() -> Iterator[str]:
    yield "a"
    raise KeyError(SECRET)


def missing() -> str:
    raise sk.ToolError("there is no such book")


def half(number: Annotated[int, AfterValidator(is_even)]) -> int:
    return number // 2


class Missing(sk.ToolError):
    """A ToolError of a program."""


def agent_of(*tools: Any, script: list[str], **options: Any) -> tuple[sk.Agent[str], ScriptedModel]:
    model = ScriptedModel([*script, "done"])
    return sk.Agent(model, list(tools), **options), model


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("timeout", [None, 20.0])
@pytest.mark.parametrize("function", [secret, asecret, items])
def test_an_exception_is_raised_and_not_written_into_the_conversation(
    function: Callable[[], object], timeout: float | None, run: Run
) -> None:
    tool = sk.tool(function, name="f", timeout=timeout)
    agent, model = agent_of(tool, script=[call("f")])
    with pytest.raises(KeyError, match=SECRET) as caught:
        run(agent)
    record = sk.run_record(caught.value)
    assert record is not None
    assert record.calls[0].raised is caught.value
    assert SECRET not in str(record.messages)
    assert len(model.prompts) == 1


@pytest.mark.parametrize("run", RUNS)
def test_errors_can_be_reported(run: Run) -> None:
    agent, model = agent_of(secret, script=[call("secret")], errors="report")
    result = run(agent)
    assert [each.error for each in result.calls] == [f"KeyError: '{SECRET}'"]
    assert f"secret failed: KeyError: '{SECRET}'" in model.prompts[1]


@pytest.mark.long(every=3)
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("errors", ["raise", "report"])
@pytest.mark.parametrize(
    "reraise", [None, (), Exception, BaseException, sk.StructkitError, (KeyError, OSError)]
)
def test_a_tool_error_is_always_reported(reraise: Any, errors: Any, run: Run) -> None:
    tool = sk.tool(missing, reraise=reraise)
    agent, model = agent_of(tool, script=[call("missing")], errors=errors)
    result = run(agent)
    assert result.value == "done"
    assert [each.error for each in result.calls] == ["there is no such book"]
    assert "missing failed: there is no such book" in model.prompts[1]


@pytest.mark.parametrize("errors", ["raise", "report"])
@pytest.mark.parametrize("run", RUNS)
def test_a_retry_is_a_tool_error(run: Run, errors: Any) -> None:
    def lookup() -> None:
        raise sk.Retry("give the full name")

    for reraise in (None, Exception, sk.ToolError):
        agent, model = agent_of(sk.tool(lookup, reraise=reraise), script=[call("lookup")], errors=errors)
        assert [each.error for each in run(agent).calls] == ["give the full name"]
        assert "lookup failed: give the full name" in model.prompts[1]
    with pytest.raises(sk.Retry, match="give the full name"):
        run(agent_of(sk.tool(lookup, reraise=sk.Retry), script=[call("lookup")], errors=errors)[0])


@pytest.mark.parametrize("errors", ["raise", "report"])
@pytest.mark.parametrize("run", RUNS)
def test_the_option_of_a_tool_overrides_that_of_the_agent(run: Run, errors: Any) -> None:
    for reraise in (LookupError, (OSError, KeyError), Exception):
        with pytest.raises(KeyError):
            run(agent_of(sk.tool(secret, reraise=reraise), script=[call("secret")], errors=errors)[0])
    for reported in ((), OSError):
        agent = agent_of(sk.tool(secret, reraise=reported), script=[call("secret")], errors=errors)[0]
        assert run(agent).calls[0].error == f"KeyError: '{SECRET}'"


@pytest.mark.parametrize("reraise", [sk.ToolError, Missing])
def test_a_tool_error_that_a_tool_names_is_raised(reraise: type[Exception]) -> None:
    def absent() -> None:
        raise Missing("no book")

    with pytest.raises(Missing):
        agent_of(sk.tool(absent, reraise=reraise), script=[call("absent")])[0].run("x")
    tool = sk.tool(missing, reraise=Missing)
    assert agent_of(tool, script=[call("missing")])[0].run("x").calls[0].error == "there is no such book"


@pytest.mark.parametrize("error", SIGNALS)
def test_exceptions_that_end_generators_and_tasks_are_causes(error: type[BaseException]) -> None:
    def ends() -> None:
        raise error

    for run in RUNS:
        with pytest.raises(sk.AgentError, match=rf"ends raised {error.__name__}, which ends") as caught:
            run(agent_of(ends, script=[call("ends")])[0])
        assert isinstance(caught.value.__cause__, error)
        assert sk.run_record(caught.value) is not None


@pytest.mark.parametrize("run", RUNS)
def test_timeouts_and_invalid_arguments_are_reported(run: Run) -> None:
    async def hang() -> None:
        await asyncio.sleep(20)

    script = [call("half", number=3), call("hang")]
    result = run(agent_of(half, sk.tool(hang, timeout=0.05), script=script, retries=0)[0])
    assert "it is odd" in (result.calls[0].error or "")
    assert result.calls[1].error == "the call did not return within 0.05 seconds"


@pytest.mark.parametrize("run", RUNS)
def test_an_exception_in_an_agent_as_a_tool(run: Run) -> None:
    def outer(errors: Any, inner_errors: Any = "raise") -> tuple[sk.Agent[str], ScriptedModel]:
        inner = agent_of(secret, script=[call("secret")], errors=inner_errors)[0]
        return agent_of(inner.as_tool("helper", "Helps."), script=[call("helper", prompt="a")], errors=errors)

    with pytest.raises(KeyError, match=SECRET) as caught:
        run(outer("raise")[0])
    record = sk.run_record(caught.value)
    assert record is not None
    assert [each.name for each in record.calls] == ["helper"]
    assert SECRET not in str(record.messages)

    agent, model = outer("report")
    assert run(agent).calls[0].error == f"KeyError: '{SECRET}'"
    agent, model = outer("raise", "report")
    assert run(agent).calls[0].error is None
    assert SECRET not in model.prompts[-1]


def test_a_nested_call_that_requires_approval_is_reported() -> None:
    def ask() -> None:
        raise sk.ApprovalRequired("a person decides")

    inner = agent_of(ask, script=[call("ask")])[0]
    agent = agent_of(inner.as_tool("helper", "Helps."), script=[call("helper", prompt="a")])[0]
    assert agent.run("x").calls[0].error == (
        "the call of ask requires approval, which a nested run cannot request (a person decides)"
    )
