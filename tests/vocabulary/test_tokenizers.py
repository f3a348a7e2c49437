"""Tokenizers of the supported libraries: small ones built here and three real ones."""

from __future__ import annotations

import base64
import gzip
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from structkit.errors import VocabularyError
from structkit.vocabulary.selftest import _every_byte, _simplest_character
from structkit.vocabulary.tokenizers import find_eos_token_ids, read_tokens
from structkit.vocabulary.vocabulary import Vocabulary
from tests.shared import SHARED, cases

tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken")

REAL = SHARED / "data" / "tokenizers"
SENTENCES = [
    '{"name": "Ana Souza", "age": 34}',
    "The quick brown fox jumps over the lazy dog.",
    "Crème brûlée 東京",
]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]

normalizers, pre_tokenizers, decoders = tokenizers.normalizers, tokenizers.pre_tokenizers, tokenizers.decoders
models, trainers = tokenizers.models, tokenizers.trainers


def byte_level(alphabet: list[str] | None = None, **options: object):
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, **options)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet() if alphabet is None else alphabet
    special = ["<|endoftext|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=alphabet, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return tokenizer


def metaspace(normalizer: object = None, pre_tokenizer: object = None, *, fallback: bool = True):
    words = ["a", "n", "▁", "▁a", "an", "▁an", "{", '"', ":", "}", "é"]
    pieces = ["<unk>", "<s>", "</s>", *(BYTES if fallback else []), *words]
    merges = [("▁", "a"), ("a", "n"), ("▁", "an")]
    vocabulary = {piece: token_id for token_id, piece in enumerate(pieces)}
    tokenizer = tokenizers.Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=fallback, fuse_unk=True)
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


def llama_2():
    return metaspace(normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]))


METASPACE = {
    "Llama 2": llama_2,
    "Gemma": lambda: metaspace(normalizers.Replace(" ", "▁")),
    "Metaspace": lambda: metaspace(None, pre_tokenizers.Metaspace(prepend_scheme="first")),
    "without bytes": lambda: metaspace(normalizers.Replace(" ", "▁"), fallback=False),
}


def round_trip(tokenizer, vocabulary: Vocabulary, text: str) -> bytes:
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return b"".join(vocabulary.tokens[token_id] for token_id in ids)


@given(text=st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_byte_level_texts_round_trip(text: str, small_tokenizer: tuple) -> None:
    tokenizer, vocabulary = small_tokenizer
    assert round_trip(tokenizer, vocabulary, text) == text.encode()


@pytest.fixture(scope="module")
def small_tokenizer() -> tuple:
    tokenizer = byte_level()
    return tokenizer, Vocabulary.from_tokenizer(tokenizer)


def test_byte_level_pieces_are_bytes(small_tokenizer: tuple) -> None:
    tokenizer, vocabulary = small_tokenizer
    assert {bytes([byte]) for byte in range(256)} <= set(vocabulary.tokens)
    assert vocabulary.tokens[tokenizer.token_to_id("Ġthe")] == b" the"
    assert vocabulary.eos_token_ids == (0, 1)


@pytest.mark.parametrize("make", METASPACE.values(), ids=METASPACE)
def test_metaspace_pieces_keep_their_space(make) -> None:
    tokenizer = make()
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert vocabulary.tokens[tokenizer.token_to_id("▁an")] == b" an"
    assert vocabulary.tokens[tokenizer.token_to_id("<unk>")] == b""
    assert vocabulary.eos_token_ids == (2,)
    assert round_trip(tokenizer, vocabulary, 'an {"an": an}').strip() == b'an {"an": an}'


def test_byte_pieces_are_bytes_only_with_byte_fallback() -> None:
    read = read_tokens(llama_2())
    assert read[3:259] == [bytes([byte]) for byte in range(256)]
    plain = metaspace(normalizers.Replace(" ", "▁"), fallback=False)
    plain.add_tokens(["<0x0A>"])
    plain.decoder = decoders.Metaspace()
    assert read_tokens(plain)[-1] == b"<0x0A>"


def test_added_tokens_are_text_unless_special_or_controls() -> None:
    tokenizer = byte_level()
    tokenizer.add_tokens(["    ", "<think>", "<|user|>", "<｜User｜>", "<unused7>", "é東"])
    tokenizer.add_special_tokens(["<tool>", "[INST]"])
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    texts = {name: vocabulary.tokens[tokenizer.token_to_id(name)] for name in tokenizer.get_vocab()}
    assert [texts[name] for name in ("    ", "<think>", "é東")] == [b"    ", b"<think>", "é東".encode()]
    assert [texts[name] for name in ("<|user|>", "<｜User｜>", "<unused7>", "<tool>", "[INST]")] == [b""] * 5
    assert round_trip(tokenizer, vocabulary, "a    <think>é東") == "a    <think>é東".encode()


def test_an_added_token_of_the_table_is_converted_like_the_table() -> None:
    """Gemma lists runs of spaces as added tokens, written `▁▁`."""
    tokenizer = metaspace(normalizers.Replace(" ", "▁"))
    tokenizer.add_tokens([tokenizers.AddedToken("▁a", normalized=False)])
    assert read_tokens(tokenizer)[tokenizer.token_to_id("▁a")] == b" a"


def test_characters_that_cannot_be_encoded_are_left_out_of_the_self_test() -> None:
    tokenizer = byte_level(alphabet=[])
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert b"\xf0" not in vocabulary.tokens
    assert round_trip(tokenizer, vocabulary, "The fox") == b"The fox"


@pytest.mark.parametrize("normalizer", [normalizers.NFC(), normalizers.NFKC(), normalizers.Lowercase()])
def test_the_self_test_ignores_normalization(normalizer) -> None:
    tokenizer = byte_level()
    tokenizer.normalizer = normalizer
    assert Vocabulary.from_tokenizer(tokenizer).tokens == Vocabulary.from_tokenizer(byte_level()).tokens


def test_the_self_test_ignores_padding_and_truncation() -> None:
    tokenizer = byte_level()
    tokenizer.enable_padding(length=512)
    tokenizer.enable_truncation(512)
    assert Vocabulary.from_tokenizer(tokenizer).size == tokenizer.get_vocab_size()


def word_piece():
    return tokenizers.Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))


