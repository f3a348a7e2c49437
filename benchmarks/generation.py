"""Complete generation: tokens per second unconstrained, with structkit, and with other engines in transformers.

```
python -m benchmarks.generation --tokenizer tokenizer.json
```

Six schemas from flat to deep, on the demo model and on a Llama with 100 million random weights and the vocabulary of
the tokenizer, one prompt at a time and 24 in batches of eight. All read the same prompts, after a warm-up: the demo
model those with the description of the schema, with greedy decoding. The Llama draws its tokens at random, since random
weights prefer no spelling of a text: structkit then writes forced text in the tokens of the tokenizer. "Unconstrained"
and the other engines run in the loop of transformers, the engines as logits processors;
structkit runs its own loop. Unconstrained text has as many tokens as structkit's values have on average.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Len, MaxLen
from pydantic import BaseModel, Field

import structkit as sk
from benchmarks.data import PROMPTS, read_tokenizer
from benchmarks.verdict import CLOCKS, Clock
from structkit.models.transformers.model import TransformersModel

Word = Annotated[str, MaxLen(20)]


class Person(BaseModel):
    """Flat."""

    name: Word
    age: int = Field(ge=0, le=120)
    job: Word | None


class Ticket(BaseModel):
    """Flat, with many choices."""

    title: Word
    kind: Literal["bug", "feature", "question"]
    priority: Literal["low", "normal", "high", "urgent"]
    open: bool
    votes: int = Field(ge=0, le=1000)
    component: Literal["frontend", "backend", "database", "documentation"]
    assignee: Word | None


class Item(BaseModel):
    """A line of an order."""

    product: Word
    quantity: int = Field(ge=1, le=99)
    unit_price: float = Field(ge=0, le=1000)


class Basket(BaseModel):
    """A list of objects."""

    items: Annotated[list[Item], Len(2, 4)]


class Address(BaseModel):
    """An address."""

    street: Word
    postal_code: Annotated[str, Field(pattern=r"^\d{5}$")]
    city: Word


class Customer(BaseModel):
    """A customer with two addresses."""

    customer_name: Word
    billing_address: Address
    shipping_address: Address


class Order(BaseModel):
    """Objects in objects."""

    order_number: int = Field(ge=0, le=99999)
    customer: Customer
    order_items: Annotated[list[Item], Len(1, 3)]
    paid: bool


class Port(BaseModel):
    """A port of a service."""

    container_port: int = Field(ge=1, le=65535)
    protocol: Literal["TCP", "UDP"]


class Container(BaseModel):
    """A container of a pod."""

    container_name: Word
    image: Word
    ports: Annotated[list[Port], Len(1, 2)]
    read_only: bool


class Pod(BaseModel):
    """A pod of a deployment."""

    restart_policy: Literal["Always", "OnFailure", "Never"]
    containers: Annotated[list[Container], Len(1, 2)]


class Deployment(BaseModel):
    """Four levels deep."""

    api_version: Literal["apps/v1"]
    kind: Literal["Deployment"]
    replicas: int = Field(ge=0, le=20)
    template: Pod


class Tree(BaseModel):
    """Recursive."""

    label: Word
    children: Annotated[list[Tree], MaxLen(2)]


SCHEMAS: tuple[type[BaseModel], ...] = (Person, Ticket, Basket, Order, Deployment, Tree)

Run = Callable[[Sequence[list[int]], int], int]
"""A function from prompts and the batch size to the generated tokens."""


@dataclass(frozen=True)
class Setting:
    """Common input of all engines."""

    model: TransformersModel
    max_tokens: int
    clock: Clock
    is_trained: bool

    @property
    def temperature(self) -> float:
        """0 for greedy decoding."""
        return 0.0 if self.is_trained else 1.0

    def prompts(self, target: type[BaseModel], count: int) -> list[list[int]]:
        """Return prompts, for a trained model with the description of the target."""
        texts = [PROMPTS[number * 5 % 8] for number in range(count)]
        if self.is_trained:
            texts = [sk.render_prompt(self.model, text, target) for text in texts]
        return [self.model.encode(text) for text in texts]

    def structkit(self, texts: Sequence[str], target: type[BaseModel], size: int) -> list[sk.Result[Any]]:
        """Run structkit's loop."""
        return sk.generate_many(
            self.model,
            texts,
            target,
            batch_size=size,
            max_tokens=self.max_tokens,
            include_schema=self.is_trained,
            temperature=self.temperature,
            seed=0,
            progress=False,
        )

    def generate(
        self, prompts: Sequence[list[int]], size: int, options: Callable[[int], dict[str, object]]
    ) -> int:
        """Run the loop of transformers, batch by batch; return the number of generated tokens without end tokens."""
        batches = [prompts[first : first + size] for first in range(0, len(prompts), size)]
        return sum(self._generate(batch, options(len(batch))) for batch in batches)

    def _generate(self, prompts: Sequence[list[int]], options: dict[str, object]) -> int:
        import torch

        hf: Any = self.model.model
        ends = self.model.vocabulary.eos_token_ids
        width = max(map(len, prompts))
        ids = torch.tensor([[ends[0]] * (width - len(prompt)) + prompt for prompt in prompts])
        mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        sampling = {"do_sample": not self.is_trained, "num_beams": 1}
        arguments = {"max_new_tokens": self.max_tokens} | sampling | options
        with torch.inference_mode():
            output = hf.generate(
                ids, attention_mask=mask, pad_token_id=ends[0], eos_token_id=list(ends), **arguments
            )
        return sum(
            next((number for number, token in enumerate(row) if token in ends), len(row))
            for row in output[:, width:].tolist()
        )


