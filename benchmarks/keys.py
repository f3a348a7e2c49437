"""Objects of 10 to 40 keys: tokens per second with masks, a server's constraint and corrections, and grammar-guide.

```
python -m benchmarks.keys --grammar-guide PYTHON --llama-cpp PYTHON --svg docs/assets/keys.svg
```

The demo model fills types of 10, 20, 30 and 40 strings of at most ten characters from a short text, greedily and on one
thread. All arms read the same prompt, and a token is a token of the answer, as the tokenizer of the model encodes its
text. "Unconstrained" is the plain loop of a session, with as many tokens as "masked" wrote; "corrected" wraps the same
loop, as a function from a text to its continuation, in `from_function`. "Constrained" is `connect` to the server of
llama.cpp. The interpreters that the options name have `grammar-guide` (see `keys_grammar_guide.py`) and `xllamacpp`
(see `launch.py`).
"""

from __future__ import annotations

import argparse
import codecs
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from annotated_types import MaxLen
from pydantic import BaseModel, ValidationError, create_model

import structkit as sk
from benchmarks.launch import MODEL, Server, llama_cpp
from benchmarks.plot import Panel, draw
from structkit.models.transformers.model import TransformersModel

__all__ = ["Case", "Run", "cases_of", "lark_of", "main", "panels", "table"]

SIZES = (10, 20, 30, 40)
ARMS = ("unconstrained", "masked", "constrained", "corrected", "grammar-guide")

_FACTS = {
    **{"name": "Ana", "city": "Porto", "job": "nurse", "pet": "Rex", "color": "green", "food": "soup"},
    **{
        "sport": "tennis",
        "song": "Salt",
        "book": "Dune",
        "car": "Volvo",
        "street": "Main",
        "country": "Chile",
    },
    **{
        "school": "Oxford",
        "team": "Reds",
        "friend": "Tom",
        "drink": "tea",
        "season": "spring",
        "day": "Monday",
    },
    **{"month": "May", "flower": "rose", "tree": "oak", "fruit": "plum", "game": "chess", "film": "Heat"},
    **{
        "island": "Malta",
        "river": "Nile",
        "language": "Czech",
        "metal": "iron",
        "planet": "Mars",
        "shop": "Aldi",
    },
    **{
        "tool": "saw",
        "toy": "robot",
        "train": "express",
        "uncle": "Bob",
        "vegetable": "leek",
        "village": "Ely",
    },
    **{"wine": "Rioja", "writer": "Poe", "yacht": "Sea", "zoo": "Bronx"},
}
_SENTENCES = 10
"""Facts that a text has. Longer prompts would differ from those that the demo model was trained on."""

_MAX_LENGTH = 10
"""Maximum number of characters of a value: 40 of them fit into the context of the model."""


@dataclass(frozen=True, slots=True)
class Case:
    """A type with a number of keys, and the prompt to fill it."""

    keys: tuple[str, ...]
    text: str

    @property
    def target(self) -> type[BaseModel]:
        """The type."""
        fields: dict[str, Any] = {key: (Annotated[str, MaxLen(_MAX_LENGTH)], ...) for key in self.keys}
        return create_model("Entry", **fields)


@dataclass(frozen=True, slots=True)
class Run:
    """One value of one arm.

    Attributes:
        arm: The arm.
        keys: The number of keys.
        tokens: The tokens of the answer.
        wall: Seconds.
        cpu: Seconds of processor time, including that of the server.
        corrections: Replies that were cut.
        calls: Replies; for grammar-guide its drafts.
        passes: Forward passes of the model; 0 if unknown.
        is_finished: Whether the answer is a value of the type.
        error: The error in place of an answer.
    """

    arm: str
    keys: int
    tokens: int
    wall: float
    cpu: float
    corrections: int = 0
    calls: int = 0
    passes: int = 0
    is_finished: bool = True
    error: str = ""


def cases_of(keys: int, count: int) -> list[Case]:
    """Return cases with a number of keys: the same for each arm."""
    names = tuple(_FACTS)[:keys]
    cases = []
    for seed in range(count):
        chosen = random.Random(seed).sample(names, _SENTENCES)
        facts = " ".join(f"The {name} is {_FACTS[name]}." for name in chosen)
        fields = ", ".join(f'"{name}": string' for name in names)
        cases.append(Case(names, f"{facts}\n\nAnswer with JSON of this type:\nEntry = {{{fields}}}"))
    return cases


def lark_of(case: Case) -> str:
    """Return the target of a case as a grammar for grammar-guide."""
    pairs = ' "," '.join(f'"\\"{key}\\"" ":" STRING' for key in case.keys)
    return f'start: "{{" {pairs} "}}"\nSTRING: /"[^"\\\\\\x00-\\x1f]{{0,{_MAX_LENGTH}}}"/\n%ignore / /\n'


