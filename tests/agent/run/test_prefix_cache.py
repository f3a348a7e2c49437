"""A step does not read the tokens of earlier steps again."""

from __future__ import annotations

import copy
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from tests.docs.blocks import needs_demo

pytest.importorskip("torch", reason="torch is not installed")

import structkit as sk
from structkit.agent.run import driver
from structkit.agent.run.run import Run
from structkit.agent.run.state import RunState
from structkit.generate.schedule.prefix_cache import CachedRow
from structkit.messages import User
from structkit.testing import ScriptedModel
from tests.agent.rows import noted_rows


def calculate(expression: str) -> int:
    """Calculate an expression."""
    return 391


def get_weather(city: str) -> str:
    """The weather in a city."""
    return "sunny"


def fresh(number: int) -> int:
    """Refuses what the model would say first, and again."""
    if number in (391, 3910, 1):
        raise ValueError("say something else")
    return number


@pytest.mark.parametrize("result", [int, Annotated[int, AfterValidator(fresh)]], ids=["int", "refused"])
def test_a_run_that_remembers_is_the_same_run(result: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_demo()
    kept = noted_rows(monkeypatch)
    agent = sk.Agent(sk.load(), tools=[calculate, get_weather], output_type=result, max_steps=4)

    def run(keep: bool) -> sk.AgentResult[object]:
        state = RunState(agent_fingerprint="", messages=(User(content="Calculate 17 * 23."),), pending=())
        return driver.drive_sync(Run(agent._config, state, None), agent._config.model, reuse_prefix=keep)

    with_cache, without = run(True), run(False)
    assert with_cache.messages == without.messages
    assert with_cache.steps > 1
    assert len(kept) == 1
    read = without.usage.prompt_tokens + without.usage.generated_tokens
    assert kept[0].read_tokens < 0.8 * read


def test_a_model_without_a_chat_template_reads_a_transcript() -> None:
    needs_demo()
    demo = sk.load()
    plain = type(demo)(demo.model, copy.copy(demo.tokenizer), name="plain")
    plain.tokenizer.chat_template = None
    agent = sk.Agent(
        plain,
        tools=[calculate],
        output_type=bool,
        max_steps=3,
        instructions="Be brief.",
        on_limit="answer",
    )
    result = agent.run("Calculate 17 * 23.")
    assert isinstance(result.value, bool)
    told = agent._config.turns(result.messages[:-1])
    assert isinstance(told, str)
    assert told.startswith("Be brief.\n\nUser: Calculate 17 * 23.\n\nAnswer with JSON.")
    assert told.endswith("\n\nAssistant:")


def test_models_that_begin_anew_each_time_are_left_to_it() -> None:
    agent = sk.Agent(ScriptedModel(["7"]), output_type=int)
    assert agent.run("x").value == 7
    assert len(agent._config.prefix_cache) == 0


def turns(agent: sk.Agent[Any], *prompts: str) -> list[sk.AgentResult[Any]]:
    """A conversation."""
    results: list[sk.AgentResult[Any]] = []
    for prompt in prompts:
        results.append(agent.run(prompt, messages=results[-1].messages if results else ()))
    return results


def conversing(**options: Any) -> sk.Agent[int]:
    return sk.Agent(sk.load(), tools=[calculate, get_weather], output_type=int, max_steps=3, **options)


PROMPTS = ("Calculate 17 * 23.", "And the weather in Porto?", "And in Braga?")


def only(agent: sk.Agent[Any]) -> CachedRow:
    (row,) = agent._config.prefix_cache._rows
    return row


def test_a_turn_reads_only_what_is_new() -> None:
    needs_demo()
    agent, forgetful = conversing(), conversing(limits=sk.Limits(prefix_cache_tokens=0))
    first = agent.run(PROMPTS[0])
    row = only(agent)
    before = row.read_tokens
    second = agent.run(PROMPTS[1], messages=first.messages)
    assert only(agent) is row
    fresh = conversing()
    fresh.run(PROMPTS[1], messages=first.messages)
    setup = agent._config
    old = len(setup.model.encode(setup.turns(first.messages[:-1])))
    assert only(fresh).read_tokens - (row.read_tokens - before) > old - 10
    alone = turns(forgetful, *PROMPTS[:2])
    assert [each.messages for each in alone] == [first.messages, second.messages]
    assert len(forgetful._config.prefix_cache) == 0


@pytest.mark.long
def test_what_was_read_is_let_go_of() -> None:
    needs_demo()
    agent = conversing()
    for number in range(4):  # other conversations of several hundred tokens each
        agent.run(f"Calculate {number} * 23.")
    kept = [weakref.ref(row) for row in agent._config.prefix_cache._rows]
    assert 1 < len(kept) <= 4
    small = conversing(limits=sk.Limits(prefix_cache_tokens=len(only_first(agent).token_ids) + 50))
    for number in range(4):
        small.run(f"Calculate {number} * 23.")
    assert len(small._config.prefix_cache) == 1
    assert len(agent.with_model(ScriptedModel([]))._config.prefix_cache) == 0
    del agent
    gc.collect()
    assert [each() for each in kept] == [None] * len(kept)


def test_what_is_kept_takes_no_more_memory_than_what_was_read() -> None:
    needs_demo()
    agent = conversing()
    first = agent.run(PROMPTS[0])
    for _ in range(2):
        row = only(agent)
        layers = row._batch._cache.batch_layers  # type: ignore[attr-defined]
        assert {held.shape[-2] for layer in layers for held in layer.buffers} == {len(row.token_ids)}
        agent.run(PROMPTS[1], messages=first.messages)  # it grows again


def only_first(agent: sk.Agent[Any]) -> CachedRow:
    return agent._config.prefix_cache._rows[0]


def test_conversations_in_threads_do_not_mix() -> None:
    needs_demo()
    agent = conversing(on_limit="answer")
    forgetful = conversing(on_limit="answer", limits=sk.Limits(prefix_cache_tokens=0))
    cities = ["Porto", "Braga", "Lisbon"]
    prompts = [(f"The weather in {city}?", "And tomorrow?") for city in cities]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda each: turns(agent, *each)[-1].messages, prompts))
    assert together == [turns(forgetful, *each)[-1].messages for each in prompts]


def test_a_run_that_failed_leaves_nothing_behind() -> None:
    needs_demo()

    def broken(expression: str) -> int:
        raise KeyError(expression)

    tools = [sk.tool(broken, name="calculate", reraise=KeyError), get_weather]
    agent = sk.Agent(sk.load(), tools=tools, output_type=int, max_steps=3)
    with pytest.raises(KeyError):
        agent.run("Calculate 17 * 23.")
    assert len(agent._config.prefix_cache) == 0


def test_a_paused_run_goes_on_where_it_was() -> None:
    needs_demo()
    agent = sk.Agent(
        sk.load(),
        tools=[sk.tool(calculate, requires_approval=True, max_calls=1), get_weather],
        output_type=int,
        max_steps=3,
    )
    with pytest.raises(sk.RunSuspended) as caught:
        agent.run("Calculate 17 * 23.")
    row = only(agent)
    before = row.read_tokens
    result = agent.resume(caught.value.state, approvals=True)
    assert only(agent) is row
    assert row.read_tokens - before < result.usage.prompt_tokens / 2
