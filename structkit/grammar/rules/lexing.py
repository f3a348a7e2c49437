"""Lark's basic and contextual lexers: which terminal a text is, given what else could match there.

The lexer tries its terminals in an order. The first one that matches at all, at whatever length, gives the token, which
is as long as that terminal's own `re.match`. So a token of a terminal requires that no terminal before it in the order
ever matches from the same place, which may show only behind the token. A keyword that another terminal also matches is
found by its text: the token of that terminal is renamed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from structkit.regex.charset import intersection
from structkit.regex.pattern.threads import TerminalAutomaton

__all__ = ["Indenting", "LexerClass", "Lexing", "Scanner", "Way", "lexing_of"]


class Way(NamedTuple):
    """A way in which a text becomes a token of a terminal.

    Attributes:
        scanned: The terminal that matches the text.
        above: The terminals that must not match from the same place.
        words: The keywords that rename the token if they match its text, in the order in which they are tried.
        renamed: The keyword that renames the token; `None` if none may.
    """

    scanned: str
    above: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    renamed: str | None = None


LexerClass: TypeAlias = "Mapping[str, tuple[Way, ...]]"
"""The ways to read each terminal."""


@dataclass(frozen=True)
class Lexing:
    """The lexer of a grammar.

    Attributes:
        automata: The automata of all terminals.
        classes: The ways to read terminals. The contextual lexer has one class for each set of states of the parser in
            which the ways are the same.
        ignored: The terminals whose tokens are dropped, unless they are keywords that rename another token.
        first: The class at the start.
    """

    automata: Mapping[str, TerminalAutomaton]
    classes: tuple[LexerClass, ...]
    ignored: frozenset[str] = frozenset()
    first: int = 0

    def canonical(self, number: int, names: frozenset[str]) -> int:
        """Return the first class in which some terminals are read as in a class."""
        own = self.classes[number]
        for other, ways in enumerate(self.classes):
            if all(ways.get(name) == own.get(name) for name in names):
                return other
        return number


class Indenting(NamedTuple):
    """The names of the terminals of an indenter, and the columns of a tab; see `lark.indenter.Indenter`."""

    newline: str
    indent: str
    dedent: str
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    tab_length: int


@dataclass(frozen=True)
class Scanner:
    """What the lexer does in a state of the parser.

    Attributes:
        terminals: The terminals, in the order in which they are tried.
        words: The keywords that rename the tokens of a terminal.
        ignored: The terminals whose tokens are dropped.
    """

    terminals: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]]
    ignored: frozenset[str]


def lexing_of(
    scanners: Sequence[Scanner], automata: Mapping[str, TerminalAutomaton]
) -> tuple[Lexing, tuple[int, ...]]:
    """Return the lexer, and the class of each scanner.

    Scanners share a class if they agree on the terminals that both have: which terminals can come at all, the parser
    decides.
    """
    collisions = _Collisions(automata)
    classes: list[dict[str, tuple[Way, ...]]] = []
    numbers = tuple(_add_class(_ways(scanner, collisions), classes) for scanner in scanners)
    ignored = frozenset(name for each in scanners for name in each.ignored)
    return Lexing(automata, tuple(classes), ignored), numbers


def _add_class(ways: Mapping[str, tuple[Way, ...]], classes: list[dict[str, tuple[Way, ...]]]) -> int:
    """Add ways to the first class that they agree with, or as a new one; return its number."""
    for number, each in enumerate(classes):
        if all(each.get(name, found) == found for name, found in ways.items()):
            each.update(ways)
            return number
    classes.append(dict(ways))
    return len(classes) - 1


def _ways(scanner: Scanner, collisions: _Collisions) -> dict[str, tuple[Way, ...]]:
    found: dict[str, list[Way]] = {}
    for place, name in enumerate(scanner.terminals):
        above = frozenset(each for each in scanner.terminals[:place] if collisions.matter(each, name))
        is_ignored = name in scanner.ignored
        words = () if is_ignored else scanner.words.get(name, ())
        found.setdefault(name, []).append(Way(name, above, words))
        for word in words:
            found.setdefault(word, []).append(Way(name, above, words, word))
    return {name: tuple(ways) for name, ways in found.items()}


@dataclass
class _Collisions:
    """Whether a terminal can match where another one does."""

    automata: Mapping[str, TerminalAutomaton]
    known: dict[tuple[str, str], bool] = field(default_factory=dict)

    def matter(self, above: str, name: str) -> bool:
        """Return whether a text of one terminal begins with a text of the other, as far as the automata tell."""
        key = above, name
        if key not in self.known:
            self.known[key] = self._meet(self.automata[above], self.automata[name])
        return self.known[key]

    def _meet(self, one: TerminalAutomaton, other: TerminalAutomaton) -> bool:
        if one.looks_behind or other.looks_behind:
            return True
        ends_of_one, ends_of_other = _ends(one), _ends(other)
        moves_of_one, moves_of_other = one.outgoing, other.outgoing
        seen = {(0, 0)}
        pending = [(0, 0)]
        while pending:
            a, b = pending.pop()
            for charset, after_a in moves_of_one.get(a, ()):
                for other_charset, after_b in moves_of_other.get(b, ()):
                    pair = after_a, after_b
                    if pair in seen or not intersection(charset, other_charset).ranges:
                        continue
                    if after_a in ends_of_one or after_b in ends_of_other:
                        return True
                    seen.add(pair)
                    pending.append(pair)
        return False


def _ends(automaton: TerminalAutomaton) -> frozenset[int]:
    """Return the states where a match may end, whatever follows."""
    return frozenset(
        number
        for number, state in enumerate(automaton.states)
        if any(t.instruction <= 0 for t in state.threads)
    )
