"""Sequential Monte Carlo over the tokens of one prompt: particles from the model's own distribution of valid answers.

A particle draws each token among those that the mask allows, and its weight is multiplied by their total probability.
So particles are properly weighted: their weighted mean estimates, without bias, that of the model's own answers, of
which those outside of the language count as 0 (Loula et al. 2025, https://arxiv.org/abs/2504.13139).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from structkit.errors import BudgetExceeded, GenerationError, LimitExceeded, OutputValidationError
from structkit.generate.decode.config import Decoded, GeneratedTokens, RejectedSpan, Validate
from structkit.generate.decode.decode import Attempt
from structkit.generate.decode.field_budget import FieldBudgets
from structkit.generate.input.validator import ValidateOutput
from structkit.generate.particles.rows import ParticleRows
from structkit.generate.particles.weights import (
    draw_tokens,
    effective_sample_size,
    mean_log_weight,
    resample,
)
from structkit.generate.sample.sample import allowed_logits, logsumexp
from structkit.generate.sample.step import SampledToken
from structkit.generate.threads.event_loop import EventLoopThread, await_on_loop
from structkit.generate.threads.flows import check_cancelled
from structkit.targets.targets import Target
from structkit.vocabulary.control_tokens import display_text, to_text

__all__ = ["Particles", "draw_particles", "no_particles"]

R = TypeVar("R")

_RESAMPLED_BELOW = 0.5
"""Particles are resampled if their effective sample size is below this share of their number (Doucet and Johansen
2011)."""

Ended: TypeAlias = tuple[GeneratedTokens, Decoded]
"""The tokens of a complete text, and its value."""


@dataclass(slots=True)
class _Group:
    """Equal particles.

    Attributes:
        attempt: The sequence.
        log_weight: The weight of each particle.
        count: The number of particles.
        parent: The row that the last token continues.
        token_id: The last token, which the model has not read.
        decoded: The end of the sequence, once it has ended.
    """

    attempt: Attempt
    log_weight: float
    count: int
    parent: int = 0
    token_id: int = -1
    decoded: Decoded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Particles:
    """The particles of a prompt, in groups of equal ones.

    Attributes:
        ended: The end of each group with a weight above 0.
        log_weights: The weight of each particle of a group.
        counts: The number of particles of each group.
        total: The number of all particles, with those of weight 0.
        effective_sample_size: See `structkit.Result.effective_sample_size`.
        generated: The tokens of the last group that had a weight.
        generator: The random generator of the particles.
        refused: The texts that validators refused, and why.
        exceeded: The error of the last text that a limit changed, with `on_limit="raise"`.
        model_seconds: The time in the model.
        seconds: The time in masks, weights and validators.
    """

    ended: Sequence[Ended]
    log_weights: Sequence[float]
    counts: Sequence[int]
    total: int
    effective_sample_size: float
    generated: GeneratedTokens
    generator: np.random.Generator
    refused: Sequence[tuple[str, RejectedSpan]]
    exceeded: BudgetExceeded | None
    model_seconds: float
    seconds: float

    @property
    def log_mean_weight(self) -> float:
        """The logarithm of the mean weight of all particles: it estimates the probability of a valid answer."""
        return mean_log_weight(self.log_weights, self.counts) + math.log(sum(self.counts) / self.total)

    def one(self) -> tuple[int, float]:
        """Return the group of a particle drawn by weight, and the logarithm of the mean weight of all."""
        (group,) = self._draw(1)
        return group, self.log_mean_weight

    def all(self) -> list[tuple[int, float]]:
        """Return the group and the weight of each particle, in random order.

        If particles were dropped, as many are drawn by weight, and each has the mean weight.
        """
        if sum(self.counts) < self.total:
            weighted = [(group, self.log_mean_weight) for group in self._draw(self.total)]
        else:
            groups = zip(self.log_weights, self.counts, strict=True)
            weighted = [(group, weight) for group, (weight, count) in enumerate(groups) for _ in range(count)]
        return [weighted[at] for at in self.generator.permutation(self.total)]

    def _draw(self, count: int) -> list[int]:
        counts = resample(self.log_weights, self.counts, count, self.generator)
        return [group for group, times in enumerate(counts) for _ in range(times)]


def draw_particles(
    attempt: Attempt,
    count: int,
    target: Target[object],
    validate: Callable[[GeneratedTokens], Validate],
    cancelled: threading.Event | None = None,
) -> Particles:
    """Draw weighted particles of an attempt that has not started.

    Args:
        attempt: The sequence that all particles start with.
        count: The number of particles.
        target: The target of the attempt.
        validate: Returns the function that parses the text of some tokens.
        cancelled: If set, the work ends before the next step.

    Raises:
        Cancelled: `cancelled` was set.
        LimitExceeded: The particles need more than `Limits.batch_tokens`.
        ModelError: The model failed.
    """
    run = _Filter(attempt, count, target, validate, cancelled)
    try:
        return run.run()
    finally:
        run.loop.close()


class _Filter:
    """The state of a run; the parameters are those of `draw_particles`."""

    def __init__(
        self,
        attempt: Attempt,
        count: int,
        target: Target[object],
        validate: Callable[[GeneratedTokens], Validate],
        cancelled: threading.Event | None,
    ) -> None:
        attempt.choice_scorer = None  # it would ask the model about each particle
        self.active = [_Group(attempt, 0.0, count)]
        self.ended: list[_Group] = []
        self.count = count
        self.limits = target.field_limits()
        self.loop = EventLoopThread("structkit-validators")
        self.size = float(count)
        self.validate = validate
        self.cancelled = cancelled
        self.generator = attempt.generator
        self.request = attempt.request
        self.rows = ParticleRows(self.request.logits_model, attempt.prompt_ids, count)
        self.prompt_tokens = len(attempt.prompt_ids)
        self.values: dict[bytes, object] = {}
        self.refused: list[tuple[str, RejectedSpan]] = []
        self.exceeded: BudgetExceeded | None = None
        self.model_seconds = 0.0
        self.last = attempt.generated

    def run(self) -> Particles:
        started = time.perf_counter()
        self.check_tokens(self.count)
        logits = self.of_model(self.rows.start)
        while True:
            self.extend(logits)
            self.resample()
            if not self.active:
                return self.result(time.perf_counter() - started - self.model_seconds)
            check_cancelled(self.cancelled)
            self.check_tokens(len(self.active))
            parents, tokens = zip(*((group.parent, group.token_id) for group in self.active), strict=True)
            logits = self.of_model(partial(self.rows.step, parents, tokens))

    def of_model(self, call: Callable[[], R]) -> R:
        begin = time.perf_counter()
        try:
            return call()
        finally:
            self.model_seconds += time.perf_counter() - begin

    def check_tokens(self, rows: int) -> None:
        """Check the size of the key-value cache."""
        most = self.request.settings.compile_settings.limits.batch_tokens
        length = self.prompt_tokens + len(self.active[0].attempt.generated.token_ids)
        if rows > 1 and rows * length > most:
            raise LimitExceeded(
                "batch_tokens",
                most,
                f"{rows} particles of {length} tokens each; with fewer particles=..., that",
            )

    def extend(self, logits: NDArray[np.float32]) -> None:
        """Draw the next token of each particle."""
        groups, self.active = self.active, []
        for row, group in enumerate(groups):
            attempt = group.attempt
            self.last = attempt.generated
            attempt.fill_masks(attempt.token_budget())
            log_mass, drawn = draw_tokens(
                logits[row],
                attempt.mask,
                attempt.settings.sampling.temperature,
                group.count,
                self.generator,
                attempt.location,
            )
            log_weight = group.log_weight + log_mass
            tokens = sorted(set(drawn))
            branches = [attempt, *(self.fork(attempt) for _ in tokens[1:])]
            for branch, token in zip(branches, tokens, strict=False):
                count = drawn.count(token)
                sampled = _sampled(logits[row], branch, token)
                branch.receive(sampled)
                if token in branch.vocabulary.eos_token_ids:
                    self.end(_Group(branch, log_weight, count))
                    continue
                branch.cursor.advance(token)
                branch.append([token], (sampled.logprob, sampled.masked_probability), forced=False)
                branch.unread = []
                self.active.append(_Group(branch, log_weight, count, row, token))

    def fork(self, attempt: Attempt) -> Attempt:
        """Return a copy of an attempt that goes its own way."""
        branch = copy(attempt)
        branch.cursor = attempt.cursor.fork()
        branch.mask = attempt.mask.copy()
        branch.unbudgeted_mask = attempt.unbudgeted_mask.copy()
        branch.unread = []
        branch.generated = generated = attempt.generated.copy()
        branch.validate = self.validate(generated)
        if self.limits is not None:
            branch.field_budgets = FieldBudgets(branch.cursor.guide, self.limits, generated.reader)
        return branch

    def end(self, group: _Group) -> None:
        """Give a complete text its value; one that validators, or a limit that raises, refuse has the weight 0."""
        attempt = group.attempt
        try:
            attempt.check_limit()
        except BudgetExceeded as error:
            self.exceeded = error
            return
        text = bytes(attempt.generated.text)
        if text not in self.values:
            self.values[text] = self.value_of(attempt, to_text(text))
        value = self.values[text]
        if isinstance(value, RejectedSpan):
            self.refused.append((to_text(text), value))
            return
        group.decoded = attempt.result(value)
        self.ended.append(group)

    def value_of(self, attempt: Attempt, text: str) -> object:
        """Return the value of a text, or its rejection."""
        flow = attempt.validated(text)
        try:
            asked = next(flow)
            while isinstance(asked, ValidateOutput):
                try:
                    answer = asked.perform(lambda work: await_on_loop(work, self.loop, self.cancelled))
                except Exception as error:  # code of the user
                    asked = flow.throw(error)
                else:
                    asked = flow.send(answer)
        except StopIteration as end:
            return end.value
        raise TypeError(f"a validator cannot ask for {asked!r:.60}")

    def resample(self) -> None:
        """Drop particles without a weight; replace light ones by heavy ones if few carry all the weight."""
        groups = self.active + self.ended
        log_weights, counts = [group.log_weight for group in groups], [group.count for group in groups]
        self.size = effective_sample_size(log_weights, counts)
        if not self.active or self.size >= _RESAMPLED_BELOW * self.count:
            return
        if not self.size:
            self.active = []
            return
        mean = mean_log_weight(log_weights, counts) + math.log(
            sum(counts) / self.count
        )  # the dropped weigh 0
        for group, count in zip(
            groups, resample(log_weights, counts, self.count, self.generator), strict=True
        ):
            group.count, group.log_weight = count, mean
        self.active = [group for group in self.active if group.count]
        self.ended = [group for group in self.ended if group.count]
        self.size = float(self.count)

    def result(self, seconds: float) -> Particles:
        ended = [
            (group.attempt.generated, group.decoded, group.log_weight, group.count)
            for group in self.ended
            if group.decoded is not None and group.log_weight > -math.inf
        ]
        return Particles(
            ended=[(generated, decoded) for generated, decoded, _, _ in ended],
            log_weights=[log_weight for _, _, log_weight, _ in ended],
            counts=[count for _, _, _, count in ended],
            total=self.count,
            effective_sample_size=self.size,
            generated=self.last,
            generator=self.generator,
            refused=self.refused,
            exceeded=self.exceeded,
            model_seconds=self.model_seconds,
            seconds=seconds,
        )


def no_particles(particles: Particles, name: str) -> GenerationError:
    """Return the error for particles that all have weight 0.

    Args:
        particles: The particles.
        name: The name of the target.
    """
    if particles.exceeded is not None:
        return particles.exceeded
    if not particles.refused:
        text = display_text(to_text(bytes(particles.generated.text)))
        return GenerationError(
            f"the model gives no probability to what {name} allows after {text[-60:]!r}, so no particle of "
            f"{particles.total} is left; describe the expected answer in the prompt, or pass more particles=..."
        )
    text, span = particles.refused[-1]
    return OutputValidationError(
        f"the validators of {name} refuse every value of {particles.total} particles, the last of them "
        f"{display_text(text):.200}: {span.rejected.message}; put their rule into a constraint, or into a description "
        "where the model can read it, or pass more particles=...",
        text=display_text(text),
        attempts=tuple(display_text(refused) for refused, _ in particles.refused),
        rejected=span.rejected,
    )


def _sampled(logits: NDArray[np.float32], attempt: Attempt, token: int) -> SampledToken:
    """Return a drawn token with what a masked step records of it."""
    unbudgeted = None
    if attempt.is_restricted and attempt.shortened_at is None:
        ids, row = allowed_logits(logits, attempt.unbudgeted_mask)
        best = int(row.argmax())
        unbudgeted = best if ids is None else int(ids[best])
    if not attempt.settings.confidence:
        return SampledToken(token, unbudgeted)
    allowed = logsumexp(allowed_logits(logits, attempt.mask)[1])
    masked = max(0.0, 1 - math.exp(allowed - logsumexp(logits)))
    return SampledToken(token, unbudgeted, float(logits[token]) - allowed, masked)
