"""Arguments with a slip: the message names what was meant."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import structkit as sk
from structkit.cli import main
from structkit.testing import RandomModel


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["extrat", "x", "--type", "a:B"], "write extract"),
        (["extract", "app.py:Person", "Ana is 34"], "is required\n  write --type app.py:Person"),
        (["extract", "x", "--tpye", "a:B"], "unrecognized arguments: --tpye\n  write --type"),
        (["extract", "x", "--type", "a:B", "--null", "omitt"], "write omit"),
        (["sample", "a:B", "--whitspace", "compact"], "write --whitespace"),
        (["completion", "bsh"], "write bash"),
        (["sample", "a:B", "--n", "x"], "--n: must be an integer of at least 1, not 'x'"),
        (["sample", "a:B", "--n", "0"], "--n: must be an integer of at least 1, not '0'"),
        (["sample", "a:B", "--n", "1.5"], "--n: must be an integer of at least 1, not '1.5'"),
        (["check", "a:B", "--seconds", "long"], "--seconds: must be a number above 0, not 'long'"),
        (["serve", "--temperature", "-1"], "--temperature: must be a number of at least 0, not '-1'"),
        (["help"], "write --help"),
        (["extract", "Ana", "is", "34.", "--choice", "a"], "write an argument with spaces in quotes"),
        (["extract", "Ana", "--choice", "yes", "no"], "write --choice before each option"),
        (["sample", "builtins:int", "-n", "2"], "write --n"),
        (["extract", "Ana", "--type", "builtins:int", "-t", "0.5"], "write --type or --temperature"),
        (["serve", "--model", "demo"], "write the model without an option"),
        (["serve", "--api-key", "secret"], "unrecognized arguments: --api-key\n  write --api-key-env"),
        (["serve", "--temperature", "nan"], "--temperature: must be a number of at least 0, not 'nan'"),
    ],
)
def test_what_was_meant_is_named(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["zzzzzz"], ["extract", "x", "--zzzzzzzz"]])
def test_nothing_is_named_that_was_not_meant(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert "write" not in capsys.readouterr().err.split("error:")[1]


def test_the_error_comes_before_a_line_of_usage_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["sample", "a:B", "--tpye", "x"])
    error, *_, usage = capsys.readouterr().err.splitlines()
    assert caught.value.code == 2
    assert error == "structkit sample: error: unrecognized arguments: --tpye x"
    assert usage.startswith("usage: structkit sample [options] ")


def test_files_that_cannot_be_read_or_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extract", "x", "--schema", "{'type': 'integer'}"]) == 1
    assert capsys.readouterr().err.endswith("write JSON, with double quotes\n")
    assert main(["extract", "x", "--schema", "none.json"]) == 1
    assert "cannot be read: no such file or directory\n  give a file of JSON" in capsys.readouterr().err
    assert main(["init", "none/new.py"]) == 1
    assert "cannot be written: no such file or directory\n  give another path" in capsys.readouterr().err


def test_the_file_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("structkit.cli.many.load", lambda name: RandomModel())
    (tmp_path / "texts.jsonl").write_text('"Ana"\n')
    output = tmp_path / "none" / "people.jsonl"
    files = ["--input", str(tmp_path / "texts.jsonl"), "--output", str(output)]
    assert main(["extract", "--choice", "a", "--choice", "b", *files]) == 1
    said = capsys.readouterr().err
    assert f"at `{output}" in said and "no such file or directory" in said


@pytest.mark.filterwarnings("always")
def test_a_warning_is_one_line_without_a_line_of_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load(name: str | None) -> RandomModel:
        warnings.warn("the model and the target disagree", sk.LowAgreementWarning, stacklevel=2)
        return RandomModel()

    monkeypatch.setattr("structkit.cli.extract.load", load)
    assert main(["extract", "It is broken.", "--choice", "positive", "--choice", "negative"]) == 0
    assert capsys.readouterr().err == "structkit: warning: the model and the target disagree\n"
