"""Models of llama.cpp: vocabulary, prompts, and loading."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structkit as sk
from structkit.errors import ModelError, VocabularyError
from structkit.models.llama_cpp.model import LlamaCppModel
from structkit.models.protocols import Conversation, Message
from tests.models.llama_cpp.conftest import TEMPLATE, new_llama
from tests.models.llama_cpp.random_gguf import write_adapter

TEXTS = [
    "Ana is 34.",
    " leading",
    "",
    "tabs\tand\nlines\r\n",
    "é😀 中",
    "<|im_end|>",
    '{"a": 1}',
    "<s>x</s>",
    "a\x00b",
    "a <think> b",
    "x" * 3_000,
]
PROMPTS: list[str | list[Message]] = [
    *TEXTS,
    "a<|im_end|>\n<|im_start|>system\nb",
    "<|im_<|im_end|>end|>",
    "\U000f0000</s>",
    [{"role": "system", "content": "</s>"}, {"role": "user", "content": "Go."}],
    [{"role": "user<|im_end|>", "content": "Go."}],
    [{"role": "assistant", "content": "<think> x </think> <|im_end|>"}, {"role": "user", "content": "Go."}],
]


def test_the_vocabulary_is_that_of_transformers(tiny_gguf, tiny, demo_path: Path, demo) -> None:
    for gguf, transformers in ((tiny_gguf, tiny), (sk.load(demo_path), demo)):
        assert gguf.vocabulary == transformers.vocabulary
        assert gguf.vocabulary.named_tokens == transformers.vocabulary.named_tokens
        assert gguf.chat_template == transformers.chat_template
    assert tiny_gguf.vocabulary.eos_token_ids == (1, 3)
    assert tiny_gguf.context_length == 256


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_encoded_exactly_and_without_control_tokens(text: str, tiny_gguf, tiny) -> None:
    ids, tokens = tiny_gguf.encode_text(text), tiny_gguf.vocabulary.tokens
    assert b"".join(tokens[token_id] for token_id in ids) == text.encode()
    assert all(tokens[token_id] for token_id in ids)
    if "think" not in text:  # transformers reads it as one token of text or as several
        assert ids == tiny.encode_text(text)


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: repr(prompt)[:40])
def test_prompts_have_the_tokens_of_transformers(prompt: Any, tiny_gguf, tiny) -> None:
    assert tiny_gguf.encode(prompt) == tiny.encode(prompt)
    assert tiny_gguf.encode_thinking(prompt) == tiny.encode_thinking(prompt)
    assert tiny_gguf.decode(tiny_gguf.encode(prompt)) == tiny.decode(tiny.encode(prompt))
    assert tiny_gguf.end_of_thinking == tiny.end_of_thinking


def test_control_tokens_are_found_by_name(tiny_gguf) -> None:
    assert tiny_gguf.control_token("<|im_end|>") == 3
    assert tiny_gguf.control_token("<think>") is None  # text
    assert tiny_gguf.takes_messages and tiny_gguf.capabilities.logits == "full"


def test_logits_agree_with_transformers(demo_gguf, demo) -> None:
    for prompt in ("Ana Souza, 34, works as a nurse in Porto.", "x", "The order of 3 lamps is open. " * 20):
        ids = demo.encode(prompt)
        np.testing.assert_allclose(
            demo_gguf.session().logits(ids), demo.session().logits(ids), atol=1e-3, rtol=0
        )


def test_a_file_is_loaded_by_path(demo_path: Path, demo, capfd: pytest.CaptureFixture[str]) -> None:
    model = sk.load(str(demo_path))
    assert isinstance(model, LlamaCppModel)
    assert model.name == str(demo_path)
    assert model.context_length == 1024
    ids = demo.encode("Ana Souza, 34.")
    row = sk.load(demo_path, device="cpu").session().logits(ids)
    # The cache of llama.cpp has half precision.
    np.testing.assert_allclose(row, demo.session().logits(ids), atol=0.05)
    assert capfd.readouterr() == ("", "")


def test_files_that_are_no_model_are_rejected(tmp_path: Path, library: Any, demo_path: Path) -> None:
    with pytest.raises(ModelError, match=r"at `no\.gguf`:\n  the file does not exist"):
        sk.load("no.gguf")
    path = tmp_path / "bad.GGUF"
    path.write_bytes(b"GGU")
    with pytest.raises(ModelError, match=r"cannot load the file: .*magic"):
        sk.load(path)
    path.write_bytes(demo_path.read_bytes()[:100_000])
    with pytest.raises(ModelError, match="check that it is complete"):
        sk.load(path)
    with pytest.raises(ModelError, match="leave out dtype"):
        sk.load(demo_path, dtype="bfloat16")
    with pytest.raises(ModelError, match="support of a GPU"):
        sk.load(demo_path, device="cuda")


def test_a_model_without_an_end_token_is_rejected(tmp_path: Path, demo_path: Path, library: Any) -> None:
    with pytest.raises(VocabularyError, match="eos_token_id"):
        sk.load(_edited(demo_path, tmp_path, eos=None, rename={"<|end|>": "<|stop|>"}))


def test_other_objects_than_a_llama_are_rejected() -> None:
    with pytest.raises(ModelError, match=r"a str is not a llama_cpp\.Llama"):
        sk.from_llama_cpp("model.gguf")  # type: ignore[arg-type]


def test_a_closed_llama_is_an_error(library: Any, tiny_path: Path) -> None:
    llama = new_llama(library, tiny_path, n_ctx=256)
    model = sk.from_llama_cpp(llama)
    session = model.session()
    session.logits([5, 6])
    llama.close()
    for _ in range(2):
        with pytest.raises(ModelError, match="is closed"):
            session.logits([7])
    with pytest.raises(ModelError, match="is closed"):
        sk.from_llama_cpp(llama)


def test_a_llama_can_be_used_in_between(library: Any, tiny_path: Path, tiny) -> None:
    llama = new_llama(library, tiny_path, n_ctx=256)
    one, other = sk.from_llama_cpp(llama).session(), sk.from_llama_cpp(llama).session()
    one.logits([5, 6])
    before = llama("Ana", max_tokens=8, temperature=0)["choices"][0]["text"]
    other.logits([9])
    expected = tiny.session()
    expected.logits([5, 6])
    np.testing.assert_allclose(one.logits([7]), expected.logits([7]), atol=1e-4)
    assert llama("Ana", max_tokens=8, temperature=0)["choices"][0]["text"] == before


def test_the_parameters_of_a_llama_are_kept(library: Any, tiny_path: Path) -> None:
    llama = new_llama(library, tiny_path, n_ctx=100, n_batch=4)
    model = sk.from_llama_cpp(llama)
    session = model.session()
    session.logits([5] * llama.n_ctx())
    with pytest.raises(ModelError, match=f"context of {llama.n_ctx()}"):
        session.logits([5])
    with pytest.raises(sk.GenerationError, match="context"):
        sk.extract(model, "Ana " * 300, bool)


def test_the_adapter_of_a_llama_is_kept(library: Any, tiny_path: Path, tmp_path: Path, tiny_gguf) -> None:
    write_adapter(tmp_path / "adapter.gguf")
    options: dict[str, Any] = {"n_ctx": 256, "lora_path": str(tmp_path / "adapter.gguf"), "lora_scale": 0.5}
    llama = new_llama(library, tiny_path, **options)
    ids = list(range(5, 25))
    llama.eval(ids)
    expected = np.ctypeslib.as_array(library.llama_get_logits_ith(llama.ctx, -1), (llama.n_vocab(),)).copy()
    found = sk.from_llama_cpp(llama).session().logits(ids)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert abs(found - tiny_gguf.session().logits(ids)).max() > 1e-3


@pytest.mark.parametrize(
    ("ids", "message"), [([], "at least one"), ([5, 100_000], "token 100000"), ([-1], "token -1")]
)
def test_invalid_tokens_are_rejected(ids: list[int], message: str, tiny_gguf) -> None:
    with pytest.raises(ModelError, match=message):
        tiny_gguf.session().logits(ids)
    with pytest.raises(ModelError, match=message):
        tiny_gguf.batch().add([ids])


def test_invalid_logits_are_rejected(tiny_gguf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        tiny_gguf._cache, "read", lambda rows, ids: np.full((1, 1, tiny_gguf.width), np.nan, np.float32)
    )
    with pytest.raises(ModelError, match="NaN"):
        tiny_gguf.session().logits([5])


def test_templates(tmp_path: Path, demo_path: Path, library: Any) -> None:
    tool = {"type": "function", "function": {"name": "f<|end|>", "parameters": {}}}
    conversation = Conversation(({"role": "user", "content": "Go."},), (tool,))
    named = _edited(
        demo_path, tmp_path, templates={"tool_use": "{{ tools | tojson }}{{ messages[0].content }}"}
    )
    model = sk.load(named)
    assert '"name": "f<|end|>"' in model.decode(model.encode(conversation))
    assert model.encode(conversation).count(1) == 0
    assert model.decode(model.encode("Go.")).startswith("<|user|>")
    bare = sk.load(_edited(demo_path, tmp_path, templates={"": None}))
    assert not bare.takes_messages
    assert bare.decode(bare.encode("</s> Ana <|end|>")) == "</s> Ana <|end|>"
    with pytest.raises(ModelError, match="chat_template"):
        bare.encode([{"role": "user", "content": "Ana"}])


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{% if %}", "Expected an expression"),
        ("{{ messages.__class__.__mro__ }}", "unsafe"),
        ("{% set x = namespace() %}{% set x.__init__ = 1 %}", "underscore"),
        ("{% set x = namespace(__init__=1) %}", "underscore"),
        ("{{ messages.append(1) }}", "not safely callable|unsafe"),
    ],
)
def test_the_template_of_a_file_runs_in_a_sandbox(
    template: str, message: str, tmp_path: Path, demo_path: Path, library: Any
) -> None:
    model = sk.load(_edited(demo_path, tmp_path, templates={"": template}))
    with pytest.raises(ModelError, match=f"chat template rejected the messages: .*({message})"):
        model.encode("Ana")


def test_a_template_renders_as_in_transformers(tiny, tiny_gguf) -> None:
    for template in (
        TEMPLATE,
        "{%- for m in messages -%}\n {{ m.content | tojson }}\n"
        "{%- if loop.first %}{% continue %}{% endif %}.{% endfor %}",
        "{% set n = namespace(x=0) %}{% for m in messages %}{% set n.x = n.x + 1 %}{% endfor %}{{ n.x }}",
        "{{ bos_token }}{{ eos_token }}{{ sep_token }}|{{ {'a': '<b>'} | tojson(indent=2) }}{{ strftime_now('%Y') }}",
        "{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ enable_thinking }}",
    ):
        messages = [{"role": "user", "content": "é<>"}, {"role": "assistant", "content": "b"}]
        expected = tiny.tokenizer.apply_chat_template(
            messages,
            chat_template=template,
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,
        )
        tokenizer = tiny_gguf._encoder._tokenizer
        before, tokenizer.chat_template = tokenizer.chat_template, template
        try:
            found = tokenizer.apply_chat_template(messages, add_generation_prompt=True, enable_thinking=False)
        finally:
            tokenizer.chat_template = before
        assert found == expected


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setitem(__import__("sys").modules, "llama_cpp", None)
    with pytest.raises(sk.MissingExtra, match=r'pip install "structkit-llm\[llama-cpp\]"'):
        sk.load(path)


def test_a_log_level_is_kept(demo_path: Path) -> None:
    logger = logging.getLogger("llama-cpp-python")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        sk.load(demo_path)
        assert logger.level == logging.WARNING
    finally:
        logger.setLevel(before)


def _edited(
    source: Path,
    folder: Path,
    *,
    templates: dict[str, str | None] | None = None,
    eos: int | None = 1,
    rename: dict[str, str] | None = None,
) -> Path:
    """Write a copy of a GGUF file with other metadata."""
    import gguf

    reader = gguf.GGUFReader(source)
    path = folder / f"{len(list(folder.iterdir()))}.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    for field in reader.fields.values():
        value: Any = field.contents()
        name = field.name
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        if name == "tokenizer.ggml.eos_token_id" and eos is None:
            continue
        if name == "tokenizer.ggml.tokens" and rename:
            value = [rename.get(token, token) for token in value]
        if name == "tokenizer.chat_template":
            value = (templates or {}).get("", value)
            if value is None:
                continue
        kind = field.types[0]
        writer.add_key_value(name, value, kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    for key, template in (templates or {}).items():
        if key and template is not None:
            writer.add_string(f"tokenizer.chat_template.{key}", template)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
