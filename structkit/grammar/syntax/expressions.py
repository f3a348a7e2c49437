"""Expressions of grammar notations, such as `("a" | b)+`, as nodes, and rules of such expressions as a grammar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from structkit.errors import GrammarError, LimitExceeded
from structkit.grammar.rules.cfg import Cfg, Production, Symbol, Terminal
from structkit.grammar.syntax.grammar_errors import undefined_rule, undefined_start
from structkit.limits import Limits
from structkit.regex.nodes import (
    EMPTY,
    NEVER,
    Choice,
    Intersection,
    LiteralText,
    Node,
    Repeat,
    RuleRef,
    Seq,
    choice,
    seq,
)
from structkit.regex.pattern.empty_text import is_nullable, without_empty_text
from structkit.regex.walk import children, components, exceeds_size, map_children, referenced_rules

__all__ = ["Definitions", "Expression", "Source", "count_of"]

_MAX_HEIGHT = 30
"""Nesting of one node; deeper groups are rules, so that recursive functions on nodes end."""

_MAX_NESTING = 500
"""Nesting of groups in a grammar; the automata of deeper ones take more than a second."""

_MAX_OPEN = 5_000
"""Nesting of groups while a grammar is read: `(a (a (a)?)?)?` is `a{0,3}`, which has no nested group."""

_MAX_INLINED = 1_000
"""Maximum size of the rules that are inlined into a counted repetition, in characters and nodes."""

_MAX_OPTIONAL = 20
"""Length of a sequence of optional parts whose non-empty texts are written as alternatives; quadratic in the length."""

_UNROLLED = 8
"""Repetitions of a rule up to this count are written out."""

_MAX_NULLABLE_COUNT = 50
"""Maximum count of a rule that has the empty text: each count is a parse of its own."""


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a grammar, and where it comes from.

    Attributes:
        text: The grammar.
        path: Its file, if it comes from one.
        limits: Bounds on sizes.

    Raises:
        GrammarError: The text has characters that no grammar has.
        LimitExceeded: The text is too long.
    """

    text: str
    path: str | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if len(self.text) > self.limits.grammar_length:
            raise LimitExceeded("grammar_length", self.limits.grammar_length, "a grammar", place=self.path)
        if self.text.startswith("\N{BYTE ORDER MARK}"):
            self.fail("the grammar begins with a byte order mark; read the file with encoding='utf-8-sig'", 0)
        if (nul := self.text.find("\0")) >= 0:
            self.fail(r"the grammar contains the character NUL; write it as an escape, such as `\x00`", nul)

    def error(self, message: str, place: int) -> GrammarError:
        """Return an error at an index of the text."""
        start = self.text.rfind("\n", 0, place) + 1
        end = self.text.find("\n", start)
        source = self.text[start : end if end >= 0 else None].rstrip("\r")
        line = self.text.count("\n", 0, place) + 1
        return GrammarError(message, line=line, column=place - start + 1, source=source, place=self.path)

    def fail(self, message: str, place: int) -> NoReturn:
        """Raise an error at an index of the text."""
        raise self.error(message, place)

    def shown(self, place: int) -> str:
        """Return what the text has at an index, for messages."""
        return repr(self.text[place]) if place < len(self.text) else "the end"


def count_of(digits: str, limits: Limits) -> int:
    """Return the number of repetitions; counts above `limits.iterations` are all the same.

    >>> count_of("12", Limits()), count_of("9" * 10_000, Limits())
    (12, 10000001)
    """
    above = limits.iterations + 1
    return min(int(digits), above) if len(digits) < 20 else above


@dataclass(slots=True)
class _Group:
    place: int
    bracket: str
    alternatives: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    height: int = 0
    depth: int = 0
    before: tuple[int, int] = (0, 0)
    last: tuple[int, int] = (0, 0)
    has_operand: bool = False


