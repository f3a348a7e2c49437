"""A process for one engine, so that a hang or crash does not affect other engines."""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.data import Case, read_tokenizer
from benchmarks.engines import ENGINES
from benchmarks.verdict import CLOCKS, Outcome, measure, peak_bytes

__all__ = ["Worker"]

_GRACE_SECONDS = 10.0
"""Seconds beyond the limit for compiled code to return to Python before the process is killed."""

_WALL_PER_CPU = 20
"""Factor of wall time per second of processor time on a busy machine."""

_MEMORY = 12 * 2**30
"""Bytes of address space; beyond them, an engine gets a MemoryError before the system kills the process."""

_WARM_UP: dict[str, object] = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": "array", "items": {"type": "number"}},
        "c": {"enum": ["x"]},
        "d": {"type": "string", "pattern": "^(\\S+\\s+){0,9}\\S+$"},
    },
    "required": ["a", "b"],
}
"""Compiled and walked as warm-up; `benchmarks.startup` measures the startup of engines."""

_UNIQUE: dict[str, object] = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
"""Further warm-up, for engines that support it."""


class Worker:
    """An engine in a separate process, which is restarted after it is killed."""

    def __init__(self, engine: str, tokenizer: Path, limit: float, clock: str) -> None:
        self.engine = engine
        self._tokenizer = tokenizer
        self._limit = limit
        self._clock = clock
        self._start()

    def run(self, case: Case) -> Outcome:
        """Measure one schema."""
        self._pipe.send(case)
        if self._pipe.poll((self._limit + _GRACE_SECONDS) * (1 if self._clock == "wall" else _WALL_PER_CPU)):
            try:
                outcome = self._pipe.recv()
            except EOFError:
                self._process.join()
                outcome = Outcome(
                    case.name, "crashed", bool(case.instances), "died", f"exit {self._process.exitcode}"
                )
                self._start()
        else:
            outcome = Outcome(
                case.name, "timeout", bool(case.instances), "killed", "does not return to Python"
            )
            self.kill()
            self._start()
        assert isinstance(outcome, Outcome)
        return outcome

    def close(self) -> int:
        """End the process; return its peak memory in bytes."""
        self._pipe.send(None)
        peak = self._pipe.recv()
        self._process.join(_GRACE_SECONDS)
        assert isinstance(peak, int)
        return peak

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, worker_pipe = context.Pipe()
        arguments = (self.engine, self._tokenizer, self._limit, self._clock, worker_pipe)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        worker_pipe.close()
        ready = self._pipe.recv()
        if ready != "ready":
            raise SystemExit(f"{self.engine} failed to start: {ready}")


def _serve(name: str, tokenizer_path: Path, limit: float, clock: str, pipe: Connection) -> None:
    for variable in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    try:
        tokenizer = read_tokenizer(tokenizer_path)
        engine = ENGINES[name](tokenizer)
        _warm_up(engine, tokenizer)
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")
        return
    gc.collect()
    gc.freeze()  # otherwise the collection before each schema traverses all imported objects and evicts CPU caches
    pipe.send("ready")
    while (case := pipe.recv()) is not None:
        pipe.send(measure(engine, tokenizer, case, limit, CLOCKS[clock]))
    pipe.send(peak_bytes())


def _warm_up(engine: object, tokenizer: object) -> None:
    from benchmarks.data import Instance

    text = '{"a": "Ana é \\n", "b": [1.5, -2], "c": "x", "d": "a b c"}'
    for schema, instance, expected in (
        (_WARM_UP, text, ["passed"]),
        (_UNIQUE, '["k", "ka"]', ["passed", "refused"]),
    ):
        case = Case("warm-up", schema, (Instance(True, instance),))
        outcome = measure(engine, tokenizer, case, 600.0, CLOCKS["wall"])  # type: ignore[arg-type]
        if outcome.kind not in expected:
            raise RuntimeError(f"the warm-up failed: {outcome.kind} {outcome.reason} {outcome.verdicts}")
