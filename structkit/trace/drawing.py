"""What draws itself: in a terminal, in a notebook, and as a page."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path

from structkit.trace.html import draw_html, draw_page
from structkit.trace.picture import Picture
from structkit.trace.text import draw_text, line_width

__all__ = ["Drawing"]


class Drawing(ABC):
    """The base class of traces: `print` draws one with plain characters, a notebook shows it as the page does."""

    __slots__ = ()

    @abstractmethod
    def picture(self) -> Picture:
        """Return the steps and spans that are drawn."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing as an HTML file, which needs no other file and runs no script.

        Raises:
            OSError: The file cannot be written.

        >>> import tempfile
        >>> import structkit as sk
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sk.Trace(model="a model").save(Path(folder, "run.html"))
        ...     Path(folder, "run.html").read_text()[:15]
        '<!DOCTYPE html>'
        """
        Path(path).write_text(draw_page(self.picture()), encoding="utf-8")

    def __str__(self) -> str:
        return draw_text(self.picture(), line_width())

    def _repr_html_(self) -> str:
        return draw_html(self.picture())
