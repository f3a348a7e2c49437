"""Servers that speak the API of OpenAI: how each is recognized, and what each does beyond it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

__all__ = ["OPENAI", "Dialect", "recognize"]

Get: TypeAlias = "Callable[[str], object]"
"""Returns the JSON at a path below the address of the server; `None` if there is none."""

GrammarField: TypeAlias = Literal["grammar", "structured_outputs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What a server does beyond the API of OpenAI."""

    name: str
    """The name of the server in messages."""

    continues: bool = False
    """Whether a last message of the assistant is continued."""

    continue_fields: tuple[tuple[str, object], ...] = ()
    """The fields of a request whose last message is continued."""

    prefix_field: str = ""
    """The field of the last message that says that it is continued; empty if there is none."""

    grammar_field: GrammarField | None = None
    """The field of a request that takes a grammar in GBNF, which the server enforces from the first new token."""

    length_field: str = "max_tokens"
    """The field of the maximum number of tokens; empty if the server fills the rest of the context by itself."""

    is_local: bool = True
    """Whether the list of models is complete."""

    def grammar(self, text: str) -> Mapping[str, object]:
        """Return the fields of a request that enforce a grammar."""
        if self.grammar_field == "grammar":
            return {"grammar": text}
        return {} if self.grammar_field is None else {"structured_outputs": {"grammar": text}}


# llama.cpp, Ollama: a last message of the assistant is continued by default. vLLM without the length fills the context,
# and refuses a length that does not fit.
_VLLM = Dialect(
    name="vLLM",
    continues=True,
    continue_fields=(("continue_final_message", True), ("add_generation_prompt", False)),
    grammar_field="structured_outputs",
    length_field="",
)
_SGLANG = Dialect(
    name="SGLang",
    continues=True,
    continue_fields=(("continue_final_message", True),),
    length_field="",
)
_LLAMA_CPP = Dialect(name="llama.cpp", continues=True, grammar_field="grammar")
_OLLAMA = Dialect(name="Ollama", continues=True)
_LM_STUDIO = Dialect(name="LM Studio")
_TRANSFORMERS = Dialect(name="transformers serve", is_local=False)
OPENAI = Dialect(name="an OpenAI-compatible server", is_local=False)
"""A server that is not recognized: it does what the API of OpenAI says, and does not continue messages."""

_HOSTS = {
    "api.openai.com": Dialect(name="OpenAI", length_field="max_completion_tokens", is_local=False),
    "api.mistral.ai": Dialect(name="Mistral", continues=True, prefix_field="prefix", is_local=False),
}

_PROBES = [
    ("/props", "default_generation_settings", _LLAMA_CPP),
    ("/api/version", "version", _OLLAMA),
    ("/api/v0/models", "data", _LM_STUDIO),
    ("/model_info", "model_path", _SGLANG),
    ("/version", "version", _VLLM),
    ("/openapi.json", "paths /load_model", _TRANSFORMERS),
]
"""Paths that only one server has, and the keys that lead to a part of the JSON there."""


def recognize(root: str, get: Get, owners: set[str]) -> Dialect:
    """Return the dialect of a server.

    Args:
        root: The address of the server, without the path of the API.
        get: Returns the JSON at a path below `root`.
        owners: The owners in its list of models.

    >>> recognize("http://localhost:8080", {"/props": {"default_generation_settings": {}}}.get, set()).name
    'llama.cpp'
    >>> recognize("https://api.openai.com", {}.get, set()).name
    'OpenAI'
    """
    host = urlsplit(root).hostname or ""
    if host in _HOSTS:
        return _HOSTS[host]
    for owner, dialect in (("vllm", _VLLM), ("sglang", _SGLANG)):
        if owner in owners:
            return dialect
    for path, key, dialect in _PROBES:
        found = get(path)
        for part in key.split():
            found = found.get(part) if isinstance(found, Mapping) else None
        if found is not None:
            return dialect
    return OPENAI
