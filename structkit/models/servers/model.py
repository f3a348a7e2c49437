"""Servers that speak the API of OpenAI, as text models."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace

from structkit.errors import ModelError
from structkit.models.capabilities import Capabilities
from structkit.models.servers.chunks import api_of, end_of, refusal_of, text_of
from structkit.models.servers.dialects import Dialect
from structkit.models.servers.faults import (
    Fault,
    Refused,
    check_length,
    quotable,
    texts_of,
    without_refused,
)
from structkit.models.servers.http import HttpClient, Json
from structkit.models.servers.lines import Interrupt
from structkit.models.servers.listing import list_models, no_model, root_of
from structkit.models.servers.ranked import scored_tokens
from structkit.models.servers.remote import RemoteModel
from structkit.models.servers.token_prompts import TokenPrompts, token_ids
from structkit.models.text.protocol import CancellablePieces, TextRequest
from structkit.models.text.render import render_messages, render_text
from structkit.models.text.scored import ScoredText

__all__ = ["ServerModel"]

_MAX_REPLY_TOKENS = 4_096
"""Maximum number of tokens of a reply, since hosts refuse large numbers. A longer answer takes more replies."""

_SHORT_REPLY_TOKENS = 256
"""Maximum number of tokens of a reply, where a length that does not fit into the context is refused."""

_MAX_RANKED = 20
"""Likely tokens at each place of a reply; servers refuse more."""


class ServerModel(RemoteModel):
    """A server as a `TextModel`; returned by `structkit.connect`.

    Attributes:
        name: The name of the model and the server in messages.
        dialect: The name of the kind of server, such as `"llama.cpp"`.
        timeout: Maximum number of seconds of one reply.
        max_calls: Maximum number of replies for one value.
        lock: `None`: replies can be made side by side.
    """

    def __init__(
        self,
        client: HttpClient,
        dialect: Dialect,
        *,
        model: str,
        capabilities: Capabilities,
        options: Mapping[str, object],
        timeout: float,
        max_calls: int,
        max_length: int | None = None,
    ) -> None:
        super().__init__(f"{model} of {client.base}", capabilities, timeout=timeout, max_calls=max_calls)
        self.dialect = dialect.name
        self._client = client
        self._dialect = dialect
        self._model = model
        self._options = dict(options)
        self._max_length = max_length
        self._prompts = TokenPrompts()

    def close(self) -> None:
        """Close the connections. They also close when the model is garbage-collected."""
        self._client.close()

    def request(self, request: TextRequest) -> CancellablePieces:
        """Ask for a reply, and return its pieces as they arrive; see `TextModel.request`.

        Raises:
            ModelError: The server failed, in each of the tries.
        """
        interrupt = Interrupt()
        return CancellablePieces(self._texts(request, interrupt), interrupt.set)

    def _texts(self, request: TextRequest, interrupt: Interrupt) -> Generator[str, None, None]:
        try:
            first, rest = self._client.retry(
                lambda: self._start(request, interrupt), request.seconds, interrupt
            )
            yield from first
            yield from rest
        except Fault as fault:
            raise self._error(fault) from fault.__cause__

    def token_ids(self, request: TextRequest) -> list[int] | None:
        """Return the token ids with which a request continues from earlier replies; see `SupportsTokenIds`.

        Raises:
            ModelError: The server failed, or refuses to tokenize a text.
        """
        try:
            return self._token_ids(request, self.capabilities)
        except Fault as fault:
            raise self._error(fault) from fault.__cause__

    def _start(self, request: TextRequest, interrupt: Interrupt) -> tuple[list[str], Iterator[str]]:
        """Send a request, and read its reply up to the first text; return that text, and the rest.

        What the server refuses is left out of the next try: the constraint first, then the token ids, then the start of
        the answer. A try that succeeds shows that the server refused what was left out, and nothing else.

        Raises:
            Fault: The server failed.
        """
        reduced: Capabilities | None = None
        while True:
            capabilities = reduced or self.capabilities
            try:
                ids = self._token_ids(request, capabilities, interrupt)
            except Refused:
                reduced = replace(capabilities, token_ids=False)
                continue
            pieces = self._pieces(request, capabilities, ids, interrupt)
            try:
                first = next(pieces, None)
            except Refused as refused:
                reduced = without_refused(capabilities, request, refused, is_tokens=ids is not None)
                if reduced is None:
                    raise
                continue
            if reduced is not None:
                self._known.reduce(reduced)
            return ([] if first is None else [first]), pieces

    def _pieces(
        self, request: TextRequest, capabilities: Capabilities, ids: list[int] | None, interrupt: Interrupt
    ) -> Iterator[str]:
        is_chat = capabilities.takes_messages and ids is None
        body = self._body(request, capabilities, ids)
        read = self._prompts.begin(request) if capabilities.token_ids else None
        path = "chat/completions" if is_chat else "completions"
        has_text, end, other, refused = False, "", "", ""
        with self._client.post(path, body, texts_of(request), request.seconds, interrupt) as replies:
            for reply in replies:
                text, other = text_of(reply), other or api_of(reply)
                has_text, end = has_text or bool(text), end or end_of(reply)
                refused += refusal_of(reply)
                if read is not None:
                    read.add(reply, text)
                tokens = scored_tokens(reply)
                if tokens:
                    yield ScoredText(text, tokens)
                elif text:
                    yield text
        if other and not has_text:
            what = f"the reply is not one of the API of OpenAI, but one of {other}"
            raise Fault(f"{what}; is the address right?", is_transient=False)
        if refused or end == "content_filter":
            quoted = quotable(refused or "a content filter ended the reply", texts_of(request))
            said = f": {quoted}" if quoted else ""
            raise Fault(f"the model refuses to answer{said}; change the prompt", is_transient=False)
        if end in ("tool_calls", "function_call"):
            raise Fault(
                "the model calls a tool and does not answer; leave tools out of options=...",
                is_transient=False,
            )
        if end == "length" and not has_text:
            check_length(request)

    def _token_ids(
        self, request: TextRequest, capabilities: Capabilities, interrupt: Interrupt | None = None
    ) -> list[int] | None:
        """Return the prompt and the start of the answer as the tokens that the server has read and written.

        What follows them, such as forced text, is tokenized by the server. `None` if the tokens are not known.

        Raises:
            Fault: The server failed.
        """
        known = self._prompts.find(request) if capabilities.token_ids else None
        if known is None:
            return None
        ids, rest = known
        if rest:
            body = {"model": self._model, "prompt": rest, "add_special_tokens": False}
            url = f"{root_of(self._client.base)}/tokenize"
            answer = self._client.ask(url, body, texts_of(request), interrupt)
            found = token_ids(answer.get("tokens")) if isinstance(answer, Mapping) else ()
            if not found:
                return None
            ids += found
        return ids if self._max_length is None or len(ids) < self._max_length else None

    def _body(self, request: TextRequest, capabilities: Capabilities, ids: list[int] | None = None) -> Json:
        dialect, continues = self._dialect, capabilities.continues_prefix
        is_chat = capabilities.takes_messages and ids is None
        body: dict[str, object] = {"model": self._model, "stream": True}
        if request.max_tokens is not None:
            most = min(request.max_tokens, _MAX_REPLY_TOKENS)
            if dialect.length_field:
                body[dialect.length_field] = most
            elif not is_chat:  # without it, these servers write 16 tokens
                room = _SHORT_REPLY_TOKENS
                if ids is not None and self._max_length is not None:
                    room = self._max_length - len(ids)
                body["max_tokens"] = min(most, room)
        if capabilities.token_ids:
            body["return_token_ids"] = True
        if ids is not None:
            body["prompt"] = ids
        elif not capabilities.takes_messages:
            body["prompt"] = render_text(request, continues=continues)
        else:
            messages: list[dict[str, object]] = [
                dict(each) for each in render_messages(request, continues=continues)
            ]
            if continues and request.prefix:
                body |= dict(dialect.continue_fields)
                if dialect.prefix_field:
                    messages[-1][dialect.prefix_field] = True
            body |= {"messages": messages, **dict(dialect.chat_fields)}
        constraint = request.constraint
        if constraint and constraint.kind in capabilities.constraints and (continues or not request.prefix):
            body |= dialect.constraint(constraint)
        elif capabilities.logits == "some":  # a constrained reply cannot leave the target
            body |= {"logprobs": True, "top_logprobs": _MAX_RANKED} if is_chat else {"logprobs": _MAX_RANKED}
        return body | self._options

    def _error(self, fault: Fault) -> ModelError:
        """Return the error of a fault; that of an unknown model lists the known ones."""
        if isinstance(fault, Refused) and fault.status == 404:
            try:
                names = [str(entry.get("id")) for entry in list_models(self._client)]
            except Fault:
                names = []
            if self._model not in names:
                return ModelError(no_model(self._model, names), place=self._client.base)
        return fault.error(self.name)
