"""A generation: from a model, a prompt and a target to the flow that writes a value, and to the result it comes to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from structkit.error_notes import add_note
from structkit.errors import GenerationError, ValidationFailed
from structkit.generate.decode.config import Decoded, Flow, Plan, Refusal, Written
from structkit.generate.decode.decode import decode
from structkit.generate.decode.rejected import Bans
from structkit.generate.decode.speculate import ModelDrafts, PromptDrafts
from structkit.generate.input.examples import Shot, shots_of
from structkit.generate.input.guide_cache import GUIDES
from structkit.generate.input.options import Settings
from structkit.generate.input.prompt import Prompt, build_prompt, encode_prompt, goes_on, source_of
from structkit.generate.output.confidence import Confidence, choices_of, confidence_of, warn_of_pressure
from structkit.generate.output.json_reader import Field
from structkit.generate.output.result import Result, Token, Usage
from structkit.generate.output.spans import spans_of
from structkit.generate.run.rejection import refusal_of, told_prompt
from structkit.generate.run.scheduler import Driven
from structkit.generate.run.usage import last_settings, usage_of
from structkit.generate.sample.processors import Stack
from structkit.guide.guide import Cursor, Guide
from structkit.guide.healing import HealedCursor, healed_tokens
from structkit.models.protocols import Conversing, LogitsModel, Noise, Thinking
from structkit.targets.targets import AnyTarget, Target
from structkit.vocabulary.control_tokens import readable, to_text
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["MAX_TOKENS", "Job", "asked_prompt", "budget_of"]

MAX_TOKENS = 1_024
"""Tokens of an answer when nobody says: a model that finds no end stops within a minute or so."""


class Job:
    """One of the generations.

    Args:
        number: That of its prompt, which makes its random numbers its own.
        model: What writes.
        prompt: A text or messages.
        target: What to generate.
        settings: How.
        shots: The examples of each target, written; jobs of one call share them.
        vocabulary: The tokens that the answer is written in, if not those of the model.
        asked: When it was asked for, by `time.perf_counter()`; its time counts from there, else from its begin on.

    Attributes:
        number: That of its prompt.
        guide: The guide of its target, unless that cannot be compiled.
        target: The target, unless it cannot be read.
        written: What was written so far.
    """

    def __init__(
        self,
        number: int,
        model: LogitsModel,
        prompt: Prompt,
        target: AnyTarget,
        settings: Settings,
        shots: dict[int, Sequence[Shot]] | None = None,
        vocabulary: Vocabulary | None = None,
        asked: float | None = None,
    ) -> None:
        self._asked_at = asked
        self._deadline: float | None = None
        self._spelled_by = vocabulary
        self._shots = {} if shots is None else shots
        self.number = number
        self.guide: Guide | None = None
        self.target: Target[object] | None = None
        self.written = Written()
        self._model = model
        self._prompt = prompt
        self._target = target
        self._source = ""
        self._settings = settings
        self._prompt_ids: list[int] = []
        self._healed: int | None = None
        self._asked: Prompt = prompt
        self._value: object = None
        self._refused: list[tuple[str, ValueError]] = []
        self._error: Exception | None = None
        try:
            self._source = source_of(prompt) if settings.source is None else settings.source
            self.target = GUIDES.read(target, settings.writing)
            if not self.target.has_quotes:
                self._compile()
        except Exception as error:  # told when its turn comes, for one that fails does not lose the others
            self._error = error

    @property
    def models(self) -> tuple[LogitsModel | None, LogitsModel | None]:
        """The models that it needs."""
        return self._model, self._settings.draft

    @property
    def _vocabulary(self) -> Vocabulary:
        return self._model.vocabulary if self._spelled_by is None else self._spelled_by

    def _compile(self) -> None:
        target, settings = self._target, self._settings
        self._compiled = GUIDES.get(target, self._vocabulary, settings.writing, self._source)
        self.guide, self.target = self._compiled.guide, self._compiled.target

    def begin(self) -> None:
        """Compile what is compiled for each prompt; raise what is wrong with it."""
        self.encoded()
        if self._error is not None:
            raise self._error
        if self.guide is None:
            self._compile()

    def end(self) -> None:
        """Let go of what was compiled for this prompt alone."""
        if self.target is not None and self.target.has_quotes and self.guide is not None:
            self.guide = None
            del self._compiled

    def shown(self) -> Sequence[Shot]:
        """The examples, written; for one target they are written once.

        Raises:
            ValueError: One of them is not of the target.
        """
        settings, target = self._settings, self.target
        if not settings.examples or target is None:
            return ()
        if id(target) not in self._shots:
            self._shots[id(target)] = shots_of(settings.examples, target, settings.writing, settings.source)
        return self._shots[id(target)]

    def encoded(self) -> list[int]:
        """The tokens of its prompt; none if there is an error."""
        if not self._prompt_ids and self._error is None and self.target is not None:
            try:
                shots = self.shown()
                self._asked = asked_prompt(self._model, self._prompt, self.target, self._settings, shots)
                self._prompt_ids = self._encode(self._asked)
            except Exception as error:  # told when its turn comes, too
                self._error = error
        return self._prompt_ids

    def kept(self) -> list[int]:
        """The tokens of its prompt but for those that are written again with the answer."""
        ids = self.encoded()
        if self._healed is None and self.guide is not None and ids:
            heals = self._settings.forced and not self._settings.thoughts
            heals = heals and goes_on(self._model, self._asked)
            self._healed = healed_tokens(self.guide, ids) if heals else 0
        return ids[: len(ids) - (self._healed or 0)]

    def _opened(self, guide: Guide, settings: Settings) -> tuple[list[int], Cursor, int]:
        """The tokens that begin the sequence, a cursor that goes on from there, and the budget."""
        context, thoughts = self._model.context_length, settings.thoughts
        ids, kept, cursor = self._prompt_ids, self.kept(), guide.cursor()
        if len(kept) < len(ids):
            before = b"".join(guide.vocabulary.tokens[token] for token in ids[len(kept) :])
            budget = budget_of(guide, settings.max_tokens, context, len(kept) + len(before))
            if cursor.fits(budget):
                return kept, HealedCursor(guide, before), budget
        ends = self._model.end_of_thinking if isinstance(self._model, Thinking) else ()
        length = len(ids) + (thoughts + len(ends) + 2 if thoughts else 0)
        return ids, cursor, budget_of(guide, settings.max_tokens, context, length)

    def _encode(self, asked: Prompt) -> list[int]:
        return encode_prompt(self._model, asked, thinking=self._settings.thoughts > 0)

    def flow(self) -> Flow:
        """Its flow; raises what is wrong with it when it is begun."""
        if self._settings.timeout is not None:
            begun = time.perf_counter() if self._asked_at is None else self._asked_at
            self._deadline = begun + self._settings.timeout
        self.begin()
        bans = Bans()
        decoded = yield from self._attempt(self._settings, bans)
        last = last_settings(self._settings, self.written, self._compiled.guide)
        if decoded.refusal is not None and last is not None:
            # Another value at that place would not do; so from the start, and the model is told why.
            before = decoded
            asked = told_prompt(self._asked, decoded.refused[-1], decoded.refusal.error)
            self._prompt_ids, self._healed = self._encode(asked), None
            decoded = yield from self._attempt(last, bans.again(), decoded)
            decoded = replace(
                decoded,
                refused=before.refused + decoded.refused,
                seconds=before.seconds + decoded.seconds,
            )
        return decoded

    def _attempt(self, settings: Settings, bans: Bans, before: Decoded | None = None) -> Flow:
        guide, model = self._compiled.guide, self._model
        self.written.cut(0, 0)
        prompt_ids, cursor, budget = self._opened(guide, settings)
        plan = Plan(
            budget=budget,
            thoughts=settings.thoughts,
            end_of_thinking=model.end_of_thinking if isinstance(model, Thinking) else (),
            sampling=settings.sampling,
            row=self.number,
            spell=model.encode_text,
            forced=settings.forced,
            check=self._check,
            retries=settings.retries,
            spend=settings.spend,
            bans=bans,
            refusal=None if before is None else before.refusal,
            scored=settings.confidence,
            choices=self._compiled.target.choices,
            field_limits=self._compiled.target.field_limits(),
            deadline=self._deadline,
            processors=Stack(settings.processors, model.vocabulary) if settings.processors else None,
            speculate=settings.speculate,
            drafting=PromptDrafts if settings.draft is None else partial(ModelDrafts, settings.draft),
            written=self.written,
        )
        read = 0 if before is None else before.read
        return (yield from decode(prompt_ids, cursor, self._vocabulary, plan, read=read))

    def _check(self, text: str) -> Refusal | None:
        """Make the value of a text, and keep it."""
        target = self._compiled.target
        try:
            self._value = target.value(text)
        except ValueError as error:
            self._refused.append((text, error))
            return refusal_of(error, self.written.values(is_json=target.is_json))
        except Exception as error:  # a validator is anyone's code
            add_note(error, f"a validator of {target.name} raised it for {text:.200}")
            raise
        return None

    def outcome(self, driven: Driven) -> Result[object] | Exception:
        """What came of it."""
        decoded = driven.outcome
        if isinstance(decoded, Exception):
            # An attempt after the first may fail in other ways: there is no room for what is told, say.
            late = bool(self._refused) and isinstance(decoded, GenerationError)
            return self._failed(decoded, self._usage(driven)) if late else decoded
        if decoded.refusal is not None:
            return self._failed(usage=self._usage(driven))
        compiled = self._compiled
        text = to_text(bytes(self.written.text))
        values = self.written.values(is_json=compiled.target.is_json)
        result = Result(
            value=self._value,
            text=text,
            finish_reason=decoded.finish_reason,
            usage=self._usage(driven),
            token_ids=decoded.token_ids,
            attempts=(*decoded.refused, text),
            thinking=decoded.thinking,
            events=self._events(),
            spans=spans_of(compiled.target, bytes(self.written.text), values, self._source),
            confidence=self._confidence(decoded, values) if self._settings.confidence else {},
        )
        if not isinstance(self._model, Noise):
            warn_of_pressure(result.pressure, compiled.target.name)
        return result

    def _usage(self, driven: Driven) -> Usage:
        return usage_of(driven, self.written, len(self._prompt_ids), self._compiled.seconds)

    def _events(self) -> tuple[Token, ...]:
        written = self.written
        each = zip(written.token_ids, written.texts, written.forced, written.scores, strict=True)
        return tuple(Token(token_id, text, forced, *score) for token_id, text, forced, score in each)

    def _confidence(self, decoded: Decoded, values: Sequence[Field]) -> dict[str, Confidence]:
        written, target = self.written, self._compiled.target
        return confidence_of(
            values,
            [len(text) for text in written.texts],
            written.scores,
            {
                path: choices_of(chances, target.choices(path) or [*chances], is_json=target.is_json)
                for path, chances in decoded.choices.items()
            },
        )

    def _failed(self, cause: Exception | None = None, usage: Usage | None = None) -> ValidationFailed:
        """The error of values that were all refused; `cause` is what prevented another attempt."""
        text, error = self._refused[-1]
        failed = ValidationFailed(
            f"the validators of {self._compiled.target.name} refuse {readable(text):.200}: {error}; put their rule "
            "into a constraint, or into a field's description where the model can read it, or allow more retries",
            text=readable(text),
            attempts=tuple(readable(refused) for refused, _ in self._refused),
            error=error,
            usage=usage,
        )
        failed.__cause__ = cause or error
        return failed


def asked_prompt(
    model: LogitsModel, prompt: Prompt, target: Target[object], settings: Settings, shots: Sequence[Shot] = ()
) -> Prompt:
    """The prompt with what the settings add to it."""
    description = target.description() if settings.describe else None
    turns = not isinstance(model, Conversing) or model.takes_messages
    return build_prompt(prompt, description, settings.system, shots, turns=turns)


def budget_of(guide: Guide, max_tokens: int | None, context: int | None, prompt_tokens: int) -> int:
    """How many tokens the answer may have.

    What was asked for, or else `MAX_TOKENS`, or what the shortest value needs if that is more; and never more
    than the context leaves.
    """
    if max_tokens is None:
        cursor = guide.cursor()
        max_tokens = MAX_TOKENS if cursor.fits(MAX_TOKENS) else cursor.tokens_to_end()
    return max_tokens if context is None else max(0, min(max_tokens, context - prompt_tokens))
