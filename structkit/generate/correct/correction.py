"""The correction flow: one answer of a text model, from replies that each continue the accepted text.

The flow is a generator that yields what it needs (`effects.py`) and is sent the pieces of replies, so that it does no
input or output itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import cast

from structkit.errors import BudgetTooSmall, CorrectionsExhausted, ModelError
from structkit.generate.correct.bounds import (
    MAX_AT_LIMIT,
    MAX_HANGING,
    MAX_IDLE,
    Bound,
    Progress,
    message_of,
    repeats,
)
from structkit.generate.correct.continuations import (
    Continuations,
    continuations,
    named_choice,
    shortest_end,
)
from structkit.generate.correct.effects import NextPiece, OpenReply, TextFlow
from structkit.generate.correct.likely import ReplyTokens
from structkit.generate.correct.matcher import ReplyMatcher
from structkit.generate.correct.native import answer_constraint, choice_constraint, rest_constraint
from structkit.generate.correct.reading import Reading, advance_all
from structkit.generate.correct.seams import SPACES, shown_length, word_start
from structkit.generate.correct.settled import SettledLength
from structkit.generate.decode.budget import budget_exceeded
from structkit.generate.decode.config import GeneratedTokens
from structkit.generate.decode.retokenize import complete_characters
from structkit.generate.input.guide_cache import CompiledTarget
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.request import Request
from structkit.generate.output.json_reader import JsonReader, Path, format_path
from structkit.generate.output.trace import Draft, DraftEnd
from structkit.models.capabilities import Constraint
from structkit.models.text.protocol import NativeConstraint, TextModel, TextRequest

__all__ = ["DEFAULT_MAX_BYTES", "Correction"]

DEFAULT_MAX_BYTES = 16_384
"""Maximum bytes of an answer without `max_tokens`: as many as 1,024 tokens rarely exceed."""


class Correction:
    """One answer of a text model: the flow `run`, its cursor and the text that it accepts.

    Args:
        request: The model and the settings.
        prompt: The prompt, with the description of the target.
        compiled: The target, compiled over bytes.
        budget: The maximum number of bytes of the answer.
        generated: The record that receives the bytes.
        drafts: The replies of previous answers to the same request; new replies are added.
        observe: Receives each reply with its number.

    Attributes:
        whole: The constraint of the whole answer for the first reply; `None` for others.
        closed_at: The position from which the value was completed without the model, a number in which the text ended
            included; -1 if the model ended it.
        is_shortened: Whether the budget refused a byte of a reply.

    Raises:
        BudgetTooSmall: The shortest value needs more bytes than the budget.
    """

    def __init__(
        self,
        request: Request,
        prompt: Prompt,
        compiled: CompiledTarget,
        budget: int,
        generated: GeneratedTokens,
        drafts: list[Draft],
        observe: Callable[[int, Draft], None],
    ) -> None:
        cursor, target = compiled.guide.cursor(), compiled.target
        if not cursor.fits(budget):
            raise BudgetTooSmall(cursor.min_tokens_to_end(), budget)
        self.request = request
        self.model = cast("TextModel", request.model)
        self.settings = request.settings
        self.prompt = prompt if isinstance(prompt, str) else tuple(prompt)
        self.cursor = cursor
        self.budget = budget
        self.deadline = request.deadline()
        self.generated = generated
        self.drafts = drafts
        self.observe = observe
        self.attempt = drafts[-1].attempt + 1 if drafts else 0
        self.text = bytearray()
        self.is_forced = bytearray()
        self.settled = SettledLength(target.choices, is_json=target.is_json)
        self.whole = answer_constraint(self.model.capabilities, target)
        self.progress = Progress(cursor)
        self.is_stuck = False
        # The length of the text that a reply left as it was, because its only word broke off.
        self.asked_again_at = -1
        # The length of the text that ends in a likely token, which no later reply takes back.
        self.chosen_up_to = 0
        self.closed_at = -1
        self.is_shortened = False
        self.at_limit = 0
        self.seconds = 0.0

    def run(self) -> TextFlow[None]:
        """Write a complete text.

        Raises:
            BudgetExceeded: The budget refused a byte of a reply, with `on_limit="raise"`.
            CorrectionsExhausted: A bound but that of the budget was reached before, and `finish` is `"error"`.
            ModelError: The model failed, and its reply added nothing.
        """
        self.append(self.forced(), forced=True)
        is_complete = self.cursor.is_finished
        while not is_complete:
            bound = self.reached_bound()
            if bound is None:
                draft = yield from self.draft()
                is_complete = draft.end == "complete" or self.cursor.is_finished
                continue
            if self.settings.finish == "error" and bound != "max_tokens":
                raise self.exhausted(bound)
            self.closed_at = self.settled(bytes(self.text))
            self.append(shortest_end(self.cursor.fork()), forced=True)
            is_complete = True
        self.publish(self.text, len(self.text))

    def draft(self) -> TextFlow[Draft]:
        """Read one reply, and accept the longest start of it that can belong to a value."""
        before, request = bytes(self.text), self.next_request()
        matcher = ReplyMatcher(
            self.cursor,
            before,
            len(request.prefix.encode()),
            self.budget,
            continues=self.model.capabilities.continues_prefix,
        )
        tokens = ReplyTokens()
        started = time.perf_counter()
        failure = yield from self.read(request, matcher, tokens)
        seconds = time.perf_counter() - started
        begin = time.perf_counter()
        reading = matcher.best()
        kept = self.accept(reading)
        if reading is None and failure is None:
            self.append(self.meant(bytes(matcher.data), request.choices), forced=False)
        end = self.end_of(reading, failure, before)
        chosen, cut = self.choose(tokens, reading) if end in ("refused", "empty") else (b"", 0)
        cut = self.take_back(cut) if chosen else self.cut(end, len(before))
        named = self.meant(bytes(matcher.data), request.choices) if end == "refused" and not chosen else b""
        # `low.` begins as a choice does, and all of it was taken back.
        if named and before.startswith(self.text):
            self.append(before[len(self.text) :], forced=True)
            self.append(named, forced=False)
            reading, end = None, "ended"
        kept = min(kept, len(self.text))
        added = bytes(self.text[kept:])
        skipped, rest = self.around(reading, end, matcher.data, cut)
        self.append(chosen, forced=False)
        self.chosen_up_to = len(self.text) if chosen else self.chosen_up_to
        is_failed = end in ("failed", "timeout") and self.text == before and not cut
        forced = b"" if is_failed or end == "complete" else self.forced()
        self.append(forced, forced=True)
        self.publish(self.text, self.settled(bytes(self.text)))
        is_read = end not in ("refused", "empty")
        draft = Draft(
            attempt=self.attempt,
            prefix=before[:kept].decode(errors="replace"),
            reply=matcher.data.decode(errors="replace"),
            healed=before[len(request.prefix.encode()) :].decode(errors="replace"),
            skipped=skipped.decode(errors="replace"),
            accepted=added.decode(errors="replace"),
            refused="" if is_read else rest.decode(errors="replace"),
            rest=rest.decode(errors="replace") if is_read else "",
            chosen=chosen.decode(),
            forced=forced.decode(errors="replace"),
            choices=request.choices,
            hint=request.hint,
            end=end,
            seconds=seconds,
            constraint=self.enforced(request),
        )
        self.record(
            draft, is_stuck=draft.is_correction and not chosen and len(forced) <= cut, reading=reading
        )
        self.seconds += time.perf_counter() - begin
        if is_failed or self.progress.hanging_replies >= MAX_HANGING:
            self.check_failure(failure)
        return draft

    def record(self, draft: Draft, *, is_stuck: bool, reading: Reading | None) -> None:
        """Add a reply to those of the answer, and count what the bounds need.

        Raises:
            BudgetExceeded: The budget refused a byte of the reply, with `on_limit="raise"`.
        """
        self.drafts.append(draft)
        self.observe(len(self.drafts), draft)
        self.progress.count(draft, self.settled.completed(bytes(self.text)), self.cursor)
        self.check_limit()
        self.is_stuck = is_stuck
        is_at_limit = is_stuck and reading is not None and reading.is_shortened
        self.at_limit = self.at_limit + 1 if is_at_limit else 0

    def next_request(self) -> TextRequest:
        """Return the request for the next reply."""
        choices, hint = self.offer()
        prefix = self.shown(is_offering=bool(choices or hint))
        constraint, self.whole = self.constraint(len(prefix.encode()), choices), None
        # A server that writes something else although it has the choices as a constraint ignores the constraint.
        is_ignored = bool(self.drafts) and self.drafts[-1].choices == choices
        return TextRequest(
            prompt=self.prompt,
            prefix=prefix,
            max_tokens=self.budget - len(self.text),
            choices=choices,
            hint=hint,
            refused=self.drafts[-1].refused if choices or hint else "",
            constraint=constraint,
            says_choices=not choices or constraint is None or is_ignored,
        )

    def shown(self, *, is_offering: bool) -> str:
        """Return the start of the text that a request shows; what the request offers follows the whole text."""
        text = bytes(self.text)
        shown = (
            text.rstrip(SPACES) if is_offering else text[: shown_length(self.cursor, text, self.is_forced)]
        )
        return complete_characters(shown)

    def enforced(self, request: TextRequest) -> Constraint | None:
        """Return the notation of the constraint of a request, unless the server refused it."""
        kind = None if request.constraint is None else request.constraint.kind
        return kind if kind in self.model.capabilities.constraints else None

    def check_limit(self) -> None:
        """Raise `BudgetExceeded` if the budget refused a byte of a reply, and `on_limit` says so."""
        if self.is_shortened and self.settings.on_limit == "raise":
            raise budget_exceeded(
                self.request,
                self.budget,
                self.text,
                is_json=self.cursor.guide.is_json,
                is_overdue=False,
                default=DEFAULT_MAX_BYTES,
            )

    def choose(self, tokens: ReplyTokens, reading: Reading | None) -> tuple[bytes, int]:
        """Return the most likely text that can follow where a reply is cut; see `ReplyTokens.choose`."""
        position = 0 if reading is None else reading.position
        return tokens.choose(position, self.cursor, bytes(self.text), self.budget)

    def read(
        self, request: TextRequest, matcher: ReplyMatcher, tokens: ReplyTokens
    ) -> TextFlow[ModelError | TimeoutError | None]:
        """Read a reply as far as it is needed; return the error that ended it."""
        try:
            piece = yield OpenReply(request, self.deadline)
            while isinstance(piece, str):
                begin = time.perf_counter()
                tokens.add(piece)
                is_decided = matcher.feed(piece)
                reading = matcher.current
                if reading is not None and reading.text.startswith(self.text):
                    self.publish(reading.text, self.settled(bytes(reading.text)))
                self.seconds += time.perf_counter() - begin
                if is_decided:
                    break
                piece = yield NextPiece()
        except (ModelError, TimeoutError) as error:
            return error
        matcher.finish()
        return None

    def meant(self, reply: bytes, choices: Sequence[str]) -> bytes:
        """Return the text that a reply means although none of its bytes can follow; empty if it means none."""
        if choices:
            return named_choice(reply, choices)
        is_at_end = bool(self.drafts) and self.drafts[-1].end == "ended" and not reply.strip()
        if is_at_end and self.cursor.guide.is_json:
            reader = JsonReader().follow(self.text)
            return b'"' if reader.in_string and not reader.in_key else b""
        return b""

    def end_of(self, reading: Reading | None, failure: Exception | None, before: bytes) -> DraftEnd:
        """Return how a reply ended."""
        if reading is not None and reading.state == "complete":
            return "complete"
        if failure is not None:
            return "timeout" if isinstance(failure, TimeoutError) else "failed"
        if self.text == before:
            return "empty"
        return "refused" if reading is not None and reading.state == "refused" else "ended"

    def check_failure(self, failure: ModelError | TimeoutError | None) -> None:
        """Raise the error of a reply that added nothing, unless there is no time for another one in any case."""
        if isinstance(failure, TimeoutError):
            if self.is_overdue:
                return
            cause, failure = (
                failure,
                ModelError(
                    f"the reply was not complete within {self.model.timeout:g} s; allow more seconds with timeout=... "
                    "of the model, or find out why it hangs",
                    place=self.model.name,
                ),
            )
            failure.__cause__ = cause
        if failure is not None:
            failure.prefix = self.text.decode(errors="replace")
            failure.drafts = tuple(draft.reply for draft in self.drafts)
            raise failure

    def around(
        self, reading: Reading | None, end: DraftEnd, reply: bytearray, cut: int
    ) -> tuple[bytearray, bytearray]:
        """Return the bytes of a reply before and after those that were added to the text."""
        if reading is None:  # a text that the reply only names, if any, was added
            return (reply, bytearray()) if end == "ended" else (bytearray(), reply)
        rest_start = max(reading.start, reading.position - cut)
        while reply[rest_start : rest_start + 1] and reply[rest_start] & 0xC0 == 0x80:
            rest_start -= 1  # only the first bytes of this character can follow
        return reply[: min(reading.begin, rest_start)], reply[rest_start:]

    def offer(self) -> Continuations:
        """Return what can follow, if the last reply was cut here."""
        return continuations(self.cursor, bytes(self.text)) if self.is_stuck else ((), "")

    def constraint(self, length: int, choices: Sequence[str]) -> NativeConstraint | None:
        """Return what can follow the start of the text, in a notation that the model enforces.

        Args:
            length: The length of the start.
            choices: The only texts that can follow the whole text, if they are few and the last reply was cut there.
        """
        if self.whole is not None:
            return self.whole
        if length and not self.model.capabilities.continues_prefix:
            return None
        if choices:
            hidden = self.text[length:].decode()
            return choice_constraint(self.model.capabilities, [hidden + choice for choice in choices])
        cursor = self.cursor.fork()
        cursor.rollback(len(self.text) - length)
        return rest_constraint(self.model.capabilities, cursor)

    def accept(self, reading: Reading | None) -> int:
        """Replace the text by that of a reading, up to its last complete character; return the length that is kept."""
        if reading is None:
            return len(self.text)
        self.is_shortened |= reading.is_shortened
        whole = len(complete_characters(bytes(reading.text)).encode())
        if whole < len(reading.text):
            reading.cursor.rollback(len(reading.text) - whole)
            del reading.text[whole:]
        kept = len(self.text) if reading.text.startswith(self.text) else 0
        self.text[:] = reading.text
        self.chosen_up_to = min(self.chosen_up_to, kept)
        self.is_forced[kept:] = bytes(len(self.text) - kept)
        self.cursor = reading.cursor
        return kept

    def cut(self, end: DraftEnd, before: int) -> int:
        """Take back the word that the text ends in, if it is refused or not known to be complete; return its length.

        A key, number, literal or choice is taken back where a reply is cut or ends in it; any word where a reply breaks
        off. A reply whose only word would be taken back is kept, so that a model that writes a few characters at a time
        continues; where it broke off, it is asked again once before.

        Args:
            end: How the reply ended.
            before: The length of the text before the reply.
        """
        text = bytes(self.text)
        length = max(self.settled(text), self.chosen_up_to)
        if end in ("failed", "timeout"):
            if self.is_overdue:
                return 0
            length = max(min(length, word_start(text)), self.chosen_up_to)
            if length == before < len(text) and self.asked_again_at != before:
                self.asked_again_at = before
            elif length <= before:
                return 0
        elif end == "complete" or (end == "ended" and length <= before):
            return 0
        return self.take_back(len(text) - length)

    def take_back(self, count: int) -> int:
        """Remove bytes at the end of the text; return their number."""
        self.cursor.rollback(count)
        del self.text[len(self.text) - count :], self.is_forced[len(self.is_forced) - count :]
        return count

    def forced(self) -> bytes:
        """Return the complete characters that must follow.

        Nothing precedes the first text of a model that does not continue it, or enforces the schema of a whole answer.
        """
        starts_over = not self.model.capabilities.continues_prefix or self.whole is not None
        if (starts_over and not self.text) or not self.settings.fast_forward:
            return b""
        return complete_characters(self.cursor.forced_bytes()).encode()

    def append(self, added: bytes, *, forced: bool) -> None:
        """Append a text that the language allows."""
        if added and advance_all(self.cursor, added):
            self.text += added
            self.is_forced += bytes([forced]) * len(added)

    def publish(self, text: bytearray, length: int) -> None:
        """Record the start of a text, which streams read; one that does not continue the recorded text replaces it."""
        generated = self.generated
        if not text.startswith(generated.text) or length < len(generated.text):
            path, start = self.open_value(_common_start(generated.text, text[:length])) or ((), 0)
            generated.truncate(start, start, path)
        for position in range(len(generated.text), length):
            generated.token_ids.append(text[position])
            generated.token_bytes.append(bytes(text[position : position + 1]))
            generated.scores.append((0.0, 0.0))
            generated.is_forced.append(position < len(self.is_forced) and bool(self.is_forced[position]))
        generated.text[:] = text[:length]

    @property
    def is_overdue(self) -> bool:
        """Whether the time for the value has passed."""
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def reached_bound(self) -> Bound | None:
        """Return the bound that forbids another reply; `None` if there is none."""
        if self.at_limit >= MAX_AT_LIMIT:
            return "max_tokens"
        if self.progress.corrections > self.settings.max_corrections:
            return "max_corrections"
        if len(self.drafts) >= self.model.max_calls:
            return "max_calls"
        if self.is_overdue:
            return "timeout"
        if self.progress.idle_replies >= MAX_IDLE:
            return "idle"
        return "repeats" if repeats(self.drafts, self.progress.idle_replies) else None

    def exhausted(self, bound: Bound) -> CorrectionsExhausted:
        """Return the error of a bound that was reached."""
        return CorrectionsExhausted(
            message_of(bound, self.request, bytes(self.text), self.drafts),
            prefix=self.text.decode(errors="replace"),
            drafts=tuple(draft.reply for draft in self.drafts),
            place=self.place(),
        )

    def place(self) -> str:
        """Return the path of the value that is incomplete, or the position in the text."""
        found = self.open_value(self.text)
        return f"byte {len(self.text)}" if found is None else format_path(found[0])

    def open_value(self, text: bytearray) -> tuple[Path, int] | None:
        """Return path and first byte of the value that a text ends in, or that starts next; `None` without either."""
        return JsonReader().follow(text).current() if self.cursor.guide.is_json else None


def _common_start(one: bytearray, other: bytearray) -> bytearray:
    """Return the longest start of both texts.

    >>> _common_start(bytearray(b"[12"), bytearray(b"[13"))
    bytearray(b'[1')
    """
    pairs = zip(one, other, strict=False)
    return one[: next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))]
