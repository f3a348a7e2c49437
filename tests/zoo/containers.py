"""Lists, sets, tuples and mappings."""

from __future__ import annotations

import collections
import datetime as dt
import uuid
from collections.abc import Hashable, Iterable, Mapping, MutableSequence, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from ipaddress import IPv6Address
from typing import Annotated, Any, Literal, NamedTuple

import pydantic
from pydantic import Field, Json, JsonValue, StringConstraints, UrlConstraints

from tests.zoo.choices import Color, Level
from tests.zoo.specimen import Kind, Specimen


class Point(NamedTuple):
    x: int
    y: int


class Loose(NamedTuple):
    x: int
    y: str = "a"


_UTC = dt.timezone.utc

CONTAINERS: Kind = {
    "list[int]": Specimen(list[int], [[], [1], [1, 2, 3]], ["[1,2]", "[1, ]", "[", '["1"]', '["x"]']),
    "list": Specimen(list, [[], [1, "a", [None]]], ["{}", "1"]),
    "list, min_length=1, max_length=3": Specimen(
        Annotated[list[bool], Field(min_length=1, max_length=3)],
        [[True], [True] * 3],
        ["[]", "[true, true, true, true]"],
    ),
    "list, min_length=30, max_length=40": Specimen(
        Annotated[list[int], Field(min_length=30, max_length=40)],
        [[1] * 30, [1] * 40],
        [f"[{', '.join('1' * 29)}]", f"[{', '.join('1' * 41)}]"],
    ),
    "conlist(int, max_length=2)": Specimen(pydantic.conlist(int, max_length=2), [[], [1, 2]], ["[1, 2, 3]"]),
    "list[list[str]]": Specimen(list[list[str]], [[["a"], []]], ["[[]", "[[1]]"]),
    "list of a union": Specimen(list[Literal["a"] | int | None], [["a", 1, None]], ['["b"]']),
    "Sequence[int]": Specimen(Sequence[int], [[1, 2]], ['["a"]', "1"]),
    "MutableSequence[int]": Specimen(MutableSequence[int], [[1, 2]], ['["a"]', "1"]),
    "Iterable[int]": Specimen(
        Iterable[int],
        texts=["[]", "[1, 2]"],
        refuses=['["a"]', "1"],
        limits="a list; pydantic itself validates items only when they are read",
    ),
    "deque[int], maxlen=2": Specimen(
        Annotated[collections.deque[int], Field(max_length=2)],
        [collections.deque([1, 2])],
        ["[1, 2, 3]", '["a"]'],
    ),
    "set[int]": Specimen(set[int], [{1, 2, 3}, set()], ["[1, 1]", "[1, 2, 1]", '["a"]']),
    "set": Specimen(set, [set(), {1, "a", None}], ["[[1]]", "[{}]", '["a", "a"]']),
    "set[int], min_length=2": Specimen(
        Annotated[set[int], Field(min_length=2)], [{1, 2}, {10, 1}], ["[1]", "[1, 1]"]
    ),
    "set[bool], min_length=2": Specimen(
        Annotated[set[bool], Field(min_length=2)],
        [{True, False}],
        ["[true]", "[true, true]", "[true, false, true]"],
    ),
    "set[Literal], min_length=3": Specimen(
        Annotated[set[Literal["a", "ab", "b"]], Field(min_length=3)],
        [{"a", "ab", "b"}],
        ['["a", "ab"]', '["a", "a", "b"]'],
    ),
    "set[float], min_length=2": Specimen(
        Annotated[set[float], Field(min_length=2)],
        [{1.0, 0.5, 1e22, 1e-7, 5e-324}],
        ["[1, 1.0]", "[1.5]", "[0.1, 0.10000000000000001]", "[1e2, 100.0]", "[0.0, -0.0]"],
        limits="as Python writes it, with at most 15 digits",
    ),
    "set[float]": Specimen(
        set[float],
        [set(), {0.1 + 0.2, 1.5, 1e300, -2.0}],
        ["[1.5, 1.5]", "[1E22]", '["x"]'],
    ),
    "set[float], ge=0, lt=1e20": Specimen(
        set[Annotated[float, Field(ge=0, lt=1e20)]],
        [{0.0, 1e-300, 9.9e19}],
        ["[-1.0]", "[1e+20]"],
    ),
    "set[int | float], min_length=2": Specimen(
        Annotated[set[int | float], Field(min_length=2)],
        texts=["[1, 0.5, 1e-07]"],
        refuses=["[1, 1.0]", "[1]"],
        limits="an integral float is written as an integer, without an exponent",
    ),
    "set[bool | int], min_length=2": Specimen(
        Annotated[set[bool | int], Field(min_length=2)],
        texts=["[true, 2]"],
        refuses=["[true, 1]", "[false, 0]"],
    ),
    "set[str], to_lower, min_length=2": Specimen(
        Annotated[set[Annotated[str, StringConstraints(to_lower=True)]], Field(min_length=2)],
        [{"a", "b"}],
        ['["a", "A"]', '["a"]'],
    ),
    "set[str], strip_whitespace, min_length=2": Specimen(
        Annotated[set[Annotated[str, StringConstraints(strip_whitespace=True)]], Field(min_length=2)],
        [{"a", "b c"}],
        ['["a", "a "]'],
    ),
    "set[Decimal], min_length=2": Specimen(
        Annotated[set[Decimal], Field(min_length=2)],
        [{Decimal("1.5"), Decimal(2)}],
        ['["1.5", "1.50"]', '["1", 1]'],
        limits="without trailing zeros in a fraction",
    ),
    "set[datetime], min_length=2": Specimen(
        Annotated[set[dt.datetime], Field(min_length=2)],
        [{dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=_UTC)}],
        ['["2024-01-01T00:00:00Z", "2024-01-01T01:00:00+01:00"]', '["2024-01-01T00:00:00"]'],
        limits="the offset is Z",
    ),
    "set[timedelta], min_length=2": Specimen(
        Annotated[set[dt.timedelta], Field(min_length=2)],
        [{dt.timedelta(1), dt.timedelta(2)}],
        ['["PT24H", "P1D"]', '["P1D"]'],
    ),
    "set[IPv6Address], min_length=2": Specimen(
        Annotated[set[IPv6Address], Field(min_length=2)],
        [{IPv6Address("::1"), IPv6Address("::")}],
        ['["::1", "0::1"]'],
    ),
    "set[HttpUrl], min_length=2": Specimen(
        Annotated[set[Annotated[pydantic.HttpUrl, UrlConstraints(max_length=40)]], Field(min_length=2)],
        [{pydantic.HttpUrl("https://a.b"), pydantic.HttpUrl("https://a.c")}],
        ['["https://a.b/", "https://a.b"]', '["https://a.b/"]'],
    ),
    "set[tuple[int, str]], min_length=2": Specimen(
        Annotated[set[tuple[int, str]], Field(min_length=2)],
        [{(1, "a"), (1, "b")}],
        ['[[1, "a"]]', '[[1, "a"], [1, "a"]]'],
    ),
    "set[Json[int]], min_length=2": Specimen(
        Annotated[set[Json[int]], Field(min_length=2)], texts=['["1", "2"]'], refuses=['["1", "1"]', '["1"]']
    ),
    "frozenset[str]": Specimen(frozenset[str], [frozenset({"a", "b"})], ['["a", "a"]', "[1]"]),
    "AbstractSet[int]": Specimen(AbstractSet[int], [frozenset({1, 2})], ["[1, 1]", '["a"]']),
    "conset(int, max_length=2)": Specimen(pydantic.conset(int, max_length=2), [{1, 2}], ["[1, 2, 3]"]),
    "set[Enum]": Specimen(set[Color], [{Color.RED, Color.GREEN}], ['["red", "red"]', '["blue"]']),
    "tuple[int, str, bool]": Specimen(
        tuple[int, str, bool], [(1, "a", True)], ["[1]", '[1, "a"]', '["a", 1, true]', '[1, "a", true, 1]']
    ),
    "tuple[int, ...]": Specimen(tuple[int, ...], [(), (1, 2)], ['["a"]']),
    "tuple[int, ...], min_length=2": Specimen(
        Annotated[tuple[int, ...], Field(min_length=2)], [(1, 2)], ["[1]", "[]"]
    ),
    "tuple": Specimen(tuple, [(), (1, "a")], ["{}"]),
    "tuple[()]": Specimen(tuple[()], [()], ["[1]"]),
    "NamedTuple": Specimen(
        Point, [Point(1, 2)], ["[1]", "[1, 2, 3]", '{"x": 1, "y": 2}'], limits="as an array"
    ),
    "NamedTuple with a default": Specimen(
        Loose, [Loose(1), Loose(1, "b")], ["[]", "[1]", '[1, "a", 2]'], limits="as an array"
    ),
    "dict[str, int]": Specimen(
        dict[str, int],
        [{}, {"a": 1, "b": -2}, {"": 0, '\n"': 1}],
        ['{"a": "x"}', "{1: 2}", '{"a": 1,}', '{"a": 1, "a": 2}'],
    ),
    "dict": Specimen(dict, [{}, {"a": [1]}], ["[]"]),
    "dict[str, int], min_length=2, max_length=2": Specimen(
        Annotated[dict[str, int], Field(min_length=2, max_length=2)],
        [{"a": 1, "b": 2}],
        ['{"a": 1}', '{"a": 1, "a": 2}', '{"a": 1, "b": 2, "c": 3}'],
    ),
    "dict[str with pattern, bool]": Specimen(
        dict[Annotated[str, Field(pattern="^[a-z]$")], bool], [{"a": True}], ['{"A": true}', '{"aa": true}']
    ),
    "dict[str with lengths, int]": Specimen(
        dict[Annotated[str, Field(min_length=1, max_length=2)], int], [{"ab": 1}], ['{"": 1}', '{"abc": 1}']
    ),
    "dict[Literal['x', 'y'], int]": Specimen(
        dict[Literal["x", "y"], int], [{"x": 1}, {"x": 1, "y": 2}], ['{"z": 1}', '{"x": 1, "x": 2}']
    ),
    "dict[int, str]": Specimen(
        dict[int, str], [{1: "a", -20: "b"}], ['{"x": "a"}', '{"1.5": "a"}', '{"01": "a", "1": "b"}']
    ),
    "dict[PositiveInt, str]": Specimen(
        dict[pydantic.PositiveInt, str], [{1: "a", 20: "b"}], ['{"0": "a"}', '{"-1": "a"}']
    ),
    "dict[float, int]": Specimen(
        dict[float, int],
        [{1.5: 1, 2.0: 3, 1e22: 4, 0.1 + 0.2: 5}],
        ['{"x": 1}', '{"1.5": 1, "1.50": 2}', '{"1": 1}'],
        limits="as Python writes it, except -0.0",
    ),
    "dict[float, int], gt=0, min_length=2": Specimen(
        Annotated[dict[Annotated[float, Field(gt=0)], int], Field(min_length=2)],
        [{1.5: 1, 1e-7: 3}],
        ['{"1.5": 1, "0.0": 2}', '{"1.5": 1}', '{"0.1": 1, "0.10000000000000001": 2}'],
        limits="as Python writes it, with at most 15 digits",
    ),
    "dict[Decimal, int]": Specimen(
        dict[Decimal, int], [{Decimal("1.5"): 1}], ['{"x": 1}', '{"1.5": 1, "1.50": 2}']
    ),
    "dict[bool, int]": Specimen(dict[bool, int], [{True: 1}], ['{"maybe": 1}']),
    "dict[date, int]": Specimen(
        dict[dt.date, int], [{dt.date(2024, 2, 29): 1}], ['{"2023-02-29": 1}', '{"x": 1}']
    ),
    "dict[datetime, int], min_length=2": Specimen(
        Annotated[dict[dt.datetime, int], Field(min_length=2)],
        [{dt.datetime(2024, 2, 29): 1, dt.datetime(2024, 3, 1): 1}],
        ['{"2023-02-29T00:00:00": 1}', '{"2024-01-01T00:00:00Z": 1, "2024-01-01T01:00:00+01:00": 2}'],
    ),
    "dict[UUID, int]": Specimen(dict[uuid.UUID, int], [{uuid.UUID(int=1): 1}], ['{"x": 1}']),
    "dict[Enum, int]": Specimen(dict[Color, int], [{Color.RED: 1}], ['{"blue": 1}']),
    "dict[IntEnum, int]": Specimen(dict[Level, int], [{Level.LOW: 1}], ['{"2": 1}', '{"LOW": 1}']),
    "dict[int | str, int]": Specimen(
        dict[int | str, int], texts=['{"1": 1, "a": 2}'], refuses=['{"a": "b"}']
    ),
    "dict[float | int, int]": Specimen(
        dict[float | int, int],
        [{1: 1, 2.5: 2}],
        ['{"x": 1}', '{"1.50": 1}'],
        limits="a float with up to 9 digits before and 6 after the point",
    ),
    "dict[int | None, int]": Specimen(dict[int | None, int], [{1: 1}], ['{"null": 1}', '{"x": 1}']),
    "dict[Any, Any]": Specimen(dict[Any, Any], [{"a": [1]}], ["[]"]),
    "dict[HttpUrl, int]": Specimen(
        dict[pydantic.HttpUrl, int], [{pydantic.HttpUrl("https://a.b"): 1}], ['{"x": 1}', '{"ftp://a.b/": 1}']
    ),
    "dict[Literal[1, 'a', None], int]": Specimen(
        dict[Literal[1, "a", None], int],
        [{"a": 1}],
        ['{"1": 1}', '{"null": 1}'],
        limits="the texts among the values",
    ),
    "dict[None, int]": Specimen(dict[None, int], error="keys of this type"),
    "dict[tuple[int, int], int]": Specimen(dict[tuple[int, int], int], error="keys of this type"),
    "dict[Literal[1, 2], int]": Specimen(dict[Literal[1, 2], int], error="write Literal['1', '2']"),
    "Mapping[str, int]": Specimen(Mapping[str, int], [{"a": 1}], ['{"a": "x"}']),
    "OrderedDict[str, int]": Specimen(
        collections.OrderedDict[str, int], [collections.OrderedDict(a=1)], ['{"a": "x"}']
    ),
    "defaultdict[str, list[int]]": Specimen(
        collections.defaultdict[str, list[int]],
        [collections.defaultdict(list, {"a": [1]})],
        ['{"a": 1}'],
    ),
    "Counter[str]": Specimen(collections.Counter[str], [collections.Counter("aab")], ['{"a": "x"}']),
    "dict[str, list[date]]": Specimen(
        dict[str, list[dt.date]], [{"a": [dt.date(2020, 1, 1)]}], ['{"a": ["x"]}']
    ),
    "Json[list[int]]": Specimen(
        Json[list[int]], texts=['"[]"', '"[1, 2]"'], refuses=['"[1"', "[1]", '"[\\"a\\"]"', '"{}"']
    ),
    "Json[dict[str, str]]": Specimen(
        Json[dict[str, str]],
        texts=['"{}"', '"{\\"a\\": \\"b\\\\n\\\\\\"\\"}"'],
        refuses=['"{\\"a\\": 1}"', '"{a: 1}"', '"{\\"a\\": \\"b\\", \\"a\\": \\"c\\"}"'],
    ),
    "Json[Json[int]]": Specimen(Json[Json[int]], texts=['"\\"1\\""'], refuses=['"1"', '"\\"a\\""']),
    "Json": Specimen(Json, texts=['"null"', '"{\\"a\\": [1.5]}"'], refuses=['"x"', "1", '"[1"']),
    "JsonValue": Specimen(JsonValue, [None, {"a": [1, True]}], ["{a}"]),
    "Hashable": Specimen(Hashable, [1, "a", None], ["[1]", "{}"]),
}
