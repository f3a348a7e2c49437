"""Settings of a call: what its keyword arguments mean, checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast

from structkit.arguments.checks import (
    check_choice,
    check_count,
    check_int,
    check_number,
    check_type,
    read_path,
)
from structkit.arguments.names import check_names, names_arguments
from structkit.generate.input.faithful import check_particles, read_particles
from structkit.generate.input.options import CommonOptions, Options, StreamOptions
from structkit.generate.input.prompt_format import Description, check_description
from structkit.generate.input.validator import OutputValidator, read_validator
from structkit.generate.sample.processors import MASK, AnyProcessor, Penalty
from structkit.generate.sample.sample import Sampling
from structkit.limits import Limits
from structkit.models.protocols import LogitsModel
from structkit.schema.markers.json_style import Defaults, JsonStyle, NullFields, Order, Whitespace

__all__ = ["BatchSettings", "CompileSettings", "Settings", "check_samples", "names_options"]

F = TypeVar("F", bound=Callable[..., object])

_DEFAULT_DRAFT_TOKENS = 24
"""Draft tokens with `prompt_lookup=True`."""

_OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "beam_size": "num_beams",
        "checkpoint": "checkpointer",
        "choice": "choices",
        "cls": "output_type",
        "context_schema": "deps_type",
        "device_map": "device",
        "dtype": "device",
        "few_shot": "examples",
        "final_answer_checks": "validate",
        "format": "output_type",
        "functions": "tools",
        "generation_config": "model_settings",
        "guided_choice": "choices",
        "guided_grammar": "grammar",
        "guided_json": "output_type",
        "guided_regex": "regex",
        "json_schema": "output_type",
        "llm": "model",
        "logit_bias": "processors",
        "logits_processor": "processors",
        "max_attempts": "retries",
        "max_completion_tokens": "max_tokens",
        "max_iterations": "max_steps",
        "max_length": "max_tokens",
        "max_new_tokens": "max_tokens",
        "max_output_tokens": "max_tokens",
        "max_retries": "retries",
        "max_tool_threads": "max_parallel_calls",
        "max_turns": "max_steps",
        "min_new_tokens": "min_tokens",
        "model_kwargs": "model_settings",
        "num_retries": "retries",
        "num_return_sequences": "n",
        "num_samples": "n",
        "on_event": "callbacks",
        "output": "output_type",
        "output_guardrails": "validate",
        "output_retries": "retries",
        "output_validators": "validate",
        "parallel_tool_calls": "max_parallel_calls",
        "pattern": "regex",
        "pre_model_hook": "history_processors",
        "presence_penalty": "frequency_penalty",
        "progress": "batch_size",
        "prompt": "instructions",
        "query": "prompt",
        "random_seed": "seed",
        "random_state": "seed",
        "reasoning": "thinking",
        "response_format": "output_type",
        "response_model": "output_type",
        "result": "output_type",
        "result_type": "output_type",
        "results": "output_type",
        "results_file": "batch_size",
        "retry": "retries",
        "return_exceptions": "batch_size",
        "return_type": "output_type",
        "sampler": "do_sample",
        "sampling_params": "model_settings",
        "schema": "output_type",
        "session_id": "checkpointer",
        "shots": "examples",
        "stop_sequences": "stop",
        "stop_strings": "stop",
        "store": "checkpointer",
        "streamer": "callbacks",
        "system_prompt": "instructions",
        "target": "output_type",
        "text": "prompt",
        "toolsets": "tools",
        "top_logprobs": "logprobs",
        "torch_dtype": "device",
        "type": "output_type",
        "validation_context": "context",
        "validator": "validate",
        "validators": "validate",
    }
)
"""What other libraries call an argument, and its name here, or the name under which `_HINTS` has the remedy."""

_HINTS: Mapping[str, str] = MappingProxyType(
    {
        "*": "each option has a name, such as max_tokens=60",
        "abstain": "structkit.generate takes it",
        "batch_size": "structkit.extract_many takes it",
        "callbacks": "iterate over the events of stream(...)",
        "checkpointer": "store result.messages, and write agent.run(..., messages=...)",
        "choices": "write structkit.Choice([...]) as the type",
        "confidence": "structkit.generate returns it",
        "deps": "write agent.run(..., deps=...)",
        "description": "write agent.as_tool(name, description)",
        "device": "structkit.load takes it",
        "do_sample": "write temperature=1.0 to sample, and leave it out for the most likely token",
        "end_strategy": "leave it out: a step is either calls or the result",
        "event_stream_handler": "iterate over agent.stream(...)",
        "frequency_penalty": "write repetition_penalty=...",
        "grammar": "write structkit.Grammar(...) as the type",
        "handoffs": "write tools=[agent.as_tool(name)], or an output_type that names the next agent",
        "hooks": "iterate over agent.stream(...)",
        "input_guardrails": "check the prompt before agent.run(...)",
        "instructions": "write system=...",
        "instrument": "set a tracer provider of OpenTelemetry",
        "logprobs": "read result.confidence and result.events of structkit.generate",
        "managed_agents": "write tools=[agent.as_tool(name)]",
        "max_calls": "write structkit.tool(f, max_calls=...), or UsageLimits(max_tool_calls=...) for a run",
        "mcp_servers": "write tools=[server.tools()], with the server of structkit.mcp.connect",
        "memory": "write agent.run(..., messages=...)",
        "messages": "the messages are the second argument, the prompt",
        "middleware": "write history_processors=[f] or structkit.tool(f, available=...), or a loop of agent.step(...)",
        "min_tokens": "give the target a minimum length, such as Field(min_length=...)",
        "mode": "leave it out: the mask enforces the type",
        "model_settings": "its options are arguments, such as temperature=0.5",
        "n": "structkit.generate takes it, as n=...",
        "num_beams": "write structkit.LogitsProcessor(guide) in model.generate of transformers",
        "output_type": "the type is the third argument, after model and prompt",
        "particles": "structkit.generate takes it",
        "prepare_tools": "write structkit.tool(f, available=...)",
        "regex": "write structkit.Regex(...) as the type",
        "sampling": "structkit.generate takes it",
        "step_callbacks": "iterate over agent.stream(...)",
        "stop": "leave it out: the text ends where the target ends",
        "stream": "call structkit.stream",
        "strict": "structkit.JsonSchema takes it",
        "tokenizer": "structkit.from_transformers takes it",
        "tool_choice": "write structkit.tool(f, available=...)",
        "tool_retries": "write structkit.tool(f, tool_retries=...)",
        "tool_timeout": "write structkit.tool(f, timeout=...)",
        "tool_use_behavior": "write output_type=f, with the tool f whose result is that of the run",
        "tools": "write structkit.Agent(model, tools=[...]), or the function as the target",
        "usage_limits": "write agent.run(..., usage_limits=...)",
        "verbose": "print(result.trace) draws what happened",
    }
)
"""What to do instead of passing an argument that the function does not have, and another function or place has."""

_DEFAULT_THINKING_TOKENS = 1_024
"""Thinking tokens with `thinking=True`."""

_LIMITS = Limits()

_MAX_SAMPLES = 100_000
"""All samples stay in memory until the last is complete; a larger number is probably a mistake."""

_AS_GIVEN = frozenset(
    {
        "abstain",
        "assistant_model",
        "context",
        "finish",
        "include_schema",
        "max_corrections",
        "max_tokens",
        "min_repair_probability",
        "on_limit",
        "repair",
        "source",
        "system",
        "timeout",
        "trace_content",
    }
)
"""Arguments that are settings of the same name, default and value."""

_WITH_CONFIDENCE = frozenset({"generate", "agenerate", "stream", "astream"})
"""Functions whose `confidence` is true by default."""


def names_options(options: type[CommonOptions]) -> Callable[[F], F]:
    """Return a decorator with which a public function names the argument that a wrong one was meant for.

    >>> @names_options(Options)
    ... def extract(model, prompt, target, **options): ...
    >>> extract("model", messages=[])
    Traceback (most recent call last):
    TypeError: extract() has no argument 'messages'; the messages are the second argument, the prompt
    >>> extract("model", target=int)
    Traceback (most recent call last):
    TypeError: extract() has no prompt; write extract(model, prompt, target)
    """
    return lambda made: names_arguments(made, _HINTS, _OTHER_NAMES, options=options.__annotations__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileSettings:
    """How values are written: a part of the key of a guide."""

    whitespace: Whitespace | None = None
    defaults: Defaults | None = None
    order: Order | None = None
    null: NullFields | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def json_style(self) -> JsonStyle:
        """The JSON style given by the call."""
        return JsonStyle(whitespace=self.whitespace, defaults=self.defaults, order=self.order, null=self.null)

    def __post_init__(self) -> None:
        if not isinstance(self.order, (str, type(None))):
            raise ValueError(f"order must be 'declared' or 'any', not {self.order!r}")
        self.json_style  # noqa: B018 (validates)
        check_type("limits", self.limits, Limits, "structkit.Limits(...)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a generation except model, prompt and target."""

    max_tokens: int | None = None
    sampling: Sampling = field(default_factory=Sampling)
    compile_settings: CompileSettings = field(default_factory=CompileSettings)
    include_schema: bool | Description = True
    system: str | None = None
    source: str | None = None
    examples: tuple[tuple[str, object], ...] = ()
    fast_forward: bool = True
    prompt_lookup: int = _DEFAULT_DRAFT_TOKENS
    assistant_model: LogitsModel | None = None
    retries: int = 3
    validate: OutputValidator | None = None
    context: object = None
    confidence: bool = False
    timeout: float | None = None
    max_thinking_tokens: int = 0
    charge_discarded: bool = False
    processors: tuple[AnyProcessor, ...] = ()
    trace_content: bool | None = None
    rules: tuple[str, ...] = ()
    finish: Literal["error", "shortest"] = "error"
    on_limit: Literal["answer", "raise"] = "answer"
    repair: str = "retry"
    min_repair_probability: float = 0.0
    abstain: float = 0.0
    max_corrections: int = 16
    particles: int | None = None
    given: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        check_int("max_tokens", self.max_tokens, 0)
        if self.timeout is not None:
            check_number("timeout", self.timeout, 0, math.inf)
        for processor in self.processors:
            if isinstance(processor, type):
                raise TypeError(f"a processor is a class; pass an object of it, {processor.__name__}(...)")
            if not (callable(processor) or hasattr(processor, "begin") or processor is MASK):
                raise TypeError(f"processors must be callables as in transformers, not {processor!r}")
        if self.assistant_model is not None and not hasattr(self.assistant_model, "session"):
            raise TypeError(
                f"assistant_model must be a model, such as structkit.load(...), not {self.assistant_model!r}"
            )
        check_count("retries", self.retries, 0)
        check_count("max_corrections", self.max_corrections, 0)
        check_choice("repair", self.repair, ("retry", "raise"))
        if self.abstain and self.validate is not None:
            raise ValueError(
                "abstain=... changes the value after validate=... has accepted it; use one of them"
            )
        for name in ("min_repair_probability", "abstain"):
            check_number(name, getattr(self, name), 0, 1)
        if self.repair == "raise" and self.retries and "retries" in self.given:
            raise ValueError(f"repair='raise' allows no retry; leave out retries={self.retries}")
        if self.particles is not None:
            limits, temperature = self.compile_settings.limits, self.sampling.temperature
            check_particles(self.particles, self.given, limits, temperature)
        check_choice("finish", self.finish, ("error", "shortest"))
        check_choice("on_limit", self.on_limit, ("answer", "raise"))
        if self.on_limit == "raise" and self.finish == "shortest":
            raise ValueError(
                "finish='shortest' returns a value that a limit ended, and on_limit='raise' none; use one of them"
            )
        check_description(self.include_schema)
        check_type("fast_forward", self.fast_forward, bool, "True or False")
        check_type("source", self.source, (str, type(None)), "a string or None")
        check_type("system", self.system, (str, type(None)), "a string or None")
        check_type("trace_content", self.trace_content, (bool, type(None)), "True, False or None")

    @classmethod
    def read(
        cls,
        function: str,
        given: Mapping[str, object],
        accepted: type[CommonOptions] = Options,
        extra: Sequence[str] = (),
    ) -> Settings:
        """Check the keyword arguments of a public function.

        Args:
            function: Name of the function, for messages.
            given: The arguments.
            accepted: The arguments that the function accepts.
            extra: Names of further arguments of the function, for messages.

        Raises:
            TypeError: An argument is unknown or has the wrong type.
            ValueError: An argument is out of range.

        >>> Settings.read("extract", {"max_tokens": 20, "temperature": 0.5}).sampling.temperature
        0.5
        >>> Settings.read("extract", {"max_token": 20})
        Traceback (most recent call last):
        TypeError: extract() has no argument 'max_token'; write max_tokens=...
        """
        check_names(function, given, [*extra, *accepted.__annotations__], _OTHER_NAMES, _HINTS)
        options = cast("StreamOptions", given)
        particles = read_particles(function, options)
        as_given: dict[str, Any] = {name: given[name] for name in given if name in _AS_GIVEN}
        return cls(
            **as_given,
            sampling=_sampling(options, 0.0 if particles is None else 1.0),
            compile_settings=_compile_settings(options),
            examples=_examples(options),
            fast_forward=options.get("fast_forward", True) if particles is None else False,
            prompt_lookup=_tokens("prompt_lookup", options.get("prompt_lookup", True), _DEFAULT_DRAFT_TOKENS),
            retries=options.get("retries", 0 if options.get("repair") == "raise" else 3),
            validate=read_validator(options.get("validate"), options.get("context")),
            max_thinking_tokens=_tokens("thinking", options.get("thinking", False), _DEFAULT_THINKING_TOKENS),
            processors=_processors(options),
            rules=_rules(options),
            confidence=_confidence(function, options),
            particles=particles,
            given=frozenset(given),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """Settings of a batch.

    Attributes:
        size: Maximum number of sequences computed together.
        progress: Whether a progress bar is shown; `None` shows one only in a terminal.
        return_exceptions: Whether an error is returned in place of a result; otherwise it is raised and ends the batch.
        results_file: The file that results are added to, and read from, if there is one.
    """

    size: int = 8
    progress: bool | None = None
    return_exceptions: bool = False
    results_file: Path | None = None

    def __post_init__(self) -> None:
        check_count("batch_size", self.size, 1)
        check_type("progress", self.progress, (bool, type(None)), "True, False or None")
        check_type("return_exceptions", self.return_exceptions, bool, "True or False")

    @classmethod
    def read(cls, options: dict[str, object]) -> BatchSettings:
        """Remove the keyword arguments of a batch from `options` and check them.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: An argument is out of range.

        >>> options = {"batch_size": 4, "seed": 1}
        >>> BatchSettings.read(options).size, options
        (4, {'seed': 1})
        """
        return cls(
            size=cast("int", options.pop("batch_size", 8)),
            progress=cast("bool | None", options.pop("progress", None)),
            return_exceptions=cast("bool", options.pop("return_exceptions", False)),
            results_file=read_path("results_file", options.pop("results_file", None)),
        )


def check_samples(settings: Settings, count: int) -> None:
    """Check the number of samples.

    Raises:
        TypeError: `n` is not an integer.
        ValueError: `n` is out of range, or above 1 at temperature 0.
    """
    check_count("n", count, 1, _MAX_SAMPLES)
    if count > 1 and not settings.sampling.temperature:
        raise ValueError("n above 1 needs a temperature above 0: at 0 all samples are the same")


def _sampling(options: CommonOptions, temperature: float) -> Sampling:
    return Sampling(
        temperature=options.get("temperature", temperature),
        top_k=options.get("top_k"),
        top_p=options.get("top_p"),
        min_p=options.get("min_p"),
        typical_p=options.get("typical_p"),
        seed=options.get("seed"),
    )


def _compile_settings(options: CommonOptions) -> CompileSettings:
    return CompileSettings(
        whitespace=options.get("whitespace"),
        defaults=options.get("defaults"),
        order=options.get("order"),
        null=options.get("null"),
        limits=options.get("limits", _LIMITS),
    )


def _confidence(function: str, options: StreamOptions) -> bool:
    given = options.get("confidence", function in _WITH_CONFIDENCE)
    check_type("confidence", given, bool, "True or False")
    return given or bool(options.get("min_repair_probability") or options.get("abstain"))


def _tokens(name: str, value: object, default: int) -> int:
    """Return a number of tokens, for which `True` stands for the default, and `False` for none."""
    if isinstance(value, bool):
        return default if value else 0
    check_type(name, value, Integral, "True, False or a number of tokens")
    check_count(name, value, 0)
    return cast("int", value)


def _examples(options: CommonOptions) -> tuple[tuple[str, object], ...]:
    examples: object = options.get("examples", ())
    if isinstance(examples, (str, bytes, Mapping)) or not isinstance(examples, Sequence):
        raise TypeError(f"examples must be a list of (text, answer) pairs, not {examples!r:.60}")
    for number, example in enumerate(examples):
        is_pair = isinstance(example, (tuple, list)) and len(example) == 2
        if not is_pair or not isinstance(example[0], str):
            is_swapped = is_pair and isinstance(example[1], str)
            remedy = "; the text is the first of them" if is_swapped else ""
            raise TypeError(f"examples[{number}] must be a (text, answer) pair, not {example!r:.60}{remedy}")
    return tuple((text, value) for text, value in examples)


def _rules(options: StreamOptions) -> tuple[str, ...]:
    rules: object = options.get("rules", ())
    if not isinstance(rules, (list, tuple)) or not all(isinstance(rule, str) for rule in rules):
        raise TypeError(f"rules must be a list of the names of rules, not {rules!r:.60}")
    return tuple(rules)


def _processors(options: CommonOptions) -> tuple[AnyProcessor, ...]:
    processors = options.get("processors", ())
    check_type("processors", processors, (list, tuple), "a list")
    penalty = options.get("repetition_penalty")
    if penalty is None:
        return tuple(processors)
    check_number("repetition_penalty", penalty, 0, math.inf, exclusive=True)
    return (Penalty(penalty), *processors)
