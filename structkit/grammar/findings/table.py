"""Lark's LALR table by number: the moves of each state, and what the parser does before a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Conflict", "Reduction", "Stack", "Table"]

Stack: TypeAlias = "tuple[int, ...]"
"""The states of a parser, the top last."""

_MAX_REDUCTIONS = 1_000
"""Maximum number of reductions before one terminal. Lark's parser reduces without end in some grammars."""

_END = "$END"


class Reduction(NamedTuple):
    """The end of a rule.

    Attributes:
        rule: The name of the rule.
        symbols: The symbols of its alternative.
    """

    rule: str
    symbols: tuple[str, ...]


class Conflict(NamedTuple):
    """A rule that does not end before a terminal in a state, though it could.

    Attributes:
        state: The state.
        terminal: The terminal.
        lost: The end of the rule that the parser does not choose.
        chosen: The end of another rule that it chooses; `None` if it shifts the terminal.
    """

    state: int
    terminal: str
    lost: Reduction
    chosen: Reduction | None


class Table:
    """The states that are reached from the first one of Lark's analyzer, which is state 0.

    Attributes:
        shifts: The terminals that each state can read, with the states behind them.
        gotos: The rules that can end on top of each state, with the states behind them.
        ends: The ends of rules before each terminal, the one that the parser chooses first, unless it shifts.
        items: The rest of each alternative in each state, with the symbols before it; the last element is whether it is
            that of the whole text.
    """

    def __init__(self, root: Any) -> None:
        states = [root]
        numbers = {id(root): 0}
        self.shifts: list[dict[str, int]] = []
        self.gotos: list[dict[str, int]] = []
        self.ends: list[dict[str, list[Reduction]]] = []
        self.items: list[list[tuple[Reduction, tuple[str, ...], bool]]] = []
        for state in states:
            shifts: dict[str, int] = {}
            gotos: dict[str, int] = {}
            for symbol, target in sorted(state.transitions.items(), key=lambda move: move[0].name):
                if id(target) not in numbers:
                    numbers[id(target)] = len(states)
                    states.append(target)
                (shifts if symbol.is_term else gotos)[str(symbol.name)] = numbers[id(target)]
            self.shifts.append(shifts)
            self.gotos.append(gotos)
            self.ends.append(
                {
                    str(symbol.name): list(map(_reduction, _ordered(rules)))
                    for symbol, rules in sorted(state.lookaheads.items(), key=lambda each: each[0].name)
                }
            )
            self.items.append([_item(item) for item in sorted(state.kernel, key=_order)])

    def conflicts(self) -> Iterator[Conflict]:
        """Yield what the parser does not do in a conflict; Lark refuses the other conflicts."""
        for state, ends in enumerate(self.ends):
            for terminal, found in ends.items():
                is_shift = terminal in self.shifts[state]
                for lost in found if is_shift else found[1:]:
                    yield Conflict(state, terminal, lost, None if is_shift else found[0])

    def read(self, stack: Stack, terminal: str) -> Stack | None:
        """Return the stack behind a terminal; `None` if the parser refuses it."""
        tops = [*self.before(stack, terminal)]
        target = self.shifts[tops[-1][-1]].get(terminal)
        return None if target is None else (*tops[-1], target)

    def before(self, stack: Stack, terminal: str) -> Iterator[Stack]:
        """Yield a stack and those behind the reductions that the parser does before a terminal."""
        for _ in range(_MAX_REDUCTIONS):
            yield stack
            top = stack[-1]
            if terminal in self.shifts[top] or terminal not in self.ends[top]:
                return
            after = self.reduced(stack, self.ends[top][terminal][0])
            if after is None:
                return
            stack = after
            if terminal == _END and self.is_end(stack[-1]):
                yield stack
                return

    def accepts(self, stack: Stack) -> bool:
        """Return whether the text may end."""
        return any(self.is_end(each[-1]) for each in self.before(stack, _END))

    def is_end(self, state: int) -> bool:
        """Return whether the first rule has ended."""
        return any(is_whole and not rest for _, rest, is_whole in self.items[state])

    def reduced(self, stack: Stack, end: Reduction) -> Stack | None:
        """Return the stack behind the end of a rule; `None` if the rule did not begin there."""
        if len(end.symbols) >= len(stack):
            return None
        below = stack[: len(stack) - len(end.symbols)]
        target = self.gotos[below[-1]].get(end.rule)
        return None if target is None else (*below, target)

    def may_loop(self) -> bool:
        """Return whether the parser may reduce without end."""
        for state, ends in enumerate(self.ends):
            for terminal in ends:
                for count, _ in enumerate(self.before((state,), terminal), 1):
                    if count == _MAX_REDUCTIONS:
                        return True
        return False


def _ordered(rules: Any) -> list[Any]:
    """Return rules with the one that Lark chooses first."""
    return sorted(rules, key=lambda rule: (-(rule.options.priority or 0), str(rule)))


def _reduction(rule: Any) -> Reduction:
    return Reduction(str(rule.origin.name), tuple(str(symbol.name) for symbol in rule.expansion))


def _order(item: Any) -> tuple[str, int]:
    return str(item.rule), item.index


def _item(item: Any) -> tuple[Reduction, tuple[str, ...], bool]:
    rule, names = _reduction(item.rule)
    return Reduction(rule, names[: item.index]), names[item.index :], rule.startswith("$root_")
