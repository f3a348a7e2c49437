"""Files of prompts: `structkit extract --input`."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from random import Random

import pytest

from structkit.cli import main
from structkit.cli.many import _OutputFile, _OutputStream
from structkit.testing import ScriptedModel
from tests.cli.targets import ANA


def test_a_file_of_prompts_line_by_line(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ScriptedModel([ANA, ANA.replace("Ana", "Tom"), ANA.replace("Ana", "Eva")])
    monkeypatch.setattr("structkit.cli.extract.load", lambda name: model)
    monkeypatch.setattr("structkit.cli.many.load", lambda name: model)
    source, sink = file.parent / "in.jsonl", file.parent / "out.jsonl"
    lines = [
        '"Ana is 34."',
        "no JSON",
        '{"id": 7, "prompt": "Tom is 34."}',
        '{"id": 8}',
        '{"prompt": [{"role": "user", "content": "Eva is 34."}]}',
    ]
    source.write_text("\n".join(lines) + "\n")
    command = ["extract", "--type", f"{file}:Person", "--input", str(source), "--output", str(sink)]
    assert main(command) == 1  # two lines have errors
    answers = [json.loads(line) for line in sink.read_text().splitlines()]
    assert [answer.get("value", {}).get("name") for answer in answers] == ["Ana", None, "Tom", None, "Eva"]
    assert answers[1]["error"] == "ValueError: the line is not JSON: Expecting value, at character 1"
    assert answers[2]["id"] == 7
    assert answers[3] == {"id": 8, "error": "ValueError: the line has no 'prompt'"}
    assert "5 lines written" in capsys.readouterr().out
    assert main(command) == 1
    assert "pass --resume" in capsys.readouterr().err
    complete = sink.read_text()
    sink.write_text("\n".join(complete.splitlines()[:4]) + '\n{"val')  # the process was killed while it wrote
    model._started = 2
    assert main([*command, "--resume", "--batch-size", "2"]) == 0
    assert sink.read_text() == complete


def test_a_line_names_its_repaired_values(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(
        "from typing import Annotated\nfrom pydantic import AfterValidator, BaseModel\n"
        "def even(value):\n    assert value % 2 == 0\n    return value\n"
        "class Person(BaseModel):\n    age: Annotated[int, AfterValidator(even)]\n"
    )
    model = ScriptedModel(['{"age": 3}', '{"age": 4}', '{"age": 6}'])
    monkeypatch.setattr("structkit.cli.many.load", lambda name: model)
    source, sink = file.parent / "in.jsonl", file.parent / "out.jsonl"
    source.write_text('"Ana is 3."\n"Tom is 6."\n')
    command = ["extract", "--type", f"{file}:Person", "--input", str(source), "--output", str(sink)]
    assert main([*command, "--batch-size", "1"]) == 0
    answers = [json.loads(line) for line in sink.read_text().splitlines()]
    assert answers == [{"value": {"age": 4}, "repaired": ["age"]}, {"value": {"age": 6}}]


def test_a_line_is_json_also_if_a_number_is_beyond_64_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structkit.cli.many.load", lambda name: ScriptedModel(["1e400"]))
    schema, source, sink = (tmp_path / name for name in ("schema.json", "in.jsonl", "out.jsonl"))
    schema.write_text('{"type": "number"}')
    source.write_text('"How many?"\n')
    assert main(["extract", "--schema", str(schema), "--input", str(source), "--output", str(sink)]) == 0
    assert json.loads(sink.read_text(), parse_constant=pytest.fail) == {"value": "1e400"}


KILLED = """
import os
import pathlib
from typing import Annotated
from pydantic import AfterValidator

done = pathlib.Path("validated")

def die(value: bool) -> bool:
    if os.environ.get("DIE") and done.exists() and len(done.read_text()) == 4:
        os._exit(9)
    with done.open("a") as file:
        file.write("x")
    return value

