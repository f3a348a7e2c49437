"""Benchmark data: prompts, and schemas with instances and tokenizers, read from given files."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["PROMPTS", "Case", "Instance", "read_cases", "read_tokenizer"]

PROMPTS = (
    "Ana Souza, 34, works as a nurse in Porto.",
    "Tom Miller is 7 and goes to school.",
    "Maria Silva, 51, is an engineer from Lisbon.",
    "Three pens at 1.20 and two books at 12.50, please.",
    "The page is blank after I log in, please help soon!",
    "Order 4711 goes to John Smith, 12 Main Street, 12345 Springfield.",
    "Run two copies of the web server on port 8080.",
    "Hello, I am Luca, I am twenty, and I have two sisters.",
)
"""Texts to extract from; most suit one of the schemas of a benchmark, and none suits all."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A document and whether it is valid."""

    valid: bool
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """A schema and its instances."""

    name: str
    schema: Mapping[str, object]
    instances: tuple[Instance, ...]


def read_cases(path: Path, count: int | None, seed: int) -> list[Case]:
    """Read MaskBench's JSONL, and select `count` schemas at random; `None` selects all."""
    with _open(path) as file:
        lines = file.read().splitlines()
    if count is not None and count < len(lines):
        chosen = random.Random(seed).sample(range(len(lines)), count)
        lines = [lines[i] for i in sorted(chosen)]
    return [_case(json.loads(line)) for line in lines]


def read_tokenizer(path: Path) -> Tokenizer:
    """Read a `tokenizer.json`, gzipped or not."""
    from tokenizers import Tokenizer

    with _open(path) as file:
        return Tokenizer.from_buffer(file.read())


def _case(line: dict[str, object]) -> Case:
    tests = line["tests"]
    assert isinstance(tests, list)
    schema = line["schema"]
    instances = tuple(Instance(test["valid"], json.dumps(test["data"], ensure_ascii=False)) for test in tests)
    # MaskBench has schemas `true` and `false`; engines get the equivalent object.
    if isinstance(schema, bool):
        schema = {} if schema else {"not": {}}
    assert isinstance(schema, dict)
    return Case(str(line["id"]), schema, instances)


def _open(path: Path) -> gzip.GzipFile:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]
