"""The demo model's tokenizer: byte-level BPE over pieces that make copying exact.

A word has the same tokens in every position: spaces and punctuation are separate pieces, so `Ana` is encoded equally
after a quotation mark and after a space. Only the most common small words include the preceding space. Digits are
single tokens.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from demo_corpus import words
from demo_corpus.example import ASK, ASSISTANT, END, PAD, SYSTEM, USER

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

LITTLE = (
    "a an the is was are be of in on at to for from with by and or as it its he she his her has will "
    "i we you they that this please"
).split()
PIECES = "|".join(
    [
        ASK.replace("\n", r"\n"),
        r"\p{N}",
        " (?:" + "|".join(LITTLE) + r")(?![\p{L}\p{M}\p{N}])",
        r"[\p{L}\p{M}]+",
        r"[^\p{L}\p{M}\p{N}]+?(?= (?:" + "|".join(LITTLE) + r")(?![\p{L}\p{M}\p{N}])|\n\nAnswer with)",
        r"[^\p{L}\p{M}\p{N}]+",
    ]
)
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "eos_token": END,
    "pad_token": PAD,
    "additional_special_tokens": [USER, ASSISTANT, SYSTEM],
    "chat_template": CHAT_TEMPLATE,
    "clean_up_tokenization_spaces": False,
    "model_max_length": 1024,
}


def train_tokenizer(texts: Iterable[str], size: int) -> Tokenizer:
    """Train a byte-level BPE of `size` tokens, including all 256 bytes and the five control tokens."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[PAD, END, USER, ASSISTANT, SYSTEM],
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        max_token_length=40,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def word_texts() -> list[str]:
    """Return the word lists as text, so that most words of the corpus are one token."""
    lists = [
        words.COMMON,
        words.GIVEN,
        words.FAMILY,
        words.CITIES,
        words.JOBS,
        words.PRODUCTS,
        words.NOUNS,
        words.TITLE_HEADS,
        words.TITLE_TAILS,
        words.STREETS,
        words.DOMAINS,
        words.MONTHS,
        words.WEEKDAYS,
    ]
    return [" ".join(each) for each in lists]


def wrap(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """Return the transformers tokenizer with its control tokens and chat template."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=[USER, ASSISTANT, SYSTEM],
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
        model_max_length=1024,
    )
