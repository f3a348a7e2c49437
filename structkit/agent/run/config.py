"""What an agent is made of: its model, tools and result, and the guides of the steps that it may make."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from structkit.agent.formats.base import Format
from structkit.agent.formats.detect import function_of, vocabulary_of
from structkit.agent.run.step import Offer, StepTarget
from structkit.agent.tools.prepared import Ready, is_of, name_of
from structkit.errors import AgentError
from structkit.generate.input.guide_cache import GUIDES, Compiled
from structkit.generate.input.options import Settings
from structkit.generate.run.prefix_cache import Shelf
from structkit.lru_cache import LruCache
from structkit.messages import CallPart, Calls, Message, Output, User
from structkit.models.protocols import Conversing, LogitsModel
from structkit.models.protocols import Message as Turn
from structkit.targets.targets import Target
from structkit.vocabulary.control_tokens import to_bytes
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["NO_MORE", "Setup"]

NO_MORE = "No function can be called any more; give the answer."
"""What the model is told before the step in which only the result remains."""

LEAST_OUTPUT = 24
"""Tokens of an output that are always shown to the model, however little room its context has."""

_MARGIN = 8
"""Tokens by which a chat template may write a turn longer than the one that was measured."""

_SPOKEN = {"system": "", "user": "User: ", "assistant": "Assistant: "}
"""What stands before a turn where there is no chat template."""

_KEPT = 64
"""Sets of available tools whose language is kept."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """An agent, as its runs see it.

    Attributes:
        model: The model.
        tools: The tools.
        result: What a run ends in.
        format: How calls are written.
        native: Whether the model's chat template writes them so, and renders tools and outputs.
        instructions: What the model is told before all.
        max_steps: Steps in a run, the last included.
        parallel: Calls in a step.
        text: Whether free text may stand before calls, and before the result where a call could stand.
        settings: How values are written; its tokens and seconds are those of a whole run.
        deps_type: The type of the dependencies; `object` if nothing is said of them.
        shelf: What the model has read in runs that ended.
    """

    model: LogitsModel
    tools: tuple[Ready, ...]
    result: Target[object]
    format: Format
    native: bool
    instructions: str | None
    max_steps: int
    parallel: int
    text: bool
    settings: Settings
    deps_type: object
    shelf: Shelf
    _targets: LruCache[object, StepTarget] = field(
        init=False, default_factory=lambda: LruCache(_KEPT), repr=False
    )

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokens of the model, and the marks of the format."""
        return vocabulary_of(self.model, self.format)

    @property
    def most(self) -> int:
        """Calls in a step, as many as the format can write."""
        return self.parallel if self.format.several else 1

    def target(self, offers: Sequence[Offer]) -> StepTarget:
        """The language of a step; that of a set of tools is made once."""
        key = tuple((offer.ready.name, offer.left) for offer in offers)
        target = self._targets.get(key)
        if target is None:
            target = StepTarget(
                tuple(offers), self.result, self.format, self.most, text=self.text and bool(offers)
            )
            self._targets.put(key, target)
        return target

    def compiled(self, target: StepTarget) -> Compiled:
        """The guide of a step."""
        return GUIDES.get(target, self.vocabulary, self.settings.writing, self.settings.source)

    @cached_property
    def last(self) -> StepTarget:
        """The language of the last step."""
        return self.target(())

    @cached_property
    def need(self) -> int:
        """The fewest tokens of a result."""
        return self.compiled(self.last).guide.cursor().tokens_to_end()

    @cached_property
    def longest(self) -> int:
        """The most characters that one token can stand for."""
        return max(1, max(map(len, self.vocabulary.tokens), default=1))

    @cached_property
    def reserve(self) -> int:
        """The tokens that one more step adds to the conversation, with little of its outputs and without its calls."""
        asked: tuple[Message, ...] = (User(content="x"),)
        calls = tuple(CallPart(id=str(n), name=self.tools[0].name, arguments="{}") for n in range(self.most))
        told = (Output(id=call.id, name=call.name, content="", failed=True, note=NO_MORE) for call in calls)
        before = len(self.model.encode(self.turns(asked)))
        after = len(self.model.encode(self.turns((*asked, Calls(calls=calls), *told))))
        return after - before + _MARGIN + LEAST_OUTPUT * self.most

    @cached_property
    def description(self) -> str:
        """What the model is told of the tools and the result."""
        if not self.settings.describe:
            return ""
        if self.native:
            return self.format.described_result(self.result, self.most, text=self.text)
        return self.format.described(self.tools, self.result, self.most, text=self.text)

    @cached_property
    def functions(self) -> tuple[Mapping[str, object], ...]:
        """The tools as the chat template is told them."""
        return tuple(map(function_of, self.tools)) if self.settings.describe else ()

    def turns(self, messages: Sequence[Message]) -> Sequence[Turn] | str:
        """A conversation as the model is shown it; as one text for models without a chat template."""
        if self.native:
            return self.format.conversation(messages, self.description, self.instructions, self.functions)
        turns = self.format.turns(messages, self.description, self.instructions)
        if not isinstance(self.model, Conversing) or self.model.takes_messages:
            return turns
        return "\n\n".join([*(_SPOKEN[turn["role"]] + turn["content"] for turn in turns), "Assistant:"])

    @property
    def deps_wanted(self) -> object:
        """The type of the dependencies, or what the only tool that wants some takes."""
        wanted = {each.deps_wanted for each in self.tools} - {object}
        return wanted.pop() if self.deps_type is object and len(wanted) == 1 else self.deps_type

    def check_deps(self, deps: object) -> None:
        """Refuse dependencies that are not what was said, or what a tool wants.

        Raises:
            TypeError: They are of another type.
        """
        if not is_of(deps, self.deps_type):
            raise TypeError(
                f"the agent was made with deps_type={name_of(self.deps_type)}, and the run was given {deps!r:.60}"
            )
        for tool in self.tools:
            tool.check_deps(deps)

    @cached_property
    def fingerprint(self) -> str:
        """What tells the tools and the result from others, in every process."""
        said = [[tool.name, tool.target.json_schema()] for tool in self.tools] + [self.result.json_schema()]
        return hashlib.sha256(json.dumps(said, sort_keys=True, default=repr).encode()).hexdigest()[:16]

    def check(self) -> None:
        """Compile what can be compiled before a run, and refuse results that could be taken for calls.

        Raises:
            AgentError: The result can be written like a call.
            StructkitError: See `structkit.compile`.
        """
        reader = self.compiled(self.last).guide.reader
        if not self.tools:
            return
        if self.text and not self.result.is_json:
            raise AgentError(
                f"the result {self.result.name} is written as it is, so no one could tell it from free text; leave "
                "out text=True, or take a type, which is written as JSON",
                place="result",
            )
        for tool in self.tools:
            for before in self.format.begins(several=self.most > 1):
                opened = to_bytes(before + self.format.opened(tool.name))
                frames, _ = reader.read(reader.automaton.first(), b"", opened)
                if frames:
                    raise AgentError(
                        f"the result {self.result.name} can be written like a call of {tool.name}, so no one could "
                        f"tell them apart; name the tool or the fields of the result otherwise",
                        place="result",
                    )
        if self.max_steps > 1:
            self.compiled(self.target([offer for tool in self.tools if (offer := self.offer(tool, 0))]))

    def offer(self, tool: Ready, calls: int) -> Offer | None:
        """A tool that was called so often, in a step; `None` if it cannot be called any more."""
        most = tool.tool.max_calls
        if most is None:
            return Offer(tool)
        left = most - calls
        return None if left <= 0 else Offer(tool, left if left < self.most else None)
