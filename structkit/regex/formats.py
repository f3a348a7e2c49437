"""Formats of strings as languages of raw texts, each a pattern put together from the names of its standard.

Every text of a language is valid for its format. Left out, though valid: leap seconds, host names with `xn--` labels
(which ones are valid only a Punycode decoder can say), and regular expressions with groups in groups in groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import MappingProxyType

from structkit.regex.addresses import written_out
from structkit.regex.nodes import Node
from structkit.regex.parse import parse

__all__ = ["KNOWN_FORMATS", "WIDER_FORMATS"]


def _date() -> str:
    """The Gregorian calendar from year 1 to 9999 (RFC 3339, section 5.6 and appendix C)."""
    year = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
    fourth = "(?:0[48]|[2468][048]|[13579][26])"
    long_month = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    short_month = "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    february = "02-(?:0[1-9]|1[0-9]|2[0-8])"
    leap_year = f"(?:[0-9]{{2}}{fourth}|{fourth}00)"
    return f"(?:{year}-(?:{long_month}|{short_month}|{february})|{leap_year}-02-29)"


_HOUR_MINUTE = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_CLOCK = f"{_HOUR_MINUTE}:[0-5][0-9]"
_TIME = rf"{_CLOCK}(?:\.[0-9]+)?(?:[Zz]|[+-]{_HOUR_MINUTE})"


def _duration() -> str:
    """RFC 3339, appendix A."""
    seconds = "[0-9]+S"
    minutes = f"[0-9]+M(?:{seconds})?"
    hours = f"[0-9]+H(?:{minutes})?"
    months = "[0-9]+M(?:[0-9]+D)?"
    date = f"(?:[0-9]+D|{months}|[0-9]+Y(?:{months})?)"
    time = f"T(?:{hours}|{minutes}|{seconds})"
    return f"P(?:{date}(?:{time})?|{time}|[0-9]+W)"


_WIDE = (
    r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U0001fffd\U00020000-\U0002fffd\U00030000-\U0003fffd"
)
"""Characters that internationalised forms add, up to the third plane (RFC 3987, section 2.2)."""

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"


def _ipv6() -> str:
    """RFC 3986, section 3.2.2: `::` stands for one or more groups."""
    group = "[0-9A-Fa-f]{1,4}"
    last = f"(?:{group}:{group}|{_IPV4})"
    forms = [f"(?:{group}:){{6}}{last}"]
    for after in range(5, -3, -1):  # groups after `::`; `last` counts as two
        before = 7 - 2 - after  # at most so many before it
        head = "" if before == 0 else f"(?:(?:{group}:){{0,{before - 1}}}{group})?"
        tail = f"(?:{group}:){{{after}}}{last}" if after >= 0 else group if after == -1 else ""
        forms.append(f"{head}::{tail}")
    return f"(?:{'|'.join(forms)})"


def _hostname() -> str:
    """RFC 1123, section 2.1: at most 253 characters, as three labels of 63 or ten of 24; no `--` third and fourth."""
    end, inner = "[A-Za-z0-9]", "[A-Za-z0-9-]"
    names = []
    for longest, least, most in ((63, 1, 3), (24, 4, 10)):
        longer = f"{inner}(?:{end}{inner}|-{end}){inner}{{0,{longest - 5}}}{end}"
        label = f"{end}(?:{inner}?{end}|{inner}{inner}{end}|{longer})?"
        names.append(label + written_out(rf"\.{label}", least - 1, most - 1))
    return f"(?:{'|'.join(names)})"


def _email(wide: str = "") -> str:
    """RFC 5321, section 4.1.2; with `wide` RFC 6531, section 3.3, for what is before the `@`."""
    atom = f"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~{wide}-]+"
    quoted = rf'"(?:[ !#-\[\]-~{wide}]|\\[ -~])*"'
    return rf"(?:{atom}(?:\.{atom})*|{quoted})@(?:{_hostname()}|\[(?:{_IPV4}|IPv6:{_ipv6()})\])"


def _uri(*, relative: bool, wide: str = "") -> str:
    """RFC 3986, appendix A; with `wide` RFC 3987, section 2.2."""
    plain = f"!$&'()*+,;=A-Za-z0-9._~{wide}-"
    escaped = "%[0-9A-Fa-f]{2}"
    pchar = f"(?:[:@{plain}]|{escaped})"
    userinfo = f"(?:[:{plain}]|{escaped})*@"
    future = r"[Vv][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+"
    host = rf"(?:\[(?:{_ipv6()}|{future})\]|(?:[{plain}]|{escaped})*)"
    path = f"(?:/{pchar}*)*"
    begun = f"//(?:{userinfo})?{host}(?::[0-9]*)?{path}|/(?:{pchar}+{path})?"
    end = rf"(?:\?(?:{pchar}|[/?])*)?(?:#(?:{pchar}|[/?])*)?"
    absolute = f"[A-Za-z][A-Za-z0-9+.-]*:(?:{begun}|{pchar}+{path})?{end}"
    if not relative:
        return absolute
    return f"(?:{absolute}|(?:{begun}|(?:[@{plain}]|{escaped})+{path})?{end})"


def _uri_template() -> str:
    """RFC 6570, section 2."""
    escaped = "%[0-9A-Fa-f]{2}"
    literal = rf"[!#$&-;=?-\[\]_a-z~{_WIDE}]"
    name = rf"(?:[A-Za-z0-9_]|{escaped})(?:\.?(?:[A-Za-z0-9_]|{escaped}))*"
    variable = rf"{name}(?::[1-9][0-9]{{0,3}}|\*)?"
    return rf"(?:{literal}|{escaped}|\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}})*"


def _regex() -> str:
    """Regular expressions that ECMA-262 and Python both read, with groups at most three deep."""
    letters = ("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789")
    spans = "|".join(f"{first}-[{first}-{row[-1]}]" for row in letters for first in row)
    escape = r"\\[DSWdfnrstvw$()*+./?\[\\\]^{|}-]"
    member = rf"(?:{escape}|{spans}|[^\\\[\]\^&~|-])"
    some = rf"[^\\\[\](){{}}*+?.^$|]|\.|{escape}|\[\^?{member}+-?\]"
    same_length = [f"{digit},[{digit}-9]|{digit}[0-9],[{digit + 1}-9][0-9]" for digit in range(1, 9)]
    ranges = "|".join(["0,[0-9]", *same_length, "9,9", "[0-9],[1-9][0-9]{1,2}", "[1-9][0-9],[1-9][0-9]{2}"])
    repeated = rf"(?:(?:[*+?]|\{{(?:[0-9]{{1,3}},?|{ranges})\}})\??)?"
    pattern = ""
    for _ in range(4):
        group = rf"|\((?:\?[:=!])?{pattern}\)" if pattern else ""
        pattern = rf"(?:[|\^$]|\\[Bb]|(?:{some}{group}){repeated})*"
    return pattern


_UUID = "[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
"""RFC 9562, section 4."""

_POINTER = "(?:/(?:[^/~]|~[01])*)*"


@lru_cache(maxsize=64)
def _read(pattern: Callable[[], str]) -> Node:
    return parse(f"(?s:{pattern()})", search=False, unicode=False)


def _fixed(pattern: str) -> Callable[[], Node]:
    return _lazy(lambda: pattern)


def _lazy(pattern: Callable[[], str]) -> Callable[[], Node]:
    return partial(_read, pattern)


KNOWN_FORMATS: Mapping[str, Callable[[], Node]] = MappingProxyType(
    {
        "date": _lazy(_date),
        "time": _fixed(_TIME),
        "date-time": _lazy(lambda: f"{_date()}[Tt]{_TIME}"),
        "duration": _lazy(_duration),
        "uuid": _fixed(_UUID),
        "email": _lazy(_email),
        "idn-email": _lazy(lambda: _email(_WIDE)),
        "hostname": _lazy(_hostname),
        # Which characters an internationalised label may hold depends on their neighbours; those of ASCII may stand.
        "idn-hostname": _lazy(_hostname),
        "ipv4": _fixed(_IPV4),
        "ipv6": _lazy(_ipv6),
        "uri": _lazy(lambda: _uri(relative=False)),
        "uri-reference": _lazy(lambda: _uri(relative=True)),
        "iri": _lazy(lambda: _uri(relative=False, wide=_WIDE)),
        "iri-reference": _lazy(lambda: _uri(relative=True, wide=_WIDE)),
        "uri-template": _lazy(_uri_template),
        "json-pointer": _fixed(_POINTER),
        "relative-json-pointer": _fixed(f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})"),
        "regex": _lazy(_regex),
    }
)
"""For each format the function that gives its language; the languages are made once, when first asked for."""

_AT = r"[\s\S]*@[\s\S]*"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.\-]*:[\s\S]*"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"

WIDER_FORMATS: Mapping[str, Callable[[], Node]] = MappingProxyType(
    {
        **{
            name: KNOWN_FORMATS[name]
            for name in ("date", "duration", "ipv4", "ipv6", "json-pointer", "relative-json-pointer", "uuid")
        },
        "date-time": _fixed(rf"{_DAY}[\s\S]*:[\s\S]*"),
        "email": _fixed(_AT),
        "hostname": _fixed(r"[A-Za-z0-9.\-]*"),
        "idn-email": _fixed(_AT),
        "iri": _fixed(_SCHEME),
        "time": _fixed(r"[0-9]{2}:[\s\S]*"),
        "uri": _fixed(_SCHEME),
        "uri-reference": _fixed("[!-~]*"),
    }
)
"""For formats that can be forbidden a language that holds every valid text, so that what is outside is invalid."""
