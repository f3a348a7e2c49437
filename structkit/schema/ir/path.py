"""Locations in a schema: paths for error messages, and base URIs for references."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

__all__ = ["SchemaPath", "join_path", "path_step"]

_MAX_CACHED_LENGTH = 64
"""Names up to this length are cached."""

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")


class SchemaPath(NamedTuple):
    """A location in a schema: the root, or a step below a parent. The text of the path is built on demand.

    The path of a JSON Schema leads through the document (`$.properties.age.minimum`). The path of a Python type, whose
    JSON Schema users do not see, leads through the value (`$.age`).

    Attributes:
        start: The text of the root.
        base: The base URI of references.
        python: Whether the schema belongs to a Python type.
        parent: The location above; `None` for the root.
        keyword: The keyword of the step.
        part: The key or index of the step inside the keyword.
        scope: The base URIs of the enclosing resources, outermost first; `$dynamicRef` depends on them.
    """

    start: str = "$"
    base: str = ""
    python: bool = False
    parent: SchemaPath | None = None
    keyword: str = ""
    part: str | int | None = None
    scope: tuple[str, ...] = ()

    def child(self, keyword: str, part: str | int | None = None) -> SchemaPath:
        """Return the location of a subschema of a keyword.

        >>> SchemaPath().child("properties", "age").text, SchemaPath(python=True).child("properties", "age").text
        ('$.properties.age', '$.age')
        """
        # Equals SchemaPath(...) without the overhead of `__new__`: there is one location for each subschema.
        return tuple.__new__(
            SchemaPath, (self.start, self.base, self.python, self, keyword, part, self.scope)
        )

    def with_base(self, base: str) -> SchemaPath:
        """Return the same location inside a resource with the URI `base`."""
        scope = self.scope if not base or base in self.scope else (*self.scope, base)
        return SchemaPath(self.start, base, self.python, self.parent, self.keyword, self.part, scope)

    def is_within(self, keyword: str) -> bool:
        """Return whether a step of the path is that of a keyword.

        >>> path = SchemaPath().child("properties", "not")
        >>> path.is_within("not"), path.child("not").child("items").is_within("not")
        (False, True)
        """
        path: SchemaPath | None = self
        while path is not None and path.keyword != keyword:
            path = path.parent
        return path is not None

    @property
    def text(self) -> str:
        """The path from the root."""
        steps: list[str] = []
        path = self
        while path.parent is not None:
            steps.append(_value_step(path) if self.python else _schema_step(path))
            path = path.parent
        return self.start + join_path(steps[::-1])


_MAX_STEPS = 40


def join_path(steps: Sequence[str]) -> str:
    """Join the steps of a path; the middle of a very long path is omitted.

    >>> join_path([".a", "[2]"])
    '.a[2]'
    """
    if len(steps) > _MAX_STEPS:
        half = _MAX_STEPS // 2
        return "".join((*steps[:half], " ... ", *steps[-half:]))
    return "".join(steps)


def _schema_step(path: SchemaPath) -> str:
    return path_step(path.keyword) + ("" if path.part is None else path_step(path.part))


def _value_step(path: SchemaPath) -> str:
    if path.keyword in ("properties", "prefixItems") and path.part is not None:
        return path_step(path.part)
    return "[]" if path.keyword in ("items", "additionalProperties", "patternProperties") else ""


def path_step(part: str | int) -> str:
    """Format one step of a path.

    >>> path_step("age"), path_step("first name"), path_step(2)
    ('.age', '["first name"]', '[2]')
    """
    return _cached_step(part) if isinstance(part, str) and len(part) <= _MAX_CACHED_LENGTH else _step(part)


def _step(part: str | int) -> str:
    if isinstance(part, str) and _PLAIN.fullmatch(part):
        return f".{part}"
    return f"[{json.dumps(part)[:100]}]"


_cached_step = lru_cache(maxsize=4096)(_step)
"""Cached, because parsing, queries and lowering format the same names."""
