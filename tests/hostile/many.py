"""Many fields, each of which is within the limits alone."""

from __future__ import annotations

from collections.abc import Callable

from tests.hostile.case import Case, schema, union

__all__ = ["CASES"]


def _fields(count: int, field: Callable[[int], object]) -> dict[str, object]:
    names = [f"k{n}" for n in range(count)]
    return union(properties={name: field(n) for n, name in enumerate(names)}, required=names)


def _text(pattern: str) -> dict[str, object]:
    return schema(type="string", pattern=pattern)


_CASES: dict[str, Callable[[], dict[str, object]]] = {
    "40 multiples of 10,007 and more": lambda: _fields(
        40, lambda n: schema(type="integer", multipleOf=10_007 + 2 * n)
    ),
    "1,000 multiples of 10,007 and more": lambda: _fields(
        1_000, lambda n: schema(type="integer", multipleOf=10_007 + 2 * n)
    ),
    "40 patterns of 16,000 states": lambda: _fields(40, lambda n: _text(f"^(a|b)*a[ab]{{13}}d{n}$")),
    "1,000 patterns of 16,000 states": lambda: _fields(1_000, lambda n: _text(f"^(a|b)*a[ab]{{13}}d{n}$")),
    "500 patterns that must not match": lambda: _fields(
        500, lambda n: schema(type="string", **{"not": {"pattern": f"a.{{0,30}}b{n}"}})
    ),
    "60 times contains 20 to 60": lambda: _fields(
        60,
        lambda n: schema(type="array", contains={"const": n}, minContains=20 + n % 30, maxContains=60 + n),
    ),
    "100 times 6 patternProperties": lambda: _fields(
        100, lambda n: union(patternProperties={f"^a.*{i}{n}$": schema(type="integer") for i in range(6)})
    ),
    "500 ranges of decimals": lambda: _fields(
        500, lambda n: schema(type="number", minimum=n + 0.123456789, maximum=n + 1e9 + 0.987654321)
    ),
    "60 times oneOf of 8 patterns": lambda: _fields(
        60, lambda n: schema(oneOf=[_text(f"^a{i}.*{n}$") for i in range(8)])
    ),
    "100 times 6 conditions": lambda: _fields(
        100,
        lambda n: union(
            allOf=[
                {"if": {"properties": {f"p{i}": {"const": "a"}}}, "then": {"required": [f"q{n}{i}"]}}
                for i in range(6)
            ]
        ),
    ),
}

CASES = tuple(Case("many fields", name, make) for name, make in _CASES.items())
