"""Keyword arguments that a function does not have: the error names the one that was probably meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

__all__ = ["check_names", "names_arguments"]

F = TypeVar("F", bound=Callable[..., object])


def check_names(
    function: str,
    given: Iterable[str],
    names: Iterable[str],
    other_names: Mapping[str, str] | None = None,
    hints: Mapping[str, str] | None = None,
) -> None:
    """Check that a function has all arguments of a call.

    Args:
        function: The name of the function.
        given: The names of the arguments.
        names: The names of the arguments that it has.
        other_names: What other libraries call an argument, and its name here.
        hints: Remedies for arguments that another function or place has.

    Raises:
        TypeError: It does not have one of them.

    >>> check_names("Limits", ["state"], ["states", "memory"])
    Traceback (most recent call last):
    TypeError: Limits() has no argument 'state'; write states=...
    """
    names = list(names)
    for name in given:
        if name in names:
            continue
        meant = (other_names or {}).get(name, "")
        close = [meant] if meant in names else get_close_matches(name, names, 1, 0.8)
        hint = f"write {close[0]}=..." if close else (hints or {}).get(meant or name, "")
        remedy = hint or f"it takes {', '.join(names)}"
        raise TypeError(f"{function}() has no argument {name!r}; {remedy}")


def names_arguments(made: F) -> F:
    """Make a function, or the constructor of a class, name the argument that an unknown one is close to.

    Python itself names it from version 3.13 on.

    >>> @names_arguments
    ... def greet(*, name: str) -> str:
    ...     return f"Hello {name}"
    >>> greet(name="Ana")
    'Hello Ana'
    >>> greet(nam="Ana")
    Traceback (most recent call last):
    TypeError: greet() has no argument 'nam'; write name=...
    """
    function: Callable[..., Any] = made.__init__ if isinstance(made, type) else made  # type: ignore[misc]
    parameters = [
        each.name
        for each in inspect.signature(made).parameters.values()
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    known = frozenset(parameters)

    @wraps(function)
    def checked(*args: object, **options: object) -> object:
        if not options.keys() <= known:
            check_names(made.__name__, options, parameters)
        return function(*args, **options)

    if isinstance(made, type):
        made.__init__ = checked  # type: ignore[misc]
        return made
    return checked  # type: ignore[return-value]
