"""Functions that add a location or a note to an error."""

from __future__ import annotations

from collections.abc import Callable

from structkit.errors import GenerationError, StructkitError

__all__ = ["add_location", "add_note"]


def add_location(error: Exception, location: str) -> None:
    """Prefix the location of a structkit error with `location`; other errors get a note.

    >>> error = GenerationError("it is empty", place="token 3")
    >>> add_location(error, "prompts[1]")
    >>> print(error)
    it is empty at `prompts[1], token 3`
    """
    if isinstance(error, StructkitError):
        error.place = location if error.place is None else f"{location}, {error.place}"
    else:
        add_note(error, f"it was raised for {location}")


def add_note(error: Exception, note: str) -> None:
    """Add a note to an error (PEP 678).

    Tracebacks before Python 3.11 do not show notes. There the note becomes the root cause of the error.
    """
    add: Callable[[str], None] | None = getattr(error, "add_note", None)
    if add is not None:
        add(note)
        return
    root: BaseException = error
    while (cause := root.__cause__ or (None if root.__suppress_context__ else root.__context__)) is not None:
        root = cause
    root.__cause__ = GenerationError(note)
