"""Types that read their values by methods of their own: those of pydantic, and of the package pydantic-extra-types.

That package is never imported here. Core schemas name the class whose method they call, and so its module, which is
then there; what it allows (codes of countries, names of languages) is asked of it.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType, ModuleType

from structkit.schema.core import Core, function_of
from structkit.schema.moments import JsonObject, format_of

__all__ = ["own_core", "own_type"]


def own_type(schema: Core) -> JsonObject | None:
    """How the values of such a type are written; `None` for any other.

    >>> own_type({"type": "int"}) is None
    True
    """
    for owner, known in _known(schema, _TYPES):
        return _TYPES[known](owner)
    return None


def own_core(schema: Core) -> Core | None:
    """A schema that says more than the JSON Schema that its type has itself."""
    for _, known in _known(schema, _CORES):
        return _CORES[known](schema)
    return None


def _known(schema: Core, table: Mapping[str, object]) -> Iterator[tuple[object, str]]:
    """The objects whose methods a schema calls, with the name of their class, or of the one it is derived from."""
    for function in _functions(schema):
        plain = function.func if isinstance(function, partial) else function
        method = str(getattr(plain, "__qualname__", "")).partition(".<locals>")[0]
        name = f"{getattr(plain, '__module__', '')}.{method}".rpartition(".")[0]
        owner = getattr(plain, "__self__", None)
        classes = (owner if isinstance(owner, type) else type(owner)).__mro__
        names = [name, *(f"{cls.__module__}.{cls.__qualname__}" for cls in classes)]
        found = next((each for each in names if each in table), None)
        if found is not None:
            yield function if owner is None else owner, found


def _functions(schema: Core) -> Iterator[object]:
    """What a schema calls: to validate, and to say its JSON Schema."""
    yield function_of(schema)
    yield from _described_by(schema)
    if schema.get("type") == "json-or-python":
        # A type that is written as a plain string names itself only where Python objects are read.
        python = schema.get("python_schema")
        for choice in _parts(python, "choices"):
            for step in _parts(choice, "steps"):
                yield function_of(step)


def _described_by(schema: Core) -> list[object]:
    metadata = schema.get("metadata")
    said = metadata if isinstance(metadata, dict) else {}
    return [*said.get("pydantic_js_functions", ()), *said.get("pydantic_js_annotation_functions", ())]


def _parts(schema: object, key: str) -> Iterator[Core]:
    parts = schema.get(key) if isinstance(schema, dict) else None
    return (part for part in parts if isinstance(part, dict)) if isinstance(parts, list) else iter(())


# Schemas that say more


def _plainly(schema: Core) -> Core:
    """The schema without the JSON Schema that its class gives itself."""
    metadata = schema.get("metadata")
    kept = (
        {key: value for key, value in metadata.items() if key != "pydantic_js_functions"}
        if isinstance(metadata, dict)
        else {}
    )
    return {**schema, "metadata": kept}


def _coordinate(schema: Core) -> Core:
    """The dataclass, and not the list or the text that it may also be read from."""
    union = schema.get("schema")
    chain = next(_parts(union, "choices"), None)
    return next(_parts(chain, "steps"), schema)


_EXTRA = "pydantic_extra_types"

_CORES: Mapping[str, Callable[[Core], Core]] = MappingProxyType(
    {
        f"{_EXTRA}.coordinate.Coordinate": _coordinate,
        f"{_EXTRA}.coordinate.Latitude": _plainly,
        f"{_EXTRA}.coordinate.Longitude": _plainly,
    }
)


# Types that are written as this module says


def _text(pattern: str) -> Callable[[object], JsonObject]:
    return lambda owner: {"type": "string", "pattern": f"^({pattern})$"}


def _format(kind: str, **arguments: object) -> Callable[[object], JsonObject]:
    return lambda owner: format_of(kind, **arguments)


def _codes(database: str, attribute: str) -> Callable[[object], JsonObject]:
    """One of the codes or names that the package pycountry has."""

    def describe(owner: object) -> JsonObject:
        entries: Iterable[object] = getattr(sys.modules["pycountry"], database)
        codes = (getattr(entry, attribute, None) for entry in entries)
        return {"enum": list(dict.fromkeys(code for code in codes if code is not None))}

    return describe


def _module(owner: object) -> ModuleType:
    """The module of the class of the package, which a user's class may be derived from."""
    classes = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__
    return next(
        sys.modules[cls.__module__] for cls in classes if cls.__module__.startswith((_EXTRA, "pydantic."))
    )


