"""The languages of string formats: those of JSON Schema, and those of Python types, which take arguments."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import MappingProxyType

from structkit.lowering.strings.binary import (
    base64,
    complex_strings,
    decimal_strings,
    float_keys,
    fraction_strings,
    hexadecimal,
    utf8,
)
from structkit.lowering.strings.network import email, ip_address, ip_interface, ip_network, name_email, url
from structkit.lowering.strings.rfc import KNOWN_FORMATS
from structkit.lowering.strings.str_methods import cased_texts, valid_texts
from structkit.lowering.strings.temporal import dates, datetimes, durations, times
from structkit.regex.nodes import LiteralText, Node, choice
from structkit.regex.pattern.parse import parse
from structkit.regex.substring import substrings
from structkit.schema.ir.keywords import STR_METHODS
from structkit.schema.ir.nodes import Format
from structkit.schema.markers.quote import QUOTE_FORMAT

__all__ = ["format_names", "has_multiple_spellings", "is_known", "language"]


def format_names() -> list[str]:
    """Return the names of the known formats of JSON Schema."""
    return sorted(KNOWN_FORMATS)


def is_known(given: Format) -> bool:
    """Return whether a format has a language.

    >>> is_known(Format("date")), is_known(Format("python:url")), is_known(Format("topic"))
    (True, True, False)
    """
    return given.name in KNOWN_FORMATS or given.name in _PYTHON_FORMATS


def has_multiple_spellings(given: Format) -> bool:
    """Return whether some values of a format have more than one spelling.

    >>> has_multiple_spellings(Format("python:datetime")), has_multiple_spellings(Format("python:date"))
    (True, False)
    """
    return given.name in _CANONICAL_FORMATS


def language(given: Format, *, canonical: bool = False) -> Node:
    """Return the language of a format.

    Args:
        given: A known format.
        canonical: Whether each value has one spelling only, so that distinct texts are distinct values.

    >>> language(Format("python:hex", (("max_bytes", 0),)))
    LiteralText(value='')
    """
    # A quote holds its source, which can be long: do not cache it.
    return (_language.__wrapped__ if given.name == QUOTE_FORMAT else _language)(given, canonical)


@lru_cache(maxsize=256)
def _language(given: Format, canonical: bool) -> Node:
    name = given.name
    if name in KNOWN_FORMATS:
        return KNOWN_FORMATS[name]()
    build = _PYTHON_FORMATS[name]
    if canonical:
        build = _CANONICAL_FORMATS.get(name, build)
    return build(**dict(given.arguments))


def _uuid(version: int | None = None) -> Node:
    """Return UUIDs (RFC 9562, section 4) in lower case; with a version, of its variant only."""
    third = "[0-9a-f]{4}" if version is None else f"{version}[0-9a-f]{{3}}"
    fourth = "[0-9a-f]{4}" if version is None else "[89ab][0-9a-f]{3}"
    pattern = f"[0-9a-f]{{8}}-[0-9a-f]{{4}}-{third}-{fourth}-[0-9a-f]{{12}}"
    return parse(pattern, search=False, unicode=False)


def _zones() -> Node:
    """Return the names of the time zones of this machine."""
    return choice(map(LiteralText, sorted(zoneinfo.available_timezones())))


_PYTHON_FORMATS: Mapping[str, Callable[..., Node]] = MappingProxyType(
    {
        "python:base64": base64,
        "python:bytes": utf8,
        "python:complex": complex_strings,
        "python:date": dates,
        "python:datetime": datetimes,
        "python:decimal": decimal_strings,
        "python:email": email,
        "python:float-key": float_keys,
        "python:fraction": fraction_strings,
        "python:hex": hexadecimal,
        "python:ip-address": ip_address,
        "python:ip-interface": ip_interface,
        "python:ip-network": ip_network,
        "python:lower": partial(cased_texts, upper=False),
        "python:name-email": name_email,
        "python:quote": substrings,
        "python:time": times,
        "python:timedelta": durations,
        "python:upper": partial(cased_texts, upper=True),
        "python:url": url,
        "python:uuid": _uuid,
        "python:zone": _zones,
        **{f"python:{method}": partial(valid_texts, method) for method in STR_METHODS},
    }
)
"""The formats of Python types, and functions from their arguments to their languages."""

_MULTIPLE_SPELLINGS = ("complex", "datetime", "decimal", "fraction", "time", "timedelta")
"""Formats with values that have more than one spelling."""

_CANONICAL_FORMATS: Mapping[str, Callable[..., Node]] = MappingProxyType(
    {
        f"python:{name}": partial(_PYTHON_FORMATS[f"python:{name}"], canonical=True)
        for name in _MULTIPLE_SPELLINGS
    }
)
