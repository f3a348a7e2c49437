r"""A Markdown extension for the pipe in the code of a cell, which pages write as `\|` for GitHub."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString

__all__ = ["makeExtension"]

_AFTER_INLINE = 15
"""A priority below that of Markdown's processor of inline code, 20."""


class _Pipes(Treeprocessor):  # type: ignore[misc]
    def run(self, root: Element) -> None:
        for cell in root.iter("td"):
            for code in cell.iter("code"):
                code.text = AtomicString((code.text or "").replace(r"\|", "|"))


class _Extension(Extension):  # type: ignore[misc]
    def extendMarkdown(self, md: Markdown) -> None:
        md.treeprocessors.register(_Pipes(md), "table_pipes", _AFTER_INLINE)


def makeExtension(**options: object) -> Extension:
    r"""Return the extension.

    >>> page = Markdown(extensions=["tables", makeExtension()])
    >>> html = page.convert("| a |\n| --- |\n| `int \\| None` |\n\n`\\|`")
    >>> "<td><code>int | None</code></td>" in html, r"<p><code>\|</code></p>" in html
    (True, True)
    """
    return _Extension(**options)
