"""Agents: a model, the functions that it can call, and the type of its result."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, Generic, cast, get_args, overload

from typing_extensions import TypeForm, TypeVar, Unpack

from structkit.agent.formats.detect import FormatName, choose_notation
from structkit.agent.formats.output import read_output
from structkit.agent.nested import drive_nested, nested_limits
from structkit.agent.prompt.history import AnyHistory, HistoryFunction, check_history, read_history_options
from structkit.agent.prompt.instructions import AnyInstructions, read_instructions
from structkit.agent.resumable import Resumable
from structkit.agent.run.budget import UsageLimits
from structkit.agent.run.config import AgentConfig, OnError, OnLimit
from structkit.agent.run.driver import drive_async, drive_events, drive_events_async, drive_sync
from structkit.agent.run.run import Run
from structkit.agent.run.state import AgentResult, RunState
from structkit.agent.run_arguments import names_run_arguments
from structkit.agent.steps import Steps
from structkit.agent.stream import AgentStream, AsyncAgentStream
from structkit.agent.tools.context import Context
from structkit.agent.tools.prepared import prepare_tools
from structkit.agent.tools.tool import AnyTool, Tool, tool
from structkit.agent.tools.toolset import Toolset
from structkit.agent.validate import check_prompt
from structkit.arguments.checks import check_annotation, check_choice, check_count, check_type
from structkit.arguments.names import missing_attribute, names_arguments
from structkit.errors import AgentError
from structkit.generate.input.arguments import check_model
from structkit.generate.input.options import ValidationOptions
from structkit.generate.input.settings import Settings
from structkit.generate.schedule.prefix_cache import PrefixCache
from structkit.messages import Message, User
from structkit.models.text.protocol import AnyModel
from structkit.targets.specs import TextTarget
from structkit.targets.targets import AnyTarget

__all__ = ["Agent"]

NO_LIMITS = UsageLimits()

_MAX_PARALLEL_CALLS = 128
"""Maximum of `max_parallel_calls`: each call can need a thread, and the grammar nests one node per call."""

_OTHER_METHODS = {
    "batch": "asyncio.gather(*(agent.arun(prompt) for prompt in prompts))",
    "clone": ".with_model(model), or another Agent",
    "memory": ".run(...).messages",
    "run_sync": ".run(...)",
    "chat": ".run(...)",
    "ask": ".run(...)",
    "invoke": ".run(...)",
    "ainvoke": ".arun(...)",
    "run_stream": ".astream(...), or .stream(...) in code that is not async",
    "run_stream_events": ".astream(...), or .stream(...) in code that is not async",
    "run_stream_sync": ".stream(...)",
    "iter": ".astream(...), or .stream(...) in code that is not async",
    "tool": "Agent(..., tools=[f])",
    "tool_plain": "Agent(..., tools=[f])",
    "output_validator": "Agent(..., validate=f)",
    "instructions": "Agent(..., instructions=f)",
    "system_prompt": "Agent(..., instructions=f)",
}
"""What other libraries call the methods of an agent."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
D = TypeVar("D", default=object)
D_contra = TypeVar("D_contra", contravariant=True, default=object)


class AgentOptions(ValidationOptions, total=False):
    """The keyword arguments of an agent, except those that determine its types."""

    instructions: AnyInstructions | None
    history: AnyHistory | None
    history_processors: HistoryFunction | Sequence[HistoryFunction]
    name: str | None
    max_steps: int
    max_parallel_calls: int
    allow_text: bool
    on_limit: OnLimit
    errors: OnError
    format: FormatName


