"""Examples in a prompt: texts with their answers, written as the model is to write its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.generate.input.options import CompileSettings
from structkit.targets.targets import Target

__all__ = ["Example", "MembershipTest", "membership_test", "render_examples"]

_SURROGATES = re.compile("[\ud800-\udfff]")

MembershipTest: TypeAlias = Callable[[str, str], bool]
"""Whether a text is one of the target's, given what its quotes are taken from."""


class Example(NamedTuple):
    """A text, and what is answered to it."""

    text: str
    answer: str


def render_examples(
    examples: Sequence[tuple[str, object]],
    target: Target[object],
    compile_settings: CompileSettings,
    source: str | None = None,
) -> list[Example]:
    """Write the answers of examples as the target's guide would.

    Args:
        examples: Texts and values.
        target: What the values must be of.
        compile_settings: How values are written.
        source: What quotes are taken from, if it is not the text of the example.

    Raises:
        ValueError: A value is not of the target, or cannot be written so, or a text is no Unicode.

    >>> from structkit.targets.targets import read_target
    >>> render_examples([("One and two.", [1, 2])], read_target(list[int]), CompileSettings())
    [Example(text='One and two.', answer='[1, 2]')]
    """
    for number, (text, _) in enumerate(examples):
        if (half := _SURROGATES.search(text)) is not None:
            raise ValueError(
                f"examples[{number}][0] is not Unicode: it has the lone surrogate {half[0]!r} at {half.start()}; "
                "remove it"
            )
    accepts = membership_test(target, compile_settings)
    return [
        Example(
            text, _answer(value, target, compile_settings, accepts, source or text, f"examples[{number}]")
        )
        for number, (text, value) in enumerate(examples)
    ]


def membership_test(target: Target[object], compile_settings: CompileSettings) -> MembershipTest:
    """What decides about the texts of a target."""

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
    at: str,
    path: str,
) -> str:
    try:
        for meant, form in target.json_forms(value, exclude_unset=compile_settings.defaults == "may_omit"):
            text = _text(form, target, compile_settings)
            if text is not None and accepts(at, text) and _parses_to(target, text, meant):
                return text
    except ValueError as error:
        raise ValueError(f"{path} is no {target.name}: {_reason(error, path)}") from error
    hint = "; what it quotes must stand in the text beside it" if target.has_quotes else ""
    raise ValueError(
        f"{path} cannot be written as {target.name} is: {value!r:.200} has other values, or more digits or other "
        f"characters, than the target may have{hint}"
    )


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


def _parses_to(target: Target[object], text: str, value: object) -> bool:
    """Whether a text is read as a value; of values that cannot be compared, whether it is read at all."""
    try:
        read = target.value(text)
    except ValueError:
        return False
    return read == value or type(read).__eq__ is object.__eq__


def _reason(error: ValueError, location: str) -> str:
    """What pydantic says, with the path to where."""
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return str(error)
    first = errors()[0]
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
    return f"{first['msg']} at `{location}[1]{path}`"
