"""Keyword arguments of the public functions: their types, defaults and checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypedDict, cast

from structkit.generate.input.checks import check_count, check_type, read_path
from structkit.generate.input.faithful import check_particles, read_particles
from structkit.generate.input.prompt_format import Description, check_description
from structkit.generate.input.validator import OutputValidator, read_validator
from structkit.generate.sample.processors import MASK, AnyProcessor, Penalty
from structkit.generate.sample.sample import Sampling, check_int, check_number
from structkit.limits import Limits
from structkit.models.protocols import LogitsModel
from structkit.schema.markers.json_style import Defaults, JsonStyle, NullFields, Order, Whitespace

__all__ = [
    "BatchSettings",
    "ClassifyOptions",
    "CommonOptions",
    "CompileSettings",
    "Options",
    "ResultOptions",
    "Settings",
    "StreamOptions",
    "ValidationOptions",
    "check_samples",
]


class CommonOptions(TypedDict, total=False):
    """Keyword arguments of all functions that run a model."""

    max_tokens: int | None
    """Maximum number of tokens of the answer; the value is always complete and valid within it. Default: 1,024, or the
    length of the shortest value if that is greater, and at most what the context leaves. The tokens of a text model are
    bytes, by default 16,384."""

    temperature: float
    """0, the default, selects the most likely token; above 0, tokens are sampled."""

    top_k: int | None
    """Sample among the `top_k` most likely tokens."""

    top_p: float | None
    """Sample among the smallest set of tokens whose total probability reaches this value."""

    min_p: float | None
    """Sample among tokens whose probability is at least this fraction of the highest one."""

    typical_p: float | None
    """Sample among the tokens whose information is nearest to the entropy, up to this total probability."""

    repetition_penalty: float | None
    """Above 1, tokens that already occur in the prompt or the answer become less likely."""

    processors: Sequence[AnyProcessor]
    """Logits processors, including those of transformers, in the order of application; see `structkit.processors`."""

    seed: int | None
    """Seed of the sampler: the same seed and model give the same tokens."""

    include_schema: bool | Description
    """Whether the description of the target is added to the prompt. With `True`, the default, the chat template decides
    how it is described; `"types"`, `"json_schema"`, `"example"` and `"tools"` set it, except for agents."""

    examples: Sequence[tuple[str, object]]
    """Texts with their answers, placed before the prompt: `[(text, Person(...)), ...]`. Answers are validated and
    serialized in the form that the guide allows. Models with a chat template read examples as messages."""

    thinking: bool | int
    """Maximum number of tokens of unconstrained reasoning before the answer, for models trained for it; `True` is
    1,024. Default: none."""

    timeout: float | None
    """Seconds after which the value is completed in the fewest tokens; it is complete and valid, as with `max_tokens`.
    The time includes compiling the target and waiting for the model. With many prompts, the time of each counts from
    its own start. For a text model, `finish` decides how the value ends. Default: no timeout."""

    fast_forward: bool
    """Whether the model reads text that has only one continuation in one forward pass, in the tokenizer's own tokens;
    the default is true. Greedy decoding keeps the model's tokens for this text where it prefers others, so the answer
    is that of `False`, which generates the text token by token; sampling, logits processors and models that read one
    token at a time keep the tokenizer's. The end of a plain-text prompt (no chat template) counts as such text: its
    last tokens are generated again, together with the start of the answer (token healing)."""

    prompt_lookup: bool | int
    """Maximum number of tokens of a draft that is copied from the prompt and checked in one forward pass; `True`, the
    default, is 24. Drafting pauses while it does not pay. It never changes the output. Models with a recurrent state
    ignore it."""

    assistant_model: LogitsModel | None
    """A smaller model with the same vocabulary, which proposes drafts in place of `prompt_lookup`. It never changes the
    output. It pays if it is much faster than the model."""

    retries: int
    """Maximum number of attempts after the first, if validators reject the value; the default is 3. While more than one
    retry is left, a rejected part is removed and generated again. The last retry starts over with the error in the
    prompt, and so does each retry of a complete value, such as one that `validate` rejects. No rejected text is
    generated twice."""

    whitespace: Whitespace
    """`"spaced"`, the default, writes JSON like `json.dumps`; `"compact"` writes no spaces."""

    defaults: Defaults
    """`"always"`, the default, writes fields that have a default; `"may_omit"` lets the model omit them."""

    order: Order
    """`"declared"`, the default, writes keys in the order of the target; `"any"` lets the model choose the order."""

    null: NullFields
    """How a field `X | None = None` without a value is written: `"always"` writes `null`, `"omit"` omits the field,
    `"may_omit"` allows both. Default: set by `defaults`. A class can set `whitespace`, `defaults`, `order` and `null`
    itself; see `structkit.json_style`."""

    source: str | None
    """Text that fields with `structkit.Quote` must quote; the default is the prompt."""

    limits: Limits
    """Limits on the size of what is compiled for the target."""

    trace_content: bool | None
    """Whether spans of OpenTelemetry contain prompts, answers, and the arguments and results of calls, log messages the
    texts of replies, and `Result.trace` the prompt. Default: the environment variable
    `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`, or else no."""


class ClassifyOptions(CommonOptions, total=False):
    """Keyword arguments of functions that read one prompt, in addition to `CommonOptions`."""

    system: str | None
    """System message, placed before the prompt."""


class ValidationOptions(CommonOptions, total=False):
    """Keyword arguments of functions and agents that return a value of the type, in addition to `CommonOptions`."""

    validate: Callable[..., object] | None
    """Validator of the complete value, after those of its type: `f(value)` or `f(context, value)`, sync or async. It
    raises `structkit.Retry` or another `ValueError` to reject the value, and returns `None` or its argument to accept
    the value. Before the next attempt the model reads the error. Any other exception is raised to the caller."""

    context: object
    """The first argument of `validate`, and the `context` of `pydantic.ValidationInfo` in the validators of the type.
    In an agent, `validate` receives the `structkit.Context` of the step instead, and the default is the `deps`."""


class Options(ClassifyOptions, ValidationOptions, total=False):
    """Keyword arguments of `extract` and its versions, in addition to `ClassifyOptions` and `ValidationOptions`."""

    finish: Literal["error", "shortest"]
    """How the value of a text model ends that its replies do not complete within the bounds on corrections, calls and
    seconds: with `"error"`, the default, `CorrectionsExhausted` is raised; `"shortest"` completes the value with the
    fewest bytes, and `Result.trace` has the paths of what the model did not write. Other models complete every value
    themselves."""

    repair: Literal["retry", "raise"]
    """What follows when validators reject a value: `"retry"`, the default, generates it again, up to `retries` times;
    `Result.repaired` and a warning of the logger `structkit` name the value. `"raise"` raises
    `structkit.OutputValidationError` at once."""

    min_repair_probability: float
    """The probability, under the model and without any mask, that a value generated in place of a rejected one must
    have; below it, `structkit.OutputValidationError` is raised. Default: 0, none. Computes confidence."""

    abstain: float
    """A value that can be null, and whose probability under the model is below this one, becomes `None`;
    `Result.abstained` has its path. Validators check the answer again. Default: 0, no value. Computes confidence."""

    sampling: Literal["masked", "faithful"]
    """`"masked"`, the default, chooses each token among those that the target allows. `"faithful"` draws a value from
    the model's own distribution of answers, restricted to those that are valid, by sequential Monte Carlo over
    `particles`. A value that validators reject weighs 0, and is not generated again. The default of `temperature` is
    then 1."""

    particles: int
    """Number of particles of `sampling="faithful"`; the default is 32. More come closer to the distribution, and cost
    more forward passes. At most `Limits.batch_rows`."""

    max_corrections: int
    """Maximum number of replies of a text model that are cut, or that add nothing, before the next key or value is
    complete; the default is 16. The number of all replies is bounded by `max_calls` of the model."""


class ResultOptions(Options, total=False):
    """Keyword arguments of the functions that return a result or a stream, in addition to `Options`."""

    confidence: bool
    """Whether the result contains the model's confidence in each value. The default is true, except with many prompts.
    Costs one pass over the logits per sampled token, and one forward pass per choice."""


class StreamOptions(ResultOptions, total=False):
    """Keyword arguments of streams, in addition to `ResultOptions`."""

    rules: Sequence[str]
    """Rules of a `Grammar` for which there are events: `RuleStart`, `TextDelta` and `RuleEnd` with the rule's tree."""


