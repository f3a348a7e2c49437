"""Patterns: nested counts, wide classes, products, lookarounds, unicode."""

from __future__ import annotations

import structkit as sk
from tests.hostile.case import Case

__all__ = ["CASES"]

_PATTERNS = {
    "(x{0,100}){0,100}y": r"(x{0,100}){0,100}y",
    "a{100000}": r"a{100000}",
    "a{0,100000}": r"a{0,100000}",
    "(.{0,300}e){3}": r"(.{0,300}e){3}",
    "(ab?...k?){300}": r"(ab?c?d?e?f?g?h?i?j?k?){300}",
    "(a|aa)*b": r"(a|aa)*b",
    "((a*)*)* nested 60 deep": "(" * 60 + "a" + ")*" * 60 + "b",
    "((a?){30}){30} nested 4 deep": r"((((a?){30}){30}){30}){30}",
    "(a?){5000}a{5000}": r"(a?){5000}a{5000}",
    "(.*a.{20})": r".*a.{20}",
    "(.*a.{12})": r".*a.{12}",
    "[ab]*a[ab]{15}": r"[ab]*a[ab]{15}",
    "(a{1,50}b{1,50}){1,50}": r"(a{1,50}b{1,50}){1,50}",
    "(\\d{1,1000},){1000}": r"(\d{1,1000},){1000}",
    "\\w{1,2000}": r"\w{1,2000}",
    "(\\w+\\s?){500}": r"(\w+\s?){500}",
    "\\p{L}{1,500}\\p{N}{1,500}": r"\p{L}{1,500}\p{N}{1,500}",
    "[^\\x00-\\uffff]{300}": r"[^\x00-\uffff]{300}",
    "(?i) of 2,000 letters": "(?i)" + "aſKk" * 500,
    "2,000 alternatives of 4": "|".join(f"k{n:03x}" for n in range(2000)),
    "9,990 characters of literal": "ab" * 4995,
    "alternatives that share ends": "|".join(f"{chr(97 + n % 26)}*x{{{n % 40}}}z" for n in range(300)),
    "lookaheads 30 wide": "".join(rf"(?=.*{chr(97 + n)})" for n in range(26)) + r".*",
    "lookaheads 8 wide": "".join(rf"(?=.*{chr(97 + n)})" for n in range(8)) + r".*",
    "negative lookaheads 12 wide": "".join(rf"(?!.*{chr(97 + n)}{chr(98 + n)})" for n in range(12)) + r".*",
    "lookbehind of counted": r".{0,50}(?<=a{20})b.{0,50}",
    "lookahead of counts": r"(?=.{100,200}$)(?=(ab?){50,}).*",
    "word boundaries": r"(\b\w+\b ){100}",
    "word boundaries 1,000": r"(\b\w\b.){1000}",
    "word boundary behind a long count": r"[-a-zA-Z0-9@:%._\+~#=]{1,256}\.[a-zA-Z0-9()]{1,6}\b([-a-zA-Z0-9()@:%_\+.~#?&//=]*)",
    "anchors inside": "(" + "|".join(f"^{chr(97 + n)}|{chr(97 + n)}$" for n in range(26)) + ")*",
    "empty loops": r"(()*)*(a|()){0,1000}",
    "depth 3,000 of groups": "(" * 3000 + "a" + ")" * 3000,
    "depth 3,000 of lookaheads": "(?=" * 3000 + "a" + ")" * 3000 + "a",
    "depth 40 of negative lookaheads": "(?!" * 40 + "a" * 40 + ")" * 40 + "b",
    "lookaheads of what must not follow": r"(?!(?:a|b)*a(?:a|b){12}(?!(?:a|b)*b(?:a|b){12}c)).*",
    "back reference": r"(a+)\1",
    "atomic groups": "(?>" * 50 + "a*" + ")" * 50 + "a",
    "possessive": r"(a*+b?){50}",
    "negated class of 2,000 characters": "[^" + "".join(chr(0x4E00 + 2 * n) for n in range(2000)) + "]{1,50}",
    "2,000 characters of a class, repeated": "["
    + "".join(chr(0x4E00 + 2 * n) for n in range(2000))
    + "]{1,200}",
    "every astral plane": r"[\U00010000-\U0010ffff]{1,300}",
    "surrogates": r"[\ud800-\udfff]+",
    "NUL": r"\x00{1,100}",
    "{99999999}": r"a{99999999}",
    "{0,999999999999999999999}": r"a{0,999999999999999999999}",
    "{5,2}": r"a{5,2}",
    "(((a{10}){10}){10}){10}": r"(((a{10}){10}){10}){10}",
    "(((a{10}b?){10}){10}){10}": r"(((a{10}b?){10}){10}){10}",
    "(a{2}|b{3}){1000}": r"(a{2}|b{3}){1000}",
    "(a|b|ab){0,2000}": r"(a|b|ab){0,2000}",
    "(a+b+c+){200}": r"(a+b+c+){200}",
    "(.+,){50}.+": r"(.+,){50}.+",
    "(.*,){50}.*": r"(.*,){50}.*",
    "(.*x){20}": r"(.*x){20}",
    "(.{0,12}a){12}": r"(?:.{0,12}a){12}",
    "4,900 optional letters": "".join(f"{chr(97 + n % 26)}?" for n in range(4900)),
    "(.{0,40}a){12} alone": r"^(.{0,40}a){12}$",
    "foo or bar, 30 times": r"^(?:.{0,10}(?:foo|bar)){30}$",
    "((.{0,30}a){2,30}b){2,30}": r"^((.{0,30}a){2,30}b){2,30}$",
    "20 overlapping counts of words": "^" + r"\w{0,60}" * 20 + "$",
    "(.{0,72}\\r?\\n){5,300}": r"^(.{0,72}\r?\n){5,300}$",
    "300 words, .{0,40}, twice": rf"(?:(?:{'|'.join(f'{n * 7919:x}' for n in range(300))}).{{0,40}}){{2}}",
    "((a{0,100}b?){0,100}c?){0,100}": r"^((a{0,100}b?){0,100}c?){0,100}$",
    "((a{0,60}b?){0,60}c?){0,60}": r"^((a{0,60}b?){0,60}c?){0,60}$",
    "password of 4 lookaheads": r"^(?=.*[A-Z])(?=.*[a-z])(?=.*\d)(?=.*[!#%&])[ -~]{8,30}$",
    "lookaheads of counts of words": r"^(?=.{10,90}$)(?=(\w{1,9} ){2,8})(?!.*  ).*$",
    "(a{97}|b{89}|c{83})*": r"^(a{97}|b{89}|c{83})*$",
    "lines, 50": r"(?m)(?:^[a-z]*$\n?){1,50}",
    "email": r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$",
}


