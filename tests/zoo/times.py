"""Dates, times, durations and UUIDs."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Annotated

import pydantic
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict

from tests.zoo.specimen import Kind, Specimen

_UTC = dt.timezone.utc
_LISBON = dt.timezone(dt.timedelta(hours=1))


class Seconds(BaseModel):
    model_config = ConfigDict(ser_json_timedelta="float")
    a: dt.timedelta


class ShortSeconds(BaseModel):
    model_config = ConfigDict(ser_json_timedelta="float")
    a: Annotated[dt.timedelta, Ge(dt.timedelta(0)), Le(dt.timedelta(hours=1))]


def _version(number: int) -> uuid.UUID:
    return uuid.UUID(f"12345678-1234-{number}678-9234-567812345678")


def _uuid(number: int) -> Specimen:
    other = 4 if number != 4 else 1
    return Specimen(
        getattr(pydantic, f"UUID{number}"), [_version(number)], [f'"{_version(other)}"', '"1234"']
    )


TIMES: Kind = {
    "date": Specimen(
        dt.date,
        [dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31)],
        ['"2023-02-29"', '"2024-13-01"', '"0000-01-01"', '"1900-02-29"', '"2024-1-1"', "0"],
    ),
    "date, ge, lt": Specimen(
        Annotated[dt.date, Ge(dt.date(2019, 11, 30)), Lt(dt.date(2024, 3, 1))],
        [dt.date(2019, 11, 30), dt.date(2020, 1, 1), dt.date(2024, 2, 29)],
        ['"2019-11-29"', '"2024-03-01"', '"2023-02-29"', '"1999-12-31"'],
    ),
    "date, gt": Specimen(
        Annotated[dt.date, Gt(dt.date(2023, 12, 31))],
        [dt.date(2024, 1, 1), dt.date(9999, 12, 31)],
        ['"2023-12-31"', '"1023-12-31"'],
    ),
    "condate(le=...)": Specimen(
        pydantic.condate(le=dt.date(999, 2, 28)), [dt.date(1, 1, 1), dt.date(999, 2, 28)], ['"0999-03-01"']
    ),
    "PastDate": Specimen(
        pydantic.PastDate,
        [dt.date(2020, 2, 29), dt.date(1, 1, 1)],
        ['"2999-01-01"', '"2023-02-29"'],
        limits="before the day on which the target is compiled",
    ),
    "FutureDate": Specimen(
        pydantic.FutureDate,
        [dt.date(2999, 2, 28)],
        ['"2020-01-01"', '"2999-02-29"'],
        limits="at least two days after the day on which the target is compiled",
    ),
    "time": Specimen(
        dt.time,
        [dt.time(0, 0), dt.time(23, 59, 59, 500000), dt.time(1, tzinfo=_UTC), dt.time(1, tzinfo=_LISBON)],
        ['"24:00:00"', '"12:60:00"', '"12:00:60"'],
    ),
    "time, ge, lt": Specimen(
        Annotated[dt.time, Ge(dt.time(9, 30)), Lt(dt.time(17))],
        [dt.time(9, 30), dt.time(16, 59, 59, 999999), dt.time(12, 0, 0, 5)],
        ['"09:29:59"', '"17:00:00"', '"09:29:59.999999"'],
    ),
    "time, gt": Specimen(
        Annotated[dt.time, Gt(dt.time(9, 30, 0, 500000))],
        [dt.time(9, 30, 0, 500001), dt.time(23, 59, 59)],
        ['"09:30:00.500000"', '"09:30:00"', '"09:30:00.5"'],
    ),
    "datetime": Specimen(
        dt.datetime,
        [
            dt.datetime(2024, 2, 29, 1, 2, 3),
            dt.datetime(2024, 1, 1, tzinfo=_UTC),
            dt.datetime(2024, 1, 1, 1, 1, 1, 5),
        ],
        ['"2023-02-29T00:00:00"', '"2024-01-01T00:00:60"', '"2024-01-01T24:00:00"', '"2024-01-01"'],
    ),
    "AwareDatetime": Specimen(
        pydantic.AwareDatetime,
        [dt.datetime(2024, 1, 1, tzinfo=_UTC), dt.datetime(2024, 1, 1, tzinfo=_LISBON)],
        ['"2024-01-01T00:00:00"', '"2023-02-29T00:00:00Z"'],
    ),
    "NaiveDatetime": Specimen(
        pydantic.NaiveDatetime, [dt.datetime(2024, 1, 1, 12)], ['"2024-01-01T00:00:00Z"', '"x"']
    ),
    "datetime, ge, lt": Specimen(
        Annotated[dt.datetime, Ge(dt.datetime(2020, 5, 17, 9, 30)), Lt(dt.datetime(2020, 5, 18))],
        [
            dt.datetime(2020, 5, 17, 9, 30),
            dt.datetime(2020, 5, 17, 23, 59, 59, 999999),
            dt.datetime(2020, 5, 17, 9, 30, 0, 1),
        ],
        ['"2020-05-17T09:29:59"', '"2020-05-18T00:00:00"', '"2021-05-17T12:00:00"'],
    ),
    "datetime, ge with offset": Specimen(
        Annotated[pydantic.AwareDatetime, Ge(dt.datetime(2020, 5, 17, 9, 30, tzinfo=_LISBON))],
        [dt.datetime(2020, 5, 17, 8, 30, tzinfo=_UTC), dt.datetime(2021, 1, 1, tzinfo=_UTC)],
        ['"2020-05-17T08:29:59Z"', '"2019-01-01T00:00:00Z"'],
        limits="the offset is Z",
    ),
    "PastDatetime": Specimen(
        pydantic.PastDatetime,
        [dt.datetime(2020, 2, 29, 1)],
        ['"2999-01-01T00:00:00Z"'],
        limits="before now, when the target is compiled; without an offset, or with Z",
    ),
    "FutureDatetime": Specimen(
        pydantic.FutureDatetime,
        [dt.datetime(2999, 1, 1, 1)],
        ['"2020-01-01T00:00:00Z"'],
        limits="at least a day after now, when the target is compiled; without an offset, or with Z",
    ),
    "timedelta": Specimen(
        dt.timedelta,
        [dt.timedelta(0), dt.timedelta(days=400, seconds=5), -dt.timedelta(hours=1, microseconds=1)],
        ['"P"', '"PT"', '"1D"', '"P1.5D"', '"PT1H1H"'],
    ),
    "timedelta, ge, le": Specimen(
        Annotated[dt.timedelta, Ge(dt.timedelta(0)), Le(dt.timedelta(days=2, hours=3))],
        [dt.timedelta(0), dt.timedelta(days=2, hours=3), dt.timedelta(minutes=90, microseconds=500)],
        ['"P2DT3H1S"', '"P3D"', '"-PT1S"', '"P1Y"'],
        limits="as pydantic writes it: PT1H30M, never PT90M",
    ),
    "timedelta, gt, lt": Specimen(
        Annotated[dt.timedelta, Gt(-dt.timedelta(days=366)), Lt(-dt.timedelta(hours=1))],
        [-dt.timedelta(days=365), -dt.timedelta(hours=2), -dt.timedelta(hours=1, microseconds=1)],
        ['"-PT1H"', '"-P1Y1D"', '"PT1S"', '"PT0S"'],
        limits="as pydantic writes it",
    ),
    "timedelta, bounds in seconds and as text": Specimen(
        Annotated[dt.timedelta, Ge(0), Lt("P1DT1S")],
        [dt.timedelta(0), dt.timedelta(days=1)],
        ['"-PT1S"', '"P1DT1S"'],
    ),
    "date, datetime, time, bounds as text": Specimen(
        tuple[
            Annotated[dt.date, Ge("2024-02-01")],
            Annotated[dt.datetime, Ge(dt.date(2024, 2, 1)), Lt("2024-02-02T00:00:00")],
            Annotated[dt.time, Lt("12:00")],
        ],
        [(dt.date(2024, 2, 1), dt.datetime(2024, 2, 1, 5), dt.time(11))],
        [
            '["2024-01-31", "2024-02-01T05:00:00", "11:00:00"]',
            '["2024-02-01", "2024-01-31T23:00:00", "11:00:00"]',
            '["2024-02-01", "2024-02-02T00:00:00", "11:00:00"]',
            '["2024-02-01", "2024-02-01T05:00:00", "12:00:00"]',
        ],
    ),
    "datetime, gt=0": Specimen(
        Annotated[dt.datetime, Gt(0)],
        [dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)],
        ['"1969-12-31T23:00:00Z"', '"1969-12-31T23:00:00"'],
        limits="with the offset Z, or without one",
    ),
    "timedelta, ser_json_timedelta='float'": Specimen(
        Seconds,
        [Seconds(a=dt.timedelta(seconds=1.5)), Seconds(a=dt.timedelta(days=-3))],
        ['{"a": "P"}', '{"a": "x"}', '{"a": 1e20}'],
    ),
    "timedelta, ser_json_timedelta='float', ge=0, le=1 hour": Specimen(
        ShortSeconds, [ShortSeconds(a=dt.timedelta(0))], ['{"a": -1}', '{"a": 3601}']
    ),
    "UUID": Specimen(
        uuid.UUID,
        [uuid.UUID(int=0), uuid.UUID("12345678-1234-5678-1234-567812345678")],
        ['"1234"', '"12345678123456781234567812345678x"'],
    ),
    **{f"UUID{number}": _uuid(number) for number in (1, 3, 4, 5, 6, 7, 8)},
}
