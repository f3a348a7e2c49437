"""Metrics of a server, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from structkit.generate.output.result import Usage
from structkit.serve.bounds.admission import Admission

__all__ = ["Metrics"]


class Metrics:
    """Counters, times and gauges of one server, in a registry of its own.

    Args:
        admission: The queue, which the gauges read.
    """

    def __init__(self, admission: Admission) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "structkit_requests", "Requests by path and status", ["path", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "structkit_request_seconds", "Seconds of a request", ["path"], registry=self._registry
        )
        self._tokens = Counter("structkit_tokens", "Tokens by kind", ["kind"], registry=self._registry)
        running = Gauge("structkit_answers_running", "Answers in progress", registry=self._registry)
        waiting = Gauge("structkit_answers_waiting", "Answers in the queue", registry=self._registry)
        running.set_function(lambda: admission.running)
        waiting.set_function(lambda: admission.waiting)

    def count_request(self, path: str, status: int, seconds: float) -> None:
        """Count a request. The path is that of a route: one that a client invents would be a new series."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def count_tokens(self, usage: Usage) -> None:
        """Count the tokens of an answer."""
        self._tokens.labels("prompt").inc(usage.prompt_tokens)
        self._tokens.labels("generated").inc(usage.written_tokens)
        self._tokens.labels("forced").inc(usage.forced_tokens)

    def render(self) -> bytes:
        """Return the text that Prometheus reads."""
        return bytes(generate_latest(self._registry))
