"""Self-test of a vocabulary: the tokens of encoded sample texts must have the bytes of these texts."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

from structkit.errors import VocabularyError
from structkit.vocabulary.pieces import METASPACE

__all__ = ["check_round_trip"]

_SAMPLES = (
    '{"name": "Ana", "n": [1, 2.5, -3e10, true, null]}',
    "The quick brown fox; jumps (over) the lazy dog!",
    "Crème brûlée, naïve, Ærøskøbing, señor, Łódź, Привет, שלום, مرحبا, नमस्ते",
    "東京都の天気は晴れです。 한국어, 中文",
    "👩‍👩‍👧 🎉 𝒳",
    "a  b   c    d\n\n\te\r\n f        g",
    "0123456789 12345678901234567890 3.14159",
    '"\\"\\\\\'`\\n\\u00e9</',
)


def check_round_trip(
    tokens: Sequence[bytes], encode: Callable[[str], Sequence[int]], normalize: Callable[[str], str]
) -> None:
    """Encode samples with the tokenizer and compare the bytes of their tokens with the text.

    The samples are normalized first. The tokens may add one space at the start of a text, as sentencepiece does.
    Characters that the tokenizer cannot encode are left out.

    Args:
        tokens: The bytes of each id.
        encode: The tokenizer's encoding without special tokens around the text.
        normalize: The tokenizer's normalizer.

    Raises:
        VocabularyError: The tokens of a sample have other bytes than the sample.

    >>> check_round_trip([b"a", b"b"], lambda text: [0 for letter in text if letter == "a"], str)
    """
    checked = 0
    for sample in (*_SAMPLES, *_every_byte()):
        text = normalize(sample).replace(METASPACE, " ")
        if _difference(text, encode(text), tokens) is None:
            checked += len(text)
            continue
        text = "".join(c for c in text if _is_encodable(c, encode(c), tokens))
        checked += len(text)
        found = _difference(text, encode(text), tokens)
        if found is not None:
            raise VocabularyError(
                f"the tokenizer cannot be read as bytes: {found}; pass Vocabulary(tokens, eos_token_ids=...)"
            )
    if not checked:
        raise VocabularyError(
            "the tokenizer cannot be read as bytes: it encodes none of the sample texts; "
            "pass Vocabulary(tokens, eos_token_ids=...)"
        )


def _every_byte() -> list[str]:
    """Return texts that contain every byte that UTF-8 uses."""
    starts = [code << 6 for code in range(3, 0x20)] + [0x800] + [code << 12 for code in range(1, 0x10)]
    leads = [*starts, 0x10000, *(code << 18 for code in range(1, 5))]
    text = "".join([*map(chr, range(0xC0)), *map(_simplest_character, leads)])
    return [text[start : start + 32] for start in range(0, len(text), 32)]


def _simplest_character(start: int) -> str:
    """Return a character with the same first byte as `start`, if possible a letter that NFKC leaves unchanged."""
    lead = chr(start).encode()[0]
    letters = (letter for letter in map(chr, range(start, start + 0x1000)) if letter.isalpha())
    stable = (c for c in letters if c.encode()[0] == lead and unicodedata.normalize("NFKC", c) == c)
    return next(stable, chr(start))


def _is_encodable(character: str, ids: Sequence[int], tokens: Sequence[bytes]) -> bool:
    """Return whether the tokens contain the complete character.

    Some tokenizers drop a character that they lack, others write the unknown token.
    """
    found = [tokens[token_id] for token_id in ids]
    return all(found) and sum(map(len, found)) >= len(character.encode())


def _difference(text: str, ids: Sequence[int], tokens: Sequence[bytes]) -> str | None:
    """Describe how the bytes of the tokens differ from the text; `None` if they are equal."""
    expected = text.encode()
    actual = b"".join(tokens[token_id] for token_id in ids)
    if actual in (expected, b" " + expected):
        return None
    if actual.startswith(b" ") and not expected.startswith(b" "):
        expected = b" " + expected
    position = 0
    for token_id in ids:
        token = tokens[token_id]
        if not expected.startswith(token, position) or not token:
            return f"in {text!r}, byte {position}, token {token_id} is {token!r}, not {expected[position:][:12]!r}"
        position += len(token)
    return f"{text!r} is decoded as {actual!r}"
