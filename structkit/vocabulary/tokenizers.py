"""Token bytes of the supported tokenizer libraries, read from their tables.

Decoded text cannot be used: an incomplete character decodes to U+FFFD, while the tables contain its bytes. Tokenizers
are recognized by their methods, so no tokenizer package is imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, cast, runtime_checkable

from structkit.errors import VocabularyError
from structkit.vocabulary.pieces import METASPACE, is_control, read_byte_level, read_metaspace
from structkit.vocabulary.selftest import check_round_trip

__all__ = ["find_eos_token_ids", "find_named_tokens", "read_tokens"]

_END_OF_TURN_TOKENS = (
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|end|>", "<|return|>", "<|end_of_turn|>", "<end_of_turn>",
    "<turn|>", "<|endofturn|>", "<|END_OF_TURN_TOKEN|>",
)  # fmt: skip
_END_OF_TEXT_TOKENS = (
    "</s>", "<eos>", "<|eos|>", "<|endoftext|>", "<|end_of_text|>", "<|EOT|>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
)  # fmt: skip


def read_tokens(tokenizer: object) -> list[bytes]:
    """Return the bytes that each token adds in the middle of a text.

    Args:
        tokenizer: See `Vocabulary.from_tokenizer`.

    Returns:
        The bytes of each id; `b""` for ids that are not text.

    Raises:
        VocabularyError: The tokenizer is not supported, its tokens cannot be read as bytes, or the self-test failed.

    >>> from tokenizers import Tokenizer, models
    >>> read_tokens(Tokenizer(models.BPE(vocab={"a": 0, "b": 1, "ab": 2}, merges=[("a", "b")])))
    [b'a', b'b', b'ab']
    """
    data = _read(_unwrapped(tokenizer))
    check_round_trip(data.tokens, data.encode, data.normalize)
    return data.tokens


def find_eos_token_ids(tokenizer: object) -> frozenset[int]:
    """Return the ids that end a text, and the ids that end a turn if the chat template uses them.

    >>> from tokenizers import Tokenizer, models
    >>> tokenizer = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    >>> _ = tokenizer.add_special_tokens(["<|endoftext|>"])
    >>> sorted(find_eos_token_ids(tokenizer))
    [1]
    """
    if isinstance(tokenizer, _Transformers):
        template = str(tokenizer.chat_template or "")
        turns = [tokenizer.added_tokens_encoder.get(name) for name in _END_OF_TURN_TOKENS if name in template]
        return _ids(tokenizer.eos_token_id, *turns)
    tokenizer = _unwrapped(tokenizer)
    names = (*_END_OF_TURN_TOKENS, *_END_OF_TEXT_TOKENS)
    if isinstance(tokenizer, _Tokenizers):
        return _ids(*map(tokenizer.token_to_id, names))
    if isinstance(tokenizer, _Tiktoken):
        return _ids(*map(tokenizer.encode_single_token, tokenizer.special_tokens_set & set(names)))
    if isinstance(tokenizer, _SentencePiece):
        return _ids(tokenizer.eos_id())
    if isinstance(tokenizer, _MistralCommon):
        return _ids(tokenizer.eos_id)
    return frozenset()


def find_named_tokens(tokenizer: object, size: int) -> dict[str, int]:
    """Return the tokens that a tokenizer adds to those of its model, by name: control tokens and such as `<think>`.

    Args:
        tokenizer: See `Vocabulary.from_tokenizer`.
        size: The number of ids; tokens with larger ids are left out.

    >>> from tokenizers import Tokenizer, models
    >>> tokenizer = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    >>> _ = tokenizer.add_special_tokens(["<|tool|>"])
    >>> find_named_tokens(tokenizer, 2)
    {'<|tool|>': 1}
    """
    return {name: token_id for name, token_id in _named_tokens(tokenizer).items() if token_id < size}


def _named_tokens(tokenizer: object) -> Mapping[str, int]:
    if isinstance(tokenizer, _Transformers):
        return tokenizer.added_tokens_encoder
    tokenizer = _unwrapped(tokenizer)
    if isinstance(tokenizer, _Tokenizers):
        return {token.content: token_id for token_id, token in tokenizer.get_added_tokens_decoder().items()}
    if isinstance(tokenizer, _Tiktoken):
        return {name: tokenizer.encode_single_token(name) for name in sorted(tokenizer.special_tokens_set)}
    if isinstance(tokenizer, _SentencePiece):
        ids = list(range(tokenizer.get_piece_size()))
        found = zip(tokenizer.id_to_piece(ids), ids, tokenizer.is_control(ids), strict=True)
        return {piece: token_id for piece, token_id, is_control in found if is_control}
    return {}


# The required interface of each library's tokenizers. `runtime_checkable` compares member names only.


@runtime_checkable
class _Transformers(Protocol):
    """A fast or slow tokenizer of transformers."""

    eos_token_id: int | list[int] | None
    chat_template: object

    @property
    def added_tokens_encoder(self) -> Mapping[str, int]: ...


class _AddedToken(Protocol):
    content: str
    special: bool


@runtime_checkable
class _Tokenizers(Protocol):
    """`tokenizers.Tokenizer`."""

    model: object
    normalizer: object
    pre_tokenizer: object
    decoder: object

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]: ...
    def get_added_tokens_decoder(self) -> Mapping[int, _AddedToken]: ...
    def token_to_id(self, token: str) -> int | None: ...
    def encode(self, sequence: str, *, add_special_tokens: bool = True) -> _Encoding: ...


class _Encoding(Protocol):
    ids: list[int]
    attention_mask: list[int]


@runtime_checkable
class _Tiktoken(Protocol):
    """`tiktoken.Encoding`."""

    @property
    def n_vocab(self) -> int: ...
    @property
    def special_tokens_set(self) -> set[str]: ...
    def encode_single_token(self, text_or_bytes: str | bytes) -> int: ...
    def decode_single_token_bytes(self, token: int) -> bytes: ...
    def encode_ordinary(self, text: str) -> list[int]: ...


@runtime_checkable
class _SentencePiece(Protocol):
    """`sentencepiece.SentencePieceProcessor`."""

    def get_piece_size(self) -> int: ...
    def eos_id(self) -> int: ...
    def id_to_piece(self, ids: list[int]) -> list[str]: ...
    def piece_to_id(self, piece: str) -> int: ...
    def is_control(self, ids: list[int]) -> list[bool]: ...
    def is_unknown(self, ids: list[int]) -> list[bool]: ...
    def is_unused(self, ids: list[int]) -> list[bool]: ...
    def is_byte(self, ids: list[int]) -> list[bool]: ...
    def encode(self, text: str) -> list[int]: ...


@runtime_checkable
class _SlowSentencePiece(Protocol):
    """A tokenizer of transformers around a sentencepiece model, with its own ids."""

    sp_model: _SentencePiece

    @property
    def added_tokens_decoder(self) -> Mapping[int, _AddedToken]: ...
    def get_vocab(self) -> dict[str, int]: ...
    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]: ...


@runtime_checkable
class _MistralCommon(Protocol):
    """The innermost tokenizer of mistral-common: a tiktoken or sentencepiece model after its control tokens."""

    _model: object
    eos_id: int
    n_words: int

    def encode(self, text: str, *, bos: bool, eos: bool) -> list[int]: ...


def _unwrapped(tokenizer: object) -> object:
    """Return the tokenizer inside the wrappers of transformers and mistral-common."""
    tokenizer = getattr(tokenizer, "backend_tokenizer", None) or tokenizer
    for wrapper in (getattr(tokenizer, "tokenizer", None), tokenizer):
        instruct = getattr(wrapper, "instruct_tokenizer", None)
        if instruct is not None:
            return cast(object, instruct.tokenizer)
    return tokenizer


# One reader for each library.


class _TokenizerData(NamedTuple):
    """The bytes of each id, and the self-test's input: encoding without special tokens, and the normalizer."""

    tokens: list[bytes]
    encode: Callable[[str], Sequence[int]]
    normalize: Callable[[str], str] = str


