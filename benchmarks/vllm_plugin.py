"""Values that vLLM writes with the plug-in of structkit, and with its own xgrammar and guidance.

```
PYTHON -m benchmarks.vllm_plugin write --data PATH --backend structkit --output structkit.jsonl
python -m benchmarks.vllm_plugin judge structkit.jsonl xgrammar.jsonl guidance.jsonl
```

`write` needs an interpreter that has vLLM and structkit; the demo model writes a text for each schema, all in one
batch, with temperature 1. Seconds are those of the processor, of the batch after a first batch that compiles. `judge`
checks the texts with the package `jsonschema`, in the draft that each schema names. A text is cut off if it is no JSON
when its 300 tokens are used up.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.data import read_cases
from benchmarks.launch import MODEL

_PROMPT = [{"role": "user", "content": "Ana Souza, 34, works as a nurse in Porto."}]
_MAX_TOKENS = 300


def main(arguments: Sequence[str] | None = None) -> int:
    """Write texts, or judge them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vllm_plugin", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    write = commands.add_parser("write")
    write.add_argument("--data", type=Path, required=True, help="MaskBench's JSONL")
    write.add_argument("--backend", choices=["structkit", "xgrammar", "guidance"], required=True)
    write.add_argument("--output", type=Path, required=True)
    write.add_argument("--schemas", type=int, default=60)
    write.add_argument("--seed", type=int, default=0)
    commands.add_parser("judge").add_argument("files", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    if options.command == "write":
        _write(options)
    else:
        print("| backend | refused | valid | cut off | invalid | tokens | tokens per second |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for path in options.files:
            _judge(path)
    return 0


def _write(options: argparse.Namespace) -> None:
    vllm: Any = import_module("vllm")
    is_ours = options.backend == "structkit"
    engine: dict[str, Any] = {"structured_outputs_config": {"backend": options.backend}}
    if is_ours:
        engine = {"logits_processors": [import_module("structkit.integrations.vllm").Guided]}
    model = vllm.LLM(
        model=str(MODEL),
        dtype="float32",
        enforce_eager=True,
        max_model_len=1_024,
        disable_log_stats=True,
        **engine,
    )
    rows: list[dict[str, Any]] = []
    accepted: list[tuple[dict[str, Any], Any]] = []
    for case in read_cases(options.data, options.schemas, options.seed):
        schema = json.dumps(case.schema)
        if is_ours:
            target: dict[str, Any] = {"extra_args": {"structkit_json": schema}}
        else:
            outputs = import_module("vllm.sampling_params").StructuredOutputsParams(json=schema)
            target = {"structured_outputs": outputs}
        params = vllm.SamplingParams(temperature=1.0, seed=1, max_tokens=_MAX_TOKENS, **target)
        row: dict[str, object] = {"schema": case.schema, "text": None, "tokens": 0}
        rows.append(row)
        try:
            # One token shows whether the request is refused.
            first = params.clone()
            first.max_tokens = 1
            model.chat(_PROMPT, first, use_tqdm=False)
        except Exception as error:
            row["error"] = str(error)
            continue
        accepted.append((row, params))
    for seed in (1, 2):
        for _, params in accepted:
            params.seed = seed
        start = time.process_time()
        outputs = model.chat([_PROMPT] * len(accepted), [params for _, params in accepted], use_tqdm=False)
        seconds = time.process_time() - start
    for (row, _), output in zip(accepted, outputs, strict=True):
        answer = output.outputs[0]
        row |= {"text": answer.text, "tokens": len(answer.token_ids), "finish": answer.finish_reason}
    lines = [{"backend": options.backend, "seconds": seconds}, *rows]
    options.output.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _judge(path: Path) -> None:
    jsonschema: Any = import_module("jsonschema")
    head, *rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    refused = [row for row in rows if row["text"] is None]
    counts = {"valid": 0, "cut": 0, "invalid": 0}
    faults: list[str] = []
    for row in rows:
        if row["text"] is None:
            continue
        validator = jsonschema.validators.validator_for(row["schema"])(row["schema"])
        try:
            value = json.loads(row["text"])
        except ValueError:
            counts["cut" if row["finish"] == "length" else "invalid"] += 1
            continue
        fault = next(validator.iter_errors(value), None)
        counts["valid" if fault is None else "invalid"] += 1
        if fault is not None:
            faults.append(f"{fault.message:.80} at {fault.json_path}")
    tokens = sum(row["tokens"] for row in rows)
    cells = [head["backend"], len(refused), *counts.values(), tokens, round(tokens / head["seconds"])]
    print("|", " | ".join(map(str, cells)), "|")
    for fault in faults:
        print(f"{head['backend']}: {fault}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
