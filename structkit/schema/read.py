"""JSON Schema to Schema nodes: each keyword is read into a node, and the nodes of one schema are intersected.

Draft 2020-12 (https://json-schema.org/draft/2020-12/json-schema-validation) and the older spellings of the same ideas.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from structkit.errors import LimitExceeded, SchemaError, UnsupportedKeyword
from structkit.limits import Limits
from structkit.schema.build import union, with_note
from structkit.schema.definitions import Definitions
from structkit.schema.disjoint import pairwise_disjoint
from structkit.schema.keywords import KINDS, REFUSAL, REFUSED, REFUSED_WITH, TYPED, Kind
from structkit.schema.kinds import read_kind
from structkit.schema.meet import Meeting
from structkit.schema.nodes import Anything, Const, Document, Never, Note, Ref, Schema, Union
from structkit.schema.place import Place, joined, step
from structkit.schema.references import References, Target
from structkit.schema.settle import in_order, settle
from structkit.schema.values import canonical, is_integer, json_text, kind_of, shown

__all__ = ["read"]


def read(
    schema: Mapping[str, object] | bool,
    *,
    python: bool = False,
    defaults: Literal["always", "may_omit"] = "always",
    limits: Limits = Limits(),  # noqa: B008
) -> Document:
    """Read a JSON Schema.

    Args:
        schema: The schema, as `json.loads` gives it.
        python: The schema was made for a Python type by `output.py`: objects are closed unless they say otherwise,
            and numbers will have a bounded count of digits.
        defaults: For a Python type: `"always"` requires every declared property, `"may_omit"` only those in `required`.
        limits: Bounds size and nesting.

    Returns:
        The document; its definitions are those that are used.

    >>> read({"type": "array", "items": {"type": "integer", "minimum": 0}}).root.items
    Integer(note=None, minimum=0, maximum=None, multiple_of=None)

    Raises:
        SchemaError: It is not a JSON Schema.
        UnsupportedKeyword: A keyword that cannot be enforced.
        UnsatisfiableSchema: No value satisfies it.
        UnresolvedReference: A `$ref` leads nowhere.
        LimitExceeded: It is too large or too deep.
    """
    try:
        return _Reading(schema, python, defaults, limits).document()
    except RecursionError:
        raise LimitExceeded("schema_depth", limits.schema_depth, "the nesting of the schema") from None


class _Reading:
    """The reading of one schema document."""

    def __init__(
        self, document: object, python: bool, defaults: Literal["always", "may_omit"], limits: Limits
    ) -> None:
        self.python = python
        self.defaults: Literal["always", "may_omit"] = defaults
        self._limits = limits
        self._draft = _draft(document)
        self._references = References(document, identifiers=self._draft > 4)
        self._definitions = Definitions()
        self._meeting = Meeting(self._definitions, limits)
        self._exclusive: list[tuple[Sequence[Schema], Place]] = []
        self._count = 0
        self._depth = 0

    def document(self) -> Document:
        """Read the root and everything it refers to."""
        root = self._definition(self._references.root, Place(python=self.python))
        definitions = self._definitions.finish()
        order = in_order(definitions)
        for branches, at in self._exclusive:
            if not pairwise_disjoint(branches, definitions):
                raise UnsupportedKeyword(
                    "oneOf",
                    "oneOf is enforced only where its alternatives cannot overlap; "
                    "use anyOf, or a required key with a different const in each",
                    place=at.path,
                )
        return settle(root.name, definitions, order, python=self.python)

    def schema(self, raw: object, at: Place) -> Schema:
        """Read one schema."""
        if raw is True:
            return Anything()
        if raw is False:
            return Never("the schema false allows nothing")
        if not isinstance(raw, Mapping):
            raise SchemaError(f"a schema must be an object or a boolean, not {shown(raw)}", place=at.path)
        self._count += 1
        if self._count > self._limits.schema_nodes:
            raise LimitExceeded("schema_nodes", self._limits.schema_nodes, "the schema", place=at.path)
        if self._depth >= self._limits.schema_depth:
            raise LimitExceeded(
                "schema_depth", self._limits.schema_depth, "the nesting of the schema", place=at.path
            )
        self._depth += 1
        try:
            return self._read(raw, at)
        finally:
            self._depth -= 1

    def look(self, node: Ref, at: Place) -> Schema:
        """The definition that a reference names."""
        return self._definitions.look(node.name, at)

    def meet(self, nodes: Iterable[Schema], at: Place) -> Schema:
        """The intersection of nodes."""
        return self._meeting.meet(nodes, at)

    def _read(self, raw: Mapping[str, object], at: Place) -> Schema:
        note = _note(raw, at, self._limits)
        if "$id" in raw:
            at = at.inside(self._references.base(raw, at.base, at))
        if "$ref" in raw and self._draft <= _LAST_WITH_LONE_REFS:
            return with_note(self._reference(raw["$ref"], at), note)
        self._refuse(raw, at)
        node = self.meet(self._parts(raw, at), at)
        if "oneOf" in raw:
            node = self._one_of(raw, node, at)
        return with_note(node, note)

    def _refuse(self, raw: Mapping[str, object], at: Place) -> None:
        for keyword in raw:
            if keyword in REFUSED and _says_something(keyword, raw):
                raise UnsupportedKeyword(keyword, f"{keyword} {REFUSED[keyword]}", place=at.path)
        if self.python and REFUSAL in raw:
            raise UnsupportedKeyword("type", str(raw[REFUSAL]), place=at.path)

    def _parts(self, raw: Mapping[str, object], at: Place) -> Iterator[Schema]:
        """What each group of keywords says, all to be satisfied together."""
        if "$ref" in raw:
            yield self._reference(raw["$ref"], at)
        kinds = _kinds(raw, at) if "type" in raw else None
        typed = not TYPED.keys().isdisjoint(raw)
        if typed or (kinds is not None and "enum" not in raw and "const" not in raw):
            yield self._of_kinds(kinds or KINDS, raw, at)
        if "enum" in raw or "const" in raw:
            constants = _constants(raw, at, self._limits)
            possible = (node for node, value in constants if kinds is None or _is_one_of(value, kinds))
            yield union(possible, "enum or const leaves no value of the right type")
        for index, member in enumerate(_members(raw, "allOf", at)) if "allOf" in raw else ():
            yield self.schema(member, at.under("allOf", index))
        if "anyOf" in raw:
            members = enumerate(_members(raw, "anyOf", at))
            yield union([self.schema(member, at.under("anyOf", index)) for index, member in members])

    def _of_kinds(self, kinds: Sequence[Kind], raw: Mapping[str, object], at: Place) -> Schema:
        nodes = [read_kind(kind, raw, at, self) for kind in kinds]
        if len(nodes) == 1:
            return nodes[0]
        possible = tuple(node for node in nodes if not isinstance(node, Never))
        return Union(possible) if len(possible) > 1 else union(nodes)

    def _one_of(self, raw: Mapping[str, object], others: Schema, at: Place) -> Schema:
        """Exactly one alternative, each together with what the other keywords say."""
        alternatives = [
            self.meet((others, self.schema(member, at.under("oneOf", index))), at)
            for index, member in enumerate(_members(raw, "oneOf", at))
        ]
        possible = [node for node in alternatives if not isinstance(node, Never)]
        if len(possible) > 1:
            self._exclusive.append((possible, at))
        return union(alternatives)

    def _reference(self, reference: object, at: Place) -> Ref:
        return self._definition(self._references.find(reference, at.base, at), at)

    def _definition(self, target: Target, at: Place) -> Ref:
        title = target.schema.get("title") if isinstance(target.schema, Mapping) else None
        stem = target.pointer[-1] if target.pointer else title if isinstance(title, str) else "Root"

        def make() -> Schema:
            start = Place("$" + joined([step(part) for part in target.pointer]), target.outside)
            return self.schema(target.schema, at if self.python else start)

        return self._definitions.reference(target.pointer, stem, make)


_LAST_WITH_LONE_REFS = 7
"""The last draft in which keywords beside `$ref` are ignored."""


def _draft(document: object) -> int:
    """The number of the draft that `$schema` names; the drafts since 2019 have no number, so they count as infinite."""
    dialect = document.get("$schema") if isinstance(document, Mapping) else None
    found = re.search(r"json-schema\.org/draft-0([3-7])/", dialect) if isinstance(dialect, str) else None
    return int(found[1]) if found else sys.maxsize


def _says_something(keyword: str, raw: Mapping[str, object]) -> bool:
    """Whether a refused keyword would constrain anything here."""
    if keyword in ("unevaluatedItems", "unevaluatedProperties"):
        return raw[keyword] is not True
    return REFUSED_WITH.get(keyword, keyword) in raw


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
    if "number" in found:
        found.pop("integer", None)
    if raw.get("nullable") is True:
        found["null"] = None
    return tuple(found)


_TYPES: dict[str, Kind] = {kind: kind for kind in (*KINDS, "integer")}


def _is_one_of(value: object, kinds: tuple[Kind, ...]) -> bool:
    return kind_of(value) in kinds or ("integer" in kinds and is_integer(value))


def _constants(raw: Mapping[str, object], at: Place, limits: Limits) -> list[tuple[Const, object]]:
    """The values that `enum` and `const` leave, each once, with their nodes."""
    values = raw.get("enum", [raw.get("const")])
    if not isinstance(values, list | tuple):
        raise SchemaError("enum must be a list of values", place=at.path)
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
