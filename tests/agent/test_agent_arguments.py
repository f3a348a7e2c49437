"""What an agent accepts when it is made, and what it refuses."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.testing import ScriptedModel
from tests.agent.answers import Answer, fail, weather
from tests.calls import call


def test_methods_and_decorated_methods_are_tools() -> None:
    class Shop:
        def __init__(self, prices: dict[str, int]) -> None:
            self.prices = prices

        def price(self, item: str) -> int:
            return self.prices[item]

        @sk.tool(name="sale-price", max_calls=1)
        def sale(self, item: str) -> float:
            return self.prices[item] / 2

    shop = Shop({"tea": 4})
    assert shop.sale("tea") == 2
    model = ScriptedModel([call("price", item="tea"), call("sale-price", item="tea"), "4"])
    assert [each.tool_result for each in sk.Agent(model, tools=[shop.price, shop.sale]).run("x").calls] == [
        4,
        2,
    ]


class Callish(BaseModel):
    name: Literal["weather"]
    arguments: dict[str, int]


def plain(x) -> None: ...  # type: ignore[no-untyped-def]


def star(*x: int) -> None: ...


def stars(**x: int) -> None: ...


def unwritable(x: Callable[[], int]) -> None: ...


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda m: sk.Agent(m, tools=[weather, sk.tool(fail, name="weather")]),
            sk.AgentError,
            "two tools are named weather",
        ),
        (lambda m: sk.Agent(m, tools=[plain]), sk.SchemaError, r"parameter x of plain has no annotation"),
        (
            lambda m: sk.Agent(m, tools=[unwritable]),
            sk.SchemaError,
            r"at `unwritable\(x\)`:\n  .*no JSON form",
        ),
        (lambda m: sk.Agent(m, tools=[star]), sk.SchemaError, r"parameter x of star takes any number"),
        (
            lambda m: sk.Agent(m, tools=[stars]),
            sk.SchemaError,
            r"parameter x of stars takes arguments of any name",
        ),
        (lambda m: sk.Agent(m, tools=[lambda x: x]), sk.AgentError, "invalid tool name"),
        (lambda m: sk.Agent(m, tools=[Answer]), sk.AgentError, "the class Answer is not a tool"),
        (
            lambda m: sk.Agent(m, tools=[sk.mcp.connect(["server"])]),
            sk.AgentError,
            r"for an MCP server, give its tools\(\)",
        ),
        (lambda m: sk.Agent(m, tools=None), TypeError, "list of functions, not None; leave it out"),
        (lambda m: sk.Agent(m, tools=weather), TypeError, r"list of functions.*write tools=\[weather\]"),
        (
            lambda m: sk.Agent(m, tools=[weather], output_type=Callish),
            sk.AgentError,
            "can be the text of a call of weather",
        ),
        (
            lambda m: sk.Agent(m, tools=[weather], output_type=dict[str, Any]),
            sk.AgentError,
            "can be the text of a call of weather",
        ),
        (
            lambda m: sk.Agent(m, tools=[weather], output_type=list[Callish], max_parallel_calls=2),
            sk.AgentError,
            "can be the text of a call",
        ),
        (lambda m: sk.Agent(m, tools=[weather], output_type=Callable[[], int]), sk.SchemaError, "JSON"),
        (lambda m: sk.Agent(m, max_steps=0), ValueError, "max_steps"),
        (lambda m: sk.Agent(m, format="hermse"), ValueError, "not 'hermse'; write format='hermes'$"),
        (lambda m: sk.Agent(m, deps=3), TypeError, r"write agent\.run\(\.\.\., deps=\.\.\.\)$"),
        (lambda m: sk.Agent(m, tools=["weather"]), sk.AgentError, "write weather without quotation marks"),
        (lambda m: sk.Agent(m, max_parallel_calls=0), ValueError, "max_parallel_calls"),
        (lambda m: sk.Agent(m, max_parallel_calls=129), ValueError, "max_parallel_calls must be at most 128"),
        (lambda m: sk.Agent(m, max_steps=None), TypeError, "max_steps must be an integer"),
        (lambda m: sk.tool(weather, max_calls=0), ValueError, "max_calls"),
        (lambda m: sk.Agent(m, system="x"), TypeError, "instructions"),
        (lambda m: sk.Agent(m, max_token=3), TypeError, "max_token"),
        (lambda m: sk.Agent(m).run(["x"]), TypeError, "prompt of an agent is a text"),
        (lambda m: sk.Agent(m).run("x", messages=None), TypeError, r"write messages=result\.messages"),
        (lambda m: sk.Agent("gpt-4", [weather]), TypeError, r"write structkit\.load\('gpt-4'\)"),
        (lambda m: sk.tool(weather, name="a b"), sk.AgentError, "invalid tool name 'a b'"),
        (lambda m: sk.tool(weather, tool_retries=-1), ValueError, "tool_retries"),
        (lambda m: sk.tool(weather, timeout=0), ValueError, "timeout"),
        (lambda m: sk.tool(weather, name=3), TypeError, "name of a tool is a string, not 3"),
        (lambda m: sk.tool(weather, description=3), TypeError, "description of a tool is a string"),
        (
            lambda m: sk.Tool(function=weather, name="w", available=True),
            TypeError,
            "available of w must be a func",
        ),
        (lambda m: sk.Agent(m, [sk.Agent(m)]), sk.AgentError, r"for an agent, give agent\.as_tool\(name\)"),
        (lambda m: sk.Agent(m, instructions=3), TypeError, "instructions must be a string"),
        (lambda m: sk.Agent(m, on_limit="stop"), ValueError, "on_limit must be"),
        (lambda m: sk.Agent(m, errors="ignore"), ValueError, "errors must be"),
        (lambda m: sk.Agent(m, allow_text="yes"), TypeError, "allow_text must be True or False"),
        (
            lambda m: sk.Agent(m).run("x", usage_limits=None),
            TypeError,
            r"usage_limits must be a structkit\.UsageLimits",
        ),
    ],
)
def test_invalid_agents_are_rejected_before_a_run(
    make: Callable[[ScriptedModel], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(ScriptedModel([]))


def test_an_output_that_resembles_a_call_is_accepted() -> None:
    class Named(BaseModel):
        name: str
        age: int

    agent = sk.Agent(ScriptedModel(['{"name": "weather", "age": 3}']), tools=[weather], output_type=Named)
    assert agent.run("x").value.name == "weather"
    sk.Agent(
        ScriptedModel([]), tools=[weather], output_type=list[Callish]
    )  # lists of calls require max_parallel_calls


def test_quotes_come_from_the_source_of_the_agent() -> None:
    agent = sk.Agent(
        ScriptedModel(['"Ana Souza"']), output_type=Annotated[str, sk.Quote()], source="Ana Souza is 34."
    )
    assert agent.run("Who?").value == "Ana Souza"


def test_the_names_of_other_libraries_are_translated() -> None:
    for name in ("results", "result_type", "response_model", "output_typ"):
        with pytest.raises(TypeError, match=rf"no argument '{name}'; write output_type=\.\.\.$"):
            sk.Agent(ScriptedModel([]), **{name: int})


def test_an_example_that_the_agent_cannot_give_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"examples\[1\] cannot be written as"):
        sk.Agent(ScriptedModel([]), [weather], output_type=int, examples=[("a", 3), ("b", "three")])
    agent = sk.Agent(ScriptedModel(["4"]), [weather], output_type=int, examples=[("a", 3)])
    assert agent.run("x").value == 4


def test_copies_of_an_agent_are_the_agent_and_pickling_has_a_remedy() -> None:
    agent = sk.Agent(ScriptedModel(["Hello."]))
    assert copy.copy(agent) is agent
    assert copy.deepcopy([agent])[0].run("Hi").value == "Hello."
    with pytest.raises(TypeError, match=r"Agent cannot be pickled.*; pass a function that makes the agent"):
        pickle.dumps(agent)
