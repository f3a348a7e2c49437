"""Shapes: the requested types of the corpus, and their descriptions as structkit writes them.

A shape is a small tree. `describe` prints it in the notation of `structkit.schema.view.describe`; the corpus has its
own printer because it generates tens of thousands of types a minute, none of which is a Python class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Scalar:
    """A type without parts, by its printed form: `string`, `integer (0 to 120)`, `"low" | "high"`."""

    text: str


@dataclass(frozen=True)
class Object:
    """An object with declared keys; a comment follows the type of its field."""

    name: str
    fields: tuple[tuple[str, Shape, str], ...]


@dataclass(frozen=True)
class Array:
    """A list of one shape."""

    item: Shape


@dataclass(frozen=True)
class Nullable:
    """A shape or null."""

    inner: Shape


@dataclass(frozen=True)
class Union:
    """One of several shapes."""

    options: tuple[Shape, ...]


Shape: TypeAlias = Scalar | Object | Array | Nullable | Union

STRING, INTEGER, NUMBER, BOOLEAN = Scalar("string"), Scalar("integer"), Scalar("number"), Scalar("boolean")
PYTHON_NAMES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
DATE, TIME, DATETIME = Scalar("date"), Scalar("time"), Scalar("datetime")


def enum(options: list[str] | tuple[str, ...]) -> Scalar:
    """Return the shape of an enum of strings.

    >>> enum(["low", "high"]).text
    '"low" | "high"'
    """
    return Scalar(" | ".join(f'"{option}"' for option in options))


def describe(shape: Shape, name: str) -> str:
    """Return the description of a shape; every object is described where it is used.

    >>> person = Object("Person", (("name", STRING, ""), ("age", Nullable(INTEGER), "in years")))
    >>> describe(person, "Person")
    'Person = {"name": string, "age": integer | null /* in years */}'
    >>> describe(Array(Object("Pet", (("name", STRING, ""),))), "list[Pet]")
    'list[Pet] = [{"name": string}, ...]'
    """
    return f"{name} = {_inline(shape)}"


def python_name(shape: Shape) -> str:
    """Return structkit's name of the target of a shape: `Person`, `list[Person]`, `int`, `Literal['a', 'b']`.

    >>> python_name(Array(Object("Pet", ()))), python_name(enum(["low", "high"]))
    ('list[Pet]', "Literal['low', 'high']")
    """
    if isinstance(shape, Object):
        return shape.name
    if isinstance(shape, Array):
        return f"list[{python_name(shape.item)}]"
    if isinstance(shape, Nullable):
        return f"{python_name(shape.inner)} | None"
    if isinstance(shape, Union):
        return " | ".join(python_name(option) for option in shape.options)
    if shape.text.startswith('"'):
        return "Literal[" + shape.text.replace('"', "'").replace(" | ", ", ") + "]"
    return PYTHON_NAMES.get(shape.text, shape.text)


def _inline(shape: Shape) -> str:
    if isinstance(shape, Scalar):
        return shape.text
    if isinstance(shape, Array):
        item = _inline(shape.item)
        return (
            f"[({item}), ...]" if " | " in item and not isinstance(shape.item, Object) else f"[{item}, ...]"
        )
    if isinstance(shape, Nullable):
        return f"{_inline(shape.inner)} | null"
    if isinstance(shape, Union):
        return " | ".join(_inline(option) for option in shape.options)
    parts = []
    for key, inner, comment in shape.fields:
        note = f" /* {comment} */" if comment else ""
        parts.append(f'"{key}": {_inline(inner)}{note}')
    return "{" + ", ".join(parts) + "}"
