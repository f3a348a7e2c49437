"""Grammars: ambiguity, recursion, counts, long and wide rules."""

from __future__ import annotations

import structkit as sk
from tests.hostile.case import Case

__all__ = ["CASES"]


def _doubling(
    levels: int, end: str, *, or_one: bool = False, name: str = "r", first: str = "start:", sign: str = ":"
) -> str:
    """Return a grammar whose rules each call the next one twice, or also once; the last rule is `end`."""
    rules = [f"{first} {name}0"]
    for n in range(levels):
        following = f"{name}{n + 1}"
        rules.append(f"{name}{n}{sign} {following} {following}" + (f" | {following}" if or_one else ""))
    return "\n".join([*rules, f"{name}{levels}{sign} {end}"])


_LARK = {
    "ambiguous sums": 'start: e\ne: e "+" e | e "*" e | e e | "x"',
    "s: s s s | x |": 'start: s\ns: s s s | "x" |',
    "s: s, 30 times": f'start: s\ns: {"s " * 30}| "x" |',
    "left recursion through 50 rules": "start: r0\n"
    + "\n".join(f'r{n}: r{(n + 1) % 50} "{chr(97 + n % 26)}" | "z"' for n in range(50)),
    "right recursion through 500 rules": "start: r0\n"
    + "\n".join(f'r{n}: "{chr(97 + n % 26)}" r{(n + 1) % 500} | "z"' for n in range(500)),
    "empty cycles": 'start: a\na: b | c\nb: a | c\nc: a | b | "x"',
    "hidden left recursion": 'start: a\na: b a "x" | "y"\nb: "b" |',
    "counts of counts": 'start: a\na: (b ~ 1..100) ~ 1..100\nb: ("x" "y"?) ~ 1..100',
    "a ~ 100000": 'start: "a" ~ 100000',
    "a ~ 0..100000": 'start: "a" ~ 0..100000',
    "2,000 alternatives": "start: " + " | ".join(f'"word{n}"' for n in range(2_000)),
    "2,000 rules": "start: r0\n"
    + "\n".join(f'r{n}: "k{n}" r{n + 1}?' for n in range(2_000))
    + '\nr2000: "end"',
    "doubling, 30 levels": _doubling(30, '"x"'),
    "doubling, 15 levels": _doubling(15, '"x"?'),
    "nested optionals": "start: " + "[" * 60 + '"a"' + "]" * 60,
    "brackets 200 deep": "start: " + "(" * 200 + '"a"' + ")" * 200,
    "brackets 10,000 deep": "start: " + "(" * 10_000 + '"a"' + ")" * 10_000,
    "palindromes": "start: p\np: " + " | ".join(f'"{c}" p "{c}"' for c in "abcdefghij") + ' | "x"',
    "palindromes of a class": "start: p\np: /[a-z]/ p /[a-z]/ |",
    "terminals that overlap": 'start: (A | B | C | D)+\nA: /[a-z]+/\nB: /[a-z0-9]+/\nC: /[a-z_]+/\nD: /.{1,20}/\n%ignore " "',
    "terminals with lookaheads": "start: (A | B)+\nA: /(?!if|else|while|for|do)[a-z]+(?![a-z])/\nB: /(?<![a-z])(if|else|while|for|do)/\n%ignore / +/",
    "300 keywords and a name": "start: (NAME | "
    + " | ".join(f'"kw{n}"' for n in range(300))
    + ')+\nNAME: /[a-z0-9]+/\n%ignore " "',
    "200 optional rules": f"start: {' '.join(f'a{n}' for n in range(200))}\n"
    + "\n".join(f'a{n}: "{chr(97 + n % 26)}"?' for n in range(200)),
    "terminal of counts": "start: T\nT: /(x{0,100}){0,100}y/",
    "terminal of empty texts": 'start: /(?:(?:){400000000}){4000000}x/ "y"',
    "terminal of atomic parts": "start: T+\nT: /" + "(?>a|b(?:" * 16 + "c" + ")*+)" * 16 + "x/",
    "no text": 'start: a\na: "x" a',
    "undefined": "start: nothing",
    "unclosed": 'start: "a',
    "64,000 characters of comment": "// " + "x" * 63_000 + '\nstart: "a"',
    "70,000 characters": 'start: "a"\n// ' + "x" * 70_000,
    "NUL and surrogates": 'start: "\\x00" /[\\ud800-\\udfff]/',
    "templates": 'start: t{t{t{t{t{t{"a"}}}}}}\nt{x}: x x | "(" x ")"',
    "templates without end": 'start: t{"a"}\nt{x}: "(" t{t{x}} ")" | x',
    "priorities": "start: (A | B)+\nA.2: /a+b?/\nB.1: /a*b+/",
    "doubling, 12 levels, or one": _doubling(12, '"x"', or_one=True),
    "doubling, 30 levels, or one": _doubling(30, '"x"', or_one=True),
    "doubling, 30 levels, or none": _doubling(30, '"x" |'),
    "doubling, 12 levels of terminals": _doubling(12, '"x"', name="T"),
    "doubling, 30 levels, blanks ignored": _doubling(30, '"x"\n%ignore / +/'),
    "4,000 rules in a chain": "start: r0\n"
    + "\n".join(f"r{n}:r{n + 1}" for n in range(4_000))
    + '\nr4000: "x"',
    "lookbehind of 30 letters": "start: (A | B)+\nA: /(?<=[a-z]{30})x+/\nB: /[a-z]/",
    "lookbehind of a letter 13 before": "start: (A | B)+\nA: /(?<!a.{12})x+/\nB: /[a-z]/",
    "lookbehind of a letter 21 before": "start: T+\nT: /(?<=a.{20})b|a|c/",
    "lookbehinds in a loop": "start: T+\nT: /(?:(?<=a.{9}b)c|[a-z])+/",
    "lookaheads in a loop": "start: T+\nT: /(?:c(?=a.{9}b)|[a-z])+/",
    "lookahead to a letter 13 ahead": "start: T+\nT: /a(?=.{12}b)|[a-z]/",
    "lookahead that forbids a letter": "start: T+\nT: /(?!.{15}b)[a-z]+/",
    "200 letters, then one of them": 'start: T "y"\nT: /[a-z]{1,200}x/',
    "300 characters, then a word": 'start: T "y"\nT: /.{0,300}end/',
    "lengths of parts of addresses": r'start: T ("," T)*'
    + "\nT: /[\\w.+-]{1,64}@[\\w-]{1,63}(\\.[\\w-]{1,63})+/",
}

