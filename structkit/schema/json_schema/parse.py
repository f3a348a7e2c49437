"""JSON Schema to Schema nodes: each keyword is read into a node, and the nodes of one schema are intersected.

Draft 2020-12 (https://json-schema.org/draft/2020-12/json-schema-validation) and the older spellings of the same ideas.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from structkit.errors import LimitExceeded, PatternError, SchemaError, UnsupportedKeyword
from structkit.limits import Limits
from structkit.schema.algebra.difference import minus
from structkit.schema.algebra.disjoint import pairwise_disjoint
from structkit.schema.algebra.intersect import Meeting
from structkit.schema.algebra.prune import in_order, settle
from structkit.schema.algebra.string_oracle import UNDECIDED, Texts
from structkit.schema.ir.constructors import union, with_note
from structkit.schema.ir.definitions import Definitions
from structkit.schema.ir.json_values import canonical, is_integer, json_text, kind_of, shown
from structkit.schema.ir.keywords import CHECKED, COMBINING, KINDS, REFUSAL, TYPED, Kind
from structkit.schema.ir.nodes import (
    Additional,
    Anything,
    Boolean,
    Const,
    Document,
    Integer,
    Never,
    Note,
    Null,
    Number,
    Object,
    Property,
    Ref,
    Schema,
    String,
    Union,
)
from structkit.schema.ir.path import Place, joined, step
from structkit.schema.ir.refs import References, Target
from structkit.schema.json_schema.parse_types import read_kind
from structkit.schema.json_schema.relax_unsupported import Layout
from structkit.schema.json_schema.unevaluated import closing, ways
from structkit.unenforced import Unenforced

__all__ = ["read"]


def read(
    schema: Mapping[str, object] | bool,
    *,
    python: bool = False,
    defaults: Literal["always", "may_omit"] = "always",
    limits: Limits = Limits(),  # noqa: B008
    texts: Texts = UNDECIDED,
    closed: bool = False,
    strict: bool = True,
    resources: Mapping[str, object] = MappingProxyType({}),
) -> Document:
    """Read a JSON Schema.

    Args:
        schema: The schema, as `json.loads` gives it.
        python: The schema was made for a Python type by `output.py`: objects are closed unless they say otherwise,
            and numbers will have a bounded count of digits.
        defaults: For a Python type: `"always"` requires every declared property, `"may_omit"` only those in `required`.
        limits: Bounds size and nesting.
        texts: Decides what patterns and formats say about names and constants; without it, that is refused.
        closed: Objects have no undeclared keys where the schema says nothing about these.
        strict: Whether a keyword that cannot be enforced is an error; else it is left out, and told in the document.
        resources: Other documents that it may refer to, by their URIs.

    Returns:
        The document; its definitions are those that are used.

    >>> read({"type": "array", "items": {"type": "integer", "minimum": 0}}).root.items
    Integer(note=None, minimum=0, maximum=None, multiple_of=None, not_multiple_of=())

    Raises:
        SchemaError: It is not a JSON Schema.
        UnsupportedKeyword: A keyword that cannot be enforced.
        UnsatisfiableSchema: No value satisfies it.
        UnresolvedReference: A `$ref` leads nowhere.
        LimitExceeded: It is too large or too deep.
    """
    layout = None if strict else Layout(())
    overlapping: frozenset[str] = frozenset()
    try:
        while True:
            reading = _Reading(schema, resources, python, defaults, limits, texts, overlapping, layout)
            try:
                root, definitions, order = reading.run()
            except (UnsupportedKeyword, PatternError) as error:
                if layout is None or (more := layout.blamed(error)) is None:
                    raise
                layout = Layout((*layout.left_out, more))
                continue
            turned = layout.turned() if layout is not None else ()
            if not reading.found and not turned:
                break
            overlapping |= reading.found
            layout = layout and Layout((*layout.left_out, *turned))
        document = settle(root.name, definitions, order, python=python, closed=closed)
        left_out = layout.left_out if layout is not None else ()
        return replace(document, unenforced=(*left_out, *reading.checked))
    except RecursionError:
        raise LimitExceeded("schema_depth", limits.schema_depth, "the nesting of the schema") from None


class _Reading:
    """The reading of one schema document."""

    def __init__(
        self,
        document: object,
        resources: Mapping[str, object],
        python: bool,
        defaults: Literal["always", "may_omit"],
        limits: Limits,
        texts: Texts,
        overlapping: frozenset[str],
        layout: Layout | None,
    ) -> None:
        self.python = python
        self.texts = texts
        self.defaults: Literal["always", "may_omit"] = defaults
        self._limits = limits
        self._draft = _draft(document)
        self.contains_evaluates = self._draft > _LAST_WITH_BLIND_CONTAINS
        self._references = References(document, identifiers=self._draft > 4, resources=resources)
        self._definitions = Definitions()
        self._meeting = Meeting(self._definitions, limits, texts)
        self._overlapping = overlapping
        self._layout = layout
        self.found: set[str] = set()
        self.checked: list[Unenforced] = []
        self._exclusive: list[tuple[Sequence[Schema], Place]] = []
        self._count = 0
        self._depth = 0
        self._known: dict[tuple[bytes, str, tuple[str, ...]], Schema] = {}

    def run(self) -> tuple[Ref, dict[str, Schema], list[str]]:
        """The root, all definitions and their order; `found` are then the places of `oneOf` to be read exactly."""
        root = self._definition(self._references.root, Place(python=self.python))
        definitions = self._definitions.finish()
        order = in_order(definitions)
        told_apart: dict[tuple[Schema, ...], bool] = {}  # some schemas say the same in many places
        for branches, at in self._exclusive:
            alike = tuple(branches)
            if alike not in told_apart:
                told_apart[alike] = pairwise_disjoint(branches, definitions, self.texts)
            if not told_apart[alike]:
                self.found.add(at.path)
        return root, definitions, order

    def schema(self, raw: object, at: Place) -> Schema:
        """Read one schema."""
        if raw is True:
            return Anything()
        if raw is False:
            return Never("the schema false allows nothing")
        if not isinstance(raw, (dict, Mapping)):  # a dict is told several times faster
            raise SchemaError(f"a schema must be an object or a boolean, not {shown(raw)}", place=at.path)
        self._charge(1, at)
        if self._depth >= self._limits.schema_depth:
            raise LimitExceeded(
                "schema_depth", self._limits.schema_depth, "the nesting of the schema", place=at.path
            )
        key = self._key(raw, at)
        if key is not None and (known := self._known.get(key)) is not None:
            return known
        self._depth += 1
        try:
            node = self._read(raw, at)
            if key is not None:
                self._known[key] = node
            return node
        except PatternError as error:
            if error.place is not None:
                raise
            message, pattern, column = error.message, error.pattern, error.column
            raise PatternError(message, pattern=pattern, column=column, place=at.path) from None
        finally:
            self._depth -= 1

    def _key(self, raw: Mapping[str, object], at: Place) -> tuple[bytes, str, tuple[str, ...]] | None:
        """What tells apart the schemas of a large document, which often says one thing in many places.

        `None` where the place matters as well, or a schema is as soon read as told apart.
        """
        if self._count < _MANY or self.python or self._layout is not None or raw.keys() <= _SAYING:
            return None
        return hashlib.blake2b(repr(raw).encode(), digest_size=16).digest(), at.base, at.scope

    def _charge(self, nodes: int, at: Place) -> None:
        self._count += nodes
        if self._count > self._limits.schema_nodes:
            raise LimitExceeded("schema_nodes", self._limits.schema_nodes, "the schema", place=at.path)

    def look(self, node: Ref, at: Place) -> Schema:
        """The definition that a reference names."""
        return self._definitions.look(node.name, at)

    def meet(self, nodes: Iterable[Schema], at: Place) -> Schema:
        """The intersection of nodes."""
        return self._meeting.meet(nodes, at)

    def minus(self, left: Schema, right: Schema, at: Place) -> Schema:
        """The values of one node that are not values of another."""
        return minus(left, right, self._meeting, at)

    def names(self, left: String, right: String, at: Place) -> String | None:
        """The names in both languages; `None` if there are none."""
        return self._meeting.names(left, right, at)

    def names_without(self, names: String, others: Iterable[String], at: Place) -> list[String]:
        """The names that are in none of the others."""
        return self._meeting.names_without(names, others, at)

    def _read(self, raw: Mapping[str, object], at: Place) -> Schema:
        if self._layout is not None:
            raw = self._layout.kept(raw, at)
        if self.python and CHECKED in raw:
            self.checked.append(Unenforced(at.path, "validator", str(raw[CHECKED])))
        note = _note(raw, at, self._limits)
        kind = raw.get("type")
        if isinstance(kind, str) and kind in _BARE and raw.keys() <= _SAYING:
            bare = _BARE[kind]  # half of all schemas; below the same would come out
            return bare if note is None else type(bare)(note=note)
        refused = self.python and REFUSAL in raw
        if isinstance(kind, str) and kind in _TYPES and not refused and raw.keys().isdisjoint(COMBINING):
            return with_note(read_kind(_TYPES[kind], raw, at, self, note), note)  # and most of the rest
        if "$id" in raw:
            at = at.inside(self._references.base(raw, at.base, at))
        if "$ref" in raw and (self._draft <= _LAST_WITH_LONE_REFS or raw.keys() <= _REFERRING):
            return with_note(self._definition(self._references.find(raw["$ref"], at.base, at), at), note)
        if refused:
            raise UnsupportedKeyword("type", str(raw[REFUSAL]), place=at.path)
        node = self.meet(self._parts(raw, at), at)
        if "oneOf" in raw:
            node = self._one_of(raw, node, at)
        for having, consequence in (
            self._conditions(raw, at) if any(map(raw.__contains__, _DEPENDENT)) else ()
        ):
            node = union(
                (self.meet((node, having, consequence), at), self.minus(node, having, at)),
                "neither with a key nor without it is it possible",
            )
        if "if" in raw and not {"then", "else"}.isdisjoint(raw):
            node = self._if(raw, node, at)
        if "not" in raw:
            here = at.under("not")
            node = self.minus(node, self.schema(raw["not"], here), here)
        if (
            raw.get("unevaluatedItems", True) is not True
            or raw.get("unevaluatedProperties", True) is not True
        ):
            node = self._unevaluated(raw, node, at)
        return with_note(node, note)

    def _conditions(self, raw: Mapping[str, object], at: Place) -> Iterator[tuple[Schema, Schema]]:
        """For each key on which others depend: having it, and what must hold then."""
        for keyword in _DEPENDENT:
            entries = raw.get(keyword, {})
            if not isinstance(entries, Mapping) or not all(isinstance(name, str) for name in entries):
                raise SchemaError(f"{keyword} must map names to names or schemas", place=at.path)
            for name, entry in entries.items():
                here = at.under(keyword, name)
                if not isinstance(entry, list | tuple):
                    yield _having([name]), self.schema(entry, here)
                elif all(isinstance(other, str) for other in entry):
                    yield _having([name]), _having(dict.fromkeys(map(str, entry)))
                else:
                    raise SchemaError(f"{keyword} must list names", place=here.path)

    def _if(self, raw: Mapping[str, object], others: Schema, at: Place) -> Schema:
        condition = self.schema(raw["if"], at.under("if"))
        met = self.meet((others, condition, self.schema(raw.get("then", True), at.under("then"))), at)
        unmet = self.minus(
            self.meet((others, self.schema(raw.get("else", True), at.under("else"))), at), condition, at
        )
        return union((met, unmet), "neither then nor else is possible")

    def _unevaluated(self, raw: Mapping[str, object], node: Schema, at: Place) -> Schema:
        """The values whose keys and items that nothing beside looks at are what is said of them."""
        possible = (
            self.meet((node, *way.conditions, closing(way.seen, raw, at, self)), at)
            for way in ways(raw, at, self)
        )
        return union(possible, "something is left that unevaluatedProperties or unevaluatedItems forbids")

    def targets(
        self, raw: Mapping[str, object], at: Place
    ) -> Iterator[tuple[tuple[str, ...], object, Place]]:
        """What the references of a schema name: pointer, schema and place."""
        for target in self._named(raw, at):
            yield target.pointer, target.schema, self._start(target, at)

    def having(self, name: str) -> Schema:
        """The objects that have a key."""
        return _having([name])

    def _parts(self, raw: Mapping[str, object], at: Place) -> Iterator[Schema]:
        """What each group of keywords says, all to be satisfied together."""
        yield from (self._definition(target, at) for target in self._named(raw, at))
        kinds = _kinds(raw, at) if "type" in raw else None
        typed = not TYPED.keys().isdisjoint(raw)
        if typed or (kinds is not None and "enum" not in raw and "const" not in raw):
            yield self._of_kinds(kinds or KINDS, raw, at)
        if "enum" in raw or "const" in raw:
            values = raw.get("enum", [raw.get("const")])
            if not isinstance(values, list | tuple):
                raise SchemaError("enum must be a list of values", place=at.path)
            self._charge(len(values), at)
            constants = _constants(raw, values, at, self._limits)
            possible = [node for node, value in constants if kinds is None or _is_one_of(value, kinds)]
            none = "enum or const leaves no value of the right type"
            yield Union(tuple(possible)) if len(possible) > 1 else union(possible, none)
        for index, member in enumerate(_members(raw, "allOf", at)) if "allOf" in raw else ():
            yield self.schema(member, at.under("allOf", index))
        if "anyOf" in raw:
            members = enumerate(_members(raw, "anyOf", at))
            yield union([self.schema(member, at.under("anyOf", index)) for index, member in members])

    def _of_kinds(self, kinds: Sequence[Kind], raw: Mapping[str, object], at: Place) -> Schema:
        return union(read_kind(kind, raw, at, self) for kind in kinds)

    def _one_of(self, raw: Mapping[str, object], others: Schema, at: Place) -> Schema:
        """Exactly one alternative, each together with what the other keywords say."""
        alternatives = [
            self.meet((others, self.schema(member, at.under("oneOf", index))), at)
            for index, member in enumerate(_members(raw, "oneOf", at))
        ]
        possible = [node for node in alternatives if not isinstance(node, Never)]
        if at.path in self._overlapping:
            rest = [[*possible[:index], *possible[index + 1 :]] for index in range(len(possible))]
            return union(self._alone(node, rivals, at) for node, rivals in zip(possible, rest, strict=True))
        if len(possible) > 1:
            self._exclusive.append((possible, at))
        return union(alternatives)

    def _alone(self, node: Schema, others: Iterable[Schema], at: Place) -> Schema:
        """The values of one alternative that no other one has."""
        alone = node
        for other in others:
            if self._may_overlap(node, other):
                alone = self.minus(alone, other, at)
        return alone

    def _may_overlap(self, left: Schema, right: Schema) -> bool:
        """Whether two alternatives are not told apart by what is in them."""
        refers = isinstance(left, Ref) or isinstance(right, Ref)
        return refers or not pairwise_disjoint((left, right), {}, self.texts)

    def _named(self, raw: Mapping[str, object], at: Place) -> Iterator[Target]:
        """What the references of a schema name."""
        if "$ref" in raw:
            yield self._references.find(raw["$ref"], at.base, at)
        for keyword in ("$dynamicRef", "$recursiveRef"):
            if keyword in raw:
                yield self._references.find_dynamic(raw[keyword], at)

    def _start(self, target: Target, at: Place) -> Place:
        """The place of what a reference names."""
        if self.python:
            return at
        path = "$" + joined([step(part) for part in target.pointer])
        start = Place(path, target.outside, scope=at.scope)
        # A resource is entered when its $id is read, and the one around it is not.
        return start.inside(target.base) if target.base == target.outside else start

    def _definition(self, target: Target, at: Place) -> Ref:
        title = target.schema.get("title") if isinstance(target.schema, (dict, Mapping)) else None
        stem = target.pointer[-1] if target.pointer else title if isinstance(title, str) else "Root"
        start = self._start(target, at)
        if self._layout is not None:
            self._layout.refer(start.path, at)

        def make() -> Schema:
            return self.schema(target.schema, start)

        scope = self._references.dynamic(start.scope)
        return self._definitions.reference((target.pointer, scope), stem, make)


_MANY = 100
"""Schemas that are read before it is looked whether one comes again."""

_BARE: Mapping[str, String | Integer | Number | Boolean | Null] = {
    "string": String(),
    "integer": Integer(),
    "number": Number(),
    "boolean": Boolean(),
    "null": Null(),
}
"""What a type means by itself."""

_SAYING = frozenset({"type", "title", "description", "examples", "default", "deprecated", "$comment"})
"""Keywords beside which it does."""

_REFERRING = _SAYING - {"type"} | {"$ref"}
"""Keywords beside which a reference means what it does by itself."""

_DEPENDENT = ("dependencies", "dependentRequired", "dependentSchemas")
_LAST_WITH_LONE_REFS = 7
"""The last draft in which keywords beside `$ref` are ignored."""

_LAST_WITH_BLIND_CONTAINS = 2019
"""The last draft in which `contains` does not count as having looked at items."""


def _having(names: Iterable[str]) -> Object:
    """The objects that have all of some keys."""
    keys = tuple(Property(name, Anything(), listed=False) for name in names)
    return Object(keys, additional=(Additional(String(), Anything()),))


_DIALECT = re.compile(r"json-schema\.org/draft(?:-0([3-7])|/(2019)-09)/")


def _draft(document: object) -> int:
    """The number of the draft that `$schema` names; a year since 2019, and infinity by default."""
    dialect = document.get("$schema") if isinstance(document, (dict, Mapping)) else None
    found = _DIALECT.search(dialect) if isinstance(dialect, str) else None
    return int(found[1] or found[2]) if found else sys.maxsize


def _kinds(raw: Mapping[str, object], at: Place) -> tuple[Kind, ...]:
    """The kinds that `type` names; `nullable` (OpenAPI 3.0) adds null."""
    names = raw["type"]
    found: dict[Kind, None] = {}
    for name in names if isinstance(names, list | tuple) else (names,):
        kind = _TYPES.get(name) if isinstance(name, str) else None
        if kind is None:
            raise SchemaError(
                f"there is no type {shown(name)}; use one of {', '.join(_TYPES)}", place=at.path
            )
        found[kind] = None
    if not found:
        raise SchemaError("type must name at least one type", place=at.path)
    if "number" in found:
        found.pop("integer", None)
    if raw.get("nullable") is True:
        found["null"] = None
    return tuple(found)


_TYPES: dict[str, Kind] = {kind: kind for kind in (*KINDS, "integer")}


def _is_one_of(value: object, kinds: tuple[Kind, ...]) -> bool:
    return kind_of(value) in kinds or ("integer" in kinds and is_integer(value))


def _constants(
    raw: Mapping[str, object], values: Iterable[object], at: Place, limits: Limits
) -> list[tuple[Const, object]]:
    """The values that `enum` and `const` leave, each once, with their nodes."""
    found: dict[object, tuple[Const, object]] = {}
    for value in values:
        text = json_text(value, "enum" if "enum" in raw else "const", at, limits)
        found.setdefault(canonical(value), (Const(text), value))
    if "enum" in raw and "const" in raw:
        json_text(raw["const"], "const", at, limits)
        same = canonical(raw["const"])
        return [pair for key, pair in found.items() if key == same]
    return list(found.values())


def _members(raw: Mapping[str, object], keyword: str, at: Place) -> Sequence[object]:
    members = raw[keyword]
    if not isinstance(members, list | tuple) or not members:
        raise SchemaError(f"{keyword} must be a list of schemas", place=at.path)
    return members


def _note(raw: Mapping[str, object], at: Place, limits: Limits) -> Note | None:
    """What the schema says to its reader; anything malformed there is left out, for it constrains nothing."""
    title, description, examples = raw.get("title"), raw.get("description"), raw.get("examples")
    if title is None and description is None and examples is None:
        return None
    texts = []
    for example in examples if isinstance(examples, list | tuple) else ():
        try:
            texts.append(json_text(example, "examples", at, limits))
        except (SchemaError, LimitExceeded):
            continue
    return Note(
        title if isinstance(title, str) else None,
        description if isinstance(description, str) else None,
        tuple(texts),
    )