@names_arguments
class Agent(Resumable[T_co, D_contra], Steps[T_co, D_contra], Generic[T_co, D_contra]):
    """A model that can call functions before it returns a value of a given type.

    In each step the model generates either a call, `{"name": "f", "arguments": {"a": 1}}`, or the result, as JSON.
    One guide constrains both: calls are well-formed and name an available tool. The output or the error of a call is
    added to the conversation before the next step. A run returns a value of the type, or raises if it reaches a limit
    before the model gives one.

    An agent is immutable. Runs share only compiled guides and the prefix cache, and can run concurrently in multiple
    threads. The agent caches the KV cache of a run, up to `Limits.prefix_cache_tokens`, for a run that continues with
    its `messages`.

    >>> from structkit.testing import ScriptedModel
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> model = ScriptedModel(['{"name": "add", "arguments": {"a": 2, "b": 3}}', "It is 5."])
    >>> result = Agent(model, tools=[add], output_type=str).run("What is 2 + 3?")
    >>> result.value, [(call.name, call.arguments, call.tool_result) for call in result.calls]
    ('It is 5.', [('add', {'a': 2, 'b': 3}, 5)])
    """

    @overload
    def __init__(
        self: Agent[str, D],
        model: AnyModel,
        tools: Iterable[AnyTool | Toolset] = (),
        *,
        deps_type: TypeForm[D] = object,  # type: ignore[assignment]
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[T, D],
        model: AnyModel,
        tools: Iterable[AnyTool | Toolset] = (),
        *,
        output_type: TypeForm[T],
        deps_type: TypeForm[D] = object,  # type: ignore[assignment]
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[T, D],
        model: AnyModel,
        tools: Iterable[AnyTool | Toolset] = (),
        *,
        output_type: TextTarget[T],
        deps_type: TypeForm[D] = object,  # type: ignore[assignment]
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[object, D],
        model: AnyModel,
        tools: Iterable[AnyTool | Toolset] = (),
        *,
        output_type: Mapping[str, object],
        deps_type: TypeForm[D] = object,  # type: ignore[assignment]
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[T, D],
        model: AnyModel,
        tools: Iterable[AnyTool | Toolset] = (),
        *,
        output_type: Callable[..., Coroutine[Any, Any, T]],
        deps_type: TypeForm[D] = object,  # type: ignore[assignment]
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[T, D],
        model: AnyModel,
        tools: Iterable[AnyTool | Toolset] = (),
        *,
        output_type: Callable[..., T],
        deps_type: TypeForm[D] = object,  # type: ignore[assignment]
        **options: Unpack[AgentOptions],
    ) -> None: ...
    def __init__(
        self,
        model: AnyModel,
        tools: Iterable[AnyTool | Toolset] = (),
        *,
        output_type: AnyTarget = str,
        deps_type: object = object,
        instructions: AnyInstructions | None = None,
        history: AnyHistory | None = None,
        history_processors: HistoryFunction | Sequence[HistoryFunction] = (),
        name: str | None = None,
        max_steps: int = 8,
        max_parallel_calls: int = 1,
        allow_text: bool = False,
        on_limit: OnLimit = "raise",
        errors: OnError = "raise",
        format: FormatName = "auto",
        **options: Unpack[ValidationOptions],
    ) -> None:
        """Read the tools and the output type, and compile the grammar of the steps.

        Args:
            model: A model, such as the one that `structkit.load()` returns.
            tools: Functions and methods, sync or async, and toolsets. The signature and the docstring describe a tool
                to the model; `structkit.tool` overrides them.
            output_type: The type of the result: any target of `structkit.extract`. `str` is plain text, alone and in
                a union with models, lists and dicts; in other unions it is a JSON string. If the type is a function,
                or the value belongs to a function in a union, the run calls the function once, with the accepted
                arguments, and its value is what the function returns. Calls inside the value are not executed.
            deps_type: The type of the `deps` of runs, for type checkers. A tool that expects another type raises
                `AgentError`.
            instructions: The system message: a string, a function of the run's `structkit.Context` or without a
                parameter, sync or async, or a list of both. A run calls the functions once, before its first step.
                Strings come before what functions return, so the prompts of all runs have a common prefix.
            history: What the model reads of the `messages` of earlier runs: a function of these messages, or of the
                context and the messages, sync or async, which returns messages; `"cut"` to drop the oldest turns when
                the prompt needs more than half of the context; `"shorten"` to shorten the oldest outputs of tools then,
                also those of the run itself, whenever outputs are added; or a list. A run calls the functions once,
                before its first step, and its own messages stay complete. By default the model reads all, and a run
                raises if they do not fit into the context.
            history_processors: What the model reads of all messages, also those of the run itself: functions like those
                of `history`, which a run calls before each step. They get all messages each time, and the messages of
                the run stay complete.
            name: The name of the agent in logs and spans.
            max_steps: Maximum number of steps, including the one that generates the result.
            max_parallel_calls: Maximum number of calls in one step, if the format supports more than one. They are
                executed concurrently, and their outputs are added in order.
            allow_text: Whether the model may write free text before a call, and before a result in a step that also
                allows calls: up to 16 lines, none of them empty. The messages contain the text; the value of a run
                does not. Plain text output does not need it: calls can follow text in formats with a start delimiter.
            on_limit: What a run does when it reaches `max_steps`, `max_tokens`, `timeout` or another limit before the
                model gives a result. `"raise"`: raise `UsageLimitExceeded`. `"answer"`: the limit forbids further calls
                and shortens the result, which is a valid value that the model did not choose; `finish_reason` and a
                warning of the logger `structkit` say so.
            errors: What a run does with an exception of a tool. `"raise"`: raise it; `run_record` returns what the run
                did before. `"report"`: write its type and message into the conversation, where the model reads them.
                A `ToolError` is always reported. The `reraise` of a tool overrides this option.
            format: The format of calls. `"auto"`: that of the model's chat template, or JSON if structkit does not
                know it. `"json"`: `{"name": "f", "arguments": {...}}`, in plain turns. `"hermes"`: the same between
                `<tool_call>` and `</tool_call>`. `"llama"`: `{"name": "f", "parameters": {...}}`, one per step.
                `"mistral"`: after `[TOOL_CALLS]`. `"pythonic"`: `[f(a=1)]`.
            **options: Those of `structkit.extract` except `system`. `validate` checks the output of a run; its context
                is a `structkit.Context`. `max_tokens` bounds all steps of a run together, including discarded tokens;
                it is 1,024 for each step if unset. `timeout` bounds a run, in seconds. Calls are not awaited longer
                than that, so functions that are not async run in separate threads.

        Raises:
            SchemaError: The type of a parameter or of the result is not supported; the error names the tool and the
                parameter.
            AgentError: Two tools have the same name, an item is not a tool or expects other `deps`, or the result
                could be mistaken for a call.
            ValueError: A number is out of range, the format is unknown, or the agent cannot give the answer of an
                example.
            TypeError: An option has the wrong type.
        """
        check_model(model)
        check_count("max_steps", max_steps, 1)
        check_count("max_parallel_calls", max_parallel_calls, 1, _MAX_PARALLEL_CALLS)
        check_annotation("deps_type", deps_type)
        check_type("name", name, (str, type(None)), "a string")
        check_type("allow_text", allow_text, bool, "True or False")
        check_choice("on_limit", on_limit, get_args(OnLimit))
        check_choice("errors", errors, get_args(OnError))
        settings = _read_settings(options)
        writing = settings.compile_settings
        ready = prepare_tools(Toolset(tools).tools, writing)
        output, functions = read_output(output_type, writing)
        for each in (*ready, *(one.tool for one in functions)):
            each.check_deps_type(deps_type)
        names = [each.name for each in ready]
        notation = choose_notation(format, model, names, output, writing.whitespace, allow_text=allow_text)
        config = AgentConfig(
            model=model,
            name=name,
            tools=ready,
            output_functions=functions,
            format_name=format,
            requested_text=allow_text,
            notation=notation,
            instructions=read_instructions(instructions, deps_type),
            history=read_history_options(history, history_processors, deps_type),
            max_steps=max_steps,
            max_parallel_calls=max_parallel_calls,
            on_limit=on_limit,
            errors=errors,
            settings=settings,
            deps_type=deps_type,
            prefix_cache=PrefixCache(writing.limits.prefix_cache_tokens),
        )
        config.check()
        # Validators of another type may need dependencies, as their context.
        if settings.examples and deps_type is object:
            config.check_examples()
        self._configure(config)

    @property
    def tools(self) -> tuple[Tool[..., object], ...]:
        """The tools."""
        return tuple(each.tool for each in self._config.tools)

    @names_run_arguments
    def run(
        self,
        prompt: str,
        *,
        messages: Sequence[Message] = (),
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AgentResult[T_co]:
        """Run steps until the model generates the result.

        Args:
            prompt: The message of the user.
            messages: The messages of an earlier run, to continue its conversation.
            deps: The dependencies, which tools receive in their `structkit.Context`.
            usage_limits: Limits of this run; a limit that is set replaces that of the agent.

        Raises:
            RunSuspended: A call requires approval; pass its `state` to `resume`.
            UsageLimitExceeded: The run reached a limit, with `on_limit="raise"`.
            OutputValidationError: Validators rejected the result and all retries.
            BudgetTooSmall: `max_tokens`, or the context, is smaller than the shortest result.
            AgentError: A tool returned a value that cannot be written as JSON; or the messages are those of another
                agent, with calls of tools that this agent does not have.
            StructkitError: See `structkit.generate`.
            TypeError: The prompt is not a string, the messages are not those of an agent, or `deps` has the wrong
                type for a tool.
            Exception: An exception of a tool, except `ToolError`; see `errors` and `structkit.run_record`.
        """
        return self._typed(drive_sync(self._start(prompt, messages, deps, usage_limits), self._config.model))

    @names_run_arguments
    async def arun(
        self,
        prompt: str,
        *,
        messages: Sequence[Message] = (),
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AgentResult[T_co]:
        """Async version of `run`; the model, and tools that are not async, run in threads."""
        return self._typed(
            await drive_async(self._start(prompt, messages, deps, usage_limits), self._config.model)
        )

    @names_run_arguments
    def stream(
        self,
        prompt: str,
        *,
        messages: Sequence[Message] = (),
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AgentStream[T_co]:
        """Run as `run` does, and stream events.

        Returns:
            An iterator of `ThinkingEvent`, `PreambleDelta`, `ToolCallStart`, `ToolCallDelta`, `ToolResult`,
            `PartialOutput`, `TextDelta` for plain text, `StepRetracted` and a final `RunEnd`. It raises the errors of
            the run.

        >>> from structkit.testing import ScriptedModel
        >>> def add(a: int, b: int) -> int:
        ...     return a + b
        >>> model = ScriptedModel(['{"name": "add", "arguments": {"a": 2, "b": 3}}', "It is 5."])
        >>> for event in Agent(model, tools=[add], output_type=str).stream("2 + 3?"):
        ...     print(type(event).__name__)
        ToolCallStart
        ToolCallDelta
        ...
        ToolResult
        TextDelta
        ...
        RunEnd
        """
        return AgentStream(
            drive_events(self._start(prompt, messages, deps, usage_limits), self._config.model)
        )

    @names_run_arguments
    def astream(
        self,
        prompt: str,
        *,
        messages: Sequence[Message] = (),
        deps: D_contra = None,  # type: ignore[assignment]
        usage_limits: UsageLimits = NO_LIMITS,
    ) -> AsyncAgentStream[T_co]:
        """Async version of `stream`."""
        return AsyncAgentStream(
            drive_events_async(self._start(prompt, messages, deps, usage_limits), self._config.model)
        )

    def with_model(self, model: AnyModel) -> Agent[T_co, D_contra]:
        """Return a copy of the agent with another model, such as a scripted one in a test.

        With `format="auto"`, calls use the format of the chat template of that model. `override` replaces the model
        where other code calls the agent.

        >>> from structkit.testing import RandomModel, ScriptedModel
        >>> agent = Agent(RandomModel())
        >>> agent.with_model(ScriptedModel(["Hello."])).run("Hi").value
        'Hello.'
        """
        made: Agent[T_co, D_contra] = Agent.__new__(Agent)
        made._configure(self._config.with_model(model))
        return made

    @names_run_arguments
    def as_tool(self, name: str, description: str | None = None) -> Tool[..., T_co]:
        """Return this agent as a tool of another agent: the argument is the prompt, and the output is the value.

        The tool receives the dependencies of the calling run, but not its conversation. Its usage counts as usage of
        the calling run, and the remaining tokens and seconds of that run bound it. Its exceptions are those of any
        tool. A `UsageLimitExceeded` ends the calling run too, or, if the calling agent has `on_limit="answer"`, is
        reported to its model.

        Args:
            name: The name of the tool.
            description: The description of the tool for the other model; by default the strings of the instructions.

        Raises:
            AgentError: A tool of this agent suspends runs, and a nested run cannot be suspended.
        """
        for each in self._config.tools:
            if each.tool.requires_approval or each.tool.defer:
                what = "requires approval" if each.tool.requires_approval else "is deferred"
                raise AgentError(
                    f"{each.name} {what}, so an agent that has it cannot be a tool; give the agent without it",
                    place=name,
                )

        def ask(context: Context[object], prompt: str) -> T_co:
            config = self._config
            run = self._start(prompt, (), context.deps, nested_limits(config.settings, context))
            return self._typed(drive_nested(run, config.model, context, name)).value

        ask.__annotations__["context"] = Context[self._config.expected_deps_type]  # type: ignore[name-defined]
        return tool(ask, name=name, description=description or self._config.instructions.static or "")

    if not TYPE_CHECKING:  # a type checker knows the methods

        def __getattr__(self, name: str) -> object:
            """Name the method that other libraries call otherwise."""
            raise missing_attribute(self, name, _OTHER_METHODS)

    def __repr__(self) -> str:
        names = ", ".join(tool.name for tool in self.tools) or "no tools"
        return f"<Agent {self._config.model.name}: {names} -> {self._config.output.name}>"

    def _start(
        self,
        prompt: str,
        messages: Sequence[Message],
        deps: object,
        usage_limits: UsageLimits,
    ) -> Run:
        check_prompt(prompt)
        names = [tool.name for tool in self.tools]
        # Functions of the history can remove the calls of another agent; their result is checked in the run.
        history = check_history(messages, None if self._config.history.functions else names)
        state = RunState(
            agent_fingerprint=self._config.fingerprint,
            messages=(*history, User(content=prompt)),
            pending=(),
        )
        return Run(self._config, state, self._deps(deps), usage_limits)

    def _typed(self, result: object) -> AgentResult[T_co]:
        return cast("AgentResult[T_co]", result)


def _read_settings(options: ValidationOptions) -> Settings:
    """Read the options that an agent has in common with `structkit.extract`."""
    if "system" in options:
        raise TypeError("an agent's system message is given as instructions=...")
    own = [name for name, each in signature(Agent).parameters.items() if each.kind is not each.VAR_KEYWORD]
    settings = Settings.read("Agent", options, ValidationOptions, own)
    if not isinstance(settings.include_schema, bool):
        raise ValueError(
            f"include_schema must be True or False for an agent, not {settings.include_schema!r}; "
            "format=... decides how it describes tools and output"
        )
    return settings
