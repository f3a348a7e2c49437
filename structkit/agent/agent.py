"""Agents: a model, the functions that it may call, and the type of what it ends with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import Generic, cast, overload

from typing_extensions import TypeForm, TypeVar, Unpack

from structkit.agent.formats.detect import FormatName, detect_format
from structkit.agent.run.budget import UsageLimits
from structkit.agent.run.config import AgentConfig
from structkit.agent.run.driver import drive_async, drive_events, drive_events_async, drive_sync
from structkit.agent.run.run import Decisions, Run
from structkit.agent.run.state import AgentResult, RunState, RunSuspended
from structkit.agent.run.validate import check_history, check_state
from structkit.agent.stream import AgentStream, AsyncAgentStream
from structkit.agent.tools.context import Context
from structkit.agent.tools.prepared import prepare_tools
from structkit.agent.tools.tool import AnyTool, Tool, tool
from structkit.agent.tools.toolset import Toolset
from structkit.errors import AgentError, ToolError
from structkit.generate.input.options import Options, Settings
from structkit.generate.run.prefix_cache import PrefixCache
from structkit.generate.sample.sample import check_int
from structkit.messages import Message, User
from structkit.models.protocols import LogitsModel
from structkit.targets.targets import AnyTarget, TextTarget, read_target

__all__ = ["Agent"]

NO_LIMITS = UsageLimits()

_MAX_PARALLEL_CALLS = 128
"""Calls in a step: each may have a thread of its own, and the language of several is a node inside a node."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
D = TypeVar("D", default=object)
D_contra = TypeVar("D_contra", contravariant=True, default=object)


class AgentOptions(Options, total=False):
    """The keyword arguments of an agent, besides those that say its types."""

    instructions: str | None
    max_steps: int
    max_parallel_calls: int
    allow_text: bool
    format: FormatName


