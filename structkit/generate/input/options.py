"""Keyword arguments of the public functions, with their types and defaults; `settings.py` checks them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypedDict

from structkit.generate.input.prompt_format import Description
from structkit.generate.sample.processors import AnyProcessor
from structkit.limits import Limits
from structkit.models.protocols import LogitsModel
from structkit.schema.markers.json_style import Defaults, NullFields, Order, Whitespace

__all__ = [
    "ClassifyOptions",
    "CommonOptions",
    "Options",
    "ResultOptions",
    "StreamOptions",
    "ValidationOptions",
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
    """`"spaced"`, the default, writes JSON like `json.dumps`; `"compact"` writes no spaces. The demo model,
    which was trained with spaces, then answers worse."""

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

    on_limit: Literal["answer", "raise"]
    """What follows when `max_tokens`, `timeout` or the context is reached before the model has ended the value:
    `"answer"`, the default, completes the value within the limit, with `Result.finish_reason` `"budget"`; `"raise"`
    raises `structkit.BudgetExceeded` with what was written until then."""

    repair: Literal["retry", "raise"]
    """What follows when validators reject a value: `"retry"`, the default, generates it again, up to `retries` times;
    `Result.repaired` and a warning of the logger `structkit` name the value. `"raise"` raises
    `structkit.OutputValidationError` at once."""

    min_repair_probability: float
    """The probability, under the model and without any mask, that a value generated in place of a rejected one must
    have; below it, `structkit.OutputValidationError` is raised. Default: 0, none. Computes confidence."""

    abstain: float
    """A value whose probability under the model is below this one becomes `None` if it can be null, or is left out
    with its key if the object does not require it; `Result.abstained` has its path. Validators check the answer again.
    Default: 0, no value. Computes confidence."""

    sampling: Literal["masked", "faithful"]
    """`"masked"`, the default, chooses each token among those that the target allows. `"faithful"` draws a value from
    the model's own distribution of answers, restricted to those that are valid, by sequential Monte Carlo over
    `particles`. A value that validators reject weighs 0, and is not generated again. The default of `temperature` is
    then 1."""

    particles: int | None
    """Number of particles of `sampling="faithful"`; the default is 32. More come closer to the distribution, and cost
    more forward passes. At most `Limits.batch_rows`."""

    max_corrections: int
    """Maximum number of replies of a text model that are cut, or that add nothing, before the next key or value is
    complete; the default is 16. The number of all replies is bounded by `max_calls` of the model, and that of replies
    that add text but bring the end of the value no nearer by 32."""


class ResultOptions(Options, total=False):
    """Keyword arguments of the functions that return a result or a stream, in addition to `Options`."""

    confidence: bool
    """Whether the result contains the model's confidence in each value. The default is true, except with many prompts.
    Costs one pass over the logits per sampled token, and one forward pass per choice."""


class StreamOptions(ResultOptions, total=False):
    """Keyword arguments of streams, in addition to `ResultOptions`."""

    rules: Sequence[str]
    """Rules of a `Grammar` for which there are events: `RuleStart`, `TextDelta` and `RuleEnd` with the rule's tree."""
