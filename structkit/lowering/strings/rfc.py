"""The formats of JSON Schema as languages of raw texts, composed of the patterns of their standards.

Every text of a language is valid for its format. Some valid texts are excluded: leap seconds, host names with `xn--`
labels (their validity needs a Punycode decoder), and regular expressions with groups nested more than three deep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType

from structkit.lowering.strings.network import unrolled
from structkit.regex.nodes import Node, choice
from structkit.regex.pattern.parse import compose
from structkit.schema.ir.nodes import String

__all__ = ["FORMAT_EXAMPLES", "KNOWN_FORMATS", "MAX_COUNTED", "PERMISSIVE_FORMATS", "format_example"]


@cache
def _date() -> Node:
    """Return dates of the Gregorian calendar, years 1 to 9999 (RFC 3339, section 5.6 and appendix C)."""
    year = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
    fourth = "(?:0[48]|[2468][048]|[13579][26])"
    long_month = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    short_month = "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    february = "02-(?:0[1-9]|1[0-9]|2[0-8])"
    leap_year = f"(?:[0-9]{{2}}{fourth}|{fourth}00)"
    return compose(f"(?:{year}-(?:{long_month}|{short_month}|{february})|{leap_year}-02-29)")


_HOUR_MINUTE = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_CLOCK = f"{_HOUR_MINUTE}:[0-5][0-9]"
_TIME = rf"{_CLOCK}(?:\.[0-9]+)?(?:[Zz]|[+-]{_HOUR_MINUTE})"


@cache
def _date_time() -> Node:
    """Return dates with times (RFC 3339, section 5.6)."""
    return compose("<date>[Tt]<time>", date=_date(), time=compose(_TIME))


@cache
def _duration() -> Node:
    """Return durations (RFC 3339, appendix A)."""
    seconds = "[0-9]+S"
    minutes = f"[0-9]+M(?:{seconds})?"
    hours = f"[0-9]+H(?:{minutes})?"
    months = "[0-9]+M(?:[0-9]+D)?"
    date = f"(?:[0-9]+D|{months}|[0-9]+Y(?:{months})?)"
    time = f"T(?:{hours}|{minutes}|{seconds})"
    return compose("P(?:<date>(?:<time>)?|<time>|[0-9]+W)", date=compose(date), time=compose(time))


_WIDE = (
    r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U0001fffd\U00020000-\U0002fffd\U00030000-\U0003fffd"
)
"""Additional characters of internationalised formats, up to the third plane (RFC 3987, section 2.2)."""


@cache
def _ipv4() -> Node:
    octet = compose("25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9]")
    return compose(r"<octet>(?:\.<octet>){3}", octet=octet)


@cache
def _ipv6() -> Node:
    """Return IPv6 addresses (RFC 3986, section 3.2.2): `::` replaces one or more groups."""
    group = compose("[0-9A-Fa-f]{1,4}")
    last = compose("<group>:<group>|<ipv4>", group=group, ipv4=_ipv4())
    forms = ["(?:<group>:){6}<last>"]
    for after in range(5, -3, -1):  # groups after `::`; `last` counts as two
        before = 7 - 2 - after  # maximum number of groups before `::`
        head = "" if before == 0 else f"(?:(?:<group>:){{0,{before - 1}}}<group>)?"
        tail = f"(?:<group>:){{{after}}}<last>" if after >= 0 else "<group>" if after == -1 else ""
        forms.append(f"{head}::{tail}")
    return compose("|".join(forms), group=group, last=last)


@cache
def _hostname() -> Node:
    """Return host names (RFC 1123, section 2.1).

    At most 253 characters, as 3 labels of 63 or 10 of 24; no `--` at positions 3 and 4 of a label.
    """
    end, inner = "[A-Za-z0-9]", "[A-Za-z0-9-]"
    names: list[Node] = []
    for max_length, min_labels, max_labels in ((63, 1, 3), (24, 4, 10)):
        longer = f"{inner}(?:{end}{inner}|-{end}){inner}{{0,{max_length - 5}}}{end}"
        label = compose(f"{end}(?:{inner}?{end}|{inner}{inner}{end}|{longer})?")
        more = unrolled(r"\.<label>", min_labels - 1, max_labels - 1)
        names.append(compose(f"<label>{more}", label=label))
    return choice(names)


@cache
def _email(wide: str = "") -> Node:
    """Return addresses of RFC 5321, section 4.1.2; with `wide`, of RFC 6531, section 3.3, before the `@`."""
    return compose(
        r"(?:<atom>(?:\.<atom>)*|<quoted>)@(?:<hostname>|\[(?:<ipv4>|IPv6:<ipv6>)\])",
        atom=compose(f"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~{wide}-]+"),
        quoted=compose(rf'"(?:[ !#-\[\]-~{wide}]|\\[ -~])*"'),
        hostname=_hostname(),
        ipv4=_ipv4(),
        ipv6=_ipv6(),
    )


@cache
def _uri(*, relative: bool, wide: str = "") -> Node:
    """Return URIs (RFC 3986, appendix A); with `wide`, IRIs (RFC 3987, section 2.2)."""
    plain = f"!$&'()*+,;=A-Za-z0-9._~{wide}-"
    escaped = "%[0-9A-Fa-f]{2}"
    future = r"[Vv][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+"
    pchar = compose(f"[:@{plain}]|{escaped}")
    path = compose("(?:/<pchar>*)*", pchar=pchar)
    rooted = compose(
        r"//(?:<userinfo>*@)?(?:\[(?:<ipv6>|<future>)\]|<letter>*)(?::[0-9]*)?<path>|/(?:<pchar>+<path>)?",
        userinfo=compose(f"[:{plain}]|{escaped}"),
        ipv6=_ipv6(),
        future=compose(future),
        letter=compose(f"[{plain}]|{escaped}"),
        path=path,
        pchar=pchar,
    )
    end = compose(r"(?:\?<more>*)?(?:#<more>*)?", more=compose("<pchar>|[/?]", pchar=pchar))
    scheme = "[A-Za-z][A-Za-z0-9+.-]*:"
    absolute = compose(
        f"{scheme}(?:<rooted>|<pchar>+<path>)?<end>", rooted=rooted, pchar=pchar, path=path, end=end
    )
    if not relative:
        return absolute
    first = compose(f"[@{plain}]|{escaped}")
    reference = compose("(?:<rooted>|<first>+<path>)?<end>", rooted=rooted, first=first, path=path, end=end)
    return choice([absolute, reference])


@cache
def _uri_template() -> Node:
    """Return URI templates (RFC 6570, section 2)."""
    escaped = "%[0-9A-Fa-f]{2}"
    literal = rf"[!#$&-;=?-\[\]_a-z~{_WIDE}]"
    letter = compose(f"[A-Za-z0-9_]|{escaped}")
    variable = compose(r"<letter>(?:\.?<letter>)*(?::[1-9][0-9]{0,3}|\*)?", letter=letter)
    expression = compose(r"\{[+#./;?&=,!@|]?<variable>(?:,<variable>)*\}", variable=variable)
    return compose(f"(?:{literal}|{escaped}|<expression>)*", expression=expression)


@cache
def _regex() -> Node:
    """Return regular expressions valid in ECMA-262 and Python, with groups nested at most three deep."""
    letters = ("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789")
    spans = "|".join(f"{first}-[{first}-{row[-1]}]" for row in letters for first in row)
    escape = r"\\[DSWdfnrstvw$()*+./?\[\\\]^{|}-]"
    member = rf"(?:{escape}|{spans}|[^\\\[\]\^&~|-])"
    atom = compose(rf"[^\\\[\](){{}}*+?.^$|]|\.|{escape}|\[\^?{member}+-?\]")
    same_length = [f"{digit},[{digit}-9]|{digit}[0-9],[{digit + 1}-9][0-9]" for digit in range(1, 9)]
    ranges = "|".join(["0,[0-9]", *same_length, "9,9", "[0-9],[1-9][0-9]{1,2}", "[1-9][0-9],[1-9][0-9]{2}"])
    quantifier = compose(rf"(?:(?:[*+?]|\{{(?:[0-9]{{1,3}},?|{ranges})\}})\??)?")
    repetitions = r"(?:[|\^$]|\\[Bb]|<atom><quantifier>)*"
    pattern = compose(repetitions, atom=atom, quantifier=quantifier)
    for _ in range(3):
        group = compose(r"\((?:\?[:=!])?<pattern>\)", pattern=pattern)
        pattern = compose(repetitions, atom=choice([atom, group]), quantifier=quantifier)
    return pattern


_UUID = "[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
"""RFC 9562, section 4."""

_POINTER = "(?:/(?:[^/~]|~[01])*)*"


def _fixed(pattern: str) -> Callable[[], Node]:
    return cache(partial(compose, pattern))


KNOWN_FORMATS: Mapping[str, Callable[[], Node]] = MappingProxyType(
    {
        "date": _date,
        "time": _fixed(_TIME),
        "date-time": _date_time,
        "duration": _duration,
        "uuid": _fixed(_UUID),
        "email": _email,
        "idn-email": partial(_email, _WIDE),
        "hostname": _hostname,
        # Whether a non-ASCII character is valid in a label depends on adjacent characters: only ASCII is allowed.
        "idn-hostname": _hostname,
        "ipv4": _ipv4,
        "ipv6": _ipv6,
        "uri": partial(_uri, relative=False),
        "uri-reference": partial(_uri, relative=True),
        "iri": partial(_uri, relative=False, wide=_WIDE),
        "iri-reference": partial(_uri, relative=True, wide=_WIDE),
        "uri-template": _uri_template,
        "json-pointer": _fixed(_POINTER),
        "relative-json-pointer": _fixed(f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})"),
        "regex": _regex,
    }
)
"""For each format, the function that returns its language, built on first use."""

FORMAT_EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "date": "2000-01-01",
        "time": "00:00:00Z",
        "date-time": "2000-01-01T00:00:00Z",
        "duration": "P1D",
        "uuid": "00000000-0000-0000-0000-000000000000",
        "email": "a@a",
        "idn-email": "a@a",
        "hostname": "a",
        "idn-hostname": "a",
        "ipv4": "0.0.0.0",
        "ipv6": "::",
        "uri": "a:",
        "uri-reference": "",
        "iri": "a:",
        "iri-reference": "",
        "uri-template": "",
        "json-pointer": "",
        "relative-json-pointer": "0",
        "regex": "",
    }
)
"""A shortest text of each format."""


def format_example(schema: String) -> str | None:
    """Return the shortest text of a format with some lengths; `None` for strings whose automaton may be large.

    It is small because it counts few characters: no more than the shortest text has, or than `MAX_COUNTED`.

    >>> from structkit.schema.ir.nodes import Format
    >>> format_example(String(5, 255, format=Format("email"))), format_example(String(100, format=Format("email")))
    ('a@aaa', None)
    """
    given = schema.format
    if given is None or (example := FORMAT_EXAMPLES.get(given.name)) is None:
        return None
    low, high = schema.min_length, schema.max_length
    if given.name in _WITH_ANY_END and low <= MAX_COUNTED:
        example += "a" * (low - len(example))
    fits = low <= len(example) and (high is None or len(example) <= high)
    return example if fits and schema == String(low, high, format=given) else None


_WITH_ANY_END = frozenset(
    {
        "email",
        "hostname",
        "idn-email",
        "idn-hostname",
        "iri",
        "iri-reference",
        "regex",
        "uri",
        "uri-reference",
        "uri-template",
    }
)
"""The formats of which a text can be longer by some letters."""

MAX_COUNTED = 8
"""Largest minimum length, in characters, of a text of these formats whose rule is built lazily."""


_AT = r"[\s\S]*@[\s\S]*"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.\-]*:[\s\S]*"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"

PERMISSIVE_FORMATS: Mapping[str, Callable[[], Node]] = MappingProxyType(
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
"""For each format that can be forbidden, a superset of its valid texts: texts outside are invalid."""
