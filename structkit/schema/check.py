"""The only door to the package `jsonschema`: checks a value for what could not be enforced while it was written."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["NotValid", "check"]


class NotValid(ValueError):
    """A value that does not satisfy a schema.

    Attributes:
        path: The names and positions that lead to the part that does not.
    """

    def __init__(self, message: str, path: tuple[str | int, ...]) -> None:
        super().__init__(message)
        self.path = path


def check(
    value: object,
    schema: Mapping[str, object],
    resources: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> None:
    """Check a value against its schema, formats included; `resources` are other documents that it refers to.

    >>> check([1, 2], {"unevaluatedItems": False, "prefixItems": [{}, {}]})
    >>> check([1], {"unevaluatedItems": False})
    Traceback (most recent call last):
    structkit.schema.check.NotValid: Unevaluated items are not allowed (1 was unexpected) (at `$`)

    Raises:
        NotValid: It is not valid.
        ImportError: The package is not installed.
    """
    try:
        from jsonschema.exceptions import best_match
        from jsonschema.validators import Draft202012Validator, validator_for
        from referencing import Registry, Resource
        from referencing.jsonschema import DRAFT202012
    except ImportError as error:
        message = (
            "JsonSchema(strict=False) checks values with jsonschema; pip install 'structkit[jsonschema]'"
        )
        raise ImportError(message) from error
    kind = validator_for(schema, default=Draft202012Validator)
    registry = Registry().with_resources(
        (uri, Resource.from_contents(other, default_specification=DRAFT202012))
        for uri, other in resources.items()
    )
    validator = kind(schema, format_checker=kind.FORMAT_CHECKER, registry=registry)
    worst = best_match(validator.iter_errors(value))
    if worst is not None:
        raise NotValid(f"{worst.message} (at `{worst.json_path}`)", tuple(worst.absolute_path))
