"""The decode flow: one sequence from prompt to end, written once, without a model.

It is a generator, as httpx's `auth_flow` is: it asks for a token after others that the model is to read, and is told
the one that was chosen. Sync, async and batch drivers run the same flow.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from structkit.error_notes import add_location
from structkit.errors import BudgetTooSmall, ModelError, TokenRejected
from structkit.generate.decode.choice_scores import ChoiceScorer
from structkit.generate.decode.config import DecodeConfig, Decoded, Flow, RejectedSpan, ScoreRequest
from structkit.generate.decode.field_budget import FieldBudgets
from structkit.generate.decode.retokenize import Retokenizer, complete_characters
from structkit.generate.decode.speculate import Drafter
from structkit.generate.output.json_reader import Path
from structkit.generate.sample.sample import is_allowed, only_id
from structkit.generate.sample.step import Draft, SampledToken, SampleRequest
from structkit.guide.guide import Cursor
from structkit.vocabulary.control_tokens import CONTROL_BYTE, to_text
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["decode"]


def decode(
    prompt_ids: Sequence[int],
    cursor: Cursor,
    vocabulary: Vocabulary,
    config: DecodeConfig,
    *,
    read_tokens: int = 0,
) -> Flow:
    """Decode one sequence.

    Args:
        prompt_ids: The tokens that begin the sequence; they are asked to be read first.
        cursor: A cursor at the start of the language; it is moved.
        vocabulary: The tokens of the cursor's guide.
        config: How.
        read_tokens: Tokens of another sequence that the model has read, to be taken back first.

    Yields:
        What it asks for; it is sent the answer.

    Returns:
        The complete text, through `StopIteration.value`.

    Raises:
        BudgetTooSmall: The shortest value needs more tokens than the budget; raised at once.
        ModelError: The logits are useless.
    """
    if not cursor.fits(config.budget):
        raise BudgetTooSmall(cursor.min_tokens_to_end(), config.budget)
    return _Decoder(list(prompt_ids), cursor, vocabulary, config, read_tokens).run()


class _Decoder:
    """One run of the flow, and what it keeps count of."""

    def __init__(
        self,
        prompt_ids: list[int],
        cursor: Cursor,
        vocabulary: Vocabulary,
        config: DecodeConfig,
        read_tokens: int,
    ) -> None:
        self.prompt_ids = prompt_ids
        self.cursor = cursor
        self.vocabulary = vocabulary
        self.config = config
        self.generated = config.generated
        self.remaining = config.budget
        self.generator = config.sampling.generator(config.sequence_index)
        self.mask = np.zeros(vocabulary.mask_words, np.uint32)
        self.unbudgeted_mask = np.zeros(vocabulary.mask_words, np.uint32)
        self.unread = list(prompt_ids)
        self.rollback_count = read_tokens
        self.read_tokens = 0
        self.retokenizer = Retokenizer(config.tokenize, vocabulary)
        self.pending_bytes = len(cursor.pending_prompt)
        self.drafter: Drafter | None = None
        self.rejected_texts = config.rejected_texts
        self.rejected_paths: dict[int, Path] = {}
        self.rejected: list[str] = []
        self.is_restricted = False
        self.is_cut_short = False
        self.shortened_at: int | None = None
        self.started_at = 0.0
        self.thinking: str | None = None
        self.is_json = cursor.guide.is_json
        self.choice_scorer: ChoiceScorer | None = None
        if config.with_logprobs and config.choices_at is not None:
            self.choice_scorer = ChoiceScorer(
                cursor, config.choices_at, self.generated.reader if self.is_json else None
            )
        limits = config.field_limits
        self.field_budgets = None
        if limits is not None:
            self.field_budgets = FieldBudgets(cursor.guide, limits, self.generated.reader)

    def run(self) -> Flow:
        """The flow: write, have it looked at, and take back what is refused, as often as there are retries."""
        self.started_at = time.perf_counter()
        if self.config.max_thinking_tokens:
            yield from self.think()
        refusal = self.config.rejection
        while (yield from self.write()):
            text = to_text(bytes(self.generated.text))
            refusal = None if self.config.validate is None else self.config.validate(text)
            if refusal is None:
                break
            self.rejected.append(text)
            self.rejected_texts.add(bytes(self.generated.text), refusal.start, refusal.end)
            if len(self.rejected) > self.config.retries:
                break
            self.retract(refusal)
            if self.config.charge_discarded and not self.cursor.fits(self.remaining):
                break
        return self.result(refusal)

    def think(
        self,
    ) -> Generator[SampleRequest | ScoreRequest, SampledToken | list[NDArray[np.float32]], None]:
        """Let the model write what it likes, until it ends its thoughts or has none left; then end them."""
        ends, tokens = list(self.config.end_of_thinking), self.vocabulary.tokens
        self.mask[:] = _text_mask(self.vocabulary)
        for token in ends:
            self.mask[token >> 5] |= np.uint32(1 << (token & 31))
        after = self.retokenizer.encode("\n\n")
        mark = b"".join(tokens[token] if token < len(tokens) else b"" for token in ends)
        text = b""
        most = self.generated.thinking_tokens + self.config.max_thinking_tokens
        while self.generated.thinking_tokens < most and not self.is_overdue():
            token = (yield from self.sample()).token_id
            self.prompt_ids.append(token)
            self.generated.thinking_tokens += 1
            self.unread.append(token)
            if [token] == ends:
                break
            text += tokens[token]
            found = text.rfind(mark, -len(mark) - len(tokens[token])) if mark else -1
            if found >= 0:  # what follows it in the same token is part of the answer's white space
                text = text[:found]
                break
        else:
            after = ends + after
        self.unread += after
        self.prompt_ids += after
        self.thinking = text.decode(errors="replace").strip()

    def write(
        self,
    ) -> Generator[SampleRequest | ScoreRequest, SampledToken | list[NDArray[np.float32]], bool]:
        """Write to the end of a value, if one is not banned; a way that only leads to banned ones is banned too."""
        while True:
            self.fast_forward()
            room, must_end = self.token_budget(), self.cursor.is_finished
            if (must_end or room == 0) and self.rejected_texts.may_stop(self.generated.text):
                self.is_cut_short = not must_end
                return True
            if must_end or not (self.fill_masks(room) or self.fill_masks(self.remaining)):
                if not self.backtrack():
                    return False
                continue
            token = self.only_token()
            score, forced = (0.0, 0.0), token is not None
            if token is None:
                told = yield from self.sample()
                token, score = self.receive(told), (told.logprob, told.masked_probability)
            if token in self.vocabulary.eos_token_ids:
                return True
            self.cursor.advance(token)
            self.append([token], score, forced=forced)

    def token_budget(self) -> int:
        """The tokens that there is room for: no more than what ends the value if it is very deep, or time is over."""
        hurried = self.is_overdue() or (
            self.is_json and self.generated.reader.follow(self.generated.text).is_deep
        )
        return min(self.remaining, self.cursor.min_tokens_to_end()) if hurried else self.remaining

    def is_overdue(self) -> bool:
        """Whether the time is over."""
        return self.config.deadline is not None and time.perf_counter() > self.config.deadline

    def fill_masks(self, budget: int) -> bool:
        """Look at what may follow; whether there is anything."""
        self.cursor.fill_mask(self.unbudgeted_mask)
        self.cursor.fill_mask(self.mask, budget)
        if self.field_budgets is not None:
            self.field_budgets.restrict(self.mask, self.generated.text, self.generated.token_ids)
        if self.rejected_texts:
            for mask in (self.unbudgeted_mask, self.mask):
                self.rejected_texts.apply_to(mask, self.generated.text, self.cursor)
        self.is_restricted = not np.array_equal(self.mask, self.unbudgeted_mask)
        return not self.rejected_texts or bool(self.mask.any())

    def only_token(self) -> int | None:
        """The token that must follow, if the model need not be asked."""
        if self.is_restricted and self.shortened_at is None:
            return None  # the model is asked, to learn whether it would have gone another way
        return only_id(self.mask)

    def sample(
        self,
    ) -> Generator[SampleRequest | ScoreRequest, SampledToken | list[NDArray[np.float32]], SampledToken]:
        """Ask for a token, and where a choice begins also how likely each of its values is."""
        asked = time.perf_counter()
        choice = None
        if self.choice_scorer is not None and (
            not self.config.max_thinking_tokens or self.thinking is not None
        ):
            choice = self.choice_scorer.start_choice(
                self.generated.text, self.retokenizer.encode, self.remaining
            )
        told = cast(
            "SampledToken", (yield self.sample_request(() if choice is None else choice.first_tokens))
        )
        if choice is not None:
            scores = cast("list[NDArray[np.float32]]", (yield ScoreRequest(choice.branches)))
            choice.set_probabilities(told, scores)
        self.started_at += time.perf_counter() - asked  # the model's time is not the flow's
        return told

    def sample_request(self, candidates: tuple[int, ...]) -> SampleRequest:
        """Ask for a token after those that the model has not read yet."""
        ask = SampleRequest(
            token_ids=self.unread,
            mask=self.mask,
            unbudgeted_mask=self.unbudgeted_mask
            if self.is_restricted and self.shortened_at is None
            else None,
            sampling=self.config.sampling,
            generator=self.generator,
            rollback_count=self.rollback_count,
            transform=None if self.config.processors is None else self.transform,
            with_logprobs=self.config.with_logprobs,
            candidates=candidates,
            location=self.location,
            draft=self.draft if self.can_draft and not candidates else None,
        )
        self.read_tokens += len(self.unread)
        self.unread, self.rollback_count = [], 0
        return ask

    @property
    def location(self) -> str:
        """Where it stands, for errors."""
        if self.config.max_thinking_tokens and self.thinking is None:
            return f"token {self.generated.thinking_tokens} of the thoughts"
        return f"token {len(self.generated.token_ids)}"

    @property
    def can_draft(self) -> bool:
        """Whether what follows may be drafted: thoughts are not."""
        return self.config.max_draft_tokens > 0 and (
            self.config.max_thinking_tokens == 0 or self.thinking is not None
        )

    def draft(self, max_tokens: int) -> Draft:
        """Up to so many tokens that may well come next, and for which there is room."""
        begin = time.perf_counter()
        if self.drafter is None:
            self.drafter = self.config.drafter_factory(self.prompt_ids, self.vocabulary, self.retokenizer)
        max_tokens = min(max_tokens, self.config.max_draft_tokens, self.remaining - 1)
        draft = self.drafter.draft(self.cursor, max_tokens)
        self.started_at -= time.perf_counter() - begin - draft.seconds  # it is asked for in the model's time
        return draft

    def transform(self, row: NDArray[np.float32], mask: NDArray[np.uint32]) -> NDArray[np.float32]:
        """The logits after the processors."""
        if self.config.processors is None:
            return row
        try:
            return self.config.processors.apply([*self.prompt_ids, *self.generated.token_ids], row, mask)
        except ModelError as error:
            add_location(error, self.location)
            raise

    def receive(self, sampled: SampledToken) -> int:
        """The token chosen; notice when the model would rather have gone where the budget has no room."""
        if sampled.unbudgeted_token_id is not None and not is_allowed(self.mask, sampled.unbudgeted_token_id):
            self.shortened_at = len(self.generated.token_ids)
        return sampled.token_id

    def fast_forward(self) -> None:
        """Take the tokens of the text that must come next, as far as what follows cannot respell them."""
        forced = self.cursor.forced_bytes()
        if len(forced) == self.pending_bytes or self.rejected_texts.matches(
            self.generated.text, forced[self.pending_bytes :]
        ):
            return
        ids = self.retokenize(forced)[: self.remaining]
        taken = 0
        try:
            for token_id in ids:
                self.cursor.advance(token_id)
                taken += 1
        except TokenRejected:
            self.cursor.rollback(taken)
            return
        if not self.cursor.is_finished:  # what follows may respell the last tokens; at the end nothing does
            surplus = taken - min(
                max(0, taken - 1), self.retokenizer.stable_count(complete_characters(forced))
            )
            self.cursor.rollback(surplus)
            taken -= surplus
        while taken and not self.cursor.fits(self.remaining - taken):
            self.cursor.rollback(1)
            taken -= 1
        self.append(ids[:taken], (0.0, 0.0), forced=True)

    def retokenize(self, forced: bytes) -> list[int]:
        """The tokens that the model's tokenizer writes for forced bytes, if it can."""
        text = complete_characters(forced)
        if (
            not self.config.fast_forward or len(forced) < 2 or not text
        ):  # one byte leaves only a choice between tokens
            return []
        return self.retokenizer.encode(text)

    def append(self, token_ids: list[int], score: tuple[float, float], *, forced: bool) -> None:
        """Write tokens that the cursor has taken."""
        written = self.generated
        self.unread += token_ids
        for token_id in token_ids:
            token = self.vocabulary.tokens[token_id]
            text = token[self.pending_bytes :]
            if not text:  # it spells the end of the prompt again, and nothing else
                self.pending_bytes -= len(token)
                self.prompt_ids.append(token_id)
                continue
            written.token_ids.append(token_id)
            written.token_bytes.append(text)
            # What does not spell the prompt is not what the target forbids.
            written.scores.append((score[0], 0.0) if self.pending_bytes else score)
            written.is_forced.append(forced)
            written.text += text
            self.pending_bytes = 0
            self.remaining -= 1

    def retract(self, rejection: RejectedSpan) -> None:
        """Take back a value that was refused."""
        self.rejected_paths[rejection.start] = rejection.path
        self.rewind(rejection.start)

    def backtrack(self) -> bool:
        """Leave a way that leads to banned texts alone, by its last token; whether there may be another."""
        text = bytes(self.generated.text)
        start = self.rejected_texts.value_start(text)
        if start is None or start >= len(text):
            return False
        self.rejected_texts.add_prefix(start, text)
        self.rewind(len(text) - 1)
        return not self.config.charge_discarded or self.cursor.fits(self.remaining)

    def rewind(self, start: int) -> None:
        """Take back the tokens from the one that holds the byte `start`."""
        written = self.generated
        count, length = len(written.token_ids), len(written.text)
        while length > start:
            count -= 1
            length -= len(written.token_bytes[count])
            self.pending_bytes = len(self.vocabulary.tokens[written.token_ids[count]]) - len(
                written.token_bytes[count]
            )
        taken = len(written.token_ids) - count
        if self.shortened_at is not None and self.shortened_at >= count:
            self.shortened_at = None
        self.cursor.rollback(taken)
        self.remaining += 0 if self.config.charge_discarded else taken
        written.truncate(count, length, self.rejected_paths.get(start, ()))
        for watcher in (self.choice_scorer, self.field_budgets):
            if watcher is not None:
                watcher.truncate(length)
        unread = min(taken, len(self.unread))
        del self.unread[len(self.unread) - unread :]
        self.rollback_count += taken - unread
        self.read_tokens -= taken - unread
        if not self.unread:  # the logits after the last token that stays are wanted again
            self.unread = [written.token_ids[-1] if written.token_ids else self.prompt_ids[-1]]
            self.rollback_count += 1
            self.read_tokens -= 1

    def result(self, rejection: RejectedSpan | None) -> Decoded:
        """What was written, at the end."""
        shortened = self.shortened_at is not None or self.is_cut_short
        return Decoded(
            token_ids=tuple(self.generated.token_ids),
            finish_reason="budget" if shortened else "stop",
            forced_tokens=sum(self.generated.is_forced),
            seconds=time.perf_counter() - self.started_at,
            rejected=tuple(self.rejected),
            rejection=rejection,
            read_tokens=self.read_tokens + self.rollback_count,
            choices={} if self.choice_scorer is None else self.choice_scorer.probabilities(),
            thinking=self.thinking,
        )


def _text_mask(vocabulary: Vocabulary) -> NDArray[np.uint32]:
    """uint32[words]: the tokens that are text."""
    is_text = np.zeros(32 * vocabulary.mask_words, bool)
    is_text[: vocabulary.size] = [
        bool(token) and not token.startswith(CONTROL_BYTE) for token in vocabulary.tokens
    ]
    return np.packbits(is_text, bitorder="little").view(np.uint32)
