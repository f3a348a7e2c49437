"""The application: OpenAI's API over one local model, whose answers always match their schema, regex or grammar."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, aclosing, contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from structkit.generate.output.result import Usage
from structkit.models.protocols import LogitsModel
from structkit.serve.bounds.admission import Admission, Lease, OpenRequests
from structkit.serve.bounds.api_error import ApiError, Params
from structkit.serve.bounds.config import ServerConfig
from structkit.serve.metrics import Metrics
from structkit.serve.playground.page import PAGE, PAGE_HEADERS
from structkit.serve.playground.play import Play, play_events, read_play
from structkit.serve.read.fields import Fields
from structkit.serve.read.requests import Ask, read_chat, read_completion
from structkit.serve.read.responses import read_response
from structkit.serve.transport import (
    HEADERS,
    EventStream,
    WithoutSlash,
    cancel_all,
    check_access,
    error_response,
    json_response,
    logged_error,
    read_body,
    too_slow,
    until_gone,
)
from structkit.serve.write.calls import Agents, call_pieces
from structkit.serve.write.events import event, failure
from structkit.serve.write.pieces import EndPiece, Piece, answer_pieces, compile_once
from structkit.serve.write.replies import Json, Reply
from structkit.serve.write.responses import ResponseReply

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

__all__ = ["create_app"]

R = TypeVar("R")

_NO_PATH = (
    "there is nothing at this path; the address of a client ends in /v1, with /chat/completions, /responses, "
    "/completions and /models below it"
)

Handler: TypeAlias = "Callable[[Request], Awaitable[Response]]"


def create_app(model: LogitsModel, config: ServerConfig | None = None) -> Starlette:
    """Return an ASGI application that serves a model to clients of OpenAI.

    Args:
        model: A local model, such as `structkit.load()`.
        config: Names, keys and bounds.

    >>> import structkit as sk
    >>> [route.path for route in create_app(sk.load()).routes][:3]
    ['/v1/chat/completions', '/v1/responses', '/v1/completions']
    """
    server = _Server(model, config or ServerConfig())
    routes = [
        server.route("/v1/chat/completions", server.chat, "POST"),
        server.route("/v1/responses", server.respond, "POST"),
        server.route("/v1/completions", server.complete, "POST"),
        server.route("/v1/models", server.models, "GET"),
        server.route("/v1/models/{name:path}", server.one_model, "GET"),
        server.route("/metrics", server.show_metrics, "GET"),
        Route("/health", _health, methods=["GET"]),
    ]
    if server.has_playground:
        routes += [Route("/", _page, methods=["GET"]), server.route("/playground", server.play, "POST")]
    return Starlette(
        routes=routes,
        exception_handlers={HTTPException: _http_error},
        middleware=[Middleware(WithoutSlash)],
    )


class _Server:
    """The handlers of an application."""

    def __init__(self, model: LogitsModel, config: ServerConfig) -> None:
        self._model = model
        self._config = config
        self._name = config.name or model.name
        self._created = int(time.time())
        self._admission = Admission(config.max_running, config.max_waiting)
        self._metrics = Metrics(self._admission)
        self._agents = Agents(model)
        self._open_requests = OpenRequests(config.max_requests)

    @property
    def has_playground(self) -> bool:
        """Whether there is a page for browsers."""
        return self._config.playground

    def route(self, path: str, handler: Handler, method: str) -> Route:
        """Return a route that checks the key, turns errors into responses, and counts."""
        bound = self._open_requests.enter if method == "POST" else nullcontext
        return Route(path, _Endpoint(path, handler, bound, self._config, self._metrics), methods=[method])

    async def chat(self, request: Request) -> Response:
        """`POST /v1/chat/completions`."""
        return await self._answer(request, read_chat)

    async def respond(self, request: Request) -> Response:
        """`POST /v1/responses`."""
        return await self._answer(request, read_response)

    async def complete(self, request: Request) -> Response:
        """`POST /v1/completions`."""
        return await self._answer(request, read_completion)

    async def models(self, request: Request) -> Response:
        """`GET /v1/models`."""
        return json_response({"object": "list", "data": [self._model_card()]})

    async def one_model(self, request: Request) -> Response:
        """`GET /v1/models/{name}`; without a name, all models."""
        if not request.path_params["name"]:
            return await self.models(request)
        self._check_model(request.path_params["name"])
        return json_response(self._model_card())

    async def show_metrics(self, request: Request) -> Response:
        """`GET /metrics`."""
        return Response(self._metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _answer(self, request: Request, read: Callable[[Fields, ServerConfig], Ask]) -> Response:
        ask = read(await read_body(request, self._config), self._config)
        self._check_model(ask.model)
        reply = ResponseReply(ask) if ask.kind == "response" else Reply(ask)
        if ask.is_streamed:
            return await self._streamed(request, self._chunks(ask, reply), ask.params, reply.failure)
        with _errors_of(ask.params):
            return json_response(reply.body(await self._within_time(request, self._collect(ask))))

    async def play(self, request: Request) -> Response:
        """`POST /playground`: one generation for the page, as events."""
        play = read_play(await read_body(request, self._config), self._config)
        params = Params(constraint=play.constraint.param)
        return await self._streamed(request, self._play_chunks(play), params, failure)

    async def _streamed(
        self,
        request: Request,
        chunks: AsyncGenerator[bytes, None],
        params: Params,
        failure: Callable[[ApiError], bytes],
    ) -> Response:
        begin = time.monotonic()
        with _errors_of(params):
            # What fails before the first chunk, such as the compilation, is a response with a status of its own.
            first = await self._within_time(request, anext(chunks))
        left = max(0.0, self._config.timeout - (time.monotonic() - begin))
        return EventStream(first, chunks, self._config, left, params, failure)

    async def _play_chunks(self, play: Play) -> AsyncGenerator[bytes, None]:
        """Yield the events of a request of the playground."""
        lease = await self._admission.enter(1)
        try:
            async with aclosing(play_events(self._model, play, lease)) as items:
                async for item in items:
                    if isinstance(item, Usage):
                        self._metrics.count_tokens(item)
                    else:
                        yield event(item)
        finally:
            lease.drop()

    async def _collect(self, ask: Ask) -> list[list[Piece]]:
        """Return the pieces of all answers; an error of one cancels the others."""
        lease = await self._admission.enter(ask.answers)
        tasks: list[asyncio.Future[list[Piece]]] = []
        try:
            tasks += [asyncio.ensure_future(_listed(answer)) for answer in await self._open(ask, lease)]
            answers = await asyncio.gather(*tasks)
        finally:
            lease.drop()  # before the wait, which can be cancelled; threads hold the places until they end
            await cancel_all(tasks)
        for pieces in answers:
            if isinstance(end := pieces[-1], EndPiece):
                self._metrics.count_tokens(end.usage)
        return answers

    async def _chunks(self, ask: Ask, reply: Reply | ResponseReply) -> AsyncGenerator[bytes, None]:
        """Yield the events of a stream."""
        lease = await self._admission.enter(ask.answers)
        queue: asyncio.Queue[tuple[int, Piece | Exception]] = asyncio.Queue()
        tasks: list[asyncio.Future[None]] = []
        started: set[int] = set()
        usages: dict[int, Usage] = {}
        try:
            for index, answer in enumerate(await self._open(ask, lease)):
                tasks.append(asyncio.ensure_future(_forward(index, answer, queue)))
            while len(usages) < len(tasks):
                index, piece = await queue.get()
                if isinstance(piece, Exception):
                    raise piece
                if index not in started and (head := reply.start(index)):
                    yield head
                started.add(index)
                yield reply.piece(index, piece)
                if isinstance(piece, EndPiece):
                    usages[index] = piece.usage
                    self._metrics.count_tokens(piece.usage)
        finally:
            lease.drop()
            await cancel_all(tasks)
        if end := reply.end([usages[index] for index in sorted(usages)]):
            yield end

    async def _open(self, ask: Ask, lease: Lease) -> list[AsyncGenerator[Piece, None]]:
        """Return the answers of a request, none of which has started."""
        if (tools := ask.tools) is not None:
            return [call_pieces(self._agents, ask, tools, number, lease) for number in range(ask.count)]
        if ask.answers > 1:
            await compile_once(self._model, ask, lease)
        return [
            answer_pieces(self._model, ask, prompt, number, lease)
            for prompt in ask.prompts
            for number in range(ask.count)
        ]

    async def _within_time(self, request: Request, work: Awaitable[R]) -> R:
        """Return the result of work; cancel it when the time is over or the client goes away.

        Raises:
            ApiError: The time is over.
            ClientDisconnect: The client went away.
        """
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(until_gone(request.receive))
        try:
            done, _ = await asyncio.wait(
                {task, gone}, timeout=self._config.timeout, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            gone.cancel()
            if not task.done():
                await cancel_all([task])
        if task in done:
            return task.result()
        if done:
            raise ClientDisconnect
        raise too_slow(self._config.timeout)

    def _check_model(self, name: str) -> None:
        if name != self._name:
            raise ApiError(
                404,
                f"there is no model {name[:200]!r}; the model is {self._name!r}",
                param="model",
                code="model_not_found",
            )

    def _model_card(self) -> Json:
        return {"id": self._name, "object": "model", "created": self._created, "owned_by": "structkit"}


class _Endpoint:
    """A handler as an application: it checks access, turns errors into responses, and counts when the response ends.

    Args:
        path: The path of the route.
        handler: The handler.
        bound: Gives a context in which a request is handled, or raises the error of one too many.
        config: The settings of the server.
        metrics: Counts the requests.
    """

    def __init__(
        self,
        path: str,
        handler: Handler,
        bound: Callable[[], AbstractContextManager[None]],
        config: ServerConfig,
        metrics: Metrics,
    ) -> None:
        self._path = path
        self._handler = handler
        self._bound = bound
        self._config = config
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        begin, request = time.perf_counter(), Request(scope, receive)
        status = 499  # the client went away
        try:
            check_access(request, self._config)
            with self._bound():
                response = await self._handler(request)
                status = response.status_code
                await response(scope, receive, send)
        except ClientDisconnect:
            pass
        except Exception as raised:  # a fault of the server is logged, and is the response
            error = logged_error(raised)
            status = error.status
            await error_response(error)(scope, receive, send)
        finally:
            self._metrics.count_request(self._path, status, time.perf_counter() - begin)


async def _listed(answer: AsyncGenerator[Piece, None]) -> list[Piece]:
    async with aclosing(answer):
        return [piece async for piece in answer]


async def _forward(
    index: int, answer: AsyncGenerator[Piece, None], queue: asyncio.Queue[tuple[int, Piece | Exception]]
) -> None:
    try:
        async with aclosing(answer):
            async for piece in answer:
                queue.put_nowait((index, piece))
    except Exception as raised:  # raised again where the queue is read
        queue.put_nowait((index, raised))


@contextmanager
def _errors_of(params: Params) -> Iterator[None]:
    """Turn errors into those of the API, and log those that are not the client's fault.

    Args:
        params: See `api_error_of`.
    """
    try:
        yield
    except (ApiError, ClientDisconnect):
        raise
    except Exception as raised:
        raise logged_error(raised, params) from raised


async def _page(request: Request) -> Response:
    return Response(PAGE, media_type="text/html", headers={**HEADERS, **PAGE_HEADERS})


async def _health(request: Request) -> Response:
    return json_response({"status": "ok"})


async def _http_error(request: Request, error: Exception) -> Response:
    """Return an error of the router, such as an unknown path, in the shape of the API."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = (error.headers if isinstance(error, HTTPException) else None) or {}
    allowed = headers.get("Allow", "")
    fault, code = {
        404: (_NO_PATH, "not_found"),
        405: (f"this path takes {allowed}, and no other method", "method_not_allowed"),
    }.get(status, ("bad request", "bad_request"))
    return error_response(ApiError(status, fault, code=code, headers=headers))
