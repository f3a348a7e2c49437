"""Startup: time until structkit is usable, in a new process and on a new machine.

```
python -m benchmarks.startup --tokenizer tokenizer.json --runs 5
```

Three tables: import; the first use on a machine, in which the caches on disk are empty; and a later process. Kernels
without object code are compiled on the first use; to measure this, remove the folder
`structkit/automaton/core/compiled`. Each run is a separate process, and every number is a median. Bytecode is compiled,
as after `pip install`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

IMPORT = """
import json, sys, time
begin = time.perf_counter()
import structkit
imported = time.perf_counter()
heavy = sorted({"torch", "transformers", "numba", "pydantic", "numpy"} & set(sys.modules))
structkit.compile
print(json.dumps({"import structkit": imported - begin, "structkit.compile (first access)":
    time.perf_counter() - imported, "modules": ", ".join(heavy)}))
"""
"""Code of a process that only imports."""

USE = """
import json, sys, time
stages, begin = {}, time.perf_counter()
def stage(name):
    global begin
    stages[name], begin = time.perf_counter() - begin, time.perf_counter()
import numpy, pydantic, structkit as sk
class Person(pydantic.BaseModel):
    name: str
    age: int
    tags: list[str] = []
stage("import")
sk.compile
stage("the compiler's modules")
if sys.argv[1]:
    from pathlib import Path
    from benchmarks.data import read_tokenizer
    tokenizer = read_tokenizer(Path(sys.argv[1]))
    begin = time.perf_counter()
    vocabulary = sk.Vocabulary.from_tokenizer(tokenizer)
else:
    vocabulary = sk.testing.byte_vocabulary()
stage("the vocabulary")
vocabulary.trie
stage("its trie")
guide = sk.compile(Person, vocabulary)
cursor, out = guide.cursor(), numpy.zeros(vocabulary.mask_words, numpy.uint32)
cursor.fill_mask(out)
stage("compile, first mask")
tokens = [vocabulary.tokens.index(bytes([byte])) for byte in b'{"name": "Ana", "age": 34, "tags": ["x"]}']
begin = time.perf_counter()
for token in tokens:
    cursor.advance(token)
    cursor.fill_mask(out)
stage("one value, byte by byte")
sk.generate(sk.testing.RandomModel(0, vocabulary), "", Person, max_tokens=60, temperature=1.0, seed=0)
stage("the first generate")
sk.compile(Person, vocabulary).cursor().fill_mask(out)
stage("compile again, first mask")
print(json.dumps(stages | {"all": sum(stages.values())}))
"""
"""Code of a process that uses structkit."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the tables."""
    options = _parser().parse_args(arguments)
    tokenizer = str(options.tokenizer.resolve()) if options.tokenizer else ""
    with tempfile.TemporaryDirectory() as folder:
        bytecode = {"PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
        later = {**bytecode, **_caches(f"{folder}/later")}
        _run(USE, tokenizer, later)
        imports = [_run(IMPORT, "", later) for _ in range(options.runs)]
        later_runs = [_run(USE, tokenizer, later) for _ in range(options.runs)]
        fresh = [{**bytecode, **_caches(f"{folder}/{run}")} for run in range(options.first_runs)]
        first_runs = [_run(USE, tokenizer, environment) for environment in fresh]
    print(_table("Importing", imports))
    print(_table("The first use on a machine", first_runs))
    print(_table("A later process", later_runs))
    return 0


def _caches(folder: str) -> dict[str, str]:
    """The environment of a process whose caches are in a folder."""
    return {"NUMBA_CACHE_DIR": f"{folder}/kernels", "STRUCTKIT_CACHE_DIR": f"{folder}/guides"}


def _run(code: str, argument: str, environment: Mapping[str, str]) -> dict[str, float | str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code, argument],
        env={**inherited, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    measured: dict[str, float | str] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _table(title: str, runs: Sequence[Mapping[str, float | str]]) -> str:
    lines = [
        f"{title} ({len(runs)} processes):",
        "",
        "| | median ms | fastest | slowest |",
        "|---|---|---|---|",
    ]
    for name in runs[0]:
        times = [1000 * value for run in runs if not isinstance(value := run[name], str)]
        if times:
            lines.append(f"| {name} | {statistics.median(times):.1f} | {min(times):.1f} | {max(times):.1f} |")
        else:
            lines.append(f"| {name} | {runs[0][name]} | | |")
    return "\n".join([*lines, ""])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument(
        "--tokenizer", type=Path, help="tokenizer.json, gzipped or not; by default the 256 bytes"
    )
    parser.add_argument("--runs", type=int, default=5, help="processes for importing and for later uses")
    parser.add_argument("--first-runs", type=int, default=2, help="processes that compile the kernels")
    return parser


if __name__ == "__main__":
    sys.exit(main())