def word_level():
    return tokenizers.Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))


def clip():
    return tokenizers.Tokenizer(models.BPE({"a</w>": 0, "a": 1}, [], end_of_word_suffix="</w>"))


def misleading():
    """A Metaspace tokenizer that replaces spaces with underscores, which its table does not show."""
    tokenizer = tokenizers.Tokenizer(models.BPE({"_": 0, **{chr(c): c - 32 for c in range(33, 95)}}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="_", prepend_scheme="never")
    return tokenizer


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (word_piece, "WordPiece model with '##'"),
        (word_level, "WordLevel model"),
        (clip, "BPE model with '</w>'"),
        (misleading, r"cannot be read as bytes: in .*byte \d+, token 0 is b'_', not b' "),
        (object, r"unsupported tokenizer builtins.object\n  pass a tokenizer of transformers"),
    ],
)
def test_tokenizers_without_exact_bytes_are_rejected(make, message) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_tokenizer(make(), eos_token_ids={1})


def byte_encoding(**special: int):
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"an": 256, b" an": 257}
    return tiktoken.Encoding("small", pat_str=r"[\s\S]+", mergeable_ranks=ranks, special_tokens=special)


def test_tiktoken_ranks_are_bytes_and_gaps_are_not_text() -> None:
    vocabulary = Vocabulary.from_tokenizer(byte_encoding(**{"<|endoftext|>": 260, "<|fim|>": 262}))
    assert vocabulary.tokens[255:] == (b"\xff", b"an", b" an", b"", b"", b"", b"", b"")
    assert vocabulary.eos_token_ids == (260,)


def test_end_tokens_are_required_if_the_tokenizer_declares_none() -> None:
    with pytest.raises(VocabularyError, match="pass eos_token_ids"):
        Vocabulary.from_tokenizer(byte_encoding())
    assert Vocabulary.from_tokenizer(byte_encoding(), eos_token_ids=[300]).eos_token_ids == (300,)


@pytest.mark.parametrize(
    ("size", "ends", "width"), [(None, (1, 260), 261), (400, (1, 260), 400), (200, (1,), 200)]
)
def test_the_size_may_be_the_width_of_the_logits(size, ends, width) -> None:
    vocabulary = Vocabulary.from_tokenizer(byte_encoding(), eos_token_ids=[1, 260], size=size)
    assert (vocabulary.eos_token_ids, vocabulary.size) == (ends, width)
    assert vocabulary.tokens[97] == b"a"


class Tekken:
    """A tokenizer as in mistral-common: a tiktoken model whose ids follow those of the control tokens."""

    num_special_tokens = 10
    n_words = 268
    eos_id = 2
    _model = byte_encoding()

    def encode(self, text: str, *, bos: bool, eos: bool) -> list[int]:
        return [10 + token_id for token_id in self._model.encode_ordinary(text)]


class Wrapper:
    def __init__(self, **attributes: object) -> None:
        self.__dict__ |= attributes


