"""Targets in which features meet that few targets have together: lookarounds and types, holes, huge numbers, sets of models."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, Optional, Union

from annotated_types import Len
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Json, StringConstraints, create_model

import structkit as sk
from structkit.targets.targets import AnyTarget
from tests.hostile.case import Case, schema, union

__all__ = ["CASES"]

_INTEGER = {"type": "integer"}


class _Point(BaseModel):
    model_config = ConfigDict(frozen=True)
    x: Annotated[int, Field(ge=0, le=9)]
    y: Optional[Annotated[Decimal, Field(max_digits=4, decimal_places=2)]] = None


def _frozen(name: str, **fields: Any) -> type[BaseModel]:
    return create_model(name, __config__=ConfigDict(frozen=True), **fields)  # type: ignore[no-any-return]


def _text(pattern: str, **bounds: int) -> Any:
    """A text of a pattern of Python, which may look around."""
    return Annotated[str, StringConstraints(pattern=re.compile(pattern), **bounds)]  # type: ignore[arg-type]


def _model(fields: dict[str, Any]) -> type[BaseModel]:
    return create_model("Model", **{name: (each, ...) for name, each in fields.items()})  # type: ignore[call-overload, no-any-return]


def _extended(depth: int) -> dict[str, object]:
    """A list whose items are those of the outermost document that refers to it, through many others."""
    documents = {
        f"d{n}": {
            "$id": f"d{n}",
            "$dynamicAnchor": "item",
            "anyOf": [{"const": n}, {"$ref": f"d{n + 1}#/$defs/box"}] if n < depth else True,
            "$defs": {"box": union(properties={"v": {"$dynamicRef": "#item"}}, unevaluatedProperties=False)},
        }
        for n in range(depth + 1)
    }
    return {"$id": "root", "$ref": "d0", "$defs": documents}


def _hole(text: str, **holes: Any) -> AnyTarget:
    return sk.Grammar(text, holes=holes)


_CASES: dict[str, Callable[[], AnyTarget]] = {
    "40 fields of lookaheads and lookbehinds": lambda: _model({f"f{n}": _text(rf"^(?=.*[a-c]{{{n % 5}}})(?!x{n})\w{{3,20}}(?<!y)$") for n in range(40)}),
    "set of 50 texts with lookarounds": lambda: Annotated[set[_text(r"^(?!ab)(?=.*b)[abc]{1,9}(?<!cc)$")], Len(50)],
    "set of 9 texts with a lookahead, of 9": lambda: Annotated[set[_text(r"^(?!0)\d$")], Len(9)],
    "dict of 20 keys with lookbehinds": lambda: Annotated[dict[_text(r"^[a-z]{1,8}(?<!ing)(?<!ed)$"), int], Len(20)],
    "Literals outside lookarounds": lambda: schema(enum=[f"k{n}" for n in range(3_000)], pattern=r"^(?!k1)(?=.*7).*(?<!9)$"),
    "Json of texts with lookarounds, 3 deep": lambda: Json[list[Json[list[Json[_text(r"^(?=.*\d)[^\"]{2,40}$")]]]]],
    "set of 30 models": lambda: Annotated[frozenset[_Point], Len(30)],
    "set of 1,000 models": lambda: Annotated[frozenset[_Point], Len(1_000)],
    "set of 11 models of 10": lambda: Annotated[frozenset[_frozen("One", x=(Annotated[int, Field(ge=0, le=9)], ...))], Len(11)],
    "set of 15 models of 4 booleans": lambda: Annotated[set[_frozen("Flags", **{f"b{n}": (bool, ...) for n in range(4)})], Len(15)],
    "set of 60 tagged models": lambda: Annotated[frozenset[Union[tuple(_frozen(f"T{n}", kind=(Literal[f"t{n}"], ...), n=(int, ...)) for n in range(20))]], Len(60)],  # type: ignore[misc]
    "set of 30 tuples of models": lambda: Annotated[set[tuple[_Point, _Point]], Len(30)],
    "dict of sets of models": lambda: dict[str, Annotated[frozenset[_Point], Len(5)]],
    "80 decimals of 18 digits": lambda: _model({f"d{n}": Annotated[Decimal, Field(max_digits=18, decimal_places=n % 18, gt=Decimal("-1e9"), lt=Decimal(f"{n}.5"))] for n in range(80)}),
    "set of 100 decimals of 2 digits": lambda: Annotated[set[Annotated[Decimal, Field(max_digits=2, decimal_places=1)]], Len(100)],
    "decimals between neighbours": lambda: Annotated[Decimal, Field(gt=Decimal("0.123456789012344"), lt=Decimal("0.123456789012346"))],
    "decimals between nothing": lambda: Annotated[Decimal, Field(gt=Decimal("1.01"), lt=Decimal("1.02"), decimal_places=2)],
    "multiples of a decimal between bounds": lambda: Annotated[Decimal, Field(multiple_of=Decimal("0.0125"), ge=Decimal("-1000000"), le=Decimal("1000000"), decimal_places=4)],
    "decimals of 400 digits": lambda: Annotated[Decimal, Field(max_digits=400, decimal_places=200)],
    "fractions, dates and decimals in 30 unions": lambda: _model({f"u{n}": Union[Fraction, datetime.date, Decimal, datetime.timedelta, None] for n in range(30)}),
    "validators after 300 texts": lambda: _model({f"v{n}": Annotated[str, AfterValidator(str.strip)] for n in range(300)}),
    "enum of 2,000 huge numbers, multiples": lambda: schema(enum=[7 * 10**200 + 5 * n for n in range(2_000)], multipleOf=7),
    "enum of huge fractions, multiples": lambda: schema(enum=[n * 1e290 for n in range(500)], multipleOf=1e285),
    "enum of numbers of 4,000 digits": lambda: schema(enum=[10**4_000 + n for n in range(100)], minimum=10**4_000 + 50),
    "const that is no multiple": lambda: schema(const=10**300 + 1, multipleOf=10),
    "not enum of 500 huge numbers": lambda: schema(type="integer", minimum=10**40, maximum=10**40 + 1_000, not_={"enum": [10**40 + 2 * n for n in range(500)]}),
    "oneOf of multiples and an enum": lambda: schema(oneOf=[schema(type="integer", multipleOf=30, minimum=0, maximum=10**6), {"enum": [15 * n for n in range(400)]}]),
    "anyOf of 300 huge constants and ranges": lambda: schema(anyOf=[*({"const": 10 ** (n % 60) + n} for n in range(300)), schema(type="integer", minimum=10**30)]),
    "patternProperties, counts and unevaluatedProperties": lambda: union(
        patternProperties={f"^{letter}[0-9]": _INTEGER for letter in "abcdefgh"},
        anyOf=[union(properties={f"k{n}": {"const": n}}, required=[f"k{n}"]) for n in range(6)],
        minProperties=3, maxProperties=6, unevaluatedProperties=False,
    ),
    "patternProperties that overlap, counts and unevaluatedProperties": lambda: union(
        patternProperties={f"{letter}": schema(type="integer", minimum=n) for n, letter in enumerate("abcdef")},
        allOf=[union(patternProperties={"^x": {"type": "string"}}), union(minProperties=4)],
        unevaluatedProperties=schema(type="boolean"),
    ),
    "conditions on patterns of keys, unevaluatedProperties": lambda: union(
        allOf=[
            {"if": {"patternProperties": {f"^p{n}": {"const": 1}}, "minProperties": 1}, "then": {"properties": {f"q{n}": _INTEGER}, "required": [f"q{n}"]}}
            for n in range(5)
        ],
        unevaluatedProperties={"const": 1},
    ),
    "unevaluatedProperties 40 deep": lambda: _deep(40),
    "unevaluatedProperties of 60 optional $refs": lambda: {
        "$defs": {f"m{n}": union(properties={f"a{n}": _INTEGER}) for n in range(60)},
        "allOf": [{"$ref": f"#/$defs/m{n}"} for n in range(60)], "type": "object", "unevaluatedProperties": False, "minProperties": 5,
    },
    "propertyNames of a format, patternProperties and counts": lambda: union(
        propertyNames={"format": "date"}, patternProperties={"^20": _INTEGER, "-0[1-6]-": schema(minimum=5)}, minProperties=20, maxProperties=25
    ),
    "dynamicRef through 60 boxes": lambda: _extended(60),
    "dynamicRef through 400 boxes": lambda: _extended(400),
    "uniqueItems, a condition, and a $dynamicRef": lambda: {
        "$id": "root", "$dynamicAnchor": "node", "type": ["array", "integer"], "items": {"$dynamicRef": "#node"}, "uniqueItems": True,
        "if": {"minItems": 2}, "then": {"contains": _INTEGER},
    },
    "unique matrices of unique rows": lambda: schema(
        type="array", uniqueItems=True, minItems=20, items=schema(type="array", uniqueItems=True, minItems=3, maxItems=3, items=schema(type="integer", minimum=1, maximum=3)),
    ),
    "unique pairs with the same first item": lambda: schema(
        type="array", uniqueItems=True, minItems=60, items=schema(type="array", prefixItems=[{"const": 1}, _INTEGER], minItems=2, items=False)
    ),
    "unique texts of at least 30 characters, 100": lambda: schema(type="array", uniqueItems=True, minItems=100, items=schema(type="string", minLength=30, maxLength=90)),
    "unique numbers and long texts, 30": lambda: schema(
        type="array", uniqueItems=True, minItems=30, items=schema(anyOf=[schema(type="integer", minimum=0, maximum=9), schema(type="string", pattern="^b{30,90}$")])
    ),
    "hole in 50 alternatives": lambda: _hole("start: " + " | ".join(f'"a{n}" h' for n in range(50)), h=Literal[tuple(range(200))]),  # type: ignore[valid-type]
    "holes in templates in a union": lambda: _hole("start: t{a} | t{b} | t{t{a}}\nt{x}: \"(\" x (\",\" x)* \")\"", a=Union[int, frozenset[int], None], b=dict[str, _Point]),
    "hole of 60 types in a union": lambda: _hole("start: " + " | ".join(f'"k{n}:" h{n}' for n in range(60)), **{f"h{n}": [int, str, bool, datetime.date, list[int], Optional[Decimal]][n % 6] for n in range(60)}),
    "hole of a set of models": lambda: _hole('start: "<" points ">"', points=Annotated[frozenset[_Point], Len(10)]),
    "hole of a lookahead in an alternative": lambda: _hole('start: "a" h "b" | "a" /[^b]{1,30}/ "c"', h=sk.Regex(r"(?=.*[0-9])[a-z0-9]{2,30}")),
    "hole of Any in a list": lambda: _hole('start: "[" h ("|" h)* "]"', h=Any),
    "hole of recursive types next to each other": lambda: _hole("start: a b a", a=list[int], b=dict[str, Any]),
    "union of types and 300 patterns": lambda: Union[tuple(_text(rf"^p{n}-[a-z]{{1,{n % 9 + 1}}}$") for n in range(300))],
    "alternatives of a set, a model and a text": lambda: list[Union[frozenset[_Point], _Point, Literal["none"], _text(r"^(?!none)\w+$")]],
}  # fmt: skip


def _deep(depth: int) -> dict[str, object]:
    found: dict[str, object] = union(properties={"leaf": _INTEGER}, unevaluatedProperties=False)
    for n in range(depth):
        found = union(
            allOf=[union(properties={f"a{n}": found}), union(properties={"b": _INTEGER})],
            unevaluatedProperties=False,
        )
    return found


CASES = tuple(Case("meetings", name, make, is_read=name.startswith("hole")) for name, make in _CASES.items())
