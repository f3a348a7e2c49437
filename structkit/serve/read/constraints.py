"""What an answer must be: a JSON Schema, any object, a regex, choices or a grammar, as OpenAI and vLLM spell them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import cast

from structkit.limits import Limits
from structkit.serve.bounds.api_error import ApiError
from structkit.serve.read.fields import HALF_PAIR, Fields, has_surrogate, read_json
from structkit.targets.grammar import Grammar
from structkit.targets.specs import Choice, JsonSchema, Regex
from structkit.targets.targets import AnyTarget
from structkit.targets.untrusted import grammar_text, private_keyword

__all__ = [
    "FREE_TEXT",
    "Constraint",
    "grammar_constraint",
    "json_schema",
    "read_constraint",
    "read_text_constraint",
]

_MAX_CHOICES = 10_000
_CODE = "invalid_value"

_NAMED = ("name", "description", "schema", "strict")
"""The fields of a schema with a name."""

_STRUCTURED = ("json", "json_object", "regex", "choice", "grammar")
"""The fields of `structured_outputs`, one of which a request has."""

_JSON_SCHEMA = "write {type: 'json_schema', json_schema: {name, schema}}"
_REMEDIES: Mapping[str, str] = {
    **dict.fromkeys(("schema", "strict", "name"), _JSON_SCHEMA),
    "grammar": "write structured_outputs: {grammar: ...}",
}


@dataclass(frozen=True)
class Constraint:
    """What an answer must be.

    Attributes:
        target: Returns the target within limits. Called in a thread, for reading a grammar takes time.
        param: The field that gives it.
        is_free: Whether it is free text.
        is_json: Whether it is JSON, of which a start is of no use.
    """

    target: Callable[[Limits], AnyTarget]
    param: str | None = None
    is_free: bool = False
    is_json: bool = False


FREE_TEXT = Constraint(lambda limits: Regex(r"[\t\n\x20-\x7e\u00a0-\U0010ffff]*"), is_free=True)
"""Free text has no control character but the tab and the line feed."""


def read_constraint(body: Fields) -> Constraint | None:
    """Return the constraint of a request; `None` if there is none.

    Raises:
        ApiError: The constraint is malformed, or there are two.
    """
    return _sole([*_response_format(body), *_structured_outputs(body)])


def read_text_constraint(body: Fields) -> Constraint | None:
    """Return the constraint of a request for a response, whose format is a field of `text`; see `read_constraint`."""
    text = body.nested("text")
    if text is None:
        return _sole([*_structured_outputs(body)])
    text.check_names(("format", "verbosity"))
    if text.raw("verbosity") not in (None, "medium"):
        raise text.error("verbosity", "is not supported; leave it out, or give 'medium'")
    given = text.nested("format")
    formats = () if given is None else _format(given, given)
    return _sole([*formats, *_structured_outputs(body)])


def _sole(found: list[Constraint]) -> Constraint | None:
    if len(found) > 1:
        raise ApiError(
            400,
            f"{found[0].param} and {found[1].param} both constrain the answer; give one of them",
            param=found[1].param,
            code="invalid_value",
        )
    return found[0] if found else None


def json_schema(given: Fields) -> JsonSchema:
    """Return the target of a schema: undeclared keys only where the schema allows them, as in strict outputs.

    Raises:
        ApiError: The schema has a keyword with a grammar, which names files of this machine, or a text that is not
            Unicode.
    """
    if (name := private_keyword(given.values)) is not None:
        fault = f"the keyword {name[:80]!r} is not accepted from clients"
        raise ApiError(400, fault, param=given.place, code=_CODE)
    pending: list[object] = [given.values]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += [*value, *value.values()]
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, str) and has_surrogate(value):
            raise ApiError(400, f"{given.place} {HALF_PAIR}", param=given.place, code=_CODE)
    return JsonSchema(given.values, additional="closed", bounded_numbers=True)


def _response_format(body: Fields) -> Iterator[Constraint]:
    given = body.nested("response_format")
    if given is not None:
        yield from _format(given, given.nested("json_schema"))


def _format(given: Fields, named: Fields | None) -> Iterator[Constraint]:
    """Yield the constraint of a format; `named` has its schema, and is `given` itself in a request for a response."""
    kind = given.text("type")
    if kind not in ("text", "json_object", "json_schema"):
        raise given.error(
            "type", "must be 'text', 'json_object' or 'json_schema'; structured_outputs has the others"
        )
    given.check_names(("type", *_NAMED) if named is given else ("type", "json_schema"), _REMEDIES)
    match kind:
        case "json_object":
            yield _any_object(given.path("type"))
        case "json_schema":
            if named is None:
                raise given.error("json_schema", "is required: {name, schema}")
            if named is not given:
                named.check_names(_NAMED)
            named.text("name"), named.flag("strict", False)  # their types
            schema = named.nested("schema")
            if schema is None:
                raise named.error("schema", "is required")
            yield _of(json_schema(_described(schema, named.text("description"))), schema.place)


def _described(schema: Fields, description: str | None) -> Fields:
    """Return a schema with the description of its format, which the model reads before its own."""
    own = schema.raw("description")
    if not description or (own is not None and not isinstance(own, str)):
        return schema
    both = "\n".join(filter(None, (description, own)))
    return Fields({**schema.values, "description": both}, schema.place)


def _structured_outputs(body: Fields) -> Iterator[Constraint]:
    given = body.nested("structured_outputs")
    if given is None:
        return
    given.check_names(_STRUCTURED, {"structural_tag": "write tools: [...] for calls"})
    if not any(map(given.has, _STRUCTURED)):
        raise ApiError(
            400, f"{given.place} must have one of {', '.join(_STRUCTURED)}", param=given.place, code=_CODE
        )
    if given.has("json"):
        yield _of(json_schema(_schema(given)), given.path("json"))
    if given.flag("json_object", False):
        yield _any_object(given.path("json_object"))
    if (pattern := given.text("regex")) is not None:
        yield _of(Regex(pattern), given.path("regex"))
    if (options := given.items("choice", _MAX_CHOICES)) is not None:
        if not options or not all(isinstance(option, str) and option for option in options):
            raise given.error("choice", "must be an array of strings that are not empty")
        if any(has_surrogate(str(option)) for option in options):
            raise given.error("choice", HALF_PAIR)
        if len({*map(str, options)}) < len(options):
            raise given.error("choice", "has the same string twice")
        yield _of(Choice(cast("list[str]", options)), given.path("choice"))
    if (grammar := given.text("grammar")) is not None:
        yield grammar_constraint(grammar, given.path("grammar"))


def grammar_constraint(text: str, param: str) -> Constraint:
    """Return the constraint of a grammar: with `::=` it is GBNF, whose first rule is `root`, otherwise Lark.

    Args:
        text: The grammar.
        param: The field that gives it.
    """
    return Constraint(partial(_grammar, text), param)


def _schema(given: Fields) -> Fields:
    """Return the field `json`: an object, or its text."""
    if not isinstance(given.raw("json"), str):
        return given.nested("json") or Fields({}, given.path("json"))
    try:
        return Fields(read_json((given.text("json") or "").encode()).values, given.path("json"))
    except ApiError as error:
        raise given.error("json", f"must be a JSON Schema: {error.message}") from None


def _any_object(param: str) -> Constraint:
    return _of(JsonSchema({"type": "object"}, bounded_numbers=True), param)


def _of(target: AnyTarget, param: str) -> Constraint:
    return Constraint(lambda limits: target, param, is_json=isinstance(target, JsonSchema))


@lru_cache(maxsize=32)
def _grammar(text: str, limits: Limits) -> Grammar[str]:
    text = grammar_text(text)
    return Grammar(text, syntax="gbnf", limits=limits) if "::=" in text else Grammar(text, limits=limits)
