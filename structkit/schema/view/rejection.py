"""Why validators reject a value, in one line for each error, as a model or a person can read it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias, get_args

from pydantic import ValidationError
from pydantic_core import core_schema

from structkit.error_notes import safe_str
from structkit.rejected import Rejected
from structkit.schema.ir.path import path_step

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["error_lines", "rejection_of"]

Path: TypeAlias = tuple[str | int, ...]

_MAX_LINES = 10
"""Maximum number of errors that are reported."""

_MAX_LENGTH = 500
"""Maximum number of characters of one error."""

_PREFIXES = {"value_error": "Value error, ", "assertion_error": "Assertion failed, "}
"""What pydantic writes before the message of an exception that a validator raises, by the type of the error."""

_BUILT_IN = frozenset(get_args(core_schema.ErrorType)) - _PREFIXES.keys()
"""Types of errors that pydantic itself raises; the language of a type excludes most of them."""

_SHAPE = frozenset(
    kind
    for kind in _BUILT_IN
    if kind.startswith(("missing", "unexpected", "extra", "union_tag", "literal", "enum", "none_", "is_"))
    or kind.endswith("_type")
)
"""Types of errors that a text of another member of a union has."""


def rejection_of(error: Exception, text: str) -> Rejected:
    """Return why a text was rejected, with the path of the first error.

    If the value is that of a union, only the errors of the member that the text belongs to count.

    Args:
        error: The exception of the validators.
        text: The JSON text.

    >>> rejection_of(ValueError("too young"), "3").message
    'too young'
    """
    if not isinstance(error, ValidationError):
        return Rejected((), _line(safe_str(error)), error)
    value = _json(text)
    errors = _of_the_member(
        error.errors(include_url=False, include_context=False, include_input=False), value
    )
    paths = [_path_in(value, each["loc"]) for each in errors]
    places = [
        (*path, each["loc"][-1]) if _is_missing(each) else path
        for path, each in zip(paths, errors, strict=True)
    ]
    return Rejected(paths[0] if paths else (), _joined(zip(places, errors, strict=True)), error)


def error_lines(error: Exception) -> str:
    r"""Return the errors of an exception, one in each line.

    >>> error_lines(ValueError("too\n young"))
    'too young'
    """
    if not isinstance(error, ValidationError):
        return _line(safe_str(error))
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    return _joined((each["loc"], each) for each in errors)


def _joined(errors: Iterable[tuple[Path, ErrorDetails]]) -> str:
    lines: dict[str, None] = {}
    for path, each in errors:
        message = _line(each["msg"].removeprefix(_PREFIXES.get(each["type"], "")))
        place = "".join(map(path_step, path)).removeprefix(".")
        lines[f"{place}: {message}" if place else message] = None
    shown = list(lines)[:_MAX_LINES]
    if len(lines) > len(shown):
        shown.append(f"{len(lines) - len(shown)} more errors")
    return "\n".join(shown)


def _line(message: str) -> str:
    """Return a message as one line of limited length."""
    line = " ".join(message.split())
    return line if len(line) <= _MAX_LENGTH else f"{line[: _MAX_LENGTH - 3]}..."


def _json(text: str) -> object:
    try:
        value: object = json.loads(text)
    except ValueError:  # for example, a text that is not JSON
        return None
    return value


def _of_the_member(errors: Sequence[ErrorDetails], value: object) -> Sequence[ErrorDetails]:
    """Return the errors without those of members of a union that the value does not have the shape of."""
    for noise in (_BUILT_IN, _SHAPE):
        others = {_member(each, value) for each in errors if each["type"] in noise} - {()}
        rest = [each for each in errors if not any(each["loc"][: len(other)] == other for other in others)]
        if rest:
            return rest
    return errors


def _member(error: ErrorDetails, value: object) -> Path:
    """Return the location of the innermost member of a union that contains an error; empty outside of unions.

    Between names and positions pydantic inserts the names of such members.
    """
    location = error["loc"]
    if _is_missing(error):
        location = location[:-1]
    used = _used_steps(value, location)
    return location[: max((at for at in range(len(location)) if at not in used), default=-1) + 1]


def _is_missing(error: ErrorDetails) -> bool:
    """Return whether the last step of the location of an error is the name of a missing field."""
    return error["type"].startswith("missing") and bool(error["loc"])


def _path_in(value: object, location: Path) -> Path:
    """Return the path in a JSON value to which a location of pydantic leads.

    >>> _path_in({"pet": {"cat": "Tom", "age": 99}}, ("pet", "cat", "age"))
    ('pet', 'age')
    >>> _path_in({"pet": {"cat": "Tom"}}, ("pet", "cat", "[key]"))
    ('pet',)
    """
    if location and location[-1] == "[key]":  # a rejected name of an object; pydantic puts the name before it
        location = location[:-2]
    return tuple(location[at] for at in _used_steps(value, location))


def _used_steps(value: object, location: Path) -> tuple[int, ...]:
    """Return the positions of the steps of a location that lead through a JSON value.

    The other steps are the names of types. Such a name can also be the name of a field, so the path is the one that
    uses most of the location.
    """
    # The paths that lead somewhere: the value there, and how many steps of the location each needs.
    found: dict[tuple[int, ...], tuple[int, object]] = {(): (0, value)}
    for position, step in enumerate(location):
        for used, (_, inner) in list(found.items()):
            is_key = isinstance(inner, dict) and step in inner
            is_index = isinstance(inner, list) and isinstance(step, int) and step < len(inner)
            if is_key or is_index:
                longer = (*used, position)
                found[longer] = (position + 1, inner[step])  # type: ignore[index]
    return max(found, key=lambda used: (found[used][0], len(used)))
