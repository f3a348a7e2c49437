"""Faults of hosted services: a clear error each, without key and prompt."""

from __future__ import annotations

import gzip
import logging
import socket
import threading
import time
import traceback
from collections.abc import Iterator

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.errors import ModelError
from structkit.models.hosted import bounds
from structkit.models.hosted.faults import Service, fault_of
from tests.models.hosted.services import KEY, KINDS, Kind, each_kind
from tests.models.servers.fake import Say, error

WHOLE = '{"a": 1}'
Target = dict[str, int]


class Pair(BaseModel):
    a: int


@each_kind
@pytest.mark.parametrize(
    ("status", "said", "expected"),
    [
        (401, f"Incorrect API key provided: {KEY[:8]}", r"refuses the key \(status 401\)\n  give the client a valid"),
        (403, "no access", r"does not allow the request \(status 403\): no access\n  has the key access to"),
        (404, "no such model", r"does not have the model '.*' \(status 404\): no such model\n  check its name"),
        (402, "pay first", r"allows no more requests .*\(status 402\): pay first\n  wait, send fewer"),
        (429, "slow down", r"allows no more requests .*\(status 429\): slow down\n  wait, send fewer"),
        (500, "internal", r"failed \(status 500\): internal\n  try again later"),
        (529, "Overloaded", r"failed \(status 529\): Overloaded\n  try again later"),
        (400, "prompt is too long: 9 tokens", r"the prompt is too long for .*: prompt is too long.*\n  shorten"),
        (400, "API key not valid", r"refuses the key \(status 400\)\n  give the client"),
        (400, "Your credit balance is too low", r"\(status 400\): Your credit balance is too low\n  .*check the quota"),
    ],
)  # fmt: skip
def test_a_status_becomes_an_error_with_its_remedy(kind: Kind, status: int, said: str, expected: str) -> None:
    with kind.serving(error(status, said)) as (model, server):
        with pytest.raises(ModelError, match=expected) as raised:
            sk.extract(model, "one", Target)
        assert len(server.requests) == 1
        assert model.name in str(raised.value)
        assert KEY[:8] not in str(raised.value)


@each_kind
@pytest.mark.parametrize(
    "fault", [error(429, "slow down"), error(401, "no"), error(405, "no"), Say(is_cut=True)]
)
def test_a_request_that_fails_is_not_sent_again(kind: Kind, fault: Say) -> None:
    """The text that the target forces, from which some models continue, is no part of its reply."""
    for name in filter(None, (kind.model, kind.prefixed)):
        with kind.serving(fault, WHOLE, model=name) as (model, server):
            with pytest.raises(ModelError):
                sk.extract(model, "one", Pair)
            assert len(server.requests) == 1


@each_kind
@pytest.mark.parametrize("status", [429, 500, 503])
def test_the_client_tries_again_when_the_service_says_so_and_nobody_else(kind: Kind, status: int) -> None:
    """Sync and async clients alike."""
    said = error(status, "slow down", ("Retry-After", "0.05"), ("retry-after-ms", "50"))
    with kind.serving(said, WHOLE) as (_, server):
        client = kind.make(server.url)
        if kind.package == "google.genai":
            options = {
                "base_url": server.url,
                "retry_options": {"attempts": 2, "initial_delay": 0.01, "jitter": 0.0},
            }
            client = type(client)(api_key=KEY, http_options=options)
        else:
            client = client.with_options(max_retries=1)
        started = time.monotonic()
        assert sk.extract(kind.wrap(client, "m"), "one", Target) == {"a": 1}
        assert len(server.requests) == 2
        if kind.package != "google.genai":  # its client reads no such header
            assert time.monotonic() - started >= 0.05


@each_kind
def test_a_refusal_that_has_no_remedy(kind: Kind) -> None:
    with kind.serving(error(400, "messages must not be empty"), constrain=False) as (model, server):
        with pytest.raises(
            ModelError, match=r"refuses the request \(status 400\): messages must not be empty"
        ):
            sk.extract(model, "one", Target)
        assert len(server.requests) == 1


@each_kind
def test_a_refusal_of_something_else_keeps_the_constraint(kind: Kind) -> None:
    with kind.serving(error(400, "messages must not be empty")) as (model, server):
        with pytest.raises(ModelError, match="messages must not be empty"):
            sk.extract(model, "one", Pair)
        assert [kind.schema(request) is None for request in server.requests] == [False, True]
        assert model.capabilities.constraints == {"json_schema"}


@each_kind
def test_no_server(kind: Kind) -> None:
    pytest.importorskip(kind.package, reason=f"the package {kind.package} is not installed")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        model = kind.wrap(kind.make(f"http://127.0.0.1:{closed.getsockname()[1]}"), "m")
        with pytest.raises(ModelError, match=r"(?s)the connection to .* failed .*is the network up"):
            sk.extract(model, "one", Target)


