"""Confidence: how sure the model was of each part of a value."""

from __future__ import annotations

import json
import math
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from structkit.generate.output.json_reader import Field, Path, format_path
from structkit.schema.view.choices import Member

__all__ = [
    "Confidence",
    "LowAgreementWarning",
    "choice_probabilities",
    "compute_confidence",
    "member_names",
    "warn_low_agreement",
]

_MAX_MASKED_PROBABILITY = 0.5
"""`Result.pressure` above which a target fights its model: most of what that wanted to write was forbidden."""


class LowAgreementWarning(UserWarning):
    """The target fights the model: on average the mask took away more than half of the probability.

    Warned of once for each target, where confidence is asked for. The value is valid all the same; whether it is
    right is another matter. See `structkit.Result.pressure`.
    """


@dataclass(frozen=True, slots=True)
class Confidence:
    """How sure the model was of a value.

    These are the model's own probabilities: how well they are calibrated is another matter.

    Attributes:
        logprob: The log-probability of its tokens, each among those that were allowed; 0 if nothing else could be.
        masked_probability: The most probability that the mask took away at one of its tokens: near 1 where the model
            would have
            written something else altogether.
        choices: Where the value is one of several that can be listed, the probability of each: the members of an
            `Enum` or a `Literal` by their JSON values, true and false; by their JSON texts where two of the values are
            equal in Python, as 1 and True are, or one is an array or an object. Where a value may be null, that of
            `None`, and of all others together under `...`.
    """

    logprob: float
    masked_probability: float
    choices: Mapping[object, float] | None = None

    @property
    def probability(self) -> float:
        """The probability of its tokens.

        >>> Confidence(logprob=-0.5, masked_probability=0.0).probability
        0.6065306597126334
        """
        return math.exp(self.logprob)


def compute_confidence(
    values: Sequence[Field],
    lengths: Sequence[int],
    scores: Sequence[tuple[float, float]],
    choices: Mapping[Path, Mapping[object, float]],
) -> dict[str, Confidence]:
    """The confidence of every value in a text, by its path.

    Args:
        values: Where the values are.
        lengths: The bytes of each token of the text.
        scores: The log-probability of each token, and the probability that the mask removed.
        choices: The probabilities found where there was a choice.
    """
    ends = list(accumulate(lengths))
    sums = [0.0, *accumulate(logprob for logprob, _ in scores)]
    found = {}
    for field in values:
        # A token belongs to the values of which it writes a byte: the first one ends after the value's first byte.
        first, last = bisect_right(ends, field.start), bisect_left(ends, field.end) + 1
        found[format_path(field.path)] = Confidence(
            logprob=sums[min(last, len(scores))] - sums[first],
            masked_probability=max((removed for _, removed in scores[first:last]), default=0.0),
            choices=choices.get(field.path),
        )
    return found


def choice_probabilities(
    probabilities: Mapping[Member, float], members: Sequence[Member], *, is_json: bool
) -> dict[object, float]:
    """The probabilities of a choice by what the members are called, the likeliest first.

    >>> choice_probabilities({"null": 0.25, ...: 0.75}, ["null", ...], is_json=True)
    {Ellipsis: 0.75, None: 0.25}
    """
    named = member_names(members, is_json=is_json)
    return {
        named[member]: chance for member, chance in sorted(probabilities.items(), key=lambda item: -item[1])
    }


def member_names(members: Sequence[Member], *, is_json: bool) -> dict[Member, object]:
    """What the members of a choice are called: their values, or all of them their texts where that is not clear.

    >>> member_names(["1", "null"], is_json=True)
    {'1': 1, 'null': None}
    >>> member_names(["1", "true"], is_json=True), 1 == True
    ({'1': '1', 'true': 'true'}, True)
    """
    plain: dict[Member, object] = {member: member for member in members}
    if not is_json:
        return plain
    values = {member: json.loads(member) if isinstance(member, str) else member for member in members}
    if any(isinstance(value, (dict, list)) for value in values.values()):
        return plain
    return values if len(set(values.values())) == len(values) else plain


def warn_low_agreement(masked_probability: float, name: str) -> None:
    """Warn if the mask took away too much.

    Args:
        masked_probability: See `Result.pressure`.
        name: That of the target.
    """
    if masked_probability > _MAX_MASKED_PROBABILITY:
        warnings.warn(
            f"the model would mostly have written something else than {name} allows: say in the prompt what is asked, "
            "or choose a target that fits the text; confidence[path].masked_probability says at which field",
            LowAgreementWarning,
            stacklevel=2,
        )
