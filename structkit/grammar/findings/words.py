"""Short words of terminals, and whether other terminals match wherever one does."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from structkit.regex.charset import contains, partition
from structkit.regex.nodes import CharClass
from structkit.regex.pattern.threads import MATCH, TerminalAutomaton

__all__ = ["Budget", "begins", "hiding", "shortest_word", "word_beyond", "word_with_prefix", "words_by_start"]

_MAX_SEARCHED = 5_000
"""Maximum number of combinations of states that are searched for a word."""

_DEAD = -1


@dataclass
class Budget:
    """The steps that are left for all searches."""

    left: int


def shortest_word(automaton: TerminalAutomaton, budget: Budget) -> str | None:
    """Return a shortest word; `None` if there is none within the bound."""
    return _shortest(automaton, {}, budget, avoid=True)[0]


def word_with_prefix(automaton: TerminalAutomaton, other: TerminalAutomaton, budget: Budget) -> str | None:
    """Return a shortest word that begins with a word of another terminal; `None` if none is found."""
    return _shortest(automaton, {"": other}, budget, avoid=False)[0]


def word_beyond(automaton: TerminalAutomaton, other: TerminalAutomaton, budget: Budget) -> str | None:
    """Return a shortest word that another terminal matches at its start and not as a whole; `None` if none is found."""
    return _shortest(automaton, {"": other}, budget, avoid=False, beyond=True)[0]


def words_by_start(
    automaton: TerminalAutomaton, others: Sequence[TerminalAutomaton], budget: Budget
) -> list[str]:
    """Return a shortest word for each first character that terminals distinguish, the shortest first."""
    starts = [charset for other in others for charset, _ in other.outgoing.get(0, ())]
    found = []
    for charset, target in automaton.outgoing.get(0, ()):
        if target in automaton.accepting:
            rest: str | None = ""
        else:
            rest = _shortest(automaton, {}, budget, avoid=True, first=target)[0]
        if rest is not None:
            found += [chr(code_point) + rest for code_point in _samples(charset, starts)]
    return sorted(found, key=lambda word: (len(word), word))


def hiding(
    automaton: TerminalAutomaton, above: Mapping[str, TerminalAutomaton], budget: Budget
) -> list[str] | None:
    """Return terminals such that one matches at the start of each word of a terminal; `None` if there are none.

    A terminal that looks behind its text counts as one that does not match, and one that looks ahead as one that
    matches if nothing is open: what is returned is certain, `None` is not.
    """
    if automaton.looks_behind:
        return None
    certain = {name: each for name, each in above.items() if not each.looks_behind}
    word, met, is_whole = _shortest(automaton, certain, budget, avoid=True)
    return None if word is not None or not is_whole or not met else met


def _shortest(
    automaton: TerminalAutomaton,
    others: Mapping[str, TerminalAutomaton],
    budget: Budget,
    *,
    avoid: bool,
    beyond: bool = False,
    first: int = 0,
) -> tuple[str | None, list[str], bool]:
    """Return a shortest word without, or else with, a beginning that another terminal matches; see `word_beyond`.

    Returns:
        The word; the terminals that were met, those with the shortest beginnings first; whether all was searched.
    """
    names = list(others)
    certain = [_certain_ends(other) for other in others.values()]
    accepting = frozenset(automaton.accepting)
    start = (first, (0,) * len(names), False)
    before: dict[tuple[int, tuple[int, ...], bool], tuple[tuple[int, tuple[int, ...], bool], str] | None]
    before = {start: None}
    pending = deque([start])
    met: dict[str, None] = {}
    while pending:
        if len(before) > _MAX_SEARCHED or budget.left <= 0:
            return None, [*met], False
        at = pending.popleft()
        state, states, has_met = at
        is_beyond = not beyond or not any(map(_accepts, others.values(), states))
        if state in accepting and at != start and (avoid or has_met) and is_beyond:
            letters = []
            while (step := before[at]) is not None:
                at, letter = step
                letters.append(letter)
            return "".join(reversed(letters)), [*met], True
        moves = automaton.outgoing.get(state, ())
        for charset, target in moves:
            other_sets = [
                each
                for other, number in zip(others.values(), states, strict=True)
                for each, _ in (other.outgoing.get(number, ()) if number != _DEAD else ())
            ]
            for code_point in _samples(charset, other_sets):
                budget.left -= 1 + len(others)
                after = tuple(
                    _DEAD if number == _DEAD else _step(other, number, code_point)
                    for other, number in zip(others.values(), states, strict=True)
                )
                hits = [name for name, each, ends in zip(names, after, certain, strict=True) if each in ends]
                met.update(dict.fromkeys(hits))
                if hits and avoid:
                    continue
                found = (target, after, has_met or bool(hits))
                if found not in before:
                    before[found] = at, chr(code_point)
                    pending.append(found)
    return None, [*met], True


def begins(automata: Iterable[TerminalAutomaton], text: str) -> bool:
    """Return whether a word of one of some terminals may be at the start of a text."""
    return any(_begins(automaton, text) for automaton in automata)


def _begins(automaton: TerminalAutomaton, text: str) -> bool:
    state = 0
    for letter in text:
        state = _step(automaton, state, ord(letter))
        if state == _DEAD or _accepts(automaton, state):
            return state != _DEAD
    return False


def _accepts(automaton: TerminalAutomaton, state: int) -> bool:
    return state in automaton.accepting


def _step(automaton: TerminalAutomaton, state: int, code_point: int) -> int:
    return next(
        (target for charset, target in automaton.outgoing.get(state, ()) if contains(charset, code_point)),
        _DEAD,
    )


def _samples(charset: CharClass, others: Sequence[CharClass]) -> Iterator[int]:
    """Yield a character of each part of a class that others distinguish, a visible one if there is one."""
    for part in partition((charset, *others)):
        if part.ranges and contains(charset, part.ranges[0][0]):
            yield _visible(part)


def _visible(charset: CharClass) -> int:
    is_letter_of_any_case = sum(last - first + 1 for first, last in charset.ranges) <= 2
    for preferred in "" if is_letter_of_any_case else "a0A b_x":
        if contains(charset, ord(preferred)):
            return ord(preferred)
    for first, last in charset.ranges:
        if last > 32 and first < 127:
            return max(first, 33)
    return charset.ranges[0][0]


def _certain_ends(automaton: TerminalAutomaton) -> frozenset[int]:
    """Return the states where the terminal has matched, whatever follows."""
    return frozenset(
        number
        for number, state in enumerate(automaton.states)
        if number and any(t.instruction == MATCH and not t.pending for t in state.threads)
    )