@pytest.mark.long(every=3)
@each_kind
def test_a_server_that_hangs(kind: Kind) -> None:
    with kind.serving(Say(hangs=True), timeout=0.3) as (model, _):
        started = time.monotonic()
        with pytest.raises(ModelError, match=r"(was not complete|did not answer) within"):
            sk.extract(model, "one", Target)
        assert time.monotonic() - started < 20


EMPTY = {
    "openai": b'data: {"choices": []}\n\n',
    "anthropic": b'event: ping\ndata: {"type": "ping"}\n\n',
    "google.genai": b'data: {"candidates": []}\n\n',
}


@pytest.mark.parametrize("kind", KINDS[::2], ids=lambda kind: kind.name)
def test_the_thread_of_a_reply_that_nobody_waits_for_ends(kind: Kind) -> None:
    """Events without text go on, so that no timeout of the client ends the stream."""
    released = threading.Event()

    def pieces() -> Iterator[bytes]:
        while not released.wait(0.02):
            yield EMPTY[kind.package]

    before = {*threading.enumerate()}
    with kind.serving(Say(pieces()), timeout=0.3) as (model, _):
        with pytest.raises(ModelError, match=r"(was not complete|did not answer) within"):
            sk.extract(model, "one", Target)
        deadline = time.monotonic() + 20
        while any("structkit" in each.name for each in {*threading.enumerate()} - before):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        released.set()


@each_kind
def test_a_stream_that_breaks_before_its_first_text(kind: Kind) -> None:
    with (
        kind.serving(Say(is_cut=True)) as (model, _),
        pytest.raises(ModelError, match=r"the connection to .* failed"),
    ):
        sk.extract(model, "one", Target)
    name = b"event: content_block_delta\n" if kind.package == "anthropic" else b""
    with (
        kind.serving(Say([name + b"data: nonsense\n\n"])) as (model, _),
        pytest.raises(
            ModelError, match=r"the reply is not one of the API of .*\n  is the client's address right"
        ),
    ):
        sk.extract(model, "one", Target)


FLOODS = {
    "a line": lambda: Say([b"data: ", *[b"x" * (1 << 20)] * 8]),
    "lines of one event": lambda: Say([b"data: x\n" * (1 << 14)] * 64),
    "no event": lambda: Say(body="x" * (1 << 23), streams=False),
    "a compressed line": lambda: Say(
        [gzip.compress(b"data: " + b"x" * (1 << 25), 1)], headers=(("Content-Encoding", "gzip"),)
    ),
}


