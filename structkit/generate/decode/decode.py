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

from structkit.error_notes import add_place
from structkit.errors import BudgetTooSmall, ModelFailed, TokenRefused
from structkit.generate.decode.choice_scores import Chooser
from structkit.generate.decode.config import Decoded, Flow, Plan, Refusal, Score
from structkit.generate.decode.field_budget import FieldBudgets
from structkit.generate.decode.retokenize import Speller, whole_characters
from structkit.generate.decode.speculate import Drafts
from structkit.generate.output.json_reader import Path
from structkit.generate.sample.sample import allows, only_id
from structkit.generate.sample.step import Ask, Draft, Told
from structkit.guide.guide import Cursor
from structkit.vocabulary.control_tokens import MARK, to_text
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["decode"]


def decode(
    prompt_ids: Sequence[int], cursor: Cursor, vocabulary: Vocabulary, plan: Plan, *, read: int = 0
) -> Flow:
    """Decode one sequence.

    Args:
        prompt_ids: The tokens that begin the sequence; they are asked to be read first.
        cursor: A cursor at the start of the language; it is moved.
        vocabulary: The tokens of the cursor's guide.
        plan: How.
        read: Tokens of another sequence that the model has read, to be taken back first.

    Yields:
        What it asks for; it is sent the answer.

    Returns:
        The complete text, through `StopIteration.value`.

    Raises:
        BudgetTooSmall: The shortest value needs more tokens than the budget; raised at once.
        ModelFailed: The logits are useless.
    """
    if not cursor.fits(plan.budget):
        raise BudgetTooSmall(cursor.tokens_to_end(), plan.budget)
    return _Decoding(list(prompt_ids), cursor, vocabulary, plan, read).run()


