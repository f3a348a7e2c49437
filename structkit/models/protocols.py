"""Protocols of models: logits of the next token, and encoding of text to tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypedDict, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from typing_extensions import NotRequired

from structkit.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

__all__ = [
    "Batch",
    "ChecksText",
    "Conversation",
    "HasChatTemplate",
    "HasScript",
    "Logits",
    "LogitsModel",
    "Message",
    "RandomLogits",
    "Session",
    "SupportsBatching",
    "SupportsControlTokens",
    "SupportsLookahead",
    "SupportsMessages",
    "SupportsPlainText",
    "SupportsShrink",
    "SupportsThinking",
    "SupportsTransfer",
]

Logits: TypeAlias = "NDArray[np.float32] | torch.Tensor"
"""float[rows, width]; a torch tensor only if the model runs on an accelerator. The caller may modify the logits."""


class Message(TypedDict):
    """One message of a conversation.

    >>> message: Message = {"role": "user", "content": "Ana is 34."}
    """

    role: str
    """`system`, `user`, `assistant` or `tool`, as in the model's chat template."""

    content: str
    """The content. Control tokens spelled in it are ordinary text."""

    tool_calls: NotRequired[Sequence[tuple[str, str, str]]]
    """Tool calls of an assistant message: ids, names, and arguments as JSON. Only in a `Conversation`."""

    text: NotRequired[str]
    """Text of an assistant message before its calls. Only in a `Conversation`."""

    name: NotRequired[str]
    """Name of the tool that returned the content. Only in a `Conversation`."""

    tool_call_id: NotRequired[str]
    """Id of the call that returned the content. Only in a `Conversation`."""


@dataclass(frozen=True)
class Conversation(Sequence[Message]):
    """Messages with tools, calls and outputs, rendered by a chat template in the format of the model's training.

    Attributes:
        messages: The messages; a model without tool support may read only their contents.
        tools: The tools, each a function in the format of chat templates: `{"type": "function", "function": {...}}`.
    """

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, object], ...] = ()

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        """Return a message, or a slice of the messages."""
        return self.messages[index]

    def __len__(self) -> int:
        """Return the number of messages."""
        return len(self.messages)


