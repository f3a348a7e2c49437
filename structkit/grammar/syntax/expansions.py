"""Groups of a Lark grammar as rules of their own, where Lark would write out too many productions.

Lark multiplies the alternatives of the groups of a production out: `("a" | "b")~20` gives a million productions. A
group that becomes a rule whose name begins with an underscore gives the same texts and, because Lark inlines such
rules into trees, the same trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from structkit.errors import LimitExceeded
from structkit.regex.walk import components

if TYPE_CHECKING:
    from lark.load_grammar import Grammar

__all__ = ["bound_expansions", "bound_templates", "bounded_loading", "growing_template"]

_MAX_PRODUCTIONS = 500
"""Productions of one rule above which its groups become rules."""

_UNROLLED = 50
"""Repetitions below this number are written out by Lark; for larger ones it makes rules."""


def bound_expansions(grammar: Grammar, max_productions: int, *, keep_groups: bool = False) -> None:
    """Replace groups by rules where a rule would have too many productions.

    Args:
        grammar: The grammar; it is changed.
        max_productions: Maximum number of productions of a rule.
        keep_groups: Whether groups stay as they are: an LALR parser of other productions has other conflicts.

    Raises:
        LimitExceeded: A rule has too many productions all the same.
    """
    if not keep_groups:
        _extract_groups(grammar, max_productions)
    for name, _, tree, _ in grammar.rule_defs:
        if _count(tree) > max_productions:
            raise LimitExceeded("regex_nodes", max_productions, f"the rule {name}")


def _extract_groups(grammar: Grammar, max_productions: int) -> None:
    """Make rules of the groups of a rule with too many productions."""
    from lark import Token, Tree
    from lark.grammar import NonTerminal

    number = len(grammar.rule_defs)
    for name, parameters, tree, options in list(grammar.rule_defs):
        if _count(tree) <= _MAX_PRODUCTIONS:
            continue
        if parameters:
            raise LimitExceeded("regex_nodes", max_productions, f"the template {name}")
        _write_placeholders(tree, keep_all=options.keep_all_tokens)
        for group in list(tree.iter_subtrees()):  # inner groups first
            for position, child in enumerate(group.children):
                if not isinstance(child, Tree) or child.data not in ("expansions", "expr"):
                    continue
                if group is tree or _count(child) == 1:
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


def _count(tree: Any) -> int:
    """Return the number of productions that Lark would write out."""
    data = getattr(tree, "data", None)
    if data == "expansions":
        return sum(map(_count, tree.children))
    if data == "expansion":
        total = 1
        for child in tree.children:
            total *= _count(child)
        return total
    if data == "maybe":
        return _count(tree.children[0]) + 1
    if data == "expr":
        part, operator = _count(tree.children[0]), str(tree.children[1])
        if operator != "~":
            return part + 1 if operator in "?*" else part
        bounds = [int(bound) for bound in tree.children[2:]]
        if bounds[-1] >= _UNROLLED:
            return int(part**5)
        return int(sum(part**count for count in range(bounds[0], bounds[-1] + 1))) or 1
    if data in ("alias", "value"):
        return _count(tree.children[0])
    return 1


@contextmanager
def bounded_loading(max_size: int, source: str) -> Iterator[None]:
    """Let Lark refuse texts and terminals that are too large; a lock of Lark's modules is held.

    Lark reads a file as often as others import it, so files that import each other have no end, and writes a terminal
    out as one pattern, so that `A: B B` with `B: C C` and so on is exponential.

    Args:
        max_size: Maximum characters of a grammar with all files that it imports, and maximum size of a terminal.
        source: What Lark calls the text of the grammar itself; the other names are paths.
    """
    from lark import load_grammar

    resolve: Any = load_grammar.resolve_term_references
    parse: Any = load_grammar._parse_grammar
    left = max_size

    def bounded(terminals: dict[str, Any]) -> None:
        _check_terminals(terminals, max_size)
        resolve(terminals)

    def counted(text: str, name: str, *others: Any) -> Any:
        nonlocal left
        left -= len(text)
        if left < 0:
            place = None if name == source else name
            what = "a grammar with the files that it imports"
            raise LimitExceeded("grammar_length", max_size, what, place=place)
        return parse(text, name, *others)

    load_grammar.resolve_term_references = bounded
    load_grammar._parse_grammar = counted
    try:
        yield
    finally:
        load_grammar.resolve_term_references = resolve
        load_grammar._parse_grammar = parse


def _check_terminals(terminals: Mapping[str, Any], max_size: int) -> None:
    """Compare the size of each terminal, with those in it, with the maximum; Lark itself refuses recursive ones."""
    used = {
        name: [str(leaf.name) for leaf in tree.scan_values(lambda leaf: getattr(leaf, "is_term", False))]
        for name, tree in terminals.items()
        if tree is not None
    }
    sizes: dict[str, int] = {}
    for group in components({name: [n for n in names if n in used] for name, names in used.items()}):
        for name in group:  # those that it uses come first
            sizes[name] = 1 + sum(sizes.get(each, 1) for each in used[name])
            if sizes[name] > max_size:
                raise LimitExceeded(
                    "grammar_length", max_size, f"the terminal {name} with the terminals in it"
                )


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
