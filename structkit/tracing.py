"""Spans of OpenTelemetry. The only file that imports it.

OpenTelemetry is never imported first: a program with spans has imported it and set a tracer provider. Otherwise
`start_span` returns `None`, within a few microseconds.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from opentelemetry import trace
    from opentelemetry.context import Context

__all__ = ["Attribute", "Span", "captures_content", "start_span"]

Attribute: TypeAlias = "str | bool | int | float | Sequence[str] | None"
"""The value of an attribute; `None` sets nothing."""

_CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURES = frozenset({"true", "1", "span_only", "span_and_event"})
"""The values of the variable with which spans contain messages."""


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """A span that has started.

    Attributes:
        context: The context of its children.
    """

    context: Context
    _span: trace.Span

    def set(self, attributes: Mapping[str, Attribute]) -> None:
        """Set attributes."""
        self._span.set_attributes({name: value for name, value in attributes.items() if value is not None})

    def add_event(self, name: str, attributes: Mapping[str, Attribute]) -> None:
        """Add an event at this time."""
        self._span.add_event(name, {name: value for name, value in attributes.items() if value is not None})

    def set_json(self, name: str, value: object) -> None:
        """Set an attribute to the JSON of a value."""
        self._span.set_attribute(name, json.dumps(value, ensure_ascii=False, default=str))

    @contextmanager
    def activate(self) -> Iterator[None]:
        """Make this the current span of the code in the block."""
        from opentelemetry import context

        token = context.attach(self.context)
        try:
            yield
        finally:
            context.detach(token)

    def end(self, error: BaseException | None = None) -> None:
        """End the span. The type of an error is recorded; its message can contain texts of users or of the model."""
        if error is not None:
            from opentelemetry.trace import StatusCode

            self._span.set_attribute("error.type", _type_name(error))
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


def start_span(
    operation: str,
    subject: str | None,
    attributes: Mapping[str, Attribute],
    *,
    parent: Span | None = None,
) -> Span | None:
    """Start a span of a GenAI operation; `None` without a tracer provider, or if the span is not sampled.

    Args:
        operation: The operation, such as `chat`.
        subject: What the name of the span has after the operation, such as the model.
        attributes: The attributes.
        parent: The parent; by default the current span.
    """
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace
    from opentelemetry.context import get_current

    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        return None
    context = get_current() if parent is None else parent.context
    known = {"gen_ai.operation.name": operation, "gen_ai.provider.name": "structkit", **attributes}
    span = trace.get_tracer("structkit", tracer_provider=provider).start_span(
        operation if subject is None else f"{operation} {subject}",
        context,
        attributes={name: value for name, value in known.items() if value is not None},
    )
    if not span.is_recording():
        return None
    return Span(trace.set_span_in_context(span, context), span)


def captures_content(explicit: bool | None) -> bool:
    """Return whether spans and traces contain messages, arguments and results: as given, or as in the variable."""
    return os.environ.get(_CONTENT_VARIABLE, "").lower() in _CAPTURES if explicit is None else explicit


def _type_name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
