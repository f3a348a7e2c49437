"""SynCode on labelled grammars, in an environment of its own, because it needs an old version of transformers.

```
python3 -m venv ../syncode && ../syncode/bin/pip install torch==2.13.0 syncode==0.4.16
../syncode/bin/python -m benchmarks.grammars_syncode --data PATH --tokenizer PATH
```

The folders of `--data` and the rule for a right verdict are those of `benchmarks.grammars`, which measures structkit
with the same `--tokenizer`. SynCode gets the text of a grammar unchanged, with a rule `start` for another first rule;
for `python.lark` it has a grammar and an indenter of its own. A mask and an advance are one call there. Where its
parser fails, SynCode goes on without a constraint, so that the rest of a text counts as allowed. Times are processor
time of the thread.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="folder with one folder for each grammar")
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer.json, or with .gz")
    parser.add_argument("--names", help="only these grammars, with commas between them")
    parser.add_argument("--mode", default="grammar_strict", choices=["grammar_strict", "grammar_mask"])
    parser.add_argument("--limit", type=float, default=120, help="seconds for the texts of a grammar")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    os.environ.setdefault("SYNCODE_CACHE", f"{tempfile.mkdtemp()}/")
    tokenizer = _read_tokenizer(options.tokenizer)
    print(f"\nsyncode {import_module('importlib.metadata').version('syncode')}, {len(tokenizer):,} tokens\n")
    print("| grammar | build, s | right | of | p50, µs | p99 | max |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    names = (
        options.names.split(",") if options.names else sorted(path.name for path in options.data.iterdir())
    )
    for name in names:
        folder = options.data / name
        if (folder / "grammar.lark").exists():
            print(_row(name, folder, tokenizer, options.mode, options.limit), flush=True)
    return 0


def _row(name: str, folder: Path, tokenizer: Any, mode: str, limit: float) -> str:
    """Return the row of a grammar."""
    import numpy as np

    begin = time.thread_time()
    try:
        engine = _engine(folder, tokenizer, mode)
    except Exception as error:
        return f"| {name} | refused: {type(error).__name__}: {' '.join(str(error).split())[:90]} | | | | | |"
    build, end = time.thread_time() - begin, time.thread_time() + limit
    times: list[float] = []
    cases = [json.loads(line) for line in (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    right = sum(
        time.thread_time() < end and _accepts(engine, tokenizer, case["text"], times) == case["valid"]
        for case in cases
    )
    p50, p99, most = np.percentile(np.array(times or [0.0]) * 1e6, [50, 99, 100])
    return f"| {name} | {build:.1f} | {right} | {len(cases)} | {p50:,.0f} | {p99:,.0f} | {most:,.0f} |"


def _engine(folder: Path, tokenizer: Any, mode: str) -> Any:
    options = json.loads((folder / "options.json").read_text(encoding="utf-8"))
    text = (folder / "grammar.lark").read_text(encoding="utf-8")
    if (start := options.get("start", "start")) != "start":
        text = f"start: {start}\n{text}"
    grammar = import_module("syncode.parsers.grammars").Grammar(
        "python" if options.get("postlex") == "PythonIndenter" else text
    )
    module = import_module("syncode.grammar_mask.grammar_constrainer")
    return module.GrammarConstrainer(
        grammar,
        tokenizer,
        import_module("syncode.mask_store.byte_tokenizer").ByteTokenizer(tokenizer),
        use_cache=False,
        mode=mode,
        indent=grammar.name == "python",
    )


def _accepts(engine: Any, tokenizer: Any, text: str, times: list[float]) -> bool:
    """Return whether the masks allow a text, token by token, and an end behind it."""
    import torch

    engine.reset()
    tokens = [*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    ids = torch.tensor([[tokenizer.eos_token_id]])  # what precedes the answer is not parsed
    for token in tokens:
        scores = torch.zeros((1, len(tokenizer)))
        begin = time.thread_time()
        try:
            scores = engine.mask_scores(ids, scores)
        except Exception:  # a fault of its own ends a generation
            return False
        times.append(time.thread_time() - begin)
        if scores[0, token] == -float("inf"):
            return False
        ids = torch.cat([ids, torch.tensor([[token]])], dim=-1)
    return True


def _read_tokenizer(path: Path) -> Any:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    tokenizer = import_module("tokenizers").Tokenizer.from_str(content.decode())
    named = next(token for token in _end_names(tokenizer) if tokenizer.token_to_id(token) is not None)
    fast = import_module("transformers").PreTrainedTokenizerFast
    return fast(tokenizer_object=tokenizer, eos_token=named, pad_token=named)


def _end_names(tokenizer: Any) -> Iterator[str]:
    yield from ("<|end|>", "<｜end▁of▁sentence｜>", "</s>", "<|endoftext|>")
    yield from (each.content for each in tokenizer.get_added_tokens_decoder().values())


if __name__ == "__main__":
    sys.exit(main())
