"""A structkit model as a chat model of LangChain: each reply is valid text, calls of tools, or a value of a schema.

Install the extra `langchain`.

>>> from pydantic import BaseModel
>>> from structkit.integrations.langchain import ChatStructkit
>>> from structkit.testing import ScriptedModel
>>> class Person(BaseModel):
...     name: str
...     age: int
>>> chat = ChatStructkit(model=ScriptedModel(['{"name": "Ana", "age": 34}']))
>>> chat.with_structured_output(Person).invoke("Ana is 34.")
Person(name='Ana', age=34)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from structkit.agent.agent import Agent
from structkit.agent.prompt.history import order_outputs
from structkit.agent.run.events import StepEnd
from structkit.agent.run.state import AgentStep, last_call_number
from structkit.agent.tools.context import Context
from structkit.agent.tools.tool import Tool
from structkit.errors import GenerationError, MissingExtra
from structkit.generate.input.arguments import check_model
from structkit.generate.input.options import Options
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.output.result import Usage
from structkit.generate.run.batch import run
from structkit.generate.run.events import TextDelta
from structkit.integrations.json_target import json_target
from structkit.lru_cache import LruCache
from structkit.messages import Answer, CallPart, Calls, Message, Output, User
from structkit.models.protocols import Message as PromptMessage
from structkit.targets.targets import AnyTarget

try:
    from langchain_core.callbacks import CallbackManagerForLLMRun
    from langchain_core.language_models import BaseChatModel, LanguageModelInput
    from langchain_core.messages import (
        AIMessage,
        AIMessageChunk,
        BaseMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
    )
    from langchain_core.messages.ai import UsageMetadata
    from langchain_core.messages.tool import tool_call_chunk
    from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
    from langchain_core.runnables import Runnable, RunnableLambda
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ImportError as error:
    raise MissingExtra("langchain", "structkit.integrations.langchain needs", "langchain-core") from error

from pydantic import ConfigDict, Field, PrivateAttr, field_validator

__all__ = ["ChatStructkit"]

_MAX_AGENTS = 4
"""Maximum number of cached agents. Each has a prefix cache, so that the steps of a conversation continue each other."""

_NO_LIMIT = 2**31
"""The number of steps and retries: LangChain counts them itself."""


class ChatStructkit(BaseChatModel):
    """A structkit model as a chat model of LangChain.

    `bind_tools` and `with_structured_output` take what they take of every chat model, and no reply violates a schema.
    LangChain executes the tools. Calls that run at the same time, as in `batch` and `ainvoke`, share one batch of the
    model.

    >>> from structkit.testing import ScriptedModel
    >>> def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> script = ['{"name": "add", "arguments": {"a": 2, "b": 3}}']
    >>> ChatStructkit(model=ScriptedModel(script)).bind_tools([add]).invoke("What is 2 + 3?").tool_calls
    [{'name': 'add', 'args': {'a': 2, 'b': 3}, 'id': 'call_1', 'type': 'tool_call'}]
    """

    model: Any
    """A model, such as the one that `structkit.load()` returns."""

    options: dict[str, Any] = Field(default_factory=dict)
    """Options of `structkit.extract`, such as `max_tokens` and `temperature`; those of a call override them."""

    @field_validator("model")
    @classmethod
    def _check_model(cls, model: object) -> object:
        check_model(model)
        return model

    max_parallel_calls: int = 4
    """Maximum number of calls in one reply, if the format of the model supports more than one."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    _agents: LruCache[object, Agent[object, str]] = PrivateAttr(default_factory=lambda: LruCache(_MAX_AGENTS))

    @property
    def _llm_type(self) -> str:
        return "structkit"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model.name, **self.options}

    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: str | bool | Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return a runnable whose replies can be calls of tools.

        Args:
            tools: Functions, pydantic classes, tools of LangChain, or dicts in the notation of OpenAI.
            tool_choice: `"any"`, `"required"` or true for exactly one call; the name of a tool for one call of it;
                `"none"` for text; `"auto"` and `None` leave the choice to the model. Also a dict with one of these as
                its `type`, or with the name of a tool, as OpenAI and Anthropic write it.
            **kwargs: Options of the calls, such as `max_tokens`.

        Raises:
            GenerationError: A dict has no choice.
        """
        found = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=found, tool_choice=_choice_of(tool_choice), **kwargs)

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """Return a runnable whose output is a value of a schema.

        Args:
            schema: What `structkit.extract` takes: a class, another type, or a JSON Schema as a dict.
            include_raw: Whether the output is a dict with `raw`, `parsed` and `parsing_error`, as LangChain documents
                it. An error of the validators after the last retry is then a value, and raised otherwise.
            **kwargs: Options of the call. `method` and `strict` have no effect: every value obeys the schema.
        """
        options = {name: value for name, value in kwargs.items() if name not in ("method", "strict")}
        bound = self.bind(structkit_target=schema, **options)
        if not include_raw:
            return bound | RunnableLambda(_parsed)
        return RunnableLambda(lambda given, config: _with_raw(lambda: bound.invoke(given, config)))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        target = kwargs.pop("structkit_target", None)
        if target is None:
            agent, tools = self._agent_of(kwargs)
            instructions, conversation = _read(messages)
            step = agent.step(conversation, deps=instructions)
            forced_id = f"call_{last_call_number(conversation) + 1}" if tools and not agent.tools else None
            reply = _reply(step, stop, forced_id)
        else:
            settings = Settings.read("extract", cast("Options", _options({**self.options, **kwargs})))
            request = Request(model=self.model, prompt=_prompt(messages), target=target, settings=settings)
            result = run(request)
            reply = AIMessage(
                content=result.text,
                additional_kwargs={"parsed": result.value},
                usage_metadata=_usage(result.usage),
                response_metadata={"finish_reason": result.finish_reason, "guarantee": result.guarantee},
            )
        reply.response_metadata["model_name"] = self.model.name
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        if stop or kwargs.get("tools") or kwargs.get("structkit_target") is not None:
            # What is not text is known at its end.
            (generation,) = self._generate(messages, stop, run_manager, **kwargs).generations
            message = cast("AIMessage", generation.message)
            calls = [
                tool_call_chunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=index)
                for index, call in enumerate(message.tool_calls)
            ]
            yield ChatGenerationChunk(
                message=AIMessageChunk(
                    content=message.content,
                    tool_call_chunks=calls,
                    additional_kwargs=message.additional_kwargs,
                    usage_metadata=message.usage_metadata,
                    response_metadata=message.response_metadata,
                )
            )
            return
        agent, _ = self._agent_of(kwargs)
        instructions, conversation = _read(messages)
        with agent.stream_step(conversation, deps=instructions) as stream:
            for event in stream:
                if isinstance(event, TextDelta):
                    chunk = ChatGenerationChunk(message=AIMessageChunk(content=event.text))
                    if run_manager is not None:
                        run_manager.on_llm_new_token(event.text, chunk=chunk)
                    yield chunk
                elif isinstance(event, StepEnd):
                    yield ChatGenerationChunk(
                        message=AIMessageChunk(
                            content="",
                            usage_metadata=_usage(event.step.usage),
                            response_metadata={
                                "finish_reason": event.step.finish_reason,
                                "model_name": self.model.name,
                            },
                        )
                    )

    def _agent_of(self, kwargs: Mapping[str, Any]) -> tuple[Agent[object, str], Sequence[Mapping[str, Any]]]:
        """Return the agent whose step is the reply, and the tools of the call."""
        tools = [tool["function"] for tool in kwargs.get("tools") or ()]
        choice = kwargs.get("tool_choice")
        given = {name: value for name, value in kwargs.items() if name not in ("tools", "tool_choice")}
        options = _options({**self.options, **given})
        key = json.dumps([tools, choice, options], sort_keys=True, default=repr)
        agent = self._agents.get(key)
        if agent is None:
            callable_tools, output_type = _language(tools, choice)
            agent = Agent(
                self.model,
                callable_tools,
                output_type=cast("Any", output_type),
                deps_type=str,
                instructions=_instructions,
                max_steps=_NO_LIMIT,
                max_parallel_calls=self.max_parallel_calls,
                **cast("Any", {"on_limit": "answer", **options}),
            )
            self._agents.put(key, agent)
        return agent, [] if choice == "none" else tools


def _language(
    tools: Sequence[Mapping[str, Any]], choice: object
) -> tuple[list[Tool[..., object]], AnyTarget]:
    """Return the tools of the agent, and its output type: one call is a JSON object if it is required."""
    if choice == "none" or (not tools and choice in (None, "auto", False)):
        return [], str
    if choice in (None, "auto", False):
        return [
            Tool(
                function=_not_executed,
                name=tool["name"],
                description=tool.get("description", ""),
                schema=json_target(_parameters(tool)),
                tool_retries=_NO_LIMIT,
            )
            for tool in tools
        ], str
    if not tools:
        raise GenerationError(f"tool_choice={choice!r} needs a tool to call; give tools, or leave it out")
    if choice not in ("any", "required", True):
        names = ", ".join(tool["name"] for tool in tools)
        tools = [tool for tool in tools if tool["name"] == choice]
        if not tools:
            raise GenerationError(f"tool_choice={choice!r} names no tool; the tools are {names or 'none'}")
    members = [
        {
            "type": "object",
            "description": tool.get("description", ""),
            "properties": {"name": {"const": tool["name"]}, "arguments": {"$ref": _uri(tool)}},
            "required": ["name", "arguments"],
        }
        for tool in tools
    ]
    return [], json_target({"anyOf": members}, {_uri(tool): _parameters(tool) for tool in tools})


def _choice_of(given: str | bool | Mapping[str, Any] | None) -> str | bool | None:
    """Return the choice that a dict of OpenAI or Anthropic has.

    >>> _choice_of({"type": "function", "function": {"name": "f"}}), _choice_of({"type": "tool", "name": "f"})
    ('f', 'f')
    >>> _choice_of({"type": "any"})
    'any'
    """
    match given:
        case {"function": {"name": str(name)}} | {"name": str(name)}:
            return name
        case {"type": "auto" | "any" | "required" | "none" as kind}:
            return str(kind)
        case Mapping():
            raise GenerationError(
                f"tool_choice={given!r:.80} names no tool; write the name of one, 'any', 'none' or 'auto'"
            )
    return given


def _uri(tool: Mapping[str, Any]) -> str:
    return f"urn:structkit:tool:{tool['name']}"


def _parameters(tool: Mapping[str, Any]) -> Mapping[str, object]:
    return cast("Mapping[str, object]", tool.get("parameters") or {"type": "object", "properties": {}})


def _not_executed(**arguments: object) -> object:
    raise RuntimeError("LangChain executes the calls")


def _instructions(context: Context[str]) -> str:
    """Return the system messages of a call: they can differ between calls, and the agent is the same."""
    return context.deps


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of structkit; LangChain adds names of its own, which no option has."""
    return {
        name: value for name, value in given.items() if name not in ("ls_structured_output_format", "stream")
    }


