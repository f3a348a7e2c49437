"""The progress bar of a batch; the only module that imports tqdm."""

from __future__ import annotations

import importlib.util
from types import TracebackType
from typing import TYPE_CHECKING

from structkit.errors import MissingExtra

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = ["Progress"]


class Progress:
    """A progress bar on standard error, or none; a context manager.

    >>> with Progress(3, enabled=False) as progress:
    ...     progress.advance()
    """

    def __init__(self, total: int | None, enabled: bool | None = None) -> None:
        """Show a bar.

        Args:
            total: Number of steps, if known.
            enabled: Whether to show the bar; `None` shows it only in a terminal.

        Raises:
            MissingExtra: The bar is enabled, and tqdm is not installed.
        """
        self._bar: tqdm[None] | None = None
        if enabled and importlib.util.find_spec("tqdm") is None:
            raise MissingExtra("progress", "progress=True needs", "tqdm")
        if enabled is not False and total not in (0, 1) and importlib.util.find_spec("tqdm") is not None:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=total, unit="value", disable=None if enabled is None else not enabled)

    def __enter__(self) -> Progress:
        return self

    def advance(self) -> None:
        """Advance the bar by one step."""
        if self._bar is not None:
            self._bar.update()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
