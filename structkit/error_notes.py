"""Functions that read an error, or add a location, a note, or the request for a report to it; a shared remedy."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from opcode import opname
from pathlib import Path
from types import TracebackType

from structkit.errors import GenerationError, StructkitError

__all__ = [
    "SURROGATE_REMEDY",
    "add_location",
    "add_note",
    "report_fault",
    "safe_str",
    "shrink",
    "type_and_message",
    "without_python",
]

_PYTHON_ONLY = re.compile(r"(?:,? or pass|; with) (?:it to )?(?:Limits\(|JsonSchema\(|strict=)[^\n;]*")
"""A remedy that only a program in Python has."""

SURROGATE_REMEDY = (
    "write the whole character, such as '\\U0001f600' for '\\ud83d\\ude00', or remove the surrogate"
)
"""What to do about a text that contains a lone surrogate."""

_PACKAGE = str(Path(__file__).parent)
_MAX_CASE = 4_000
"""Characters of a case in a note."""


def add_location(error: Exception, location: str) -> None:
    """Prefix the location of a structkit error with `location`; other errors get a note.

    >>> error = GenerationError("it is empty", place="token 3")
    >>> add_location(error, "prompts[1]")
    >>> print(error)
    at `prompts[1], token 3`:
      it is empty
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


def safe_str(error: BaseException) -> str:
    """Return the message of an exception, or a substitute if its `__str__` raises an exception.

    >>> safe_str(ValueError("too young"))
    'too young'
    """
    message = _message(error)
    return f"<unprintable {type(error).__name__} object>" if message is None else message


def type_and_message(error: BaseException) -> str:
    """Return the type and the message of an exception, or the type alone if it has no message.

    An exception whose `__str__` raises an exception has no message.

    >>> type_and_message(ValueError("too young")), type_and_message(ValueError())
    ('ValueError: too young', 'ValueError')
    """
    name, message = type(error).__name__, _message(error)
    return f"{name}: {message}" if message else name


def without_python(message: str) -> str:
    """Return a message without the remedies that only a program in Python has.

    >>> without_python("the automaton exceeds the limit states=3; simplify it or pass Limits(states=...)")
    'the automaton exceeds the limit states=3; simplify it'
    """
    return _PYTHON_ONLY.sub("", message)


def _message(error: BaseException) -> str | None:
    try:
        return str(error)
    except Exception:  # code of the user may raise anything, and an error message must not fail
        return None


def report_fault(error: BaseException, case: Callable[[], str]) -> None:
    """Add a note to an error that structkit does not expect; other errors stay as they are.

    Args:
        error: The error.
        case: Returns Python code that fails in the same way; called for a fault only.

    >>> error = KeyError("a structkit error has no note")
    >>> report_fault(error, lambda: "1 / 0")
    >>> getattr(error, "__notes__", [])
    []
    """
    if not isinstance(error, Exception) or not _is_fault(error) or getattr(error, "_is_reported", False):
        return
    try:
        code = case()
    except Exception as failed:  # the report must not hide the error
        code = f"# the case could not be made: {type(failed).__name__}"
    lines = "\n".join(f"    {line}" for line in code[:_MAX_CASE].splitlines())
    add_note(
        error,
        "structkit does not expect this error. If the arguments are right, it is a fault of structkit: please report "
        "it, with the traceback and this case, at https://pypi.org/project/structkit-llm/\n" + lines,
    )
    error._is_reported = True  # type: ignore[attr-defined]


def _is_fault(error: BaseException) -> bool:
    """Return whether code of structkit failed, and did not raise the error on purpose.

    The innermost frame is one of structkit, and it does not execute a `raise` statement. Errors of a user's validator,
    or of another library, end in a frame of theirs.
    """
    frame = _innermost(error)
    if frame is None or isinstance(error, (StructkitError, MemoryError)):
        return False
    code = frame.tb_frame.f_code
    is_raised = opname[code.co_code[frame.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")
    return code.co_filename.startswith(_PACKAGE) and not is_raised


_SHRINK_SECONDS = 2.0
"""Time for the search of a smaller schema that fails in the same way."""


def shrink(
    schema: Mapping[str, object],
    run: Callable[[dict[str, object]], object],
    error: BaseException,
) -> dict[str, object]:
    """Return a part of a JSON Schema that fails at the same place with the same type of error.

    Each round leaves out one key or one item, or puts a subschema in the place of the schema, as long as the rest still
    fails in the same way and there is time.

    Args:
        schema: A schema that fails.
        run: Fails for the schema.
        error: The error of the schema.

    >>> def run(schema):
    ...     return 1 / (schema.get("maximum") != 3)
    >>> try:
    ...     run({"maximum": 3})
    ... except ZeroDivisionError as error:
    ...     shrink({"type": "integer", "minimum": 1, "maximum": 3}, run, error)
    {'maximum': 3}
    """
    end = time.perf_counter() + _SHRINK_SECONDS
    smallest, place = dict(schema), _place(error)

    def fails_alike(candidate: dict[str, object]) -> bool:
        try:
            run(candidate)
        except Exception as other:  # whatever fails is compared with the error
            return _place(other) == place
        return False

    is_smaller = True
    while is_smaller and time.perf_counter() < end:
        is_smaller = False
        for candidate in _smaller(smallest):
            if time.perf_counter() >= end:
                break
            if isinstance(candidate, dict) and fails_alike(candidate):
                smallest, is_smaller = candidate, True
                break
    return smallest


def _innermost(error: BaseException) -> TracebackType | None:
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame


def _place(error: BaseException) -> object:
    frame = _innermost(error)
    return type(error), frame and (frame.tb_frame.f_code.co_filename, frame.tb_frame.f_code.co_name)


def _smaller(value: object) -> Iterator[object]:
    """Yield smaller values, those that leave out most first."""
    if isinstance(value, dict):
        for part in value.values():
            if isinstance(part, dict):
                yield part
                yield from (each for each in part.values() if isinstance(each, dict))
            elif isinstance(part, list):
                yield from (each for each in part if isinstance(each, dict))
        for key in value:
            yield {name: part for name, part in value.items() if name != key}
        for key, part in value.items():
            for smaller in _smaller(part):
                yield {**value, key: smaller}
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield value[:index] + value[index + 1 :]
            for smaller in _smaller(part):
                yield [*value[:index], smaller, *value[index + 1 :]]
