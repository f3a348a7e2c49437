"""Validation of values against a JSON Schema. The only module that imports `jsonschema`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from structkit.errors import MissingExtra, SchemaError
from structkit.rejected import Rejected

__all__ = ["check", "make_checker"]


def check(
    value: object,
    schema: Mapping[str, object],
    resources: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> Rejected | None:
    """Check a value against its schema, formats included; return `None` if the value is valid.

    >>> check([1, 2], {"unevaluatedItems": False, "prefixItems": [{}, {}]})
    >>> check([1], {"unevaluatedItems": False}).message
    'Unevaluated items are not allowed (1 was unexpected) (at `$`)'

    Args:
        value: A JSON value.
        schema: Its JSON Schema.
        resources: Other documents that the schema refers to, by URI.

    Raises:
        MissingExtra: The package `jsonschema` is not installed.
        SchemaError: `re` does not know a pattern of the schema.
    """
    return make_checker(schema, resources)(value)


def make_checker(
    schema: Mapping[str, object],
    resources: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> Callable[[object], Rejected | None]:
    """Return `check` for many values of one schema.

    Numbers are compared as decimals in all drafts: 0.3 is a multiple of 0.1, and 1.0 is an integer. `nullable` has its
    OpenAPI 3.0 meaning.

    Raises:
        MissingExtra: The package `jsonschema` is not installed.
        SchemaError: By the function that is returned: `re` does not know a pattern of the schema.
    """
    try:
        from jsonschema.exceptions import ValidationError, best_match
        from jsonschema.validators import Draft202012Validator, extend, validator_for
        from referencing import Registry, Resource
        from referencing.jsonschema import DRAFT202012
    except ImportError as error:
        raise MissingExtra(
            "jsonschema", "the validation of values of JSON Schemas needs", "jsonschema"
        ) from error
    kind = validator_for(schema, default=Draft202012Validator)
    registry = Registry().with_resources(
        (uri, Resource.from_contents(other, default_specification=DRAFT202012))
        for uri, other in resources.items()
    )

    def multiple_of(validator: Any, of: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        if validator.is_type(value, "number") and not _is_multiple(value, of):
            yield ValidationError(f"{value!r} is not a multiple of {of!r}")

    def type_or_null(validator: Any, types: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        if not (value is None and schema.get("nullable") is True):
            yield from kind.VALIDATORS["type"](validator, types, value, schema)

    own = {"multipleOf": multiple_of, "type": type_or_null}
    exact = extend(kind, {keyword: own[keyword] for keyword in own.keys() & kind.VALIDATORS.keys()})
    validator = exact(schema, format_checker=kind.FORMAT_CHECKER, registry=registry)

    def checked(value: object) -> Rejected | None:
        try:
            worst = best_match(validator.iter_errors(value))
        except re.error as error:
            raise SchemaError(
                f"the validator jsonschema reads patterns as `re` does, which refuses one of this target: {error}; "
                "use another pattern, or strict=True in a JsonSchema"
            ) from None
        if worst is None:
            return None
        return Rejected(tuple(worst.absolute_path), f"{worst.message} (at `{worst.json_path}`)", worst)

    return checked


def _is_multiple(value: float, of: float) -> bool:
    """Return whether a number is a multiple of another; both have the value of their decimal spelling."""
    try:
        return Fraction(str(value)) % Fraction(str(of)) == 0
    except ValueError:  # infinity: Python parses 1e999 as such
        return False
