"""Answers to requests with tools: each is one step of an agent, with calls, text or JSON."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing
from dataclasses import dataclass, field, replace
from typing import cast

from structkit.agent.agent import Agent
from structkit.agent.run.events import (
    PartialOutput,
    PreambleDelta,
    SingleStepEvent,
    StepEnd,
    ToolCallDelta,
    ToolCallStart,
)
from structkit.agent.run.state import AgentStep
from structkit.agent.tools.tool import Tool
from structkit.errors import StructkitError
from structkit.generate.input.options import ResultOptions, ValidationOptions
from structkit.generate.run.events import TextDelta
from structkit.lru_cache import LruCache
from structkit.messages import Calls
from structkit.models.protocols import LogitsModel
from structkit.serve.bounds.admission import Lease
from structkit.serve.bounds.api_error import api_error_of
from structkit.serve.read.bias import check_bias
from structkit.serve.read.requests import Ask
from structkit.serve.read.tools import ToolAsk, ToolSpec
from structkit.serve.write.logprobs import TokenRecords, TokensFrom, TopRecorder
from structkit.serve.write.pieces import (
    ArgumentsPiece,
    CallPiece,
    ContentText,
    EndPiece,
    FinishReason,
    Piece,
)
from structkit.serve.write.worker import Put, in_worker
from structkit.targets.fingerprint import cache_key
from structkit.targets.specs import JsonSchema
from structkit.targets.targets import AnyTarget
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Agents", "call_pieces"]

_MAX_AGENTS = 16
_MAX_STEPS = 2**31
"""Steps and retries of an agent: the client counts its own."""

_OPTIONS = (
    "max_tokens",
    "temperature",
    "limits",
    "trace_content",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "prompt_lookup",
    "include_schema",
    "seed",
    "processors",
)


class Agents:
    """The agents of a model. Those of equal tools are kept, with their guides and prefix caches. Thread-safe."""

    def __init__(self, model: LogitsModel) -> None:
        self._model = model
        self._agents: LruCache[object, Agent[object, object]] = LruCache(_MAX_AGENTS)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the model."""
        return self._model.vocabulary

    def of(
        self, ask: Ask, tools: ToolAsk, number: int, recorder: TopRecorder | None
    ) -> Agent[object, object]:
        """Return the agent of a request.

        Args:
            ask: The request.
            tools: Its tools.
            number: The number of the answer.
            recorder: The processor that keeps log-probabilities; an agent with one is not kept.

        Raises:
            StructkitError: See `structkit.Agent`.
        """
        options = {name: value for name, value in ask.options.items() if name in _OPTIONS}
        if recorder is not None:
            options["processors"] = recorder.processors(cast("ResultOptions", options))
        if number and "seed" in options:
            options["seed"] = (cast("int", options["seed"]) + number) % 2**63
        output = _output_type(ask, tools)
        specs = [[spec.name, spec.description, spec.parameters.schema] for spec in tools.tools]
        key = (
            json.dumps([specs, tools.choice, tools.max_parallel_calls, tools.instructions]),
            output if isinstance(output, type) else cache_key(output),
            repr(sorted(options.items())),
        )
        agent = self._agents.get(key) if recorder is None else None
        if agent is None:
            agent = Agent(
                self._model,
                [_agent_tool(spec) for spec in tools.tools] if tools.choice == "auto" else (),
                output_type=cast("type[object]", output),
                instructions=tools.instructions or None,
                max_steps=_MAX_STEPS,
                max_parallel_calls=tools.max_parallel_calls,
                on_limit="answer",
                **cast("ValidationOptions", options),
            )
            if recorder is None:
                self._agents.put(key, agent)
        return agent


async def call_pieces(
    agents: Agents, ask: Ask, tools: ToolAsk, number: int, lease: Lease
) -> AsyncGenerator[Piece, None]:
    """Generate one answer that can have calls.

    Raises:
        StructkitError: See `structkit.Agent.step`.
    """

    def work(put: Put, cancelled: threading.Event) -> None:
        try:
            check_bias(ask.options, agents.vocabulary)
            recorder = None if ask.top_logprobs is None else TopRecorder(ask.top_logprobs)
            agent, answer = agents.of(ask, tools, number, recorder), None
            with closing(agent.stream_step(tools.messages)) as events:
                for event in events:
                    if cancelled.is_set():
                        return
                    if answer is None:  # the prompt is encoded before the first event
                        count, vocabulary = events.prompt_tokens, agents.vocabulary
                        records = None if recorder is None else TokenRecords(recorder, count, vocabulary)
                        answer = _Answer(tools, put, ContentText(ask, put, records), events.tokens)
                    if isinstance(event, StepEnd):
                        answer.finish(event.step)
                    else:
                        answer.read(event)
                    if answer.content.is_stopped:
                        put(answer.content.stopped(events.prompt_tokens))
                        return
        except StructkitError as error:
            params = replace(ask.params, constraint=_constraint_param(error, ask, tools))
            raise api_error_of(error, params) from error

    async with aclosing(in_worker(work, lease)) as pieces:
        async for piece in pieces:
            yield cast("Piece", piece)


