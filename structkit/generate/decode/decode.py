"""The decode flow: one sequence from prompt to end, generated once, independent of the driver.

The flow is a generator, like the `auth_flow` of httpx: it yields requests with the tokens that the model must read,
and is sent the chosen token. Sync, async and batch drivers run the same flow.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from structkit.error_notes import add_location, add_note
from structkit.errors import BudgetExceeded, BudgetTooSmall, GenerationError, ModelError, ScriptError
from structkit.generate.decode.budget import budget_exceeded, full_context
from structkit.generate.decode.choice_scores import ChoiceScorer
from structkit.generate.decode.config import (
    Decoded,
    Flow,
    GeneratedTokens,
    RejectedSpan,
    ScoreRequest,
    TextEnd,
    Validate,
)
from structkit.generate.decode.field_budget import FieldBudgets
from structkit.generate.decode.forced import ForcedText, advance_forced, model_spells, with_forced
from structkit.generate.decode.rejected import RejectedTexts
from structkit.generate.decode.retokenize import Retokenizer
from structkit.generate.decode.speculate import AssistantDrafter, Drafter, DrafterFactory, PromptLookupDrafter
from structkit.generate.decode.spellings import spellings_of
from structkit.generate.input.request import Request
from structkit.generate.input.validator import ValidateOutput
from structkit.generate.output.json_reader import Path
from structkit.generate.sample.processors import ProcessorStack
from structkit.generate.sample.sample import is_allowed, only_id
from structkit.generate.sample.step import Draft, SampledToken, SampleRequest
from structkit.guide.guide import Cursor
from structkit.models.protocols import HasScript, SupportsThinking
from structkit.rejected import Rejected
from structkit.targets.targets import Target
from structkit.vocabulary.control_tokens import text_mask, to_text

__all__ = ["Attempt", "common_length"]


class Attempt:
    """One sequence, decoded once: the flow `run`, its cursor and the tokens that it generates.

    Args:
        request: The model, the settings and the number of the sequence.
        prompt_ids: The tokens that begin the sequence; the model reads them first.
        cursor: A cursor at the start of the language; it is moved.
        budget: The maximum number of tokens, without the end token.
        target: The target, which determines the scored choices and the fields with a budget; `None` for neither.
        validate: Returns the value of the complete text; a rejected value is taken back and generated again.
        generated: The record that receives the tokens.
        previous: The attempt before this one, which was rejected; its texts are not written again.

    Raises:
        BudgetTooSmall: The shortest value needs more tokens than the budget.
    """

    def __init__(
        self,
        request: Request,
        prompt_ids: Sequence[int],
        cursor: Cursor,
        budget: int,
        *,
        target: Target[object] | None = None,
        validate: Validate | None = None,
        generated: GeneratedTokens | None = None,
        previous: Decoded | None = None,
    ) -> None:
        if not cursor.fits(budget):
            needed = cursor.min_tokens_to_end()
            raise BudgetTooSmall(
                needed, budget, context=full_context(request, len(prompt_ids), needed, budget)
            )
        settings, vocabulary = request.settings, cursor.guide.vocabulary
        self.request = request
        self.settings = settings
        self.prompt_ids = list(prompt_ids)
        self.cursor = cursor
        self.vocabulary = vocabulary
        self.validate = validate
        self.deadline = request.deadline()
        self.generated = GeneratedTokens() if generated is None else generated
        self.remaining = budget
        self.generator = settings.sampling.generator(request.number)
        self.processors = ProcessorStack(settings.processors, request.logits_model.vocabulary)
        self.mask = np.zeros(vocabulary.mask_words, np.uint32)
        self.unbudgeted_mask = np.zeros(vocabulary.mask_words, np.uint32)
        self.unread = list(prompt_ids)
        self.rollback_count = previous.read_tokens if previous else 0
        self.reread_count = common_length(previous.read_ids, prompt_ids) if previous else 0
        self.read_tokens = 0
        self.model_spells = model_spells(request)
        spellings = spellings_of(request.logits_model) if self.model_spells else None
        self.retokenizer = Retokenizer(request.logits_model.encode_text, vocabulary, spellings)
        self.pending_bytes = len(cursor.pending_prompt)
        self.drafter: Drafter | None = None
        self.forced = ForcedText(vocabulary.tokens, spellings, is_drafted=settings.fast_forward)
        self.rejected_texts = previous.rejected_texts.for_retry() if previous else RejectedTexts()
        self.rejected_paths: dict[int, Path] = {}
        self.rejected = [*previous.rejected] if previous else []
        self.rejections = [*previous.rejections] if previous else []
        self.rejection = previous.rejection if previous else None
        self.is_restricted = self.has_bans = self.is_cut_short = False
        self.shortened_at: int | None = None
        self.started_at = -previous.seconds if previous else 0.0
        self.thinking: str | None = None
        self.is_json = cursor.guide.is_json
        reader = self.generated.reader
        self.choice_scorer: ChoiceScorer | None = None
        if settings.confidence and target is not None:
            self.choice_scorer = ChoiceScorer(cursor, target.choices, reader if self.is_json else None)
        limits = None if target is None else target.field_limits()
        self.field_budgets = None if limits is None else FieldBudgets(cursor.guide, limits, reader)

    def run(self) -> Flow[Decoded]:
        """Generate a value, and again a rejected part, while more than one of `Settings.retries` is left.

        An error that ends the flow after a rejection is the `cause` of the result.

        Raises:
            BudgetExceeded: A limit changed the value, with `on_limit="raise"`.
            ModelError: The logits are unusable.
            Exception: An exception of a validator.
        """
        self.started_at += time.perf_counter()
        thinks = self.settings.max_thinking_tokens > 0
        while True:
            try:
                if thinks:
                    yield from self.think()
                    thinks = False
                if not (yield from self.write()):
                    return self.result()
            except GenerationError as error:
                if self.rejection is None or isinstance(error, (BudgetExceeded, ScriptError)):
                    raise
                return self.result(cause=error)
            yield from self.check_end()
            text = to_text(bytes(self.generated.text))
            value = yield from self.validated(text)
            if not isinstance(value, RejectedSpan):
                self.rejection = None
                return self.result(value)
            if not self.retract(text, value):
                return self.result()

    def validated(self, text: str) -> Flow[object]:
        """Return the value of a complete text, or its rejection."""
        value = None if self.validate is None else self.validate(text)
        validator = self.settings.validate
        if validator is None or isinstance(value, RejectedSpan):
            return value
        asked = time.perf_counter()
        try:
            rejected = yield ValidateOutput(validator, value)
        except Exception as error:  # a fault of the validator, not of the value
            add_note(error, f"the validator raised it for {text:.200}")
            raise
        self.started_at += time.perf_counter() - asked  # the time of the validator does not count
        if isinstance(rejected, Rejected):
            return RejectedSpan(rejected, 0, len(self.generated.text), starts_over=True)
        return value

    def check_end(self) -> Flow[None]:
        """Let a scripted model check the complete text."""
        model = self.request.model
        if isinstance(model, HasScript) and model.checks_text:
            yield TextEnd(self.unread, self.rollback_count)
            self.rollback_count = 0

    def think(self) -> Flow[None]:
        """Generate the thinking until the model or the budget ends it, then append the end of thinking."""
        model, tokens = self.request.logits_model, self.vocabulary.tokens
        ends = list(model.end_of_thinking) if isinstance(model, SupportsThinking) else []
        self.mask[:] = text_mask(self.vocabulary)
        for token in ends:
            self.mask[token >> 5] |= np.uint32(1 << (token & 31))
        after = self.retokenizer.encode("\n\n")
        end_bytes = b"".join(tokens[token] if token < len(tokens) else b"" for token in ends)
        text, max_tokens = b"", self.generated.thinking_tokens + self.settings.max_thinking_tokens
        while self.generated.thinking_tokens < max_tokens and not self.is_overdue():
            token = (yield from self.sample()).token_id
            self.prompt_ids.append(token)
            self.generated.thinking_tokens += 1
            self.unread.append(token)
            if [token] == ends:
                break
            text += tokens[token]
            end = text.rfind(end_bytes, -len(end_bytes) - len(tokens[token])) if end_bytes else -1
            if end >= 0:  # the rest of the token is whitespace before the answer
                text = text[:end]
                break
        else:
            after = ends + after
        self.unread += after
        self.prompt_ids += after
        self.thinking = self.generated.thinking = text.decode(errors="replace").strip()

    def write(self) -> Flow[bool]:
        """Generate a complete text; return False if all are rejected. A prefix of only rejected texts is banned."""
        while True:
            self.fast_forward()
            budget, is_finished = self.token_budget(), self.cursor.is_finished
            if (is_finished or budget == 0) and self.rejected_texts.may_stop(self.generated.text):
                self.is_cut_short = not is_finished
                self.check_limit()
                return True
            if is_finished or not (self.fill_masks(budget) or self.fill_masks(self.remaining)):
                if not self.backtrack():
                    return False
                continue
            token = self.only_token()
            score, forced = (0.0, 0.0), token is not None
            if token is None:
                sampled = yield from self.sample()
                token, score = self.receive(sampled), (sampled.logprob, sampled.masked_probability)
                self.check_limit()
                if self.forced.contains(token):  # the model chooses the spelling, not the text
                    score, forced = (0.0, 0.0), True
            if token in self.vocabulary.eos_token_ids:
                return True
            self.cursor.advance(token)
            self.append([token], score, forced=forced)

    def token_budget(self) -> int:
        """Return the remaining tokens, or those of the shortest completion if the value is very deep or overdue."""
        must_shorten = self.is_overdue() or (
            self.is_json and self.generated.reader.follow(self.generated.text).is_deep
        )
        return min(self.remaining, self.cursor.min_tokens_to_end()) if must_shorten else self.remaining

    def is_overdue(self) -> bool:
        """Return whether the deadline has passed."""
        return self.deadline is not None and time.perf_counter() > self.deadline

    def fill_masks(self, budget: int) -> bool:
        """Fill the masks; return whether any token is allowed."""
        self.cursor.fill_mask(self.unbudgeted_mask)
        self.cursor.fill_mask(self.mask, budget)
        if self.field_budgets is not None:  # a limit of the type, which is not a budget of the call
            for mask in (self.unbudgeted_mask, self.mask):
                self.field_budgets.restrict(mask, self.generated.text, self.generated.token_ids)
        if self.rejected_texts:
            self.has_bans = only_id(self.mask) is None
            for mask in (self.unbudgeted_mask, self.mask):
                self.rejected_texts.apply_to(mask, self.generated.text, self.cursor)
        self.is_restricted = (
            self.mask.tobytes() != self.unbudgeted_mask.tobytes()
        )  # faster than `np.array_equal`
        return not self.rejected_texts or bool(self.mask.any())

    def only_token(self) -> int | None:
        """Return the only allowed token; `None` if the model must choose."""
        if self.is_restricted and self.shortened_at is None:
            return None  # the logits show whether the model prefers a token that the budget excludes
        if self.has_bans and self.settings.confidence:
            return None  # the logits show how probable the only text in place of a rejected one is
        return only_id(self.mask)

    def sample(self) -> Flow[SampledToken]:
        """Request a token and, at the start of a choice, the probability of each of its values."""
        started = time.perf_counter()
        choice = None
        if self.choice_scorer is not None and (
            not self.settings.max_thinking_tokens or self.thinking is not None
        ):
            choice = self.choice_scorer.start_choice(
                self.generated.text, self.retokenizer.encode, self.remaining
            )
        sampled = cast(
            "SampledToken", (yield self.sample_request(() if choice is None else choice.first_tokens))
        )
        if choice is not None:
            scores = cast("list[NDArray[np.float32]]", (yield ScoreRequest(choice.branches)))
            choice.set_probabilities(sampled, scores)
        self.started_at += time.perf_counter() - started  # the time of the model does not count
        return sampled

    def sample_request(self, candidates: tuple[int, ...]) -> SampleRequest:
        """Return the request for the token after the unread ones, which become read."""
        # The only token that bans allow is sampled for its confidence, and must not change later random numbers.
        is_alone = self.has_bans and only_id(self.mask) is not None
        request = SampleRequest(
            token_ids=self.unread,
            mask=self.mask,
            unbudgeted_mask=self.unbudgeted_mask
            if self.is_restricted and self.shortened_at is None
            else None,
            sampling=self.settings.sampling,
            generator=np.random.default_rng(0) if is_alone else self.generator,
            rollback_count=self.rollback_count,
            reread_count=self.reread_count,
            transform=self.transform if self.settings.processors else None,
            with_logprobs=self.settings.confidence,
            possible=self.cursor.continuing_mask() if self.settings.confidence else None,
            candidates=candidates,
            location=self.location,
            draft=self.draft if self.can_draft and not candidates else None,
            forced_ids=() if candidates else tuple(self.forced.drafted_ids(self.remaining)),
        )
        self.read_tokens += len(self.unread)
        self.unread, self.rollback_count, self.reread_count = [], 0, 0
        return request

    @property
    def location(self) -> str:
        """The position in the sequence, for errors."""
        if self.settings.max_thinking_tokens and self.thinking is None:
            return f"token {self.generated.thinking_tokens} of the thinking"
        return f"token {len(self.generated.token_ids)}"

    @property
    def can_draft(self) -> bool:
        """Whether a draft may follow; thinking is not drafted."""
        return self.settings.prompt_lookup > 0 and (
            self.settings.max_thinking_tokens == 0 or self.thinking is not None
        )

    def draft(self, max_tokens: int) -> Draft:
        """Draft at most `max_tokens` tokens within the budget."""
        started = time.perf_counter()
        if self.drafter is None:
            model = self.settings.assistant_model
            create_drafter: DrafterFactory = (
                PromptLookupDrafter if model is None else partial(AssistantDrafter, model)
            )
            self.drafter = create_drafter(self.prompt_ids, self.vocabulary, self.retokenizer)
        forced = self.forced.drafted_ids(self.remaining)
        max_tokens = max(0, min(max_tokens, self.settings.prompt_lookup, self.remaining - 1 - len(forced)))
        for token_id in forced:
            self.cursor.advance(token_id)
        draft = with_forced(forced, self.drafter.draft(self.cursor, max_tokens))
        self.cursor.rollback(len(forced))
        # The scheduler drafts within the time of the model, which does not count. Drafting without a model counts.
        self.started_at -= time.perf_counter() - started - draft.seconds
        return draft

    def transform(self, row: NDArray[np.float32], mask: NDArray[np.uint32]) -> NDArray[np.float32]:
        """Return the logits after the processors."""
        try:
            return self.processors.apply([*self.prompt_ids, *self.generated.token_ids], row, mask)
        except ModelError as error:
            add_location(error, self.location)
            raise

    def receive(self, sampled: SampledToken) -> int:
        """Return the sampled token; record whether the model prefers one that the budget excludes."""
        if sampled.unbudgeted_token_id is not None and not is_allowed(self.mask, sampled.unbudgeted_token_id):
            self.shortened_at = len(self.generated.token_ids)
        self.generated.note_guess(sampled.is_guessed)
        return sampled.token_id

    def fast_forward(self) -> None:
        """Append the tokens of forced text, or note them if the model chooses their spelling."""
        fast = self.settings.fast_forward
        if self.forced or not (fast or self.settings.confidence):
            return
        text = self.cursor.forced_bytes()
        if len(text) == self.pending_bytes or self.rejected_texts.matches(
            self.generated.text, text[self.pending_bytes :]
        ):
            return
        ids = advance_forced(self.cursor, text, self.retokenizer, self.remaining)
        if fast and (self.cursor.is_finished or not self.model_spells):  # at the end, no text depends on it
            self.append(ids, (0.0, 0.0), forced=True)
            return
        self.cursor.rollback(len(ids))
        self.forced.start(ids, text)

    def append(self, token_ids: list[int], score: tuple[float, float], *, forced: bool) -> None:
        """Append tokens by which the cursor has advanced."""
        generated = self.generated
        self.unread += token_ids
        self.forced.advance(token_ids)
        for token_id in token_ids:
            token = self.vocabulary.tokens[token_id]
            text = token[self.pending_bytes :]
            if not text:  # the token only repeats the end of the prompt
                self.pending_bytes -= len(token)
                self.prompt_ids.append(token_id)
                continue
            generated.token_ids.append(token_id)
            generated.token_bytes.append(text)
            generated.scores.append(score)
            generated.is_forced.append(forced)
            generated.text += text
            self.pending_bytes = 0
            self.remaining -= 1

    def retract(self, text: str, rejection: RejectedSpan) -> bool:
        """Take a rejected value back, unless the next attempt starts over; return whether another may be generated."""
        self.rejection = rejection
        self.rejected.append(text)
        written = bytes(self.generated.text)
        self.rejected_texts.add(written, rejection.start, rejection.end, is_json=self.is_json)
        starts_over = rejection.starts_over or len(self.rejected) >= self.settings.retries
        self.rejections.append(replace(rejection, starts_over=starts_over))
        if starts_over:
            return False
        self.rejected_paths[rejection.start] = rejection.path
        self.rewind(rejection.start)
        return not self.settings.charge_discarded or self.cursor.fits(self.remaining)

    def backtrack(self) -> bool:
        """Take back the last token of a prefix of only rejected texts; return whether others are possible."""
        text = bytes(self.generated.text)
        start = self.rejected_texts.value_start(text)
        if start is None or start >= len(text):
            return False
        self.rejected_texts.add_prefix(start, text)
        self.rewind(len(text) - 1)
        return not self.settings.charge_discarded or self.cursor.fits(self.remaining)

    def rewind(self, start: int) -> None:
        """Take back all tokens from the one that contains the byte `start`."""
        generated = self.generated
        count, length = len(generated.token_ids), len(generated.text)
        while length > start:
            count -= 1
            length -= len(generated.token_bytes[count])
            self.pending_bytes = len(self.vocabulary.tokens[generated.token_ids[count]]) - len(
                generated.token_bytes[count]
            )
        removed = len(generated.token_ids) - count
        if self.shortened_at is not None and self.shortened_at >= count:
            self.shortened_at = None
        self.cursor.rollback(removed)
        self.forced.start([])
        self.remaining += 0 if self.settings.charge_discarded else removed
        generated.truncate(count, length, self.rejected_paths.get(start, ()))
        for each in (self.choice_scorer, self.field_budgets):
            if each is not None:
                each.truncate(length)
        unread = min(removed, len(self.unread))
        del self.unread[len(self.unread) - unread :]
        self.rollback_count += removed - unread
        self.read_tokens -= removed - unread
        if not self.unread:  # the logits after the last remaining token are needed again
            self.unread = [generated.token_ids[-1] if generated.token_ids else self.prompt_ids[-1]]
            self.rollback_count += 1
            self.read_tokens -= 1

    @property
    def is_shortened(self) -> bool:
        """Whether a limit changed the text."""
        return self.shortened_at is not None or self.is_cut_short

    def check_limit(self) -> None:
        """Raise `BudgetExceeded` if a limit changed the text, and `on_limit` says so."""
        if not self.is_shortened or self.settings.on_limit == "answer":
            return
        generated = self.generated
        raise budget_exceeded(
            self.request,
            self.remaining + len(generated.token_ids),
            generated.text,
            is_json=self.is_json,
            is_overdue=self.is_overdue(),
            is_deep=self.is_json and generated.reader.follow(generated.text).is_deep,
        )

    def result(self, value: object = None, cause: Exception | None = None) -> Decoded:
        """Return the result of the attempt."""
        return Decoded(
            token_ids=tuple(self.generated.token_ids),
            finish_reason="budget" if self.is_shortened else "stop",
            forced_tokens=sum(self.generated.is_forced),
            seconds=time.perf_counter() - self.started_at,
            value=value,
            rejected=tuple(self.rejected),
            rejections=tuple(self.rejections),
            rejected_texts=self.rejected_texts,
            rejection=self.rejection,
            cause=cause,
            read_tokens=self.read_tokens + self.rollback_count,
            read_ids=tuple([*self.prompt_ids, *self.generated.token_ids][: self.read_tokens]),
            choices={} if self.choice_scorer is None else self.choice_scorer.probabilities(),
            thinking=self.thinking,
        )


def common_length(read_ids: Sequence[int], prompt_ids: Sequence[int]) -> int:
    """Return the length of the common prefix of the tokens that a model has read and of a prompt.

    The last token of the prompt does not count: its logits are needed.
    """
    most = min(len(read_ids), len(prompt_ids) - 1)
    return next((at for at in range(most) if read_ids[at] != prompt_ids[at]), most)
