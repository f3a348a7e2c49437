"""The vocabulary of a model: the bytes of each token id, and the ids that end a sequence."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import SupportsIndex

import numpy as np

from structkit.arguments.names import names_arguments
from structkit.errors import VocabularyError
from structkit.vocabulary.tokenizers import find_eos_token_ids, find_named_tokens, read_tokens
from structkit.vocabulary.trie import Trie

__all__ = ["Vocabulary", "byte_vocabulary"]

_MAX_TOKEN_IDS = 1 << 24
"""Upper bound on ids, 60 times the largest vocabulary in use; a vocabulary takes 8 bytes for each id up to the last."""

_MAX_TOKEN_BYTES, _MAX_BYTES = 1 << 14, 1 << 23
"""Upper bounds on the bytes of one token and of all tokens, ten times those of the largest vocabularies: the trie
takes about 0.3 µs for each byte and 30 µs for each byte of the longest token."""

_NO_NAMES: Mapping[str, int] = MappingProxyType({})

_UTF8_BYTES = frozenset({*range(0xC0), *range(0xC2, 0xF5)})
"""The bytes that occur in UTF-8 (RFC 3629, section 4)."""


@names_arguments
class Vocabulary:
    """The bytes of every token and the ids that end a sequence: an immutable value, equal by content.

    A token without bytes (`None` or `b""`) is not text: a control token or an unused id, which no mask allows. The
    bytes of ids in `eos_token_ids` are ignored.

    >>> vocabulary = Vocabulary([b"a", b"ab", None], eos_token_ids={3})
    >>> vocabulary
    <Vocabulary of 2 tokens, size 4, ends 3>
    >>> vocabulary.tokens
    (b'a', b'ab', b'', b'')
    """

    __slots__ = (
        "_eos_token_ids",
        "_fingerprint",
        "_has_all_bytes",
        "_mask_words",
        "_max_token_length",
        "_named_tokens",
        "_tokens",
        "_trie",
    )

    def __init__(
        self,
        tokens: Iterable[bytes | None],
        eos_token_ids: Iterable[int],
        named_tokens: Mapping[str, int] = _NO_NAMES,
    ) -> None:
        """Make a vocabulary from token bytes.

        Args:
            tokens: The bytes of each token; the id is the position.
            eos_token_ids: The ids that end a sequence; they may be larger than the last id of `tokens`.
            named_tokens: The ids of tokens by the names that a grammar may use for them, such as `<|tool|>`.

        Raises:
            VocabularyError: No token is text, `eos_token_ids` is empty, or a token or id has the wrong type or value.
        """
        given: object = tokens
        is_dict = isinstance(given, Mapping)
        if not isinstance(given, Iterable) or isinstance(given, (set, frozenset)) or is_dict:
            remedy = (
                "list its tokens by id, as in sorted(vocab, key=vocab.get)"
                if is_dict
                else "write [b'a', b'b']"
            )
            raise VocabularyError(f"tokens is a list of bytes, not {type(given).__name__}; {remedy}")
        listed = [b"" if token is None else token for token in tokens]
        ends = sorted({_token_id(end) for end in _ends(eos_token_ids)})
        _check(listed, ends)
        listed += [b""] * (ends[-1] + 1 - len(listed))
        for end in ends:
            listed[end] = b""
        if not any(listed):
            raise VocabularyError("no token is text; pass the bytes of the tokens, for example [b'a', b'b']")
        self._tokens = tuple(listed)
        self._eos_token_ids = tuple(ends)
        self._named_tokens = dict(named_tokens)
        if any(not 0 <= _token_id(named) < len(listed) for named in named_tokens.values()):
            raise VocabularyError(
                f"the ids of named_tokens must be below the size, {len(listed)}; pass the ids of the vocabulary"
            )
        self._mask_words = (len(listed) + 31) // 32
        self._max_token_length: int | None = None
        self._fingerprint: str | None = None
        self._has_all_bytes: bool | None = None
        self._trie: Trie | None = None

    @classmethod
    def from_tokenizer(
        cls, tokenizer: object, *, eos_token_ids: Iterable[int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """Read the token bytes from a tokenizer's tables and verify them on sample texts.

        Args:
            tokenizer: A tokenizer of transformers, a `tokenizers.Tokenizer`, a `tiktoken.Encoding`, a
                `sentencepiece.SentencePieceProcessor`, or a tokenizer of mistral-common.
            eos_token_ids: The ids that end a sequence; by default the ids that the tokenizer declares.
            size: The width of the model's logits, if it differs from the tokenizer's size. Ids beyond the tokenizer's
                last are not text; ids from `size` on are left out, because the model cannot generate them.

        Raises:
            VocabularyError: The tokens cannot be read as bytes, or the tokenizer declares no end token.

        >>> import tiktoken
        >>> ranks = {bytes([byte]): byte for byte in range(256)}
        >>> encoding = tiktoken.Encoding("bytes", pat_str=r".|[^.]", mergeable_ranks=ranks,
        ...                              special_tokens={"<|endoftext|>": 256})
        >>> Vocabulary.from_tokenizer(encoding)
        <Vocabulary of 256 tokens, size 257, ends 256>
        """
        tokens = read_tokens(tokenizer)
        ends = find_eos_token_ids(tokenizer) if eos_token_ids is None else frozenset(_ends(eos_token_ids))
        if size is not None:
            _token_id(size)
            tokens = tokens[:size] + [b""] * (size - len(tokens))
            ends = frozenset(end for end in ends if end < size)
        if not ends:
            raise VocabularyError("the tokenizer declares no end token; pass eos_token_ids={...}")
        return cls(tokens, ends, find_named_tokens(tokenizer, len(tokens)))

    @property
    def tokens(self) -> tuple[bytes, ...]:
        """The bytes of each id, `b""` if it is not text; `size` entries."""
        return self._tokens

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The ids that end a sequence, ascending and not empty."""
        return self._eos_token_ids

    @property
    def named_tokens(self) -> Mapping[str, int]:
        """The ids of the tokens that a grammar can name: of a tokenizer, its added tokens. Not part of equality."""
        return MappingProxyType(self._named_tokens)

    @property
    def size(self) -> int:
        """The last id plus one."""
        return len(self._tokens)

    @property
    def mask_words(self) -> int:
        """The number of 32-bit words of a mask, `ceil(size / 32)`."""
        return self._mask_words

    @property
    def max_token_length(self) -> int:
        """The length of the longest token, in bytes."""
        if self._max_token_length is None:
            self._max_token_length = int(self.trie.depth.max())
        return self._max_token_length

    @property
    def has_all_bytes(self) -> bool:
        """Whether every byte of UTF-8 is a token, so that every text can be tokenized."""
        if self._has_all_bytes is None:
            trie = self.trie
            is_token = (trie.depth == 1) & (trie.first[:-1] < trie.first[1:])
            self._has_all_bytes = set(trie.byte[is_token].tolist()) >= _UTF8_BYTES
        return self._has_all_bytes

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the content, in hexadecimal; equal if and only if the vocabularies are equal."""
        if self._fingerprint is None:
            self._fingerprint = _digest(self._tokens, self._eos_token_ids)
        return self._fingerprint

    @property
    def trie(self) -> Trie:
        """The tokens as a trie, built on first access (about 0.1 s for 128,000 tokens) and cached."""
        if self._trie is None:
            self._trie = Trie.build(self._tokens)
        return self._trie

    def tokenize(self, text: bytes) -> list[int]:
        """Return the fewest tokens whose bytes are the text; the model's tokenizer may choose other tokens.

        Raises:
            VocabularyError: No sequence of tokens has the bytes of the text.

        >>> Vocabulary([b"a", b"ab", b"bc"], eos_token_ids={3}).tokenize(b"abc")
        [0, 2]
        """
        min_tokens: list[tuple[int, int, int]] = [(0, 0, -1)]
        unreached = (len(text) + 1, 0, -1)
        ids = {token: token_id for token_id, token in reversed(list(enumerate(self._tokens))) if token}
        lengths = sorted({len(token) for token in ids})
        for stop in range(1, len(text) + 1):
            candidates = [
                (min_tokens[stop - length][0] + 1, stop - length, ids[text[stop - length : stop]])
                for length in lengths
                if length <= stop and text[stop - length : stop] in ids
            ]
            min_tokens.append(min(candidates, default=unreached))
        if min_tokens[-1][0] > len(text):
            raise VocabularyError(f"no tokens spell {text!r}; the tokenizer lacks some of its bytes")
        token_ids: list[int] = []
        stop = len(text)
        while stop:
            _, start, token_id = min_tokens[stop]
            token_ids.append(token_id)
            stop = start
        return token_ids[::-1]

    def __len__(self) -> int:
        """Return `size`."""
        return len(self._tokens)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self is other or self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        texts = sum(map(bool, self._tokens))
        ends = ", ".join(map(str, self._eos_token_ids[:8])) + (
            ", ..." if len(self._eos_token_ids) > 8 else ""
        )
        return f"<Vocabulary of {texts} tokens, size {self.size}, ends {ends}>"


@lru_cache(maxsize=1)
def byte_vocabulary() -> Vocabulary:
    """Return a vocabulary of the 256 bytes, each with its value as id, and the end token 256.

    >>> byte_vocabulary()
    <Vocabulary of 256 tokens, size 257, ends 256>
    """
    return Vocabulary([bytes([byte]) for byte in range(256)], eos_token_ids=[256])


def _ends(eos_token_ids: Iterable[int]) -> Iterable[int]:
    if not isinstance(eos_token_ids, Iterable):
        example = "{0}" if eos_token_ids is None else f"{{{eos_token_ids!r}}}"
        raise VocabularyError(f"eos_token_ids is a set of ids, not {eos_token_ids!r}; write {example}")
    return eos_token_ids


def _token_id(value: SupportsIndex) -> int:
    try:
        token_id = operator.index(value)
    except TypeError:
        token_id = -1
    if 0 <= token_id < _MAX_TOKEN_IDS:
        return token_id
    raise VocabularyError(
        f"invalid token id {value!r}; give an integer from 0 to {_MAX_TOKEN_IDS - 1}",
        place="eos_token_ids",
    )


def _check(tokens: list[bytes], eos_token_ids: list[int]) -> None:
    for token_id, token in enumerate(tokens):
        if not isinstance(token, bytes):
            raise VocabularyError(
                f"the token {token!r} is not bytes; write it as b'...', or as None if it is not text",
                place=f"tokens[{token_id}]",
            )
    sizes = [len(token) for token in tokens]
    remedy = "pass None for tokens that are not text"
    if max(sizes, default=0) > _MAX_TOKEN_BYTES:
        raise VocabularyError(
            f"a token has {max(sizes)} bytes, and at most {_MAX_TOKEN_BYTES} are supported; {remedy}",
            place=f"tokens[{sizes.index(max(sizes))}]",
        )
    if sum(sizes) > _MAX_BYTES:
        raise VocabularyError(
            f"all tokens together have {sum(sizes)} bytes, and at most {_MAX_BYTES} are supported; {remedy}"
        )
    if not eos_token_ids:
        raise VocabularyError("there is no end token, so no text could end; pass eos_token_ids={...}")


def _digest(tokens: tuple[bytes, ...], eos_token_ids: tuple[int, ...]) -> str:
    digest = hashlib.sha256(b"structkit vocabulary 1\n")
    for numbers in ([len(tokens), len(eos_token_ids)], eos_token_ids, list(map(len, tokens))):
        digest.update(np.array(numbers, "<i8").tobytes())
    digest.update(b"".join(tokens))
    return digest.hexdigest()
