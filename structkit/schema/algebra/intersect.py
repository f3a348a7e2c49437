"""The intersection of Schema nodes: the values that satisfy all of them. Exact, or refused with its place.

`allOf`, and any keyword beside `$ref`, `anyOf`, `enum` or `const`, is an intersection. One that involves a reference
becomes a definition of its own, known by the set of nodes that meet in it: recursive definitions that meet each other
give finitely many such sets, as in the product of two automata.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import product, zip_longest
from typing import TypeVar

from structkit.errors import LimitExceeded, UnsupportedKeyword
from structkit.limits import Limits
from structkit.schema.algebra.extend_prefix import MOST_WAYS, behind
from structkit.schema.algebra.membership import admits, expand
from structkit.schema.algebra.property_names import is_named, other_strings, value_under
from structkit.schema.algebra.ranges import meet_numbers
from structkit.schema.algebra.string_oracle import UNDECIDED, Texts, is_restricted
from structkit.schema.ir.constructors import array, object_, string, union, with_note
from structkit.schema.ir.definitions import Definitions
from structkit.schema.ir.nodes import (
    Additional,
    Anything,
    Array,
    Const,
    Contains,
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
from structkit.schema.ir.path import Place

__all__ = ["Meeting", "literal", "may_meet", "meet_strings"]

P = TypeVar("P")

_COST = 10
"""What one node that meets others counts against `Limits.schema_nodes`: it takes as long as so many subschemas."""


class Meeting:
    """Intersects the nodes of one document.

    Attributes:
        differences: For a definition that is a difference what it is of, and what is taken from that.
    """

    def __init__(self, definitions: Definitions, limits: Limits, texts: Texts = UNDECIDED) -> None:
        self.definitions = definitions
        self.texts = texts
        self._limits = limits
        self._count = 0
        self._parts: dict[str, tuple[Schema, ...]] = {}
        self.differences: dict[str, tuple[Schema, frozenset[Schema]]] = {}

    def meet(self, nodes: Iterable[Schema], at: Place) -> Schema:
        """The values of all the nodes; `at` is where they were found together.

        >>> meeting = Meeting(Definitions(), Limits())
        >>> meeting.meet([Union((Const("null"), Integer(minimum=3))), Integer(maximum=9)], Place())
        Integer(note=None, minimum=3, maximum=9, multiple_of=None, not_multiple_of=())

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
        self.charge(len(parts), at)
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
        for part in tuple(found):
            whole, taken = (
                self.differences.get(part.name, (None, ())) if isinstance(part, Ref) else (None, ())
            )
            if any(other in found for other in taken):
                return (Never("one alternative excludes what another one demands"),)
            if whole is not None:
                found.pop(whole, None)
        return tuple(found)

    def _product(self, first: Ref, parts: tuple[Schema, ...], at: Place) -> Ref:
        """The definition in which the parts meet."""

        def make() -> Schema:
            return self.meet((self._opened(part, at) for part in parts), at)

        product = self.definitions.reference(frozenset(parts), first.name, make)
        self._parts[product.name] = parts
        return product

    def _opened(self, part: Schema, at: Place) -> Schema:
        return self.definitions.look(part.name, at) if isinstance(part, Ref) else part

    def _merge(self, parts: tuple[Schema, ...], at: Place) -> Schema:
        """The intersection of nodes that are not references."""
        narrowed = tuple(_narrowed(part, parts, self.texts) for part in parts)
        if narrowed != parts:
            return self.meet(narrowed, at)
        unions = [part for part in parts if isinstance(part, Union)]
        if unions:
            chosen = min(unions, key=lambda part: len(part.branches))
            place = next(index for index, part in enumerate(parts) if part is chosen)
            before, after = parts[:place], parts[place + 1 :]
            return union(self.meet((*before, branch, *after), at) for branch in chosen.branches)
        for index, part in enumerate(parts):
            if isinstance(part, Const):
                return self._merge_const(part, parts[:index] + parts[index + 1 :], at)
        if all(isinstance(part, Object) for part in parts):
            return self._merge_objects([part for part in parts if isinstance(part, Object)], at)
        if all(isinstance(part, Array) for part in parts):
            return self._merge_arrays([part for part in parts if isinstance(part, Array)], at)
        return reduce(lambda left, right: _merge_scalars(left, right, at), parts)

    def charge(self, nodes: int, at: Place) -> None:
        """Count the work.

        Raises:
            LimitExceeded: It was too much.
        """
        self._count += nodes * _COST
        if self._count > self._limits.schema_nodes:
            raise LimitExceeded(
                "schema_nodes", self._limits.schema_nodes, "the combinations of schemas", place=at.path
            )

    def _merge_const(self, const: Const, others: tuple[Schema, ...], at: Place) -> Schema:
        value: object = json.loads(const.text)
        answers = [admits(other, value, self.texts) for other in others]
        if False in answers:
            return Never(f"{_short(const.text)} is not among the values allowed beside it")
        undecided = tuple(other for other, answer in zip(others, answers, strict=True) if answer is None)
        if not undecided:
            return const
        if isinstance(value, str):
            return reduce(
                lambda left, right: _merge_scalars(left, right, at),
                (String(patterns=(literal(value),)), *undecided),
            )
        return self.meet((expand(const), *undecided), at)

    def _merge_arrays(self, nodes: list[Array], at: Place) -> Schema:
        longest = max(len(node.prefix) for node in nodes)
        if any(node.contains and len(node.prefix) < longest for node in nodes):
            ways = [
                behind(node, longest, self.meet, self.charge, at) if node.contains else [node]
                for node in nodes
            ]
            return union(
                (self._merge_arrays(list(chosen), at) for chosen in product(*ways)),
                "what the array must contain is not possible there",
            )
        rests = [node.items for node in nodes]
        prefix = [
            [item or rest for item, rest in zip(column, rests, strict=True)]
            for column in zip_longest(*(node.prefix for node in nodes))
        ]
        merged = array(
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
        return self.with_hits(merged, self._contains(nodes, at), at) if isinstance(merged, Array) else merged

    def _contains(self, nodes: list[Array], at: Place) -> tuple[Contains, ...]:
        """What the arrays must contain after their prefix, of the items that are left."""
        here = at.under("contains")
        rests = [node.items for node in nodes]
        return tuple(
            replace(
                one, hits=self.meet((*rests, one.hits), here), misses=self.meet((*rests, one.misses), here)
            )
            for one in dict.fromkeys(one for node in nodes for one in node.contains)
        )

    def _merge_objects(self, nodes: list[Object], at: Place) -> Schema:
        if any(node.some for node in nodes):
            names = list(dict.fromkeys(key.name for node in nodes for key in node.properties))
            spelled = [self.declaring(node, names, at) for node in nodes]
            if any(len(alternatives) > 1 for alternatives in spelled):
                return union(self.meet(chosen, at) for chosen in product(*spelled))
            nodes = [alternatives[0] for alternatives in spelled]
        return self._merge_declared(nodes, at)

    def declaring(self, node: Object, names: Iterable[str], at: Place) -> list[Object]:
        """The object with more keys declared; what it must have some of may be one of these."""
        known = {key.name: key.value for key in node.properties}
        here = at.under("properties")
        new = [
            Property(name, self.value(node, known, name, here), required=False, listed=False)
            for name in names
            if name not in known
        ]
        self.charge(len(new), at)
        found = [replace(node, properties=(*node.properties, *new), some=())]
        for choice in node.some:
            more = [
                _with(one, key.name, self.meet((key.value, group.value), here))
                for one in found
                for key in new
                for group in choice
                if is_named(key.name, group.names, self.texts, here)
            ]
            found = [*(replace(one, some=(*one.some, choice)) for one in found), *more]
            self.charge(len(found), at)
        return found

    def _merge_declared(self, nodes: list[Object], at: Place) -> Schema:
        declared = [{key.name: key.value for key in node.properties} for node in nodes]
        self.charge(sum(map(len, declared)), at)
        keys = [key for node in nodes for key in node.properties]
        required = {key.name for key in keys if key.required}
        listed = {key.name: None for key in keys if key.listed}
        properties = []
        for name in dict.fromkeys((*listed, *(key.name for key in keys))):
            here = at.under("properties", name)
            values = [
                self.value(node, names, name, here) for node, names in zip(nodes, declared, strict=True)
            ]
            properties.append(Property(name, self.meet(values, here), name in required, name in listed))
        additional = reduce(
            lambda left, right: self._groups(left, right, at), (node.additional for node in nodes)
        )
        merged = Object(
            tuple(properties),
            additional=additional,
            min_properties=max(node.min_properties for node in nodes),
            max_properties=_least(node.max_properties for node in nodes),
            any_order=any(node.any_order for node in nodes),
        )
        some = self.among((choice for node in nodes for choice in node.some), additional, at)
        return self.with_some(merged, some, at)

    def among(
        self, some: Iterable[tuple[Additional, ...]], groups: tuple[Additional, ...], at: Place
    ) -> tuple[tuple[Additional, ...], ...]:
        """What of each choice is among the additional keys."""
        return tuple(dict.fromkeys(self._groups(choice, groups, at) for choice in some))

    def with_some(self, node: Object, some: tuple[tuple[Additional, ...], ...], at: Place) -> Schema:
        """The object with some key of each choice; one key may be of several."""

        def join(
            left: tuple[Additional, ...], right: tuple[Additional, ...]
        ) -> tuple[Additional, ...] | None:
            both = self._groups(left, right, at)
            return tuple(group for group in both if not isinstance(group.value, Never)) or None

        needed = sum(key.required for key in node.properties)
        room = None if node.max_properties is None else node.max_properties - needed
        ways = self._ways(some, join, room, at)
        return union((object_(replace(node, some=blocks)) for blocks in ways), "too few keys are allowed")

    def with_hits(self, node: Array, contains: tuple[Contains, ...], at: Place) -> Schema:
        """The array with an item of each kind; one item may be of several."""
        plain = tuple(one for one in contains if (one.least, one.most) == (1, None))
        counted = tuple(one for one in contains if one not in plain)

        def join(left: Contains, right: Contains) -> Contains | None:
            hits = self.meet((left.hits, right.hits), at.under("contains"))
            never = isinstance(hits, Never) or (isinstance(hits, String) and self.texts.is_empty(hits))
            return None if never else Contains(hits, node.items)

        room = None if node.max_items is None else node.max_items - len(node.prefix)
        ways = self._ways(plain, join, room, at)
        return union(
            (array(replace(node, contains=(*counted, *blocks))) for blocks in ways),
            "too few items are allowed",
        )

    def _ways(
        self, parts: Iterable[P], join: Callable[[P, P], P | None], room: int | None, at: Place
    ) -> list[tuple[P, ...]]:
        """The ways to put parts into at most `room` blocks, each block joined into one part."""
        ways: list[tuple[P, ...]] = [()]
        for part in parts:
            split: list[tuple[P, ...]] = []
            for blocks in ways:
                joined = [join(block, part) for block in blocks]
                self.charge(1 + len(blocks), at)
                if any(block == old for block, old in zip(joined, blocks, strict=True)):
                    split.append(blocks)  # what is there already is always one of these too
                    continue
                if room is None or len(blocks) < room:
                    split.append((*blocks, part))
                split += [
                    (*blocks[:index], block, *blocks[index + 1 :])
                    for index, block in enumerate(joined)
                    if block is not None
                ]
            ways = list(dict.fromkeys(split))
            if len(ways) > MOST_WAYS:
                message = (
                    "so many different things that must be contained at once cannot be enforced; drop some"
                )
                raise UnsupportedKeyword("contains", message, place=at.path)
        return ways

    def _groups(
        self, left: tuple[Additional, ...], right: tuple[Additional, ...], at: Place
    ) -> tuple[Additional, ...]:
        """The additional keys of both, by the groups that they are in."""
        here = at.under("additionalProperties")
        self.charge(len(left) * len(right), at)
        pairs = [(a, b, self.names(a.names, b.names, here)) for a in left for b in right]
        return tuple(
            Additional(names, self.meet((a.value, b.value), here), a.silent and b.silent)
            for a, b, names in pairs
            if names is not None
        )

    def names(self, left: String, right: String, at: Place) -> String | None:
        """The names that are in both languages; `None` if there are none."""
        both = string(meet_strings(left, right, at))
        if not isinstance(both, String) or (is_restricted(both) and self.texts.is_empty(both)):
            return None
        return both

    def names_without(self, names: String, others: Iterable[String], at: Place) -> list[String]:
        """The names that are in none of the others."""
        rests = [names]
        for other in others:
            pieces = other_strings(other)
            split = (self.names(rest, piece, at) for rest in rests for piece in pieces)
            rests = [rest for rest in split if rest is not None]
        return rests

    def value(self, node: Object, declared: Mapping[str, Schema], name: str, at: Place) -> Schema:
        """What an object allows under one key.

        Raises:
            UnsupportedKeyword: A pattern decides, and is not decided here.
        """
        found = declared.get(name)
        return value_under(name, node.additional, self.texts, at) if found is None else found


def _with(node: Object, name: str, value: Schema) -> Object:
    """The object with a key that must be there."""
    keys = (replace(k, value=value, required=True) if k.name == name else k for k in node.properties)
    return replace(node, properties=tuple(keys))


def literal(text: str) -> str:
    r"""The pattern of one text.

    >>> literal("a+b")
    '^a\\+b$'
    """
    return "^" + "".join(f"\\{character}" if character in _SPECIAL else character for character in text) + "$"


def _narrowed(node: Schema, parts: tuple[Schema, ...], texts: Texts) -> Schema:
    """A union without the branches that another part excludes at a glance; without this, unions would multiply."""
    if not isinstance(node, Union):
        return node
    plain = [part for part in parts if not isinstance(part, Union)]
    kept = tuple(branch for branch in node.branches if all(may_meet(branch, part, texts) for part in plain))
    return (
        node if len(kept) == len(node.branches) else union(kept, "no alternative fits what stands beside it")
    )


def may_meet(left: Schema, right: Schema, texts: Texts) -> bool:
    """Whether nothing excludes at a glance that two nodes share a value."""
    if isinstance(left, Never) or isinstance(right, Never):
        return False
    if isinstance(left, Ref | Anything) or isinstance(right, Ref | Anything):
        return True
    if isinstance(left, Const):
        return admits(right, json.loads(left.text), texts) is not False
    if isinstance(right, Const):
        return admits(left, json.loads(right.text), texts) is not False
    if isinstance(left, Object) and isinstance(right, Object):
        return not _told_apart(left, right, texts) and not _told_apart(right, left, texts)
    numbers = (Integer, Number)
    return type(left) is type(right) or (isinstance(left, numbers) and isinstance(right, numbers))


def _told_apart(left: Object, right: Object, texts: Texts) -> bool:
    """Whether a key that one object must have shows at a glance that it is not among others."""
    others = {key.name: key.value for key in right.properties}
    for key in left.properties:
        if key.required and key.name in others:
            mine, yours = _branches(key.value), _branches(others[key.name])
            few = len(mine) * len(yours) <= _GLANCE
            if few and not any(may_meet(one, other, texts) for one in mine for other in yours):
                return True
    return False


def _branches(node: Schema) -> tuple[Schema, ...]:
    return node.branches if isinstance(node, Union) else (node,)


_GLANCE = 1000
"""Pairs of alternatives that are compared to see whether two keys have values in common."""

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
    if left.content is not None and right.content is not None and left.content != right.content:
        message = "two things that a string of JSON must say cannot be enforced; say them of the inner type"
        raise UnsupportedKeyword("contentSchema", message, place=at.path)
    return String(
        content=left.content or right.content,
        min_length=max(left.min_length, right.min_length),
        max_length=_least((left.max_length, right.max_length)),
        patterns=tuple(dict.fromkeys((*left.patterns, *right.patterns))),
        format=left.format or right.format,
        forbidden=tuple(dict.fromkeys((*left.forbidden, *right.forbidden))),
        forbidden_formats=tuple(dict.fromkeys((*left.forbidden_formats, *right.forbidden_formats))),
    )


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _kind(node: Schema) -> str:
    name = type(node).__name__.lower()
    return name if name == "null" else f"{'an' if name[0] in 'aio' else 'a'} {name}"
