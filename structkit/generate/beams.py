"""Beam search under a guide: the likeliest texts of a language, as far as a few hypotheses at once can tell."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from structkit.errors import BudgetTooSmall
from structkit.generate.drive import check_cancelled
from structkit.generate.nesting import Nesting
from structkit.generate.sample import allowed_logits, failure, logsumexp, only_id
from structkit.guide.guide import Cursor
from structkit.models.base import Logits, Rows
from structkit.models.single import logits_of

__all__ = ["Beam", "search"]


@dataclass(slots=True)
class Beam:
    """A hypothesis.

    Attributes:
        cursor: Where it stands.
        left: The tokens that it may still have.
        token_ids: Its tokens, the end token not included, nor those that spell the end of the prompt again.
        texts: What each of them writes.
        scores: For each its log-probability among the allowed tokens, and the probability that the mask removed.
        forced: For each whether nothing else could follow.
        logprob: The sum of the log-probabilities.
        unread: Tokens that the model has not read yet.
        nesting: How deep it is, if it is JSON.
        cut: Whether it was brought to its end because it was very deep.
    """

    cursor: Cursor
    left: int
    token_ids: list[int] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    scores: list[tuple[float, float]] = field(default_factory=list)
    forced: list[bool] = field(default_factory=list)
    logprob: float = 0.0
    unread: list[int] = field(default_factory=list)
    nesting: Nesting | None = None
    cut: bool = False

    @property
    def whole(self) -> bool:
        """Whether neither the budget nor its depth ended it."""
        return not self.cut and (self.left > 0 or self.cursor.must_end)

    def extended(self, token: int, logprob: float, removed: float) -> Beam:
        """The hypothesis with one more token, and those that must follow it."""
        beam = Beam(
            self.cursor.fork(),
            self.left,
            [*self.token_ids],
            [*self.texts],
            [*self.scores],
            [*self.forced],
            self.logprob + logprob,
            nesting=None if self.nesting is None else self.nesting.fork(),
            cut=self.cut,
        )
        beam.take(token, (logprob, removed), forced=False)
        return beam

    def take(self, token: int, score: tuple[float, float], *, forced: bool) -> None:
        """Add a token."""
        text = self.cursor.guide.vocabulary.tokens[token][len(self.cursor.pending) :]
        self.cursor.advance(token)
        self.unread.append(token)
        if text:
            self.left -= 1
            self.token_ids.append(token)
            self.texts.append(text)
            self.scores.append(score)
            self.forced.append(forced)
            if self.nesting is not None:
                self.nesting.read(text)

    def settle(self) -> NDArray[np.uint32] | None:
        """Take the tokens that must follow; the mask of those that may, or `None` at the end."""
        vocabulary = self.cursor.guide.vocabulary
        mask = np.zeros(vocabulary.words, np.uint32)
        while not self.cursor.must_end and self.left:
            self.look(mask)
            only = only_id(mask)
            if only is None:
                return mask
            if only in vocabulary.end_ids:
                return None
            self.take(only, (0.0, 0.0), forced=True)
        return None

    def look(self, mask: NDArray[np.uint32]) -> None:
        """Look at what may follow; what is very deep has only room for its end."""
        self.cursor.fill_mask(mask, self.left)
        if self.nesting is not None and self.nesting.deep:
            free = mask.copy()
            self.cursor.fill_mask(mask, min(self.left, self.cursor.tokens_to_end()))
            self.cut = self.cut or not np.array_equal(mask, free)


def search(
    rows: Rows,
    prompt_ids: Sequence[int],
    cursor: Cursor,
    *,
    beams: int,
    budget: int,
    cancelled: threading.Event | None = None,
) -> list[Beam]:
    """Search for the likeliest texts.

    A text's log-probability is the sum of those of its tokens among the allowed ones, so a hypothesis never gains by
    going on: the search ends when no open one is likelier than the likeliest that is complete, and there are enough.

    Args:
        rows: A fresh batch of a model, which can hold as many rows as there are beams.
        prompt_ids: The tokens that begin the sequence.
        cursor: A cursor at the start of the language.
        beams: Hypotheses at once.
        budget: The most tokens of each, the end token not counted.
        cancelled: When it is set, all is given up before the model's next step.

    Returns:
        Up to `beams` complete texts, the likeliest first.

    Raises:
        BudgetTooSmall: The shortest value needs more tokens than the budget.
        ModelFailed: The model broke, or its logits are useless.
        Cancelled: `cancelled` was set.
    """
    if not cursor.fits(budget):
        raise BudgetTooSmall(cursor.tokens_to_end(), budget)
    nesting = Nesting() if cursor.guide.is_json else None
    first = Beam(cursor, budget, unread=list(prompt_ids), nesting=nesting)
    mask = first.settle()
    if mask is None:
        return [first]
    open_beams, masks = [first], [mask]
    done: list[Beam] = []
    check_cancelled(cancelled)
    logits = logits_of(lambda: rows.add([first.unread]), 1)
    while open_beams:
        going: list[tuple[Beam, int, NDArray[np.uint32]]] = []
        for logprob, parent, token, removed in _best(logits, open_beams, masks, beams):
            beam, end_ids = open_beams[parent], cursor.guide.vocabulary.end_ids
            if token in end_ids:
                done.append(replace(beam, logprob=logprob))
                continue
            longer = beam.extended(token, logprob - beam.logprob, removed)
            mask = longer.settle()
            if mask is None:
                done.append(longer)
            else:
                going.append((longer, parent, mask))
        done = heapq.nlargest(beams, done, key=lambda beam: beam.logprob)
        # What cannot overtake the last of those that are returned is given up.
        enough = done[-1].logprob if len(done) == beams else -np.inf
        going = [each for each in going if each[0].logprob > enough]
        if not going:
            break
        check_cancelled(cancelled)
        rows.keep([parent for _, parent, _ in going])
        open_beams, masks = [beam for beam, _, _ in going], [mask for _, _, mask in going]
        unread = [beam.unread for beam in open_beams]
        logits = logits_of(partial(rows.feed, unread), len(unread))
    return done


def _best(
    logits: Logits, open_beams: Sequence[Beam], masks: Sequence[NDArray[np.uint32]], count: int
) -> list[tuple[float, int, int, float]]:
    """The likeliest ways to go on: the log-probability of the whole, the beam, the token, what the mask removed."""
    found: list[tuple[float, int, int, float]] = []
    rows = logits if isinstance(logits, np.ndarray) else logits.float().cpu().numpy()
    for number, (beam, mask, row) in enumerate(zip(open_beams, masks, rows, strict=True)):
        ids, values = allowed_logits(row, mask)
        among = logsumexp(values)
        if not np.isfinite(among):
            raise failure(row, mask, f"token {len(beam.token_ids)}")
        removed = max(0.0, 1 - float(np.exp(among - logsumexp(row))))
        top = np.argpartition(-values, min(count, len(values)) - 1)[:count]
        for place in top.tolist():
            token = place if ids is None else int(ids[place])
            if np.isfinite(values[place]):
                found.append((beam.logprob + float(values[place]) - among, number, token, removed))
        beam.unread = []
    return heapq.nlargest(count, found)
