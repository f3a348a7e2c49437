"""Fingerprints of targets that are stable across processes, and their serialization."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import replace

from structkit.errors import SchemaError
from structkit.frozen import frozen
from structkit.limits import Limits
from structkit.targets.grammar import Grammar
from structkit.targets.specs import Choice, JsonSchema, Regex
from structkit.targets.targets import AnyTarget, Target, spec_of

__all__ = ["TargetFingerprint", "cache_key", "fingerprint_of"]


@frozen
class TargetFingerprint:
    """A text that determines the language of a target, equal in every process.

    Attributes:
        text: The text; it may be ambiguous for values that are not JSON.
    """

    text: str
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
                parts = spec.parts
            else:
                parts = spec.schema, spec.resources
            source = json.dumps(parts).encode()
            # JSON does not distinguish some values, such as lists and tuples, and a dict is mutable.
            return source if self._is_of(self.deserialize(source)) else b""
        except (SchemaError, TypeError, ValueError, RecursionError):
            return b""

    def _is_of(self, read: Regex | Choice[object] | Grammar[str] | JsonSchema) -> bool:
        """Whether a target has this fingerprint. A grammar is compared unread: Lark takes longer than the rest."""
        if isinstance(read, Grammar) and isinstance(self._target, Grammar):
            return read.source == self._target.source
        return _text_of(read) == self.text

    def deserialize(self, data: bytes) -> Regex | Choice[object] | Grammar[str] | JsonSchema:
        """Return the target that `serialize` wrote."""
        parts = json.loads(data)
        spec = spec_of(self._target)
        if isinstance(spec, Regex):
            return Regex(parts)
        if isinstance(spec, JsonSchema):
            schema, resources = parts
            return replace(spec, schema=schema, resources=resources)
        if isinstance(spec, Grammar):
            return Grammar.of_parts(parts)
        return Choice(parts)


def fingerprint_of(target: AnyTarget) -> TargetFingerprint | None:
    """Return the fingerprint of a target; `None` for a Python type, because no text determines its validators.

    >>> found = fingerprint_of({"type": "integer"})
    >>> found.deserialize(found.serialize())
    JsonSchema(schema={'type': 'integer'}, additional='open', strict=True, resources={}, bounded_numbers=False)
    """
    try:
        if type(target) is dict:  # the most frequent case; equal to that of `JsonSchema(target)`
            return TargetFingerprint(f"JsonSchema open True False {target!r} {{}}", target)
        spec = spec_of(target)
        if isinstance(spec, Grammar) and (spec.holes or spec.limits != Limits()):
            return None
        return None if spec is None else TargetFingerprint(_text_of(spec), spec)
    except RecursionError:
        return None  # parsing reports the error


def _schema_text(additional: str, strict: bool, bounded: bool, schema: object, resources: object) -> str:
    return f"JsonSchema {additional} {strict} {bounded} {schema!r} {resources!r}"


def _text_of(spec: Regex | Choice[object] | Grammar[object] | JsonSchema) -> str:
    # `repr`, because JSON does not distinguish the keys 1 and "1", or lists and tuples.
    match spec:
        case Regex():
            return f"Regex {spec.pattern!r}"
        case Choice():
            return f"Choice {spec.options!r}"
        case Grammar():
            return spec.source.fingerprint
        case _:
            return _schema_text(
                spec.additional, spec.strict, spec.bounded_numbers, spec.schema, spec.resources
            )


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
