"""The budget of a run: its tokens, including discarded tokens and those of nested agents, and its time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field

import structkit as sk
from structkit.agent.run.budget import RunBudget
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary
from tests.calls import call
from tests.shared import cases


def computed(usage: Any) -> int:
    return int(usage.generated_tokens + usage.discarded_tokens + usage.thinking_tokens)


def picky(text: str) -> str:
    if len(text) % 3:
        raise ValueError("not of such a length")
    return text


Picky = Annotated[str, Field(max_length=20), AfterValidator(picky)]


class Report(BaseModel):
    title: Picky
    body: Picky


def note(text: Picky) -> str:
    return "noted"


def test_what_is_taken_back_is_counted() -> None:
    first, second = '{"title": "ab", "body": "abc"}', '{"title": "abc", "body": "abc"}'
    vocabulary = byte_vocabulary()
    result = sk.generate(ScriptedModel([first, second], vocabulary), "x", Report)
    assert result.value.title == "abc"
    # From the opening quote of the rejected value; the rest, including its forced text, is generated again.
    assert result.usage.discarded_tokens == len(first) - len('{"title": ')
    assert result.usage.generated_tokens == len(second)
    with pytest.raises(sk.OutputValidationError) as caught:
        sk.generate(ScriptedModel([first] * 2, vocabulary), "x", Report, retries=0)
    usage = caught.value.usage
    assert isinstance(usage, sk.Usage)
    assert (usage.discarded_tokens, usage.generated_tokens) == (len(first), 0)


@pytest.mark.long(every=5)
@pytest.mark.parametrize("on_limit", ["raise", "answer"])
@pytest.mark.parametrize("retries", [0, 1, 8])
def test_a_run_computes_no_more_tokens_than_it_may(retries: int, on_limit: Any) -> None:
    ended = discarded = 0
    for seed in range(cases(12, of=40)):
        most = 60 + 7 * seed
        model = RandomModel(seed, byte_vocabulary(), brevity=3.0)
        agent = sk.Agent(
            model,
            tools=[note],
            output_type=Report,
            max_tokens=most,
            max_steps=5,
            retries=retries,
            on_limit=on_limit,
        )
        try:
            usage: Any = agent.run("x").usage
            ended += 1
        except (sk.OutputValidationError, sk.UsageLimitExceeded) as failed:
            usage = failed.usage
        assert 0 < computed(usage) <= most
        discarded += usage.discarded_tokens
    assert discarded and (ended or not retries)


def test_a_value_is_written_anew_only_where_there_is_room() -> None:
    first, second = '{"title": "ab", "body": "abc"}', '{"title": "abc", "body": "abc"}'

    def run(max_tokens: int) -> sk.AgentResult[Report]:
        model = ScriptedModel([first, second], byte_vocabulary())
        return sk.Agent(model, output_type=Report, max_tokens=max_tokens).run("x")

    assert run(60).value.title == "abc"
    with pytest.raises(sk.OutputValidationError, match="not of such a length"):
        run(len(first) + 5)


def test_thoughts_are_of_the_tokens_of_the_run() -> None:
    for seed in range(10):
        model = RandomModel(seed, brevity=3.0)
        agent = sk.Agent(
            model,
            tools=[note],
            output_type=bool,
            max_tokens=150,
            thinking=40,
            max_steps=6,
            on_limit="answer",
        )
        usage = agent.run("x").usage
        assert usage.thinking_tokens
        assert computed(usage) <= 150


def inner_agent(model: Any, **options: Any) -> sk.Agent[str]:
    return sk.Agent(model, instructions="Help.", **options)


def test_what_an_agent_as_a_tool_takes_is_the_callers() -> None:
    inner = inner_agent(ScriptedModel(["two teas"]))
    alone = inner.run("Tea?").usage
    inner = inner.with_model(ScriptedModel(["two teas"] * 2))
    script = [call("helper", prompt="Tea?"), "two"]
    outer = sk.Agent(ScriptedModel(script * 2), tools=[inner.as_tool("helper")])
    without = sk.Agent(ScriptedModel(script), tools=[sk.tool(_helper, name="helper")]).run("Tea?").usage
    for result in (outer.run("Tea?"), asyncio.run(outer.arun("Tea?"))):
        assert result.usage.generated_tokens == without.generated_tokens + alone.generated_tokens
        assert result.usage.prompt_tokens > without.prompt_tokens
        assert result.usage.model_seconds > 0


def _helper(prompt: str) -> str:
    """Help."""
    return "two teas"


def test_an_agent_as_a_tool_keeps_to_the_tokens_of_the_caller() -> None:
    three = "[" + ", ".join([call("helper", prompt="a")] * 3) + "]"
    for most in (60, 120, 400):
        for seed in range(6):
            # strings that never end
            inner = inner_agent(RandomModel(seed), max_tokens=300, on_limit="answer")
            outer = sk.Agent(
                ScriptedModel([three, "ok"], strict=False),
                tools=[inner.as_tool("helper")],
                max_parallel_calls=3,
                max_tokens=most,
                on_limit="answer",
            )
            result = outer.run("x")
            assert computed(result.usage) <= most
    assert {each.error for each in result.calls} == {None}


def test_what_a_failed_agent_took_is_counted() -> None:
    inner = sk.Agent(
        ScriptedModel(['{"title": "ab", "body": "abc"}'], byte_vocabulary()), output_type=Report, retries=0
    )
    outer = sk.Agent(
        ScriptedModel([call("helper", prompt="a"), "ok"]), tools=[inner.as_tool("helper")], errors="report"
    )
    result = outer.run("x")
    assert "OutputValidationError" in (result.calls[0].error or "")
    assert result.usage.discarded_tokens == len('{"title": "ab", "body": "abc"}')


@pytest.mark.long
def test_an_agent_as_a_tool_has_the_time_that_is_left() -> None:
    seen: list[float | None] = []

    def slow(context: sk.Context[None]) -> str:
        seen.append(context.seconds_left)
        time.sleep(1.2)
        return "slow"

    inner = sk.Agent(ScriptedModel([call("slow")] * 6 + ["x"], strict=False), tools=[slow], on_limit="answer")
    outer = sk.Agent(
        ScriptedModel([call("helper", prompt="a"), "ok"], strict=False),
        tools=[inner.as_tool("helper")],
        timeout=2,
        on_limit="answer",
    )
    assert outer.run("x").value is not None
    assert 1 <= len(seen) < 5
    assert all(each is not None and each <= 2 for each in seen)


def _never() -> str:
    threading.Event().wait(20)
    return "late"


async def _never_awaited() -> str:
    await asyncio.sleep(20)
    return "late"


@pytest.mark.long(every=3)
@pytest.mark.parametrize("run", ["run", "arun"])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("function", [_never, _never_awaited])
def test_no_tool_is_waited_for_when_the_time_is_over(
    function: Callable[[], object], count: int, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structkit.agent.run.execute._GRACE", 0.05)
    script = ["[" + ", ".join([call("f")] * count) + "]" if count > 1 else call("f"), "ok"]
    tools = [sk.tool(function, name="f", timeout=10)]
    agent = sk.Agent(ScriptedModel(script, strict=False), tools, max_parallel_calls=2, on_limit="answer")
    limits, begun = (
        sk.UsageLimits(timeout=1),
        time.perf_counter(),
    )  # time to write the calls on a busy machine
    result = (
        agent.run("x", usage_limits=limits)
        if run == "run"
        else asyncio.run(agent.arun("x", usage_limits=limits))
    )
    assert time.perf_counter() - begun < 8
    assert [each.error for each in result.calls] == [
        "the call did not return before the timeout of the run"
    ] * count
    assert result.finish_reason == "budget"


def test_a_call_that_is_written_too_late_is_not_made() -> None:
    made: list[str] = []

    def send(text: str) -> None:
        made.append(text)

    tools = [sk.tool(send, requires_approval=True)]
    agent = sk.Agent(ScriptedModel([call("send", text="a"), "ok"], strict=False), tools, on_limit="answer")
    with pytest.raises(sk.RunSuspended) as paused:
        agent.run("x")
    result = agent.resume(paused.value.state, approvals=True, usage_limits=sk.UsageLimits(timeout=0))
    assert [each.error for each in result.calls] == [
        "the call was not executed, because the timeout of the run has passed"
    ]
    assert not made
    assert result.finish_reason == "budget"


@pytest.mark.parametrize("run", ["run", "arun"])
def test_a_tool_that_does_not_say_in_time_whether_it_is_available_is_not(run: str) -> None:
    async def unsure(context: sk.Context[object]) -> bool:
        await asyncio.sleep(20)
        return True

    tool = sk.Tool(function=_never, name="f", available=unsure)
    begun = time.perf_counter()
    agent = sk.Agent(ScriptedModel(["ok"], strict=False), [tool], timeout=0.2, on_limit="answer")
    result = agent.run("x") if run == "run" else asyncio.run(agent.arun("x"))
    assert (time.perf_counter() - begun < 15, result.calls) == (True, ())


def test_what_a_tool_took_that_nobody_waited_for_is_counted() -> None:
    spending = threading.Event()

    def costly(context: sk.Context[None]) -> None:
        context.cancelled.wait(10)
        context.spend(sk.generate(ScriptedModel(['"abcdefgh"'], byte_vocabulary()), "x", str).usage)
        spending.set()

    def wait() -> None:
        spending.wait(10)

    tools = [sk.tool(costly, timeout=0.05), wait]
    model = ScriptedModel([call("costly"), call("wait"), "ok"], byte_vocabulary())
    result = sk.Agent(model, tools).run("x")
    assert result.calls[0].error == "the call did not return within 0.05 seconds"
    written = call("costly") + call("wait") + "ok" + '"abcdefgh"'
    assert computed(result.usage) == len(written)


def test_a_tool_counts_what_it_had_a_model_do() -> None:
    def summary(context: sk.Context[None], text: str) -> str:
        result = sk.generate(RandomModel(), text, str, max_tokens=context.tokens_left)
        context.spend(result.usage)
        return result.value

    model = ScriptedModel([call("summary", text="a"), "ok"], strict=False)
    result = sk.Agent(model, tools=[summary], max_tokens=150, on_limit="answer").run("x")
    assert result.calls[0].error is None
    assert 130 < computed(result.usage) <= 150
    assert result.finish_reason in ("stop", "budget")


def test_usage_holds_over_a_pause() -> None:
    inner = inner_agent(ScriptedModel(["a"]))

    def pay() -> None: ...

    tools = [inner.as_tool("helper"), sk.tool(pay, requires_approval=True)]
    both = f"[{call('helper', prompt='x')}, {call('pay')}]"
    with pytest.raises(sk.RunSuspended) as caught:
        sk.Agent(ScriptedModel([both]), tools, max_parallel_calls=2).run("x")
    before = caught.value.state.usage
    result = sk.Agent(ScriptedModel(["ok"]), tools, max_parallel_calls=2).resume(
        caught.value.state, approvals=True
    )
    assert result.usage.generated_tokens == before.generated_tokens + 2


def limited(model: Any, **limits: Any) -> sk.AgentResult[str]:
    agent = sk.Agent(model, tools=[_helper], max_steps=5, max_tokens=300, timeout=60, on_limit="answer")
    return agent.run("x", usage_limits=sk.UsageLimits(**limits))


def test_a_limit_of_a_run_replaces_that_of_its_agent() -> None:
    script = [call("_helper", prompt="a")] * 9

    def steps(**limits: Any) -> int:
        return limited(ScriptedModel(script, strict=False), **limits).steps

    assert [steps(), steps(max_steps=2), steps(max_steps=1), steps(max_steps=9)] == [5, 2, 1, 9]
    for seed in range(5):
        for most in (60, 120, 900):
            assert computed(limited(RandomModel(seed), max_tokens=most).usage) <= most
    with pytest.raises(sk.BudgetTooSmall):
        limited(RandomModel(), max_tokens=0)
    late = limited(ScriptedModel([*script], strict=False), timeout=0)
    assert (late.steps, late.finish_reason) == (1, "budget")


@pytest.mark.parametrize(
    "limits",
    [
        {"max_steps": 0},
        {"max_tool_calls": -1},
        {"max_tokens": -1},
        {"timeout": -1},
        {"timeout": float("nan")},
    ],
)
def test_limits_that_are_none(limits: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(limits))):
        sk.UsageLimits(**limits)


def test_limits_hold_in_every_kind_of_run() -> None:
    def pay() -> None: ...

    script = [call("_helper", prompt="a")] * 9
    two = sk.UsageLimits(max_steps=2)
    agent = sk.Agent(ScriptedModel(script, strict=False), tools=[_helper], on_limit="answer")

    async def streamed() -> sk.AgentResult[str]:
        return (
            await agent.with_model(ScriptedModel(script, strict=False))
            .astream("x", usage_limits=two)
            .result()
        )

    asking = sk.Agent(
        ScriptedModel([call("pay"), *script], strict=False),
        [_helper, sk.tool(pay, requires_approval=True)],
        on_limit="answer",
    )
    with pytest.raises(sk.RunSuspended) as caught:
        asking.run("x")
    state = caught.value.state
    results = [
        asyncio.run(agent.arun("x", usage_limits=two)),
        agent.with_model(ScriptedModel(script, strict=False)).stream("x", usage_limits=two).result,
        asyncio.run(streamed()),
        asking.resume(state, approvals=True, usage_limits=two),
        asyncio.run(asking.aresume(state, approvals=True, usage_limits=two)),
    ]
    assert [each.steps for each in results] == [2] * 5
    for limits, error in (
        (sk.UsageLimits(max_steps=1), sk.AgentError),
        (sk.UsageLimits(max_tokens=8), sk.BudgetTooSmall),
    ):
        with pytest.raises(error, match=r"max_steps=1 leaves none|max_tokens"):
            asking.resume(state, approvals=True, usage_limits=limits)


def test_of_a_huge_output_only_what_can_be_shown_is_counted() -> None:
    class Counting(RandomModel):
        longest = 0

        def encode_text(self, text: str) -> list[int]:
            self.longest = max(self.longest, len(text))
            return super().encode_text(text)

    def essay(about: Annotated[str, Field(max_length=3)]) -> str:
        return "It is a long story. " * 100_000

    for seed in range(6):
        model = Counting(seed, brevity=3, context_length=500)
        agent = sk.Agent(model, tools=[essay], output_type=bool, max_steps=3, on_limit="answer")
        result = agent.run("x")
        assert model.longest < 50_000
        if result.calls:
            break
    output = next(each for each in result.messages if isinstance(each, sk.messages.Output))
    assert output.content.startswith("It is a") and "more characters)" in output.content


@pytest.mark.long
def test_an_agent_as_a_tool_stops_when_nobody_waits_for_it() -> None:
    steps: list[int] = []

    def look(context: sk.Context[None]) -> None:
        steps.append(context.step)
        time.sleep(0.2)

    def agent() -> sk.Agent[str]:
        inner = sk.Agent(ScriptedModel([call("look")] * 60), [look], instructions="Help.", max_steps=50)
        model = ScriptedModel([call("helper", prompt="a"), "ok"])
        return sk.Agent(model, [inner.as_tool("helper")])

    async def cancelled() -> None:
        task = asyncio.create_task(agent().arun("x"))
        while not steps:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    time.sleep(0.5)
    made = len(steps)
    assert made < 5
    time.sleep(0.7)
    assert len(steps) == made


@pytest.mark.parametrize("later", [False, True])
def test_a_function_sees_that_nobody_waits_for_it(later: bool) -> None:
    seen: list[bool] = []

    def slow(context: sk.Context[None]) -> None:
        seen.append(context.cancelled.wait(20))

    agent = sk.Agent(ScriptedModel([call("slow"), "ok"]), [sk.tool(slow, timeout=0.1)])
    result = asyncio.run(agent.arun("x")) if later else agent.run("x")
    assert "did not return" in (result.calls[0].error or "")
    for _ in range(200):
        if seen:
            break
        time.sleep(0.05)
    assert seen == [True]


MODEL = RandomModel()
LONGEST = max((token for token in MODEL.vocabulary.tokens if token.isascii()), key=len).decode()


@pytest.mark.parametrize("room", [3, 5, 9, 20, 60])
@pytest.mark.parametrize("text", ["", "a", "word " * 40, "é" * 100, "x" * 5_000, LONGEST * 9, LONGEST * 10])
def test_a_result_that_is_cut_has_at_most_the_tokens(text: str, room: int) -> None:
    config = SimpleNamespace(logits_model=MODEL, max_token_length=len(LONGEST))
    budget: Any = SimpleNamespace(_config=config)
    cut = RunBudget._truncate(budget, text, room)
    assert len(MODEL.encode_text(cut)) <= room or cut == "..."
    if text and len(MODEL.encode_text(text)) <= room:
        assert cut == text
    elif text and cut != "...":
        kept, _, rest = cut.partition(" ... (")
        assert text.startswith(kept)
        assert not rest or len(text) - len(kept) == int(rest.split()[0])
