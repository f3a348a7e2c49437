"""Numbers with check digits, telephone numbers and times of `cron`, as the package pydantic-extra-types reads them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from structkit.regex.chars import DIGIT, one, union
from structkit.regex.integers import digits, naturals, same_length
from structkit.regex.nodes import EMPTY, Alt, Both, Joined, Machine, Node, Part, Repeat, Seq, Text, alt, seq
from structkit.regex.parse import parse

__all__ = ["card_number", "cron", "iban", "isbn", "phone_number", "routing_number"]

_DIGITS = "0123456789"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DEAD = None

_Step = Callable[[Hashable, str], Hashable]


def _machine(start: Hashable, alphabet: str, step: _Step, is_end: Callable[[Hashable], bool]) -> Machine:
    """The automaton of a function from a state and a character to the next state, `None` for none."""
    numbers: dict[Hashable, int] = {start: 0}
    moves: list[dict[int, str]] = []
    for state in (found := [start]):
        targets: dict[int, str] = {}
        for letter in alphabet:
            following = step(state, letter)
            if following is _DEAD:
                continue
            if following not in numbers:
                numbers[following] = len(numbers)
                found.append(following)
            targets[numbers[following]] = targets.get(numbers[following], "") + letter
        moves.append(targets)
    ends = {number for state, number in numbers.items() if is_end(state)}
    return _without_dead_ends(moves, ends)


def _without_dead_ends(moves: Sequence[dict[int, str]], ends: set[int]) -> Machine:
    """States from which no end is reached are left out, and the others numbered anew."""
    alive = set(ends)
    while more := {state for state, row in enumerate(moves) if state not in alive and alive & row.keys()}:
        alive |= more
    new = {state: number for number, state in enumerate(sorted(alive))}
    kept = (
        tuple((letters, new[target]) for target, letters in moves[state].items() if target in alive)
        for state in sorted(alive)
    )
    return Machine(tuple(kept), frozenset(new[state] for state in ends))


@lru_cache(maxsize=64)
def _weighted(weights: tuple[int, ...], modulus: int = 10, *, luhn: bool = False) -> Machine:
    """As many digits as there are weights, whose weighted sum is a multiple of the modulus.

    `luhn`: of products of two digits those are added up (ISO/IEC 7812-1, annex B).
    """

    def step(state: Hashable, letter: str) -> Hashable:
        read, total = state if isinstance(state, tuple) else (0, 0)
        if read == len(weights):
            return _DEAD
        value = int(letter) * weights[read]
        return read + 1, (total + (value - 9 if luhn and value > 9 else value)) % modulus

    return _machine((0, 0), _DIGITS, step, lambda state: state == (len(weights), 0))


@cache
def isbn() -> Node:
    """Book numbers of 13 digits with their check digit (ISO 2108); those of 10 are the same books.

    >>> from structkit.automaton.build import regular
    >>> regular(isbn()).accepts(b"9780306406157"), regular(isbn()).accepts(b"9780306406158")
    (True, False)
    """
    begun = seq(alt([Text("978"), Text("979")]), Repeat(DIGIT, 10, 10))
    return Both(_weighted((1, 3) * 6 + (1,)), begun)


@cache
def routing_number() -> Node:
    """The nine digits by which the American Bankers Association names a bank."""
    return _weighted((3, 7, 1) * 3)


_LEADING = 6
"""Digits of a card's number that say who issued it."""


@lru_cache(maxsize=4)
def card_number(least: int, most: int, brands: tuple[tuple[int, int, tuple[int, ...]], ...] = ()) -> Node:
    """Numbers of payment cards, by the algorithm of Luhn.

    Args:
        least: The fewest digits.
        most: The most.
        brands: The first and the last of the first six digits of a brand, and how many digits its numbers have. Of
            brands that overlap the first counts; numbers of no brand have any length.
    """
    edges = sorted({0, 10**_LEADING, *(end for low, high, _ in brands for end in (low, high + 1))})
    parts: list[Node] = []
    for size in range(least, most + 1):
        allowed = [
            (low, high - 1)
            for low, high in pairwise(edges)
            if size in next((sizes for first, last, sizes in brands if first <= low <= last), (size,))
        ]
        leading = (same_length(f"{low:06}", f"{high:06}") for low, high in allowed)
        begun = seq(
            alt(node for nodes in leading for node in nodes), digits(size - _LEADING, size - _LEADING)
        )
        weights = tuple(1 + (place % 2) for place in range(size - 1, -1, -1))
        parts.append(Both(_weighted(weights, luhn=True), begun))
    return alt(parts)


