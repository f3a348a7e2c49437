"""Conversations of both APIs: what the model reads, and the outputs that calls need."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.serve.bounds.api_error import ApiError
from structkit.serve.read.conversation import Conversation, text_of
from structkit.serve.read.fields import Fields
from structkit.serve.read.messages import read_messages
from structkit.serve.read.responses import _conversation
from structkit.serve.read.tools import ToolAsk, read_tools

ROLES = ("system", "developer", "user", "assistant")


def _said(random: Random, kinds: tuple[str, str]) -> tuple[Any, Any, str]:
    """Return a content as both APIs spell it, and its text."""
    words = [random.choice("abc") * random.randrange(3) for _ in range(random.randrange(1, 3))]
    if random.random() < 0.5:
        return words[0], words[0], words[0]
    chat, other = ([{"type": kind, "text": word} for word in words] for kind in kinds)
    return chat, other, "\n\n".join(words)


def _random(random: Random) -> tuple[list[Any], list[Any], list[Any], list[str], list[Message]]:
    """Return a conversation as both APIs spell it, with its turns, its instructions and its messages."""
    chat: list[Any] = []
    items: list[Any] = []
    turns: list[Any] = []
    instructions: list[str] = []
    messages: list[Message] = []
    number = 0
    for _ in range(random.randrange(1, 7)):
        role = random.choice([*ROLES, "tool"])
        if role == "tool":
            # An assistant's message before a call is the text before the call in a response.
            follows_text = bool(chat) and chat[-1]["role"] == "assistant"
            before = "so" if follows_text else random.choice(["", "so"])
            calls = [
                {
                    "call_id": f"id{random.random()}",
                    "name": random.choice("fg"),
                    "arguments": random.choice(["{}", '{"a": 1}']),
                }
                for _ in range(random.randrange(1, 3))
            ]
            functions = [{"name": each["name"], "arguments": each["arguments"]} for each in calls]
            chat.append(
                {
                    "role": "assistant",
                    "content": before or None,
                    "tool_calls": [
                        {"id": each["call_id"], "function": function}
                        for each, function in zip(calls, functions, strict=True)
                    ],
                }
            )
            if before:
                items.append({"role": "assistant", "content": before})
            items += [{"type": "function_call", **each} for each in calls]
            parts = [
                CallPart(id=f"call_{number + 1 + at}", **function) for at, function in enumerate(functions)
            ]
            number += len(calls)
            messages.append(Calls(calls=tuple(parts), text=before))
            outputs = [*zip(calls, parts, strict=True)]
            messages += [Output(id=part.id, name=part.name, content=part.id) for part in parts]
            random.shuffle(outputs)
            for call, part in outputs:
                chat.append({"role": "tool", "tool_call_id": call["call_id"], "content": part.id})
                items.append({"type": "function_call_output", "call_id": call["call_id"], "output": part.id})
            continue
        kind = "output_text" if role == "assistant" else "input_text"
        content, other, text = _said(random, ("text", kind))
        chat.append({"role": role, "content": content})
        items.append({"type": "message", "role": role, "content": other})
        turns.append({"role": "system" if role == "developer" else role, "content": text})
        if role in ("system", "developer"):
            instructions.append(text)
        elif role == "assistant":
            messages.append(Answer(content=text))
        elif messages and isinstance(messages[-1], User):
            messages[-1] = User(content=f"{messages[-1].content}\n\n{text}")
        else:
            messages.append(User(content=text))
    return chat, items, turns, instructions, messages


def test_both_apis_read_the_same_conversation() -> None:
    random = Random(1)
    ended = 0
    for _ in range(150):
        chat, items, turns, instructions, messages = _random(random)
        both = read_messages(Fields({"messages": chat})), _conversation(Fields({"input": items}))
        for found in both:
            assert found.turns == turns and found.has_calls == any(
                isinstance(each, Calls) for each in messages
            )
            if messages and isinstance(messages[-1], Answer):
                ended += 1
                with pytest.raises(
                    ApiError, match=r"^with tools the last message must be one of the user or of"
                ):
                    found.finish()
            else:
                expected = messages or [User(content="")]
                assert found.finish() == ("\n\n".join(instructions), tuple(expected))
    assert ended > 20


def test_instructions_and_a_text_are_two_turns() -> None:
    found = _conversation(Fields({"instructions": "be brief", "input": ""}))
    assert [(turn["role"], turn["content"]) for turn in found.turns] == [("system", "be brief"), ("user", "")]


CALL = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
CALLED = {"role": "assistant", "tool_calls": [CALL]}
OUTPUT = {"role": "tool", "tool_call_id": "a", "content": "x"}
USER = {"role": "user", "content": "x"}


@pytest.mark.parametrize(
    ("messages", "param", "fault"),
    [
        (None, "messages", "messages is required"),
        ([], "messages", "messages must not be empty"),
        ([{"role": "x"}], "messages[0].role", "must be one of system, developer, user, assistant, tool"),
        ([CALLED, USER], "messages", "the call 'a' has no output; send it before the next message"),
        ([CALLED, CALLED], "messages", "the call 'a' has no output; send it before the next message"),
        ([OUTPUT], "messages[0].tool_call_id", "is the id of no call before it, or of one with an output"),
        ([CALLED, OUTPUT, OUTPUT], "messages[2].tool_call_id", "is the id of no call before it, or of one"),
        (
            [{"role": "assistant", "tool_calls": [CALL, CALL]}],
            "messages[0].tool_calls[1].id",
            "must be a string that no other open call has",
        ),
        (
            [{"role": "assistant", "tool_calls": [{**CALL, "id": ""}]}],
            "messages[0].tool_calls[0].id",
            "must be a string that no other open call has",
        ),
        (
            [{"role": "assistant", "tool_calls": [{"id": "a"}]}],
            "messages[0].tool_calls[0].function",
            "is required",
        ),
        *(
            (
                [{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": name}}]}],
                "messages[0].tool_calls[0].function.name",
                "must be 1 to 64 letters, digits, underscores and hyphens",
            )
            for name in ("", "a" * 65, "a b")
        ),
        (
            [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "[]"}}],
                }
            ],
            "messages[0].tool_calls[0].function.arguments",
            "must be the text of a JSON object",
        ),
        (
            [{"role": "user", "content": [{"type": "refusal", "refusal": "no"}]}],
            "messages[0].content[0].type",
            "must be 'text': the model reads nothing else",
        ),
        (
            [{"role": "assistant", "content": [{"type": "image"}]}],
            "messages[0].content[0].type",
            "must be 'text' or 'refusal': the model reads nothing else",
        ),
        ([{**USER, "content": None}], "messages[0].content", "is required"),
        ([USER] * 2_001, "messages", "must have at most 2,000 items"),
        (
            [{"role": "assistant", "tool_calls": [CALL] * 129}],
            "messages[0].tool_calls",
            "must have at most 128 items",
        ),
    ],
)
def test_faults_of_messages(messages: object, param: str, fault: str) -> None:
    with pytest.raises(ApiError) as error:
        read_messages(Fields({"messages": messages}))
    assert (error.value.param, error.value.status, error.value.code) == (param, 400, "invalid_value")
    assert fault in error.value.message


@pytest.mark.parametrize(
    ("items", "param", "fault"),
    [
        (None, "input", "input is required: a text, or an array of items"),
        ([], "input", "input must not be empty"),
        ([{"type": "x"}], "input[0].type", "must be 'message', 'function_call' or 'function_call_output'"),
        ([{"role": "tool"}], "input[0].role", "must be one of system, developer, user, assistant"),
        (
            [{"role": "user", "content": [{"type": "output_text", "text": "x"}]}],
            "input[0].content[0].type",
            "must be 'input_text': the model reads nothing else",
        ),
        ([USER] * 4_001, "input", "must have at most 4,000 items"),
    ],
)
def test_faults_of_items(items: object, param: str, fault: str) -> None:
    with pytest.raises(ApiError) as error:
        _conversation(Fields({"input": items}))
    assert error.value.param == param and fault in error.value.message


def test_an_assistant_may_refuse() -> None:
    for said in ({"content": [{"type": "refusal", "refusal": "no"}]}, {"refusal": "no"}, {"content": "no"}):
        [turn] = read_messages(Fields({"messages": [{"role": "assistant", **said}]})).turns
        assert turn["content"] == "no"
    [turn] = _conversation(
        Fields({"input": [{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}]})
    ).turns
    assert turn["content"] == "no"


def test_parts_are_bounded() -> None:
    for count in (1_000, 1_001):
        item = Fields({"a": [{"type": "text", "text": "x"}] * count})
        if count == 1_000:
            assert text_of(item, "a", ("text",)) == "\n\n".join("x" * count)
        else:
            with pytest.raises(ApiError, match=r"^a must have at most 1,000 items$"):
                text_of(item, "a", ("text",))


def _tools(body: dict[str, Any], *, is_flat: bool, has_calls: bool = False) -> ToolAsk | None:
    conversation = Conversation("messages")
    conversation.add("user", "x")
    conversation.has_calls = has_calls
    if is_flat:
        body = {**body, "tools": [{"type": "function", **each["function"]} for each in body.get("tools", ())]}
    return read_tools(Fields(body), conversation, is_flat=is_flat)


def _tool(name: str, **more: object) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **more}}


@pytest.mark.parametrize("is_flat", [False, True])
def test_tools_and_which_are_chosen(is_flat: bool) -> None:
    tools = [
        _tool("f", description="d", parameters={"type": ["object", "null"]}),
        _tool("g"),
        _tool("h" * 64),
    ]

    def named(name: str) -> dict[str, Any]:
        return {"type": "function", **({"name": name} if is_flat else {"function": {"name": name}})}

    def allowed(mode: str, *names: str) -> dict[str, Any]:
        rest = {"mode": mode, "tools": [*map(named, names)]}
        return {"type": "allowed_tools", **(rest if is_flat else {"allowed_tools": rest})}

    every = ("f", "g", "h" * 64)
    for choice, mode, names in (
        (None, "auto", every),
        ("auto", "auto", every),
        ("none", "none", every),
        ("required", "required", every),
        (named("g"), "required", ("g",)),
        (allowed("auto", "g", "f", "g"), "auto", ("g", "f")),
        (allowed("required", "f"), "required", ("f",)),
    ):
        found = _tools({"tools": tools, "tool_choice": choice}, is_flat=is_flat)
        assert found is not None and (found.choice, tuple(each.name for each in found.tools)) == (mode, names)
        assert found.max_parallel_calls == 4 and found.messages == (User(content="x"),)
    assert found is not None
    [spec] = found.tools
    place = "tools[0].parameters" if is_flat else "tools[0].function.parameters"
    assert (spec.description, spec.param, spec.parameters.schema) == ("d", place, {"type": "object"})
    for flag, most in ((True, 4), (False, 1)):
        found = _tools({"tools": tools, "parallel_tool_calls": flag}, is_flat=is_flat)
        assert found is not None and found.max_parallel_calls == most
    unknown = "names 'x', which is none of the tools"
    for choice, fault in (
        (named("x"), unknown),
        (allowed("auto", "f", "x"), unknown),
        (allowed("auto"), "must be 'none', 'auto', 'required', "),
        (allowed("x", "f"), "must be 'none', 'auto', 'required', "),
        ("any", "must be 'none', 'auto', 'required', "),
    ):
        with pytest.raises(ApiError, match=f"^tool_choice {fault}"):
            _tools({"tools": tools, "tool_choice": choice}, is_flat=is_flat)


@pytest.mark.parametrize("is_flat", [False, True])
def test_without_tools_only_calls_need_an_agent(is_flat: bool) -> None:
    for choice in (None, "none", "auto"):
        assert _tools({"tool_choice": choice}, is_flat=is_flat) is None
        found = _tools({"tool_choice": choice}, is_flat=is_flat, has_calls=True)
        assert found == ToolAsk((), "none", 4, "", (User(content="x"),))
    with pytest.raises(ApiError, match=r"^tool_choice needs tools$"):
        _tools({"tool_choice": "required"}, is_flat=is_flat, has_calls=True)


@pytest.mark.parametrize(
    ("tools", "fault"),
    [
        ([_tool("f"), _tool("f")], "tools has two functions with the same name"),
        ([_tool("f")] * 129, "tools must have at most 128 items"),
        ([{"type": "x"}], r"tools\[0\]\.type must be 'function': the client executes the calls"),
        ([{"type": "function"}], r"tools\[0\]\.function is required: {name, description, parameters}"),
        ([_tool("f", parametrs={})], "unknown field 'parametrs'; write parameters"),
        ([_tool("h" * 65)], r"tools\[0\]\.function\.name must be 1 to 64 letters, digits, underscores"),
        (
            [_tool("f", parameters={"type": ["null"]})],
            r"tools\[0\]\.function\.parameters\.type must be 'object': ",
        ),
        ([_tool("f", strict="x")], r"tools\[0\]\.function\.strict must be a boolean"),
    ],
)
def test_faults_of_tools(tools: list[dict[str, Any]], fault: str) -> None:
    with pytest.raises(ApiError, match=f"^{fault}"):
        _tools({"tools": tools}, is_flat=False)


def test_calls_may_end_a_response_and_their_text_is_before_them() -> None:
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    for text in ("", "so"):
        said = [{"role": "assistant", "content": text}] if text else []
        found = _conversation(Fields({"input": [*said, call]}))
        assert found.has_calls
        output = Fields({"call_id": "a", "output": "x"})
        found.add_output(output, "call_id", "output", ())
        part = CallPart(id="call_1", name="f", arguments="{}")
        last = (Calls(calls=(part,), text=text), Output(id="call_1", name="f", content="x"))
        assert found.finish() == ("", last)


@pytest.mark.parametrize("kind", ["message", "function_call", "function_call_output"])
def test_items_have_no_unknown_fields(kind: str) -> None:
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    before = [call] if kind.endswith("output") else []
    with pytest.raises(ApiError, match=r"^unknown field 'xx'; leave it out: the fields are type, "):
        _conversation(Fields({"input": [*before, {"type": kind, "xx": 1}]}))