def _reply(step: AgentStep[object], stop: Sequence[str] | None, forced_id: str | None) -> AIMessage:
    """Return the message of a step; a result that is a call has an id that no call before it has."""
    message = step.message
    calls: list[dict[str, Any]] = []
    content = message.text
    if isinstance(message, Calls):
        calls = [
            {"name": call.name, "args": json.loads(call.arguments), "id": call.id, "type": "tool_call"}
            for call in message.calls
        ]
    elif forced_id is not None:
        value = cast("Mapping[str, Any]", step.value)
        calls = [{"name": value["name"], "args": value["arguments"], "id": forced_id, "type": "tool_call"}]
    else:
        content = _cut(message.content, stop)
    return AIMessage(
        content=content,
        tool_calls=cast("Any", calls),
        usage_metadata=_usage(step.usage),
        response_metadata={"finish_reason": step.finish_reason},
    )


def _cut(text: str, stop: Sequence[str] | None) -> str:
    ends = [text.index(each) for each in stop or () if each in text]
    return text[: min(ends)] if ends else text


def _usage(usage: Usage) -> UsageMetadata:
    written = usage.written_tokens
    found = {
        "input_tokens": usage.prompt_tokens,
        "output_tokens": written,
        "total_tokens": usage.prompt_tokens + written,
    }
    return cast("UsageMetadata", found)


