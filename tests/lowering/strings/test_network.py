"""IP addresses and networks, compared with the standard library; URLs and e-mail, compared with pydantic."""

from __future__ import annotations

import ipaddress

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.lowering.strings.network import email, ip_address, ip_interface, ip_network, url
from tests.regex.oracle import holds

_groups = st.lists(st.sampled_from([0, 0, 0, 1, 0xFFFF, 0x20]), min_size=8, max_size=8)
_addresses = _groups.map(
    lambda groups: ipaddress.IPv6Address(sum(group << 16 * index for index, group in enumerate(groups)))
)


@given(_addresses)
def test_an_address_has_only_its_canonical_text(address: ipaddress.IPv6Address) -> None:
    language = ip_address(6)
    assert holds(language, str(address))
    assert holds(language, address.exploded) == (address.exploded == str(address))
    assert holds(ip_interface(6), f"{address}/64") and not holds(ip_interface(6), f"{address}/129")


@given(_addresses, st.integers(0, 128))
def test_invalid_networks_of_version_6_are_rejected(address: ipaddress.IPv6Address, length: int) -> None:
    text = f"{address}/{length}"
    try:
        ipaddress.IPv6Network(text)
    except ValueError:
        assert not holds(ip_network(6), text)


@given(st.integers(0, 2**32 - 1), st.integers(0, 32))
def test_networks_of_version_4_have_no_host_bits(number: int, length: int) -> None:
    interface = ipaddress.IPv4Interface((number, length))
    assert holds(ip_network(4), str(interface)) == (interface.ip == interface.network.network_address)
    assert holds(ip_network(4), str(interface.network))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("https://example.com/", True),
        ("https://example.com", False),
        ("https://EXAMPLE.com/", False),
        ("https://a.b:443/", False),
        ("https://a.b:444/c/d.e?f=g#h", True),
        ("https://a.b/c/../d", False),
        ("https://1.2.3.4/", True),
        ("https://1.2.3/", False),
        ("https://[::1]:8080/.well-known/x", True),
        ("https://a.b:65536/", False),
        ("https://xn--a.b/", False),
    ],
)
def test_only_canonical_urls_are_accepted(text: str, canonical: bool) -> None:
    assert holds(url(("https",)), text) == canonical
    if canonical:
        assert str(TypeAdapter(pydantic.HttpUrl).validate_python(text)) == text


def test_reserved_top_level_names_are_rejected() -> None:
    assert holds(email(), "ana@example.org")
    assert not any(holds(email(), f"ana@example.{top}") for top in ("test", "local", "invalid", "c0m"))


def test_networks_of_version_6_are_those_of_the_standard_library() -> None:
    """All lengths beside each bit of the last group that is not zero."""
    language = ip_network(6)
    for head in ("", "1", "1:2", "1:0:3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:8000"):
        text = head if head.count(":") == 7 else f"{head}::" if head.count(":") < 6 else f"{head}:0"
        for length in (0, 1, 15, 16, 17, 32, 47, 48, 49, 96, 97, 111, 112, 113, 124, 125, 126, 127, 128, 129):
            try:
                expected = str(ipaddress.IPv6Network(f"{text}/{length}")) == f"{text}/{length}"
            except ValueError:
                expected = False
            assert holds(language, f"{text}/{length}") == expected, (text, length)


@pytest.mark.parametrize(("address", "most"), [("10.0.0.1", 32), ("::1", 128)])
def test_every_prefix_length_is_written_without_zeros(address: str, most: int) -> None:
    for language in (ip_interface(4 if most == 32 else 6), ip_interface(0)):
        automaton = regular_dfa(language)
        lengths = [*map(str, range(200)), "00", "01", "-1", "", "+1"]
        found = automaton.accepts_each([f"{address}/{length}".encode() for length in lengths])
        assert [length for length, is_in in zip(lengths, found, strict=True) if is_in] == lengths[: most + 1]
