"""Values of one decoding step: the request of a flow, a draft, and the token that was sampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from structkit.generate.sample.sample import Sampling

__all__ = ["Draft", "LogitsTransform", "SampleRequest", "SampledToken"]

LogitsTransform: TypeAlias = "Callable[[NDArray[np.float32], NDArray[np.uint32]], NDArray[np.float32]]"
"""Function of the logits, float32[width], and the mask to new logits. The mask is applied to its result."""

_GREEDY = Sampling()


@dataclass(slots=True)
class Draft:
    """Tokens proposed for the next positions.

    Attributes:
        token_ids: The tokens, starting at the position of the request.
        is_guess: For each token, whether it is a guess; the others follow from the tokens before them.
        seconds: Time that the assistant model took.
        forced_count: How many of the first tokens spell forced text; they do not count as drafted.
    """

    token_ids: list[int] = field(default_factory=list)
    is_guess: list[bool] = field(default_factory=list)
    seconds: float = 0.0
    forced_count: int = 0


@dataclass(slots=True, kw_only=True)
class SampleRequest:
    """A request of a flow: run the model on tokens, then sample the next one.

    Attributes:
        token_ids: Tokens to run the model on, at least one.
        mask: uint32[words], the allowed tokens: bit t % 32 of word t // 32 for token t.
        unbudgeted_mask: uint32[words], the tokens allowed without the token budget; requests
            `SampledToken.unbudgeted_token_id`.
        sampling: Sampling parameters.
        generator: Random generator of the sequence.
        rollback_count: Number of tokens to remove from the sequence first.
        reread_count: Number of the first of `token_ids` that equal the first removed tokens.
        transform: Logits processors.
        with_logprobs: Whether log-probabilities are computed.
        possible: With `with_logprobs`, uint32[words], the tokens among which probabilities are computed: those that
            continue the prompt, while its end is repeated. By default all.
        candidates: With `with_logprobs`, tokens whose unmasked log-probability is computed.
        location: Path of the step, for errors.
        draft: Function of a maximum length to a draft, which starts with the token requested.
        forced_ids: The usual spelling of the text that is the only one to follow, with which a draft starts. The model
            reads it in the same step and chooses each token, so it can spell the text otherwise.
    """

    token_ids: list[int]
    mask: NDArray[np.uint32]
    unbudgeted_mask: NDArray[np.uint32] | None = None
    sampling: Sampling = _GREEDY
    generator: np.random.Generator = field(default_factory=np.random.default_rng)
    rollback_count: int = 0
    reread_count: int = 0
    transform: LogitsTransform | None = None
    with_logprobs: bool = False
    possible: NDArray[np.uint32] | None = None
    candidates: tuple[int, ...] = ()
    location: str | None = None
    draft: Callable[[int], Draft] | None = None
    forced_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SampledToken:
    """The token sampled for a request.

    Attributes:
        token_id: The token.
        unbudgeted_token_id: The most likely token of `SampleRequest.unbudgeted_mask`, if that is set.
        logprob: With `with_logprobs`, the log-probability among the allowed tokens, at temperature 1.
        masked_probability: With `with_logprobs`, the total probability of the forbidden tokens.
        candidates: The unmasked log-probability of each of `SampleRequest.candidates`.
        is_guessed: Whether a guess of a draft had the token, which the model then chose.
    """

    token_id: int
    unbudgeted_token_id: int | None = None
    logprob: float = 0.0
    masked_probability: float = 0.0
    candidates: tuple[float, ...] = ()
    is_guessed: bool = False
