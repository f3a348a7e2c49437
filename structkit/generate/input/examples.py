"""Few-shot examples of a prompt: texts with answers, serialized in the form that the guide allows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, fields, is_dataclass
from typing import NamedTuple, TypeAlias

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.error_notes import add_location
from structkit.generate.input.settings import CompileSettings
from structkit.rejected import Rejected
from structkit.targets.targets import Target

__all__ = ["Example", "MembershipTest", "membership_test", "render_examples", "write_value"]

_SURROGATES = re.compile("[\ud800-\udfff]")

MembershipTest: TypeAlias = Callable[[str, str], bool]
"""Whether the target's language contains a text: `(source of its quotes, text) -> bool`."""


class Example(NamedTuple):
    """A text and its answer."""

    text: str
    answer: str


def render_examples(
    examples: Sequence[tuple[str, object]],
    target: Target[object],
    compile_settings: CompileSettings,
    source: str | None = None,
    context: object = None,
) -> list[Example]:
    """Serialize the answers of examples in the form that the target's guide allows.

    Args:
        examples: Texts and values.
        target: Target of the values.
        compile_settings: How values are written.
        source: Source of quotes; by default the text of the example.
        context: The `context` of `pydantic.ValidationInfo` in validators.

    Raises:
        ValueError: A value does not match the target or has no text in its language, or a text is not Unicode.

    >>> from structkit.targets.targets import read_target
    >>> render_examples([("One and two.", [1, 2])], read_target(list[int]), CompileSettings())
    [Example(text='One and two.', answer='[1, 2]')]
    """
    for number, (text, _) in enumerate(examples):
        if (surrogate := _SURROGATES.search(text)) is not None:
            raise ValueError(
                f"examples[{number}][0] is not Unicode: lone surrogate {surrogate[0]!r} at {surrogate.start()}; "
                "remove it"
            )
    accepts = membership_test(target, compile_settings)
    return [
        Example(
            text,
            _answer(value, target, compile_settings, accepts, source or text, f"examples[{number}]", context),
        )
        for number, (text, value) in enumerate(examples)
    ]


def membership_test(target: Target[object], compile_settings: CompileSettings) -> MembershipTest:
    """Return the membership test of a target's language."""

    def linked(source: str | None) -> Callable[[bytes], bool]:
        rules = target.rules(
            whitespace=compile_settings.whitespace,
            order=compile_settings.order,
            source=source,
            limits=compile_settings.limits,
        )
        return Reader(link(rules, compile_settings.limits)).accepts

    if target.has_quotes:
        return lambda source, text: linked(source)(text.encode())
    accepts = linked(None)
    return lambda source, text: accepts(text.encode())


def _answer(
    value: object,
    target: Target[object],
    compile_settings: CompileSettings,
    accepts: MembershipTest,
    source: str,
    path: str,
    context: object,
) -> str:
    try:
        text = write_value(value, target, compile_settings, accepts, source, context)
    except Exception as error:  # validators and serializers are user code
        add_location(error, path)
        raise
    if isinstance(text, Rejected):
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in text.path)
        raise ValueError(
            f"{path} is not a valid {target.name}: {text.message} at `{path}[1]{steps}`"
        ) from text.cause
    if text is not None:
        return text
    if (forgotten := _forgotten(value, set())) is not None:
        raise ValueError(
            f"{path} cannot be written as {target.name}: its object does not keep the InitVar {forgotten}; give a dict "
            "in place of the object"
        )
    if target.has_quotes:
        hint = "a quote must occur in the text of its example"
    elif target.is_json:
        hint = "write it as the model should, such as a dict in place of an object of a class"
    else:
        hint = "give a text of its language"
    raise ValueError(
        f"{path} cannot be written as {target.name}: {value!r:.200} has values, digits or characters that the target "
        f"does not allow; {hint}"
    )


def write_value(
    value: object,
    target: Target[object],
    compile_settings: CompileSettings,
    accepts: MembershipTest,
    source: str = "",
    context: object = None,
) -> str | Rejected | None:
    """Return a value as a text of the target's language, or why the target rejects it.

    Returns:
        `None` if the value is valid and the language has no text for it.
    """
    if isinstance(value, str) and not target.is_json:  # a grammar can make another value of a text
        if not accepts(source, value):
            return None
        parsed = target.parse(value, context)
        return parsed if isinstance(parsed, Rejected) else value
    exclude_unset = compile_settings.defaults == "may_omit"
    for form in target.json_forms(value, exclude_unset=exclude_unset, context=context):
        if isinstance(form, Rejected):
            return form
        parsed, json_value = form
        text = _text(json_value, target, compile_settings)
        if text is not None and accepts(source, text) and _parses_to(target, text, parsed, context):
            return text
    return None


def _text(json_value: object, target: Target[object], compile_settings: CompileSettings) -> str | None:
    if not target.is_json:
        return json_value if isinstance(json_value, str) else None
    compact = (compile_settings.whitespace or target.default_whitespace) == "compact"
    separators = (",", ":") if compact else (", ", ": ")
    try:
        text = json.dumps(json_value, ensure_ascii=False, allow_nan=False, separators=separators)
        text.encode()
    except (TypeError, ValueError):
        return None
    return text


def _parses_to(target: Target[object], text: str, value: object, context: object) -> bool:
    """Return whether a text parses to a value; parts that cannot be compared are not."""
    parsed = target.parse(text, context)
    return not isinstance(parsed, Rejected) and _is_equal(parsed, value)


def _is_equal(left: object, right: object) -> bool:
    try:
        if left == right:
            return True
    except Exception:  # `__eq__` is code of the user, or of numpy
        return type(left) is type(right)
    if type(left) is not type(right):
        return False
    if type(left).__eq__ is object.__eq__:
        return True
    parts, others = _parts(left), _parts(right)
    return (
        len(parts) > 0
        and parts.keys() == others.keys()
        and all(_is_equal(part, others[name]) for name, part in parts.items())
    )


def _parts(value: object) -> Mapping[object, object]:
    """Return the items of a list, a tuple or a dict, or the fields of an object."""
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    if isinstance(value, dict):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name, None) for each in fields(value) if each.compare}
    named = getattr(type(value), "__pydantic_fields__", {})
    return {name: getattr(value, name, None) for name in named} | (
        getattr(value, "__pydantic_extra__", None) or {}
    )


def _forgotten(value: object, done: set[int]) -> str | None:
    """Return the class and the field of an object in a value that does not keep the field, an `InitVar`."""
    if id(value) in done:
        return None
    done.add(id(value))
    own = (
        f"{type(value).__name__}.{name}"
        for name, each in getattr(type(value), "__dataclass_fields__", {}).items()
        if isinstance(each.type, InitVar) or "InitVar" in str(each.type)
    )
    inner = (_forgotten(part, done) for part in _parts(value).values())
    return next(own, None) or next(filter(None, inner), None)
