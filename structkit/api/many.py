"""Public functions for many prompts: batched computation, results in the order of the prompts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict, TypeVar, cast, overload

from typing_extensions import Required, TypeForm, Unpack

from structkit.generate.input.options import BatchSettings, Options, ResultOptions, Settings
from structkit.generate.input.prompt import Prompt
from structkit.generate.output.result import Result
from structkit.generate.run.batch import run_many
from structkit.generate.threads.event_loop import in_thread
from structkit.models.text.protocol import AnyModel
from structkit.targets.specs import TextTarget
from structkit.targets.targets import AnyTarget

__all__ = ["aextract_many", "agenerate_many", "extract_many", "generate_many"]

T = TypeVar("T")

Prompts: TypeAlias = Sequence[Prompt]
SchemaOrTargets: TypeAlias = "Mapping[str, object] | Callable[..., object] | Sequence[AnyTarget]"
Targets: TypeAlias = "AnyTarget | Sequence[AnyTarget]"


class BatchOptions(TypedDict, total=False):
    """Keyword arguments of the functions for many prompts, in addition to those for one prompt."""

    batch_size: int
    """Maximum number of sequences per batch; 8 by default."""

    progress: bool | None
    """Whether to show a progress bar (requires tqdm); by default only in a terminal."""

    return_exceptions: Literal[False]
    """False, the default: the first error is raised and cancels the other prompts."""


class ReturnExceptionsOptions(TypedDict, total=False):
    """Keyword arguments of calls that return exceptions in place of the values of failed prompts."""

    batch_size: int
    progress: bool | None
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
def extract_many(model: AnyModel, prompts: Prompts, target: Targets, **options: object) -> Sequence[object]:
    """Generate a value for each prompt, in batches.

    When a sequence ends, the next prompt takes its place in the batch. Prompts of similar length are batched together,
    and the common prefix of all prompts is read once. With greedy decoding, each value equals the one that `extract`
    returns.

    Args:
        model: A model, such as `structkit.load()`. A model that does not support batching, such as a recurrent model,
            generates the sequences one after the other.
        prompts: Strings, or lists of messages.
        target: What to generate, as for `extract`; or a list with one target per prompt.
        **options: As for `extract`, and: `batch_size`, the maximum number of sequences per batch, 8 by default;
            `progress`, whether to show a progress bar (requires tqdm), by default only in a terminal;
            `return_exceptions`, whether to return the exception of a failed prompt in place of its value instead of
            raising the first one. With a `seed`, each prompt has its own random numbers, independent of the batch.

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
    model: AnyModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ManyOptions]
) -> list[T]: ...
@overload
async def aextract_many(
    model: AnyModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ManyOrExceptionsOptions]
) -> list[T | Exception]: ...
@overload
async def aextract_many(
    model: AnyModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ManyOptions]
) -> list[T]: ...
@overload
async def aextract_many(
    model: AnyModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ManyOrExceptionsOptions]
) -> list[T | Exception]: ...
@overload
async def aextract_many(
    model: AnyModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ManyOptions]
) -> list[object]: ...
@overload
async def aextract_many(
    model: AnyModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ManyOrExceptionsOptions]
) -> list[object]: ...
async def aextract_many(
    model: AnyModel, prompts: Prompts, target: Targets, **options: object
) -> Sequence[object]:
    """Async version of `extract_many`: the model runs in a thread and does not block the event loop.

    >>> import asyncio
    >>> from structkit.testing import ScriptedModel
    >>> asyncio.run(aextract_many(ScriptedModel(["1", "2"]), ["One.", "Two."], int))
    [1, 2]
    """
    return _values(await _arun("aextract_many", Options, model, prompts, target, options))


@overload
async def agenerate_many(
    model: AnyModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ManyResultsOptions]
) -> list[Result[T]]: ...
@overload
async def agenerate_many(
    model: AnyModel,
    prompts: Prompts,
    target: TypeForm[T],
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> list[Result[T] | Exception]: ...
@overload
async def agenerate_many(
    model: AnyModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ManyResultsOptions]
) -> list[Result[T]]: ...
@overload
async def agenerate_many(
    model: AnyModel,
    prompts: Prompts,
    target: TextTarget[T],
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> list[Result[T] | Exception]: ...
@overload
async def agenerate_many(
    model: AnyModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ManyResultsOptions]
) -> list[Result[object]]: ...
@overload
async def agenerate_many(
    model: AnyModel,
    prompts: Prompts,
    target: SchemaOrTargets,
    **options: Unpack[ManyResultsOrExceptionsOptions],
) -> list[Result[object] | Exception]: ...
async def agenerate_many(
    model: AnyModel, prompts: Prompts, target: Targets, **options: object
) -> Sequence[object]:
    """Async version of `generate_many`; see `aextract_many`.

    >>> import asyncio
    >>> from structkit.testing import ScriptedModel
    >>> asyncio.run(agenerate_many(ScriptedModel(["1"]), ["One."], int))[0].value
    1
    """
    return await _arun("agenerate_many", ResultOptions, model, prompts, target, options)


def _values(results: Sequence[object]) -> list[object]:
    return [result.value if isinstance(result, Result) else result for result in results]


async def _arun(
    function: str,
    accepted: type[Options],
    model: AnyModel,
    prompts: Prompts,
    target: Targets,
    options: dict[str, object],
) -> list[Result[object] | Exception]:
    def work(cancelled: threading.Event) -> list[Result[object] | Exception]:
        return _run(function, accepted, model, prompts, target, options, cancelled)

    return await in_thread(work)


def _run(
    function: str,
    accepted: type[Options],
    model: AnyModel,
    prompts: Prompts,
    target: Targets,
    options: dict[str, object],
    cancelled: threading.Event | None = None,
) -> list[Result[object] | Exception]:
    batch = BatchSettings.read(options)
    settings = Settings.read(function, options, accepted, ("batch_size", "progress", "return_exceptions"))
    if isinstance(prompts, (str, bytes, Mapping)) or not isinstance(prompts, Sequence):
        raise TypeError(f"{function}() takes a list of prompts, not {prompts!r:.60}")
    if isinstance(target, (list, tuple)):
        targets = list(cast("Sequence[AnyTarget]", target))
    else:
        targets = [cast("AnyTarget", target)] * len(prompts)
    if len(targets) != len(prompts):
        raise ValueError(
            f"{len(prompts)} prompts and {len(targets)} targets; give one target per prompt, or one target for all"
        )
    return run_many(model, prompts, targets, settings, batch, cancelled)
