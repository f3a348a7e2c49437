"""Generations: the jobs of a call, and the batch that writes them."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping, Sequence
from typing import cast

from structkit.error_notes import add_place
from structkit.errors import GenerationError
from structkit.generate.input.examples import Shot
from structkit.generate.input.options import Batch, Settings, check_samples
from structkit.generate.input.prompt import Prompt
from structkit.generate.output.result import Result
from structkit.generate.run.progress import Progress
from structkit.generate.run.request import Job
from structkit.generate.run.scheduler import TURNS, drive_all, until_cancelled
from structkit.models.protocols import LogitsModel, ReadsAhead, Rows
from structkit.models.single_row import rows_of
from structkit.targets.targets import AnyTarget

__all__ = ["begin_rows", "run", "run_each", "run_job", "run_many", "run_samples"]

_AT_ONCE = 32
"""Samples of one prompt that are written at once: each takes memory for its own part of the KV cache."""


def run(
    model: LogitsModel,
    prompt: Prompt,
    target: AnyTarget,
    settings: Settings,
    cancelled: threading.Event | None = None,
    asked: float | None = None,
) -> Result[object]:
    """Generate one value.

    Args:
        model: It is held for itself while it writes.
        prompt: A text or messages.
        target: What to generate.
        settings: How.
        cancelled: See `drive_all`.
        asked: When it was asked for, by `time.perf_counter()`, if that was before now.

    Raises:
        StructkitError: See `structkit.generate`.
    """
    return run_samples(model, prompt, target, settings, 1, cancelled, asked)[0]


def run_samples(
    model: LogitsModel,
    prompt: Prompt,
    target: AnyTarget,
    settings: Settings,
    count: int,
    cancelled: threading.Event | None = None,
    asked: float | None = None,
) -> list[Result[object]]:
    """Generate several values for one prompt, which is read once for all; each draws random numbers of its own.

    Args:
        model: See `run`.
        prompt: See `run`.
        target: See `run`.
        settings: See `run`.
        count: How many.
        cancelled: See `run`.
        asked: See `run`.

    Raises:
        StructkitError: See `structkit.generate`; the first error ends all.
        ValueError: They would all be the same.
    """
    check_samples(settings, count)
    batch = Batch(size=min(count, _AT_ONCE), progress=False)
    asked = time.perf_counter() if asked is None else asked  # samples share one timeout
    shots: dict[int, Sequence[Shot]] = {}
    jobs = [Job(number, model, prompt, target, settings, shots, asked=asked) for number in range(count)]
    outcomes = dict(_outcomes(jobs, model, settings, batch, cancelled, "samples"))
    return [cast("Result[object]", outcomes[number]) for number in range(count)]


def run_many(
    model: LogitsModel,
    prompts: Sequence[Prompt],
    targets: Sequence[AnyTarget],
    settings: Settings,
    batch: Batch,
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
    outcomes = dict(run_each(model, dict(enumerate(prompts)), targets, settings, batch, cancelled))
    return [outcomes[number] for number in range(len(prompts))]


def run_each(
    model: LogitsModel,
    prompts: Mapping[int, Prompt],
    targets: Sequence[AnyTarget],
    settings: Settings,
    batch: Batch,
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
    shots: dict[int, Sequence[Shot]] = {}
    jobs = [
        Job(number, model, prompt, target, settings, shots)
        for (number, prompt), target in until_cancelled(zip(prompts.items(), targets, strict=True), cancelled)
    ]
    yield from _outcomes(jobs, model, settings, batch, cancelled)


def _outcomes(
    jobs: list[Job],
    model: LogitsModel,
    settings: Settings,
    batch: Batch,
    cancelled: threading.Event | None,
    place: str = "prompts",
) -> Generator[tuple[int, Result[object] | Exception], None, None]:
    """What came of each job, by its number, when it has."""
    for job in until_cancelled(jobs, cancelled):
        job.shown()  # what is wrong with an example is wrong with the call
    with TURNS.held(model, settings.draft), Progress(len(jobs), batch.progress) as progress:
        rows, jobs = _begin(model, jobs, settings, cancelled)
        for driven in drive_all((job.flow() for job in jobs), rows, batch.size, cancelled):
            if driven is None:
                continue
            job = jobs[driven.number]
            outcome = job.outcome(driven)
            job.end()
            progress.advance()
            if isinstance(outcome, Exception) and not batch.keep_errors:
                if len(jobs) > 1:
                    add_place(outcome, f"{place}[{job.number}]")
                raise outcome
            yield job.number, outcome
    for guide in {id(job.guide): job.guide for job in jobs if job.guide}.values():
        guide.save()


def run_job(job: Job, rows: Rows, cancelled: threading.Event | None = None) -> Result[object]:
    """Run a job of one's own, by itself; its model is held while it writes.

    Args:
        job: The job.
        rows: A batch of its model, without rows; see `begin_rows`.
        cancelled: See `drive_all`.

    Raises:
        StructkitError: See `structkit.generate`.
    """
    outcome: Result[object] | Exception | None = None
    with TURNS.held(*job.models):
        for driven in drive_all([job.flow()], rows, 1, cancelled):
            outcome = outcome if driven is None else job.outcome(driven)
    if not isinstance(outcome, Result):
        raise cast("Exception", outcome)
    if job.guide is not None:
        job.guide.save()
    return outcome


def begin_rows(model: LogitsModel, settings: Settings) -> Rows:
    """A batch of a model.

    Raises:
        GenerationError: The draft model cannot draft for it.
    """
    rows, draft = rows_of(model), settings.draft
    if draft is not None and not isinstance(rows, ReadsAhead):
        raise GenerationError(
            f"{model.name} cannot take back what it has read, so no model can draft for it; leave out draft=..."
        )
    if draft is not None and draft.vocabulary.tokens != model.vocabulary.tokens:
        raise GenerationError(
            f"{draft.name} has other tokens than {model.name}, so it cannot draft for it; "
            "give a smaller model of the same family"
        )
    return rows


def _begin(
    model: LogitsModel, jobs: list[Job], settings: Settings, cancelled: threading.Event | None
) -> tuple[Rows, list[Job]]:
    """Rows for the jobs, and the jobs in the order in which they are best begun."""
    rows = begin_rows(model, settings)
    if rows.most == 1 or len(jobs) == 1:
        return rows, jobs
    # Prompts of like length waste the least padding; the longest come first, for they need the most memory.
    kept = {job: job.kept() for job in until_cancelled(jobs, cancelled)}
    jobs = sorted(jobs, key=lambda job: -len(job.encoded()))
    return rows_of(model, _common([kept[job] for job in jobs])), jobs


def _common(prompts: Sequence[list[int]]) -> list[int]:
    """What all prompts begin with, but for the last token of the shortest; prompts that were not read do not count."""
    prompts = [prompt for prompt in prompts if prompt]
    low, high = min(prompts, default=[]), max(prompts, default=[])
    most = min(map(len, prompts), default=1) - 1
    length = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), most)
    return low[: min(length, most)]
