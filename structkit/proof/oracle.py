"""Who knows what is valid: pydantic for a type, `jsonschema` for a JSON Schema, `re` for a pattern."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import cast

from typing_extensions import TypeForm

from structkit.functions.signature import is_function
from structkit.proof.mutants import Hints
from structkit.schema.check import NotValid, checker
from structkit.schema.judge import Judge, Refused
from structkit.targets import AnyTarget, JsonSchema, Regex, Target, given_of

__all__ = ["Oracle", "oracle_of"]


@dataclass(frozen=True)
class Oracle:
    """Who knows which texts are valid.

    Attributes:
        refusal: Who refuses a text and why, `None` if it is valid.
        dump: The canonical text of a valid value, `None` without one; or `None` if no text has one.
        hints: What the schema of the values names.
    """

    refusal: Callable[[str], Refused | None]
    dump: Callable[[str], str | None] | None
    hints: Hints

    def forming(self, formed: Callable[[str], str]) -> Oracle:
        """The same, whose canonical texts are put into another form."""
        dump = self.dump
        if dump is None:
            return self

        def form(text: str) -> str | None:
            again = dump(text)
            return None if again is None else formed(again)

        return replace(self, dump=form)

    def canonical(self, text: str) -> str | None:
        """The dump of a text's value, if that is read as the same value again."""
        if self.dump is None:
            return None
        again = self.dump(text)
        return again if again is not None and self.dump(again) == again else None


def oracle_of(target: AnyTarget, read: Target[object]) -> Oracle:
    """Who knows about a target, given as it was and as it was read.

    Raises:
        ImportError: For a JSON Schema, without the package `jsonschema`.
    """
    given = given_of(target)
    if isinstance(given, JsonSchema):
        return _of_schema(given, unenforced=bool(not given.strict and read.rules().unenforced))
    if given is None and not isinstance(target, Target) and not is_function(target):
        return _of_type(cast("TypeForm[object]", target), read.json_schema())
    return Oracle(_of_value(read), None, Hints.of({}))


def _of_type(target: TypeForm[object], schema: Mapping[str, object]) -> Oracle:
    judge = Judge(target)
    try:
        valid = checker(schema)
    except ImportError:
        return Oracle(judge.refusal, judge.dump, Hints.of(schema))

    def dump(text: str) -> str | None:
        again = judge.dump(text)
        # Who gives a type a narrower JSON Schema than it accepts wants no more than that written.
        return again if again is not None and _is_valid(valid, again) else None

    return Oracle(judge.refusal, dump, Hints.of(schema))


def _of_schema(given: JsonSchema, *, unenforced: bool) -> Oracle:
    valid = checker(given.schema, given.resources)

    def refusal(text: str) -> Refused | None:
        try:
            valid(json.loads(text))
        except NotValid as error:
            return Refused("$", str(error), unenforced)
        except RecursionError:  # jsonschema follows a reference to the schema itself for ever
            return None
        return None

    def dump(text: str) -> str | None:
        with suppress(ValueError):  # an infinity, which is how Python reads 1e999
            if refusal(text) is None:
                return json.dumps(json.loads(text), ensure_ascii=False, allow_nan=False)
        return None

    return Oracle(refusal, dump, Hints.of(given.schema))


def _of_value(read: Target[object]) -> Callable[[str], Refused | None]:
    """For `Regex`, `Choice`, functions and targets that were read: whether there is a value."""
    given = given_of(read)
    pattern = re.compile(given.pattern) if isinstance(given, Regex) else None

    def refusal(text: str) -> Refused | None:
        if pattern is not None:
            return (
                None
                if pattern.fullmatch(text)
                else Refused("$", f"/{pattern.pattern}/ does not match", False)
            )
        try:
            read.value(text)
        except (ValueError, KeyError) as error:
            return Refused("$", f"{type(error).__name__}: {error}", False)
        return None

    return refusal


def _is_valid(valid: Callable[[object], None], text: str) -> bool:
    try:
        valid(json.loads(text))
    except (NotValid, RecursionError):
        return False
    return True
