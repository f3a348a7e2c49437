"""Faults of servers and networks: tried again within bounds, and a clear error at the end."""

from __future__ import annotations

import gzip
import json
import logging
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress

import pytest

import structkit as sk
from structkit.errors import CorrectionsExhausted, ModelError
from structkit.models.servers.http import _about_connection
from tests.models.servers.fake import ANTHROPIC, GEMINI, MODEL, Reply, Say, Wire, error, serve

WHOLE = '{"a": 1}'
Target = dict[str, int]
BROKEN = b'data: {"choices": [{"delta": {"content": "\xff\xfe"}}]}\n\n'


@pytest.mark.parametrize(
    "fault",
    [
        error(429, "slow down", ("Retry-After", "0")),
        error(429, "slow down", ("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT")),
        error(429, "slow down"),
        error(503, "Loading model"),
        Say(status=502, headers=(("Content-Type", "text/html"),), body="<html>Bad gateway</html>"),
        Say(is_cut=True),
        Say([BROKEN]),
        Say([b"data: nonsense\n\n"]),
        Say([b'data: {"error": {"message": "out of memory"}}\n\n']),
    ],
    ids=["429", "429-date", "429-plain", "503", "502", "cut", "utf-8", "json", "error"],
)
def test_a_fault_before_the_first_text_is_tried_again(fault: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structkit.models.servers.http._FIRST_WAIT", 0.01)
    with serve(fault, fault, WHOLE) as server:
        assert sk.extract(sk.connect(server.url), "one", Target) == {"a": 1}
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    "end", [Say(['{"a": ', "1"], is_cut=True), Say(['{"a": ', "1", BROKEN])], ids=["cut", "utf-8"]
)
def test_a_reply_that_breaks_off_is_continued(end: Say) -> None:
    """From the last word of which all is known: the 1 may have been the start of 12."""
    with serve(end, '12, "b": 2}', kind="SGLang") as server:
        result = sk.generate(sk.connect(server.url), "one", Target)
        assert result.value == {"a": 12, "b": 2}
        assert server.requests[1]["messages"][-1]["content"] == '{"a":'  # type: ignore[index]
        assert [draft.end for draft in result.trace.drafts] == ["failed", "complete"]


def test_tries_are_bounded_in_number() -> None:
    with serve(error(500, "internal", ("Retry-After", "0"))) as server:
        with pytest.raises(ModelError, match=r"answers with status 500.*: internal\n  see its log"):
            sk.extract(sk.connect(server.url, max_tries=3), "one", Target)
        assert len(server.requests) == 3


def test_tries_are_bounded_in_seconds() -> None:
    with serve(error(429, "quota", ("Retry-After", "3600"))) as server:
        started = time.monotonic()
        with pytest.raises(ModelError, match=r"status 429, and asks to wait 3600 s: quota\n  send fewer"):
            sk.extract(sk.connect(server.url), "one", Target)
        assert time.monotonic() - started < 20
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "header", [("Retry-After-Ms", "0"), ("Retry-After", "inf")], ids=["milliseconds", "infinite"]
)
def test_other_forms_of_the_seconds_to_wait(header: tuple[str, str]) -> None:
    with serve(error(429, "quota", ("Retry-After", "3600"), header), WHOLE) as server:
        assert sk.extract(sk.connect(server.url), "one", Target) == {"a": 1}


def test_a_server_that_hangs() -> None:
    with serve(Say(hangs=True)) as server, pytest.raises(ModelError, match=r"within 0.5 s"):
        sk.extract(sk.connect(server.url, timeout=0.5), "one", Target)


def test_a_reply_that_nobody_waits_for_ends() -> None:
    """The seconds of the call bound the connection, too, and not those of the model alone."""
    before = set(threading.enumerate())
    with serve(WHOLE, Say(hangs=True)) as server:
        model = sk.connect(server.url, timeout=60)
        sk.extract(model, "one", Target)
        result = sk.generate(model, "one", Target, timeout=0.3, finish="shortest")
        assert result.finish_reason == "budget"
        end = time.monotonic() + 20

        def replies() -> list[str]:
            return [each.name for each in {*threading.enumerate()} - before if "reply" in each.name]

        while replies() and time.monotonic() < end:
            time.sleep(0.05)
        assert not replies()
        model.close()


def test_a_server_that_dies_after_a_part_leaves_the_part_in_the_error() -> None:
    with serve(Say(['{"a": 1, '], is_cut=True), error(503, "gone", ("Retry-After", "0"))) as server:
        with pytest.raises(ModelError, match="status 503") as raised:
            sk.extract(sk.connect(server.url), "one", Target)
        assert raised.value.prefix == '{"a": 1, "'
        assert raised.value.drafts == ('{"a": 1, ', "")


