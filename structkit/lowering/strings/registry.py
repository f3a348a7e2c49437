"""Formats by name, those of Python types too: these may have arguments, as `python:date {"low": "2020-01-01"}`."""

from __future__ import annotations

import json
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
from structkit.lowering.strings.temporal import dates, datetimes, durations, times
from structkit.regex.charset import char_class
from structkit.regex.nodes import LiteralText, Node, Repeat, choice
from structkit.regex.pattern.parse import parse
from structkit.regex.substring import substrings

__all__ = ["format_names", "has_multiple_spellings", "is_known", "language"]


def format_names() -> list[str]:
    """The names of the formats that a JSON Schema may use."""
    return sorted(KNOWN_FORMATS)


def is_known(name: str) -> bool:
    """Whether a format has a language.

    >>> is_known("date"), is_known("python:url"), is_known("topic")
    (True, True, False)
    """
    return name in KNOWN_FORMATS or name.partition(" ")[0] in _PYTHON_FORMATS


def has_multiple_spellings(name: str) -> bool:
    """Whether a format has values that may be written in several ways.

    >>> has_multiple_spellings('python:datetime {"zone": "aware"}'), has_multiple_spellings("python:date")
    (True, False)
    """
    return name.partition(" ")[0] in _CANONICAL_FORMATS


def language(name: str, *, canonical: bool = False) -> Node:
    """The texts of a format.

    Args:
        name: Its name, for a Python type with its arguments as JSON behind a space.
        canonical: Whether each value is written in one way only, so that different texts are different values.

    >>> language('python:hex {"max_bytes": 0}')
    LiteralText(value='')
    """
    # A quote's arguments hold its whole source.
    return (_language.__wrapped__ if len(name) > _MAX_CACHED_NAME_LENGTH else _language)(name, canonical)


_MAX_CACHED_NAME_LENGTH = 1_000
"""Characters of a name that is not remembered."""


@lru_cache(maxsize=256)
def _language(name: str, canonical: bool) -> Node:
    if name in KNOWN_FORMATS:
        return KNOWN_FORMATS[name]()
    kind, _, text = name.partition(" ")
    given = json.loads(text) if text else {}
    arguments = {key: _frozen(value) for key, value in given.items()}
    return (_CANONICAL_FORMATS.get(kind, _PYTHON_FORMATS[kind]) if canonical else _PYTHON_FORMATS[kind])(
        **arguments
    )


def _frozen(value: object) -> object:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _uuid(version: int | None = None) -> Node:
    """RFC 9562, section 4, in lower case; with a version also its variant."""
    third = "[0-9a-f]{4}" if version is None else f"{version}[0-9a-f]{{3}}"
    fourth = "[0-9a-f]{4}" if version is None else "[89ab][0-9a-f]{3}"
    pattern = f"[0-9a-f]{{8}}-[0-9a-f]{{4}}-{third}-{fourth}-[0-9a-f]{{12}}"
    return parse(pattern, search=False, unicode=False)


def _zones() -> Node:
    """The names of time zones that this machine knows."""
    return choice(map(LiteralText, sorted(zoneinfo.available_timezones())))


@lru_cache(maxsize=2)
def _cased(*, upper: bool) -> Node:
    """Texts in lower case, or in upper case: those of characters that the change of case leaves as they are."""
    change = str.upper if upper else str.lower
    kept = ((code, code) for code in range(_CASELESS) if change(letter := chr(code)) == letter)
    return Repeat(char_class([*kept, (_CASELESS, 0x10FFFF)]))


_CASELESS = 0x20000
"""From here on no character has a case."""


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
        "python:lower": partial(_cased, upper=False),
        "python:name-email": name_email,
        "python:quote": substrings,
        "python:time": times,
        "python:timedelta": durations,
        "python:upper": partial(_cased, upper=True),
        "python:url": url,
        "python:uuid": _uuid,
        "python:zone": _zones,
    }
)
"""The formats of Python types, and what makes their languages from their arguments."""

_MULTIPLE_SPELLINGS = ("complex", "datetime", "decimal", "fraction", "time", "timedelta")
"""Those with values that may be written in several ways."""

_CANONICAL_FORMATS: Mapping[str, Callable[..., Node]] = MappingProxyType(
    {
        f"python:{name}": partial(_PYTHON_FORMATS[f"python:{name}"], canonical=True)
        for name in _MULTIPLE_SPELLINGS
    }
)
