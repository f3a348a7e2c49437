"""What a model has read in one step is not read again in the next."""

from __future__ import annotations

import copy
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from tests.docs.blocks import needs_demo

pytest.importorskip("torch", reason="torch is not installed")

import structkit as sk
from structkit.generate.kept import KeptRow, keeping
from structkit.messages import User
from structkit.models.single import SingleRow
from structkit.testing import ScriptedModel
from structkit.tools import drive
from structkit.tools.run import Run
from structkit.tools.state import RunState


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
    kept: list[KeptRow] = []

    def noted(rows: Any) -> Any:
        made = keeping(rows)
        if isinstance(made, KeptRow):
            kept.append(made)
        return made

    monkeypatch.setattr(drive, "keeping", noted)
    agent = sk.Agent(sk.load(), tools=[calculate, get_weather], result=result, max_steps=4)

    def run(keep: bool) -> sk.AgentResult[object]:
        state = RunState(agent="", messages=(User(content="Calculate 17 * 23."),), pending=())
        return drive.drive(Run(agent._setup, state, None), agent._setup.model, keep=keep)

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
    agent = sk.Agent(plain, tools=[calculate], result=bool, max_steps=3, instructions="Be brief.")
    result = agent.run("Calculate 17 * 23.")
    assert isinstance(result.value, bool)
    told = agent._setup.turns(result.messages[:-1])
    assert isinstance(told, str)
    assert told.startswith("Be brief.\n\nUser: Calculate 17 * 23.\n\nAnswer with JSON.")
    assert told.endswith("\n\nAssistant:")


def test_models_that_begin_anew_each_time_are_left_to_it() -> None:
    rows = SingleRow(ScriptedModel([]))
    assert keeping(rows) is rows