def unconstrained(setting: Setting, target: type[BaseModel]) -> Run:
    """Return a run of transformers without constraints."""
    results = setting.structkit(PROMPTS, target, 8)
    length = sum(result.usage.generated_tokens for result in results) // len(results)
    fixed: dict[str, object] = {"min_new_tokens": length, "max_new_tokens": length}
    return lambda prompts, size: setting.generate(prompts, size, lambda rows: fixed)


def structkit(setting: Setting, target: type[BaseModel]) -> Run:
    """Return a run of structkit's loop, which encodes the texts to the same tokens."""
    texts = [PROMPTS[number * 5 % 8] for number in range(len(PROMPTS))]
    known = {tuple(ids): text for ids, text in zip(setting.prompts(target, 8), texts, strict=True)}

    def run(prompts: Sequence[list[int]], size: int) -> int:
        results = setting.structkit([known[tuple(prompt)] for prompt in prompts], target, size)
        return sum(result.usage.generated_tokens for result in results)

    return run


def xgrammar(setting: Setting, target: type[BaseModel]) -> Run:
    """Return a run with xgrammar's logits processor for transformers."""
    module, hf = import_module("xgrammar"), import_module("xgrammar.contrib.hf")
    vocabulary = setting.model.vocabulary
    info = module.TokenizerInfo(
        [token or b"" for token in vocabulary.tokens], stop_token_ids=list(vocabulary.eos_token_ids)
    )
    compiled = module.GrammarCompiler(info).compile_json_schema(
        json.dumps(target.model_json_schema()), any_whitespace=False
    )
    return lambda prompts, size: setting.generate(
        prompts, size, lambda rows: {"logits_processor": [hf.LogitsProcessor(compiled)]}
    )


