"""The flags and numbers that callers rely on when they leave an argument out."""

from __future__ import annotations

from tests.defaults import defaults

DEFAULTS = """
index Index distinct_start_row.finished_only=False
token_distance TokenDistance __init__.is_exact=False
walker Walker row.remaining=1099511627776
walker Walker row.salt=0
"""


def test_the_defaults_of_public_names() -> None:
    assert defaults("index") == DEFAULTS.strip().splitlines()
