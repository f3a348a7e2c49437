"""Conversion of a shape to the Python type that a user would write for it."""

from __future__ import annotations

import re
import warnings
from datetime import date, datetime, time
from functools import reduce
from operator import or_
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Literal, cast

from demo_corpus.shapes import Array, Nullable, Object, Scalar, Shape, Union

if TYPE_CHECKING:
    from typing_extensions import TypeForm

PLAIN: dict[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "date": date,
    "time": time,
    "datetime": datetime,
}
BOUNDS = re.compile(r"integer \((?:at least (?P<least>-?\d+)|(?P<low>-?\d+) to (?P<high>-?\d+))\)")


def python_type(shape: Shape) -> TypeForm[object]:
    """Return the type of a shape: pydantic models for objects, `Literal` for enums.

    >>> python_type(Array(Scalar("string")))
    list[str]
    """
    if isinstance(shape, Scalar):
        return _scalar(shape.text)
    if isinstance(shape, Array):
        return cast("TypeForm[object]", GenericAlias(list, (python_type(shape.item),)))
    if isinstance(shape, Nullable):
        return cast("TypeForm[object]", reduce(or_, (python_type(shape.inner), None)))
    if isinstance(shape, Union):
        return reduce(or_, map(python_type, shape.options))
    return _model(shape)


def _scalar(text: str) -> TypeForm[object]:
    from pydantic import Field

    if text.startswith('"'):
        return Literal[tuple(re.findall(r'"([^"]*)"', text))]  # type: ignore[return-value]
    if bounds := BOUNDS.fullmatch(text):
        low, high = bounds["least"] or bounds["low"], bounds["high"]
        return Annotated[int, Field(ge=int(low), le=None if high is None else int(high))]
    return PLAIN[text]


def _model(shape: Object) -> type:
    from pydantic import Field, create_model

    fields = {
        key: (python_type(inner), Field(description=comment or None)) for key, inner, comment in shape.fields
    }
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # a key such as "copy" shadows a method of the model, which is not called here
        return create_model(shape.name, **fields)  # type: ignore[call-overload,no-any-return]
