"""Fingerprints of targets that are stable across processes, and their serialization."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import replace

from structkit.errors import SchemaError
from structkit.frozen import frozen
from structkit.limits import Limits
from structkit.schema.ir.json_values import exact_bytes
from structkit.targets.grammar import Grammar
from structkit.targets.specs import Choice, JsonSchema, Regex
from structkit.targets.targets import AnyTarget, Target, spec_of

__all__ = ["TargetFingerprint", "cache_key", "fingerprint_of"]


@frozen
class TargetFingerprint:
    """Bytes that determine the language of a target, equal in every process.

    Attributes:
        content: The bytes. They distinguish the keys 1 and "1", lists and tuples, and 1, 1.0 and `True`.
    """

    content: bytes
    _target: AnyTarget

    def serialize(self) -> bytes:
        """Serialize the target for `deserialize`.

        The result is empty if that is impossible, or if the target has changed since its fingerprint was computed.
        """
        spec = spec_of(self._target)
        try:
            if spec is None:
                return b""
            if isinstance(spec, Regex):
                parts: object = spec.pattern
            elif isinstance(spec, Choice):
                parts = spec.options
            elif isinstance(spec, Grammar):
                parts = None
            else:
                parts = spec.schema, spec.resources
            source = json.dumps(parts).encode()
            # JSON does not distinguish some values, such as lists and tuples, and a dict is mutable.
            return source if _content_of(self.deserialize(source)) == self.content else b""
        except (SchemaError, TypeError, ValueError, RecursionError):
            return b""

    def deserialize(self, data: bytes) -> Regex | Choice[object] | Grammar[object] | JsonSchema:
        """Return the target that `serialize` wrote.

        A grammar is not written: it does not change and was read already, while the files that it imports may have
        changed since.
        """
        parts = json.loads(data)
        spec = spec_of(self._target)
        if isinstance(spec, Regex):
            return Regex(parts)
        if isinstance(spec, JsonSchema):
            schema, resources = parts
            return replace(spec, schema=schema, resources=resources)
        return spec if isinstance(spec, Grammar) else Choice(parts)


def fingerprint_of(target: AnyTarget) -> TargetFingerprint | None:
    """Return the fingerprint of a target.

    A Python type has none (`None`), because no bytes determine its validators, and neither has a schema with objects of
    other classes than those of JSON.

    >>> found = fingerprint_of({"type": "integer"})
    >>> found.deserialize(found.serialize())
    JsonSchema(schema={'type': 'integer'}, additional='open', strict=True, resources={}, bounded_numbers=False)
    """
    try:
        if type(target) is dict:  # the most frequent case; equal to that of `JsonSchema(target)`
            return TargetFingerprint(exact_bytes(("JsonSchema", "open", True, False, target, {})), target)
        spec = spec_of(target)
        if isinstance(spec, Grammar) and (spec.holes or spec.limits != Limits()):
            return None
        return None if spec is None else TargetFingerprint(_content_of(spec), spec)
    except ValueError:  # too deep, or no JSON: parsing reports the error
        return None


def _content_of(spec: Regex | Choice[object] | Grammar[object] | JsonSchema) -> bytes:
    match spec:
        case Regex():
            return exact_bytes(("Regex", spec.pattern))
        case Choice():
            return exact_bytes(("Choice", spec.options))
        case Grammar():
            return exact_bytes(("Grammar", spec.source.fingerprint))
        case _:
            options = spec.additional, spec.strict, spec.bounded_numbers
            return exact_bytes(("JsonSchema", *options, spec.schema, spec.resources))


def cache_key(target: AnyTarget) -> Hashable | None:
    """Return a cache key of a target; `None` if it has none.

    `A | B` and `B | A` are equal in Python, but pydantic tries the members in order. The key therefore includes the
    `repr`.

    >>> cache_key(int | None) == cache_key(int | None), cache_key(int | None) == cache_key(None | int)
    (True, False)
    """
    try:
        if isinstance(target, Choice):
            return ("choice", target.is_raw, tuple(target.values_by_text()))
        if isinstance(target, Mapping):
            json.dumps(
                target
            )  # only JSON has a key; the key is the repr, which distinguishes the keys 1 and "1"
            return ("schema", repr(target))
        if isinstance(target, JsonSchema):
            options = (target.additional, target.strict, target.bounded_numbers)
            return (cache_key(target.schema), cache_key(target.resources), *options)
        key = (target, "" if isinstance(target, (type, Target)) else repr(target))
        hash(key)
    except (TypeError, ValueError, RecursionError):
        return None
    return key
