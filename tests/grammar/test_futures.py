"""Requirements that are replaced by others exclude the same texts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest

from structkit.grammar.read import GrammarSource
from structkit.grammar.rules.futures import Futures, Running
from structkit.grammar.syntax.lark_grammar import LarkOptions
from structkit.limits import Work
from structkit.regex.charset import char_class, complement, intersection, union
from structkit.regex.nodes import Network
from structkit.regex.pattern.program import read_pattern
from structkit.regex.pattern.threads import TerminalAutomaton, build_terminal
from tests.shared import cases

PATTERNS = (
    "a*b", "(ab|c)*a", "a+?b|ac", "[ab]*c[ab]", "abc|abd|b", '"""(a|b)*?"""', '"(a|b|\\\\")*"', "(?:a|ab)(?:c|bcd)",
    "a{2,3}b*", "[abc]{1,4}b", "(?:a|bc){0,3}c", "(a|b)*?abb", ".*?\\*/", "[0-9]+(\\.[0-9]+)?(e[0-9]+)?",
)  # fmt: skip
LETTERS = 'abc"\\*/.1e'
TEXTS = ["".join(text) for length in range(4) for text in product(LETTERS, repeat=length)]


def runnings(automata: list[TerminalAutomaton], source: random.Random) -> Iterator[Running]:
    """Yield threads behind beginnings of texts."""
    while True:
        number = source.randrange(len(automata))
        threads = automata[number].threads
        state = threads.start()
        for _ in range(source.randint(0, 3)):
            state = threads.step(state, ord(source.choice(LETTERS)))
        if state.threads:
            yield number, state


def match(automata: list[TerminalAutomaton], never: frozenset[Running], text: str) -> bool:
    """Return whether threads match at the start of a text."""
    for number, first in never:
        state = first
        for character in text:
            after = automata[number].threads.step_or_match(state, ord(character))
            if after is None:
                return True
            state = after
        if state.can_match_at_end:
            return True
    return False


@pytest.mark.long(every=4)
@pytest.mark.parametrize("seed", range(cases(5, of=200)))
def test_threads_match_where_those_in_their_place_do(seed: int) -> None:
    source = random.Random(seed)
    automata = [build_terminal(read_pattern(pattern)) for pattern in PATTERNS]
    futures = Futures(lambda number: automata[number].threads, Work(10**9))
    made = runnings(automata, source)
    for _ in range(10):
        never = frozenset(next(made) for _ in range(source.randint(1, 4)))
        matched = union(futures.of(running).matched for running in never)
        letters = char_class((ord(letter), ord(letter)) for letter in LETTERS if source.random() < 0.7)
        allowed = intersection(letters, complement(matched))
        reduced = futures.reduced(never, allowed)
        assert len(reduced) <= len(never)
        for text in TEXTS:
            if not text or any(first <= ord(text[0]) <= last for first, last in allowed.ranges):
                assert match(automata, never, text) == match(automata, reduced, text), (never, reduced, text)


def moves(grammar: str) -> int:
    """Return the moves of the rules of a grammar and of the terminals inside them."""
    rules = GrammarSource(grammar, options=LarkOptions(parser="lalr")).rules.rules.values()
    pending = [rule for rule in rules if isinstance(rule, Network)]
    for network in pending:  # grows while it is read
        pending += [node for _, node, _ in network.moves if isinstance(node, Network)]
    return sum(len(network.moves) for network in pending)


def test_strings_that_a_later_quote_would_lengthen_share_rules() -> None:
    long = r"/'''(\\.|.|\n)*?'''/ | /\"\"\"(\\.|.|\n)*?\"\"\"/"
    short = r"/\"(\\.|.)*?\"/ | /'(\\.|.)*?'/"
    text = 'start: e\ne: t | e "+" t\nt: LONG | SHORT | BYTES | "(" e ")"\nBYTES: "b" LONG | "b" SHORT\n'
    text += f"LONG: {long}\nSHORT: {short}\n%ignore /\\s+/\n"
    assert moves(text) < 8_000


def test_the_counts_of_a_repetition_are_not_compared_with_each_other() -> None:
    """Behind each letter the terminal may have ended at the last `x`, or may end at a later one."""
    source = GrammarSource('start: /[a-z]{1,200}x/ "y"', options=LarkOptions(parser="lalr"))
    assert len(source.rules.rules) < 1_000


def test_a_token_is_one_automaton_for_all_that_it_may_require_of_the_text_behind_it() -> None:
    """A name behind a terminal that ends early may not contain a later end: as many ways as there are letters."""
    small, large = (
        moves(f"start: (T | NAME)+\nT.1: /[a-z]{{1,{count}}}x/\nNAME: /[a-z]+/\n%ignore / /")
        for count in (15, 30)
    )
    assert large < 4 * small


def test_ends_that_nothing_behind_a_terminal_tells_apart_are_one() -> None:
    """A longer match cannot follow, since the text ends behind the next character."""
    assert moves('start: T "y"\nT: /.{0,80}end/') < 3_000
