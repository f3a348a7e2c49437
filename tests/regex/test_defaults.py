"""The flags and numbers that callers rely on when they leave an argument out."""

from __future__ import annotations

from tests.defaults import defaults

DEFAULTS = """
class_sets read_class_of_rust depth=1
classes class_of possible=False
example example_text min_length=0
match_network match_network max_steps=700000
nodes AnyOrder min_count=0
nodes AnyOrderEntry counted=True
nodes Intersection negate=False
nodes ListPart max_count=1
nodes ListPart min_count=1
nodes MultipleOf places=0
nodes Repeat min_count=0
nodes ReturnLabel is_return=False
nodes Substring json_escaped=False
nodes Substring whole_words=True
nodes Substring with_end_quote=False
parse parse rust=False
program Program lazy=False
program Program start=0
substring substrings words=True
syntax Flags ascii_only=False
syntax Flags dot_all=False
syntax Flags ignore_case=False
syntax Flags verbose=False
syntax parse_syntax flags=0
threads Condition __new__.at_end=False
threads Threads __init__.ordered=True
threads build_terminal max_steps=700000
unicode UncertainClass with_case.ascii_only=False
unicode shorthand ascii_only=False
"""


def test_the_defaults_of_public_names() -> None:
    assert defaults("regex") == DEFAULTS.strip().splitlines()
