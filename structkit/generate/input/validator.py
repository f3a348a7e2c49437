"""The validator of a call: a function of the user that accepts or rejects the value."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from structkit.rejected import Rejected
from structkit.schema.view.rejection import error_lines

__all__ = ["OutputValidator", "ValidateOutput", "read_validator"]

_KINDS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class OutputValidator:
    """The function of `validate=`, and its first argument.

    Attributes:
        function: The function of the user.
        takes_context: Whether the function has two parameters, the first of which is the context.
        context: The context.
        outputs: Returns what is validated of the value of a target, if that is not the value: nothing, or one value.
    """

    function: Callable[..., object]
    takes_context: bool
    context: object = None
    outputs: Callable[[object], tuple[object, ...]] | None = None

    def __call__(self, value: object) -> object:
        """Call the function; the result may be awaitable."""
        return self.function(self.context, value) if self.takes_context else self.function(value)


@dataclass(frozen=True, slots=True)
class ValidateOutput:
    """A request to call the validator of a value.

    Attributes:
        validator: The validator.
        value: The value.
    """

    validator: OutputValidator
    value: object

    def perform(self, wait: Callable[[Awaitable[object]], object]) -> Rejected | None:
        """Return why the validator rejects the value; `None` if it accepts the value.

        Args:
            wait: Returns the result of async code.

        Raises:
            TypeError: The validator returns another value.
            Exception: An exception of the validator that is neither a `ValueError` nor an `AssertionError`.
        """
        outputs = self.validator.outputs
        for value in (self.value,) if outputs is None else outputs(self.value):
            try:
                returned = self.validator(value)
                if inspect.isawaitable(returned):
                    returned = wait(returned)
            except (ValueError, AssertionError) as error:
                return Rejected((), error_lines(error), error)
            if returned is not None and returned is not value:
                raise TypeError(
                    f"the validator returned {returned!r:.60}; it must return None or its argument to accept the "
                    "value, and raise ValueError or structkit.Retry to reject the value; to change it, write "
                    "Annotated[T, AfterValidator(f)] as the type, or an output function of an agent"
                )
        return None


def read_validator(given: object, context: object = None) -> OutputValidator | None:
    """Check the function of `validate=`.

    Args:
        given: A function of the value, or of a context and the value; sync or async. `None` for no function.
        context: The context.

    Raises:
        TypeError: The function cannot be called with one or two positional arguments.

    >>> read_validator(lambda context, value: None).takes_context
    True
    >>> read_validator(lambda: None)
    Traceback (most recent call last):
    TypeError: validate must be a function f(value) or f(context, value), not <lambda>() at ...
    """
    if given is None:
        return None
    if not callable(given):
        raise TypeError(f"validate must be a function f(value) or f(context, value), not {given!r:.60}")
    try:
        signature = inspect.signature(given)
    except ValueError:  # a function written in C
        return OutputValidator(given, takes_context=False)
    required = [
        each for each in signature.parameters.values() if each.kind in _KINDS and each.default is each.empty
    ]
    for count in (len(required), 1, 2):
        if count in (1, 2) and _accepts(signature, count):
            return OutputValidator(given, takes_context=count == 2, context=context)
    raise TypeError(
        f"validate must be a function f(value) or f(context, value), not "
        f"{_name(given)}({', '.join(signature.parameters)}){_location(given)}"
    )


def _accepts(signature: inspect.Signature, count: int) -> bool:
    """Return whether a function can be called with `count` positional arguments."""
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def _name(function: Callable[..., object]) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__)).rpartition("<locals>.")[2]


def _location(function: Callable[..., object]) -> str:
    code = getattr(function, "__code__", None)
    return "" if code is None else f" at {code.co_filename}:{code.co_firstlineno}"
