"""Engines: structkit and other libraries behind one small protocol, each with its best documented settings.

The other libraries are imported on use and are not dependencies of structkit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

import structkit as sk

__all__ = ["ENGINES", "Engine", "Guide", "Rejected", "Sequence"]

Schema = Mapping[str, object]


class Rejected(Exception):
    """The engine reports that it cannot enforce a schema.

    Attributes:
        group: The reported reason: a keyword, a limit, or the kind of error.
    """

    def __init__(self, group: str, message: str) -> None:
        super().__init__(message)
        self.group = group


class Sequence(Protocol):
    """A text that is being generated."""

    def fill_mask(self) -> NDArray[np.uint32]:
        """Return uint32[words], the allowed next tokens: bit t % 32 of word t // 32. Valid until the next call."""

    def advance(self, token_id: int) -> bool:
        """Consume a token; return whether it was accepted."""


class Guide(Protocol):
    """A compiled schema."""

    def sequence(self) -> Sequence:
        """Start a text."""

    def finish(self) -> None:
        """Finish after all texts; the engine can start to store its caches."""


class Engine(Protocol):
    """A compiler of schemas over one vocabulary."""

    @property
    def end_id(self) -> int:
        """The end token."""

    @property
    def version(self) -> str:
        """Name and version of the engine."""

    def compile(self, schema: Schema) -> Guide:
        """Compile a schema that the engine has not compiled in this process.

        Raises:
            Rejected: The engine cannot enforce the schema.
        """


class _WithoutCache:
    def finish(self) -> None:
        """Store nothing."""


class _Structkit:
    """structkit with its documented defaults, which include the disk cache."""

    def __init__(
        self, tokenizer: Tokenizer, *, cache: bool = True, order: Literal["declared", "any"] = "declared"
    ) -> None:
        self._cache = cache
        self._order: Literal["declared", "any"] = order
        self._vocabulary = sk.Vocabulary.from_tokenizer(tokenizer)
        self._out = np.zeros(self._vocabulary.mask_words, np.uint32)
        self.end_id = self._vocabulary.eos_token_ids[0]
        self.version = sk.__version__

    def compile(self, schema: Schema) -> Guide:
        try:
            guide = sk.compile(schema, self._vocabulary, cache=self._cache, order=self._order)
            return _StructkitGuide(guide, self._out)
        except sk.UnsatisfiableSchema:
            return _EmptyLanguage(self._out)  # valid schema with an empty language
        except sk.UnsupportedKeyword as error:
            raise Rejected(f"UnsupportedKeyword {error.keyword}", str(error)) from error
        except sk.LimitExceeded as error:
            raise Rejected(f"LimitExceeded {error.limit}", str(error)) from error
        except sk.StructkitError as error:
            raise Rejected(type(error).__name__, str(error)) from error


class _EmptyLanguage(_WithoutCache):
    """Guide and sequence of a schema without valid values."""

    def __init__(self, out: NDArray[np.uint32]) -> None:
        self._mask = np.zeros_like(out)

    def sequence(self) -> Sequence:
        return self

    def fill_mask(self) -> NDArray[np.uint32]:
        return self._mask

    def advance(self, token_id: int) -> bool:
        return False


class _StructkitGuide:
    def __init__(self, guide: sk.Guide, out: NDArray[np.uint32]) -> None:
        self._guide = guide
        self._out = out

    def sequence(self) -> Sequence:
        return _StructkitSequence(self._guide.cursor(), self._out)

    def finish(self) -> None:
        self._guide.save_soon()  # as `structkit.generate` does after a generation


class _StructkitSequence:
    def __init__(self, cursor: sk.Cursor, out: NDArray[np.uint32]) -> None:
        self._fill = cursor.fill_mask
        self._advance = cursor.advance
        self._out = out

    def fill_mask(self) -> NDArray[np.uint32]:
        self._fill(self._out)
        return self._out

    def advance(self, token_id: int) -> bool:
        try:
            self._advance(token_id)
        except sk.TokenRejected:
            return False
        return True


