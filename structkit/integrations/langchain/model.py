"""The chat model of LangChain; see `structkit.integrations.langchain`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
)
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, Field, PrivateAttr, field_validator, model_validator

from structkit.agent.agent import Agent
from structkit.agent.run.events import StepEnd
from structkit.agent.run.state import last_call_number
from structkit.agent.tools.context import Context
from structkit.arguments.names import check_names
from structkit.errors import GenerationError
from structkit.generate.input.arguments import check_model
from structkit.generate.input.options import Options
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.run.batch import run
from structkit.generate.run.events import TextDelta
from structkit.integrations.langchain.conversation import prompt_of, read_messages, reply_of, usage_of
from structkit.integrations.langchain.language import NO_LIMIT, choice_of, read_language, schema_of
from structkit.lru_cache import LruCache

if TYPE_CHECKING:
    from langchain_core.language_models.model_profile import ModelProfile

__all__ = ["ChatStructkit"]

_MAX_AGENTS = 4
"""Maximum number of cached agents. Each has a prefix cache, so that the steps of a conversation continue each other."""


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

    @model_validator(mode="before")
    @classmethod
    def _check_fields(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            hints = {
                name: f"write options={{{name!r}: {value!r:.40}}}"
                for name, value in given.items()
                if name in Options.__annotations__
            }
            check_names(cls.__name__, given, cls.model_fields, hints=hints)
        return given

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
    def model_name(self) -> str:
        """The name of the model, which the agents of LangChain look at."""
        return str(self.model.name)

    @property
    def _llm_type(self) -> str:
        return "structkit"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model.name, **self.options}

    def _resolve_model_profile(self) -> ModelProfile:
        """Return what LangChain asks about a model: a summary of the history begins at a part of the context."""
        found: ModelProfile = {"name": self.model_name, "tool_calling": True}
        length = getattr(self.model, "context_length", None)
        if length is not None and hasattr(self.model, "encode_text"):  # that of a model of texts is in bytes
            found["max_input_tokens"] = length
        return found

    def get_token_ids(self, text: str) -> list[int]:
        """Return the tokens of a text, which LangChain counts, as in `trim_messages`.

        Raises:
            GenerationError: The model returns text, and its tokens are not known.
        """
        if self.custom_get_token_ids is not None:
            return self.custom_get_token_ids(text)
        if not hasattr(self.model, "encode_text"):
            raise GenerationError(
                f"the tokens of {self.model_name} are not known; count them with token_counter='approximate', or pass "
                "custom_get_token_ids=f to ChatStructkit"
            )
        return cast("list[int]", self.model.encode_text(text))

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
            **kwargs: Options of the calls, such as `max_tokens`. `parallel_tool_calls=False` allows one call in a
                reply; `strict` has no effect.

        Raises:
            GenerationError: A dict has no choice, or names a tool of a provider, such as its web search.
        """
        found = [convert_to_openai_tool(tool) for tool in tools]
        for tool in found:
            if "function" not in tool:
                raise GenerationError(
                    f"{tool!r:.80} is a tool that a provider executes; give a function, a tool of LangChain or "
                    "{'type': 'function', 'function': {...}}"
                )
        return self.bind(tools=found, tool_choice=choice_of(tool_choice), **kwargs)

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """Return a runnable whose output is a value of a schema.

        Args:
            schema: What `structkit.extract` takes: a class, another type, or a JSON Schema as a dict. Also a function
                in the notation of OpenAI or Anthropic; the value has its arguments.
            include_raw: Whether the output is a dict with `raw`, `parsed` and `parsing_error`, as LangChain documents
                it. An error of the validators after the last retry is then a value, and raised otherwise.
            **kwargs: Options of the call. `method` and `strict` have no effect: every value obeys the schema.

        Raises:
            GenerationError: There is no schema.
        """
        if schema is None:  # as `method="json_mode"` of other models allows it
            raise GenerationError("the schema is None; for any JSON object, pass dict[str, object]")
        options = {name: value for name, value in kwargs.items() if name != "method"}
        bound = self.bind(structkit_target=schema_of(schema), **options)
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
            instructions, conversation = read_messages(messages)
            step = agent.step(conversation, deps=instructions)
            forced_id = f"call_{last_call_number(conversation) + 1}" if tools and not agent.tools else None
            reply = reply_of(step, stop, forced_id)
        else:
            settings = Settings.read("extract", cast("Options", _options({**self.options, **kwargs})))
            request = Request(model=self.model, prompt=prompt_of(messages), target=target, settings=settings)
            result = run(request)
            reply = AIMessage(
                content=result.text,
                additional_kwargs={"parsed": result.value},
                usage_metadata=usage_of(result.usage),
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
        if stop or any(kwargs.get(name) for name in ("tools", "structkit_target", "response_format")):
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
        instructions, conversation = read_messages(messages)
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
                            usage_metadata=usage_of(event.step.usage),
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
        response = kwargs.get("response_format")
        parallel = kwargs.get("parallel_tool_calls") is not False
        known = ("tools", "tool_choice", "response_format", "parallel_tool_calls")
        given = {name: value for name, value in kwargs.items() if name not in known}
        options = _options({**self.options, **given})
        key = json.dumps([tools, choice, options, response, parallel], sort_keys=True, default=repr)
        agent = self._agents.get(key)
        if agent is None:
            callable_tools, output_type = read_language(tools, choice, response)
            agent = Agent(
                self.model,
                callable_tools,
                output_type=cast("Any", output_type),
                deps_type=str,
                instructions=_instructions,
                max_steps=NO_LIMIT,
                max_parallel_calls=self.max_parallel_calls if parallel else 1,
                **cast("Any", {"on_limit": "answer", **options}),
            )
            self._agents.put(key, agent)
        return agent, [] if choice == "none" else tools


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of structkit; LangChain adds names of its own, which no option has."""
    return {
        name: value
        for name, value in given.items()
        if name not in ("ls_structured_output_format", "stream", "strict")
    }


def _parsed(message: AIMessage) -> object:
    return message.additional_kwargs["parsed"]


def _with_raw(invoke: Callable[[], AIMessage]) -> dict[str, object]:
    try:
        message = invoke()
    except GenerationError as error:
        return {"raw": AIMessage(content=getattr(error, "text", "")), "parsed": None, "parsing_error": error}
    return {"raw": message, "parsed": _parsed(message), "parsing_error": None}


def _instructions(context: Context[str]) -> str:
    """Return the system messages of a call: they can differ between calls, and the agent is the same."""
    return context.deps
