"""Validation of values against a JSON Schema. The only module that imports `jsonschema`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

__all__ = ["InvalidValue", "check", "make_checker"]


class InvalidValue(ValueError):
    """A value that does not satisfy a schema.

    Attributes:
        path: The keys and indices of the invalid part.
    """

    def __init__(self, message: str, path: tuple[str | int, ...]) -> None:
        super().__init__(message)
        self.path = path


def check(
    value: object,
    schema: Mapping[str, object],
    resources: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> None:
    """Check a value against its schema, including formats; `resources` are the documents it refers to, by URI.

    >>> check([1, 2], {"unevaluatedItems": False, "prefixItems": [{}, {}]})
    >>> check([1], {"unevaluatedItems": False})
    Traceback (most recent call last):
    structkit.schema.json_schema.validate.InvalidValue: Unevaluated items are not allowed (1 was unexpected) (at `$`)

    Raises:
        InvalidValue: The value is invalid.
        ImportError: The package `jsonschema` is not installed.
    """
    make_checker(schema, resources)(value)


def make_checker(
    schema: Mapping[str, object],
    resources: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> Callable[[object], None]:
    """Return a function like `check` for many values of one schema.

    In all drafts, numbers are compared as written: 0.3 is a multiple of 0.1, and 1.0 is an integer. `nullable` has the
    meaning of OpenAPI 3.0.

    Raises:
        ImportError: The package `jsonschema` is not installed.
    """
    try:
        from jsonschema.exceptions import ValidationError, best_match
        from jsonschema.validators import Draft202012Validator, extend, validator_for
        from referencing import Registry, Resource
        from referencing.jsonschema import DRAFT202012
    except ImportError as error:
        message = (
            "values of JSON Schemas are validated with jsonschema; run: pip install 'structkit[jsonschema]'"
        )
        raise ImportError(message) from error
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
    integer = Draft202012Validator.TYPE_CHECKER.is_type
    exact = extend(
        kind,
        {keyword: own[keyword] for keyword in own.keys() & kind.VALIDATORS.keys()},
        type_checker=kind.TYPE_CHECKER.redefine("integer", lambda _, value: integer(value, "integer")),
    )
    validator = exact(schema, format_checker=kind.FORMAT_CHECKER, registry=registry)

    def checked(value: object) -> None:
        worst = best_match(validator.iter_errors(value))
        if worst is not None:
            raise InvalidValue(f"{worst.message} (at `{worst.json_path}`)", tuple(worst.absolute_path))

    return checked


def _is_multiple(value: float, of: float) -> bool:
    """Return whether a number is a multiple of another; both have the value of their decimal spelling."""
    try:
        return Fraction(str(value)) % Fraction(str(of)) == 0
    except ValueError:  # infinity: Python parses 1e999 as such
        return False
