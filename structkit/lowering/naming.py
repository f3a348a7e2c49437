"""The names of the rules of a document: the place in the schema, and `'` for each further rule of that place."""

from __future__ import annotations

from collections.abc import Container, Mapping

from structkit.regex.nodes import Node

__all__ = ["RuleNames"]


class RuleNames:
    """The names of rules; equal rules of one place share a name.

    Args:
        rules: The rules so far.
        reserved: The names of rules that are lowered on first use.
        definitions: The definitions, whose rules have the names `#name`.
    """

    def __init__(
        self, rules: Mapping[str, Node], reserved: Container[str], definitions: Container[str]
    ) -> None:
        self._rules = rules
        self._reserved = reserved
        self._definitions = definitions
        self._last: dict[str, str] = {}
        self._newest: dict[str, str] = {}
        self._known: dict[tuple[str, Node], str] = {}

    def of(self, path: str, node: Node) -> str:
        """Return the name of a rule, which the caller adds.

        >>> from structkit.regex.nodes import LiteralText
        >>> rules = {}
        >>> names = RuleNames(rules, (), {"b"})
        >>> for path, text in (("$", "x"), ("$", "y"), ("$", "x"), ("b", "x")):
        ...     rules[names.of(path, LiteralText(text))] = LiteralText(text)
        >>> list(rules)
        ['#$', "#$'", "#b'"]
        """
        name = last = self._last.get(path)
        if last is not None and self._rules[last] != node:
            # Most places have one rule, whose node is never hashed.
            self._known[path, self._rules[last]] = last
            name = self._known.get((path, node))
        if name is None:
            name = self._newest.get(path, f"#{path}")  # the names before it are taken
            while self._rules.get(name, node) != node or self._is_taken(name):
                name += "'"
            self._newest[path] = name
        self._last[path] = name
        return name

    def new(self, path: str) -> str:
        """Return a name that no rule has."""
        name = f"#{path}"
        while name in self._rules or self._is_taken(name):
            name += "'"
        return name

    def _is_taken(self, name: str) -> bool:
        return name in self._reserved or name[1:] in self._definitions
