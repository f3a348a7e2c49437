"""Configurations in HCL."""

from __future__ import annotations

from structkit.grammars.text import FLOAT, words_except
from structkit.targets.grammar import Grammar

__all__ = ["hcl"]

_KEYWORDS = "else endfor endif false for if in null true"

_GRAMMAR = rf"""
start: _line*
_line: _B? ((attribute | block) _B?)? _COMMENT? _NEWLINE | _B? _LONG_COMMENT _B? _NEWLINE
    | _B? NAME _B? "=" _B? heredoc
attribute: NAME _B? "=" _B? expression
block: NAME (_B (NAME | LABEL))* _B? "{{" (_B? _COMMENT? _NEWLINE _line* _B? | _B? (attribute _B?)?) "}}"

?expression: disjunction | disjunction " ? " expression " : " expression
?disjunction: conjunction | disjunction " || " conjunction
?conjunction: equality | conjunction " && " equality
?equality: comparison | equality (" == " | " != ") comparison
?comparison: sum | comparison (" < " | " <= " | " > " | " >= ") sum
?sum: product | sum (" + " | " - ") product
?product: factor | product (" * " | " / " | " % ") factor
?factor: term | ("-" | "!") term
?term: NUMBER | "true" | "false" | "null" | string | tuple | object | place
    | place (".*" | "[*]") (_member | "[" expression "]")*
?place: NAME | call | "(" _GAP? expression _GAP? ")" | place _member | place "[" expression "]"
_member: "." NAME
call: NAME "(" _GAP? (expression (_COMMA expression)* ("," | "...")? _GAP?)? ")"
tuple: "[" _GAP? (expression (_COMMA expression)* ","? _GAP?)? "]"
    | "[" _B? _loop expression (" if " expression)? _B? "]"
object: "{{}}" | "{{" _B? pair (", " pair)* _B? "}}" | "{{" _GAP (pair ","? _GAP)* "}}"
    | "{{" _B? _loop expression " => " expression "..."? (" if " expression)? _B? "}}"
_loop: "for " NAME (", " NAME)? " in " expression " : "
pair: (NAME | string | "(" expression ")") (_B? "=" _B? | ": ") expression
string: "\"" _part* "\""
_part: CHARACTERS | ESCAPED | interpolation
    | "%{{ if " expression " }}" _part* ("%{{ else }}" _part*)? "%{{ endif }}"
    | "%{{ for " NAME (", " NAME)? " in " expression " }}" _part* "%{{ endfor }}"
interpolation: "${{" expression "}}"
heredoc: ("<<EOT" | "<<-EOT") _NEWLINE (_text _NEWLINE)* _B? "EOT" _NEWLINE
_text: _B? | (FIRST | _B? interpolation) (TEXT | interpolation)*

NAME: /{words_except(_KEYWORDS.split()).replace("9_]*", "9_-]*")}/
LABEL: /"[^"\\$%\x00-\x1f\x7f]+"/
NUMBER: /{FLOAT}/
CHARACTERS: /(?:[^"\\$%\x00-\x1f\x7f]|\\["\\nrt]|[$%](?![{{$%]))+/
ESCAPED: /(?:[$][$]|%%)\{{[^"\\$%{{}}\x00-\x1f\x7f]*\}}/
FIRST: /[ \t]*(?:[^ E$%\x00-\x1f\x7f]|E(?!OT)|[$%](?![{{$%]))/
TEXT: /(?:[^$%\x00-\x08\x0a-\x1f\x7f]|[$%](?![{{$%]))+/
_LONG_COMMENT: /\/\*(?:[^*\x00-\x08\x0b-\x1f\x7f]|\*(?!\/))*\*\//
_COMMENT: /(?:#|\/\/)[^\x00-\x08\x0a-\x1f\x7f]*/
_NEWLINE: "\n"
_COMMA: /,(?:[ \t]*(?:(?:#|\/\/)[^\x00-\x08\x0a-\x1f\x7f]*)?(?:\n[ \t]*)+| )/
_GAP: /[ \t]*(?:(?:#|\/\/)[^\x00-\x08\x0a-\x1f\x7f]*)?(?:\n[ \t]*)+/
_B: /[ \t]+/
"""


def hcl() -> Grammar[str]:
    r"""Return the grammar of HCL, the language of Terraform: blocks, attributes and expressions.

    Expressions have operators, conditionals, calls, `[*]`, `for`, tuples, objects, and strings with `${...}` and
    `%{ if ... }`. One blank stands on both sides of an operator, as `terraform fmt` writes it. A heredoc is the value
    of an attribute and ends with `EOT`. Names are ASCII; comments stand at the end of a line. Strings have other
    characters as they are, without `\u`. An element of a list is in brackets (`a[0]`, not `a.0`), and no blank precedes
    a colon.

    No context-free grammar excludes that an attribute is given twice. Which blocks and attributes there are is known to
    the program that reads the text.

    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> text = 'resource "aws_instance" "web" {\n  count = var.large ? 2 : 1\n}\n'
    >>> print(sk.extract(ScriptedModel([text]), "One server or two?", sk.grammars.hcl()))
    resource "aws_instance" "web" {
      count = var.large ? 2 : 1
    }
    <BLANKLINE>
    """
    return Grammar(_GRAMMAR)
