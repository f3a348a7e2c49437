"""Targets as texts: what names one in every process, and from what it is made again."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from structkit.errors import SchemaError
from structkit.targets.targets import AnyTarget, Choice, JsonSchema, Regex, Target, spec_of

__all__ = ["TargetFingerprint", "cache_key", "fingerprint_of"]


@dataclass(frozen=True, slots=True)
class TargetFingerprint:
    """A target as a text that says in every process all that decides its texts.

    Attributes:
        text: The text; of what is no JSON it may say less.
    """

    text: str
    _target: AnyTarget

    def serialize(self) -> bytes:
        """The target in bytes, from which `read` makes it; empty if there are none.

        Not kept as an object: a dict may be changed later.
        """
        given = spec_of(self._target)
        try:
            if given is None:
                return b""
            if isinstance(given, Regex):
                parts: object = given.pattern
            elif isinstance(given, Choice):
                parts = given.options
            else:
                parts = given.schema, given.resources
            source = json.dumps(parts).encode()
            # JSON writes some values alike, such as lists and tuples.
            return source if _text_of(self.deserialize(source)) == self.text else b""
        except (SchemaError, TypeError, ValueError, RecursionError):
            return b""

    def deserialize(self, data: bytes) -> Regex | Choice[object] | JsonSchema:
        """The target of what `data` returned."""
        parts = json.loads(data)
        given = spec_of(self._target)
        if isinstance(given, Regex):
            return Regex(parts)
        if isinstance(given, JsonSchema):
            schema, resources = parts
            return JsonSchema(schema, given.additional, given.strict, resources)
        return Choice(parts)


def fingerprint_of(target: AnyTarget) -> TargetFingerprint | None:
    """A target as a text; `None` for a Python type: what that means, pydantic says and its validators, and no text.

    >>> found = fingerprint_of({"type": "integer"})
    >>> found.deserialize(found.serialize())
    JsonSchema(schema={'type': 'integer'}, additional='open', strict=True, resources={})
    """
    try:
        if type(target) is dict:  # most often; the same as of `JsonSchema(target)`
            return TargetFingerprint(_schema_text("open", True, target, {}), target)
        given = spec_of(target)
        return None if given is None else TargetFingerprint(_text_of(given), given)
    except RecursionError:
        return None  # whoever reads it will say so


def _schema_text(additional: str, strict: bool, schema: object, resources: object) -> str:
    return f"JsonSchema {additional} {strict} {schema!r} {resources!r}"


def _text_of(spec: Regex | Choice[object] | JsonSchema) -> str:
    # As Python writes it: JSON would write the names 1 and "1" alike, lists and tuples too.
    match spec:
        case Regex():
            return f"Regex {spec.pattern!r}"
        case Choice():
            return f"Choice {spec.options!r}"
        case _:
            return _schema_text(spec.additional, spec.strict, spec.schema, spec.resources)


def cache_key(target: AnyTarget) -> Hashable | None:
    """A key under which what was made for a target may be kept; `None` if there is none.

    Targets of one key are the same: `A | B` and `B | A` are equal for Python, but pydantic tries the first
    one first, so the spelling counts too.

    >>> cache_key(int | None) == cache_key(int | None), cache_key(int | None) == cache_key(None | int)
    (True, False)
    """
    try:
        if isinstance(target, Choice):
            return ("choice", target.is_raw, tuple(target.values_by_text()))
        if isinstance(target, Mapping):
            json.dumps(
                target
            )  # only JSON has a key; but JSON writes the names 1 and "1" alike, repr does not
            return ("schema", repr(target))
        if isinstance(target, JsonSchema):
            return (cache_key(target.schema), cache_key(target.resources), target.additional, target.strict)
        key = (target, "" if isinstance(target, (type, Target)) else repr(target))
        hash(key)
    except (TypeError, ValueError, RecursionError):
        return None
    return key
