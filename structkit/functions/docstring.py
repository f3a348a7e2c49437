"""Descriptions from docstrings. The only module that imports griffe.

griffe parses the Google, NumPy and Sphinx styles. It is imported when the first docstring is read.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Docstring", "read_docstring"]

_STYLES: tuple[Literal["google", "numpy", "sphinx"], ...] = ("google", "numpy", "sphinx")


@dataclass(frozen=True, slots=True)
class Docstring:
    """The descriptions in a docstring.

    Attributes:
        description: The text before the first section.
        parameters: The description of each parameter, by name.
    """

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Docstring:
    r"""Parse a docstring in the style that yields the most parameters.

    >>> read_docstring("Add numbers.\n\nArgs:\n    a: The first.\n    b: The\n        second.")
    Docstring(description='Add numbers.', parameters={'a': 'The first.', 'b': 'The second.'})
    >>> read_docstring("Add numbers.\n\n:param a: The first.").parameters
    {'a': 'The first.'}
    """
    if not text or not text.strip():
        return Docstring()
    read = [_read(inspect.cleandoc(text), style) for style in _STYLES]
    return max(read, key=lambda docstring: len(docstring.parameters))  # the first of equals


def _read(text: str, style: Literal["google", "numpy", "sphinx"]) -> Docstring:
    from griffe import Docstring as Text
    from griffe import DocstringSectionParameters, DocstringSectionText

    description: list[str] = []
    parameters: dict[str, str] = {}
    others = False
    for section in Text(text, lineno=1).parse(style, warnings=False):
        if isinstance(section, DocstringSectionParameters):
            parameters.update({each.name: " ".join(each.description.split()) for each in section.value})
        elif isinstance(section, DocstringSectionText) and not others:
            description.append(section.value.strip())
        others = others or not isinstance(section, DocstringSectionText)
    return Docstring("\n\n".join(filter(None, description)), parameters)
