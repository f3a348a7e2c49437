"""The intersection of Schema nodes: the values that satisfy all of them. Exact, or refused with its place.

`allOf`, and any keyword beside `$ref`, `anyOf`, `enum` or `const`, is an intersection. One that involves a reference
becomes a definition of its own, known by the set of nodes that meet in it: recursive definitions that meet each other
give finitely many such sets, as in the product of two automata.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import zip_longest

from structkit.errors import LimitExceeded, UnsupportedKeyword
from structkit.limits import Limits
from structkit.schema.admit import admits, expand
from structkit.schema.build import array, object_, string, union, with_note
from structkit.schema.definitions import Definitions
from structkit.schema.nodes import (
    Anything,
    Array,
    Const,
    Integer,
    Never,
    Number,
    Object,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.numbers import meet_numbers
from structkit.schema.place import Place

__all__ = ["Meeting", "meet_strings"]

_COST = 10
"""What one node that meets others counts against `Limits.schema_nodes`: it takes as long as so many subschemas."""


class Meeting:
    """Intersects the nodes of one document."""

    def __init__(self, definitions: Definitions, limits: Limits) -> None:
        self._definitions = definitions
        self._limits = limits
        self._count = 0
        self._parts: dict[str, tuple[Schema, ...]] = {}

    def meet(self, nodes: Iterable[Schema], at: Place) -> Schema:
        """The values of all the nodes; `at` is where they were found together.

        >>> meeting = Meeting(Definitions(), Limits())
        >>> meeting.meet([Union((Const("null"), Integer(minimum=3))), Integer(maximum=9)], Place())
        Integer(note=None, minimum=3, maximum=9, multiple_of=None)

        Raises:
            UnsupportedKeyword: The intersection cannot be said exactly.
            LimitExceeded: There are too many combinations.
        """
        nodes = tuple(nodes)
        if len(nodes) == 1:
            return nodes[0]
        note = next((node.note for node in nodes if node.note is not None), None)
        parts = self._flat(nodes)
        if len(parts) < 2:
            return with_note(parts[0] if parts else Anything(), note)
        self._charge(len(parts), at)
        first = next((part for part in parts if isinstance(part, Ref)), None)
        return with_note(self._merge(parts, at) if first is None else self._product(first, parts, at), note)

    def _flat(self, nodes: Sequence[Schema]) -> tuple[Schema, ...]:
        """The different nodes that meet, the parts of earlier intersections included."""
        found: dict[Schema, None] = {}
        for node in nodes:
            parts = self._parts.get(node.name, (node,)) if isinstance(node, Ref) else (node,)
            for part in parts:
                if isinstance(part, Never):
                    return (part,)
                if not isinstance(part, Anything):
                    found[part] = None
        return tuple(found)

    def _product(self, first: Ref, parts: tuple[Schema, ...], at: Place) -> Ref:
        """The definition in which the parts meet."""

        def make() -> Schema:
            return self.meet((self._opened(part, at) for part in parts), at)

        product = self._definitions.reference(frozenset(parts), first.name, make)
        self._parts[product.name] = parts
        return product

    def _opened(self, part: Schema, at: Place) -> Schema:
        return self._definitions.look(part.name, at) if isinstance(part, Ref) else part

    def _merge(self, parts: tuple[Schema, ...], at: Place) -> Schema:
        """The intersection of nodes that are not references."""
        narrowed = tuple(_narrowed(part, parts) for part in parts)
        if narrowed != parts:
            return self.meet(narrowed, at)
        unions = [part for part in parts if isinstance(part, Union)]
        if unions:
            chosen = min(unions, key=lambda part: len(part.branches))
            others = tuple(part for part in parts if part is not chosen)
            return union(self.meet((branch, *others), at) for branch in chosen.branches)
        for index, part in enumerate(parts):
            if isinstance(part, Const):
                return self._merge_const(part, parts[:index] + parts[index + 1 :], at)
        if all(isinstance(part, Object) for part in parts):
            return self._merge_objects([part for part in parts if isinstance(part, Object)], at)
        if all(isinstance(part, Array) for part in parts):
            return self._merge_arrays([part for part in parts if isinstance(part, Array)], at)
        return reduce(lambda left, right: _merge_scalars(left, right, at), parts)

    def _charge(self, nodes: int, at: Place) -> None:
        self._count += nodes * _COST
        if self._count > self._limits.schema_nodes:
            raise LimitExceeded(
                "schema_nodes", self._limits.schema_nodes, "the intersections of allOf", place=at.path
            )

    def _merge_const(self, const: Const, others: tuple[Schema, ...], at: Place) -> Schema:
        value: object = json.loads(const.text)
        answers = [admits(other, value) for other in others]
        if False in answers:
            return Never(f"{_short(const.text)} is not among the values allowed beside it")
        undecided = tuple(other for other, answer in zip(others, answers, strict=True) if answer is None)
        if not undecided:
            return const
        if isinstance(value, str):
            literal = "".join(f"\\{character}" if character in _SPECIAL else character for character in value)
            return reduce(
                lambda left, right: _merge_scalars(left, right, at),
                (String(patterns=(f"^{literal}$",)), *undecided),
            )
        return self.meet((expand(const), *undecided), at)

    def _merge_arrays(self, nodes: list[Array], at: Place) -> Schema:
        rests = [node.items for node in nodes]
        prefix = [
            [item or rest for item, rest in zip(column, rests, strict=True)]
            for column in zip_longest(*(node.prefix for node in nodes))
        ]
        return array(
            Array(
                prefix=tuple(
                    self.meet(column, at.under("prefixItems", i)) for i, column in enumerate(prefix)
                ),
                items=self.meet(rests, at.under("items")),
                min_items=max(node.min_items for node in nodes),
                max_items=_least(node.max_items for node in nodes),
                unique=any(node.unique for node in nodes),
            )
        )

    def _merge_objects(self, nodes: list[Object], at: Place) -> Schema:
        declared = [{key.name: key.value for key in node.properties} for node in nodes]
        self._charge(sum(map(len, declared)), at)
        required = {key.name for node in nodes for key in node.properties if key.required}
        properties = []
        for name in dict.fromkeys(name for keys in declared for name in keys):
            here = at.under("properties", name)
            values = [_value(node, keys, name, here) for node, keys in zip(nodes, declared, strict=True)]
            properties.append(Property(name, self.meet(values, here), name in required))
        additional = [node.additional for node in nodes if node.additional is not None]
        names = string(
            reduce(lambda left, right: meet_strings(left, right, at), (node.names for node in nodes))
        )
        opened = len(additional) == len(nodes) and isinstance(names, String)
        return object_(
            Object(
                tuple(properties),
                additional=self.meet(additional, at.under("additionalProperties")) if opened else None,
                names=names if opened and isinstance(names, String) else String(),
                min_properties=max(node.min_properties for node in nodes),
                max_properties=_least(node.max_properties for node in nodes),
            )
        )


def _narrowed(node: Schema, parts: tuple[Schema, ...]) -> Schema:
    """A union without the branches that another part excludes at a glance; without this, unions would multiply."""
    if not isinstance(node, Union):
        return node
    plain = [part for part in parts if not isinstance(part, Union)]
    kept = tuple(branch for branch in node.branches if all(_may_meet(branch, part) for part in plain))
    return (
        node if len(kept) == len(node.branches) else union(kept, "no alternative fits what stands beside it")
    )


def _may_meet(left: Schema, right: Schema) -> bool:
    if isinstance(left, Ref):
        return True
    if isinstance(left, Const):
        return admits(right, json.loads(left.text)) is not False
    if isinstance(right, Const):
        return admits(left, json.loads(right.text)) is not False
    numbers = (Integer, Number)
    return type(left) is type(right) or (isinstance(left, numbers) and isinstance(right, numbers))


_SPECIAL = frozenset("\\^$.|?*+()[]{}/-")


def _merge_scalars(left: Schema, right: Schema, at: Place) -> Schema:
    match left, right:
        case (Never(), _) | (_, Never()):
            return left if isinstance(left, Never) else right
        case ((Integer() | Number()), (Integer() | Number())):
            return meet_numbers(left, right)
        case String(), String():
            return string(meet_strings(left, right, at))
    return left if left == right else Never(f"no value is {_kind(left)} and {_kind(right)}")


def meet_strings(left: String, right: String, at: Place) -> String:
    """Strings of both: the narrower lengths, every pattern, the one format.

    Raises:
        UnsupportedKeyword: They have two different formats.
    """
    if left.format is not None and right.format is not None and left.format != right.format:
        raise UnsupportedKeyword(
            "format",
            f"two formats at once, {left.format!r} and {right.format!r}, cannot be enforced; keep one",
            place=at.path,
        )
    return String(
        min_length=max(left.min_length, right.min_length),
        max_length=_least((left.max_length, right.max_length)),
        patterns=tuple(dict.fromkeys((*left.patterns, *right.patterns))),
        format=left.format or right.format,
    )


def _value(node: Object, declared: dict[str, Schema], name: str, at: Place) -> Schema:
    """What an object allows under one key."""
    if name in declared:
        return declared[name]
    if node.additional is None:
        return Never("an object beside it does not allow this key")
    allowed = admits(node.names, name)
    if allowed is None:
        raise UnsupportedKeyword(
            "propertyNames",
            "whether this key is allowed depends on a pattern beside it; declare it",
            place=at.path,
        )
    return node.additional if allowed else Never("an object beside it does not allow this key")


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _kind(node: Schema) -> str:
    name = type(node).__name__.lower()
    return name if name == "null" else f"{'an' if name[0] in 'aio' else 'a'} {name}"