@pytest.mark.parametrize("flood", FLOODS)
@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.package != "google.genai"], ids=lambda kind: kind.name
)
def test_an_event_without_end_is_cut(kind: Kind, flood: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clients collect an event whole; that of Gemini does not show its reply."""
    monkeypatch.setattr(bounds, "MAX_EVENT", 1 << 18)
    with (
        kind.serving(FLOODS[flood]()) as (model, _),
        pytest.raises(
            ModelError, match=r"an event of more than 262,144 bytes\n  is the client's address right"
        ),
    ):
        sk.extract(model, "one", Target)


WHOLE_REPLY = '{"choices": [{"index": 0, "message": {"content": "{}"}}]}'


@pytest.mark.parametrize(
    ("kind", "body"),
    [*((kind, "") for kind in KINDS), *((kind, WHOLE_REPLY) for kind in KINDS if kind.package == "openai")],
    ids=lambda value: value.name if isinstance(value, Kind) else len(value),
)
def test_a_reply_that_is_no_stream(kind: Kind, body: str) -> None:
    with (
        kind.serving(Say(body=body, streams=False)) as (model, server),
        pytest.raises(ModelError, match=r"has no event of a stream\n  is the client's address right"),
    ):
        sk.extract(model, "one", Target)
    assert len(server.requests) == 1


ERRORS = {
    "openai": b'data: {"error": {"message": "Overloaded", "code": "server_error"}}\n\n',
    "anthropic": b'event: error\ndata: {"type": "error", '
    b'"error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n',
    "google.genai": b'data: {"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}\n\n',
}


@each_kind
def test_an_error_inside_of_a_stream(kind: Kind) -> None:
    with (
        kind.serving(Say([ERRORS[kind.package]])) as (model, _),
        pytest.raises(ModelError, match=r"failed.*: Overloaded\n  try again later"),
    ):
        sk.extract(model, "one", Target)
    with kind.serving(Say(['{"a": 1', ERRORS[kind.package]]), '12, "b": 2}') as (model, _):
        assert sk.extract(model, "one", Target) == {"a": 12, "b": 2}


@each_kind
def test_options_that_do_not_exist(kind: Kind) -> None:
    with kind.serving(WHOLE, options={"temprature": 0}) as (model, server):
        with pytest.raises(
            ModelError, match=r"(?s)the client cannot send the request .*temprature.*check options"
        ):
            sk.extract(model, "one", Target)
        assert not server.requests


@each_kind
def test_no_key_and_no_prompt_in_errors_and_logs(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    prompt = "Ana Souza has the card number 1234"
    with caplog.at_level(logging.DEBUG, "structkit"), kind.serving(WHOLE) as (model, server):
        for said in (
            f"bad key {KEY}",
            f"cannot read '{prompt[:20]}'",
            prompt,
            "cannot read 'Ana Souza has t'",
        ):
            for status in (400, 401, 403, 404, 422, 429, 500):
                server.replies[:] = [error(status, said)]
                with pytest.raises(ModelError) as raised:
                    sk.extract(model, prompt, Target)
                shown = "".join(traceback.format_exception(raised.value)) + repr(model) + model.name
                assert "secret" not in shown
                assert "Souza" not in shown
    assert "secret" not in caplog.text
    assert "Souza" not in caplog.text


@each_kind
def test_wrong_arguments_have_a_remedy(kind: Kind) -> None:
    pytest.importorskip(kind.package, reason=f"the package {kind.package} is not installed")
    client = kind.make("http://127.0.0.1:1")
    for fields, fault, remedy in (
        ({"temperature": 0}, TypeError, r"write options=\{'temperature': \.\.\.\}"),
        ({"max_retries": 2}, TypeError, "give it to the client"),
        ({"options": [("a", 1)]}, TypeError, "options must map fields to values"),
        (
            {"options": {"model": "a"}},
            ValueError,
            r"options\['model'\] is what structkit writes .*; leave it out",
        ),
        ({"options": {"stream": False}}, ValueError, r"options\['stream'\] is what structkit writes"),
    ):
        with pytest.raises(fault, match=remedy):
            kind.wrap(client, "m", **fields)
    functions = {"openai": sk.from_openai, "anthropic": sk.from_anthropic, "google.genai": sk.from_gemini}
    right = functions.pop(kind.package)
    for package, function in functions.items():
        pytest.importorskip(package, reason=f"the package {package} is not installed")
        with pytest.raises(TypeError, match=rf"; write {right.__name__}\(client, model\)"):
            function(client, "m")  # type: ignore[operator]
    with pytest.raises(TypeError, match=rf"not str; write {right.__name__}\(.*\(\), model\)"):
        right("m", client)  # type: ignore[operator]


def test_a_chunk_whose_choices_are_no_list_has_no_text() -> None:
    chunks = [b'data: {"choices": 5}\n\n', b'data: {"choices": [{"delta": {"content": "{\\"a\\": 1}"}}]}\n\n']
    with KINDS[0].serving(Say(chunks)) as (model, _):
        assert sk.extract(model, "one", Target) == {"a": 1}


@pytest.mark.parametrize("cause", [None, OSError("no route")])
def test_a_fault_of_the_connection_names_its_cause(cause: Exception | None) -> None:
    """The classes of clients only wrap those of the network."""
    error = type("APIConnectionError", (Exception,), {})("Connection error.")
    error.__cause__ = cause
    kind = "APIConnectionError" if cause is None else "OSError"
    found = fault_of(error, Service("OpenAI", "OPENAI_API_KEY", "max_retries=..."), "m", ())
    assert f"the connection to OpenAI failed ({kind}); is the network up" in found.what and found.is_transient


def _error(name: str, base: type[Exception], message: str = "no", **attributes: object) -> Exception:
    error = type(name, (base,), {})(message)
    for attribute, value in attributes.items():
        setattr(error, attribute, value)
    return error


@pytest.mark.parametrize(
    ("error", "what", "is_transient"),
    [
        (
            _error("APIError", Exception, body={"message": "Oops"}),
            "S failed while it replied: Oops; try again",
            True,
        ),
        (
            _error("APIError", Exception, body="Oops"),
            "S failed while it replied: Oops; try again later",
            True,
        ),
        (_error("APIError", Exception, body={}), "S failed while it replied; try again later", True),
        (
            _error("ReadTimeout", OSError),
            "S did not answer within the timeout of the client (ReadTimeout)",
            True,
        ),
        (TypeError("no"), "the client cannot send the request (TypeError): no; check options=...", False),
        (
            _error("JSONDecodeError", ValueError),
            "the reply is not one of the API of S (JSONDecodeError); is",
            True,
        ),
        (
            RuntimeError("no"),
            "the client of S failed (RuntimeError): no; check its settings and version",
            False,
        ),
        (OSError("no"), "the connection to S failed (OSError); is the network up, and", True),
        (
            _error("APIConnectionError", Exception),
            "the connection to S failed (APIConnectionError); is",
            True,
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_error_of_a_client_is_a_fault(error: Exception, what: str, is_transient: bool) -> None:
    service = Service("S", "S_KEY", "max_retries=...")
    fault = fault_of(error, service, "m", ())
    assert fault.what.startswith(what) and fault.is_transient == is_transient
    assert fault_of(fault, service, "m", ()) is fault
    if what.startswith("the connection"):
        error.__cause__ = KeyError()
        assert fault_of(error, service, "m", ()).what.startswith("the connection to S failed (KeyError)")
