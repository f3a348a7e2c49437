"""Arguments and attributes that do not exist: the error names the one that was probably meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial, wraps
from itertools import islice
from typing import Any, TypeVar

__all__ = ["check_names", "closest_name", "hints_arguments", "missing_attribute", "names_arguments"]

_MAX_NAMES, _MAX_NAME_LENGTH = 1000, 80
"""The names of a schema that are compared, and the length of the longest: more would take seconds."""

_VALUES = frozenset({"data", "instance", "output", "parsed"})
"""What other libraries call the value of a result."""

_TEXTS = frozenset({"content", "json", "raw"})
"""What other libraries call the text of a result."""

F = TypeVar("F", bound=Callable[..., object])


def closest_name(name: str, names: Iterable[object]) -> str | None:
    """Return the name that was probably meant, `None` if none is close; the names may be an untrusted client's.

    >>> closest_name("adress", ["name", "address"])
    'address'
    """
    if len(name) > _MAX_NAME_LENGTH:
        return None
    short = (each for each in names if isinstance(each, str) and len(each) <= _MAX_NAME_LENGTH)
    return next(iter(get_close_matches(name, islice(short, _MAX_NAMES), 1)), None)


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
        hint = "" if meant in names else (hints or {}).get(meant or name, "")
        remedy = hint or (f"write {close[0]}=..." if close else f"it takes {', '.join(names)}")
        raise TypeError(f"{function}() has no argument {name!r}; {remedy}")


def names_arguments(
    made: F,
    hints: Mapping[str, str] | None = None,
    other_names: Mapping[str, str] | None = None,
    owner: str = "",
    options: Iterable[str] = (),
) -> F:
    """Make a function, or the constructor of a class, name the argument that a wrong one was meant for.

    An unknown argument is close to it; an argument by position, of which there are too many, has no name. Python itself
    names the former from version 3.13 on.

    Args:
        made: The function or the class.
        hints: What other libraries call an argument, and what to write here; `*` for too many by position.
        other_names: What other libraries call an argument, and its name here.
        owner: For a method, the class that users know: they write `agent.run` for a method of `Agent`.
        options: The names that the function takes as `**options`.

    >>> @names_arguments
    ... def greet(*, name: str) -> str:
    ...     return f"Hello {name}"
    >>> greet(name="Ana")
    'Hello Ana'
    >>> greet(nam="Ana")
    Traceback (most recent call last):
    TypeError: greet() has no argument 'nam'; write name=...
    >>> greet("Ana")
    Traceback (most recent call last):
    TypeError: greet() takes no argument by position; write name=...
    >>> greet()
    Traceback (most recent call last):
    TypeError: greet() has no name; write greet(name=...)
    """
    function: Callable[..., Any] = made.__init__ if isinstance(made, type) else made  # type: ignore[misc]
    check = partial(_Parameters.of(made, owner, options).check, hints or {}, other_names or {})

    @wraps(function)
    async def awaited(*args: object, **given: object) -> object:
        check(args, given)
        return await function(*args, **given)

    @wraps(function)
    def checked(*args: object, **given: object) -> object:
        check(args, given)
        return function(*args, **given)

    if isinstance(made, type):
        made.__init__ = checked  # type: ignore[misc]
        return made
    return awaited if inspect.iscoroutinefunction(function) else checked  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class _Parameters:
    """The parameters of a function or class, to check the arguments of a call.

    Attributes:
        title: The function in errors.
        call: The function as users call it.
        names: The names of all arguments that have one.
        known: The same as a set; `None` if the function checks the names itself.
        positions: The parameters that can be given by position, with their positions.
        required: The names without a default.
        bound: 1 if the first argument is `self`, otherwise 0.
        is_open: Whether any number of arguments can be given by position.
    """

    title: str
    call: str
    names: tuple[str, ...]
    known: frozenset[str] | None
    positions: Mapping[str, int]
    required: tuple[str, ...]
    bound: int
    is_open: bool

    @classmethod
    def of(cls, made: Callable[..., object], owner: str, options: Iterable[str]) -> _Parameters:
        """Return those of a function or class; for the arguments see `names_arguments`."""
        every = list(inspect.signature(made).parameters.values())[bool(owner) :]
        kinds = {each.kind for each in every}
        named = [each for each in every if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
        placed = [each for each in every if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        more = tuple(options)
        names = (*(each.name for each in named), *more)
        return cls(
            title=f"{owner}.{made.__name__}" if owner else made.__name__,
            call=f"{owner.lower()}.{made.__name__}" if owner else made.__name__,
            names=names,
            known=None if not more and inspect.Parameter.VAR_KEYWORD in kinds else frozenset(names),
            positions={each.name: number for number, each in enumerate(placed)},
            required=tuple(each.name for each in named if each.default is each.empty),
            bound=int(isinstance(made, type) or bool(owner)),
            is_open=inspect.Parameter.VAR_POSITIONAL in kinds,
        )

    def check(
        self,
        hints: Mapping[str, str],
        other_names: Mapping[str, str],
        args: Sequence[object],
        given: Mapping[str, object],
    ) -> None:
        """Raise `TypeError` for a call that Python would reject, with what is meant."""
        if self.known is not None and not given.keys() <= self.known:
            check_names(self.title, given, self.names, other_names, hints)
        count = len(args) - self.bound
        if count > len(self.positions) and not self.is_open:
            raise self._too_many(hints)
        if count < len(self.required):
            self._check_required(count, given)

    def _too_many(self, hints: Mapping[str, str]) -> TypeError:
        most = len(self.positions)
        limit = f"at most {most} argument{'s' * (most > 1)}" if most else "no argument"
        remedy = f"write {self.names[most]}=..." if len(self.names) > most else "leave out the others"
        return TypeError(f"{self.title}() takes {limit} by position; {hints.get('*', remedy)}")

    def _check_required(self, count: int, given: Mapping[str, object]) -> None:
        """Check that no argument is missing if `count` are given by position."""
        for name in self.required:
            if name not in given and self.positions.get(name, count) >= count:
                parts = [each if each in self.positions else f"{each}=..." for each in self.required]
                raise TypeError(f"{self.title}() has no {name}; write {self.call}({', '.join(parts)})")


def hints_arguments(hints: Mapping[str, str]) -> Callable[[F], F]:
    """Return `names_arguments` with remedies for the arguments of other libraries.

    >>> @hints_arguments({"nickname": "write name=..."})
    ... def greet(*, name: str) -> str:
    ...     return f"Hello {name}"
    >>> greet(nickname="Ana")
    Traceback (most recent call last):
    TypeError: greet() has no argument 'nickname'; write name=...
    """
    return lambda made: names_arguments(made, hints)


def missing_attribute(owner: object, name: str, others: Mapping[str, str] | None = None) -> AttributeError:
    """Return the error of an attribute that an object does not have; the `value` of the object may have it.

    Args:
        owner: The object.
        name: The name of the attribute.
        others: What other libraries call an attribute, and what to write here.

    >>> missing_attribute(slice(3), "real")
    AttributeError("slice has no attribute 'real'")
    >>> missing_attribute(slice(3), "begin", {"begin": ".start"})
    AttributeError("slice has no attribute 'begin'; write .start")
    """
    message = f"{type(owner).__name__} has no attribute {name!r}"
    if not name.startswith("_"):
        fields = vars(owner) if hasattr(owner, "__dict__") else {}
        value = fields.get("value")
        remedy = (others or {}).get(name)
        if value is not None and hasattr(value, name):
            remedy = f".value.{name}"
        elif remedy is None and "value" in fields:
            remedy = ".value" if name in _VALUES else ".text" if name in _TEXTS and "text" in fields else None
        message += f"; write {remedy}" if remedy else ""
    return AttributeError(message, name=name, obj=owner)
