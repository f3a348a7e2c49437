"""What generation asks of a model: logits for the next token, and text turned into tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypedDict, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from typing_extensions import NotRequired

from structkit.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

__all__ = [
    "Batch",
    "Conversation",
    "HasChatTemplate",
    "Logits",
    "LogitsModel",
    "Message",
    "RandomLogits",
    "Session",
    "SupportsBatching",
    "SupportsControlTokens",
    "SupportsLookahead",
    "SupportsMessages",
    "SupportsShrink",
    "SupportsThinking",
]

Logits: TypeAlias = "NDArray[np.float32] | torch.Tensor"
"""float[rows, width]; of torch only where the model computes on an accelerator. Whoever gets them may write on them."""


class Message(TypedDict):
    """One turn of a conversation.

    >>> message: Message = {"role": "user", "content": "Ana is 34."}
    """

    role: str
    """`system`, `user`, `assistant` or `tool`, as the model's chat template knows them."""

    content: str
    """What was said. Control tokens spelled in it are ordinary text."""

    tool_calls: NotRequired[Sequence[tuple[str, str, str]]]
    """The calls that an assistant's content is: ids, names, and arguments as JSON. Only in a `Conversation`."""

    text: NotRequired[str]
    """What the assistant said before its calls. Only in a `Conversation`."""

    name: NotRequired[str]
    """The tool whose output the content is. Only in a `Conversation`."""

    tool_call_id: NotRequired[str]
    """The call whose output the content is. Only in a `Conversation`."""


@dataclass(frozen=True)
class Conversation(Sequence[Message]):
    """Messages with tools, calls and outputs, for a chat template to render as its model was trained to see them.

    Attributes:
        messages: The messages; a model that renders no tools may read their contents alone.
        tools: The tools, each a function as chat templates take it: `{"type": "function", "function": {...}}`.
    """

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, object], ...] = ()

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        """A message, or several."""
        return self.messages[index]

    def __len__(self) -> int:
        """How many messages there are."""
        return len(self.messages)


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
            ModelError: The model broke, or the sequence is longer than it can read.
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


class Batch(Protocol):
    """Sequences being written side by side, numbered from 0, and what the model remembers of them."""

    @property
    def max_rows(self) -> int | None:
        """How many there may be at once, if there is a bound."""
        ...

    @property
    def overhead(self) -> int:
        """How many tokens of a row take as long to read as a step takes by itself, about."""
        ...

    def add(self, sequences: Sequence[Sequence[int]]) -> Logits:
        """Begin sequences, each of at least one token, as the last rows.

        Returns:
            float[sequences, width], the logits of the tokens that follow them.

        Raises:
            ModelError: The model broke, or a sequence is longer than it can read.
        """
        ...

    def feed(self, token_ids: Sequence[Sequence[int]]) -> Logits:
        """Feed tokens to each row, at least one.

        Returns:
            float[rows, width], the logits of the tokens that follow them.

        Raises:
            ModelError: The model broke, or a sequence is longer than it can read.
        """
        ...

    def score(self, row: int, branches: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """What the model thinks of several ways to go on with a row, which stays as it is.

        Returns:
            For each branch float32[tokens], the log-probabilities of its tokens but the first, each given those
            before it, and 0 for the first, whose logits were returned when the row was fed.
        """
        ...

    def rollback(self, row: int, count: int) -> None:
        """Take back the last `count` tokens of a row."""
        ...

    def select(self, rows: Sequence[int]) -> None:
        """Let go of all rows but these, which are numbered anew in the order given."""
        ...


@runtime_checkable
class SupportsLookahead(Protocol):
    """A batch that tells the logits of several tokens of each row at once, and takes tokens back at little cost."""

    def feed_multi(self, token_ids: Sequence[Sequence[int]], logits_to_keep: int) -> Logits:
        """Feed tokens to each row; see `Rows.feed`.

        Returns:
            float[rows, last, width], the logits of the tokens that follow each of the last tokens of a row; without
            meaning where it was fed fewer.

        Raises:
            ModelError: See `Rows.feed`.
        """
        ...


@runtime_checkable
class SupportsShrink(Protocol):
    """A batch that holds more memory than its tokens need, so that they may grow, and can let go of it."""

    def shrink(self) -> None:
        """Hold no more than what was read needs, until there is more to read."""
        ...


@runtime_checkable
class SupportsBatching(Protocol):
    """A model that computes several sequences at once."""

    def batch(self, prefix: Sequence[int] = ()) -> Batch | None:
        """Begin a batch without rows; `None` if this model can only write one sequence after the other.

        Args:
            prefix: Tokens that every sequence will begin with; they are read once.
        """
        ...


@runtime_checkable
class SupportsMessages(Protocol):
    """A model that knows whether it takes messages, and not only texts; one that does not know takes both."""

    @property
    def takes_messages(self) -> bool:
        """Whether there is a chat template."""
        ...


@runtime_checkable
class HasChatTemplate(Protocol):
    """A model whose chat template is known; its `encode` takes a `Conversation`.

    An agent has such a model write calls as its template does, if it can write all that stands in them.
    """

    @property
    def chat_template(self) -> str | None:
        """The text of the chat template, if there is one."""
        ...


@runtime_checkable
class SupportsControlTokens(Protocol):
    """A model that can write control tokens; without it, calls whose marks are such tokens are written as JSON."""

    def control_token(self, name: str) -> int | None:
        """The control token of a name, such as `[TOOL_CALLS]`; `None` if there is none, or if it is text."""
        ...


@runtime_checkable
class RandomLogits(Protocol):
    """A model that writes at random: it wants nothing, so no target fights it."""

    @property
    def is_random(self) -> bool:
        """It is."""
        ...


@runtime_checkable
class SupportsThinking(Protocol):
    """A model that can think before it answers."""

    def encode_thinking(self, prompt: str | Sequence[Message]) -> list[int]:
        """Like `LogitsModel.encode`, ready for thoughts instead of the answer."""
        ...

    @property
    def end_of_thinking(self) -> tuple[int, ...]:
        """The tokens that end the thoughts: a control token, or text."""
        ...
