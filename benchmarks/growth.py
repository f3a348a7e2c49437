"""Growth: time and memory for large numbers in a schema.

```
python -m benchmarks.growth --tokenizer tokenizer.json --svg growth.svg
```

`maxLength`, `maxItems`, `minItems`, the options of `enum` and the definitions in `$defs`, from 10 to 1,000,000; the
properties of an object, the depth of a value, the length of a text, the tokens of a vocabulary and the rows of a batch,
up to their limits. Each point is measured in a separate process, after a warm-up and without the disk cache. The
process compiles the schema, computes the first mask, and walks 300 tokens of a valid value: the first ones, or those at
the given depth or length. Memory is the peak minus the memory of the process before.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import multiprocessing
import random
import re
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import structkit as sk
from benchmarks.data import read_tokenizer
from benchmarks.plot import Panel, draw
from benchmarks.verdict import CLOCKS, Clock
from structkit.testing import RandomModel

__all__ = ["KEYWORDS", "Point", "curves", "main", "sizes_of", "table"]

SIZES = tuple(10**power for power in range(1, 7))
OTHER_SIZES = {
    "$defs": SIZES[:-1],
    "properties": (10, 100, 1_000, 2_000),
    "depth": (1, 10, 100, 200),
    "length": (10, 100, 1_000, 20_000),
    "vocabulary": (1_000, 10_000, 50_000, 128_000),
    "batch": (1, 8, 64, 512),
}
TOKENS = 300
WORDS = "the of and to in is you that it he was for on are as with his they be at one have this".split()

RAISED_LIMITS = sk.Limits(
    schema_nodes=10**8, regex_nodes=10**7, nfa_states=10**8, states=10**7, transitions=10**9
)
"""Limits that allow every size."""

_REFUSED = "refused: "

_MEMORY = 16 * 2**30
"""Bytes of address space; beyond them, a MemoryError is raised before the system kills the process."""


@dataclass(frozen=True)
class Point:
    """Measurements of one size.

    Attributes:
        keyword: The keyword that grows.
        size: Its size.
        raised: Whether the limits were raised for it.
        problem: The reason for missing measurements; otherwise empty.
        compiled: Seconds to read and compile the schema, or to its rejection.
        first_mask: Seconds from the schema to the first mask.
        steps: Seconds of one mask and one advance, for each token; for a batch the mean of its rows.
        memory: Bytes of the peak.
    """

    keyword: str
    size: int
    raised: bool = False
    problem: str = ""
    compiled: float = 0.0
    first_mask: float = 0.0
    steps: tuple[float, ...] = field(default=(), repr=False)
    memory: int = 0

    @property
    def name(self) -> str:
        """The name of the curve."""
        return f"{self.keyword}, limits raised" if self.raised else self.keyword


def _max_length(size: int) -> tuple[dict[str, object], list[object]]:
    text = " ".join(random.Random(0).choices(WORDS, k=TOKENS))[:size]
    return {"items": {"type": "string", "maxLength": size}}, [text] * TOKENS


def _max_items(size: int) -> tuple[dict[str, object], list[object]]:
    return {"items": {"type": "integer"}, "maxItems": size}, _integers(min(size, TOKENS))


def _min_items(size: int) -> tuple[dict[str, object], list[object]]:
    # Only the first few hundred tokens are needed, so a million integers are not encoded.
    return {"items": {"type": "integer"}, "minItems": size}, _integers(TOKENS)


def _enum(size: int) -> tuple[dict[str, object], list[object]]:
    chance = random.Random(0)
    options: list[object] = [f"{' '.join(chance.choices(WORDS, k=2))} {number}" for number in range(size)]
    return {"items": {"enum": options}}, chance.choices(options, k=TOKENS)


def _definitions(size: int) -> tuple[dict[str, object], list[object]]:
    """Definitions that refer to others, all of them reachable; the value is a chain of some."""
    definitions: dict[str, object] = {}
    for number in range(size):
        following, other = (f"#/$defs/D{(step * number + 1) % size}" for step in (1, 7))
        definitions[f"D{number}"] = {
            "type": "object",
            "properties": {"name": {"type": "string"}, "next": {"$ref": following}, "other": {"$ref": other}},
            "required": ["name"],
            "additionalProperties": False,
        }
    item: dict[str, object] = {"name": "the last"}
    for number in range(8):
        item = {"name": f"number {number}", "next": item}
    return {"items": {"$ref": "#/$defs/D0"}, "$defs": definitions}, [item] * TOKENS


def _properties(size: int) -> tuple[dict[str, object], list[object]]:
    """Optional properties with distinct values; the instances have every third property."""
    names = [f"field {number}" for number in range(size)]
    kinds: list[dict[str, object]] = [{"type": "integer"}, {"type": "string"}, {"type": "boolean"}]
    properties = {name: kinds[number % 3] for number, name in enumerate(names)}
    item = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"items": item}, [{name: number for number, name in enumerate(names) if number % 3 == 0}] * TOKENS


def _depth(size: int) -> tuple[dict[str, object], list[object]]:
    """A recursive value, measured at the given depth."""
    node = {
        "type": "object",
        "properties": {"in": {"$ref": "#/$defs/T"}, "list": {"items": {"type": "integer"}}},
    }
    value: object = {"list": _integers(TOKENS)}
    for _ in range(size):
        value = {"in": value}
    return {"items": {"$ref": "#/$defs/T"}, "$defs": {"T": {**node, "additionalProperties": False}}}, [value]


def _length(size: int) -> tuple[dict[str, object], list[object]]:
    """A list of objects, measured after the given number of tokens."""
    properties = {"id": {"type": "integer"}, "name": {"type": "string"}}
    item = {
        "type": "object",
        "properties": properties,
        "required": ["id", "name"],
        "additionalProperties": False,
    }
    words = random.Random(0)
    return {"items": item}, [{"id": n, "name": words.choice(WORDS)} for n in range((size + TOKENS) // 8 + 1)]


def _records(size: int) -> tuple[dict[str, object], list[object]]:
    """A schema independent of the size: records with free text, numbers and a choice."""
    properties = {"id": {"type": "integer"}, "name": {"type": "string"}, "kind": {"enum": ["new", "used"]}}
    item = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    words = random.Random(0)
    return {"items": item}, [
        {"id": n, "name": " ".join(words.choices(WORDS, k=3)), "kind": "new"} for n in range(TOKENS)
    ]


def _integers(count: int) -> list[object]:
    return [random.Random(number).randrange(1000) for number in range(count)]


KEYWORDS: Mapping[str, Callable[[int], tuple[dict[str, object], list[object]]]] = {
    "maxLength": _max_length,
    "maxItems": _max_items,
    "minItems": _min_items,
    "enum": _enum,
    "$defs": _definitions,
    "properties": _properties,
    "depth": _depth,
    "length": _length,
    "vocabulary": _records,
    "batch": _records,
}
"""For each name, a function from a size to the schema of an array, without its type, and the start of a valid array."""


def sizes_of(keyword: str) -> tuple[int, ...]:
    """Return the measured sizes of a keyword."""
    return OTHER_SIZES.get(keyword, SIZES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and draw the curves."""
    options = _parser().parse_args(arguments)
    points = []
    for keyword in options.keywords or KEYWORDS:
        for size in options.sizes or sizes_of(keyword):
            print(f"{keyword} {size:,}", file=sys.stderr, flush=True)
            points.append(_measure_in_process(Point(keyword, size), options))
            if points[-1].problem.startswith(_REFUSED):
                points.append(_measure_in_process(Point(keyword, size, raised=True), options))
    # Points with raised limits are listed below the others.
    points.sort(key=lambda point: (list(KEYWORDS).index(point.keyword), point.raised))
    print(table(points))
    if options.svg:
        options.svg.write_text(draw(curves(points)), encoding="utf-8")
    return 0


