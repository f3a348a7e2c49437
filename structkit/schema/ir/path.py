"""Where in a schema something is: the path for errors, and the base URI for references."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Place", "joined", "step"]

_LONG = 64
"""Characters of names that are too long to be remembered."""

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")


class Place(NamedTuple):
    """A place in a schema: a step below another place, or a start. The path is only put together for an error.

    For a JSON Schema the path goes through the document (`$.properties.age.minimum`); for a Python type, whose
    schema the user never sees, through the value (`$.age`). The scope is the URIs of the resources that were entered
    on the way, outermost first: what `$dynamicRef` depends on.
    """

    start: str = "$"
    base: str = ""
    python: bool = False
    above: Place | None = None
    keyword: str = ""
    part: str | int | None = None
    scope: tuple[str, ...] = ()

    def under(self, keyword: str, part: str | int | None = None) -> Place:
        """The subschema that a keyword holds.

        >>> Place().under("properties", "age").path, Place(python=True).under("properties", "age").path
        ('$.properties.age', '$.age')
        """
        # What Place(...) does, without the call in between: there is one for each subschema.
        return tuple.__new__(Place, (self.start, self.base, self.python, self, keyword, part, self.scope))

    def inside(self, base: str) -> Place:
        """The same place, where references are relative to `base`, the URI of the resource that is entered."""
        scope = self.scope if not base or base in self.scope else (*self.scope, base)
        return Place(self.start, base, self.python, self.above, self.keyword, self.part, scope)

    @property
    def path(self) -> str:
        """The path from the root."""
        steps: list[str] = []
        place = self
        while place.above is not None:
            steps.append(_through_value(place) if self.python else _through_schema(place))
            place = place.above
        return self.start + joined(steps[::-1])


_MOST_STEPS = 40


def joined(steps: Sequence[str]) -> str:
    """The steps of a path; of a very long one the beginning and the end.

    >>> joined([".a", "[2]"])
    '.a[2]'
    """
    if len(steps) > _MOST_STEPS:
        half = _MOST_STEPS // 2
        return "".join((*steps[:half], " ... ", *steps[-half:]))
    return "".join(steps)


def _through_schema(place: Place) -> str:
    return step(place.keyword) + ("" if place.part is None else step(place.part))


def _through_value(place: Place) -> str:
    if place.keyword in ("properties", "prefixItems") and place.part is not None:
        return step(place.part)
    return "[]" if place.keyword in ("items", "additionalProperties", "patternProperties") else ""


def step(part: str | int) -> str:
    """One step of a path.

    >>> step("age"), step("first name"), step(2)
    ('.age', '["first name"]', '[2]')
    """
    return _short(part) if isinstance(part, str) and len(part) <= _LONG else _step(part)


def _step(part: str | int) -> str:
    if isinstance(part, str) and _PLAIN.fullmatch(part):
        return f".{part}"
    return f"[{json.dumps(part)[:100]}]"


_short = lru_cache(maxsize=4096)(_step)
"""Names are met again: when they are read, looked through and lowered."""
