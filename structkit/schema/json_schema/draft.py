"""The drafts of JSON Schema, and the keywords that depend on them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping

__all__ = ["LAST_WITHOUT_EVALUATING_CONTAINS", "LAST_WITH_LONE_REFS", "allow_integral_floats", "draft_of"]

LAST_WITH_LONE_REFS = 7
"""The last draft that ignores keywords next to `$ref`."""

LAST_WITHOUT_EVALUATING_CONTAINS = 2019
"""The last draft in which `contains` does not evaluate items."""

_LAST_WITHOUT_INTEGRAL_FLOATS = 4
"""The last draft in which 1.0 is no integer."""

_DIALECT = re.compile(r"json-schema\.org/draft(?:-0([3-7])|/(2019)-09)/")


def draft_of(document: object) -> int:
    """Return the draft that `$schema` names: a number, a year since 2019, or `sys.maxsize` by default.

    >>> draft_of({"$schema": "http://json-schema.org/draft-07/schema#"})
    7
    """
    dialect = document.get("$schema") if isinstance(document, (dict, Mapping)) else None
    found = _DIALECT.search(dialect) if isinstance(dialect, str) else None
    return int(found[1] or found[2]) if found else sys.maxsize


def allow_integral_floats(schema: object, resources: Iterable[object]) -> bool:
    """Return whether 1.0 is an integer in the draft of a schema; without `$schema`, in those of its resources.

    >>> allow_integral_floats({}, [{"$schema": "http://json-schema.org/draft-04/schema#"}])
    False
    """
    names_draft = isinstance(schema, (dict, Mapping)) and "$schema" in schema
    documents = [schema] if names_draft else resources
    return all(draft_of(document) > _LAST_WITHOUT_INTEGRAL_FLOATS for document in documents)
