"""Output functions: the run calls the function of an accepted value, exactly once."""

from __future__ import annotations

import asyncio
from itertools import product
from types import SimpleNamespace
from typing import Annotated, Any, Union, cast

import pytest
from pydantic import AfterValidator, BaseModel

import structkit as sk
from structkit import messages
from structkit.agent.run.config import AgentConfig
from structkit.agent.run.output import check_refusals, with_refusals
from structkit.testing import RandomModel, ScriptedModel

RUNS: list[object] = []


class Question(BaseModel):
    text: str


def odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError("not odd")
    return number


def refund(order: Annotated[int, AfterValidator(odd)], euros: float = 1.5) -> str:
    """Pay money back."""
    RUNS.append((order, euros))
    return f"{euros} euros for {order}"


async def escalate(context: sk.Context[list[str]], reason: str) -> int:
    await asyncio.sleep(0)
    context.deps.append(reason)
    context.spend(sk.generate(ScriptedModel(["true"]), "x", bool).usage)
    RUNS.append(reason)
    return len(context.messages)


def close(*, context: sk.Context[list[str]], ticket: int) -> int:
    RUNS.append((ticket, context.deps))
    return ticket


def fail(order: int) -> None:
    RUNS.append(order)
    raise KeyError(order)


def stop(order: int) -> None:
    RUNS.append(order)
    raise StopIteration


@pytest.fixture(autouse=True)
def _no_runs() -> None:
    RUNS.clear()


async def _astream(agent: sk.Agent[Any, Any], deps: object) -> sk.AgentResult[Any]:
    *_, end = [event async for event in agent.astream("x", deps=deps)]
    assert isinstance(end, sk.RunEnd)
    return end.result


def _stream(agent: sk.Agent[Any, Any], deps: object) -> sk.AgentResult[Any]:
    *_, end = agent.stream("x", deps=deps)
    assert isinstance(end, sk.RunEnd)
    return end.result