class _Llguidance:
    """llguidance through its Python bindings: JSON slices, and the whitespace of `json.dumps`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        llguidance = import_module("llguidance")
        self._matcher = llguidance.LLMatcher
        self.end_id = _end_id(tokenizer)
        slices = llguidance.LLTokenizer.json_slices()
        self._tokenizer = llguidance.LLTokenizer(tokenizer.to_str(), eos_token=self.end_id, slices=slices)
        self._out = np.zeros(-(-self._tokenizer.vocab_size // 32), np.uint32)
        self.version = version("llguidance")

    def compile(self, schema: Schema) -> Guide:
        spaced = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
        grammar = self._matcher.grammar_from_json_schema(json.dumps(schema), defaults=spaced)
        matcher = self._matcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            message = matcher.get_error()
            raise Rejected(message.splitlines()[0][:60], message)
        return _LlguidanceGuide(matcher, self._out)


class _LlguidanceGuide(_WithoutCache):
    def __init__(self, matcher: Any, out: NDArray[np.uint32]) -> None:
        self._matcher = matcher
        self._out = out

    def sequence(self) -> Sequence:
        return _LlguidanceSequence(self._matcher.deep_copy(), self._out)


class _LlguidanceSequence:
    def __init__(self, matcher: Any, out: NDArray[np.uint32]) -> None:
        self._matcher = matcher
        self._fill = matcher.unsafe_compute_mask_ptr
        self._buffer = (out.ctypes.data, out.nbytes)
        self._out = out

    def fill_mask(self) -> NDArray[np.uint32]:
        self._fill(*self._buffer)
        return self._out

    def advance(self, token_id: int) -> bool:
        return bool(self._matcher.consume_token(token_id))


class _Xgrammar:
    """xgrammar on one thread without its cache, with the whitespace of `json.dumps`.

    The strict mode, its default, forbids additional properties unless the schema allows them; the other mode follows
    the specification.
    """

    def __init__(self, tokenizer: Tokenizer, *, strict: bool) -> None:
        xgrammar = import_module("xgrammar")
        # xgrammar gets the vocabulary as bytes; it would read the same bytes from a tokenizer of transformers.
        vocabulary = sk.Vocabulary.from_tokenizer(tokenizer)
        self.end_id = vocabulary.eos_token_ids[0]
        self._strict = strict
        self._matcher = xgrammar.GrammarMatcher
        info = xgrammar.TokenizerInfo(list(vocabulary.tokens), stop_token_ids=list(vocabulary.eos_token_ids))
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self._out = np.zeros((1, vocabulary.mask_words), np.int32)
        self.version = version("xgrammar")

    def compile(self, schema: Schema) -> Guide:
        text = json.dumps(schema)
        try:
            compiled = self._compiler.compile_json_schema(
                text, any_whitespace=False, strict_mode=self._strict
            )
        except RuntimeError as error:
            raise Rejected(str(error).splitlines()[-1][:60], str(error)) from error
        return _XgrammarGuide(self._matcher, compiled, self._out)


class _XgrammarGuide(_WithoutCache):
    def __init__(self, matcher: Callable[[object], Any], compiled: object, out: NDArray[np.int32]) -> None:
        self._new = matcher
        self._compiled = compiled
        self._out = out

    def sequence(self) -> Sequence:
        return _XgrammarSequence(self._new(self._compiled), self._out)


class _XgrammarSequence:
    def __init__(self, matcher: Any, out: NDArray[np.int32]) -> None:
        self._fill = matcher.fill_next_token_bitmask
        self._advance = matcher.accept_token
        self._out = out
        self._mask: NDArray[np.uint32] = out[0].view(np.uint32)

    def fill_mask(self) -> NDArray[np.uint32]:
        self._fill(self._out)
        return self._mask

    def advance(self, token_id: int) -> bool:
        return bool(self._advance(token_id))


class _OutlinesCore:
    """outlines-core, with its default of one optional space."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        core = import_module("outlines_core")
        self._regex = import_module("outlines_core.json_schema").build_regex_from_schema
        self._index, self._guide = core.Index, core.Guide
        vocabulary = sk.Vocabulary.from_tokenizer(tokenizer)
        self.end_id = vocabulary.eos_token_ids[0]
        ids: dict[bytes, list[int]] = {}
        for token_id, token in enumerate(vocabulary.tokens):
            if token:
                ids.setdefault(token, []).append(token_id)
        self._vocabulary = core.Vocabulary(self.end_id, ids)
        self._out = np.zeros(vocabulary.mask_words, np.uint32)
        self.version = version("outlines-core")

    def compile(self, schema: Schema) -> Guide:
        try:
            index = self._index(self._regex(json.dumps(schema)), self._vocabulary)
        except (ValueError, TypeError) as error:
            raise Rejected(str(error).splitlines()[0][:60], str(error)) from error
        return _OutlinesGuide(self._guide, index, self._out)


class _OutlinesGuide(_WithoutCache):
    def __init__(self, guide: Callable[[object], Any], index: object, out: NDArray[np.uint32]) -> None:
        self._new = guide
        self._index = index
        self._out = out

    def sequence(self) -> Sequence:
        return _OutlinesSequence(self._new(self._index), self._out)


class _OutlinesSequence:
    def __init__(self, guide: Any, out: NDArray[np.uint32]) -> None:
        self._guide = guide
        self._fill = guide.write_mask_into
        self._buffer = (out.ctypes.data, out.size, out.itemsize)
        self._out = out

    def fill_mask(self) -> NDArray[np.uint32]:
        self._fill(*self._buffer)
        return self._out

    def advance(self, token_id: int) -> bool:
        try:
            self._guide.advance(token_id, return_tokens=False)
        except ValueError:
            return False
        return True


def _end_id(tokenizer: Tokenizer) -> int:
    return sk.Vocabulary.from_tokenizer(tokenizer).eos_token_ids[0]


ENGINES: Mapping[str, Callable[[Tokenizer], Engine]] = {
    "structkit": _Structkit,
    "structkit-uncached": partial(_Structkit, cache=False),
    "structkit-any-order": partial(_Structkit, order="any"),
    "llguidance": _Llguidance,
    "xgrammar": partial(_Xgrammar, strict=True),
    "xgrammar-open": partial(_Xgrammar, strict=False),
    "outlines-core": _OutlinesCore,
}
"""The engines by name."""