def _color(owner: object) -> JsonObject:
    """The name if there is one, else hex digits: short ones if those of each pair are equal, no alpha of 1."""
    names: Mapping[tuple[int, int, int], str] = _module(owner).COLORS_BY_VALUE
    named = [bytes(value).hex() for value in names]
    twice = f"({'|'.join(digit * 2 for digit in _HEX)})"
    others = (f"{digit}[{_HEX.replace(digit, '')}]" for digit in _HEX)
    differs = f"({'|'.join(others)})"
    alpha = "([0-9a-e][0-9a-f]|f[0-9a-e])"
    forms = (
        "[0-9a-f]{3}[0-9a-e]?",
        f"({differs}[0-9a-f]{{4}}|{twice}{differs}[0-9a-f]{{2}}|{twice}{{2}}{differs})",
        f"({differs}[0-9a-f]{{4}}|{twice}{differs}[0-9a-f]{{2}}|{twice}{{2}}{differs}){alpha}",
        f"{twice}{{3}}{differs}",
    )
    taken = [f"#{code[::2] if code[::2] == code[1::2] else code}" for code in named]
    unnamed = {
        "type": "string",
        "pattern": f"^#({'|'.join(forms)})$",
        "not": {"pattern": f"^({'|'.join(taken)})$"},
    }
    return {"anyOf": [{"enum": sorted(set(names.values()))}, unnamed]}


_HEX = "0123456789abcdef"


def _iban(owner: object) -> JsonObject:
    sizes: Mapping[str, int] = _module(owner).IBAN_COUNTRY_CODE_LENGTH
    return format_of("iban", countries=list(sizes), sizes=list(sizes.values()))


def _mime_type(owner: object) -> JsonObject:
    families: Iterable[enum.EnumMeta] = (
        each for each in vars(_module(owner)).values() if isinstance(each, enum.EnumMeta)
    )
    values = (member.value for family in families for member in list[enum.Enum](family))
    return {"enum": [value for value in dict.fromkeys(values) if "/" in value]}


def _phone_number(owner: object) -> JsonObject:
    """As the type formats it."""
    if isinstance(owner, partial):
        _, kind, regions = owner.args
    else:
        kind, regions = (getattr(owner, name, None) for name in ("phone_format", "supported_regions"))
    if kind == "NATIONAL":  # which digits are dropped and added is said by hundreds of rules
        return {"type": "string", "pattern": _NATIONAL}
    return format_of("phone-number", plans=_plans(regions), separators=_SEPARATORS.get(str(kind), "-"))


_NATIONAL = r"^[(]?[0-9]([() -]{0,2}[0-9]){3,14}( ext[.] [0-9]{1,7})?$"
_SEPARATORS: Mapping[str, str] = MappingProxyType({"E164": "", "INTERNATIONAL": " -", "RFC3966": "-"})


def _plans(regions: Iterable[str] | None) -> list[tuple[str, list[str]]]:
    """By its code for calls from abroad, the patterns of the numbers of each kind that a country has."""
    package = sys.modules["phonenumbers"]
    found: dict[str, list[str]] = {}
    for code, countries in package.COUNTRY_CODE_TO_REGION_CODE.items():
        for country in countries:
            if regions and country not in regions:
                continue
            of, key = (
                (package.PhoneMetadata.metadata_for_nongeo_region, code)
                if country == "001"
                else (package.PhoneMetadata.metadata_for_region, country)
            )
            data = of(key, None)
            kinds = (getattr(data, kind) for kind in _PHONES)
            patterns = (kind.national_number_pattern for kind in kinds if kind is not None)
            found.setdefault(f"{code}", []).extend(each for each in patterns if each and each != "NA")
    return [(code, list(dict.fromkeys(patterns))) for code, patterns in found.items() if patterns]


_PHONES = (
    "fixed_line mobile toll_free premium_rate shared_cost personal_number voip pager uan voicemail"
).split()

_LABEL = "[a-z0-9]([a-z0-9-]{{0,{most}}}[a-z0-9])?"
_TOP = r"([a-z]{2,63}|xn--[a-z0-9]{2,59})"
_DOMAIN = "|".join(
    rf"({_LABEL.format(most=most)}\.){{{least},{count}}}{_TOP}"
    for most, least, count in ((61, 1, 2), (28, 3, 6))
)
"""At most 253 characters: three labels of 63, or seven with all but the last one of 30."""

_NUMBER = "(0|[1-9][0-9]{0,17})"
_WORD = f"({_NUMBER}|[0-9]{{0,9}}[A-Za-z-][0-9A-Za-z-]{{0,30}})"
_VERSION = (
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_WORD}(\.{_WORD}){{0,9}})?"
    r"(\+[0-9A-Za-z-]{1,30}(\.[0-9A-Za-z-]{1,30}){0,9})?"
)
"""Semantic Versioning 2.0.0, with as many digits as an integer of 64 bits has, and as many words as people use."""

_DATE = (
    "([1-9][0-9]{0,2}Y([1-9][0-9]?M)?([1-9][0-9]{0,4}D)?|[1-9][0-9]?M([1-9][0-9]{0,4}D)?|[1-9][0-9]{0,4}D)"
)
_SECONDS_OF = r"(([1-9]|[1-5][0-9])(\.[0-9]{3}([0-9]{3})?)?|0\.[0-9]{3}([0-9]{3})?)S"
_MINUTES = f"([1-9]|[1-5][0-9])M({_SECONDS_OF})?"
_CLOCK = f"T(([1-9]|1[0-9]|2[0-3])H({_MINUTES}|{_SECONDS_OF})?|{_MINUTES}|{_SECONDS_OF})"

