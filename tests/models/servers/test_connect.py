"""Which server it is, which model it has, and what is wrong with an address."""

from __future__ import annotations

import asyncio
import pickle
import socket
from typing import Annotated, Any, Literal, cast

import pytest
from annotated_types import Len

import structkit as sk
from structkit.errors import ModelError
from structkit.models.servers.listing import max_length_of, no_model
from structkit.testing import RandomModel
from tests.models.servers.fake import KINDS, MODEL, error, serve

ANA = '{"name": "Ana", "age": 34}'
Person = dict[str, int]
ONE = '{"a": 1}'

CONTINUES = {"vLLM", "SGLang", "llama.cpp", "Ollama"}
CONSTRAINTS = {
    "vLLM": {"grammar"},
    "llama.cpp": {"grammar"},
    "SGLang": {"regex"},
    "Ollama": {"json_schema"},
    "LM Studio": {"json_schema"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_server_is_recognized(kind: str) -> None:
    with serve(ONE, kind=kind) as server:
        model = sk.connect(server.url)
        assert model.dialect == kind
        assert model.capabilities.continues_prefix == (kind in CONTINUES)
        assert model.capabilities.constraints == CONSTRAINTS.get(kind, set())
        assert model.capabilities.takes_messages
        assert (model.capabilities.logits == "some") == (kind in CONTINUES)
        assert model.capabilities.token_ids == (kind == "vLLM")


def test_our_own_server_is_recognized_and_enforces_the_grammar() -> None:
    pytest.importorskip("uvicorn", reason="the package uvicorn is not installed")
    from examples.servers.local import serve as serve_model

    with serve_model(RandomModel(seed=1)) as url:
        model = sk.connect(url, options={"seed": 1})
        assert (model.dialect, model.capabilities.constraints) == ("structkit", {"grammar"})
        result: Any = sk.generate(model, "which?", dict[Literal["a", "b"], bool])
        assert result.guarantee == "constrained"
        for number in range(5):  # items that differ are corrected, and the start of the answer is continued
            colors = sk.extract(model, f"{number}?", Annotated[set[Literal["r", "g", "b"]], Len(3)])
            assert colors == {"r", "g", "b"}
        assert model.capabilities.continues_prefix
        assert not model.refused


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/chat/completions", "/v1/models"])
def test_forms_of_the_address(path: str) -> None:
    with serve(ONE) as server:
        assert sk.extract(sk.connect(server.url + path), "one", Person) == {"a": 1}
        assert server.requests[0]["path"] == "/v1/chat/completions"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        *((url, "url of a server begins with") for url in ("localhost:8000", "ftp://host/v1", "", "http://")),
        *(
            (f"http://{host}", "is not valid .*write an address such as")
            for host in ("[::1", "a:b", "a:99999")
        ),
        ("http://user:secret@host/v1", "without user, query and fragment; pass a key with api_key"),
        ("http://host/v1?key=secret", "without user, query and fragment; pass a key with api_key"),
    ],
)
def test_addresses_that_cannot_be_used(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        sk.connect(url)
    assert "secret" not in str(raised.value)
    with pytest.raises(TypeError, match="url must be a string such as"):
        sk.connect(cast("Any", None))


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"timeout": float("nan")}, {"max_calls": 0}, {"max_tries": 0}]
)
def test_numbers_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        sk.connect("http://localhost:1", **options)


def test_no_server() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        with pytest.raises(ModelError, match=r"(?s)no server answers at .*start it, or correct"):
            sk.connect(f"http://127.0.0.1:{port}", max_tries=2)


def test_a_site_that_is_no_api() -> None:
    with (
        serve(ONE, is_html=True) as server,
        pytest.raises(ModelError, match="or the address of the API"),
    ):
        sk.connect(server.url)
    with serve(ONE, is_html=True) as server:
        model = sk.connect(server.url, MODEL)
        with pytest.raises(ModelError, match=r"answered with HTML\n  is the address that of the API"):
            sk.extract(model, "one", Person)


def test_a_wrong_key() -> None:
    with serve(ONE, key="right-key-of-mine") as server:
        for key in (None, "wrong-key-of-mine"):
            with pytest.raises(
                ModelError, match=r"refuses the key \(status 401\)\n  pass a valid one with api_key"
            ) as raised:
                sk.connect(server.url, api_key=key)
            assert "wrong-key-of-mine" not in repr(raised.value) + str(raised.value.__cause__)
        assert sk.extract(sk.connect(server.url, api_key="right-key-of-mine"), "one", Person) == {"a": 1}


def test_the_only_model_is_used_and_others_are_listed() -> None:
    with serve(ONE, models=("small", "large:latest"), kind="Ollama") as server:
        with pytest.raises(
            ModelError, match=r"several models\n  pass model=... with one of 'small', 'large:latest'"
        ):
            sk.connect(server.url)
        with pytest.raises(
            ModelError, match=r"does not have the model 'huge'\n  it has 'small', 'large:latest'"
        ):
            sk.connect(server.url, "huge")
        assert sk.extract(sk.connect(server.url, "large"), "one", Person) == {"a": 1}
        assert server.requests[0]["model"] == "large"


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [([], None), ([None], None), ([8], 8), ([8, 8, None], 8), ([8, 9], None), (["8"], None), ([True], None)],
)
def test_the_length_of_the_context_is_the_one_that_all_models_have(
    lengths: list[object], expected: int | None
) -> None:
    assert max_length_of([{} if each is None else {"max_model_len": each} for each in lengths]) == expected


