"""Lark's loader of grammars, with bounds, and the parser that Lark builds for a grammar."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from structkit.errors import LimitExceeded
from structkit.grammar.syntax.holes import Hole, set_matchers
from structkit.regex.walk import components

if TYPE_CHECKING:
    from lark import Lark

__all__ = ["bounded_loading", "build_parser", "without_interegular"]


def build_parser(lark: Lark, holes: Sequence[Hole]) -> Lark:
    """Build the parser of a grammar; return the grammar."""
    from lark import Lark

    with without_interegular():
        lark.parser = Lark._build_parser(lark)
    set_matchers(lark, holes)
    return lark


@contextmanager
def without_interegular() -> Iterator[None]:
    """Let Lark not compare terminals with interegular, which only warns, and fails for some; a lock is held."""
    from lark import lexer

    has_interegular = lexer.has_interegular
    lexer.has_interegular = False
    try:
        yield
    finally:
        lexer.has_interegular = has_interegular


@contextmanager
def bounded_loading(max_size: int, source: str) -> Iterator[list[list[str]]]:
    """Let Lark refuse texts and terminals that are too large; a lock of Lark's modules is held.

    Lark reads a file as often as others import it, so files that import each other have no end, and writes a terminal
    out as one pattern, so that `A: B B` with `B: C C` and so on is exponential. Of the grammars that come with Lark,
    such as `common`, only what is imported is read: reading all of them takes longer than most small grammars do.

    Args:
        max_size: Maximum characters of a grammar with all files that it imports, and maximum size of a terminal.
        source: What Lark calls the text of the grammar itself; the other names are paths.

    Yields:
        The paths of each import, of which Lark reads the first that is a file. An import of a grammar that comes with
            Lark may have none.
    """
    from lark import load_grammar

    resolve: Any = load_grammar.resolve_term_references
    parse: Any = load_grammar._parse_grammar
    builder: Any = load_grammar.GrammarBuilder
    left = max_size
    imported: Iterable[str] = ()
    tried: list[list[str]] = []

    class Builder(builder):  # type: ignore[misc]
        """Lark's builder, which says what it imports before it reads a file."""

        def do_import(self, path: Any, folder: Any, aliases: Any, *others: Any) -> None:
            nonlocal imported
            imported = aliases
            folders = [each for each in (*self.import_paths, folder) if isinstance(each, str)]
            # Lark names files so.
            tried.append([os.path.join(each, *path) + load_grammar.EXT for each in folders])  # noqa: PTH118
            super().do_import(path, folder, aliases, *others)

    def bounded(terminals: dict[str, Any]) -> None:
        _check_terminals(terminals, max_size)
        resolve(terminals)

    def counted(text: str, name: Any, *others: Any) -> Any:
        nonlocal left
        left -= len(text)
        if left < 0:
            place = None if name == source else name
            what = "a grammar with the files that it imports"
            raise LimitExceeded("grammar_length", max_size, what, place=place)
        if isinstance(name, load_grammar.PackageResource):
            return _needed(_library(text, parse), imported)
        return parse(text, name, *others)

    load_grammar.resolve_term_references = bounded
    load_grammar._parse_grammar = counted
    load_grammar.GrammarBuilder = Builder  # type: ignore[misc]
    try:
        yield tried
    finally:
        load_grammar.resolve_term_references = resolve
        load_grammar._parse_grammar = parse
        load_grammar.GrammarBuilder = builder  # type: ignore[misc]


@lru_cache(maxsize=8)
def _library(text: str, parse: Any) -> Any:
    """Return what Lark reads of a grammar that comes with Lark."""
    return parse(text, "<library>")


def _needed(tree: Any, names: Iterable[str]) -> Any:
    """Return a grammar without the definitions that some names do not need; Lark copies what it renames."""
    from lark import Tree
    from lark.grammar import Symbol

    if any(each.data in ("override", "extend") for each in tree.children):
        return tree
    # A rule begins with its modifiers, a terminal with its name.
    places = {"rule": 1, "term": 0}
    defined = {str(s.children[places[s.data]]): s for s in tree.children if s.data in places}
    kept: dict[str, Any] = {}
    pending = [str(name) for name in names]
    while pending:
        name = pending.pop()
        if name in defined and name not in kept:
            kept[name] = defined[name]
            pending += [s.name for s in defined[name].scan_values(lambda leaf: isinstance(leaf, Symbol))]
    left_out = {id(defined[name]) for name in defined.keys() - kept.keys()}
    return Tree(tree.data, [s for s in tree.children if id(s) not in left_out])


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
