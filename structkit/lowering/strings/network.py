"""IP addresses, URLs and e-mail addresses as pydantic writes them: of each value the one canonical text.

URLs are those that the crate `url` (https://url.spec.whatwg.org) leaves as they are: host names in lower case and
ASCII, no dot segments, no default port, nothing that it would escape.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from structkit.lowering.numbers.integers import naturals
from structkit.regex.charset import chars
from structkit.regex.nodes import EMPTY, NEVER, Both, Node, Repeat, Text, alt, seq
from structkit.regex.pattern.parse import parse

__all__ = ["email", "ip_address", "ip_interface", "ip_network", "name_email", "url", "written_out"]

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_GROUPS = 8


@cache
def _read(pattern: str) -> Node:
    return parse(pattern, search=False, unicode=False)


_NONZERO = "[1-9a-f][0-9a-f]{0,3}"


@cache
def _groups(count: int, longest: int, *, first: bool = False, last: bool = False, run: int = 0) -> Node:
    """So many groups of an IPv6 address, with at most `longest` zeros in a row; `first` and `last` are not 0."""
    if count == 0:
        return EMPTY if not (last and run) else NEVER
    after = EMPTY if count == 1 else Text(":")
    parts = [seq(_read(_NONZERO), after, _groups(count - 1, longest, last=last))]
    if run < longest and not first:
        parts.append(seq(Text("0"), after, _groups(count - 1, longest, last=last, run=run + 1)))
    return alt(part for part in parts if part is not NEVER)


@cache
def _ipv6(*, mapped: bool) -> Node:
    """RFC 5952, section 4: the longest run of zeros, the first of them, becomes `::`; one zero alone does not."""
    forms = [_groups(_GROUPS, 1)]
    for before in range(_GROUPS - 1):
        for after in range(_GROUPS - 1 - before):
            run = _GROUPS - before - after
            head = _groups(before, run - 1, last=True)
            tail = _groups(after, run, first=True)
            forms.append(seq(head, Text("::"), tail))
    address = alt(forms)
    if not mapped or "." not in str(ipaddress.IPv6Address("::ffff:1.2.3.4")):
        return address
    plain = Both(address, seq(Text("::ffff:"), _groups(2, 2)), negate=True, end="(?![0-9a-f:])")
    return alt([plain, seq(Text("::ffff:"), _read(_IPV4))])


def ip_address(version: int) -> Node:
    """The addresses of IP version 4 or 6, or of either (0).

    >>> ip_address(0) == alt([ip_address(4), ip_address(6)])
    True
    """
    return _either(version, _read(_IPV4), _ipv6(mapped=True))


def ip_interface(version: int) -> Node:
    """Addresses and the length of the prefix of their network."""
    four = seq(_read(_IPV4), Text("/"), naturals(0, 32))
    return _either(version, four, seq(_ipv6(mapped=True), Text("/"), naturals(0, 128)))


def ip_network(version: int) -> Node:
    """Networks: the bits behind the prefix are 0. Of version 6 those that have `::` only at their end."""
    return _either(version, _networks4(), _networks6())


def _either(version: int, four: Node, six: Node) -> Node:
    return {4: four, 6: six}.get(version) or alt([four, six])


@cache
def _networks4() -> Node:
    octet, dot = _read(_OCTET), Text(".")
    parts: list[Node] = []
    for length in range(33):
        whole, bits = divmod(length, 8)
        row: list[Node] = [octet] * whole
        if whole < 4:
            row.append(alt(Text(str(value)) for value in range(0, 256, 1 << (8 - bits))))
        row += [Text("0")] * (4 - len(row))
        parts.append(seq(row[0], dot, row[1], dot, row[2], dot, row[3], Text(f"/{length}")))
    return alt(parts)


@cache
def _networks6() -> Node:
    parts: list[Node] = [seq(Text("::/"), naturals(0, 128))]
    for count in range(1, _GROUPS + 1):
        close = {_GROUPS: "/", _GROUPS - 1: ":0/"}.get(count, "::/")
        head = EMPTY if count == 1 else seq(_groups(count - 1, 1), Text(":"))
        for zeros in range(16):
            length = naturals(16 * count - zeros, 128)
            parts.append(seq(head, _group_ending(zeros), Text(close), length))
    return alt(parts)


@cache
def _group_ending(zeros: int) -> Node:
    """Groups, not 0, whose last bits are exactly so many zeros."""
    digits, bits = divmod(zeros, 4)
    last = "".join(f"{value:x}" for value in range(1, 16) if (value & -value).bit_length() - 1 == bits)
    room = 3 - digits
    before = f"(?:[1-9a-f][0-9a-f]{{0,{room - 1}}})?" if room else ""
    return _read(f"{before}[{last}]{'0' * digits}")


_LABEL_END = "[a-z0-9]"
_LABEL_INNER = "[a-z0-9-]"


def _label(longest: int, first: str = _LABEL_END) -> str:
    """RFC 1123, section 2.1, in lower case; no `--` third and fourth, for `xn--` is not spelled here."""
    rest = rf"{_LABEL_INNER}(?:{_LABEL_END}{_LABEL_INNER}|-{_LABEL_END}){_LABEL_INNER}{{0,{longest - 5}}}{_LABEL_END}"
    return f"{first}(?:{_LABEL_INNER}?{_LABEL_END}|{_LABEL_INNER}{{2}}{_LABEL_END}|{rest})?"


def written_out(pattern: str, least: int, most: int) -> str:
    """A pattern from `least` to `most` times, as it would be copied.

    A repetition of many characters becomes a rule of its own; the masks of a rule that calls no other are made sooner,
    and are the same for all targets.

    >>> written_out("a", 1, 3)
    'a(?:a(?:a)?)?'
    """
    more = ""
    for _ in range(most - least):
        more = f"(?:{pattern}{more})?"
    return pattern * least + more


_SPECIAL = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "file": None}
"""Schemes whose URLs the standard reads in its own way, and their ports."""

_LARGEST_PORT = 65_535
_ESCAPE = "%(?:[013-9A-F][0-9A-F]|2[0-9A-DF])"
_USER = f"(?:[A-Za-z0-9._~!$&()*+-]|{_ESCAPE})"
_LETTER = f"(?:[A-Za-z0-9_~!$&()*+,;=:@-]|{_ESCAPE})"
_STEP = rf"/?\.?{_LETTER}"
"""A letter of a path, with a slash or a point before it: so no part of the path is `.` or `..`."""

_MORE = f"(?:[A-Za-z0-9._~!$&()*+,;=:@/?-]|{_ESCAPE})"
_PLAIN_LABEL = "[a-z0-9]+(?:-[a-z0-9]+)*"
_LAST_LABEL = "[a-z][a-z0-9]*(?:-[a-z0-9]+)*"
_HOSTS = 9

_SPACIOUS = 600
"""Characters from which the parts of a URL may have lengths of their own; with less its length is that of the whole."""


@dataclass(frozen=True, slots=True)
class _Form:
    """What URLs of one type are made of; see `url`."""

    host_required: bool
    port_written: bool
    path_written: bool
    hosts: bool
    most: int | None

    @property
    def small(self) -> bool:
        """Whether only plain parts are used, so that the product with a length stays small."""
        return self.most is not None and self.most < _SPACIOUS

    def rounds(self, share: int, size: int) -> str:
        """How often a part that takes so much of a hundred may repeat something of so many characters."""
        if self.most is None or self.small:
            return "*"
        rest = self.most - _OVERHEAD
        return f"{{0,{rest * share // 100 // size}}}"


_OVERHEAD = 32 + 2 * 64 * 3 + 4 * 64 + 8
"""Characters that scheme, user, host and port may take together."""


@cache
def url(
    schemes: tuple[str, ...] | None = None,
    *,
    host_required: bool = False,
    port_written: bool = False,
    path_written: bool = False,
    hosts: bool = False,
    most: int | None = None,
) -> Node:
    """URLs.

    Args:
        schemes: Those allowed; `None` for any.
        host_required: Whether a host must be named.
        port_written: Whether a port must be.
        path_written: Whether there must be a path, longer than `/`.
        hosts: Whether there may be several hosts.
        most: Characters; with few of them there is no user and no IP address of version 6.
    """
    form = _Form(host_required or hosts, port_written, path_written, hosts, most)
    found = [_special(name, form) for name in (_SPECIAL if schemes is None else schemes) if name in _SPECIAL]
    any_other = Both(_read("[a-z][a-z0-9+.-]{0,30}"), alt(map(Text, _SPECIAL)), negate=True, end=":")
    other = any_other if schemes is None else alt(Text(name) for name in schemes if name not in _SPECIAL)
    if other is not NEVER:
        found.append(seq(other, Text("://"), _other(form)))
    if schemes is None and not form.host_required:
        found.append(
            seq(any_other, Text(":"), _read(f"{_LETTER}(?:{_STEP}){form.rounds(40, 5)}{_query(form)}"))
        )
    return _at_most(alt(found), most) if form.small else alt(found)


def _at_most(node: Node, most: int | None) -> Node:
    """The texts that are not longer, as a product: a count could lead to where no text can end."""
    pieces = [Repeat(_READABLE, 0, min(_PIECE, (most or 0) - start)) for start in range(0, most or 0, _PIECE)]
    return Both(node, seq(*pieces))


_PIECE = 32
_READABLE = chars([(0x21, 0x21), (0x23, 0x5B), (0x5D, 0x7E)])


def _special(scheme: str, form: _Form) -> Node:
    path = _read(_path(form))
    if scheme == "file":
        return seq(Text("file://"), path)
    default = _SPECIAL[scheme] or 0
    ports = alt([naturals(0, default - 1), naturals(default + 1, _LARGEST_PORT)])
    label, last = _labels(form)
    host = alt([_read(f"{label}{last}"), _read(_IPV4), *_literal(form)])
    return seq(Text(f"{scheme}://"), _authority(host, ports, form), path)


def _other(form: _Form) -> Node:
    label, last = _labels(form)
    host = alt([_read(f"{label}{last}"), *_literal(form)])
    authority = _authority(host, naturals(0, _LARGEST_PORT), form)
    path = _path(form)
    if form.path_written:
        return seq(authority, _read(path))
    found = seq(authority, _read(f"(?:{path}|{_query(form)})"))
    return found if form.host_required or form.port_written else alt([found, _read(path)])


def _labels(form: _Form) -> tuple[str, str]:
    """The labels of a host before the last, and the last, which begins with a letter: it is no number."""
    if form.most is None or form.small:
        return rf"(?:{_PLAIN_LABEL}\.)*", _LAST_LABEL
    return rf"(?:{_label(63)}\.){{0,3}}", _label(63, "[a-z]")


def _literal(form: _Form) -> list[Node]:
    return [] if form.small else [seq(Text("["), _ipv6(mapped=False), Text("]"))]


def _path(form: _Form) -> str:
    first = rf"\.?{_LETTER}(?:{_STEP}){form.rounds(50, 5)}/?"
    return f"/{first if form.path_written else f'(?:{first})?'}{_query(form)}"


def _query(form: _Form) -> str:
    return rf"(?:\?{_MORE}{form.rounds(35, 3)})?(?:#{_MORE}{form.rounds(10, 3)})?"


def _authority(host: Node, ports: Node, form: _Form) -> Node:
    user = EMPTY if form.small else _read(f"(?:{_USER}{{1,64}}(?::{_USER}{{1,64}})?@)?")
    one = seq(host, Repeat(seq(Text(":"), ports), 1 if form.port_written else 0, 1))
    return (
        seq(user, one, Repeat(seq(Text(","), user, one), 0, _HOSTS))
        if form.hosts and form.most is None
        else seq(user, one)
    )


_ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
_LOCAL = 64
_RESERVED: Sequence[str] = ("arpa", "invalid", "local", "localhost", "onion", "test")
"""Top-level names that the package email-validator refuses (RFC 6761)."""


@cache
def email() -> Node:
    """E-mail addresses that the package email-validator accepts and leaves as they are, in ASCII."""
    # In two halves, for a longer repetition would be counted, and a text might end in a point where it may not go on.
    half = Repeat(chars([(0x21, 0x7E)]), 0, _LOCAL // 2)
    local = Both(_read(rf"{_ATOM}+(?:\.{_ATOM}+)*"), seq(half, half), end="@")
    top = Both(_read("[a-z]{2,20}"), alt(map(Text, _RESERVED)), negate=True, end="(?![a-z])")
    few, many = (rf"{_label(longest)}\." for longest in (63, 30))
    wide = _read(f"{written_out(few, 1, 2)}|{written_out(many, 3, 5)}")
    return seq(local, Text("@"), wide, top)


@cache
def name_email() -> Node:
    """A name and an address, as `Ana <ana@example.com>`."""
    word = parse(r"[\w!#$%&'*+/=?^`{|}~-]+", search=False, unicode=True)
    return seq(word, Repeat(seq(Text(" "), word), 0, 9), Text(" <"), email(), Text(">"))
