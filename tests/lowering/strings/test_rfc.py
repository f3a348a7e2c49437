"""Formats, compared with the standard library, pydantic and the official test suite."""

from __future__ import annotations

import datetime
import ipaddress
import json
import re
import uuid
import warnings
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from structkit.automaton.construct.compile_rule import regular_dfa
from structkit.lowering.strings.raw_text import raw_language
from structkit.lowering.strings.registry import language
from structkit.lowering.strings.rfc import FORMAT_EXAMPLES, KNOWN_FORMATS, PERMISSIVE_FORMATS
from structkit.schema.ir.nodes import Format, String
from tests.regex.oracle import holds
from tests.shared import SHARED

SUITE = SHARED / "data/json-schema-test-suite/draft2020-12/optional/format"


def accepts(given: str | Format, text: str) -> bool:
    return holds(language(Format(given) if isinstance(given, str) else given), text)


@given(st.dates())
def test_every_date_is_accepted(date: datetime.date) -> None:
    assert accepts("date", date.isoformat())
    assert accepts("python:date", date.isoformat())


@given(st.integers(0, 9999), st.integers(0, 13), st.integers(0, 32))
def test_dates_are_dates_of_the_calendar(year: int, month: int, day: int) -> None:
    text = f"{year:04}-{month:02}-{day:02}"
    try:
        datetime.date.fromisoformat(text)
        is_valid = True
    except ValueError:
        is_valid = False
    assert accepts("date", text) == is_valid


@pytest.mark.parametrize("year", [1900, 2000, 2023, 2024, 2100, 2400, 4, 100])
def test_february_29_is_only_in_leap_years(year: int) -> None:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    assert accepts("date", f"{year:04}-02-29") == leap


zones = st.none() | st.integers(-1439, 1439).map(
    lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))
)


@given(
    st.datetimes(timezones=st.none() | zones),
    st.sampled_from(["any", "aware", "naive"]),
)
def test_datetimes_of_pydantic_are_accepted_in_their_zone(value: datetime.datetime, zone: str) -> None:
    aware = value.tzinfo is not None
    expected = {"any": True, "aware": aware, "naive": not aware}[zone]
    text = TypeAdapter(datetime.datetime).dump_json(value).decode()[1:-1]
    name = _zoned(zone)
    assert accepts(name, text) == accepts(name, value.isoformat()) == expected


def _zoned(zone: str) -> Format:
    return Format("python:datetime", (("zone", zone),))


def _uuid(version: int) -> Format:
    return Format("python:uuid", (("version", version),))


@given(st.times())
def test_times_of_python_are_accepted(value: datetime.time) -> None:
    assert accepts("python:time", value.isoformat())


@given(st.timedeltas(datetime.timedelta(days=-99_999_999), datetime.timedelta(days=99_999_999)))
def test_durations_of_pydantic_are_accepted(value: datetime.timedelta) -> None:
    text = TypeAdapter(datetime.timedelta).dump_json(value).decode()[1:-1]
    assert accepts("python:timedelta", text)


def fitting(given: Format) -> st.SearchStrategy[str]:
    """Generate texts from the pattern of the format."""
    from structkit.regex.nodes import Rules
    from structkit.regex.print import format_regex

    return st.from_regex(re.compile(format_regex(Rules(language(given), {})), re.ASCII), fullmatch=True)


PYTHON = {
    Format("python:date"): datetime.date,
    Format("python:datetime"): datetime.datetime,
    _zoned("aware"): datetime.datetime,
    _zoned("naive"): datetime.datetime,
    Format("python:time"): datetime.time,
    Format("python:timedelta"): datetime.timedelta,
    Format("python:uuid"): uuid.UUID,
    **{_uuid(version): uuid.UUID for version in (1, 3, 4, 5, 6, 7, 8)},
}


@pytest.mark.parametrize("given", PYTHON, ids=str)
@given(data=st.data())
def test_pydantic_accepts_the_texts_of_python_formats(given: Format, data: st.DataObject) -> None:
    text = data.draw(fitting(given))
    value = TypeAdapter(PYTHON[given]).validate_json(json.dumps(text))
    arguments = dict(given.arguments)
    if "zone" in arguments:
        assert (value.tzinfo is not None) == (arguments["zone"] == "aware")
    if "version" in arguments:
        assert value.version == arguments["version"]