Sure = Annotated[bool, AfterValidator(die)]
"""


@pytest.mark.long
def test_a_killed_run_loses_only_unfinished_lines(
    file: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The longest prompts start first, so the first lines are the last to be answered."""
    pytest.importorskip("transformers", reason="needs transformers")
    file.write_text(KILLED)
    source, sink = file.parent / "in.jsonl", file.parent / "out.jsonl"
    waiting = file.parent / "out.jsonl.pending"
    prompts = ["Is it so? " * (n % 5 + 1) for n in range(9)]
    source.write_text("".join(json.dumps({"id": n, "prompt": each}) + "\n" for n, each in enumerate(prompts)))
    command = ["extract", "--type", f"{file}:Sure", "--input", str(source), "--output", str(sink), "--resume"]
    command += ["--batch-size", "2", "--temperature", "5", "--seed", "2"]
    died = subprocess.run(
        [sys.executable, "-m", "structkit", *command],
        env=os.environ | {"DIE": "1", "PYTHONPATH": str(root)},
        check=False,
        capture_output=True,
    )
    assert died.returncode == 9, died.stderr.decode()
    written = sink.read_text().count("\n") + waiting.read_text().count("\n")
    assert written == 4 > sink.read_text().count("\n")
    with waiting.open("a") as part:
        part.write('no answer\n7 {"value": \n8\n')  # edited by a user
        part.write('8 {"value": {}')  # killed during a write
    assert main(command) == 0
    assert "5 lines written" in (output := capsys.readouterr().out)
    assert "4 already existed" in output
    assert len((file.parent / "validated").read_text()) == 9
    assert not waiting.exists()
    answers = [json.loads(line) for line in sink.read_text().splitlines()]
    assert [answer["id"] for answer in answers] == [*range(9)]
    sink.unlink()
    assert main([*command[:-6], "--batch-size", "3", *command[-4:]]) == 0
    assert [json.loads(line) for line in sink.read_text().splitlines()] == answers
    assert len({answer["value"] for answer in answers}) == 2


