"""The schemas that apply to a part of a value, compared with a plain recursion."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import example, given
from hypothesis import strategies as st

from structkit.schema.ir.descend import descend, make_resolver
from structkit.schema.ir.nodes import (
    Array,
    Boolean,
    Integer,
    Null,
    Object,
    Property,
    Ref,
    Schema,
    Union,
)

_LEAVES: st.SearchStrategy[Schema] = st.sampled_from([Null(), Boolean(), Integer(), Ref("x"), Ref("y")])


def _larger(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        several.map(Union),
        several.map(lambda parts: Array(prefix=parts[:-1], items=parts[-1])),
        several.map(
            lambda parts: Object(
                tuple(Property(name, part, required=False) for name, part in zip("abc", parts, strict=False))
            )
        ),
    )


_SCHEMAS = st.recursive(_LEAVES, _larger, max_leaves=12)
_PATHS = st.lists(st.sampled_from(["a", "b", 0, 1, 2]), max_size=3)


def _same(node: Schema, definitions: dict[str, Schema], seen: list[Schema]) -> Iterator[Schema]:
    """Yield a schema, and those of the same value in it, in their order."""
    if node in seen:
        return
    seen.append(node)
    yield node
    if isinstance(node, Ref):
        yield from _same(definitions[node.name], definitions, seen)
    if isinstance(node, Union):
        for branch in node.branches:
            yield from _same(branch, definitions, seen)


def _inner(node: Schema, step: str | int) -> list[Schema]:
    if isinstance(node, Object) and isinstance(step, str):
        declared = [key.value for key in node.properties if key.name == step]
        return declared or [group.value for group in node.additional]
    if isinstance(node, Array) and isinstance(step, int):
        return [node.prefix[step] if step < len(node.prefix) else node.items]
    return []


@given(_SCHEMAS, _SCHEMAS, _SCHEMAS, _PATHS)
@example(
    Union((Object((Property("a", Null(), required=False),)), Array(items=Integer()))), Null(), Null(), ["a"]
)
def test_the_schemas_at_a_path_are_those_of_a_plain_recursion(
    root: Schema, x: Schema, y: Schema, path: list[str | int]
) -> None:
    definitions = {"x": x, "y": y}
    expected = list(_same(root, definitions, []))
    for step in path:
        seen: list[Schema] = []
        expected = [
            each
            for node in expected
            for inner in _inner(node, step)
            for each in _same(inner, definitions, seen)
        ]
    assert descend(root, path, make_resolver(definitions)) == expected