def _in_schema(pattern: str, **others: object) -> dict[str, object]:
    return {"type": "string", "pattern": pattern, **others}


def _all_of() -> dict[str, object]:
    return {"type": "string", "allOf": [{"pattern": f"{chr(97 + n % 26)}.{{{n // 26}}}"} for n in range(200)]}


def _one_of(count: int) -> dict[str, object]:
    return {"oneOf": [{"type": "string", "pattern": f"^{chr(97 + n)}.*{chr(98 + n)}"} for n in range(count)]}


def _one_of_overlapping(count: int) -> dict[str, object]:
    return {"oneOf": [{"type": "string", "pattern": f"{chr(97 + n)}"} for n in range(count)]}


def _texts_and_patterns() -> dict[str, object]:
    texts = [f"word{number * 7919 % 100_000}x{number}" for number in range(5_000)]
    return {"enum": texts, "anyOf": [{"pattern": f"{chr(97 + number)}.*{number}"} for number in range(20)]}


def _not(count: int) -> dict[str, object]:
    return {"type": "string", "not": {"anyOf": [{"pattern": f"{chr(97 + n)}{{3}}"} for n in range(count)]}}


CASES = tuple(
    [Case("pattern", name, lambda pattern=pattern: sk.Regex(pattern)) for name, pattern in _PATTERNS.items()]
    + [
        Case("pattern in a schema", name, lambda pattern=pattern: _in_schema(pattern))
        for name, pattern in _PATTERNS.items()
    ]
    + [
        Case("patterns that meet", "allOf of 200 patterns", _all_of),
        Case("patterns that meet", "oneOf of 20 disjoint patterns", lambda: _one_of(20)),
        Case("patterns that meet", "oneOf of 20 overlapping patterns", lambda: _one_of_overlapping(20)),
        Case("patterns that meet", "oneOf of 5 overlapping patterns", lambda: _one_of_overlapping(5)),
        Case("patterns that meet", "not anyOf of 20 patterns", lambda: _not(20)),
        Case("patterns that meet", "enum of 5,000 texts and anyOf of 20 patterns", _texts_and_patterns),
        Case(
            "patterns that meet",
            "17 patterns with minLength",
            lambda: {
                "type": "object",
                "properties": {
                    f"p{n}": _in_schema("^[a-z]+(-[a-z0-9]+)*$", minLength=100 + n, maxLength=2000)
                    for n in range(17)
                },
            },
        ),
        Case(
            "patterns that meet",
            "pattern with maxLength 100,000",
            lambda: _in_schema(r"^(\w+ )+$", maxLength=100_000),
        ),
        Case(
            "patterns that meet",
            "pattern with minLength 50,000",
            lambda: _in_schema(r"^(\w+ )+$", minLength=50_000),
        ),
        Case(
            "patterns that meet",
            "format and pattern",
            lambda: _in_schema(r"@(.*\.){10}", format="email", maxLength=200),
        ),
    ]
)
