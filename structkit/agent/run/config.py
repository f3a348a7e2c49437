"""Configuration of an agent: its model, tools and result, and the targets and guides of its steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias, cast

from structkit.agent.formats.base import Format
from structkit.agent.formats.detect import (
    FormatName,
    StepNotation,
    choose_notation,
    function_schema,
    vocabulary_of,
)
from structkit.agent.formats.output import OutputFunction
from structkit.agent.formats.step import AvailableTool, StepTarget
from structkit.agent.formats.text import TextOutput
from structkit.agent.prompt.callback import Callback
from structkit.agent.prompt.header import PromptHeader
from structkit.agent.prompt.history import HistoryOptions
from structkit.agent.prompt.instructions import Instructions
from structkit.agent.tools.prepared import PreparedTool, matches_type, type_name
from structkit.errors import AgentError
from structkit.generate.input.arguments import check_model
from structkit.generate.input.examples import render_examples
from structkit.generate.input.guide_cache import GUIDE_CACHE, CompiledTarget
from structkit.generate.input.settings import Settings
from structkit.generate.schedule.prefix_cache import PrefixCache
from structkit.lru_cache import LruCache
from structkit.messages import CallPart, Calls, Message, Output, User
from structkit.models.protocols import LogitsModel, SupportsMessages
from structkit.models.protocols import Message as Turn
from structkit.models.text.protocol import AnyModel, TextModel
from structkit.targets.targets import Target
from structkit.vocabulary.control_tokens import to_bytes
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["MIN_RESULT_TOKENS", "NO_MORE_CALLS", "AgentConfig", "OnError", "OnLimit"]

OnLimit: TypeAlias = Literal["raise", "answer"]
OnError: TypeAlias = Literal["raise", "report"]

NO_MORE_CALLS = "No function can be called any more; give the answer."
"""The note before the step that can only generate the result."""

MIN_RESULT_TOKENS = 24
"""Minimum number of tokens of an output in the prompt, even if the context is almost full."""

_MARGIN = 8
"""Safety margin in tokens: a chat template can render a message longer than the measured one."""

_ROLE_PREFIXES = {"system": "", "user": "User: ", "assistant": "Assistant: "}
"""Prefixes of messages for models without a chat template."""

_MAX_TARGETS = 64
"""Maximum number of cached step targets, and of cached descriptions of tools."""


@dataclass(frozen=True, slots=True)
class _Description:
    """The description of the tools and the output: as text, and as function schemas for the chat template."""

    text: str
    function_schemas: tuple[Mapping[str, object], ...]


@dataclass(frozen=True, kw_only=True)
class AgentConfig:
    """The configuration that the runs of an agent share.

    Attributes:
        model: The model.
        name: The name of the agent.
        tools: The tools.
        notation: How steps are written: the format of calls and the target of the output.
        output_functions: The functions in the output type that a run calls.
        format_name: The requested format of calls.
        requested_text: The requested `allow_text`.
        instructions: The instructions: texts, and functions that a run calls.
        history: How a run processes messages.
        max_steps: Maximum number of steps in a run, including the last.
        max_parallel_calls: Maximum number of calls in a step.
        on_limit: What a run does at a limit: raise, or generate the result.
        errors: What a run does with exceptions of tools: raise them, or report them to the model.
        settings: Generation settings; its token limit and timeout apply to a complete run.
        deps_type: The type of the dependencies; `object` if undeclared.
        prefix_cache: The prefix cache of finished runs.
    """

    model: AnyModel
    name: str | None
    tools: tuple[PreparedTool, ...]
    notation: StepNotation
    output_functions: tuple[OutputFunction, ...]
    format_name: FormatName
    requested_text: bool
    instructions: Instructions
    history: HistoryOptions
    max_steps: int
    max_parallel_calls: int
    on_limit: OnLimit
    errors: OnError
    settings: Settings
    deps_type: object
    prefix_cache: PrefixCache
    _targets: LruCache[object, StepTarget] = field(
        init=False, default_factory=lambda: LruCache(_MAX_TARGETS), repr=False
    )
    _descriptions: LruCache[object, _Description] = field(
        init=False, default_factory=lambda: LruCache(_MAX_TARGETS), repr=False
    )

    @property
    def label(self) -> str:
        """The agent in log messages."""
        return "agent" if self.name is None else f"agent {self.name}"

    @property
    def logits_model(self) -> LogitsModel:
        """The model, which returns logits."""
        return cast("LogitsModel", self.model)

    @property
    def context_length(self) -> int | None:
        """Maximum number of tokens of a prompt and its answer; `None` if it is not known, as of a text model."""
        return None if isinstance(self.model, TextModel) else self.model.context_length

    @property
    def format(self) -> Format:
        """The format of calls."""
        return self.notation.format

    @property
    def output(self) -> Target[object]:
        """The target of the output."""
        return self.notation.output

    def with_model(self, model: AnyModel) -> AgentConfig:
        """Return the configuration with another model, checked."""
        check_model(model)
        return self._with(model, self.tools)

    def with_tools(self, tools: tuple[PreparedTool, ...]) -> AgentConfig:
        """Return the configuration with other tools, checked."""
        for each in tools:
            each.check_deps_type(self.deps_type)
        return self._with(self.model, tools)

    def with_instructions(self, instructions: Instructions) -> AgentConfig:
        """Return the configuration with other instructions; it shares the targets, which do not depend on them."""
        made = replace(self, instructions=instructions)
        object.__setattr__(made, "_targets", self._targets)
        object.__setattr__(made, "_descriptions", self._descriptions)
        return made

    def _with(self, model: AnyModel, tools: tuple[PreparedTool, ...]) -> AgentConfig:
        settings = self.settings.compile_settings
        notation = choose_notation(
            self.format_name,
            model,
            [each.name for each in tools],
            self.output,
            settings.whitespace,
            allow_text=self.requested_text,
        )
        cache = PrefixCache(settings.limits.prefix_cache_tokens)
        made = replace(self, model=model, tools=tools, notation=notation, prefix_cache=cache)
        made.check()
        return made

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the model with the control tokens of the format."""
        return vocabulary_of(self.model, self.format)

    @property
    def max_calls(self) -> int:
        """Maximum number of calls in a step: 1 if the format cannot represent more."""
        return self.max_parallel_calls if self.format.multiple_calls else 1

    def step_target(self, tools: Sequence[AvailableTool], remaining_calls: int | None = None) -> StepTarget:
        """Return the target of a step, cached by its tools and the maximum number of its calls."""
        max_calls = self.max_calls if remaining_calls is None else min(self.max_calls, remaining_calls)
        key = (max_calls, *((offer.tool.name, offer.remaining_calls) for offer in tools))
        target = self._targets.get(key)
        if target is None:
            target = StepTarget(
                tuple(tools),
                self.output,
                self.format,
                max_calls,
                allow_text=self.notation.allow_text and bool(tools),
            )
            self._targets.put(key, target)
        return target

    def compile(self, target: StepTarget) -> CompiledTarget:
        """Compile the target of a step; guides are cached."""
        return GUIDE_CACHE.get(target, self.vocabulary, self.settings.compile_settings, self.settings.source)

    def check_examples(self) -> None:
        """Check that a step can give the answers of the examples.

        Raises:
            ValueError: A step cannot give an answer.
        """
        target = self.step_target([AvailableTool(tool, tool.tool.max_calls) for tool in self.tools])
        settings = self.settings
        render_examples(
            settings.examples, target, settings.compile_settings, settings.source, settings.context
        )

    @cached_property
    def final_target(self) -> StepTarget:
        """The target of the last step."""
        return self.step_target(())

    @cached_property
    def min_output_tokens(self) -> int:
        """Minimum number of tokens of a result."""
        return self.compile(self.final_target).guide.cursor().min_tokens_to_end()

    @cached_property
    def max_token_length(self) -> int:
        """Maximum number of characters of a token."""
        return max(1, max(map(len, self.vocabulary.tokens), default=1))

    @cached_property
    def step_overhead(self) -> int:
        """Tokens that a step adds to the conversation, with minimal outputs and without its calls."""
        asked: tuple[Message, ...] = (User(content="x"),)
        calls = tuple(
            CallPart(id=str(n), name=self.tools[0].name, arguments="{}") for n in range(self.max_calls)
        )
        outputs = (
            Output(id=call.id, name=call.name, content="", failed=True, note=NO_MORE_CALLS) for call in calls
        )
        before = len(self.logits_model.encode(self.turns(asked)))
        after = len(self.logits_model.encode(self.turns((*asked, Calls(calls=calls), *outputs))))
        return after - before + _MARGIN + MIN_RESULT_TOKENS * self.max_calls

    @cached_property
    def header(self) -> PromptHeader:
        """The header that describes all tools, with the static instructions."""
        return PromptHeader(self.instructions.static, self.tools)

    def turns(self, messages: Sequence[Message], header: PromptHeader | None = None) -> Sequence[Turn] | str:
        """Return a conversation as chat messages, or as one text for models without a chat template.

        Without a `header`, the conversation describes all tools.
        """
        header = self.header if header is None else header
        described = self._describe(header.tools)
        if self.notation.uses_chat_template:
            return self.format.conversation(
                messages, described.text, header.instructions, described.function_schemas
            )
        turns = self.format.turns(messages, described.text, header.instructions)
        if self._takes_messages:
            return turns
        return "\n\n".join(
            [*(_ROLE_PREFIXES[turn["role"]] + turn["content"] for turn in turns), "Assistant:"]
        )

    @property
    def _takes_messages(self) -> bool:
        model = self.model
        if isinstance(model, TextModel):
            return model.capabilities.takes_messages
        return not isinstance(model, SupportsMessages) or model.takes_messages

    def _describe(self, tools: tuple[PreparedTool, ...]) -> _Description:
        """Return the description of tools and of the output in the prompt, cached by the tools."""
        if not self.settings.include_schema:
            return _Description("", ())
        key = tuple(tool.name for tool in tools)
        described = self._descriptions.get(key)
        if described is None:
            described = self._new_description(tools)
            self._descriptions.put(key, described)
        return described

    def _new_description(self, tools: tuple[PreparedTool, ...]) -> _Description:
        describe = self.format.describe_output if self.notation.uses_chat_template else self.format.describe
        allow_text = self.notation.allow_text and not isinstance(self.output, TextOutput)
        text = describe(tools, self.output, self.max_calls, allow_text=allow_text)
        return _Description(
            text, tuple(map(function_schema, tools)) if self.notation.uses_chat_template else ()
        )

    @property
    def expected_deps_type(self) -> object:
        """The declared type of the dependencies, or else the only type that tools and instructions expect."""
        wanted = {each.expected_deps_type for each in self._functions}
        wanted = wanted.union(each.deps_type for each in self._callbacks) - {object}
        return wanted.pop() if self.deps_type is object and len(wanted) == 1 else self.deps_type

    def validation_context(self, deps: object) -> object:
        """Return the `context` of `pydantic.ValidationInfo` in validators of arguments and of the output."""
        return deps if self.settings.context is None else self.settings.context

    def check_deps(self, deps: object) -> None:
        """Check the type of dependencies against `deps_type` and the tools.

        Raises:
            TypeError: The dependencies have another type.
        """
        if not matches_type(deps, self.deps_type):
            raise TypeError(
                f"the agent has deps_type={type_name(self.deps_type)}, and the run was given {deps!r:.60}; "
                f"pass deps=... of type {type_name(self.deps_type)}"
            )
        for function in self._functions:
            function.check_deps(deps)
        for callback in self._callbacks:
            callback.check_deps(deps)

    @property
    def _callbacks(self) -> tuple[Callback, ...]:
        return (*self.instructions.functions, *self.history.functions)

    @property
    def _functions(self) -> tuple[PreparedTool, ...]:
        return (*self.tools, *(each.tool for each in self.output_functions))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the tools and the result, equal in every process."""
        described = [[tool.name, tool.target.json_schema()] for tool in self.tools] + [
            self.output.json_schema()
        ]
        return hashlib.sha256(json.dumps(described, sort_keys=True, default=repr).encode()).hexdigest()[:16]

    def check(self) -> None:
        """Compile the targets of the first and last step, and check that a result is never ambiguous with a call.

        Raises:
            AgentError: The text of a result can start like a call.
            StructkitError: See `structkit.compile`.
        """
        reader = self.compile(self.final_target).guide.reader
        if not self.tools:
            return
        if self.notation.allow_text and not self.output.is_json and not isinstance(self.output, TextOutput):
            raise AgentError(
                f"text before calls does not differ from an output of {self.output.name}; omit allow_text=True, or "
                "use an output type that is written as JSON",
                place="output_type",
            )
        for tool in self.tools:
            for before in self.format.start_delimiters(multiple=self.max_calls > 1):
                call_start = to_bytes(before + self.format.call_prefix(tool.name))
                frames, _ = reader.read(reader.automaton.start_frames(), b"", call_start)
                if frames:
                    raise AgentError(
                        f"an output of {self.output.name} can be the text of a call of {tool.name}; write "
                        f"output_type=answer, with `def answer(value: {self.output.name}): return value`, or pass "
                        "format='hermes', in which a delimiter starts a call, or rename the tool or the fields of the "
                        "output type",
                        place="output_type",
                    )
        if self.max_steps > 1:
            self.compile(
                self.step_target([offer for tool in self.tools if (offer := self.available_tool(tool, 0))])
            )

    def available_tool(self, tool: PreparedTool, calls: int) -> AvailableTool | None:
        """Return a tool after a number of calls as available in a step; `None` if no calls remain."""
        most = tool.tool.max_calls
        if most is None:
            return AvailableTool(tool)
        left = most - calls
        return None if left <= 0 else AvailableTool(tool, left if left < self.max_calls else None)
