"""Reference resolution: JSON pointers, `$anchor`, `$id` and `$dynamicRef` (JSON Schema core, section 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from functools import reduce
from types import MappingProxyType
from urllib.parse import unquote, urldefrag, urljoin

from structkit.arguments.names import closest_name
from structkit.errors import SchemaError, UnresolvedReference
from structkit.frozen import frozen
from structkit.schema.ir.descend import Step, Within
from structkit.schema.ir.json_values import shorten_value
from structkit.schema.ir.path import SchemaPath, join_path, path_step

__all__ = ["ReferenceTarget", "References", "subschemas"]

_SINGLE_APPLICATORS = (
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_MAP_APPLICATORS = (
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
)
_LIST_APPLICATORS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")

_SAME_VALUE = {
    "$ref", "allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then",
}  # fmt: skip
_ITEMS = {"additionalItems", "contains", "items", "prefixItems", "unevaluatedItems"}

_MAX_DIGITS = 9
"""Digits of an index from which on no list is so long."""

_MAX_WRITTEN = 200
"""Characters of the longest pointer that a remedy writes."""

_MAX_POINTER, _MAX_LOOKED_AT = 300, 3_000
"""Steps of a pointer beyond which no loops are looked for, and subschemas that are examined, at about 10 µs each."""


@frozen
class ReferenceTarget:
    """The target of a reference: its pointer from the root, the subschema, the base URIs inside and outside of it."""

    pointer: tuple[str, ...]
    schema: object = field(compare=False)
    base: str
    parent_base: str = ""


class References:
    """The targets that a `$ref` can have in one schema document."""

    def __init__(
        self,
        document: object,
        *,
        identifiers: bool = True,
        resources: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """Create the table; the document is indexed on the first reference that needs it.

        Args:
            document: The schema.
            identifiers: Whether `$id` sets the base URI, as it does since draft 6.
            resources: Other documents by their URIs.
        """
        self._identifiers = identifiers
        self._outside = {urldefrag(uri)[0]: other for uri, other in resources.items()}
        self.root = ReferenceTarget((), document, self.base(document, "", SchemaPath()))
        self._resources: dict[str, ReferenceTarget] | None = None
        self._anchors: dict[str, ReferenceTarget] = {}
        self._dynamic: dict[str, set[str]] = {}

    def base(self, schema: object, parent_base: str, path: SchemaPath) -> str:
        """Return the base URI inside a subschema: its `$id`, resolved against the base URI outside."""
        own = schema.get("$id") if self._identifiers and isinstance(schema, (dict, Mapping)) else None
        return urldefrag(_join(parent_base, own, path))[0] if isinstance(own, str) else parent_base

    def find(self, reference: object, base: str, path: SchemaPath) -> ReferenceTarget:
        """Return the subschema that `reference` names, relative to the URI `base`.

        >>> References({"$defs": {"a": True}}).find("#/$defs/a", base="", path=SchemaPath()).pointer
        ('$defs', 'a')

        Raises:
            UnresolvedReference: The target does not exist, or is outside the document; documents are not fetched.
        """
        if not isinstance(reference, str):
            raise SchemaError("$ref must be a string; write '#/$defs/Name'", place=path.text)
        if base == self.root.base and (reference == "#" or reference.startswith("#/")):
            start, fragment = self.root, reference[1:]
        else:
            url, fragment = urldefrag(_join(base, reference, path))
            found = self._index().get(url)
            if found is None:
                raise UnresolvedReference(
                    f"{shorten_value(reference)} is outside the schema, and structkit does not fetch schemas; "
                    "put it under $defs, or pass it to JsonSchema(resources=...)",
                    place=path.text,
                )
            start = found
        fragment = unquote(fragment)
        if not fragment or fragment.startswith("/"):
            return self._walk(start, fragment, reference, path)
        anchored = self._index().get(f"{start.base}#{fragment}")
        if anchored is None:
            raise UnresolvedReference(
                f"no subschema has the $anchor {shorten_value(fragment)}; add it, or write '#/$defs/Name'",
                place=path.text,
            )
        return anchored

    def find_dynamic(self, reference: object, path: SchemaPath) -> ReferenceTarget:
        """Return the subschema that a `$dynamicRef` or `$recursiveRef` names (core, section 8.2.3.2).

        If the initial target has a matching dynamic anchor, the result is the outermost such anchor in `path.scope`.

        Raises:
            UnresolvedReference: As for `find`.
        """
        target = self.find(reference, path.base, path)
        self._index()
        fragment = urldefrag(str(reference))[1]
        here = self._anchors.get(f"{target.base}#{fragment}")
        if here is None or here.pointer != target.pointer:
            return target
        found = (self._anchors.get(f"{base}#{fragment}") for base in ("", *path.scope))
        return next((each for each in found if each is not None), target)

    def dynamic(self, scope: tuple[str, ...]) -> tuple[str, ...]:
        """Return the URIs of a scope that decide where dynamic references lead: the first with each anchor."""
        if set(scope) <= {self.root.base}:
            return ()
        self._index()
        if not self._dynamic:
            for base, _, fragment in (anchor.partition("#") for anchor in self._anchors):
                self._dynamic.setdefault(base, set()).add(fragment)
        known = set[str]()
        found: list[str] = []
        for base in scope:
            fragments = self._dynamic.get(base, known)
            if not fragments <= known:
                known |= fragments
                found.append(base)
        return tuple(found)

    def _walk(
        self, start: ReferenceTarget, pointer: str, reference: str, path: SchemaPath
    ) -> ReferenceTarget:
        """Follow a JSON pointer (RFC 6901)."""
        schema, steps, base, outside = start.schema, list(start.pointer), start.base, start.parent_base
        for place, raw in enumerate(pointer.split("/")[1:], start=1):
            step = _unescaped(raw)
            try:
                schema = _child(schema, step)
            except LookupError:
                raise UnresolvedReference(
                    f"{shorten_value(reference)} does not exist: the schema has no {shorten_value(step)} there; "
                    f"{_meant(start.schema, schema, pointer, place)}",
                    place=path.text,
                ) from None
            steps.append(step)
            base, outside = self.base(schema, base, path), base
        return ReferenceTarget(tuple(steps), schema, base, outside)

    def _index(self) -> dict[str, ReferenceTarget]:
        """Return all `$id` and `$anchor` targets by URI; computed once."""
        if self._resources is None:
            found: dict[str, ReferenceTarget] = {}
            self._enter(self.root, self.root.base, found)
            for uri, document in self._outside.items():
                self._enter(
                    ReferenceTarget((uri,), document, self.base(document, uri, SchemaPath()), uri), uri, found
                )
            self._resources = found
        return self._resources

    def _enter(self, start: ReferenceTarget, uri: str, resources: dict[str, ReferenceTarget]) -> None:
        """Register a document under its URI, and every `$id` and anchor in it."""
        resources.setdefault(uri, start)
        stack, seen = [start], set[int]()
        while stack:
            target = stack.pop()
            if not isinstance(target.schema, Mapping) or id(target.schema) in seen:
                continue
            seen.add(id(target.schema))
            if target.base != target.parent_base:
                resources.setdefault(target.base, target)
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(anchor := target.schema.get(keyword), str):
                    resources.setdefault(f"{target.base}#{anchor}", target)
            if isinstance(anchor := target.schema.get("$dynamicAnchor"), str):
                self._anchors.setdefault(f"{target.base}#{anchor}", target)
            if target.schema.get("$recursiveAnchor") is True:
                self._anchors.setdefault(f"{target.base}#", target)
            stack += [self._under(target, pointer, inner) for pointer, inner in subschemas(target.schema)]

    def inside(self, target: ReferenceTarget) -> Iterator[tuple[str, Step, ReferenceTarget]]:
        """Iterate over the direct subschemas and the `$ref` target: keyword, step through the value, subschema.

        Definitions are included only as the target of a reference.

        >>> references = References({"items": {"type": "null"}})
        >>> [(keyword, step) for keyword, step, _ in references.inside(references.root)]
        [('items', <Within.ITEM: '[]'>)]
        """
        if not isinstance(target.schema, Mapping):
            return
        if "$ref" in target.schema:
            with suppress(SchemaError):
                yield "$ref", Within.SAME, self.find(target.schema["$ref"], target.base, SchemaPath())
        for pointer, inner in subschemas(target.schema):
            if pointer[0] not in ("$defs", "definitions"):
                yield pointer[0], _step(*pointer), self._under(target, pointer, inner)

    def loop(self) -> str | None:
        """Return the path of a `$ref` that leads back to a schema around it for the same value, if one is soon found.

        Such a schema has no meaning: what it requires of a value depends on what it requires of the same value.

        >>> References({"items": {"$ref": "#"}, "not": {"anyOf": [{"$ref": "#"}]}}).loop()
        '$.not.anyOf[0]'
        """
        done, starts = set[tuple[str, ...]](), [self.root]
        while starts:
            open_: dict[tuple[str, ...], Iterator[tuple[str, Step, ReferenceTarget]]] = {}
            entered: ReferenceTarget | None = starts.pop()
            while entered is not None or open_:
                if len(done) >= _MAX_LOOKED_AT:
                    return None
                if (
                    entered is not None
                    and entered.pointer not in done
                    and len(entered.pointer) < _MAX_POINTER
                ):
                    done.add(entered.pointer)
                    open_[entered.pointer] = self.inside(entered)
                pointer, following = next(reversed(open_.items()), ((), iter(())))
                entered = None
                for _, step, inner in following:
                    if step is not Within.SAME:
                        starts.append(inner)
                    elif inner.pointer in open_:
                        return "$" + join_path([path_step(int(s) if s.isdecimal() else s) for s in pointer])
                    elif inner.pointer not in done:
                        entered = inner
                        break
                else:
                    open_.pop(pointer, None)
        return None

    def _under(self, target: ReferenceTarget, pointer: tuple[str, ...], schema: object) -> ReferenceTarget:
        base = self.base(schema, target.base, SchemaPath())
        return ReferenceTarget((*target.pointer, *pointer), schema, base, target.base)


def _step(keyword: str, part: str = "") -> Step:
    """Return the step through the value from a schema to a subschema of a keyword."""
    if keyword in _SAME_VALUE:
        return Within.SAME
    if keyword in _ITEMS:
        return int(part) if part else Within.ITEM
    if keyword == "properties":
        return part
    return Within.CONTENT if keyword == "contentSchema" else Within.KEY


def _join(base: str, reference: str, path: SchemaPath) -> str:
    if reference.startswith("#"):
        return base + reference
    try:
        # urljoin returns URNs unchanged and ignores their fragments.
        return urljoin(base, reference)
    except ValueError:
        raise UnresolvedReference(
            f"{shorten_value(reference)} is not a URI reference; write '#/$defs/Name'", place=path.text
        ) from None


def subschemas(schema: Mapping[str, object]) -> Iterator[tuple[tuple[str, ...], object]]:
    """Iterate over the direct subschemas of a schema, each with its pointer."""
    for keyword in _SINGLE_APPLICATORS:
        if isinstance(inner := schema.get(keyword), Mapping):
            yield (keyword,), inner
    for keyword in _MAP_APPLICATORS:
        if isinstance(many := schema.get(keyword), Mapping):
            yield from (((keyword, str(name)), inner) for name, inner in many.items())
    for keyword in _LIST_APPLICATORS:
        if isinstance(inner := schema.get(keyword), list | tuple):
            yield from (((keyword, str(index)), item) for index, item in enumerate(inner))


def _unescaped(step: str) -> str:
    """Return the key that a step of a pointer names."""
    return step.replace("~1", "/").replace("~0", "~")


def _child(schema: object, step: str) -> object:
    """Return the part of a schema at a step of a pointer.

    Raises:
        LookupError: There is none.
    """
    if isinstance(schema, Mapping):
        return schema[step]
    if isinstance(schema, list | tuple) and step.isdecimal() and len(step) < _MAX_DIGITS:
        return schema[int(step)]
    raise LookupError(step)


def _meant(document: object, schema: object, pointer: str, place: int) -> str:
    """Return the remedy for a pointer, one of whose steps does not exist."""
    definitions, keys = (value if isinstance(value, Mapping) else {} for value in (document, schema))
    steps = pointer.split("/")
    for keyword in ("$defs", "definitions"):
        known = definitions.get(keyword)
        if isinstance(known, Mapping) and steps[-1] in known and len(steps[-1]) <= _MAX_WRITTEN:
            return f"write '#/{keyword}/{steps[-1]}'"
    close = closest_name(steps[place], (key for key in keys if "/" not in str(key)))
    if close is None or len(pointer) > _MAX_WRITTEN:
        return "add it, or correct the reference"
    try:
        reduce(_child, [close, *map(_unescaped, steps[place + 1 :])], schema)
    except LookupError:
        return "add it, or correct the reference"
    return f"write '#{'/'.join([*steps[:place], close, *steps[place + 1 :]])}'"
