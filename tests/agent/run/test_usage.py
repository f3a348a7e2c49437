"""Usage of runs, of their steps and of their calls."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structkit as sk
from structkit.testing import ScriptedModel
from tests.agent.run.test_execute import RUNS, call

COUNTS = [each.name for each in fields(sk.Usage) if each.name.endswith("tokens")]

usages = st.builds(sk.Usage, **{name: st.integers(0, 2**40) for name in COUNTS})


@given(usages, usages, usages)
def test_addition_is_that_of_the_fields(one: sk.Usage, two: sk.Usage, three: sk.Usage) -> None:
    for name in COUNTS:
        assert getattr(one + two, name) == getattr(one, name) + getattr(two, name)
    assert one + two == two + one
    assert (one + two) + three == one + (two + three) == sum([one, two, three], sk.Usage())
    assert one + sk.Usage() == one
    assert (one + two).written_tokens == one.written_tokens + two.written_tokens


def test_only_usages_can_be_added() -> None:
    with pytest.raises(TypeError):
        sk.Usage() + 3  # type: ignore[operator]


def look() -> str:
    return "seen"


@pytest.mark.parametrize("run", RUNS)
def test_the_usage_of_a_run_is_that_of_its_steps_and_calls(run: Any) -> None:
    inner = sk.Agent(ScriptedModel([call("look"), "inside"]), [look], instructions="Help.")
    both = f"[{call('helper', prompt='a')}, {call('look')}]"
    model = ScriptedModel([both, call("look"), "done"])
    agent = sk.Agent(model, [inner.as_tool("helper"), look], max_parallel_calls=2)
    result = run(agent)
    assert (len(result.step_usage), result.steps) == (3, 3)
    nested = inner.with_model(ScriptedModel([call("look"), "inside"])).run("a").usage
    helper, *others = [each.usage for each in result.calls]
    assert counts(helper) == counts(nested)
    assert others == [sk.Usage(), sk.Usage()]
    assert counts(sum(result.step_usage, helper)) == counts(result.usage)
    assert all(each.generated_tokens > 0 for each in result.step_usage)


def test_usage_of_calls_that_fail() -> None:
    def summary(context: sk.Context[object]) -> str:
        context.spend(sk.Usage(generated_tokens=7))
        context.spend(sk.Usage(prompt_tokens=5))
        raise sk.ToolError("too long")

    result = sk.Agent(ScriptedModel([call("summary"), "done"]), [summary]).run("x")
    assert result.calls[0].usage == sk.Usage(generated_tokens=7, prompt_tokens=5)
    assert counts(sum(result.step_usage, result.calls[0].usage)) == counts(result.usage)


def test_the_usage_of_steps_holds_over_a_suspension() -> None:
    tools = [sk.tool(look, requires_approval=True)]
    agent = sk.Agent(ScriptedModel([call("look")]), tools)
    with pytest.raises(sk.RunSuspended) as caught:
        agent.run("x")
    state = sk.RunState.loads(caught.value.state.dumps())
    result = agent.with_model(ScriptedModel(["done"])).resume(state, approvals=True)
    assert len(result.step_usage) == result.steps == 2
    assert result.step_usage[0] == state.step_usage[0]
    assert counts(sum(result.step_usage, sk.Usage())) == counts(result.usage)


def counts(usage: sk.Usage) -> dict[str, int]:
    return {name: getattr(usage, name) for name in COUNTS}
