"""Constraints that pydantic checks by a function of its own, after a value was read: enforced, or refused.

`Annotated[int | float, Ge(3)]` is a union whose result is checked. Where the schemas inside can check it themselves it
is put there; of values that can be listed those that pass are kept; anything else cannot be enforced.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import cast

from structkit.schema.core import Core, encoded, function_of, members_of
from structkit.schema.moments import JsonObject

__all__ = ["bounds_of", "candidates", "not_a_text", "pushed", "texts_of", "unenforceable"]

_LENGTHS = frozenset({"min_length", "max_length"})
_RANGES = frozenset({"ge", "gt", "le", "lt"})
_DIGITS = frozenset({"max_digits", "decimal_places"})
_NATIVE: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("int", "float"), _RANGES | {"multiple_of"}),
    "decimal": _RANGES | _DIGITS | {"multiple_of"},
    **dict.fromkeys(("fraction", "date", "time", "datetime", "timedelta"), _RANGES),
    **dict.fromkeys(
        ("str", "bytes", "list", "tuple", "set", "frozenset", "deque", "dict", "generator", "encoded"),
        _LENGTHS,
    ),
}
"""The types of core schemas that take a constraint themselves."""

_WITHOUT_LENGTH = frozenset(
    "bool complex date datetime decimal float fraction int none time timedelta uuid".split()
)
_WITHOUT_ORDER = frozenset("bytes dict frozenset list none set str tuple typed-dict".split())
"""Those that fail every constraint on a length, and those that fail every constraint that compares with a number."""

_LEAVES = (
    _WITHOUT_LENGTH
    | _WITHOUT_ORDER
    | {"any", "dataclass", "deque", "generator", "model", "multi-host-url", "url"}
)
"""What is no wrapper, and is read by pydantic itself."""

_SAME_LENGTH: Mapping[str, str] = {"SecretStr": "str", "SecretBytes": "bytes"}
"""What pydantic wraps a text in that is as long as the text, and the type of that."""

_TRANSPARENT = frozenset({"default", "json", "json-or-python", "lax-or-strict", "nullable"})
_JSON_SIDE = ("schema", "json_schema", "lax_schema")
"""Where a schema has the one by which JSON is read."""

_PUSHED = _RANGES | {"multiple_of", "minLength", "maxLength", "minItems", "maxItems"}
"""What a constraint adds to pydantic's own JSON Schema."""


def pushed(schema: Core) -> Core | None:
    """A constraint that pydantic checks by a function, put into the schemas that it is about.

    `Annotated[int | float, Ge(3)]` is a union whose result is checked; both of its branches may check it themselves.

    Returns:
        The inner schema with the constraint; `None` if this is no constraint, or it cannot be put there.
    """
    made = _inner(schema) if _constraints(schema) else None
    for name, value in _constraints(schema).items():
        made = None if made is None else _constrained(made, name, value, schema)
    if made is None:
        return None
    metadata = schema.get("metadata")
    updates = metadata.get("pydantic_js_updates", {}) if isinstance(metadata, dict) else {}
    kept = {key: value for key, value in updates.items() if key not in _PUSHED}
    if not kept:
        return made
    return {"type": "default", "schema": made, "metadata": {"pydantic_js_updates": kept}}


def bounds_of(schema: Core) -> JsonObject:
    """The bounds that pydantic checks by a function, as keywords that speak of numbers alone."""
    return {
        _KEYWORDS[name]: value
        for name, value in _constraints(schema).items()
        if name in _KEYWORDS and isinstance(value, int | float)
    }


_KEYWORDS = {
    "multiple_of": "multipleOf",
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
}


def _constraints(schema: Core) -> Mapping[str, object]:
    function = function_of(schema)
    if schema.get("type") != "function-after" or not isinstance(function, partial):
        return {}
    return function.keywords if function.func.__module__.startswith("pydantic.") else {}


def _inner(schema: Core) -> Core | None:
    """The schema by which JSON is read; of one wrapped, the one inside."""
    found = next((schema[key] for key in _JSON_SIDE if key in schema), None)
    return found if isinstance(found, dict) else None


