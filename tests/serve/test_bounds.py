"""What a server does with bad requests, with too many, with slow clients, and when it stops."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import httpx2
import pytest
from lark.indenter import Indenter
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

import structkit as sk
from structkit.generate.schedule.scheduler import SCHEDULERS
from structkit.serve import ServerConfig, create_app
from structkit.serve.read.fields import Fields
from structkit.serve.read.requests import read_options
from structkit.serve.write.pieces import _first_stop
from structkit.targets.targets import AnyTarget
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary
from tests.serve.running import ANA, PERSON, Served, eventually, serving

CHAT = "/v1/chat/completions"
LONG = {
    "model": "demo",
    "messages": ANA,
    "max_tokens": 500_000,
    "structured_outputs": {"regex": "[a-z]{500000}"},
}
"""Takes minutes."""


@pytest.fixture(scope="module")
def random() -> Iterator[Served]:
    with serving(RandomModel(seed=3, brevity=2.0), max_body=5_000) as served:
        yield served


def post(served: Served, body: object, path: str = CHAT, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{served.url}{path}", json=body, headers=headers, timeout=60)


def error_of(response: httpx2.Response) -> dict[str, str]:
    error: dict[str, str] = response.json()["error"]
    assert {*error} == {"message", "type", "param", "code"}
    return error


def is_idle(served: Served) -> bool:
    scheduler = SCHEDULERS.of(served.model)
    return scheduler.is_idle and served.metric("structkit_answers_running ") == 0


def send(served: Served, body: object, *, length: int | None = None) -> socket.socket:
    """Send a request, and return the connection, from which nothing is read."""
    text = json.dumps(body).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connection = socket.create_connection(("127.0.0.1", served.port))
    connection.settimeout(30)
    connection.sendall(f"{head}Content-Length: {length or len(text)}\r\n\r\n".encode() + text)
    return connection


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "invalid_json"),
        (b"[]", 400, "invalid_json"),
        (b'{"n": NaN}', 400, "invalid_json"),
        (b'{"n": ' + b"9" * 4_900 + b"}", 400, "invalid_json"),
        (b'{"a": ' + b"[" * 4_900, 400, "invalid_json"),
        (b'{"n": 1e400}', 400, "invalid_json"),
        (b"\xff", 400, "invalid_json"),
        (b'{"model": "demo"}', 400, "invalid_value"),
        (b" " * 5_001, 413, "body_too_large"),
    ],
)
def test_a_bad_body_is_refused(random: Served, body: bytes, status: int, code: str) -> None:
    response = httpx2.post(
        f"{random.url}{CHAT}", content=body, headers={"content-type": "application/json; charset=utf-8"}
    )
    assert (response.status_code, error_of(response)["code"]) == (status, code)
    assert "sys." not in response.text  # a remedy of Python


def test_a_compressed_body_is_refused_with_the_remedy(random: Served) -> None:
    body = gzip.compress(json.dumps({"model": "demo", "messages": ANA}).encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    response = httpx2.post(f"{random.url}{CHAT}", content=body, headers=headers)
    assert response.status_code == 415
    assert error_of(response)["message"].endswith("gzip; send the body as it is")


def test_a_body_without_a_length_is_bounded(random: Served) -> None:
    response = httpx2.post(
        f"{random.url}{CHAT}",
        content=(b" " * 1_000 for _ in range(6)),
        headers={"content-type": "application/json"},
    )
    assert response.status_code == 413


def test_forms_of_other_pages_are_refused(random: Served) -> None:
    response = httpx2.post(f"{random.url}{CHAT}", content=b"{}", headers={"content-type": "text/plain"})
    assert (response.status_code, error_of(response)["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v1/none", 404), ("GET", CHAT, 405)])
def test_errors_of_the_router_have_the_same_shape(
    random: Served, method: str, path: str, status: int
) -> None:
    response = httpx2.request(method, f"{random.url}{path}")
    assert response.status_code == status
    assert error_of(response)["code"]
    assert status != 405 or "takes POST" in error_of(response)["message"]


def test_half_a_request_is_given_up(random: Served) -> None:
    with (
        serving(random.model, body_timeout=0.1) as served,
        send(served, {"model": "demo"}, length=3_000) as connection,
    ):
        assert connection.recv(1_000).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("localhost:99", 200), ("[::1]:80", 200), ("evil.example", 403), ("[", 403)],
)
def test_a_server_accepts_its_own_names(host: str, status: int) -> None:
    with serving([], allowed_hosts=("localhost", "::1")) as served:
        response = httpx2.get(f"{served.url}/v1/models", headers={"host": host})
    assert response.status_code == status


def test_the_list_of_models_may_end_with_a_slash(random: Served) -> None:
    listed = [httpx2.get(f"{random.url}/v1/models{end}").json() for end in ("", "/")]
    assert listed[0] == listed[1] and listed[0]["object"] == "list"


def test_a_full_queue_is_refused_and_empties() -> None:
    release = threading.Event()

    def reply(prompt: str) -> str:
        release.wait(30)
        return "ok"

    model = ScriptedModel([reply, "ok", "ok"])
    with serving(model, max_running=1, max_waiting=1) as served:
        body = {"model": "demo", "messages": ANA}
        answers: list[int] = []
        threads = [
            threading.Thread(target=lambda: answers.append(post(served, body).status_code)) for _ in range(2)
        ]
        threads[0].start()
        eventually(lambda: served.metric("structkit_answers_running ") == 1)
        threads[1].start()
        eventually(lambda: served.metric("structkit_answers_waiting ") == 1)
        refused = post(served, body)
        assert (refused.status_code, error_of(refused)["code"]) == (429, "queue_full")
        assert refused.headers["retry-after"] == "1"
        release.set()
        for thread in threads:
            thread.join(30)
        assert answers == [200, 200]
        assert post(served, body).status_code == 200
        eventually(lambda: is_idle(served))


def test_requests_that_never_arrive_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    with (
        serving(RandomModel(seed=3, brevity=2.0), max_running=1, max_waiting=1) as served,
        ExitStack() as connections,
    ):
        for _ in range(4):
            connections.enter_context(send(served, {}, length=3_000))
        refused = httpx2.Response(200)

        def is_refused() -> bool:
            nonlocal refused
            refused = post(served, {"model": "demo", "messages": ANA, "max_tokens": 5})
            return refused.status_code != 200

        eventually(is_refused)
        assert (refused.status_code, error_of(refused)["code"]) == (503, "overloaded")
        assert refused.headers["retry-after"] == "1"
        assert served.metric("structkit_requests_total") > 0  # it can still be watched
        connections.close()
        eventually(lambda: not is_refused())
    assert not caplog.records


@pytest.mark.long(every=2)
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_takes_too_long_is_ended(stream: bool) -> None:
    with serving(RandomModel(seed=3), timeout=0.8, max_tokens=500_000) as served:
        response = post(served, {**LONG, "stream": stream})
        eventually(lambda: is_idle(served))
    if response.status_code == 200:  # otherwise the first token came too late, on a slow machine
        assert stream
        *_, last, done = response.text.strip().split("\n\n")
        assert json.loads(last.removeprefix("data: "))["error"]["code"] == "timeout"
        assert done == "data: [DONE]"
    else:
        assert (response.status_code, error_of(response)["code"]) == (408, "timeout")


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_goes_away_frees_its_row(stream: bool) -> None:
    model = RandomModel(seed=3)
    with serving(model, max_tokens=500_000) as served:
        with send(served, {**LONG, "stream": stream, "n": 2, "temperature": 1}) as connection:
            eventually(lambda: SCHEDULERS.of(model).active_rows > 0)
            if stream:
                assert b"200 OK" in connection.recv(1_000)
        eventually(lambda: is_idle(served))
        eventually(lambda: served.metric('structkit_requests_total{path="/v1/chat/completions"') == 1)


def test_a_client_that_waits_and_goes_away_leaves_the_queue() -> None:
    release = threading.Event()

    def reply(prompt: str) -> str:
        release.wait(30)
        return "ok"

    body = {"model": "demo", "messages": ANA}
    with serving(ScriptedModel([reply, "ok"]), max_running=1) as served, send(served, body):
        eventually(lambda: served.metric("structkit_answers_running ") == 1)
        with send(served, {**body, "stream": True}):
            eventually(lambda: served.metric("structkit_answers_waiting ") == 1)
        eventually(lambda: served.metric("structkit_answers_waiting ") == 0)
        release.set()


@pytest.mark.long
def test_a_client_that_never_reads_delays_nobody() -> None:
    person = {"model": "demo", "messages": ANA, "response_format": PERSON, "max_tokens": 60}
    model = RandomModel(seed=3, brevity=2.0)
    with serving(model, max_tokens=500_000) as served:
        # A random model writes faster than a server can send: a longer text would be a test of the machine.
        unread = {**LONG, "structured_outputs": {"regex": "[a-z]{20000}"}, "stream": True}
        with send(served, unread):
            eventually(lambda: SCHEDULERS.of(model).active_rows > 0)
            assert post(served, person).status_code == 200
        eventually(lambda: is_idle(served))


def test_a_bad_request_harms_no_other() -> None:
    good = {"model": "demo", "messages": ANA, "response_format": PERSON, "max_tokens": 60, "temperature": 1}
    bad = [
        {**good, "response_format": {"type": "json_object", "x": 1}},
        {**good, "response_format": None, "structured_outputs": {"regex": "(" * 50}},
        {**good, "response_format": None, "structured_outputs": {"grammar": "start: start"}},
    ]

    async def run(url: str) -> list[httpx2.Response]:
        async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
            return await asyncio.gather(
                *(client.post(CHAT, json={**good, "seed": n} if n % 2 else bad[n % 3]) for n in range(12))
            )

    with serving(RandomModel(seed=3, brevity=2.0), max_running=4) as served:
        responses = asyncio.run(run(served.url))
        eventually(lambda: is_idle(served))
    assert [response.status_code for response in responses] == [400, 200] * 6
    for response in responses[1::2]:
        value = json.loads(response.json()["choices"][0]["message"]["content"])
        assert {*value} == {"name", "age"}


@pytest.mark.parametrize(
    "schema",
    [
        {"x-structkit-grammar": ["start: a", "/etc/a.lark", "lark", []], "type": "string"},
        {"properties": {"a": {"anyOf": [{"structkit:format": {}}]}}},
    ],
)
def test_a_schema_cannot_name_files_of_the_server(random: Served, schema: object) -> None:
    response = post(random, {"model": "demo", "messages": ANA, "structured_outputs": {"json": schema}})
    assert "is not accepted from clients" in error_of(response)["message"]


def test_a_grammar_is_never_the_name_of_a_file(random: Served) -> None:
    grammar = {"grammar": "/etc/secret.lark"}
    response = post(random, {"model": "demo", "messages": ANA, "structured_outputs": grammar})
    assert "line 1" in error_of(response)["message"]  # a fault of the syntax, and not of the file


def test_health_and_metrics(random: Served) -> None:
    assert httpx2.get(f"{random.url}/health").json() == {"status": "ok"}
    before = random.metric('structkit_tokens_total{kind="generated"}')
    body = {"model": "demo", "messages": ANA, "response_format": PERSON, "max_tokens": 60}
    usage = post(random, body).json()["usage"]
    assert random.metric('structkit_tokens_total{kind="generated"}') == before + usage["completion_tokens"]
    assert random.metric('structkit_request_seconds_count{path="/v1/chat/completions"}') >= 1


def test_metrics_need_the_key_and_health_does_not() -> None:
    with serving([], api_keys=("secret",)) as served:
        assert httpx2.get(f"{served.url}/health").status_code == 200
        assert httpx2.get(f"{served.url}/metrics").status_code == 401
        key = {"authorization": "Bearer secret"}
        assert httpx2.get(f"{served.url}/metrics", headers=key).status_code == 200


def test_a_server_that_stops_completes_answers_in_time() -> None:
    with serving(RandomModel(seed=3, brevity=2.0), max_tokens=4_000, shutdown_seconds=30) as served:
        answers: list[httpx2.Response] = []
        body: dict[str, object] = {"model": "demo", "messages": ANA, "max_tokens": 4_000}
        body |= {"structured_outputs": {"regex": "[a-z]{4000}"}}
        thread = threading.Thread(target=lambda: answers.append(post(served, body)))
        thread.start()
        eventually(lambda: SCHEDULERS.of(served.model).active_rows > 0)
        served.server.should_exit = True
        thread.join(60)
    assert len(answers[0].json()["choices"][0]["message"]["content"]) == 4000


@pytest.mark.long
def test_a_server_that_stops_cancels_answers_that_take_longer() -> None:
    model = RandomModel(seed=3)
    with serving(model, max_tokens=500_000) as served, send(served, LONG):
        eventually(lambda: SCHEDULERS.of(model).active_rows > 0)
        served.server.should_exit = True
        eventually(lambda: SCHEDULERS.of(model).is_idle)


def test_slashes_at_the_end_of_a_path_are_ignored(random: Served) -> None:
    for path in ("/v1/models", "/v1/models/demo", "/health"):
        assert httpx2.get(f"{random.url}{path}/").json() == httpx2.get(f"{random.url}{path}").json()
    assert post(random, LONG | {"max_tokens": 5}, f"{CHAT}//").status_code == 400
    assert "takes POST" in error_of(httpx2.get(f"{random.url}{CHAT}/"))["message"]
    app = Starlette(routes=[Mount("/llm", create_app(random.model, ServerConfig(name="demo")))])
    with TestClient(app) as client:
        paths = ("/llm/v1/models/", "/llm/v1/models/demo/", "/llm/", "/llm/health/")
        assert [client.get(path, follow_redirects=False).status_code for path in paths] == [200] * 4


class _Lines(Indenter):
    NL_type, INDENT_type, DEDENT_type = "_NL", "_INDENT", "_DEDENT"
    OPEN_PAREN_types: list[str] = []  # noqa: RUF012
    CLOSE_PAREN_types: list[str] = []  # noqa: RUF012
    tab_len = 8


@pytest.mark.parametrize(
    "target",
    [
        {
            "type": "object",
            "properties": {f"k{number}": {"type": "integer"} for number in range(60)},
            "minProperties": 30,
            "additionalProperties": False,
        },
        sk.Grammar(
            r"""
            start: _NL* tree
            tree: NAME _NL [_INDENT tree+ _DEDENT]
            NAME: /[a-c]+/
            _NL: /(\r?\n[\t ]*)+/
            %declare _INDENT _DEDENT
            """,
            parser="lalr",
            postlex=_Lines(),
        ),
    ],
    ids=["product", "indentation"],
)
def test_targets_whose_rules_are_built_while_a_text_is_read_are_within_the_limits(target: AnyTarget) -> None:
    sk.compile(target, byte_vocabulary(), limits=ServerConfig().target_limits, cache=False)


def test_the_requests_at_once_are_those_that_run_and_wait_twice() -> None:
    assert ServerConfig(max_running=4, max_waiting=8).max_requests == 24


@pytest.mark.parametrize(("seed", "read"), [(-1, 2**63 - 1), (-(2**63), 0), (7, 7)])
def test_a_seed_is_not_negative(seed: int, read: int) -> None:
    assert read_options(Fields({"seed": seed}), ServerConfig(), None)["seed"] == read


def test_the_first_stop_is_the_one_that_ends_first() -> None:
    assert _first_stop("say stop", ["stop"], 8) is None, "what was searched before is not searched again"
    assert _first_stop("stop", ["stop"], 0) == (0, 4, "stop")