def _read(tokenizer: object) -> _TokenizerData:
    if isinstance(tokenizer, _Tokenizers):
        return _read_tokenizers(tokenizer)
    if isinstance(tokenizer, _Tiktoken):
        return _read_tiktoken(tokenizer)
    if isinstance(tokenizer, _SentencePiece):
        return _read_sentencepiece(tokenizer)
    if isinstance(tokenizer, _SlowSentencePiece):
        return _read_slow_sentencepiece(tokenizer)
    if isinstance(tokenizer, _MistralCommon):
        return _read_mistral_common(tokenizer)
    if hasattr(getattr(tokenizer, "vocabulary", None), "eos_token_ids"):
        raise VocabularyError(
            f"{type(tokenizer).__name__} is a model, not a tokenizer; write model.vocabulary"
        )
    raise VocabularyError(
        f"unsupported tokenizer {type(tokenizer).__module__}.{type(tokenizer).__qualname__}; pass a tokenizer of "
        "transformers, tokenizers, tiktoken or sentencepiece, or write Vocabulary(tokens, eos_token_ids)"
    )


def _read_tokenizers(tokenizer: _Tokenizers) -> _TokenizerData:
    vocabulary = tokenizer.get_vocab(with_added_tokens=False)
    added = tokenizer.get_added_tokens_decoder()
    tokens = _tokens_by_id(vocabulary.values(), _reader(tokenizer, vocabulary)(list(vocabulary)), added)
    unknown = getattr(tokenizer.model, "unk_token", None)
    if unknown in vocabulary:
        tokens[vocabulary[unknown]] = b""

    def encode(text: str) -> list[int]:
        encoding = tokenizer.encode(text, add_special_tokens=False)
        return [
            token_id
            for token_id, attended in zip(encoding.ids, encoding.attention_mask, strict=True)
            if attended
        ]

    return _TokenizerData(tokens, encode, getattr(tokenizer.normalizer, "normalize_str", str))


