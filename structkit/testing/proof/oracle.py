"""Reference validators: pydantic for a type, `jsonschema` for a JSON Schema, `re` for a pattern."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from typing_extensions import TypeForm

from structkit.errors import SchemaError
from structkit.functions.output import function_form
from structkit.functions.signature import is_function
from structkit.rejected import Rejected
from structkit.schema.json_schema.validate import make_checker
from structkit.schema.python.judge import Judge, Refused
from structkit.targets.grammar import Grammar
from structkit.targets.specs import JsonSchema, Regex
from structkit.targets.targets import AnyTarget, Target, spec_of

__all__ = ["Oracle", "oracle_of"]


@dataclass(frozen=True)
class Oracle:
    """Reference validator of texts.

    Attributes:
        rejection: Returns the reason why a text is invalid, `None` if it is valid.
        dump: Returns the JSON of a valid text's value, `None` without one; or `None` if no text has one.
    """

    rejection: Callable[[str], Refused | None]
    dump: Callable[[str], str | None] | None = None

    def canonical(self, text: str) -> str | None:
        """Return the dump of a text's value, if the dump reads as the same value."""
        if self.dump is None:
            return None
        again = self.dump(text)
        return again if again is not None and self.dump(again) == again else None


def oracle_of(target: AnyTarget, read: Target[object]) -> Oracle:
    """Return the reference validator of a target.

    Args:
        target: The target as given by the user.
        read: The target as read by structkit.

    Raises:
        MissingExtra: The target is a JSON Schema, and the package `jsonschema` is not installed.
    """
    given = spec_of(target)
    if isinstance(given, JsonSchema):
        return _of_schema(given, unenforced=bool(not given.strict and read.rules().unenforced))
    if given is None and not isinstance(target, Target) and not is_function(target):
        return _of_type(cast("TypeForm[object]", target), read)
    return Oracle(_of_value(read))


def _of_type(target: TypeForm[object], read: Target[object]) -> Oracle:
    judge = Judge(target, function_form)
    try:
        valid = make_checker(read.json_schema())
    except ImportError:
        return Oracle(judge.refusal, judge.dump)

    def dump(text: str) -> str | None:
        again = judge.dump(text)
        try:
            # A custom JSON Schema that is narrower than the type restricts what is generated.
            return again if again is not None and _fault(valid, again) is None else None
        except SchemaError:  # `re` does not read a pattern that pydantic's engine reads
            return again

    return Oracle(judge.refusal, dump)


def _of_schema(given: JsonSchema, *, unenforced: bool) -> Oracle:
    valid = make_checker(given.schema, given.resources)

    def refusal(text: str) -> Refused | None:
        fault = _fault(valid, text)
        return None if fault is None else Refused("$", fault, unenforced)

    return Oracle(refusal, lambda text: text if refusal(text) is None else None)


def _of_value(read: Target[object]) -> Callable[[str], Refused | None]:
    """Return a validator for `Regex`, `Choice`, functions and read targets: whether the text has a value."""
    given = spec_of(read)

    def refusal(text: str) -> Refused | None:
        if isinstance(given, Regex):
            message = f"/{given.pattern}/ does not match"
            return None if re.fullmatch(given.pattern, text) else Refused("$", message, False)
        if isinstance(given, Grammar) and given.syntax == "lark":
            fault = given.source.lark.rejection(text)
            return None if fault is None else Refused("$", fault, False)
        value = read.parse(text)
        return Refused("$", value.message, False) if isinstance(value, Rejected) else None

    return refusal


def _fault(valid: Callable[[object], Rejected | None], text: str) -> str | None:
    """Return the reason why a text is invalid, if it is."""
    try:
        rejected = valid(json.loads(text))
    except RecursionError:  # jsonschema follows a self-reference without end
        return None
    return None if rejected is None else rejected.message
