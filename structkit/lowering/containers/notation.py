r"""Notations of values: JSON, and Python, whose literals differ from JSON in three names.

A string of canonical JSON is a Python literal of the same text (Language Reference, section 2.4.1): it contains no
surrogates and no raw control characters, and its only escapes, `\"`, `\\`, `\b`, `\f`, `\n`, `\r`, `\t` and `\u00xx`,
mean the same in both. Numbers, lists and objects (as dicts) are Python literals too.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from dataclasses import dataclass

from structkit.schema.ir.nodes import Document, Object, Ref, Schema

__all__ = ["JSON", "PYTHON", "Notation", "is_keyword", "keywords_of"]

_NAMES = re.compile(r'"(?:[^"\\]|\\.)*"|true|false|null')


@dataclass(frozen=True, slots=True)
class Notation:
    """The spelling of values.

    Attributes:
        true: The text of true.
        false: The text of false.
        null: The text of null.
        python_call: Whether the root is the arguments of a call: `a=1, b=2`, or `**{"a b": 1}` where a name is not
            a valid keyword.
    """

    true: str = "true"
    false: str = "false"
    null: str = "null"
    python_call: bool = False

    def render(self, text: str) -> str:
        """Return a JSON text in this notation.

        >>> PYTHON.render('{"null": [null, true]}')
        '{"null": [None, True]}'
        """
        names = {"true": self.true, "false": self.false, "null": self.null}
        return _NAMES.sub(lambda found: names.get(found[0], found[0]), text)


JSON = Notation()
PYTHON = Notation("True", "False", "None", python_call=True)


def is_keyword(name: str) -> bool:
    """Return whether a name can be a keyword argument of a Python call. Python normalizes names (PEP 3131).

    >>> [is_keyword(name) for name in ("city", "a b", "class", "été")]
    [True, False, False, True]
    """
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


def keywords_of(document: Document) -> Schema | None:
    """Return the object whose properties are keyword arguments; `None` if some value has other keys."""
    root = document.root
    found = document.definitions[root.name] if isinstance(root, Ref) else root
    if not isinstance(found, Object) or found.additional or found.required_groups:
        return None
    return found if all(is_keyword(prop.name) for prop in found.properties) else None