def test_a_message_lists_twenty_models_and_counts_the_others() -> None:
    for count in (1, 19, 20, 21, 30):
        names = [f"m{number}" for number in range(count)]
        listed = ", ".join(map(repr, names[:20])) + (f" and {count - 20} more" if count > 20 else "")
        assert no_model("x" * 9, names) == f"the server does not have the model 'xxxxxxxxx'; it has {listed}"
    assert no_model("x", ["y" * 81]).endswith(f"it has '{'y' * 80}'")
    assert no_model("x", []).endswith("; is the address that of the API, and the name right?")


def test_a_model_that_only_the_request_finds_missing() -> None:
    with serve(error(404, "The model `gpt-9` does not exist")) as server:
        model = sk.connect(server.url, "gpt-9")
        with pytest.raises(ModelError, match=r"does not have the model 'gpt-9'\n  it has 'demo'"):
            sk.extract(model, "one", Person)
        assert len(server.requests) == 1


def test_a_server_that_fails_to_list_its_models() -> None:
    with serve(ONE, lists_models=False, kind="transformers serve") as server:
        with pytest.raises(ModelError, match="does not list its models"):
            sk.connect(server.url, max_tries=1)
        model = sk.connect(server.url, MODEL, max_tries=2)
        assert model.dialect == "transformers serve"
        assert sk.extract(model, "one", Person) == {"a": 1}


def test_all_ways_to_call() -> None:
    with serve(ONE) as server:
        model = sk.connect(server.url)
        assert sk.extract_many(model, ["one"] * 4, Person) == [{"a": 1}] * 4
        assert asyncio.run(sk.aextract(model, "one", Person)) == {"a": 1}
        *_, last = sk.stream(model, "one", Person)
        assert isinstance(last, sk.StreamEnd)


def test_base_models_continue_texts() -> None:
    with serve('"a": 1}', kind="transformers serve") as server:
        model = sk.connect(server.url, chat=False, options={"temperature": 0})
        assert sk.generate(model, "one", Person).text == ONE
        sent = server.requests[0]
        assert sent["path"] == "/v1/completions"
        assert str(sent["prompt"]).endswith("\n\n{")
        assert sent["temperature"] == 0


def test_a_client_that_cannot_be_used_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr("httpx2.Client.close", lambda self: closed.append(str(self)))
    with serve(ONE, models=("a", "b"), key="right") as server:
        for key in ("right", "wrong"):
            with pytest.raises(ModelError) as raised:
                sk.connect(server.url, api_key=key)
            assert raised.value  # which refers to the client
    assert len(closed) == 2


def test_closing_is_final() -> None:
    with serve(ONE) as server:
        model = sk.connect(server.url)
        model.close()
        with pytest.raises(ModelError, match="the model was closed\n  connect again"):
            sk.extract(model, "one", Person)


@pytest.mark.parametrize("given", [None, 8000, b"http://localhost"])
def test_an_address_that_is_no_text(given: Any) -> None:
    with pytest.raises(TypeError, match="url must be a string such as 'http://localhost:8000', not"):
        sk.connect(given)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"api_key": 5}, "api_key must be a string, not int"),
        ({"headers": ["X-Key"]}, "headers must map names to texts"),
        ({"headers": {"X-Key": 5}}, r"headers\['X-Key'\] must be a string, not int"),
        ({"options": [1]}, r"options must map fields to values, .*, not \[1\]"),
        ({"options": {"stop": {1}}}, r"options\['stop'\] cannot be sent as JSON: .*; pass values of JSON"),
        ({"timeout": None}, "timeout must be a number, not None"),
        ({"timeout": "5"}, "timeout must be a number, not '5'"),
        ({"max_calls": 1.5}, "max_calls must be an integer, not 1.5"),
        ({"max_tries": "3"}, "max_tries must be an integer, not '3'"),
    ],
)
def test_arguments_of_the_wrong_type(arguments: dict[str, Any], expected: str) -> None:
    with pytest.raises(TypeError, match=expected):
        sk.connect("http://127.0.0.1:1", **arguments)


@pytest.mark.parametrize("key", ["secret-key\n", " secret-key", "secret\0key", "secret-kéy", "secret\nkey"])
def test_a_key_that_cannot_be_sent_is_not_shown(key: str) -> None:
    for arguments in ({"api_key": key}, {"headers": {"X-Key": key}}):
        with pytest.raises(ValueError, match=r"spaces or line ends around it|printable ASCII") as raised:
            sk.connect("http://127.0.0.1:1", **arguments)  # type: ignore[arg-type]
        assert "secret" not in str(raised.value)
        assert raised.value.__cause__ is raised.value.__context__ is None


def test_an_option_that_is_no_number() -> None:
    with pytest.raises(ValueError, match=r"options\['temperature'\] cannot be sent"):
        sk.connect("http://127.0.0.1:1", options={"temperature": float("nan")})


@pytest.mark.parametrize(
    ("arguments", "error", "remedy"),
    [
        ({"options": {"messages": []}}, ValueError, r"options\['messages'\] is what structkit writes"),
        ({"temperature": 0}, TypeError, r"write options=\{'temperature': \.\.\.\}"),
        ({"key": "a"}, TypeError, r"write api_key=\.\.\."),
        ({"model_name": "a"}, TypeError, r"write model=\.\.\."),
    ],
)
def test_arguments_of_other_clients_have_a_remedy(
    arguments: dict[str, Any], error: type[Exception], remedy: str
) -> None:
    with pytest.raises(error, match=remedy):
        sk.connect("http://127.0.0.1:1", **arguments)


def test_a_server_without_tls() -> None:
    with (
        serve(ONE) as server,
        pytest.raises(ModelError, match=r"does not speak TLS\n  write http://127.0.0.1:\d+/v1"),
    ):
        sk.connect(server.url.replace("http:", "https:"))


def test_a_connected_model_is_not_pickled() -> None:
    with serve(ONE) as server, pytest.raises(TypeError, match="connect in the other process"):
        pickle.dumps(sk.connect(server.url))
