"""Fields that change no answer, and fields of other servers: accepted where they ask for what is so anyway."""

from __future__ import annotations

import json
from collections.abc import Mapping

from structkit.serve.read.fields import Fields, has_surrogate

__all__ = ["NEUTRAL", "REMEDIES", "WITHOUT_EFFECT", "check_neutral", "check_without_effect"]

_TEXTS = (
    "user",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "service_tier",
    "request_id",
    "cache_salt",
)
_OBJECTS = ("metadata", "prompt_cache_options")
_INTEGERS = ("priority",)

WITHOUT_EFFECT = (*_TEXTS, *_OBJECTS, *_INTEGERS)
"""Fields that change no answer: names of the caller, and what OpenAI and vLLM read to plan their work."""

_MAX_PRIORITY = 2**63 - 1

NEUTRAL: Mapping[str, tuple[object, ...]] = {
    "store": (False,),
    "ignore_eos": (False,),
    "stop_token_ids": ([],),
    "bad_words": ([],),
    "skip_special_tokens": (True,),
    "spaces_between_special_tokens": (True,),
    "use_beam_search": (False,),
    "length_penalty": (1, 1.0),
    "return_token_ids": (False,),
    "return_tokens_as_token_ids": (False,),
}
"""Fields of all endpoints that are accepted only with the values that have no effect."""

REMEDIES: Mapping[str, str] = {
    "min_tokens": "give the schema a minLength, or the regex a count",
    "ignore_eos": "write structured_outputs: {regex: ...} with a count, because an answer ends where the model ends it",
    "stop_token_ids": "write stop, with the texts of the tokens",
    "bad_words": "write logit_bias, or a regex that excludes them",
    "allowed_token_ids": "write structured_outputs: {choice: [...]}, or logit_bias",
    "skip_special_tokens": "leave it out: an answer has no special tokens",
    "use_beam_search": "write n, and choose the answer with the best logprobs",
    "echo": "put the prompt before the text of the answer",
    "suffix": "write the prompt with the tokens that this model has for the text before and after a gap",
    "best_of": "write n, and choose the answer with the best logprobs",
    "prompt_logprobs": "send the text to /v1/completions with echo: true and logprobs",
    "truncate_prompt_tokens": "shorten the prompt",
    "continue_final_message": "send the prompt and the start of the answer to /v1/completions",
    "chat_template": "leave it out: the model has its own",
    "chat_template_kwargs": "leave it out: the model answers without thinking",
    "documents": "write them into a message",
    "audio": "leave it out: the model writes only text",
    "web_search_options": "leave it out: the server searches nothing",
    "moderation": "leave it out: the server does not moderate",
}
"""What to write in place of fields of other servers, and of values that are not supported."""


def check_neutral(body: Fields, neutral: Mapping[str, tuple[object, ...]]) -> None:
    """Check fields that are accepted only with the values that have no effect.

    Raises:
        ApiError: One has another value.
    """
    for name, values in neutral.items():
        # 0 equals False in Python, and not in JSON.
        if body.has(name) and not any(
            type(body.raw(name)) is type(each) and body.raw(name) == each for each in values
        ):
            remedy = REMEDIES.get(name) or f"leave it out, or give {json.dumps(values[0])}"
            raise body.error(name, f"is not supported; {remedy}")


def check_without_effect(body: Fields) -> None:
    """Check the types of the fields that change no answer: a response repeats some of them.

    Raises:
        ApiError: One has another type.
    """
    for name in _TEXTS:
        body.text(name)
    for name in _OBJECTS:
        body.nested(name)
    for name in _INTEGERS:
        body.integer(name, -_MAX_PRIORITY, _MAX_PRIORITY)
    metadata = body.nested("metadata")
    if metadata is not None and any(
        has_surrogate(name) or metadata.text(name) is None for name in metadata.values
    ):
        raise body.error("metadata", "must have texts as its names and values")