WAYS: dict[str, Any] = {
    "run": lambda agent, deps: agent.run("x", deps=deps),
    "arun": lambda agent, deps: asyncio.run(agent.arun("x", deps=deps)),
    "stream": _stream,
    "astream": lambda agent, deps: asyncio.run(_astream(agent, deps)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("output_type", "reply", "value", "run"),
    [
        (refund, '{"order": 7, "euros": 2.5}', "2.5 euros for 7", (7, 2.5)),
        (Union[refund, Question], '{"order": 7}', "1.5 euros for 7", (7, 1.5)),
        (Union[refund, Question], '{"text": "?"}', Question(text="?"), None),
        (escalate, '{"reason": "r"}', 2, "r"),
        (Union[Question, escalate, refund], '{"reason": "r"}', 2, "r"),
        (close, '{"ticket": 3}', 3, (3, ["d"])),
        (Union[close, None], '{"ticket": 3}', 3, (3, ["d"])),
    ],
)
def test_a_function_runs_once_and_its_value_is_the_value_of_the_run(
    way: str, output_type: Any, reply: str, value: object, run: object
) -> None:
    agent: sk.Agent[Any, Any] = sk.Agent(ScriptedModel([reply]), output_type=output_type)
    result = WAYS[way](agent, ["d"])
    assert result.value == value
    assert ([] if run is None else [run]) == RUNS
    assert result.calls == ()
    answer = result.messages[-1]
    assert isinstance(answer, messages.Answer)
    assert answer.content.startswith(reply[:-1])
    assert result.usage.generated_tokens > 1


def test_calls_inside_the_value_are_left_to_the_caller() -> None:
    agent: sk.Agent[Any] = sk.Agent(ScriptedModel(['[{"order": 7, "euros": 1.0}]']), output_type=list[refund])  # type: ignore[valid-type]
    (call,) = agent.run("x").value
    assert RUNS == []
    assert call.call() == "1.0 euros for 7"


def test_a_rejected_value_does_not_run() -> None:
    model = ScriptedModel(['{"order": 8, "euros": 1.0}', '{"order": 9, "euros": 1.0}'])
    assert sk.Agent(model, output_type=refund).run("x").value == "1.0 euros for 9"
    assert RUNS == [(9, 1.0)]


def test_a_function_can_be_a_tool_and_the_output() -> None:
    replies = ['{"name": "refund", "arguments": {"order": 1, "euros": 0.5}}', '{"order": 3, "euros": 0.5}']
    result = sk.Agent(ScriptedModel(replies), [refund], output_type=refund).run("x")
    assert result.value == "0.5 euros for 3"
    assert RUNS == [(1, 0.5), (3, 0.5)]
    assert [call.arguments["order"] for call in result.calls] == [1]


def test_an_exception_ends_the_run() -> None:
    with pytest.raises(KeyError) as raised:
        sk.Agent(ScriptedModel(['{"order": 1}']), output_type=fail).run("x")
    assert RUNS == [1]
    record = sk.run_record(raised.value)
    assert record is not None
    assert record.messages[-1] == messages.Answer(content='{"order": 1}')
    with pytest.raises(sk.AgentError, match="stop raised StopIteration"):
        sk.Agent(ScriptedModel(['{"order": 1}']), output_type=stop).run("x")
    assert RUNS == [1, 1]


def test_dependencies_of_an_output_function_are_checked() -> None:
    with pytest.raises(sk.AgentError, match="wants_number takes a Context"):
        sk.Agent(RandomModel(), output_type=wants_number, deps_type=str)
    with pytest.raises(TypeError, match="wants_number takes a Context"):
        sk.Agent(RandomModel(), output_type=wants_number).run("x", deps="y")


def wants_number(context: sk.Context[int], order: int) -> None: ...


def test_an_agent_with_an_output_function_can_be_a_tool() -> None:
    inner = sk.Agent(ScriptedModel(['{"order": 5, "euros": 1.0}']), output_type=refund)
    replies = ['{"name": "clerk", "arguments": {"prompt": "pay"}}', "true"]
    result = sk.Agent(ScriptedModel(replies), [inner.as_tool("clerk")], output_type=bool).run("x")
    assert [call.tool_result for call in result.calls] == ["1.0 euros for 5"]
    assert RUNS == [(5, 1.0)]


def sell(title: str, copies: int) -> str:
    RUNS.append((title, copies))
    if copies > 3:
        raise sk.Retry(f"there are 3 copies of {title}")
    if title == "Sugar":
        raise sk.ToolError("")
    return f"{copies} x {title}"


def stock(title: str) -> int:
    return 3


REFUSED = '{"title": "Salt", "copies": 9}'
SOLD = '{"title": "Salt", "copies": 2}'


@pytest.mark.parametrize("way", WAYS)
def test_the_model_reads_why_an_output_function_refuses(way: str) -> None:
    call = '{"name": "stock", "arguments": {"title": "Salt"}}'
    model = ScriptedModel([REFUSED, call, '{"title": "Sugar", "copies": 1}', SOLD])
    result = WAYS[way](sk.Agent(model, tools=[stock], output_type=sell), None)
    assert result.value == "2 x Salt"
    assert RUNS == [("Salt", 9), ("Sugar", 1), ("Salt", 2)]
    assert [message.kind for message in result.messages] == ["user", "calls", "output", "answer"]
    assert result.messages[-1].content == SOLD
    assert (result.steps, len(result.step_usage), len(result.trace.steps)) == (4, 4, 4)
    assert f"assistant: {REFUSED}" in model.prompts[1]
    assert "is wrong: there are 3 copies of Salt. Give another." in model.prompts[1]
    assert model.prompts[3].count("This answer is wrong") == 2


def test_a_stream_retracts_a_refused_output() -> None:
    agent = sk.Agent(ScriptedModel([REFUSED, SOLD]), output_type=sell)
    events = [type(event).__name__ for event in agent.stream("x")]
    assert events.count("StepRetracted") == 1
    assert events.index("PartialOutput") < events.index("StepRetracted")
    assert "PartialOutput" in events[events.index("StepRetracted") :]


@pytest.mark.parametrize("way", WAYS)
def test_refusals_are_bounded_by_retries(way: str) -> None:
    agent = sk.Agent(ScriptedModel([REFUSED] * 3), output_type=sell, retries=2)
    with pytest.raises(sk.OutputValidationError, match="retries=2 are used: there are 3 copies") as error:
        WAYS[way](agent, None)
    assert error.value.attempts == (REFUSED,) * 3
    record = sk.run_record(error.value)
    assert record is not None
    assert (record.steps, len(record.messages)) == (3, 1)


def test_refusals_are_bounded_by_steps() -> None:
    agent = sk.Agent(ScriptedModel([REFUSED] * 2), output_type=sell, max_steps=2)
    with pytest.raises(sk.UsageLimitExceeded) as error:
        agent.run("x")
    assert error.value.limit == "max_steps"
    agent = sk.Agent(ScriptedModel([REFUSED] * 2), output_type=sell, max_steps=2, on_limit="answer")
    with pytest.raises(sk.OutputValidationError, match="all steps are used: there are 3 copies"):
        agent.run("x")


def test_a_resumed_run_keeps_its_refused_outputs() -> None:
    call = '{"name": "stock", "arguments": {"title": "Salt"}}'
    model = ScriptedModel([REFUSED, call, SOLD])
    agent = sk.Agent(model, tools=[sk.require_approval(stock)], output_type=sell)
    with pytest.raises(sk.RunSuspended) as paused:
        agent.run("x")
    state = paused.value.state
    assert state.steps == 2
    assert state.refused == ((REFUSED, "there are 3 copies of Salt"),)
    assert agent.resume(sk.RunState.loads(state.dumps()), approvals=True).steps == 3
    assert "is wrong: there are 3 copies of Salt. Give another." in model.prompts[2]


def test_a_long_refusal_is_shortened() -> None:
    def refuse(number: int) -> int:
        if number == 1:
            raise sk.Retry("x" * 100_000)
        return number

    model = ScriptedModel(['{"number": 1}', '{"number": 2}'])
    assert sk.Agent(model, output_type=refuse).run("x").value == 2
    assert len(model.prompts[1]) < 5_000


@pytest.mark.parametrize("on_limit", ["answer", "raise"])
@pytest.mark.parametrize("is_last", [False, True])
def test_the_last_refusal_is_told(on_limit: str, is_last: bool) -> None:
    for retries, count in product(range(3), range(1, 5)):
        config = cast(
            "AgentConfig", SimpleNamespace(settings=SimpleNamespace(retries=retries), on_limit=on_limit)
        )
        refused, refusal = [(f"text {n}", f"message {n}") for n in range(count)], sk.Retry("no")
        used = count > retries
        if not used and not (is_last and on_limit == "answer"):
            check_refusals(refused, refusal, config, is_last=is_last)
            continue
        with pytest.raises(sk.OutputValidationError) as error:
            check_refusals(refused, refusal, config, is_last=is_last)
        why = f"retries={retries} are used" if used else "all steps are used"
        assert (
            error.value.cause
            == f"the output function refused text {count - 1}, and {why}: message {count - 1}"
        )
        assert f"increase {'retries' if used else 'max_steps'}, or let" in str(error.value)
        assert (error.value.text, error.value.attempts) == (
            f"text {count - 1}",
            tuple(text for text, _ in refused),
        )
        assert error.value.rejected.cause is refusal is error.value.__cause__


def test_a_long_refusal_is_cut_in_the_prompt() -> None:
    prompt = with_refusals("x", [("1", "a" * 3000)])
    assert "a" * 2000 in prompt and "a" * 2001 not in prompt
