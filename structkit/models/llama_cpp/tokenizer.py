"""The tokenizer and the chat template of a GGUF file, with the interface that transformers has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from structkit.errors import VocabularyError
from structkit.models.chat_template import AddedToken
from structkit.models.llama_cpp.library import Piece, Weights
from structkit.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    import jinja2

__all__ = ["GgufTokenizer", "read_vocabulary"]


class GgufTokenizer:
    """See `ChatTokenizer`.

    Args:
        weights: The model.
        pieces: The tokens of its vocabulary.
    """

    unk_token_id = None

    def __init__(self, weights: Weights, pieces: Sequence[Piece]) -> None:
        self._weights = weights
        self.added_tokens_decoder: Mapping[int, AddedToken] = {
            token_id: SimpleNamespace(content=piece.added)
            for token_id, piece in enumerate(pieces)
            if piece.added is not None
        }
        self.chat_template = weights.chat_template()

    def __call__(
        self,
        text: str,
        *,
        add_special_tokens: bool = True,
        split_special_tokens: bool = False,
        verbose: bool = True,
    ) -> dict[str, list[int]]:
        """Encode a text."""
        ids = self._weights.tokenize(
            text, add_special=add_special_tokens, parse_special=not split_special_tokens
        )
        return {"input_ids": ids}

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Encode a text."""
        return self(text, add_special_tokens=add_special_tokens)["input_ids"]

    def apply_chat_template(self, conversation: list[dict[str, object]], **options: object) -> str:
        """Render messages as transformers does."""
        options.pop("tokenize", None)
        tools = options.pop("tools", None)
        template = (self._weights.chat_template("tool_use") if tools else None) or self.chat_template or ""
        variables = self._variables | options
        return _compiled(template).render(messages=conversation, tools=tools, documents=None, **variables)

    @cached_property
    def _variables(self) -> dict[str, object]:
        special = self._weights.special_tokens()
        return {name: self._weights.name_of(token_id) for name, token_id in special.items()}


def read_vocabulary(pieces: Sequence[Piece], location: str) -> Vocabulary:
    """Return the vocabulary of a model.

    Raises:
        VocabularyError: No token ends a sequence.
    """
    # Without an end token in the file, llama.cpp takes an id that in most vocabularies is ordinary text.
    ends = [
        token_id
        for token_id, piece in enumerate(pieces)
        if piece.is_end and (piece.added is not None or not piece.text)
    ]
    if not ends:
        raise VocabularyError(
            "no token of the GGUF file ends a sequence; set tokenizer.ggml.eos_token_id in its metadata",
            place=location,
        )
    named = {piece.added: token_id for token_id, piece in enumerate(pieces) if piece.added is not None}
    return Vocabulary([piece.text for piece in pieces], ends, named)


@lru_cache(maxsize=8)
def _compiled(template: str) -> jinja2.Template:
    """Compile a chat template, which is code from the file, in a sandbox."""
    from jinja2 import TemplateError, nodes
    from jinja2.exceptions import SecurityError
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    from jinja2.utils import Namespace

    class Generation(Extension):
        """The block that marks texts of the model for training, and is rendered as its content."""

        tags = {"generation"}  # noqa: RUF012 - as jinja2 declares it

        def parse(self, parser: Any) -> nodes.Node:
            lineno = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.Scope(body).set_lineno(lineno)

    def raise_exception(message: str) -> None:
        raise TemplateError(message)

    class PublicNamespace(Namespace):
        """A namespace without names that start with an underscore, which could reach internals of Python."""

        def __init__(*args: Any, **values: object) -> None:
            self, *pairs = args  # a template may use the name `self`
            Namespace.__init__(self)
            for name, value in dict(*pairs, **values).items():
                self[name] = value

        def __setitem__(self, name: str, value: object) -> None:
            if name.startswith("_"):
                raise SecurityError(
                    f"the chat template sets {name!r}, and a name must not start with an underscore"
                )
            super().__setitem__(name, value)

    def to_json(value: object, **options: Any) -> str:
        return json.dumps(value, **{"ensure_ascii": False, **options})

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda text: datetime.now().strftime(text)
    environment.globals["namespace"] = PublicNamespace
    return environment.from_string(template)
