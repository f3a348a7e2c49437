"""What `structkit doctor` says of machines, models and servers."""

from __future__ import annotations

import json
import re
import time
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

import structkit as sk
from structkit.cli import main
from structkit.doctor import logits_model, machine
from structkit.doctor.check import Check
from structkit.doctor.logits_model import check_logits_model
from structkit.doctor.machine import check_machine
from structkit.doctor.text_model import check_text_model
from structkit.index.disk.store import folder
from structkit.models.servers.model import ServerModel
from structkit.models.single_row import SingleRowBatch
from structkit.models.text.protocol import TextModel
from structkit.testing import RandomModel
from tests.models.servers.fake import Say, error, serve

VALUE = '{"name": "Ana", "age": 34}'


def found(model: TextModel) -> dict[str, Check]:
    return {check.name: check for check in check_text_model(model)}


def obeys(body: dict[str, Any]) -> str | Say:
    """Reply as a server that continues a start, obeys its grammar, and ranks its tokens."""
    grammar = str(body.get("grammar", ""))
    if "zq-7314" in grammar:
        return "zq-7314"
    if grammar:
        return VALUE.removeprefix('{"name": "')
    return ranks(" five, six" if body["messages"][-1]["role"] == "assistant" else "one, two, three")


def ranks(text: str) -> Say:
    """A reply of one token, of which the likely others are known."""
    token = {"token": text, "top_logprobs": [{"token": text, "logprob": -0.1}, {"token": "1", "logprob": -3}]}
    choice = {"index": 0, "delta": {"content": text}, "logprobs": {"content": [token]}}
    return Say([f"data: {json.dumps({'choices': [choice]})}\n\n".encode()])


def tells_ids(body: dict[str, Any]) -> str | Say:
    """Reply as vLLM."""
    if body["path"] == "/tokenize":
        return Say(streams=False, body=json.dumps({"tokens": [7, 8]}))
    if body["path"] == "/v1/completions":
        return Say([f"data: {json.dumps({'choices': [{'text': ' four'}]})}\n\n".encode()])
    if "structured_outputs" in body:
        return "zq-7314" if "zq-7314" in str(body["structured_outputs"]) else 'Ana", "age": 34}'
    if body["messages"][-1]["role"] == "assistant":
        return " five"
    choice = {"index": 0, "delta": {"content": "one, two"}, "token_ids": [4]}
    event = {"choices": [choice], "prompt_token_ids": [1, 2, 3]}
    return Say([f"data: {json.dumps(event)}\n\n".encode()])


def test_a_server_that_does_all() -> None:
    with serve(obeys, kind="llama.cpp") as server:
        checks = found(sk.connect(server.url))
    assert {name: check.status for name, check in checks.items()} == {
        "reply": "yes",
        "likely tokens": "yes",
        "token ids": "missing",
        "start of an answer": "yes",
        "constraint grammar": "yes",
        "value": "yes",
    }
    assert "constrained, 0 corrections" in checks["value"].found
    assert checks["likely tokens"].found.startswith("2 at each place")


def test_token_ids_are_tried() -> None:
    with serve(tells_ids, kind="vLLM") as server:
        checks = found(sk.connect(server.url))
        assert checks["token ids"].status == "yes"
        assert checks["likely tokens"].status == "no"
        completed = [each for each in server.requests if each["path"] == "/v1/completions"]
        assert completed[0]["prompt"] == [1, 2, 3, 4]
    with serve("one, two", kind="vLLM") as server:
        checks = found(sk.connect(server.url))
        assert (checks["token ids"].status, checks["token ids"].found) == ("no", "the reply has none")

    def refuses(body: dict[str, Any]) -> str | Say:
        return error(400, "a text, please") if body["path"] == "/v1/completions" else tells_ids(body)

    with serve(refuses, kind="vLLM") as server:
        checks = found(sk.connect(server.url))
        assert "refuses them as a prompt" in checks["token ids"].found


def test_a_server_that_ignores_all() -> None:
    def reply(body: dict[str, Any]) -> str:
        return VALUE if "Ana" in body["messages"][0]["content"] else "one, two, three, four, five"

    with serve(reply, kind="llama.cpp") as server:
        checks = found(sk.connect(server.url))
    assert checks["start of an answer"].status == "no"
    assert checks["start of an answer"].remedy == "pass continues=False"
    assert checks["constraint grammar"].status == "no"
    assert checks["constraint grammar"].found.startswith("ignored: the reply is 'one, two")
    assert checks["value"].status == "yes"


def test_a_server_that_refuses_what_it_does_not_know() -> None:
    def reply(body: dict[str, Any]) -> str | Say:
        if "response_format" in body:
            return error(400, "response_format is not supported")
        if body["messages"][-1]["role"] == "assistant":
            return error(400, "prefill is not supported")
        return VALUE if "Ana" in body["messages"][0]["content"] else "one, two"

    with serve(reply, kind="Ollama") as server:
        checks = found(sk.connect(server.url))
    assert checks["start of an answer"].found == "refused, so a second message shows it"
    assert checks["constraint json_schema"].found == "the server refuses it"


def test_schemas_and_regexes_are_tried() -> None:
    for kind, field in (("Ollama", "response_format"), ("SGLang", "regex")):
        with serve(lambda body, field=field: "zq-7314" if field in body else "one", kind=kind) as server:
            model = sk.connect(server.url)
            (name,) = model.capabilities.constraints
            assert found(model)[f"constraint {name}"].status == "yes"


@pytest.mark.parametrize("reply", ["", " "])
def test_empty_replies(reply: str) -> None:
    checks = found(sk.from_function(lambda text: reply))
    assert (checks["reply"].status, checks["value"].status) == ("no", "no")
    assert checks["constraint"].status == "missing"


