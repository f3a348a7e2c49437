"""Agents of pydantic-ai on structkit models."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel

pytest.importorskip("pydantic_ai", reason="pip install 'structkit-llm[pydantic-ai]'")

from pydantic_ai import (
    Agent,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    ImageUrl,
    ModelRetry,
    NativeOutput,
    PromptedOutput,
    RunContext,
    ToolOutput,
    ToolReturn,
    UsageLimits,
)
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import UnexpectedModelBehavior, UsageLimitExceeded, UserError
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.settings import ToolOrOutput
from pydantic_ai.tools import Tool, ToolDefinition

from structkit.errors import BudgetTooSmall, UnsatisfiableSchema
from structkit.integrations.pydantic_ai import StructkitModel
from tests.calls import call
from tests.integrations.pydantic_ai_agents import PORTO, City, Person, add, agent_of, deltas, run


def test_a_run_calls_tools_and_returns_a_typed_output() -> None:
    agent, model = agent_of([call("add", a=2, b=3), PORTO], City, tools=[add], instructions="Be brief.")
    result = run(agent, "How many live in Porto?")
    assert result.output == City(name="Porto", people=231962)
    assert (result.usage.requests, result.usage.tool_calls) == (2, 1)
    assert result.usage.input_tokens > 100 < result.usage.input_tokens
    first, last = (message for message in result.all_messages() if isinstance(message, ModelResponse))
    assert (first.finish_reason, last.finish_reason) == ("tool_call", "stop")
    assert (first.model_name, first.provider_name) == ("scripted", "structkit")
    assert [(part.tool_name, part.args) for part in first.tool_calls] == [("add", '{"a": 2, "b": 3}')]
    assert [(part.tool_name, part.args) for part in last.tool_calls] == [("final_result", PORTO)]
    assert "Be brief.\nuser: How many live in Porto?\n\n" in model.prompts[0]
    assert '{"a": integer /* The first number. */' in model.prompts[0]
    assert "/* Add two numbers. */" in model.prompts[0]
    assert model.prompts[1].startswith(model.prompts[0])
    assert model.prompts[1].endswith("user: add returned: 5")


def test_text_is_an_output() -> None:
    agent, _ = agent_of([call("add", a=2, b=3), "It is 5."], tools=[add])
    assert run(agent).output == "It is 5."


@pytest.mark.parametrize("marker", [ToolOutput, NativeOutput, PromptedOutput])
def test_every_output_mode_is_enforced(marker: Any) -> None:
    agent, _ = agent_of([call("add", a=2, b=3), PORTO], marker(City), tools=[add])
    assert run(agent).output == City(name="Porto", people=231962)
    for seed in range(5):
        model = StructkitModel(RandomModel(seed), max_tokens=200)
        with agent.override(model=model, tools=[]):
            assert isinstance(run(agent).output, City)


def test_outputs_of_several_types_are_distinguished_by_their_tools() -> None:
    script = [
        call("final_result_Person", name="Ana", job="nurse"),
        call("final_result_City", name="Porto", people=1),
    ]
    agent, model = agent_of(script, [City, Person])
    assert run(agent).output == Person(name="Ana", job="nurse")
    assert "A city." in model.prompts[0]
    assert run(agent).output == City(name="Porto", people=1)


def test_text_can_stand_beside_output_types() -> None:
    tagged = call("final_result_City", name="Porto", people=1)
    for output_type, city in [([str, City], PORTO), ([str, City, Person], tagged)]:
        agent, _ = agent_of(
            ["One line.\n\nAnother line.", call("add", a=1, b=2), city], output_type, tools=[add]
        )
        assert run(agent).output == "One line.\n\nAnother line."
        assert run(agent).output.name == "Porto"
        agent, _ = agent_of(["A text, streamed.", city], output_type)
        texts, response = asyncio.run(deltas(agent))
        assert (texts, response.finish_reason) == (["A text, streamed."], "stop")
        texts, response = asyncio.run(deltas(agent))
        assert texts == [part.args for part in response.tool_calls]


def test_an_output_function_can_ask_for_another_call() -> None:
    def big_city(city: City) -> str:
        if city.people < 1_000:
            raise ModelRetry("that is a village")
        return city.name

    agent, model = agent_of(['{"name": "Ota", "people": 9}', PORTO], big_city)
    assert run(agent).output == "Porto"
    assert model.prompts[1].endswith('assistant: {"name": "Ota", "people": 9}\nuser: that is a village')


def test_an_output_validator_can_ask_for_another_output() -> None:
    agent, model = agent_of(['{"name": "Ota", "people": 9}', PORTO], City, retries=1)

    @agent.output_validator
    def known(context: RunContext[None], city: City) -> City:
        if city.name != "Porto":
            raise ModelRetry(f"{city.name} is not known")
        return city

    assert run(agent).output.name == "Porto"
    assert model.prompts[1].endswith("user: Ota is not known")
    agent.model = StructkitModel(ScriptedModel(['{"name": "Ota", "people": 9}'] * 2))
    with pytest.raises(UnexpectedModelBehavior, match="retries"):
        run(agent)


def test_a_validator_of_text_can_ask_for_another_text() -> None:
    agent, model = agent_of(["No.", "Yes."], retries=1)

    @agent.output_validator
    def positive(text: str) -> str:
        if text != "Yes.":
            raise ModelRetry("say yes")
        return text

    assert run(agent).output == "Yes."
    assert "assistant: " in model.prompts[1] and "say yes" in model.prompts[1].rpartition("user: ")[2]


def test_instructions_can_depend_on_the_run() -> None:
    agent, model = agent_of(["a", "b"], deps_type=str, system_prompt="You help.")

    @agent.instructions
    def who(context: RunContext[str]) -> str:
        return f"The user is {context.deps}."

    result = run(agent, deps="Ana")
    run(agent, deps="Bo", message_history=result.all_messages())
    assert [prompt.count("You help.") for prompt in model.prompts] == [1, 1]
    assert "The user is Ana.\nuser: Go.\n" in model.prompts[0]
    assert "The user is Bo.\nuser: Go.\n" in model.prompts[1]


def test_instructions_alone_are_a_request() -> None:
    agent, model = agent_of(["A poem."], instructions="Write a poem.")
    assert run(agent, None).output == "A poem."
    assert "Write a poem.\nuser: " in model.prompts[0]


def test_usage_limits_end_a_run() -> None:
    script = [call("add", a=1, b=n) for n in range(9)]
    for limits in (
        UsageLimits(request_limit=2),
        UsageLimits(tool_calls_limit=2),
        UsageLimits(output_tokens_limit=30),
        UsageLimits(input_tokens_limit=50),
    ):
        agent, _ = agent_of(script, tools=[add])
        with pytest.raises(UsageLimitExceeded):
            run(agent, usage_limits=limits)


def test_calls_of_one_response_run_in_parallel() -> None:
    calls = f"[{call('add', a=1, b=2)}, {call('wait', key='x')}, {call('wait', key='y')}]"
    started: list[str] = []

    async def wait(key: str) -> str:
        started.append(key)
        while len(started) < 2:  # ends only if both calls run at the same time
            await asyncio.sleep(0)
        return key.upper()

    agent, model = agent_of([calls, "done"], tools=[add, wait])
    assert run(agent).output == "done"
    assert model.prompts[1].endswith("user: add returned: 3\nwait returned: X\nwait returned: Y")
    agent, model = agent_of([call("add", a=1, b=2), "done"], tools=[add, wait])
    run(agent, model_settings={"parallel_tool_calls": False})
    assert "several" not in model.prompts[0]


def test_errors_of_tools_are_those_of_pydantic_ai() -> None:
    def divide(a: int, b: int) -> float:
        if not b:
            raise ModelRetry("b must not be 0")
        return a / b

    agent, model = agent_of([call("divide", a=1, b=0), call("divide", a=1, b=2), "0.5"], tools=[divide])
    assert run(agent).output == "0.5"
    assert "user: divide failed: b must not be 0" in model.prompts[1]

    def broken() -> str:
        raise KeyError("secret")

    agent, _ = agent_of([call("broken")], tools=[broken])
    with pytest.raises(KeyError, match="secret"):
        run(agent)


def test_empty_outputs() -> None:
    class Nothing(BaseModel):
        pass

    def nothing() -> None:
        return None

    def empty() -> str:
        return ""

    script = [call("nothing"), call("empty"), "{}"]
    agent, model = agent_of(script, Nothing, tools=[nothing, empty])
    assert run(agent).output == Nothing()
    assert "nothing returned: " in model.prompts[1]
    agent, _ = agent_of(['{"response": []}'], list[City])
    assert run(agent).output == []


def test_a_history_survives_storage() -> None:
    agent, model = agent_of(
        [call("add", a=2, b=3), PORTO, '{"name": "Faro", "people": 2}'] * 2, City, tools=[add]
    )
    result = run(agent)
    run(agent, "Another.", message_history=result.all_messages())
    stored = ModelMessagesTypeAdapter.validate_json(result.all_messages_json())
    first = model.prompts[2]
    agent, model = agent_of(['{"name": "Faro", "people": 2}'], City, tools=[add])
    run(agent, "Another.", message_history=stored)
    assert model.prompts[0] == first
    assert first.endswith(f"assistant: {PORTO}\nuser: Another.")


def test_the_history_of_another_model_is_read() -> None:
    history: list[Any] = [
        ModelRequest(parts=[UserPromptPart("First."), UserPromptPart(["Second.", "Third."])]),
        ModelResponse(
            parts=[
                TextPart("Let me see."),
                ToolCallPart("gone", "no json", "id"),
                ToolCallPart("add", None, "x"),
            ]
        ),
        ModelRequest(
            parts=[
                ToolReturnPart("gone", {"a": [1]}, "id"),
                ToolReturnPart("add", "7", "x", outcome="failed"),
            ]
        ),
        ModelResponse(parts=[TextPart("Seen.")]),
    ]
    agent, model = agent_of(["ok"], tools=[add])
    run(agent, "And now?", message_history=history)
    assert "user: First.\n\nSecond.\n\nThird.\n\nTo call" in model.prompts[0]
    expected = (
        'assistant: Let me see.\n\n[{"name": "gone", "arguments": {"INVALID_JSON": "no json"}}, '
        '{"name": "add", "arguments": {}}]\n'
        'user: gone returned: {"a":[1]}\nadd failed: 7\nassistant: Seen.\nuser: And now?'
    )
    assert model.prompts[0].endswith(expected)


def test_a_model_can_be_overridden() -> None:
    agent: Agent[None, City] = Agent(output_type=City)
    with agent.override(model=StructkitModel(ScriptedModel([PORTO]))):
        assert run(agent).output.name == "Porto"
    with agent.override(model=StructkitModel(RandomModel(3), max_tokens=100)):
        assert isinstance(run(agent).output, City)


def test_input_that_is_not_text_is_refused() -> None:
    agent, model = agent_of(["x"])
    for content in (ImageUrl("https://example.org/a.png"), BinaryContent(b"x", media_type="application/pdf")):
        with pytest.raises(
            UserError, match=f"reads text only, and the prompt has a {type(content).__name__}"
        ):
            run(agent, ["See:", content])
    with pytest.raises(UserError, match="WebSearchTool"):
        run(agent, capabilities=[NativeTool(WebSearchTool())])
    assert not model.prompts


def test_a_file_from_a_tool_is_replaced_by_a_note() -> None:
    def picture() -> BinaryContent:
        return BinaryContent(b"x", media_type="image/png", identifier="p1")

    agent, model = agent_of([call("picture"), "ok"], tools=[picture])
    assert run(agent).output == "ok"
    assert "p1" in model.prompts[1]


def test_settings_reach_the_model() -> None:
    def output(**settings: Any) -> str:
        agent: Agent[None, Any] = Agent(StructkitModel(RandomModel(1)), output_type=list[int])
        return str(run(agent, model_settings=settings).output)

    hot = {"temperature": 1.0, "max_tokens": 60}
    assert output(**hot, seed=1) == output(**hot, seed=1)
    assert len({output(**hot, seed=seed) for seed in range(9)}) > 2
    assert output(max_tokens=12, timeout=60)
    with pytest.raises(BudgetTooSmall):
        output(max_tokens=2)
    with pytest.raises(ValueError, match="top_p"):
        output(top_p=2.0)
    with pytest.raises(UserError, match="number of seconds"):
        output(timeout="soon")


def test_a_budget_is_a_finish_reason() -> None:
    agent, _ = agent_of(['{"response": ["' + "long " * 50 + '"]}'], list[str], strict=False)
    result = run(agent, model_settings={"max_tokens": 20})
    assert result.response.finish_reason == "length"
    assert isinstance(result.output, list)


def test_a_setting_that_is_ignored_warns_if_it_matters() -> None:
    agent, _ = agent_of(["ok"] * 2)
    run(agent, model_settings={"presence_penalty": 1.0})
    with pytest.warns(UserWarning, match="stop_sequences"):
        run(agent, model_settings={"stop_sequences": ["x"]})


def parameters(**changes: Any) -> ModelRequestParameters:
    schema = Tool(add).function_schema.json_schema
    tools = [ToolDefinition(name=name, parameters_json_schema=schema) for name in ("add", "sub")]
    return ModelRequestParameters(**{"function_tools": tools, "allow_text_output": True, **changes})


@pytest.mark.parametrize(
    ("choice", "script", "name"),
    [
        ("required", call("sub", a=1, b=2), "sub"),
        (["add"], '{"a": 1, "b": 2}', "add"),
        ("auto", call("add", a=1, b=2), "add"),
        (ToolOrOutput(function_tools=["sub"]), call("sub", a=1, b=2), "sub"),
    ],
)
def test_tool_choice_restricts_the_language(choice: Any, script: str, name: str) -> None:
    async def respond(model: Any) -> ModelResponse:
        request = ModelRequest(parts=[UserPromptPart("Go.")])
        settings: Any = {"tool_choice": choice, "max_tokens": 100}
        return await model_request(
            StructkitModel(model), [request], model_settings=settings, model_request_parameters=parameters()
        )

    response = asyncio.run(respond(ScriptedModel([script])))
    assert [(part.tool_name, part.args_as_dict()) for part in response.tool_calls] == [
        (name, {"a": 1, "b": 2})
    ]
    if choice != "auto":
        for seed in range(5):
            found = [part.tool_name for part in asyncio.run(respond(RandomModel(seed))).tool_calls]
            assert {"required": {"add", "sub"}}.get(str(choice), {name}) >= set(found)


def test_a_tool_choice_of_none_leaves_text() -> None:
    agent, model = agent_of(["ok"], tools=[add])
    run(agent, model_settings={"tool_choice": "none"})
    assert "add" not in model.prompts[0]
    with pytest.raises(UserError, match="tool_choice names gone; the tools are add"):
        run(agent, model_settings={"tool_choice": ToolOrOutput(function_tools=["gone"])})


def test_calls_that_need_approval_are_deferred() -> None:
    agent, model = agent_of([call("add", a=2, b=3), "5"], [str, DeferredToolRequests])
    agent.tool_plain(requires_approval=True)(add)
    result = run(agent)
    (request,) = result.output.approvals
    results = DeferredToolResults(approvals={request.tool_call_id: True})
    again = run(agent, None, message_history=result.all_messages(), deferred_tool_results=results)
    assert again.output == "5"
    assert model.prompts[1].endswith("user: add returned: 5")


def test_a_keyword_that_cannot_be_enforced_is_checked_afterwards() -> None:
    numbers = {"type": "array", "items": {"type": "integer"}, "not": {"uniqueItems": True}}
    schema = {"type": "object", "properties": {"numbers": numbers}, "required": ["numbers"]}
    tool = Tool.from_schema(
        lambda numbers: len(numbers), name="count", description="Count.", json_schema=schema
    )
    agent, model = agent_of([call("count", numbers=[1, 2]), call("count", numbers=[1, 1]), "2"], tools=[tool])
    assert run(agent).output == "2"
    assert model.prompts[-1].endswith('{"numbers": [1, 1]}}\nuser: count returned: 2')
    agent, model = agent_of([call("count", numbers=[1, 2]), call("count", numbers=[1, 1]), "2"], tools=[tool])
    texts, _ = asyncio.run(deltas(agent))
    assert texts == ["2"]
    agent.model = StructkitModel(ScriptedModel([call("count", numbers=[1, 2])] * 4, strict=False))
    with pytest.raises(UnexpectedModelBehavior, match="should not be valid"):
        run(agent)


def test_a_schema_without_values_is_refused_with_the_name_of_its_tool() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 5, "maximum": 3}},
        "required": ["n"],
    }
    tool = Tool.from_schema(add, name="bad", description="Bad.", json_schema=schema)
    agent, model = agent_of(["x"], tools=[tool])
    with pytest.raises(UnsatisfiableSchema, match="the arguments of bad"):
        run(agent)
    assert not model.prompts


def test_a_missing_package_is_named_with_its_extra() -> None:
    code = "import sys; sys.modules['pydantic_ai'] = None; import structkit.integrations.pydantic_ai"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "structkit-llm[pydantic-ai]"' in done.stderr
    assert done.stderr.rpartition("\n\n")[2].count("Traceback") == 1


def test_parts_of_pydantic_ai_in_an_agent_of_structkit_have_a_remedy() -> None:
    def look(ctx: RunContext[int], title: str) -> str:
        return title

    with pytest.raises(
        sk.SchemaError, match=r"(?s)RunContext of another library.*write structkit\.Context, as in ctx:"
    ):
        sk.Agent(ScriptedModel([]), [look])

    def find(title: str) -> ToolReturn:
        return ToolReturn(return_value="found", metadata={"secret": 1})

    script = ['{"name": "find", "arguments": {"title": "Salt"}}']
    with pytest.raises(sk.AgentError, match=r"return structkit\.Return\(value, metadata="):
        sk.Agent(ScriptedModel(script), [find]).run("x")
    tool: Any = Tool(find)
    with pytest.raises(sk.AgentError, match=r"give its function, tool\.function"):
        sk.Agent(ScriptedModel([]), [tool])
