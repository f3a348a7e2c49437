"""Serialize Python values to JSON with the serializers of their type."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TypeVar, cast

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, ValidationError

from structkit.rejected import Rejected

__all__ = ["serialize"]

T = TypeVar("T")


def serialize(
    adapter: TypeAdapter[T], value: object, *, exclude_unset: bool, context: object = None
) -> Iterator[tuple[object, object] | Rejected]:
    """Yield JSON values of a Python value: first of the value itself, then of the validated value.

    Validation decodes values of some types, such as Base64, a second time; values of other types, such as a dict for
    a model, need it. Both are tried, with aliases and with field names.

    Args:
        adapter: The type.
        value: The value.
        exclude_unset: Whether the first attempt excludes unset fields; the second attempt does the opposite.
        context: The `context` of `pydantic.ValidationInfo` in validators.

    Yields:
        The Python value, and its JSON value; last a `Rejected` if the type rejects the value.

    >>> next(serialize(TypeAdapter(set[int]), {3}, exclude_unset=False))
    ({3}, [3])
    """
    for validated in (False, True):
        try:
            candidate = adapter.validate_python(value, context=context) if validated else value
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            yield Rejected(first["loc"], first["msg"], error)
            return
        except ValueError as error:  # from a default factory; pydantic does not wrap it
            yield Rejected((), str(error), error)
            return
        for by_alias in (True, False):
            for unset in (exclude_unset, not exclude_unset):
                with suppress(PydanticSerializationError, AttributeError, TypeError):
                    yield (
                        candidate,
                        adapter.dump_python(
                            cast("T", candidate),
                            mode="json",
                            by_alias=by_alias,
                            exclude_unset=unset,
                            warnings=False,
                        ),
                    )
