"""Public functions that return the probability of each choice."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, TypeVar, overload

from typing_extensions import TypeForm, Unpack

from structkit.errors import SchemaError
from structkit.generate.input.options import ClassifyOptions
from structkit.generate.input.prompt import Prompt
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings, names_options
from structkit.generate.output.confidence import member_names
from structkit.generate.run.batch import run
from structkit.generate.threads.event_loop import in_thread
from structkit.models.protocols import LogitsModel
from structkit.rejected import Rejected
from structkit.targets.specs import TextTarget
from structkit.targets.targets import AnyTarget, read_target

__all__ = ["aclassify", "classify"]

T = TypeVar("T")


@overload
def classify(
    model: LogitsModel, prompt: Prompt, target: TypeForm[T], **options: Unpack[ClassifyOptions]
) -> dict[T, float]: ...
@overload
def classify(
    model: LogitsModel, prompt: Prompt, target: TextTarget[T], **options: Unpack[ClassifyOptions]
) -> dict[T, float]: ...
@names_options(ClassifyOptions)
def classify(
    model: LogitsModel, prompt: Prompt, target: AnyTarget, **options: Unpack[ClassifyOptions]
) -> dict[Any, float]:
    """Return the probability that a model gives to each choice.

    The probability of a choice is the probability of its text, normalized to sum to 1 over all choices. The result is
    exact: all choices are scored and none is sampled. The model's probabilities need not be calibrated.

    Args:
        model: A model, such as `structkit.load()`.
        prompt: A string or messages.
        target: A `Literal`, an `Enum`, `bool`, or `structkit.Choice([...])`.
        **options: As for `extract`, except `validate` and `context`.

    Returns:
        The probability of each choice, in descending order.

    Raises:
        SchemaError: The target is not a finite set of values, or the values cannot be keys of a dict.
        StructkitError: See `structkit.generate`.

    >>> from typing import Literal
    >>> from structkit.testing import ScriptedModel
    >>> probabilities = classify(ScriptedModel(['"good"']), "It works!", Literal["good", "bad"])
    >>> list(probabilities), round(sum(probabilities.values()), 6)
    (['good', 'bad'], 1.0)
    """
    return _classify(model, prompt, target, Settings.read("classify", options, ClassifyOptions))


@overload
async def aclassify(
    model: LogitsModel, prompt: Prompt, target: TypeForm[T], **options: Unpack[ClassifyOptions]
) -> dict[T, float]: ...
@overload
async def aclassify(
    model: LogitsModel, prompt: Prompt, target: TextTarget[T], **options: Unpack[ClassifyOptions]
) -> dict[T, float]: ...
@names_options(ClassifyOptions)
async def aclassify(
    model: LogitsModel, prompt: Prompt, target: AnyTarget, **options: Unpack[ClassifyOptions]
) -> dict[Any, float]:
    """Async version of `classify`: the model runs in a thread and does not block the event loop.

    >>> import asyncio
    >>> from structkit.testing import ScriptedModel
    >>> next(iter(asyncio.run(aclassify(ScriptedModel(["true"]), "Is it?", bool))))
    True
    """
    settings = Settings.read("aclassify", options, ClassifyOptions)
    return await in_thread(lambda cancelled: _classify(model, prompt, target, settings, cancelled))


def _classify(
    model: LogitsModel,
    prompt: Prompt,
    target: AnyTarget,
    settings: Settings,
    cancelled: threading.Event | None = None,
) -> dict[object, float]:
    read = read_target(
        target, policy=settings.compile_settings.json_style, limits=settings.compile_settings.limits
    )
    members = read.choices(()) or ()
    texts = [member for member in members if isinstance(member, str)]
    if not texts or len(texts) < len(members):
        raise SchemaError(
            f"{read.name} is not a finite set of values; give a Literal, an Enum, bool or "
            "structkit.Choice([...]), or read the confidence of the fields of generate's result"
        )
    values = []
    for text in texts:
        value = read.parse(text)
        if isinstance(value, Rejected):
            raise value.cause
        values.append(value)
    if not all(isinstance(value, Hashable) for value in values) or len(set(values)) < len(values):
        raise SchemaError(
            f"the choices of {read.name} cannot be keys of a dict: two of them are equal in Python, such as 1 and "
            "True, or one is a list or a dict; name them in an Enum"
        )
    if len(values) == 1:
        return {values[0]: 1.0}
    settings = replace(settings, confidence=True)
    request = Request(model=model, prompt=prompt, target=target, settings=settings)
    result = run(replace(request, model=request.logits_model), cancelled)
    choices = result.confidence["$"].choices or {}
    names = member_names(texts, is_json=read.is_json)
    probabilities = [choices.get(names[text], 0.0) for text in texts]
    return dict(sorted(zip(values, probabilities, strict=True), key=lambda item: -item[1]))
