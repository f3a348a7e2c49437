"""Grammars of Lark."""

from __future__ import annotations

from structkit.grammars.regular_expression import counts, pattern_rules, ranges
from structkit.targets.grammar import Grammar

__all__ = ["lark_grammar"]

_GRAMMAR = r"""
start: _line (_NEWLINE _line)*
_line: _B? (_statement _B?)? _COMMENT?
_statement: _definition | ("%override" | "%extend") _B _definition
    | "%ignore" _B token_choice
    | "%declare" (_B TOKEN)+
    | "%import" _B "."? _name ("." _name)+ (_B? "->" _B? _name)?
    | "%import" _B "."? _name ("." _name)* _B? "(" _B? _name (_B? "," _B? _name)* _B? ")"
_name: RULE | TOKEN
_definition: rule | token

rule: SHOWN _head aliased | HIDDEN _head choice
_head: ("{" _B? RULE (_B? "," _B? RULE)* _B? "}")? PRIORITY? _B? ":" _B?
aliased: _aliased? (_OR _B? _aliased?)*
_aliased: sequence _B? | (sequence _B?)? "->" _B? RULE _B?
choice: (sequence _B?)? (_OR _B? (sequence _B?)?)*
sequence: _part (_B _part | _closed)*
_part: (_name | call) _REPEAT? | _closed
_closed: (literal | "(" _B? choice ")" | "[" _B? choice "]") _REPEAT?
_value: _name | literal | call
call: RULE "{" _B? _value (_B? "," _B? _value)* _B? "}"

token: TOKEN PRIORITY? _B? ":" _B? token_choice
token_choice: token_sequence (_B? _OR _B? token_sequence)*
token_sequence: _token_part (_B _token_part | _closed_token)*
_token_part: TOKEN _REPEAT? | _closed_token
_closed_token: (literal | "(" _B? token_choice _B? ")" | "[" _B? token_choice _B? "]") _REPEAT?

literal: STRING | RANGE_OF | "/" _pattern "/" FLAGS?
_pattern: item+ ("|" sequence_of)* | ("|" sequence_of)+

RULE: /_?[a-z][_a-z0-9]*/
TOKEN: /_?[A-Z][_A-Z0-9]*/
SHOWN: /(?:[?]!?|!\??)?[a-z][_a-z0-9]*/
HIDDEN: /!?_[a-z][_a-z0-9]*/
PRIORITY: /\.-?[0-9]{1,4}/
_REPEAT: /[+*?]|[ \t]*~[ \t]*(?:COUNTED|[0-9]{1,2})/
STRING: /"(?:[^"\\\x00-\x1f\x7f]|\\(?:["\\nrtf]|x[0-9a-f]{2}|u(?:[0-9a-cef][0-9a-f]{3}|d[0-7][0-9a-f]{2})))+"i?/
RANGE_OF: /"(?:LETTERS)"/
FLAGS: /im?s?|ms?|s/
_OR: /(?:[ \t]*(?:(?:#|\/\/)[^\x00-\x08\x0a-\x1f\x7f]*)?\r?\n)*[ \t]*\|/
_COMMENT: /(?:#|\/\/)[^\x00-\x08\x0a-\x1f\x7f]*/
_NEWLINE: /\r?\n/
_B: /[ \t]+/
"""


def lark_grammar() -> Grammar[str]:
    r"""Return the grammar of Lark's grammars: each text passes Lark's reader, and its patterns pass `re.compile`.

    It has rules with modifiers, priorities, templates and aliases, terminals, comments and all statements. Alternatives
    can be on lines of their own, and a blank stands before a name in a sequence. The bounds of repeats and of ranges
    are in order, and patterns are those of `regular_expression`.

    No context-free grammar knows whether each name is defined once. `lark.Lark` looks for that later, and refuses
    terminals that can be empty and conflicts of its parser.

    >>> import structkit as sk
    >>> from structkit.testing import ScriptedModel
    >>> text = 'start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/'
    >>> print(sk.extract(ScriptedModel([text]), "The grammar of sums?", sk.grammars.lark_grammar()))
    start: NUMBER ("+" NUMBER)*
    NUMBER: /[0-9]+/
    """
    rules = pattern_rules(excluded=r"\/").replace("sequence", "sequence_of")
    text = _GRAMMAR.replace("COUNTED", counts(r"\.\.")).replace("LETTERS", ranges(r'"\.\."'))
    return Grammar(text + rules)
