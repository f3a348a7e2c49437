"""None"""

from __future__ import annotations

import io
import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import structkit as sk
from structkit.cli import main
from structkit.testing import ScriptedModel
from tests.cli.targets import ANA
from tests.docs.blocks import needs_demo


def test_extract_prints_the_instance(
    file: Path, model: ScriptedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["extract", "Ana is 34.", "--type", f"{file}:Person"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "Person(name='Ana', age=34, friend=None)\n"
    assert captured.err == ""
    assert model.prompts[0].startswith("Ana is 34.\n\nAnswer with JSON")


def test_extract_prints_json_and_reads_standard_input(
    file: Path, model: ScriptedModel, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Ana is 34.\n"))
    assert main(["extract", "--type", "person:Person", "--json", "--max-tokens", "60", "--seed", "1"]) == 0
    assert capsys.readouterr().out == ANA + "\n"
    assert model.prompts[0].startswith("Ana is 34.\n\nAnswer")


@pytest.mark.parametrize("output", [[], ["--json"]])
def test_extract_says_that_a_limit_changed_the_value(
    output: list[str],
    file: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    long = ANA.replace("Ana", "Ana Souza de Almeida Prado")
    model = ScriptedModel([long, long], strict=False)
    monkeypatch.setattr("structkit.cli.extract.load", lambda name: model)
    given = ["extract", "Ana is 34.", "--type", f"{file}:Person", "--max-tokens", "24", *output]
    assert main(given) == 0
    assert 'on_limit="raise"' in caplog.text
    assert main([*given, "--on-limit", "raise"]) == 1
    assert "structkit: at `name`:\n  max_tokens is 24" in capsys.readouterr().err


def test_a_line_says_that_a_limit_changed_its_value(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    long = ANA.replace("Ana", "Ana Souza de Almeida Prado")
    monkeypatch.setattr("structkit.cli.many.load", lambda name: ScriptedModel([long, ANA], strict=False))
    (file.parent / "lines.jsonl").write_text('"a"\n"b"\n')
    given = ["extract", "--type", f"{file}:Person", "--input", "lines.jsonl", "--max-tokens", "24"]
    assert main(given) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["finish_reason"] == "budget" and "finish_reason" not in second
    assert main([*given, "--on-limit", "raise"]) == 1
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["error"].startswith("BudgetExceeded: ") and second["value"]["name"] == "Ana"


def test_the_output_is_not_the_input(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = file.parent / "lines.jsonl"
    lines.write_text('"Ana is 34."\n')
    given = [
        "extract",
        "--type",
        f"{file}:Person",
        "--input",
        str(lines),
        "--output",
        "lines.jsonl",
        "--resume",
    ]
    assert main(given) == 1
    assert "the input and the output are one file\n  give another --output" in capsys.readouterr().err
    assert lines.read_text() == '"Ana is 34."\n'


def test_a_missing_grammar_has_one_remedy(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extract", "x", "--grammar", "none.lark"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "  give the path of a grammar, or its text"


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_a_port_is_checked_before_the_model_is_loaded(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", f"--port={port}"])
    assert f"must be an integer from 0 to 65535, not '{port}'" in capsys.readouterr().err


def test_extract_quotes_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("structkit.cli.extract.load", lambda name: ScriptedModel(['"Ana"']))
    Path("quoting.py").write_text(
        "from typing import Annotated\nimport structkit\nName = Annotated[str, structkit.Quote()]\n"
    )
    Path("page.txt").write_text("Ana is 34.")
    assert main(["extract", "Who?", "--type", "quoting.py:Name", "--source", "page.txt"]) == 0
    assert capsys.readouterr().out == "'Ana'\n"
    with pytest.raises(SystemExit) as caught:
        main(["extract", "Who?", "--type", "quoting.py:Name", "--source", "missing.txt"])
    assert caught.value.code == 2


def test_extract_by_a_json_schema(
    tmp_path: Path, model: ScriptedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "object", "properties": {"name": {"const": "Ana"}}, "required": ["name"]}')
    assert main(["extract", "x", "--schema", str(path), "--temperature", "0.5", "--seed", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "Ana"


@pytest.mark.parametrize(
    ("order", "printed"),
    [
        ([], '{"a": 1, "b": 2}'),
        (["--order", "declared"], '{"a": 1, "b": 2}'),
        (["--order", "any"], '{"b": 2, "a": 1}'),
    ],
)
def test_the_order_of_keys(
    order: list[str],
    printed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = ScriptedModel(['{"b": 2, "a": 1}'], strict=False)
    monkeypatch.setattr("structkit.cli.extract.load", lambda name: model)
    path = tmp_path / "schema.json"
    path.write_text(
        '{"properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a", "b"],'
        ' "additionalProperties": false, "type": "object"}'
    )
    assert main(["extract", "x", "--schema", str(path), *order]) == 0
    assert capsys.readouterr().out == printed + "\n"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("nowhere.py:Person", "there is no file nowhere.py\n  write path"),
        (
            "no.such.module:Person",
            "no.such.module cannot be imported: ModuleNotFoundError: No module named 'no'\n  write path/to/file.py",
        ),
        (
            "missing.py:A",
            "missing.py cannot be imported: ModuleNotFoundError: No module named 'no_such_package'\n  correct missing",
        ),
        ("person.py:Persons", "person.py has no 'Persons'\n  write Person"),
        ("person.py:Order", "person.py has no 'Order'\n  it defines Person"),
        ("person:Person.Inner.y", "person has no 'Person.Inner.y'"),
        ("broken.py:A", "broken.py cannot be imported: SyntaxError"),
        ("value.py:A", "invalid target 3"),
    ],
)
def test_invalid_targets_print_one_message(
    where: str, message: str, file: Path, model: ScriptedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    file.with_name("broken.py").write_text("class A(:\n")
    file.with_name("value.py").write_text("A = 3\n")
    file.with_name("missing.py").write_text("import no_such_package\n")
    assert main(["extract", "x", "--type", where]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"structkit: {message}")


@pytest.mark.parametrize("content", ["{", "[1]", None])
def test_an_unreadable_schema(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "schema.json"
    if content is not None:
        path.write_text(content)
    assert main(["extract", "x", "--schema", str(path)]) == 1
    assert str(path) in capsys.readouterr().err


def test_generation_errors_print_one_message(
    file: Path, model: ScriptedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["extract", "x", "--type", f"{file}:Person", "--max-tokens", "2"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("structkit: the shortest value needs")
    assert "pass --max-tokens" in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required"),
        (["extract", "x"], "--type --schema --regex --choice --grammar is required"),
        (["extract", "x", "--type", "person.py"], "write path/to/file.py:Name"),
        (["extract", "x", "--type", "a:B", "--schema", "c"], "not allowed with"),
        (["extract", "x", "--type", "a:B", "--temperature", "-1"], "--temperature: must be"),
        (["extract", "x", "--type", "a:B", "--max-tokens", "many"], "must be an integer of at least 1, not"),
        (["extract", "x", "--type", "a:B", "--seed", "x"], "must be an integer of at most 18 digits, not"),
        (["extract", "x", "--type", "a:B", "--start", "b"], "--start requires --grammar, the file"),
        (["doctor", "--model", "x"], "--model and --api-key-env require the URL of a server"),
        (["extract", "x", "--type", "int"], "such as builtins:int"),
        (["extract", "x", "--type", "a:B", "--order", "none"], "invalid choice"),
        (["extract", "", "--type", "a:B"], "the prompt is empty"),
    ],
)
def test_usage_errors_exit_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_version_is_lightweight() -> None:
    code = "import sys; from structkit.cli import main\n"
    code += "try: main(['--version'])\nfinally: print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["structkit", sk.__version__, "False"]


def test_characters_that_the_terminal_cannot_show(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structkit.cli.extract.load", lambda name: ScriptedModel([ANA.replace("Ana", "é😀")]))
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))
    assert main(["extract", "x", "--type", f"{file}:Person"]) == 0
    sys.stdout.flush()
    assert raw.getvalue() == "Person(name='é\\U0001f600', age=34, friend=None)\n".encode("latin-1")


def test_a_target_without_a_file_may_be_invalid(capsys: pytest.CaptureFixture[str]) -> None:
    for options, message in (
        (["--regex", "[a-z"], "^"),
        (["--schema", '{"type": '], "the JSON Schema cannot be read"),
        (["--schema", '{"propertes": {}}'], "write 'properties'"),
        (["--choice", "a", "--choice", "a"], "occurs twice"),
    ):
        assert main(["extract", "x", *options]) == 1
        assert message in capsys.readouterr().err


def test_the_prompt_is_read_from_a_file(
    file: Path, model: ScriptedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = file.with_name("notes.txt")
    notes.write_text("Ana is 34.\n", encoding="utf-8")
    assert main(["extract", "--type", f"{file}:Person", "--file", str(notes)]) == 0
    assert model.prompts[0].startswith("Ana is 34.\n\nAnswer with JSON")


def test_files_of_other_encodings(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A byte order mark, which editors of Windows write, is no part of the text."""
    monkeypatch.setattr("structkit.cli.extract.load", lambda name: ScriptedModel([ANA]))
    monkeypatch.setattr("structkit.cli.many.load", lambda name: ScriptedModel([ANA]))
    lines, extract = file.with_name("lines.jsonl"), ["extract", "--type", f"{file}:Person"]
    lines.write_text('"Ana is 34."\n\n', encoding="utf-8-sig")
    assert main([*extract, "--input", str(lines)]) == 1
    value, error = map(json.loads, capsys.readouterr().out.splitlines())
    assert value["value"]["name"] == "Ana"
    assert error == {"error": "ValueError: the line is empty"}
    lines.write_text('"Ana is 34."\n', encoding="utf-16")
    assert main([*extract, "--input", str(lines)]) == 1
    assert "byte 0xff at position 0 is not UTF-8\n  save it as UTF-8" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*extract, "--file", str(lines)])
    assert "cannot be read: byte 0xff at position 0 is not UTF-8" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8"))
    with pytest.raises(SystemExit):
        main(extract)
    assert "standard input cannot be read: byte 0xff" in capsys.readouterr().err


def test_an_interruption_has_its_own_status(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(name: object) -> ScriptedModel:
        raise KeyboardInterrupt

    monkeypatch.setattr("structkit.cli.extract.load", interrupted)
    assert main(["extract", "x", "--type", f"{file}:Person"]) == 130
    assert capsys.readouterr().err == "structkit: interrupted\n"


def test_init_writes_a_program_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_demo()
    path = tmp_path / "people.py"
    assert main(["init", str(path)]) == 0
    assert f"python {path}" in capsys.readouterr().out
    assert main(["init", str(path)]) == 1
    assert "already exists" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["people.py", "Ana Souza, 34, works as a nurse in Porto."])
    runpy.run_path(str(path), run_name="__main__")
    value, *confidences = capsys.readouterr().out.splitlines()
    assert value == "Person(name='Ana Souza', age=34, job='nurse')"
    assert [line.partition(":")[0].strip() for line in confidences][-3:] == ["name", "age", "job"]
    assert main(["init", str(tmp_path / "other.py"), "--model", 'a"b']) == 0
    assert "MODEL = 'a\"b'" in (tmp_path / "other.py").read_text()
    assert main(["init", str(tmp_path / "no" / "such.py")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_completion_knows_commands_and_options(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)  # type: ignore[arg-type]
    assert main(["completion", "bash"]) == 1
    assert 'pip install "structkit-llm[completion]"' in capsys.readouterr().err
    monkeypatch.undo()
    pytest.importorskip("shtab")
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert "--choice" in script and "may_omit" in script and "doctor" in script
    if bash := shutil.which("bash"):
        subprocess.run([bash, "-n"], input=script, text=True, check=True)
