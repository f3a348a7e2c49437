"""The page at `/`, and the generations that it asks for."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Sequence
from typing import Any

import httpx2
import numpy as np
import pytest

from structkit.generate.schedule.scheduler import SCHEDULERS
from structkit.serve.playground.page import PAGE, PAGE_HEADERS
from structkit.serve.playground.record import MaskRecorder
from structkit.testing import RandomModel, ScriptedModel
from tests.serve.running import SCHEMA, Served, eventually, serving
from tests.serve.test_bounds import error_of, is_idle

PROMPT = "Ana Souza, 34, works as a nurse in Porto."


def ask(served: Served, target: object, kind: str = "regex", **more: object) -> httpx2.Response:
    text = target if isinstance(target, str) else json.dumps(target)
    body = {"kind": kind, "target": text, "prompt": PROMPT, **more}
    return httpx2.post(f"{served.url}/playground", json=body, timeout=60)


def events_of(response: httpx2.Response) -> list[Any]:
    assert response.status_code == 200, response.text
    return [json.loads(part.removeprefix("data: ")) for part in response.text.strip().split("\n\n")]


def test_a_schema_shows_its_regex_its_keywords_its_values_and_its_tokens(demo) -> None:
    with serving(demo) as served:
        first, *middle, last = events_of(ask(served, SCHEMA, "schema"))
        counted = served.metric('structkit_tokens_total{kind="generated"}')
    assert first["type"] == "target"
    assert re.fullmatch(first["regex"], '{"name": "Ana", "age": 34}')
    assert {row["how"] for row in first["rows"]} == {"enforced"}
    assert first["states"] > 10
    value = json.loads(last["text"])
    ends = {each["path"]: each["value"] for each in middle if each["type"] == "end"}
    assert ends == {name: json.dumps(each, ensure_ascii=False) for name, each in value.items()}
    shown = ""
    for each in middle:
        if each["type"] == "text":
            shown = shown[: each["keep"]] + each["text"]
    assert shown == last["text"] == "".join(token["text"] for token in last["tokens"])
    assert {token["kind"] for token in last["tokens"]} == {"forced", "sampled", "drafted"}
    assert counted == len(last["tokens"])
    for token in last["tokens"]:
        assert token["logprob"] <= 0 <= token["masked"] <= 1
        assert token["kind"] != "forced" or token["logprob"] == token["masked"] == 0


@pytest.mark.parametrize(
    ("kind", "target", "pattern"),
    [
        ("regex", "(yes|no), [a-z]{5}", "(yes|no), [a-z]{5}"),
        ("grammar", 'start: /[a-c]/ ("+" /[a-c]/)~2', r"[a-c](\+[a-c]){2}"),
        ("grammar", 'root ::= "a" [0-9]{3}', "a[0-9]{3}"),
    ],
)
def test_a_regex_and_grammars(kind: str, target: str, pattern: str) -> None:
    with serving(RandomModel(seed=5)) as served:
        first, *middle, last = events_of(ask(served, target, kind, temperature=1, seed=3))
    assert re.fullmatch(pattern, last["text"])
    assert re.fullmatch(first["regex"], last["text"])
    assert "".join(each["text"] for each in middle if each["type"] == "add") == last["text"]


def test_what_the_mask_forbade_is_what_cannot_follow() -> None:
    with serving(RandomModel(seed=5)) as served:
        tokens = events_of(ask(served, "[a-y]{8}"))[-1]["tokens"]
    assert sum(len(token["forbidden"]) for token in tokens) > 3
    for token in tokens:
        assert sum(probability for _, probability in token["forbidden"]) <= token["masked"] + 1e-3
        # A token that has too many letters for its place is forbidden too; one letter never is.
        assert not [text for text, _ in token["forbidden"] if re.fullmatch("[a-y]", text)]


def test_a_recorder_keeps_the_likely_forbidden_tokens() -> None:
    recorder = MaskRecorder()
    before, _, after = [each if isinstance(each, object) else None for each in recorder.processors]
    row = np.array([4.0, 1.0, 3.0, -np.inf, -20.0], np.float32)
    before.begin(None)([7, 8], row)  # type: ignore[union-attr,arg-type]
    row[[0, 2, 4]] = -np.inf
    after.begin(None)([7, 8], row)  # type: ignore[union-attr,arg-type]
    weights = np.exp([4.0, 1.0, 3.0, -20.0])
    assert [each.token_id for each in recorder.at(2)] == [0, 2]
    assert [each.probability for each in recorder.at(2)] == pytest.approx(weights[[0, 2]] / weights.sum())
    assert recorder.at(3) == ()
    for value in (-np.inf, np.nan):  # a model that fails has no likely tokens
        before.begin(None)([7, 8, 9], np.full(5, value, np.float32))  # type: ignore[union-attr,arg-type]
        assert recorder.at(3) == ()


def test_a_refused_keyword_is_a_row_and_then_an_error() -> None:
    with serving(RandomModel(seed=5)) as served:
        schema = {"type": "array", "not": {"uniqueItems": True}}
        first, error = events_of_stream(ask(served, schema, "schema"))
    assert [row["keyword"] for row in first["rows"] if row["how"] == "refused"] == ["not", "uniqueItems"]
    assert error["error"]["param"] == "target"
    assert "remove the `not`" in error["error"]["message"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"kind": "yaml"}, "kind"),
        ({"kind": "schema", "target": "{"}, "target"),
        ({"kind": "schema", "target": "[]"}, "target"),
        ({"kind": "schema", "target": '{"x-structkit-grammar": []}'}, "target"),
        ({"kind": "schema", "target": '{"type": "nothing"}'}, "target"),
        ({"kind": "regex", "target": "("}, "target"),
        ({"kind": "grammar", "target": "start: other"}, "target"),
        ({"kind": "grammar", "target": "/etc/secret.lark"}, "target"),
        ({"kind": "regex", "target": ""}, "target"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": "word " * 9_000}, "prompt"),
        ({"max_tokens": 1, "target": "[a-z]{300}"}, "max_tokens"),
        ({"max_tokens": 10**9}, "max_tokens"),
        ({"seed": 2**63}, "seed"),
        ({"model": "demo"}, "model"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_bad_requests_name_the_field(demo, body: dict[str, object], param: str) -> None:
    with serving(demo) as served:
        whole = {"kind": "regex", "target": "[a-z]", "prompt": "x", **body}
        response = httpx2.post(f"{served.url}/playground", json=whole, timeout=60)
        eventually(lambda: is_idle(served))
    if response.status_code == 200:  # a target that was described before it was refused
        error = next(each["error"] for each in events_of_stream(response) if "error" in each)
    else:
        error = error_of(response)
        assert response.status_code == 400
    assert error["param"] == param


def events_of_stream(response: httpx2.Response) -> Sequence[Any]:
    parts = [part.removeprefix("data: ") for part in response.text.strip().split("\n\n")]
    assert parts.pop() == "[DONE]"
    return [json.loads(part) for part in parts]


def test_the_page_needs_no_key_and_what_it_sends_does() -> None:
    with serving(["abc"], api_keys=("secret",)) as served:
        page = httpx2.get(served.url)
        refused = ask(served, "[a-z]{3}")
        headers = {"authorization": "Bearer secret"}
        body = {"kind": "regex", "target": "[a-z]{3}", "prompt": "x"}
        answered = httpx2.post(f"{served.url}/playground", json=body, headers=headers, timeout=60)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "demo" not in page.text  # nothing of the server
    assert (refused.status_code, error_of(refused)["code"]) == (401, "invalid_api_key")
    assert events_of(answered)[-1]["text"] == "abc"


def test_the_page_loads_nothing_and_makes_no_markup_of_texts() -> None:
    with serving([]) as served:
        page = httpx2.get(served.url)
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert page.text.count("<script>") == page.text.count("<script") == 1
    assert page.text.count("<style>") == page.text.count("<style") == 1
    assert not re.findall(r"https?:|//[a-z]|url\(|@import| on[a-z]+=| style=", page.text)
    assert not re.findall(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|eval|Function\(|srcdoc", page.text
    )


def test_the_policy_has_the_hashes_of_the_page() -> None:
    policy = PAGE_HEADERS["Content-Security-Policy"]
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        texts = re.findall(rf"<{tag}>(.*?)</{tag}>", PAGE, flags=re.S)
        hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        assert hashes and all(f"'sha256-{digest}'" in policy.partition(rule)[2] for digest in hashes)


def test_a_server_without_the_page() -> None:
    with serving(["abc"], playground=False) as served:
        assert httpx2.get(served.url).status_code == 404
        assert ask(served, "[a-z]{3}").status_code == 404


def test_the_queue_counts_the_playground() -> None:
    release = threading.Event()

    def reply(prompt: str) -> str:
        release.wait(30)
        return "ok"

    with serving(ScriptedModel([reply, "ok"]), max_running=1, max_waiting=0) as served:
        answers: list[httpx2.Response] = []
        thread = threading.Thread(target=lambda: answers.append(ask(served, "[a-z]+")))
        thread.start()
        eventually(lambda: served.metric("structkit_answers_running ") == 1)
        refused = ask(served, "[a-z]+")
        release.set()
        thread.join(30)
    assert (refused.status_code, error_of(refused)["code"]) == (429, "queue_full")
    assert events_of(answers[0])[-1]["text"] == "ok"


def test_a_generation_that_takes_too_long_is_ended() -> None:
    with serving(RandomModel(seed=3), timeout=0.5, max_tokens=500_000) as served:
        response = ask(served, "[a-z]{400000}", max_tokens=500_000)
        eventually(lambda: is_idle(served))
    if response.status_code == 200:
        assert events_of_stream(response)[-1]["error"]["code"] == "timeout"
    else:
        assert (response.status_code, error_of(response)["code"]) == (408, "timeout")


def test_a_page_that_is_closed_frees_its_row() -> None:
    model = RandomModel(seed=3)
    body = {"kind": "regex", "target": "[a-z]{20000}", "prompt": "x", "max_tokens": 500_000}
    with serving(model, max_tokens=500_000) as served:
        with httpx2.stream("POST", f"{served.url}/playground", json=body, timeout=60) as response:
            eventually(lambda: SCHEDULERS.of(model).active_rows > 0)
            assert response.status_code == 200
        eventually(lambda: is_idle(served))