@pytest.mark.parametrize("reply", ["", " \n" * 50_000, Say([" "] * 5_000), "I cannot help with that."])
def test_replies_without_a_value(reply: Reply) -> None:
    with serve(reply) as server:
        with pytest.raises(CorrectionsExhausted):
            sk.extract(sk.connect(server.url, max_calls=6), "one", Target)
        assert len(server.requests) <= 6


def test_a_line_without_end_is_cut() -> None:
    endless = Say([b"data: ", *[b"x" * (1 << 20)] * 6])
    with serve(endless) as server, pytest.raises(ModelError, match="a line of more than"):
        sk.extract(sk.connect(server.url), "one", Target)


def test_a_compressed_line_without_end_is_cut() -> None:
    bomb = gzip.compress(b"data: " + b"x" * 50_000_000, compresslevel=1)
    reply = Say([bomb], headers=(("Content-Encoding", "gzip"),))
    with serve(reply) as server, pytest.raises(ModelError, match="a line of more than"):
        sk.extract(sk.connect(server.url), "one", Target)


def _ended(reason: str, **delta: str) -> Say:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return Say([f"data: {json.dumps({'choices': [choice]})}\n\n".encode()])


def test_reasoning_that_uses_all_tokens_up_has_a_remedy() -> None:
    with serve(_ended("length", reasoning_content="Who?"), kind="vLLM") as server:
        with pytest.raises(ModelError, match="maximum number of tokens before its first text") as raised:
            sk.extract(sk.connect(server.url), "one", Target)
        assert len(server.requests) == 1
        assert "switch reasoning off" in str(raised.value)
    with serve(_ended("length"), WHOLE) as server:  # a part of a character, where few tokens are left
        assert sk.extract(sk.connect(server.url), "one", Target, max_tokens=20) == {"a": 1}


@pytest.mark.parametrize(
    ("wire", "name"), [(ANTHROPIC, "from_anthropic"), (GEMINI, "from_gemini")], ids=["anthropic", "gemini"]
)
def test_a_server_of_another_api(wire: Wire, name: str) -> None:
    with serve(WHOLE, wire=wire) as server, pytest.raises(ModelError, match=f"not one of .*structkit.{name}"):
        sk.extract(sk.connect(server.url), "one", Target)
    other = Say(streams=False, body='{"answer": "yes"}')
    with serve(other) as server, pytest.raises(ModelError, match=r"another API\n  is the address right"):
        sk.extract(sk.connect(server.url), "one", Target)


@pytest.mark.parametrize(
    ("status", "said", "remedy"),
    [
        (400, "This model's maximum context length is 1024 tokens", "shorten the prompt"),
        (400, "the request exceeds the available context size (1024 tokens)", "shorten the prompt"),
        (413, "no", "shorten the prompt"),
        (400, "default chat template is no longer allowed", "pass chat=False"),
        (404, "Not Found", "is the address that of the API"),
        (422, "temperature must be a number", "check options="),
        (400, "This model does not support chat completions", "pass chat=False"),
        (402, "Insufficient balance", "check the balance of the account"),
        (403, "Country, region, or territory not supported", "does it need a key"),
        (501, "not implemented", "see its log"),
    ],
)
def test_a_refused_request_has_a_remedy(status: int, said: str, remedy: str) -> None:
    with (
        serve(error(status, said)) as server,
        pytest.raises(ModelError, match=f"(?s){said[:20]}.*\n  {remedy}"),
    ):
        sk.extract(sk.connect(server.url), "one", Target)


def test_the_fields_that_a_server_refuses_are_named() -> None:
    body = json.dumps({"detail": [{"loc": ["body", "top_k"], "msg": "must be positive"}]})
    with (
        serve(Say(status=422, body=body)) as server,
        pytest.raises(ModelError, match=r"\(status 422\): body.top_k: must be positive\n  check options="),
    ):
        sk.extract(sk.connect(server.url), "one", Target)


def test_a_prompt_that_cannot_be_encoded() -> None:
    with serve(WHOLE) as server:
        with pytest.raises(ModelError, match=r"half of a character .*\n  remove it") as raised:
            sk.extract(sk.connect(server.url), "Ana \ud800 Souza", Target)
        assert "Souza" not in "".join(traceback.format_exception(raised.value.__cause__ or raised.value)[-3:])


