"""What a generation gives back: the value, the text, and what it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

__all__ = ["FinishReason", "Result", "Usage"]

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

    mask_seconds: float
    """Time spent on masks, cursors and forced text."""

    model_seconds: float
    """Time spent in the model."""

    compile_seconds: float
    """Time spent on compiling the target; about 0 when it was compiled before."""


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
    """The tokens of `text`, the end token not included."""

    attempts: tuple[str, ...]
    """The text of every attempt, the last one included."""

    def __repr__(self) -> str:
        usage = self.usage
        return (
            f"Result(value={self.value!r}, finish_reason={self.finish_reason!r}, "
            f"tokens={usage.prompt_tokens}+{usage.generated_tokens} ({usage.forced_tokens} forced), "
            f"seconds={usage.compile_seconds + usage.mask_seconds + usage.model_seconds:.3f})"
        )
