"""Values that become null because the model is less sure of them than the caller asks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from structkit.errors import OutputValidationError
from structkit.generate.input.examples import membership_test
from structkit.generate.input.guide_cache import CompiledTarget
from structkit.generate.input.settings import Settings
from structkit.generate.output.confidence import Confidence
from structkit.generate.output.json_reader import Field, format_path
from structkit.rejected import Rejected
from structkit.targets.targets import Target

__all__ = ["abstain"]


def abstain(
    text: str,
    fields: Sequence[Field],
    confidence: Mapping[str, Confidence],
    compiled: CompiledTarget,
    settings: Settings,
    source: str,
) -> tuple[str, object, tuple[str, ...]] | None:
    """Replace the values that are less probable than `Settings.abstain` by null, where the target allows it.

    Strings, numbers and literals are replaced; an object or array is kept, and its parts are replaced.

    Args:
        text: The text of the answer.
        fields: Its values.
        confidence: The confidence in each value.
        compiled: The target.
        settings: The settings.
        source: The source of quotes.

    Returns:
        The new text, its value, and the paths; `None` if nothing is replaced.

    Raises:
        OutputValidationError: The target does not allow the nulls together, or a validator refuses them.
    """
    target = compiled.target
    unsure = [
        field for field in fields if _is_unsure(field, text.encode(), confidence, target, settings.abstain)
    ]
    if not unsure:
        return None
    changed = bytearray(text.encode())
    for field in sorted(unsure, key=lambda field: -field.start):
        changed[field.start : field.end] = b"null"
    new, paths = changed.decode(), tuple(format_path(field.path) for field in unsure)
    value: object = Rejected(
        (), "the target does not allow these values to be null together", ValueError(new)
    )
    if membership_test(target, settings.compile_settings)(source, new):
        value = target.parse(new, settings.context)
    if isinstance(value, Rejected):
        raise OutputValidationError(
            f"{', '.join(paths)} of {target.name} would be null, because the model is less sure than "
            f"abstain={settings.abstain:g}, and that is refused: {value.message}; lower abstain, or let the target "
            "allow it",
            text=new,
            attempts=(text, new),
            rejected=value,
        )
    return new, value, paths


def _is_unsure(
    field: Field, text: bytes, confidence: Mapping[str, Confidence], target: Target[object], bound: float
) -> bool:
    if field.kind in ("object", "array") or text[field.start : field.end] == b"null":
        return False
    if "null" not in (target.choices(field.path) or ()):
        return False
    return math.exp(confidence[format_path(field.path)].unmasked_logprob) < bound
