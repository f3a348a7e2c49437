"""Servers that speak the API of OpenAI: how each is recognized, and what each does beyond it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from structkit.models.capabilities import Constraint
from structkit.models.native.profiles import LLAMA_CPP, OPENAI_STRICT, SchemaProfile
from structkit.models.text.protocol import NativeConstraint

__all__ = ["Dialect", "recognize"]

Get: TypeAlias = "Callable[[str], object]"
"""Returns the JSON at a path below the address of the server; `None` if there is none."""

ConstraintField: TypeAlias = Literal["grammar", "regex", "response_format", "structured_outputs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What a server does beyond the API of OpenAI."""

    name: str
    """The name of the server in messages."""

    continues: bool = False
    """Whether a last message of the assistant is continued."""

    continue_fields: tuple[tuple[str, object], ...] = ()
    """The fields of a request whose last message is continued."""

    chat_fields: tuple[tuple[str, object], ...] = ()
    """Further fields of each request with messages."""

    prefix_field: str = ""
    """The field of the last message that marks it as continued; empty if there is none."""

    constraint_fields: tuple[tuple[Constraint, ConstraintField], ...] = ()
    """The notations of what the server enforces from the first new token, and their fields of a request."""

    schema_profile: SchemaProfile | None = None
    """What the server enforces of a JSON Schema."""

    length_field: str = "max_tokens"
    """The field of the maximum number of tokens; empty if none is sent, since the server fills the rest of the context
    by itself."""

    completes: bool = True
    """Whether `completions` continues a text as it is, outside of the template of the model."""

    ranks_tokens: bool = False
    """Whether `logprobs` gives the most likely tokens at each place, with their log-probabilities."""

    token_ids: bool = False
    """Whether `return_token_ids` gives the ids of prompt and reply, `/tokenize` those of a text, and `completions`
    takes ids."""

    is_local: bool = True
    """Whether the list of models is complete."""

    def forced_to(self, kind: Constraint) -> Dialect:
        """Return the dialect with one notation, whatever is known of the server."""
        field = dict(self.constraint_fields).get(kind, _USUAL_FIELDS[kind])
        profile = self.schema_profile or (OPENAI_STRICT if kind == "json_schema" else None)
        return replace(self, constraint_fields=((kind, field),), schema_profile=profile)

    def for_texts(self) -> Dialect:
        """Return what the server does at `completions`, which has no `response_format`."""
        fields = tuple(each for each in self.constraint_fields if each[1] != "response_format")
        return replace(
            self,
            continues=self.completes,
            constraint_fields=fields,
            length_field="max_tokens" if self.length_field else "",
        )

    def constraint(self, constraint: NativeConstraint) -> Mapping[str, object]:
        """Return the fields of a request that enforce a constraint.

        >>> _VLLM.constraint(NativeConstraint("grammar", 'root ::= "yes"'))
        {'structured_outputs': {'grammar': 'root ::= "yes"'}}
        """
        field = dict(self.constraint_fields)[constraint.kind]
        if field == "response_format":
            schema = {"name": "answer", "strict": True, "schema": constraint.schema}
            return {field: {"type": "json_schema", "json_schema": schema}}
        return {
            field: {constraint.kind: constraint.text} if field == "structured_outputs" else constraint.text
        }


_USUAL_FIELDS: Mapping[Constraint, ConstraintField] = MappingProxyType(
    {"grammar": "grammar", "regex": "regex", "json_schema": "response_format"}
)

# llama.cpp, Ollama: a last message of the assistant is continued by default. vLLM without the length fills the context,
# and refuses a length that does not fit.
_VLLM = Dialect(
    name="vLLM",
    continues=True,
    continue_fields=(("continue_final_message", True), ("add_generation_prompt", False)),
    constraint_fields=(("grammar", "structured_outputs"),),
    length_field="",
    ranks_tokens=True,
    token_ids=True,
)
# The prompt describes the target, if it should.
_STRUCTKIT = Dialect(
    name="structkit",
    continues=True,
    continue_fields=(("continue_final_message", True),),
    chat_fields=(("include_schema", False),),
    constraint_fields=(("grammar", "structured_outputs"),),
    ranks_tokens=True,
)
_SGLANG = Dialect(
    name="SGLang",
    continues=True,
    continue_fields=(("continue_final_message", True),),
    constraint_fields=(("regex", "regex"),),
    length_field="",
    ranks_tokens=True,
)
_LLAMA_CPP = Dialect(
    name="llama.cpp", continues=True, constraint_fields=(("grammar", "grammar"),), ranks_tokens=True
)
_BY_SCHEMA: tuple[tuple[Constraint, ConstraintField], ...] = (("json_schema", "response_format"),)
_OLLAMA = Dialect(
    name="Ollama",
    continues=True,
    constraint_fields=_BY_SCHEMA,
    schema_profile=LLAMA_CPP,
    completes=False,
    ranks_tokens=True,
)
_LM_STUDIO = Dialect(name="LM Studio", constraint_fields=_BY_SCHEMA, schema_profile=LLAMA_CPP)
_TRANSFORMERS = Dialect(name="transformers serve", is_local=False)
_OPENAI = Dialect(name="an OpenAI-compatible server", is_local=False)
"""A server that is not recognized: it does what the API of OpenAI specifies, and does not continue messages."""

_HOSTS = {
    "api.openai.com": Dialect(
        name="OpenAI",
        constraint_fields=_BY_SCHEMA,
        schema_profile=OPENAI_STRICT,
        length_field="",  # a limit would count the reasoning, too, and end it before the answer
        is_local=False,
    ),
    "api.deepseek.com/beta": Dialect(name="DeepSeek", continues=True, prefix_field="prefix", is_local=False),
    "api.mistral.ai": Dialect(name="Mistral", continues=True, prefix_field="prefix", is_local=False),
}

_PROBES = [
    ("/props", "default_generation_settings", _LLAMA_CPP),
    ("/api/version", "version", _OLLAMA),
    ("/api/v0/models", "data", _LM_STUDIO),
    ("/api/v1/models", "models", _LM_STUDIO),  # since 0.4, which advises against v0
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
    >>> recognize("https://eu.api.openai.com", {}.get, set()).name
    'OpenAI'
    >>> [recognize(f"https://api.deepseek.com{path}", {}.get, set()).continues for path in ("/beta", "")]
    [True, False]
    >>> recognize("http://localhost:1234", {"/api/v1/models": {"models": []}}.get, set()).name
    'LM Studio'
    """
    address = urlsplit(root)
    host = address.hostname or ""
    for known, dialect in _HOSTS.items():
        name, _, path = known.partition("/")
        # OpenAI has a host for each region; DeepSeek continues messages at one path.
        if (host == name or host.endswith(f".{name}")) and address.path.strip("/").startswith(path):
            return dialect
    for owner, dialect in (("vllm", _VLLM), ("sglang", _SGLANG), ("structkit", _STRUCTKIT)):
        if owner in owners:
            return dialect
    for path, key, dialect in _PROBES:
        found = get(path)
        for part in key.split():
            found = found.get(part) if isinstance(found, Mapping) else None
        if found is not None:
            return dialect
    return _OPENAI
