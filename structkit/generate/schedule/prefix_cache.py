"""The prefix cache: a new sequence reuses the cached state of a row with which it shares a prefix."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from structkit.generate.decode.decode import common_length
from structkit.models.protocols import Batch, Logits, SupportsShrink

__all__ = ["CachedRow", "PrefixCache"]


class CachedRow:
    """The state of a row that left its batch, for a sequence with a common prefix.

    The steps of a conversation are such sequences: each prompt continues the text of the last step.

    Attributes:
        token_ids: The tokens of the state.
        read_tokens: Number of tokens that the model has read for the sequences of this row.
    """

    def __init__(self) -> None:
        self._batch: Batch | None = None
        self.token_ids: list[int] = []
        self.read_tokens = 0

    def enter(self, token_ids: Sequence[int]) -> tuple[Batch, Logits] | None:
        """Remove the state, and continue it with a sequence; the model reads what follows the common prefix.

        Returns:
            The batch of the one row, and the logits after the last token; `None` without a common prefix.
        """
        batch, kept = self._batch, self.token_ids
        self._batch, self.token_ids = None, []
        shared = common_length(kept, token_ids)
        self.read_tokens += len(token_ids) - shared
        if batch is None or not shared:
            return None
        if shared < len(kept):
            batch.rollback(0, len(kept) - shared)
        return batch, batch.feed([token_ids[shared:]])

    def store(self, batch: Batch, token_ids: Sequence[int], read_tokens: int = 0) -> None:
        """Keep the state of a row, the only one of a batch, which has read `read_tokens` tokens since it entered."""
        self._batch, self.token_ids = batch, list(token_ids)
        self.read_tokens += read_tokens

    def shrink(self) -> None:
        """See `SupportsShrink.shrink`."""
        if isinstance(self._batch, SupportsShrink):
            self._batch.shrink()


class PrefixCache:
    """Cached rows of conversations, up to `max_tokens` tokens together; the oldest rows are evicted first.

    Thread-safe: a row is either in the cache or owned by one run.
    """

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens
        self._rows: list[CachedRow] = []
        self._lock = Lock()

    def take(self, ids: Sequence[int]) -> CachedRow | None:
        """Remove and return the row with the longest common prefix.

        Return `None` if there is no row, or if at most half of the tokens of that row are in the prefix.
        """
        with self._lock:
            shared = [common_length(row.token_ids, ids) for row in self._rows]
            best = max(range(len(shared)), key=shared.__getitem__, default=0)
            if not shared or 2 * shared[best] <= len(self._rows[best].token_ids):
                return None
            return self._rows.pop(best)

    def put(self, row: CachedRow) -> None:
        """Add a row that has a state, and evict the oldest rows above the maximum."""
        if not row.token_ids:
            return
        if len(row.token_ids) <= self._max_tokens:
            row.shrink()
        with self._lock:
            self._rows.append(row)
            while sum(len(each.token_ids) for each in self._rows) > self._max_tokens:
                del self._rows[0]

    def __len__(self) -> int:
        return len(self._rows)
