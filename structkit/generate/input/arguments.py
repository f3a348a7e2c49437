"""Arguments of a call that are no model and no prompt, and what was probably meant."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence

from structkit.models.text.protocol import TextModel
from structkit.schema.ir.json_values import shorten_repr

__all__ = ["check_model", "check_prompt", "check_prompts"]

_ORDER = "the order is model, prompt, target"


def check_model(model: object) -> None:
    """Check that an argument is a model.

    Raises:
        TypeError: It is none.

    >>> check_model("Qwen/Qwen3-0.6B")
    Traceback (most recent call last):
    TypeError: the model is a string, 'Qwen/Qwen3-0.6B'; write structkit.load('Qwen/Qwen3-0.6B'), once ...
    """
    if isinstance(model, type):
        remedy = "pass an object of it" if hasattr(model, "session") else _ORDER
        raise TypeError(f"the model is a class, {model.__name__}; {remedy}")
    if isinstance(model, TextModel) or callable(getattr(model, "session", None)):
        return
    shown = shorten_repr(repr(model))
    if isinstance(model, str):
        if " " in model:
            raise TypeError(f"the model is a string, {shown}; {_ORDER}")
        way = "connect" if model.startswith(("http://", "https://")) else "load"
        raise TypeError(f"the model is a string, {shown}; write structkit.{way}({shown}), once for all calls")
    if hasattr(model, "generate"):
        raise TypeError(
            f"{type(model).__name__} is not a model of structkit; write structkit.from_transformers(model, tokenizer)"
        )
    remedy = (
        "write structkit.from_function(f), with f"
        if callable(model)
        else "pass one, such as structkit.load()"
    )
    raise TypeError(f"{shown} is not a model; {remedy}")


def check_prompt(prompt: object) -> Sequence[object]:
    """Return the messages of a prompt that is no text.

    Raises:
        TypeError: The prompt is neither a text nor a list of messages.

    >>> check_prompt({"role": "user", "content": "Who?"})
    Traceback (most recent call last):
    TypeError: a prompt is a text or a list of messages, not {'role': 'user', 'content': 'Who?'}; write [{...}]
    """
    if isinstance(prompt, Sequence) and not isinstance(prompt, (bytes, bytearray)) and prompt:
        if all(isinstance(item, str) for item in prompt):
            raise TypeError(
                f"a prompt is a text or a list of messages, not {shorten_repr(repr(prompt))}; "
                "extract_many and generate_many take several prompts"
            )
        return prompt
    if isinstance(prompt, Mapping):
        remedy = "write [{...}]"
    elif isinstance(prompt, (bytes, bytearray)):
        remedy = "write prompt.decode()"
    elif isinstance(prompt, type):
        remedy = _ORDER
    else:
        remedy = "write a string, or [{'role': 'user', 'content': '...'}]"
    raise TypeError(f"a prompt is a text or a list of messages, not {shorten_repr(repr(prompt))}; {remedy}")


def check_prompts(function: str, prompts: object) -> None:
    """Check that an argument of a function contains the prompts.

    Raises:
        TypeError: It is one prompt, no prompt, or an async source.

    >>> check_prompts("extract_many", "Who?")
    Traceback (most recent call last):
    TypeError: extract_many() takes a list of prompts, not 'Who?'; write [prompt]
    """
    if isinstance(prompts, (str, bytes, Mapping)):
        remedy = "write [prompt]"
    elif isinstance(prompts, AsyncIterable):
        remedy = f"a{function} takes an async source"
    elif not isinstance(prompts, Iterable):
        remedy = _ORDER
    else:
        return
    raise TypeError(f"{function}() takes a list of prompts, not {shorten_repr(repr(prompts))}; {remedy}")
