"""Where in a schema something is: the path for errors, and the base URI for references."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

__all__ = ["SchemaPath", "join_path", "path_step"]

_MAX_CACHED_LENGTH = 64
"""Characters of names that are too long to be remembered."""

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")


class SchemaPath(NamedTuple):
    """A place in a schema: a step below another place, or a start. The path is only put together for an error.

    For a JSON Schema the path goes through the document (`$.properties.age.minimum`); for a Python type, whose
    schema the user never sees, through the value (`$.age`). The scope is the URIs of the resources that were entered
    on the way, outermost first: what `$dynamicRef` depends on.
    """

    start: str = "$"
    base: str = ""
    python: bool = False
    parent: SchemaPath | None = None
    keyword: str = ""
    part: str | int | None = None
    scope: tuple[str, ...] = ()

    def child(self, keyword: str, part: str | int | None = None) -> SchemaPath:
        """The subschema that a keyword holds.

        >>> SchemaPath().child("properties", "age").text, SchemaPath(python=True).child("properties", "age").text
        ('$.properties.age', '$.age')
        """
        # What Place(...) does, without the call in between: there is one for each subschema.
        return tuple.__new__(
            SchemaPath, (self.start, self.base, self.python, self, keyword, part, self.scope)
        )

    def with_base(self, base: str) -> SchemaPath:
        """The same place, where references are relative to `base`, the URI of the resource that is entered."""
        scope = self.scope if not base or base in self.scope else (*self.scope, base)
        return SchemaPath(self.start, base, self.python, self.parent, self.keyword, self.part, scope)

    @property
    def text(self) -> str:
        """The path from the root."""
        steps: list[str] = []
        place = self
        while place.parent is not None:
            steps.append(_value_step(place) if self.python else _schema_step(place))
            place = place.parent
        return self.start + join_path(steps[::-1])


_MAX_STEPS = 40


def join_path(steps: Sequence[str]) -> str:
    """The steps of a path; of a very long one the beginning and the end.

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
    """One step of a path.

    >>> path_step("age"), path_step("first name"), path_step(2)
    ('.age', '["first name"]', '[2]')
    """
    return _short(part) if isinstance(part, str) and len(part) <= _MAX_CACHED_LENGTH else _step(part)


def _step(part: str | int) -> str:
    if isinstance(part, str) and _PLAIN.fullmatch(part):
        return f".{part}"
    return f"[{json.dumps(part)[:100]}]"


_short = lru_cache(maxsize=4096)(_step)
"""Names are met again: when they are read, looked through and lowered."""
