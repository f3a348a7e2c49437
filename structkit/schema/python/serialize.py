"""Python values as JSON, as the serializers of their type write them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TypeVar, cast

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

__all__ = ["serialize"]

T = TypeVar("T")


def serialize(
    adapter: TypeAdapter[T], value: object, *, exclude_unset: bool
) -> Iterator[tuple[object, object]]:
    """The JSON values of a Python value as it is, and then of what it is when it was validated.

    Types that decode what they are given, such as Base64, would decode their own values again; others turn what is
    given, such as a dict, into values of theirs. So both are tried, under aliases and under names.

    Args:
        adapter: The type.
        value: The value.
        exclude_unset: Whether fields that were not set are left out at first; else at last.

    Yields:
        What the JSON value is to be read as, and the JSON value.

    Raises:
        pydantic.ValidationError: The type refuses the value, and what it is as it stands was not enough.

    >>> next(serialize(TypeAdapter(set[int]), {3}, exclude_unset=False))
    ({3}, [3])
    """
    for given in (True, False):
        meant = value if given else adapter.validate_python(value)
        for by_alias in (True, False):
            for unset in (exclude_unset, not exclude_unset):
                with suppress(PydanticSerializationError, AttributeError, TypeError):
                    yield (
                        meant,
                        adapter.dump_python(
                            cast("T", meant),
                            mode="json",
                            by_alias=by_alias,
                            exclude_unset=unset,
                            warnings=False,
                        ),
                    )
