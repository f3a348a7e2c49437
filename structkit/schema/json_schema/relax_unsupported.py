"""Relaxation: keywords that cannot be enforced are dropped, so that the result contains all values of the schema.

A schema with fewer keywords allows more values, except under a negation. A negation above a dropped keyword is
therefore dropped too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from structkit.errors import PatternError, UnsupportedKeyword
from structkit.schema.ir.keywords import DEPENDENT_KEYWORDS
from structkit.schema.ir.path import SchemaPath
from structkit.unenforced import Unenforced

__all__ = ["Relaxation", "keyword_of"]

_NON_MONOTONIC = frozenset({"contains", "if", "not", "oneOf"})
"""Keywords for which a larger subschema can make the schema smaller."""

_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")

_ALL_KEYWORDS = "schema"
"""A placeholder for all keywords of a schema; not a keyword itself."""

_MAX_ATTEMPTS = 50
"""Maximum number of parse attempts; after that, all keywords of the root are dropped."""


def keyword_of(error: UnsupportedKeyword | PatternError) -> str:
    """Return the keyword that an error refers to."""
    return error.keyword if isinstance(error, UnsupportedKeyword) else "pattern"


class Relaxation:
    """The subschemas visited in one parse attempt, and the dropped keywords.

    Args:
        dropped: The keywords to drop, known from earlier attempts.
    """

    def __init__(self, dropped: tuple[Unenforced, ...]) -> None:
        self.dropped = dropped
        self._dropped_at: dict[str, set[str]] = {}
        for one in dropped:
            self._dropped_at.setdefault(one.path, set()).add(one.keyword)
        self._seen: dict[str, tuple[Mapping[str, object], SchemaPath]] = {}
        self._uses: dict[str, list[SchemaPath]] = {}

    def relax(self, raw: Mapping[str, object], schema_path: SchemaPath) -> Mapping[str, object]:
        """Return the schema at a path without the dropped keywords, and record it."""
        path = schema_path.text
        dropped = self._dropped_at.get(path)
        if dropped is not None:
            if not dropped <= raw.keys():
                # The error results from a combination of keywords.
                raw = {keyword: raw[keyword] for keyword in ("$id", "type") if keyword in raw}
            dropped = dropped.union(*(DEPENDENT_KEYWORDS.get(keyword, ()) for keyword in dropped))
            raw = {keyword: value for keyword, value in raw.items() if keyword not in dropped}
        self._seen[path] = raw, schema_path
        return raw

    def record_reference(self, definition_path: str, path: SchemaPath) -> None:
        """Record that `path` uses the definition at `definition_path`."""
        self._uses.setdefault(definition_path, []).append(path)

    def keyword_to_drop(self, error: UnsupportedKeyword | PatternError) -> Unenforced | None:
        """Return the keyword to drop after an error; `None` if there is no further candidate.

        Candidates are occurrences of the keyword at the location of the error or around it, innermost first, then all
        keywords of these schemas.
        """
        keyword, error_path = keyword_of(error), error.place or "$"
        enclosing = [
            path
            for path in self._seen
            if error_path == path or error_path.startswith((f"{path}.", f"{path}["))
        ]
        enclosing.sort(key=len, reverse=True)
        with_keyword = [path for path in enclosing if keyword in self._seen[path][0]]
        known = {(one.path, one.keyword) for one in self.dropped}
        candidates = [(path, keyword) for path in with_keyword] + [
            (path, _ALL_KEYWORDS) for path in enclosing
        ]
        if len(known) >= _MAX_ATTEMPTS:
            candidates = [("$", _ALL_KEYWORDS)]
        found = next((each for each in candidates if each not in known), None)
        return None if found is None else Unenforced(*found, error.message)

    def negated_keywords(self) -> tuple[Unenforced, ...]:
        """Return the non-monotonic keywords above dropped keywords; they must be dropped too."""
        known = {(one.path, one.keyword) for one in self.dropped}
        found: dict[tuple[str, str], Unenforced] = {}
        for one in self.dropped:
            for path, keyword in self._enclosing_keywords(one.path):
                if (path, keyword) not in known:
                    found[path, keyword] = Unenforced(path, keyword, one.reason)
        return tuple(found.values())

    def _enclosing_keywords(self, path: str) -> Iterator[tuple[str, str]]:
        """Iterate over the keywords above a path, including references, that a larger subschema can make stricter."""
        pending, done = [self._seen[path][1]] if path in self._seen else [], set[tuple[str, str]]()
        while pending:
            current: SchemaPath | None = pending.pop()
            step = ""
            while current is not None:
                path = current.text
                if (path, step) in done:
                    break
                done.add((path, step))
                raw = self._seen[path][0] if path in self._seen else {}
                yield from ((path, keyword) for keyword in _UNEVALUATED if keyword in raw)
                if step in _NON_MONOTONIC and step in raw:
                    yield path, step
                if current.parent is None:
                    pending += self._uses.get(path, ())
                step, current = current.keyword, current.parent
