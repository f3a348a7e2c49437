"""What generation asks of a model: logits for the next token, and text turned into tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["LogitsModel", "Message", "Session"]


class Message(TypedDict):
    """One turn of a conversation.

    >>> message: Message = {"role": "user", "content": "Ana is 34."}
    """

    role: str
    """`system`, `user`, `assistant` or `tool`, as the model's chat template knows them."""

    content: str
    """What was said. Control tokens spelled in it are ordinary text."""


class Session(Protocol):
    """One sequence being written, and what the model remembers of it."""

    @property
    def length(self) -> int:
        """How many tokens were fed."""
        ...

    def logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Feed tokens, at least one, and return the logits of the token that follows them.

        Returns:
            float32[width]; the width may differ from the vocabulary's size, and neither NaN nor all -inf.

        Raises:
            ModelFailed: The model broke, or the sequence is longer than it can read.
        """
        ...

    def crop(self, length: int) -> None:
        """Forget all but the first `length` tokens that were fed."""
        ...


class LogitsModel(Protocol):
    """A causal language model that shows its logits."""

    @property
    def name(self) -> str:
        """What the model is called in messages and traces."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens that it reads and writes."""
        ...

    @property
    def context_length(self) -> int | None:
        """How many tokens it can read in all, where that is known."""
        ...

    def encode(self, prompt: str | Sequence[Message]) -> list[int]:
        """Turn a prompt into the tokens that begin a sequence, ready for the answer.

        The chat template is applied where there is one; the beginning-of-sequence token comes exactly once, and
        control tokens spelled in the prompt are ordinary text.
        """
        ...

    def encode_text(self, text: str) -> list[int]:
        """Turn text in the middle of a sequence into text tokens whose bytes are exactly the text's."""
        ...

    def session(self) -> Session:
        """Begin a sequence."""
        ...
