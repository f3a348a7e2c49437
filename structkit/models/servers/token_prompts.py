"""Prompts of token ids: a request after a correction continues exactly the tokens that the server has evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from structkit.lru_cache import LruCache
from structkit.models.text.protocol import TextRequest
from structkit.models.text.render import render_messages

__all__ = ["ReadTokens", "TokenPrompts", "token_ids"]

_MAX_PROMPTS = 256
"""Prompts whose tokens are kept: as many values are corrected at once, at most."""


@dataclass(slots=True)
class ReadTokens:
    """The tokens of one request and its reply.

    Attributes:
        text: The start of the answer in the request.
        ids: The tokens of the prompt and this start; empty if the server did not return them.
        pieces: The texts of the reply with their tokens, in order.
        pending: Tokens whose text has not arrived, because they are a part of a character.
    """

    text: str
    ids: tuple[int, ...] = ()
    pieces: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    pending: tuple[int, ...] = ()
    is_known: bool = True

    def add(self, reply: Mapping[str, object], text: str) -> None:
        """Read one object of a reply, whose text is given."""
        choices = reply.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        if not isinstance(choice, Mapping):
            return
        prompt = token_ids(reply.get("prompt_token_ids")) or token_ids(choice.get("prompt_token_ids"))
        if prompt and not self.ids:
            self.ids = prompt
        # Reasoning is between the prompt and the answer, and no part of the text.
        delta = choice.get("delta")
        if isinstance(delta, Mapping) and (delta.get("reasoning") or delta.get("reasoning_content")):
            self.is_known = False
        ids = self.pending + token_ids(choice.get("token_ids"))
        if not text:
            self.pending = ids
        elif not ids:  # the server does not return them
            self.is_known = False
        else:
            self.pieces.append((text, ids))
            self.pending = ()

    def up_to(self, prefix: str) -> tuple[list[int], str] | None:
        """Return the tokens of the prompt and of a start of the answer as far as they are known, and the rest of it.

        `None` if they are not known, or if the start is not one that the server has read or written.

        >>> read = ReadTokens('{"', (5, 6), [("age", (7,)), ('": x', (8, 9))])
        >>> read.up_to('{"age": 3'), read.up_to('{"name')
        (([5, 6, 7], '": 3'), ([5, 6], 'name'))
        >>> read.up_to("[") is None
        True
        """
        if not (self.is_known and self.ids and prefix.startswith(self.text)):
            return None
        ids, length = list(self.ids), len(self.text)
        for text, added in self.pieces:
            if not prefix.startswith(text, length):
                break
            ids += added
            length += len(text)
        # Without a start, the prompt can end before reasoning or prose, which the answer does not have.
        return None if not self.text and length == 0 else (ids, prefix[length:])


class TokenPrompts:
    """The tokens of the last request of each prompt, for all threads of a model.

    >>> prompts = TokenPrompts()
    >>> read = prompts.begin(TextRequest(prompt="Who?", prefix='{"'))
    >>> read.add({"prompt_token_ids": [5, 6], "choices": [{"token_ids": [7]}]}, "age")
    >>> prompts.find(TextRequest(prompt="Who?", prefix='{"age": '))
    ([5, 6, 7], '": ')
    """

    def __init__(self) -> None:
        self._read: LruCache[object, ReadTokens] = LruCache(_MAX_PROMPTS)

    def begin(self, request: TextRequest) -> ReadTokens:
        """Return the record for a request; it replaces that of the last request with the same prompt."""
        read = ReadTokens(request.prefix)
        self._read.put(_key(request), read)
        return read

    def find(self, request: TextRequest) -> tuple[list[int], str] | None:
        """Return the tokens of a request as far as they are known, and the rest of its start of the answer."""
        read = self._read.get(_key(request))
        return None if read is None else read.up_to(request.prefix)


def _key(request: TextRequest) -> object:
    """Return the prompt, with what the request states of the texts that can follow."""
    prefix = request.prefix or "?"
    messages = render_messages(replace(request, prefix=prefix), continues=True)
    messages[-1]["content"] = messages[-1]["content"].removesuffix(prefix)
    return tuple((each["role"], each["content"]) for each in messages)


def token_ids(found: object) -> tuple[int, ...]:
    """Return token ids; none if the value is something else."""
    is_ids = isinstance(found, list) and all(type(each) is int and each >= 0 for each in found)
    return tuple(cast("list[int]", found)) if is_ids else ()
