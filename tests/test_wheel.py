"""The wheel, installed alone in a new environment: the package runs, and a missing extra is named with its command.

`.ci/run` builds the wheel and names it in `STRUCTKIT_WHEEL`; otherwise the test is skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.shared import ROOT

WHEEL = os.environ.get("STRUCTKIT_WHEEL")

PROGRAM = """
from importlib.metadata import metadata
from pathlib import Path
from pydantic import BaseModel
import structkit as sk
from structkit.testing import ScriptedModel, byte_vocabulary

class Person(BaseModel):
    name: str
    age: int

assert metadata("structkit-llm")["Version"] == sk.__version__
package = Path(sk.__file__).parent
assert "site-packages" in sk.__file__ and (package / "py.typed").is_file()
assert (package / "demo/model/config.json").is_file() and list((package / "demo/model").glob("*.safetensors"))
assert sk.compile(Person, byte_vocabulary()).cursor().forced_bytes() == b'{"name": "'
print(sk.extract(ScriptedModel(['{"name": "Ana", "age": 34}']), "Ana, 34", Person))

def prove() -> None:
    sk.check(int)

def bar() -> None:
    sk.extract_many(ScriptedModel(["1", "2"]), ["a", "b"], int, progress=True)

def adapter() -> None:
    import structkit.integrations.pydantic_ai

def langchain() -> None:
    import structkit.integrations.langchain

def serve() -> None:
    import structkit.serve

def rows() -> None:
    from structkit.integrations.ray import extract_rows
    extract_rows(None, int)

def unenforced() -> None:
    unique = {"not": {"uniqueItems": True}}
    sk.extract(ScriptedModel(["1"]), "x", sk.JsonSchema(unique, strict=False))

def completion() -> None:
    from argparse import ArgumentParser, Namespace
    from structkit.cli.start import print_completion
    print_completion(Namespace(shell="bash"), ArgumentParser())

doors = {
    "transformers": sk.load,
    "openai": lambda: sk.load("openai:gpt-5-mini"),
    "anthropic": lambda: sk.load("anthropic:claude-haiku-4-5"),
    "gemini": lambda: sk.load("google:gemini-2.5-flash"),
    "llama-cpp": lambda: sk.load("model.gguf"),
    "servers": lambda: sk.connect("http://localhost:8000/v1"),
    "mcp": lambda: sk.mcp.connect(["python"]),
    "pydantic-ai": adapter,
    "check": prove,
    "progress": bar,
    "completion": completion,
    "langchain": langchain,
    "serve": serve,
    "ray": rows,
    "jsonschema": unenforced,
}
# Without OpenTelemetry there are no spans, which is no error.
assert {*doors, "otel"} == {*metadata("structkit-llm").get_all("Provides-Extra")}
Path("model.gguf").write_bytes(b"GGUF")
for extra, door in doors.items():
    try:
        door()
    except sk.MissingExtra as error:
        assert isinstance(error, ImportError) and error.extra == extra
        assert f'pip install "structkit-llm[{extra}]"' in str(error), error
    else:
        raise SystemExit(f"{extra} is installed, or it is not needed")
"""


@pytest.mark.skipif(WHEEL is None, reason="STRUCTKIT_WHEEL names no wheel; .ci/run builds one")
def test_the_wheel_runs_in_a_bare_environment(tmp_path: Path) -> None:
    assert WHEEL is not None
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    install = [python, "-m", "pip", "install", "--quiet", "--no-compile", "-c", ROOT / "constraints.txt"]
    subprocess.run([*install, Path(WHEEL).absolute()], check=True, cwd=tmp_path, env=environment)
    done = subprocess.run(
        [python, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "name='Ana' age=34\n"), done.stderr
    command = [python.with_name("structkit"), "extract", "x", "--type", "builtins:int"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and 'pip install "structkit-llm[transformers]"' in done.stderr, done.stderr