def _reader(tokenizer: _Tokenizers, vocabulary: Mapping[str, int]) -> Callable[[Sequence[str]], list[bytes]]:
    """Choose the conversion of pieces to bytes by the components of the tokenizer."""
    model = type(tokenizer.model).__name__
    prefix = getattr(tokenizer.model, "continuing_subword_prefix", None)
    suffix = getattr(tokenizer.model, "end_of_word_suffix", None)
    if model not in ("BPE", "Unigram") or prefix or suffix:
        mark = f" with {prefix or suffix!r}" if prefix or suffix else ""
        raise VocabularyError(
            f"the tokenizer cannot be read as bytes: a {model} model{mark} does not define where spaces are; "
            "use a model with byte-level BPE or sentencepiece"
        )
    parts = [part for attribute in (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder)
             for part in _parts(attribute)]  # fmt: skip
    kinds = {part["type"] for part in parts}
    if "ByteLevel" in kinds:
        return read_byte_level
    if "Metaspace" in kinds or any(METASPACE in json.dumps(part, ensure_ascii=False) for part in parts):
        declared = "ByteFallback" in kinds or getattr(tokenizer.model, "byte_fallback", False)
        fallback = bool(declared) or all(f"<0x{byte:02X}>" in vocabulary for byte in range(256))
        return lambda pieces: read_metaspace(pieces, byte_fallback=fallback)
    return lambda pieces: [piece.encode() for piece in pieces]


class _Pickled(Protocol):
    """A component of tokenizers: its pickled state is its JSON. No data is unpickled."""

    def __getstate__(self) -> bytes: ...


