"""Errors in the shape of OpenAI's API: a status, a message, the field at fault, and a code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from structkit.error_notes import without_python
from structkit.errors import (
    AgentError,
    BudgetTooSmall,
    GenerationError,
    GrammarError,
    LimitExceeded,
    ModelError,
    PatternError,
    SchemaError,
    VocabularyError,
)

__all__ = ["ApiError", "Params", "api_error_of", "for_clients"]

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    408: "timeout_error",
    429: "rate_limit_error",
}


@dataclass(frozen=True)
class Params:
    """The fields of a request that errors of a generation name.

    Attributes:
        prompt: What the model reads.
        limit: The maximum number of tokens.
        constraint: What the answer must be, such as `response_format.json_schema.schema`.
    """

    prompt: str = "messages"
    limit: str = "max_tokens"
    constraint: str | None = None


class ApiError(Exception):
    """An error that the client receives.

    Args:
        status: The status of HTTP.
        message: The fault and the remedy.
        param: The field at fault, such as `messages[0].content`.
        code: A name for programs.
        headers: Further headers of the response.

    >>> ApiError(400, "n must be at least 1", param="n").body()["error"]["param"]
    'n'
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.headers = headers or {}

    def body(self) -> dict[str, dict[str, str | None]]:
        """Return the body of the response."""
        default = "server_error" if self.status >= 500 else "invalid_request_error"
        return {
            "error": {
                "message": self.message,
                "type": _TYPES.get(self.status, default),
                "param": self.param,
                "code": self.code,
            }
        }


def api_error_of(error: Exception, params: Params = Params()) -> ApiError:
    """Return the error that a client receives for an error of a generation.

    Texts of errors that do not concern the request stay here: they can name files and objects of the server.

    Args:
        error: The error.
        params: The names of the fields.
    """
    match error:
        case ApiError():
            return error
        case BudgetTooSmall():
            message = error.message.replace("pass max_tokens=", f"send {params.limit}: ")
            return ApiError(400, message, param=params.limit, code="budget_too_small")
        case SchemaError() | PatternError() | GrammarError() | VocabularyError():
            return ApiError(400, for_clients(str(error)), param=params.constraint, code="invalid_constraint")
        case LimitExceeded():
            return ApiError(
                400, for_clients(str(error)), param=params.constraint, code="constraint_too_large"
            )
        case AgentError():
            param = params.prompt if error.place == "messages" else "tools"
            return ApiError(400, str(error), param=param, code="invalid_value")
        case GenerationError(place="prompt"):
            return ApiError(
                400, for_clients(error.message), param=params.prompt, code="context_length_exceeded"
            )
        case ModelError():
            return ApiError(
                500, "the model failed; the log of the server has the reason", code="model_failed"
            )
        case _:
            return ApiError(
                500, "an internal error; the log of the server has the reason", code="internal_error"
            )


def for_clients(message: str) -> str:
    """Return a message without the remedies of Python, which a client cannot use, or in the words of the API.

    >>> for_clients("too long; shorten it, or pass include_schema=False to omit it")
    'too long; shorten it, or send include_schema: false to omit it'
    """
    return without_python(message).replace("pass include_schema=False", "send include_schema: false")
