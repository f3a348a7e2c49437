"""Train the demo model: `python scripts/train_demo.py --out /tmp/demo`; docs/explain/demo-model.md has the commands.

The corpus is generated during training (`scripts/demo_corpus`), from one seed. Stages progress from nonsense words,
which teach copying, to all kinds. After an interruption, the same command continues from the last checkpoint in
`--out`.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, TypeAlias, cast

import torch
from demo_corpus import nonsense
from demo_corpus.conversation import Task
from demo_corpus.corpus import heldout_tasks, train_examples, train_tasks
from demo_corpus.example import Example
from demo_corpus.grading import Grade, grade
from demo_corpus.spelling import TOKENIZER_CONFIG, train_tokenizer, word_texts, wrap
from demo_corpus.values import Source, is_heldout
from torch import distributed
from torch.multiprocessing.spawn import spawn
from torch.nn import functional as F
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

VOCABULARY_SIZE = 4096
MAX_TOKENS = 520  # longer exercises are excluded from training
HAS_BFLOAT16 = any(torch.cpu.get_capabilities().get(name) for name in ("avx512_bf16", "amx_bf16"))
RARE = 1.2e-3  # occurrences per exercise up to which the embedding of a token is not trained well enough to be copied


@dataclass(frozen=True)
class Plan:
    """Configuration of a run; everything except the time follows from it."""

    steps: int
    step_tokens: int = 5120
    warm_steps: int = 100
    nonsense_steps: int = 1000
    agents: float = 0.5
    swapped: float = 0.3
    peak: float = 2e-3
    seed: int = 7


def main() -> None:
    options = read_options()
    Path(options.out).mkdir(parents=True, exist_ok=True)
    load_tokenizer(Path(options.out), options.seed, options.start)
    port = random.randint(20_000, 40_000)
    spawn(work, args=(options, port), nprocs=options.workers)


def work(rank: int, options: argparse.Namespace, port: int) -> None:
    """Run one worker with one thread and its share of every step; two workers are faster than two threads."""
    address = f"tcp://127.0.0.1:{port}"
    distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=options.workers)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(options.seed)
    out = Path(options.out)
    tokenizer = load_tokenizer(out, options.seed, options.start)
    if options.start:
        model = LlamaForCausalLM.from_pretrained(options.start, dtype=torch.float32)
    else:
        model = new_model(tokenizer, options.layers, options.width, options.heads)
    plan = Plan(
        steps=options.steps,
        step_tokens=options.step_tokens,
        nonsense_steps=options.nonsense_steps,
        agents=options.agents,
        swapped=options.swapped,
        peak=options.peak,
        seed=options.seed,
    )
    with Path(options.log if rank == 0 else "/dev/null").open("a", encoding="utf-8") as log:
        first = {name: each.clone() for name, each in model.state_dict().items()} if options.average else None
        Run(model, tokenizer, plan, out, log, options.minutes, rank, options.workers, first).train()
    distributed.destroy_process_group()


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", default="build/demo", help="folder of the checkpoints and the finished model"
    )
    parser.add_argument("--start", help="folder of a finished model to start from; by default random weights")
    parser.add_argument(
        "--average",
        action="store_true",
        help="give the finished model the mean of its weights and of --start",
    )
    parser.add_argument("--log", default="/dev/stdout", help="file to which progress is appended")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--step-tokens", type=int, default=5120)
    parser.add_argument("--nonsense-steps", type=int, default=1000)
    parser.add_argument("--agents", type=float, default=0.5, help="share of agent runs among the exercises")
    parser.add_argument(
        "--swapped",
        type=float,
        default=0.3,
        help="share of exercises in which random pieces replace copied words",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=1e9,
        help="time limit of the training; the learning rate decays within it",
    )
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--peak", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--workers", type=int, default=2, help="processes of one thread each")
    return parser.parse_args()


def load_tokenizer(out: Path, seed: int, start: str | None) -> PreTrainedTokenizerFast:
    """Return the tokenizer of the initial model, or of `out`, created on the first run."""
    folder = Path(start) if start else out / "tokenizer"
    if not folder.exists():
        source = Source(seed)
        texts = [each.prompt + each.answer for each in (nonsense.exercise(source) for _ in range(20_000))]
        wrap(train_tokenizer(texts + word_texts() * 60, VOCABULARY_SIZE)).save_pretrained(folder)
    tokenizer: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(folder)
    return tokenizer


def new_model(tokenizer: PreTrainedTokenizerFast, layers: int, width: int, heads: int) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=width * 8 // 3 // 32 * 32,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        rms_norm_eps=1e-5,
    )
    return LlamaForCausalLM(config)


@dataclass(frozen=True)
class Batch:
    """ids[i, t], padded on the right; is_target[i, t] is whether the model generates the token at t.

    is_original[i] is whether exercise i has its own words; see `swap_words`.
    """

    ids: torch.Tensor
    is_target: torch.Tensor
    is_original: torch.Tensor


Encoded: TypeAlias = "tuple[list[int], list[bool]]"


def batches(
    examples: Iterator[Example | Task],
    tokenizer: PreTrainedTokenizerFast,
    tokens: int,
    seed: int,
    swapped: float = 0.0,
) -> Iterator[Batch]:
    """Yield batches of about `tokens` tokens, of exercises of similar length, so that there is little padding."""
    shuffle = random.Random(seed)
    pieces = letter_pieces(tokenizer)
    while True:
        pool = encode([next(examples) for _ in range(2048)], tokenizer)
        pool = sorted((pair for pair in pool if len(pair[0]) <= MAX_TOKENS), key=lambda pair: len(pair[0]))
        groups: list[list[tuple[Encoded, bool]]] = [[]]
        for pair in pool:
            if len(pair[0]) * (len(groups[-1]) + 1) > tokens:
                groups.append([])
            is_original = shuffle.random() >= swapped
            groups[-1].append((pair if is_original else swap_words(pair, pieces, shuffle), is_original))
        shuffle.shuffle(groups)
        yield from (pad(group, tokenizer.pad_token_id) for group in groups)


def encode(examples: Sequence[Example | Task], tokenizer: PreTrainedTokenizerFast) -> list[Encoded]:
    """Return, for each exercise, its ids and whether the model generates each of them."""
    pieces = [each.pieces for each in examples]
    encodings = iter(tokenizer([text for each in pieces for text, _ in each])["input_ids"])
    encoded = []
    for each in pieces:
        ids: list[int] = []
        is_target: list[bool] = []
        for _, is_generated in each:
            part = next(encodings)
            ids += part
            is_target += [is_generated] * len(part)
        encoded.append((ids, is_target))
    return encoded


def letter_pieces(tokenizer: PreTrainedTokenizerFast) -> list[int]:
    """Return the tokens of letters, without words of JSON and strings that training excludes."""
    texts = tokenizer.batch_decode([[number] for number in range(len(tokenizer))])
    json_words = {"null", "true", "false"}
    return [
        number
        for number, text in enumerate(texts)
        if text.isalpha() and text not in json_words and not is_heldout(text)
    ]


def swap_words(exercise: Encoded, pieces: Sequence[int], rng: random.Random) -> Encoded:
    """Return an exercise with random pieces in place of half of the words that the answer copies, wherever they occur.

    So the model learns to copy each token of letters, also those that are rare in the corpus.
    """
    ids, is_target = exercise
    answered = {number for number, target in zip(ids, is_target, strict=True) if target}
    read = {number for number, target in zip(ids, is_target, strict=True) if not target}
    copied = sorted(answered & read & {*pieces})
    chosen = [number for number in copied if rng.random() < 0.5]
    others = dict(zip(chosen, rng.sample(pieces, len(chosen)), strict=True))
    return [others.get(number, number) for number in ids], is_target


def pad(group: list[tuple[Encoded, bool]], filler: int) -> Batch:
    width = max(len(ids) for (ids, _), _ in group)
    ids = torch.full((len(group), width), filler)
    is_target = torch.zeros(len(group), width, dtype=torch.bool)
    for row, ((tokens, targets), _) in enumerate(group):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        is_target[row, : len(tokens)] = torch.tensor(targets)
    return Batch(ids, is_target, torch.tensor([is_original for _, is_original in group]))


class Run:
    """One training run: the optimizers, the clock and the checkpoints."""

    def __init__(
        self,
        model: LlamaForCausalLM,
        tokenizer: PreTrainedTokenizerFast,
        plan: Plan,
        out: Path,
        log: TextIO,
        minutes: float,
        rank: int,
        workers: int,
        first: Mapping[str, torch.Tensor] | None = None,
    ) -> None:
        self.rank, self.workers, self.first_weights = rank, workers, first
        self.model, self.tokenizer, self.plan, self.out, self.log = model, tokenizer, plan, out, log
        self.started = time.monotonic()
        self.deadline = self.started + minutes * 60
        self.optimizers = make_optimizers(model, plan.peak)
        self.step, self.tokens, self.first = 0, 0, 0
        self.exercises = 0
        # How often each token occurs in exercises with their own words, and in their answers.
        self.counts = torch.zeros(2, model.config.vocab_size, dtype=torch.long)

    def train(self) -> None:
        self.resume()
        started, seen, losses = time.monotonic(), 0, []
        share = self.plan.step_tokens // self.workers
        seed = self.plan.seed + self.step + self.rank
        stream = batches(self.examples(), self.tokenizer, share, seed, self.plan.swapped)
        while self.step < self.plan.steps:
            batch = next(stream)
            losses.append(self.learn(batch, self.rate(self.clock())))
            self.step += 1
            self.count(batch)
            seen += batch.ids.numel() * self.workers
            self.tokens += batch.ids.numel() * self.workers
            if self.step % 50 == 0:
                speed = seen / (time.monotonic() - started)
                loss = sum(losses) / len(losses)
                self.log_line(
                    f"step {self.step} tokens {self.tokens / 1e6:.2f}M loss {loss:.4f} {speed:.0f} tokens/s"
                )
                losses = []
            if self.step % 400 == 0:
                self.checkpoint()
            if self.clock() >= 1:
                break
        self.checkpoint()

    def count(self, batch: Batch) -> None:
        """Count the tokens of the exercises that have their own words."""
        ids, is_target = batch.ids[batch.is_original], batch.is_target[batch.is_original]
        self.exercises += len(ids)
        for count, found in zip(self.counts, (ids, ids[is_target]), strict=True):
            count += torch.bincount(found.flatten(), minlength=len(count))

    def examples(self) -> Iterator[Example | Task]:
        """Yield exercises: first nonsense, short before long, then all kinds."""
        seed = self.plan.seed + 1000 * self.step + self.rank
        source = Source(seed)
        extractions, runs = train_examples(seed), train_tasks(seed)
        while True:
            if self.step < self.plan.nonsense_steps:
                yield nonsense.exercise(
                    source, longest=2 if self.step < 0.4 * self.plan.nonsense_steps else 4
                )
            else:
                yield next(runs) if source.chance(self.plan.agents) else next(extractions)

    def clock(self) -> float:
        """Return the elapsed share of the time, agreed between the workers."""
        elapsed = torch.tensor([(time.monotonic() - self.started) / max(1.0, self.deadline - self.started)])
        distributed.all_reduce(elapsed, distributed.ReduceOp.MAX)
        return float(elapsed)

    def rate(self, clock: float) -> float:
        """Return the share of the peak learning rate: linear warm-up, constant, then cosine decay to nearly 0."""
        warm = min(1.0, (self.step - self.first + 1) / self.plan.warm_steps)
        done = min(1.0, max(self.step / self.plan.steps, clock))
        return warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * max(0.0, (done - 0.3) / 0.7))))

    def learn(self, batch: Batch, rate: float) -> float:
        """Run one step on one batch; return its loss per answer token."""
        targets = batch.ids[:, 1:][batch.is_target[:, 1:]]
        # A processor without instructions for this type takes ten times as long with it.
        with torch.autocast("cpu", torch.bfloat16, enabled=HAS_BFLOAT16):
            hidden = self.model.model(input_ids=batch.ids[:, :-1], use_cache=False).last_hidden_state
            logits = self.model.lm_head(hidden[batch.is_target[:, 1:]])
        loss = F.cross_entropy(logits.float(), targets)
        loss.backward()
        self.share_gradients()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * rate
            optimizer.step()
            optimizer.zero_grad()
        return float(loss.detach())

    def share_gradients(self) -> None:
        gradients = [each.grad for each in self.model.parameters() if each.grad is not None]
        flat = torch.cat([each.reshape(-1) for each in gradients])
        distributed.all_reduce(flat)
        for gradient, part in zip(gradients, flat.split([each.numel() for each in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient) / self.workers)

    def resume(self) -> None:
        path = self.out / "last.pt"
        if path.exists():
            saved = torch.load(path, weights_only=True)
            self.model.load_state_dict(saved["model"])
            for optimizer, state in zip(self.optimizers, saved["optimizers"], strict=True):
                peaks = [group["peak"] for group in optimizer.param_groups]
                optimizer.load_state_dict(state)
                for group, peak in zip(optimizer.param_groups, peaks, strict=True):
                    group["peak"] = peak
            self.step, self.tokens = saved["step"], saved["tokens"]
            self.exercises, self.counts = saved["exercises"], saved["counts"]
            self.first = self.step

    def checkpoint(self) -> None:
        """Write the checkpoint for `resume` and the model for the package; log its accuracy."""
        if self.rank != 0:
            return
        state = {
            "model": self.model.state_dict(),
            "optimizers": [each.state_dict() for each in self.optimizers],
            "step": self.step,
            "tokens": self.tokens,
            "exercises": self.exercises,
            "counts": self.counts,
        }
        torch.save(state, self.out / "last.tmp")
        (self.out / "last.tmp").replace(self.out / "last.pt")
        trained = trained_tokens(self.counts, self.exercises)
        export(self.averaged(), self.tokenizer, self.out / "model", trained)
        grades = " ".join(f"{name} {grade.line()}" for name, grade in self.grades().items())
        turns, runs = share_of_correct_turns(self.model, self.tokenizer, heldout_tasks(97, 128))
        self.log_line(f"step {self.step} {grades} agents turns {turns:.3f} runs {runs:.3f}")

    def averaged(self) -> LlamaForCausalLM:
        """Return the model, or one with the mean of its first weights and its own.

        Weights that were trained further have a low loss between the two ends, and the mean forgets less of what the
        first had learned: Wortsman et al., "Robust fine-tuning of zero-shot models" (2022).
        """
        if self.first_weights is None:
            return self.model
        mean = LlamaForCausalLM(self.model.config)
        own = self.model.state_dict()
        mean.load_state_dict({name: (each + own[name]) / 2 for name, each in self.first_weights.items()})
        return mean

    def grades(self) -> dict[str, Grade]:
        source = Source(99, "heldout")
        exercises = {"nonsense": [nonsense.exercise(source) for _ in range(96)]}
        if self.step >= self.plan.nonsense_steps:
            examples = train_examples(98)
            exercises["train-like"] = [next(examples) for _ in range(128)]
        return {
            name: grade(each, answers(self.model, self.tokenizer, each)) for name, each in exercises.items()
        }

    def log_line(self, line: str) -> None:
        self.log.write(time.strftime("%H:%M:%S ") + line + "\n")
        self.log.flush()


def make_optimizers(model: LlamaForCausalLM, peak: float) -> list[torch.optim.Optimizer]:
    """Return Muon for the matrices of the layers, and AdamW for the embedding and the norms."""
    matrices = [each for name, each in model.named_parameters() if each.ndim == 2 and "layers" in name]
    matrix_ids = {id(each) for each in matrices}
    others = [each for each in model.parameters() if id(each) not in matrix_ids]
    muon = torch.optim.Muon(matrices, lr=peak, weight_decay=0.01, adjust_lr_fn="match_rms_adamw")
    adam = torch.optim.AdamW(others, lr=peak, betas=(0.9, 0.95), weight_decay=0.0)
    for optimizer, share in ((muon, 2.5), (adam, 1.0)):
        for group in optimizer.param_groups:
            group["peak"] = share * peak
    return [muon, adam]


@torch.no_grad()
def answers(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, examples: list[Example]
) -> list[str]:
    """Return the model's most likely answers, without constraints."""
    # transformers declares the method for a protocol that its models do not satisfy.
    generate = cast("Callable[..., torch.Tensor]", LlamaForCausalLM.generate)
    answers: dict[int, str] = {}
    order = sorted(range(len(examples)), key=lambda index: len(examples[index].prompt))
    for start in range(0, len(order), 32):
        part = order[start : start + 32]
        inputs = tokenizer(
            [examples[index].prompt for index in part], padding=True, padding_side="left", return_tensors="pt"
        )
        ids = generate(model, **inputs, max_new_tokens=160, do_sample=False)
        texts = tokenizer.batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        answers.update(zip(part, texts, strict=True))
    return [answers[index] for index in range(len(examples))]


