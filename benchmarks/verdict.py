"""The outcome of one schema with one engine: the verdicts on its instances, and the times."""

from __future__ import annotations

import gc
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Literal, TypeAlias

from tokenizers import Tokenizer

from benchmarks.data import Case, Instance
from benchmarks.engines import Engine, Guide, Rejected

__all__ = ["CLOCKS", "Clock", "Kind", "Outcome", "Verdict", "measure", "peak_bytes"]

Kind = Literal["passed", "too loose", "too strict", "refused", "timeout", "crashed"]


Clock: TypeAlias = Callable[[], float]

CLOCKS: Mapping[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}
"""Seconds so far: wall time, or, for a busy machine, processor time of all threads."""

_CHECK_INTERVAL = 0.5
"""Seconds of wall time between checks of the limit."""


@dataclass(slots=True)
class Verdict:
    """The outcome of an instance.

    Attributes:
        valid: Whether the instance is valid.
        accepted: Whether the engine accepts it.
        tokens: Number of tokens of the instance.
        stopped: Position of the rejected token, or `tokens` if the end was rejected; -1 if the instance was accepted.
        reason: Explanation of a wrong verdict.
    """

    valid: bool
    accepted: bool
    tokens: int
    stopped: int
    reason: str = ""


@dataclass(slots=True)
class Outcome:
    """The outcome of a schema.

    Attributes:
        name: The id of the schema.
        kind: The outcome.
        tested: Whether the schema has instances.
        group: For a rejection, the reason reported by the engine; for a crash, the exception.
        reason: The message or traceback.
        first_mask: Seconds from the schema to the first mask, or to the rejection.
        steps: Seconds of one mask and one advance, for each token.
        memory: Growth of the process in bytes up to the first mask.
        verdicts: Verdicts on the instances that were reached.
    """

    name: str
    kind: Kind
    tested: bool
    group: str = ""
    reason: str = ""
    first_mask: float | None = None
    steps: list[float] = field(default_factory=list)
    memory: int = 0
    verdicts: list[Verdict] = field(default_factory=list)


class _Timeout(BaseException):
    """The limit has passed; not an `Exception`, so that no engine catches it."""


def measure(engine: Engine, tokenizer: Tokenizer, case: Case, limit: float, clock: Clock) -> Outcome:
    """Compile a schema and walk its instances, for at most `limit` seconds."""
    outcome = Outcome(case.name, "passed", bool(case.instances))
    encoded = [(instance, _encode(tokenizer, instance)) for instance in case.instances]
    gc.collect()
    gc.freeze()  # so that the next collection does not traverse the engine's caches and evict the processor's
    begin = clock()
    try:
        with _limited(limit, clock):
            guide = _first_mask(engine, case, outcome, clock)
            walk = _Walk(guide, tokenizer, engine.end_id, clock)
            for instance, tokens in encoded:
                outcome.verdicts.append(walk.verdict(instance, tokens, outcome.steps))
            guide.finish()
    except _Timeout:
        outcome.kind = "timeout"
        outcome.group = "first mask" if outcome.first_mask is None else "instances"
        outcome.reason = f"after {clock() - begin:.1f} s\n{traceback.format_exc(limit=-12)}"
    except Rejected as error:
        outcome.kind, outcome.group, outcome.reason = "refused", error.group, str(error)
        outcome.first_mask = clock() - begin
    except Exception as error:
        outcome.kind, outcome.group, outcome.reason = (
            "crashed",
            type(error).__name__,
            traceback.format_exc(limit=-12),
        )
    else:
        outcome.kind = _kind(outcome.verdicts)
    return outcome


def peak_bytes() -> int:
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _first_mask(engine: Engine, case: Case, outcome: Outcome, clock: Clock) -> Guide:
    before = _resident()
    begin = clock()
    guide = engine.compile(case.schema)
    guide.sequence().fill_mask()
    outcome.first_mask = clock() - begin
    outcome.memory = _resident() - before
    return guide


@dataclass(frozen=True, slots=True)
class _Walk:
    """A guide, with the data to walk a text and to report the rejected position."""

    guide: Guide
    tokenizer: Tokenizer
    end_id: int
    clock: Clock

    def verdict(self, instance: Instance, tokens: list[int], steps: list[float]) -> Verdict:
        """Walk the tokens of an instance; the seconds of each step are appended to `steps`."""
        now, sequence = self.clock, self.guide.sequence()
        for position, token in enumerate(tokens):
            begin = now()
            mask = sequence.fill_mask()
            masked = now()
            if not mask[token >> 5] >> (token & 31) & 1:
                return self._rejected(instance, tokens, position)
            resumed = now()
            accepted = sequence.advance(token)
            steps.append(now() - resumed + masked - begin)
            if not accepted:
                raise RuntimeError(
                    f"the mask allows token {token} ({position} of {instance.text:.200}), but advance rejects it"
                )
        if not sequence.fill_mask()[self.end_id >> 5] >> (self.end_id & 31) & 1:
            return self._rejected(instance, tokens, len(tokens))
        return Verdict(instance.valid, True, len(tokens), -1, "" if instance.valid else instance.text[:2000])

    def _rejected(self, instance: Instance, tokens: list[int], position: int) -> Verdict:
        if not instance.valid:
            return Verdict(False, False, len(tokens), position)
        before, token, after = (
            self.tokenizer.decode(tokens[max(0, start) : end], skip_special_tokens=False)
            for start, end in ((position - 30, position), (position, position + 1), (position, position + 8))
        )
        return Verdict(
            True, False, len(tokens), position, f"rejects {token or 'the end'!r} in …{before} ⟂ {after}…"
        )


def _kind(verdicts: list[Verdict]) -> Kind:
    if any(verdict.accepted and not verdict.valid for verdict in verdicts):
        return "too loose"
    return "too strict" if any(verdict.valid and not verdict.accepted for verdict in verdicts) else "passed"


def _encode(tokenizer: Tokenizer, instance: Instance) -> list[int]:
    ids: list[int] = tokenizer.encode(instance.text, add_special_tokens=False).ids
    return ids


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@contextmanager
def _limited(seconds: float, clock: Clock) -> Iterator[None]:
    """Raise `_Timeout` after some seconds; compiled code delays it to the next line of Python."""
    begin = clock()

    def check_limit(signum: int, frame: FrameType | None) -> None:
        # A timer of processor time would reduce the clock to the scheduler's resolution.
        if clock() - begin >= seconds:
            raise _Timeout

    old = signal.signal(signal.SIGALRM, check_limit)
    signal.setitimer(signal.ITIMER_REAL, seconds, _CHECK_INTERVAL)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
