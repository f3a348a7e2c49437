"""The error that a client receives for an error of a generation."""

from __future__ import annotations

import pytest

import structkit as sk
from structkit.errors import AgentError, GenerationError, ModelError, SchemaError
from structkit.serve.bounds.api_error import Params, api_error_of

PARAMS = Params(prompt="input", limit="max_output_tokens", constraint="text.format")


@pytest.mark.parametrize("error", [ModelError("/srv/secret"), OSError("/srv/secret"), KeyError("secret")])
def test_what_the_request_is_not_to_blame_for_stays_on_the_server(error: Exception) -> None:
    found = api_error_of(error, PARAMS)
    assert found.status == 500 and found.body()["error"]["type"] == "server_error"
    assert "secret" not in str(found.body()) and "the log of the server has the reason" in found.message
    assert found.param is None and found.code in ("model_failed", "internal_error")
    assert (found.code == "model_failed") == isinstance(error, ModelError)


@pytest.mark.parametrize(
    ("error", "param", "code"),
    [
        (SchemaError("a fault; write less"), "text.format", "invalid_constraint"),
        (sk.LimitExceeded("work", 3, "a fault"), "text.format", "constraint_too_large"),
        (AgentError("a fault; write less", place="messages"), "input", "invalid_value"),
        (AgentError("a fault; write less", place="tools[0]"), "tools", "invalid_value"),
        (GenerationError("a fault; write less", place="prompt"), "input", "context_length_exceeded"),
    ],
)
def test_what_the_request_is_to_blame_for_has_its_field(error: Exception, param: str, code: str) -> None:
    found = api_error_of(error, PARAMS)
    assert (found.status, found.param, found.code) == (400, param, code)
    assert "a fault" in found.message and found.body()["error"]["type"] == "invalid_request_error"
    assert api_error_of(found) is found and str(found) == found.message