@pytest.mark.parametrize(
    "wrap", [lambda t: t, lambda t: Wrapper(tokenizer=t)], ids=["mistral-common", "transformers"]
)
def test_mistral_common_ids_follow_the_control_tokens(wrap) -> None:
    tokenizer = wrap(Wrapper(instruct_tokenizer=Wrapper(tokenizer=Tekken())))
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert vocabulary.tokens[:11] == (b"",) * 10 + (b"\0",)
    assert (vocabulary.tokens[-1], vocabulary.eos_token_ids) == (b" an", (2,))


def test_end_tokens_of_transformers_tokenizers() -> None:
    inner = byte_level()
    fake = Wrapper(
        backend_tokenizer=inner, eos_token_id=0, chat_template=None, added_tokens_encoder={"<|im_end|>": 1}
    )
    assert find_eos_token_ids(fake) == {0}
    fake.chat_template = "{{ message.content }}<|im_end|>"
    assert find_eos_token_ids(fake) == {0, 1}
    fake.eos_token_id = [1, 7]
    assert Vocabulary.from_tokenizer(fake).eos_token_ids == (1, 7)


def load_real_tokenizer(name: str) -> tuple:
    """Return the encode function of a real tokenizer, and its vocabulary."""
    path = REAL / name
    if not path.exists():
        pytest.skip(f"{path} is absent")
    if name.endswith(".tokenizer.json.gz"):
        tokenizer = tokenizers.Tokenizer.from_str(gzip.decompress(path.read_bytes()).decode())
        return lambda text: tokenizer.encode(text, add_special_tokens=False).ids, Vocabulary.from_tokenizer(
            tokenizer
        )
    if name.endswith(".tiktoken.gz"):
        lines = (line.split() for line in gzip.decompress(path.read_bytes()).splitlines())
        ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
        special = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
        pattern = r"\p{N}{1,3}|[^\r\n\p{L}\p{N}]?\p{L}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"
        tokenizer = tiktoken.Encoding("o200k", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
        return tokenizer.encode_ordinary, Vocabulary.from_tokenizer(tokenizer)
    sentencepiece = pytest.importorskip("sentencepiece", reason="needs sentencepiece")
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return tokenizer.encode, Vocabulary.from_tokenizer(tokenizer)


NAMES = ["deepseek.tokenizer.json.gz", "o200k_base.tiktoken.gz", "mistral-v3.sentencepiece.model"]
EXPECTED = {
    NAMES[0]: (129_280, 128_002, 1),
    NAMES[1]: (200_019, 199_998, 199_999),
    NAMES[2]: (32_768, 32_017, 2),
}


@pytest.fixture(scope="module", params=NAMES)
def real_tokenizer(request: pytest.FixtureRequest) -> tuple:
    return request.param, *load_real_tokenizer(request.param)


@pytest.mark.long(every=3)
@given(text=st.text(max_size=200) | st.text(' {}[]",:\\\n\t0123456789abcéAB東😀', max_size=200))
@settings(max_examples=cases(20, of=60), deadline=None)
def test_texts_round_trip_in_real_tokenizers(text: str, real_tokenizer: tuple) -> None:
    name, encode, vocabulary = real_tokenizer
    actual = b"".join(vocabulary.tokens[token_id] for token_id in encode(text))
    if name.endswith(".model"):  # adds a space before every text
        assert actual == (b" " + text.encode() if text else b"")
    elif "｜" not in text and "<" not in text:
        assert actual == text.encode()


@pytest.mark.long(every=3)
def test_real_vocabularies_are_complete(real_tokenizer: tuple) -> None:
    name, _, vocabulary = real_tokenizer
    size, texts, end = EXPECTED[name]
    assert (vocabulary.size, sum(map(bool, vocabulary.tokens))) == (size, texts)
    assert end in vocabulary.eos_token_ids
    assert {bytes([byte]) for byte in range(256)} - set(vocabulary.tokens) == set()
    assert len(vocabulary.trie.token_ids) == texts
    controls = [token for token in vocabulary.tokens if token.startswith((b"<|", "<｜".encode()))]
    assert [token for token in controls if token.endswith(b">")] == []


def test_the_sample_texts_have_every_byte_in_the_simplest_characters() -> None:
    """A letter that NFKC leaves unchanged, wherever characters with the first byte have one."""
    characters = "".join(_every_byte())
    assert {*characters.encode()} == {*range(0x100)} - {0xC0, 0xC1, *range(0xF5, 0x100)}
    for start in (0xC0, 0x800, 0x1000, 0x4000, 0xE000, 0xF000, 0x10000, 0x40000, 0x100000):
        found, lead = _simplest_character(start), chr(start).encode()[0]
        assert found.encode()[0] == lead
        stable = [
            character
            for character in map(chr, range(start, start + 0x1000))
            if character.isalpha()
            and character.encode()[0] == lead
            and unicodedata.is_normalized("NFKC", character)
        ]
        assert found == (stable[0] if stable else chr(start))
