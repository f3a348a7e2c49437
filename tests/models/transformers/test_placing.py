"""How a model is loaded and placed: precision, attention, quantization, devices, and `torch.compile`."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import structkit as sk
from structkit.errors import ModelError

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")
pytest.importorskip("tokenizers", reason="needs tokenizers")

from structkit.models.transformers.forward import forward_parameters, input_device, is_compiled  # noqa: E402
from structkit.models.transformers.model import TransformersModel, from_transformers  # noqa: E402
from tests.models.tiny import byte_level  # noqa: E402

PROMPTS = ["Ana", "Tom is 7, and this prompt is longer.", "x"]
TARGET = sk.Regex("[a-z]{3,6}")


@pytest.fixture(scope="module")
def tokenizer():
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=byte_level(PROMPTS, 300, ["<s>", "</s>"]), bos_token="<s>", eos_token="</s>"
    )


def tiny(kind: str, size: int, **changes: int):
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    shape |= changes
    ends = {"bos_token_id": 0, "eos_token_id": 1}
    config = transformers.AutoConfig.for_model(
        kind, vocab_size=size, max_position_embeddings=128, **shape, **ends
    )
    return transformers.AutoModelForCausalLM.from_config(config)


@pytest.fixture(scope="module")
def folder(tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("llama")
    tiny("llama", len(tokenizer)).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def texts(model: TransformersModel) -> list[str]:
    """Return the values of prompts of different lengths, in one batch."""
    return sk.extract_many(model, PROMPTS, TARGET, batch_size=3, progress=False)


@pytest.mark.parametrize(("device", "expected"), [("cpu", "cpu"), ("meta", "cpu"), ("cuda:1", "cuda:1")])
def test_token_ids_are_where_the_embeddings_are_or_on_the_cpu(device: str, expected: str) -> None:
    """Embeddings that `device_map` keeps on a disk are on the device `meta`, which computes nothing."""
    embeddings = SimpleNamespace(weight=SimpleNamespace(device=torch.device(device)))
    model = SimpleNamespace(get_input_embeddings=lambda: embeddings)
    assert input_device(model) == torch.device(expected)  # type: ignore[arg-type]


def test_both_names_of_the_precision(folder: Path) -> None:
    assert sk.load(folder, torch_dtype="bfloat16").model.dtype == torch.bfloat16
    assert sk.load(folder, torch_dtype=torch.bfloat16, dtype=torch.bfloat16).model.dtype == torch.bfloat16
    with pytest.raises(ModelError, match=r"two names of one setting\n  give one of them"):
        sk.load(folder, dtype="float32", torch_dtype="bfloat16")
    with pytest.raises(ModelError, match="unknown dtype"):
        sk.load(folder, torch_dtype="float33")


def test_attention_is_chosen(folder: Path) -> None:
    eager, fast = (sk.load(folder, attn_implementation=name) for name in ("eager", "sdpa"))
    chosen = [model.model.config._attn_implementation for model in (eager, fast)]
    assert chosen == ["eager", "sdpa"]
    assert texts(eager) == texts(fast)
    with pytest.raises(ModelError, match=r"(?s)could not be loaded.*attn_implementation"):
        sk.load(folder, attn_implementation="nothing")


def test_a_quantization_is_handed_to_transformers(folder: Path) -> None:
    """A kind of our own, by the interface of transformers for such: the packages of the others need a card."""
    from transformers.quantizers import HfQuantizer, register_quantization_config, register_quantizer
    from transformers.utils.quantization_config import QuantizationConfigMixin

    class Steps(QuantizationConfigMixin):
        def __init__(self, **options: object) -> None:
            self.quant_method = "steps"  # type: ignore[assignment]

    class StepsQuantizer(HfQuantizer):
        requires_calibration = False

        def _process_model_after_weight_loading(self, model, **options: object):
            for parameter in model.parameters():
                parameter.data = (parameter.data * 16).round() / 16
            return model

        def is_serializable(self, *args: object, **options: object) -> bool:
            return False

        @property
        def is_trainable(self) -> bool:
            return False

    register_quantization_config("steps")(Steps)
    register_quantizer("steps")(StepsQuantizer)
    model = sk.load(folder, quantization_config=Steps())
    assert model.model.is_quantized
    weights = model.model.get_input_embeddings().weight
    assert torch.equal(weights * 16, (weights * 16).round())
    assert all(re.fullmatch(TARGET.pattern, text) for text in texts(model))


def test_an_unknown_quantization_is_refused(folder: Path) -> None:
    with pytest.raises(ModelError, match="give a quantization_config of transformers"):
        sk.load(folder, quantization_config={"quant_method": "nothing"})


def test_device_and_device_map_exclude_each_other(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"both place the model\n  give one of them"):
        sk.load(folder, device="cpu", device_map="auto")


def test_device_map_is_handed_to_transformers(folder: Path) -> None:
    if importlib.util.find_spec("accelerate") is None:
        with pytest.raises(ModelError, match="install accelerate, or place the model with device"):
            sk.load(folder, device_map="auto")
        return
    placed = sk.load(folder, device_map={"": "cpu"})
    assert placed.model.hf_device_map == {"": "cpu"}
    assert texts(placed) == texts(sk.load(folder))


@pytest.mark.parametrize("name", ["model.gguf", "openai:gpt-5-mini"])
@pytest.mark.parametrize("setting", ["device_map", "attn_implementation", "quantization_config"])
def test_other_models_refuse_the_settings(name: str, setting: str) -> None:
    with pytest.raises(ModelError, match=f"{setting} is a setting of models .*\n  leave it out"):
        sk.load(name, **{setting: "auto"})  # type: ignore[arg-type]


@pytest.mark.parametrize("way", ["wrapper", "in place", "forward"])
def test_a_compiled_model_is_recognized(tokenizer, way: str) -> None:
    model = tiny("llama", len(tokenizer))
    assert not is_compiled(model)
    if way == "wrapper":
        model = torch.compile(model, backend="eager")
    elif way == "in place":
        model.compile(backend="eager")
    else:
        model.forward = torch.compile(model.forward, backend="eager")
    assert is_compiled(model)
    assert "position_ids" in forward_parameters(model)


@pytest.mark.long
def test_a_batch_of_a_compiled_model_is_that_of_the_model(tokenizer) -> None:
    # This backend fails where those that write code fail, and takes seconds, not minutes.
    plain = tiny("llama", len(tokenizer), num_hidden_layers=1)
    compiled = torch.compile(plain, backend="aot_eager", dynamic=True)
    batches = [from_transformers(model, tokenizer).batch() for model in (plain, compiled)]
    for work in (
        lambda batch: batch.add([[5, 6, 7], [8]]),
        lambda batch: batch.feed([[9], [10, 11]]),
        lambda batch: batch.rollback(0, 2) or batch.feed([[12, 13], [14]]),
    ):
        expected, found = map(work, batches)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_static_cache_changes_nothing(tokenizer) -> None:
    model = tiny("llama", len(tokenizer))
    expected = texts(from_transformers(model, tokenizer))
    model.generation_config.cache_implementation = "static"
    assert texts(from_transformers(model, tokenizer)) == expected


@pytest.mark.long
def test_a_step_of_a_model_that_is_traced(tokenizer) -> None:
    plain = tiny("llama", len(tokenizer))
    compiled = torch.compile(plain, backend="eager", dynamic=True)
    assert {"position_ids", "logits_to_keep"} <= {*forward_parameters(compiled)}
    traced = from_transformers(compiled, tokenizer)
    row = traced.session().logits([5, 6, 7])
    np.testing.assert_allclose(
        row, from_transformers(plain, tokenizer).session().logits([5, 6, 7]), atol=1e-5
    )
