"""Lists of calls in Python notation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

from structkit.functions.call import Call
from structkit.targets.grammar import Grammar
from structkit.targets.python_call import PythonCall

__all__ = ["python_calls"]

R = TypeVar("R")


@overload
def python_calls(*functions: Callable[..., Awaitable[R]]) -> Grammar[list[Call[R]]]: ...


@overload
def python_calls(*functions: Callable[..., R]) -> Grammar[list[Call[R]]]: ...


def python_calls(*functions: Callable[..., object]) -> Grammar[list[Call[Any]]]:
    """Return the grammar of lists of calls, such as `[f(a=1, b='x'), g()]`; the value is the list of the calls.

    Models of the family Llama 3 write calls in this notation. The lists are not empty. Strings are in single or double
    quotes; see `structkit.PythonCall`.

    Args:
        *functions: The functions that can be called; see `structkit.PythonCall`.

    Raises:
        SchemaError: There is no function, two have the same name, or the signature of one cannot be read.

    >>> import structkit as sk
    >>> def get_user_info(user_id: int, special: str = "none") -> str:
    ...     return f"user {user_id}, {special}"
    >>> model = sk.testing.ScriptedModel(["[get_user_info(user_id=7890, special='black')]"])
    >>> sk.extract(model, "User 7890 has the special request black.", sk.grammars.python_calls(get_user_info))
    [Call(get_user_info(user_id=7890, special='black'))]
    """
    text = 'start: "[" call (", " call)* "]"'
    return Grammar(text, holes={"call": PythonCall(*functions)}, transformer=_Calls())


class _Calls:
    """Turns a tree into the calls in it."""

    def transform(self, tree: Any, /) -> list[Call[Any]]:
        return [call.children[0] for call in tree.children]
