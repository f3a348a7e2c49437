"""Context-free grammars in plain form: rules with productions of rules and terminals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from structkit.regex.charset import ANY
from structkit.regex.nodes import CharClass, Node
from structkit.regex.pattern.threads import TerminalAutomaton

__all__ = ["Cfg", "Production", "Symbol", "Terminal"]


@dataclass(frozen=True, slots=True)
class Terminal:
    """A terminal.

    Attributes:
        name: Its name in messages.
        node: Its texts, as if nothing came before or after them.
        edges: The automaton of a pattern that may look beyond its text; see `structkit.grammar.rules.context`.
        is_ignored: Whether it may stand between other terminals.
        first: The characters that its texts can begin with, if it has no `edges`.
        extending: The characters with which a text of it may continue, if it has no `edges`.
    """

    name: str
    node: Node
    edges: TerminalAutomaton | None = field(default=None, compare=False)
    is_ignored: bool = False
    first: CharClass = field(default=ANY, compare=False)
    extending: CharClass = field(default=CharClass(()), compare=False)


Symbol: TypeAlias = "str | Terminal"
"""The name of a rule, or a terminal."""

Production: TypeAlias = "tuple[Symbol, ...]"


@dataclass(frozen=True)
class Cfg:
    """A grammar.

    Attributes:
        start: The rule of complete texts.
        rules: The productions of each rule.
        ignored: The terminals that may stand before each other terminal.
        ending: Which ends of a terminal count: all of its texts, or those where `re.match` ends in the whole text, or
            also those where it ends in a shorter text.
        named_tokens: The terminals that are tokens, by name.
    """

    start: str
    rules: Mapping[str, tuple[Production, ...]]
    ignored: tuple[Terminal, ...] = ()
    ending: Literal["any", "dynamic", "dynamic_complete"] = "any"
    named_tokens: frozenset[str] = frozenset()

    def productions(self) -> Iterator[tuple[str, Production]]:
        """Iterate over the rules and their productions."""
        for rule, productions in self.rules.items():
            for production in productions:
                yield rule, production

    @cached_property
    def nullable(self) -> frozenset[str]:
        """The rules that contain the empty text."""
        return self._least(terminals=False)

    @cached_property
    def productive(self) -> frozenset[str]:
        """The rules that contain a text."""
        return self._least(terminals=True)

    @cached_property
    def nonempty(self) -> frozenset[str]:
        """The rules that contain a text of at least one character."""
        # A production has such a text if all its symbols have texts, and one of them has such a text.
        users: dict[str, list[str]] = {}
        pending: list[str] = []
        for rule, production in self.productions():
            if all(isinstance(symbol, Terminal) or symbol in self.productive for symbol in production):
                for symbol in production:
                    if isinstance(symbol, Terminal):
                        pending.append(rule)
                    else:
                        users.setdefault(symbol, []).append(rule)
        found: set[str] = set()
        while pending:
            rule = pending.pop()
            if rule not in found:
                found.add(rule)
                pending += users.get(rule, ())
        return frozenset(found)

    def _least(self, *, terminals: bool) -> frozenset[str]:
        """Return the rules with a production of such rules, and of terminals if `terminals`."""
        users: dict[str, list[int]] = {}
        owners, missing = [], []
        pending: list[str] = []
        for number, (rule, production) in enumerate(self.productions()):
            rules = [symbol for symbol in production if isinstance(symbol, str)]
            owners.append(rule)
            missing.append(len(rules) if terminals or len(rules) == len(production) else -1)
            for symbol in rules:
                users.setdefault(symbol, []).append(number)
            if missing[-1] == 0:
                pending.append(rule)
        found: set[str] = set()
        while pending:
            rule = pending.pop()
            if rule in found:
                continue
            found.add(rule)
            for number in users.get(rule, ()):
                missing[number] -= 1
                if missing[number] == 0:
                    pending.append(owners[number])
        return frozenset(found)