@torch.no_grad()
def share_of_correct_turns(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, tasks: Sequence[Task]
) -> tuple[float, float]:
    """Return the shares of correct turns and runs, each turn after the correct previous ones."""
    turns: list[bool] = []
    runs: list[bool] = []
    for ids, is_generated in encode(tasks, tokenizer):
        predicted = model(input_ids=torch.tensor([ids])).logits[0].argmax(-1).tolist()
        correct: list[bool] = []
        for position in range(1, len(ids)):
            if is_generated[position] and not is_generated[position - 1]:
                correct.append(True)
            if is_generated[position] and predicted[position - 1] != ids[position]:
                correct[-1] = False
        turns += correct
        runs.append(all(correct))
    return sum(turns) / len(turns), sum(runs) / len(runs)


def trained_tokens(counts: torch.Tensor, exercises: int) -> torch.Tensor:
    """Return bool[vocabulary], whether training asks for a token often enough for its embedding.

    A word that is read and not copied, such as `love`, has a meaning, however rare it is. Few exercises do not tell
    which tokens are rare.

    Args:
        counts: int64[2, vocabulary], how often each token occurs in exercises, and in their answers.
        exercises: The number of exercises.
    """
    seen, answered = counts[0], counts[1]
    if RARE * exercises < 10:
        return torch.ones_like(seen, dtype=torch.bool)
    return (seen > RARE * exercises) | ((seen > 0) & (answered == 0))


