"""The JSON Schema front end: each keyword becomes a node, and the nodes of one schema are intersected.

Supports draft 2020-12 (https://json-schema.org/draft/2020-12/json-schema-validation) and older spellings of its
keywords.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from structkit.errors import LimitExceeded, PatternError, SchemaError, UnsupportedKeyword
from structkit.limits import Limits
from structkit.schema.algebra.difference import difference
from structkit.schema.algebra.disjoint import disjoint_before_definitions
from structkit.schema.algebra.intersect import Intersector
from structkit.schema.algebra.prune import prune, referenced_names, topological_order
from structkit.schema.algebra.string_oracle import UNDECIDED, StringOracle
from structkit.schema.ir.constructors import union, with_note
from structkit.schema.ir.definitions import Definitions
from structkit.schema.ir.json_values import exact_bytes, shorten_value
from structkit.schema.ir.keywords import (
    CHECKED,
    COMBINING_KEYWORDS,
    FORMAT,
    JSON_TYPES,
    TYPE_KEYWORDS,
    UNSUPPORTED,
)
from structkit.schema.ir.nodes import Anything, Document, Never, Ref, Schema, String, Union
from structkit.schema.ir.path import SchemaPath, join_path, path_step
from structkit.schema.ir.refs import References, ReferenceTarget
from structkit.schema.json_schema.applicators import (
    DEPENDENT_KEYWORDS,
    conditional,
    dependent,
    in_document_order,
    members,
)
from structkit.schema.json_schema.bare_type import (
    LONE_REF_KEYWORDS,
    NEUTRAL_KEYWORDS,
    PATHLESS_KEYWORDS,
    bare_type,
    read_note,
)
from structkit.schema.json_schema.constants import enum_constants
from structkit.schema.json_schema.draft import (
    LAST_WITH_LONE_REFS,
    LAST_WITHOUT_EVALUATING_CONTAINS,
    allow_integral_floats,
    draft_of,
)
from structkit.schema.json_schema.one_of import exactly_one, pay_comparisons
from structkit.schema.json_schema.parse_types import TYPE_NAMES, parse_type, parse_type_keyword
from structkit.schema.json_schema.relax_unsupported import Relaxation
from structkit.schema.json_schema.unevaluated import without_unevaluated
from structkit.schema.json_schema.unknown import check_slips, check_unknown, describe_no_schema
from structkit.schema.product.combine import WAYS, Products, Way, next_way
from structkit.schema.product.tabulate import tabulate_all
from structkit.unenforced import Unenforced

__all__ = ["parse_schema"]

_log = logging.getLogger("structkit")


def parse_schema(
    schema: Mapping[str, object] | bool,
    *,
    python: bool = False,
    limits: Limits = Limits(),  # noqa: B008
    oracle: StringOracle = UNDECIDED,
    closed: bool = False,
    strict: bool = True,
    resources: Mapping[str, object] = MappingProxyType({}),
    notes: bool = True,
    products: Products = "many",
) -> Document:
    """Parse a JSON Schema into a document.

    Args:
        schema: The schema, as parsed by `json.loads`.
        python: Whether the schema was generated from a Python type: undeclared keys are forbidden, and numbers
            have a bounded number of digits.
        limits: Bounds on size and nesting.
        oracle: Decides queries about patterns and formats; without it, schemas that need an answer are rejected.
        closed: Whether undeclared keys are forbidden by default.
        strict: Whether a keyword that cannot be enforced raises an error. Otherwise it is dropped and listed in
            `Document.unenforced`.
        resources: The documents that the schema refers to, by URI.
        notes: Whether nodes have the annotations for readers, which do not restrict values.
        products: Which combinations of objects become an `ObjectProduct`: many, `"always"` all, or `"never"` any, which
            multiplies all combinations out.

    Returns:
        The document, with the definitions that it uses.

    >>> parse_schema({"type": "array", "items": {"type": "integer", "minimum": 0}}).root.items
    Integer(note=None, minimum=0, maximum=None, multiple_of=None, not_multiple_of=())

    Raises:
        SchemaError: The schema is invalid.
        UnsupportedKeyword: A keyword cannot be enforced.
        UnsatisfiableSchema: No value satisfies the schema.
        UnresolvedReference: The target of a `$ref` does not exist.
        LimitExceeded: The schema is too large or too deep.
    """
    relaxation = None if strict else Relaxation(())
    overlapping: frozenset[str] = frozenset()
    ways = iter(WAYS[products])
    way = next(ways)
    try:
        while True:
            parser = _Parser(schema, resources, python, limits, oracle, overlapping, relaxation, notes, way)
            try:
                root, definitions, order = parser.run()
            except (LimitExceeded, UnsupportedKeyword, PatternError) as error:
                if (other := next_way(ways, parser.intersector)) is not None:
                    way = other
                    continue
                if (
                    isinstance(error, LimitExceeded)
                    or relaxation is None
                    or (dropped := relaxation.keyword_to_drop(error)) is None
                ):
                    raise
                relaxation = Relaxation((*relaxation.dropped, dropped))
                continue
            negated = relaxation.negated_keywords() if relaxation is not None else ()
            if not parser.overlapping_paths and not negated:
                break
            overlapping |= parser.overlapping_paths
            relaxation = relaxation and Relaxation((*relaxation.dropped, *negated))
        document = prune(root.name, definitions, order, python=python, closed=closed or python)
        unenforced = (*(relaxation.dropped if relaxation is not None else ()), *parser.checked)
        integral_floats = allow_integral_floats(schema, resources.values())
        if narrowed := parser.narrowed:
            places = ", ".join(narrowed)
            _log.warning(
                "some objects are left out of the oneOf at %s; structkit.explain gives the reason", places
            )
        if not unenforced and integral_floats and not narrowed:
            return document
        return replace(document, unenforced=unenforced, integral_floats=integral_floats, narrowed=narrowed)
    except RecursionError:
        raise LimitExceeded("schema_depth", limits.schema_depth, "the nesting", place="$") from None


class _Parser:
    """The state of parsing one schema document."""

    def __init__(
        self,
        document: object,
        resources: Mapping[str, object],
        python: bool,
        limits: Limits,
        oracle: StringOracle,
        overlapping: frozenset[str],
        relaxation: Relaxation | None,
        notes: bool,
        way: Way,
    ) -> None:
        self.python = python
        self.oracle = oracle
        self.limits = limits
        self._draft = draft_of(document)
        self.contains_evaluates = self._draft > LAST_WITHOUT_EVALUATING_CONTAINS
        self._references = References(document, identifiers=self._draft > 4, resources=resources)
        self._definitions = Definitions()
        self.intersector = Intersector(self._definitions, limits, oracle, *way)
        self._overlapping = overlapping
        self._relaxation = relaxation
        self._notes = notes
        self.overlapping_paths: set[str] = set()
        self.checked: list[Unenforced] = []
        self._exclusive: list[tuple[tuple[Schema, ...], SchemaPath]] = []
        self._count = self._steps = self._depth = self._lookups = 0
        self._found_references: dict[tuple[str, str, tuple[str, ...]], Ref] = {}
        self._parsed: dict[Hashable, list[_Parsed]] = {}

    def combine(
        self, parts: Sequence[Schema], min_count: int, max_count: int, path: SchemaPath
    ) -> Schema | None:
        """Return the values in the given number of the parts; `None` if combinations are multiplied out."""
        count = self.intersector.combine
        return None if count is None else count(parts, min_count, max_count, self.intersector, path)

    @property
    def narrowed(self) -> tuple[str, ...]:
        """The places of each `oneOf` without some of its objects."""
        return tuple(self._definitions.narrowed_paths)

    def run(self) -> tuple[Ref, dict[str, Schema], list[str]]:
        """Return the root, all definitions and their order; sets `overlapping_paths`, where `oneOf` is not `anyOf`."""
        self.intersector.find = self._find
        try:
            return self._run()
        except (LimitExceeded, RecursionError):
            if (place := self._references.loop()) is None:
                raise
            fault = "the reference leads back to a schema around it without a key or an item in between; remove it"
            raise SchemaError(fault, place=place) from None
        finally:  # both refer to the parser, which would stay until a garbage collection
            self._definitions.close()
            self.intersector.find = self._definitions.find

    def _run(self) -> tuple[Ref, dict[str, Schema], list[str]]:
        root = self._definition(self._references.root, SchemaPath(python=self.python))
        # All that is written is read first, so that its faults are found before there are too many combinations.
        definitions = self._definitions.resolve_reached(root.name, referenced_names)
        if self.intersector.combine is not None:
            definitions = tabulate_all(root.name, self.intersector)
        order = topological_order(definitions)
        disjoint: dict[tuple[Schema, ...], bool] = {}  # equal branches often occur in many places
        for branches, path in self._exclusive:
            if branches not in disjoint:
                find, pay = self._definitions.find_superset, partial(pay_comparisons, self.intersector, path)
                disjoint[branches] = bool(disjoint_before_definitions(branches, self.oracle, find, pay))
            if not disjoint[branches]:
                self.overlapping_paths.add(path.text)
        return root, definitions, order

    def parse(self, raw: object, path: SchemaPath) -> Schema:
        """Parse one schema."""
        if raw is True:
            return Anything()
        if raw is False:
            return Never("the schema false allows nothing")
        if not isinstance(raw, (dict, Mapping)):  # the test for dict is several times faster
            raise SchemaError(describe_no_schema(raw), place=path.text)
        self._charge(1, _STEPS, path)
        if self._depth >= self.limits.schema_depth:
            raise LimitExceeded(
                "schema_depth", self.limits.schema_depth, "the nesting of the schema", place=path.text
            )
        if (
            self._relaxation is None
            and (bare := bare_type(raw, path, self.limits, notes=self._notes)) is not None
        ):
            return bare  # a fast path with the same result, for about half of all schemas
        similar = None if self._count < _MIN_CACHED_SCHEMAS else self._similar(raw, path)
        for other, known in similar or ():
            if _equal(raw, other):
                return known
        self._depth += 1
        try:
            node = self._read(raw, path)
            if similar is not None and len(similar) < _MAX_SIMILAR:
                similar.append((raw, node))
            return node
        except (PatternError, LimitExceeded) as error:
            error.place = error.place or path.text
            raise
        finally:
            self._depth -= 1

    def parse_values(self, raws: Mapping[str, object], keyword: str, path: SchemaPath) -> dict[str, Schema]:
        """Parse the schemas that a keyword maps names to."""
        found: dict[str, Schema] = {}
        limits = self.limits
        self._check_room(len(raws), path)
        is_bare = self._relaxation is None and self._depth < limits.schema_depth
        for name, raw in raws.items():
            # The result of `parse`, without a path for each value, for the most frequent schemas.
            if (
                is_bare
                and type(raw) is dict
                and raw.keys() <= PATHLESS_KEYWORDS
                and self._count < limits.schema_nodes
            ):
                bare = bare_type(raw, path, limits, notes=self._notes)
                if bare is not None:
                    self._count += 1
                    found[name] = bare
                    continue
            found[name] = self.parse(raw, path.child(keyword, name))
        return found

    def _similar(self, raw: Mapping[str, object], path: SchemaPath) -> list[_Parsed] | None:
        """Return parsed schemas with the same keywords and texts: in a large document, equal schemas are frequent.

        `None` if the result depends on the path, or if parsing is as fast as comparing.
        """
        if self.python or self._relaxation is not None or raw.keys() <= NEUTRAL_KEYWORDS:
            return None
        outline = [v if isinstance(v, str) else isinstance(v, dict) and len(v) for v in raw.values()]
        return self._parsed.setdefault((*raw, *outline, path.base, path.scope), [])

    def _charge(self, nodes: int, steps: int, path: SchemaPath) -> None:
        if self._count + nodes > self.limits.schema_nodes:
            self._check_room(nodes, path)
        self._count += nodes
        self._steps += steps * nodes
        if self._steps > self.limits.work:
            raise LimitExceeded("work", self.limits.work, "the work on the schema", place=path.text)

    def _check_room(self, nodes: int, path: SchemaPath) -> None:
        """Raise `LimitExceeded` if there is no room for `nodes` more schemas, before they are parsed."""
        if self._count + nodes > self.limits.schema_nodes:
            raise LimitExceeded("schema_nodes", self.limits.schema_nodes, "the schema", place=path.text)

    def resolve(self, node: Ref, path: SchemaPath) -> Schema:
        """Return the definition of a reference."""
        return self._definitions.resolve(node.name, path)

    def intersect(self, nodes: Iterable[Schema], path: SchemaPath) -> Schema:
        """Return the intersection of nodes."""
        return self.intersector.intersect(nodes, path)

    def difference(self, left: Schema, right: Schema, path: SchemaPath) -> Schema:
        """Return the values of `left` that are not values of `right`."""
        return difference(left, right, self.intersector, path)

    def intersect_names(self, left: String, right: String, path: SchemaPath) -> String | None:
        """Return the names in both languages; `None` if there are none."""
        return self.intersector.intersect_names(left, right, path)

    def subtract_names(self, names: String, others: Iterable[String], path: SchemaPath) -> list[String]:
        """Return the names in none of the other languages."""
        return self.intersector.subtract_names(names, others, path)

    def _read(self, raw: Mapping[str, object], path: SchemaPath) -> Schema:
        if self._relaxation is not None:
            raw = self._relaxation.relax(raw, path)
            if (bare := bare_type(raw, path, self.limits, notes=self._notes)) is not None:
                return bare
        if not (self.python or self._relaxation):
            check_unknown(raw, path, lambda keys: self._charge(keys, _STEPS_PER_KEY, path))
        elif self.python:
            check_slips(raw, path)
            if CHECKED in raw:
                self.checked.append(Unenforced(path.text, "validator", str(raw[CHECKED])))
        note = read_note(raw, path, self.limits) if self._notes else None
        kind = raw.get("type")
        unsupported = self.python and UNSUPPORTED in raw
        if (
            isinstance(kind, str)
            and kind in TYPE_NAMES
            and not unsupported
            and raw.keys().isdisjoint(COMBINING_KEYWORDS)
        ):
            self._steps += _STEPS_TO_READ
            node = parse_type(TYPE_NAMES[kind], raw, path, self, note)
            return node if note is None else with_note(node, note)  # a fast path for most other schemas
        if "$id" in raw:
            path = path.with_base(self._references.base(raw, path.base, path))
        if "$ref" in raw and (self._draft <= LAST_WITH_LONE_REFS or raw.keys() <= LONE_REF_KEYWORDS):
            return with_note(self._lone_reference(raw["$ref"], path), note)
        self._steps += _STEPS_TO_READ
        if unsupported:
            raise UnsupportedKeyword("type", str(raw[UNSUPPORTED]), place=path.text)
        parts = in_document_order(self._parts(raw, path), raw)
        node = parts[0] if len(parts) == 1 else self.intersect(parts, path)
        if "oneOf" in raw:
            alternatives = self._members(raw, "oneOf", path)
            is_overlapping = path.text in self._overlapping
            node = exactly_one(alternatives, node, path, self, is_overlapping=is_overlapping)
        if not DEPENDENT_KEYWORDS.isdisjoint(raw):
            node = dependent(raw, node, path, self)
        if "if" in raw and not {"then", "else"}.isdisjoint(raw):
            node = conditional(raw, node, path, self)
        if "not" in raw:
            here = path.child("not")
            node = self.difference(node, self.parse(raw["not"], here), here)
        if (
            raw.get("unevaluatedItems", True) is not True
            or raw.get("unevaluatedProperties", True) is not True
        ):
            node = without_unevaluated(raw, node, path, self)
        return with_note(node, note)

    def reference_targets(
        self, raw: Mapping[str, object], path: SchemaPath
    ) -> Iterator[tuple[tuple[str, ...], object, SchemaPath]]:
        """Iterate over the targets of the references of a schema: pointer, schema and path."""
        for _, target in self._named(raw, path):
            yield target.pointer, target.schema, self._start(target, path)

    def _parts(self, raw: Mapping[str, object], path: SchemaPath) -> Iterator[tuple[str, Schema]]:
        """Iterate over the nodes of groups of keywords, each with a keyword; the schema is their intersection."""
        for keyword, target in self._named(raw, path):
            yield keyword, self._definition(target, path)
        kinds = parse_type_keyword(raw, path) if "type" in raw else None
        typed = not TYPE_KEYWORDS.keys().isdisjoint(raw) or (self.python and FORMAT in raw)
        if typed or (kinds is not None and "enum" not in raw and "const" not in raw):
            keyword = "properties" if "properties" in raw else next(iter(raw))
            yield keyword, union(parse_type(kind, raw, path, self) for kind in kinds or JSON_TYPES)
        if "enum" in raw or "const" in raw:
            values = raw.get("enum", [raw.get("const")])
            if not isinstance(values, list | tuple):
                raise SchemaError(
                    f"enum must be a list of values; write [{shorten_value(values)}]", place=path.text
                )
            self._charge(len(values), _STEPS_PER_VALUE, path)
            possible = enum_constants(raw, values, kinds, path, self.limits)
            none = "no value of enum or const has the required type" if values else "enum is empty"
            node = Union(tuple(possible)) if len(possible) > 1 else union(possible, none)
            yield "enum" if "enum" in raw else "const", node
        for node in self._members(raw, "allOf", path) if "allOf" in raw else ():
            yield "allOf", node
        if "anyOf" in raw:
            yield "anyOf", union(self._members(raw, "anyOf", path))

    def _members(self, raw: Mapping[str, object], keyword: str, path: SchemaPath) -> list[Schema]:
        """Parse the schemas of `allOf`, `anyOf` or `oneOf`."""
        found = members(raw, keyword, path)
        self._check_room(len(found), path)
        return [self.parse(member, path.child(keyword, index)) for index, member in enumerate(found)]

    def postpone(self, branches: Sequence[Schema], path: SchemaPath) -> None:
        """Prove that branches are disjoint when all definitions are known."""
        self._exclusive.append((tuple(branches), path))

    def _find(self, name: str) -> Schema | None:
        """Return a definition, or `None` if parsing it here could recurse deeply."""
        if self._lookups >= _MAX_LOOKUPS:
            return None
        self._lookups += 1
        depth, self._depth = self._depth, 0
        try:
            return self._definitions.find(name)
        finally:
            self._depth = depth
            self._lookups -= 1

    def _named(self, raw: Mapping[str, object], path: SchemaPath) -> Iterator[tuple[str, ReferenceTarget]]:
        """Iterate over the targets of the references of a schema, each with its keyword."""
        if "$ref" in raw:
            yield "$ref", self._references.find(raw["$ref"], path.base, path)
        for keyword in ("$dynamicRef", "$recursiveRef"):
            if keyword in raw:
                yield keyword, self._references.find_dynamic(raw[keyword], path)

    def _start(self, target: ReferenceTarget, source_path: SchemaPath) -> SchemaPath:
        """Return the path of the target of a reference."""
        if self.python:
            return source_path
        path = "$" + join_path([path_step(part) for part in target.pointer])
        start = SchemaPath(path, target.parent_base, scope=source_path.scope)
        # A target with an $id enters its resource when it is parsed; any other target enters the enclosing one here.
        return start.with_base(target.base) if target.base == target.parent_base else start

    def _lone_reference(self, reference: object, path: SchemaPath) -> Ref:
        """Return the reference that `$ref` names; equal references are frequent."""
        if self._relaxation is not None or not isinstance(reference, str):
            return self._definition(self._references.find(reference, path.base, path), path)
        key = reference, path.base, path.scope
        found = self._found_references.get(key)
        if found is None:
            target = self._references.find(reference, path.base, path)
            found = self._found_references[key] = self._definition(target, path)
        return found

    def _definition(self, target: ReferenceTarget, path: SchemaPath) -> Ref:
        title = target.schema.get("title") if isinstance(target.schema, (dict, Mapping)) else None
        stem = target.pointer[-1] if target.pointer else title if isinstance(title, str) else "Root"
        start = self._start(target, path)
        if self._relaxation is not None:
            self._relaxation.record_reference(start.text, path)

        def make() -> Schema:
            return self.parse(target.schema, start)

        scope = self._references.dynamic(start.scope)
        return self._definitions.reference((target.pointer, scope), stem, make)


_MIN_CACHED_SCHEMAS = 100
"""Minimum number of parsed schemas before equal schemas are cached."""

_Parsed: TypeAlias = tuple[Mapping[str, object], Schema]

_MAX_SIMILAR = 8
"""Maximum number of schemas with the same keywords and texts that a schema is compared with."""

_STEPS, _STEPS_TO_READ, _STEPS_PER_VALUE, _STEPS_PER_KEY = 50, 250, 20, 60
"""Work on a schema, as `Limits.work` counts it, what keywords that restrict values add, and work on an `enum` value and
on a key that is no keyword."""

_MAX_LOOKUPS = 3
"""Maximum nesting of definitions that are parsed where a `oneOf` refers to them: each deepens the stack."""


def _equal(left: Mapping[str, object], right: Mapping[str, object]) -> bool:
    """Return whether schemas are equal with the types of their values and the order of their keys."""
    if left is right:
        return True
    try:
        return left == right and exact_bytes(left) == exact_bytes(right)
    except ValueError:  # values that are not of JSON's types
        return False
