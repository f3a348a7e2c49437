"""What a generation gives back: the value, the text, and what it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from structkit.generate.output.confidence import Confidence
from structkit.generate.output.spans import Span

__all__ = ["FinishReason", "Result", "Token", "Usage"]

T_co = TypeVar("T_co", covariant=True)

FinishReason: TypeAlias = Literal["stop", "budget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a generation took: tokens and seconds."""

    prompt_tokens: int
    """Tokens of the prompt, with the chat template and the description of the target."""

    generated_tokens: int
    """Tokens of the answer, the end token not counted."""

    forced_tokens: int
    """Those of them that were not sampled, because nothing else could follow."""

    drafted_tokens: int = field(default=0, kw_only=True)
    """Tokens of drafts that the model read; see `speculate`."""

    accepted_tokens: int = field(default=0, kw_only=True)
    """Those of them that came true, so that they needed no pass of the model of their own."""

    discarded_tokens: int = field(default=0, kw_only=True)
    """Tokens that were written and taken back, because validators refused what they said or led to."""

    thinking_tokens: int = field(default=0, kw_only=True)
    """Tokens of thoughts before the answer; see `thinking`."""

    mask_seconds: float
    """Time spent on masks, cursors and forced text."""

    model_seconds: float
    """Time spent in the model."""

    compile_seconds: float
    """Time spent on compiling the target; about 0 when it was compiled before."""

    @property
    def written_tokens(self) -> int:
        """All tokens that were written: of the answer, of what was discarded, and of thoughts."""
        return self.generated_tokens + self.discarded_tokens + self.thinking_tokens


class Token(NamedTuple):
    """One token of an answer."""

    token_id: int
    """The token."""

    text: bytes
    """What it writes of the answer; a character may be cut between two tokens."""

    forced: bool
    """Whether it was not sampled, because nothing else could follow."""

    logprob: float
    """Its log-probability among the allowed tokens; 0 if it was forced, or nothing was scored."""

    masked_probability: float
    """The probability that the mask took away from other tokens; 0 if it was forced, or nothing was scored."""


@dataclass(frozen=True, kw_only=True)
class Result(Generic[T_co]):
    """A value and how it came to be.

    Made by `structkit.generate`.
    """

    value: T_co
    """The validated value."""

    text: str
    """The text that the model wrote, of which `value` was made."""

    finish_reason: FinishReason
    """`"stop"`: the model ended the value, or nothing could follow. `"budget"`: the value is complete and
    valid, but `max_tokens` or the context bent it: the model would have gone on, or gone another way."""

    usage: Usage
    """Tokens and seconds."""

    token_ids: tuple[int, ...]
    """The tokens of `text`, the end token not included. After a prompt of plain text the first may spell the prompt's
    end too."""

    attempts: tuple[str, ...]
    """The text of every attempt, the last one included."""

    thinking: str | None = None
    """What the model thought before it answered, with `thinking=...`."""

    events: tuple[Token, ...] = ()
    """What happened: the tokens of `text`, each with how it came to be."""

    spans: Mapping[str, Span] = field(default_factory=dict)
    """Where each field with `structkit.Quote` stands in its source, by its path, such as `items[2].name`."""

    confidence: Mapping[str, Confidence] = field(default_factory=dict)
    """How sure the model was of each value in the text, by its path, such as `items[2].name`; `$` is the whole. Empty
    with `confidence=False`."""

    @property
    def mean_logprob(self) -> float:
        """The mean log-probability of the sampled tokens; 0 if nothing was sampled or scored.

        It ranks samples of one prompt whatever their lengths: 0 is certain, and the more negative, the less likely.

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
        """The probability that the mask took away, on average over the sampled tokens.

        Near 0 the model wanted to write what the target asks for; near 1 the target fights the model, and a better
        prompt or another target would serve both.
        """
        removed = [token.masked_probability for token in self.events if not token.forced]
        return sum(removed) / len(removed) if removed else 0.0

    def __repr__(self) -> str:
        usage = self.usage
        return (
            f"Result(value={self.value!r}, finish_reason={self.finish_reason!r}, "
            f"tokens={usage.prompt_tokens}+{usage.generated_tokens} ({usage.forced_tokens} forced), "
            f"seconds={usage.compile_seconds + usage.mask_seconds + usage.model_seconds:.3f})"
        )
