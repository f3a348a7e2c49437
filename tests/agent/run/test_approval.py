"""Runs that are suspended for approval, and resumed in this process or another."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

import structkit as sk
from structkit.testing import ScriptedModel
from tests.calls import call
from tests.shared import ROOT

PAID: list[float] = []


def pay(euros: float) -> str:
    """Pay an amount."""
    PAID.append(euros)
    return f"paid {euros}"


def careful(context: sk.Context[None], euros: float) -> str:
    """Pay, but ask."""
    if euros > 100 and not context.approved:
        raise sk.ApprovalRequired("more than 100 euros")
    return f"paid {euros}"


def balance() -> int:
    return 500


def agent(*replies: str, max_parallel_calls: int = 1) -> sk.Agent[str]:
    tools = [sk.tool(pay, requires_approval=True), careful, balance]
    return sk.Agent(ScriptedModel(replies), tools=tools, max_parallel_calls=max_parallel_calls)


def paused(run: sk.Agent[str]) -> sk.RunState:
    with pytest.raises(sk.RunSuspended, match=r"(?s)call_\d.*agent\.resume") as caught:
        run.run("Pay.")
    return caught.value.state


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (sk.ApprovalRequired, "the call requires approval"),
        (sk.ApprovalRequired(KeyError("name")), "'name'"),
        (sk.ApprovalRequired("\udcff.txt"), "?.txt"),
    ],
)
def test_a_tool_pauses_whatever_it_says(raised: Any, reason: str) -> None:
    def ask() -> None:
        raise raised

    with pytest.raises(sk.RunSuspended) as caught:
        sk.Agent(ScriptedModel([call("ask")]), [ask]).run("x")
    (pending,) = sk.RunState.loads(caught.value.state.dumps()).pending
    assert pending.reason == reason


@pytest.mark.parametrize(
    ("raised", "told"),
    [(sk.ToolError, "the call failed"), (sk.ToolError(KeyError("name")), "'name'")],
)
def test_an_error_of_a_tool_is_told_whatever_it_was_made_of(raised: Any, told: str) -> None:
    def fail() -> None:
        raise raised

    result = sk.Agent(ScriptedModel([call("fail"), "done"]), [fail]).run("x")
    assert result.calls[0].error == told


def test_an_approved_call_is_made() -> None:
    PAID.clear()
    run = agent(call("pay", euros=20), "done")
    state = paused(run)
    assert (PAID, [(each.id, each.name, each.arguments) for each in state.pending]) == (
        [],
        [("call_1", "pay", '{"euros": 20}')],
    )
    result = run.resume(state, approvals={"call_1": True})
    assert (result.value, PAID, result.calls[0].tool_result) == ("done", [20], "paid 20.0")


@pytest.mark.parametrize(
    ("decision", "said"),
    [(False, "the call was denied"), (sk.Deny(), "denied"), (sk.Deny("too much"), "too much")],
)
def test_a_denied_call_is_told(decision: bool | sk.Deny, said: str) -> None:
    PAID.clear()
    model = ScriptedModel([call("pay", euros=20), "no"])
    run = agent().with_model(model)
    result = run.resume(paused(run), approvals={"call_1": decision})
    assert said in (result.calls[0].error or "")
    assert f"pay failed: {result.calls[0].error}" in model.prompts[1]
    assert not PAID


def test_a_tool_pauses_by_itself_and_is_told_that_it_may() -> None:
    run = agent(call("careful", euros=20), call("careful", euros=200), "done")
    with pytest.raises(sk.RunSuspended, match="more than 100 euros") as caught:
        run.run("Pay.")
    result = asyncio.run(run.aresume(caught.value.state, approvals=True))
    assert [each.tool_result for each in result.calls] == ["paid 20.0", "paid 200.0"]


def test_the_other_calls_of_a_step_are_made_once() -> None:
    both = f"[{call('pay', euros=1)}, {call('balance')}, {call('careful', euros=200)}]"
    run = agent(both, "done", max_parallel_calls=3)
    state = paused(run)
    assert ([each.id for each in state.tool_results], [each.id for each in state.pending]) == (
        ["call_2"],
        ["call_1", "call_3"],
    )
    result = run.resume(state, approvals={"call_1": True, "call_3": sk.Deny("no")})
    assert [(each.id, each.error is None) for each in result.calls] == [
        ("call_1", True),
        ("call_2", True),
        ("call_3", False),
    ]


def test_which_calls_need_approval_may_depend_on_them() -> None:
    asks = sk.tool(pay, requires_approval=lambda call: call.arguments["euros"] > 10)  # type: ignore[operator]
    run = sk.Agent(ScriptedModel([call("pay", euros=5), call("pay", euros=50), "done"]), tools=[asks])
    with pytest.raises(sk.RunSuspended) as caught:
        run.run("x")
    assert [each.arguments for each in caught.value.state.pending] == ['{"euros": 50}']


@pytest.mark.long
def test_a_run_goes_on_in_another_process(tmp_path: Path) -> None:
    state = paused(agent(call("pay", euros=20)))
    (tmp_path / "state.json").write_text(state.dumps())
    assert sk.RunState.loads(state.dumps()) == state
    code = (
        "import sys, structkit as sk\n"
        "from pathlib import Path\n"
        "from tests.agent.run.test_approval import agent\n"
        "state = sk.RunState.loads(Path(sys.argv[1]).read_text())\n"
        "print(agent('\"done\"').resume(state, approvals=True).calls[0].tool_result)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "state.json")],
        check=True, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert ran.stdout.strip() == "paid 20.0"


def test_the_limits_of_a_run_hold_over_its_pauses() -> None:
    tools = [sk.tool(pay, requires_approval=True, max_calls=1)]
    run = sk.Agent(
        ScriptedModel([call("pay", euros=1), call("pay", euros=2)], strict=False), tools=tools, max_steps=3
    )
    with pytest.raises(sk.RunSuspended) as caught:
        run.run("x")
    result = run.resume(caught.value.state, approvals=True)
    assert (len(result.calls), result.steps) == (1, 2)


def test_wrong_states_are_refused() -> None:
    run = agent(call("pay", euros=20), "done")
    state = paused(run)
    other = sk.Agent(ScriptedModel([]), tools=[sk.tool(pay, requires_approval=True)])
    with pytest.raises(sk.AgentError, match="other tools or another output type"):
        other.resume(state, approvals=True)
    with pytest.raises(sk.AgentError, match=r"(?s)call_7 is not a pending call.*call_1"):
        run.resume(state, approvals={"call_7": True})
    with pytest.raises(sk.AgentError, match="pending calls of the state are not"):
        run.resume(replace(state, pending=()), approvals=True)
    with pytest.raises(sk.AgentError, match="has no calls"):
        run.resume(replace(state, messages=state.messages[:1]), approvals=True)
    for forged in (
        replace(state, elapsed_seconds=-1.0),
        replace(state, usage=replace(state.usage, generated_tokens=-1)),
        replace(state, step_usage=(replace(state.usage, model_seconds=-0.5),)),
    ):
        with pytest.raises(sk.AgentError, match="is negative"):
            run.resume(forged, approvals=True)
    with pytest.raises(TypeError, match="RunState"):
        run.resume({"agent": "x"}, approvals=True)  # type: ignore[arg-type]
    for text in (
        "",
        "{}",
        "[1]",
        state.dumps().replace("20", '\\"x\\"'),
        state.dumps().replace('"calls":[', '"calls":[1,'),
    ):
        with pytest.raises(sk.AgentError, match="state"):
            run.resume(sk.RunState.loads(text), approvals=True)


def test_calls_that_were_refused_before_a_pause_are_told_after_it() -> None:
    def odd(number: Annotated[int, AfterValidator(_odd)]) -> int:
        return number

    tools = [odd, sk.tool(pay, requires_approval=True)]
    replies = [call("odd", number=2), call("pay", euros=20)]
    state = paused(sk.Agent(ScriptedModel(replies), tools, retries=0))
    result = sk.Agent(ScriptedModel(["done"]), tools, retries=0).resume(state, approvals=True)
    assert [(each.name, each.arguments) for each in result.calls] == [
        ("odd", {"number": 2}),
        ("pay", {"euros": 20}),
    ]


def _odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError("even")
    return number


def test_states_that_were_changed_are_refused() -> None:
    PAID.clear()
    run = agent(call("balance"), call("pay", euros=20), "done")
    state = paused(run)
    _, made, output, due = state.messages
    other = replace(state.pending[0], arguments='{"euros": 1}')
    for changed in (
        replace(state, pending=(other,)),  # the approved arguments are executed
        replace(state, messages=()),
        replace(state, messages=(made, due)),
        replace(state, tool_results=(output,)),  # type: ignore[arg-type]
    ):
        with pytest.raises(sk.AgentError, match=r"state|no output"):
            run.resume(changed, approvals=True)
    for wrong in (
        None,
        ["call_2"],
        "call_2",
        {"call_2": None},
        {"call_2": 1},
        {"call_2": 0},
        {"call_2": "yes"},
    ):
        with pytest.raises(TypeError, match="must be True, False"):
            run.resume(state, approvals=wrong)  # type: ignore[arg-type]
    assert PAID == []


def test_an_agent_that_asks_is_no_tool() -> None:
    with pytest.raises(sk.AgentError, match="pay requires approval"):
        agent().as_tool("payer")


def test_a_state_is_a_value_and_each_resume_is_a_run_of_its_own() -> None:
    PAID.clear()
    run = agent(call("pay", euros=20), "done")
    state = paused(run)
    for _ in range(2):
        run.with_model(ScriptedModel(["done"])).resume(state, approvals=True)
    assert PAID == [20, 20]


@pytest.mark.parametrize("combined", [False, True])
@pytest.mark.parametrize("kind", ["None", "an awaitable"])
def test_a_predicate_without_an_answer_is_an_error_and_nothing_is_executed(kind: str, combined: bool) -> None:
    made: list[float] = []

    def pay(euros: float) -> None:
        made.append(euros)

    async def never() -> bool:
        return False

    def asks(call: object) -> Any:
        return None if kind == "None" else never()

    tools = sk.require_approval(pay, when=asks)
    tools = sk.require_approval(tools, when=lambda call: False) if combined else tools
    agent = sk.Agent(ScriptedModel(['{"name": "pay", "arguments": {"euros": 5}}']), tools=[tools])
    with pytest.raises(
        TypeError, match=f"requires_approval of pay returned {kind}; return True or False"
    ) as caught:
        agent.run("x")
    assert not made
    record = sk.run_record(caught.value)
    assert record is not None
    assert [each.error for each in record.calls] == ["the call was not executed"]


def test_an_approved_call_that_requires_approval_again_logs_what_to_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def pay(euros: float) -> None:
        raise sk.ApprovalRequired("more than 100 euros")

    agent = sk.Agent(
        ScriptedModel(['{"name": "pay", "arguments": {"euros": 400}}']), tools=[pay], name="bank"
    )
    with pytest.raises(sk.RunSuspended) as caught:
        agent.run("x")
    assert caplog.messages == []
    with pytest.raises(sk.RunSuspended, match="more than 100 euros"):
        agent.resume(caught.value.state, approvals=True)
    (message,) = caplog.messages
    assert message.startswith("agent bank: pay (call_1) raised ApprovalRequired although it was approved")
    assert "raise it only if not context.approved" in message


@pytest.mark.parametrize("is_output", [False, True])
def test_a_function_whose_own_run_is_suspended_is_a_fault_of_the_program(is_output: bool) -> None:
    """The error carried the state of the other agent, and the calls of this run were lost."""
    script = ['{"name": "pay", "arguments": {"euros": 400}}']
    inner = sk.Agent(ScriptedModel(script), tools=[sk.require_approval(pay)])

    def delegate(task: str) -> str:
        return inner.run(task).value

    call = '{"task": "x"}'
    if is_output:
        agent: sk.Agent[object] = sk.Agent(ScriptedModel([call]), output_type=delegate)
    else:
        agent = sk.Agent(ScriptedModel([f'{{"name": "delegate", "arguments": {call}}}']), tools=[delegate])
    with pytest.raises(
        sk.AgentError, match=r"delegate ran an agent that is suspended \(.*call_1 \(pay"
    ) as caught:
        agent.run("x")
    assert isinstance(caught.value.__cause__, sk.RunSuspended)
    record = sk.run_record(caught.value)
    assert record is not None
    assert [made.name for made in record.calls] == ([] if is_output else ["delegate"])