def llguidance(setting: Setting, target: type[BaseModel]) -> Run:
    """Return a run with the torch code in the documentation of llguidance."""
    module, torch_part = import_module("llguidance"), import_module("llguidance.torch")
    backend = setting.model.tokenizer.backend_tokenizer
    ends = setting.model.vocabulary.eos_token_ids
    tokenizer = module.LLTokenizer(
        backend.to_str(), eos_token=ends[0], slices=module.LLTokenizer.json_slices()
    )
    spaced = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
    grammar = module.LLMatcher.grammar_from_json_schema(
        json.dumps(target.model_json_schema()), defaults=spaced
    )

    class Processor:
        def __init__(self, rows: int) -> None:
            self.matchers = [module.LLMatcher(tokenizer, grammar, log_level=0) for _ in range(rows)]
            self.mask = torch_part.allocate_token_bitmask(rows, tokenizer.vocab_size)
            self.started = False

        def __call__(self, ids: Any, scores: Any) -> Any:
            for row, matcher in enumerate(self.matchers):
                if self.started and not matcher.is_stopped():
                    matcher.consume_token(int(ids[row, -1]))
                torch_part.fill_next_token_bitmask(matcher, self.mask, row)
            self.started = True
            torch_part.apply_token_bitmask_inplace(scores, self.mask[:, : -(-scores.shape[1] // 32)])
            return scores

    return lambda prompts, size: setting.generate(
        prompts, size, lambda rows: {"logits_processor": [Processor(rows)]}
    )


def outlines(setting: Setting, target: type[BaseModel]) -> Run:
    """Return a run with the logits processor of the default backend of outlines."""
    module = import_module("outlines")
    backend = import_module("outlines.backends.outlines_core").OutlinesCoreBackend(
        module.from_transformers(setting.model.model, setting.model.tokenizer)
    )
    processor = backend.get_json_schema_logits_processor(json.dumps(target.model_json_schema()))

    def options(rows: int) -> dict[str, object]:
        processor.reset()
        return {"logits_processor": [processor]}

    return lambda prompts, size: setting.generate(prompts, size, options)


ENGINES: dict[str, Callable[[Setting, type[BaseModel]], Run]] = {
    "unconstrained": unconstrained,
    "structkit": structkit,
    "llguidance": llguidance,
    "xgrammar": xgrammar,
    "outlines": outlines,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the tables."""
    options = _parser().parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    names = [name for name in options.engines.split(",") if name not in _PACKAGES or find_spec(name)]
    for title, model in (("demo", sk.load()), ("llama", _llama(options.tokenizer))):
        if title not in options.models.split(","):
            continue
        setting = Setting(model, options.tokens, CLOCKS[options.clock], title == "demo")
        for size in map(int, options.batches.split(",")):
            print(f"\n{title}, batch {size}: tokens per second\n")
            print("| schema |", *(f"{name} |" for name in names))
            print("|---|" + "---|" * len(names))
            totals = {name: [0, 0.0] for name in names}
            for target in SCHEMAS:
                cells = []
                for name in names:
                    cell, tokens, seconds = _cell(
                        setting, name, target, size, options.prompts if size == 1 else 3 * size
                    )
                    totals[name][0] += tokens
                    totals[name][1] += seconds
                    cells.append(cell)
                print(f"| {target.__name__} |", *(f"{cell} |" for cell in cells), flush=True)
            rates = [f"{tokens / seconds:.0f}" if seconds else "" for tokens, seconds in totals.values()]
            print("| all |", *(f"{rate} |" for rate in rates), flush=True)
    return 0


_PACKAGES = {"llguidance", "xgrammar", "outlines"}


def _cell(
    setting: Setting, name: str, target: type[BaseModel], size: int, count: int
) -> tuple[str, int, float]:
    """Return tokens per second as text, the tokens and the seconds; the name of the error if there is no result."""
    prompts = setting.prompts(target, count)
    try:
        run = ENGINES[name](setting, target)
        run(prompts[:8], size)
    except Exception as error:
        return f"{type(error).__name__}", 0, 0.0
    start = setting.clock()
    tokens = run(prompts, size)
    seconds = setting.clock() - start
    return f"{tokens / seconds:.0f}", tokens, seconds


def _llama(tokenizer: Path) -> TransformersModel:
    """Return a Llama with 100 million random weights."""
    import torch
    import transformers

    make: Any = transformers.PreTrainedTokenizerFast
    fast = make(tokenizer_object=read_tokenizer(tokenizer), eos_token="<｜end▁of▁sentence｜>")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(fast),
        hidden_size=512,
        intermediate_size=1536,
        num_hidden_layers=12,
        num_attention_heads=8,
        num_key_value_heads=4,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
    )
    return sk.from_transformers(transformers.LlamaForCausalLM(config), fast)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generation", description=__doc__)
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer.json, gzipped or not")
    parser.add_argument("--engines", default=",".join(ENGINES), help="names, separated by commas")
    parser.add_argument("--models", default="demo,llama", help="names, separated by commas")
    parser.add_argument("--batches", default="1,8", help="batch sizes, separated by commas")
    parser.add_argument("--prompts", type=int, default=8, help="number of prompts with a batch size of 1")
    parser.add_argument("--tokens", type=int, default=160, help="maximum tokens of an answer")
    parser.add_argument(
        "--clock", default="wall", choices=CLOCKS, help="cpu: processor time, for a busy machine"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