class PlainGeneration:
    """Continue texts greedily, with nothing but the model; the KV cache of the last text is kept."""

    def __init__(self, model: TransformersModel) -> None:
        self._model = model
        self._session = model.session()
        self._cached: list[int] = []

    def tokens(self, text: str, *, ends: bool = True) -> Iterator[int]:
        """Yield the tokens that follow a text, up to the end token if `ends`, and within the context."""
        encode: Any = self._model.tokenizer
        new: list[int] = encode(text, add_special_tokens=False).input_ids
        common = next(
            (at for at, pair in enumerate(zip(self._cached, new[:-1], strict=False)) if pair[0] != pair[1]),
            min(len(self._cached), len(new) - 1),
        )
        self._session.crop(common)
        self._cached = new[:common]
        new = new[common:]
        while len(self._cached) + len(new) <= (self._model.context_length or sys.maxsize):
            logits = self._session.logits(new)
            self._cached += new
            token = int(logits.argmax())
            if ends and token in self._model.vocabulary.eos_token_ids:
                return
            yield token
            new = [token]

    def __call__(self, text: str) -> Iterator[str]:
        """Yield the pieces of the text that follows a text."""
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        for token in self.tokens(text):
            yield decoder.decode(self._model.vocabulary.tokens[token] or b"")


Arm: TypeAlias = Callable[[Case], Run]


class Bench:
    """The arms that run in this process."""

    def __init__(self, model: TransformersModel, corrections: int) -> None:
        self.model = model
        self.corrections = corrections
        self.passes = 0
        self.lengths: dict[Case, int] = {}
        hf: Any = model.model
        hf.register_forward_hook(self._count)

    def _count(self, *_: object) -> None:
        self.passes += 1

    def prompt(self, case: Case) -> str:
        """Return the prompt in the chat template."""
        return sk.render_prompt(self.model, case.text, case.target, include_schema=False)

    def length(self, text: str) -> int:
        """Return the number of tokens of an answer."""
        encode: Any = self.model.tokenizer
        return len(encode(text, add_special_tokens=False).input_ids)

    def unconstrained(self, case: Case) -> Run:
        """Write as many tokens as `masked` wrote."""
        prompt, count = self.prompt(case), self.lengths[case]
        before, watch = self.passes, Watch()
        tokens = PlainGeneration(self.model).tokens(prompt, ends=False)
        written = sum(1 for _ in islice(tokens, count))
        return watch.run("unconstrained", case, tokens=written, passes=self.passes - before)

    def masked(self, case: Case) -> Run:
        """Generate with masks."""
        before, watch = self.passes, Watch()
        result = sk.generate(self.model, case.text, case.target, include_schema=False)
        run = watch.run(
            "masked",
            case,
            tokens=self.length(result.text),
            passes=self.passes - before,
            is_finished=is_value(result.text, case),
        )
        self.lengths[case] = run.tokens
        return run

    def corrected(self, case: Case) -> Run:
        """Generate by corrections of plain generation."""
        prompt, before = self.prompt(case), self.passes
        function = sk.from_function(PlainGeneration(self.model), max_calls=10 * self.corrections)
        return self._text("corrected", function, prompt, case, lambda: self.passes - before)

    def constrained(self, case: Case, server: Server) -> Run:
        """Generate by a server that gets the target as a grammar."""
        model = sk.connect(server.url, options={"temperature": 0}, max_calls=10 * self.corrections)
        return self._text("constrained", model, case.text, case, lambda: 0, server)

    def _text(
        self,
        arm: str,
        model: Any,
        prompt: str,
        case: Case,
        passes: Callable[[], int],
        server: Server | None = None,
    ) -> Run:
        watch = Watch(server)
        try:
            result = sk.generate(
                model,
                prompt,
                case.target,
                max_corrections=self.corrections,
                include_schema=False,
            )
        except sk.StructkitError as error:
            return watch.run(arm, case, is_finished=False, error=f"{type(error).__name__}: {error}"[:200])
        return watch.run(
            arm,
            case,
            tokens=self.length(result.text),
            corrections=result.trace.corrections,
            calls=result.usage.calls,
            passes=passes(),
            is_finished=is_value(result.text, case),
        )


class Watch:
    """Seconds since it was made."""

    def __init__(self, server: Server | None = None) -> None:
        self._server = server
        self._wall, self._cpu = time.perf_counter(), self._processor()

    def _processor(self) -> float:
        return time.process_time() + (self._server.cpu_seconds() if self._server else 0.0)

    def run(self, arm: str, case: Case, **figures: Any) -> Run:
        """Return a run that ends here."""
        wall = time.perf_counter() - self._wall
        cpu = self._processor() - self._cpu
        return Run(arm, len(case.keys), **{"tokens": 0, "wall": wall, "cpu": cpu, **figures})


def is_value(text: str, case: Case) -> bool:
    """Whether a text is a value of the type of a case."""
    try:
        case.target.model_validate_json(text)
    except ValidationError:
        return False
    return True


