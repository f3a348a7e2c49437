"""Decisions about pending calls: approve, approve with other arguments, deny, or supply the result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import date
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

import structkit as sk
from structkit.testing import ScriptedModel
from tests.agent.answers import is_even

MADE: list[object] = []


class Note(BaseModel):
    text: str = ""


def pay(
    euros: Annotated[int, Field(ge=0, le=500), AfterValidator(is_even)],
    day: date = date(2026, 1, 1),
    note: Note | None = None,
) -> str:
    """Pay an amount."""
    MADE.append(("pay", euros, day, note))
    return f"paid {euros}"


def book(hotel: str) -> str:
    """Book a hotel."""
    MADE.append(("book", hotel))
    return "never"


def fetch(**arguments: object) -> str:
    MADE.append(("fetch", arguments["url"]))
    return "text"


def balance() -> int:
    MADE.append("balance")
    return 500


URL = {"type": "object", "properties": {"url": {"enum": ["a", "b"]}}, "required": ["url"]}

TOOLS: list[Any] = [
    sk.require_approval(pay, sk.Tool(function=fetch, name="fetch", schema=URL)),
    sk.tool(book, defer=True),
    balance,
]

PAY = {"name": "pay", "arguments": {"euros": 400}}
BOOK = {"name": "book", "arguments": {"hotel": "Astoria"}}
FETCH = {"name": "fetch", "arguments": {"url": "a"}}
BALANCE: dict[str, object] = {"name": "balance", "arguments": {}}


def agent(*replies: object, strict: bool = True, **options: Any) -> sk.Agent[str]:
    script = [each if isinstance(each, str) else json.dumps(each) for each in replies]
    model = ScriptedModel(script, strict=strict)
    return sk.Agent(model, tools=TOOLS, max_parallel_calls=4, **options)


def suspended(*replies: object) -> sk.RunState:
    with pytest.raises(sk.RunSuspended) as caught:
        agent(*replies).run("x")
    MADE.clear()
    return sk.RunState.loads(caught.value.state.dumps())


Resume = Callable[[sk.Agent[str], sk.RunState, Any], sk.AgentResult[str]]

RESUMES: list[Resume] = [
    lambda agent, state, approvals: agent.resume(state, approvals=approvals),
    lambda agent, state, approvals: asyncio.run(agent.aresume(state, approvals=approvals)),
    lambda agent, state, approvals: agent.stream_resume(state, approvals=approvals).result,
    lambda agent, state, approvals: asyncio.run(agent.astream_resume(state, approvals=approvals).result()),
]


@pytest.mark.long(every=3)
@pytest.mark.parametrize("resume", RESUMES)
@pytest.mark.parametrize(
    ("decision", "made", "outcome"),
    [
        (True, ("pay", 400, date(2026, 1, 1), None), "paid 400"),
        (sk.Approve(), ("pay", 400, date(2026, 1, 1), None), "paid 400"),
        (sk.Approve(arguments={"euros": 10}), ("pay", 10, date(2026, 1, 1), None), "paid 10"),
        (
            sk.Approve(arguments={"note": Note(text="x"), "day": date(2026, 2, 3), "euros": 12}),
            ("pay", 12, date(2026, 2, 3), Note(text="x")),
            "paid 12",
        ),
        (
            sk.Approve(arguments={"euros": 12, "day": "2026-02-03", "note": {"text": "x"}}),
            ("pay", 12, date(2026, 2, 3), Note(text="x")),
            "paid 12",
        ),
        (False, None, "the call was denied"),
        (sk.Deny("too much"), None, "too much"),
        (sk.Return("paid by hand"), None, "paid by hand"),
        (sk.Return({"paid": 4}), None, {"paid": 4}),
    ],
)
def test_each_decision(resume: Resume, decision: object, made: object, outcome: object) -> None:
    state = suspended(PAY)
    run = agent("done")
    result = resume(run, state, {"call_1": decision})
    assert ([] if made is None else [made]) == MADE
    (call,) = result.calls
    denied = decision is False or isinstance(decision, sk.Deny)
    assert (call.error if denied else call.tool_result) == outcome
    (prompt,) = run._config.model.prompts  # type: ignore[attr-defined]
    text = outcome if isinstance(outcome, str) else json.dumps(outcome)
    assert f"user: pay {'failed' if denied else 'returned'}: {text}" in prompt


def test_changed_arguments_replace_those_of_the_model() -> None:
    """The conversation and the record have what was executed, also after a second suspension."""
    run = agent(PAY, PAY, "done")
    with pytest.raises(sk.RunSuspended) as first:
        run.run("x")
    with pytest.raises(sk.RunSuspended) as second:
        run.resume(first.value.state, approvals={"call_1": sk.Approve(arguments={"euros": 10})})
    state = sk.RunState.loads(second.value.state.dumps())
    assert [each.arguments for each in state.messages[1].calls] == ['{"euros": 10}']  # type: ignore[union-attr]
    result = run.resume(state, approvals=True)
    assert [call.arguments["euros"] for call in result.calls] == [10, 400]
    assert first.value.state.pending[0].arguments == '{"euros": 400}'


def test_a_deferred_call_takes_its_result_from_the_caller() -> None:
    MADE.clear()
    with pytest.raises(
        sk.RunSuspended, match=r"approval: call_3 \(pay\), and calls wait for .*: call_1 \(book\)"
    ) as caught:
        agent([BOOK, BALANCE, PAY]).run("x")
    assert MADE == ["balance"]
    state = sk.RunState.loads(caught.value.state.dumps())
    assert [(each.id, each.deferred) for each in state.pending] == [("call_1", True), ("call_3", False)]
    decisions: dict[str, Any] = {"call_1": sk.Return("B-17"), "call_3": sk.Approve(arguments={"euros": 2})}
    result = agent("done").resume(state, approvals=decisions)
    assert [call.tool_result for call in result.calls] == ["B-17", "500", "paid 2"]
    assert ["balance", ("pay", 2, date(2026, 1, 1), None)] == MADE


def test_a_resumed_run_streams_the_results_of_pending_calls_first() -> None:
    state = suspended([BOOK, PAY])
    run = agent(BALANCE, "done")
    events = list(run.stream_resume(state, approvals={"call_1": sk.Deny("full"), "call_2": True}))
    kinds = [type(event).__name__ for event in events if not isinstance(event, sk.ToolCallDelta)]
    assert kinds[:4] == ["ToolResult", "ToolResult", "ToolCallStart", "ToolResult"]
    assert kinds[-1] == "RunEnd"
    results = [event.call.id for event in events if isinstance(event, sk.ToolResult)]
    assert results == ["call_1", "call_2", "call_3"]

    async def events_of() -> list[object]:
        stream = agent(BALANCE, "done").astream_resume(
            state, approvals={"call_1": sk.Deny("full"), "call_2": True}
        )
        return [event async for event in stream]

    assert [type(event) for event in asyncio.run(events_of())] == [type(event) for event in events]


WRONG: list[tuple[Any, type[Exception], str]] = [
    (
        {"call_1": "yes", "call_2": True},
        TypeError,
        r"about call_1 must be True, False.*structkit.Deny\('yes'\)",
    ),
    ({"call_1": None}, TypeError, "decision about call_1 must be True, False"),
    (["call_1"], TypeError, r"approvals must be True, False or a dict"),
    ("yes", TypeError, "approvals must be True, False"),
    (
        {"call_9": True},
        sk.AgentError,
        r"(?s)at `approvals`:\n  .*call_9 is not a pending call.*call_1 \(pay\), call_2 \(book\)",
    ),
    ({"call_1": True}, sk.AgentError, r"(?s)at `approvals`:\n  .*no decision about call_2, call_3\n  "),
    ({}, sk.AgentError, "no decision about call_1, call_2, call_3"),
    (True, sk.AgentError, r"(?s)at `approvals\['call_2'\]`:\n  .*book is deferred.*Return\(value\), or deny"),
    (
        sk.Approve(arguments={"euros": 501}),
        sk.AgentError,
        r"(?s)at `approvals\['call_1'\].arguments.euros`:\n  .*pay rejects.*500",
    ),
    (sk.Approve(arguments={"euros": 3}), sk.AgentError, "pay rejects the arguments: .*it is odd"),
    (sk.Approve(arguments={"euros": "many"}), sk.AgentError, "pay rejects"),
    (sk.Approve(arguments={}), sk.AgentError, "pay rejects the arguments: Field required"),
    (
        sk.Approve(arguments={"euros": 2, "tip": 1}),
        sk.AgentError,
        "pay has no parameter tip\n  .* euros, day, note",
    ),
    (
        sk.Return(object()),
        sk.AgentError,
        r"(?s)at `approvals\['call_1'\]`:\n  .*result cannot be written as JSON",
    ),
]


@pytest.mark.long(every=3)
@pytest.mark.parametrize("resume", RESUMES)
@pytest.mark.parametrize(("approvals", "error", "said"), WRONG)
def test_wrong_decisions_raise_before_anything_runs(
    resume: Resume, approvals: Any, error: type[Exception], said: str
) -> None:
    state = suspended([PAY, BOOK, FETCH])
    if isinstance(approvals, (sk.Approve, sk.Return)):
        approvals = {"call_1": approvals, "call_2": sk.Return("x"), "call_3": True}
    with pytest.raises(error, match=said):
        resume(agent(), state, approvals)
    assert not MADE


@pytest.mark.parametrize("arguments", [{"url": "c"}, {}, {"url": "a", "more": 1}, {"url": 3}])
def test_changed_arguments_of_a_schema_are_validated(arguments: dict[str, object]) -> None:
    state = suspended(FETCH)
    with pytest.raises(sk.AgentError, match="the grammar of fetch does not contain"):
        agent().resume(state, approvals={"call_1": sk.Approve(arguments=arguments)})
    assert not MADE
    agent("done").resume(state, approvals={"call_1": sk.Approve(arguments={"url": "b"})})
    assert MADE == [("fetch", "b")]


@pytest.mark.parametrize(
    "make",
    [
        lambda: sk.Approve(arguments=3),  # type: ignore[arg-type]
        lambda: sk.Approve({"euros": 1}),  # type: ignore[call-arg]
        lambda: sk.Deny(""),
        lambda: sk.Deny(3),  # type: ignore[arg-type]
        lambda: sk.tool(book, defer="yes"),  # type: ignore[call-overload]
        lambda: agent().resume(suspended(PAY)),  # type: ignore[call-arg]
    ],
)
def test_decisions_of_the_wrong_type(make: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        make()


def test_an_agent_with_a_deferred_tool_is_no_tool() -> None:
    with pytest.raises(sk.AgentError, match="book is deferred, so an agent that has it cannot be a tool"):
        sk.Agent(ScriptedModel([]), tools=[sk.tool(book, defer=True)]).as_tool("travel")


def test_a_result_is_taken_after_the_timeout_of_the_run() -> None:
    state = suspended([BOOK, PAY])
    late = sk.UsageLimits(timeout=0.0)
    decisions: Mapping[str, Any] = {"call_1": sk.Return("B-17"), "call_2": True}
    result = agent("done", strict=False, on_limit="answer").resume(
        state, approvals=decisions, usage_limits=late
    )
    assert result.calls[0].tool_result == "B-17"
    assert "timeout of the run has passed" in (result.calls[1].error or "")


@given(
    st.lists(st.sampled_from([PAY, BOOK, FETCH, BALANCE]), min_size=1, max_size=4).filter(
        lambda calls: any(each is not BALANCE for each in calls)
    ),
    st.data(),
)
def test_each_call_is_executed_once_or_decided(calls: list[dict[str, object]], data: st.DataObject) -> None:
    """The law: through suspension, JSON and resumption no call is executed twice, and none is lost."""
    MADE.clear()
    with pytest.raises(sk.RunSuspended) as caught:
        agent(calls if len(calls) > 1 else calls[0]).run("x")
    state = sk.RunState.loads(caught.value.state.dumps())
    options: dict[str, list[Any]] = {
        "pay": [sk.Approve(), sk.Approve(arguments={"euros": 2}), sk.Deny("no"), sk.Return("r")],
        "fetch": [sk.Approve(), sk.Approve(arguments={"url": "b"}), sk.Deny("no"), sk.Return("r")],
        "book": [sk.Deny("no"), sk.Return("r")],
    }
    decisions: dict[str, Any] = {
        each.id: data.draw(st.sampled_from(options[each.name])) for each in state.pending
    }
    result = agent("done").resume(state, approvals=decisions)
    assert [call.name for call in result.calls] == [each["name"] for each in calls]
    executed = [each if isinstance(each, str) else each[0] for each in MADE]  # type: ignore[index]
    approved = [pending.name for pending in state.pending if isinstance(decisions[pending.id], sk.Approve)]
    assert sorted(executed) == sorted([*approved, *("balance" for each in calls if each is BALANCE)])
    for call in result.calls:
        if isinstance(decision := decisions.get(call.id), sk.Return):
            assert call.tool_result == "r"
        elif isinstance(decision, sk.Deny):
            assert call.error == "no"