def _constrained(schema: Core, name: str, value: object, whole: Core) -> Core | None:
    """A schema with a constraint that `whole` checks by a function; `None` if the schema does not know it."""
    schema = pushed(schema) or schema
    kind = "encoded" if encoded(schema) else str(schema.get("type"))
    if name in _NATIVE.get(kind, ()):
        return {**schema, name: value} if name not in schema else None
    if name in _LENGTHS and (text := _secret(schema)):
        return {"type": text, name: value}
    if kind == "union" and isinstance(choices := schema.get("choices"), list):
        listed: list[Core] = [each[0] if isinstance(each, tuple) else each for each in choices]
        possible = [each for each in listed if not _fails(each, name, value)]
        branches = [_constrained(each, name, value, whole) or _checked(each, whole) for each in possible]
        return {**schema, "choices": branches} if branches else None
    inner = _inner(schema) if kind in _TRANSPARENT else None
    made = None if inner is None else _constrained(inner, name, value, whole)
    key = next((key for key in _JSON_SIDE if key in schema), "schema")
    return None if made is None else {**schema, key: made}


def _checked(schema: Core, whole: Core) -> Core:
    """One branch of a union, checked as all of it is."""
    return {"type": "function-after", "function": whole["function"], "schema": schema}


def _fails(schema: Core, name: str, value: object) -> bool:
    """Whether each value of a schema fails a constraint, for it has no length, or no order among numbers."""
    kind, cls = schema.get("type"), schema.get("cls")
    if name in _DIGITS:
        return kind in _LEAVES and kind != "decimal"
    if name in _LENGTHS:
        return kind in _WITHOUT_LENGTH or (kind in ("dataclass", "model") and not hasattr(cls, "__len__"))
    if name not in (*_RANGES, "multiple_of") or not isinstance(value, int | float):
        return False
    return kind in _WITHOUT_ORDER or (kind in ("dataclass", "model") and "__ge__" not in _names(cls))


def _names(cls: object) -> set[str]:
    """What a class has besides what every object has."""
    classes = cls.__mro__[:-1] if isinstance(cls, type) else ()
    return {name for each in classes for name in vars(each)}


def _secret(schema: Core) -> str | None:
    """The type of the text inside a secret."""
    inner: Core | None = schema
    while inner is not None:
        if (found := _SAME_LENGTH.get(getattr(function_of(inner), "__name__", ""))) is not None:
            return found
        inner = _inner(inner) if inner.get("type") in _TRANSPARENT else None
    return None


def unenforceable(schema: Core) -> str | None:
    """Why a constraint that was not put into a schema cannot be enforced; `None` if it can, or is not pydantic's."""
    names = list(_constraints(schema))
    return _reason(names[0], _leaf(schema)) if names else None


def not_a_text(schema: Core) -> str | None:
    """Why the values of a schema cannot have a pattern; `None` if they can, or nobody knows."""
    leaf = _leaf(schema)
    if _secret(schema):
        return "`pattern` of a secret cannot be enforced; use a str, or check it with a validator of your own"
    return None if leaf["type"] in ("str", "bytes") else _reason("pattern", leaf)


def _reason(name: str, leaf: Core) -> str | None:
    if leaf["type"] not in _LEAVES and leaf["type"] != "is-instance":
        return None
    what = getattr(leaf.get("cls"), "__name__", leaf["type"])
    return f"`{name}` of {what} cannot be enforced; drop it, or check it with a validator of your own"


def candidates(schema: Core) -> list[object] | None:
    """The values among which a constraint chooses, if they can be listed; `None` if not."""
    if not _constraints(schema):
        return None
    inner, values = schema, list[object]()
    while inner["type"] in _TRANSPARENT or _constraints(inner):
        if inner["type"] == "json":
            return None
        values += [None] if inner["type"] == "nullable" else []
        inner = _inner(inner) or {"type": ""}
    match inner["type"]:
        case "none":
            return [*values, None]
        case "bool":
            return [*values, True, False]
        case "literal":
            return [*values, *cast("list[object]", inner["expected"])]
        case "enum":
            return [*values, *members_of(inner)]
    return None


def _leaf(schema: Core) -> Core:
    """What a constraint is about: the schema inside of wrappers, or the class that pydantic makes an instance of."""
    while schema["type"] in _TRANSPARENT or _constraints(schema):
        strict = schema.get("strict_schema", schema.get("python_schema"))
        if isinstance(strict, dict) and strict["type"] in ("is-instance", "json-or-python"):
            schema = strict
            continue
        inner = _inner(schema)
        if inner is None:
            break
        schema = inner
    return schema


def texts_of(schema: Core) -> list[Core] | None:
    """The constraints on texts in a chain: what pydantic asks of a value that is no plain string, as a pattern of it.

    Returns:
        Schemas of strings; `None` if the chain is another.
    """
    steps = schema.get("steps")
    others: list[Core] = steps[1:] if isinstance(steps, list) else []
    if not others or not all(
        getattr(function_of(each), "__qualname__", "").startswith(_KNOWN) for each in others
    ):
        return None
    return [cast("Core", each["schema"]) for each in others]


_KNOWN = "apply_known_metadata."