def test_a_model_that_reasons_first() -> None:
    """A few tokens are used up before its answer."""

    def reply(body: dict[str, Any]) -> str | Say:
        if body.get("max_tokens", 1_000) < 100:
            return Say(
                [b'data: {"choices": [{"delta": {"reasoning": "1?"}, "finish_reason": "length"}]}\n\n']
            )
        return "zq-7314" if "response_format" in body else "one, two"

    with serve(reply, kind="LM Studio") as server:
        checks = found(sk.connect(server.url))
    assert (checks["reply"].status, checks["constraint json_schema"].status) == ("yes", "yes")

    def only_reasons(body: dict[str, Any]) -> str:
        return "" if "grammar" in body else "one, two"

    with serve(only_reasons, kind="llama.cpp") as server:
        check = found(sk.connect(server.url))["constraint grammar"]
    assert (check.status, check.found) == ("missing", "not known: the reply is empty")


def test_a_model_that_hangs() -> None:
    def hang(text: str) -> str:
        time.sleep(20)
        return ""

    (check,) = check_text_model(sk.from_function(hang, timeout=0.2))
    assert check.status == "no"
    assert re.search(r"no complete reply after \d+ s", check.found)


def test_a_model_that_fails() -> None:
    def fail(text: str) -> str:
        raise OSError("no route")

    (check,) = check_text_model(sk.from_function(fail))
    assert (check.status, "no route" in check.found) == ("no", True)


def test_a_model_with_logits() -> None:
    checks = {check.name: check for check in check_logits_model(sk.load())}
    assert {check.status for check in checks.values()} == {"yes"}
    assert "masked" in checks["value"].found
    assert {check.name for check in check_logits_model(RandomModel(seed=1))} >= {"model", "value"}


def test_what_a_model_with_logits_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain(RandomModel):
        takes_messages = False
        context_length = 4096

    def failing(request: object) -> None:
        raise sk.ModelError("out of memory")

    monkeypatch.setattr(logits_model, "run", failing)
    monkeypatch.setattr(logits_model, "new_batch", SingleRowBatch)
    checks = {check.name: check for check in check_logits_model(Plain(seed=1))}
    assert checks["model"].found.endswith("context 4,096")
    lacks = {
        name: (check.status, check.found, check.remedy)
        for name, check in checks.items()
        if check.status != "yes"
    }
    assert lacks == {
        "messages": (
            "missing",
            "there is no chat template",
            "messages are joined to one text; an instruction-tuned model has a template",
        ),
        "several tokens at once": ("missing", "no: the model cannot take back what it has read", ""),
        "value": ("no", "out of memory", "report it with this output"),
    }


def test_the_folder_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made with those around it, for the user alone, or may exist."""
    path = tmp_path / "some" / "where"
    monkeypatch.setenv("STRUCTKIT_CACHE_DIR", str(path))
    for _ in range(2):
        check = machine._check_cache()
        assert (check.status, check.found) == ("yes", str(folder()))
        assert folder().stat().st_mode & 0o777 == 0o700 and not [*folder().iterdir()]


def test_kernels_that_take_long_have_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, status, remedy in ((0, "no", "python -m structkit.build_kernels"), (1e9, "yes", "")):
        monkeypatch.setattr(machine, "_MAX_FIRST_MASK", most)
        check = machine._check_kernels()
        assert (
            check.status == status and check.remedy.startswith(remedy) and bool(check.remedy) == bool(remedy)
        )
        assert re.fullmatch(r"the first mask after \d+\.\d\d s", check.found)


def test_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRUCTKIT_CACHE_DIR", str(tmp_path / "cache"))
    checks = {check.name: check for check in check_machine()}
    assert checks["cache"].status == "yes"
    assert checks["kernels"].found.startswith("the first mask after")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STRUCTKIT_CACHE_DIR", str(tmp_path / "file"))
    bad = {check.name: check for check in check_machine()}["cache"]
    assert (bad.status, "STRUCTKIT_CACHE_DIR" in bad.remedy) == ("no", True)


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(obeys, kind="llama.cpp", key="secret-key-of-mine") as server:
        monkeypatch.setenv("EXAMPLE_KEY", "secret-key-of-mine")
        assert main(["doctor", server.url, "--api-key-env", "EXAMPLE_KEY"]) == 0
        shown = capsys.readouterr().out
        assert "yes      model               llama.cpp: demo of http://" in shown
        assert main(["doctor", server.url, "--json"]) == 1
        (check,) = json.loads(capsys.readouterr().out)
        assert check["found"].endswith("(status 401); pass a valid one with api_key=...")
        assert check["remedy"] == "model and api_key are the options --model and --api-key-env"
        assert main(["doctor", server.url, "--api-key-env", "NO_KEY"]) == 1
        assert "the environment variable NO_KEY is not set" in capsys.readouterr().out
        assert "secret" not in shown
    assert main(["doctor", "./no/such/folder"]) == 1
    assert "the folder does not exist" in capsys.readouterr().out


def test_the_machine_has_all_extras() -> None:
    declared = set(re.findall(r"Provides-Extra: (\S+)", str(distribution("structkit-llm").metadata)))
    checked = {
        check.name.removeprefix("extra ") for check in check_machine() if check.name.startswith("extra ")
    }
    assert declared and checked == declared


def test_the_connection_to_a_server_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[object] = []
    monkeypatch.setattr(ServerModel, "close", lambda model: closed.append(model))
    with serve(obeys, kind="llama.cpp") as server:
        main(["doctor", server.url])
    assert len(closed) == 1
