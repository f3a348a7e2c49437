"""Calibration of a model on texts with known answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from typing_extensions import Unpack

from structkit.api.many import ManyResultsOptions
from structkit.generate.input.examples import render_examples
from structkit.generate.input.options import ResultOptions
from structkit.generate.input.settings import BatchSettings, Settings, names_options
from structkit.generate.output.calibration import Calibration, fit, judge
from structkit.generate.output.result import Result
from structkit.generate.run.batch import run_many
from structkit.models.text.protocol import AnyModel
from structkit.targets.targets import AnyTarget, read_target

__all__ = ["calibrate"]


@names_options(ManyResultsOptions)
def calibrate(
    model: AnyModel,
    labelled: Sequence[tuple[str, object]],
    target: AnyTarget,
    **options: Unpack[ManyResultsOptions],
) -> Calibration:
    """Measure how often a model is right when it is sure, on texts with known answers.

    The model answers each text, and each value of an answer is compared with the known one: strings must be equal, and
    numbers have the same value. For each kind of value, a curve maps the probability of a value to the share of right
    ones; see `structkit.Calibration`, whose `apply` adds that to a result.

    Args:
        model: A model that returns logits.
        labelled: Texts and their right answers, which are values of the target; a hundred or more.
        target: See `structkit.extract`.
        **options: See `structkit.generate_many`. Use those of the calls whose results are calibrated.

    Raises:
        StructkitError: See `structkit.generate`.
        TypeError: `labelled` is not a list of pairs.
        ValueError: An answer is not a value of the target; or the answers have fewer than 30 values, or fewer than 5
            right or 5 wrong ones.

    >>> from structkit.testing import RandomModel
    >>> calibration = calibrate(RandomModel(1), [("Heads or tails?", n % 2 == 0) for n in range(60)], bool)
    >>> calibration.curves["choice"].values
    60
    """
    pairs: object = labelled
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Sequence):
        raise TypeError(f"labelled must be a list of (text, answer) pairs, not {pairs!r:.60}")
    for number, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], str):
            raise TypeError(f"labelled[{number}] must be a (text, answer) pair, not {pair!r:.60}")
    if not pairs:
        raise ValueError("labelled is empty; give texts with their right answers")
    given: dict[str, object] = {**options, "confidence": True}
    batch = BatchSettings.read(given)
    settings = Settings.read("calibrate", given, ResultOptions)
    compiled = settings.compile_settings
    read = read_target(target, policy=compiled.json_style, limits=compiled.limits)
    try:
        truths = render_examples(labelled, read, compiled, settings.source, settings.context)
    except ValueError as error:
        raise ValueError(str(error).replace("examples[", "labelled[")) from error.__cause__
    results = run_many(
        model, [text for text, _ in labelled], target, settings, replace(batch, return_exceptions=False)
    )
    judged = [
        each
        for result, truth in zip(cast("list[Result[object]]", results), truths, strict=True)
        for each in judge(result, truth.answer)
    ]
    return fit(model.name, judged)
