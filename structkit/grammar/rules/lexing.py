"""Lark's basic and contextual lexers: which terminal a text is, given what else could match there.

The lexer tries its terminals in an order. The first one that matches at all, at whatever length, gives the token, which
is as long as that terminal's own `re.match`. So a token of a terminal requires that no terminal before it in the order
ever matches from the same place, which may show only behind the token. A keyword that another terminal also matches is
found by its text: the token of that terminal is renamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, TypeAlias

from structkit.regex.charset import contains, partition
from structkit.regex.nodes import CharClass
from structkit.regex.pattern.threads import TerminalAutomaton

__all__ = ["Indenting", "LexerClass", "Lexing", "Scanner", "Way", "lexing_of"]


class Way(NamedTuple):
    """A way in which a text becomes a token of a terminal.

    Attributes:
        scanned: The terminal that matches the text.
        above: The terminals that must not match from the same place.
        words: The keywords that rename the token if they match its text, in the order in which they are tried.
        renamed: The keyword that renames the token; `None` if none may.
        is_complete: Whether shorter texts that match on their own are tokens too, as in `dynamic_complete`.
    """

    scanned: str
    above: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    renamed: str | None = None
    is_complete: bool = False


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
    collisions = _collisions(automata)
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


def _ways(scanner: Scanner, collisions: Mapping[str, Set[str]]) -> dict[str, tuple[Way, ...]]:
    found: dict[str, list[Way]] = {}
    tried: set[str] = set()
    for name in scanner.terminals:
        above = frozenset(collisions[name] & tried)
        tried.add(name)
        is_ignored = name in scanner.ignored
        words = () if is_ignored else scanner.words.get(name, ())
        found.setdefault(name, []).append(Way(name, above, words))
        for word in words:
            found.setdefault(word, []).append(Way(name, above, words, word))
    return {name: tuple(ways) for name, ways in found.items()}


_MAX_TOGETHER = 5_000
"""Maximum sets of terminals that are read together; afterwards each two are, whose product is smaller."""

_Places: TypeAlias = "frozenset[tuple[str, int]]"
"""Terminals that have read the same text, each with the state of its automaton."""


def _collisions(automata: Mapping[str, TerminalAutomaton]) -> dict[str, set[str]]:
    """Return the terminals that can match where a terminal can, as far as the automata show.

    These have a text that begins with a text of the other. All terminals are read together, so that those whose texts
    begin with different characters are never compared.
    """
    behind = {name for name, automaton in automata.items() if automaton.looks_behind}
    found = {name: set(automata) if name in behind else set(behind) for name in automata}
    ends = {name: _ends(automaton) for name, automaton in automata.items()}
    first = frozenset((name, 0) for name in automata if name not in behind)
    seen, pending = {first}, [first]
    while pending:
        for places in _after(pending.pop(), automata):
            names = {name for name, _ in places}
            ended = {name for name, state in places if state in ends[name]}
            for name in ended:
                found[name] |= names
            for name in names:
                found[name] |= ended
            # Whether these meet again makes no difference.
            left = frozenset(place for place in places if not names <= found[place[0]] | {place[0]})
            for group in [left] if len(seen) < _MAX_TOGETHER else map(frozenset, combinations(left, 2)):
                if group and group not in seen:
                    seen.add(group)
                    pending.append(group)
    return found


def _after(places: _Places, automata: Mapping[str, TerminalAutomaton]) -> Iterator[_Places]:
    """Yield the places of two terminals or more after each character."""
    movers: dict[CharClass, list[tuple[str, int]]] = {}
    for name, state in places:
        for charset, target in automata[name].outgoing.get(state, ()):
            movers.setdefault(charset, []).append((name, target))
    for part in partition(movers):
        code_point = part.ranges[0][0]
        found = [moved for charset, moved in movers.items() if contains(charset, code_point)]
        if sum(map(len, found)) > 1:
            yield frozenset(place for moved in found for place in moved)


def _ends(automaton: TerminalAutomaton) -> frozenset[int]:
    """Return the states where a match may end, whatever follows."""
    return frozenset(
        number
        for number, state in enumerate(automaton.states)
        if any(t.instruction <= 0 for t in state.threads)
    )