@given(st.uuids(version=4))
def test_uuids_have_the_required_version_and_case(value: uuid.UUID) -> None:
    assert accepts(_uuid(4), str(value)) and accepts("python:uuid", str(value))
    assert accepts("uuid", str(value).upper())
    assert not accepts(_uuid(1), str(value)) and not accepts("python:uuid", value.hex)


@given(st.ip_addresses(v=4).map(str) | st.from_regex(r"\A[0-9]{1,3}(\.[0-9]{1,3}){3}\Z"))
def test_ipv4_addresses_are_those_of_the_standard_library(text: str) -> None:
    try:
        ipaddress.IPv4Address(text)
        is_valid = True
    except ValueError:
        is_valid = False
    assert accepts("ipv4", text) == is_valid


@given(
    st.ip_addresses(v=6).map(str)
    | st.lists(st.sampled_from(["::", ":", "1", "ffff", "0a", "1.2.3.4", "12345", "g"]), max_size=16).map(
        "".join
    )
)
def test_ipv6_addresses_are_those_of_the_standard_library(text: str) -> None:
    try:
        ipaddress.IPv6Address(text)
        is_valid = True
    except ValueError:
        is_valid = False
    assert accepts("ipv6", text) == is_valid


pieces = st.sampled_from(
    [
        "a",
        "(",
        ")",
        "[",
        "]",
        "*",
        "+",
        "{2}",
        "{1,9}",
        "{12,3}",
        "{12,30}",
        "{",
        "|",
        "^",
        "$",
        ".",
        "\\",
        "\\d",
        "b-z",
        "z-b",
        "(?:",
        "?",
    ]
)