def _constraint_param(error: StructkitError, ask: Ask, tools: ToolAsk) -> str:
    """Return the field with the constraint at fault: the schema of a tool, or that of the answer."""
    place = error.place or ""
    for spec in tools.tools:
        if place == spec.name or place.startswith(f"{spec.name}: ") or f'"{_uri(spec)}"' in place:
            return spec.param
    if tools.choice == "required":
        return tools.tools[0].param if len(tools.tools) == 1 else "tools"
    return ask.constraint.param or "tools"


def _uri(spec: ToolSpec) -> str:
    return f"urn:structkit:tool:{spec.name}"


@dataclass
class _Answer:
    """Turns the events of a step into pieces.

    The content is the start of what the model writes: text before calls, or a result that is text or JSON.

    Attributes:
        tools: The tools of the request.
        put: Receives the pieces.
        content: The content.
        tokens: The tokens so far; see `TokenRecords.until`.
    """

    tools: ToolAsk
    put: Put
    content: ContentText
    tokens: TokensFrom
    _ids: dict[str, int] = field(default_factory=dict)
    _sent: dict[str, str] = field(default_factory=dict)

    def read(self, event: SingleStepEvent[object]) -> None:
        """Put the pieces of an event."""
        result = self._result_tools
        match event:
            case PreambleDelta(text) | TextDelta(_, text):
                self.content.extend(text, self.tokens)
            case ToolCallStart(id, name):
                self.content.flush(self.tokens)
                self._start(id, name)
            case ToolCallDelta(id, text):
                self._arguments(id, text)
            case PartialOutput(_, text) if not result:
                self.content.extend(text, self.tokens)
            case PartialOutput(_, text) if len(result) == 1:
                if "result" not in self._ids:
                    self._start("result", result[0].name)
                self._arguments("result", text)
            case _:
                pass

    def finish(self, step: AgentStep[object]) -> None:
        """Put what has not been sent and, unless a stop sequence ended the content, the end."""
        message, result = step.message, self._result_tools
        calls: list[tuple[str, str, str]] = []
        text = message.text
        if isinstance(message, Calls):
            calls = [(call.id, call.name, call.arguments) for call in message.calls]
        elif not result:
            text += message.content
        elif len(result) == 1:
            calls = [("result", result[0].name, message.content)]
        else:
            value = cast("dict[str, object]", step.value)
            calls = [("result", str(value["name"]), json.dumps(value["arguments"], ensure_ascii=False))]
        if text:
            self.content.finish(text, self.tokens)
        if self.content.is_stopped:
            return
        for id, name, arguments in calls:
            if id not in self._ids:
                self._start(id, name)
            self._arguments(id, arguments[len(self._sent.get(id, "")) :])
        reason: FinishReason = "length" if step.finish_reason == "budget" else "stop"
        self.put(EndPiece("tool_calls" if calls else reason, step.usage))

    @property
    def _result_tools(self) -> tuple[ToolSpec, ...]:
        return self.tools.tools if self.tools.choice == "required" else ()

    def _start(self, id: str, name: str) -> None:
        number = self._ids[id] = len(self._ids)
        self.put(CallPiece(number, f"call_{uuid.uuid4().hex[:24]}", name))

    def _arguments(self, id: str, text: str) -> None:
        if text:
            self._sent[id] = self._sent.get(id, "") + text
            self.put(ArgumentsPiece(self._ids[id], text))


def _agent_tool(spec: ToolSpec) -> Tool[..., object]:
    return Tool(
        function=_not_executed,
        name=spec.name,
        description=spec.description,
        schema=spec.parameters,
        tool_retries=_MAX_STEPS,
    )


def _output_type(ask: Ask, tools: ToolAsk) -> AnyTarget:
    if tools.choice == "required":
        return _required(tools.tools)
    if ask.constraint.is_free:
        return str
    return ask.constraint.target(ask.options["limits"])


def _required(specs: tuple[ToolSpec, ...]) -> JsonSchema:
    """Return the target of one call: the arguments of the only tool, or the name and the arguments."""
    if len(specs) == 1:
        description = {"description": specs[0].description} if specs[0].description else {}
        return replace(specs[0].parameters, schema={**description, **specs[0].parameters.schema})
    members = [
        {
            "type": "object",
            "properties": {
                "name": {"const": spec.name},
                "arguments": {"$ref": _uri(spec)},
            },
            "required": ["name", "arguments"],
            **({"description": spec.description} if spec.description else {}),
        }
        for spec in specs
    ]
    resources = {_uri(spec): spec.parameters.schema for spec in specs}
    return JsonSchema({"anyOf": members}, additional="closed", resources=resources, bounded_numbers=True)


def _not_executed(**arguments: object) -> object:
    raise RuntimeError("the client executes the calls")