_LALR = {
    "2,000 symbols": "start: " + " ".join(f'"k{n}"' for n in range(2_000)),
    "expressions of 300 levels": "start: e0\n"
    + "\n".join(f'e{n}: e{n + 1} | e{n} "o{n}" e{n + 1}' for n in range(300))
    + '\ne300: "x"',
    "1,000 optional symbols": "start: "
    + " ".join(f"a{n % 20}" for n in range(1_000))
    + "\n"
    + "\n".join(f'a{n}: "{chr(97 + n)}" |' for n in range(20)),
    "expressions of 60 levels": "start: e0\n"
    + "\n".join(f'e{n}: e{n + 1} | e{n} "o{n}" e{n + 1}' for n in range(60))
    + '\ne60: /[0-9]+/ | "(" e0 ")"',
    "80 letters, then a suffix, beside names": "start: (T | NAME)+\nNAME: /[a-z_]+/\nT: /[a-z]{1,80}(able|ible)/\n%ignore / +/",
}

_GBNF = {
    "ambiguous": 'root ::= e\ne ::= e "+" e | "x"',
    "counts": 'root ::= ("a" | "b"){0,5000}',
    "counts of counts": 'root ::= ((("a" "b"?){1,50}){1,50}){1,50}',
    "doubling": _doubling(30, '"x"', first="root ::=", sign=" ::="),
    "doubling, 14 levels, or none": _doubling(14, '"x"?', first="root ::=", sign=" ::="),
    **{
        f"{count} nested {depth} deep": "root ::= " + "(" * depth + '"a"' + f"{count})" * depth
        for count, depth in [
            ("{0,9}", 3),
            ("{0,9}", 5),
            ("{0,9}", 12),
            ("{1,9}", 12),
            ("{9}", 12),
            ("{0,2}", 20),
        ]
    },
    "3,000 rules": "root ::= r0\n"
    + "\n".join(f'r{n} ::= "a" r{n + 1}?' for n in range(3_000))
    + '\nr3000 ::= "x"',
    "100,000 rules": "root ::= r0\n"
    + "\n".join(f"r{n} ::= r{n + 1}" for n in range(100_000))
    + '\nr100000 ::= "x"',
    "stars of stars": 'root ::= ((("a"*)*)*)* "b"',
    "wide class": "root ::= [^" + "".join(chr(0x4E00 + 2 * n) for n in range(2_000)) + "]+",
}


CASES = tuple(
    [
        Case("Lark grammar", name, lambda text=text: sk.Grammar(text), is_read=True)
        for name, text in _LARK.items()
    ]
    + [
        Case("LALR grammar", name, lambda text=text: sk.Grammar(text, parser="lalr"), is_read=True)
        for name, text in _LALR.items()
    ]
    + [
        Case("GBNF grammar", name, lambda text=text: sk.Grammar(text, syntax="gbnf"), is_read=True)
        for name, text in _GBNF.items()
    ]
)