_MODULUS = 97


@lru_cache(maxsize=2)
def iban(countries: tuple[str, ...], sizes: tuple[int, ...]) -> Node:
    """Numbers of bank accounts (ISO 13616), with their check digits (ISO 7064) if no letter follows the country.

    Where the letters are is said by each country alone, and they change the weight of all digits before them: an
    automaton for all would have hundreds of thousands of states.

    Args:
        countries: Codes of countries.
        sizes: How many characters the numbers of each have.
    """
    lengths = dict(zip(countries, sizes, strict=True))

    def step(state: Hashable, letter: str) -> Hashable:
        match state:
            case str(country) if len(country) == 0:
                return letter if any(code[0] == letter for code in countries) else _DEAD
            case str(country):
                code = country + letter
                value = sum(int(each, 36) * weight for each, weight in zip(code, (100, 1), strict=True))
                return (lengths[code] - 2, value * 100 % _MODULUS, 2) if code in lengths else _DEAD
            case (int(left), int(total), int(checks)) if left:
                if letter.isalpha():
                    return (left - 1, -1, 0) if not checks else _DEAD
                weight = 10 ** (checks - 1 if checks else left + 5)
                total = -1 if total < 0 else (total + weight * int(letter)) % _MODULUS
                return left - 1, total, max(checks - 1, 0)
        return _DEAD

    def is_end(state: Hashable) -> bool:
        return isinstance(state, tuple) and state[0] == 0 and state[1] in (-1, 1)

    return _machine("", _DIGITS + _LETTERS, step, is_end)


@lru_cache(maxsize=2)
def phone_number(plans: tuple[tuple[str, tuple[str, ...]], ...], separators: str) -> Node:
    """Telephone numbers with the code of their country, as `tel:+49-30-123456` (RFC 3966) or `+4930123456` (E.164).

    Args:
        plans: Codes, and the patterns of what follows each.
        separators: What may stand before each digit; with `-` alone the form is that of RFC 3966.
    """
    between = Repeat(union(map(one, separators)), 0, 1) if separators else EMPTY
    numbers = (
        seq(
            Text(code),
            _separated(alt(parse(each, search=False, unicode=False) for each in patterns), between),
        )
        for code, patterns in plans
    )
    begin, extension = {"": ("+", ""), "-": ("tel:+", ";ext=")}.get(separators, ("+", " ext. "))
    more = Repeat(seq(Text(extension), digits(1, 7)), 0, 1) if extension else EMPTY
    return seq(Text(begin), alt(numbers), more)


def _separated(node: Node, between: Node) -> Node:
    """The texts of a node with something before each of their characters."""
    match node:
        case Text(value):
            return seq(*(part for letter in value for part in (between, Text(letter))))
        case Seq(parts):
            return seq(*(_separated(part, between) for part in parts))
        case Alt(parts):
            return alt(_separated(part, between) for part in parts)
        case Repeat(part, least, most):
            return Repeat(_separated(part, between), least, most)
        case _:
            return seq(between, node)


_UNITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
"""Minutes, hours, days of the month, months and days of the week."""


@cache
def cron() -> Node:
    """The five parts of a line of crontab(5): `*`, `*/5`, or numbers and ranges, by their first numbers."""
    first, *others = (_times(*unit) for unit in _UNITS)
    return seq(first, *(seq(Text(" "), other) for other in others))


def _times(first: int, last: int) -> Node:
    step = seq(Text("/"), naturals(2, last - first))
    ranges = [
        seq(Text(f"{start}-"), naturals(start + 1, last), Repeat(step, 0, 1)) for start in range(first, last)
    ]
    starts = (
        alt([Text(f"{start}"), *ranges[start - first : start - first + 1]])
        for start in range(first, last + 1)
    )
    listed = Joined(tuple(Part(node, 0, 1) for node in starts), ",")
    return alt([seq(Text("*"), Repeat(step, 0, 1)), Both(listed, EMPTY, negate=True, end='[ "]')])
