"""Types that say why no text can be their value."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Optional, TypeVar, Union

import pytest

from structkit.functions.signature import _unwritable_reason

T = TypeVar("T")


class Handle(Generic[T]):
    unwritable_reason = "it is open"


class Odd:
    unwritable_reason = 5


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (Handle, "it is open"),
        (Handle[int], "it is open"),
        (Annotated[Handle[int], 1], "it is open"),
        (Union[int, Handle], "it is open"),
        (Handle[str] | None, "it is open"),
        (Annotated[Optional[Handle], 1], "it is open"),
        (list[Handle], None),
        (int | str, None),
        (Odd, None),
        (int, None),
        (Any, None),
    ],
    ids=str,
)
def test_the_reason_is_that_of_the_type_or_of_a_member(annotation: Any, reason: str | None) -> None:
    assert _unwritable_reason(annotation) == reason