def table(points: Sequence[Point]) -> str:
    """Return the points as a Markdown table."""
    lines = [
        "| | size | compiled, ms | first mask, ms | a token, µs: median | mean | slowest | memory, MB |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for point in points:
        name = point.name.replace(point.keyword, f"`{point.keyword}`")
        cells = [name, f"{point.size:,}", _short(1e3 * point.compiled)]
        if point.problem:
            cells += [point.problem, "", "", ""]
        else:
            micros = 1e6 * np.asarray(point.steps)
            figures = (1e3 * point.first_mask, np.median(micros), micros.mean(), micros.max())
            cells += [_short(float(figure)) for figure in figures]
        lines.append(f"| {' | '.join([*cells, _short(point.memory / 1e6)])} |")
    return "\n".join(lines)


def curves(points: Sequence[Point]) -> list[Panel]:
    """Draw the points as four panels: the first mask, memory, the median token and the mean token."""
    measured = [point for point in points if not point.problem]
    failed = [point for point in points if point.problem]
    panels = [
        Panel("ms to the first mask", _by_name(measured, _first_mask), _by_name(failed, _compiled)),
        Panel("MB at the peak", _by_name(measured, _megabytes), _by_name(failed, _megabytes)),
        Panel(
            "µs for the median token",
            _by_name(measured, lambda point: 1e6 * float(np.median(point.steps))),
            {},
        ),
        Panel(
            "µs for a token in the mean",
            _by_name(measured, lambda point: 1e6 * float(np.mean(point.steps))),
            {},
        ),
    ]
    return [panel for panel in panels if panel.curves or panel.crosses]


def _first_mask(point: Point) -> float:
    return 1e3 * point.first_mask


def _compiled(point: Point) -> float:
    return max(0.1, 1e3 * point.compiled)


def _megabytes(point: Point) -> float:
    return max(0.1, point.memory / 1e6)


def _by_name(
    points: Sequence[Point], value: Callable[[Point], float]
) -> dict[str, list[tuple[float, float]]]:
    curves: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        curves.setdefault(point.name, []).append((point.size, value(point)))
    return curves


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _measure_in_process(point: Point, options: argparse.Namespace) -> Point:
    """Measure in a separate process, for a limited time after warm-up."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(
        target=_serve, args=(point, options.tokenizer, options.clock, sender), daemon=True
    )
    process.start()
    sender.close()
    try:
        receiver.recv()  # warmed up
        if receiver.poll(options.limit):
            point = receiver.recv()
        else:
            point = replace(point, problem=f"over {options.limit:.0f} s", compiled=options.limit)
    except EOFError:
        point = replace(point, problem="crashed")
    process.kill()
    process.join()
    return point


def _serve(point: Point, tokenizer_path: Path, clock: str, pipe: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    tokenizer = read_tokenizer(tokenizer_path)
    vocabulary = sk.Vocabulary.from_tokenizer(tokenizer)

    if point.keyword == "vocabulary":
        vocabulary = _smaller(vocabulary, point.size)

    def encode(value: list[object], after: int = 0) -> list[int]:
        text = json.dumps(value)
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        if point.keyword == "vocabulary":
            ids = RandomModel(0, vocabulary).encode_text(text[:4_000])
        return ids[: after + TOKENS]

    schema, value = KEYWORDS[point.keyword](point.size)
    # Tokens before the measured depth or length are not measured.
    after = {"depth": 4 * point.size, "length": point.size}.get(point.keyword, 0)
    tokens = encode(value, after)
    warm_up = {"items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}
    _measure(Point("", 0), warm_up, encode([1, "a b", 23]), vocabulary, CLOCKS[clock])
    pipe.send("warm")
    before = _reset_peak()
    point = _measure(point, schema, tokens, vocabulary, CLOCKS[clock])
    pipe.send(replace(point, memory=_peak() - before))


def _smaller(vocabulary: sk.Vocabulary, size: int) -> sk.Vocabulary:
    """Return the first tokens, which were merged first, and the single bytes; with the same end token."""
    tokens = [
        token if number < size or len(token) == 1 else b"" for number, token in enumerate(vocabulary.tokens)
    ]
    last = max(number for number, token in enumerate(tokens) if token)
    return sk.Vocabulary([*tokens[: last + 1], None], eos_token_ids={last + 1})


def _measure(
    point: Point,
    schema: Mapping[str, object],
    tokens: list[int],
    vocabulary: sk.Vocabulary,
    now: Clock,
) -> Point:
    out, steps = np.zeros(vocabulary.mask_words, np.uint32), []
    limits = RAISED_LIMITS if point.raised else sk.Limits()
    begin = now()
    try:
        guide = sk.compile({"type": "array", **schema}, vocabulary, cache=False, limits=limits)
    except sk.LimitExceeded as error:
        return replace(point, problem=f"{_REFUSED}`{error.limit}`", compiled=now() - begin)
    except MemoryError:
        return replace(point, problem="out of memory", compiled=now() - begin)
    compiled = now() - begin
    cursor = guide.cursor()
    cursor.fill_mask(out)
    first_mask = now() - begin
    cursors = [guide.cursor() for _ in range(point.size if point.keyword == "batch" else 1)]
    for cursor in cursors:
        for token in tokens[:-TOKENS]:
            cursor.fill_mask(out)
            cursor.advance(token)
    for token in tokens[-TOKENS:]:
        begin = now()
        for cursor in cursors:
            cursor.fill_mask(out)
            cursor.advance(token)
        steps.append((now() - begin) / len(cursors))
    return replace(point, compiled=compiled, first_mask=first_mask, steps=tuple(steps))


def _reset_peak() -> int:
    """Reset the peak memory of the process; return its current bytes."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # otherwise freed memory is reused and not counted
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    match = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert match
    return int(match[1]) * 1024


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer.json, gzipped or not")
    parser.add_argument(
        "--keywords",
        nargs="*",
        choices=list(KEYWORDS),
        metavar="NAME",
        help="keywords to measure; by default all",
    )
    parser.add_argument(
        "--sizes",
        nargs="*",
        type=int,
        help="by default powers of ten up to a million, or the sizes of the keyword",
    )
    parser.add_argument("--limit", type=float, default=300.0, help="maximum seconds for one size")
    parser.add_argument(
        "--clock", default="wall", choices=CLOCKS, help="cpu: processor time, for a busy machine"
    )
    parser.add_argument("--svg", type=Path, help="file for the drawing of the curves")
    return parser


if __name__ == "__main__":
    sys.exit(main())
