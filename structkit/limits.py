"""Limits: every number that bounds work or memory, with its reason and its measured cost."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]

_MAX_INTEGER_DIGITS = 4_300
"""Python's own bound on the digits of an integer that is read or written as text (`sys.int_info`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What structkit will do for one target before it raises `LimitExceeded`.

    The defaults leave room for real schemas and stop hostile ones within about a second.

    >>> Limits(states=1_000).states
    1000

    Raises:
        ValueError: `integer_digits` is not from 1 to 4,300.
    """

    schema_nodes: int = 500_000
    """Subschemas in one schema. Reading and lowering take about 40 µs each, a constant of an `enum` 12 µs."""

    schema_depth: int = 100
    """Schemas nested in schemas. Pydantic itself refuses JSON nested deeper than 200."""

    pattern_length: int = 10_000
    """Characters of one pattern; longer ones are data, not patterns."""

    regex_nodes: int = 1_000_000
    """Nodes of one regex after expansion."""

    nfa_states: int = 300_000
    """States of one rule's nondeterministic automaton: about 300 bytes and 2 µs each."""

    transitions: int = 16_000_000
    """Entries in the table of one rule's automaton, states times classes of bytes: 4 bytes each."""

    states: int = 200_000
    """States of one rule's automaton: about 200 bytes and 2 µs each."""

    product_states: int = 100_000
    """States of a product (`pattern` with another pattern): about 0.1 µs each for small ones."""

    iterations: int = 10_000_000
    """Rounds that a repetition may need, as `minLength` and `minItems` do; none as long is ever generated. What is
    allowed at most may be more: beyond this it is no bound."""

    parse_states: int = 1024
    """Ways in which one text may be read at once, where those that differ only in what is below them count as one; JSON
    needs one or two."""

    row_bytes: int = 64 * 2**20
    """Masks that one guide keeps in memory, and, where items must be unique, as much again for its states and for what
    begins and ends these items; those unused for longest are made again when asked for.
    A mask of many tokens takes 16 KiB for 128,000 tokens, one of few at most 4."""

    disk_bytes: int = 2**30
    """The size of the disk cache; the files unused for longest are removed first."""

    prefix_cache_tokens: int = 8_192
    """Tokens of conversations of which an agent keeps what the model has read, for runs that go on with them. In 16
    bits: 32 KiB each in the layout of Llama 3.2 1B, 112 KiB in that of Qwen3 0.6B and 128 KiB in that of Llama 3.1 8B,
    so up to 1 GiB there."""

    integer_digits: int = 18
    """Digits of an integer of a Python type without bounds: any 64-bit integer but the last few. At most 4,300, for
    Python reads no longer ones."""

    fraction_digits: int = 17
    """Digits after the point in a float of a Python type: as many as the shortest exact spelling needs."""

    search_states: int = 20_000
    """States looked at to find out whether a vocabulary that lacks bytes can spell the rest of a value."""

    def __post_init__(self) -> None:
        if not 1 <= self.integer_digits <= _MAX_INTEGER_DIGITS:
            raise ValueError(
                f"integer_digits must be from 1 to {_MAX_INTEGER_DIGITS}, not {self.integer_digits}"
            )
