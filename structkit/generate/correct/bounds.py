"""When a text model is not asked again: its replies are counted by what they bring, and each bound has a remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias, cast

from structkit.generate.input.request import Request
from structkit.generate.output.trace import Draft
from structkit.guide.guide import Cursor
from structkit.models.text.protocol import TextModel

__all__ = ["MAX_AT_LIMIT", "MAX_HANGING", "MAX_IDLE", "Bound", "Progress", "message_of", "repeats"]

Bound: TypeAlias = Literal["max_corrections", "max_calls", "timeout", "repeats", "idle", "max_tokens"]

_MAX_EQUAL = 4
"""Equal replies after which the model is not asked again: it does not choose at random, or does not read the text."""

MAX_IDLE = 32
"""Idle replies one after another after which the model is not asked again; see `Progress`. With replies of 16 tokens a
string may have about 2,000 characters."""

_TOKEN_BYTES = 16
"""Bytes of a reply that may be one token. A model that writes a token at a time needs many replies for a string."""

MAX_HANGING = 4
"""Replies one after another that hang after at most a token, after which the model is not asked again: each takes as
long as the timeout of the model."""

MAX_AT_LIMIT = 2
"""Replies one after another that the budget cuts without adding to the text, after which the value is completed."""

_REMEDIES = {
    "max_corrections": "allow more with max_corrections=..., describe the expected answer in the prompt, or pass "
    'finish="shortest" to complete the value without the model',
    "max_calls": "allow more calls with max_calls=... of the model, or let each reply be longer",
    "repeats": "ask it to vary its replies, describe the expected answer in the prompt, or pass "
    'finish="shortest" to complete the value without the model',
    "idle": "let the model continue a text, bound strings with max_length=..., let each reply be longer, or pass "
    'finish="shortest" to complete the value without the model',
    "empty": "find out why nothing is written: shorten the prompt, raise the maximum number of tokens of the model, or "
    'pass finish="shortest" to complete the value without the model',
    "timeout": 'allow more seconds with timeout=..., or pass finish="shortest" to complete the value without the model',
}


class Progress:
    """Counts replies since a key or a value, or a line of a text that is not JSON, was completed.

    An idle reply ends by itself and adds text, but the shortest end of the value is as far as before. So it is if a
    model writes prose into an open string. A reply as short as a token is idle only if it equals the last one.

    Args:
        cursor: The cursor at the start of the text.

    Attributes:
        corrections: The replies that were cut or added nothing.
        idle_replies: The idle replies since another one moved the end.
        hanging_replies: The last replies that hung after at most a token.
    """

    def __init__(self, cursor: Cursor) -> None:
        self.corrections = 0
        self.idle_replies = 0
        self.hanging_replies = 0
        self._completed = 0
        self._distance = cursor.min_tokens_to_end()
        self._last = ""

    def count(self, draft: Draft, completed: int, cursor: Cursor) -> None:
        """Count a reply.

        Args:
            draft: The reply.
            completed: The length of the text that is complete.
            cursor: The cursor after the reply.
        """
        distance, is_completed = cursor.min_tokens_to_end(), completed > self._completed
        is_short = len(draft.accepted.encode()) <= _TOKEN_BYTES
        self.hanging_replies = self.hanging_replies + 1 if is_short and draft.end == "timeout" else 0
        self.corrections = (0 if is_completed else self.corrections) + draft.is_correction
        if is_completed or distance != self._distance:
            self.idle_replies = 0
        elif draft.end == "ended" and (not is_short or draft.reply == self._last):
            self.idle_replies += 1
        self._completed, self._distance = max(completed, self._completed), distance
        self._last = draft.reply


def repeats(drafts: Sequence[Draft], idle_replies: int) -> bool:
    """Return whether the last replies are equal, and idle or, to equal requests, without anything that can follow."""
    last = [replace(draft, seconds=0.0) for draft in drafts[-_MAX_EQUAL:]]
    if len(last) < _MAX_EQUAL:
        return False
    if last[0].end in ("refused", "empty"):
        return last.count(last[0]) == _MAX_EQUAL
    replies = {draft.reply for draft in last}
    return idle_replies >= _MAX_EQUAL and len(replies) == 1 and len(last[0].accepted.encode()) > _TOKEN_BYTES


def message_of(bound: Bound, request: Request, text: bytes, drafts: Sequence[Draft]) -> str:
    """Return the message of the error of a bound that was reached."""
    model, settings = cast("TextModel", request.model), request.settings
    last = drafts[-1] if drafts else None
    limits = {
        "max_corrections": f"within max_corrections={settings.max_corrections}",
        "max_calls": f"within max_calls={model.max_calls}",
        "timeout": f"within timeout={settings.timeout}",
        "repeats": f"and gave the same reply {_MAX_EQUAL} times",
        "idle": f"in {MAX_IDLE} replies that brought its end no nearer",
    }
    shown = text[-60:].decode(errors="replace")
    found = "" if last is None or not last.refused else f", where the model wrote {last.refused[:60]!r}"
    remedy = _REMEDIES[bound]
    if last is not None and not last.reply:
        found = ", and the last reply is empty, as with a full context"
        remedy = _REMEDIES["empty"] if bound == "repeats" else remedy
    fault = f"{model.name} did not complete the value {limits[bound]}"
    return f"{fault}: the accepted text ends in {shown!r}{found}; {remedy}"
