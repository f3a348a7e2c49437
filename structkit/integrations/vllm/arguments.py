"""The target of a request, from the extra arguments that vLLM hands to its processors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

from structkit.compile import compile
from structkit.errors import SchemaError, StructkitError
from structkit.targets.grammar import Grammar
from structkit.targets.specs import Choice, JsonSchema, Regex
from structkit.targets.targets import AnyTarget
from structkit.targets.untrusted import grammar_text, private_keyword
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["Params", "check_params", "read_target", "target_key"]

_PREFIX = "structkit_"


class Params(Protocol):
    """What is read of `vllm.SamplingParams`."""

    extra_args: dict[str, Any] | None
    max_tokens: int | None


def target_key(params: Params) -> str | None:
    """Return the arguments of a target as one JSON text, equal for equal targets; `None` for an unguided request."""
    given = {key: value for key, value in (params.extra_args or {}).items() if key.startswith(_PREFIX)}
    return json.dumps(given) if given else None


def read_target(key: str) -> AnyTarget:
    r"""Return the target of a request.

    A request has one of these arguments:

    - `structkit_json`: a JSON Schema, as a JSON text or as an object;
    - `structkit_regex`: a pattern that the whole text matches, in Python's syntax;
    - `structkit_choice`: a list of texts;
    - `structkit_grammar`: a grammar of Lark.

    Args:
        key: As `target_key` returns it.

    Raises:
        StructkitError: An argument is unknown or has the wrong form, or there are several.

    >>> read_target('{"structkit_choice": ["yes", "no"]}')
    Choice(options=('yes', 'no'))
    """
    given: dict[str, object] = json.loads(key)
    for name in given:
        if name not in _READERS:
            raise SchemaError(f"unknown argument {name!r}; write one of {', '.join(_READERS)}")
    if len(given) > 1:
        raise SchemaError(f"a request has one target; remove all but one of {', '.join(given)}")
    ((name, value),) = given.items()
    return _READERS[name](value)


def check_params(params: Params) -> None:
    """Compile the target of a request, if it has one, and check the other parameters that decide what it can write.

    Raises:
        ValueError: The target cannot be enforced, or a parameter contradicts it. vLLM answers with status 400.
    """
    key = target_key(params)
    if key is None:
        return
    for name, remedy in _CONFLICTS.items():
        if getattr(params, name, None):
            raise ValueError(f"{name} and a target of structkit exclude each other; {remedy}")
    fault = _fault(key)
    if fault is not None:
        raise ValueError(fault)


@lru_cache(maxsize=1_024)
def _fault(key: str) -> str | None:
    """Return why a target is refused. The tokens of the model are unknown here; those of bytes write the same texts."""
    try:
        compile(read_target(key), _bytes(), cache=False)
    except (StructkitError, TypeError, ValueError, RecursionError) as error:
        return str(error)
    return None


@lru_cache(maxsize=1)
def _bytes() -> Vocabulary:
    return Vocabulary([bytes([byte]) for byte in range(256)] + [b""], {256})


def _json_schema(value: object) -> AnyTarget:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise SchemaError(
                f"structkit_json is not JSON: {error}; pass a JSON Schema or its text"
            ) from None
    if not isinstance(value, (Mapping, bool)):
        raise SchemaError(f"structkit_json must be a JSON Schema, not {type(value).__name__}; pass a dict")
    if isinstance(value, bool):
        value = {} if value else {"not": {}}
    if (keyword := private_keyword(value)) is not None:
        raise SchemaError(
            f"structkit_json has the keyword {keyword[:80]!r}, which a request cannot have; remove it"
        )
    return JsonSchema(value)


def _choice(value: object) -> AnyTarget:
    if (
        isinstance(value, str)
        or not isinstance(value, Sequence)
        or not all(isinstance(each, str) for each in value)
    ):
        raise SchemaError("structkit_choice is not a list of texts; pass one, such as ['yes', 'no']")
    return Choice(value)


def _text_of(name: str, make: Callable[[str], AnyTarget]) -> Callable[[object], AnyTarget]:
    def read(value: object) -> AnyTarget:
        if not isinstance(value, str):
            raise SchemaError(f"{name} is not a text but {type(value).__name__}; pass a str")
        return make(value)

    return read


_READERS: dict[str, Callable[[object], AnyTarget]] = {
    "structkit_json": _json_schema,
    "structkit_regex": _text_of("structkit_regex", Regex),
    "structkit_choice": _choice,
    "structkit_grammar": _text_of("structkit_grammar", lambda text: Grammar(grammar_text(text))),
}

_CONFLICTS = {
    "structured_outputs": "remove one of them",
    "min_tokens": "put a minimum length into the target",
    "ignore_eos": "remove it: a value ends with the end token",
    "allowed_token_ids": "remove it: both could forbid every token",
    "bad_words": "remove it, or exclude the words in the target",
}
"""Parameters that leave no token where the target allows one, or write on behind the value."""
