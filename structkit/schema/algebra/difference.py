"""The difference of Schema nodes: the values of one that are not values of another. Exact, or refused with its place.

`not`, `if`, the overlaps of `oneOf`, and whatever must hold unless something else does, are differences. A value is
missing from an object or an array for one of finitely many reasons, so a difference is a union over the reasons.
One that involves a reference becomes a definition of its own, as an intersection does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import zip_longest

from structkit.errors import UnsupportedKeyword
from structkit.schema.algebra.extend_prefix import behind
from structkit.schema.algebra.intersect import Meeting, literal, may_meet
from structkit.schema.algebra.membership import admits, expand
from structkit.schema.algebra.property_names import other_strings
from structkit.schema.algebra.ranges import meet_numbers
from structkit.schema.ir.constructors import array, object_, union
from structkit.schema.ir.nodes import (
    Additional,
    Anything,
    Array,
    Boolean,
    Bound,
    Const,
    Contains,
    Integer,
    Never,
    Null,
    Number,
    Object,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import Place

__all__ = ["minus"]

_ANY_KEYS = (Additional(String(), Anything(), silent=True),)

_EVERY_KIND = Union((Null(), Boolean(), Number(), String(), Array(), Object(additional=_ANY_KEYS)))
"""Every value, as one node for each kind."""

_NOTHING = Never("nothing is left of it")


def minus(left: Schema, right: Schema, meeting: Meeting, at: Place) -> Schema:
    """The values of `left` that are not values of `right`.

    >>> from structkit.limits import Limits
    >>> from structkit.schema.ir.definitions import Definitions
    >>> minus(Boolean(), Const("true"), Meeting(Definitions(), Limits()), Place())
    Const(note=None, text='false')

    Raises:
        UnsupportedKeyword: The difference cannot be said exactly.
        LimitExceeded: There are too many combinations.
    """
    meeting.charge(1, at)
    if isinstance(left, Never) or isinstance(right, Never):
        return left
    if left == right or isinstance(right, Anything):
        return _NOTHING
    if isinstance(right, Ref) and right.name in meeting.differences:
        whole, taken = meeting.differences[right.name]
        if isinstance(whole, Anything) or whole == left:
            return union((meeting.meet((left, other), at) for other in taken), _NOTHING.reason)
    if isinstance(left, Ref) or isinstance(right, Ref):
        return _later(left, right, meeting, at)
    if isinstance(right, Union):
        texts = [branch for branch in right.branches if _is_text(branch)] if isinstance(left, String) else []
        if texts:
            left = union(_and(left, _other_than(texts), meeting, at), _NOTHING.reason)
        for branch in right.branches:
            left = left if texts and _is_text(branch) else minus(left, branch, meeting, at)
        return left
    if isinstance(left, Anything):
        left = _EVERY_KIND
    if isinstance(left, Union):
        pieces = (minus(branch, right, meeting, at) for branch in left.branches)
        return _without_special_cases(union(pieces, _NOTHING.reason))
    if not may_meet(left, right, meeting.texts):
        return left
    return union(_pieces(left, right, meeting, at), _NOTHING.reason)


def _without_special_cases(node: Schema) -> Schema:
    """A union without the objects that only require more than another one does; else reasons would multiply."""
    if not isinstance(node, Union):
        return node
    alike: dict[Schema, list[tuple[frozenset[str], Schema]]] = {}
    for branch in node.branches:
        names = (
            frozenset(key.name for key in branch.properties if key.required)
            if isinstance(branch, Object)
            else _NO
        )
        alike.setdefault(_all_optional(branch), []).append((names, branch))
    kept = {
        branch: None
        for group in alike.values()
        for names, branch in group
        if not any(others < names for others, _ in group)
    }
    return union(branch for branch in node.branches if branch in kept)


_NO: frozenset[str] = frozenset()


def _all_optional(node: Schema) -> Schema:
    if not isinstance(node, Object):
        return node
    return replace(node, properties=tuple(replace(key, required=False) for key in node.properties))


def _later(left: Schema, right: Schema, meeting: Meeting, at: Place) -> Ref:
    """The difference as a definition, made when what it refers to is known."""
    whole, taken = (
        meeting.differences.get(left.name, (left, _NO_NODES)) if isinstance(left, Ref) else (left, _NO_NODES)
    )
    if isinstance(left, Ref) and right in taken:
        return left

    def make() -> Schema:
        opened = (
            meeting.definitions.look(node.name, at) if isinstance(node, Ref) else node
            for node in (left, right)
        )
        return minus(next(opened), next(opened), meeting, at)

    stem = left.name if isinstance(left, Ref) else right.name if isinstance(right, Ref) else ""
    found = meeting.definitions.reference(("minus", whole, taken | {right}), stem, make)
    meeting.differences[found.name] = whole, taken | {right}
    return found


_NO_NODES: frozenset[Schema] = frozenset()


def _pieces(left: Schema, right: Schema, meeting: Meeting, at: Place) -> Iterator[Schema]:
    """The difference of two nodes of one kind, one reason after the other."""
    match left, right:
        case Const(text=text), _:
            answer = admits(right, json.loads(text), meeting.texts)
            if answer is None and text[0] in "[{":
                yield minus(expand(left), right, meeting, at)
            elif answer is None:
                raise UnsupportedKeyword(
                    "not", f"whether it allows {text} is not decided here", place=at.path
                )
            elif not answer:
                yield left
        case _, Const(text=text) if text[0] in "[{":
            yield minus(left, expand(right), meeting, at)
        case Boolean(), Const(text=text):
            yield Const("false" if text == "true" else "true")
        case ((Integer() | Number()), Const(text=text)):
            number = Bound(Decimal(text), exclusive=True)
            yield meet_numbers(left, Number(maximum=number))
            yield meet_numbers(left, Number(minimum=number))
        case String(), Const(text=text):
            yield from _and(left, _other_than([right]), meeting, at)
        case ((Integer() | Number()), (Integer() | Number())):
            yield from _numbers(left, right)
        case String(), String():
            for other in other_strings(right):
                yield from _and(left, other, meeting, at)
        case Array(), Array():
            yield from _arrays(left, right, meeting, at)
        case Object(), Object():
            yield from _objects(left, right, meeting, at)


def _is_text(node: Schema) -> bool:
    return isinstance(node, Const) and node.text[0] == '"'


def _other_than(texts: Iterable[Schema]) -> String:
    """The strings that are none of some constants."""
    return String(
        forbidden=tuple(literal(json.loads(text.text)) for text in texts if isinstance(text, Const))
    )


def _and(left: Schema, right: Schema, meeting: Meeting, at: Place) -> Iterator[Schema]:
    both = meeting.meet((left, right), at)
    # Of many forbidden texts an automaton would be made anew for each.
    asked = isinstance(both, String) and len(both.forbidden) <= _FEW
    if not (asked and isinstance(both, String) and meeting.texts.is_empty(both)):
        yield both


_FEW = 8
"""Patterns that strings may have to avoid for it to be asked whether any string does."""


def _numbers(left: Integer | Number, right: Integer | Number) -> Iterator[Schema]:
    low, high = right.minimum, right.maximum
    if low is not None:
        bound = low if isinstance(low, Bound) else Bound(Decimal(low))
        yield meet_numbers(left, Number(maximum=Bound(bound.value, not bound.exclusive)))
    if high is not None:
        bound = high if isinstance(high, Bound) else Bound(Decimal(high))
        yield meet_numbers(left, Number(minimum=Bound(bound.value, not bound.exclusive)))
    step = right.multiple_of or (1 if isinstance(right, Integer) else None)
    if step is not None:
        yield meet_numbers(left, Number(not_multiple_of=(Decimal(step),)))
    for other in right.not_multiple_of:
        yield meet_numbers(left, Number(multiple_of=other))


def _arrays(left: Array, right: Array, meeting: Meeting, at: Place) -> Iterator[Schema]:
    count = max(len(left.prefix), len(right.prefix))
    if left.contains or right.contains:
        lefts, rights = (behind(node, count, meeting.meet, meeting.charge, at) for node in (left, right))
        if (lefts, rights) != ([left], [right]):
            yield minus(union(lefts), union(rights), meeting, at)
            return
    if right.min_items:
        yield _no_longer(left, right.min_items - 1)
    if right.max_items is not None:
        yield array(replace(left, min_items=max(left.min_items, right.max_items + 1)))
    pairs = list(zip_longest(left.prefix, right.prefix))
    prefix = tuple(mine or left.items for mine, _ in pairs)
    for index, (mine, yours) in enumerate(pairs):
        other = minus(mine or left.items, yours or right.items, meeting, at)
        if not isinstance(other, Never):
            changed = (*prefix[:index], other, *prefix[index + 1 :])
            yield array(replace(left, prefix=changed, min_items=max(left.min_items, index + 1)))
    # Where either may not be longer than the prefixes, there is nothing after them, or the length tells.
    longest = min((most for most in (left.max_items, right.max_items) if most is not None), default=count + 1)
    if longest > count:
        other = minus(left.items, right.items, meeting, at)
        if not isinstance(other, Never):
            hit = Contains(other, left.items)
            yield meeting.with_hits(replace(left, prefix=prefix), (*left.contains, hit), at)
    for contains in right.contains:
        yield from _containing(left, contains, meeting, at)
    if right.unique and not left.unique and left.max_items not in (0, 1):
        raise UnsupportedKeyword(
            "uniqueItems", "arrays that repeat an item cannot be asked for", place=at.path
        )


def _no_longer(node: Array, most: int) -> Schema:
    return array(replace(node, max_items=most if node.max_items is None else min(most, node.max_items)))


def _containing(left: Array, contains: Contains, meeting: Meeting, at: Place) -> Iterator[Schema]:
    """Arrays with too few hits, or too many."""
    hits = meeting.meet((left.items, contains.hits), at)
    if contains.least == 1:
        misses = minus(Anything(), contains.hits, meeting, at)
        yield meeting.meet((left, Array((Anything(),) * len(left.prefix), misses)), at)
    elif contains.least:
        few = Contains(hits, minus(left.items, hits, meeting, at), least=0, most=contains.least - 1)
        yield array(replace(left, contains=(*left.contains, few)))
    if contains.most is not None:
        many = Contains(hits, left.items, least=contains.most + 1)
        yield meeting.with_hits(left, (*left.contains, many), at)


def _objects(left: Object, right: Object, meeting: Meeting, at: Place) -> Iterator[Schema]:
    names = list(dict.fromkeys(key.name for node in (left, right) for key in node.properties))
    lefts, rights = meeting.declaring(left, names, at), meeting.declaring(right, names, at)
    if len(lefts) > 1 or len(rights) > 1:
        yield minus(union(lefts), union(rights), meeting, at)
        return
    (left,), (right,) = lefts, rights
    theirs = {key.name: key for key in right.properties}
    if not may_meet(left, right, meeting.texts):
        yield left
        return
    for mine in left.properties:
        yours = theirs[mine.name]
        if yours.required and not mine.required:
            yield _with_key(left, replace(mine, value=Never("it is what another alternative requires")))
        other = minus(mine.value, yours.value, meeting, at.under("properties", mine.name))
        if not isinstance(other, Never):
            yield _with_key(left, replace(mine, value=other, required=True))
    odd = tuple(_odd_keys(left, right, meeting, at))
    if odd:
        yield meeting.with_some(left, (*left.some, odd), at)
    for choice in right.some:
        rest = tuple(_other_keys(left.additional, choice, meeting, at))
        yield meeting.with_some(
            replace(left, additional=rest, some=()), meeting.among(left.some, rest, at), at
        )
    if right.min_properties:
        yield _no_more(left, right.min_properties - 1)
    if right.max_properties is not None:
        yield object_(replace(left, min_properties=max(left.min_properties, right.max_properties + 1)))


def _odd_keys(left: Object, right: Object, meeting: Meeting, at: Place) -> Iterator[Additional]:
    """The additional keys that only the first object allows, or whose values it alone allows."""
    for group in left.additional:
        for other in right.additional:
            shared = meeting.names(group.names, other.names, at)
            if shared is not None:
                value = minus(group.value, other.value, meeting, at)
                if not isinstance(value, Never):
                    yield Additional(shared, value, group.silent)
        for names in meeting.names_without(group.names, [other.names for other in right.additional], at):
            yield Additional(names, group.value, group.silent)


def _other_keys(
    groups: tuple[Additional, ...], choice: tuple[Additional, ...], meeting: Meeting, at: Place
) -> Iterator[Additional]:
    """The additional keys without those of a choice."""
    for group in groups:
        pieces = [group]
        for one in choice:
            split: list[Additional] = []
            for piece in pieces:
                shared = meeting.names(piece.names, one.names, at)
                if shared is not None:
                    split.append(Additional(shared, minus(piece.value, one.value, meeting, at)))
                rest = meeting.names_without(piece.names, [one.names], at)
                split += [Additional(names, piece.value, piece.silent) for names in rest]
            pieces = split
        yield from pieces


def _with_key(node: Object, changed: Property) -> Schema:
    """The object with another property in the place of one of the same name."""
    return object_(
        replace(node, properties=tuple(changed if k.name == changed.name else k for k in node.properties))
    )


def _no_more(node: Object, most: int) -> Schema:
    known = node.max_properties
    return object_(replace(node, max_properties=most if known is None else min(most, known)))
