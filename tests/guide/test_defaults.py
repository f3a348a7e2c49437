"""The flags and numbers that callers rely on when they leave an argument out."""

from __future__ import annotations

from tests.defaults import defaults

DEFAULTS = """
budget Budgets min_tokens.max_tokens=536870912
guide Guide fill_masks.return_exceptions=False
guide Guide precompute.max_states=10000
parser Parser __init__.configurations=0
state possible_repeats finished_only=False
"""


def test_the_defaults_of_public_names() -> None:
    assert defaults("guide") == DEFAULTS.strip().splitlines()
