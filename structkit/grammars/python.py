"""Expressions and modules of Python."""

from __future__ import annotations

import re
from collections.abc import Sequence
from keyword import kwlist

from structkit.grammar.rules.lexing import Indenting
from structkit.grammar.syntax.indenter import indenter_of
from structkit.grammars.text import FLOAT, names_or, words_except
from structkit.targets.grammar import Grammar

__all__ = ["python_expression", "python_module"]

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

    The whitespace is that of black, except that `**` has none. There are no f-strings, `:=`, `await` and `yield`.

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


_MODULE = r"""
start: (_NL | _statement)*
_statement: _line | _compound
_line: _small (";" _small)* _NL
_small: (_target "=")+ _tests | _target AUGMENTED _tests | name ":" _test ["=" _test] | _tests
    | "pass" | "break" | "continue" | "return" [_tests] | "raise" [_test ["from" _test]]
    | "assert" _test ["," _test] | "del" _deleted | "global" names | "nonlocal" names
    | "import" _module ("," _module)* | "from" dotted "import" _imported ("," _imported)*
_module: dotted ["as" name]
_imported: name ["as" name]
dotted: name ("." name)*
names: name ("," name)*
_compound: "if" _test ":" _block ("elif" _test ":" _block)* ["else" ":" _block]
    | "while" _test ":" _block ["else" ":" _block]
    | "for" loop "in" _tests ":" _block ["else" ":" _block]
    | "with" _test ["as" name] ":" _block
    | "try" ":" _block _handlers
    | _decorator* _definition
_handlers: (_except)+ ["else" ":" _block] ["finally" ":" _block] | "finally" ":" _block
_except: "except" _test ["as" name] ":" _block
_decorator: "@" _primary _NL
_definition: "def" name "(" [_parameters] ")" ["->" _test] ":" _block | "class" name ["(" [_arguments] ")"] ":" _block
_parameters: _plain ("," _plain)* ("," _default)* | _default ("," _default)*
_plain: name [":" _test]
_default: name [":" _test] "=" _test
loop: name ("," name)*
_block: _line | _NL _INDENT _statement+ _DEDENT
_tests: _test ("," _test)*
_test: _or ["if" _or "else" _test] | "lambda" [names] ":" _test
_or: _and ("or" _and)*
_and: _not ("and" _not)*
_not: "not" _not | _sum ((COMPARE | "in" | "not" "in" | "is" | "is" "not") _sum)*
_sum: _term (("+" | "-") _term)*
_term: _factor (("*" | "/" | "//" | "%") _factor)*
_factor: ("+" | "-" | "~") _factor | _power ["**" _factor]
_power: NUMBER | _primary
_primary: _atom | _primary "." name | _primary "[" _slice "]" | _primary "(" [_arguments] ")"
_target: name | _primary "." name | _primary "[" _slice "]"
_deleted: name | _primary "." name | _primary "[" _slice "]"
_slice: _test | [_test] ":" [_test]
_arguments: _test ("," _test)* ("," _keyword)* | _keyword ("," _keyword)*
_keyword: name "=" _test
_atom: name | STRING | "None" | "True" | "False" | "(" [_test ("," _test)*] ")" | "[" [_items] "]" | "{" [_entries] "}"
_items: _test ("," _test)* | _test _loop
_entries: _test ("," _test)* | _pair ("," _pair)* | _test _loop | _pair _loop
_pair: _test ":" _test
_loop: "for" loop "in" _or ["if" _or]
name: NAME
COMPARE: "==" | "!=" | "<=" | ">=" | "<" | ">"
AUGMENTED: "+=" | "-=" | "*=" | "/=" | "//=" | "%=" | "**="
NUMBER: /(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?(?![A-Za-z0-9_.])/
STRING: /"(?:[^"\\\x00-\x1f\x7f]|\\["\\nrt])*"/ | /'(?:[^'\\\x00-\x1f\x7f]|\\['\\nrt])*'/
_NL: /(?:\n *)+/
%ignore /(?<=[^\n]) +/
%declare _INDENT _DEDENT
"""

_NO_LETTER = "(?![A-Za-z0-9_])"
"""A lookahead: Lark's contextual lexer would read `ort` as `or` and `t` where a name cannot stand."""

_INDENTING = Indenting(
    "_NL", "_INDENT", "_DEDENT", ("LPAR", "LSQB", "LBRACE"), ("RPAR", "RSQB", "RBRACE"), tab_length=8
)


def python_module(names: Sequence[str] | None = None) -> Grammar[str]:
    r"""Return the grammar of Python modules: each text passes `ast.parse`, indentation included.

    It has statements, blocks, functions, classes, exceptions, imports and the expressions of `python_expression` that
    need no `*`; blanks are free, as in Python. There are no comments, f-strings, tabs, `async`, `match`, `yield` and
    `:=`. The parser of CPython refuses more than 200 nested brackets and more than 99 nested blocks, and `compile` also
    refuses what only a later pass finds, such as a `break` outside of a loop.

    Args:
        names: The names of variables, functions, attributes, keywords and loops. By default all names of
            ASCII characters.

    Raises:
        ValueError: A name is not a name in Python.

    >>> import ast
    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> code = "def area(side):\n    if side < 0:\n        raise ValueError\n    return side * side\n"
    >>> text = sk.extract(ScriptedModel([code]), "The area of a square", sk.grammars.python_module())
    >>> type(ast.parse(text).body[0]).__name__
    'FunctionDef'
    """
    words = sorted({word[1:-1] for word in re.findall('"[A-Za-z]+"', _MODULE)})
    keywords = [f"{word.upper()}: /{word}{_NO_LETTER}/" for word in words]
    text = re.sub('"([A-Za-z]+)"', lambda found: found[1].upper(), _MODULE)
    name = f"NAME: ({names_or(_NAME, names)}) /{_NO_LETTER}/"
    return Grammar("\n".join([text, name, *keywords]), parser="lalr", postlex=indenter_of(_INDENTING))
