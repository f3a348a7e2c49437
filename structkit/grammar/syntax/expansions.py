"""Groups of a Lark grammar as rules of their own, where Lark would write out too many productions.

Lark multiplies the alternatives of the groups of a production out: `("a" | "b")~20` gives a million productions. A
group that becomes a rule whose name begins with an underscore gives the same texts and, because Lark inlines such
rules into trees, the same trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from structkit.errors import LimitExceeded

if TYPE_CHECKING:
    from lark.load_grammar import Grammar

__all__ = ["bound_expansions", "bound_templates", "growing_template"]

_MAX_PRODUCTIONS = 500
"""Productions of one rule above which its groups become rules."""

_MAX_SYMBOLS = 20_000
"""Symbols in the productions of one rule above which its groups become rules."""

_MAX_SIZE = 60_000
"""Maximum number of symbols in the productions of one rule, for which an LALR parser takes about a second."""

_MANY = 10**15
"""A number of productions or symbols beyond each limit: larger ones are not computed."""

_MAX_CHECKED = 200_000
"""Steps in which productions are compared, about 0.1 s; those of a rule with more are not."""

_UNROLLED = 50
"""Repetitions below this number are written out by Lark; for larger ones it makes rules."""


def bound_expansions(grammar: Grammar, max_productions: int, *, keep_groups: bool = False) -> None:
    """Replace groups by rules where a rule would have too many productions.

    Args:
        grammar: The grammar; it is changed.
        max_productions: Maximum number of productions of a rule.
        keep_groups: Whether groups stay as they are: an LALR parser of other productions has other conflicts.

    Raises:
        LimitExceeded: A rule has too many productions nevertheless.
        lark.exceptions.GrammarError: Two productions of a rule differ in their names or their `None` alone.
    """
    if not keep_groups:
        _extract_groups(grammar, max_productions)
    for name, _, tree, _ in grammar.rule_defs:
        if _count(tree) > max_productions or _size(tree) > _MAX_SIZE:
            raise LimitExceeded("regex_nodes", max_productions, f"the rule {name}")


def _extract_groups(grammar: Grammar, max_productions: int) -> None:
    """Make rules of the groups of a rule with too many productions."""
    from lark import Token, Tree
    from lark.grammar import NonTerminal

    number = len(grammar.rule_defs)
    for name, parameters, tree, options in list(grammar.rule_defs):
        if _count(tree) <= _MAX_PRODUCTIONS and _size(tree) <= _MAX_SYMBOLS:
            continue
        if parameters:
            raise LimitExceeded("regex_nodes", max_productions, f"the template {name}")
        _write_placeholders(tree, keep_all=options.keep_all_tokens)
        _check_productions(grammar, str(name), tree)
        for group in list(tree.iter_subtrees()):  # inner groups first
            for position, child in enumerate(group.children):
                if not isinstance(child, Tree) or child.data not in ("expansions", "expr"):
                    continue
                if group is tree or (_count(child) == 1 and _size(child) <= _UNROLLED):
                    continue
                new_name = f"__group_{number}"
                number += 1
                body = (
                    child if child.data == "expansions" else Tree("expansions", [Tree("expansion", [child])])
                )
                grammar.rule_defs.append((Token("RULE", new_name), (), body, options))
                group.children[position] = Tree("value", [NonTerminal(new_name)])


def _write_placeholders(tree: Any, *, keep_all: bool) -> None:
    """Write what is absent from each `[x]` as Lark does: as many `None` as `x` has children in a tree.

    Lark counts the children of a group's rule as none, so they are counted before there are such rules.
    """
    from lark import Tree
    from lark.load_grammar import _EMPTY

    brackets = list(tree.find_data("maybe"))
    sizes = [_children(bracket, keep_all) for bracket in brackets]
    for bracket, size in zip(brackets, sizes, strict=True):
        bracket.data = "expansions"
        bracket.children = [*bracket.children[0].children, Tree("expansion", [_EMPTY] * size)]


def _children(tree: Any, keep_all: bool) -> int:
    """Return the number of children in a tree as Lark counts them for what is absent from brackets."""
    data = getattr(tree, "data", None)
    if data == "expansions":
        return max(_children(child, keep_all) for child in tree.children)
    if data == "expansion":
        return sum(_children(child, keep_all) for child in tree.children)
    if data in ("maybe", "value", "template_usage"):
        return _children(tree.children[0], keep_all)
    if data == "expr":
        operator = str(tree.children[1])
        if operator in "*+" or (operator == "~" and int(tree.children[-1]) >= _UNROLLED):
            return 0  # a rule whose name begins with an underscore
        return (int(tree.children[-1]) if operator == "~" else 1) * _children(tree.children[0], keep_all)
    if data == "literal":
        return int(keep_all or tree.children[0].type == "REGEXP")
    if getattr(tree, "is_term", data is None) and keep_all:
        return 1
    return int(data == "range" or not str(tree.name).startswith("_"))


class _Productions:
    """The productions that Lark would write out, as an automaton of their symbols, its states merged from the end on.

    Args:
        literal: Returns the terminal that is a literal.

    Attributes:
        moves: The moves of each state: a symbol, `None` for an absent child, or the end, and the state after it.
        rules: The first states of the productions of each rule that Lark makes of repetitions.
    """

    def __init__(self, literal: Callable[[Any], object]) -> None:
        self._literal = literal
        self.moves: list[tuple[tuple[object, int], ...]] = [()]
        self.rules: list[int] = []
        self._numbers: dict[frozenset[tuple[object, int]], int] = {frozenset(): 0}

    def end(self, alias: str = "") -> int:
        """Return the state at the end of a production."""
        return self._state({(_End(alias), 0)})

    def before(self, tree: Any, after: int) -> int:
        """Return the state before a part of a rule.

        Raises:
            _TooManyProductions: There are too many states.
        """
        data = getattr(tree, "data", None)
        if data == "expansions":
            return self._union(self.before(child, after) for child in tree.children)
        if data == "expansion":
            for child in reversed(tree.children):
                after = self.before(child, after)
            return after
        if data == "alias":
            return self.before(tree.children[0], self.end(str(tree.children[1])))
        if data == "value":
            return self.before(tree.children[0], after)
        if data != "expr":
            symbol = self._symbol(tree)
            return self._state({(None if symbol == "__empty__" else symbol, after)})
        part, operator = tree.children[0], str(tree.children[1])
        if operator == "?":
            return self._union((self.before(part, after), after))
        if operator in "*+":
            once = self.before(part, self.end())
            self.rules.append(self._union((once, self._state({("rule", once)}))))
            repeated = self._state({(("+", self._symbol(part)), after)})
            return repeated if operator == "+" else self._union((repeated, after))
        low, high = (int(bound) for bound in (tree.children[2:] * 2)[:2])
        if high < _UNROLLED:
            return self._repeated(part, low, high, after)
        self._add_rules(part, low, is_optional=False)
        if low < high:
            self._add_rules(part, high - low + 1, is_optional=True)
            after = self._state({(("~", high - low, self._symbol(part)), after)})
        return self._state({(("~", low, self._symbol(part), ()), after)})

    def _repeated(self, part: Any, low: int, high: int, after: int) -> int:
        place = after
        for count in range(high):
            place = self.before(part, place)
            if count < high - low:
                place = self._union((place, after))
        return place

    def _add_rules(self, part: Any, count: int, *, is_optional: bool) -> None:
        """Add the rules that Lark makes of a large count: each repeats the one before, and then the part."""
        from lark.load_grammar import SMALL_FACTOR_THRESHOLD
        from lark.utils import small_factors

        rule: Any = part
        for factor, summand in small_factors(count, SMALL_FACTOR_THRESHOLD):
            if is_optional:
                fewer = self.end() if rule is part else self._state({("optional", self.end())})
                most = self._repeated(part, 0, summand - 1, self.end())
                ways = [self._repeated(rule, number, number, fewer) for number in range(factor)]
                self.rules.append(
                    self._union([*ways, *[self._repeated(rule, factor, factor, most)] * (summand > 0)])
                )
            else:
                last = self._repeated(part, summand, summand, self.end())
                self.rules.append(self._repeated(rule, factor, factor, last))
            rule = "rule"

    def _state(self, moves: Iterable[tuple[object, int]]) -> int:
        found = tuple(dict.fromkeys(moves))
        number = self._numbers.setdefault(frozenset(found), len(self.moves))
        if number == len(self.moves):
            self.moves.append(found)
            if number > _MAX_CHECKED:
                raise _TooManyProductions
        return number

    def _union(self, states: Iterable[int]) -> int:
        return self._state(move for state in states for move in self.moves[state])

    def _symbol(self, tree: Any) -> object:
        """Return what equal symbols of Lark have in common."""
        data = getattr(tree, "data", None)
        if data is None:
            return str(getattr(tree, "name", tree))
        if data in ("literal", "range"):
            return self._literal(tree)
        if data == "value":
            return self._symbol(tree.children[0])
        return (data, *map(self._symbol, tree.children))

    def repeated(self, start: int) -> list[object] | None:
        """Return the symbols that two different productions have; `None` if there are none.

        Raises:
            _TooManyProductions: There are too many pairs of states.
        """
        symbols: list[dict[object, list[tuple[int, Any]]]] = []  # behind absent children, with their number
        work = 0
        for moves in self.moves:
            found: dict[object, list[tuple[int, Any]]] = {}
            for symbol, after in moves:
                if isinstance(symbol, _End):
                    found.setdefault(_END, []).append((0, symbol))
                elif symbol is not None:
                    found.setdefault(symbol, []).append((0, after))
                else:
                    for each, ways in symbols[after].items():
                        found.setdefault(each, []).extend((count + 1, way) for count, way in ways)
                        work += len(ways)
            symbols.append(found)
            if work > _MAX_CHECKED:
                raise _TooManyProductions
        first = start, start, False
        words: dict[tuple[int, int, bool], list[object]] = {first: []}
        pending = [first]
        for place in pending:
            one, other, differs = place
            for symbol in filter(symbols[other].__contains__, symbols[one]):
                for (count, after), (count_2, after_2) in product(
                    symbols[one][symbol], symbols[other][symbol]
                ):
                    work += 1
                    if work > _MAX_CHECKED:
                        raise _TooManyProductions
                    is_different = differs or count != count_2
                    if symbol is _END:
                        if place != first and (is_different or after != after_2):
                            return words[place]
                        continue
                    pair = min(after, after_2), max(after, after_2), is_different
                    if pair not in words:
                        words[pair] = [*words[place], symbol]
                        pending.append(pair)
        return None


class _TooManyProductions(Exception):
    """Productions are not compared, because that takes too long."""


class _End(str):
    """The end of a production, with its alias."""


_END = _End()
"""Any end of a production."""


def _check_productions(grammar: Grammar, rule: str, tree: Any) -> None:
    """Let Lark's error be raised for productions that differ only in aliases and in what is absent from brackets.

    Lark compares the productions that it writes out, and not those of a rule and of its groups.
    """
    from lark.exceptions import GrammarError
    from lark.load_grammar import _EMPTY, PrepareLiterals, TerminalTreeToPattern

    if not any(tree.find_data("alias")) and not any(tree.scan_values(lambda leaf: leaf == _EMPTY)):
        return

    @cache
    def terminals() -> dict[object, str]:
        read = PrepareLiterals() * TerminalTreeToPattern()
        terms: list[tuple[Any, Any]] = [*grammar.term_defs]
        return {read.transform(deepcopy(term)): str(name) for name, (term, _) in terms if term is not None}

    def literal(part: Any) -> object:
        (pattern,) = PrepareLiterals().transform(deepcopy(part)).children
        return terminals().get(pattern, pattern)

    productions = _Productions(literal)
    try:
        rules = [productions.before(tree, productions.end()), *productions.rules]
        found = next(filter(None, map(productions.repeated, rules)), None)
    except _TooManyProductions:
        return
    if found is not None:
        raise GrammarError(f"Rules defined twice: \n  * <{rule} : {' '.join(map(str, found))}>; remove one")


def _count(tree: Any) -> int:
    """Return the number of productions that Lark would write out, at most `_MANY`."""
    data = getattr(tree, "data", None)
    if data == "expansions":
        return min(sum(map(_count, tree.children)), _MANY)
    if data == "expansion":
        total = 1
        for child in tree.children:
            total = min(total * _count(child), _MANY)
        return total
    if data == "maybe":
        return _count(tree.children[0]) + 1
    if data == "expr":
        part, operator = _count(tree.children[0]), str(tree.children[1])
        if operator != "~":
            return part + 1 if operator in "?*" else part
        bounds = [int(bound) for bound in tree.children[2:]]
        if bounds[-1] >= _UNROLLED:
            return min(int(part**5), _MANY)
        return min(int(sum(part**count for count in range(bounds[0], bounds[-1] + 1))), _MANY) or 1
    if data in ("alias", "value"):
        return _count(tree.children[0])
    return 1


def _size(tree: Any) -> int:
    """Return the number of symbols in the productions that Lark would write out, at most `_MANY`."""
    data = getattr(tree, "data", None)
    if data == "expansions":
        return min(sum(map(_size, tree.children)), _MANY)
    if data == "expansion":
        total = _count(tree)
        if total == _MANY:
            return _MANY
        return min(sum([_size(child) * (total // _count(child)) for child in tree.children]), _MANY)
    if data == "expr":
        part, operator = tree.children[0], str(tree.children[1])
        bounds = [int(bound) for bound in tree.children[2:]]
        if operator != "~":
            return _size(part)
        size, productions = _size(part), _count(part)
        if bounds[-1] >= _UNROLLED:
            return min(5 * size, _MANY)
        counts_of = range(bounds[0], bounds[-1] + 1)
        return min(sum([size * count * int(productions ** max(count - 1, 0)) for count in counts_of]), _MANY)
    if data in ("alias", "value", "maybe"):
        return _size(tree.children[0])
    return 1


def bound_templates(grammar: Grammar, max_size: int) -> None:
    """Check the size of what templates are filled with: arguments can double in each template that passes them on.

    Raises:
        LimitExceeded: The arguments, or the rules made of templates, are too large.
    """
    templates = {
        str(name): (parameters, tree) for name, parameters, tree, _ in grammar.rule_defs if parameters
    }
    sizes: list[int] = []  # of each argument that is not a name, in names
    numbers: dict[tuple[object, ...], int] = {}
    made: set[tuple[object, ...]] = set()
    pending: list[tuple[Any, dict[str, object]]] = [
        (tree, {}) for _, parameters, tree, _ in grammar.rule_defs if not parameters
    ]

    def value(use: Any, given: dict[str, object]) -> object:
        """Return a name, or the number of a template with its arguments, which becomes a rule."""
        while getattr(use, "data", None) == "value":
            (use,) = use.children
        if getattr(use, "data", None) != "template_usage":
            name = str(getattr(use, "name", use))
            return given.get(name, name)
        name, *arguments = use.children
        key = str(getattr(name, "name", name)), *(value(argument, given) for argument in arguments)
        if key not in numbers:
            numbers[key] = len(sizes)
            sizes.append(1 + sum(sizes[part] if isinstance(part, int) else 1 for part in key[1:]))
            if sizes[-1] > max_size or len(sizes) > max_size:
                raise LimitExceeded("regex_nodes", max_size, f"the template {key[0]}")
        if key not in made and key[0] in templates:
            made.add(key)
            parameters, tree = templates[key[0]]
            pending.append((tree, dict(zip(map(str, parameters), key[1:], strict=False))))
        return numbers[key]

    while pending:
        tree, given = pending.pop()
        for use in tree.find_data("template_usage"):
            value(use, given)


def growing_template(grammar: Grammar) -> str | None:
    """Return a template that calls itself with an argument built from its parameters, which never ends; or `None`."""
    templates = {
        str(name): (parameters, tree) for name, parameters, tree, _ in grammar.rule_defs if parameters
    }
    calls: dict[str, list[tuple[str, bool]]] = {}
    for name, (parameters, tree) in templates.items():
        calls[name] = []
        for use in tree.find_data("template_usage"):
            callee, *arguments = use.children
            built = [use for argument in arguments for use in argument.find_data("template_usage")]
            grows = any(
                getattr(leaf, "name", None) in parameters
                for use in built
                for leaf in use.scan_values(lambda leaf: True)
            )
            calls[name].append((str(getattr(callee, "name", callee)), grows))
    for name in templates:
        pending, seen = [(callee, grows) for callee, grows in calls[name]], set()
        while pending:
            callee, grows = pending.pop()
            if callee == name and grows:
                return name
            if (callee, grows) not in seen:
                seen.add((callee, grows))
                pending += [(after, grows or more) for after, more in calls.get(callee, ())]
    return None
