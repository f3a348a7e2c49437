"""The flags and numbers that callers rely on when they leave an argument out."""

from __future__ import annotations

from tests.defaults import defaults

DEFAULTS = """
base Target json_forms.exclude_unset=False
explain Cost is_growing=False
rule_reader RuleReader boundaries.is_whole=False
specs JsonSchema bounded_numbers=False
specs JsonSchema strict=True
targets read_target listed=False
targets read_target notes=True
"""


def test_the_defaults_of_public_names() -> None:
    assert defaults("targets") == DEFAULTS.strip().splitlines()
