"""Masks of a batch: `Guide.fill_masks` beside the batch calls of xgrammar and llguidance, for 1 to 256 rows.

```
python -m benchmarks.batch --data PATH --tokenizer PATH --schemas 20
```

Each row writes a valid instance of a MaskBench schema, token by token; row n follows schema n, modulo their number. One
call fills the masks of a step, and only this call is timed, by the processor's clock. The first pass over the instances
is not timed. The other engines use one thread, and the schemas are those that all engines compile and whose instance
they accept.

The second table has one or two threads that each fill 256 rows, by the wall clock, the best of five runs.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

import structkit as sk
from benchmarks.data import read_cases, read_tokenizer

ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_STEPS = 2_000
"""Calls per cell, at most."""


class _Structkit:
    """`Guide.fill_masks`, or `Cursor.fill_mask` for each row."""

    def __init__(self, tokenizer: Tokenizer, *, is_batch: bool) -> None:
        self.vocabulary = sk.Vocabulary.from_tokenizer(tokenizer)
        self._is_batch = is_batch

    def compile(self, schema: str) -> sk.Guide:
        return sk.compile(sk.JsonSchema(json.loads(schema)), self.vocabulary, cache=False)

    def start(self, guide: sk.Guide) -> sk.Cursor:
        return guide.cursor()

    def advance(self, cursor: sk.Cursor, token: int) -> bool:
        try:
            cursor.advance(token)
        except sk.TokenRejected:
            return False
        return True

    def fill(self, cursors: list[sk.Cursor], out: NDArray[np.uint32]) -> None:
        if self._is_batch:
            cursors[0].guide.fill_masks(cursors, out)
        else:
            for row, cursor in enumerate(cursors):
                cursor.fill_mask(out[row])


class _Xgrammar:
    """`BatchGrammarMatcher.batch_fill_next_token_bitmask`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        xgrammar = import_module("xgrammar")
        vocabulary = sk.Vocabulary.from_tokenizer(tokenizer)
        info = xgrammar.TokenizerInfo(list(vocabulary.tokens), stop_token_ids=list(vocabulary.eos_token_ids))
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1)
        self._matcher = xgrammar.GrammarMatcher
        self._batch = xgrammar.BatchGrammarMatcher(max_threads=1)

    def compile(self, schema: str) -> Any:
        return self._compiler.compile_json_schema(schema, any_whitespace=False, strict_mode=False)

    def start(self, guide: Any) -> Any:
        return self._matcher(guide)

    def advance(self, matcher: Any, token: int) -> bool:
        return bool(matcher.accept_token(token))

    def fill(self, matchers: list[Any], out: NDArray[np.uint32]) -> None:
        self._batch.batch_fill_next_token_bitmask(matchers, out.view(np.int32))