@torch.no_grad()
def spread_rare(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, trained: torch.Tensor) -> None:
    """Give tokens that are rare in training embeddings that the model can copy, drawn like those of common words.

    A token that never has to be generated gets an embedding that is never generated; all such embeddings become almost
    equal, so that the model cannot tell them apart in the text either.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        trained: bool[vocabulary], whether a token keeps its embedding.
    """
    embedding = model.model.embed_tokens.weight
    special = set(tokenizer.all_special_ids)
    texts = tokenizer.batch_decode([[number] for number in range(len(embedding))])
    is_word = [text.isalpha() for text in texts]
    words = embedding[trained & torch.tensor(is_word)]
    mean, deviations = words.mean(0), words - words.mean(0)
    rare = [number for number in (~trained).nonzero().flatten().tolist() if number not in special]
    # A random mixture of the deviations has their covariance.
    drawn = torch.randn(len(rare), len(deviations), generator=torch.Generator().manual_seed(0)) @ deviations
    norm = deviations.norm(dim=1).mean()
    embedding[rare] = mean + drawn / drawn.norm(dim=1, keepdim=True) * norm


def export(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path, trained: torch.Tensor
) -> None:
    """Save the model in half precision with its tokenizer, as transformers (4 and 5) loads it; see `spread_rare`."""
    new_folder = folder.with_suffix(".new")
    half = LlamaForCausalLM(model.config)
    half.load_state_dict(model.state_dict())
    spread_rare(half, tokenizer, trained)
    half.half().save_pretrained(new_folder)
    (new_folder / "model.safetensors").chmod(0o644)
    tokenizer.backend_tokenizer.save(str(new_folder / "tokenizer.json"))
    ends = {
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "do_sample": False,
    }
    for name, content in (("generation_config.json", ends), ("tokenizer_config.json", TOKENIZER_CONFIG)):
        (new_folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    new_folder.rename(folder)


if __name__ == "__main__":
    main()
