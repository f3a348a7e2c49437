"""A generation: from a model, a prompt and a target to the flow that writes a value, and to the result it comes to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from structkit.error_notes import add_note
from structkit.errors import GenerationError, OutputValidationError
from structkit.generate.decode.config import DecodeConfig, Decoded, Flow, GeneratedTokens, RejectedSpan
from structkit.generate.decode.decode import decode
from structkit.generate.decode.rejected import RejectedTexts
from structkit.generate.decode.speculate import AssistantDrafter, PromptLookupDrafter
from structkit.generate.input.examples import Example, render_examples
from structkit.generate.input.guide_cache import GUIDE_CACHE
from structkit.generate.input.options import Settings
from structkit.generate.input.prompt import Prompt, build_prompt, continues_text, encode_prompt, user_text
from structkit.generate.output.confidence import (
    Confidence,
    choice_probabilities,
    compute_confidence,
    warn_low_agreement,
)
from structkit.generate.output.json_reader import Field
from structkit.generate.output.result import Result, Token, Usage
from structkit.generate.output.spans import find_spans
from structkit.generate.run.rejection import locate_rejected, retry_prompt
from structkit.generate.run.scheduler import FlowResult
from structkit.generate.run.usage import final_attempt_settings, usage_of
from structkit.generate.sample.processors import ProcessorStack
from structkit.guide.guide import Cursor, Guide
from structkit.guide.healing import HealedCursor, count_healed_tokens
from structkit.models.protocols import LogitsModel, RandomLogits, SupportsMessages, SupportsThinking
from structkit.rejected import Rejected
from structkit.targets.targets import AnyTarget, Target
from structkit.vocabulary.control_tokens import display_text, to_text
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["DEFAULT_MAX_TOKENS", "Request", "prepare_prompt", "token_budget"]

DEFAULT_MAX_TOKENS = 1_024
"""Tokens of an answer when nobody says: a model that finds no end stops within a minute or so."""


class Request:
    """One of the generations.

    Args:
        index: That of its prompt, which makes its random numbers its own.
        model: What writes.
        prompt: A text or messages.
        target: What to generate.
        settings: How.
        rendered_examples: The examples of each target, written; jobs of one call share them.
        vocabulary: The tokens that the answer is written in, if not those of the model.
        requested_at: When it was asked for, by `time.perf_counter()`; its time counts from there, else from its
            begin on.

    Attributes:
        index: That of its prompt.
        guide: The guide of its target, unless that cannot be compiled.
        target: The target, unless it cannot be read.
        generated: What was written so far.
    """

    def __init__(
        self,
        index: int,
        model: LogitsModel,
        prompt: Prompt,
        target: AnyTarget,
        settings: Settings,
        rendered_examples: dict[int, Sequence[Example]] | None = None,
        vocabulary: Vocabulary | None = None,
        requested_at: float | None = None,
    ) -> None:
        self._requested_at = requested_at
        self._deadline: float | None = None
        self._own_vocabulary = vocabulary
        self._rendered_examples = {} if rendered_examples is None else rendered_examples
        self.index = index
        self.guide: Guide | None = None
        self.target: Target[object] | None = None
        self.generated = GeneratedTokens()
        self._model = model
        self._prompt = prompt
        self._target = target
        self._source = ""
        self._settings = settings
        self._prompt_ids: list[int] = []
        self._healed_count: int | None = None
        self._full_prompt: Prompt = prompt
        self._value: object = None
        self._rejected: list[tuple[str, Rejected]] = []
        self._error: Exception | None = None
        try:
            self._source = user_text(prompt) if settings.source is None else settings.source
            self.target = GUIDE_CACHE.read(target, settings.compile_settings)
            if not self.target.has_quotes:
                self._compile()
        except Exception as error:  # told when its turn comes, for one that fails does not lose the others
            self._error = error

    @property
    def models(self) -> tuple[LogitsModel | None, LogitsModel | None]:
        """The models that it needs."""
        return self._model, self._settings.assistant_model

    @property
    def _vocabulary(self) -> Vocabulary:
        return self._model.vocabulary if self._own_vocabulary is None else self._own_vocabulary

    def _compile(self) -> None:
        target, settings = self._target, self._settings
        self._compiled = GUIDE_CACHE.get(target, self._vocabulary, settings.compile_settings, self._source)
        self.guide, self.target = self._compiled.guide, self._compiled.target

    def prepare(self) -> None:
        """Compile what is compiled for each prompt; raise what is wrong with it."""
        self.prompt_ids()
        if self._error is not None:
            raise self._error
        if self.guide is None:
            self._compile()

    def release(self) -> None:
        """Let go of what was compiled for this prompt alone."""
        if self.target is not None and self.target.has_quotes and self.guide is not None:
            self.guide = None
            del self._compiled

    def examples(self) -> Sequence[Example]:
        """The examples, written; for one target they are written once.

        Raises:
            ValueError: One of them is not of the target.
        """
        settings, target = self._settings, self.target
        if not settings.examples or target is None:
            return ()
        if id(target) not in self._rendered_examples:
            self._rendered_examples[id(target)] = render_examples(
                settings.examples, target, settings.compile_settings, settings.source
            )
        return self._rendered_examples[id(target)]

    def prompt_ids(self) -> list[int]:
        """The tokens of its prompt; none if there is an error."""
        if not self._prompt_ids and self._error is None and self.target is not None:
            try:
                shots = self.examples()
                self._full_prompt = prepare_prompt(
                    self._model, self._prompt, self.target, self._settings, shots
                )
                self._prompt_ids = self._encode(self._full_prompt)
            except Exception as error:  # told when its turn comes, too
                self._error = error
        return self._prompt_ids

    def unhealed_ids(self) -> list[int]:
        """The tokens of its prompt but for those that are written again with the answer."""
        ids = self.prompt_ids()
        if self._healed_count is None and self.guide is not None and ids:
            heals = self._settings.fast_forward and not self._settings.max_thinking_tokens
            heals = heals and continues_text(self._model, self._full_prompt)
            self._healed_count = count_healed_tokens(self.guide, ids) if heals else 0
        return ids[: len(ids) - (self._healed_count or 0)]

    def _start(self, guide: Guide, settings: Settings) -> tuple[list[int], Cursor, int]:
        """The tokens that begin the sequence, a cursor that goes on from there, and the budget."""
        context, thoughts = self._model.context_length, settings.max_thinking_tokens
        ids, kept, cursor = self._prompt_ids, self.unhealed_ids(), guide.cursor()
        if len(kept) < len(ids):
            before = b"".join(guide.vocabulary.tokens[token] for token in ids[len(kept) :])
            budget = token_budget(guide, settings.max_tokens, context, len(kept) + len(before))
            if cursor.fits(budget):
                return kept, HealedCursor(guide, before), budget
        ends = self._model.end_of_thinking if isinstance(self._model, SupportsThinking) else ()
        length = len(ids) + (thoughts + len(ends) + 2 if thoughts else 0)
        return ids, cursor, token_budget(guide, settings.max_tokens, context, length)

    def _encode(self, prompt: Prompt) -> list[int]:
        return encode_prompt(self._model, prompt, thinking=self._settings.max_thinking_tokens > 0)

    def flow(self) -> Flow:
        """Its flow; raises what is wrong with it when it is begun."""
        if self._settings.timeout is not None:
            begun = time.perf_counter() if self._requested_at is None else self._requested_at
            self._deadline = begun + self._settings.timeout
        self.prepare()
        bans = RejectedTexts()
        decoded = yield from self._attempt(self._settings, bans)
        last = final_attempt_settings(self._settings, self.generated, self._compiled.guide)
        if decoded.rejection is not None and last is not None:
            # Another value at that place would not do; so from the start, and the model is told why.
            before = decoded
            asked = retry_prompt(self._full_prompt, decoded.rejected[-1], decoded.rejection.rejected.message)
            self._prompt_ids, self._healed_count = self._encode(asked), None
            decoded = yield from self._attempt(last, bans.for_retry(), decoded)
            decoded = replace(
                decoded,
                rejected=before.rejected + decoded.rejected,
                seconds=before.seconds + decoded.seconds,
            )
        return decoded

    def _attempt(
        self, settings: Settings, rejected_texts: RejectedTexts, previous: Decoded | None = None
    ) -> Flow:
        guide, model = self._compiled.guide, self._model
        self.generated.truncate(0, 0)
        prompt_ids, cursor, budget = self._start(guide, settings)
        plan = DecodeConfig(
            budget=budget,
            max_thinking_tokens=settings.max_thinking_tokens,
            end_of_thinking=model.end_of_thinking if isinstance(model, SupportsThinking) else (),
            sampling=settings.sampling,
            sequence_index=self.index,
            tokenize=model.encode_text,
            fast_forward=settings.fast_forward,
            validate=self._check,
            retries=settings.retries,
            charge_discarded=settings.charge_discarded,
            rejected_texts=rejected_texts,
            rejection=None if previous is None else previous.rejection,
            with_logprobs=settings.confidence,
            choices_at=self._compiled.target.choices,
            field_limits=self._compiled.target.field_limits(),
            deadline=self._deadline,
            processors=ProcessorStack(settings.processors, model.vocabulary) if settings.processors else None,
            max_draft_tokens=settings.prompt_lookup,
            drafter_factory=PromptLookupDrafter
            if settings.assistant_model is None
            else partial(AssistantDrafter, settings.assistant_model),
            generated=self.generated,
        )
        read = 0 if previous is None else previous.read_tokens
        return (yield from decode(prompt_ids, cursor, self._vocabulary, plan, read_tokens=read))

    def _check(self, text: str) -> RejectedSpan | None:
        """Parse a text, and keep its value or why it is rejected."""
        target = self._compiled.target
        try:
            value = target.parse(text)
        except Exception as error:  # a validator is user code
            add_note(error, f"a validator of {target.name} raised it for {text:.200}")
            raise
        if isinstance(value, Rejected):
            self._rejected.append((text, value))
            return locate_rejected(value, self.generated.values(is_json=target.is_json))
        self._value = value
        return None

    def outcome(self, flow_result: FlowResult) -> Result[object] | Exception:
        """What came of it."""
        decoded = flow_result.outcome
        if isinstance(decoded, Exception):
            # An attempt after the first may fail in other ways: there is no room for what is told, say.
            late = bool(self._rejected) and isinstance(decoded, GenerationError)
            return self._validation_error(decoded, self._usage(flow_result)) if late else decoded
        if decoded.rejection is not None:
            return self._validation_error(usage=self._usage(flow_result))
        compiled = self._compiled
        text = to_text(bytes(self.generated.text))
        values = self.generated.values(is_json=compiled.target.is_json)
        result = Result(
            value=self._value,
            text=text,
            finish_reason=decoded.finish_reason,
            usage=self._usage(flow_result),
            token_ids=decoded.token_ids,
            attempts=(*decoded.rejected, text),
            thinking=decoded.thinking,
            events=self._events(),
            spans=find_spans(compiled.target, bytes(self.generated.text), values, self._source),
            confidence=self._confidence(decoded, values) if self._settings.confidence else {},
        )
        if not isinstance(self._model, RandomLogits):
            warn_low_agreement(result.pressure, compiled.target.name)
        return result

    def _usage(self, flow_result: FlowResult) -> Usage:
        return usage_of(flow_result, self.generated, len(self._prompt_ids), self._compiled.seconds)

    def _events(self) -> tuple[Token, ...]:
        written = self.generated
        each = zip(written.token_ids, written.token_bytes, written.is_forced, written.scores, strict=True)
        return tuple(Token(token_id, text, forced, *score) for token_id, text, forced, score in each)

    def _confidence(self, decoded: Decoded, values: Sequence[Field]) -> dict[str, Confidence]:
        written, target = self.generated, self._compiled.target
        return compute_confidence(
            values,
            [len(text) for text in written.token_bytes],
            written.scores,
            {
                path: choice_probabilities(
                    chances, target.choices(path) or [*chances], is_json=target.is_json
                )
                for path, chances in decoded.choices.items()
            },
        )

    def _validation_error(
        self, cause: Exception | None = None, usage: Usage | None = None
    ) -> OutputValidationError:
        """The error of values that were all refused; `cause` is what prevented another attempt."""
        text, rejected = self._rejected[-1]
        failed = OutputValidationError(
            f"the validators of {self._compiled.target.name} refuse {display_text(text):.200}: {rejected.message}; put their rule "
            "into a constraint, or into a field's description where the model can read it, or allow more retries",
            text=display_text(text),
            attempts=tuple(display_text(refused) for refused, _ in self._rejected),
            rejected=rejected,
            usage=usage,
        )
        failed.__cause__ = cause or rejected.cause
        return failed


def prepare_prompt(
    model: LogitsModel,
    prompt: Prompt,
    target: Target[object],
    settings: Settings,
    examples: Sequence[Example] = (),
) -> Prompt:
    """The prompt with what the settings add to it."""
    description = target.description() if settings.include_schema else None
    turns = not isinstance(model, SupportsMessages) or model.takes_messages
    return build_prompt(prompt, description, settings.system, examples, as_messages=turns)


def token_budget(guide: Guide, max_tokens: int | None, context: int | None, prompt_tokens: int) -> int:
    """How many tokens the answer may have.

    What was asked for, or else `MAX_TOKENS`, or what the shortest value needs if that is more; and never more
    than the context leaves.
    """
    if max_tokens is None:
        cursor = guide.cursor()
        max_tokens = DEFAULT_MAX_TOKENS if cursor.fits(DEFAULT_MAX_TOKENS) else cursor.min_tokens_to_end()
    return max_tokens if context is None else max(0, min(max_tokens, context - prompt_tokens))
