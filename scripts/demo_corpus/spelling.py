"""Spelling: the demo model's tokenizer, byte-level BPE over pieces that make copying exact.

A word is the same tokens wherever it stands: spaces and punctuation are pieces of their own, so `Ana` after a quotation
mark is `Ana` after a blank. Only the commonest small words take the blank before them along. Digits stand alone.
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
    """A byte-level BPE of `size` tokens, all 256 bytes and the five marks among them."""
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
    """The word lists as text, so that what the domains say is mostly one token a word."""
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
    """The transformers tokenizer with its marks and chat template."""
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
