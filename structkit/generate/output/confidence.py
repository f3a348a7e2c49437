"""Confidence of each value in an answer, computed from the log-probabilities of its tokens."""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType

from structkit.generate.output.json_reader import Field, Path, format_path
from structkit.schema.python.json_codec import NamedKeys
from structkit.schema.view.choices import Member

__all__ = [
    "Confidence",
    "LowAgreementWarning",
    "choice_probabilities",
    "compute_confidence",
    "find_in_source",
    "member_names",
    "warn_low_agreement",
]

_MAX_MASKED_PROBABILITY = 0.5
"""`Result.pressure` above which `LowAgreementWarning` is issued."""


class LowAgreementWarning(UserWarning):
    """The model and the target disagree: on average, masks removed more than half of the probability.

    The value is valid, but may be wrong. Issued only if confidence is computed; Python shows it once per target. See
    `structkit.Result.pressure`.
    """


@dataclass(frozen=True, slots=True)
class Confidence:
    """Confidence of the model in a value.

    The probabilities are the model's own; only `calibrated` is calibrated.

    Attributes:
        logprob: Log-probability of the value's tokens, each among the allowed tokens; 0 if the value is forced.
        masked_probability: Maximum over the value's tokens of the probability that the mask removed; near 1 if the
            model preferred different text.
        choices: The probability of each possible value, if they can be listed: the members of an `Enum` or `Literal`,
            or true and false. Keys are the JSON values; or the JSON texts, if two values are equal in Python (1 and
            True) or one is an array or object. For a nullable value, the keys are `None`, and `...` for all others.
        unmasked_logprob: Log-probability of the value's tokens under the model, without the mask and without the bans
            of rejected texts; much lower than `logprob` if the model preferred different text. Forced text is certain.
        in_source: Whether the text of a string or number occurs in the prompt (in `source`, if it is given), without
            regard to case; false for a value that the model made up, and for one that it converted, such as a date.
            `None` for other values.
        calibrated: The probability that the value is right, after `structkit.Calibration.apply`; `None` before, and for
            a kind of value that the examples of the calibration did not have.
    """

    logprob: float
    masked_probability: float
    choices: NamedKeys[Mapping[object, float]] | None = None
    unmasked_logprob: float = 0.0
    in_source: bool | None = None
    calibrated: float | None = None

    @property
    def probability(self) -> float:
        """The probability of the value's tokens.

        >>> Confidence(logprob=-0.5, masked_probability=0.0).probability
        0.6065306597126334
        """
        return math.exp(self.logprob)


def compute_confidence(
    values: Sequence[Field],
    lengths: Sequence[int],
    scores: Sequence[tuple[float, float]],
    choices: Mapping[Path, Mapping[object, float]],
    in_source: Mapping[Path, bool] = MappingProxyType({}),
) -> dict[str, Confidence]:
    """Return the confidence of each value in a text, by path.

    Args:
        values: The values.
        lengths: Number of bytes of each token.
        scores: Log-probability and masked probability of each token.
        choices: Probabilities of the possible values, by path.
        in_source: Whether the values that can be found in a text are in it, by path.
    """
    ends = list(accumulate(lengths))
    sums = [0.0, *accumulate(logprob for logprob, _ in scores)]
    unmasked = [0.0, *accumulate(_unmasked(*score) for score in scores)]
    confidences = {}
    for field in values:
        # A token counts for each value that contains one of its bytes: the first one ends after the value's start.
        first, last = bisect_right(ends, field.start), bisect_left(ends, field.end) + 1
        confidences[format_path(field.path)] = Confidence(
            logprob=sums[min(last, len(scores))] - sums[first],
            masked_probability=max((masked for _, masked in scores[first:last]), default=0.0),
            choices=choices.get(field.path),
            unmasked_logprob=unmasked[min(last, len(scores))] - unmasked[first],
            in_source=in_source.get(field.path),
        )
    return confidences


def _unmasked(logprob: float, masked_probability: float) -> float:
    """Return the log-probability of a token among all tokens."""
    return logprob + math.log(max(1 - masked_probability, 1e-12))


def find_in_source(values: Sequence[Field], text: bytes, source: str) -> dict[Path, bool]:
    """Return whether the text of each string and number occurs in a source, by path.

    >>> from structkit.generate.output.json_reader import read_values
    >>> text = b'{"name": "ana", "age": 34, "job": "", "is_new": true}'
    >>> find_in_source(read_values(text), text, "Ana is 345.")
    {('name',): True, ('age',): False, ('job',): True}
    >>> find_in_source(read_values(b'"an"'), b'"an"', "Ana is 34.")
    {(): False}
    """
    folded, found = source.casefold(), {}
    for field in values:
        if field.kind not in ("string", "number"):
            continue
        part = text[field.start : field.end].decode()
        searched = (json.loads(part) if field.kind == "string" else part).casefold()
        pattern = rf"(?<!\w){re.escape(searched)}(?!\w)"
        found[field.path] = re.search(pattern, folded) is not None
    return found


def choice_probabilities(
    probabilities: Mapping[Member, float], members: Sequence[Member], *, is_json: bool
) -> dict[object, float]:
    """Return the probabilities of a choice by member name, most likely first.

    >>> choice_probabilities({"null": 0.25, ...: 0.75}, ["null", ...], is_json=True)
    {Ellipsis: 0.75, None: 0.25}
    """
    named = member_names(members, is_json=is_json)
    return {
        named[member]: probability
        for member, probability in sorted(probabilities.items(), key=lambda item: -item[1])
    }


def member_names(members: Sequence[Member], *, is_json: bool) -> dict[Member, object]:
    """Return the names of a choice's members: their JSON values, or their texts if these are not distinct dict keys.

    >>> member_names(["1", "null"], is_json=True)
    {'1': 1, 'null': None}
    >>> member_names(["1", "true"], is_json=True), 1 == True
    ({'1': '1', 'true': 'true'}, True)
    """
    texts: dict[Member, object] = {member: member for member in members}
    if not is_json:
        return texts
    values = {member: json.loads(member) if isinstance(member, str) else member for member in members}
    if any(isinstance(value, (dict, list)) for value in values.values()):
        return texts
    return values if len(set(values.values())) == len(values) else texts


def warn_low_agreement(masked_probability: float, name: str, *, compact: bool = False) -> None:
    """Issue `LowAgreementWarning` if masks removed too much probability.

    Args:
        masked_probability: Mean over the sampled tokens; see `Result.pressure`.
        name: Name of the target.
        compact: Whether the JSON has no spaces.
    """
    if masked_probability > _MAX_MASKED_PROBABILITY:
        spaces = (
            "leave out whitespace='compact', which forbids a model to write JSON with spaces; or "
            if compact
            else ""
        )
        warnings.warn(
            f"on average, {name} removed more than half of the model's probability: {spaces}describe the "
            "expected answer in the prompt, or choose a target that fits the text; "
            "confidence[path].masked_probability shows which fields",
            LowAgreementWarning,
            stacklevel=_stack_level(),
        )


def _stack_level() -> int:
    """Return the `stacklevel` of the caller's first frame outside of structkit, as the caller passes it to `warn`."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "structkit":
        frame, level = frame.f_back, level + 1
    return level