class _Decoding:
    """One run of the flow, and what it keeps count of."""

    def __init__(
        self, prompt_ids: list[int], cursor: Cursor, vocabulary: Vocabulary, plan: Plan, read: int
    ) -> None:
        self.prompt_ids = prompt_ids
        self.cursor = cursor
        self.vocabulary = vocabulary
        self.plan = plan
        self.written = plan.written
        self.left = plan.budget
        self.generator = plan.sampling.generator(plan.row)
        self.mask = np.zeros(vocabulary.words, np.uint32)
        self.free = np.zeros(vocabulary.words, np.uint32)
        self.unread = list(prompt_ids)
        self.back = read
        self.read = 0
        self.speller = Speller(plan.spell, vocabulary)
        self.pending = len(cursor.pending)
        self.drafts: Drafts | None = None
        self.bans = plan.bans
        self.paths: dict[int, Path] = {}
        self.refused: list[str] = []
        self.limited = False
        self.cut = False
        self.shortened: int | None = None
        self.begin = 0.0
        self.thinking: str | None = None
        self.is_json = cursor.guide.is_json
        self.chooser: Chooser | None = None
        if plan.scored and plan.choices is not None:
            self.chooser = Chooser(cursor, plan.choices, self.written.reader if self.is_json else None)
        limits = plan.field_limits
        self.field_budgets = None
        if limits is not None:
            self.field_budgets = FieldBudgets(cursor.guide, limits, self.written.reader)

    def run(self) -> Flow:
        """The flow: write, have it looked at, and take back what is refused, as often as there are retries."""
        self.begin = time.perf_counter()
        if self.plan.thoughts:
            yield from self.think()
        refusal = self.plan.refusal
        while (yield from self.write()):
            text = to_text(bytes(self.written.text))
            refusal = None if self.plan.check is None else self.plan.check(text)
            if refusal is None:
                break
            self.refused.append(text)
            self.bans.add(bytes(self.written.text), refusal.start, refusal.end)
            if len(self.refused) > self.plan.retries:
                break
            self.take_back(refusal)
            if self.plan.spend and not self.cursor.fits(self.left):
                break
        return self.decoded(refusal)

    def think(self) -> Generator[Ask | Score, Told | list[NDArray[np.float32]], None]:
        """Let the model write what it likes, until it ends its thoughts or has none left; then end them."""
        ends, tokens = list(self.plan.end_of_thinking), self.vocabulary.tokens
        self.mask[:] = _text_mask(self.vocabulary)
        for token in ends:
            self.mask[token >> 5] |= np.uint32(1 << (token & 31))
        after = self.speller.tokens("\n\n")
        mark = b"".join(tokens[token] if token < len(tokens) else b"" for token in ends)
        text = b""
        most = self.written.thoughts + self.plan.thoughts
        while self.written.thoughts < most and not self.late():
            token = (yield from self.asked()).token
            self.prompt_ids.append(token)
            self.written.thoughts += 1
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

    def write(self) -> Generator[Ask | Score, Told | list[NDArray[np.float32]], bool]:
        """Write to the end of a value, if one is not banned; a way that only leads to banned ones is banned too."""
        while True:
            self.force()
            room, must_end = self.room(), self.cursor.must_end
            if (must_end or room == 0) and self.bans.may_end(self.written.text):
                self.cut = not must_end
                return True
            if must_end or not (self.look(room) or self.look(self.left)):
                if not self.leave():
                    return False
                continue
            token = self.only_token()
            score, forced = (0.0, 0.0), token is not None
            if token is None:
                told = yield from self.asked()
                token, score = self.hear(told), (told.logprob, told.removed)
            if token in self.vocabulary.end_ids:
                return True
            self.cursor.advance(token)
            self.keep([token], score, forced=forced)

    def room(self) -> int:
        """The tokens that there is room for: no more than what ends the value if it is very deep, or time is over."""
        hurried = self.late() or (self.is_json and self.written.reader.follow(self.written.text).is_deep)
        return min(self.left, self.cursor.tokens_to_end()) if hurried else self.left

    def late(self) -> bool:
        """Whether the time is over."""
        return self.plan.deadline is not None and time.perf_counter() > self.plan.deadline

    def look(self, room: int) -> bool:
        """Look at what may follow; whether there is anything."""
        self.cursor.fill_mask(self.free)
        self.cursor.fill_mask(self.mask, room)
        if self.field_budgets is not None:
            self.field_budgets.narrow(self.mask, self.written.text, self.written.token_ids)
        if self.bans:
            for mask in (self.free, self.mask):
                self.bans.forbid(mask, self.written.text, self.cursor)
        self.limited = not np.array_equal(self.mask, self.free)
        return not self.bans or bool(self.mask.any())

    def only_token(self) -> int | None:
        """The token that must follow, if the model need not be asked."""
        if self.limited and self.shortened is None:
            return None  # the model is asked, to learn whether it would have gone another way
        return only_id(self.mask)

    def asked(self) -> Generator[Ask | Score, Told | list[NDArray[np.float32]], Told]:
        """Ask for a token, and where a choice begins also how likely each of its values is."""
        asked = time.perf_counter()
        choice = None
        if self.chooser is not None and (not self.plan.thoughts or self.thinking is not None):
            choice = self.chooser.begins(self.written.text, self.speller.tokens, self.left)
        told = cast("Told", (yield self.ask(() if choice is None else choice.first)))
        if choice is not None:
            scores = cast("list[NDArray[np.float32]]", (yield Score(choice.branches)))
            choice.decide(told, scores)
        self.begin += time.perf_counter() - asked  # the model's time is not the flow's
        return told

    def ask(self, candidates: tuple[int, ...]) -> Ask:
        """Ask for a token after those that the model has not read yet."""
        ask = Ask(
            token_ids=self.unread,
            mask=self.mask,
            free=self.free if self.limited and self.shortened is None else None,
            sampling=self.plan.sampling,
            generator=self.generator,
            back=self.back,
            adjust=None if self.plan.processors is None else self.adjust,
            scored=self.plan.scored,
            candidates=candidates,
            place=self.place,
            draft=self.draft if self.drafting and not candidates else None,
        )
        self.read += len(self.unread)
        self.unread, self.back = [], 0
        return ask

    @property
    def place(self) -> str:
        """Where it stands, for errors."""
        if self.plan.thoughts and self.thinking is None:
            return f"token {self.written.thoughts} of the thoughts"
        return f"token {len(self.written.token_ids)}"

    @property
    def drafting(self) -> bool:
        """Whether what follows may be drafted: thoughts are not."""
        return self.plan.speculate > 0 and (self.plan.thoughts == 0 or self.thinking is not None)

    def draft(self, most: int) -> Draft:
        """Up to so many tokens that may well come next, and for which there is room."""
        begin = time.perf_counter()
        if self.drafts is None:
            self.drafts = self.plan.drafting(self.prompt_ids, self.vocabulary, self.speller)
        most = min(most, self.plan.speculate, self.left - 1)
        draft = self.drafts.draft(self.cursor, most)
        self.begin -= time.perf_counter() - begin - draft.seconds  # it is asked for in the model's time
        return draft

    def adjust(self, row: NDArray[np.float32], mask: NDArray[np.uint32]) -> NDArray[np.float32]:
        """The logits after the processors."""
        if self.plan.processors is None:
            return row
        try:
            return self.plan.processors.adjust([*self.prompt_ids, *self.written.token_ids], row, mask)
        except ModelFailed as error:
            add_place(error, self.place)
            raise

    def hear(self, told: Told) -> int:
        """The token chosen; notice when the model would rather have gone where the budget has no room."""
        if told.wanted is not None and not allows(self.mask, told.wanted):
            self.shortened = len(self.written.token_ids)
        return told.token

    def force(self) -> None:
        """Take the tokens of the text that must come next, as far as what follows cannot respell them."""
        forced = self.cursor.forced_bytes()
        if len(forced) == self.pending or self.bans.hits(self.written.text, forced[self.pending :]):
            return
        ids = self.spelling(forced)[: self.left]
        taken = 0
        try:
            for token_id in ids:
                self.cursor.advance(token_id)
                taken += 1
        except TokenRefused:
            self.cursor.rollback(taken)
            return
        if not self.cursor.must_end:  # what follows may respell the last tokens; at the end nothing does
            surplus = taken - min(max(0, taken - 1), self.speller.settled(whole_characters(forced)))
            self.cursor.rollback(surplus)
            taken -= surplus
        while taken and not self.cursor.fits(self.left - taken):
            self.cursor.rollback(1)
            taken -= 1
        self.keep(ids[:taken], (0.0, 0.0), forced=True)

    def spelling(self, forced: bytes) -> list[int]:
        """The tokens that the model's tokenizer writes for forced bytes, if it can."""
        text = whole_characters(forced)
        if (
            not self.plan.forced or len(forced) < 2 or not text
        ):  # one byte leaves only a choice between tokens
            return []
        return self.speller.tokens(text)

    def keep(self, token_ids: list[int], score: tuple[float, float], *, forced: bool) -> None:
        """Write tokens that the cursor has taken."""
        written = self.written
        self.unread += token_ids
        for token_id in token_ids:
            token = self.vocabulary.tokens[token_id]
            text = token[self.pending :]
            if not text:  # it spells the end of the prompt again, and nothing else
                self.pending -= len(token)
                self.prompt_ids.append(token_id)
                continue
            written.token_ids.append(token_id)
            written.texts.append(text)
            # What does not spell the prompt is not what the target forbids.
            written.scores.append((score[0], 0.0) if self.pending else score)
            written.forced.append(forced)
            written.text += text
            self.pending = 0
            self.left -= 1

    def take_back(self, refusal: Refusal) -> None:
        """Take back a value that was refused."""
        self.paths[refusal.start] = refusal.path
        self.rewind(refusal.start)

    def leave(self) -> bool:
        """Leave a way that leads to banned texts alone, by its last token; whether there may be another."""
        text = bytes(self.written.text)
        start = self.bans.start_of(text)
        if start is None or start >= len(text):
            return False
        self.bans.add_beginning(start, text)
        self.rewind(len(text) - 1)
        return not self.plan.spend or self.cursor.fits(self.left)

    def rewind(self, start: int) -> None:
        """Take back the tokens from the one that holds the byte `start`."""
        written = self.written
        count, length = len(written.token_ids), len(written.text)
        while length > start:
            count -= 1
            length -= len(written.texts[count])
            self.pending = len(self.vocabulary.tokens[written.token_ids[count]]) - len(written.texts[count])
        taken = len(written.token_ids) - count
        if self.shortened is not None and self.shortened >= count:
            self.shortened = None
        self.cursor.rollback(taken)
        self.left += 0 if self.plan.spend else taken
        written.cut(count, length, self.paths.get(start, ()))
        for watcher in (self.chooser, self.field_budgets):
            if watcher is not None:
                watcher.forget(length)
        unread = min(taken, len(self.unread))
        del self.unread[len(self.unread) - unread :]
        self.back += taken - unread
        self.read -= taken - unread
        if not self.unread:  # the logits after the last token that stays are wanted again
            self.unread = [written.token_ids[-1] if written.token_ids else self.prompt_ids[-1]]
            self.back += 1
            self.read -= 1

    def decoded(self, refusal: Refusal | None) -> Decoded:
        """What was written, at the end."""
        shortened = self.shortened is not None or self.cut
        return Decoded(
            token_ids=tuple(self.written.token_ids),
            finish_reason="budget" if shortened else "stop",
            forced_tokens=sum(self.written.forced),
            seconds=time.perf_counter() - self.begin,
            refused=tuple(self.refused),
            refusal=refusal,
            read=self.read + self.back,
            choices={} if self.chooser is None else self.chooser.decided(),
            thinking=self.thinking,
        )


def _text_mask(vocabulary: Vocabulary) -> NDArray[np.uint32]:
    """uint32[words]: the tokens that are text."""
    is_text = np.zeros(32 * vocabulary.words, bool)
    is_text[: vocabulary.size] = [bool(token) and not token.startswith(MARK) for token in vocabulary.tokens]
    return np.packbits(is_text, bitorder="little").view(np.uint32)
