"""Functions as models: any function that answers a text with a text."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from inspect import isasyncgenfunction, isawaitable, iscoroutinefunction, isfunction, ismethod, signature
from typing import TypeAlias, cast

from structkit.arguments.checks import check_count, check_type
from structkit.arguments.names import names_arguments
from structkit.errors import ModelError
from structkit.models.capabilities import Capabilities
from structkit.models.protocols import Message
from structkit.models.text.protocol import TextRequest, check_reply_bounds
from structkit.models.text.render import render_messages, render_text
from structkit.models.text.scored import ScoredText

__all__ = ["ChatFunction", "FunctionModel", "TextFunction", "from_function"]

Reply: TypeAlias = "str | Iterable[str] | AsyncIterator[str]"

TextFunction: TypeAlias = "Callable[[str], Reply | Awaitable[Reply]]"
"""A function from a text to what follows the text."""

ChatFunction: TypeAlias = "Callable[[list[Message]], Reply | Awaitable[Reply]]"
"""A function from messages to the next message of the assistant."""


@names_arguments
def from_function(
    function: TextFunction | ChatFunction,
    *,
    chat: bool = False,
    continues: bool = True,
    timeout: float = 120.0,
    max_calls: int = 128,
    context_length: int | None = None,
    thread_safe: bool = False,
    name: str | None = None,
) -> FunctionModel:
    """Wrap a function that answers a text with a text, such as a call of a remote model.

    The reply is read byte by byte. At the first byte that cannot belong to a value, the reply is closed, the longest
    start that still can is kept, and the function is called again to continue from there. A value is returned only if
    its complete text belongs to the target and its validators accept the value.

    Args:
        function: Takes the text, and returns what follows the text: as a string, or as an iterator of pieces. Sync or
            async. An iterator is closed once the rest of the reply is not needed.
        chat: Whether the function takes messages such as `{"role": "user", "content": "..."}` instead of a text.
        continues: Whether the function continues the start of an answer: a text that ends inside the answer, or a last
            message of the assistant. Otherwise the function reads the start of the answer as part of the question.
        timeout: Maximum number of seconds of one reply. A function that does not return in time is not interrupted.
        max_calls: Maximum number of calls for one value.
        context_length: Maximum number of bytes of a prompt and its answer, since a text does not show its tokens; in
            English a token has three to four bytes. With it, a prompt that is too long is an error before the first
            call, and an answer is completed within the rest.
        thread_safe: Whether a function that is not async may run in several threads at once. Otherwise calls wait for
            each other.
        name: The name in messages; by default that of the function.

    Raises:
        TypeError: The function is not callable or does not take one argument, or an argument has the wrong type.
        ValueError: A number is out of range.

    >>> import structkit as sk
    >>> model = from_function(lambda text: '{"name": "Ana", "age": 34}')
    >>> sk.extract(model, "Ana is 34.", dict[str, str | int])
    {'name': 'Ana', 'age': 34}
    """
    check_type("name", name, (str, type(None)), "a string")
    if not callable(function):
        raise TypeError(
            f"from_function takes a function of a text, not {function!r:.60}; write def complete(text: str) -> str"
        )
    for option, value in (("chat", chat), ("continues", continues), ("thread_safe", thread_safe)):
        check_type(option, value, bool, "True or False")
    name = name or str(getattr(function, "__name__", type(function).__name__))
    _check_parameters(function, name, "messages: list[dict[str, str]]" if chat else "text: str")
    check_reply_bounds(timeout, max_calls)
    if context_length is not None:
        check_count("context_length", context_length, 1)
    return FunctionModel(
        function,
        name=name,
        capabilities=Capabilities(
            continues_prefix=continues, takes_messages=chat, context_length=context_length
        ),
        timeout=timeout,
        max_calls=max_calls,
        lock=None if thread_safe or _is_async(function) else threading.Lock(),
    )


def _check_parameters(function: Callable[..., object], name: str, parameter: str) -> None:
    """Check that a function can be called with one argument, unless its signature is unknown, as that of a builtin."""
    try:
        expected = signature(function)
    except (TypeError, ValueError):
        return
    try:
        expected.bind("")
    except TypeError as error:
        raise TypeError(
            f"the function {name}{expected} cannot be called with one argument: {error}; "
            f"write def complete({parameter}) -> str"
        ) from None


def _is_async(function: Callable[..., object]) -> bool:
    """Return whether calls of a function run on an event loop, and therefore side by side."""
    called = function if isfunction(function) or ismethod(function) else getattr(function, "__call__", None)  # noqa: B004
    return any(iscoroutinefunction(each) or isasyncgenfunction(each) for each in (function, called))


class FunctionModel:
    """A function as a `TextModel`; returned by `structkit.from_function`.

    Attributes:
        name: The name in messages.
        capabilities: What the function can do.
        timeout: Maximum number of seconds of one reply.
        max_calls: Maximum number of calls for one value.
        lock: The lock that is held during a call; `None` if calls may run side by side.
    """

    def __init__(
        self,
        function: TextFunction | ChatFunction,
        *,
        name: str,
        capabilities: Capabilities,
        timeout: float,
        max_calls: int,
        lock: threading.Lock | None,
    ) -> None:
        self.name = name
        self.capabilities = capabilities
        self.timeout = timeout
        self.max_calls = max_calls
        self._function = function
        self.lock = lock

    def __repr__(self) -> str:
        return f"<FunctionModel {self.name}>"

    @property
    def takes_messages(self) -> bool:
        """Whether the function takes messages; see `SupportsMessages`."""
        return self.capabilities.takes_messages

    def request(self, request: TextRequest) -> Iterator[str] | AsyncIterator[str]:
        """Call the function, and return the pieces of its reply; see `TextModel.request`.

        Raises:
            ModelError: The function returned something else.
        """
        returned = self._call(request)
        if isawaitable(returned):
            return self._await_pieces(returned)
        if isinstance(returned, AsyncIterator):
            return self._async_pieces(returned)
        return self._texts(returned)

    def _call(self, request: TextRequest) -> Reply | Awaitable[Reply]:
        continues = self.capabilities.continues_prefix
        if self.capabilities.takes_messages:
            return cast("ChatFunction", self._function)(render_messages(request, continues=continues))
        return cast("TextFunction", self._function)(render_text(request, continues=continues))

    async def _await_pieces(self, returned: Awaitable[Reply]) -> AsyncIterator[str]:
        reply = await returned
        if isinstance(reply, AsyncIterator):
            async for piece in self._async_pieces(reply):
                yield piece
        else:
            for piece in self._texts(reply):
                yield piece

    async def _async_pieces(self, reply: AsyncIterator[str]) -> AsyncIterator[str]:
        try:
            async for piece in reply:
                yield self._text(piece, "yielded")
        finally:
            close = getattr(reply, "aclose", None)
            if close is not None:
                await close()

    def _texts(self, reply: object) -> Iterator[str]:
        if isinstance(reply, str):
            return iter((self._text(reply, "returned"),))
        is_value = isinstance(reply, (bytes, bytearray, Mapping)) or hasattr(reply, "model_dump_json")
        if is_value or not isinstance(reply, Iterable):
            self._text(reply, "returned")
        return self._iterate(cast("Iterable[object]", reply))

    def _iterate(self, reply: Iterable[object]) -> Iterator[str]:
        try:
            for piece in reply:
                yield self._text(piece, "yielded")
        finally:
            close = getattr(reply, "close", None)
            if close is not None:
                close()

    def _text(self, piece: object, verb: str) -> str:
        """Return a piece that is a string.

        Raises:
            ModelError: It is something else.
        """
        if isinstance(piece, str):
            # A subclass can have methods of its own; `ScoredText` ranks tokens.
            return piece if isinstance(piece, ScoredText) else str.__str__(piece)
        if piece is None:
            found, remedy = "None", "return the text of the reply; does the function lack a return statement?"
        elif isinstance(piece, (bytes, bytearray)):
            found, remedy = "bytes", "decode them, as in reply.decode()"
        else:
            is_model = hasattr(piece, "model_dump_json")
            remedy = "return its JSON, as in reply.model_dump_json()" if is_model else "return its text"
            found = f"a value of the type {type(piece).__name__}"
        raise ModelError(
            f"the function {verb} {found} and must return a string, or an iterator of strings; {remedy}",
            place=self.name,
        )
