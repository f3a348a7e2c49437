"""Generations: the jobs of a call, and the batch that writes them."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping, Sequence
from typing import cast

from structkit.error_notes import add_location
from structkit.errors import GenerationError
from structkit.generate.input.examples import Example
from structkit.generate.input.options import BatchSettings, Settings, check_samples
from structkit.generate.input.prompt import Prompt
from structkit.generate.output.result import Result
from structkit.generate.run.progress import Progress
from structkit.generate.run.request import Request
from structkit.generate.run.scheduler import MODEL_LOCKS, run_flows, until_cancelled
from structkit.models.protocols import Batch, LogitsModel, SupportsLookahead
from structkit.models.single_row import new_batch
from structkit.targets.targets import AnyTarget

__all__ = ["run", "run_as_completed", "run_many", "run_request", "run_samples", "start_batch"]

_MAX_ROWS = 32
"""Samples of one prompt that are written at once: each takes memory for its own part of the KV cache."""


def run(
    model: LogitsModel,
    prompt: Prompt,
    target: AnyTarget,
    settings: Settings,
    cancelled: threading.Event | None = None,
    requested_at: float | None = None,
) -> Result[object]:
    """Generate one value.

    Args:
        model: It is held for itself while it writes.
        prompt: A text or messages.
        target: What to generate.
        settings: How.
        cancelled: See `drive_all`.
        requested_at: When it was asked for, by `time.perf_counter()`, if that was before now.

    Raises:
        StructkitError: See `structkit.generate`.
    """
    return run_samples(model, prompt, target, settings, 1, cancelled, requested_at)[0]


def run_samples(
    model: LogitsModel,
    prompt: Prompt,
    target: AnyTarget,
    settings: Settings,
    count: int,
    cancelled: threading.Event | None = None,
    requested_at: float | None = None,
) -> list[Result[object]]:
    """Generate several values for one prompt, which is read once for all; each draws random numbers of its own.

    Args:
        model: See `run`.
        prompt: See `run`.
        target: See `run`.
        settings: See `run`.
        count: How many.
        cancelled: See `run`.
        requested_at: See `run`.

    Raises:
        StructkitError: See `structkit.generate`; the first error ends all.
        ValueError: They would all be the same.
    """
    check_samples(settings, count)
    batch = BatchSettings(size=min(count, _MAX_ROWS), progress=False)
    requested_at = time.perf_counter() if requested_at is None else requested_at  # samples share one timeout
    shots: dict[int, Sequence[Example]] = {}
    jobs = [
        Request(number, model, prompt, target, settings, shots, requested_at=requested_at)
        for number in range(count)
    ]
    outcomes = dict(_outcomes(jobs, model, settings, batch, cancelled, "samples"))
    return [cast("Result[object]", outcomes[number]) for number in range(count)]


def run_many(
    model: LogitsModel,
    prompts: Sequence[Prompt],
    targets: Sequence[AnyTarget],
    settings: Settings,
    batch: BatchSettings,
    cancelled: threading.Event | None = None,
) -> list[Result[object] | Exception]:
    """Generate a value for each prompt.

    Args:
        model: It is held for itself while it writes.
        prompts: Texts or messages.
        targets: What to generate for each.
        settings: How.
        batch: How many at once.
        cancelled: See `drive_all`.

    Returns:
        The results, in the order of the prompts; with `batch.keep_errors` the errors of those that have none.

    Raises:
        Exception: Without `batch.keep_errors` the first error.
    """
    outcomes = dict(run_as_completed(model, dict(enumerate(prompts)), targets, settings, batch, cancelled))
    return [outcomes[number] for number in range(len(prompts))]


def run_as_completed(
    model: LogitsModel,
    prompts: Mapping[int, Prompt],
    targets: Sequence[AnyTarget],
    settings: Settings,
    batch: BatchSettings,
    cancelled: threading.Event | None = None,
) -> Generator[tuple[int, Result[object] | Exception], None, None]:
    """Generate a value for each prompt, and tell of each when it has come to an end.

    Args:
        model: See `run_many`; it is held until the last is told of, or this is closed.
        prompts: Texts or messages by their numbers, which make the random numbers of each its own.
        targets: See `run_many`.
        settings: See `run_many`.
        batch: See `run_many`.
        cancelled: See `run_many`.

    Yields:
        The number of a prompt, and its result or, with `batch.keep_errors`, its error.

    Raises:
        Exception: See `run_many`.
    """
    shots: dict[int, Sequence[Example]] = {}
    jobs = [
        Request(number, model, prompt, target, settings, shots)
        for (number, prompt), target in until_cancelled(zip(prompts.items(), targets, strict=True), cancelled)
    ]
    yield from _outcomes(jobs, model, settings, batch, cancelled)


def _outcomes(
    requests: list[Request],
    model: LogitsModel,
    settings: Settings,
    batch: BatchSettings,
    cancelled: threading.Event | None,
    location: str = "prompts",
) -> Generator[tuple[int, Result[object] | Exception], None, None]:
    """What came of each job, by its number, when it has."""
    for job in until_cancelled(requests, cancelled):
        job.examples()  # what is wrong with an example is wrong with the call
    with (
        MODEL_LOCKS.acquire(model, settings.assistant_model),
        Progress(len(requests), batch.progress) as progress,
    ):
        rows, requests = _start(model, requests, settings, cancelled)
        for driven in run_flows((job.flow() for job in requests), rows, batch.size, cancelled):
            if driven is None:
                continue
            job = requests[driven.index]
            outcome = job.outcome(driven)
            job.release()
            progress.advance()
            if isinstance(outcome, Exception) and not batch.return_exceptions:
                if len(requests) > 1:
                    add_location(outcome, f"{location}[{job.index}]")
                raise outcome
            yield job.index, outcome
    for guide in {id(job.guide): job.guide for job in requests if job.guide}.values():
        guide.save()


def run_request(request: Request, batch: Batch, cancelled: threading.Event | None = None) -> Result[object]:
    """Run a job of one's own, by itself; its model is held while it writes.

    Args:
        request: The job.
        batch: A batch of its model, without rows; see `begin_rows`.
        cancelled: See `drive_all`.

    Raises:
        StructkitError: See `structkit.generate`.
    """
    outcome: Result[object] | Exception | None = None
    with MODEL_LOCKS.acquire(*request.models):
        for driven in run_flows([request.flow()], batch, 1, cancelled):
            outcome = outcome if driven is None else request.outcome(driven)
    if not isinstance(outcome, Result):
        raise cast("Exception", outcome)
    if request.guide is not None:
        request.guide.save()
    return outcome


def start_batch(model: LogitsModel, settings: Settings) -> Batch:
    """A batch of a model.

    Raises:
        GenerationError: The draft model cannot draft for it.
    """
    rows, draft = new_batch(model), settings.assistant_model
    if draft is not None and not isinstance(rows, SupportsLookahead):
        raise GenerationError(
            f"{model.name} cannot take back what it has read, so no model can draft for it; leave out assistant_model=..."
        )
    if draft is not None and draft.vocabulary.tokens != model.vocabulary.tokens:
        raise GenerationError(
            f"{draft.name} has other tokens than {model.name}, so it cannot draft for it; "
            "give a smaller model of the same family"
        )
    return rows


def _start(
    model: LogitsModel, requests: list[Request], settings: Settings, cancelled: threading.Event | None
) -> tuple[Batch, list[Request]]:
    """Rows for the jobs, and the jobs in the order in which they are best begun."""
    rows = start_batch(model, settings)
    if rows.max_rows == 1 or len(requests) == 1:
        return rows, requests
    # Prompts of like length waste the least padding; the longest come first, for they need the most memory.
    kept = {job: job.unhealed_ids() for job in until_cancelled(requests, cancelled)}
    requests = sorted(requests, key=lambda job: -len(job.prompt_ids()))
    return new_batch(model, _common_prefix([kept[job] for job in requests])), requests


def _common_prefix(prompts: Sequence[list[int]]) -> list[int]:
    """What all prompts begin with, but for the last token of the shortest; prompts that were not read do not count."""
    prompts = [prompt for prompt in prompts if prompt]
    low, high = min(prompts, default=[]), max(prompts, default=[])
    most = min(map(len, prompts), default=1) - 1
    length = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), most)
    return low[: min(length, most)]