class Agent(Generic[T_co, D_contra]):
    """A model that may call functions, and ends with a value of a type.

    In each step the model writes either a call, `{"name": "f", "arguments": {"a": 1}}`, or the result, as JSON. Both
    are decoded under one guide: no call is malformed, none is of a tool that is not there or has reached its limit, and
    in the last step only the result remains. So a run ends in a value of the type, within `max_steps` steps. A call's
    output, or its error, is told to the model, and the next step follows.

    An agent is a value: runs share nothing but compiled guides and what the model has read, and may go on at once in
    several threads. The KV cache of a run is kept for one that goes on with its `messages`, as long as there is the
    agent, and up to `Limits.kept_tokens`.

    >>> from structkit.testing import ScriptedModel
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> model = ScriptedModel(['{"name": "add", "arguments": {"a": 2, "b": 3}}', '"It is 5."'])
    >>> result = Agent(model, tools=[add], output_type=str).run("What is 2 + 3?")
    >>> result.value, [(call.name, call.arguments, call.output) for call in result.calls]
    ('It is 5.', [('add', {'a': 2, 'b': 3}, 5)])
    """

    @overload
    def __init__(
        self: Agent[str, D],
        model: LogitsModel,
        tools: Iterable[AnyTool | Toolset] = (),
        *,
        deps_type: TypeForm[D] = object,  # type: ignore[assignment]
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[T, D],
        model: LogitsModel,
        tools: Iterable[AnyTool | Toolset] = (),
        *,
        output_type: TypeForm[T],
        deps_type: TypeForm[D] = object,  # type: ignore[assignment]
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[T, D],
        model: LogitsModel,
        tools: Iterable[AnyTool | Toolset] = (),
        *,
        output_type: TextTarget[T],
        deps_type: TypeForm[D] = object,  # type: ignore[assignment]
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[object, D],
        model: LogitsModel,
        tools: Iterable[AnyTool | Toolset] = (),
        *,
        output_type: Mapping[str, object],
        deps_type: TypeForm[D] = object,  # type: ignore[assignment]
        **options: Unpack[AgentOptions],
    ) -> None: ...
    def __init__(
        self,
        model: LogitsModel,
        tools: Iterable[AnyTool | Toolset] = (),
        *,
        output_type: AnyTarget = str,
        deps_type: object = object,
        instructions: str | None = None,
        max_steps: int = 8,
        max_parallel_calls: int = 1,
        allow_text: bool = False,
        format: FormatName = "auto",
        **options: Unpack[Options],
    ) -> None:
        """Read the tools and the result, and compile the language of the steps.

        Args:
            model: A model, such as `structkit.load()`.
            tools: Functions and methods, sync or async, and toolsets: signature and docstring say what the model is
                told. What must be said otherwise is said with `structkit.tool`.
            output_type: What a run ends with: anything that `structkit.extract` takes.
            deps_type: The type of the `deps` that runs are given, so that type checkers know it, and that tools which
                want others are refused.
            instructions: A system message for every run.
            max_steps: How often the model is asked at most, the result included.
            max_parallel_calls: How many calls the model may write in one step, where the format has several; they
                are made at
                once, and their outputs are told in order.
            allow_text: Whether the model may say something before a call, and before a result that it gives although
                it could
                call: free text of up to 16 lines, without an empty one. It is kept in the messages. The value of a
                run is the result all the same.
            format: How calls are written. `"auto"`: as the model's chat template writes them, or as JSON where it
                writes none that structkit knows. `"json"`: `{"name": "f", "arguments": {...}}`, told as plain turns.
                `"hermes"`: the same between `<tool_call>` and `</tool_call>`. `"llama"`: `{"name": "f",
                "parameters": {...}}`, one in a step. `"mistral"`: after `[TOOL_CALLS]`. `"pythonic"`: `[f(a=1)]`.
            **options: Those of `structkit.extract`. `max_tokens` is for all steps of a run together, with what was
                taken back: calls always leave the room that the result needs. `timeout` is for a run, too: after so
                many seconds only the result remains, and is brought to its end. Calls are not waited for any longer,
                so those of functions that are not async are made in threads of their own.

        Raises:
            SchemaError: A tool's parameters, or the result, cannot be written; the error names tool and parameter.
            AgentError: Two tools have one name, something is no tool or wants other `deps`, or the result could be
                taken for a call.
            ValueError: A number is out of its range, or there is no such format.
            TypeError: An option is not what it should be.
        """
        if not hasattr(model, "session"):
            raise TypeError(f"the model is such as structkit.load() gives, not {model!r:.60}")
        _check_count("max_steps", max_steps, None)
        _check_count("max_parallel_calls", max_parallel_calls, _MAX_PARALLEL_CALLS)
        if not isinstance(instructions, (str, NoneType)):
            raise TypeError(f"instructions are a text, not {instructions!r:.60}")
        if not isinstance(allow_text, bool):
            raise TypeError(f"text must be True or False, not {allow_text!r:.60}")
        if "system" in options:
            raise TypeError("an agent's system message is given as instructions=...")
        settings = Settings.read("Agent", options)
        writing = settings.compile_settings
        ready = prepare_tools(Toolset(tools).tools, writing)
        for each in ready:
            each.check_deps_type(deps_type)
        self._format: FormatName = format
        chosen, native = detect_format(
            format, model, writing.whitespace, tools=bool(ready), allow_text=allow_text
        )
        self._config = AgentConfig(
            model=model,
            tools=ready,
            output=read_target(output_type, policy=writing.json_style, limits=writing.limits),
            format=chosen,
            uses_chat_template=native,
            instructions=instructions,
            max_steps=max_steps,
            max_parallel_calls=max_parallel_calls,
            allow_text=allow_text,
            settings=settings,
            deps_type=deps_type,
            prefix_cache=PrefixCache(writing.limits.prefix_cache_tokens),
        )
        self._config.check()

    @property
    def tools(self) -> tuple[Tool[..., object], ...]:
        """The tools."""
        return tuple(each.tool for each in self._config.tools)

    def run(
        self,
        prompt: str,
        *,
        messages: Sequence[Message] = (),
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AgentResult[T_co]:
        """Have the model call functions until it gives the result.

        Args:
            prompt: What the user says.
            messages: Those of an earlier run, to go on with its conversation.
            deps: What tools with a `structkit.Context` are given.
            usage_limits: What this run may take, where that is less than the agent allows.

        Raises:
            RunSuspended: A call needs approval; its `state` goes on with `resume`.
            OutputValidationError: Validators refused the result and those written anew.
            BudgetTooSmall: `max_tokens`, or the context, is smaller than the shortest result.
            AgentError: A tool returned what cannot be written as JSON.
            StructkitError: See `structkit.generate`.
            TypeError: The prompt is no text, the messages are none of an agent, or `deps` is not what a tool takes.
            Exception: One that a tool declares as fatal.
        """
        return self._typed(drive_sync(self._start(prompt, messages, deps, usage_limits), self._config.model))

    async def arun(
        self,
        prompt: str,
        *,
        messages: Sequence[Message] = (),
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AgentResult[T_co]:
        """`run` for async programs: the model, and tools that are not async, work in threads."""
        return self._typed(
            await drive_async(self._start(prompt, messages, deps, usage_limits), self._config.model)
        )

    def stream(
        self,
        prompt: str,
        *,
        messages: Sequence[Message] = (),
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AgentStream[T_co]:
        """`run`, told while it happens.

        Returns:
            An iterator of `ThinkingEvent`, `PreambleDelta`, `ToolCallStart`, `ToolCallDelta`, `ToolResult`,
            `PartialOutput`,
            `StepRetracted` and at last `RunEnd`. What is wrong with the run is raised there.

        >>> from structkit.testing import ScriptedModel
        >>> def add(a: int, b: int) -> int:
        ...     return a + b
        >>> model = ScriptedModel(['{"name": "add", "arguments": {"a": 2, "b": 3}}', '"It is 5."'])
        >>> for event in Agent(model, tools=[add], output_type=str).stream("2 + 3?"):
        ...     print(type(event).__name__)
        ToolCallStart
        ToolCallDelta
        ...
        ToolResult
        PartialOutput
        ...
        RunEnd
        """
        return AgentStream(
            drive_events(self._start(prompt, messages, deps, usage_limits), self._config.model)
        )

    def astream(
        self,
        prompt: str,
        *,
        messages: Sequence[Message] = (),
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AsyncAgentStream[T_co]:
        """`stream` for async programs."""
        return AsyncAgentStream(
            drive_events_async(self._start(prompt, messages, deps, usage_limits), self._config.model)
        )

    def resume(
        self,
        state: RunState,
        *,
        approvals: bool | Decisions = False,
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AgentResult[T_co]:
        """Go on with a run that was paused, in this process or another.

        Args:
            state: That of `RunSuspended`, or of `RunState.loads`.
            approvals: For each call that waits, by its id, whether it may be made; a text says why not, and the model
                is told. `True` or `False` for all of them. A call that nothing is said of waits on.
            deps: As for `run`.
            usage_limits: As for `run`; they are for the whole run, and are not kept in its state.

        Raises:
            AgentError: The state is that of an agent with other tools, another result or tighter limits, or no run
                leaves it behind, or a call that is decided about does not wait.
            BudgetTooSmall: The tokens of the run that are left do not suffice for the shortest result.
            TypeError: The state is none, or a decision is neither a bool nor a text.
            Exception: See `run`.
        """
        run, decisions = self._resume(state, approvals, deps, usage_limits)
        return self._typed(drive_sync(run, self._config.model, decisions))

    async def aresume(
        self,
        state: RunState,
        *,
        approvals: bool | Decisions = False,
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AgentResult[T_co]:
        """`resume` for async programs."""
        run, decisions = self._resume(state, approvals, deps, usage_limits)
        return self._typed(await drive_async(run, self._config.model, decisions))

    def with_model(self, model: LogitsModel) -> Agent[T_co, D_contra]:
        """The same agent with another model, such as a scripted one in a test.

        With `format="auto"` calls are written as that model's chat template has them.

        >>> from structkit.testing import RandomModel, ScriptedModel
        >>> agent = Agent(RandomModel())
        >>> agent.with_model(ScriptedModel(['"Hello."'])).run("Hi").value
        'Hello.'
        """
        made: Agent[T_co, D_contra] = Agent.__new__(Agent)
        setup = self._config
        made._format = self._format
        writing = setup.settings.compile_settings
        chosen, native = detect_format(
            self._format, model, writing.whitespace, tools=bool(setup.tools), allow_text=setup.allow_text
        )
        shelf = PrefixCache(writing.limits.prefix_cache_tokens)
        made._config = replace(
            setup, model=model, format=chosen, uses_chat_template=native, prefix_cache=shelf
        )
        made._config.check()
        return made

    def as_tool(self, name: str, description: str | None = None) -> Tool[..., T_co]:
        """This agent as a tool of another one: the model writes its prompt, and is told its value.

        It is given the dependencies of the run that calls it, and none of its conversation. What it takes is part of
        the usage of that run, and it has no more tokens and seconds than are left there.

        Args:
            name: What the other model calls it by.
            description: What the other model is told of it; by default its instructions.

        Raises:
            AgentError: One of its tools requires approval, for which nobody could be asked.
        """
        asking = [each.name for each in self._config.tools if each.tool.requires_approval]
        if asking:
            raise AgentError(
                f"{asking[0]} requires approval, so an agent that has it cannot be a tool", place=name
            )

        def ask(context: Context[object], prompt: str) -> T_co:
            allowed = UsageLimits(max_tokens=context.tokens_left, timeout=context.seconds_left)
            run = self._start(prompt, (), context.deps, allowed)
            try:
                return self._typed(drive_sync(run, self._config.model, cancelled=context.cancelled)).value
            except RunSuspended as paused:
                reason = paused.state.pending[0].reason
                raise ToolError(f"it paused ({reason}), and nobody can be asked there") from paused
            finally:
                context.spend(run.usage)

        ask.__annotations__["context"] = Context[self._config.expected_deps_type]  # type: ignore[name-defined]
        return tool(ask, name=name, description=description or self._config.instructions or "")

    def __repr__(self) -> str:
        names = ", ".join(tool.name for tool in self.tools)
        return f"<Agent {self._config.model.name}: {names} -> {self._config.output.name}>"

    def _start(
        self,
        prompt: str,
        messages: Sequence[Message],
        deps: object,
        usage_limits: UsageLimits,
    ) -> Run:
        if not isinstance(prompt, str):
            raise TypeError(
                f"the prompt of an agent is a text, not {prompt!r:.60}; a conversation goes into messages="
            )
        history = check_history(messages)
        state = RunState(
            agent_fingerprint=self._config.fingerprint,
            messages=(*history, User(content=prompt)),
            pending=(),
        )
        return Run(self._config, state, deps, usage_limits)

    def _resume(
        self, state: RunState, approvals: bool | Decisions, deps: object, usage_limits: UsageLimits
    ) -> tuple[Run, Decisions]:
        if not isinstance(state, RunState):
            raise TypeError(
                f"resume takes the state of a RunSuspended, or of RunState.loads, not {state!r:.60}"
            )
        state = check_state(state, self._config, usage_limits)
        waiting = [each.id for each in state.pending]
        decisions = dict.fromkeys(waiting, approvals) if isinstance(approvals, bool) else approvals
        if not isinstance(decisions, Mapping):
            raise TypeError(
                f"approvals is True, False, or says so of each call by its id, not {decisions!r:.60}"
            )
        for each, decision in decisions.items():
            if not isinstance(decision, (bool, str)):
                raise TypeError(
                    f"the approval of {each} is True, False, or a text that says why not, not {decision!r:.60}"
                )
        strange = next((each for each in decisions if each not in waiting), None)
        if strange is not None or not waiting:
            raise AgentError(
                f"no call {strange or ''} waits in this state; those that do are {', '.join(waiting) or 'none'}",
                place="approvals",
            )
        return Run(self._config, state, deps, usage_limits), decisions

    def _typed(self, result: AgentResult[object]) -> AgentResult[T_co]:
        return cast("AgentResult[T_co]", result)


def _check_count(name: str, count: int | None, maximum: int | None) -> None:
    if count is None:
        raise TypeError(f"{name} must be a whole number, not None")
    check_int(name, count, 1)
    if maximum is not None and count > maximum:
        raise ValueError(f"{name} must be at most {maximum}, not {count}")
