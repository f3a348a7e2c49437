"""Requests for chat and text completions as values that are checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from structkit.generate.input.options import ResultOptions
from structkit.models.protocols import Message as Turn
from structkit.serve.bounds.api_error import Params
from structkit.serve.bounds.config import ServerConfig
from structkit.serve.read.bias import MinTokens, read_bias
from structkit.serve.read.constraints import FREE_TEXT, Constraint, read_constraint
from structkit.serve.read.conversation import Conversation
from structkit.serve.read.fields import HALF_PAIR, Fields, has_surrogate
from structkit.serve.read.messages import read_messages
from structkit.serve.read.neutral import (
    NEUTRAL,
    REMEDIES,
    WITHOUT_EFFECT,
    check_neutral,
    check_without_effect,
)
from structkit.serve.read.tools import ToolAsk, read_tools

__all__ = [
    "MAX_TOP_LOGPROBS",
    "AnyPrompt",
    "Ask",
    "read_chat",
    "read_completion",
    "read_model",
    "read_options",
    "shows_schema",
]

AnyPrompt: TypeAlias = "str | tuple[int, ...] | list[Turn]"
"""The messages of a chat, or a text or its tokens for a text completion."""

_CONSTRAINTS = (
    "response_format",
    "structured_outputs",
)
_SAMPLING = (
    "max_tokens",
    "min_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "seed",
    "stop",
    "include_stop_str_in_output",
    "n",
    "stream",
    "stream_options",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
)
_NEUTRAL_OF_CHATS: Mapping[str, tuple[object, ...]] = {
    **NEUTRAL,
    "modalities": (["text"],),
    "verbosity": ("medium",),
    "reasoning_effort": ("none",),
    "echo": (False,),
    "add_special_tokens": (False,),
    "chat_template_kwargs": ({}, {"enable_thinking": False}, {"thinking": False}),
}
_NEUTRAL_OF_TEXTS: Mapping[str, tuple[object, ...]] = {
    **NEUTRAL,
    "suffix": ("",),
    "add_special_tokens": (True,),
}
"""Fields that are accepted only with the values that have no effect."""

_OTHER_SPELLINGS = {
    "json": ("guided_json",),
    "regex": ("guided_regex", "regex"),
    "choice": ("guided_choice",),
    "grammar": ("guided_grammar", "grammar", "ebnf"),
}
"""Constraints in fields of former versions of vLLM, of SGLang and of llama.cpp."""

_REMEDIES: Mapping[str, str] = {
    **REMEDIES,
    "functions": "write tools: [{type: 'function', function: ...}]",
    "function_call": "write tool_choice",
    "input": "write messages, or send it to /v1/responses",
    "prompt": "write messages, or send it to /v1/completions",
    "messages": "write prompt, or send it to /v1/chat/completions",
    "extra_body": "write its fields into the request",
    "format": "write response_format",
    "json_schema": "write response_format: {type: 'json_schema', json_schema: {name, schema}}",
    **{
        name: f"write structured_outputs: {{{kind}: ...}}"
        for kind, names in _OTHER_SPELLINGS.items()
        for name in names
    },
}
"""What to write in place of fields of other servers and of former versions."""

_CHAT = (
    "model",
    "messages",
    *_SAMPLING,
    "max_completion_tokens",
    "logprobs",
    "top_logprobs",
    *_CONSTRAINTS,
    "include_schema",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "prediction",
    "continue_final_message",
    "add_generation_prompt",
)
_COMPLETION = (
    "model",
    "prompt",
    *_SAMPLING,
    "logprobs",
    *_CONSTRAINTS,
    "best_of",
    "echo",
)

_MAX_PROMPTS = 64
_MAX_PROMPT_TOKENS = 1 << 20
_MAX_STOPS, _MAX_STOP_LENGTH = 16, 64
MAX_TOP_LOGPROBS = 20
_MAX_SEED = 2**63 - 1
_COMPLETION_TOKENS = 16
"""Maximum number of tokens of a text completion without `max_tokens`, as OpenAI defines it."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A request that is checked.

    Attributes:
        kind: The endpoint: a chat completion, a text completion, or a response.
        model: The name of the model in the request.
        prompts: The prompts, one for each group of `n` answers.
        constraint: What an answer must be.
        options: Options of the generation.
        count: Number of answers to each prompt.
        stops: The stop sequences.
        min_tokens: Number of tokens in which no stop sequence may end.
        shows_stop: Whether an answer has the stop sequence that ends it.
        is_streamed: Whether the answers are sent while they are generated.
        sends_usage: Whether the usage ends a stream.
        top_logprobs: Number of alternatives to each token; `None` without log-probabilities.
        limit: The field with the maximum number of tokens.
        tools: The tools, if there are any.
        echo: What a response repeats of the request.
        start: The start of the answer, which the prompt ends with.
        shows_prompt: Whether an answer starts with its prompt.
    """

    kind: Literal["chat", "text", "response"]
    model: str
    prompts: tuple[AnyPrompt, ...]
    constraint: Constraint
    options: ResultOptions
    count: int
    stops: tuple[str, ...]
    min_tokens: int = 0
    shows_stop: bool = False
    is_streamed: bool
    sends_usage: bool
    top_logprobs: int | None
    limit: str = "max_tokens"
    tools: ToolAsk | None = None
    echo: Mapping[str, object] = field(default_factory=dict)
    start: str = ""
    shows_prompt: bool = False

    @property
    def answers(self) -> int:
        """Number of answers."""
        return self.count * len(self.prompts)

    @property
    def params(self) -> Params:
        """The fields that errors of the generation name."""
        prompt = {"chat": "messages", "text": "prompt", "response": "input"}[self.kind]
        return Params(prompt, self.limit, self.constraint.param)


def read_chat(body: Fields, config: ServerConfig) -> Ask:
    """Read a request for a chat completion.

    Raises:
        ApiError: A field is unknown, has the wrong type, or asks for what the server cannot do.
    """
    body.check_names(_CHAT, _REMEDIES, (*WITHOUT_EFFECT, *_NEUTRAL_OF_CHATS))
    check_neutral(body, _NEUTRAL_OF_CHATS)
    body.nested("prediction")  # its type: it makes answers of other servers faster, and changes none
    check_without_effect(body)
    given = read_constraint(body)
    conversation = read_messages(body)
    start = _start(body, conversation)
    tools = read_tools(body, conversation)
    stops = _stops(body, given)
    limit = body.integer("max_completion_tokens", 1, config.max_tokens)
    options = read_options(body, config, limit)
    top = body.integer("top_logprobs", 0, MAX_TOP_LOGPROBS)
    has_logprobs = body.flag("logprobs", False)
    if top is not None and not has_logprobs:
        raise body.error("top_logprobs", "needs logprobs: true")
    options["include_schema"] = shows_schema(body, given, conversation, tools)
    others = [given.param] if given else []
    others += ["tools"] if tools else []
    least = _add_min_tokens(body, config, options, others)
    return Ask(
        kind="chat",
        model=read_model(body),
        prompts=(conversation.turns,),
        constraint=given or FREE_TEXT,
        options=options,
        stops=stops,
        min_tokens=least,
        shows_stop=body.flag("include_stop_str_in_output", False),
        top_logprobs=(top or 0) if has_logprobs else None,
        limit="max_tokens" if limit is None else "max_completion_tokens",
        tools=tools,
        count=body.integer("n", 1, config.answers_of_request) or 1,
        is_streamed=body.flag("stream", False),
        sends_usage=_sends_usage(body),
        start=start,
    )


def read_completion(body: Fields, config: ServerConfig) -> Ask:
    """Read a request for a text completion.

    Raises:
        ApiError: See `read_chat`.
    """
    body.check_names(_COMPLETION, _REMEDIES, (*WITHOUT_EFFECT, *_NEUTRAL_OF_TEXTS))
    check_neutral(body, _NEUTRAL_OF_TEXTS)
    check_without_effect(body)
    given = read_constraint(body)
    stops = _stops(body, given)
    options = read_options(body, config, None, _COMPLETION_TOKENS if given is None else None, least=0)
    options["include_schema"] = False  # the prompt is what the model reads
    least = _add_min_tokens(body, config, options, [given.param] if given else [])
    prompts = _prompts(body)
    count = body.integer("n", 1, config.answers_of_request) or 1
    if body.integer("best_of", 1, 1_000) not in (None, count):
        raise body.error("best_of", f"must equal n; {REMEDIES['best_of']}")
    if len(prompts) * count > config.answers_of_request:
        raise body.error("prompt", f"and n give more than {config.answers_of_request} answers")
    return Ask(
        kind="text",
        model=read_model(body),
        prompts=prompts,
        constraint=given or FREE_TEXT,
        options=options,
        stops=stops,
        min_tokens=least,
        shows_stop=body.flag("include_stop_str_in_output", False),
        top_logprobs=body.integer("logprobs", 0, MAX_TOP_LOGPROBS),
        count=count,
        is_streamed=body.flag("stream", False),
        sends_usage=_sends_usage(body),
        shows_prompt=body.flag("echo", False),
    )


def _add_min_tokens(
    body: Fields, config: ServerConfig, options: ResultOptions, others: Sequence[str | None]
) -> int:
    """Add the processor of `min_tokens`, and return it; `others` are the fields that decide where an answer ends."""
    least, most = body.integer("min_tokens", 0, config.max_tokens), options.get("max_tokens")
    if not least:
        return 0
    if others:
        raise body.error("min_tokens", f"is not supported with {others[0]}; {REMEDIES['min_tokens']}")
    if most is not None and least > most:
        raise body.error("min_tokens", f"must be at most the maximum number of tokens, {most:,}")
    options["processors"] = (*(options.get("processors") or ()), MinTokens(least))
    return least


def _start(body: Fields, conversation: Conversation) -> str:
    """Take the last message, which the answer continues, out of the conversation, and return its text."""
    is_continued = body.flag("continue_final_message", False)
    if body.flag("add_generation_prompt", not is_continued) is is_continued:
        remedy = "leave it out" if is_continued else "leave it out, or give continue_final_message: true"
        raise body.error("add_generation_prompt", f"must be {json.dumps(not is_continued)} here; {remedy}")
    if not is_continued:
        return ""
    name = "continue_final_message"
    if body.raw("tools") or conversation.has_calls:
        raise body.error(name, f"is not supported with tools and calls; {REMEDIES[name]}")
    turns = conversation.turns
    if len(turns) < 2 or turns[-1]["role"] != "assistant" or not turns[-1]["content"]:
        fault = (
            "needs a last message of the assistant with a text, and one before it; add them, or leave it out"
        )
        raise body.error(name, fault)
    return turns.pop()["content"]


def shows_schema(
    body: Fields, given: Constraint | None, conversation: Conversation, tools: ToolAsk | None
) -> bool:
    """Return whether the prompt describes the target: in the last message of the user, or in those of an agent."""
    is_possible = tools is not None or (
        given is not None and any(turn["role"] == "user" for turn in conversation.turns)
    )
    return body.flag("include_schema", True) and is_possible


def read_model(body: Fields) -> str:
    """Return the name of the model."""
    name = body.text("model")
    if not name:
        raise body.error("model", "is required; GET /v1/models lists the models")
    return name


def _sends_usage(body: Fields) -> bool:
    options = body.nested("stream_options")
    if options is None:
        return False
    if not body.flag("stream", False):
        raise body.error("stream_options", "needs stream: true")
    options.check_names(("include_usage", "include_obfuscation"))
    return options.flag("include_usage", False)


def read_options(
    body: Fields, config: ServerConfig, limit: int | None, default: int | None = None, *, least: int = 1
) -> ResultOptions:
    """Return the options of the generation.

    Args:
        body: The request.
        config: Its bounds.
        limit: The maximum number of tokens by another name than `max_tokens`.
        default: The maximum number without both.
        least: The smallest `max_tokens`: that of a text completion is 0, which shows the prompt alone.
    """
    given = body.integer("max_tokens", least, config.max_tokens)
    if given is not None and limit is not None and given != limit:
        raise body.error("max_tokens", "and max_completion_tokens differ; give one of them")
    limits = (given, limit, default, min(config.max_tokens, 1_024))
    temperature = body.number("temperature", 0, 2)
    options = ResultOptions(
        max_tokens=next(each for each in limits if each is not None),
        temperature=config.default_temperature if temperature is None else temperature,
        limits=config.target_limits,
        confidence=False,
        trace_content=False,
        prompt_lookup=True,
    )
    if (top_k := body.integer("top_k", -1, 10**9)) is not None and top_k > 0:
        options["top_k"] = top_k
    if (top_p := body.number("top_p", 0, 1)) == 0:
        options["top_k"] = 1  # the smallest set that reaches 0 is the most likely token
    elif top_p is not None and top_p < 1:
        options["top_p"] = top_p
    if (min_p := body.number("min_p", 0, 1)) is not None and min_p > 0:
        options["min_p"] = min_p
    if (penalty := body.number("repetition_penalty", 0.01, 100)) is not None and penalty != 1:
        options["repetition_penalty"] = penalty
    if (seed := body.integer("seed", -_MAX_SEED - 1, _MAX_SEED)) is not None:
        options["seed"] = seed % 2**63
    if (bias := read_bias(body)) is not None:
        options["processors"] = (bias,)
    return options


def _stops(body: Fields, constraint: Constraint | None) -> tuple[str, ...]:
    value = body.raw("stop")
    if value is None or value == []:
        return ()
    stops = [value] if isinstance(value, str) else body.items("stop", _MAX_STOPS) or []
    for stop in stops:
        if not isinstance(stop, str) or not 0 < len(stop) <= _MAX_STOP_LENGTH:
            raise body.error("stop", f"must be strings of 1 to {_MAX_STOP_LENGTH} characters")
        if has_surrogate(stop):
            raise body.error("stop", HALF_PAIR)
    if constraint is not None and constraint.is_json:
        raise body.error("stop", "would cut the JSON of the answer, which must be complete; leave it out")
    return tuple(cast("list[str]", stops))


def _prompts(body: Fields) -> tuple[AnyPrompt, ...]:
    """Read one prompt, or an array of prompts: each is a text or an array of tokens."""
    value = body.raw("prompt")
    if isinstance(value, str):
        return (body.text("prompt") or "",)
    items = body.items("prompt", _MAX_PROMPT_TOKENS)
    if not items:
        raise body.error("prompt", "is required: a text, an array of tokens, or an array of either")
    if isinstance(items[0], int):
        return (_token_ids(body, items),)
    if len(items) > _MAX_PROMPTS:
        raise body.error("prompt", f"must have at most {_MAX_PROMPTS} prompts")
    return tuple(
        _token_ids(body, item) if isinstance(item, list) else _prompt_text(body, item) for item in items
    )


def _prompt_text(body: Fields, item: object) -> str:
    if not isinstance(item, str):
        raise body.error("prompt", "must have texts or arrays of tokens as its items")
    return Fields({"prompt": item}, body.place).text("prompt") or ""


def _token_ids(body: Fields, items: list[object]) -> tuple[int, ...]:
    if not all(isinstance(item, int) and not isinstance(item, bool) and item >= 0 for item in items):
        raise body.error("prompt", "must have only integers from 0 as tokens")
    return tuple(cast("list[int]", items))
