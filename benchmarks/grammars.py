"""Grammars: correctness of masks on labelled texts, and their cost, beside other engines.

```
python -m benchmarks.grammars --data ../shared/data/grammars --tokenizer tokenizer.json --engines structkit,llguidance
```

A folder of `--data` has `grammar.lark` or `grammar.gbnf`, `options.json` with the arguments of `lark.Lark`, and
`cases.jsonl` with labelled texts. Grammars for Lark's basic and contextual lexers are run with `--lexers
basic,contextual`. Engines get the text of a grammar unchanged, except that llguidance gets GBNF through its own
converter and kbnf the grammar in its own notation (`benchmarks.kbnf`); these conversions are not timed. All engines
run in one process and in turns, without a disk cache; times are processor time of the thread. The verdict on a text
is right if the masks allow a valid one token by token, with an end behind it, and no invalid one. After `--limit`
seconds the other texts of a grammar are left out, and their verdicts count as wrong. With `--passes 2` the masks of
all states were computed once before, as in a service that has run for a while. With `--cache` structkit reads and
writes its disk cache, in `STRUCTKIT_CACHE_DIR`; the second run is that of a later process.

The last table has texts of 2,000 and 20,000 tokens of one byte, in grammars that are hard for parsers. Its memory is
the growth of the process, which is zero where freed memory is used again.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import structkit as sk
from benchmarks import engines, kbnf
from benchmarks.data import read_tokenizer

__all__ = ["main"]

_GROWTH = {
    "ambiguous": ('start: s\ns: s s | "a" |', "a"),
    "palindrome": ('start: p\np: "a" p "a" | "b" p "b" | "a" | "b" |', "aab"),
    "right recursion": ('start: "a" start | "b"', "a"),
}
"""Grammars, and the text that is repeated."""

_clock = time.thread_time


@dataclass(frozen=True)
class Language:
    """A grammar with labelled texts."""

    name: str
    text: str
    options: Mapping[str, Any] = field(default_factory=dict)
    cases: Sequence[tuple[str, bool]] = ()

    @property
    def is_gbnf(self) -> bool:
        """Whether the grammar is written in GBNF."""
        return self.options.get("syntax") == "gbnf"


@dataclass
class Outcome:
    """What an engine did with a grammar: seconds, and right verdicts."""

    compilation: float = 0.0
    masks: list[float] = field(default_factory=list)
    advances: list[float] = field(default_factory=list)
    right: int = 0
    refusal: str = ""
    is_complete: bool = True


Compile = Callable[[Language], Callable[[], engines.Guide]]
"""Converts a grammar to the notation of an engine, and returns what compiles it."""


def _grammar(language: Language) -> sk.Grammar[str]:
    names = (
        "start",
        "parser",
        "lexer",
        "maybe_placeholders",
        "syntax",
        "import_paths",
        "priority",
        "g_regex_flags",
        "postlex",
    )
    options = {name: language.options[name] for name in names if name in language.options}
    return sk.Grammar(language.text, **options)


def _structkit(tokenizer: Any, *, cache: bool = False) -> tuple[Compile, int]:
    engine = engines._Structkit(tokenizer)

    def build(language: Language) -> engines.Guide:
        guide = sk.compile(_grammar(language), engine._vocabulary, cache=cache)
        if cache:
            atexit.register(guide.save)  # with the masks of all texts
        return engines._StructkitGuide(guide, engine._out)

    return lambda language: partial(build, language), engine.end_id


def _llguidance(tokenizer: Any) -> tuple[Compile, int]:
    engine = engines._Llguidance(tokenizer)
    to_lark = import_module("llguidance.gbnf_to_lark").any_to_lark

    def build(text: str) -> engines.Guide:
        grammar = engine._matcher.grammar_from_lark(text)
        matcher = engine._matcher(engine._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return engines._LlguidanceGuide(matcher, engine._out)

    def convert(language: Language) -> Callable[[], engines.Guide]:
        return partial(build, to_lark(language.text) if language.is_gbnf else language.text)

    return convert, engine.end_id


def _xgrammar(tokenizer: Any) -> tuple[Compile, int]:
    engine = engines._Xgrammar(tokenizer, strict=True)

    def build(language: Language) -> engines.Guide:
        text = language.text
        compiler = engine._compiler
        compiled = compiler.compile_grammar(text) if language.is_gbnf else compiler.compile_lark(text)
        return engines._XgrammarGuide(engine._matcher, compiled, engine._out)

    return lambda language: partial(build, language), engine.end_id


def _kbnf(tokenizer: Any) -> tuple[Compile, int]:
    vocabulary = sk.Vocabulary.from_tokenizer(tokenizer)
    tokens = kbnf.make_vocabulary(vocabulary)

    def convert(language: Language) -> Callable[[], engines.Guide]:
        return partial(kbnf.KbnfGuide, kbnf.to_kbnf(_grammar(language)), tokens, vocabulary.size)

    return convert, vocabulary.eos_token_ids[0]


ENGINES: Mapping[str, Callable[[Any], tuple[Compile, int]]] = {
    "structkit": _structkit,
    "llguidance": _llguidance,
    "xgrammar": _xgrammar,
    "kbnf": _kbnf,
}
"""The engines by name; each gives a compiler of grammars and the end token."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its tables."""
    options = _parser().parse_args(arguments)
    languages, skipped = _read(options.data, options.lexers.split(","), options.names)
    tokenizer = read_tokenizer(options.tokenizer)
    available: dict[str, Callable[[Any], tuple[Compile, int]]] = {**ENGINES}
    available["structkit"] = partial(_structkit, cache=options.cache)
    compilers = {name: available[name](tokenizer) for name in options.engines.split(",")}
    outcomes: dict[str, dict[str, Outcome]] = {name: {} for name in compilers}
    for language in languages[:2]:  # the kernels are compiled and loaded
        for compiler, end in compilers.values():
            _measure(compiler, end, tokenizer, language, 5.0)
    for turn, language in enumerate(languages):
        names = [*compilers][turn % len(compilers) :] + [*compilers][: turn % len(compilers)]
        for name in names:
            gc.collect()
            outcomes[name][language.name] = _measure(
                *compilers[name], tokenizer, language, options.limit, options.passes
            )
        print(f"{turn + 1} of {len(languages)} grammars", file=sys.stderr, flush=True)
    print("\n".join(_report(languages, outcomes)))
    print(f"\nSkipped, since they are for other lexers: {', '.join(skipped) or 'none'}.")
    if options.growth:
        print("\n" + "\n".join(_growth(compilers, tokenizer, options.limit)))
    return 0


