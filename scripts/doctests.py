"""Extension for the API pages: renders `>>>` examples in docstrings as code instead of Markdown quotations."""

from __future__ import annotations

import re
from textwrap import dedent

import griffe


class Doctests(griffe.Extension):
    """Fences each paragraph that starts with `>>>`."""

    def on_object(self, *, obj: griffe.Object, **options: object) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None:
            paragraphs = re.split(r"\n[ \t]*\n", obj.docstring.value)
            obj.docstring.value = "\n\n".join(map(_fenced, paragraphs))


def _fenced(paragraph: str) -> str:
    code = dedent(paragraph)
    return f"```pycon\n{code}\n```" if code.startswith(">>> ") else paragraph
