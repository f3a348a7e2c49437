"""Context-free grammars in plain form: rules with productions of rules and terminals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

from structkit.errors import LimitExceeded
from structkit.frozen import CachedHash, cached_hash, frozen
from structkit.grammar.rules.lexing import Indenting, Lexing
from structkit.regex.charset import ANY
from structkit.regex.nodes import CharClass, Node
from structkit.regex.pattern.threads import TerminalAutomaton

__all__ = ["Cfg", "Guard", "Production", "Symbol", "Terminal"]


_MAX_GUARDS = 64
"""Maximum number of different guards of the empty texts of a rule."""


@cached_hash
@frozen
class Terminal(CachedHash):
    """A terminal.

    Attributes:
        name: Its name in messages.
        node: Its texts, as if nothing came before or after them.
        edges: The automaton of a pattern that may look beyond its text; see `structkit.grammar.rules.context`.
        is_ignored: Whether it may stand between other terminals.
        first: The characters that its texts can begin with, if it has no `edges`.
        extending: The characters with which a text of it may continue, if it has no `edges`.
        longer: What must not match behind a text of it, if it has no `edges`: Lark would read a longer text.
        lexer_after: The class of the lexer behind it, for a grammar with a lexer.
    """

    name: str
    node: Node
    edges: TerminalAutomaton | None = field(default=None, compare=False)
    is_ignored: bool = False
    first: CharClass = field(default=ANY, compare=False)
    extending: CharClass = field(default=CharClass(()), compare=False)
    longer: TerminalAutomaton | None = field(default=None, compare=False)
    lexer_after: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether it has no text, whatever comes before and after it, as `(?!a)a`."""
        return self.edges is not None and not self.edges.looks_behind and not self.edges.can_match


@dataclass(frozen=True, slots=True)
class Guard:
    """The empty text, if the next terminal is none of some: the parser would not end a rule before these.

    Attributes:
        banned: The names of the terminals; `$END` is the end of the text.
    """

    banned: frozenset[str]


Symbol: TypeAlias = "str | Terminal | Guard"
"""The name of a rule, a terminal, or a guard."""

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
        lexing: The lexer, if terminals are read without the parser; then `ending` is `"dynamic"`.
        named_tokens: The terminals that are tokens, by name.
        indenting: The indenter, for a grammar with a lexer.
        blocks: The rules that an indent begins.
    """

    start: str
    rules: Mapping[str, tuple[Production, ...]]
    ignored: tuple[Terminal, ...] = ()
    ending: Literal["any", "dynamic", "dynamic_complete"] = "any"
    lexing: Lexing | None = None
    named_tokens: frozenset[str] = frozenset()
    indenting: Indenting | None = None
    blocks: frozenset[str] = frozenset()

    def productions(self) -> Iterator[tuple[str, Production]]:
        """Iterate over the rules and their productions."""
        for rule, productions in self.rules.items():
            for production in productions:
                yield rule, production

    @cached_property
    def terminal_names(self) -> frozenset[str]:
        """The names of the terminals in productions."""
        return frozenset(
            symbol.name
            for _, production in self.productions()
            for symbol in production
            if isinstance(symbol, Terminal)
        )

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
            if all(symbol in self.productive for symbol in production if isinstance(symbol, str)):
                for symbol in production:
                    if isinstance(symbol, Terminal):
                        pending.append(rule)
                    elif isinstance(symbol, str):
                        users.setdefault(symbol, []).append(rule)
        found: set[str] = set()
        while pending:
            rule = pending.pop()
            if rule not in found:
                found.add(rule)
                pending += users.get(rule, ())
        return frozenset(found)

    @cached_property
    def guards(self) -> Mapping[str, frozenset[Guard]]:
        """The guards of the derivations of the empty text, for each rule that contains it.

        Raises:
            LimitExceeded: There are too many.
        """
        found: dict[str, set[Guard]] = {rule: set() for rule in self.nullable}
        changed = True
        while changed:
            changed = False
            for rule, production in self.productions():
                if rule not in found or any(isinstance(symbol, Terminal) for symbol in production):
                    continue
                ways = {Guard(frozenset())}
                for symbol in production:
                    own = {symbol} if isinstance(symbol, Guard) else found.get(str(symbol), set())
                    ways = {Guard(way.banned | each.banned) for way in ways for each in own}
                    if len(ways) > _MAX_GUARDS:
                        raise LimitExceeded(
                            "nfa_states", _MAX_GUARDS, f"the empty texts of the rule {rule}", is_fixed=True
                        )
                changed |= not ways <= found[rule]
                found[rule] |= ways
        return {rule: frozenset(guards) for rule, guards in found.items()}

    @property
    def has_empty_text(self) -> bool:
        """Whether the empty text is in the language."""
        return any("$END" not in guard.banned for guard in self.guards.get(self.start, ()))

    def without_empty_terminals(self) -> Cfg:
        """Return the grammar without the productions that no text has since a terminal in them has none."""
        rules = {
            rule: tuple(
                production
                for production in productions
                if not any(isinstance(symbol, Terminal) and symbol.is_empty for symbol in production)
            )
            for rule, productions in self.rules.items()
        }
        return self if rules == self.rules else replace(self, rules=rules)

    def _least(self, *, terminals: bool) -> frozenset[str]:
        """Return the rules with a production of such rules, and of terminals if `terminals`."""
        users: dict[str, list[int]] = {}
        owners, missing = [], []
        pending: list[str] = []
        for number, (rule, production) in enumerate(self.productions()):
            rules = [symbol for symbol in production if isinstance(symbol, str)]
            owners.append(rule)
            has_terminals = any(isinstance(symbol, Terminal) for symbol in production)
            missing.append(len(rules) if terminals or not has_terminals else -1)
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
