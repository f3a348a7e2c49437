"""Removal of unsatisfiable parts from a document.

A definition is satisfiable if it has a finite value; `class A: a: A` has none. The satisfiable definitions are a least
fixed point.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from structkit.errors import SchemaError
from structkit.schema.ir.constructors import array, object_, union, with_note
from structkit.schema.ir.descend import children
from structkit.schema.ir.nodes import (
    Additional,
    Array,
    Boolean,
    Combined,
    Const,
    Document,
    Integer,
    Never,
    Null,
    Object,
    ObjectProduct,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import join_path, path_step
from structkit.schema.ir.product_search import possible_product
from structkit.schema.ir.rebuild import Rebuild, in_array, in_object, in_product
from structkit.schema.ir.unsatisfiable import unsatisfiable

__all__ = ["prune", "referenced_names", "topological_order"]

Definitions = Mapping[str, Schema]
_WITH_PARTS = frozenset({Ref, Union, String, Array, Object, Combined, ObjectProduct, Never})
"""The types of nodes that pruning may change: a set, because a document has thousands of other nodes."""


def prune(
    root: str, definitions: Definitions, order: Iterable[str], *, python: bool, closed: bool = False
) -> Document:
    """Return the document of the definition `root`, without unsatisfiable parts and unused definitions.

    Args:
        root: The name of the root.
        definitions: The schemas by name.
        order: The names in `topological_order`.
        python: Whether the document describes a Python type.
        closed: Whether implicit additional keys are forbidden.

    >>> from structkit.schema.ir.nodes import Property
    >>> definitions = {"a": Union((Null(), Object((Property("x", Ref("b")),)))), "b": Never("")}
    >>> prune("a", definitions, topological_order(definitions), python=False).root
    Null(note=None)

    Raises:
        UnsatisfiableSchema: No value satisfies the root.
    """
    if len(definitions) == 1 and not closed and _references_if_plain(definitions[root]) == {}:
        return Document(definitions[root], {}, bounded=python)  # the most frequent case
    definitions = _without_aliases(definitions, order)
    if closed:
        close = Rebuild(_close_objects).of
        definitions = {name: close(node) for name, node in definitions.items()}
    note = None
    if isinstance(alias := definitions[root], Ref):
        root, note = alias.name, alias.note
    pruned, references = _prune_satisfiable(definitions) or _prune_reachable(root, definitions)
    reachable = _reachable(root, references)
    used = set[str]().union(*(references[name] for name in reachable))
    used_definitions = {name: pruned[name] for name in reachable if name in used}
    return Document(
        with_note(Ref(root) if root in used else pruned[root], note), used_definitions, bounded=python
    )


_Pruned: TypeAlias = tuple[dict[str, Schema], dict[str, dict[str, None]]]
"""Definitions without unsatisfiable parts, and their references."""


def _prune_reachable(root: str, definitions: Definitions) -> _Pruned:
    """Prune the definitions that the root reaches.

    Raises:
        UnsatisfiableSchema: No value satisfies the root.
    """
    plain = {name: _references_if_plain(node) for name, node in definitions.items()}
    references = {
        name: dict.fromkeys(referenced_names(definitions[name])) if names is None else names
        for name, names in plain.items()
    }
    satisfiable, final = _satisfiable_definitions(definitions, references, plain)
    if root not in satisfiable:
        path, reason = _unsatisfiable_reason(definitions, satisfiable, root)
        raise unsatisfiable(reason, path)
    pruned = {
        name: final[name] if name in final else _clean(definitions[name], satisfiable, definitions)
        for name in _reachable(root, references)
    }
    for name, node in pruned.items():
        if node is not definitions[name]:
            references[name] = dict.fromkeys(referenced_names(node))
    return pruned, references


def _prune_satisfiable(definitions: Definitions) -> _Pruned | None:
    """Prune definitions without a fixed point; `None` if some may be unsatisfiable."""
    pruned: dict[str, Schema] = {}
    references: dict[str, dict[str, None]] = {}
    for name, node in definitions.items():
        names = _references_if_plain(node)
        if names is None:
            node = _clean(node, definitions.keys(), definitions)
            if isinstance(node, Never):
                return None
            names = dict.fromkeys(referenced_names(node))
        pruned[name], references[name] = node, names
    return (pruned, references) if _are_satisfiable(pruned, references) else None


def _references_if_plain(node: Schema) -> dict[str, None] | None:
    """Return the references of a node, or `None` if some part is impossible or counted.

    Without such parts, a node needs no pruning if its references are satisfiable.
    """
    names: dict[str, None] = {}
    pending = [node]
    visited = set[int]()
    while pending:
        current = pending.pop()
        if isinstance(current, String):  # the most frequent one
            if current.content is not None:
                return None
        elif id(current) in visited:
            continue
        elif isinstance(current, Object):
            visited.add(id(current))
            if current.required_groups or current.min_properties:
                return None
            keys: list[Property | Additional] = [*current.properties, *current.additional]
            pending += [key.value for key in reversed(keys) if type(key.value) in _WITH_PARTS]
        elif isinstance(current, Ref):
            names[current.name] = None
        elif isinstance(current, Array):
            visited.add(id(current))
            if current.unique_items or current.repeats_item or current.contains:
                return None
            pending += (current.items, *reversed(current.prefix))
        elif isinstance(current, Union):
            visited.add(id(current))
            pending += [each for each in reversed(current.branches) if type(each) in _WITH_PARTS]
        elif isinstance(current, Never | ObjectProduct):
            return None
    return names


def _are_satisfiable(definitions: Definitions, references: Mapping[str, Mapping[str, None]]) -> bool:
    """Return whether all definitions are found to be satisfiable quickly: they do not require each other in a cycle."""
    unknown = {
        name: required
        for name, node in definitions.items()
        if references[name] and (required := _required_references(node))
    }
    for _ in range(_MAX_ROUNDS):
        for name in reversed(list(unknown)):  # most definitions refer to later ones
            if unknown.keys().isdisjoint(unknown[name]):
                del unknown[name]
    return not unknown


_MAX_ROUNDS = 3


def _required_references(node: Schema, known: dict[int, Set[str]] | None = None) -> Set[str]:
    """Return names whose satisfiable definitions are enough for a pruned node to be satisfiable.

    Those of parts are `known` by their identity, since a part may occur in many places.
    """
    known = {} if known is None else known
    values: list[Schema]
    if id(node) in known:
        return known[id(node)]
    match node:
        case Ref(name):
            return {name}
        case ObjectProduct() | Object(required_groups=(_, *_)) | Array(contains=(_, *_)):
            return set(referenced_names(node))
        case Object(properties, min_properties=min_properties):
            if min_properties > sum(prop.required for prop in properties):
                return set(referenced_names(node))
            values = [prop.value for prop in properties if prop.required and type(prop.value) in _WITH_PARTS]
        case Array(prefix, items, min_items):
            values = [*prefix, items][:min_items]
        case Union(branches):
            found = known[id(node)] = min((_required_references(each, known) for each in branches), key=len)
            return found
        case String(content=content) if content is not None:
            values = [content]
        case _:
            return frozenset()
    found = known[id(node)] = set[str]().union(*(_required_references(value, known) for value in values))
    return found


def referenced_names(node: Schema, *, unguarded: bool = False) -> Iterator[str]:
    """Iterate over the names that a node refers to; `unguarded`: outside arrays and objects only.

    A part that occurs in several places is visited once: equal schemas of a document are one node.
    """
    stack = [node]
    visited = set[int]()
    while stack:
        current = stack.pop()
        if isinstance(current, Ref):
            yield current.name
        elif isinstance(current, String) and current.content is None:
            continue  # the most frequent node
        elif type(current) in _WITH_PARTS and id(current) not in visited:
            visited.add(id(current))
            if not unguarded or isinstance(current, (Union, Combined)):
                stack += [part for _, part in reversed(children(current)) if type(part) in _WITH_PARTS]


def topological_order(definitions: Definitions) -> list[str]:
    """Return the names, each after those that it refers to outside arrays and objects.

    Raises:
        SchemaError: A definition refers to itself outside arrays and objects.
    """
    done: dict[str, None] = {}
    for start, node in definitions.items():
        if not isinstance(node, (Ref, Union)):  # other nodes have no unguarded references
            done[start] = None
        open_: dict[str, Iterator[str]] = {} if start in done else {start: _unguarded(node)}
        while open_:
            name, following = next(reversed(open_.items()))
            below = next((other for other in following if other not in done), None)
            if below is None:
                open_.popitem()
                done[name] = None
            elif below in open_:
                raise SchemaError(
                    f"the definition {below!r} refers only to itself; give it a type", place="$"
                )
            else:
                open_[below] = _unguarded(definitions[below])
    return list(done)


def _unguarded(node: Schema) -> Iterator[str]:
    return iter((node.name,)) if isinstance(node, Ref) else referenced_names(node, unguarded=True)


def _without_aliases(definitions: Definitions, order: Iterable[str]) -> dict[str, Schema]:
    """Replace references to definitions that are only references by the final target."""
    ends: dict[str, Ref] = {}
    for name in order:
        node = definitions[name]
        if isinstance(node, Ref):
            end = ends.get(node.name, node)
            ends[name] = _with_note_of(end, node)
    if not ends:
        return dict(definitions)
    redirect = Rebuild(partial(_redirected, targets=ends)).of
    return {name: redirect(node) for name, node in definitions.items()}


def _with_note_of(end: Ref, alias: Ref) -> Ref:
    return end if alias.note is None or alias.note is end.note else replace(end, note=alias.note)


def _redirected(node: Schema, redirected: Callable[[Schema], Schema], targets: Mapping[str, Ref]) -> Schema:
    match node:
        case Ref(name=name) if name in targets:
            return _with_note_of(targets[name], node)
        case Union(branches=branches):
            changed = [redirected(branch) for branch in branches]
            if all(map(operator.is_, changed, branches)):
                return node
            return with_note(union(changed), node.note)
        case String(content=content) if content is not None:
            return replace(node, content=redirected(content))
        case Array():
            return in_array(node, redirected)
        case Object():
            return in_object(node, redirected)
        case ObjectProduct():
            return in_product(node, redirected)
    return node


def _close_objects(node: Schema, closed: Callable[[Schema], Schema]) -> Schema:
    """Return the node without implicit additional keys."""
    match node:
        case Union(branches=branches):
            return with_note(union(map(closed, branches)), node.note)
        case Array():
            return array(in_array(node, closed))
        case Object():
            explicit = _explicit_groups(node.additional)
            some = tuple(map(_explicit_groups, node.required_groups))
            return object_(in_object(replace(node, additional=explicit, required_groups=some), closed))
        case ObjectProduct():
            groups = tuple(group for group in node.additional if not group.implicit)
            return possible_product(in_product(replace(node, additional=groups), closed))
    return node


def _explicit_groups(groups: tuple[Additional, ...]) -> tuple[Additional, ...]:
    return tuple(group for group in groups if not group.implicit)


def _satisfiable_definitions(
    definitions: Definitions,
    references: Mapping[str, Iterable[str]],
    plain: Mapping[str, Iterable[str] | None],
) -> tuple[set[str], dict[str, Schema]]:
    """Return the satisfiable definitions, and the pruned ones that refer to satisfiable definitions only.

    Those whose references are in `plain` need no pruning if their references are satisfiable.
    """
    users: dict[str, list[str]] = {name: [] for name in definitions}
    for name, others in references.items():
        for other in others:
            users[other].append(name)
    satisfiable: set[str] = set()
    final: dict[str, Schema] = {}
    pending = list(definitions)[::-1]
    while pending:
        new = []
        for name in pending:
            if name in satisfiable:
                continue
            node = definitions[name]
            if plain[name] is None or not satisfiable.issuperset(_required_references(node)):
                node = _clean(node, satisfiable, definitions)
            if satisfiable.issuperset(references[name]):
                final[name] = node
            if not isinstance(node, Never):
                satisfiable.add(name)
                new.append(name)
        pending = list(dict.fromkeys(user for name in new for user in users[name] if user not in satisfiable))
    return satisfiable, final


def _clean(node: Schema, satisfiable: Set[str], definitions: Definitions) -> Schema:
    """Return the node without unsatisfiable parts."""
    return Rebuild(partial(_clean_parts, satisfiable=satisfiable, definitions=definitions)).of(node)


def _clean_parts(
    node: Schema, clean: Callable[[Schema], Schema], satisfiable: Set[str], definitions: Definitions
) -> Schema:
    """Return the node with clean parts."""
    match node:
        case Ref(name):
            return node if name in satisfiable else Never(f"{name} has no finite value")
        case Union(branches=branches):
            cleaned = [clean(branch) for branch in branches]
            if all(map(operator.is_, cleaned, branches)):
                return node
            return with_note(union(cleaned), node.note)
        case String(content=content) if content is not None:
            inner = clean(content)
            return inner if isinstance(inner, Never) else replace(node, content=inner)
        case Array(repeats_item=True):
            # A part of the language is left out here, where nothing more is subtracted from another part.
            return Never("arrays that must repeat an item are not generated")
        case Array():
            bounded = array(in_array(node, clean))
            return _distinct(bounded, definitions) if isinstance(bounded, Array) else bounded
        case Object():
            return object_(in_object(node, clean))
        case ObjectProduct():
            changed = in_product(node, clean)
            return node if changed is node else possible_product(changed)
    return node


def _distinct(node: Array, definitions: Definitions) -> Schema:
    """Bound the length of an array of unique items, and what it must contain, by the number of possible values."""
    if not node.unique_items:
        return node
    for contains in node.contains:
        matching = _cardinality(contains.matching, definitions)
        if matching is not None and matching < contains.min_count:
            return Never(
                f"the array must contain {contains.min_count} unique items of which only {matching} exist"
            )
    if node.prefix:
        return node
    values = _cardinality(node.items, definitions)
    if values is None:
        return node
    if values < node.min_items:
        return Never(
            f"the array must have {node.min_items} unique items, but only {values} values are possible"
        )
    max_items = values if node.max_items is None else min(values, node.max_items)
    return array(replace(node, max_items=max_items, unique_items=max_items > 1))


def _cardinality(node: Schema, definitions: Definitions) -> int | None:
    """Return an upper bound on the number of values; `None` if unknown."""
    match node:
        case Null() | Const():
            return 1
        case Boolean():
            return 2
        case Integer(minimum=int(low), maximum=int(high)):
            return high - low + 1
        case Ref(name=name) if not isinstance(definitions[name], Union | Ref):
            return _cardinality(definitions[name], definitions)
        case Ref(name=name) if isinstance(union_ := definitions[name], Union):
            return _cardinality(union_, {}) if all(isinstance(b, Const) for b in union_.branches) else None
        case Union(branches=branches):
            counts = [_cardinality(branch, definitions) for branch in branches]
            return None if None in counts else sum(count for count in counts if count is not None)
        case _:
            return None


def _reachable(root: str, references: Mapping[str, Iterable[str]]) -> list[str]:
    names, index = {root: None}, 0
    order = [root]
    while index < len(order):
        for name in references[order[index]]:
            if name not in names:
                names[name] = None
                order.append(name)
        index += 1
    return order


def _unsatisfiable_reason(definitions: Definitions, satisfiable: set[str], root: str) -> tuple[str, str]:
    """Return the path of the first unsatisfiable part of the root, as deep as possible, and the reason."""
    steps: list[str] = []
    node, seen = definitions[root], {root}
    while True:
        match node:
            case Ref(name=name):
                if name in seen:
                    return "$" + join_path(steps), f"{name} must contain another {name}, infinitely nested"
                seen.add(name)
                node = definitions[name]
                continue
            case Object():
                dead = [
                    key
                    for key in node.properties
                    if key.required and _is_unsatisfiable(key.value, satisfiable, definitions)
                ]
                if dead:
                    steps.append(path_step(dead[0].name))
                    node = dead[0].value
                    continue
            case Array():
                items = (*node.prefix, *[node.items] * (node.min_items > len(node.prefix)))[: node.min_items]
                first = next(
                    (
                        index
                        for index, item in enumerate(items)
                        if _is_unsatisfiable(item, satisfiable, definitions)
                    ),
                    None,
                )
                if first is not None:
                    steps.append(path_step(first))
                    node = items[first]
                    continue
        reason = _clean(node, satisfiable, definitions)
        if not isinstance(reason, Never):
            return "$" + join_path(steps), "no value is allowed"
        return "$" + join_path([*steps, *reason.relative_path]), reason.reason


def _is_unsatisfiable(node: Schema, satisfiable: set[str], definitions: Definitions) -> bool:
    return isinstance(_clean(node, satisfiable, definitions), Never)