def _parts(component: object) -> Iterator[Mapping[str, object]]:
    """Yield the parts of a normalizer, pre-tokenizer or decoder, as listed in its JSON."""
    if component is None:
        return
    try:
        described: object = json.loads(cast(_Pickled, component).__getstate__())
    except Exception as error:  # tokenizers raises a bare `Exception` for a component written in Python
        raise VocabularyError(
            f"the tokenizer cannot be read as bytes: its {type(component).__name__} has no JSON description ({error}); "
            "pass Vocabulary(tokens, eos_token_ids=...)"
        ) from error
    yield from _flattened(described)


def _flattened(component: object) -> Iterator[Mapping[str, object]]:
    if isinstance(component, list):
        for item in component:
            yield from _flattened(item)
    elif isinstance(component, dict):
        if "type" in component:
            yield component
        for item in component.values():
            yield from _flattened(item)


def _read_tiktoken(encoding: _Tiktoken) -> _TokenizerData:
    special = {encoding.encode_single_token(name) for name in encoding.special_tokens_set}
    tokens: list[bytes] = []
    for token_id in range(encoding.n_vocab):
        try:
            tokens.append(b"" if token_id in special else encoding.decode_single_token_bytes(token_id))
        except KeyError:  # an unused id between the ranks and the special tokens
            tokens.append(b"")
    return _TokenizerData(tokens, encoding.encode_ordinary)


def _read_sentencepiece(processor: _SentencePiece) -> _TokenizerData:
    tokens = _sentencepiece_tokens(processor, list(range(processor.get_piece_size())))
    return _TokenizerData(tokens, processor.encode, getattr(processor, "normalize", str))


def _sentencepiece_tokens(processor: _SentencePiece, ids: list[int]) -> list[bytes]:
    read = read_metaspace(processor.id_to_piece(ids), byte_fallback=any(processor.is_byte(ids)))
    kinds = zip(processor.is_control(ids), processor.is_unknown(ids), processor.is_unused(ids), strict=True)
    return [b"" if any(kind) else token for token, kind in zip(read, kinds, strict=True)]


def _read_slow_sentencepiece(tokenizer: _SlowSentencePiece) -> _TokenizerData:
    added = tokenizer.added_tokens_decoder
    vocabulary = {piece: index for piece, index in tokenizer.get_vocab().items() if index not in added}
    inner = [tokenizer.sp_model.piece_to_id(piece) for piece in vocabulary]
    tokens = _tokens_by_id(vocabulary.values(), _sentencepiece_tokens(tokenizer.sp_model, inner), added)

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False)

    def normalize(text: str) -> str:
        for step in (
            getattr(tokenizer, "preprocess_text", str),
            getattr(tokenizer.sp_model, "normalize", str),
        ):
            text = step(text)
        return text

    return _TokenizerData(tokens, encode, normalize)


def _read_mistral_common(tokenizer: _MistralCommon) -> _TokenizerData:
    inner = _read(tokenizer._model)
    # Control tokens are part of a sentencepiece model, but precede the ids of a tiktoken model.
    missing = max(0, tokenizer.n_words - len(inner.tokens))

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text, bos=False, eos=False)

    return _TokenizerData([b""] * missing + inner.tokens, encode, inner.normalize)


def _tokens_by_id(
    ids: Iterable[int], token_bytes: Sequence[bytes], added: Mapping[int, _AddedToken]
) -> list[bytes]:
    """Order the tokens by id; added tokens that are text are literal."""
    by_id = dict(zip(ids, token_bytes, strict=True))
    for token_id, token in added.items():
        if token.special or is_control(token.content):
            by_id[token_id] = b""
        else:
            by_id.setdefault(token_id, token.content.encode())
    return [by_id.get(token_id, b"") for token_id in range(max(by_id, default=-1) + 1)]


def _ids(*found: int | Sequence[int] | None) -> frozenset[int]:
    """Collect ids from a tokenizer's attributes: an id, a list, `None`, or -1 for none."""
    lists = [[item] if isinstance(item, int) else item or [] for item in found]
    return frozenset(token_id for ids in lists for token_id in ids if token_id >= 0)
