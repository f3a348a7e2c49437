"""TOML documents."""

from __future__ import annotations

from structkit.grammars.iso8601 import DATE
from structkit.targets.grammar import Grammar

__all__ = ["toml"]

_UNIT = "(?:[0-9A-CEFa-cef][0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2})"
"""A pattern of four hexadecimal digits that are no surrogate."""

_ESCAPE = rf'\\(?:["\\bfnrt]|u{_UNIT}|U(?:0000{_UNIT}|00(?:0[1-9A-Fa-f]|10)[0-9A-Fa-f]{{4}}))'
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?"
_OFFSET = "[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]"
_INTEGER = "(?:0|[1-9](?:_?[0-9]){0,17})"
_DIGITS = "[0-9](?:_?[0-9]){0,17}"

_GRAMMAR = rf"""
start: _line (_NEWLINE _line)*
_line: _BLANKS? ((pair | table) _BLANKS?)? _COMMENT?
pair: key _BLANKS? "=" _BLANKS? value
table: "[" _BLANKS? key _BLANKS? "]" | "[[" _BLANKS? key _BLANKS? "]]"
key: _part (_BLANKS? "." _BLANKS? _part)*
_part: BARE | BASIC | LITERAL
value: BASIC | LITERAL | LONG_BASIC | LONG_LITERAL | "true" | "false" | INTEGER | FLOAT | MOMENT | array | inline
array: "[" _GAP? (value _GAP? ("," _GAP? value _GAP?)* ("," _GAP?)?)? "]"
inline: "{{" _BLANKS? (pair _BLANKS? ("," _BLANKS? pair _BLANKS?)*)? "}}"
BARE: /[A-Za-z0-9_\-]+/
BASIC: /"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|{_ESCAPE})*"/
LITERAL: /'[^'\x00-\x08\x0a-\x1f\x7f]*'/
LONG_BASIC: /\"\"\"(?:"{{0,2}}(?:[^"\\\x00-\x08\x0b-\x1f\x7f]|\r\n|{_ESCAPE}|\\[ \t]*\r?\n))*"{{3,5}}/
LONG_LITERAL: /'''(?:'{{0,2}}(?:[^'\x00-\x08\x0b-\x1f\x7f]|\r\n))*'{{3,5}}/
INTEGER: /0x[0-9A-Fa-f](?:_?[0-9A-Fa-f]){{0,14}}|0o[0-7](?:_?[0-7]){{0,19}}|0b[01](?:_?[01]){{0,61}}|[+\-]?{_INTEGER}/
FLOAT: /[+\-]?(?:{_INTEGER}(?:\.{_DIGITS}(?:[eE][+\-]?[0-9](?:_?[0-9])?)?|[eE][+\-]?[0-9](?:_?[0-9])?)|inf|nan)/
MOMENT: /{DATE}(?:[Tt ]{_TIME}(?:{_OFFSET})?)?|{_TIME}/
_COMMENT: /#[^\x00-\x08\x0a-\x1f\x7f]*/
_NEWLINE: /\r?\n/
_BLANKS: /[ \t]+/
_GAP: /(?:[ \t]|(?:#[^\x00-\x08\x0a-\x1f\x7f]*)?\r?\n)+/
"""


def toml() -> Grammar[str]:
    r"""Return the grammar of TOML 1.0: each text passes `tomllib.loads`, unless it gives a key twice.

    All of the syntax of TOML is in the language: comments, dotted and quoted keys, arrays over several lines, inline
    tables, arrays of tables, dates that exist in the calendar. Integers fit in 64 bits; numbers have up to 18 digits
    before and after the point, and two in an exponent.

    No context-free grammar excludes that a key or a table is defined twice, which `tomllib` refuses.

    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> text = '[server]\nhost = "localhost"\nports = [80, 443]\n'
    >>> print(sk.extract(ScriptedModel([text]), "The configuration?", sk.grammars.toml()))
    [server]
    host = "localhost"
    ports = [80, 443]
    <BLANKLINE>
    """
    return Grammar(_GRAMMAR)
