"""Bounds of dates, times and durations, which pydantic's JSON Schema lacks, as arguments of private formats.

Core schemas are plain dicts here; this module does not import pydantic.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TypeVar

from structkit.schema.ir.keywords import FORMAT, UNSUPPORTED

__all__ = ["JsonObject", "date_of", "datetime_of", "duration_of", "format_schema", "time_of", "unsupported"]

JsonObject = dict[str, object]
Core = Mapping[str, object]
T = TypeVar("T", dt.date, dt.datetime, dt.timedelta)

_DAY = dt.timedelta(days=1)
_TICK = dt.timedelta(microseconds=1)
_ANY_DAY = dt.date(2000, 1, 1)


def unsupported(reason: str) -> JsonObject:
    """Return a subschema that the parser rejects, with its path."""
    return {UNSUPPORTED: reason}


def format_schema(kind: str, **arguments: object) -> JsonObject:
    """Return the schema of a string of a private format; arguments that are `None` are left out.

    >>> format_schema("bytes", max_bytes=3, min_bytes=None)["structkit:format"]
    {'name': 'python:bytes', 'arguments': {'max_bytes': 3}}
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    return {"type": "string", FORMAT: {"name": f"python:{kind}", "arguments": given}}


def date_of(schema: Core) -> JsonObject:
    """Return the schema of dates within bounds; past and future are relative to today."""
    low, high = _ends(schema, dt.date, _DAY, dt.date.min, dt.date.max)
    today = dt.datetime.now(_now_zone(schema)).date()
    if schema.get("now_op") == "past":
        high = min(today - _DAY, high or dt.date.max)
    elif schema.get("now_op") == "future":
        # A target in use until tomorrow must not generate the date of that day.
        low = max(today + 2 * _DAY, low or dt.date.min)
    return _format("date", low, high, None)


def time_of(schema: Core) -> JsonObject:
    """Return the schema of times of day within bounds, compared without offsets: times often have none."""
    given = {name: value for name in _BOUNDS if isinstance(value := schema.get(name), dt.time)}
    zone = _ZONES.get(schema.get("tz_constraint"))
    if any(bound.tzinfo is not None for bound in given.values()):
        if zone == "aware":
            return unsupported("an aware time cannot have bounds with an offset; use AwareDatetime")
        zone = "naive"
    moments = {
        name: dt.datetime.combine(_ANY_DAY, bound.replace(tzinfo=None)) for name, bound in given.items()
    }
    first = dt.datetime.combine(_ANY_DAY, dt.time.min)
    low, high = _ends(moments, dt.datetime, _TICK, first, dt.datetime.combine(_ANY_DAY, dt.time.max))
    described = _format("time", low, high, zone)
    return (
        described
        if UNSUPPORTED in described
        else _format("time", low and low.time(), high and high.time(), zone)
    )


def datetime_of(schema: Core) -> JsonObject:
    """Return the schema of datetimes within bounds.

    Pydantic compares local times if one datetime has no offset, and instants otherwise. Instants are bounded for the
    offset Z and for one fixed offset.
    """
    constraint = schema.get("tz_constraint")
    if isinstance(constraint, int):
        offset = dt.timezone(dt.timedelta(seconds=constraint))
        return _moments(schema, "utc" if constraint == 0 else str(offset).removeprefix("UTC"), offset)
    zone = _ZONES.get(constraint)
    bounds = (schema.get(name) for name in _BOUNDS)
    instants = any(isinstance(bound, dt.datetime) and bound.tzinfo is not None for bound in bounds)
    if not instants and "now_op" not in schema:
        return _moments(schema, zone, None)
    forms = [_moments(schema, "naive", None)] if zone != "aware" else []
    forms += [_moments(schema, "utc", dt.timezone.utc)] if zone != "naive" else []
    possible = [form for form in forms if UNSUPPORTED not in form]
    return {"anyOf": possible} if possible else forms[0]


def duration_of(schema: Core, *, seconds: bool) -> JsonObject:
    """Return the schema of durations within bounds, as text or as a number of seconds."""
    if "multiple_of" in schema:
        return unsupported(
            "`multiple_of` of timedelta cannot be enforced; remove it, or check it in a validator"
        )
    low, high = _ends(schema, dt.timedelta, _TICK, dt.timedelta.min, dt.timedelta.max)
    if not seconds:
        return _format("timedelta", low, high, None)
    return {
        "type": "number",
        "minimum": (-_MAX_DURATION if low is None else low).total_seconds(),  # 0 is false
        "maximum": (_MAX_DURATION if high is None else high).total_seconds(),
        "multipleOf": _TICK.total_seconds(),
    }


_MAX_DURATION = dt.timedelta(days=99_999_999)
"""Bound within which a float of seconds is precise to about a microsecond."""

_BOUNDS = ("ge", "gt", "le", "lt")
_ZONES: Mapping[object, str] = {"aware": "aware", "naive": "naive"}


def _moments(schema: Core, zone: str | None, offset: dt.timezone | None) -> JsonObject:
    """Return the schema of datetimes of one zone, with `offset` if known."""

    def clock(moment: dt.datetime) -> dt.datetime:
        local = moment.astimezone(offset) if moment.tzinfo is not None and offset is not None else moment
        return local.replace(tzinfo=None)

    bounds = {name: clock(value) for name in _BOUNDS if isinstance(value := schema.get(name), dt.datetime)}
    low, high = _ends(bounds, dt.datetime, _TICK, dt.datetime.min, dt.datetime.max)
    now = dt.datetime.now(offset or _now_zone(schema)).replace(tzinfo=None, microsecond=0)
    if schema.get("now_op") == "past":
        high = min(now - _TICK, high or dt.datetime.max)
    elif schema.get("now_op") == "future":
        low = max(now + _DAY, low or dt.datetime.min)
    return _format("datetime", low, high, zone)


def _ends(
    schema: Core, kind: type[T], step: dt.timedelta, earliest: T, latest: T
) -> tuple[T | None, T | None]:
    """Return the first and last value within bounds, `None` if unbounded; if no value fits, the first is later."""
    ge, gt, le, lt = (value if isinstance(value := schema.get(name), kind) else None for name in _BOUNDS)
    if (gt is not None and gt >= latest) or (lt is not None and lt <= earliest):
        return latest, earliest
    lows = [each for each in (ge, None if gt is None else gt + step) if each is not None]
    highs = [each for each in (le, None if lt is None else lt - step) if each is not None]
    return max(lows, default=None), min(highs, default=None)


def _format(
    kind: str, low: dt.date | dt.time | dt.timedelta | None, high: object, zone: str | None
) -> JsonObject:
    if low is not None and high is not None and low > high:  # type: ignore[operator]
        return unsupported(f"no {kind} is within the bounds; change one of ge, gt, le and lt")
    return format_schema(kind, low=_format_bound(low), high=_format_bound(high), zone=zone)


def _format_bound(end: object) -> str | int | None:
    if isinstance(end, dt.timedelta):
        return end // _TICK
    return end.isoformat() if isinstance(end, dt.date | dt.time) else None


def _now_zone(schema: Core) -> dt.timezone | None:
    """Return the zone of the current time; `None` for the local zone."""
    seconds = schema.get("now_utc_offset")
    return dt.timezone(dt.timedelta(seconds=seconds)) if isinstance(seconds, int) else None
