"""What an agent is made of: its model, tools and result, and the guides of the steps that it may make."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from structkit.agent.formats.base import Format
from structkit.agent.formats.detect import function_schema, vocabulary_of
from structkit.agent.run.step import AvailableTool, StepTarget
from structkit.agent.tools.prepared import PreparedTool, matches_type, type_name
from structkit.errors import AgentError
from structkit.generate.input.guide_cache import GUIDE_CACHE, CompiledTarget
from structkit.generate.input.options import Settings
from structkit.generate.run.prefix_cache import PrefixCache
from structkit.lru_cache import LruCache
from structkit.messages import CallPart, Calls, Message, Output, User
from structkit.models.protocols import LogitsModel, SupportsMessages
from structkit.models.protocols import Message as Turn
from structkit.targets.targets import Target
from structkit.vocabulary.control_tokens import to_bytes
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["NO_MORE_CALLS", "AgentConfig"]

NO_MORE_CALLS = "No function can be called any more; give the answer."
"""What the model is told before the step in which only the result remains."""

MIN_RESULT_TOKENS = 24
"""Tokens of an output that are always shown to the model, however little room its context has."""

_MARGIN = 8
"""Tokens by which a chat template may write a turn longer than the one that was measured."""

_ROLE_PREFIXES = {"system": "", "user": "User: ", "assistant": "Assistant: "}
"""What stands before a turn where there is no chat template."""

_MAX_TARGETS = 64
"""Sets of available tools whose language is kept."""


@dataclass(frozen=True, kw_only=True)
class AgentConfig:
    """An agent, as its runs see it.

    Attributes:
        model: The model.
        tools: The tools.
        output: What a run ends in.
        format: How calls are written.
        uses_chat_template: Whether the model's chat template writes them so, and renders tools and outputs.
        instructions: What the model is told before all.
        max_steps: Steps in a run, the last included.
        max_parallel_calls: Calls in a step.
        allow_text: Whether free text may stand before calls, and before the result where a call could stand.
        settings: How values are written; its tokens and seconds are those of a whole run.
        deps_type: The type of the dependencies; `object` if nothing is said of them.
        prefix_cache: What the model has read in runs that ended.
    """

    model: LogitsModel
    tools: tuple[PreparedTool, ...]
    output: Target[object]
    format: Format
    uses_chat_template: bool
    instructions: str | None
    max_steps: int
    max_parallel_calls: int
    allow_text: bool
    settings: Settings
    deps_type: object
    prefix_cache: PrefixCache
    _targets: LruCache[object, StepTarget] = field(
        init=False, default_factory=lambda: LruCache(_MAX_TARGETS), repr=False
    )

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokens of the model, and the marks of the format."""
        return vocabulary_of(self.model, self.format)

    @property
    def max_calls(self) -> int:
        """Calls in a step, as many as the format can write."""
        return self.max_parallel_calls if self.format.multiple_calls else 1

    def step_target(self, tools: Sequence[AvailableTool]) -> StepTarget:
        """The language of a step; that of a set of tools is made once."""
        key = tuple((offer.tool.name, offer.remaining_calls) for offer in tools)
        target = self._targets.get(key)
        if target is None:
            target = StepTarget(
                tuple(tools),
                self.output,
                self.format,
                self.max_calls,
                allow_text=self.allow_text and bool(tools),
            )
            self._targets.put(key, target)
        return target

    def compile(self, target: StepTarget) -> CompiledTarget:
        """The guide of a step."""
        return GUIDE_CACHE.get(target, self.vocabulary, self.settings.compile_settings, self.settings.source)

    @cached_property
    def final_target(self) -> StepTarget:
        """The language of the last step."""
        return self.step_target(())

    @cached_property
    def min_output_tokens(self) -> int:
        """The fewest tokens of a result."""
        return self.compile(self.final_target).guide.cursor().min_tokens_to_end()

    @cached_property
    def max_token_length(self) -> int:
        """The most characters that one token can stand for."""
        return max(1, max(map(len, self.vocabulary.tokens), default=1))

    @cached_property
    def step_overhead(self) -> int:
        """The tokens that one more step adds to the conversation, with little of its outputs and without its calls."""
        asked: tuple[Message, ...] = (User(content="x"),)
        calls = tuple(
            CallPart(id=str(n), name=self.tools[0].name, arguments="{}") for n in range(self.max_calls)
        )
        told = (
            Output(id=call.id, name=call.name, content="", failed=True, note=NO_MORE_CALLS) for call in calls
        )
        before = len(self.model.encode(self.turns(asked)))
        after = len(self.model.encode(self.turns((*asked, Calls(calls=calls), *told))))
        return after - before + _MARGIN + MIN_RESULT_TOKENS * self.max_calls

    @cached_property
    def description(self) -> str:
        """What the model is told of the tools and the result."""
        if not self.settings.include_schema:
            return ""
        if self.uses_chat_template:
            return self.format.describe_output(self.output, self.max_calls, allow_text=self.allow_text)
        return self.format.describe(self.tools, self.output, self.max_calls, allow_text=self.allow_text)

    @cached_property
    def function_schemas(self) -> tuple[Mapping[str, object], ...]:
        """The tools as the chat template is told them."""
        return tuple(map(function_schema, self.tools)) if self.settings.include_schema else ()

    def turns(self, messages: Sequence[Message]) -> Sequence[Turn] | str:
        """A conversation as the model is shown it; as one text for models without a chat template."""
        if self.uses_chat_template:
            return self.format.conversation(
                messages, self.description, self.instructions, self.function_schemas
            )
        turns = self.format.turns(messages, self.description, self.instructions)
        if not isinstance(self.model, SupportsMessages) or self.model.takes_messages:
            return turns
        return "\n\n".join(
            [*(_ROLE_PREFIXES[turn["role"]] + turn["content"] for turn in turns), "Assistant:"]
        )

    @property
    def expected_deps_type(self) -> object:
        """The type of the dependencies, or what the only tool that wants some takes."""
        wanted = {each.expected_deps_type for each in self.tools} - {object}
        return wanted.pop() if self.deps_type is object and len(wanted) == 1 else self.deps_type

    def check_deps(self, deps: object) -> None:
        """Refuse dependencies that are not what was said, or what a tool wants.

        Raises:
            TypeError: They are of another type.
        """
        if not matches_type(deps, self.deps_type):
            raise TypeError(
                f"the agent was made with deps_type={type_name(self.deps_type)}, and the run was given {deps!r:.60}"
            )
        for tool in self.tools:
            tool.check_deps(deps)

    @cached_property
    def fingerprint(self) -> str:
        """What tells the tools and the result from others, in every process."""
        said = [[tool.name, tool.target.json_schema()] for tool in self.tools] + [self.output.json_schema()]
        return hashlib.sha256(json.dumps(said, sort_keys=True, default=repr).encode()).hexdigest()[:16]

    def check(self) -> None:
        """Compile what can be compiled before a run, and refuse results that could be taken for calls.

        Raises:
            AgentError: The result can be written like a call.
            StructkitError: See `structkit.compile`.
        """
        reader = self.compile(self.final_target).guide.reader
        if not self.tools:
            return
        if self.allow_text and not self.output.is_json:
            raise AgentError(
                f"the result {self.output.name} is written as it is, so no one could tell it from free text; leave "
                "out text=True, or take a type, which is written as JSON",
                place="result",
            )
        for tool in self.tools:
            for before in self.format.start_delimiters(multiple=self.max_calls > 1):
                opened = to_bytes(before + self.format.call_prefix(tool.name))
                frames, _ = reader.read(reader.automaton.start_frames(), b"", opened)
                if frames:
                    raise AgentError(
                        f"the result {self.output.name} can be written like a call of {tool.name}, so no one could "
                        f"tell them apart; name the tool or the fields of the result otherwise",
                        place="result",
                    )
        if self.max_steps > 1:
            self.compile(
                self.step_target([offer for tool in self.tools if (offer := self.available_tool(tool, 0))])
            )

    def available_tool(self, tool: PreparedTool, calls: int) -> AvailableTool | None:
        """A tool that was called so often, in a step; `None` if it cannot be called any more."""
        most = tool.tool.max_calls
        if most is None:
            return AvailableTool(tool)
        left = most - calls
        return None if left <= 0 else AvailableTool(tool, left if left < self.max_calls else None)
