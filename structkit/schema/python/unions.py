"""Members of unions that no text can select, because pydantic reads each of their texts as an earlier member.

Python types can differ where their JSON is the same: two models without fields, or two functions with equal parameters.
The comparison is structural, and takes a member for unreachable only if its texts are all read as the earlier one.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple, cast

from structkit.errors import SchemaError
from structkit.limits import Limits, Work
from structkit.schema.ir.keywords import UNSUPPORTED
from structkit.schema.ir.path import join_path, path_step
from structkit.schema.markers.json_style import JsonStyle, style_of
from structkit.schema.python.calls import called_function, nodes_of
from structkit.schema.python.core_schema import NO_JSON, Core, branches_of, inner_schema, name_of
from structkit.schema.python.temporal import JsonObject, unsupported

__all__ = ["check_unions", "possible_members", "with_remedy_of_default"]

_log = logging.getLogger("structkit")

_IGNORED = frozenset({"ref", "metadata", "serialization", "title", "cls", "config", "schema"})
"""Keys of a core schema that do not change which texts it accepts, or that are compared by themselves."""

_CLASSES = {"model": "model-fields", "dataclass": "dataclass-args"}
"""The types of core schemas of classes, each with that of its fields."""

_INNER = {
    "list": ("items_schema",),
    "set": ("items_schema",),
    "frozenset": ("items_schema",),
    "tuple": ("items_schema",),
    "dict": ("keys_schema", "values_schema"),
    "nullable": ("schema",),
    "json-or-python": ("json_schema",),
    "lax-or-strict": ("lax_schema",),
}
"""The keys of inner schemas, by type of core schema."""

_USER_CODE = ("post_init", "custom_init")
"""Keys of a class in which code of the user can reject a value."""


_STEPS_PER_PAIR = 100
"""Steps of `Limits.work` that the comparison of two members takes."""


def check_unions(core: Core, policy: JsonStyle, limits: Limits) -> None:
    """Check that a text can select each member of each union in a type.

    Members that are the same to Python, such as two integers with different bounds, are not compared.

    Args:
        core: The core schema of the type.
        policy: The JSON style of the call.
        limits: Bounds the comparisons.

    Raises:
        SchemaError: Pydantic reads every text of a member as an earlier member.
        LimitExceeded: Too many members must be compared.
    """
    comparison, work = _Comparison({}, policy), Work(limits.work)
    for path, union in _unions(core, comparison.definitions):
        members = [comparison.resolved(each) for each in branches_of(union)]
        ordered = union.get("mode") == "left_to_right"
        for earlier, later in comparison.pairs(members):
            work.pay(_STEPS_PER_PAIR, "the comparison of the members of unions", path)
            if comparison.hides(earlier, later, ordered=ordered):
                swap = not comparison.hides(later, earlier, ordered=ordered)
                raise _error(earlier, later, path, swap=swap)
    for names in _recursive_unions(comparison):
        _report_recursion(names)


def _recursive_unions(comparison: _Comparison) -> Iterator[tuple[str, ...]]:
    """Yield the names of the members of each union that two or more of its classes contain."""
    users: dict[str, set[str]] = {}
    for name, core in comparison.definitions.items():
        for used in _references(core):
            users.setdefault(used, set()).add(name)
    for name, core in comparison.definitions.items():
        unions = [each for each in nodes_of(core) if each.get("type") == "union"]
        leading = _reachable(name, users) if unions else set()
        for union in unions:
            members = [each for each in branches_of(union) if not leading.isdisjoint(_references(each))]
            resolved = [comparison.resolved(each) for each in members]
            names = [_name(each) for each in resolved if each.get("type") in (*_CLASSES, "typed-dict")]
            if len(names) > 1:
                yield tuple(names)


def _references(core: Core) -> set[str]:
    return {f"{each['schema_ref']}" for each in nodes_of(core) if each.get("type") == "definition-ref"}


def _reachable(name: str, steps: Mapping[str, set[str]]) -> set[str]:
    """Return a name, and all names to which steps lead from it."""
    found, pending = set[str](), [name]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += steps.get(name, ())
    return found


@lru_cache(maxsize=1000)
def _report_recursion(names: tuple[str, ...]) -> None:
    _log.warning(
        "the union %s contains itself and has no discriminator, so that pydantic takes %d times as long for each level "
        "of a value; name a field that differs, as in Field(discriminator='kind')",
        " | ".join(names if len(names) < 6 else [*names[:4], "..."]),
        len(names),
    )


class _Fields(NamedTuple):
    """The fields of an object.

    Attributes:
        schemas: The schemas by the names in JSON, without defaults.
        required: The names that validation requires.
        written: The names that every text contains.
        extra: What happens to other names.
    """

    schemas: Mapping[str, Core]
    required: frozenset[str]
    written: frozenset[str]
    extra: object


@dataclass
class _Comparison:
    """Comparisons of core schemas; what cannot be decided counts as different.

    Attributes:
        definitions: The definitions by reference.
        policy: The JSON style of the call.
    """

    definitions: dict[str, Core]
    policy: JsonStyle
    known_fields: dict[tuple[int, object, int], _Fields | None] = field(default_factory=dict)
    """What `_fields` returned, by its arguments: each member of a union is compared with all others."""

    def pairs(self, members: Sequence[Core]) -> Iterator[tuple[Core, Core]]:
        """Yield the pairs of an earlier and a later member, without those whose earlier member hides nothing.

        An earlier member that hides a later one requires only what each text of the later one has.
        """
        marks = [self._marks(member) for member in members]
        frequency = Counter(mark for _, written in marks for mark in written)
        earlier: dict[object, list[int]] = {}
        for position, (required, written) in enumerate(marks):
            found = sorted(each for mark in (None, *written) for each in earlier.get(mark, ()))
            yield from ((members[each], members[position]) for each in found)
            earlier.setdefault(min(required, key=frequency.__getitem__, default=None), []).append(position)

    def _marks(self, core: Core) -> tuple[set[object], set[object]]:
        """Return the fields that a member requires, and those that each of its texts has, also with their constants."""
        kind, style = core.get("type"), None
        inner: Core | None = core
        if called_function(core):
            kind, inner = "function", inner_schema(core)
        elif kind in _CLASSES:
            inner, style = cast("Core", core["schema"]), style_of(core["cls"])
            inner = inner if inner.get("type") == _CLASSES[kind] else None
        elif kind != "typed-dict":
            inner = None
        fields = None if inner is None else self._fields(inner, None, style)
        if fields is None:
            return set(), set()
        marks: dict[str, set[object]] = {}
        for name in fields.required | fields.written:
            schema = self.resolved(fields.schemas[name])
            values = cast("list[object]", schema["expected"]) if schema.get("type") == "literal" else ()
            constant = {(kind, name, type(values[0]), values[0])} if len(values) == 1 else set()
            marks[name] = {(kind, name), *constant}
        required, written = (
            {mark for name in names for mark in marks[name]} for names in (fields.required, fields.written)
        )
        return required, written

    def hides(self, earlier: Core, later: Core, *, ordered: bool) -> bool:
        """Return whether every text of the later member is read as the earlier one, with another value."""
        pairs: dict[tuple[int, int], bool] = {}
        return self._includes(earlier, later, pairs, ordered=ordered) and any(pairs.values())

    def resolved(self, core: Core) -> Core:
        """Return a core schema behind references and defaults."""
        while core.get("type") in ("definition-ref", "definitions", "default"):
            key = core.get("schema_ref")
            core = self.definitions[cast("str", key)] if key is not None else cast("Core", core["schema"])
        return core

    def _includes(
        self, earlier: Core, later: Core, pairs: dict[tuple[int, int], bool], *, ordered: bool = False
    ) -> bool:
        """Return whether the earlier schema accepts each text of the later one, with as many fields.

        Args:
            earlier: The earlier schema.
            later: The later schema.
            pairs: The compared pairs, and whether their values differ. A pair that is compared again, inside itself, is
                taken for included.
            ordered: Whether the first member that accepts a text is chosen; otherwise, the one with the most fields.
        """
        earlier, later = self.resolved(earlier), self.resolved(later)
        if earlier is later or (id(earlier), id(later)) in pairs:
            return True
        functions = called_function(earlier), called_function(later)
        if all(functions):
            pairs[id(earlier), id(later)] = functions[0] is not functions[1]
            one, other = inner_schema(earlier), inner_schema(later)
            return one is not None and other is not None and self._objects(one, other, pairs, ordered=ordered)
        kind = earlier.get("type")
        if kind == "nullable" and later.get("type") != "nullable":
            return self._includes(cast("Core", earlier["schema"]), later, pairs)
        if kind != later.get("type"):
            return False
        if _is_equal(earlier, later):
            return True
        if kind in _CLASSES:
            return self._classes(earlier, later, pairs, ordered=ordered)
        if kind == "typed-dict":
            return self._objects(earlier, later, pairs, ordered=ordered)
        if kind == "enum":
            return self._enums(earlier, later, pairs)
        if kind == "literal":
            return _literals(later) <= _literals(earlier)
        keys = _INNER.get(cast("str", kind), ())
        inner_schemas = [(_listed(earlier.get(key)), _listed(later.get(key))) for key in keys]
        return _is_looser(earlier, later, keys) and all(
            len(one) == len(other)
            and all(self._includes(*each, pairs) for each in zip(one, other, strict=True))
            for one, other in inner_schemas
        )

    def _classes(
        self, earlier: Core, later: Core, pairs: dict[tuple[int, int], bool], *, ordered: bool
    ) -> bool:
        if earlier["cls"] is later["cls"]:
            return True
        if any(earlier.get(key) for key in _USER_CODE):
            return False
        configs = _config(earlier), _config(later)
        if configs[0] != configs[1] or bool(earlier.get("root_model")) != bool(later.get("root_model")):
            return False
        pairs[id(earlier), id(later)] = True
        inner = cast("Core", earlier["schema"]), cast("Core", later["schema"])
        if earlier.get("root_model"):
            return self._includes(*inner, pairs)
        if any(each.get("type") != _CLASSES[cast("str", earlier["type"])] for each in inner):
            return False  # a validator of the class
        extra = configs[0].get("extra_fields_behavior")
        return self._objects(*inner, pairs, ordered=ordered, extra=extra, style=style_of(later["cls"]))

    def _objects(
        self,
        earlier: Core,
        later: Core,
        pairs: dict[tuple[int, int], bool],
        *,
        ordered: bool,
        extra: object = None,
        style: JsonStyle | None = None,
    ) -> bool:
        one, other = self._fields(earlier, extra, None), self._fields(later, extra, style)
        if one is None or other is None or (other.extra == "allow" and one.extra != "allow"):
            return False
        surplus = other.schemas.keys() - one.schemas.keys()
        if not one.required <= other.written or (surplus and (not ordered or one.extra == "forbid")):
            return False
        return all(
            self._includes(one.schemas[name], schema, pairs)
            for name, schema in other.schemas.items()
            if name not in surplus
        )

    def _fields(self, core: Core, extra: object, style: JsonStyle | None) -> _Fields | None:
        """Return the fields of an object; `None` if a name is not known."""
        key = id(core), extra, id(style)
        if key not in self.known_fields:
            self.known_fields[key] = self._read_fields(core, extra, style)
        return self.known_fields[key]

    def _read_fields(self, core: Core, extra: object, style: JsonStyle | None) -> _Fields | None:
        fields = core.get("fields", {})
        named = fields.items() if isinstance(fields, Mapping) else _named(cast("list[object]", fields))
        schemas: dict[str, Core] = {}
        required, written = set[str](), set[str]()
        for name, each in named:
            alias = each.get("validation_alias", name)
            schema = self._without_references(cast("Core", each["schema"]))
            if not isinstance(alias, str) or each.get("init") is False:
                return None
            schemas[alias] = schema
            if schema.get("type") != "default" and each.get("required", True):
                required.add(alias)
            if each.get("required", True) and (alias in required or self._writes_defaults(style)):
                written.add(alias)
        return _Fields(schemas, frozenset(required), frozenset(written), core.get("extra_behavior", extra))

    def _without_references(self, core: Core) -> Core:
        while core.get("type") == "definition-ref":
            core = self.definitions[cast("str", core["schema_ref"])]
        return core

    def _writes_defaults(self, style: JsonStyle | None) -> bool:
        """Return whether every text contains the fields that have a default."""
        if style is None:
            return False
        defaults, null = style.defaults or self.policy.defaults, style.null or self.policy.null
        return defaults in (None, "always") and null in (None, "always")

    def _enums(self, earlier: Core, later: Core, pairs: dict[tuple[int, int], bool]) -> bool:
        one, other = earlier["cls"], later["cls"]
        pairs[id(earlier), id(later)] = one is not other
        if earlier.get("missing") is not None and one is not other:
            return False
        return _enum_values(other) <= _enum_values(one)


def _config(core: Core) -> Core:
    config = cast("Core", core.get("config", {}))
    return {key: value for key, value in config.items() if key != "title"} if "title" in config else config


def _listed(inner: object) -> list[Core]:
    """Return the inner schemas at a key; none if the key is missing."""
    if isinstance(inner, list):
        return inner
    return [] if inner is None else [cast("Core", inner)]


def _is_looser(earlier: Core, later: Core, compared: Sequence[str]) -> bool:
    """Return whether each constraint of the earlier schema is also one of the later schema."""
    if not compared and ("schema" in earlier or "schema" in later):  # a validator of the user
        return False
    constraints = earlier.keys() - _IGNORED - {*compared, "python_schema", "strict_schema"}
    return all(key in later and _is_equal(earlier[key], later[key]) for key in constraints)


def _is_equal(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:  # `__eq__` of a value of the user
        return False


def _literals(core: Core) -> set[tuple[object, object]]:
    return {(type(each), each) for each in cast("list[object]", core["expected"])}


def _enum_values(enum: object) -> set[tuple[object, str]]:
    return {(type(each.value), repr(each.value)) for each in cast("type[Enum]", enum)}


def _named(fields: Sequence[object]) -> list[tuple[str, Core]]:
    """Return the fields of a dataclass by their names."""
    return [(cast("str", each["name"]), each) for each in fields if isinstance(each, dict)]


def _unions(core: Core, definitions: dict[str, Core]) -> Iterator[tuple[str, Core]]:
    """Yield the unions in a core schema with their paths; add its definitions to `definitions`."""
    pending: list[tuple[tuple[str, ...], object]] = [((), core)]
    seen = set[int]()
    found: list[tuple[str, Core]] = []
    while pending:
        path, current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, (list, tuple)):
            pending += [(path, each) for each in current]
        if not isinstance(current, dict):
            continue
        if current.get("type") == "definitions":
            definitions.update({each["ref"]: each for each in current["definitions"]})
        if current.get("type") == "union":
            found.append(("$" + join_path(path), current))
        for key, value in current.items():
            if key == "fields":  # a dataclass also has a list of names
                named = value.items() if isinstance(value, dict) else _named(value)
                pending += [((*path, path_step(name)), each) for name, each in named]
            elif key in ("items_schema", "values_schema", "keys_schema"):
                pending.append(((*path, "[]"), value))
            elif key == "choices":
                pending += [(path, each) for each in branches_of(current)]
            elif key.endswith("schema") or key == "definitions":
                pending.append((path, value))
    yield from found


def _error(earlier: Core, later: Core, path: str, *, swap: bool) -> SchemaError:
    names = [_name(each) for each in (earlier, later)]
    functions = called_function(earlier) and called_function(later)
    what = "parameter" if functions else "field"
    swapped = f", or put {names[1]} before {names[0]}" if swap else ""
    return SchemaError(
        f"no text is read as {names[1]}: each is also one of {names[0]}, which comes first in the union; give both a "
        f"{what} that differs, such as `kind: Literal[{names[1].lower()!r}]`{swapped}",
        place=path,
    )


def _name(core: Core) -> str:
    given = called_function(core) or core.get("cls")
    return name_of(given) if given is not None else str(core.get("type"))


def possible_members(described: JsonObject) -> JsonObject:
    """Return the schema of a union without the members that no JSON denotes, such as instances of a class."""
    members: Any = described.get("anyOf", ())
    possible = [each for each in members if NO_JSON not in str(each.get(UNSUPPORTED))]
    return {**described, "anyOf": possible} if possible else described


def with_remedy_of_default(schema: Core, described: JsonObject) -> JsonObject:
    """Return the schema of a field, with one more remedy if the field has a default and its type no JSON form."""
    cause = str(described.get(UNSUPPORTED))
    if schema.get("type") != "default" or NO_JSON not in cause:
        return described
    return unsupported(f"{cause}, or keep its default with pydantic.json_schema.SkipJsonSchema[...]")
