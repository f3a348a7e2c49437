"""IP addresses, URLs and e-mail addresses in the canonical form that pydantic writes.

URLs are those that the crate `url` (https://url.spec.whatwg.org) does not change: ASCII host names in lower case, no
dot segments, no default port, no character that the crate escapes.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from structkit.lowering.numbers.integers import naturals
from structkit.regex.charset import char_class
from structkit.regex.nodes import EMPTY, NEVER, Intersection, LiteralText, Node, Repeat, choice, seq
from structkit.regex.pattern.parse import parse

__all__ = ["email", "ip_address", "ip_interface", "ip_network", "name_email", "unrolled", "url"]

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_GROUPS = 8


@cache
def _parse(pattern: str) -> Node:
    return parse(pattern, search=False, unicode=False)


_NONZERO = "[1-9a-f][0-9a-f]{0,3}"


@cache
def _groups(
    count: int, max_zero_run: int, *, first: bool = False, last: bool = False, zero_run: int = 0
) -> Node:
    """Return `count` groups of an IPv6 address with at most `max_zero_run` adjacent zeros.

    With `first` (`last`), the first (last) group is not zero.
    """
    if count == 0:
        return EMPTY if not (last and zero_run) else NEVER
    after = EMPTY if count == 1 else LiteralText(":")
    parts = [seq(_parse(_NONZERO), after, _groups(count - 1, max_zero_run, last=last))]
    if zero_run < max_zero_run and not first:
        parts.append(
            seq(LiteralText("0"), after, _groups(count - 1, max_zero_run, last=last, zero_run=zero_run + 1))
        )
    return choice(part for part in parts if part is not NEVER)


@cache
def _ipv6(*, mapped: bool) -> Node:
    """Return IPv6 addresses (RFC 5952, section 4): `::` replaces the first longest run of at least two zeros."""
    forms = [_groups(_GROUPS, 1)]
    for before in range(_GROUPS - 1):
        for after in range(_GROUPS - 1 - before):
            run = _GROUPS - before - after
            head = _groups(before, run - 1, last=True)
            tail = _groups(after, run, first=True)
            forms.append(seq(head, LiteralText("::"), tail))
    address = choice(forms)
    if not mapped or "." not in str(ipaddress.IPv6Address("::ffff:1.2.3.4")):
        return address
    plain = Intersection(
        address, seq(LiteralText("::ffff:"), _groups(2, 2)), negate=True, lookahead="(?![0-9a-f:])"
    )
    return choice([plain, seq(LiteralText("::ffff:"), _parse(_IPV4))])


def ip_address(version: int) -> Node:
    """Return the addresses of IP version 4 or 6, or of both (0).

    >>> ip_address(0) == choice([ip_address(4), ip_address(6)])
    True
    """
    return _for_version(version, _parse(_IPV4), _ipv6(mapped=True))


def ip_interface(version: int) -> Node:
    """Return addresses with the prefix length of their network."""
    ipv4 = seq(_parse(_IPV4), LiteralText("/"), naturals(0, 32))
    return _for_version(version, ipv4, seq(_ipv6(mapped=True), LiteralText("/"), naturals(0, 128)))


def ip_network(version: int) -> Node:
    """Return networks, whose bits after the prefix are 0; of version 6, those with `::` only at the end."""
    return _for_version(version, _networks4(), _networks6())


def _for_version(version: int, ipv4: Node, ipv6: Node) -> Node:
    return {4: ipv4, 6: ipv6}.get(version) or choice([ipv4, ipv6])


@cache
def _networks4() -> Node:
    octet, dot = _parse(_OCTET), LiteralText(".")
    parts: list[Node] = []
    for length in range(33):
        full_octets, bits = divmod(length, 8)
        octets: list[Node] = [octet] * full_octets
        if full_octets < 4:
            octets.append(choice(LiteralText(str(value)) for value in range(0, 256, 1 << (8 - bits))))
        octets += [LiteralText("0")] * (4 - len(octets))
        parts.append(
            seq(octets[0], dot, octets[1], dot, octets[2], dot, octets[3], LiteralText(f"/{length}"))
        )
    return choice(parts)


@cache
def _networks6() -> Node:
    parts: list[Node] = [seq(LiteralText("::/"), naturals(0, 128))]
    for count in range(1, _GROUPS + 1):
        suffix = {_GROUPS: "/", _GROUPS - 1: ":0/"}.get(count, "::/")
        head = EMPTY if count == 1 else seq(_groups(count - 1, 1), LiteralText(":"))
        for zeros in range(16):
            length = naturals(16 * count - zeros, 128)
            parts.append(seq(head, _group_ending(zeros), LiteralText(suffix), length))
    return choice(parts)


@cache
def _group_ending(zeros: int) -> Node:
    """Return nonzero groups with exactly `zeros` trailing zero bits."""
    digits, bits = divmod(zeros, 4)
    last = "".join(f"{value:x}" for value in range(1, 16) if (value & -value).bit_length() - 1 == bits)
    free_digits = 3 - digits
    before = f"(?:[1-9a-f][0-9a-f]{{0,{free_digits - 1}}})?" if free_digits else ""
    return _parse(f"{before}[{last}]{'0' * digits}")


_LABEL_END = "[a-z0-9]"
_LABEL_INNER = "[a-z0-9-]"


def _label(max_length: int, first: str = _LABEL_END) -> str:
    """Return labels (RFC 1123, section 2.1) in lower case, without `--` at positions 3 and 4, which excludes `xn--`."""
    start = rf"{_LABEL_INNER}(?:{_LABEL_END}{_LABEL_INNER}|-{_LABEL_END})"
    rest = rf"{start}{_LABEL_INNER}{{0,{max_length - 5}}}{_LABEL_END}"
    return f"{first}(?:{_LABEL_INNER}?{_LABEL_END}|{_LABEL_INNER}{{2}}{_LABEL_END}|{rest})?"


def unrolled(pattern: str, min_count: int, max_count: int) -> str:
    """Return a pattern repeated `min_count` to `max_count` times, as copies.

    A counted repetition of many characters becomes a rule; the masks of a rule without calls are faster to compute,
    and all targets share them.

    >>> unrolled("a", 1, 3)
    'a(?:a(?:a)?)?'
    """
    more = ""
    for _ in range(max_count - min_count):
        more = f"(?:{pattern}{more})?"
    return pattern * min_count + more


_SPECIAL = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "file": None}
"""The special schemes of the standard, and their default ports."""

_LARGEST_PORT = 65_535
_ESCAPE = "%(?:[013-9A-F][0-9A-F]|2[0-9A-DF])"
_USER_CHARACTER = f"(?:[A-Za-z0-9._~!$&()*+-]|{_ESCAPE})"
_PATH_CHARACTER = f"(?:[A-Za-z0-9_~!$&()*+,;=:@-]|{_ESCAPE})"
_PATH_UNIT = rf"/?\.?{_PATH_CHARACTER}"
"""A character of a path, after an optional slash and dot, so that no segment is `.` or `..`."""

_QUERY_CHARACTER = f"(?:[A-Za-z0-9._~!$&()*+,;=:@/?-]|{_ESCAPE})"
_PLAIN_LABEL = "[a-z0-9]+(?:-[a-z0-9]+)*"
_LAST_LABEL = "[a-z][a-z0-9]*(?:-[a-z0-9]+)*"
_MAX_FURTHER_HOSTS = 9

_MIN_LENGTH_FOR_ALL_PARTS = 700
"""Smallest maximum length with a separate limit for each part of a URL; below, only the total length is bounded."""


@dataclass(frozen=True, slots=True)
class _Form:
    """The arguments of `url`."""

    host_required: bool
    port_written: bool
    path_written: bool
    multiple_hosts: bool
    max_length: int | None

    @property
    def is_short(self) -> bool:
        """Return whether to use simple parts only, so that the product with a length is small."""
        return self.max_length is not None and self.max_length < _MIN_LENGTH_FOR_ALL_PARTS

    def quantifier(self, percent: int, size: int) -> str:
        """Return the quantifier for units of `size` characters in a part with `percent` of the length."""
        if self.max_length is None or self.is_short:
            return "*"
        rest = self.max_length - _OVERHEAD
        return f"{{0,{rest * percent // 100 // size}}}"


_OVERHEAD = 32 + 2 * 64 * 3 + 4 * 64 + 8
"""Maximum length of scheme, user, host and port together."""


@cache
def url(
    schemes: tuple[str, ...] | None = None,
    *,
    host_required: bool = False,
    port_written: bool = False,
    path_written: bool = False,
    multiple_hosts: bool = False,
    max_length: int | None = None,
) -> Node:
    """Return URLs.

    Args:
        schemes: The allowed schemes; `None` for all.
        host_required: Whether a host is required.
        port_written: Whether a port is required.
        path_written: Whether a path longer than `/` is required.
        multiple_hosts: Whether a URL may have more than one host.
        max_length: Maximum number of characters; if small, URLs have no user and no IPv6 address.
    """
    form = _Form(host_required or multiple_hosts, port_written, path_written, multiple_hosts, max_length)
    found = [_special(name, form) for name in (_SPECIAL if schemes is None else schemes) if name in _SPECIAL]
    any_other = Intersection(
        _parse("[a-z][a-z0-9+.-]{0,30}"), choice(map(LiteralText, _SPECIAL)), negate=True, lookahead=":"
    )
    other = (
        any_other
        if schemes is None
        else choice(LiteralText(name) for name in schemes if name not in _SPECIAL)
    )
    if other is not NEVER:
        found.append(seq(other, LiteralText("://"), _other(form)))
    if schemes is None and not form.host_required:
        found.append(
            seq(
                any_other,
                LiteralText(":"),
                _parse(f"{_PATH_CHARACTER}(?:{_PATH_UNIT}){form.quantifier(40, 5)}{_query(form)}"),
            )
        )
    return _at_most(choice(found), max_length) if form.is_short else choice(found)


def _at_most(node: Node, max_length: int | None) -> Node:
    """Return the texts of at most `max_length` characters, as a product, which has no dead ends."""
    pieces = [
        Repeat(_URL_CHARACTER, 0, min(_PIECE_LENGTH, (max_length or 0) - start))
        for start in range(0, max_length or 0, _PIECE_LENGTH)
    ]
    return Intersection(node, seq(*pieces))


_PIECE_LENGTH = 32
_URL_CHARACTER = char_class([(0x21, 0x21), (0x23, 0x5B), (0x5D, 0x7E)])


def _special(scheme: str, options: _Form) -> Node:
    path = _parse(_path(options))
    if scheme == "file":
        return seq(LiteralText("file://"), path)
    default = _SPECIAL[scheme] or 0
    ports = choice([naturals(0, default - 1), naturals(default + 1, _LARGEST_PORT)])
    label, last = _labels(options)
    host = choice([_parse(f"{label}{last}"), _parse(_IPV4), *_ipv6_hosts(options)])
    return seq(LiteralText(f"{scheme}://"), _authority(host, ports, options), path)


def _other(options: _Form) -> Node:
    label, last = _labels(options)
    host = choice([_parse(f"{label}{last}"), *_ipv6_hosts(options)])
    authority = _authority(host, naturals(0, _LARGEST_PORT), options)
    path = _path(options)
    if options.path_written:
        return seq(authority, _parse(path))
    found = seq(authority, _parse(f"(?:{path}|{_query(options)})"))
    return found if options.host_required or options.port_written else choice([found, _parse(path)])


def _labels(options: _Form) -> tuple[str, str]:
    """Return the patterns of the labels before the last, and of the last, which starts with a letter."""
    if options.max_length is None or options.is_short:
        return rf"(?:{_PLAIN_LABEL}\.)*", _LAST_LABEL
    return rf"(?:{_label(63)}\.){{0,3}}", _label(63, "[a-z]")


def _ipv6_hosts(options: _Form) -> list[Node]:
    return [] if options.is_short else [seq(LiteralText("["), _ipv6(mapped=False), LiteralText("]"))]


def _path(options: _Form) -> str:
    first = rf"\.?{_PATH_CHARACTER}(?:{_PATH_UNIT}){options.quantifier(50, 5)}/?"
    return f"/{first if options.path_written else f'(?:{first})?'}{_query(options)}"


def _query(options: _Form) -> str:
    return rf"(?:\?{_QUERY_CHARACTER}{options.quantifier(35, 3)})?(?:#{_QUERY_CHARACTER}{options.quantifier(10, 3)})?"


def _authority(host: Node, ports: Node, options: _Form) -> Node:
    user = (
        EMPTY
        if options.is_short
        else _parse(f"(?:{_USER_CHARACTER}{{1,64}}(?::{_USER_CHARACTER}{{1,64}})?@)?")
    )
    host_and_port = seq(host, Repeat(seq(LiteralText(":"), ports), 1 if options.port_written else 0, 1))
    return (
        seq(user, host_and_port, Repeat(seq(LiteralText(","), user, host_and_port), 0, _MAX_FURTHER_HOSTS))
        if options.multiple_hosts and options.max_length is None
        else seq(user, host_and_port)
    )


_ATOM_CHARACTER = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
_MAX_LOCAL_LENGTH = 64
_RESERVED: Sequence[str] = ("arpa", "invalid", "local", "localhost", "onion", "test")
"""Top-level names that the package email-validator rejects (RFC 6761)."""


@cache
def email() -> Node:
    """Return the ASCII e-mail addresses that the package email-validator accepts and does not change."""
    # Two halves: a longer repetition becomes a counted rule, which would allow a final dot that nothing can follow.
    half = Repeat(char_class([(0x21, 0x7E)]), 0, _MAX_LOCAL_LENGTH // 2)
    local = Intersection(
        _parse(rf"{_ATOM_CHARACTER}+(?:\.{_ATOM_CHARACTER}+)*"), seq(half, half), lookahead="@"
    )
    top = Intersection(
        _parse("[a-z]{2,20}"), choice(map(LiteralText, _RESERVED)), negate=True, lookahead="(?![a-z])"
    )
    long, short = (rf"{_label(max_length)}\." for max_length in (63, 30))
    domain = _parse(f"{unrolled(long, 1, 2)}|{unrolled(short, 3, 5)}")
    return seq(local, LiteralText("@"), domain, top)


@cache
def name_email() -> Node:
    """Return names with addresses, such as `Ana <ana@example.com>`."""
    word = parse(r"[\w!#$%&'*+/=?^`{|}~-]+", search=False, unicode=True)
    return seq(word, Repeat(seq(LiteralText(" "), word), 0, 9), LiteralText(" <"), email(), LiteralText(">"))
