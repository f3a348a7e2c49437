"""Repaired values: what a model wrote first, why it was rejected, and what replaces it."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from structkit.generate.output.confidence import Confidence
from structkit.generate.output.json_reader import Path, format_path

__all__ = ["Repaired", "find_repaired", "log_repaired"]

_log = logging.getLogger("structkit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """A value that validators rejected and that was generated again; see `structkit.Result.repaired`.

    A repaired value is valid. It is not what the model preferred, so it can be an invention.
    """

    path: str
    """The path of the value, such as `items[2].name`; `$` is the complete value."""

    said: str
    """The text that the model generated first."""

    refused: str
    """Why validators rejected that text."""

    now: str | None
    """The text in the answer; `None` if the answer has no value at the path."""

    probability: float | None
    """The probability under the model of the text in the answer, or of the smallest value around its place. The mask
    and the bans of rejected texts do not change it. `None` without `confidence`."""


def find_repaired(
    rejections: Iterable[tuple[Path, str, str]],
    values: Mapping[Path, str],
    confidence: Mapping[str, Confidence],
) -> tuple[Repaired, ...]:
    """Return the repaired values of an answer.

    A value that was rejected several times appears once, with its first text. A rejected value that stands again,
    beside other values, is a repair of the complete answer.

    Args:
        rejections: For each rejection, in order: the path, the rejected text and the reason.
        values: The text of each value of the answer, by path.
        confidence: The confidence in the values of the answer.

    >>> rejections = [(("age",), "12", "too young"), (("age",), "120", "too old")]
    >>> find_repaired(rejections, {(): '{"age": 42}', ("age",): "42"}, {})
    (Repaired(path='age', said='12', refused='too young', now='42', probability=None),)
    """
    found: dict[Path, tuple[str, str]] = {}
    for path, said, refused in rejections:
        if values.get(path) == said:
            path = ()
        found.setdefault(path, (said, refused))
    repaired = []
    for path, (said, refused) in found.items():
        place = path
        while place and place not in values:
            place = place[:-1]
        known = confidence.get(format_path(place))
        repaired.append(
            Repaired(
                path=format_path(path),
                said=said,
                refused=refused,
                now=values.get(path),
                probability=None if known is None else math.exp(known.unmasked_logprob),
            )
        )
    return tuple(repaired)


def log_repaired(repaired: Iterable[Repaired], target: str, *, has_content: bool) -> None:
    """Log a warning for each repaired value; its texts only if messages may contain answers."""
    for each in repaired:
        content = f": it said {each.said!r}, now {each.now!r}; refused: {each.refused}" if has_content else ""
        _log.warning(
            "%s of %s was refused by validators and generated again, so it can be an invention; see Result.repaired, "
            "or the trace of an agent%s",
            each.path,
            target,
            content,
        )