def test_lines_of_a_file_have_their_own_random_numbers(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers are independent of existing lines and of the chunk."""
    model = ScriptedModel([lambda prompt: "7"] * 80)
    monkeypatch.setattr("structkit.cli.many.load", lambda name: model)
    file.write_text("Number = int\n")
    source, sink = file.parent / "in.jsonl", file.parent / "out.jsonl"
    source.write_text('"x"\n' * 40)
    command = [
        "extract",
        "--type",
        f"{file}:Number",
        "--input",
        str(source),
        "--output",
        str(sink),
        "--resume",
    ]
    command += ["--temperature", "9", "--seed", "1", "--batch-size", "1"]
    status = main(command)
    complete = sink.read_text()
    assert status == int('"error"' in complete)
    assert complete.splitlines()[:16] != complete.splitlines()[16:32]
    sink.write_text("".join(line + "\n" for line in complete.splitlines()[:7]))
    main(command)
    assert sink.read_text() == complete


def test_files_that_do_not_fit_together(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, message in (
        (["--output", "out.jsonl"], "--output requires --input"),
        (["Ana", "--batch-size", "2"], "--batch-size requires --input"),
        (["--input", "-", "--output", "out.jsonl", "--resume"], "--resume requires files"),
        (["--input", "in.jsonl", "--resume"], "--resume requires files"),
        (["--input", "in.jsonl", "--file", "a.txt"], "not both"),
        (["--file", "none.txt"], "none.txt cannot be read: no such file"),
        (["Ana", "--file", "none.txt"], "not both"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(["extract", "--type", f"{file}:Person", *options])
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["extract", "Ana", "--type", f"{file}:Person", "--input", "in.jsonl", "--output", "out.jsonl"])
    assert "not both" in capsys.readouterr().err
    assert (
        main(["extract", "--type", f"{file}:Person", "--input", "none.jsonl", "--output", "out.jsonl"]) == 1
    )
    assert "reading or writing the files failed" in capsys.readouterr().err


@pytest.mark.long
def test_errors_of_lines_have_the_remedies_of_the_command(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = file.parent / "in.jsonl"
    source.write_text('"Ana is 34."\n')
    command = ["extract", "--input", str(source), "--max-tokens", "3"]
    assert main([*command, "--type", f"{file}:Person"]) == 1
    assert "pass --max-tokens " in json.loads(capsys.readouterr().out)["error"]
    assert main([*command, "--schema", '{"type": "string", "pattern": "[ab]{99999}c{99999}"}']) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert "simplify it" in error and "Limits(" not in error


def test_raw_texts_become_json_strings(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structkit.cli.many.load", lambda name: ScriptedModel(["ab"]))
    file.write_text('import structkit as sk\nCode = sk.Regex("[a-z]{2}")\n')
    source, sink = file.parent / "in.jsonl", file.parent / "out.jsonl"
    source.write_text('{"id": "\\ud800", "prompt": "x"}\n')
    assert main(["extract", "--type", f"{file}:Code", "--input", str(source), "--output", str(sink)]) == 0
    assert json.loads(sink.read_text()) == {"id": "\ud800", "value": "ab"}


def test_lines_of_standard_input_are_answered_on_standard_output(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("structkit.cli.many.load", lambda name: ScriptedModel([ANA, ANA, "3"], strict=False))
    lines = ['"Ana is 34."', "no JSON", '{"id": 7, "prompt": "Ana, 34."}']
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))
    assert main(["extract", "--type", f"{file}:Person", "--input", "-"]) == 1
    captured = capsys.readouterr()
    first, second, third = map(json.loads, captured.out.splitlines())
    assert first["value"] == third["value"] == json.loads(ANA)
    assert third["id"] == 7 and "the line is not JSON" in second["error"]
    assert captured.err == ""


@pytest.mark.parametrize(
    ("options", "reply", "printed"),
    [
        (["--regex", "[a-z]{2}[0-9]"], "ab1", "ab1"),
        (["--regex", "[a-z]{2}", "--json"], "ab", '"ab"'),
        (["--choice", "red wine", "--choice", "beer"], "beer", "beer"),
        (["--schema", '{"type": "integer"}'], "12", "12"),
        (["--schema", '{"type": "boolean"}'], "true", "true"),
    ],
)
def test_targets_without_a_file(
    options: list[str],
    reply: str,
    printed: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("structkit.cli.extract.load", lambda name: ScriptedModel([reply]))
    assert main(["extract", "x", *options]) == 0
    assert capsys.readouterr().out == printed + "\n"


def test_answers_that_a_killed_run_stored_are_kept(tmp_path: Path) -> None:
    """Runs that end at any time, in the middle of a line, lose no other answer and repeat none."""
    random = Random(1)
    for case in range(30):
        path = tmp_path / f"{case}.jsonl"
        pending, stored = Path(f"{path}.pending"), set[int]()
        while len(stored) < 6:
            output = _OutputFile(path)
            assert {number for number in range(6) if output.has(number)} == stored
            assert output.existing == len(stored)
            for number in random.sample([*{*range(6)} - stored], random.randint(1, 6 - len(stored))):
                output.put(number, {"value": f"é{number}"})
                stored.add(number)
            if len(stored) == 6:
                with output:
                    pass
                break
            output._file.close()
            output._pending_file.close()
            for sink in (path, pending):
                with sink.open("a", encoding="utf-8") as file:
                    file.write(random.choice(["", '{"val', '{"value": 1}']))
        answers = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        assert answers == [{"value": f"é{number}"} for number in range(6)] and not pending.exists()


def test_stored_answers_that_are_no_answers_are_dropped(tmp_path: Path) -> None:
    path, pending = tmp_path / "a.jsonl", tmp_path / "a.jsonl.pending"
    path.write_text("{}\n")
    pending.write_text('0 {"old": 1}\n2 {"value": 2}\n3 {"value"\nx {}\n\n' + "4 " + "[" * 200_000 + "\n")
    with _OutputFile(path) as output:
        assert [output.has(number) for number in range(5)] == [True, False, True, False, False]
        output.put(1, {})
    assert (path.read_text(), pending.exists()) == ('{}\n{}\n{"value": 2}\n', False)
    pending.write_text('1 {"value": 2}\n')
    path.unlink()  # a new output does not continue the answers of another one
    with _OutputFile(path) as output:
        assert output.existing == 0 and not output.has(1)


def test_answers_on_standard_output_come_in_the_order_of_the_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for order in permutations(range(4)):
        written = ""
        with _OutputStream() as output:
            for count, number in enumerate(order, 1):
                output.put(number, {"value": f"é{number}"})
                done = next(at for at in range(5) if at not in order[:count])
                written += capsys.readouterr().out
                assert written == "".join(f'{{"value": "\\u00e9{each}"}}\n' for each in range(done))