_SECONDS = {"minimum": -62_135_596_800, "maximum": 253_402_300_799}
"""From year 1 to 9999, in seconds since 1970."""

_MICROSECOND = 1e-6

_PLAIN_BRANDS = [
    [400000, 499999, [13, 16, 19]],
    [510000, 559999, [16]],
    [340000, 349999, [15]],
    [370000, 379999, [15]],
]
_LONG = [16, 17, 18, 19]
_BRANDS = [
    [400000, 499999, [13, 16, 19]],
    [510000, 559999, [16]],
    [222100, 272099, [16]],
    [340000, 349999, [15]],
    [370000, 379999, [15]],
    [220000, 220499, _LONG],
    *(
        [four * 100, four * 100 + 99, [12, 13, 14, 15, *_LONG]]
        for four in (5018, 5020, 5038, 5893, 6304, 6759, 6761, 6762, 6763)
    ),
    *([six, six, [12, 13, 14, 15, *_LONG]] for six in (676770, 676774)),
    [650000, 659999, _LONG],
    [644000, 649999, _LONG],
    [601100, 601199, _LONG],
    [506099, 506198, [16, 18, 19]],
    [507865, 507964, [16, 18, 19]],
    [501900, 501999, [16]],
    [979200, 979299, [16]],
    [620000, 629999, [16, 19]],
    [810000, 819999, [16, 19]],
    [352800, 358999, [16, 19]],
    *([two * 10_000, two * 10_000 + 9_999, [14, 15, *_LONG]] for two in (30, 36, 38, 39)),
]
"""First digits and lengths of Visa, Mastercard, American Express, Mir, Maestro, Discover, Verve, Dankort, Troy,
UnionPay, JCB and Diners Club, in the order in which the package asks."""

_IMPORTED = r"[^\s.:][^\s:]*(:[^\s:]+)?"
"""A module, and perhaps what of it; with a point first it would be relative to nothing."""

_TYPES: Mapping[str, Callable[[object], JsonObject]] = MappingProxyType(
    {
        "pydantic.color.Color": _color,
        "pydantic.types.ByteSize": lambda owner: {"type": "integer", "minimum": 0},
        "pydantic.types.ImportString": _text(_IMPORTED),
        "pydantic.types.PaymentCardNumber": _format("card-number", least=12, most=19, brands=_PLAIN_BRANDS),
        f"{_EXTRA}.color.Color": _color,
        f"{_EXTRA}.country.CountryAlpha2": _codes("countries", "alpha_2"),
        f"{_EXTRA}.country.CountryAlpha3": _codes("countries", "alpha_3"),
        f"{_EXTRA}.country.CountryNumericCode": _codes("countries", "numeric"),
        f"{_EXTRA}.country.CountryShortName": _codes("countries", "name"),
        f"{_EXTRA}.cron.CronStr": _format("cron"),
        f"{_EXTRA}.domain.DomainStr": _text(_DOMAIN),
        f"{_EXTRA}.epoch.Integer": lambda owner: {"type": "integer", **_SECONDS},
        f"{_EXTRA}.epoch.Number": lambda owner: {"type": "number", **_SECONDS, "multipleOf": _MICROSECOND},
        f"{_EXTRA}.iban.IBAN": _iban,
        f"{_EXTRA}.isbn.ISBN": _format("isbn"),
        f"{_EXTRA}.language_code.LanguageAlpha2": _codes("languages", "alpha_2"),
        f"{_EXTRA}.language_code.LanguageName": _codes("languages", "name"),
        f"{_EXTRA}.mac_address.MacAddress": _text(
            "[0-9a-f]{2}((:[0-9a-f]{2}){5}|(:[0-9a-f]{2}){7}|(:[0-9a-f]{2}){19})"
        ),
        f"{_EXTRA}.mime_types.MimeType": _mime_type,
        f"{_EXTRA}.mongo_object_id.MongoObjectId": _text("[0-9A-Fa-f]{24}"),
        f"{_EXTRA}.payment.PaymentCardNumber": _format("card-number", least=12, most=19, brands=_BRANDS),
        f"{_EXTRA}.pendulum_dt.Duration": _text(f"P0D|P{_DATE}({_CLOCK})?|P{_CLOCK}"),
        f"{_EXTRA}.phone_numbers.PhoneNumber": _phone_number,
        f"{_EXTRA}.phone_numbers.PhoneNumberValidator": _phone_number,
        f"{_EXTRA}.routing_number.ABARoutingNumber": _format("routing-number"),
        f"{_EXTRA}.semantic_version.SemanticVersion": _text(_VERSION),
        f"{_EXTRA}.semver._VersionPydanticAnnotation": _text(_VERSION),
        f"{_EXTRA}.ulid.ULID": _text("[0-7][0-9A-HJKMNP-TV-Z]{25}"),
    }
)
"""By the qualified name of the class."""
