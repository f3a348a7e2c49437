"""An extension for the API pages: `>>>` examples in docstrings are code, not the quotations that Markdown reads."""

from __future__ import annotations

import re
from textwrap import dedent

import griffe


class Doctests(griffe.Extension):
    """Puts a fence around each paragraph that begins with `>>>`."""

    def on_object(self, *, obj: griffe.Object, **options: object) -> None:
        """Rewrite the docstring of an object that was just read."""
        if obj.docstring is not None:
            paragraphs = re.split(r"\n[ \t]*\n", obj.docstring.value)
            obj.docstring.value = "\n\n".join(map(_fenced, paragraphs))


def _fenced(paragraph: str) -> str:
    code = dedent(paragraph)
    return f"```pycon\n{code}\n```" if code.startswith(">>> ") else paragraph
