"""A structkit model as a chat model of the real LangChain."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel

pytest.importorskip("langchain_core", reason="the extra langchain is missing")

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool

from structkit.integrations.langchain import ChatStructkit

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")


class Person(BaseModel):
    name: str
    age: int = Field(ge=0, le=130)


class Mood(TypedDict):
    mood: Literal["good", "bad"]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def look(place: Literal["Porto", "Oslo"]) -> str:
    """Say how the weather is."""
    return f"It rains in {place}."


def chat(*replies: str, **options: Any) -> ChatStructkit:
    return ChatStructkit(model=ScriptedModel([*replies]), **options)


ANA = '{"name": "Ana", "age": 34}'


@pytest.mark.parametrize(
    ("schema", "reply", "value"),
    [
        (Person, ANA, Person(name="Ana", age=34)),
        (Mood, '{"mood": "bad"}', {"mood": "bad"}),
        (
            {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            '{"n": 3}',
            {"n": 3},
        ),
        (list[int], "[1, 2]", [1, 2]),
    ],
)
def test_structured_output(schema: Any, reply: str, value: object) -> None:
    assert chat(reply).with_structured_output(schema).invoke("x") == value
    raw = chat(reply).with_structured_output(schema, include_raw=True, method="json_schema").invoke("x")
    assert raw["parsed"] == value and raw["parsing_error"] is None
    assert raw["raw"].content == reply and raw["raw"].usage_metadata["output_tokens"] > 0


def test_structured_output_obeys_the_schema_of_any_model() -> None:
    wild = ChatStructkit(model=RandomModel(seed=4), options={"max_tokens": 60, "temperature": 1.0, "seed": 1})
    people = wild.with_structured_output(Person).batch(["a", "b", "c"])
    assert all(isinstance(person, Person) for person in people)


def test_a_value_that_validators_reject() -> None:
    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def check(cls, n: int) -> int:
            if n % 2:
                raise ValueError("it is odd")
            return n

    odd = ['{"n": 3}'] * 4
    with pytest.raises(sk.OutputValidationError, match="it is odd"):
        ChatStructkit(model=ScriptedModel(odd, strict=False)).with_structured_output(Even, retries=0).invoke(
            "x"
        )
    raw = ChatStructkit(model=ScriptedModel(odd, strict=False))
    found = raw.with_structured_output(Even, include_raw=True, retries=0).invoke("x")
    assert found["parsed"] is None and "it is odd" in str(found["parsing_error"])
    assert found["raw"].content == '{"n": 3}'


def test_a_chain_with_a_template_and_a_parser() -> None:
    prompt = ChatPromptTemplate.from_messages([("system", "Be kind to {who}."), ("human", "{text}")])
    model = ScriptedModel(["Hello Ana."])
    chain = prompt | ChatStructkit(model=model) | StrOutputParser()
    assert chain.invoke({"who": "Ana", "text": "Hi"}) == "Hello Ana."
    assert "Be kind to Ana." in model.prompts[0] and "Hi" in model.prompts[0]


def test_a_conversation_with_tools() -> None:
    model = ScriptedModel(['{"name": "add", "arguments": {"a": 2, "b": 3}}', "It is 5."])
    bound = ChatStructkit(model=model).bind_tools([add, look])
    messages: list[Any] = [SystemMessage("Add."), HumanMessage("What is 2 + 3?")]
    first = bound.invoke(messages)
    assert [(call["name"], call["args"]) for call in first.tool_calls] == [("add", {"a": 2, "b": 3})]
    messages += [first, *(add.invoke(call) for call in first.tool_calls)]
    assert isinstance(messages[-1], ToolMessage)
    last = bound.invoke(messages)
    assert last.content == "It is 5." and not last.tool_calls
    assert '"a": 2' in model.prompts[1] and "5" in model.prompts[1]
    assert last.response_metadata["model_name"] == "scripted"


@pytest.mark.parametrize("choice", ["any", "required", True, "look", {"function": {"name": "look"}}])
def test_a_call_can_be_required(choice: Any) -> None:
    wild = ChatStructkit(model=RandomModel(seed=2), options={"max_tokens": 80})
    calls = wild.bind_tools([add, look], tool_choice=choice).invoke("x").tool_calls
    assert len(calls) == 1
    if choice not in ("any", "required", True):
        assert calls[0]["name"] == "look" and calls[0]["args"]["place"] in ("Porto", "Oslo")


def test_calls_can_be_forbidden() -> None:
    reply = chat("No call.").bind_tools([add], tool_choice="none").invoke("x")
    assert reply.content == "No call." and not reply.tool_calls


def test_streams() -> None:
    chunks = [*chat("One two three.").stream("x")]
    assert chunks[-2].response_metadata["finish_reason"] == "stop"
    assert len(chunks) > 2
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert whole.content == "One two three." and whole.usage_metadata["output_tokens"] > 0
    call = '{"name": "add", "arguments": {"a": 2, "b": 3}}'
    (first, *_) = chat(call).bind_tools([add]).stream("x")
    assert first.tool_calls[0]["args"] == {"a": 2, "b": 3}
    assert [*chat(ANA).with_structured_output(Person).stream("x")] == [Person(name="Ana", age=34)]


def test_async() -> None:
    async def main() -> list[object]:
        person = await chat(ANA).with_structured_output(Person).ainvoke("x")
        texts = [chunk.content async for chunk in chat("Hi there.").astream("x")]
        return [person, "".join(map(str, texts))]

    assert asyncio.run(main()) == [Person(name="Ana", age=34), "Hi there."]


def test_stop_cuts_the_text() -> None:
    assert chat("One. Two. Three.").invoke("x", stop=["Two", "Three"]).content == "One. "


def test_options() -> None:
    model = ScriptedModel(["One two three four five six."], strict=False)
    text = ChatStructkit(model=model, options={"max_tokens": 3}).invoke("x", max_tokens=2).content
    assert len(str(text)) < 12
    with pytest.raises(TypeError, match="max_token"):
        chat("x").with_structured_output(Person).invoke("x", max_token=2)


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([HumanMessage([{"type": "image_url", "image_url": {"url": "x"}}])], "reads text only"),
        ([ToolMessage("5", tool_call_id="nobody")], "no call has the id 'nobody'"),
    ],
)
def test_messages_that_cannot_be_read(messages: list[Any], message: str) -> None:
    with pytest.raises(sk.GenerationError, match=message):
        chat("x").invoke(messages)


def test_an_unknown_tool_choice() -> None:
    with pytest.raises(sk.GenerationError, match="names no tool\n  the tools are add"):
        chat("x").bind_tools([add], tool_choice="ad").invoke("x")


def test_parts_of_text_are_read() -> None:
    model = ScriptedModel(["Yes."])
    ChatStructkit(model=model).invoke(
        [HumanMessage([{"type": "text", "text": "a"}, "b"]), AIMessage("c"), HumanMessage("d")]
    )
    assert all(part in model.prompts[0] for part in ("a\n\nb", "c", "d"))


def test_the_name_of_a_model_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"the model is a string, 'demo'; write structkit\.load\('demo'\)"):
        ChatStructkit(model="demo")


def test_a_limit_is_an_error_where_that_is_asked_for() -> None:
    long = "a long name that has no end within the limit"
    replies = [long, ANA.replace("Ana", long)]
    model = ScriptedModel(replies, strict=False)
    limited = ChatStructkit(model=model, options={"max_tokens": 16, "on_limit": "raise"})
    with pytest.raises(sk.UsageLimitExceeded):
        limited.invoke("x", max_tokens=5)
    with pytest.raises(sk.BudgetExceeded):
        limited.with_structured_output(Person).invoke("x")


def test_outputs_can_come_in_another_order_than_their_calls() -> None:
    calls = [
        {"name": "add", "args": {"a": 2, "b": 3}, "id": "x"},
        {"name": "look", "args": {"place": "Oslo"}, "id": "y"},
    ]
    asked = [HumanMessage("Go."), AIMessage("", tool_calls=calls)]
    outputs = [ToolMessage("5", tool_call_id="x"), ToolMessage("It rains.", tool_call_id="y")]
    prompts = []
    for given in (outputs, outputs[::-1]):
        chosen = chat("Done.")
        assert chosen.bind_tools([add, look]).invoke([*asked, *given]).content == "Done."
        prompts.append(chosen.model.prompts)
    assert prompts[0] == prompts[1]


def test_required_calls_of_a_conversation_have_different_ids() -> None:
    runnable = chat(*[CALL] * 3).bind_tools([add], tool_choice="any")
    messages: list[Any] = [HumanMessage("Go.")]
    for _ in range(3):
        reply = runnable.invoke(messages)
        messages += [reply, ToolMessage("5", tool_call_id=reply.tool_calls[0]["id"])]
    ids = [message.tool_calls[0]["id"] for message in messages if isinstance(message, AIMessage)]
    assert len(set(ids)) == 3


CALL = '{"name": "add", "arguments": {"a": 2, "b": 3}}'


@pytest.mark.parametrize(
    ("choice", "reply", "is_call"),
    [
        ({"type": "function", "function": {"name": "add"}}, CALL, True),
        ({"type": "tool", "name": "add"}, CALL, True),
        ({"type": "any"}, CALL, True),
        ({"type": "auto"}, "Hello.", False),
        ({"type": "none"}, "Hello.", False),
    ],
)
def test_the_choice_of_a_tool_can_be_a_dict(choice: dict[str, Any], reply: str, is_call: bool) -> None:
    answer = chat(reply).bind_tools([add, look], tool_choice=choice).invoke("Go.")
    assert bool(answer.tool_calls) is is_call


def test_a_choice_that_names_nothing_is_an_error_with_a_remedy() -> None:
    with pytest.raises(sk.GenerationError, match=r"names no tool\s+write the name of one"):
        chat().bind_tools([add], tool_choice={"type": "computer"})
    with pytest.raises(sk.GenerationError, match="'any' needs a tool to call"):
        chat().bind_tools([], tool_choice="any").invoke("Go.")


def test_a_tool_of_langchain_in_an_agent_of_structkit_has_a_remedy() -> None:
    @tool
    def look(title: str) -> str:
        """Look."""
        return title

    given: Any = look
    with pytest.raises(sk.AgentError, match=r"give its function, tool\.func"):
        sk.Agent(ScriptedModel([]), [given])


FUNCTION = {
    "name": "joke",
    "description": "A joke.",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
}


@pytest.mark.parametrize(
    "schema",
    [
        FUNCTION,
        {"type": "function", "function": FUNCTION},
        {"name": "joke", "description": "A joke.", "input_schema": FUNCTION["parameters"]},
    ],
)
def test_the_schema_can_be_a_function(schema: dict[str, Any]) -> None:
    wild = ChatStructkit(model=RandomModel(seed=2), options={"max_tokens": 40})
    assert isinstance(wild.with_structured_output(schema).invoke("x")["n"], int)


def test_options_are_not_fields() -> None:
    with pytest.raises(TypeError, match=r"no argument 'temperature'; write options={'temperature': 0}"):
        ChatStructkit(model=ScriptedModel([]), temperature=0)
    with pytest.raises(TypeError, match=r"no argument 'mdel'; write model="):
        ChatStructkit(mdel=ScriptedModel([]))


def test_tokens_are_those_of_the_model() -> None:
    model = ScriptedModel([])
    assert ChatStructkit(model=model).get_num_tokens("Hello there.") == len(model.encode_text("Hello there."))
    text_model = ChatStructkit(model=sk.from_function(lambda prompt: "x"))
    with pytest.raises(sk.GenerationError, match=r"count them with token_counter='approximate'"):
        text_model.get_num_tokens("Hello there.")
    assert (
        ChatStructkit(model=text_model.model, custom_get_token_ids=lambda text: [1]).get_num_tokens("x") == 1
    )


def test_the_profile_has_the_length_of_the_context() -> None:
    if "profile" not in ChatStructkit.model_fields:
        pytest.skip("needs langchain-core 1.1")
    model = sk.load()
    assert ChatStructkit(model=model).profile == {
        "name": "demo",
        "tool_calling": True,
        "max_input_tokens": model.context_length,
    }
    of_texts = ChatStructkit(model=sk.from_function(lambda text: text, context_length=1_000)).profile
    assert of_texts is not None and "max_input_tokens" not in of_texts
    assert "max_input_tokens" not in (ChatStructkit(model=RandomModel(1)).profile or {"max_input_tokens": 0})
    assert ChatStructkit(model=model, profile={"max_input_tokens": 7}).profile == {"max_input_tokens": 7}


def test_a_schema_is_needed() -> None:
    nothing: Any = None
    with pytest.raises(sk.GenerationError, match=r"pass dict\[str, object\]"):
        chat().with_structured_output(nothing, method="json_mode")


def test_arguments_of_other_models() -> None:
    bound = chat("One. Two.").bind_tools([add], strict=True, parallel_tool_calls=False)
    assert bound.invoke("x", stop="Two").content == "One. "
    with pytest.raises(sk.GenerationError, match="'web_search'} is a tool that a provider executes"):
        chat().bind_tools([{"type": "web_search"}])


def test_a_response_format_beside_tools() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    response = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    bound = chat(CALL, '{"n": 5}').bind_tools([add], response_format=response)
    messages: list[Any] = [HumanMessage("Go.")]
    messages += [reply := bound.invoke(messages), ToolMessage("5", tool_call_id=reply.tool_calls[0]["id"])]
    assert bound.invoke(messages).content == '{"n": 5}'
    assert (
        "".join(str(part.content) for part in chat('{"n": 5}').stream("x", response_format=response))
        == '{"n": 5}'
    )
    with pytest.raises(sk.GenerationError, match=r"has no schema\n  write with_structured_output"):
        chat().invoke("x", response_format={"type": "json"})


def test_agents_read_the_name_of_the_model() -> None:
    assert chat().model_name == "scripted"