class _Llguidance:
    """`llguidance.numpy.fill_next_token_bitmask_par`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        llguidance = import_module("llguidance")
        self._matcher = llguidance.LLMatcher
        self._fill = import_module("llguidance.numpy").fill_next_token_bitmask_par
        self._executor = llguidance.LLExecutor(num_threads=1)
        slices = llguidance.LLTokenizer.json_slices()
        end = sk.Vocabulary.from_tokenizer(tokenizer).eos_token_ids[0]
        self._tokenizer = llguidance.LLTokenizer(tokenizer.to_str(), eos_token=end, slices=slices)

    def compile(self, schema: str) -> Any:
        spaced = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
        matcher = self._matcher(
            self._tokenizer, self._matcher.grammar_from_json_schema(schema, defaults=spaced), log_level=0
        )
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def start(self, guide: Any) -> Any:
        return guide.deep_copy()

    def advance(self, matcher: Any, token: int) -> bool:
        return bool(matcher.consume_token(token))

    def fill(self, matchers: list[Any], out: NDArray[np.uint32]) -> None:
        self._fill(
            self._executor, [(matcher, row) for row, matcher in enumerate(matchers)], out.view(np.int32)
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print two tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="MaskBench's JSONL")
    parser.add_argument("--tokenizer", type=Path, required=True, help="a tokenizer.json")
    parser.add_argument("--schemas", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    tokenizer = read_tokenizer(options.tokenizer)
    engines: dict[str, Any] = {
        "fill_masks": _Structkit(tokenizer, is_batch=True),
        "fill_mask, one by one": _Structkit(tokenizer, is_batch=False),
    }
    engines |= {
        name: kind(tokenizer)
        for name, kind in {"xgrammar": _Xgrammar, "llguidance": _Llguidance}.items()
        if find_spec(name)
    }
    texts, guides = _texts(options, tokenizer, engines)
    words = engines["fill_masks"].vocabulary.mask_words
    print(
        f"{len(texts)} schemas, {sum(map(len, texts)) / len(texts):.0f} tokens on average; microseconds per row\n"
    )
    print("| rows |", " | ".join(f"{name}: mean | p99" for name in engines), "|")
    print("|---|" + "---|" * 2 * len(engines))
    for rows in ROWS:
        cells = []
        for name, engine in engines.items():
            out = np.zeros((rows, words), np.uint32)
            _walk(engine, guides[name], texts, out)
            times = _walk(engine, guides[name], texts, out)
            cells.append(f"{1e6 * np.mean(times) / rows:.2f} | {1e6 * np.quantile(times, 0.99) / rows:.2f}")
        print(f"| {rows} |", " | ".join(cells), "|", flush=True)
    print("\n| threads | rows per second |\n|---|---|")
    for count in (1, 2):
        print(
            f"| {count} | {_rows_per_second(engines['fill_masks'], guides['fill_masks'], texts, count):,.0f} |"
        )
    return 0


def _texts(
    options: argparse.Namespace, tokenizer: Tokenizer, engines: dict[str, Any]
) -> tuple[list[list[int]], dict[str, list[Any]]]:
    """Return the tokens of valid instances that all engines accept, and the guides of each engine."""
    texts: list[list[int]] = []
    guides: dict[str, list[Any]] = {name: [] for name in engines}
    for case in read_cases(options.data, 4 * options.schemas, options.seed):
        valid = next((each.text for each in case.instances if each.valid), None)
        if valid is None or len(texts) == options.schemas:
            continue
        text = json.dumps(json.loads(valid), ensure_ascii=False)
        tokens = tokenizer.encode(text, add_special_tokens=False).ids[:300]
        schema = json.dumps(case.schema)
        try:
            compiled = {name: engine.compile(schema) for name, engine in engines.items()}
        except (ValueError, RuntimeError, sk.StructkitError):
            continue
        starts = {name: engines[name].start(guide) for name, guide in compiled.items()}
        if all(engines[name].advance(each, token) for token in tokens for name, each in starts.items()):
            texts.append(tokens)
            for name, guide in compiled.items():
                guides[name].append(guide)
    return texts, guides


def _walk(engine: Any, guides: list[Any], texts: list[list[int]], out: NDArray[np.uint32]) -> list[float]:
    """Fill the masks of all rows at each token, and return the seconds of each call."""
    rows, times = len(out), []
    states = [engine.start(guides[row % len(texts)]) for row in range(rows)]
    # Rows start at different places of their texts.
    places = [7 * row % len(texts[row % len(texts)]) for row in range(rows)]
    for row, state in enumerate(states):
        for token in texts[row % len(texts)][: places[row]]:
            engine.advance(state, token)
    for _ in range(min(_STEPS, max(map(len, texts)), 4 * _STEPS // rows)):
        start = time.process_time()
        engine.fill(states, out)
        times.append(time.process_time() - start)
        for row in range(rows):
            text = texts[row % len(texts)]
            if places[row] == len(text):
                states[row], places[row] = engine.start(guides[row % len(texts)]), 0
            else:
                engine.advance(states[row], text[places[row]])
                places[row] += 1
    return times


def _rows_per_second(engine: Any, guides: list[Any], texts: list[list[int]], threads: int) -> float:
    """Return the rows per second of threads that each fill batches of 256 rows."""
    words = engine.vocabulary.mask_words

    def worker(cursors: list[Any], barrier: threading.Barrier) -> Callable[[], None]:
        out = np.zeros((256, words), np.uint32)

        def work() -> None:
            barrier.wait()
            for _ in range(400):
                engine.fill(cursors, out)

        return work

    best = 0.0
    for _ in range(5):
        barrier = threading.Barrier(threads + 1)
        workers = []
        for number in range(threads):
            cursors = []
            for row in range(256):
                cursor = engine.start(guides[row % len(texts)])
                text = texts[row % len(texts)]
                for token in text[: (7 * row + number) % len(text)]:
                    engine.advance(cursor, token)
                cursors.append(cursor)
            workers.append(threading.Thread(target=worker(cursors, barrier)))
        for each in workers:
            each.start()
        barrier.wait()
        start = time.perf_counter()
        for each in workers:
            each.join()
        best = max(best, threads * 400 * 256 / (time.perf_counter() - start))
    return best


if __name__ == "__main__":
    sys.exit(main())
