"""The draft of a row: what the model has read, what of it was requested, and what is dropped."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from structkit.generate.sample.step import Draft, SampleRequest
from structkit.generate.schedule.job import Row

_MASK = np.zeros(1, np.uint32)


class _Acceptance:
    """What a row tells of its guesses."""

    def __init__(self) -> None:
        self.right = self.wrong = 0

    def update(self, right: int, wrong: int) -> None:
        self.right += right
        self.wrong += wrong


@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=6),
    st.integers(0, 6),
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), min_size=1, max_size=4),
)
@example([(0, False), (0, False), (1, True)], 2, [[0], [0, 1]])
def test_the_draft_that_the_requests_confirm_is_accepted(
    drafted: list[tuple[int, bool]], forced: int, requests: list[list[int]]
) -> None:
    flow: Iterator[Any] = iter(())
    row: Row[Any] = Row(cast("Any", SimpleNamespace(cached_row=None)), 0, cast("Any", flow))
    row.draft_ids, row.is_guess = [token for token, _ in drafted], [guess for _, guess in drafted]
    row.forced_count = forced = min(forced, len(drafted))
    read, guesses, acceptance = list(row.draft_ids), list(row.is_guess), _Acceptance()
    accepted = right = wrong = 0
    for token_ids in requests:
        dropped = row.set_request(SampleRequest(token_ids=token_ids, mask=_MASK), cast("Any", acceptance))
        same = 0
        while same < min(len(read), len(token_ids)) and read[same] == token_ids[same]:
            same += 1
        right += sum(guesses[:same])
        wrong += same < min(len(read), len(token_ids)) and guesses[same]
        accepted += max(0, same - forced)
        forced = max(0, forced - same)
        assert row.unread == token_ids[same:]
        rest = [] if row.unread else read[same:]
        assert dropped == len(read) - same - len(rest)
        read, guesses = rest, guesses[same:] if rest else []
        assert (row.draft_ids, row.is_guess) == (read, guesses)
        assert (row.accepted_tokens, acceptance.right, acceptance.wrong) == (accepted, right, wrong)


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 5), st.integers(1, 9))
@example(1, 3, 0, 9)
def test_a_draft_follows_all_tokens_of_the_request_and_forced_ones_are_not_drafted(
    requested: int, drafted: int, forced: int, width: int
) -> None:
    flow: Iterator[Any] = iter(())
    row: Row[Any] = Row(cast("Any", SimpleNamespace(cached_row=None)), 0, cast("Any", flow))
    ids, guesses = list(range(10, 10 + drafted)), [at % 2 == 0 for at in range(drafted)]
    row.unread = list(range(requested))
    row.draft = Draft(ids, guesses, forced_count=forced) if forced else Draft(ids, guesses)
    tokens = row.next_tokens(width)
    assert tokens == row.read_ids == [*range(requested), *ids][:width] and row.fed_tokens == len(tokens)
    assert row.unread == list(range(requested))[width:]
    read = max(0, len(tokens) - requested)
    assert (row.draft_ids, row.is_guess) == (ids[:read], guesses[:read])
    assert (row.forced_count, row.drafted_tokens) == (min(forced, read), max(0, read - forced))
