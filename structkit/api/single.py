"""The public functions: thin, typed, and nothing of their own.

The result's type is that of the third argument: `Person` for `Person`, `str` for `Regex`, an option's type
for `Choice`, a `Call` of what a function returns for the function, and `object` for a JSON Schema.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeAlias, TypeVar, overload

from typing_extensions import TypeForm, Unpack

from structkit.compile import compile
from structkit.functions.call import Call
from structkit.generate.input.examples import render_examples
from structkit.generate.input.options import Options, Settings
from structkit.generate.input.prompt import Prompt, prompt_text
from structkit.generate.output.result import Result
from structkit.generate.run.batch import run, run_samples
from structkit.generate.run.request import prepare_prompt
from structkit.generate.run.scheduler import in_thread
from structkit.limits import Limits
from structkit.models.protocols import LogitsModel
from structkit.models.transformers.model import from_transformers, load
from structkit.regex.print import format_regex
from structkit.schema.markers.json_style import Defaults, JsonStyle, NullFields, Order, Whitespace
from structkit.targets.targets import AnyTarget, TextTarget, read_target

__all__ = [
    "aextract",
    "agenerate",
    "compile",
    "extract",
    "from_transformers",
    "generate",
    "load",
    "render_prompt",
    "to_json_schema",
    "to_regex",
]

T = TypeVar("T")


Schema: TypeAlias = Mapping[str, object]
"""A JSON Schema, as `json.loads` gives it."""


@overload
def extract(model: LogitsModel, prompt: Prompt, target: TypeForm[T], **options: Unpack[Options]) -> T: ...
@overload
def extract(model: LogitsModel, prompt: Prompt, target: TextTarget[T], **options: Unpack[Options]) -> T: ...
@overload
def extract(model: LogitsModel, prompt: Prompt, target: Schema, **options: Unpack[Options]) -> object: ...
@overload
def extract(
    model: LogitsModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    **options: Unpack[Options],
) -> Call[T]: ...
@overload
def extract(
    model: LogitsModel, prompt: Prompt, target: Callable[..., T], **options: Unpack[Options]
) -> Call[T]: ...
def extract(model: LogitsModel, prompt: Prompt, target: AnyTarget, **options: Unpack[Options]) -> object:
    """Have a model write a value of a type, and validate it.

    Args:
        model: A model, such as `structkit.load()`.
        prompt: A text, or messages such as `{"role": "user", "content": "..."}`.
        target: A type, a function, a JSON Schema as a dict, `structkit.Regex` or `structkit.Choice`.
        **options: How it is written, such as `max_tokens`, `temperature`, `seed`, `system`, `timeout` or `retries`: all
            of them are in `structkit.generate.input.options.Options`.

    Returns:
        The value: an instance of the type, a `Call` of the function, the text for `Regex`, the option for `Choice`,
        and what `json.loads` gives for a JSON Schema.

    Raises:
        StructkitError: See `generate`.

    >>> from structkit.testing import ScriptedModel
    >>> extract(ScriptedModel(["[1, 2]"]), "One and two.", list[int])
    [1, 2]
    """
    return run(model, prompt, target, Settings.read("extract", options)).value


@overload
def generate(
    model: LogitsModel, prompt: Prompt, target: TypeForm[T], **options: Unpack[Options]
) -> Result[T]: ...
@overload
def generate(
    model: LogitsModel, prompt: Prompt, target: TextTarget[T], **options: Unpack[Options]
) -> Result[T]: ...
@overload
def generate(
    model: LogitsModel, prompt: Prompt, target: Schema, **options: Unpack[Options]
) -> Result[object]: ...
@overload
def generate(
    model: LogitsModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    **options: Unpack[Options],
) -> Result[Call[T]]: ...
@overload
def generate(
    model: LogitsModel, prompt: Prompt, target: Callable[..., T], **options: Unpack[Options]
) -> Result[Call[T]]: ...
@overload
def generate(
    model: LogitsModel, prompt: Prompt, target: TypeForm[T], *, n: int, **options: Unpack[Options]
) -> list[Result[T]]: ...
@overload
def generate(
    model: LogitsModel, prompt: Prompt, target: TextTarget[T], *, n: int, **options: Unpack[Options]
) -> list[Result[T]]: ...
@overload
def generate(
    model: LogitsModel, prompt: Prompt, target: Schema, *, n: int, **options: Unpack[Options]
) -> list[Result[object]]: ...
@overload
def generate(
    model: LogitsModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    *,
    n: int,
    **options: Unpack[Options],
) -> list[Result[Call[T]]]: ...
@overload
def generate(
    model: LogitsModel, prompt: Prompt, target: Callable[..., T], *, n: int, **options: Unpack[Options]
) -> list[Result[Call[T]]]: ...
def generate(
    model: LogitsModel,
    prompt: Prompt,
    target: AnyTarget,
    *,
    n: int | None = None,
    **options: Unpack[Options],
) -> object:
    """Have a model write a value of a type, and return it with its text and what it took.

    Args:
        model: A model, such as `structkit.load()`. It writes one sequence at a time; others wait.
        prompt: A text, or messages such as `{"role": "user", "content": "..."}`.
        target: A type, a function, a JSON Schema as a dict, `structkit.Regex` or `structkit.Choice`.
        n: With a temperature: how many values to sample. The prompt is read once for all, and with a `seed` each draws
            random numbers of its own, the first those of a single one. Where one fails, its error ends all.
        **options: How it is written, such as `max_tokens`, `temperature`, `seed`, `system`, `timeout` or `retries`: all
            of them are in `structkit.generate.input.options.Options`.

    Returns:
        The value, the text, the reason for its end, and the tokens and seconds it took; with `n` a list of so many.

    Raises:
        SchemaError: The target cannot be described, or not be enforced, or no value satisfies it.
        PatternError: A pattern that no regular language can say.
        VocabularyError: The model's tokens cannot spell any value.
        LimitExceeded: The target is too large.
        BudgetTooSmall: The shortest value needs more tokens than `max_tokens`, or than the context leaves.
        OutputValidationError: Validators of the type's own refused the value and those written anew.
        ModelError: The model broke.
        GenerationError: The prompt leaves no room in the context.
        ValueError: An option is out of its range.
        TypeError: An option, or the prompt, is not what it should be.

    >>> from structkit.testing import ScriptedModel
    >>> result = generate(ScriptedModel(["[1, 2]"]), "One and two.", list[int])
    >>> result.value, result.text, result.finish_reason, result.usage.generated_tokens
    ([1, 2], '[1, 2]', 'stop', 5)
    >>> [result.value for result in generate(ScriptedModel(["1", "2"]), "Any.", int, n=2, temperature=1)]
    [1, 2]
    """
    settings = Settings.read("generate", options, ("n",))
    if n is None:
        return run(model, prompt, target, settings)
    return run_samples(model, prompt, target, settings, n)


@overload
async def aextract(
    model: LogitsModel, prompt: Prompt, target: TypeForm[T], **options: Unpack[Options]
) -> T: ...
@overload
async def aextract(
    model: LogitsModel, prompt: Prompt, target: TextTarget[T], **options: Unpack[Options]
) -> T: ...
@overload
async def aextract(
    model: LogitsModel, prompt: Prompt, target: Schema, **options: Unpack[Options]
) -> object: ...
@overload
async def aextract(
    model: LogitsModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    **options: Unpack[Options],
) -> Call[T]: ...
@overload
async def aextract(
    model: LogitsModel, prompt: Prompt, target: Callable[..., T], **options: Unpack[Options]
) -> Call[T]: ...
async def aextract(
    model: LogitsModel, prompt: Prompt, target: AnyTarget, **options: Unpack[Options]
) -> object:
    """`extract` for async programs: the model works in a thread, so the event loop goes on.

    A model writes one sequence at a time, so several calls on one model take turns. When the task is
    cancelled the model stops at its next token.

    >>> import asyncio
    >>> from structkit.testing import ScriptedModel
    >>> asyncio.run(aextract(ScriptedModel(["true"]), "Is it?", bool))
    True
    """
    return (await _generate_async(model, prompt, target, Settings.read("aextract", options))).value


@overload
async def agenerate(
    model: LogitsModel, prompt: Prompt, target: TypeForm[T], **options: Unpack[Options]
) -> Result[T]: ...
@overload
async def agenerate(
    model: LogitsModel, prompt: Prompt, target: TextTarget[T], **options: Unpack[Options]
) -> Result[T]: ...
@overload
async def agenerate(
    model: LogitsModel, prompt: Prompt, target: Schema, **options: Unpack[Options]
) -> Result[object]: ...
@overload
async def agenerate(
    model: LogitsModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    **options: Unpack[Options],
) -> Result[Call[T]]: ...
@overload
async def agenerate(
    model: LogitsModel, prompt: Prompt, target: Callable[..., T], **options: Unpack[Options]
) -> Result[Call[T]]: ...
@overload
async def agenerate(
    model: LogitsModel, prompt: Prompt, target: TypeForm[T], *, n: int, **options: Unpack[Options]
) -> list[Result[T]]: ...
@overload
async def agenerate(
    model: LogitsModel, prompt: Prompt, target: TextTarget[T], *, n: int, **options: Unpack[Options]
) -> list[Result[T]]: ...
@overload
async def agenerate(
    model: LogitsModel, prompt: Prompt, target: Schema, *, n: int, **options: Unpack[Options]
) -> list[Result[object]]: ...
@overload
async def agenerate(
    model: LogitsModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    *,
    n: int,
    **options: Unpack[Options],
) -> list[Result[Call[T]]]: ...
@overload
async def agenerate(
    model: LogitsModel, prompt: Prompt, target: Callable[..., T], *, n: int, **options: Unpack[Options]
) -> list[Result[Call[T]]]: ...
async def agenerate(
    model: LogitsModel,
    prompt: Prompt,
    target: AnyTarget,
    *,
    n: int | None = None,
    **options: Unpack[Options],
) -> object:
    """`generate` for async programs; see `aextract`.

    >>> import asyncio
    >>> from structkit.testing import ScriptedModel
    >>> asyncio.run(agenerate(ScriptedModel(["true"]), "Is it?", bool)).text
    'true'
    """
    settings = Settings.read("agenerate", options, ("n",))
    if n is None:
        return await _generate_async(model, prompt, target, settings)
    asked = time.perf_counter()
    return await in_thread(
        lambda cancelled: run_samples(model, prompt, target, settings, n, cancelled, asked)
    )


def render_prompt(model: LogitsModel, prompt: Prompt, target: AnyTarget, **options: Unpack[Options]) -> str:
    r"""The exact text that the model would read, after its chat template.

    Takes what `generate` takes; nothing is generated.

    Raises:
        SchemaError: The target cannot be described.

    >>> from structkit.targets.targets import Choice
    >>> from structkit.testing import ScriptedModel
    >>> render_prompt(ScriptedModel([]), "Did it work?", Choice(["yes", "no"]))
    'Did it work?\n\nAnswer with one of: yes, no'
    """
    settings = Settings.read("render_prompt", options)
    writing = settings.compile_settings
    read = read_target(target, policy=writing.json_style, limits=writing.limits)
    shots = render_examples(settings.examples, read, writing, settings.source) if settings.examples else ()
    return prompt_text(model, prepare_prompt(model, prompt, read, settings, shots))


def to_json_schema(target: AnyTarget) -> dict[str, object]:
    """The JSON Schema of a target: the first visible step of the pipeline.

    Raises:
        SchemaError: The target cannot be described.

    >>> to_json_schema(list[int])
    {'items': {'type': 'integer'}, 'type': 'array'}
    """
    return read_target(target).json_schema()


def to_regex(
    target: AnyTarget,
    *,
    whitespace: Whitespace | None = None,
    defaults: Defaults | None = None,
    order: Order | None = None,
    null: NullFields | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> str:
    """The regex of a target's texts: the second visible step of the pipeline.

    Args:
        target: The target.
        whitespace: As for `generate`.
        defaults: As for `generate`.
        order: As for `generate`.
        null: As for `generate`.
        limits: As for `generate`.

    Returns:
        A pattern for Python's `re.fullmatch`; for a recursive target, which no regex can say, one line for
        each rule.

    Raises:
        SchemaError: The target cannot be described or not be enforced.
        LimitExceeded: The regex would be too long.

    >>> print(to_regex(bool))
    true|false
    """
    policy = JsonStyle(whitespace=whitespace, defaults=defaults, order=order, null=null)
    target_read = read_target(target, policy=policy, limits=limits)
    # Quotes have no regex, whatever they are taken from.
    rules = target_read.rules(whitespace=whitespace, order=order, source=" ? ", limits=limits)
    return format_regex(rules, limits)


async def _generate_async(
    model: LogitsModel, prompt: Prompt, target: AnyTarget, settings: Settings
) -> Result[object]:
    asked = time.perf_counter()
    return await in_thread(lambda cancelled: run(model, prompt, target, settings, cancelled, asked))
