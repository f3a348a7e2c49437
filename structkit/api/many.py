"""Public functions for many prompts: batched computation, results in the order of the prompts."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterable, Callable, Generator, Iterable, Mapping, Sequence, Sized
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, overload

from typing_extensions import Required, TypeForm, Unpack

from structkit.generate.input.arguments import check_prompts
from structkit.generate.input.options import Options, ResultOptions
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.settings import BatchSettings, Settings, names_options
from structkit.generate.output.result import Result, value_of
from structkit.generate.run.batch import run_as_completed, run_many
from structkit.generate.threads.event_loop import in_thread
from structkit.generate.threads.iterate import InThread, read_async
from structkit.models.text.protocol import AnyModel
from structkit.targets.specs import TextTarget
from structkit.targets.targets import AnyTarget

__all__ = [
    "ManyResultsOptions",
    "aextract_many",
    "agenerate_many",
    "astream_many",
    "extract_many",
    "generate_many",
    "stream_many",
]

T = TypeVar("T")

Prompts: TypeAlias = Iterable[Prompt]
AsyncPrompts: TypeAlias = "Iterable[Prompt] | AsyncIterable[Prompt]"
SchemaOrTargets: TypeAlias = "Mapping[str, object] | Callable[..., object] | Sequence[AnyTarget]"
Targets: TypeAlias = "AnyTarget | Sequence[AnyTarget]"
AsyncResults: TypeAlias = InThread[tuple[int, T]]
"""An async iterator of indices and results, with `aclose`."""


class BatchOptions(TypedDict, total=False):
    """Keyword arguments of the functions for many prompts, in addition to those for one prompt."""

    batch_size: int
    """Maximum number of sequences per batch; 8 by default."""

    progress: bool | None
    """Whether to show a progress bar (requires tqdm); by default only in a terminal."""

    return_exceptions: Literal[False]
    """False, the default: the first error is raised and cancels the other prompts."""

    results_file: str | os.PathLike[str] | None
    """A file in JSON Lines to which each result is added when it is complete. The prompts whose results it has already
    are not generated again, so that a call that was stopped continues where it was. Errors are not stored."""


class ReturnExceptionsOptions(TypedDict, total=False):
    """Keyword arguments of calls that return exceptions in place of the values of failed prompts."""

    batch_size: int
    progress: bool | None
    results_file: str | os.PathLike[str] | None
    return_exceptions: Required[bool]


class ManyOptions(Options, BatchOptions, total=False):
    """Keyword arguments of `extract_many`."""


class ManyOrExceptionsOptions(Options, ReturnExceptionsOptions, total=False):
    """Keyword arguments of `extract_many` that returns exceptions."""


class ManyResultsOptions(ResultOptions, BatchOptions, total=False):
    """Keyword arguments of `generate_many`."""


class ManyResultsOrExceptionsOptions(ResultOptions, ReturnExceptionsOptions, total=False):
    """Keyword arguments of `generate_many` that returns exceptions."""


@overload
def extract_many(
    model: AnyModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ManyOptions]
) -> list[T]: ...
@overload
def extract_many(
    model: AnyModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ManyOrExceptionsOptions]
) -> list[T | Exception]: ...
@overload
def extract_many(
    model: AnyModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ManyOptions]
) -> list[T]: ...
@overload
def extract_many(
    model: AnyModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ManyOrExceptionsOptions]
) -> list[T | Exception]: ...
@overload
def extract_many(
    model: AnyModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ManyOptions]
) -> list[object]: ...
@overload
def extract_many(
    model: AnyModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ManyOrExceptionsOptions]
) -> list[object]: ...
@names_options(ManyOptions)
def extract_many(model: AnyModel, prompts: Prompts, target: Targets, **options: object) -> Sequence[object]:
    """Generate a value for each prompt, in batches.

    When a sequence ends, the next prompt takes its place in the batch. Prompts of similar length are batched together,
    and a common prefix of the prompts is read once. With greedy decoding, each value equals the one that `extract`
    returns.

    Args:
        model: A model, such as `structkit.load()`. A model that does not support batching, such as a recurrent model,
            generates the sequences one after the other.
        prompts: Strings, or lists of messages: a list, or any iterable, of which a few prompts are read ahead.
        target: What to generate, as for `extract`; or a list with one target per prompt.
        **options: As for `extract`, and: `batch_size`, the maximum number of sequences per batch, 8 by default;
            `progress`, whether to show a progress bar (requires tqdm), by default only in a terminal;
            `return_exceptions`, whether to return the exception of a failed prompt in place of its value instead of
            raising the first one; `results_file`, a file to which results are added, and with which a call that was
            stopped continues. With a `seed`, each prompt has its own random numbers, independent of the batch.

    Returns:
        The values, in the order of the prompts.

    Raises:
        StructkitError: See `generate`.
        ValueError: The numbers of targets and prompts differ, or an option is out of range.
        TypeError: An option or a prompt has the wrong type.

    >>> from structkit.testing import ScriptedModel
    >>> extract_many(ScriptedModel(["1", "2"]), ["One.", "Two."], int)
    [1, 2]
    """
    return _values(_run("extract_many", Options, model, prompts, target, options))


@overload
def generate_many(
    model: AnyModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ManyResultsOptions]
) -> list[Result[T]]: ...
@overload
def generate_many(
    model: AnyModel,
    prompts: Prompts,
    target: TypeForm[T],
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> list[Result[T] | Exception]: ...
@overload
def generate_many(
    model: AnyModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ManyResultsOptions]
) -> list[Result[T]]: ...
@overload
def generate_many(
    model: AnyModel,
    prompts: Prompts,
    target: TextTarget[T],
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> list[Result[T] | Exception]: ...
@overload
def generate_many(
    model: AnyModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ManyResultsOptions]
) -> list[Result[object]]: ...
@overload
def generate_many(
    model: AnyModel,
    prompts: Prompts,
    target: SchemaOrTargets,
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> list[Result[object] | Exception]: ...
@names_options(ManyResultsOptions)
def generate_many(model: AnyModel, prompts: Prompts, target: Targets, **options: object) -> Sequence[object]:
    """Generate a value for each prompt, and return results with text and usage.

    Takes the arguments of `extract_many`.

    >>> from structkit.testing import ScriptedModel
    >>> [result.text for result in generate_many(ScriptedModel(["1", "2"]), ["One.", "Two."], int)]
    ['1', '2']
    """
    return _run("generate_many", ResultOptions, model, prompts, target, options)


@overload
async def aextract_many(
    model: AnyModel, prompts: AsyncPrompts, target: TypeForm[T], **options: Unpack[ManyOptions]
) -> list[T]: ...
@overload
async def aextract_many(
    model: AnyModel, prompts: AsyncPrompts, target: TypeForm[T], **options: Unpack[ManyOrExceptionsOptions]
) -> list[T | Exception]: ...
@overload
async def aextract_many(
    model: AnyModel, prompts: AsyncPrompts, target: TextTarget[T], **options: Unpack[ManyOptions]
) -> list[T]: ...
@overload
async def aextract_many(
    model: AnyModel, prompts: AsyncPrompts, target: TextTarget[T], **options: Unpack[ManyOrExceptionsOptions]
) -> list[T | Exception]: ...
@overload
async def aextract_many(
    model: AnyModel, prompts: AsyncPrompts, target: SchemaOrTargets, **options: Unpack[ManyOptions]
) -> list[object]: ...
@overload
async def aextract_many(
    model: AnyModel,
    prompts: AsyncPrompts,
    target: SchemaOrTargets,
    **options: Unpack[ManyOrExceptionsOptions],
) -> list[object]: ...
@names_options(ManyOptions)
async def aextract_many(
    model: AnyModel, prompts: AsyncPrompts, target: Targets, **options: object
) -> Sequence[object]:
    """Async version of `extract_many`: the model runs in a thread and does not block the event loop.

    The prompts can also be an async iterable.

    >>> import asyncio
    >>> from structkit.testing import ScriptedModel
    >>> asyncio.run(aextract_many(ScriptedModel(["1", "2"]), ["One.", "Two."], int))
    [1, 2]
    """
    return _values(await _arun("aextract_many", Options, model, prompts, target, options))


@overload
async def agenerate_many(
    model: AnyModel, prompts: AsyncPrompts, target: TypeForm[T], **options: Unpack[ManyResultsOptions]
) -> list[Result[T]]: ...
@overload
async def agenerate_many(
    model: AnyModel,
    prompts: AsyncPrompts,
    target: TypeForm[T],
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> list[Result[T] | Exception]: ...
@overload
async def agenerate_many(
    model: AnyModel, prompts: AsyncPrompts, target: TextTarget[T], **options: Unpack[ManyResultsOptions]
) -> list[Result[T]]: ...
@overload
async def agenerate_many(
    model: AnyModel,
    prompts: AsyncPrompts,
    target: TextTarget[T],
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> list[Result[T] | Exception]: ...
@overload
async def agenerate_many(
    model: AnyModel, prompts: AsyncPrompts, target: SchemaOrTargets, **options: Unpack[ManyResultsOptions]
) -> list[Result[object]]: ...
@overload
async def agenerate_many(
    model: AnyModel,
    prompts: AsyncPrompts,
    target: SchemaOrTargets,
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> list[Result[object] | Exception]: ...
@names_options(ManyResultsOptions)
async def agenerate_many(
    model: AnyModel, prompts: AsyncPrompts, target: Targets, **options: object
) -> Sequence[object]:
    """Async version of `generate_many`; see `aextract_many`.

    >>> import asyncio
    >>> from structkit.testing import ScriptedModel
    >>> asyncio.run(agenerate_many(ScriptedModel(["1"]), ["One."], int))[0].value
    1
    """
    return await _arun("agenerate_many", ResultOptions, model, prompts, target, options)


@overload
def stream_many(
    model: AnyModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ManyResultsOptions]
) -> Generator[tuple[int, Result[T]], None, None]: ...
@overload
def stream_many(
    model: AnyModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ManyResultsOrExceptionsOptions]
) -> Generator[tuple[int, Result[T] | Exception], None, None]: ...
@overload
def stream_many(
    model: AnyModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ManyResultsOptions]
) -> Generator[tuple[int, Result[T]], None, None]: ...
@overload
def stream_many(
    model: AnyModel,
    prompts: Prompts,
    target: TextTarget[T],
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> Generator[tuple[int, Result[T] | Exception], None, None]: ...
@overload
def stream_many(
    model: AnyModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ManyResultsOptions]
) -> Generator[tuple[int, Result[object]], None, None]: ...
@overload
def stream_many(
    model: AnyModel,
    prompts: Prompts,
    target: SchemaOrTargets,
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> Generator[tuple[int, Result[object] | Exception], None, None]: ...
@names_options(ManyResultsOptions)
def stream_many(
    model: AnyModel, prompts: Prompts, target: Targets, **options: object
) -> Generator[tuple[int, object], None, None]:
    """Generate a value for each prompt, and yield each as soon as it is complete.

    Takes the arguments of `extract_many`. The prompts can be an iterator without end: memory does not grow with their
    number. The iterator is read while rows are free, by the code that runs the model, so it should not wait for long.

    Yields:
        The index of a prompt and its result, in the order of completion; with `return_exceptions=True`, an exception in
        place of the result of a failed prompt.

    Raises:
        StructkitError: See `extract_many`; also errors of `prompts` itself.

    >>> from structkit.testing import ScriptedModel
    >>> for index, result in stream_many(ScriptedModel(["1", "2"]), (f"Say {n}." for n in (1, 2)), int):
    ...     print(index, result.value)
    0 1
    1 2
    """
    return _stream("stream_many", model, prompts, target, options)


@overload
def astream_many(
    model: AnyModel, prompts: AsyncPrompts, target: TypeForm[T], **options: Unpack[ManyResultsOptions]
) -> AsyncResults[Result[T]]: ...
@overload
def astream_many(
    model: AnyModel,
    prompts: AsyncPrompts,
    target: TypeForm[T],
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> AsyncResults[Result[T] | Exception]: ...
@overload
def astream_many(
    model: AnyModel, prompts: AsyncPrompts, target: TextTarget[T], **options: Unpack[ManyResultsOptions]
) -> AsyncResults[Result[T]]: ...
@overload
def astream_many(
    model: AnyModel,
    prompts: AsyncPrompts,
    target: TextTarget[T],
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> AsyncResults[Result[T] | Exception]: ...
@overload
def astream_many(
    model: AnyModel, prompts: AsyncPrompts, target: SchemaOrTargets, **options: Unpack[ManyResultsOptions]
) -> AsyncResults[Result[object]]: ...
@overload
def astream_many(
    model: AnyModel,
    prompts: AsyncPrompts,
    target: SchemaOrTargets,
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> AsyncResults[Result[object] | Exception]: ...
@names_options(ManyResultsOptions)
def astream_many(
    model: AnyModel, prompts: AsyncPrompts, target: Targets, **options: object
) -> AsyncResults[Any]:
    """Async version of `stream_many`: the model runs in a thread while the next result is awaited.

    The prompts can also be an async iterable. `aclose` stops the generation, as does the end of a block of
    `contextlib.aclosing`.

    >>> import asyncio
    >>> from structkit.testing import ScriptedModel
    >>> async def main() -> None:
    ...     async for index, result in astream_many(ScriptedModel(["1", "2"]), ["One.", "Two."], int):
    ...         print(index, result.value)
    >>> asyncio.run(main())
    0 1
    1 2
    """
    cancelled = threading.Event()
    return InThread(
        _stream("astream_many", model, _sync(prompts, cancelled), target, options, cancelled), cancelled.set
    )


def _values(results: Sequence[object]) -> list[object]:
    return [value_of(result) if isinstance(result, Result) else result for result in results]


async def _arun(
    function: str,
    accepted: type[Options],
    model: AnyModel,
    prompts: AsyncPrompts,
    target: Targets,
    options: dict[str, object],
) -> list[Result[object] | Exception]:
    def work(cancelled: threading.Event) -> list[Result[object] | Exception]:
        return _run(function, accepted, model, _sync(prompts, cancelled), target, options, cancelled)

    return await in_thread(work)


def _sync(prompts: AsyncPrompts, cancelled: threading.Event) -> Iterable[Prompt]:
    return read_async(prompts, cancelled) if isinstance(prompts, AsyncIterable) else prompts


def _run(
    function: str,
    accepted: type[Options],
    model: AnyModel,
    prompts: Iterable[Prompt],
    target: Targets,
    options: dict[str, object],
    cancelled: threading.Event | None = None,
) -> list[Result[object] | Exception]:
    settings, batch = _read(function, accepted, prompts, target, options)
    return run_many(model, prompts, target, settings, batch, cancelled)


def _stream(
    function: str,
    model: AnyModel,
    prompts: Iterable[Prompt],
    target: Targets,
    options: dict[str, object],
    cancelled: threading.Event | None = None,
) -> Generator[tuple[int, Result[object] | Exception], None, None]:
    settings, batch = _read(function, ResultOptions, prompts, target, options)
    length = len(prompts) if isinstance(prompts, Sized) else None
    return run_as_completed(model, enumerate(prompts), target, settings, batch, cancelled, length)


def _read(
    function: str,
    accepted: type[Options],
    prompts: Iterable[Prompt],
    target: Targets,
    options: dict[str, object],
) -> tuple[Settings, BatchSettings]:
    """Check the arguments of a call."""
    batch = BatchSettings.read(options)
    names = ("batch_size", "progress", "return_exceptions", "results_file")
    settings = Settings.read(function, options, accepted, names)
    check_prompts(function, prompts)
    if isinstance(target, (list, tuple)) and isinstance(prompts, Sized) and len(target) != len(prompts):
        counts = f"{_counted(len(prompts), 'prompt')} and {_counted(len(target), 'target')}"
        raise ValueError(f"{counts}; give one target per prompt, or one target for all")
    return settings, batch


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
