"""Models by their names: which model a name means, and what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import structkit as sk
from structkit.cli import main
from structkit.errors import ModelError
from structkit.models.names import load
from tests.models.servers.fake import ANTHROPIC, GEMINI, OPENAI, Wire, serve

KEY = "a-very-secret-key-of-mine"
Target = dict[str, int]
WHOLE = '{"a": 1}'

HOSTED: list[tuple[str, str, Wire, dict[str, str], dict[str, str]]] = [
    ("openai:gpt-5-mini", "openai", OPENAI, {"OPENAI_BASE_URL": "/v1"}, {"OPENAI_API_KEY": KEY}),
    ("anthropic:claude-opus-5", "anthropic", ANTHROPIC, {"ANTHROPIC_BASE_URL": ""}, {"ANTHROPIC_API_KEY": KEY}),
    ("google:gemini-4", "google.genai", GEMINI, {"GOOGLE_GEMINI_BASE_URL": ""}, {"GEMINI_API_KEY": KEY}),
    ("gemini:gemini-4", "google.genai", GEMINI, {"GOOGLE_GEMINI_BASE_URL": ""}, {"GOOGLE_API_KEY": KEY}),
]  # fmt: skip
hosted = pytest.mark.parametrize(("name", "package", "wire", "urls", "keys"), HOSTED)


@pytest.fixture(autouse=True)
def without_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@hosted
def test_a_hosted_model_gets_its_key_from_the_environment(
    name: str,
    package: str,
    wire: Wire,
    urls: dict[str, str],
    keys: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip(package, reason=f"the package {package} is not installed")
    with serve(WHOLE, wire=wire, key=KEY) as server:
        for variable, path in urls.items():
            monkeypatch.setenv(variable, server.url + path)
        for variable, key in keys.items():
            monkeypatch.setenv(variable, key)
        model = sk.load(name)
        assert sk.extract(model, "one", Target) == {"a": 1}
        assert model.name.startswith(name.partition(":")[2])


@hosted
def test_a_key_that_is_missing_is_named(
    name: str, package: str, wire: Wire, urls: dict[str, str], keys: dict[str, str]
) -> None:
    pytest.importorskip(package, reason=f"the package {package} is not installed")
    with pytest.raises(
        ModelError, match=r"needs a key\n  set the environment variable \w+_API_KEY to one of http"
    ):
        sk.load(name)


@hosted
def test_a_package_that_is_missing_is_named(
    name: str,
    package: str,
    wire: Wire,
    urls: dict[str, str],
    keys: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    if "." in package and package.partition(".")[0] in sys.modules:
        monkeypatch.delattr(sys.modules[package.partition(".")[0]], "genai", raising=False)
    with pytest.raises(
        sk.MissingExtra, match=r'(?s)at .*need the package .*\n  pip install "structkit-llm\[\w+\]"'
    ):
        sk.load(name)


@pytest.mark.parametrize(
    ("provider", "kind"),
    [
        ("ollama", "Ollama"),
        ("vllm", "vLLM"),
        ("sglang", "SGLang"),
        ("llama.cpp", "llama.cpp"),
        ("lmstudio", "LM Studio"),
    ],
)
def test_a_server_at_an_address(provider: str, kind: str) -> None:
    rest = WHOLE if kind == "LM Studio" else WHOLE.removeprefix("{")
    with serve(rest, kind=kind, models=("org/name@q4",)) as server:
        for name in (f"{provider}:org/name@q4@{server.url}/v1", f"{provider.upper()}:@{server.url}"):
            model = sk.load(name)
            assert model.dialect == kind
            assert sk.extract(model, "one", Target) == {"a": 1}
        with pytest.raises(
            ModelError, match=r"does not have the model 'other'\n  it has 'org/name@q4'.*starts"
        ):
            sk.load(f"{provider}:other@{server.url}")


def test_a_server_that_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, object]] = []

    def connect(url: str, model: object) -> Any:
        asked.append((url, model))
        raise ModelError(f"no server answers at {url}")

    monkeypatch.setattr("structkit.models.names.load.connect", connect)
    for name, expected in {
        "ollama:qwen3": "no server answers at http://localhost:11434\n  `ollama serve` starts Ollama, and `ollama pull "
        "qwen3` gets the model; for another address give ollama:qwen3@http://HOST:PORT",
        "lmstudio:qwen3@q4_k_m": "`lms server start` starts LM Studio, and `lms load qwen3@q4_k_m` the model",
        "vllm:": "`vllm serve MODEL` starts vLLM",
        "ollama:qwen3:4b": "`ollama pull qwen3:4b` gets the model",
        "llama.cpp:@https://host": "no server answers at https://host\n  `llama-server -m FILE.gguf` starts",
    }.items():
        with pytest.raises(ModelError) as raised:
            sk.load(name)
        assert expected in str(raised.value)
    assert asked == [
        ("http://localhost:11434", "qwen3"),
        ("http://localhost:1234", "qwen3@q4_k_m"),
        ("http://localhost:8000", None),
        ("http://localhost:11434", "qwen3:4b"),
        ("https://host", None),
    ]


def test_an_address_that_is_none() -> None:
    with pytest.raises(ModelError, match="url of a server begins with"):
        sk.load("vllm:name@http://")
    with pytest.raises(ModelError, match="begins with http://\n  write vllm:org/name@http://localhost:8000"):
        sk.load("vllm:org/name@localhost:8000")
    for address in ("localhost:8000", "127.0.0.1:8000/v1", "10.0.0.7:80"):
        with pytest.raises(ModelError, match=f"begins with http://\\n  write http://{address}"):
            sk.load(address)


@pytest.mark.parametrize("name", ["model.ggf", "org/model.GGUFF", "org/model.safetensor", "old.bin"])
def test_a_name_of_a_file_is_not_looked_up_on_the_hub(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=r"the file does not exist\n  give a folder .* or a \.gguf file"):
        sk.load(name)
    Path("model.gguf").touch()
    Path("config.bin").touch()
    with pytest.raises(ModelError, match=r"the file does not exist\n  write 'model\.gguf'"):
        sk.load("model.ggf")
    with pytest.raises(ModelError, match=r"this is a file\n  give the folder that contains it"):
        sk.load("config.bin")


@pytest.mark.parametrize("name", ["C:/models/qwen", "C:\\models\\qwen", "D:", "./openai:x", "/tmp/ollama:x"])
def test_paths_stay_paths(name: str) -> None:
    with pytest.raises(ModelError, match="the folder does not exist"):
        sk.load(name)
    with pytest.raises(ModelError, match="the folder does not exist"):
        sk.load(Path("openai:x"))


@pytest.mark.parametrize("name", ["org/name", "gpt2", "openai", "openai/gpt-oss-20b"])
def test_names_on_the_hub_stay_names_on_the_hub(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRUCTKIT_DOWNLOADS", "0")
    with pytest.raises(ModelError, match=r"downloads from the Hub are disabled"):
        sk.load(name)


def test_mistakes_in_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ModelError, match=r"the provider 'mistral' is unknown\n  it is one of openai, anthropic"
    ):
        sk.load("mistral:large")
    with pytest.raises(
        ModelError,
        match=r"not the name of a model\n  pass it to structkit.connect, or write vllm:MODEL@http://localhost",
    ):
        sk.load("http://localhost:8000/v1")
    with pytest.raises(ModelError, match="the name of the model is missing\n  write openai:MODEL"):
        sk.load("openai:")
    with pytest.raises(
        ModelError, match="device is a setting of models that run in this process\n  leave it out"
    ):
        sk.load("openai:gpt-5-mini", device="cuda")
    monkeypatch.chdir(tmp_path)
    if sys.platform != "win32":
        Path("mistral:large").mkdir()
        with pytest.raises(ModelError, match=r"the folder contains no model"):
            sk.load("mistral:large")


def test_the_command_line_takes_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "additionalProperties": {"type": "integer"}}', encoding="utf-8")
    with serve(WHOLE, kind="vLLM") as server:
        model = ["--schema", str(schema), "--model", f"vllm:@{server.url}"]
        assert main(["extract", "one", *model, "--json"]) == 0
        assert capsys.readouterr().out == f"{WHOLE}\n"
        prompts, values = tmp_path / "prompts.jsonl", tmp_path / "values.jsonl"
        prompts.write_text('"one"\n"two"\n', encoding="utf-8")
        assert main(["extract", *model, "--input", str(prompts), "--output", str(values)]) == 0
        assert values.read_text(encoding="utf-8") == '{"value": {"a": 1}}\n' * 2
        assert main(["doctor", f"vllm:@{server.url}"]) in (0, 1)
        assert f"vLLM: demo of {server.url}" in capsys.readouterr().out
    assert main(["extract", "one", "--schema", str(schema), "--model", "mistral:large"]) == 1
    assert "the provider 'mistral' is unknown" in capsys.readouterr().err


@pytest.mark.long
def test_names_import_no_client() -> None:
    code = "import structkit, sys; structkit.load; print({'openai', 'anthropic', 'google.genai'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout == "set()\n"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-4o", "openai:gpt-4o"),
        ("gpt-5-mini", "openai:gpt-5-mini"),
        ("chatgpt-4o-latest", "openai:chatgpt-4o-latest"),
        ("o3", "openai:o3"),
        ("o4-mini", "openai:o4-mini"),
        ("claude-sonnet-5", "anthropic:claude-sonnet-5"),
        ("gemini-3.5-flash", "google:gemini-3.5-flash"),
        ("openai/gpt-4o", "openai:gpt-4o"),
        ("OpenRouter/anthropic/claude-sonnet-5", "anthropic:claude-sonnet-5"),
        ("models/gemini-3.5-flash", "google:gemini-3.5-flash"),
    ],
)
def test_the_name_of_a_hosted_model_has_a_provider(name: str, meant: str) -> None:
    with pytest.raises(ModelError, match=f"{name} is the name of a hosted model\n  write {meant}$"):
        sk.load(name)


def test_the_name_of_a_server_is_before_a_colon() -> None:
    with pytest.raises(ModelError, match=r"qwen3 is the name of a model of a server\n  write ollama:qwen3$"):
        sk.load("ollama/qwen3")


@pytest.mark.parametrize(
    "name",
    ["gpt2", "openai/gpt-oss-20b", "org/claude-like", "o3-org/model", "./gpt-4o", "google/gemma-3-1b-it"],
)
def test_other_names_are_those_of_the_hub(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRUCTKIT_DOWNLOADS", "0")
    with pytest.raises(ModelError, match=r"downloads from the Hub are disabled|the folder does not exist"):
        sk.load(name)


def test_the_demo_model_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sk.load("demo").name == "demo"
    (tmp_path / "demo").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sk.ModelError, match="demo"):  # an empty folder of the user
        sk.load("demo")


@pytest.mark.parametrize(
    "setting", ["dtype", "torch_dtype", "device_map", "attn_implementation", "quantization_config"]
)
def test_settings_of_weights_are_none_of_a_gguf_file(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[dict[str, object]] = []
    monkeypatch.setattr(load, "load_gguf", lambda path, **options: loaded.append({"path": path, **options}))
    with pytest.raises(ModelError, match=f"leave out {setting[-5:]}|^at `a.GGUF`:\n  {setting} is a setting"):
        sk.load("a.GGUF", **{setting: "auto"})  # type: ignore[arg-type]
    assert not loaded
    sk.load("a.GGUF", device="cpu", thinking_tags=("<a>", "</a>"))
    assert loaded == [{"path": Path("a.GGUF"), "device": "cpu", "thinking_tags": ("<a>", "</a>")}]
