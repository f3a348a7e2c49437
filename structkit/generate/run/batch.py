"""Batches: the requests of a call, generated side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TypeAlias, cast

from structkit.error_notes import add_location
from structkit.errors import GenerationError
from structkit.generate.correct.runner import run_text_flows
from structkit.generate.decode.config import GeneratedTokens
from structkit.generate.input.options import BatchSettings, Settings, check_samples
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.request import Request
from structkit.generate.output.result import Result
from structkit.generate.run.outcome import Outcome, result_of
from structkit.generate.run.progress import Progress
from structkit.generate.run.request import (
    Prepared,
    compile_quotes,
    compile_request,
    encode_request,
    settle,
    share_examples,
    unhealed_ids,
    write,
)
from structkit.generate.run.text import check_options, write_text
from structkit.generate.schedule.job import Job
from structkit.generate.schedule.prefix_cache import CachedRow
from structkit.generate.schedule.scheduler import SCHEDULERS
from structkit.generate.threads.flows import FlowResult, until_cancelled
from structkit.models.protocols import LogitsModel, SupportsLookahead
from structkit.models.single_row import new_batch
from structkit.models.text.protocol import AnyModel, TextModel
from structkit.targets.targets import AnyTarget

__all__ = ["run", "run_as_completed", "run_many", "run_request", "run_samples", "run_steps"]

_Queue: TypeAlias = "list[tuple[int, Prepared | Exception]]"
"""Requests with their numbers; an error takes the place of a request that could not be prepared."""


def run(request: Request, cancelled: threading.Event | None = None) -> Result[object]:
    """Generate one value; see `run_samples`."""
    return run_samples(request, 1, cancelled)[0]


def run_samples(
    request: Request, count: int, cancelled: threading.Event | None = None
) -> list[Result[object]]:
    """Generate multiple values for one prompt, which the model reads once; each has its own random numbers.

    Args:
        request: The request.
        count: The number of values.
        cancelled: See `Job`.

    Raises:
        StructkitError: See `structkit.generate`; the first error ends the call.
        ValueError: All values would be the same.
    """
    if count > 1 and isinstance(request.model, TextModel):
        raise GenerationError(
            f"{request.model.name} returns text, and n={count} samples of one prompt need a model that returns logits; "
            "call generate_many with the prompt several times"
        )
    check_samples(request.settings, count)
    requested_at = request.requested_at or time.perf_counter()  # samples share one timeout
    requests = [replace(request, number=number, requested_at=requested_at) for number in range(count)]
    batch = BatchSettings(
        size=min(count, request.settings.compile_settings.limits.batch_rows), progress=False
    )
    outcomes = dict(_outcomes(requests, request.model, request.settings, batch, cancelled, "samples"))
    return [cast("Result[object]", outcomes[number]) for number in range(count)]


def run_many(
    model: AnyModel,
    prompts: Sequence[Prompt],
    targets: Sequence[AnyTarget],
    settings: Settings,
    batch: BatchSettings,
    cancelled: threading.Event | None = None,
) -> list[Result[object] | Exception]:
    """Generate a value for each prompt.

    Args:
        model: The model.
        prompts: Texts or messages.
        targets: The target of each prompt.
        settings: The options of the call.
        batch: The batch size and the handling of errors.
        cancelled: See `Job`.

    Returns:
        The results in the order of the prompts; with `batch.return_exceptions`, an error in place of a result.

    Raises:
        Exception: The first error, without `batch.return_exceptions`.
    """
    outcomes = dict(run_as_completed(model, dict(enumerate(prompts)), targets, settings, batch, cancelled))
    return [outcomes[number] for number in range(len(prompts))]


def run_as_completed(
    model: AnyModel,
    prompts: Mapping[int, Prompt],
    targets: Sequence[AnyTarget],
    settings: Settings,
    batch: BatchSettings,
    cancelled: threading.Event | None = None,
) -> Generator[tuple[int, Result[object] | Exception], None, None]:
    """Generate a value for each prompt, and yield each when it is complete.

    Args:
        model: See `run_many`.
        prompts: Texts or messages by number; each number has its own random numbers.
        targets: See `run_many`.
        settings: See `run_many`.
        batch: See `run_many`.
        cancelled: See `run_many`.

    Yields:
        The number of a prompt, and its result or, with `batch.return_exceptions`, its error.

    Raises:
        Exception: See `run_many`.
    """
    requests = [
        Request(model=model, prompt=prompt, target=target, settings=settings, number=number)
        for (number, prompt), target in until_cancelled(zip(prompts.items(), targets, strict=True), cancelled)
    ]
    yield from _outcomes(requests, model, settings, batch, cancelled)


def _outcomes(
    requests: list[Request],
    model: AnyModel,
    settings: Settings,
    batch: BatchSettings,
    cancelled: threading.Event | None,
    location: str = "prompts",
) -> Generator[tuple[int, Result[object] | Exception], None, None]:
    """Yield the number of each request and its result or error, in order of completion."""
    if isinstance(model, TextModel) and requests:
        check_options(requests[0])
    compiled = [settle(compile_request, request) for request in until_cancelled(requests, cancelled)]
    queue = [(request.number, each) for request, each in zip(requests, share_examples(compiled), strict=True)]
    with Progress(len(queue), batch.progress) as progress:
        for number, flow_result in _flow_results(model, queue, settings, batch, cancelled):
            outcome = result_of(flow_result)
            progress.advance()
            if isinstance(outcome, Exception) and not batch.return_exceptions:
                if len(queue) > 1:
                    add_location(outcome, f"{location}[{number}]")
                raise outcome
            yield number, outcome
    save_guides(compiled)


def _flow_results(
    model: AnyModel,
    queue: _Queue,
    settings: Settings,
    batch: BatchSettings,
    cancelled: threading.Event | None,
) -> Generator[tuple[int, FlowResult[Outcome]], None, None]:
    """Yield the number of each request and the end of its flow."""
    if isinstance(model, TextModel):
        text_flows = (write_text(each) for _, each in queue)
        size = min(batch.size, len(queue))
        for flow_result in run_text_flows(model, text_flows, size, cancelled):
            if flow_result is not None:
                yield queue[flow_result.index][0], flow_result
        return
    job, queue = _job(model, queue, settings, batch.size, cancelled)
    for flow_result in SCHEDULERS.of(model).run(job):
        if flow_result is not None:
            yield queue[flow_result.index][0], flow_result


def run_request(
    request: Request,
    prepared: Prepared | Exception,
    cached_row: CachedRow | None,
    cancelled: threading.Event | None = None,
) -> Result[object]:
    """Generate the value of one request.

    Args:
        request: The request.
        prepared: The prepared request.
        cached_row: The state of an earlier sequence, which receives that of this one.
        cancelled: See `Job`.

    Raises:
        StructkitError: See `structkit.generate`.
    """
    *_, outcome = run_steps(request, prepared, cached_row, cancelled, is_stepwise=False)
    if not isinstance(outcome, Result):
        raise cast("Exception", outcome)
    return outcome


def run_steps(
    request: Request,
    prepared: Prepared | Exception,
    cached_row: CachedRow | None = None,
    cancelled: threading.Event | None = None,
    generated: GeneratedTokens | None = None,
    *,
    is_stepwise: bool = True,
) -> Generator[Result[object] | Exception | None, None, None]:
    """Generate the value of one request.

    Args:
        request: The request.
        prepared: The prepared request.
        cached_row: See `run_request`.
        cancelled: See `Job`.
        generated: The record that receives the tokens.
        is_stepwise: Whether there is an item for each step.

    Yields:
        `None` before each step of the model, and last the result or the error.
    """
    flow_result: FlowResult[Outcome] | None = None
    with closing(_one_flow(request, prepared, cached_row, cancelled, generated, is_stepwise)) as flow_results:
        while flow_result is None:
            flow_result = next(flow_results)
            if flow_result is None:
                yield None
    outcome = result_of(flow_result)
    if isinstance(outcome, Result):
        save_guides([prepared])
    yield outcome


def _one_flow(
    request: Request,
    prepared: Prepared | Exception,
    cached_row: CachedRow | None,
    cancelled: threading.Event | None,
    generated: GeneratedTokens | None,
    is_stepwise: bool,
) -> Generator[FlowResult[Outcome] | None, None, None]:
    if isinstance(request.model, TextModel):
        return run_text_flows(request.model, [write_text(prepared, generated)], 1, cancelled)
    _check_assistant(request.model, request.settings)
    job = Job(
        [write(settle(compile_quotes, prepared), generated)],
        1,
        cancelled,
        limits=request.settings.compile_settings.limits,
        cached_row=cached_row,
        assistant=request.settings.assistant_model,
        is_stepwise=is_stepwise,
    )
    return SCHEDULERS.of(request.model).run(job)


def save_guides(prepared: Sequence[Prepared | Exception]) -> None:
    """Let a background thread write the guides, which several prompts may share, to the disk cache."""
    compiled = [each.compiled for each in prepared if not isinstance(each, Exception)]
    for guide in {id(each.guide): each.guide for each in compiled if each is not None}.values():
        guide.save_soon()


def _check_assistant(model: LogitsModel, settings: Settings) -> None:
    """Check that the assistant model can draft for a model.

    Raises:
        GenerationError: It cannot.
    """
    draft = settings.assistant_model
    if draft is None:
        return
    if not isinstance(new_batch(model), SupportsLookahead):
        raise GenerationError(
            f"{model.name} cannot take back what it has read, so no model can draft for it; "
            "leave out assistant_model=..."
        )
    if draft.vocabulary.tokens != model.vocabulary.tokens:
        raise GenerationError(
            f"{draft.name} has other tokens than {model.name}, so it cannot draft for it; "
            "give a smaller model of the same family"
        )


def _job(
    model: LogitsModel, queue: _Queue, settings: Settings, size: int, cancelled: threading.Event | None
) -> tuple[Job[Outcome], _Queue]:
    """Return the job of requests, and the requests in the order in which they start."""
    _check_assistant(model, settings)
    prefix: list[int] = []
    if SCHEDULERS.of(model).can_batch():
        queue = [(number, settle(encode_request, each)) for number, each in until_cancelled(queue, cancelled)]
        # Prompts of similar length waste the least padding; the longest need the most memory and come first.
        queue.sort(key=lambda entry: 0 if isinstance(entry[1], Exception) else -len(entry[1].prompt_ids))
        kept = [unhealed_ids(each, each.compiled) for _, each in queue if not isinstance(each, Exception)]
        prefix = _common_prefix([[*ids] for ids in kept]) if len(kept) > 1 else []
    job = Job(
        (write(settle(compile_quotes, each)) for _, each in queue),
        size,
        cancelled,
        limits=settings.compile_settings.limits,
        prefix=prefix,
        assistant=settings.assistant_model,
    )
    return job, queue


def _common_prefix(prompts: Sequence[list[int]]) -> list[int]:
    """Return the common prefix of all prompts that are not empty, without the last token of the shortest."""
    prompts = [prompt for prompt in prompts if prompt]
    low, high = min(prompts, default=[]), max(prompts, default=[])
    most = min(map(len, prompts), default=1) - 1
    length = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), most)
    return low[: min(length, most)]
