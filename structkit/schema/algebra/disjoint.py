"""Proofs that two nodes share no value; `oneOf` of disjoint nodes equals `anyOf`."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations, pairwise, product, zip_longest

from structkit.frozen import frozen
from structkit.schema.algebra.constants import Pay, possible_texts, values_of
from structkit.schema.algebra.intersect_strings import intersect_strings
from structkit.schema.algebra.membership import constant_key, constant_value, contains_value
from structkit.schema.algebra.ranges import intersect_numbers
from structkit.schema.algebra.string_oracle import UNDECIDED, StringOracle, is_restricted
from structkit.schema.ir.constructors import string, union
from structkit.schema.ir.nodes import (
    Anything,
    Array,
    Boolean,
    Combined,
    Const,
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
from structkit.schema.ir.path import SchemaPath

__all__ = [
    "Compared",
    "disjoint_before_definitions",
    "have_distinct_prefixes",
    "may_intersect",
    "pairwise_disjoint",
    "required_keys",
    "without_incompatible",
]

_MAX_STEPS = 100_000
"""Maximum comparisons of two nodes in one proof, at about 3 µs each; longer proofs fail."""


def pairwise_disjoint(
    branches: Sequence[Schema], lookup: Callable[[str], Schema | None], oracle: StringOracle = UNDECIDED
) -> bool:
    """Return whether the branches are provably pairwise disjoint.

    >>> pairwise_disjoint([String(), Integer(maximum=3), Integer(minimum=4)], {}.get)
    True
    >>> pairwise_disjoint([String(min_length=1), String(patterns=("a",))], {}.get)
    False
    """
    return _Proof(lookup, oracle).pairwise(branches)


def disjoint_before_definitions(
    branches: Sequence[Schema],
    oracle: StringOracle = UNDECIDED,
    lookup: Callable[[str], Schema | None] = lambda name: None,
    pay: Callable[[int], object] = lambda steps: None,
) -> bool | None:
    """Return what `pairwise_disjoint` returns whatever the unknown definitions are; `None` if one of them may decide.

    Args:
        branches: The branches.
        oracle: Decides queries about strings.
        lookup: Returns a definition, or `None` if it is not known yet.
        pay: Called with the comparisons of two nodes that were made.

    >>> disjoint_before_definitions([String(), Integer()]), disjoint_before_definitions([String(), Ref("a")])
    (True, None)
    """
    proof = _Proof(lookup, oracle)
    is_disjoint = proof.pairwise(branches)
    pay(proof.steps)
    return True if is_disjoint else None if proof.met_reference else False


def may_intersect(
    left: Schema, right: Schema, oracle: StringOracle, pay: Pay, required: frozenset[str] = frozenset()
) -> bool:
    """Return whether two nodes may share a value, by an inexpensive test; objects have the keys of `required`."""
    if isinstance(left, Object) and isinstance(right, Object):
        return not _have_disjoint_property(left, _by_name(right), oracle, pay, required)
    kinds = {type(left), type(right)}
    if Never in kinds:
        return False
    if not kinds.isdisjoint(_UNKNOWN):
        return True
    if Combined in kinds and Const not in kinds:
        return kinds <= _OBJECTS
    if isinstance(left, Const):
        if isinstance(right, Const):
            return constant_key(left) == constant_key(right)
        return _may_contain(right, left.text, oracle)
    if isinstance(right, Const):
        return _may_contain(left, right.text, oracle)
    return len(kinds) == 1 or kinds == _NUMBERS


@frozen
class Compared:
    """The nodes with which the unions of an intersection were compared, and the keys that the nodes require."""

    nodes: frozenset[Schema] = frozenset()
    required: frozenset[str] = frozenset()


def required_keys(nodes: Iterable[Schema]) -> frozenset[str]:
    """Return the keys that some objects require."""
    return frozenset(
        key.name for node in nodes if isinstance(node, Object) for key in node.properties if key.required
    )


def without_incompatible(
    node: Union, parts: Iterable[Schema], oracle: StringOracle, pay: Pay, required: frozenset[str]
) -> Schema:
    """Return a union without the branches that share no value with one of the other parts of an intersection.

    Args:
        node: The union.
        parts: The other parts.
        oracle: Decides queries about strings.
        pay: See `Pay`.
        required: The keys that objects in the intersection have.

    >>> branches = Const('"a"'), Const('"b"'), Integer()
    >>> without_incompatible(Union(branches), [Const('"b"')], UNDECIDED, print, frozenset())
    Const(note=None, text='"b"')
    """
    branches: Sequence[Schema] = node.branches
    for part in parts:
        branches = _compatible(branches, part, oracle, pay, required)
    if len(branches) == len(node.branches):
        return node
    return union(branches, "no alternative is compatible with the other keywords")


def _compatible(
    branches: Sequence[Schema], part: Schema, oracle: StringOracle, pay: Pay, required: frozenset[str]
) -> Sequence[Schema]:
    """Return the branches of a union that may share a value with another node, as `may_intersect` decides."""
    if type(part) in _UNKNOWN:
        return branches
    if isinstance(part, Object):
        pay(len(branches) / _BRANCHES_PER_NODE)
        keys = _by_name(part)
        return [
            branch
            for branch in branches
            if (
                not _have_disjoint_property(branch, keys, oracle, pay, required)
                if isinstance(branch, Object)
                else may_intersect(branch, part, oracle, pay)
            )
        ]
    if isinstance(part, Const):
        value = constant_key(part)
        return [
            branch
            for branch in branches
            if (
                constant_key(branch) == value
                if isinstance(branch, Const)
                else may_intersect(branch, part, oracle, pay)
            )
        ]
    if isinstance(part, String) and not part.content and is_restricted(part):
        possible = possible_texts(branches, part, oracle)
        return [
            branch
            for branch in branches
            if (possible[branch] if branch in possible else may_intersect(branch, part, oracle, pay))
        ]
    kind = type(part)
    return [
        branch
        for branch in branches
        # There can be thousands of constants; the type of one decides without a call.
        if (type(branch) is not Const or kind in _TYPES_OF.get(branch.text[0], _NUMBERS))
        and may_intersect(branch, part, oracle, pay)
    ]


def _by_name(node: Object) -> dict[str, Property]:
    return {key.name: key for key in node.properties}


def _may_contain(node: Schema, text: str, oracle: StringOracle) -> bool:
    """Return whether a node may contain a constant; most pairs have different types, which needs no parsing."""
    types = _TYPES_OF.get(text[0], _NUMBERS)
    is_other = type(node) is not Const and type(node) not in types
    return not is_other and contains_value(node, constant_value(text), oracle) is not False


def _have_disjoint_property(
    node: Object, others: Mapping[str, Property], oracle: StringOracle, pay: Pay, required: frozenset[str]
) -> bool:
    """Return whether a required key has disjoint values in an object and in one with other keys, by a quick test."""
    for key in node.properties:
        other = others.get(key.name)
        if other is not None and (key.required or other.required or key.name in required):
            branches, other_branches = _alternatives(key.value), _alternatives(other.value)
            if len(branches) * len(other_branches) > _MAX_COMPARISONS:
                continue
            constants, rest = _split(branches)
            other_constants, other_rest = _split(other_branches)
            pay((len(branches) + len(other_branches) + len(rest) * len(other_rest)) / _PAIRS_PER_NODE)
            if any(may_intersect(one, two, oracle, pay) for one, two in product(rest, other_rest)):
                continue
            if not set(map(constant_key, constants)).isdisjoint(map(constant_key, other_constants)):
                continue
            pay((len(rest) * len(other_constants) + len(constants) * len(other_rest)) / _PAIRS_PER_NODE)
            mixed = chain(product(rest, other_constants), product(constants, other_rest))
            if not any(may_intersect(one, two, oracle, pay) for one, two in mixed):
                return True
    return False


def _split(nodes: Sequence[Schema]) -> tuple[list[Const], list[Schema]]:
    """Return the constants, and the other nodes."""
    constants = [node for node in nodes if isinstance(node, Const)]
    return constants, [node for node in nodes if not isinstance(node, Const)]


def _alternatives(node: Schema) -> tuple[Schema, ...]:
    return node.branches if isinstance(node, Union) else (node,)


_UNKNOWN, _NUMBERS = frozenset({Ref, Anything, Union}), frozenset({Integer, Number})
_OBJECTS = frozenset({Object, Combined})

_TYPES_OF: Mapping[str, frozenset[type[Schema]]] = {
    '"': frozenset({String}),
    "{": frozenset({Object, Combined}),
    "[": frozenset({Array}),
    "t": frozenset({Boolean}),
    "f": frozenset({Boolean}),
    "n": frozenset({Null}),
}
"""The types of nodes with constants that begin with a character; other constants are numbers."""

_BRANCHES_PER_NODE, _PAIRS_PER_NODE = 4, 50
"""Branches and alternatives of keys that are compared in the time in which a node is intersected."""

_MAX_COMPARISONS = 1000
"""Maximum pairs of alternatives that are compared for one key."""


class _Proof:
    """The state of one proof.

    Attributes:
        met_reference: Whether a comparison failed at a reference without a definition.
        steps: The comparisons of two nodes.
    """

    def __init__(self, lookup: Callable[[str], Schema | None], oracle: StringOracle) -> None:
        self._lookup = lookup
        self._oracle = oracle
        self._open_pairs: set[tuple[str, str]] = set()
        self.steps = 0
        self.met_reference = False

    def pairwise(self, branches: Sequence[Schema]) -> bool:
        """Return whether the branches are provably pairwise disjoint."""
        nodes = [self.resolve(branch) for branch in branches]
        if any(isinstance(node, Ref) for node in nodes):
            self.met_reference = True
        return (
            _have_distinct_tags(nodes)
            or (len(nodes) > 2 and (_have_own_keys(nodes) or _are_separate_ranges(nodes)))
            or all(self.disjoint(left, right) for left, right in combinations(nodes, 2))
        )

    def resolve(self, node: Schema) -> Schema:
        """Follow references to a definition."""
        seen: set[str] = set()
        while isinstance(node, Ref) and node.name not in seen:
            seen.add(node.name)
            found = self._lookup(node.name)
            if found is None:
                break
            node = found
        return node

    def disjoint(self, left: Schema, right: Schema) -> bool:
        """Return whether two nodes provably share no value."""
        self.steps += 1
        if self.steps > _MAX_STEPS:
            return False
        if not (isinstance(left, Ref) and isinstance(right, Ref)):
            return self._compare(self.resolve(left), self.resolve(right))
        pair = (left.name, right.name)
        if left.name == right.name or pair in self._open_pairs:
            return False
        self._open_pairs.add(pair)
        answer = self._compare(self.resolve(left), self.resolve(right))
        self._open_pairs.discard(pair)
        return answer

    def _compare(self, left: Schema, right: Schema) -> bool:
        left_values, right_values = values_of(left), values_of(right)
        if left_values is not None and right_values is not None:
            return left_values.isdisjoint(right_values)
        match left, right:
            case (Never(), _) | (_, Never()):
                return True
            case (Ref(), _) | (_, Ref()):
                self.met_reference = True
                return False
            case (Anything(), _) | (_, Anything()):
                return False
            case Union(branches=branches), other:
                return all(self.disjoint(branch, other) for branch in branches)
            case other, Union(branches=branches):
                return all(self.disjoint(other, branch) for branch in branches)
            case (Const(text=text), other) | (other, Const(text=text)):
                return contains_value(other, constant_value(text), self._oracle) is False
            case ((Integer() | Number()), (Integer() | Number())):
                return left != right and isinstance(intersect_numbers(left, right), Never)
            case String(), String():
                return self._strings(left, right)
            case Array(), Array():
                return self._arrays(left, right)
            case Object(), Object():
                return self._objects(left, right)
            case (Combined() as combined, (Object() | Combined()) as other) | (
                Object() as other,
                Combined() as combined,
            ):
                must = combined.parts if combined.min_count == len(combined.parts) else ()
                return any(self.disjoint(part, other) for part in must)
        return type(left) is not type(right)

    def _strings(self, left: String, right: String) -> bool:
        if _ranges_are_disjoint(left.min_length, left.max_length, right.min_length, right.max_length):
            return True
        if not (is_restricted(left) and is_restricted(right)) or (
            left.format != right.format and left.format and right.format
        ):
            return False
        if have_distinct_prefixes(left, right):
            return True
        both = string(intersect_strings(left, right, SchemaPath()))
        return not isinstance(both, String) or self._oracle.is_empty(both) is True

    def _arrays(self, left: Array, right: Array) -> bool:
        if _ranges_are_disjoint(left.min_items, left.max_items, right.min_items, right.max_items):
            return True
        if (left.unique_items and right.repeats_item) or (left.repeats_item and right.unique_items):
            return True
        count = max(left.min_items, right.min_items)
        pairs = list(zip_longest(left.prefix[:count], right.prefix[:count]))
        if count > len(pairs):
            pairs.append((None, None))
        return any(self.disjoint(a or left.items, b or right.items) for a, b in pairs)

    def _objects(self, left: Object, right: Object) -> bool:
        if _ranges_are_disjoint(
            left.min_properties, left.max_properties, right.min_properties, right.max_properties
        ):
            return True
        left_values = {key.name: key.value for key in left.properties}
        right_values = {key.name: key.value for key in right.properties}
        for name in dict.fromkeys(key.name for key in (*left.properties, *right.properties) if key.required):
            a, b = self._value(left, left_values, name), self._value(right, right_values, name)
            if a is None or b is None or self.disjoint(a, b):
                return True
        return False

    def _value(self, node: Object, declared: Mapping[str, Schema], name: str) -> Schema | None:
        """Return the schema of a key, or a superset; `None` if the key is not allowed."""
        if name in declared:
            return declared[name]
        answers = [
            (contains_value(group.names, name, self._oracle), group.value) for group in node.additional
        ]
        if any(answer is None for answer, _ in answers):
            return Anything()
        return next((value for answer, value in answers if answer), None)


def have_distinct_prefixes(left: String, right: String) -> bool:
    """Return whether two patterns begin with texts that differ, which is faster than an automaton."""
    return any(
        not one.startswith(other) and not other.startswith(one)
        for one in map(_literal_prefix, left.patterns)
        for other in map(_literal_prefix, right.patterns)
    )


@lru_cache(maxsize=1024)
def _literal_prefix(pattern: str) -> str:
    r"""Return characters with which all texts of a pattern begin, and a line break at their end if no more follow.

    >>> _literal_prefix(r"^k1\.-[a-z]+$"), _literal_prefix("^ab*"), _literal_prefix("^ab$") == "ab\n"
    ('k1.-', 'a', True)
    """
    if "|" in pattern:
        return ""
    found = _PREFIX.match(pattern)
    literal = "" if found is None else found[1].replace("\\", "")
    if found is not None and pattern[found.end() :] == "$":
        return literal + "\n"
    repeated = found is not None and pattern[found.end() : found.end() + 1] in ("*", "+", "?", "{")
    return literal[:-1] if repeated else literal


_PREFIX = re.compile(r"\^((?:[\w :;@#%&=,~\"'!/-]|\\[./-])*)", re.ASCII)


def _have_distinct_tags(nodes: Sequence[Schema]) -> bool:
    """Return whether the nodes are distinct constants, or objects with distinct constants in required keys."""
    keys = nodes[0].properties if nodes and isinstance(nodes[0], Object) else ()
    columns = [[_tags(node, key.name) for node in nodes] for key in keys if _constants(key.value)]
    if len(nodes) == 1 or any(map(_are_distinct, ([_constants(node) for node in nodes], *columns))):
        return True
    for column in columns:  # those that agree in one key may differ in another
        groups: dict[str, list[Schema]] = {}
        for node, tags in zip(nodes, column, strict=True):
            groups.setdefault(" ".join(tags), []).append(node)
        if len(groups) > 1 and all(len(tags) == 1 for tags in column):
            return all(map(_have_distinct_tags, groups.values()))
    return False


def _are_separate_ranges(nodes: Sequence[Schema]) -> bool:
    """Return whether the nodes are integers of ranges that do not touch each other."""
    ranges: list[tuple[float, float]] = []
    for node in nodes:
        if not isinstance(node, Integer):
            return False
        least = -math.inf if node.minimum is None else node.minimum
        ranges.append((least, math.inf if node.maximum is None else node.maximum))
    ranges.sort()
    return all(before[1] < after[0] for before, after in pairwise(ranges))


def _have_own_keys(nodes: Sequence[Schema]) -> bool:
    """Return whether each node is a closed object that requires a key that no other node declares."""
    uses: Counter[str] = Counter()
    required: list[list[str]] = []
    for node in nodes:
        if not isinstance(node, Object) or node.additional:
            return False
        uses.update({key.name for key in node.properties})
        required.append([key.name for key in node.properties if key.required])
    return all(any(uses[name] == 1 for name in names) for names in required)


def _tags(node: Schema, name: str) -> list[str]:
    if not isinstance(node, Object):
        return []
    return next((_constants(key.value) for key in node.properties if key.name == name and key.required), [])


def _constants(node: Schema) -> list[str]:
    """Return the texts of a node of constants only; numbers, which have several spellings, do not count."""
    if not isinstance(node, (Const, Union)):
        return []
    branches = node.branches if isinstance(node, Union) else (node,)
    texts = [
        branch.text for branch in branches if isinstance(branch, Const) and branch.text[0] in _ONE_SPELLING
    ]
    return texts if len(texts) == len(branches) else []


def _are_distinct(groups: Sequence[Sequence[str]]) -> bool:
    count = sum(map(len, groups))
    return all(groups) and len({text for group in groups for text in group}) == count


_ONE_SPELLING = frozenset('"tfn')
"""First characters of the JSON of strings, booleans and null."""


def _ranges_are_disjoint(
    min_count: int, max_count: int | None, other_min_count: int, other_max_count: int | None
) -> bool:
    """Return whether two ranges of counts have no common value."""
    return (max_count is not None and max_count < other_min_count) or (
        other_max_count is not None and other_max_count < min_count
    )
