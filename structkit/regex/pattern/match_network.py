"""The texts that a pattern with lookarounds matches entirely, as an automaton that is not deterministic.

The threads of a pattern do not depend on each other if their order does not count: a text matches if one of them reads
it. So a state is a single thread, and counted parts need as many states as they have counts, not one for each set of
counts at which the threads of a text can be.
"""

from __future__ import annotations

from structkit.errors import LimitExceeded
from structkit.regex.charset import partition, union
from structkit.regex.nodes import EMPTY, CharClass, Network, Node
from structkit.regex.pattern.instructions import Program
from structkit.regex.pattern.threads import MAX_STEPS, State, Threads

__all__ = ["match_network"]

_Move = tuple[int, Node, int]

_START, _END = 0, 1
"""The states of a network at which its paths begin and end."""


def match_network(program: Program, max_steps: int = MAX_STEPS) -> Network:
    r"""Return the texts of a program that `re.fullmatch` matches.

    Args:
        program: The program.
        max_steps: The maximum number of instructions that are examined.

    Raises:
        LimitExceeded: The automaton takes more steps.

    >>> from structkit.regex.pattern.program import read_pattern
    >>> match_network(read_pattern(r"a\b")).size
    3
    """
    threads = Threads(program, ordered=False)
    start = threads.start()
    numbers = {start: _START}
    states = [start]
    moves: list[_Move] = []

    def number_of(state: State) -> int:
        number = numbers.setdefault(state, len(states) + 1)
        if number > len(states):
            states.append(state)
        return number

    for state in states:
        source = numbers[state]
        threads.steps += state.size
        if len(state.threads) > 1:  # a move reads a character for all threads that are behind it
            alone = (State((thread,), state.behind) for thread in state.threads)
            moves += [(source, EMPTY, number_of(each)) for each in alone]
            continue
        if state.can_match_at_end:
            moves.append((source, EMPTY, _END))
        targets: dict[State, list[CharClass]] = {}
        for charset in partition(threads.classes_at(state)):
            after = threads.step(state, charset.ranges[0][0])
            threads.steps += len(charset.ranges) // 4
            if threads.steps > max_steps:
                raise LimitExceeded("nfa_states", max_steps, "the automaton of a pattern", is_fixed=True)
            if after.threads:
                targets.setdefault(after, []).append(charset)
        moves += [(source, union(parts), number_of(after)) for after, parts in targets.items()]
    return _trimmed(moves)


def _trimmed(moves: list[_Move]) -> Network:
    """Return a network without the states from which no path leads to the end."""
    sources: dict[int, list[int]] = {}
    for source, _, target in moves:
        sources.setdefault(target, []).append(source)
    live, pending = {_END}, [_END]
    while pending:
        following = [source for source in sources.get(pending.pop(), ()) if source not in live]
        live.update(following)
        pending += following
    numbers = {state: number for number, state in enumerate(sorted(live | {_START}))}
    kept = ((numbers[a], node, numbers[b]) for a, node, b in moves if a in live and b in live)
    return Network(len(numbers), tuple(kept))
