"""Runs at their limits: by default they raise and invent nothing."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit import messages
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary
from tests.agent.run.noise import random_runs
from tests.agent.run.test_execute import call
from tests.agent.run.test_random_runs import MADE, some_tool
from tests.shared import cases


class Flight(BaseModel):
    flight_number: str
    price: int


def search(city: str) -> str:
    """Search flights."""
    return "none"


def book(city: str) -> str:
    raise sk.ToolError(f"there is no flight to {city}")


Run = Callable[..., sk.AgentResult[Any]]


def _run(agent: sk.Agent[Any], limits: sk.UsageLimits) -> sk.AgentResult[Any]:
    return agent.run("x", usage_limits=limits)


def _arun(agent: sk.Agent[Any], limits: sk.UsageLimits) -> sk.AgentResult[Any]:
    return asyncio.run(agent.arun("x", usage_limits=limits))


def _stream(agent: sk.Agent[Any], limits: sk.UsageLimits) -> sk.AgentResult[Any]:
    return agent.stream("x", usage_limits=limits).result


def _astream(agent: sk.Agent[Any], limits: sk.UsageLimits) -> sk.AgentResult[Any]:
    async def streamed() -> sk.AgentResult[Any]:
        async with agent.astream("x", usage_limits=limits) as stream:
            return await stream.result()

    return asyncio.run(streamed())


RUNS: list[Run] = [_run, _arun, _stream, _astream]


def exceeded(run: Run, agent: sk.Agent[Any], limits: sk.UsageLimits) -> sk.UsageLimitExceeded:
    with pytest.raises(sk.UsageLimitExceeded) as caught:
        run(agent, limits)
    error = caught.value
    assert messages.loads(messages.dumps(error.messages)) == error.messages
    record = sk.run_record(error)
    assert record is not None
    assert (record.calls, record.messages, record.usage) == (error.calls, error.messages, error.usage)
    return error


@pytest.mark.parametrize("run", RUNS)
def test_a_call_in_the_last_step_raises_and_is_not_executed(run: Run) -> None:
    made: list[str] = []

    def look(city: str) -> str:
        made.append(city)
        return "none"

    model = ScriptedModel([call("look", city="a"), call("look", city="b"), call("look", city="c")])
    agent = sk.Agent(model, [look], output_type=Flight)
    error = exceeded(run, agent, sk.UsageLimits(max_steps=2))
    assert error.limit == "max_steps"
    assert made == ["a"]
    assert [each.error for each in error.calls] == [None, "the call was not executed"]
    assert "max_steps=2" in str(error) and "on_limit='answer'" in str(error)
    assert "give the answer" not in model.prompts[-1]
    later = agent.with_model(ScriptedModel(['{"flight_number": "TP1", "price": 9}']))
    assert later.run("Go on.", messages=error.messages).value.price == 9


@pytest.mark.parametrize("run", RUNS)
def test_a_result_in_the_last_step_is_the_choice_of_the_model(run: Run) -> None:
    script = [call("search", city="a"), '{"flight_number": "TP1", "price": 9}']
    agent = sk.Agent(ScriptedModel(script), [search], output_type=Flight)
    result = run(agent, sk.UsageLimits(max_steps=2, max_tool_calls=1))
    assert (result.value.price, result.steps, result.finish_reason) == (9, 2, "stop")


def test_a_limit_of_a_run_can_exceed_that_of_the_agent() -> None:
    script = [call("search", city="a")] * 11 + ["done"]
    agent = sk.Agent(ScriptedModel(script * 2), [search])
    assert agent.run("x", usage_limits=sk.UsageLimits(max_steps=20)).steps == 12
    with pytest.raises(sk.UsageLimitExceeded, match="max_steps=8"):
        agent.run("x", usage_limits=sk.UsageLimits(max_tool_calls=20))


@pytest.mark.parametrize("run", RUNS)
def test_a_step_that_exceeds_the_number_of_calls_executes_none(run: Run) -> None:
    made: list[str] = []

    def look(city: str) -> str:
        made.append(city)
        return "none"

    three = f"[{', '.join(call('look', city=city) for city in 'bcd')}]"
    script = [call("look", city="a"), three, "done"]
    agent = sk.Agent(ScriptedModel(script), [look], max_parallel_calls=3)
    error = exceeded(run, agent, sk.UsageLimits(max_tool_calls=3))
    assert (error.limit, made, len(error.calls)) == ("max_tool_calls", ["a"], 4)
    assert run(agent.with_model(ScriptedModel(script)), sk.UsageLimits(max_tool_calls=4)).value == "done"


def test_no_call_at_all_can_be_allowed() -> None:
    agent = sk.Agent(ScriptedModel([call("search", city="a")]), [search])
    assert exceeded(_run, agent, sk.UsageLimits(max_tool_calls=0)).limit == "max_tool_calls"
    assert (
        agent.with_model(ScriptedModel(["Hi."])).run("x", usage_limits=sk.UsageLimits(max_tool_calls=0)).value
        == "Hi."
    )


@pytest.mark.parametrize("run", RUNS)
def test_a_call_or_result_that_the_tokens_shorten_raises(run: Run) -> None:
    long = "a" * 200
    for script in ([call("search", city=long)], [call("search", city="a"), long]):
        agent = sk.Agent(ScriptedModel(script, byte_vocabulary(), strict=False), [search])
        error = exceeded(run, agent, sk.UsageLimits(max_tokens=150))
        assert error.limit == "max_tokens"
        assert "max_tokens=150" in str(error)
        assert 0 < error.usage.generated_tokens <= 150
        assert [each.tool_result for each in error.calls] == ["none"] * (len(script) - 1)


def test_calls_that_leave_no_tokens_for_a_result_are_not_executed() -> None:
    first = call("search", city="a")
    agent = sk.Agent(ScriptedModel([first], byte_vocabulary()), [search], output_type=Flight)
    error = exceeded(_run, agent, sk.UsageLimits(max_tokens=len(first) + 10))
    assert (error.limit, error.calls[0].error) == ("max_tokens", "the call was not executed")


def test_tokens_that_a_tool_spends_beyond_the_limit_raise() -> None:
    def greedy(context: sk.Context[object]) -> str:
        context.spend(sk.generate(ScriptedModel([f'"{"a" * 300}"'], byte_vocabulary()), "x", str).usage)
        return "done"

    agent = sk.Agent(ScriptedModel([call("greedy"), "a"], byte_vocabulary()), [greedy])
    error = exceeded(_run, agent, sk.UsageLimits(max_tokens=200))
    assert (error.limit, error.calls[0].tool_result) == ("max_tokens", "done")
    assert error.usage.generated_tokens > 300


def test_a_step_longer_than_the_default_raises() -> None:
    agent = sk.Agent(ScriptedModel(["a" * 1_100] * 2, byte_vocabulary(), strict=False), [search])
    with pytest.raises(sk.UsageLimitExceeded, match=r"max_tokens=1024 for one step, the default") as caught:
        agent.run("x")
    assert caught.value.limit == "max_tokens"
    assert len(agent.run("x", usage_limits=sk.UsageLimits(max_tokens=1_200)).value) == 1_100


def test_a_context_without_room_raises() -> None:
    def essay(about: str) -> str:
        return "It is a long story. " * 400

    limits, remedies = set(), set()
    for seed in range(12):
        model = RandomModel(seed, brevity=3, context_length=400)
        agent = sk.Agent(model, [essay], output_type=Flight, max_steps=30)
        try:
            limits.add(agent.run("x").finish_reason)
        except sk.UsageLimitExceeded as error:
            limits.add(str(error).split(" before ")[0])
            remedies.add(error.remedy)
    assert limits == {"stop", "the run reached context=400 tokens of the model"}
    assert len(remedies) == 1
    assert "a model with a larger context" in str(remedies)


@pytest.mark.parametrize("run", RUNS)
def test_the_timeout_raises(run: Run) -> None:
    made: list[int] = []

    def slow() -> str:
        made.append(1)
        time.sleep(0.2)
        return "slow"

    agent = sk.Agent(ScriptedModel([call("slow")] * 30), [slow], max_steps=30)
    error = exceeded(run, agent, sk.UsageLimits(timeout=0.3))
    assert error.limit == "timeout"
    assert "timeout=0.3 seconds" in str(error)
    assert len(error.calls) < 5
    assert [each.kind for each in error.messages].count("output") == len(error.calls)


@pytest.mark.parametrize("run", RUNS)
def test_a_tool_that_uses_its_retries_raises(run: Run) -> None:
    script = [call("book", city="Oslo")] * 3 + [call("search", city="Oslo")]
    agent = sk.Agent(ScriptedModel(script), [book, search], output_type=Flight)
    error = exceeded(run, agent, sk.UsageLimits())
    assert error.limit == "tool_retries"
    assert str(error) == (
        "at `book`:\n  book failed 3 times in a row, and its tool_retries=2 are used (the last error: 'there is no "
        "flight to Oslo')\n  increase tool_retries, or make the agent with on_limit='answer', which continues without "
        "the tool"
    )
    assert isinstance(error.__cause__, sk.ToolError)
    assert len(error.calls) == 3


def test_success_and_denials_do_not_use_retries() -> None:
    outcomes = iter([False, False, True, False, False])

    def unsure() -> str:
        if next(outcomes):
            return "ok"
        raise sk.ToolError("no")

    assert sk.Agent(ScriptedModel([call("unsure")] * 5 + ["done"]), [unsure]).run("x").value == "done"

    def pay() -> None: ...

    agent = sk.Agent(ScriptedModel([call("pay")] * 3 + ["ok"]), [sk.tool(pay, requires_approval=True)])
    with pytest.raises(sk.RunSuspended) as caught:
        agent.run("x")
    for _ in range(2):
        state = caught.value.state
        with pytest.raises(sk.RunSuspended) as caught:
            agent.resume(state, approvals=False)
    result = agent.resume(caught.value.state, approvals=False)
    assert (result.value, result.finish_reason) == ("ok", "no_tools")


def test_the_finish_reason_names_what_ended_the_run(caplog: pytest.LogCaptureFixture) -> None:
    script = [call("search", city="a")] * 9

    def reason(*tools: Any, limits: sk.UsageLimits = sk.UsageLimits(), **options: Any) -> str:  # noqa: B008
        agent = sk.Agent(ScriptedModel(script, strict=False), list(tools), on_limit="answer", **options)
        return agent.run("x", usage_limits=limits).finish_reason

    with caplog.at_level(logging.WARNING, logger="structkit"):
        assert reason(sk.tool(search, max_calls=2)) == "no_tools"
        assert not caplog.records
        assert reason(search, max_steps=2, name="finder") == "steps"
        assert "agent finder: max_steps=2 is reached (steps: 2, calls: 1); the limit" in caplog.text
        assert reason(search, limits=sk.UsageLimits(max_tool_calls=2)) == "steps"
        assert "max_tool_calls=2 is reached" in caplog.text
        assert reason(search, limits=sk.UsageLimits(timeout=0)) == "budget"
        assert "timeout=0 seconds is reached" in caplog.text
        assert reason(search, max_tokens=30) == "budget"
        assert "max_tokens=30 is reached" in caplog.text
        assert reason(sk.tool(book, name="search", tool_retries=1)) == "no_tools"
        assert "search failed 2 times in a row" in caplog.text
    tools = sk.Toolset([search]).available(lambda context: False)
    assert sk.Agent(ScriptedModel(["Hi."], strict=False), tools).run("x").finish_reason == "no_tools"


def test_the_number_of_parallel_calls_keeps_to_the_limit_of_a_run() -> None:
    three = f"[{', '.join([call('search', city='a')] * 3)}]"
    for script, reason in (([three] * 3, "stop"), ([three, call("search", city="a"), "end"], "steps")):
        agent = sk.Agent(
            ScriptedModel(script, strict=False), [search], max_parallel_calls=3, on_limit="answer"
        )
        result = agent.run("x", usage_limits=sk.UsageLimits(max_tool_calls=4))
        assert (len(result.calls) <= 4, result.finish_reason) == (True, reason)


def nested(inner: sk.Agent[Any], **options: Any) -> sk.Agent[str]:
    model = ScriptedModel([call("helper", prompt="a"), "done"], strict=False)
    return sk.Agent(model, [inner.as_tool("helper", "Helps.")], **options)


@pytest.mark.parametrize("run", RUNS)
def test_a_limit_of_an_agent_as_a_tool(run: Run) -> None:
    def inner(**options: Any) -> sk.Agent[Any]:
        return sk.Agent(
            ScriptedModel([call("search", city="a")] * 3, strict=False), [search], max_steps=2, **options
        )

    with pytest.raises(sk.UsageLimitExceeded) as caught:
        run(nested(inner()), sk.UsageLimits())
    assert [each.name for each in caught.value.calls] == ["search", "search"]
    record = sk.run_record(caught.value)
    assert record is not None
    assert [each.name for each in record.calls] == ["helper"]
    assert record.usage.generated_tokens > caught.value.usage.generated_tokens > 0

    result = run(nested(inner(), on_limit="answer"), sk.UsageLimits())
    assert "max_steps=2" in (result.calls[0].error or "")
    result = run(nested(inner(on_limit="answer")), sk.UsageLimits())
    assert result.calls[0].error is None


@pytest.mark.parametrize("run", RUNS)
def test_the_tokens_of_the_caller_limit_an_agent_as_a_tool(run: Run) -> None:
    def inner() -> sk.Agent[Any]:
        return sk.Agent(ScriptedModel(["a" * 500], byte_vocabulary(), strict=False))

    error = exceeded_by_nested(run, nested(inner()))
    assert error.limit == "max_tokens"
    result = run(nested(inner(), on_limit="answer"), sk.UsageLimits(max_tokens=150))
    assert "max_tokens" in (result.calls[0].error or "")


def exceeded_by_nested(run: Run, agent: sk.Agent[Any]) -> sk.UsageLimitExceeded:
    with pytest.raises(sk.UsageLimitExceeded) as caught:
        run(agent, sk.UsageLimits(max_tokens=150))
    return caught.value


def test_a_shortened_field_is_no_limit_of_the_run() -> None:
    class Note(BaseModel):
        title: Annotated[str, sk.MaxTokens(5)]

    model = ScriptedModel(['{"title": "abcdefghi"}'], byte_vocabulary(), strict=False)
    result = sk.Agent(model, output_type=Note).run("x")
    assert (result.value.title, result.finish_reason) == ("abcd", "stop")


def test_random_runs_end_by_choice_or_raise() -> None:
    met: Counter[str] = Counter()
    for group in range(12):
        chance = random.Random(group)
        made = [some_tool(chance, number)[0] for number in range(chance.randrange(1, 4))]
        agent = sk.Agent(
            RandomModel(),
            made,
            output_type=chance.choice([bool, Flight]),
            max_steps=chance.randrange(1, 5),
            max_parallel_calls=chance.choice([1, 3]),
            max_tokens=chance.randrange(100, 500),
        )
        for seed in range(cases(4, of=10)):
            MADE.clear()
            try:
                (result,) = random_runs(agent, 1, 100 * group + seed)
            except sk.UsageLimitExceeded as error:
                met[error.limit] += 1
                calls = error.calls
                last = error.messages[-1]
                assert not isinstance(last, messages.Calls)
                agent.with_model(RandomModel(brevity=9))._start("x", error.messages, None, sk.UsageLimits())
            else:
                met[result.finish_reason] += 1
                calls = result.calls
                assert result.finish_reason in ("stop", "no_tools")
            executed = Counter(each.name for each in calls if each.error != "the call was not executed")
            assert executed == MADE
    assert all(met[name] for name in ("stop", "no_tools", "max_steps", "max_tokens")), met


def test_the_error_of_a_nested_limit_says_where_it_was_reached() -> None:
    def look() -> str:
        return "seen"

    inner = sk.Agent(ScriptedModel([call("look")] * 6), tools=[look], max_steps=2, name="clerk")
    middle = sk.Agent(ScriptedModel([call("ask", prompt="x")] * 2), [inner.as_tool("ask")])
    outer = sk.Agent(ScriptedModel([call("delegate", prompt="x")]), [middle.as_tool("delegate")])
    for agent, place in ((inner, "clerk"), (middle, "ask: clerk"), (outer, "delegate: ask: clerk")):
        with pytest.raises(sk.UsageLimitExceeded) as caught:
            agent.run("x")
        assert caught.value.place == place
