"""Reading leniently: what cannot be enforced is left out, so that the language still holds all of the schema's values.

Less of a schema allows more values, but not under a negation. So what stands there takes the negation with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from structkit.errors import PatternError, UnsupportedKeyword
from structkit.schema.ir.keywords import DEPENDENT_KEYWORDS
from structkit.schema.ir.path import SchemaPath
from structkit.unenforced import Unenforced

__all__ = ["Relaxation", "keyword_of"]

_NON_MONOTONIC = frozenset({"contains", "if", "not", "oneOf"})
"""Keywords whose subschemas may allow more where the whole then allows less."""

_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")

_ALL_KEYWORDS = "schema"
"""Stands for all keywords of a schema; it is none itself."""

_MAX_ATTEMPTS = 50
"""Readings of one schema; then its root is left out."""


def keyword_of(error: UnsupportedKeyword | PatternError) -> str:
    """The keyword that an error is about."""
    return error.keyword if isinstance(error, UnsupportedKeyword) else "pattern"


class Relaxation:
    """Which subschemas one reading met, where, and what it left out.

    Args:
        dropped: The keywords to leave out, found in earlier readings.
    """

    def __init__(self, dropped: tuple[Unenforced, ...]) -> None:
        self.dropped = dropped
        self._out: dict[str, set[str]] = {}
        for one in dropped:
            self._out.setdefault(one.path, set()).add(one.keyword)
        self._seen: dict[str, tuple[Mapping[str, object], SchemaPath]] = {}
        self._uses: dict[str, list[SchemaPath]] = {}

    def relax(self, raw: Mapping[str, object], schema_path: SchemaPath) -> Mapping[str, object]:
        """What is read of the schema at a place."""
        path = schema_path.text
        out = self._out.get(path)
        if out is not None:
            if not out <= raw.keys():
                # What cannot be enforced comes of several keywords together.
                raw = {keyword: raw[keyword] for keyword in ("$id", "type") if keyword in raw}
            out = out.union(*(DEPENDENT_KEYWORDS.get(keyword, ()) for keyword in out))
            raw = {keyword: value for keyword, value in raw.items() if keyword not in out}
        self._seen[path] = raw, schema_path
        return raw

    def record_reference(self, definition_path: str, path: SchemaPath) -> None:
        """Note that the definition that starts at a path is used at a place."""
        self._uses.setdefault(definition_path, []).append(path)

    def keyword_to_drop(self, error: UnsupportedKeyword | PatternError) -> Unenforced | None:
        """The keyword to leave out after an error; `None` if that would not help.

        It is the one of that name at the error's place or around it, the nearest first; then all that is there.
        """
        keyword, place = keyword_of(error), error.place or "$"
        around = [path for path in self._seen if place == path or place.startswith((f"{path}.", f"{path}["))]
        around.sort(key=len, reverse=True)
        having = [path for path in around if keyword in self._seen[path][0]]
        known = {(one.path, one.keyword) for one in self.dropped}
        places = [(path, keyword) for path in having] + [(path, _ALL_KEYWORDS) for path in around]
        if len(known) >= _MAX_ATTEMPTS:
            places = [("$", _ALL_KEYWORDS)]
        found = next((each for each in places if each not in known), None)
        return None if found is None else Unenforced(*found, error.message)

    def negated_keywords(self) -> tuple[Unenforced, ...]:
        """What must be left out too, because what was left out stands under it."""
        known = {(one.path, one.keyword) for one in self.dropped}
        found: dict[tuple[str, str], Unenforced] = {}
        for one in self.dropped:
            for place, keyword in self._enclosing_keywords(one.path):
                if (place, keyword) not in known:
                    found[place, keyword] = Unenforced(place, keyword, one.reason)
        return tuple(found.values())

    def _enclosing_keywords(self, path: str) -> Iterator[tuple[str, str]]:
        """The keywords around a place, through references too, that less of a schema may make stricter."""
        pending, done = [self._seen[path][1]] if path in self._seen else [], set[tuple[str, str]]()
        while pending:
            place: SchemaPath | None = pending.pop()
            step = ""
            while place is not None:
                path = place.text
                if (path, step) in done:
                    break
                done.add((path, step))
                raw = self._seen[path][0] if path in self._seen else {}
                yield from ((path, keyword) for keyword in _UNEVALUATED if keyword in raw)
                if step in _NON_MONOTONIC and step in raw:
                    yield path, step
                if place.parent is None:
                    pending += self._uses.get(path, ())
                step, place = place.keyword, place.parent