class Session(Protocol):
    """One sequence and the model's cached state for it."""

    @property
    def length(self) -> int:
        """Number of tokens fed so far."""
        ...

    def logits(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """Feed at least one token, and return the logits of the token that follows.

        Returns:
            float32[width], without NaN and not all -inf; the width may differ from the vocabulary's size.

        Raises:
            ModelError: The model failed, or the sequence is longer than its context.
        """
        ...

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens that were fed, and discard the others."""
        ...


class LogitsModel(Protocol):
    """A causal language model that returns logits."""

    @property
    def name(self) -> str:
        """Name of the model in messages and traces."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens of the model."""
        ...

    @property
    def context_length(self) -> int | None:
        """Maximum number of tokens of a sequence, if known."""
        ...

    def encode(self, prompt: str | Sequence[Message]) -> list[int]:
        """Encode a prompt as the tokens that start a sequence, ready for the answer.

        The chat template is applied if the model has one. The beginning-of-sequence token appears exactly once, and
        control tokens spelled in the prompt are ordinary text.
        """
        ...

    def encode_text(self, text: str) -> list[int]:
        """Encode text in the middle of a sequence as text tokens with exactly the bytes of the text."""
        ...

    def session(self) -> Session:
        """Start a sequence."""
        ...


class Batch(Protocol):
    """A batch of sequences (rows), numbered from 0, and the model's cached state for them."""

    @property
    def max_rows(self) -> int | None:
        """Maximum number of rows, if bounded."""
        ...

    @property
    def overhead(self) -> int:
        """Approximate number of tokens of a row that take as long to read as the fixed cost of a step."""
        ...

    def add(self, sequences: Sequence[Sequence[int]]) -> Logits:
        """Append rows for new sequences, each of at least one token.

        Returns:
            float[sequences, width], the logits of the tokens that follow.

        Raises:
            ModelError: The model failed, or a sequence is longer than its context.
        """
        ...

    def feed(self, token_ids: Sequence[Sequence[int]]) -> Logits:
        """Feed at least one token to each row.

        Returns:
            float[rows, width], the logits of the tokens that follow.

        Raises:
            ModelError: The model failed, or a sequence is longer than its context.
        """
        ...

    def score(self, row: int, branches: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Score alternative continuations of a row; the row is unchanged.

        Returns:
            For each branch float32[tokens], the log-probability of each token given the tokens before it. The first
            value is 0, because the logits of the first token were returned when the row was fed.
        """
        ...

    def rollback(self, row: int, count: int) -> None:
        """Remove the last `count` tokens of a row."""
        ...

    def select(self, rows: Sequence[int]) -> None:
        """Keep only these rows, renumbered in the given order."""
        ...


@runtime_checkable
class SupportsLookahead(Protocol):
    """A batch that returns the logits of more than one token of each row at once, and can roll back at little cost."""

    def feed_multi(self, token_ids: Sequence[Sequence[int]], logits_to_keep: int) -> Logits:
        """Feed tokens to each row; see `Batch.feed`.

        Returns:
            float[rows, logits_to_keep, width], the logits of the tokens that follow each of the last tokens of a row;
            undefined where a row was fed fewer tokens.

        Raises:
            ModelError: See `Batch.feed`.
        """
        ...


@runtime_checkable
class SupportsTransfer(Protocol):
    """A batch whose rows can be copied and moved to other batches of the model."""

    def fork(self, row: int, length: int, count: int) -> Batch:
        """Return a new batch of `count` rows, each with the state after the first `length` tokens of a row."""
        ...

    def take(self, row: int) -> Batch:
        """Move a row to a new batch."""
        ...

    def merge(self, other: Batch) -> None:
        """Append the rows of another batch of the model, which has none afterwards."""
        ...


@runtime_checkable
class SupportsShrink(Protocol):
    """A batch that reserves memory for further tokens, and can free it."""

    def shrink(self) -> None:
        """Free reserved memory until the next tokens are fed."""
        ...


@runtime_checkable
class SupportsBatching(Protocol):
    """A model that computes more than one sequence at once."""

    def batch(self) -> Batch | None:
        """Start an empty batch; return `None` if the model can only compute one sequence after the other."""
        ...


@runtime_checkable
class SupportsMessages(Protocol):
    """A model that declares whether it accepts messages; other models are assumed to accept strings and messages."""

    @property
    def takes_messages(self) -> bool:
        """Whether the model has a chat template."""
        ...


@runtime_checkable
class SupportsPlainText(Protocol):
    """A model that reads text without its chat template; the `encode` of other models is assumed to have none."""

    def encode_plain(self, text: str) -> list[int]:
        """Encode a text as the tokens that start a sequence; the answer continues the text.

        The beginning-of-sequence token appears exactly once, and control tokens spelled in the text are ordinary text.
        """
        ...


@runtime_checkable
class HasChatTemplate(Protocol):
    """A model whose chat template is known; its `encode` accepts a `Conversation`.

    An agent writes calls in the format of the chat template if the model has tokens for all delimiters of the format.
    """

    @property
    def chat_template(self) -> str | None:
        """The source of the chat template, if there is one."""
        ...


@runtime_checkable
class SupportsControlTokens(Protocol):
    """A model that can generate control tokens; other models write calls with such delimiters as JSON."""

    def control_token(self, name: str) -> int | None:
        """Return the id of a control token such as `[TOOL_CALLS]`; `None` if there is none, or if it is text."""
        ...


@runtime_checkable
class RandomLogits(Protocol):
    """A test model with random logits: it needs no prompt, and `LowAgreementWarning` is not issued."""

    @property
    def is_random(self) -> Literal[True]:
        """True."""
        ...


@runtime_checkable
class ChecksText(Protocol):
    """A session, or a batch of one row, that checks the chosen text: of a test model."""

    def check_text(self, token_ids: Sequence[int], *, is_complete: bool) -> None:
        """Check the tokens that were fed, followed by `token_ids`.

        Args:
            token_ids: Tokens that are chosen and not yet fed.
            is_complete: Whether the text ends after them.

        Raises:
            ScriptError: The session has another text to write.
        """
        ...


@runtime_checkable
class HasScript(Protocol):
    """A test model that writes given texts."""

    @property
    def checks_text(self) -> bool:
        """Whether its sessions check the text; see `ChecksText`."""
        ...

    def check_finished(self) -> None:
        """Check that all texts were written.

        Raises:
            ScriptError: Texts are left.
        """
        ...


@runtime_checkable
class SupportsThinking(Protocol):
    """A model that can think before it answers."""

    def encode_thinking(self, prompt: str | Sequence[Message]) -> list[int]:
        """Encode a prompt as `LogitsModel.encode` does, ready for thinking instead of the answer."""
        ...

    @property
    def end_of_thinking(self) -> tuple[int, ...]:
        """The tokens that end the thinking: a control token, or text."""
        ...