@given(st.lists(pieces, max_size=7).map("".join))
def test_texts_of_the_format_regex_compile(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if accepts("regex", pattern):
            re.compile(pattern)


@pytest.mark.parametrize(
    ("name", "text", "valid"),
    [
        ("date-time", "2024-02-29T23:59:59Z", True),
        ("date-time", "2024-02-29T23:59:59.123456789+23:59", True),
        ("date-time", "2024-02-29T23:59:59", False),
        ("date-time", "2024-02-29T24:00:00Z", False),
        ("date-time", "2024-02-29T23:59:60Z", False),
        ("python:datetime", "2024-02-29 23:59:59", False),
        ("python:datetime", "2024-02-29T23:59:59.1234567", False),
        ("python:time", "23:59:60", False),
        ("python:time", "23:59:59Z", True),
        ("python:timedelta", "P", False),
        ("python:timedelta", "PT", False),
        ("python:timedelta", "P3DT4H5M6.5S", True),
        ("python:decimal", "-12.50", True),
        ("python:decimal", "1e5", False),
        ("python:decimal", "", False),
        ("email", "ana.souza+x@mail.example.com", True),
        ("email", "ana..souza@example.com", False),
        ("email", "@example.com", False),
        ("hostname", "a-b.example", True),
        ("hostname", "-a.example", False),
        ("hostname", "ab--c.example", False),
        ("hostname", ".".join(["a" * 63] * 4), False),
        ("uri", "https://user@example.com:80/a/b%20c?q=1#f", True),
        ("uri", "urn:isbn:0451450523", True),
        ("uri", "/a/b", False),
        ("uri", "http://a b", False),
        ("uri", "http://%zz", False),
        ("uri-reference", "../a?b", True),
        ("uri-reference", "a:b:c", True),
        ("uri-reference", "1:b", False),
        ("duration", "P1Y2M3DT4H5M6S", True),
        ("duration", "P1Y2D", False),
        ("duration", "P2W1D", False),
        ("json-pointer", "/a~1b/0", True),
        ("json-pointer", "/a~2", False),
        ("regex", "^(a|[b-z]{2,})*$", True),
        ("regex", "^[a-zA-Z0-9_]{3,16}$", True),
        ("regex", "a{3,2}", False),
        ("regex", "*", False),
        ("regex", "(a", False),
    ],
)  # fmt: skip
def test_texts_of_formats_are_classified(name: str, text: str, valid: bool) -> None:
    assert accepts(name, text) == valid


def test_pydantic_rejects_excluded_texts() -> None:
    for text in ("2024-02-29T23:59:60", "2023-02-29T00:00:00", "0000-01-01T00:00:00", "2024-01-01T24:00:00"):
        with pytest.raises(ValidationError):
            TypeAdapter(datetime.datetime).validate_json(json.dumps(text))


@pytest.mark.skipif(not SUITE.is_dir(), reason="the JSON Schema test suite is not in ../shared")
@pytest.mark.parametrize("name", list(KNOWN_FORMATS))
def test_formats_agree_with_the_official_suite(name: str) -> None:
    """Reject all invalid texts, and accept all valid ones except known exclusions."""
    tests = [
        (test["data"], test["valid"])
        for group in json.loads((SUITE / f"{name}.json").read_text())
        for test in group["tests"]
        if isinstance(test["data"], str)
    ]
    if name == "regex":
        # Exclude groups, flags and escapes that engines treat differently.
        tests = [(text, valid) for text, valid in tests if not text.startswith("(?")]
    assert [text for text, valid in tests if not valid and accepts(name, text)] == []
    rejected = [text for text, valid in tests if valid and not accepts(name, text)]
    known = {"idn-hostname": r"[^a-z0-9.-]|xn--", "hostname": "xn--", "idn-email": "[^ -~]"}
    known |= dict.fromkeys(("time", "date-time"), ":60") | {"iri": r"\[V|[\U000f0000-\U0010ffff]"}
    assert [text for text in rejected if not re.search(known.get(name, "$^"), text)] == []


def test_the_counts_of_the_format_regex_are_in_order() -> None:
    for low in (*range(13), 19, 89, 90, 99, 100, 999):
        for high in (*range(13), 20, 90, 99, 100, 101, 999):
            accepted = accepts("regex", f"a{{{low},{high}}}")
            # Numbers with two digits are compared by their first one.
            assert accepted == (
                low <= high if low < 10 or high < 10 else low // 10 < high // 10 and low < 100
            )


@pytest.mark.parametrize("name", PERMISSIVE_FORMATS)
def test_a_string_that_is_not_of_a_format_is_surely_not(name: str) -> None:
    """Of the texts between what is surely of the format and what surely is not, none is allowed."""
    excluded = regular_dfa(raw_language(String(forbidden_formats=(Format(name),)), python=False))
    wider = regular_dfa(PERMISSIVE_FORMATS[name]())
    texts = ["", "a", "a b@c", "@", "a.b-", "-", "é", "a:", "2000-13-45", "2000-01-01T:", "25:", "1.2.3.4", "::", "/~",
             "P1D", "#", "0#", "a@b", "00000000-0000-0000-0000-00000000000g", FORMAT_EXAMPLES[name]]  # fmt: skip
    for text in texts:
        assert excluded.accepts(text.encode()) != wider.accepts(text.encode()), text
    widened = regular_dfa(raw_language(String(forbidden_formats=(Format(name),)), python=False, widened=True))
    assert not widened.accepts(FORMAT_EXAMPLES[name].encode()) and widened.accepts(b"\n")


@pytest.mark.parametrize("name", sorted(KNOWN_FORMATS.keys() - PERMISSIVE_FORMATS.keys()))
def test_any_text_may_be_of_a_format_without_a_wider_language(name: str) -> None:
    schema = String(format=Format(name), max_length=9)
    for text in ("", "a b@c", "\n", FORMAT_EXAMPLES[name][:9]):
        assert holds(raw_language(schema, python=False, widened=True), text)


@pytest.mark.parametrize("last", ["", "1.2.3.4"])
def test_addresses_of_any_number_of_groups(last: str) -> None:
    """`::` stands for one group or more; an address of version 4 counts as two."""
    for before, after in product(range(9), range(9)):
        tail = ["ab"] * after + [last] * bool(last)
        for text in (":".join(["1"] * before + tail), f"{':'.join(['1'] * before)}::{':'.join(tail)}"):
            try:
                expected = bool(ipaddress.IPv6Address(text))
            except ValueError:
                expected = False
            assert accepts("ipv6", text) == expected, text
