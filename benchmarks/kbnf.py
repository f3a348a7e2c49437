"""kbnf as an engine of `benchmarks.grammars`: grammars are converted to its notation.

kbnf stops at the first complete text. A grammar therefore ends in a character that no text contains, `END`, and the end
token of the vocabulary is this character; so a text may go on after a point where it is complete, and the verdicts do
not depend on the stop. Regular expressions stay what they are, and kbnf reads them as Rust does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

import structkit as sk
from structkit.grammar.rules.cfg import Cfg, Guard, Production, Terminal
from structkit.regex.nodes import CharClass, Choice, LiteralText, Node, Repeat, Seq

__all__ = ["END", "KbnfGuide", "make_vocabulary", "to_kbnf"]

END = "\U0010ffff"


def to_kbnf(grammar: sk.Grammar[str]) -> str:
    r"""Return a grammar in the notation of KBNF, with `END` behind each text.

    Raises:
        ValueError: A terminal has a form that is not converted.

    >>> print(to_kbnf(sk.Grammar('root ::= "a" root | [^b]', syntax="gbnf")))
    start ::= r0 "\u{10FFFF}";
    r0 ::= #"[\\x{0}-\\x{61}\\x{63}-\\x{D7FF}\\x{E000}-\\x{10FFFE}]" | "a" r0;
    """
    cfg = grammar.source.cfg
    patterns = {}
    if grammar.syntax == "lark":
        patterns = {each.name: _pattern(each.pattern) for each in grammar.source.lark.lark.terminals}
    names = {name: f"r{number}" for number, name in enumerate([cfg.start, *cfg.rules])}
    names[cfg.start] = "r0"
    lines = [f'start ::= {names[cfg.start]} "\\u{{10FFFF}}";']
    for name, productions in cfg.rules.items():
        shown = (" ".join(_symbols(cfg, each, names, patterns)) or '""' for each in productions)
        lines.append(f"{names[name]} ::= {' | '.join(shown)};")
    return "\n".join([*lines, *_gap(cfg, patterns)])


def _gap(cfg: Cfg, patterns: Mapping[str, str]) -> Iterator[str]:
    """Yield the rule of what may stand before a terminal."""
    if cfg.ignored:
        yield f"gap ::= {{{' | '.join(_terminal(each, patterns) for each in cfg.ignored)}}};"


def _symbols(
    cfg: Cfg, production: Production, names: Mapping[str, str], patterns: Mapping[str, str]
) -> Iterator[str]:
    for symbol in production:
        if isinstance(symbol, str):
            yield names[symbol]
            continue
        if isinstance(symbol, Guard):
            raise ValueError("KBNF has no LALR conflicts")
        if cfg.ignored and not symbol.is_ignored:
            yield "gap"
        yield _terminal(symbol, patterns)


def _pattern(pattern: Any) -> str:
    """Return a terminal of Lark."""
    if pattern.type == "str" and not pattern.flags:
        return _quoted(pattern.value)
    return "#" + _quoted(_without_end(pattern.to_regexp()))


def _terminal(terminal: Terminal, patterns: Mapping[str, str]) -> str:
    if terminal.name in patterns:
        return patterns[terminal.name]
    if isinstance(terminal.node, LiteralText):
        return _quoted(terminal.node.value)
    return "#" + _quoted(_regex(terminal.node))


def _regex(node: Node) -> str:
    """Return the regular expression of a terminal of GBNF or KBNF, without `END`."""
    match node:
        case LiteralText(value=value):
            return "".join(f"\\x{{{ord(letter):X}}}" for letter in value)
        case CharClass(ranges=ranges):
            clipped = ((first, min(last, ord(END) - 1)) for first, last in ranges)
            return "[" + "".join(f"\\x{{{first:X}}}-\\x{{{last:X}}}" for first, last in clipped) + "]"
        case Seq(parts=parts):
            return "".join(map(_regex, parts))
        case Choice(parts=parts):
            return f"(?:{'|'.join(map(_regex, parts))})"
        case Repeat(part=part, min_count=low, max_count=high):
            return f"(?:{_regex(part)}){{{low},{'' if high is None else high}}}"
    raise ValueError(f"a terminal of the form {type(node).__name__} is not converted to KBNF")


def _without_end(pattern: str) -> str:
    """Return a regular expression whose dots and negated classes do not contain `END`."""

    def replace(found: re.Match[str]) -> str:
        part = found[0]
        if part == ".":
            return r"[^\n\x{10FFFF}]"
        return r"[^\x{10FFFF}" + part[2:] if part.startswith("[^") else part

    return re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\.", replace, pattern, flags=re.DOTALL)


def _quoted(text: str) -> str:
    controls = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f", "\b": r"\b", '"': r"\"", "\\": r"\\"}
    return '"' + "".join(controls.get(letter, letter) for letter in text) + '"'


def make_vocabulary(vocabulary: sk.Vocabulary) -> Any:
    """Return a vocabulary of kbnf in which `END` is the end token, and other special tokens do not exist."""
    kbnf = import_module("kbnf")
    tokens = {number: kbnf.Token(token) for number, token in enumerate(vocabulary.tokens) if token}
    strings = {
        number: token.decode(errors="replace") for number, token in enumerate(vocabulary.tokens) if token
    }
    end = vocabulary.eos_token_ids[0]
    tokens[end], strings[end] = kbnf.Token(END.encode()), END
    return kbnf.Vocabulary(tokens, strings)


class KbnfGuide:
    """A compiled grammar. One engine reads one text at a time and keeps its cache from text to text."""

    def __init__(self, text: str, vocabulary: Any, size: int) -> None:
        kbnf = import_module("kbnf")
        try:
            self._engine = kbnf.InternalEngine(text, vocabulary)
        except BaseException as error:
            if isinstance(error, Exception | KeyboardInterrupt):
                raise
            raise ValueError(f"kbnf panics: {error}") from error
        self._compute = self._engine.compute_allowed_token_ids
        self._fill = self._engine.fill_torch_bitmask
        self._advance = self._engine.try_accept_new_token
        self._out = np.zeros(size, np.uint32)  # its documentation asks for a word per token
        self._address = self._out.ctypes.data

    def sequence(self) -> KbnfGuide:
        """Start a text; the text before it ends."""
        self._engine.reset()
        return self

    def finish(self) -> None:
        """Store nothing."""

    def fill_mask(self) -> Any:
        """Return the allowed next tokens."""
        self._compute()
        self._fill(self._address)
        return self._out

    def advance(self, token_id: int) -> bool:
        """Consume a token; return whether it was accepted."""
        try:
            self._advance(token_id)
        except ValueError:
            return False
        return True
