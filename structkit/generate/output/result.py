"""Result of a generation: value, text, tokens and usage."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, TypeAlias, TypeVar

from structkit.arguments.names import missing_attribute
from structkit.generate.output.confidence import Confidence
from structkit.generate.output.repaired import Repaired
from structkit.generate.output.spans import Span
from structkit.generate.output.token import Token
from structkit.generate.output.trace import Guarantee, Trace
from structkit.schema.python.json_codec import EXACT_KEYS, NotInJson
from structkit.trace.table import draw_details, draw_table

__all__ = ["FinishReason", "Result", "Usage", "value_of"]

_log = logging.getLogger("structkit")

T_co = TypeVar("T_co", covariant=True)

FinishReason: TypeAlias = Literal["stop", "budget"]

_OTHER_ATTRIBUTES = {
    "completion_tokens": ".written_tokens",
    "input_tokens": ".prompt_tokens",
    "output_tokens": ".written_tokens",
    "request_tokens": ".prompt_tokens",
    "requests": "result.steps",
    "response_tokens": ".written_tokens",
    "total_tokens": ".prompt_tokens + usage.written_tokens",
}
"""What other libraries call the attributes of a usage, and what to write here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and seconds of a generation, or of several: usages can be added.

    >>> one, two = Usage(prompt_tokens=20, generated_tokens=3), Usage(prompt_tokens=30, generated_tokens=4)
    >>> (one + two).prompt_tokens, sum([one, two], Usage()).generated_tokens
    (50, 7)
    """

    __pydantic_config__: ClassVar[Mapping[str, str]] = EXACT_KEYS

    prompt_tokens: int = 0
    """Tokens of the prompt, including the chat template and the description of the target."""

    generated_tokens: int = 0
    """Tokens of the answer, without the end-of-sequence token."""

    forced_tokens: int = 0
    """Tokens of the answer that were appended without sampling, as the only continuation."""

    drafted_tokens: int = 0
    """Draft tokens that the model checked; see `prompt_lookup`."""

    accepted_tokens: int = 0
    """Draft tokens that were accepted; each saves a forward pass."""

    discarded_tokens: int = 0
    """Tokens that were removed because a validator rejected their value."""

    thinking_tokens: int = 0
    """Tokens of thinking before the answer; see `thinking`."""

    mask_seconds: float = 0.0
    """Time for masks, cursors and fast-forwarding."""

    calls: int = 0
    """Replies of a text model. Its tokens are counted in bytes, since a text does not show its tokens."""

    model_seconds: float = 0.0
    """Time in the model."""

    compile_seconds: float = 0.0
    """Time for compiling the target; about 0 if the guide is cached."""

    @property
    def written_tokens(self) -> int:
        """All tokens written: answer, discarded and thinking tokens."""
        return self.generated_tokens + self.discarded_tokens + self.thinking_tokens

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Name the attribute that other libraries call otherwise."""
            raise missing_attribute(self, name, _OTHER_ATTRIBUTES)

        def __call__(self) -> object:
            """Say that the usage is no method, as it is in pydantic-ai."""
            raise TypeError("the usage is an attribute, not a method; write .usage without parentheses")

    def __add__(self, other: Usage) -> Usage:
        """Return the sum of two usages."""
        if not isinstance(other, Usage):
            return NotImplemented
        return Usage(
            **{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(Usage)}
        )


