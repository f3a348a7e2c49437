"""Unions, choices of many texts, and the text of an option."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from itertools import groupby
from typing import Protocol

from structkit.error_notes import SURROGATE_REMEDY
from structkit.errors import SchemaError
from structkit.lowering.containers.objects import text_size
from structkit.lowering.lazy import constants_discount
from structkit.lowering.numbers.integers import with_decimal_point
from structkit.lowering.small import are_short
from structkit.lowering.usage import differ_at_the_start
from structkit.regex.nodes import Choice, LiteralText, Node, choice, seq
from structkit.regex.size_bound import have_distinct_starts
from structkit.schema.algebra.distinct import disjoint_branches
from structkit.schema.ir.nodes import Const, Schema
from structkit.schema.markers.json_style import Whitespace

__all__ = ["UnionLowerer", "alternation", "option_text"]

_MAX_INLINE_LENGTH = 2_000
"""Largest total length of texts with a common prefix that are written in place; longer ones become lazy rules."""

_MAX_DEPTH = 8
"""Largest depth of the prefix tree; below it, texts are written in place, whatever their number."""


class UnionLowering(Protocol):
    """The part of the lowering of a document that unions use."""

    bounded: bool
    integral_floats: bool
    canonical: bool
    overlapping: bool
    small: bool
    size: int
    definitions: Mapping[str, Schema]

    def charge(self, count: int, path: str) -> None:
        """Count lowered schemas."""

    def node(self, schema: Schema, path: str) -> Node:
        """Lower one schema."""

    def rule(self, node: Node, path: str, *, small: bool | None = None) -> Node:
        """Add `node` as a rule with a new name, and return the call."""


class UnionLowerer:
    """Lower the unions of one document."""

    __slots__ = ("_lowering",)

    def __init__(self, lowering: UnionLowering) -> None:
        self._lowering = lowering

    def union(self, branches: Sequence[Schema], path: str) -> Node:
        """Lower a union. Integers in it share the decimal point that JSON Schema allows them."""
        lowering = self._lowering
        is_split = lowering.canonical and lowering.bounded
        alternatives = disjoint_branches(branches, lowering.definitions) if is_split else branches
        strings, integers, others = _split_constants(alternatives)
        count = len(strings) + len(integers)
        lowering.charge(count, path)
        overlapping = lowering.overlapping
        lowering.overlapping = overlapping or not differ_at_the_start(branches)
        nodes = [lowering.node(branch, path) for branch in others]
        lowering.overlapping = overlapping
        lowering.small = lowering.small and are_short([*strings, *integers]) and have_distinct_starts(nodes)
        constants = sum([type(branch) is Const for branch in branches])
        text = "".join([each.value for each in (*strings, *integers)])
        inline = text_size(text) if len(text) <= _MAX_INLINE_LENGTH else 0
        lowering.size += max(count - constants_discount(constants), inline)
        rule = partial(lowering.rule, small=True)
        if integers:
            found = alternation(integers, rule, path)
            has_points = lowering.integral_floats and not lowering.canonical
            nodes.append(with_decimal_point(found) if has_points else found)
        return alternation([*strings, *nodes], rule, path)


def alternation(nodes: Iterable[Node], rule: Callable[[Node, str], Node], path: str) -> Node:
    """Return the choice of nodes; many texts become a prefix tree of rules.

    Args:
        nodes: The alternatives.
        rule: Adds a small node as a rule of a given name and returns the call.
        path: Prefix of the names of rules.

    >>> alternation([LiteralText("no"), LiteralText("yes")], lambda node, name: node, "$")
    Choice(parts=(LiteralText(value='no'), LiteralText(value='yes')))
    """
    alternatives = [part for node in nodes for part in (node.parts if isinstance(node, Choice) else (node,))]
    texts = [node.value for node in alternatives if isinstance(node, LiteralText)]
    if sum(map(len, texts)) <= _MAX_INLINE_LENGTH:
        return choice(alternatives)
    others = [node for node in alternatives if not isinstance(node, LiteralText)]
    return choice([*others, _suffix_tree(sorted(set(texts)), 0, 0, rule, path)])


def _suffix_tree(
    texts: list[str], position: int, level: int, rule: Callable[[Node, str], Node], path: str
) -> Node:
    """Return the suffixes from `position` of sorted texts that share the prefix before it."""
    is_short = sum(map(len, texts)) - position * len(texts) <= _MAX_INLINE_LENGTH
    if is_short or level == _MAX_DEPTH:
        suffixes = choice(LiteralText(text[position:]) for text in texts)
        return (
            rule(suffixes, f"{path}/{texts[0][:position]}")
            if is_short and level and len(texts) > 1
            else suffixes
        )
    first, last = texts[0], texts[-1]
    shared = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    groups = [list(group) for _, group in groupby(texts, key=lambda text: text[shared : shared + 1])]
    nodes = (
        seq(
            LiteralText(group[0][shared : shared + 1]),
            _suffix_tree(group, min(shared + 1, len(group[0])), level + 1, rule, path),
        )
        for group in groups
    )
    return seq(first[position:shared], choice(nodes))


def _split_constants(
    branches: Iterable[Schema],
) -> tuple[list[LiteralText], list[LiteralText], list[Schema]]:
    """Return the texts of the strings and of the integers among alternatives, and the other alternatives.

    >>> _split_constants([Const('"a"'), Const("-1"), Const("null")])
    ([LiteralText(value='"a"')], [LiteralText(value='-1')], [Const(note=None, text='null')])
    """
    strings: list[LiteralText] = []
    integers: list[LiteralText] = []
    others: list[Schema] = []
    for branch in branches:
        if type(branch) is not Const:
            others.append(branch)
        elif branch.text[0] == '"':
            strings.append(LiteralText(branch.text))
        elif branch.text.isdecimal() or branch.text[1:].isdecimal():
            integers.append(LiteralText(branch.text))
        else:
            others.append(branch)
    return strings, integers, others


def option_text(option: object, whitespace: Whitespace, *, is_raw: bool, path: str) -> str:
    """Return the text of an option of a choice: the string itself if `is_raw`, otherwise JSON.

    Raises:
        SchemaError: The option is not a JSON value, or contains a lone surrogate.
    """
    separators = (", ", ": ") if whitespace == "spaced" else (",", ":")
    try:
        if is_raw and isinstance(option, str):
            text = str.__str__(option)  # str() of a member of a str Enum is its name
        else:
            text = json.dumps(option, ensure_ascii=False, allow_nan=False, separators=separators)
        text.encode()
    except UnicodeEncodeError as error:
        raise SchemaError(
            f"an option contains a lone surrogate, which UTF-8 cannot encode; {SURROGATE_REMEDY}", place=path
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        is_member = isinstance(option, Enum)
        remedy = (
            "pass the Enum as the type"
            if is_member
            else "use strings, numbers, booleans, None, lists or dicts"
        )
        raise SchemaError(
            f"an option must be a JSON value: {error}; {remedy}",
            place=path,
        ) from error
    return text
