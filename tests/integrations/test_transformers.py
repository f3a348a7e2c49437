"""The guide in the generation loop of transformers."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field, TypeAdapter

import structkit as sk
from structkit.testing import byte_vocabulary

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")


class Person(BaseModel):
    name: str = Field(max_length=8)
    age: int = Field(ge=0, le=120)
    job: str | None = Field(max_length=8)


@pytest.fixture(scope="module")
def demo():
    return sk.load()


def _generate(model, processor: sk.LogitsProcessor, prompts: list[str], **options: object) -> list[str]:
    """Generate texts with the loop of transformers."""
    vocabulary = model.vocabulary
    encoded = [model.encode(prompt) for prompt in prompts]
    width, end = max(map(len, encoded)), vocabulary.eos_token_ids[0]
    ids = torch.tensor([[end] * (width - len(row)) + row for row in encoded])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in encoded])
    with torch.inference_mode():
        written = model.model.generate(
            ids,
            attention_mask=mask,
            logits_processor=[processor],
            pad_token_id=end,
            max_new_tokens=90,
            **options,
        )
    return [
        b"".join(vocabulary.tokens[token] for token in row if token not in vocabulary.eos_token_ids).decode()
        for row in written[:, width:].tolist()
    ]


PROMPTS = ["Ana Souza, 34, works as a nurse in Porto.", "Tom is 7.", "Hello, I am Luca, I am twenty."]


@pytest.mark.long(every=3)
@pytest.mark.parametrize(
    "options",
    [
        {"do_sample": False},
        {"do_sample": True, "temperature": 2.0},
        {"do_sample": False, "num_beams": 3},
        {"do_sample": False, "num_beams": 3, "num_return_sequences": 2},
        {"do_sample": True, "num_beams": 3, "num_return_sequences": 3},
    ],
    ids=["greedy", "sampled", "beams", "several beams", "sampled beams"],
)
def test_generated_values_are_valid(demo, options: dict[str, object]) -> None:
    torch.manual_seed(1)
    processor = sk.LogitsProcessor(sk.compile(Person, demo.vocabulary), strict="num_beams" not in options)
    for prompts in (PROMPTS, PROMPTS[:1], PROMPTS[1:]):  # one processor, three calls
        texts = _generate(demo, processor, prompts, **options)
        assert len(texts) == len(prompts) * options.get("num_return_sequences", 1)
        for text in texts:
            TypeAdapter(Person).validate_json(text)


def test_a_processor_shows_its_guide_and_strictness() -> None:
    guide = sk.compile(bool, byte_vocabulary())
    assert repr(sk.LogitsProcessor(guide)) == f"LogitsProcessor({guide!r}, strict=True)"


def test_greedy_output_equals_generate_without_fast_forward(demo) -> None:
    processor = sk.LogitsProcessor(sk.compile(Person, demo.vocabulary))
    own = [
        sk.generate(demo, prompt, Person, include_schema=False, fast_forward=False).text for prompt in PROMPTS
    ]
    assert [_generate(demo, processor, [prompt], do_sample=False)[0] for prompt in PROMPTS] == own


def test_assisted_generation(demo) -> None:
    processor = sk.LogitsProcessor(sk.compile(Person, demo.vocabulary), strict=False)
    plain = _generate(demo, processor, PROMPTS[:1], do_sample=False)
    looked_up = _generate(demo, processor, PROMPTS[:1], do_sample=False, prompt_lookup_num_tokens=3)
    assert looked_up == plain


def test_a_conversation_continues_with_one_processor(demo) -> None:
    """The next prompt is the previous one with its answer, its end token, and a new user message."""
    guide, width = sk.compile(bool, demo.vocabulary), demo.vocabulary.size
    processor, (true,) = sk.LogitsProcessor(guide), demo.encode_text("true")
    for written in ([], [true]):
        processor(torch.tensor([[5, *written]]), torch.zeros(1, width))
    again = torch.tensor([[5, true, min(demo.vocabulary.eos_token_ids), *demo.encode_text("And now?")]])
    assert torch.isfinite(processor(again, torch.zeros(1, width)))[0, true]


def test_rejected_rows_do_not_affect_others(demo) -> None:
    """A sampled beam search adds rows of probability 0."""
    guide, width = sk.compile(bool, demo.vocabulary), demo.vocabulary.size
    processor = sk.LogitsProcessor(guide, strict=False)
    processor(torch.tensor([[5], [5]]), torch.zeros(2, width))
    (true,), (word,) = demo.encode_text("true"), demo.encode_text("The")
    for rows in ([[5, word], [5, true]], [[5, true], [5, word]]):
        allowed = torch.isfinite(processor(torch.tensor(rows), torch.zeros(2, width)))
        assert allowed.nonzero()[:, 1].tolist() == [*demo.vocabulary.eos_token_ids] * 2
    other = processor(torch.tensor([[5, word, 3], [5, word, 9]]), torch.zeros(2, width))
    assert torch.isfinite(other)[:, true].all()  # no row continues: the prompt is different


def test_a_finished_row_stays_finished(demo) -> None:
    guide = sk.compile(bool, demo.vocabulary)
    processor, ends = sk.LogitsProcessor(guide), set(demo.vocabulary.eos_token_ids)
    width = demo.vocabulary.size
    true = demo.encode_text("true")
    ids = torch.tensor([[5, *true, min(ends), 3], [5, *true, min(ends), min(ends)]])
    for length in range(1, ids.shape[1] + 1):
        allowed = torch.isfinite(processor(ids[:, :length], torch.zeros(2, width)))
    assert [set(row.nonzero().flatten().tolist()) for row in allowed] == [ends, ends]


@pytest.mark.parametrize("sampled", [False, True])
def test_options_that_forbid_all_tokens_of_the_mask_are_an_error(demo, sampled: bool) -> None:
    processor = sk.LogitsProcessor(sk.compile(bool, demo.vocabulary))
    with pytest.raises(sk.GenerationError, match=r"row [012].*\n.*forbid every token.*\n.*min_new_tokens"):
        _generate(demo, processor, PROMPTS, do_sample=sampled, min_new_tokens=20)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_row_that_another_processor_leads_out_of_the_language_is_an_error(demo, rows: int) -> None:
    """The other rows, of the same prompt or of another, do not hide it."""
    (word,) = demo.encode_text("The")

    def force(input_ids: object, scores: object) -> object:
        if input_ids.shape[1] == width + 1:
            scores[-1] = -torch.inf
            scores[-1, word] = 0
        return scores

    guide = sk.compile(Person, demo.vocabulary)
    prompts = [PROMPTS[number % 2] for number in range(rows)]
    width = max(len(demo.encode(prompt)) for prompt in prompts)
    encoded = [demo.encode(prompt) for prompt in prompts]
    ids = torch.tensor([[0] * (width - len(row)) + row for row in encoded])
    options = {"max_new_tokens": 20, "pad_token_id": demo.vocabulary.eos_token_ids[0], "do_sample": False}
    processor = sk.LogitsProcessor(guide)
    with pytest.raises(sk.TokenRejected, match=f"(?s)row {rows - 1}, .*'The'.*strict=False") as caught:
        demo.model.generate(ids, logits_processor=[processor, force], **options)
    assert caught.value.token_id == word
    last = sk.LogitsProcessor(
        guide
    )  # the mask is last, so what `force` wants is impossible, and the row goes on
    written = demo.model.generate(ids, logits_processor=[last], **options)
    assert written.shape[1] > width + 2


def test_a_guide_of_another_vocabulary_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    processor = sk.LogitsProcessor(sk.compile(bool, byte_vocabulary()))
    with pytest.raises(
        sk.VocabularyError, match=r"of size 257, and the model 100 logits\n  compile it with structkit"
    ):
        processor(torch.tensor([[7]]), torch.zeros(1, 100))
    processor(torch.tensor([[7]]), torch.zeros(1, 300))
    assert caplog.text == ""
    sk.LogitsProcessor(processor.guide)(torch.tensor([[7, 280]]), torch.zeros(1, 300))
    assert "the prompt has the token 280, and the vocabulary of the guide only 257" in caplog.text
