"""Values that become null, or are left out, because the model is less sure of them than the caller requires."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from structkit.errors import OutputValidationError
from structkit.generate.input.examples import membership_test
from structkit.generate.input.guide_cache import CompiledTarget
from structkit.generate.input.settings import Settings
from structkit.generate.output.confidence import Confidence
from structkit.generate.output.json_reader import Field, Path, format_path
from structkit.rejected import Rejected

__all__ = ["abstain"]


def abstain(
    text: str,
    fields: Sequence[Field],
    confidence: Mapping[str, Confidence],
    compiled: CompiledTarget,
    settings: Settings,
    source: str,
) -> tuple[str, object, tuple[str, ...]] | None:
    """Take out the values that are less probable than `Settings.abstain`, where the target allows it.

    Strings, numbers and literals become null, or are left out with their key if they cannot be null; an object or array
    is kept, and its parts are taken out.

    Args:
        text: The text of the answer.
        fields: Its values.
        confidence: The confidence in each value.
        compiled: The target.
        settings: The settings.
        source: The source of quotes.

    Returns:
        The new text, its value, and the paths; `None` if nothing is taken out.

    Raises:
        OutputValidationError: The target needs one of the values, or a validator refuses their absence.
    """
    target, data = compiled.target, text.encode()
    null, left_out = [], []
    for field in fields:
        if not _is_unsure(field, data, confidence, settings.abstain):
            continue
        if "null" in (target.choices(field.path) or ()):
            null.append(field)
        elif target.is_optional(field.path):
            left_out.append(field)
    if not null and not left_out:
        return None
    edits = [*((field.start, field.end, b"null") for field in null), *_left_out(data, fields, left_out)]
    changed = bytearray(data)
    for start, end, new_bytes in sorted(edits, reverse=True):
        changed[start:end] = new_bytes
    new = changed.decode()
    unsure = sorted((*null, *left_out), key=lambda field: field.start)
    paths = tuple(format_path(field.path) for field in unsure)
    value: object = Rejected(
        (), "the target does not allow these values to be absent together", ValueError(new)
    )
    if membership_test(target, settings.compile_settings)(source, new):
        value = target.parse(new, settings.context)
    if isinstance(value, Rejected):
        raise OutputValidationError(
            f"{', '.join(paths)} of {target.name} would be null or left out, because the model is less sure than "
            f"abstain={settings.abstain:g}, and that is refused: {value.message}; lower abstain, or let the target "
            "allow it",
            text=new,
            attempts=(text, new),
            rejected=value,
        )
    return new, value, paths


def _is_unsure(field: Field, text: bytes, confidence: Mapping[str, Confidence], bound: float) -> bool:
    if field.kind in ("object", "array") or text[field.start : field.end] == b"null":
        return False
    return math.exp(confidence[format_path(field.path)].unmasked_logprob) < bound


def _left_out(
    text: bytes, fields: Sequence[Field], left_out: Sequence[Field]
) -> Iterator[tuple[int, int, bytes]]:
    """Yield the bytes to remove, with which the keys and separators of the values go, too."""
    gone = {field.path for field in left_out}
    parents = {path[:-1] for path in gone}
    members: dict[Path, list[Field]] = {path: [] for path in parents}
    for field in fields:
        if field.path and field.path[:-1] in parents:
            members[field.path[:-1]].append(field)
    for parent in fields:
        if parent.path not in parents:
            continue
        inside = sorted(members[parent.path], key=lambda field: field.start)
        kept = [number for number, field in enumerate(inside) if field.path not in gone]
        if not kept:
            yield parent.start + 1, parent.end - 1, b""
            continue
        if kept[0]:  # up to the key of the first that stays
            yield text.index(b'"', parent.start), text.index(b'"', inside[kept[0] - 1].end), b""
        for number in range(kept[0] + 1, len(inside)):
            if inside[number].path in gone:
                yield inside[number - 1].end, inside[number].end, b""
