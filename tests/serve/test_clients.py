"""Libraries that build on the client of OpenAI; `sh scripts/test_clients` installs those that the tests do not need."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.testing import ScriptedModel
from tests.serve.running import ANA, Served, client_of, serving, tool

VALUE = '{"name": "Ana", "age": 34}'
CALL = '{"name": "weather", "arguments": {"city": "Porto"}}'


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"sun in {city}"


@contextmanager
def scripted(replies: Sequence[str]) -> Iterator[Served]:
    """Serve a script, all of whose replies are used; warnings of other libraries are no faults here."""
    with ScriptedModel(replies) as model, serving(model) as served, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield served


@pytest.mark.parametrize("mode", ["TOOLS", "JSON_SCHEMA", "JSON"])
def test_instructor(mode: str) -> None:
    instructor = pytest.importorskip("instructor", reason="run sh scripts/test_clients")
    with scripted([VALUE]) as served:
        client = instructor.from_openai(client_of(served), mode=instructor.Mode[mode])
        person = client.chat.completions.create(
            model="demo", response_model=Person, messages=ANA, max_retries=0
        )
    assert (person.name, person.age) == ("Ana", 34)


def test_instructor_streams_parts() -> None:
    instructor = pytest.importorskip("instructor", reason="run sh scripts/test_clients")
    with scripted([VALUE]) as served:
        client = instructor.from_openai(client_of(served))
        *_, last = client.chat.completions.create_partial(model="demo", response_model=Person, messages=ANA)
    assert (last.name, last.age) == ("Ana", 34)


def test_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # otherwise it loads a list from the web
    litellm = pytest.importorskip("litellm", reason="run sh scripts/test_clients")
    with scripted([VALUE, CALL]) as served:
        options = {"model": "openai/demo", "api_base": f"{served.url}/v1", "api_key": "none", "messages": ANA}
        content = litellm.completion(response_format=Person, **options).choices[0].message.content
        options |= {"tools": [tool("weather", city="string")], "stream_options": {"include_usage": True}}
        chunks = [*litellm.completion(stream=True, **options)]
        answer = litellm.stream_chunk_builder(chunks)
    assert Person.model_validate_json(content) == Person(name="Ana", age=34)
    [call] = answer.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Porto"})
    assert answer.usage.completion_tokens > 0


def test_haystack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    generators = pytest.importorskip(
        "haystack.components.generators.chat", reason="run sh scripts/test_clients"
    )
    from haystack.dataclasses import ChatMessage
    from haystack.utils import Secret

    with scripted([VALUE]) as served:
        generator = generators.OpenAIChatGenerator(
            Secret.from_token("none"),
            model="demo",
            api_base_url=f"{served.url}/v1",
            generation_kwargs={"response_format": Person},
        )
        [reply] = generator.run([ChatMessage.from_user("Ana is 34.")])["replies"]
    assert Person.model_validate_json(reply.text) == Person(name="Ana", age=34)


async def run_agent(
    served: Served, prompt: str, *, stream: bool = False, responses: bool = False, **options: Any
) -> object:
    """Return the output of an agent of pydantic-ai, whose client is closed before its event loop ends."""
    openai = pytest.importorskip("openai")
    pydantic_ai = pytest.importorskip("pydantic_ai")
    openai_models = pytest.importorskip("pydantic_ai.models.openai")
    providers = pytest.importorskip("pydantic_ai.providers.openai")
    async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none") as client:
        kind = openai_models.OpenAIResponsesModel if responses else openai_models.OpenAIChatModel
        model = kind("demo", provider=providers.OpenAIProvider(openai_client=client))
        agent = pydantic_ai.Agent(model, **options)
        if not stream:
            return (await agent.run(prompt)).output
        async with agent.run_stream(prompt) as result:
            return await result.get_output()


@pytest.mark.parametrize("responses", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_pydantic_ai(stream: bool, responses: bool) -> None:
    value = f'{{"name": "final_result", "arguments": {VALUE}}}'
    with scripted([CALL, value]) as served:
        options = {"output_type": Person, "tools": [weather], "stream": stream, "responses": responses}
        output = asyncio.run(run_agent(served, "How is it in Porto?", **options))
        assert output == Person(name="Ana", age=34)
        assert isinstance(served.model, ScriptedModel)
        assert "sun in Porto" in served.model.prompts[1]


@pytest.mark.parametrize("responses", [False, True])
def test_pydantic_ai_with_a_schema(responses: bool) -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai")
    with scripted([VALUE]) as served:
        output_type = pydantic_ai.NativeOutput(Person)
        output = asyncio.run(run_agent(served, "Ana is 34.", output_type=output_type, responses=responses))
        assert output == Person(name="Ana", age=34)


def chat_openai(served: Served) -> Any:
    langchain = pytest.importorskip("langchain_openai", reason="run sh scripts/test_clients")
    chat = langchain.ChatOpenAI(base_url=f"{served.url}/v1", api_key="none", model="demo", max_retries=0)
    served.clients.callback(chat.root_client.close)
    return chat


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_mode"])
def test_langchain_parses_a_type(method: str) -> None:
    with scripted([VALUE]) as served:
        chat = chat_openai(served).with_structured_output(Person, method=method)
        assert chat.invoke("Ana is 34.") == Person(name="Ana", age=34)


def test_langchain_streams_and_calls_tools() -> None:
    with scripted(["Hello there.", CALL]) as served:
        chat = chat_openai(served)
        assert "".join(chunk.text for chunk in chat.stream("Hi")) == "Hello there."
        message = chat.bind_tools([weather]).invoke("How is it in Porto?")
    assert [(call["name"], json.dumps(call["args"])) for call in message.tool_calls] == [
        ("weather", '{"city": "Porto"}')
    ]


@pytest.mark.parametrize("kind", ["OpenAIResponsesModel", "OpenAIChatCompletionsModel"])
@pytest.mark.parametrize("stream", [False, True])
def test_openai_agents(kind: str, stream: bool) -> None:
    agents = pytest.importorskip("agents", reason="run sh scripts/test_clients")
    openai = pytest.importorskip("openai")
    agents.set_tracing_disabled(True)

    async def run(served: Served) -> object:
        async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none") as client:
            model = getattr(agents, kind)(model="demo", openai_client=client)
            tools = [agents.function_tool(weather)]
            agent = agents.Agent(
                name="a", instructions="Be short.", model=model, tools=tools, output_type=Person
            )
            if not stream:
                return (await agents.Runner.run(agent, "How is it in Porto?")).final_output
            result = agents.Runner.run_streamed(agent, "How is it in Porto?")
            async for _ in result.stream_events():
                pass
            return result.final_output

    with scripted([CALL, VALUE]) as served:
        assert asyncio.run(run(served)) == Person(name="Ana", age=34)
        assert isinstance(served.model, ScriptedModel)
        assert "sun in Porto" in served.model.prompts[1]


def test_a_model_of_structkit_describes_the_target_itself() -> None:
    """The server added the grammar to a prompt that described the target already."""

    def look(title: str) -> str:
        return "3 copies"

    with serving(['{"name": "look", "arguments": {"title": "Salt"}}', "Three.", "12"]) as served:
        model = sk.connect(f"{served.url}/v1")
        assert sk.Agent(model, [look]).run("How many?").value == "Three."
        assert sk.extract(model, "Twelve.", int) == 12
        assert isinstance(served.model, ScriptedModel)
        for prompt in served.model.prompts:
            assert "Answer with text of this grammar" not in prompt
            assert prompt.count("JSON of this type") <= 1


def test_a_model_of_structkit_takes_likely_tokens_where_no_grammar_is_sent(real: Served) -> None:
    model = sk.connect(f"{real.url}/v1", constrain=False)
    result = sk.generate(model, ANA[0]["content"], Annotated[float, Field(ge=-1, le=1)], finish="shortest")
    assert any(draft.chosen for draft in result.trace.drafts)
    assert not model.refused
