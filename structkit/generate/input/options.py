"""Settings: the keyword arguments of the public functions, checked and put into values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TypedDict, cast

from structkit.generate.sample.processors import MASK, AnyProcessor, Penalty
from structkit.generate.sample.sample import Sampling, check_int, check_number
from structkit.limits import Limits
from structkit.models.protocols import LogitsModel
from structkit.schema.markers.json_style import Defaults, JsonStyle, NullFields, Order, Whitespace

__all__ = ["BatchSettings", "CompileSettings", "Options", "Settings", "check_samples"]


class Options(TypedDict, total=False):
    """The keyword arguments of `extract`, `generate` and all other functions that have a model write."""

    max_tokens: int | None
    """The most tokens to write; the value is always complete and valid within them. By default as many as the
    context leaves, but at most 1,024, or what the shortest value needs if that is more."""

    temperature: float
    """0, the default, takes the likeliest token; above 0 tokens are sampled."""

    top_k: int | None
    """Sample among the `top_k` likeliest tokens."""

    top_p: float | None
    """Sample among the fewest tokens that together have this probability."""

    min_p: float | None
    """Sample among tokens at least this fraction as likely as the likeliest."""

    typical_p: float | None
    """Sample among the tokens whose surprise is nearest to what is expected, that together have this probability."""

    repetition_penalty: float | None
    """Above 1 tokens that are in the prompt or the answer already become less likely."""

    processors: Sequence[AnyProcessor]
    """Logits processors, those of transformers too, in the order in which they are applied; see
    `structkit.processors`."""

    seed: int | None
    """With the same seed the same model writes the same tokens."""

    include_schema: bool
    """Whether the description of the target is added to the prompt; by default it is."""

    examples: Sequence[tuple[str, object]]
    """Texts with the right answers, to be shown before the prompt: `[(text, Person(...)), ...]`. They are validated,
    and written exactly as the model has to write; models with a chat template read them as turns of a conversation."""

    system: str | None
    """A system message to put before the prompt."""

    thinking: bool | int
    """Whether the model may think freely before it answers, as models trained for that do, and in how many tokens; with
    `True` in up to 1,024. By default the answer begins at once."""

    timeout: float | None
    """Seconds after which the value is brought to its end as fast as it can be: it is complete and valid, as with
    `max_tokens`. They count from the call on, so compiling the target and waiting for the model are part of them; where
    there are many prompts, for each from its own begin on. By default there is no such time."""

    fast_forward: bool
    """Whether text that must come next is taken without sampling, in the tokenizer's own tokens; by default
    it is. Without it the model chooses the tokens of such text too. The end of a prompt that is plain text,
    with no chat template after it, is such text: its last tokens are written again, as the tokenizer writes them with
    what the answer begins with ("token healing")."""

    prompt_lookup: bool | int
    """Whether text that may well come next, such as a value copied from the prompt and the key after it, is read by the
    model in one pass and checked there, and in how many tokens; by default in up to 24, as long as it pays. What is
    written is the same without it. Models that keep a state instead of the tokens do without."""

    assistant_model: LogitsModel | None
    """A smaller model with the same tokens, which drafts where else values are looked up in the prompt. What is written
    is the same without it. It pays where it takes far less time than the model."""

    retries: int
    """How often a value that the type's own validators refuse is taken back and written anew, 2 by default; then
    there is one more attempt from the start, in which the model is told what was wrong. What was refused is not written
    again. 0 for none of these."""

    confidence: bool
    """Whether the result says how sure the model was of each value: by default where a result is returned for one
    prompt. It costs one pass over the logits for each sampled token, and a look of the model for each choice."""

    whitespace: Whitespace
    """`"spaced"`, the default, writes JSON as `json.dumps` does; `"compact"` without spaces."""

    defaults: Defaults
    """`"always"`, the default, writes fields with a default too; `"may_omit"` leaves that to the model."""

    order: Order
    """`"declared"`, the default, writes keys in the order of the target; `"any"` leaves the order to the model."""

    null: NullFields
    """What is written of a field `X | None = None` that has no value: `"always"` writes `null`, `"omit"` leaves the
    field out, `"may_omit"` allows both. By default `defaults` decides. A class may say these four itself; see
    `structkit.json_style`."""

    source: str | None
    """The text that fields with `structkit.Quote` are taken from; by default it is the prompt."""

    limits: Limits
    """What may be built for the target."""


_DEFAULT_DRAFT_TOKENS = 24
"""Tokens of a draft when nobody says how many."""

_DEFAULT_THINKING_TOKENS = 1_024
"""Tokens of thoughts when nobody says how many."""

_MAX_SAMPLES = 100_000
"""Samples are held together until the last is written: more is a slip."""

_WITH_CONFIDENCE = frozenset({"generate", "agenerate", "stream", "astream", "classify", "aclassify"})
"""The functions that say how sure the model was, unless they are told not to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileSettings:
    """How values are written: part of what a guide is made for."""

    whitespace: Whitespace | None = None
    defaults: Defaults | None = None
    order: Order | None = None
    null: NullFields | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def json_style(self) -> JsonStyle:
        """What the call says about how values are written."""
        return JsonStyle(whitespace=self.whitespace, defaults=self.defaults, order=self.order, null=self.null)

    def __post_init__(self) -> None:
        if not isinstance(self.order, (str, type(None))):
            raise ValueError(f"order must be 'declared' or 'any', not {self.order!r}")
        self.json_style  # noqa: B018 (it checks)
        _check_type("limits", self.limits, Limits, "structkit.Limits(...)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything about a generation but its model, prompt and target."""

    max_tokens: int | None = None
    sampling: Sampling = field(default_factory=Sampling)
    compile_settings: CompileSettings = field(default_factory=CompileSettings)
    include_schema: bool = True
    system: str | None = None
    source: str | None = None
    examples: tuple[tuple[str, object], ...] = ()
    fast_forward: bool = True
    prompt_lookup: int = _DEFAULT_DRAFT_TOKENS
    assistant_model: LogitsModel | None = None
    retries: int = 2
    confidence: bool = False
    timeout: float | None = None
    max_thinking_tokens: int = 0
    charge_discarded: bool = False
    processors: tuple[AnyProcessor, ...] = ()

    def __post_init__(self) -> None:
        check_int("max_tokens", self.max_tokens, 0)
        if self.timeout is not None:
            check_number("timeout", self.timeout, 0, math.inf)
        for processor in self.processors:
            if not (callable(processor) or hasattr(processor, "begin") or processor is MASK):
                raise TypeError(f"processors are callables as in transformers, not {processor!r}")
        if self.assistant_model is not None and not hasattr(self.assistant_model, "session"):
            raise TypeError(
                f"assistant_model must be a model, such as structkit.load(...), not {self.assistant_model!r}"
            )
        _check_count("retries", self.retries, 0)
        _check_type("include_schema", self.include_schema, bool, "True or False")
        _check_type("confidence", self.confidence, bool, "True or False")
        _check_type("fast_forward", self.fast_forward, bool, "True or False")
        _check_type("source", self.source, (str, type(None)), "a text or None")
        _check_type("system", self.system, (str, type(None)), "a text or None")

    @classmethod
    def read(cls, function: str, options: Options, extra: Sequence[str] = ()) -> Settings:
        """Check the keyword arguments of a public function.

        Args:
            function: Its name, for messages.
            options: The arguments.
            extra: Arguments that it takes besides, for messages.

        Raises:
            TypeError: There is no such argument, or it is of the wrong type.
            ValueError: It is out of its range.

        >>> Settings.read("extract", {"max_tokens": 20, "temperature": 0.5}).sampling.temperature
        0.5
        >>> Settings.read("extract", {"max_token": 20})
        Traceback (most recent call last):
        TypeError: extract() has no argument 'max_token'; it takes max_tokens, temperature, top_k, ...
        """
        known = Options.__annotations__
        unknown = [name for name in options if name not in known]
        if unknown:
            takes = ", ".join([*known, *extra])
            raise TypeError(f"{function}() has no argument {unknown[0]!r}; it takes {takes}")
        thinking = options.get("thinking", False)
        prompt_lookup = options.get("prompt_lookup", True)
        for name, value in (("thinking", thinking), ("prompt_lookup", prompt_lookup)):
            if not isinstance(value, bool):
                _check_count(name, value, 0)
        return cls(
            max_tokens=options.get("max_tokens"),
            sampling=Sampling(
                temperature=options.get("temperature", 0.0),
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
            fast_forward=options.get("fast_forward", True),
            prompt_lookup=_DEFAULT_DRAFT_TOKENS if prompt_lookup is True else int(prompt_lookup),
            assistant_model=options.get("assistant_model"),
            retries=options.get("retries", 2),
            timeout=options.get("timeout"),
            max_thinking_tokens=_DEFAULT_THINKING_TOKENS if thinking is True else int(thinking),
            processors=_processors(options),
            confidence=options.get("confidence", function in _WITH_CONFIDENCE),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """How many generations share a model.

    Attributes:
        size: Sequences computed at once.
        progress: Whether a progress bar is shown; `None` for only in a terminal.
        return_exceptions: Whether an error takes the place of a result; else it ends all.
    """

    size: int = 8
    progress: bool | None = None
    return_exceptions: bool = False

    def __post_init__(self) -> None:
        _check_count("batch_size", self.size, 1)
        _check_type("progress", self.progress, (bool, type(None)), "True, False or None")
        _check_type("return_exceptions", self.return_exceptions, bool, "True or False")

    @classmethod
    def read(cls, options: dict[str, object]) -> BatchSettings:
        """Take the keyword arguments of a batch out of those of a public function, and check them.

        Raises:
            TypeError: One is of the wrong type.
            ValueError: It is out of its range.

        >>> options = {"batch_size": 4, "seed": 1}
        >>> BatchSettings.read(options).size, options
        (4, {'seed': 1})
        """
        return cls(
            size=cast("int", options.pop("batch_size", 8)),
            progress=cast("bool | None", options.pop("progress", None)),
            return_exceptions=cast("bool", options.pop("return_exceptions", False)),
        )


def check_samples(settings: Settings, count: int) -> None:
    """Check whether it can be meant that several samples are written.

    Raises:
        TypeError: `n` is no whole number.
        ValueError: It is less than 1 or too many, or all would be the same.
    """
    _check_count("n", count, 1, _MAX_SAMPLES)
    if count > 1 and not settings.sampling.temperature:
        raise ValueError("n needs a temperature above 0: without one all values are the same")


def _examples(options: Options) -> tuple[tuple[str, object], ...]:
    examples: object = options.get("examples", ())
    if isinstance(examples, (str, bytes, Mapping)) or not isinstance(examples, Sequence):
        raise TypeError(f"examples must be a list of texts with their answers, not {examples!r:.60}")
    for number, example in enumerate(examples):
        pair = isinstance(example, (tuple, list)) and len(example) == 2
        if not pair or not isinstance(example[0], str):
            raise TypeError(f"examples[{number}] must be a text and its answer, not {example!r:.60}")
    return tuple((text, value) for text, value in examples)


def _processors(options: Options) -> tuple[AnyProcessor, ...]:
    processors = options.get("processors", ())
    if not isinstance(processors, (list, tuple)):
        raise TypeError(f"processors must be a list, not {processors!r}")
    penalty = options.get("repetition_penalty")
    if penalty is None:
        return tuple(processors)
    check_number("repetition_penalty", penalty, 0, math.inf, exclusive=True)
    return (Penalty(penalty), *processors)


def _check_count(name: str, value: object, minimum: int, maximum: float = math.inf) -> None:
    _check_type(name, value, Integral, "a whole number")
    check_int(name, cast("int", value), minimum)
    if cast("int", value) > maximum:
        raise ValueError(f"{name} must be at most {maximum:,}, not {value!r}")


def _check_type(name: str, value: object, kind: type | tuple[type, ...], expected: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {expected}, not {value!r}")
