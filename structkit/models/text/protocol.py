"""The protocol of text models, which return text and no logits, and the request that they answer."""

from __future__ import annotations

import math
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from structkit.arguments.checks import check_count, check_number
from structkit.models.capabilities import Capabilities, Constraint
from structkit.models.protocols import LogitsModel, Message

__all__ = [
    "AnyModel",
    "CancellablePieces",
    "NativeConstraint",
    "SupportsTokenIds",
    "TextModel",
    "TextRequest",
    "check_reply_bounds",
]


@dataclass(frozen=True, slots=True)
class NativeConstraint:
    """What can follow the accepted start of an answer, for a model that enforces it.

    Attributes:
        kind: The notation; one of `Capabilities.constraints`.
        text: The regex, or the grammar in GBNF with the start `root`.
        schema: The JSON Schema of a whole answer, which the model enforces completely.
    """

    kind: Constraint
    text: str = ""
    schema: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRequest:
    """The request for one reply of a text model.

    Attributes:
        prompt: A text, or messages if the model takes messages.
        prefix: The accepted start of the answer; the reply continues it.
        max_tokens: More tokens than this are not needed.
        choices: The texts that can follow the prefix, if the model wrote something else there before and they are few.
        hint: A description of what can follow the prefix, if the texts are too many.
        refused: What the model wrote there, which cannot follow.
        constraint: What can follow the prefix, in a notation that the model enforces; `None` if there is none.
        says_choices: Whether the prompt lists the choices. Where the constraint has them, the prompt stays as it was,
            so that a prefix cache has it.
        seconds: Seconds after which the caller stops waiting for the reply; `None` if they are not known.
    """

    prompt: str | tuple[Message, ...]
    prefix: str = ""
    max_tokens: int | None = None
    choices: tuple[str, ...] = ()
    hint: str = ""
    refused: str = ""
    constraint: NativeConstraint | None = None
    says_choices: bool = True
    seconds: float | None = None


@runtime_checkable
class TextModel(Protocol):
    """A model that returns text: a function, or a server without logits."""

    @property
    def name(self) -> str:
        """Name of the model in messages and traces."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        ...

    @property
    def timeout(self) -> float | None:
        """Maximum number of seconds of one reply."""
        ...

    @property
    def max_calls(self) -> int:
        """Maximum number of replies for one value."""
        ...

    @property
    def lock(self) -> threading.Lock | None:
        """The lock that is held during a reply; `None` if replies may be made side by side."""
        ...

    def request(self, request: TextRequest) -> Iterator[str] | AsyncIterator[str]:
        """Start a reply, and return its pieces: strings, or `ScoredText` if the model ranks its tokens.

        The call, and each piece of a sync iterator, runs in a thread of the reply; each piece of an async iterator is
        awaited on the event loop of the caller. The iterator is closed, by its `close` or `aclose` if it has one, once
        the rest of the reply is not needed. If a piece is waited for at that time, `CancellablePieces` are cancelled,
        and the task of an async iterator is.

        Raises:
            ModelError: The model failed.
        """
        ...


class CancellablePieces:
    """The pieces of a sync reply, of which another thread can end the one that is waited for.

    Args:
        pieces: The pieces.
        cancel: Ends a piece that is waited for, with any error, and returns whether it ends at once. Called from
            another thread, at any time.
    """

    def __init__(self, pieces: Generator[str, None, None], cancel: Callable[[], bool]) -> None:
        self._pieces = pieces
        self.cancel = cancel

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._pieces)

    def close(self) -> None:
        """Close the reply."""
        self._pieces.close()


@runtime_checkable
class SupportsTokenIds(Protocol):
    """A text model that can continue from token ids; see `Capabilities.token_ids`."""

    def token_ids(self, request: TextRequest) -> Sequence[int] | None:
        """Return the ids of the prompt and the start of the answer with which a request continues from earlier replies.

        `None` if they are not known, so that the request has a text.

        Raises:
            ModelError: The model failed.
        """
        ...


AnyModel: TypeAlias = LogitsModel | TextModel
"""A model with logits, or one that returns text: the type of `model` in all functions that take one."""


def check_reply_bounds(timeout: float, max_calls: int) -> None:
    """Check the bounds on the replies of a model.

    Raises:
        TypeError: An argument is no number.
        ValueError: A number is out of range.

    >>> check_reply_bounds(60.0, 0)
    Traceback (most recent call last):
    ValueError: max_calls must be at least 1, not 0
    """
    check_number("timeout", timeout, 0, math.inf, exclusive=True)
    check_count("max_calls", max_calls, 1)
