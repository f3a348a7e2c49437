"""Arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from structkit.grammars.text import FLOAT, names_or
from structkit.targets.grammar import Grammar

__all__ = ["arithmetic"]

_GRAMMAR = r"""
start: sum
?sum: product | sum (" + " | " - ") product
?product: factor | product (" * " | " / ") factor
?factor: power | "-" factor
?power: atom | atom " ** " factor
?atom: NUMBER | NAME | "(" sum ")"
NUMBER: /FLOAT/
"""


def arithmetic(names: Sequence[str] = ()) -> Grammar[str]:
    """Return the grammar of arithmetic: numbers, names, `+ - * / **`, unary minus and parentheses.

    One space stands on both sides of a binary operator. Numbers have up to 15 digits before and after the point. Each
    text means in Python what it means in mathematics; a division by zero is not excluded.

    Args:
        names: The variables.

    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> sk.extract(ScriptedModel(["3 * (x - 1) ** 2"]), "The formula?", sk.grammars.arithmetic(names=["x"]))
    '3 * (x - 1) ** 2'
    """
    text = _GRAMMAR.replace("FLOAT", FLOAT)
    if names:
        return Grammar(f"{text}NAME: {names_or('', names)}\n")
    return Grammar(text.replace(" | NAME", ""))