class Definitions:
    """The rules of a grammar, while its text is read.

    Attributes:
        source: The text.
        rules: The alternatives of each rule.
        places: The place of the first definition of each rule.
        uses: The place of the first use of each rule.
        tokens: The names of the tokens that are terminals.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.rules: dict[str, list[Node]] = {}
        self.places: dict[str, int] = {}
        self.uses: dict[str, int] = {}
        self.tokens: set[str] = set()
        self._helpers = 0

    def use(self, name: str, place: int) -> RuleRef:
        """Return the language of a rule that is used at `place`."""
        self.uses.setdefault(name, place)
        return RuleRef(name)

    def define(self, name: str, node: Node, place: int) -> None:
        """Add an alternative to a rule."""
        self.rules.setdefault(name, []).append(node)
        self.places.setdefault(name, place)

    def helper(self, node: Node) -> RuleRef:
        """Return a new rule for a node; names of grammars contain no `$`."""
        self._helpers += 1
        name = f"$group{self._helpers}"
        self.rules[name] = [node]
        return RuleRef(name)

    def cfg(self, start: str) -> Cfg:
        """Return the grammar.

        Raises:
            GrammarError: A rule is used but not defined, or the start is not defined or has no text.
            LimitExceeded: A repetition has too many parses.
        """
        for name, place in self.uses.items():
            if name not in self.rules:
                self.source.fail(undefined_rule(name, self.places, self.source.text[:place]), place)
        if start not in self.rules:
            self.source.fail(undefined_start(start, self.places), 0)
        productions = _Productions({name: choice(nodes) for name, nodes in self.rules.items()})
        rules = {name: tuple(dict.fromkeys(found)) for name, found in productions.all().items()}
        cfg = Cfg(start, rules, named_tokens=frozenset(self.tokens))
        if start not in cfg.productive:
            message = f"no text ends the rule `{start}`: each of its alternatives needs itself, or is empty; add one"
            self.source.fail(message, self.places[start])
        if any(count > _MAX_NULLABLE_COUNT and name in cfg.nullable for name, count in productions.counted):
            raise LimitExceeded(
                "parse_states",
                self.source.limits.parse_states,
                f"a repetition of more than {_MAX_NULLABLE_COUNT} parts that can be empty",
                place=self.source.path,
                is_fixed=True,
            )
        return cfg


class Expression:
    """The right side of a rule, while it is read: groups of alternatives of sequences of items.

    >>> definitions = Definitions(Source(""))
    >>> found = Expression(definitions)
    >>> found.add(LiteralText("a"))
    >>> found.repeat(1, None)
    >>> found.alternative()
    >>> found.add(LiteralText("b"))
    >>> found.node()
    Choice(parts=(Repeat(part=LiteralText(value='a'), min_count=1, max_count=None), LiteralText(value='b')))
    """

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._groups = [_Group(0, "")]

    @property
    def bracket(self) -> str:
        """The bracket of the innermost open group; empty outside of groups."""
        return self._groups[-1].bracket

    @property
    def opened(self) -> int:
        """The place of this bracket."""
        return self._groups[-1].place

    @property
    def is_empty(self) -> bool:
        """Whether the innermost alternative has no item so far."""
        return not self._groups[-1].items

    @property
    def has_operand(self) -> bool:
        """Whether an item comes directly before."""
        return self._groups[-1].has_operand

    def add(self, node: Node, height: int = 0, depth: int = 0) -> None:
        """Append an item to the sequence."""
        if height > _MAX_HEIGHT:
            node, height = self._definitions.helper(node), 0
        group = self._groups[-1]
        group.items.append(node)
        group.before, group.last = (group.height, group.depth), (height, depth)
        group.height, group.depth = max(group.height, height), max(group.depth, depth)
        group.has_operand = True

    def skip(self) -> None:
        """Note an item that is no operand and has only the empty text."""
        self._groups[-1].has_operand = False

    def repeat(self, min_count: int, max_count: int | None) -> None:
        """Repeat the last item."""
        group = self._groups[-1]
        part = group.items.pop()
        if max_count == 0:
            group.has_operand = False
        elif (min_count, max_count) == (0, 1) and (folded := _folded(part)) is not None:
            height, depth = group.last
            group.height, group.depth = group.before
            self.add(folded, height - 1, depth - 1)
        elif isinstance(part, Repeat) and not (
            _is_counted(part) or _is_counted(Repeat(part, min_count, max_count))
        ):
            # The repetitions `?`, `*` and `+` of one another are one of them.
            unbounded = None in (part.max_count, max_count)
            node = Repeat(part.part, part.min_count * min_count, None if unbounded else 1)
            self.add(node, group.height, group.depth)
        else:
            self.add(Repeat(part, min_count, max_count), group.height + 1, group.depth)

    def alternative(self) -> None:
        """Begin another alternative of the innermost group."""
        group = self._groups[-1]
        group.alternatives.append(seq(*group.items))
        group.items = []
        group.has_operand = False

    def open(self, bracket: str, place: int) -> None:
        """Begin a group.

        Raises:
            GrammarError: Groups are nested too deeply.
        """
        if len(self._groups) > _MAX_OPEN:
            self._fail_nested(_MAX_OPEN, place)
        self._groups.append(_Group(place, bracket))

    def _fail_nested(self, levels: int, place: int) -> NoReturn:
        message = f"groups are nested more than {levels} levels deep; write rules instead"
        self._definitions.source.fail(message, place)

    def close(self) -> None:
        """End the innermost group, which becomes an item.

        Raises:
            GrammarError: Groups are nested too deeply.
        """
        node = self.node()
        group = self._groups.pop()
        if group.depth >= _MAX_NESTING:
            self._fail_nested(_MAX_NESTING, group.place)
        self.add(node, group.height + 1, group.depth + 1)

    def node(self) -> Node:
        """Return the innermost group as a node."""
        self.alternative()
        return choice(self._groups[-1].alternatives)


class _Productions:
    """Rules of nodes as productions; what needs no rules is one terminal."""

    def __init__(self, rules: Mapping[str, Node]) -> None:
        self.counted: list[tuple[str, int]] = []
        self._rules = rules
        self._found: dict[str, list[Production]] = {}
        self._names: dict[tuple[object, ...], str] = {}
        self._regular = _regular_rules(rules)

    def all(self) -> dict[str, list[Production]]:
        """Return the productions of each rule."""
        for name, node in self._rules.items():
            self._found[name] = self._alternatives(self._with_counted_parts(node))
        return self._found

    def _with_counted_parts(self, node: Node) -> Node:
        """Inline rules into counted repetitions: automata count, whereas rules would be repeated."""
        if isinstance(node, Repeat) and _is_counted(node) and referenced_rules(node) <= self._regular.keys():
            inlined = _inlined(node, self._regular)
            if not exceeds_size(inlined, _MAX_INLINED):
                return inlined
        return map_children(node, self._with_counted_parts) if children(node) else node

    def _alternatives(self, node: Node) -> list[Production]:
        if not referenced_rules(node):
            return _terminal(node)
        match node:
            case Choice(parts):
                plain = [part for part in parts if not referenced_rules(part)]
                found = _terminal(choice(plain)) if plain else []
                for part in parts:
                    if referenced_rules(part):
                        found += self._alternatives(part)
                return found
            case Seq(parts):
                return self._sequence(parts)
            case Repeat(part, min_count, max_count):
                return self._repeat(self._rule(part), min_count, max_count)
            case RuleRef(name):
                return [(name,)]
        raise AssertionError(node)

    def _sequence(self, parts: Iterable[Node]) -> list[Production]:
        symbols: list[Symbol] = []
        plain: list[Node] = []
        for part in (*parts, None):
            if part is not None and not referenced_rules(part):
                plain.append(part)
                continue
            if plain:
                symbols += self._symbols(seq(*plain))
                plain = []
            if part is not None:
                symbols.append(self._rule(part))
        return [tuple(symbols)]

    def _symbols(self, node: Node) -> Production:
        """Return a node without rules as symbols."""
        productions = _terminal(node)
        return productions[0] if len(productions) == 1 else (self._rule(node),)

    def _rule(self, node: Node) -> str:
        """Return a rule for a node."""
        if isinstance(node, RuleRef):
            return node.rule
        name, is_new = self._name(node)
        if is_new:
            self._found[name] = self._alternatives(node)
        return name

    def _name(self, *key: object) -> tuple[str, bool]:
        """Return the name of a new rule, and whether it is new."""
        if key in self._names:
            return self._names[key], False
        name = self._names[key] = f"$part{len(self._names)}"
        return name, True

    def _repeat(self, part: str, min_count: int, max_count: int | None) -> list[Production]:
        if (min_count, max_count) == (0, 1):
            return [(part,), ()]
        if max_count is None and min_count <= 1:
            # Left recursion becomes a loop of one automaton.
            loop, is_new = self._name("loop", part)
            if is_new:
                self._found[loop] = [(loop, part), (part,)]
            return [(loop,)] if min_count else [(loop,), ()]
        self.counted.append((part, max_count or min_count))
        required = self._exactly(part, min_count)
        if max_count is None:
            return [(*required, *last) for last in self._repeat(part, 0, None)]
        return [(*required, *self._at_most(part, max_count - min_count))]

    def _exactly(self, part: str, count: int) -> Production:
        """Return `count` parts; rules of doubled rules, if there are many."""
        if count <= _UNROLLED:
            return (part,) * count
        name, is_new = self._name("exactly", part, count)
        if is_new:
            half = self._exactly(part, count // 2)
            self._found[name] = [(*half, *half, *(part,) * (count % 2))]
        return (name,)

    def _at_most(self, part: str, count: int) -> Production:
        """Return up to `count` parts.

        Either the largest power of two below `count` is complete, or fewer follow: a text has one derivation, and a
        prefix of it a logarithmic number.
        """
        if count == 0:
            return ()
        name, is_new = self._name("at most", part, count)
        if is_new:
            if count <= _UNROLLED:
                self._found[name] = [(part, *self._at_most(part, count - 1)), ()]
            else:
                power = 1 << count.bit_length() - 1
                self._found[name] = [
                    (*self._exactly(part, power), *self._at_most(part, count - power)),
                    self._at_most(part, power - 1),
                ]
        return (name,)


def _folded(part: Node) -> Node | None:
    """Return an optional `a a{0,n}` as `a{0,n+1}`; `None` for other nodes."""
    if not isinstance(part, Seq) or not isinstance(last := part.parts[-1], Repeat):
        return None
    if last.min_count or last.max_count is None or seq(*part.parts[:-1]) != last.part:
        return None
    return Repeat(last.part, 0, last.max_count + 1)


def _is_counted(node: Repeat) -> bool:
    return node.min_count > 1 or (node.max_count or 0) > 1


def _terminal(node: Node) -> list[Production]:
    """Return the productions of a node without rules. A terminal has a text, and none of its texts is empty."""
    if node is NEVER:
        return []
    if not is_nullable(node):
        return [(Terminal("text", node),)]
    rest = _without_empty_text(node)
    return [()] if rest is NEVER else [(Terminal("text", rest),), ()]


def _without_empty_text(node: Node) -> Node:
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, Seq) and len(part.parts) > _MAX_OPTIONAL and is_nullable(part):
            return Intersection(node, EMPTY, negate=True)
        pending += children(part)
    return without_empty_text(node)


def _regular_rules(rules: Mapping[str, Node]) -> dict[str, Node]:
    """Return the small rules outside of cycles, with the rules that they call inlined."""
    calls = {name: referenced_rules(node) for name, node in rules.items()}
    sizes: dict[str, int] = {}
    heights: dict[str, int] = {}
    found: dict[str, Node] = {}
    for group in components(calls):  # callees first
        for name in group:
            if len(group) > 1 or not calls[name] <= found.keys():
                continue
            sizes[name] = _size(rules[name], sizes)
            heights[name] = _height(rules[name], heights)
            if sizes[name] <= _MAX_INLINED and heights[name] <= _MAX_HEIGHT:
                found[name] = _inlined(rules[name], found)
    return found


def _size(node: Node, sizes: Mapping[str, int]) -> int:
    """Return the size of a node with rules inlined."""
    total = 0
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, RuleRef):
            total += sizes[part.rule]
        else:
            total += len(part.value) if isinstance(part, LiteralText) else 1
            pending += children(part)
    return total


def _height(node: Node, heights: Mapping[str, int]) -> int:
    if isinstance(node, RuleRef):
        return heights[node.rule]
    return 1 + max((_height(part, heights) for part in children(node)), default=0)


def _inlined(node: Node, rules: Mapping[str, Node]) -> Node:
    match node:
        case RuleRef(name):
            return rules[name]
        case Seq(parts):
            return seq(*(_inlined(part, rules) for part in parts))
        case Choice(parts):
            return choice(_inlined(part, rules) for part in parts)
        case Repeat(part, min_count, max_count):
            return Repeat(_inlined(part, rules), min_count, max_count)
        case _:
            return node
