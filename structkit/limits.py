"""Bounds on work and memory, each with its reason and its measured cost."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from structkit.arguments.names import names_arguments
from structkit.errors import LimitExceeded

__all__ = ["Limits", "Work", "check_iterations", "show_integer"]

_MAX_INTEGER_DIGITS = 4_300
"""CPython's default limit on the digits of an integer converted from or to text (`sys.int_info`)."""

_MAX_SHOWN_DIGITS = 20
"""Digits of a number that a message shows."""


@names_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on the work and memory that one target may use; beyond them `LimitExceeded` is raised.

    The defaults admit practical schemas and stop adversarial ones within about a second.

    >>> Limits(states=1_000).states
    1000

    Raises:
        ValueError: A limit is below 0, or `integer_digits` is not from 1 to 4,300.
        TypeError: A limit is not an integer.
    """

    schema_nodes: int = 500_000
    """Subschemas in one schema. Parsing and lowering take about 40 µs each, or 12 µs for an `enum` value."""

    schema_depth: int = 100
    """Nesting depth of a schema. Pydantic rejects JSON nested deeper than 200."""

    pattern_length: int = 10_000
    """Characters in one pattern."""

    grammar_length: int = 64_000
    """Characters in one grammar with the files that it imports. Lark reads a character in about 15 µs."""

    regex_nodes: int = 1_000_000
    """Nodes in one regex after expansion."""

    nfa_states: int = 300_000
    """NFA states of one rule, at about 300 bytes and 2 µs each."""

    transitions: int = 16_000_000
    """Transition table entries of one rule (states times byte classes), at 4 bytes each."""

    states: int = 200_000
    """DFA states of one rule, at about 200 bytes and 2 µs each."""

    product_states: int = 100_000
    """States of a product automaton (one `pattern` and another), at about 0.1 µs each for small patterns."""

    iterations: int = 10_000_000
    """Largest supported minimum repetition (`minLength`, `minItems`). A maximum above this value is treated as
    unbounded, because no generated text is as long."""

    parse_states: int = 1024
    """Concurrent parses of one text; parses that differ only below the top of the stack count as one. JSON needs one
    or two."""

    row_bytes: int = 64 * 2**20
    """Memory for the masks of one guide; the least recently used masks are dropped and computed again on demand. A
    dense mask of 128,000 tokens takes 16 KiB, a sparse one at most 4 KiB. Targets with unique items use the same amount
    again for their states."""

    disk_bytes: int = 2**30
    """Size of the disk cache; the least recently used files are deleted first."""

    prefix_cache_tokens: int = 8_192
    """Tokens whose key-value cache an agent keeps, so that a later run continues the conversation without reading the
    prompt again. At 16 bits a token takes 32 KiB in Llama 3.2 1B, 112 KiB in Qwen3 0.6B and 128 KiB in Llama 3.1 8B
    (1 GiB in total)."""

    batch_rows: int = 32
    """Sequences of all calls that a model computes together, if no call has a larger `batch_size`. The others wait."""

    batch_tokens: int = 65_536
    """Tokens whose key-value cache the sequences of a batch may take together, each as many as the longest: 32
    sequences of 2,048 tokens. Beyond, new sequences wait, and the last ones that entered are read again later. With
    several calls the largest limit applies. See `prefix_cache_tokens` for the memory of a token."""

    integer_digits: int = 18
    """Digits of an unbounded `int` in a Python type; integers of 18 digits fit into 64 bits. At most 4,300, because
    Python does not parse longer integers by default."""

    fraction_digits: int = 17
    """Decimal places of a `float` in a Python type; 17 are enough for the shortest round-trip spelling."""

    work: int = 10_000_000
    """Steps of about 0.1 µs for each of these: the schemas of a target are read; its patterns are compared; the
    automata of its rules are built before the first token; the lookarounds, the lexer and the parser of a grammar are
    made; the tokens of one mask are searched, where a step is room for a frame; a target is written as a grammar of
    another engine. The grammar of Lark for Python takes 2,800,000."""

    memory: int = 256 * 2**20
    """Bytes of the automata that are built before the first token. What is made later has bounds of its own: masks and
    the ways to read a text (`row_bytes`), and rules that have no end, with which a guide is compiled again."""

    search_states: int = 20_000
    """States searched to decide whether a vocabulary without some byte tokens can complete a value."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if type(value) is not int:
                raise TypeError(f"{name} must be an integer, not {value!r:.60}")
            if value < 0 and name != "integer_digits":
                raise ValueError(f"{name} must be at least 0, not {value}")
        if not 1 <= self.integer_digits <= _MAX_INTEGER_DIGITS:
            raise ValueError(
                f"integer_digits must be from 1 to {_MAX_INTEGER_DIGITS}, not {self.integer_digits}"
            )


@dataclass(slots=True)
class Work:
    """A counter of the steps that one question takes, against `Limits.work`.

    Attributes:
        limit: `Limits.work`.
        left: The steps that are left.

    >>> work = Work(10)
    >>> work.pay(4, "the example")
    >>> work.left
    6
    """

    limit: int
    left: int = -1

    def __post_init__(self) -> None:
        if self.left < 0:
            self.left = self.limit

    def pay(self, steps: int, building: str, place: str | None = None) -> None:
        """Take steps from those that are left.

        Args:
            steps: The steps, of about 0.1 µs each.
            building: What takes them, for the message.
            place: Where it is in the target.

        Raises:
            LimitExceeded: Fewer steps are left.
        """
        self.left -= steps
        if self.left < 0:
            raise LimitExceeded("work", self.limit, building, place=place)


def check_iterations(count: int, limits: Limits, place: str | None = None) -> None:
    """Check how often a repetition is needed at least.

    Raises:
        LimitExceeded: That is beyond `Limits.iterations`.
    """
    if count > limits.iterations:
        least = show_integer(count)
        raise LimitExceeded("iterations", limits.iterations, f"a repetition of at least {least}", place=place)


def show_integer(value: int) -> str:
    """Return a positive number for a message, however long it is.

    >>> show_integer(1234), show_integer(10**5_000)
    ('1234', '100... (5001 digits)')
    """
    digits = Decimal(value).adjusted() + 1
    return (
        str(value) if digits <= _MAX_SHOWN_DIGITS else f"{value // 10 ** (digits - 3)}... ({digits} digits)"
    )