def _read(folder: Path, lexers: Sequence[str], names: str) -> tuple[list[Language], list[str]]:
    """Return the grammars for some lexers that structkit supports, and the names of the others."""
    languages, skipped = [], []
    for path in sorted(path for path in folder.iterdir() if path.is_dir()):
        if names and path.name not in names.split(","):
            continue
        options = json.loads((path / "options.json").read_text(encoding="utf-8"))
        if options.get("lexer", "gbnf") not in lexers:
            skipped.append(path.name)
            continue
        if options.get("postlex"):
            options["postlex"] = getattr(import_module("lark.indenter"), options["postlex"])()
        options["import_paths"] = [str(path / each) for each in options.get("import_paths", ())]
        lines = (path / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        cases = [(case["text"], case["valid"]) for case in map(json.loads, lines)]
        text = next(path.glob("grammar.*")).read_text(encoding="utf-8")
        languages.append(Language(path.name, text, options, cases))
    return languages, skipped


def _measure(
    compiler: Compile, end: int, tokenizer: Any, language: Language, limit: float, passes: int = 1
) -> Outcome:
    """Compile a grammar and walk through its texts for at most `limit` seconds; the times are of the last pass."""
    outcome = Outcome()
    try:
        build = compiler(language)
        begin = _clock()
        guide = build()
        guide.sequence().fill_mask()
    except Exception as error:  # each engine has its own
        outcome.refusal = str(error).strip().splitlines()[-1][:80]
        return outcome
    outcome.compilation = _clock() - begin
    for turn, (text, valid) in enumerate([*language.cases] * passes):
        if _clock() - begin > limit:
            outcome.is_complete = False
            break
        if turn % len(language.cases) == 0:
            outcome.masks, outcome.advances, outcome.right = [], [], 0
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        outcome.right += _accepts(guide.sequence(), [*tokens, end], outcome) == valid
    return outcome


def _accepts(sequence: engines.Sequence, tokens: Sequence[int], outcome: Outcome) -> bool:
    """Return whether the masks allow the tokens, of which the last one ends the text."""
    for place, token in enumerate(tokens, 1):
        begin = _clock()
        mask = sequence.fill_mask()
        between = _clock()
        outcome.masks.append(between - begin)
        if not int(mask[token // 32]) >> token % 32 & 1:
            return False
        if place < len(tokens):
            begin = _clock()
            is_accepted = sequence.advance(token)
            outcome.advances.append(_clock() - begin)
            if not is_accepted:
                return False
    return True


def _report(languages: Sequence[Language], outcomes: Mapping[str, Mapping[str, Outcome]]) -> Iterator[str]:
    columns = (
        "right | first mask, ms | mask, µs: p50 | p90 | p99 | max | advance, µs: p50 | p90 | p99 | max |"
    )
    yield f"| grammar | engine | {columns}"
    yield "| --- | --- |" + " ---: |" * 10
    for language in languages:
        for engine, found in outcomes.items():
            outcome = found[language.name]
            yield f"| {language.name} | {engine} | {_row([outcome], len(language.cases))}"
    common = [
        language.name
        for language in languages
        if not any(found[language.name].refusal for found in outcomes.values())
    ]
    for title, names in (("all", [each.name for each in languages]), ("accepted by all", common)):
        total = sum(len(language.cases) for language in languages if language.name in names)
        for engine, found in outcomes.items():
            yield f"| **{title}** | {engine} | {_row([found[name] for name in names], total)}"
    yield ""
    for engine, found in outcomes.items():
        for name, outcome in found.items():
            if outcome.refusal:
                yield f"- {engine} refuses {name}: {outcome.refusal}"


def _row(outcomes: Sequence[Outcome], total: int) -> str:
    """Return the cells of some grammars; the compile time of several is their median."""
    accepted = [outcome for outcome in outcomes if not outcome.refusal]
    if not accepted:
        return "refused |" + " |" * 9
    note = "" if all(outcome.is_complete for outcome in accepted) else " (timeout)"
    first = np.median([outcome.compilation for outcome in accepted]) * 1e3
    masks = [second for outcome in accepted for second in outcome.masks]
    advances = [second for outcome in accepted for second in outcome.advances]
    right = sum(outcome.right for outcome in outcomes)
    return f"{right}/{total}{note} | {first:,.1f} | {_percentiles(masks)} | {_percentiles(advances)} |"


def _percentiles(seconds: Sequence[float]) -> str:
    values = np.percentile(np.asarray(seconds or [np.nan]) * 1e6, (50, 90, 99, 100))
    return " | ".join(f"{value:,.1f}" for value in values)


def _growth(compilers: Mapping[str, tuple[Compile, int]], tokenizer: Any, limit: float) -> Iterator[str]:
    """Return the table of long texts: µs per token over all and over the last 200, and memory."""
    yield "| grammar | engine | tokens | µs per token | the last 200 | memory, MiB |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for name, (text, repeated) in _GROWTH.items():
        ids = [tokenizer.encode(character, add_special_tokens=False).ids[0] for character in repeated]
        for engine, (compiler, _) in compilers.items():
            for size in (2_000, 20_000):
                gc.collect()
                row = _grown(compiler, Language(name, text), (ids * size)[:size], limit)
                yield f"| {name} | {engine} | {row}"


def _grown(compiler: Compile, language: Language, tokens: Sequence[int], limit: float) -> str:
    """Return the cells of one long text, which ends early at the time limit or where the engine fails."""
    seconds: list[float] = []
    reason = ""
    try:
        sequence = compiler(language)().sequence()
        sequence.fill_mask()
        memory, total = _resident(), 0.0
        for token in tokens:
            begin = _clock()
            is_accepted = sequence.advance(token)
            sequence.fill_mask()
            seconds.append(_clock() - begin)
            total += seconds[-1]
            if not is_accepted or total > limit:
                reason = " (time limit)" if is_accepted else " (refuses to go on)"
                break
    except Exception as error:  # each engine has its own
        reason = f" ({type(error).__name__}: {str(error).splitlines()[0][:60]})"
    if not seconds:
        return f"0{reason} | | | |"
    times = np.asarray(seconds) * 1e6
    used = (_resident() - memory) / 2**20
    return f"{len(times):,}{reason} | {times.mean():,.1f} | {times[-200:].mean():,.1f} | {used:,.1f} |"


def _resident() -> int:
    """Return the bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grammars", description=__doc__)
    parser.add_argument("--passes", type=int, default=1, help="how often the texts are read; the last counts")
    parser.add_argument("--names", default="", help="grammars, separated by commas; all if empty")
    parser.add_argument("--data", type=Path, required=True, help="folder of grammars with labelled texts")
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer.json, gzipped or not")
    parser.add_argument(
        "--engines", default="structkit", help=f"names, separated by commas: {', '.join(ENGINES)}"
    )
    parser.add_argument(
        "--lexers",
        default="dynamic_complete,gbnf",
        help="grammars by lexer, separated by commas: dynamic_complete, basic, contextual, gbnf",
    )
    parser.add_argument(
        "--limit", type=float, default=20.0, help="maximum seconds for one grammar or long text"
    )
    parser.add_argument("--cache", action="store_true", help="whether structkit uses its disk cache")
    parser.add_argument(
        "--no-growth", dest="growth", action="store_false", help="leave out the table of long texts"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
