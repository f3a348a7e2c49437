"""The rules of a grammar in a text that grows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from structkit.errors import LimitExceeded
from structkit.grammar.incremental import Boundary, Derivations, IncrementalParser
from structkit.grammar.read import GrammarSource
from structkit.grammar.syntax.derivation import Derivation
from structkit.regex.nodes import Rules

if TYPE_CHECKING:
    from lark import Tree

__all__ = ["RuleBoundary", "RuleReader"]


class RuleBoundary(NamedTuple):
    """The start or the end of a rule in a text.

    Attributes:
        rule: The rule.
        at: The position, in bytes.
        tree: At the end, the tree of the rule; at the start `None`.
    """

    rule: str
    at: int
    tree: Tree[Any] | None


class RuleReader:
    """Reports which rules have started and ended in a text that grows, each as soon as no continuation changes it.

    Args:
        source: The grammar.
        rules: The names of the rules.
        holes: The rules of the holes.
        fill: Puts the values of the holes into the tree of a text.

    Raises:
        ValueError: The grammar has no such rule.
    """

    def __init__(
        self,
        source: GrammarSource,
        rules: Collection[str],
        holes: Rules,
        fill: Callable[[Tree[Any], str], object],
    ) -> None:
        known = sorted({name for rule in source.cfg.rules if (name := _public_name(rule))[0] not in "_$"})
        for rule in rules:
            if rule not in known:
                raise ValueError(f"{_fault(rule)} {', '.join(known)}")
        full_names = [str(rule) for rule in source.cfg.rules if _public_name(rule) in rules]
        self._source, self._fill, self._full_names = source, fill, frozenset(full_names)
        self._derivations = Derivations.of(source.cfg, holes)
        self._lark = source.lark.derivations(full_names)
        self.clear()

    def clear(self) -> None:
        """Start again with an empty text."""

        def name(rule: str) -> str | None:
            return rule if rule in self._full_names else None

        limit = self._source.limits.parse_states
        parser = IncrementalParser(self._derivations, name, max_threads=limit)
        self._parser: IncrementalParser | None = parser
        self._text = bytearray()
        self._known: list[RuleBoundary] = []
        self._open: list[int] = []

    def read(self, text: bytes) -> None:
        """Read more of the text."""
        self._text += text
        if self._parser is not None:
            try:
                self._parser.read(text)
            except LimitExceeded:
                self._parser = None  # the rest is known at the end

    def boundaries(self, *, is_whole: bool = False) -> tuple[list[RuleBoundary], int]:
        """Return the boundaries that are certain, and the position from which others may follow.

        Args:
            is_whole: Whether the text ends here. Then all are returned; where the text is ambiguous, those of the tree
                that Lark chooses.
        """
        end = len(self._text)
        if self._parser is not None:
            found = self._parser.known(is_whole=is_whole)
            if not self._take(found.boundaries):
                self._parser = None
            elif not is_whole or found.unknown_from is None:
                return self._known, end if found.unknown_from is None else found.unknown_from
        if not is_whole:
            return self._known, 0
        chosen = self._source.lark.derive(self._lark, self._text.decode(), self._source.options.start)
        return self._known if chosen is None else [*self._chosen(chosen)], end

    def _take(self, boundaries: Sequence[Boundary]) -> bool:
        """Add boundaries that are certain; return whether the trees of their rules are certain, too."""
        for rule, at, is_start in boundaries[len(self._known) :]:
            if is_start:
                self._open.append(at)
                self._known.append(RuleBoundary(_public_name(rule), at, None))
                continue
            text = self._text[self._open.pop() : at].decode()
            found = self._source.lark.derive(self._lark, text, rule)
            if found is None:  # a terminal of the rule depends on what surrounds it
                return False
            self._known.append(RuleBoundary(_public_name(rule), at, self._tree(found, text)))
        return True

    def _chosen(self, derivation: Derivation) -> Iterator[RuleBoundary]:
        text = self._text.decode()
        places = [0, *accumulate(len(letter.encode()) for letter in text)]
        for found, is_start in derivation.walk():
            if found.rule in self._full_names and found.start >= 0:
                at = places[found.start if is_start else found.end]
                tree = None if is_start else self._tree_alone(found, text)
                yield RuleBoundary(_public_name(found.rule), at, tree)

    def _tree_alone(self, derivation: Derivation, text: str) -> Tree[Any]:
        """Return the tree of a part of a text, with positions in the part where the part can be parsed alone."""
        part = text[derivation.start : derivation.end]
        alone = self._source.lark.derive(self._lark, part, derivation.rule)
        return self._tree(derivation, text) if alone is None else self._tree(alone, part)

    def _tree(self, derivation: Derivation, text: str) -> Tree[Any]:
        tree = self._source.lark.tree(derivation)
        self._fill(tree, text)
        return tree


def _public_name(rule: str) -> str:
    """Return the name that the grammar gives to a rule; templates have a rule for each use."""
    return str(rule).partition("{")[0]


def _fault(name: str) -> str:
    """Return why there are no events for a name, up to the names that have some."""
    if name.startswith("_"):
        return f"{name!r} begins with an underscore, so that Lark's trees do not have it; write one of"
    if name.isupper():
        return f"{name!r} is a terminal, and only rules have events; write one of"
    return f"the grammar has no rule {name!r}; it has"