def test_replies_of_nothing_have_a_remedy_of_their_own() -> None:
    with serve("") as server, pytest.raises(CorrectionsExhausted, match="find out why nothing is written"):
        sk.extract(sk.connect(server.url), "one", Target)


def test_a_notation_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="constrain must be True, False, or one of 'grammar', 'regex'"):
        sk.connect("http://127.0.0.1:1", constrain="gramar")  # type: ignore[arg-type]


def test_a_call_of_a_tool_is_no_answer() -> None:
    with serve(_ended("tool_calls")) as server, pytest.raises(ModelError, match="calls a tool and does not"):
        sk.extract(sk.connect(server.url, options={"tools": []}), "one", Target)


def test_a_server_that_sends_one_byte_at_a_time_is_left() -> None:
    """The timeout of the connection begins again with each byte; that of the reply does not."""
    sent: list[float] = []

    def bytes_() -> Iterator[bytes]:
        for _ in range(1_000):
            time.sleep(0.02)
            sent.append(time.monotonic())
            yield b"x"

    with serve(Say(bytes_())) as server:
        started = time.monotonic()
        with pytest.raises(ModelError, match=r"in 0\.5 s|within 0\.5 s|too long"):
            sk.extract(sk.connect(server.url, timeout=0.5, max_tries=1), "one", Target)
        while sent[-1] > time.monotonic() - 0.4 and time.monotonic() < started + 15:
            time.sleep(0.05)
    assert sent[-1] - started < 10, "the connection is closed"


def test_no_key_and_no_prompt_in_errors_and_logs(caplog: pytest.LogCaptureFixture) -> None:
    key, prompt = "sk-very-secret-key", "Ana Souza has the card number 1234"

    with caplog.at_level(logging.DEBUG), serve(WHOLE, key=key) as server:
        for said in (
            f"bad key {key}",
            f"cannot read '{prompt[:20]}'",
            prompt,
            "cannot read 'Ana Souza has t'",
        ):
            for status in (400, 404, 422, 500):
                server.replies[:] = [error(status, said, ("Retry-After", "0"))]
                model = sk.connect(server.url, MODEL, api_key=key, max_tries=1)
                with pytest.raises(ModelError) as raised:
                    sk.extract(model, prompt, Target)
                shown = "".join(traceback.format_exception(raised.value)) + repr(model) + model.name
                assert "secret" not in shown
                assert "Souza" not in shown
    assert "secret" not in caplog.text
    assert "Souza" not in caplog.text


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["head", "body"]
)
def test_connecting_to_a_server_that_sends_one_byte_at_a_time_ends(start: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.sendall(start)
                for _ in range(2_000):
                    connection.sendall(b" ")
                    time.sleep(0.01)

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        with pytest.raises(ModelError, match=r"did not answer within 0\.2 s"):
            sk.connect(f"http://127.0.0.1:{server.getsockname()[1]}/v1", timeout=0.2)
        thread.join(20)
        assert not thread.is_alive(), "the connection is closed"


@pytest.mark.parametrize(
    "status", [400, 408, 409, 425, 428, 429, 499, 500, 501, 502, 503, 504, 505, 528, 529, 530]
)
def test_which_statuses_are_tried_again(status: int) -> None:
    """Those of RFC 9110 and 8470 that say it, of a conflict, and of a service that is overloaded."""
    transient = status in {408, 409, 425, 429, 500, 502, 503, 504, 529}
    with serve(error(status, "no", ("Retry-After", "0")), WHOLE) as server:
        model = sk.connect(server.url, model="m", max_tries=2)
        sent = len(server.requests)
        if transient:
            assert sk.extract(model, "one", dict[str, int]) == {"a": 1}
        else:
            with pytest.raises(ModelError, match=f"status {status}"):
                sk.extract(model, "one", dict[str, int])
        assert len(server.requests) - sent == 1 + transient


@pytest.mark.parametrize(
    ("message", "said", "is_transient"),
    [
        (
            "[SSL: CERTIFICATE_VERIFY_FAILED] self-signed",
            "the certificate of https://a/v1 is not one of a known",
            False,
        ),
        ("[SSL: WRONG_VERSION_NUMBER]", "does not speak TLS; write http://a/v1", False),
        ("[SSL: RECORD_LAYER_FAILURE]", "does not speak TLS; write http://a/v1", False),
    ],
)
def test_connections_that_never_succeed_are_not_tried_again(
    message: str, said: str, is_transient: bool
) -> None:
    what, again = _about_connection(message, "https://a/v1")
    assert said in what and again is is_transient
