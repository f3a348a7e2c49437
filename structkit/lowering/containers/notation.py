r"""Notations of values: JSON, and Python, whose literals are spelled alike but for three names.

A string of canonical JSON is a literal of Python (Language Reference, section 2.4.1) of the same text, for it has
no other escapes than `\"`, `\\`, `\b`, `\f`, `\n`, `\r`, `\t` and `\u00xx`, which mean the same in both, no surrogates,
and no raw control characters. So are its numbers, lists and objects, as dicts.
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
    """How values are spelled.

    Attributes:
        true: What is written for true.
        false: What is written for false.
        null: What is written for null.
        python_call: Whether the root is the arguments of a call: `a=1, b=2`, or `**{"a b": 1}` where keywords cannot
            say it.
    """

    true: str = "true"
    false: str = "false"
    null: str = "null"
    python_call: bool = False

    def render(self, text: str) -> str:
        """A JSON text.

        >>> PYTHON.render('{"null": [null, true]}')
        '{"null": [None, True]}'
        """
        names = {"true": self.true, "false": self.false, "null": self.null}
        return _NAMES.sub(lambda found: names.get(found[0], found[0]), text)


JSON = Notation()
PYTHON = Notation("True", "False", "None", python_call=True)


def is_keyword(name: str) -> bool:
    """Whether a name can be that of an argument in a call of Python, which normalizes names (PEP 3131).

    >>> [is_keyword(name) for name in ("city", "a b", "class", "été")]
    [True, False, False, True]
    """
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


def keywords_of(document: Document) -> Schema | None:
    """The object whose properties are the arguments of a call; `None` where keywords cannot say all of its values."""
    root = document.root
    found = document.definitions[root.name] if isinstance(root, Ref) else root
    if not isinstance(found, Object) or found.additional or found.required_groups:
        return None
    return found if all(is_keyword(prop.name) for prop in found.properties) else None
