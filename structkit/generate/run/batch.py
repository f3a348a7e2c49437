"""Batches: the requests of a call, generated side by side."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence, Sized
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice, repeat
from typing import cast

from structkit.error_notes import add_location
from structkit.errors import GenerationError
from structkit.generate.correct.runner import run_text_flows
from structkit.generate.decode.config import GeneratedTokens
from structkit.generate.input.faithful import check_particles
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.request import Request
from structkit.generate.input.settings import BatchSettings, Settings, check_samples
from structkit.generate.output.result import Result
from structkit.generate.run.outcome import Outcome, result_of
from structkit.generate.run.progress import Progress
from structkit.generate.run.request import (
    Prepared,
    compile_quotes,
    compile_request,
    draw,
    encode_request,
    settle,
    share_examples,
    unhealed_ids,
    write,
)
from structkit.generate.run.result_file import ResultFile
from structkit.generate.run.text import check_options, write_text
from structkit.generate.schedule.job import Job
from structkit.generate.schedule.prefix_cache import CachedRow
from structkit.generate.schedule.prefixes import common_prefix
from structkit.generate.schedule.scheduler import SCHEDULERS
from structkit.generate.threads.flows import FlowResult, until_cancelled
from structkit.models.protocols import LogitsModel, SupportsLookahead
from structkit.models.single_row import new_batch
from structkit.models.text.protocol import AnyModel, TextModel
from structkit.targets.targets import AnyTarget

__all__ = ["run", "run_as_completed", "run_many", "run_request", "run_samples", "run_steps"]

_WINDOW = 16
"""Prompts that are read ahead and sorted by length, for each row of a batch."""


def run(request: Request, cancelled: threading.Event | None = None) -> Result[object]:
    """Generate one value; see `run_samples`."""
    if request.settings.particles is not None:
        return _run_particles(request, request.settings.particles, cancelled, is_one=True)[0]
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
    check_samples(request.settings, count)
    if request.settings.particles is not None:
        return _run_particles(request, count, cancelled)
    if count > 1 and isinstance(request.model, TextModel):
        raise GenerationError(
            f"{request.model.name} returns text, and n={count} samples of one prompt need a model that returns logits; "
            "call generate_many with the prompt several times"
        )
    requested_at = request.requested_at or time.perf_counter()  # samples share one timeout
    requests = [replace(request, number=number, requested_at=requested_at) for number in range(count)]
    batch = BatchSettings(
        size=min(count, request.settings.compile_settings.limits.batch_rows), progress=False
    )
    outcomes = dict(
        _outcomes(
            requests,
            request.model,
            request.settings,
            batch,
            cancelled,
            "samples" if count > 1 else None,
            count,
            count,
        )
    )
    return [cast("Result[object]", outcomes[number]) for number in range(count)]


def _run_particles(
    request: Request, count: int, cancelled: threading.Event | None, *, is_one: bool = False
) -> list[Result[object]]:
    """Return the values of weighted particles, each with its weight; or one drawn from them, with that of all."""
    if isinstance(request.model, TextModel):
        raise GenerationError(
            f"{request.model.name} returns text, and sampling='faithful' needs the logits of a model; leave it out"
        )
    check_particles(
        count,
        request.settings.given,
        request.settings.compile_settings.limits,
        request.settings.sampling.temperature,
    )
    if not is_one and "particles" in request.settings.given:
        raise ValueError(
            "with sampling='faithful', n=... is the number of particles; leave out particles=..."
        )
    prepared, compiled, particles = draw(compile_request(request), count, cancelled)
    save_guides([replace(prepared, compiled=compiled)])
    drawn = [particles.one()] if is_one else particles.all()
    results: dict[int, Result[object]] = {}
    for group in {group: None for group, _ in drawn}:
        generated, decoded = particles.ended[group]
        decoded = replace(decoded, seconds=particles.seconds / len(drawn))
        outcome = Outcome(
            prepared.request, compiled, prepared.source, len(prepared.prompt_ids), generated, decoded
        )
        result = result_of(FlowResult(group, outcome, particles.model_seconds / len(drawn)))
        if isinstance(result, Exception):
            raise result
        results[group] = replace(result, effective_sample_size=particles.effective_sample_size)
    return [replace(results[group], log_weight=log_weight) for group, log_weight in drawn]


def run_many(
    model: AnyModel,
    prompts: Iterable[Prompt],
    targets: AnyTarget | Sequence[AnyTarget],
    settings: Settings,
    batch: BatchSettings,
    cancelled: threading.Event | None = None,
) -> list[Result[object] | Exception]:
    """Generate a value for each prompt.

    Args:
        model: The model.
        prompts: Texts or messages.
        targets: The target, or a list of those of each prompt.
        settings: The options of the call.
        batch: The batch size and the handling of errors.
        cancelled: See `Job`.

    Returns:
        The results in the order of the prompts; with `batch.return_exceptions`, an error in place of a result.

    Raises:
        Exception: The first error, without `batch.return_exceptions`.
    """
    length = len(prompts) if isinstance(prompts, Sized) else None
    numbered = enumerate(prompts)
    outcomes = dict(run_as_completed(model, numbered, targets, settings, batch, cancelled, length))
    return [outcomes[number] for number in range(len(outcomes))]


def run_as_completed(
    model: AnyModel,
    prompts: Iterable[tuple[int, Prompt]],
    targets: AnyTarget | Sequence[AnyTarget],
    settings: Settings,
    batch: BatchSettings,
    cancelled: threading.Event | None = None,
    length: int | None = None,
) -> Generator[tuple[int, Result[object] | Exception], None, None]:
    """Generate a value for each prompt, and yield each when it is complete.

    Args:
        model: See `run_many`.
        prompts: Texts or messages with their numbers, read as they are needed; each number has its own random numbers.
        targets: See `run_many`.
        settings: See `run_many`.
        batch: See `run_many`.
        cancelled: See `run_many`.
        length: The number of prompts, if it is known: then many are read ahead and sorted by length. Otherwise the
            source may have to make each prompt, and only those of a batch are read.

    Yields:
        The number of a prompt, and its result or, with `batch.return_exceptions`, its error.

    Raises:
        Exception: See `run_many`.
    """
    each_target = targets if isinstance(targets, (list, tuple)) else None
    pairs = zip(prompts, repeat(targets)) if each_target is None else _with_targets(prompts, each_target)
    requests: Iterator[Request] = (
        Request(
            model=model, prompt=prompt, target=cast("AnyTarget", target), settings=settings, number=number
        )
        for (number, prompt), target in until_cancelled(pairs, cancelled)
    )
    location = None if length == 1 else "prompts"
    window = (1 if length is None else _WINDOW) * batch.size
    if batch.results_file is None:
        yield from _outcomes(requests, model, settings, batch, cancelled, location, length, window)
        return
    with ResultFile(batch.results_file) as file:
        # Answers at the start of the file are available at once; the others are found while prompts are read.
        for request in requests:
            if not file.has(request):
                requests = chain([request], requests)
                break
            yield request.number, file.read(request)
        found: deque[Request] = deque()
        missing = _without_found(requests, file, found)
        for number, outcome in _outcomes(
            missing, model, settings, batch, cancelled, location, length, window, file
        ):
            while found:
                yield found[0].number, file.read(found.popleft())
            yield number, outcome
        while found:
            yield found[0].number, file.read(found.popleft())


def _with_targets(
    prompts: Iterable[tuple[int, Prompt]], targets: Sequence[AnyTarget]
) -> Iterator[tuple[tuple[int, Prompt], AnyTarget]]:
    """Yield each prompt with its target.

    Raises:
        ValueError: Their numbers differ.
    """
    rest = iter(prompts)
    for number, target in enumerate(targets):
        entry = next(rest, None)
        if entry is None:
            raise ValueError(f"{number} prompts and {len(targets)} targets; give one target per prompt")
        yield entry, target
    if next(rest, None) is not None:
        raise ValueError(f"more prompts than the {len(targets)} targets; give one target per prompt")


def _without_found(requests: Iterable[Request], file: ResultFile, found: deque[Request]) -> Iterator[Request]:
    """Yield the requests without a result in a file; the others are added to `found`."""
    for request in requests:
        if file.has(request):
            found.append(request)
        else:
            yield request


def _outcomes(
    requests: Iterable[Request],
    model: AnyModel,
    settings: Settings,
    batch: BatchSettings,
    cancelled: threading.Event | None,
    location: str | None,
    length: int | None,
    window: int,
    file: ResultFile | None = None,
) -> Generator[tuple[int, Result[object] | Exception], None, None]:
    """Yield the number of each request and its result or error, in order of completion."""
    with Progress(length, batch.progress) as progress:
        for request, flow_result in _flow_results(
            model, requests, settings, batch, cancelled, length, window
        ):
            outcome = result_of(flow_result)
            progress.advance()
            if isinstance(outcome, Exception):
                if not batch.return_exceptions:
                    if location is not None:
                        add_location(outcome, f"{location}[{request.number}]")
                    raise outcome
            elif file is not None:
                file.write(request, outcome)
            yield request.number, outcome


def _flow_results(
    model: AnyModel,
    requests: Iterable[Request],
    settings: Settings,
    batch: BatchSettings,
    cancelled: threading.Event | None,
    length: int | None,
    window: int,
) -> Generator[tuple[Request, FlowResult[Outcome]], None, None]:
    """Yield each request and the end of its flow. Requests are prepared in windows, as rows become free."""
    size = batch.size if length is None else min(batch.size, max(1, length))
    started: dict[int, Request] = {}  # by the index of the flow; those that have ended are removed
    prefix: list[int] = []
    guides: list[Prepared | Exception] = []

    def prepare() -> Generator[Prepared | Exception, None, None]:
        rest, index = iter(requests), 0
        while some := list(islice(rest, window)):
            queue = _prepare(some, cancelled, encodes=encodes)
            prefix[:] = _prefix_of(queue) if encodes and len(queue) > 1 else []
            save_guides(guides)
            guides[:] = [prepared for _, prepared in queue]
            for request, prepared in queue:
                started[index] = request
                index += 1
                yield prepared

    if isinstance(model, TextModel):
        encodes = False
        flow_results = run_text_flows(model, map(write_text, prepare()), size, cancelled)
    else:
        _check_assistant(model, settings)
        scheduler = SCHEDULERS.of(model)
        encodes = scheduler.can_batch()
        job = Job(
            (write(settle(compile_quotes, each)) for each in prepare()),
            size,
            cancelled,
            limits=settings.compile_settings.limits,
            prefix=prefix,
            assistant=settings.assistant_model,
        )
        flow_results = scheduler.run(job)
    with closing(flow_results):
        for flow_result in flow_results:
            if flow_result is not None:
                yield started.pop(flow_result.index), flow_result
    save_guides(guides)


def _prepare(
    requests: Sequence[Request], cancelled: threading.Event | None, *, encodes: bool
) -> list[tuple[Request, Prepared | Exception]]:
    """Return requests in the order in which they start, with their preparation, or the error of it."""
    if isinstance(requests[0].model, TextModel):
        check_options(requests[0])
    compiled = [settle(compile_request, request) for request in until_cancelled(requests, cancelled)]
    queue = list(zip(requests, share_examples(compiled), strict=True))
    if encodes:
        queue = [
            (request, settle(encode_request, each)) for request, each in until_cancelled(queue, cancelled)
        ]
        # Prompts of similar length waste the least padding; the longest need the most memory and come first.
        queue.sort(key=lambda entry: 0 if isinstance(entry[1], Exception) else -len(entry[1].prompt_ids))
    return queue


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


def _prefix_of(queue: Sequence[tuple[Request, Prepared | Exception]]) -> list[int]:
    """Return the common prefix of the prompts that the model reads."""
    prepared = [each for _, each in queue if not isinstance(each, Exception)]
    return _common_prefix([[*unhealed_ids(each, each.compiled)] for each in prepared])


def _common_prefix(prompts: Sequence[list[int]]) -> list[int]:
    """Return the common prefix of all prompts that are not empty, without the last token of the shortest."""
    filled = [prompt for prompt in prompts if prompt]
    return common_prefix(filled) if filled else []
