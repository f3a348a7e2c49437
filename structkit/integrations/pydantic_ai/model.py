"""A model of pydantic-ai that generates each response as one step of an agent."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from pydantic_ai import RunContext
from pydantic_ai.exceptions import UnexpectedModelBehavior, UserError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile, ModelProfileSpec
from pydantic_ai.settings import ModelSettings
from typing_extensions import TypeForm, Unpack

from structkit.agent.agent import Agent
from structkit.agent.formats.detect import FormatName
from structkit.agent.tools.context import Context
from structkit.errors import OutputValidationError
from structkit.generate.input.options import ValidationOptions
from structkit.integrations.pydantic_ai.conversation import instructions_of, read_conversation
from structkit.integrations.pydantic_ai.language import StepLanguage, read_language
from structkit.integrations.pydantic_ai.response import StepResponse, finish_reason_of, usage_of
from structkit.lru_cache import LruCache
from structkit.messages import Message
from structkit.models.protocols import LogitsModel

__all__ = ["StructkitModel"]

_MAX_AGENTS = 4
"""Maximum number of cached agents. Each has a prefix cache, so that the steps of a run continue each other."""

_MAX_STEPS = 2**31
"""The number of steps of an agent: pydantic-ai counts the requests itself."""


@dataclass(frozen=True)
class _Step:
    """The step that is the response to a request."""

    agent: Agent[object, str]
    language: StepLanguage
    conversation: tuple[Message, ...]
    instructions: str


class StructkitModel(Model[None]):
    """A structkit model as a model of pydantic-ai.

    Each response is one step of an agent, under one grammar: text, calls of tools whose arguments match their schemas,
    or the output. pydantic-ai executes the tools and validates the output.

    >>> import asyncio
    >>> from pydantic_ai import Agent
    >>> from structkit.testing import ScriptedModel
    >>> script = ['{"name": "add", "arguments": {"a": 2, "b": 3}}', '{"response": 5}']
    >>> agent = Agent(StructkitModel(ScriptedModel(script)), output_type=int)
    >>> @agent.tool_plain
    ... def add(a: int, b: int) -> int:
    ...     return a + b
    >>> asyncio.run(agent.run("What is 2 + 3?")).output
    5
    """

    unsupported_settings = frozenset(
        {
            "citations",
            "extra_body",
            "extra_headers",
            "frequency_penalty",
            "logit_bias",
            "max_retries",
            "presence_penalty",
            "service_tier",
            "stop_sequences",
        }
    )

    def __init__(
        self,
        model: LogitsModel,
        *,
        max_parallel_calls: int = 4,
        format: FormatName = "auto",
        settings: ModelSettings | None = None,
        profile: ModelProfileSpec | None = None,
        **options: Unpack[ValidationOptions],
    ) -> None:
        """Wrap a model.

        Args:
            model: A model, such as the one that `structkit.load()` returns.
            max_parallel_calls: Maximum number of calls in one response, if the format supports more than one; 1
                with the setting `parallel_tool_calls=False`.
            format: The format of calls; see `structkit.Agent`.
            settings: The default settings. `max_tokens`, `temperature`, `top_p`, `top_k`, `seed`, `timeout` in seconds,
                `parallel_tool_calls` and `tool_choice` have an effect.
            profile: Changes of the profile.
            **options: Those of `structkit.extract`; the settings of a request override them.

        Raises:
            TypeError: An option has the wrong type, or `model` is not a model.
            ValueError: A number is out of range.
        """
        self._model = model
        self._max_parallel_calls = max_parallel_calls
        self._format: FormatName = format
        self._options = options
        self._agents: LruCache[object, Agent[object, str]] = LruCache(_MAX_AGENTS)
        Agent(model, max_parallel_calls=max_parallel_calls, format=format, **options)  # checks the arguments
        super().__init__(settings=settings, profile=profile)

    @property
    def model_name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def system(self) -> str:
        """`structkit`."""
        return "structkit"

    def _provider_model_profile(self) -> ModelProfile:
        return _PROFILE

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Generate a response.

        Raises:
            UserError: The messages have an image or a file, or the request a native tool.
            UnexpectedModelBehavior: The schema of a tool or of the output has a keyword that cannot be enforced, and
                all attempts violated it.
            StructkitError: See `structkit.Agent.step`.
        """
        request = self._read(messages, model_settings, model_request_parameters)
        try:
            step = await request.agent.astep(request.conversation, deps=request.instructions)
        except OutputValidationError as error:
            raise UnexpectedModelBehavior(error.message, error.text) from error
        return ModelResponse(
            parts=request.language.response_parts(step),
            usage=usage_of(step),
            model_name=self.model_name,
            provider_name=self.system,
            finish_reason=finish_reason_of(step),
        )

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[object] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Generate a response and stream it; see `request`."""
        request = self._read(messages, model_settings, model_request_parameters)
        async with request.agent.astream_step(request.conversation, deps=request.instructions) as stream:
            yield StepResponse(
                model_request_parameters,
                model=self.model_name,
                system=self.system,
                language=request.language,
                stream=stream,
            )

    def _read(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> _Step:
        """Return the step that is the response to a request."""
        merged, parameters = self.prepare_request(model_settings, parameters)
        settings = merged or ModelSettings()
        language = read_language(parameters, settings)
        conversation = read_conversation(messages, {tool.name for tool in language.result_tools})
        instructions = instructions_of(messages, parameters.instruction_parts)
        parallel = self._max_parallel_calls if settings.get("parallel_tool_calls", True) else 1
        changed = _options(settings)
        options = self._options.copy()
        options.update(changed)
        key = (language.key, parallel, tuple(sorted(changed.items())))
        agent = self._agents.get(key)
        if agent is None:
            agent = Agent(
                self._model,
                language.agent_tools(),
                output_type=cast("TypeForm[object]", language.output_type()),
                deps_type=str,
                instructions=_instructions,
                max_steps=_MAX_STEPS,
                on_limit="answer",  # pydantic-ai has limits of its own
                max_parallel_calls=parallel,
                format=self._format,
                **options,
            )
            self._agents.put(key, agent)
        return _Step(agent, language, conversation, instructions)


_PROFILE = ModelProfile(
    supports_json_schema_output=True,
    supports_json_object_output=True,
    supports_image_input=False,
    supports_document_input=False,
    supports_audio_file_input=False,
    supports_video_input=False,
)


def _instructions(context: Context[str]) -> str:
    """Return the instructions of a request: they can differ between requests, and the agent is the same."""
    return context.deps


def _options(settings: ModelSettings) -> ValidationOptions:
    """Return the options of a step that a setting determines."""
    options = ValidationOptions()
    if (max_tokens := settings.get("max_tokens")) is not None:
        options["max_tokens"] = max_tokens
    if (temperature := settings.get("temperature")) is not None:
        options["temperature"] = temperature
    if (top_p := settings.get("top_p")) is not None:
        options["top_p"] = top_p
    if (top_k := settings.get("top_k")) is not None:
        options["top_k"] = top_k
    if (seed := settings.get("seed")) is not None:
        options["seed"] = seed
    if (timeout := settings.get("timeout")) is not None:
        if not isinstance(timeout, (int, float)):
            raise UserError(f"the timeout of a structkit model is a number of seconds, not {timeout!r:.60}")
        options["timeout"] = timeout
    return options
