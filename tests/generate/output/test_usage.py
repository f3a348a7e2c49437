"""Sums of usages."""

from __future__ import annotations

from dataclasses import fields

from structkit.generate.output.result import Usage


def test_the_sum_of_usages_has_the_sum_of_each_field() -> None:
    one = Usage(**{each.name: number for number, each in enumerate(fields(Usage), 1)})
    two = Usage(**{each.name: 100 * number for number, each in enumerate(fields(Usage), 1)})
    expected = [101 * number for number in range(1, len(fields(Usage)) + 1)]
    assert [getattr(one + two, each.name) for each in fields(Usage)] == expected
    assert sum([one, two], Usage()) == one + two


def test_the_written_tokens_are_those_of_the_answer_and_those_around_it() -> None:
    usage = Usage(
        prompt_tokens=1_000, generated_tokens=100, discarded_tokens=20, thinking_tokens=3, forced_tokens=50
    )
    assert usage.written_tokens == 123
