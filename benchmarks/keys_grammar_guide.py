"""The arm of `benchmarks.keys` that runs grammar-guide, in an environment of its own.

```
pip install grammar-guide==0.0.11 guidance==0.1.16 transformers==4.45.2 torch "setuptools<75"
```

grammar-guide 0.0.11 needs the guidance and the transformers of its time. This script reads a line of JSON with the
settings, then one for each case, and prints one line of JSON for each case. The demo model drafts and, with guidance,
chooses the corrections.
"""

from __future__ import annotations

import inspect
import json
import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def main() -> None:
    work = json.loads(sys.stdin.readline())
    import torch

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    model, tokenizer = load(Path(work["model"]))
    passes = [0]
    model.register_forward_hook(lambda *_: passes.__setitem__(0, passes[0] + 1))

    import grammar_guide
    import guidance

    guide = without_asserts()
    target = guidance.models.Transformers(model=model, tokenizer=tokenizer, echo=False)
    for line in sys.stdin:
        case = json.loads(line)
        parser = grammar_guide.load_parser(case["grammar"])
        outcome = {"text": "", "corrections": 0, "error": ""}
        passes[0] = 0
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            found = guide(
                draft_model=model,
                tokenizer=tokenizer,
                parser=parser,
                prompt=case["prompt"],
                target_model=target,
                max_grammar_corrections=work["corrections"],
                token_lookahead=work["lookahead"],
                temperature=0.0,
                save_html=False,
                verbose=False,
            )
            outcome |= {"text": found.response, "corrections": found.num_grammar_corrections}
        except Exception as error:
            outcome["error"] = f"{type(error).__name__}: {error}"[:200]
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(json.dumps(outcome | {"wall": wall, "cpu": cpu, "passes": passes[0]}), flush=True)


def load(folder: Path) -> tuple[Any, Any]:
    """Load the demo model with a transformers of 2024, from a copy with a configuration of that time."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    bytes_to_unicode = import_module("transformers.models.gpt2.tokenization_gpt2").bytes_to_unicode

    config = json.loads((folder / "config.json").read_text())
    config |= {"rope_theta": config.pop("rope_parameters")["rope_theta"], "torch_dtype": config.pop("dtype")}
    with tempfile.TemporaryDirectory() as copy:
        for path in folder.iterdir():
            (Path(copy) / path.name).write_bytes(path.read_bytes())
        (Path(copy) / "config.json").write_text(json.dumps(config))
        tokenizer = AutoTokenizer.from_pretrained(copy)
        model = AutoModelForCausalLM.from_pretrained(copy, torch_dtype=torch.float32)
    # guidance otherwise downloads the tokenizer of GPT-2 for this table.
    tokenizer.byte_decoder = {character: byte for byte, character in bytes_to_unicode().items()}
    return model, tokenizer


def without_asserts() -> Callable[..., Any]:
    """Return `grammar_guide.guide` without its `assert` statements.

    They fail after a draft with an end token in its middle, and would end most of the values here.
    """
    import grammar_guide  # noqa: F401

    # The package has a function of this name, so an import would not find the module.
    module = sys.modules["grammar_guide.guide"]
    exec(compile(inspect.getsource(module), inspect.getfile(module), "exec", optimize=1), module.__dict__)
    guide: Callable[..., Any] = module.guide
    return guide


if __name__ == "__main__":
    main()
