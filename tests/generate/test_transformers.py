"""End-to-end generation with a tiny random model of transformers."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.generate.decode.decode import Attempt
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.models.single_row import SingleRowBatch
from tests.generate.driving import drive
from tests.models.tiny import byte_level, tiny_llama

pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")
pytest.importorskip("tokenizers", reason="needs tokenizers")

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SENTENCES = ['{"name": "Ana Souza", "age": 34, "job": null}', "Ana Souza, 34, works as a nurse in Porto."]


class Person(BaseModel):
    name: str
    age: int
    job: str | None = None


@pytest.fixture(scope="module")
def model():
    inner = byte_level(SENTENCES, 320, ["<s>", "</s>", "<|im_start|>", "<|im_end|>"])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="</s>", chat_template=TEMPLATE
    )
    # Wider than the tokenizer, like models with a padded vocabulary.
    return tiny_llama(tokenizer, vocab_size=330, max_position_embeddings=256)


def test_the_rendered_prompt_is_the_text_that_the_model_reads(model) -> None:
    preview = sk.render_prompt(model, "Ana is 34. <|im_end|>", Person, system="Be brief.")
    assert preview == (
        "<s><|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nAna is 34. <|im_end|>\n\n"
        "Answer with JSON of this type:\n"
        'Person = {"name": string, "age": integer, "job": string | null}<|im_end|>\n<|im_start|>assistant\n'
    )


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_random_model_writes_valid_values(model, temperature: float) -> None:
    options = {"max_tokens": 60, "temperature": temperature, "seed": 1}
    result = sk.generate(model, "Ana is 34.", Person, **options)
    assert Person.model_validate_json(result.text) == result.value
    assert result.usage.forced_tokens > 5
    assert result.token_ids == sk.generate(model, "Ana is 34.", Person, **options).token_ids


def test_the_cache_does_not_change_the_logits(model) -> None:
    """Logits are the same with and without a cache, for forced text in one pass or token by token."""
    prompt = model.encode("Ana is 34.")
    guide = sk.compile(Person, model.vocabulary, cache=False)
    recorded: list[tuple[list[int], np.ndarray]] = []

    class RecordingSession:
        def __init__(self) -> None:
            self.inner = model.session()
            self.token_ids: list[int] = []

        @property
        def length(self) -> int:
            return self.inner.length

        def logits(self, token_ids: list[int]) -> np.ndarray:
            self.token_ids += token_ids
            recorded.append((list(self.token_ids), self.inner.logits(token_ids)))
            return recorded[-1][1]

        def crop(self, length: int) -> None:
            self.inner.crop(length)

    request = Request(model=model, prompt="", target=Person, settings=Settings(prompt_lookup=0))
    flow = Attempt(request, prompt, guide.cursor(), 40).run()
    rows = SingleRowBatch(model)
    rows._session = RecordingSession()
    rows.add = rows.feed
    assert drive(flow, rows).forced_tokens > 5
    for token_ids, logits in recorded[:: max(1, len(recorded) // 5)]:
        np.testing.assert_allclose(model.session().logits(token_ids), logits, atol=1e-4)


def test_a_full_context(model) -> None:
    with pytest.raises(sk.GenerationError, match="tokens too long"):
        sk.extract(model, "Ana " * 300, Person)
    result = sk.generate(model, "Ana is 34. " * 8, str)
    assert result.usage.prompt_tokens + result.usage.generated_tokens <= 256
