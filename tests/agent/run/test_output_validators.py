"""`Agent(validate=...)`: the output of a run is accepted or rejected with the context of the run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, ValidationInfo

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel

COUNT = '{"name": "count", "arguments": {"title": "Salt"}}'


def count(context: sk.Context[dict[str, int]], title: str) -> int:
    """How many copies there are."""
    return context.deps[title]


class Offer(BaseModel):
    title: str
    copies: int


def offer(copies: int) -> str:
    return json.dumps({"title": "Salt", "copies": copies})


def in_stock(context: sk.Context[dict[str, int]], value: Offer) -> None:
    if value.copies > context.deps[value.title]:
        raise sk.Retry(f"there are {context.deps[value.title]} copies after {len(context.messages)} messages")


async def in_stock_async(context: sk.Context[dict[str, int]], value: Offer) -> Offer:
    await asyncio.sleep(0)
    in_stock(context, value)
    return value


RUNS: dict[str, Callable[..., Any]] = {
    "run": lambda agent, **options: agent.run("x", **options),
    "arun": lambda agent, **options: asyncio.run(agent.arun("x", **options)),
    "stream": lambda agent, **options: agent.stream("x", **options).result,
    "astream": lambda agent, **options: asyncio.run(collect_astream(agent, **options)),
}


async def collect_astream(agent: sk.Agent[Any, Any], **options: Any) -> Any:
    return await agent.astream("x", **options).result()


@pytest.mark.parametrize("validate", [in_stock, in_stock_async])
@pytest.mark.parametrize("way", RUNS)
@pytest.mark.parametrize("text", [False, True])
def test_the_model_reads_the_error_before_it_generates_another_output(
    way: str, validate: Callable[..., object], text: bool
) -> None:
    model = ScriptedModel([COUNT, offer(12), offer(5)])
    agent = sk.Agent(model, tools=[count], output_type=Offer, validate=validate, allow_text=text)
    result = RUNS[way](agent, deps={"Salt": 5})
    assert result.value == Offer(title="Salt", copies=5)
    assert [call.tool_result for call in result.calls] == [5]
    assert result.messages[-1] == sk.messages.Answer(content=offer(5))
    assert result.steps == 2
    assert len(model.prompts) == 3
    assert model.prompts[2].endswith(
        f"assistant: {offer(12)}\n"
        "user: This answer is wrong: there are 5 copies after 3 messages. Give another."
    )


@pytest.mark.parametrize("way", RUNS)
def test_the_error_after_the_last_attempt_has_the_attempts_and_the_record_of_the_run(way: str) -> None:
    model = ScriptedModel([COUNT, offer(12), offer(11)])
    agent = sk.Agent(model, tools=[count], output_type=Offer, validate=in_stock, retries=1)
    with pytest.raises(sk.OutputValidationError, match="there are 5 copies") as caught:
        RUNS[way](agent, deps={"Salt": 5})
    assert caught.value.attempts == (offer(12), offer(11))
    record = sk.run_record(caught.value)
    assert record is not None
    assert [call.tool_result for call in record.calls] == [5]
    assert [message.kind for message in record.messages] == ["user", "calls", "output"]
    assert record.steps == 2
    assert record.usage.discarded_tokens > 0


@pytest.mark.parametrize("way", RUNS)
def test_a_fault_of_the_validator_is_raised_with_the_record(way: str) -> None:
    agent = sk.Agent(
        ScriptedModel([COUNT, offer(1)]), tools=[count], output_type=Offer, validate=lambda v: v["x"]
    )
    with pytest.raises(TypeError, match="not subscriptable") as caught:
        RUNS[way](agent, deps={"Salt": 5})
    record = sk.run_record(caught.value)
    assert record is not None
    assert len(record.calls) == 1


def test_calls_are_not_validated_and_executed_once() -> None:
    made, seen = [], []

    def note(text: str) -> str:
        made.append(text)
        return "noted"

    def only_b(value: str) -> None:
        seen.append(value)
        if value != "b":
            raise ValueError("say b")

    calls = [json.dumps({"name": "note", "arguments": {"text": text}}) for text in "12"]
    agent = sk.Agent(ScriptedModel([*calls, "a", "b"]), tools=[note], validate=only_b)
    assert agent.run("x").value == "b"
    assert (made, seen) == (["1", "2"], ["a", "b"])


def no_value() -> None: ...


def test_a_wrong_signature_is_refused_when_the_agent_is_made() -> None:
    message = r"validate must be a function .* not no_value\(\) at .*test_output_validators.py"
    with pytest.raises(TypeError, match=message):
        sk.Agent(RandomModel(), validate=no_value)


def known(title: str, info: ValidationInfo) -> str:
    stock: dict[str, int] = info.context  # type: ignore[assignment]
    if title not in stock:
        raise ValueError(f"one of {', '.join(stock)}")
    return title


Title = Annotated[str, AfterValidator(known)]


def price(title: Title) -> float:
    return 9.25


@pytest.mark.parametrize("way", RUNS)
@pytest.mark.parametrize("context", [{"Salt": 1}, None])
def test_validators_of_types_read_the_dependencies_or_the_context(way: str, context: object) -> None:
    texts = [f'{{"name": "price", "arguments": {{"title": "{title}"}}}}' for title in ("Sugar", "Salt")]
    model = ScriptedModel([*texts, '"Sugar"', '"Salt"'])
    agent = sk.Agent(model, [price], output_type=Title, context=context)
    result = RUNS[way](agent, deps={"other": 1} if context else {"Salt": 1})
    assert [call.arguments for call in result.calls] == [{"title": "Salt"}]
    assert result.value == "Salt"


def test_async_tools_and_validators_share_an_event_loop() -> None:
    loops: list[object] = []

    async def look(text: str) -> str:
        loops.append(asyncio.get_running_loop())
        return text

    async def check(value: object) -> None:
        loops.append(asyncio.get_running_loop())

    for way in RUNS.values():
        loops.clear()
        model = ScriptedModel(['{"name": "look", "arguments": {"text": "a"}}', "b"])
        assert way(sk.Agent(model, [look], validate=check)).value == "b"
        assert len(loops) == 2
        assert len(set(map(id, loops))) == 1


def test_the_usage_of_a_judge_counts() -> None:
    def judge(context: sk.Context[object], value: str) -> None:
        verdict = sk.generate(RandomModel(), value, bool)
        context.spend(verdict.usage)

    plain = sk.Agent(ScriptedModel(["a"])).run("x").usage
    judged = sk.Agent(ScriptedModel(["a"]), validate=judge).run("x").usage
    assert judged.written_tokens > plain.written_tokens


def test_an_agent_can_judge_with_its_own_model() -> None:
    model = ScriptedModel(["a", "true"])

    async def judge(value: str) -> None:
        assert await sk.aextract(model, value, bool)

    assert asyncio.run(sk.Agent(model, validate=judge).arun("x")).value == "a"


def test_a_single_step_is_validated() -> None:
    model = ScriptedModel([offer(12), offer(5)])
    agent = sk.Agent(model, tools=[count], output_type=Offer, validate=in_stock, retries=1)
    step = agent.step([sk.messages.User(content="x")], deps={"Salt": 5})
    assert step.value == Offer(title="Salt", copies=5)
