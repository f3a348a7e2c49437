"""Blocks of Python that only call given functions."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from keyword import kwlist
from typing import Any, TypeVar, overload

from structkit.functions.call import Call
from structkit.grammars.text import quoted, words_except
from structkit.targets.grammar import Grammar
from structkit.targets.python_call import PythonCall

__all__ = ["python_block"]

R = TypeVar("R")


@overload
def python_block(
    *functions: Callable[..., Awaitable[R]], fence: str | None = None
) -> Grammar[list[tuple[str | None, Call[R]]]]: ...


@overload
def python_block(
    *functions: Callable[..., R], fence: str | None = None
) -> Grammar[list[tuple[str | None, Call[R]]]]: ...


def python_block(
    *functions: Callable[..., object], fence: str | None = None
) -> Grammar[list[tuple[str | None, Call[Any]]]]:
    r"""Return the grammar of blocks of calls, one on each line, such as `f(a=1)` or `x = g(b="y")`.

    The value is a list with a pair for each line: the name on the left, `None` if there is none, and the call. Each
    text passes `ast.parse`, calls only the functions, and gives their arguments by name. Arguments are literals of
    the types of the parameters: nothing is evaluated, and the result of a line is no argument of another one, since no
    context-free grammar knows which names are defined. A name is never that of a function.

    Args:
        *functions: The functions that can be called; see `structkit.PythonCall`.
        fence: The word behind the three backticks of a fence around the block, such as `"tool_code"` for models of the
            family Gemma, `"python"`, or `""`. By default there is no fence.

    Raises:
        SchemaError: There is no function, two have the same name, or the signature of one cannot be read.
        ValueError: The fence is not one word.

    >>> import structkit as sk
    >>> def temperature(city: str, unit: str = "C") -> float:
    ...     return 21.5
    >>> model = sk.testing.ScriptedModel(['oslo = temperature(city="Oslo")\ntemperature(city="Rome", unit="F")'])
    >>> for name, call in sk.extract(model, "Oslo and Rome?", sk.grammars.python_block(temperature)):
    ...     print(name, call)
    oslo Call(temperature(city='Oslo', unit='C'))
    None Call(temperature(city='Rome', unit='F'))
    """
    if fence is not None and not re.fullmatch(r"[A-Za-z0-9_+.\-]*", fence):
        raise ValueError(f"fence must be one word, such as 'python', not {fence!r}")
    calls = PythonCall(*functions)
    first, last = ("", "") if fence is None else (quoted(f"```{fence}\n"), quoted("\n```"))
    reserved = [*kwlist, "__debug__", *(name for name in calls.names if name.isascii())]
    text = f"""
        start: {first} statement ("\\n" statement)* {last}
        statement: [NAME " = "] call
        NAME: /{words_except(reserved)}/
    """
    return Grammar(text, holes={"call": calls}, transformer=_Statements())


class _Statements:
    """Turns a tree into the names and the calls in it."""

    def transform(self, tree: Any, /) -> list[tuple[str | None, Call[Any]]]:
        lines = (statement.children for statement in tree.children)
        return [(None if name is None else str(name), call.children[0]) for name, call in lines]