@contextmanager
def grammar_guide(python: str, bench: Bench) -> Iterator[Arm]:
    """Start grammar-guide in its own process; it takes turns with the other arms."""
    script = Path(__file__).with_name("keys_grammar_guide.py")
    process = subprocess.Popen(
        [python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin and process.stdout
    read, write = process.stdout.readline, process.stdin.write
    write(json.dumps({"model": str(MODEL), "corrections": bench.corrections, "lookahead": 20}) + "\n")

    def run(case: Case) -> Run:
        write(json.dumps({"grammar": lark_of(case), "prompt": bench.prompt(case)}) + "\n")
        process.stdin.flush()  # type: ignore[union-attr]
        found = json.loads(read() or '{"error": "grammar-guide ended", "text": "", "wall": 0, "cpu": 0}')
        corrections = found.get("corrections", 0)
        return Run(
            "grammar-guide",
            len(case.keys),
            bench.length(found["text"]),
            found["wall"],
            found["cpu"],
            corrections=corrections,
            calls=corrections + 1,
            passes=found.get("passes", 0),
            is_finished=is_value(found["text"], case),
            error=found["error"],
        )

    try:
        yield run
    finally:
        process.stdin.close()
        process.wait(60)


def table(runs: Sequence[Run], clock: str) -> str:
    """Return a Markdown table with a row for each arm and number of keys: means over the prompts."""
    lines = [
        "| keys | arm | tokens per second | seconds per value | tokens | passes | calls | corrections | finished |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for keys, arm, group in _groups(runs):
        seconds = sum(getattr(run, clock) for run in group)
        tokens, count = sum(run.tokens for run in group), len(group)
        means = [
            sum(getattr(run, name) for run in group) / count for name in ("passes", "calls", "corrections")
        ]
        share = 100 * sum(run.is_finished for run in group) / count
        cells = [str(keys), arm, f"{tokens / seconds:.0f}", f"{seconds / count:.2f}", f"{tokens / count:.0f}"]
        cells += [f"{mean:.0f}" if mean else "" for mean in means]
        lines.append(f"| {' | '.join([*cells, '' if arm == 'unconstrained' else f'{share:.0f} %'])} |")
    return "\n".join(lines)


def panels(runs: Sequence[Run], clock: str) -> list[Panel]:
    """Draw the tokens per second, and the seconds of a value that is finished."""
    rates: dict[str, list[tuple[float, float]]] = {}
    finished: dict[str, list[tuple[float, float]]] = {}
    for keys, arm, group in _groups(runs):
        seconds = sum(getattr(run, clock) for run in group)
        tokens = sum(run.tokens for run in group)
        if tokens:
            rates.setdefault(arm, []).append((keys, tokens / seconds))
        count = sum(run.is_finished for run in group)
        if count and arm != "unconstrained":
            finished.setdefault(arm, []).append((keys, seconds / count))
    return [Panel("tokens per second, by keys", rates, {}), Panel("seconds per finished value", finished, {})]


def _groups(runs: Sequence[Run]) -> Iterator[tuple[int, str, list[Run]]]:
    for keys in sorted({run.keys for run in runs}):
        for arm in ARMS:
            group = [run for run in runs if run.keys == keys and run.arm == arm]
            if group:
                yield keys, arm, group


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and draw the curves."""
    options = _parser().parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    bench = Bench(sk.load(), options.corrections)
    # The sizes take turns, as the arms do, so that a slower minute of the machine affects all of them.
    sizes = [cases_of(size, options.prompts) for size in options.sizes]
    cases = [case for turn in zip(*sizes, strict=True) for case in turn]
    arms: dict[str, Arm] = {
        "masked": bench.masked,
        "unconstrained": bench.unconstrained,
        "corrected": bench.corrected,
    }
    runs: list[Run] = []
    with ExitStack() as stack:
        if options.llama_cpp:
            server = stack.enter_context(llama_cpp(options.llama_cpp))
            arms["constrained"] = lambda case: bench.constrained(case, server)
        else:
            print("without the arm constrained: pass --llama-cpp", file=sys.stderr)
        if options.grammar_guide:
            arms["grammar-guide"] = stack.enter_context(grammar_guide(options.grammar_guide, bench))
        else:
            print("without the arm grammar-guide: pass --grammar-guide", file=sys.stderr)
        for arm in arms.values():
            arm(cases[0])  # warm-up
        for case in cases:
            runs += [arm(case) for arm in arms.values()]
    print(table(runs, options.clock))
    for run in runs:
        if run.error:
            print(f"{run.arm}, {run.keys} keys: {run.error}", file=sys.stderr)
    if options.json:
        options.json.write_text("".join(json.dumps(asdict(run)) + "\n" for run in runs), encoding="utf-8")
    if options.svg:
        options.svg.write_text(draw(panels(runs, options.clock)), encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.keys", description=__doc__)
    parser.add_argument("--grammar-guide", metavar="PYTHON", help="an interpreter with grammar-guide")
    parser.add_argument("--llama-cpp", metavar="PYTHON", help="an interpreter with xllamacpp and gguf")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of keys")
    parser.add_argument("--prompts", type=int, default=5, help="number of texts for each number of keys")
    parser.add_argument(
        "--corrections", type=int, default=400, help="maximum number of corrections of a value"
    )
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: for a busy machine")
    parser.add_argument("--svg", type=Path, help="path of the plot")
    parser.add_argument("--json", type=Path, help="path of all runs, a line each")
    return parser


if __name__ == "__main__":
    sys.exit(main())
