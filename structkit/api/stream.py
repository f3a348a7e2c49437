"""Public functions that stream events during generation."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar, overload

from typing_extensions import TypeForm, Unpack

from structkit.functions.call import Call
from structkit.generate.input.options import StreamOptions
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.settings import Settings, names_options
from structkit.generate.run.stream import AsyncStream, Stream
from structkit.models.text.protocol import AnyModel
from structkit.targets.specs import TextTarget
from structkit.targets.targets import AnyTarget

__all__ = ["astream", "stream"]

T = TypeVar("T")


@overload
def stream(
    model: AnyModel, prompt: Prompt, target: TypeForm[T], **options: Unpack[StreamOptions]
) -> Stream[T]: ...
@overload
def stream(
    model: AnyModel, prompt: Prompt, target: TextTarget[T], **options: Unpack[StreamOptions]
) -> Stream[T]: ...
@overload
def stream(
    model: AnyModel, prompt: Prompt, target: Mapping[str, object], **options: Unpack[StreamOptions]
) -> Stream[object]: ...
@overload
def stream(
    model: AnyModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    **options: Unpack[StreamOptions],
) -> Stream[Call[T]]: ...
@overload
def stream(
    model: AnyModel, prompt: Prompt, target: Callable[..., T], **options: Unpack[StreamOptions]
) -> Stream[Call[T]]: ...
@names_options(StreamOptions)
def stream(
    model: AnyModel, prompt: Prompt, target: AnyTarget, **options: Unpack[StreamOptions]
) -> Stream[object]:
    """Generate a value of a type, and yield an event for each part as soon as the part is final.

    Takes the arguments of `generate`. The model runs when the next event is requested, and errors are raised there.

    Returns:
        An iterator of `FieldStart`, `TextDelta`, `FieldEnd` and `FieldRetracted`, with `StreamEnd` last. Its `partial`
        is the value so far. With `rules`, the names of rules of a `Grammar`, there are `RuleStart` and `RuleEnd` for
        each of these rules in place of fields.

    >>> from structkit.testing import ScriptedModel
    >>> for event in stream(ScriptedModel(['{"name": "Ana", "age": 34}']), "Ana is 34.", dict[str, str | int]):
    ...     if type(event).__name__ == "FieldEnd":
    ...         print(event)
    FieldEnd(path='name', value='Ana')
    FieldEnd(path='age', value=34)
    FieldEnd(path='$', value={'name': 'Ana', 'age': 34})
    """
    return Stream(model, prompt, target, Settings.read("stream", options, StreamOptions))


@overload
def astream(
    model: AnyModel, prompt: Prompt, target: TypeForm[T], **options: Unpack[StreamOptions]
) -> AsyncStream[T]: ...
@overload
def astream(
    model: AnyModel, prompt: Prompt, target: TextTarget[T], **options: Unpack[StreamOptions]
) -> AsyncStream[T]: ...
@overload
def astream(
    model: AnyModel, prompt: Prompt, target: Mapping[str, object], **options: Unpack[StreamOptions]
) -> AsyncStream[object]: ...
@overload
def astream(
    model: AnyModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    **options: Unpack[StreamOptions],
) -> AsyncStream[Call[T]]: ...
@overload
def astream(
    model: AnyModel, prompt: Prompt, target: Callable[..., T], **options: Unpack[StreamOptions]
) -> AsyncStream[Call[T]]: ...
@names_options(StreamOptions)
def astream(
    model: AnyModel, prompt: Prompt, target: AnyTarget, **options: Unpack[StreamOptions]
) -> AsyncStream[object]:
    """Async version of `stream`: the model runs in a thread while the next event is awaited.

    >>> import asyncio
    >>> from structkit.testing import ScriptedModel
    >>> async def main() -> None:
    ...     async for event in astream(ScriptedModel(["[1, 2]"]), "One and two.", list[int]):
    ...         last = event
    ...     print(last.result.value)
    >>> asyncio.run(main())
    [1, 2]
    """
    return AsyncStream(Stream(model, prompt, target, Settings.read("astream", options, StreamOptions)))
