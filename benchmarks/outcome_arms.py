"""The arms of `benchmarks.outcome`: ways to get an answer of a target from a model with logits, all greedy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

import structkit as sk
from benchmarks.outcome_sets import Task
from structkit.generate.input.prompt import build_prompt, encode_prompt
from structkit.models.protocols import Message
from structkit.models.transformers.model import TransformersModel
from structkit.targets.targets import read_target

__all__ = ["ARMS", "Answer", "Bench", "answer_in"]

_RETRIES = 2
_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Answer:
    """The text of an answer, and the tokens that were generated for it."""

    text: str
    tokens: int


@dataclass
class Bench:
    """A model, and what the arms keep between tasks."""

    model: TransformersModel
    max_tokens: int
    cache: dict[str, Any] = field(default_factory=dict)

    def prompt(self, task: Task, style: str) -> Any:
        """Return the prompt of a style: `ours`, `schema` (a JSON Schema in the text) or `bare` (the text alone)."""
        if style == "bare":
            return task.text
        target = read_target(task.target)
        if style == "schema":
            schema = json.dumps(target.json_schema())
            return f"{task.text}\n\nReturn only JSON that matches this JSON Schema:\n{schema}"
        return build_prompt(task.text, target.description())

    def transformers(self, prompt: Any, processors: list[Any]) -> Answer:
        """Generate in the loop of transformers."""
        import torch

        ids = torch.tensor([encode_prompt(self.model, prompt)])
        ends = self.model.vocabulary.eos_token_ids
        hf: Any = self.model.model
        with torch.inference_mode():
            output = hf.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                pad_token_id=ends[0],
                eos_token_id=list(ends),
                max_new_tokens=self.max_tokens,
                do_sample=False,
                num_beams=1,
                logits_processor=processors,
            )
        new = output[0, ids.shape[1] :].tolist()
        new = new[: next((at for at, token in enumerate(new) if token in ends), len(new))]
        return Answer(
            b"".join(self.model.vocabulary.tokens[token] for token in new).decode(errors="replace"), len(new)
        )


Run: TypeAlias = Callable[[Bench, Task], Answer]


def answer_in(reply: str) -> str:
    r"""Return the JSON in a reply: what a code fence contains, or the first value; else the reply itself.

    >>> answer_in('Here it is: {"a": 1}. Anything else?'), answer_in("```json\\n[1]\\n```"), answer_in("none")
    ('{"a": 1}', '[1]', 'none')
    """
    fenced = _FENCE.search(reply)
    text = (fenced[1] if fenced else reply).strip()
    for start in (at for at, character in enumerate(text) if character in "{["):
        try:
            _, end = json.JSONDecoder().raw_decode(text, start)
        except ValueError:
            continue
        return text[start:end]
    return text


def _free(style: str) -> Run:
    def run(bench: Bench, task: Task) -> Answer:
        reply = bench.transformers(bench.prompt(task, style), [])
        return Answer(answer_in(reply.text), reply.tokens)

    return run


def _free_with_retries(bench: Bench, task: Task) -> Answer:
    """Ask again with the error in the conversation, as instructor does; without a chat template it is plain text."""
    prompt = bench.prompt(task, "ours")
    messages = [Message(role="user", content=str(prompt))]
    asked: Any = prompt
    tokens = 0
    for _ in range(1 + _RETRIES):
        reply = bench.transformers(asked, [])
        tokens += reply.tokens
        text = answer_in(reply.text)
        fault = task.fault(text)
        if fault is None:
            break
        messages += [
            Message(role="assistant", content=reply.text),
            Message(role="user", content=f"This answer is not valid: {fault}\nCorrect it.\n\n{prompt}"),
        ]
        asked = messages
        if bench.model.chat_template is None:
            asked = "\n\n".join(message["content"] for message in messages)
        try:
            encode_prompt(bench.model, asked)
        except sk.GenerationError:  # the conversation exceeds the context
            break
    return Answer(text, tokens)


def _structkit(**options: Any) -> Run:
    def run(bench: Bench, task: Task) -> Answer:
        result = sk.generate(
            bench.model, task.text, task.target, max_tokens=bench.max_tokens, confidence=False, **options
        )
        return Answer(result.text, result.usage.written_tokens)

    return run


def _structkit_schema_prompt(bench: Bench, task: Task) -> Answer:
    prompt = bench.prompt(task, "schema")
    result = sk.generate(
        bench.model, prompt, task.target, max_tokens=bench.max_tokens, confidence=False, include_schema=False
    )
    return Answer(result.text, result.usage.written_tokens)


def _llguidance(style: str, *, spaced: bool) -> Run:
    def run(bench: Bench, task: Task) -> Answer:
        module, torch_part = import_module("llguidance"), import_module("llguidance.torch")
        if "llguidance" not in bench.cache:
            bench.cache["llguidance"] = module.LLTokenizer(
                bench.model.tokenizer.backend_tokenizer.to_str(),
                eos_token=bench.model.vocabulary.eos_token_ids[0],
            )
        tokenizer = bench.cache["llguidance"]
        style_of = (
            {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "} if spaced else {}
        )
        grammar = module.LLMatcher.grammar_from_json_schema(_schema(task), defaults=style_of)
        matcher = module.LLMatcher(tokenizer, grammar, log_level=0)
        if matcher.get_error():
            raise ValueError(matcher.get_error())
        mask = torch_part.allocate_token_bitmask(1, tokenizer.vocab_size)
        started = False

        def process(ids: Any, scores: Any) -> Any:
            nonlocal started
            if started and not matcher.is_stopped():
                matcher.consume_token(int(ids[0, -1]))
            started = True
            torch_part.fill_next_token_bitmask(matcher, mask, 0)
            torch_part.apply_token_bitmask_inplace(scores, mask[:, : -(-scores.shape[1] // 32)])
            return scores

        return bench.transformers(bench.prompt(task, style), [process])

    return run


def _xgrammar(style: str, *, spaced: bool) -> Run:
    def run(bench: Bench, task: Task) -> Answer:
        module, hf = import_module("xgrammar"), import_module("xgrammar.contrib.hf")
        if "xgrammar" not in bench.cache:
            vocabulary = bench.model.vocabulary
            bench.cache["xgrammar"] = module.GrammarCompiler(
                module.TokenizerInfo(
                    [token or b"" for token in vocabulary.tokens],
                    stop_token_ids=list(vocabulary.eos_token_ids),
                )
            )
        compiled = bench.cache["xgrammar"].compile_json_schema(_schema(task), any_whitespace=not spaced)
        return bench.transformers(bench.prompt(task, style), [hf.LogitsProcessor(compiled)])

    return run


def _outlines(style: str) -> Run:
    def run(bench: Bench, task: Task) -> Answer:
        core = import_module("outlines_core")
        if "outlines" not in bench.cache:
            ends = bench.model.vocabulary.eos_token_ids
            tokens: dict[bytes, list[int]] = {}
            for number, token in enumerate(bench.model.vocabulary.tokens):
                if token and number not in ends:
                    tokens.setdefault(token, []).append(number)
            bench.cache["outlines"] = core.Vocabulary(ends[0], tokens)
        pattern = core.json_schema.build_regex_from_schema(_schema(task))
        guide = core.Guide(core.Index(pattern, bench.cache["outlines"]))
        started = False

        def process(ids: Any, scores: Any) -> Any:
            nonlocal started
            import torch

            if started and not guide.is_finished():
                guide.advance(int(ids[0, -1]))
            started = True
            kept = torch.full_like(scores, -torch.inf)
            allowed = guide.get_tokens() or list(bench.model.vocabulary.eos_token_ids[:1])
            kept[:, allowed] = scores[:, allowed]
            return kept

        return bench.transformers(bench.prompt(task, style), [process])

    return run


def _schema(task: Task) -> str:
    return json.dumps(read_target(task.target).json_schema())


ARMS: Mapping[str, tuple[str | None, Run]] = {
    "free, parsed": (None, _free("ours")),
    "free, parsed, JSON Schema in the prompt": (None, _free("schema")),
    "free with retries": (None, _free_with_retries),
    "structkit": (None, _structkit()),
    "structkit, fast_forward=False": (None, _structkit(fast_forward=False)),
    "structkit, prompt_lookup=False": (None, _structkit(prompt_lookup=False)),
    "structkit, plain decode": (None, _structkit(fast_forward=False, prompt_lookup=False)),
    "structkit, whitespace='compact'": (None, _structkit(whitespace="compact")),
    "structkit, defaults='may_omit'": (None, _structkit(defaults="may_omit")),
    "structkit, null='may_omit'": (None, _structkit(null="may_omit")),
    "structkit, order='any'": (None, _structkit(order="any")),
    "structkit, JSON Schema in the prompt": (None, _structkit_schema_prompt),
    "structkit, include_schema='json_schema'": (None, _structkit(include_schema="json_schema")),
    "structkit, include_schema='example'": (None, _structkit(include_schema="example")),
    "structkit, include_schema='tools'": (None, _structkit(include_schema="tools")),
    "structkit, include_schema=False": (None, _structkit(include_schema=False)),
    "llguidance, our prompt": ("llguidance", _llguidance("ours", spaced=False)),
    "llguidance, our prompt and spaces": ("llguidance", _llguidance("ours", spaced=True)),
    "llguidance, JSON Schema in the prompt": ("llguidance", _llguidance("schema", spaced=False)),
    "xgrammar, our prompt": ("xgrammar", _xgrammar("ours", spaced=False)),
    "xgrammar, our prompt and spaces": ("xgrammar", _xgrammar("ours", spaced=True)),
    "xgrammar, JSON Schema in the prompt": ("xgrammar", _xgrammar("schema", spaced=False)),
    "outlines, our prompt": ("outlines_core", _outlines("ours")),
    "outlines, JSON Schema in the prompt": ("outlines_core", _outlines("schema")),
}
"""By name: the package that the arm needs, and its function."""


def installed() -> list[str]:
    """Return the names of the arms whose packages are installed."""
    return [name for name, (package, _) in ARMS.items() if package is None or find_spec(package)]
