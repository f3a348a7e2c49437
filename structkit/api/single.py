"""Public functions for one prompt, as thin typed wrappers.

The result type follows from the target: `Person` for `Person`, `str` for `Regex`, the type of an option
for `Choice`, `Call` for a function, and `object` for a JSON Schema.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar, overload

from typing_extensions import TypeForm, Unpack

from structkit.compile import compile
from structkit.functions.call import Call
from structkit.generate.input.arguments import check_model
from structkit.generate.input.examples import render_examples
from structkit.generate.input.options import Options, ResultOptions
from structkit.generate.input.prompt import Prompt, prompt_text
from structkit.generate.input.prompt_format import RenderedPrompt, choose_format
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings, names_options
from structkit.generate.output.result import Result, value_of
from structkit.generate.run.batch import run, run_samples
from structkit.generate.run.request import prepare_prompt
from structkit.generate.run.text import first_text
from structkit.generate.threads.event_loop import in_thread
from structkit.models.hosted.anthropic import from_anthropic
from structkit.models.hosted.gemini import from_gemini
from structkit.models.hosted.openai import from_openai
from structkit.models.llama_cpp.model import from_llama_cpp
from structkit.models.names.load import load
from structkit.models.servers.connect import connect
from structkit.models.text.function import from_function
from structkit.models.text.protocol import AnyModel, TextModel
from structkit.models.transformers.model import from_transformers
from structkit.targets.specs import TextTarget
from structkit.targets.targets import AnyTarget, read_target

__all__ = [
    "aextract",
    "agenerate",
    "compile",
    "connect",
    "extract",
    "from_anthropic",
    "from_function",
    "from_gemini",
    "from_llama_cpp",
    "from_openai",
    "from_transformers",
    "generate",
    "load",
    "render_prompt",
]

T = TypeVar("T")


Schema: TypeAlias = Mapping[str, object]
"""A JSON Schema, as returned by `json.loads`."""


@overload
def extract(model: AnyModel, prompt: Prompt, target: TypeForm[T], **options: Unpack[Options]) -> T: ...
@overload
def extract(model: AnyModel, prompt: Prompt, target: TextTarget[T], **options: Unpack[Options]) -> T: ...
@overload
def extract(model: AnyModel, prompt: Prompt, target: Schema, **options: Unpack[Options]) -> object: ...
@overload
def extract(
    model: AnyModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    **options: Unpack[Options],
) -> Call[T]: ...
@overload
def extract(
    model: AnyModel, prompt: Prompt, target: Callable[..., T], **options: Unpack[Options]
) -> Call[T]: ...
@names_options(Options)
def extract(model: AnyModel, prompt: Prompt, target: AnyTarget, **options: Unpack[Options]) -> object:
    """Generate a value of a type, and validate it.

    Args:
        model: A model, such as `structkit.load()`.
        prompt: A string, or messages such as `{"role": "user", "content": "..."}`.
        target: A type, a function, a JSON Schema as a dict, `structkit.Regex` or `structkit.Choice`.
        **options: Generation options such as `max_tokens`, `temperature`, `system`, `timeout`, `validate` or `retries`;
            `structkit.generate.input.options` lists all of them.

    Returns:
        The value: an instance of the type, a `Call` for a function, a string for `Regex` and `Grammar`, the option for
        `Choice`, or JSON data for a JSON Schema.

    Raises:
        StructkitError: See `generate`.

    >>> from structkit.testing import ScriptedModel
    >>> extract(ScriptedModel(["[1, 2]"]), "One and two.", list[int])
    [1, 2]
    """
    settings = Settings.read("extract", options)
    return value_of(run(Request(model=model, prompt=prompt, target=target, settings=settings)))


@overload
def generate(
    model: AnyModel, prompt: Prompt, target: TypeForm[T], **options: Unpack[ResultOptions]
) -> Result[T]: ...
@overload
def generate(
    model: AnyModel, prompt: Prompt, target: TextTarget[T], **options: Unpack[ResultOptions]
) -> Result[T]: ...
@overload
def generate(
    model: AnyModel, prompt: Prompt, target: Schema, **options: Unpack[ResultOptions]
) -> Result[object]: ...
@overload
def generate(
    model: AnyModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    **options: Unpack[ResultOptions],
) -> Result[Call[T]]: ...
@overload
def generate(
    model: AnyModel, prompt: Prompt, target: Callable[..., T], **options: Unpack[ResultOptions]
) -> Result[Call[T]]: ...
@overload
def generate(
    model: AnyModel, prompt: Prompt, target: TypeForm[T], *, n: int, **options: Unpack[ResultOptions]
) -> list[Result[T]]: ...
@overload
def generate(
    model: AnyModel, prompt: Prompt, target: TextTarget[T], *, n: int, **options: Unpack[ResultOptions]
) -> list[Result[T]]: ...
@overload
def generate(
    model: AnyModel, prompt: Prompt, target: Schema, *, n: int, **options: Unpack[ResultOptions]
) -> list[Result[object]]: ...
@overload
def generate(
    model: AnyModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    *,
    n: int,
    **options: Unpack[ResultOptions],
) -> list[Result[Call[T]]]: ...
@overload
def generate(
    model: AnyModel, prompt: Prompt, target: Callable[..., T], *, n: int, **options: Unpack[ResultOptions]
) -> list[Result[Call[T]]]: ...
@names_options(ResultOptions)
def generate(
    model: AnyModel,
    prompt: Prompt,
    target: AnyTarget,
    *,
    n: int | None = None,
    **options: Unpack[ResultOptions],
) -> object:
    """Generate a value of a type, and return it with its text and usage.

    Args:
        model: A model, such as `structkit.load()`. It computes concurrent calls together; see `aextract`.
        prompt: A string, or messages such as `{"role": "user", "content": "..."}`.
        target: A type, a function, a JSON Schema as a dict, `structkit.Regex` or `structkit.Choice`.
        n: Number of values to sample; requires a temperature. The prompt is read once. With a `seed`, each sample has
            its own random numbers, and the first sample equals the result without `n`. The first error is raised and
            cancels the other samples. With `sampling="faithful"`, the number of particles, which are returned with
            their weights, in random order.
        **options: Generation options such as `max_tokens`, `temperature`, `system`, `timeout`, `validate` or `retries`;
            `structkit.generate.input.options` lists all of them.

    Returns:
        The value, its text, the finish reason and the usage in tokens and seconds; with `n`, a list of `n` results.

    Raises:
        SchemaError: The target cannot be described or enforced, or no value satisfies it.
        PatternError: A pattern is not a regular language.
        VocabularyError: The model's tokens cannot spell any value.
        LimitExceeded: The target is too large.
        BudgetTooSmall: The shortest value needs more tokens than `max_tokens` or than the context has left.
        BudgetExceeded: A limit would change the value, with `on_limit="raise"`.
        OutputValidationError: Validators rejected the value and all retries.
        ModelError: The model failed.
        GenerationError: The prompt fills the context.
        ValueError: An option is out of range.
        TypeError: An option or the prompt has the wrong type.
        Exception: An exception of a validator that is neither a `ValueError` nor an `AssertionError`.

    >>> from structkit.testing import ScriptedModel
    >>> result = generate(ScriptedModel(["[1, 2]"]), "One and two.", list[int])
    >>> result.value, result.text, result.finish_reason, result.usage.generated_tokens
    ([1, 2], '[1, 2]', 'stop', 5)
    >>> [result.value for result in generate(ScriptedModel(["1", "2"]), "Any.", int, n=2, temperature=1)]
    [1, 2]
    """
    settings = Settings.read("generate", options, ResultOptions, ("n",))
    request = Request(model=model, prompt=prompt, target=target, settings=settings)
    return run(request) if n is None else run_samples(request, n)


@overload
async def aextract(model: AnyModel, prompt: Prompt, target: TypeForm[T], **options: Unpack[Options]) -> T: ...
@overload
async def aextract(
    model: AnyModel, prompt: Prompt, target: TextTarget[T], **options: Unpack[Options]
) -> T: ...
@overload
async def aextract(model: AnyModel, prompt: Prompt, target: Schema, **options: Unpack[Options]) -> object: ...
@overload
async def aextract(
    model: AnyModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    **options: Unpack[Options],
) -> Call[T]: ...
@overload
async def aextract(
    model: AnyModel, prompt: Prompt, target: Callable[..., T], **options: Unpack[Options]
) -> Call[T]: ...
@names_options(Options)
async def aextract(model: AnyModel, prompt: Prompt, target: AnyTarget, **options: Unpack[Options]) -> object:
    """Async version of `extract`: the model runs in a thread and does not block the event loop.

    Concurrent calls on one model, of all tasks, threads and event loops, are computed together, as rows of one batch;
    `Limits.batch_rows` and `batch_tokens` bound it, and further calls wait. A model that does not support batching
    computes one after the other. Cancelling the task frees its row at the next token.

    >>> import asyncio
    >>> from structkit.testing import ScriptedModel
    >>> asyncio.run(aextract(ScriptedModel(["true"]), "Is it?", bool))
    True
    """
    settings = Settings.read("aextract", options)
    request = Request(
        model=model, prompt=prompt, target=target, settings=settings, requested_at=time.perf_counter()
    )
    return value_of(await in_thread(partial(run, request)))


@overload
async def agenerate(
    model: AnyModel, prompt: Prompt, target: TypeForm[T], **options: Unpack[ResultOptions]
) -> Result[T]: ...
@overload
async def agenerate(
    model: AnyModel, prompt: Prompt, target: TextTarget[T], **options: Unpack[ResultOptions]
) -> Result[T]: ...
@overload
async def agenerate(
    model: AnyModel, prompt: Prompt, target: Schema, **options: Unpack[ResultOptions]
) -> Result[object]: ...
@overload
async def agenerate(
    model: AnyModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    **options: Unpack[ResultOptions],
) -> Result[Call[T]]: ...
@overload
async def agenerate(
    model: AnyModel, prompt: Prompt, target: Callable[..., T], **options: Unpack[ResultOptions]
) -> Result[Call[T]]: ...
@overload
async def agenerate(
    model: AnyModel, prompt: Prompt, target: TypeForm[T], *, n: int, **options: Unpack[ResultOptions]
) -> list[Result[T]]: ...
@overload
async def agenerate(
    model: AnyModel, prompt: Prompt, target: TextTarget[T], *, n: int, **options: Unpack[ResultOptions]
) -> list[Result[T]]: ...
@overload
async def agenerate(
    model: AnyModel, prompt: Prompt, target: Schema, *, n: int, **options: Unpack[ResultOptions]
) -> list[Result[object]]: ...
@overload
async def agenerate(
    model: AnyModel,
    prompt: Prompt,
    target: Callable[..., Coroutine[Any, Any, T]],
    *,
    n: int,
    **options: Unpack[ResultOptions],
) -> list[Result[Call[T]]]: ...
@overload
async def agenerate(
    model: AnyModel, prompt: Prompt, target: Callable[..., T], *, n: int, **options: Unpack[ResultOptions]
) -> list[Result[Call[T]]]: ...
@names_options(ResultOptions)
async def agenerate(
    model: AnyModel,
    prompt: Prompt,
    target: AnyTarget,
    *,
    n: int | None = None,
    **options: Unpack[ResultOptions],
) -> object:
    """Async version of `generate`; see `aextract`.

    >>> import asyncio
    >>> from structkit.testing import ScriptedModel
    >>> asyncio.run(agenerate(ScriptedModel(["true"]), "Is it?", bool)).text
    'true'
    """
    settings = Settings.read("agenerate", options, ResultOptions, ("n",))
    request = Request(
        model=model, prompt=prompt, target=target, settings=settings, requested_at=time.perf_counter()
    )
    if n is None:
        return await in_thread(partial(run, request))
    return await in_thread(partial(run_samples, request, n))


@names_options(ResultOptions)
def render_prompt(
    model: AnyModel, prompt: Prompt, target: AnyTarget, **options: Unpack[ResultOptions]
) -> RenderedPrompt:
    r"""Return the exact text that the model would read, with its chat template applied, without generating.

    Takes the arguments of `generate`.

    Returns:
        The text. Its `prompt_format` has what was chosen for the chat template, and why: how the target is described,
        and how JSON is written.

    Raises:
        SchemaError: The target cannot be described.
        GenerationError: `include_schema="tools"` with a target or a chat template that it is not for.

    >>> from structkit.targets.specs import Choice
    >>> from structkit.testing import ScriptedModel
    >>> render_prompt(ScriptedModel([]), "Did it work?", Choice(["yes", "no"]))
    'Did it work?\n\nAnswer with one of: yes, no'
    """
    check_model(model)
    settings = Settings.read("render_prompt", options, ResultOptions)
    compiled = settings.compile_settings
    read = read_target(target, policy=compiled.json_style, limits=compiled.limits)
    examples = (
        render_examples(settings.examples, read, compiled, settings.source, settings.context)
        if settings.examples
        else ()
    )
    chosen = choose_format(model, read, settings.include_schema, compiled.json_style)
    if isinstance(model, TextModel):
        request = Request(model=model, prompt=prompt, target=target, settings=settings)
        return RenderedPrompt(first_text(request, examples), chosen)
    return RenderedPrompt(prompt_text(model, prepare_prompt(model, prompt, read, settings, examples)), chosen)
