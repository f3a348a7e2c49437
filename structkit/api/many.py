"""The public functions for many prompts: computed side by side, results in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, TypeAlias, TypeVar, cast, overload

from typing_extensions import Required, TypeForm, Unpack

from structkit.generate.input.options import BatchSettings, Options, Settings
from structkit.generate.input.prompt import Prompt
from structkit.generate.output.result import Result
from structkit.generate.run.batch import run_many
from structkit.generate.run.scheduler import in_thread
from structkit.models.protocols import LogitsModel
from structkit.targets.targets import AnyTarget, TextTarget

__all__ = ["aextract_many", "agenerate_many", "extract_many", "generate_many"]

T = TypeVar("T")

Prompts: TypeAlias = Sequence[Prompt]
SchemaOrTargets: TypeAlias = "Mapping[str, object] | Callable[..., object] | Sequence[AnyTarget]"
Targets: TypeAlias = "AnyTarget | Sequence[AnyTarget]"


class ManyOptions(Options, total=False):
    """The keyword arguments of the functions for many prompts: those for one, and these."""

    batch_size: int
    """Sequences computed at once; 8 by default."""

    progress: bool | None
    """Whether a progress bar is shown, by tqdm; by default only in a terminal."""

    return_exceptions: Literal[False]
    """By default the first error is raised, and ends all."""


class ReturnExceptionsOptions(Options, total=False):
    """Those of calls that return the exception of a prompt that fails in the place of its value."""

    batch_size: int
    progress: bool | None
    return_exceptions: Required[bool]


@overload
def extract_many(
    model: LogitsModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ManyOptions]
) -> list[T]: ...
@overload
def extract_many(
    model: LogitsModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ReturnExceptionsOptions]
) -> list[T | Exception]: ...
@overload
def extract_many(
    model: LogitsModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ManyOptions]
) -> list[T]: ...
@overload
def extract_many(
    model: LogitsModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ReturnExceptionsOptions]
) -> list[T | Exception]: ...
@overload
def extract_many(
    model: LogitsModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ManyOptions]
) -> list[object]: ...
@overload
def extract_many(
    model: LogitsModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ReturnExceptionsOptions]
) -> list[object]: ...
def extract_many(
    model: LogitsModel, prompts: Prompts, target: Targets, **options: object
) -> Sequence[object]:
    """Have a model write a value for each prompt, several at once.

    A sequence that ends makes room for the next, prompts of like length go together, and what all prompts begin
    with is read once. In greedy decoding each value is the one that `extract` gives.

    Args:
        model: A model, such as `structkit.load()`. One that cannot compute several sequences at once, because it
            keeps a state instead of the tokens, writes them one after the other.
        prompts: Texts, or lists of messages.
        target: What to generate, as for `extract`; or a list of targets, one for each prompt.
        **options: Those of `extract`, and: `batch_size`, the sequences computed at once, 8 by default; `progress`,
            whether a progress bar is shown (it needs tqdm), by default only in a terminal; `return_exceptions`, whether
            the exception of a prompt that fails takes the place of its value, where else the first one is raised
            and ends all. With a `seed` each prompt draws random numbers of its own, whatever the batch.

    Returns:
        The values, in the order of the prompts.

    Raises:
        StructkitError: See `generate`.
        ValueError: There are not as many targets as prompts, or an option is out of its range.
        TypeError: An option, or a prompt, is not what it should be.

    >>> from structkit.testing import ScriptedModel
    >>> extract_many(ScriptedModel(["1", "2"]), ["One.", "Two."], int)
    [1, 2]
    """
    return _values(_run("extract_many", model, prompts, target, options))


@overload
def generate_many(
    model: LogitsModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ManyOptions]
) -> list[Result[T]]: ...
@overload
def generate_many(
    model: LogitsModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ReturnExceptionsOptions]
) -> list[Result[T] | Exception]: ...
@overload
def generate_many(
    model: LogitsModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ManyOptions]
) -> list[Result[T]]: ...
@overload
def generate_many(
    model: LogitsModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ReturnExceptionsOptions]
) -> list[Result[T] | Exception]: ...
@overload
def generate_many(
    model: LogitsModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ManyOptions]
) -> list[Result[object]]: ...
@overload
def generate_many(
    model: LogitsModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ReturnExceptionsOptions]
) -> list[Result[object] | Exception]: ...
def generate_many(
    model: LogitsModel, prompts: Prompts, target: Targets, **options: object
) -> Sequence[object]:
    """Have a model write a value for each prompt, and return them with their texts and what they took.

    Takes what `extract_many` takes.

    >>> from structkit.testing import ScriptedModel
    >>> [result.text for result in generate_many(ScriptedModel(["1", "2"]), ["One.", "Two."], int)]
    ['1', '2']
    """
    return _run("generate_many", model, prompts, target, options)


@overload
async def aextract_many(
    model: LogitsModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ManyOptions]
) -> list[T]: ...
@overload
async def aextract_many(
    model: LogitsModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ReturnExceptionsOptions]
) -> list[T | Exception]: ...
@overload
async def aextract_many(
    model: LogitsModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ManyOptions]
) -> list[T]: ...
@overload
async def aextract_many(
    model: LogitsModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ReturnExceptionsOptions]
) -> list[T | Exception]: ...
@overload
async def aextract_many(
    model: LogitsModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ManyOptions]
) -> list[object]: ...
@overload
async def aextract_many(
    model: LogitsModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ReturnExceptionsOptions]
) -> list[object]: ...
async def aextract_many(
    model: LogitsModel, prompts: Prompts, target: Targets, **options: object
) -> Sequence[object]:
    """`extract_many` for async programs: the model works in a thread, so the event loop goes on.

    >>> import asyncio
    >>> from structkit.testing import ScriptedModel
    >>> asyncio.run(aextract_many(ScriptedModel(["1", "2"]), ["One.", "Two."], int))
    [1, 2]
    """
    work = partial(_run, "aextract_many", model, prompts, target, options)
    return _values(await in_thread(lambda cancelled: work(cancelled=cancelled)))


@overload
async def agenerate_many(
    model: LogitsModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ManyOptions]
) -> list[Result[T]]: ...
@overload
async def agenerate_many(
    model: LogitsModel, prompts: Prompts, target: TypeForm[T], **options: Unpack[ReturnExceptionsOptions]
) -> list[Result[T] | Exception]: ...
@overload
async def agenerate_many(
    model: LogitsModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ManyOptions]
) -> list[Result[T]]: ...
@overload
async def agenerate_many(
    model: LogitsModel, prompts: Prompts, target: TextTarget[T], **options: Unpack[ReturnExceptionsOptions]
) -> list[Result[T] | Exception]: ...
@overload
async def agenerate_many(
    model: LogitsModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ManyOptions]
) -> list[Result[object]]: ...
@overload
async def agenerate_many(
    model: LogitsModel, prompts: Prompts, target: SchemaOrTargets, **options: Unpack[ReturnExceptionsOptions]
) -> list[Result[object] | Exception]: ...
async def agenerate_many(
    model: LogitsModel, prompts: Prompts, target: Targets, **options: object
) -> Sequence[object]:
    """`generate_many` for async programs; see `aextract_many`.

    >>> import asyncio
    >>> from structkit.testing import ScriptedModel
    >>> asyncio.run(agenerate_many(ScriptedModel(["1"]), ["One."], int))[0].value
    1
    """
    work = partial(_run, "agenerate_many", model, prompts, target, options)
    return await in_thread(lambda cancelled: work(cancelled=cancelled))


def _values(results: Sequence[object]) -> list[object]:
    return [result.value if isinstance(result, Result) else result for result in results]


def _run(
    function: str,
    model: LogitsModel,
    prompts: Prompts,
    target: Targets,
    options: dict[str, object],
    cancelled: threading.Event | None = None,
) -> list[Result[object] | Exception]:
    batch = BatchSettings.read(options)
    settings = Settings.read(
        function, cast("Options", options), ("batch_size", "progress", "return_exceptions")
    )
    if isinstance(prompts, (str, bytes, Mapping)) or not isinstance(prompts, Sequence):
        raise TypeError(f"{function}() takes a list of prompts, not {prompts!r:.60}")
    one = not isinstance(target, (list, tuple))
    targets = [cast("AnyTarget", target)] * len(prompts) if one else list(cast("Sequence[AnyTarget]", target))
    if len(targets) != len(prompts):
        raise ValueError(
            f"there are {len(prompts)} prompts and {len(targets)} targets; give one for each, or one"
        )
    return run_many(model, prompts, targets, settings, batch, cancelled)
