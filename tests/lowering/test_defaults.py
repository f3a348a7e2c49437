"""The flags and numbers that callers rely on when they leave an argument out."""

from __future__ import annotations

from tests.defaults import defaults

DEFAULTS = """
binary base64 ascii_only=False
binary base64 min_bytes=0
binary base64 url=False
binary complex_strings canonical=False
binary decimal_strings canonical=False
binary float_keys distinct_values=False
binary fraction_strings canonical=False
binary hexadecimal min_bytes=0
binary utf8 min_bytes=0
contains interleave started=False
integers constant_spellings has_points=True
lazy Summaries __init__.python=False
lazy Summaries is_worth_a_rule.is_large=False
lazy Summary is_enumeration=False
lower lower document_keys=False
lower lower strict=True
notation Notation python_call=False
numbers numbers canonical=False
numbers numbers precision=17
raw_text raw_language canonical=False
raw_text raw_language widened=False
registry language canonical=False
str_methods valid_texts negate=False
temporal datetimes canonical=False
temporal durations canonical=False
temporal times canonical=False
usage Usage count=0
usage Usage overlapping=False
usage Usage recursive=False
usage Usage size=0
"""


def test_the_defaults_of_public_names() -> None:
    assert defaults("lowering") == DEFAULTS.strip().splitlines()
