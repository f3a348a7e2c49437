"""`structkit check`, `explain` and `sample`: output and exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from structkit.cli import main

TYPES = """
from typing import Annotated
from pydantic import AfterValidator, BaseModel, Field, GetPydanticSchema, WithJsonSchema
from pydantic_core import core_schema
from structkit import Quote

class Person(BaseModel):
    name: str
    age: Annotated[int, Field(ge=0, le=150)]
    nick: str = ""

def even(value: int) -> int:
    if value % 2:
        raise ValueError("odd")
    return value

Even = Annotated[int, AfterValidator(even)]
Small = GetPydanticSchema(lambda s, h: core_schema.int_schema(le=5))
Loose = Annotated[int, Small, WithJsonSchema({"type": "integer"})]
Strange = type[int]

class Clause(BaseModel):
    words: Annotated[str, Quote()]
    tag: int = 1
"""


@pytest.fixture
def types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "types_to_prove.py").write_text(TYPES)
    monkeypatch.chdir(tmp_path)
    return "types_to_prove.py"


def test_a_type_without_counterexamples(types: str, capsys: pytest.CaptureFixture[str]) -> None:
    # Without object code the search begins with the compilation of the kernels.
    assert main(["check", f"{types}:Person", "--n", "50", "--seconds", "1000"]) == 0
    assert capsys.readouterr().out.startswith("Person: 50 sentences, ")


@pytest.mark.long
def test_a_counterexample_is_an_exit_status(types: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"{types}:Loose", "--n", "100", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert not report["ok"]
    assert report["counterexamples"][0]["side"] == "generated but rejected"
    assert int(report["counterexamples"][0]["text"]) == 6


def test_a_check_that_tries_nothing_in_time_is_an_exit_status(
    types: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", f"{types}:Person", "--seconds", "1e-9"]) == 1
    assert "the time limit" in capsys.readouterr().out


def test_rejections_by_validators_are_not_counterexamples(
    types: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", f"{types}:Even", "--n", "50", "--seconds", "1000"]) == 0
    assert "Value error, odd" in capsys.readouterr().out


def test_explain(types: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{types}:Person"]) == 0
    assert "minimum" in capsys.readouterr().out
    assert main(["explain", f"{types}:Person", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["enforced"] is True


def test_unsupported_keywords_are_an_exit_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"not": {"uniqueItems": true}}')
    assert main(["explain", str(file)]) == 1
    assert "refused" in capsys.readouterr().out
    assert main(["check", str(file)]) == 1
    assert capsys.readouterr().err.startswith("structkit: ")


def test_samples_are_lines_of_json(types: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sample", f"{types}:Person", "--n", "20", "--seed", "1"]) == 0
    first = capsys.readouterr().out
    people = [json.loads(line) for line in first.splitlines()]
    assert len(people) == 20
    assert all(set(person) == {"name", "age", "nick"} for person in people)
    main(["sample", f"{types}:Person", "--n", "20", "--seed", "1"])
    assert capsys.readouterr().out == first
    main(["sample", f"{types}:Person", "--n", "20", "--defaults", "may_omit"])
    assert {len(json.loads(line)) for line in capsys.readouterr().out.splitlines()} == {2, 3}


def test_a_schema_can_be_the_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sample", '{"const": "a"}']) == 0
    assert capsys.readouterr().out == '"a"\n'


def test_a_grammar_can_be_the_argument(types: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("query.lark").write_text('start: "d" | "a" b "c"\nb: "c"?')
    assert main(["explain", "query.lark", "--parser", "lalr"]) == 0
    assert "line 2, column 1: conflict b: " in capsys.readouterr().out
    assert main(["explain", "query.lark"]) == 0
    assert "conflict" not in capsys.readouterr().out
    Path("answer.gbnf").write_text('root ::= "yes" "!"?')
    assert main(["sample", "answer.gbnf", "--syntax", "gbnf", "--start", "root", "--n", "2"]) == 0
    assert {json.loads(line) for line in capsys.readouterr().out.splitlines()} == {"yes", "yes!"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.lark"], "the grammar cannot be read: no such file"),
        (["decimal:Decimal", "--lexer", "basic"], "--lexer is for files with a grammar"),
        (["decimal:Decimal", "--parser", "lalr"], "--parser is for files with a grammar"),
        (
            ["answer.gbnf", "--syntax", "gbnf", "--parser", "lalr"],
            "only a Lark grammar has the argument parser",
        ),
    ],
)
def test_options_of_grammars_that_do_not_fit(
    arguments: list[str], message: str, types: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("answer.gbnf").write_text('root ::= "yes"')
    with pytest.raises(SystemExit) as caught:
        main(["explain", *arguments])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_terminal_escapes_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "hostile.json"
    text = "\x1b[2J\x9b31m\u202e\u2028"
    file.write_text(json.dumps({"const": text, "\x1b[31m": 1}))
    main(["sample", str(file)])
    line = capsys.readouterr().out
    assert json.loads(line) == text
    assert line.strip().isprintable()
    main(["explain", str(file)])
    assert all(row.isprintable() for row in capsys.readouterr().out.split("\n"))


@pytest.mark.parametrize(
    "target",
    [
        "missing.json",
        "no_such_module:Name",
        "person",
        ":",
        "types_to_prove.py:Nobody",
        "stops.py:x",
        "deep.json",
    ],
)
@pytest.mark.parametrize("command", ["check", "explain", "sample"])
def test_missing_targets_are_usage_errors(
    command: str, target: str, types: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("stops.py").write_text("import sys; sys.exit(0)")
    Path("deep.json").write_text('{"a":' * 100_000)
    with pytest.raises(SystemExit) as caught:
        main([command, target])
    assert caught.value.code == 2
    assert "usage: structkit" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--n", "0"],
        ["--n", "x"],
        ["--order", "z"],
        ["--seed", ""],
        ["--seconds", "0"],
        ["--seconds", "nan"],
        ["--unknown"],
    ],
)
def test_wrong_options(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check", "decimal:Decimal", *arguments])
    assert caught.value.code == 2


def test_a_type_without_json_form(types: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("check", "sample"):
        assert main([command, f"{types}:Strange"]) == 1
        assert "a class has no JSON form" in capsys.readouterr().err


@pytest.mark.long
def test_a_closed_pipe(types: str, root: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(root)!r}); from structkit.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "sample", f"{types}:Person", "--n", "600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this platform")
def test_a_full_disk(types: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["sample", f"{types}:Person"]) == 1
    assert capsys.readouterr().err == (
        "structkit: the output cannot be written: no space left on device\n  write it to another place\n"
    )


@pytest.mark.parametrize("command", ["check", "explain", "sample"])
def test_help_has_targets_and_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "module:Type" in out
    assert "examples:" in out


def test_quotes_use_a_source_file(types: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("source.txt").write_text("Ana Souza is 34.\n", encoding="utf-8")
    assert main(["sample", f"{types}:Clause", "--n", "20", "--source", "source.txt"]) == 0
    quotes = {json.loads(line)["words"] for line in capsys.readouterr().out.splitlines()}
    assert len(quotes) > 3
    assert all(quote in "Ana Souza is 34." for quote in quotes)
    assert main(["check", f"{types}:Clause", "--n", "30", "--source", "source.txt"]) == 0
    assert "Clause: 30 sentences" in capsys.readouterr().out
    assert main(["explain", f"{types}:Clause", "--source", "source.txt"]) == 0
    assert "x-structkit-quote" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["check", "explain", "sample"])
def test_quotes_require_a_source(command: str, types: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, f"{types}:Clause"]) == 1
    error = capsys.readouterr().err
    assert "--source FILE" in error
    assert "`$.words`" in error
    Path("empty.txt").touch()
    assert main([command, f"{types}:Clause", "--source", "empty.txt"]) == 1
    assert "$.words" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "explain", "sample"])
def test_an_unreadable_source(command: str, types: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("latin.txt").write_bytes(b"\xe9")
    for path in ("missing.txt", "latin.txt", "."):
        with pytest.raises(SystemExit) as caught:
            main([command, f"{types}:Clause", "--source", path])
        assert caught.value.code == 2
        assert "--source: the source cannot be read" in capsys.readouterr().err