def _parsed(message: AIMessage) -> object:
    return message.additional_kwargs["parsed"]


def _with_raw(invoke: Callable[[], AIMessage]) -> dict[str, object]:
    try:
        message = invoke()
    except GenerationError as error:
        return {"raw": AIMessage(content=getattr(error, "text", "")), "parsed": None, "parsing_error": error}
    return {"raw": message, "parsed": _parsed(message), "parsing_error": None}


def _prompt(messages: Sequence[BaseMessage]) -> list[PromptMessage]:
    """Return messages as `structkit.extract` takes them; calls and outputs are written as JSON."""
    instructions, conversation = _read(messages)
    found: list[PromptMessage] = [{"role": "system", "content": instructions}] if instructions else []
    for message in conversation:
        match message:
            case User(content=content):
                found.append({"role": "user", "content": content})
            case Answer(content=content):
                found.append({"role": "assistant", "content": content})
            case Calls():
                calls = [
                    {"name": call.name, "arguments": json.loads(call.arguments)} for call in message.calls
                ]
                found.append({"role": "assistant", "content": json.dumps(calls, ensure_ascii=False)})
            case Output():
                found.append({"role": "user", "content": f"{message.name}: {message.content}"})
    return found


def _read(messages: Sequence[BaseMessage]) -> tuple[str, tuple[Message, ...]]:
    """Return the system messages as one text, and the other messages.

    Raises:
        GenerationError: A message has an image or another part that is not text, or an unknown role.
    """
    system: list[str] = []
    found: list[Message] = []
    names: dict[str, tuple[str, str]] = {}
    for message in messages:
        text = _text(message)
        match message:
            case SystemMessage():
                system.append(text)
            case HumanMessage():
                if found and isinstance(last := found[-1], User):
                    found[-1] = User(content=f"{last.content}\n\n{text}")
                else:
                    found.append(User(content=text))
            case AIMessage(tool_calls=calls) if calls:
                parts = []
                for call in calls:
                    new = f"call_{len(names) + 1}"  # equal conversations have equal prompts
                    names[call["id"] or new] = (new, call["name"])
                    arguments = json.dumps(call["args"], ensure_ascii=False)
                    parts.append(CallPart(id=new, name=call["name"], arguments=arguments))
                found.append(Calls(calls=tuple(parts), text=text))
            case AIMessage():
                found.append(Answer(content=text))
            case ToolMessage():
                new, name = names.get(message.tool_call_id, ("", ""))
                if not new:
                    raise GenerationError(
                        f"no call has the id {message.tool_call_id!r}; pass the AIMessage of the call before its output"
                    )
                found.append(Output(id=new, name=name, content=text, failed=message.status == "error"))
            case _:
                raise GenerationError(
                    f"a {type(message).__name__} cannot be read; pass messages of the system, human, AI and tools"
                )
    return "\n\n".join(system), order_outputs(found) or (User(content=""),)


def _text(message: BaseMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    texts = []
    for part in message.content:
        if isinstance(part, str):
            texts.append(part)
        elif part.get("type") == "text":
            texts.append(str(part["text"]))
        elif part.get("type") not in ("tool_use", "tool_call", "reasoning"):
            raise GenerationError(
                f"a structkit model reads text only, and a message has {part.get('type')!r}; leave it out"
            )
    return "\n\n".join(texts)
