"""Expressions of Python."""

from __future__ import annotations

from collections.abc import Sequence
from keyword import kwlist

from structkit.grammars.text import FLOAT, names_or, words_except
from structkit.targets.grammar import Grammar

__all__ = ["python_expression"]

_NAME = words_except([*kwlist, "__debug__"])

_GRAMMAR = r"""
start: expression
?expression: disjunction | disjunction " if " disjunction " else " expression | lambda
lambda: "lambda" (" " name)? ": " expression
?disjunction: conjunction | disjunction " or " conjunction
?conjunction: inversion | conjunction " and " inversion
?inversion: comparison | "not " inversion
?comparison: bits | comparison _compare bits
?bits: sum | bits BITS sum
?sum: product | sum (" + " | " - ") product
?product: factor | product PRODUCT factor
?factor: power | SIGN factor
?power: atom | atom "**" factor
?atom: NUMBER | primary
?primary: called | "None" | "True" | "False" | STRING | collection
?called: name | group | primary "." name | primary "[" (expression | slice) "]" | called "(" arguments? ")"
group: "(" (expression | expression loop) ")"
slice: expression? ":" expression? (":" expression)?
arguments: positional (", " positional)* (", " keyword)* | keyword (", " keyword)* | expression loop
positional: expression | "*" expression
keyword: name "=" expression | "**" expression
?collection: "()" | "(" item "," (" " item (", " item)*)? ")" | "[]" | "[" items "]" | "{" items "}" | "{}"
    | "{" pair (", " pair)* "}" | "[" expression loop "]" | "{" expression loop "}"
    | "{" expression ": " expression loop "}"
items: item (", " item)*
item: expression | "*" bits
pair: expression ": " expression | "**" bits
loop: (" for " target " in " disjunction (" if " disjunction)*)+
target: name (", " name)*
name: NAME
_compare: " == " | " != " | " < " | " <= " | " > " | " >= " | " in " | " not in " | " is " | " is not "
BITS: " | " | " ^ " | " & " | " << " | " >> "
PRODUCT: " * " | " / " | " // " | " % " | " @ "
SIGN: "-" | "+" | "~"
NUMBER: /FLOAT/
STRING: /"(?:[^"\\\x00-\x1f\x7f]|\\["\\nrt])*"/ | /'(?:[^'\\\x00-\x1f\x7f]|\\['\\nrt])*'/
"""


def python_expression(names: Sequence[str] | None = None) -> Grammar[str]:
    """Return the grammar of Python expressions: each text passes `ast.parse(text, mode="eval")`.

    The white space is that of black, except that `**` has none. There are no f-strings, `:=`, `await` and `yield`.

    No context-free grammar excludes keyword arguments that are given twice, which `compile` refuses, and
    the parser of CPython refuses more than 200 nested brackets.

    Args:
        names: The names of variables, functions, attributes, keywords and loops. By default all names of
            ASCII characters.

    Raises:
        ValueError: A name is not a name in Python.

    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> expressions = sk.grammars.python_expression(names=["items", "item", "price"])
    >>> sk.extract(ScriptedModel(["[item.price for item in items]"]), "The prices?", expressions)
    '[item.price for item in items]'
    """
    return Grammar(_GRAMMAR.replace("FLOAT", FLOAT) + f"NAME: {names_or(_NAME, names)}\n")
