"""Instructions of patterns as automata of ordered threads.

A backtracking matcher tries the threads of an automaton in an order: greedy loops continue first, lazy loops end first,
and alternatives come in the order in which they are written. `Program` keeps this order, which decides where a match
ends (Cox 2009, "Regular Expression Matching: the Virtual Machine Approach").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from structkit.regex.nodes import CharClass

__all__ = ["Char", "End", "Instruction", "Look", "Match", "Program", "Split"]


@dataclass(frozen=True, slots=True)
class Char:
    """Read one code point of the class, then continue at `after`."""

    charset: CharClass
    after: int


@dataclass(frozen=True, slots=True)
class Split:
    """Continue at each of `after`, in this order; at `end` if a round of `loop` came here without reading a character.

    The second case is how `re` leaves a loop whose body matched the empty text.
    """

    after: tuple[int, ...]
    end: int | None = None
    loop: int | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """Continue at `after` if the program at `start` matches the text ahead, or behind; if `negate`, if it does not."""

    start: int
    after: int
    ahead: bool
    negate: bool


@dataclass(frozen=True, slots=True)
class Match:
    """The end of the pattern or of a lookaround."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of the text, inside a lookahead."""


Instruction: TypeAlias = Char | Split | Look | Match | End


@dataclass(slots=True)
class Program:
    """The instructions of a pattern.

    Attributes:
        instructions: The instructions; instruction 0 is the `Match` of every path.
        start: The first instruction.
        lookbehinds: The first instructions of the lookbehinds.
    """

    instructions: list[Instruction] = field(default_factory=lambda: [Match()])
    start: int = 0
    lookbehinds: list[int] = field(default_factory=list)
