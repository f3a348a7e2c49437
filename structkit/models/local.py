"""The common part of models that run in this process: prompts, thinking, and the check of tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from structkit.arguments.shared import Uncopied
from structkit.errors import ModelError
from structkit.models.capabilities import Capabilities
from structkit.models.chat_template import ChatTokenizer, PromptEncoder
from structkit.models.protocols import Message
from structkit.models.thinking import find_thinking_tags
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["LocalModel"]


class LocalModel(Uncopied, ABC):
    """A `LogitsModel` without its computation.

    Attributes:
        name: Name of the model in messages and traces.
        vocabulary: The tokens that the model can generate; the logits may be wider.
        context_length: Maximum number of tokens of a sequence, if known.
    """

    pickle_remedy = "load it in the other process"

    def __init__(
        self,
        tokenizer: ChatTokenizer,
        vocabulary: Vocabulary,
        context_length: int | None,
        *,
        name: str,
        thinking_tags: tuple[str, str] | None,
    ) -> None:
        self.name = name
        self.vocabulary = vocabulary
        self.context_length = context_length
        self._encoder = PromptEncoder(tokenizer, vocabulary)
        self._thinking_tags = find_thinking_tags(thinking_tags, self.chat_template, self._encoder.is_added)

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of tokens that the model can read."""

    @abstractmethod
    def decode(self, token_ids: Sequence[int]) -> str:
        """Decode tokens, including control tokens, to readable text."""

    def encode(self, prompt: str | Sequence[Message]) -> list[int]:
        """Encode a prompt as the first tokens of a sequence; see `LogitsModel.encode`.

        Raises:
            ModelError: Messages without a chat template, or the template rejects them.
        """
        return self._encoder.encode(prompt)

    def encode_plain(self, text: str) -> list[int]:
        """Encode a text without a chat template; see `SupportsPlainText.encode_plain`.

        Raises:
            ModelError: The text is not Unicode.
        """
        return self._encoder.encode_plain(text)

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        return Capabilities(logits="full", takes_messages=self.takes_messages)

    @property
    def takes_messages(self) -> bool:
        """Whether there is a chat template; see `SupportsMessages`."""
        return self._encoder.takes_messages

    @property
    def chat_template(self) -> str | None:
        """The source of the chat template; see `HasChatTemplate`."""
        return self._encoder.chat_template

    def control_token(self, name: str) -> int | None:
        """Return the control token of a name; see `SupportsControlTokens`."""
        return self._encoder.control_token(name)

    def encode_thinking(self, prompt: str | Sequence[Message]) -> list[int]:
        """Encode a prompt as the first tokens of a sequence with thinking; see `SupportsThinking`.

        The chat template writes the start tag if it supports thinking; otherwise the tag is appended.
        """
        token_ids, start_tag = self._encoder.encode(prompt, thinking=True), self._thinking_tags[0]
        if self.decode(token_ids[-len(start_tag) - 8 :]).rstrip().endswith(start_tag):
            return token_ids
        return [*token_ids, *self._encoder.encode_tag(start_tag), *self.encode_text("\n")]

    @property
    def end_of_thinking(self) -> tuple[int, ...]:
        """The token of the end tag, such as `</think>`, or its encoding if there is no such token."""
        return tuple(self._encoder.encode_tag(self._thinking_tags[1]))

    def encode_text(self, text: str) -> list[int]:
        """Encode text in the middle of a sequence; see `LogitsModel.encode_text`.

        Raises:
            VocabularyError: The tokenizer cannot encode it.
        """
        return self._encoder.encode_text(text)

    def check_readable(self, token_ids: Sequence[int], tokens_before: int) -> None:
        """Check that the model can read tokens after `tokens_before` others.

        Raises:
            ModelError: There are no tokens, a token is unknown to the model, or the sequence is too long.
        """
        length = tokens_before + len(token_ids)
        location = f"{self.name}, token {length}"
        if not token_ids:
            raise ModelError("the list of tokens is empty; pass at least one token", place=location)
        context = self.context_length
        if context is not None and length > context:
            raise ModelError(
                f"the sequence has {length} tokens, {length - context} more than the model's context of {context}; "
                "shorten the prompt or lower max_tokens",
                place=location,
            )
        # On an accelerator, an id beyond the embeddings does not raise but breaks the CUDA context.
        width = self.width
        invalid = next((token_id for token_id in token_ids if not 0 <= token_id < width), None)
        if invalid is not None:
            raise ModelError(
                f"token {invalid} is out of range: the model has {width} tokens; use the model's own tokenizer",
                place=location,
            )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"