@dataclass(frozen=True, kw_only=True)
class Result(Generic[T_co]):
    """What `structkit.generate` returns: a value, its text and tokens, and the usage of its generation."""

    value: T_co
    """The validated value."""

    text: str
    """The text of the answer, from which `value` is parsed."""

    finish_reason: FinishReason
    """`"stop"`: the model ended the value, or only one text was left. `"budget"`: the value is complete and valid, but
    `max_tokens`, `timeout` or the context length changed it: the model preferred a token that the budget forbade.
    `on_limit="raise"` raises `structkit.BudgetExceeded` instead."""

    usage: Usage
    """Tokens and seconds."""

    token_ids: tuple[int, ...]
    """The tokens of `text`, without the end-of-sequence token. After a plain-text prompt, the first tokens can also
    contain the end of the prompt (token healing)."""

    attempts: tuple[str, ...]
    """The text of each attempt, including the last."""

    guarantee: Guarantee = "masked"
    """How the text came to belong to the target, to its last byte. `"masked"`: every token was chosen among those that
    the target allows. `"constrained"`: a server enforced the target, and structkit checked its text. `"corrected"`: the
    replies of a text model were cut where they left the target, and continued from there."""

    trace: NotInJson[Trace] = field(default_factory=Trace)
    """What happened: the replies of a text model, or the tokens of another model. `print(result.trace)` draws it."""

    thinking: str | None = None
    """Text of the thinking before the answer; `None` without `thinking=...`."""

    events: NotInJson[tuple[Token, ...]] = ()
    """The tokens of `text` with their details."""

    spans: Mapping[str, Span] = field(default_factory=dict)
    """Position of each field with `structkit.Quote` in its source, by path, such as `items[2].name`."""

    confidence: Mapping[str, Confidence] = field(default_factory=dict)
    """Confidence of the model in each value, by path, such as `items[2].name`; `$` is the root. Empty with
    `confidence=False`."""

    repaired: tuple[Repaired, ...] = ()
    """The values that validators rejected and that were generated again. They are valid, but not what the model
    preferred, so they can be inventions."""

    abstained: tuple[str, ...] = ()
    """The paths of the values that are `None` or left out because the model was less sure of them than `abstain`. Their
    tokens are in `token_ids` and `events`, and the last but one of `attempts` has their first texts."""

    log_weight: float | None = None
    """With `sampling="faithful"`, the logarithm of the weight of the value: the mean of `exp(log_weight)` estimates,
    without bias, the probability that the model's own answer is valid. Of `n` values each has its own; a single value
    has the mean of all particles. Otherwise `None`."""

    effective_sample_size: float | None = None
    """With `sampling="faithful"`, the number of independent values that the particles are worth, at most their number.
    Near 1, few particles carry all the weight, and the value may be far from the distribution. Otherwise `None`."""

    @property
    def mean_logprob(self) -> float:
        """Mean log-probability of the sampled tokens; 0 if no token was sampled, or without `confidence`.

        Use it to rank samples of one prompt independently of their lengths.

        >>> import structkit as sk
        >>> from structkit.testing import RandomModel
        >>> samples = sk.generate(RandomModel(1), "Yes or no?", bool, n=4, temperature=1.0, seed=1)
        >>> best = max(samples, key=lambda sample: sample.mean_logprob)
        >>> best.mean_logprob == max(sample.mean_logprob for sample in samples)
        True
        """
        logprobs = [token.logprob for token in self.events if not token.forced]
        return sum(logprobs) / len(logprobs) if logprobs else 0.0

    @property
    def pressure(self) -> float:
        """Mean masked probability of the sampled tokens; 0 if no token was sampled, or without `confidence`.

        Near 0, the model prefers text of the target. Near 1, model and target disagree: improve the prompt, or choose
        another target.
        """
        masked = [token.masked_probability for token in self.events if not token.forced]
        return sum(masked) / len(masked) if masked else 0.0

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> object:
            """Say that an attribute is one of `value`."""
            raise missing_attribute(self, name)

        def __getitem__(self, name: object) -> object:
            """Name the attribute that is meant by an item."""
            known = isinstance(name, str) and hasattr(self, name)
            raise TypeError(f"a Result has attributes and no items; write .{name if known else 'value'}")

    def _repr_html_(self) -> str:
        """Draw the value, the confidence in each of its parts, and the trace."""
        cells = [
            [
                path,
                f"{one.probability:.1%}",
                ", ".join(f"{choice!r} {chance:.1%}" for choice, chance in (one.choices or {}).items()),
            ]
            for path, one in self.confidence.items()
        ]
        usage = self.usage
        return draw_table(
            repr(self.value),
            ["path", "confidence", "choices"],
            cells,
            note=f"{self.guarantee}, {self.finish_reason}, {usage.prompt_tokens}+{usage.generated_tokens} tokens"
            f"{'' if cells else '; generate(..., confidence=True) has the confidence in each part'}",
            more=draw_details(self.trace._repr_html_()),
        )

    def __repr__(self) -> str:
        usage = self.usage
        return (
            f"Result(value={self.value!r}, finish_reason={self.finish_reason!r}, "
            f"tokens={usage.prompt_tokens}+{usage.generated_tokens} ({usage.forced_tokens} forced), "
            f"seconds={usage.compile_seconds + usage.mask_seconds + usage.model_seconds:.3f})"
        )


def value_of(result: Result[T_co]) -> T_co:
    """Return the value of a result for a caller that does not see the result.

    Such a caller gets no `finish_reason`, so a value that the budget shortened is logged as a warning.
    """
    if result.finish_reason == "budget":
        _log.warning(
            "max_tokens, timeout or the context changed the value, so it can be cut short; allow more, pass "
            'on_limit="raise" for an error, or see finish_reason of structkit.generate'
        )
    return result.value