_DEFAULT_DRAFT_TOKENS = 24
"""Draft tokens with `prompt_lookup=True`."""

_OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "functions": "tools",
        "max_new_tokens": "max_tokens",
        "max_retries": "retries",
        "response_format": "output_type",
        "response_model": "output_type",
        "result": "output_type",
        "result_type": "output_type",
        "results": "output_type",
        "system_prompt": "instructions",
    }
)
"""What other libraries call an argument, and what it is called here."""

_HINTS: Mapping[str, str] = MappingProxyType(
    {
        "confidence": "; structkit.generate returns it",
        "messages": "; the messages are the second argument, the prompt",
        "n": "; structkit.generate takes it",
        "output_type": "; the type is the third argument, after model and prompt",
        "stream": "; call structkit.stream",
    }
)
"""What to do instead of passing an argument that the function does not have, and another function or place has."""

_DEFAULT_THINKING_TOKENS = 1_024
"""Thinking tokens with `thinking=True`."""

_MAX_SAMPLES = 100_000
"""All samples stay in memory until the last is complete; a larger number is probably a mistake."""

_WITH_CONFIDENCE = frozenset({"generate", "agenerate", "stream", "astream"})
"""Functions whose `confidence` is true by default."""


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
            if not (callable(processor) or hasattr(processor, "begin") or processor is MASK):
                raise TypeError(f"processors must be callables as in transformers, not {processor!r}")
        if self.assistant_model is not None and not hasattr(self.assistant_model, "session"):
            raise TypeError(
                f"assistant_model must be a model, such as structkit.load(...), not {self.assistant_model!r}"
            )
        check_count("retries", self.retries, 0)
        check_count("max_corrections", self.max_corrections, 0)
        if self.repair not in ("retry", "raise"):
            raise ValueError(f"repair must be 'retry' or 'raise', not {self.repair!r}")
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
        if self.finish not in ("error", "shortest"):
            raise ValueError(f"finish must be 'error' or 'shortest', not {self.finish!r}")
        check_description(self.include_schema)
        check_type("confidence", self.confidence, bool, "True or False")
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
        known = accepted.__annotations__
        unknown = [name for name in given if name not in known]
        if unknown:
            names = [*extra, *known]  # first what only this function has
            meant = _OTHER_NAMES.get(unknown[0], "")
            close = [meant] if meant in names else get_close_matches(unknown[0], names, 1, 0.8)
            hint = _HINTS.get(meant or unknown[0], "")
            hint = f"; write {close[0]}=..." if close else hint
            remedy = hint or f"; it takes {', '.join(names)}"
            raise TypeError(f"{function}() has no argument {unknown[0]!r}{remedy}")
        options = cast("StreamOptions", given)
        thinking = options.get("thinking", False)
        prompt_lookup = options.get("prompt_lookup", True)
        for name, value in (("thinking", thinking), ("prompt_lookup", prompt_lookup)):
            if not isinstance(value, bool):
                check_count(name, value, 0)
        particles = read_particles(function, options)
        return cls(
            max_tokens=options.get("max_tokens"),
            sampling=Sampling(
                temperature=options.get("temperature", 0.0 if particles is None else 1.0),
                top_k=options.get("top_k"),
                top_p=options.get("top_p"),
                min_p=options.get("min_p"),
                typical_p=options.get("typical_p"),
                seed=options.get("seed"),
            ),
            compile_settings=CompileSettings(
                whitespace=options.get("whitespace"),
                defaults=options.get("defaults"),
                order=options.get("order"),
                null=options.get("null"),
                limits=options.get("limits", Limits()),
            ),
            include_schema=options.get("include_schema", True),
            system=options.get("system"),
            source=options.get("source"),
            examples=_examples(options),
            fast_forward=options.get("fast_forward", True) if particles is None else False,
            prompt_lookup=_DEFAULT_DRAFT_TOKENS if prompt_lookup is True else int(prompt_lookup),
            assistant_model=options.get("assistant_model"),
            retries=options.get("retries", 0 if options.get("repair") == "raise" else 3),
            validate=read_validator(options.get("validate"), options.get("context")),
            context=options.get("context"),
            timeout=options.get("timeout"),
            max_thinking_tokens=_DEFAULT_THINKING_TOKENS if thinking is True else int(thinking),
            processors=_processors(options),
            trace_content=options.get("trace_content"),
            rules=_rules(options),
            confidence=options.get("confidence", function in _WITH_CONFIDENCE)
            or bool(options.get("min_repair_probability") or options.get("abstain")),
            finish=options.get("finish", "error"),
            max_corrections=options.get("max_corrections", 16),
            repair=options.get("repair", "retry"),
            min_repair_probability=options.get("min_repair_probability", 0.0),
            abstain=options.get("abstain", 0.0),
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


def _examples(options: CommonOptions) -> tuple[tuple[str, object], ...]:
    examples: object = options.get("examples", ())
    if isinstance(examples, (str, bytes, Mapping)) or not isinstance(examples, Sequence):
        raise TypeError(f"examples must be a list of (text, answer) pairs, not {examples!r:.60}")
    for number, example in enumerate(examples):
        is_pair = isinstance(example, (tuple, list)) and len(example) == 2
        if not is_pair or not isinstance(example[0], str):
            raise TypeError(f"examples[{number}] must be a (text, answer) pair, not {example!r:.60}")
    return tuple((text, value) for text, value in examples)


def _rules(options: StreamOptions) -> tuple[str, ...]:
    rules: object = options.get("rules", ())
    if not isinstance(rules, (list, tuple)) or not all(isinstance(rule, str) for rule in rules):
        raise TypeError(f"rules must be a list of the names of rules, not {rules!r:.60}")
    return tuple(rules)


def _processors(options: CommonOptions) -> tuple[AnyProcessor, ...]:
    processors = options.get("processors", ())
    if not isinstance(processors, (list, tuple)):
        raise TypeError(f"processors must be a list, not {processors!r}")
    penalty = options.get("repetition_penalty")
    if penalty is None:
        return tuple(processors)
    check_number("repetition_penalty", penalty, 0, math.inf, exclusive=True)
    return (Penalty(penalty), *processors)
