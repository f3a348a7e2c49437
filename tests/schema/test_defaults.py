"""The flags and numbers that callers rely on when they leave an argument out."""

from __future__ import annotations

from tests.defaults import defaults

DEFAULTS = """
bare_type bare_type notes=True
canonicalize canonicalize sort_sets=True
combine Way __new__.makes_products=False
combine Way __new__.narrows=False
core_schema key_schema distinct_values=False
core_schema url_schema hosts=False
covers covers depth=4
intersect Intersector __init__.makes_products=False
intersect Intersector __init__.narrows=False
json_values shorten_repr length=60
nodes Additional implicit=False
nodes Array min_items=0
nodes Array repeats_item=False
nodes Array unique_items=False
nodes Bound exclusive=False
nodes Combined negated=False
nodes Contains min_count=1
nodes Document bounded=True
nodes Document bounded_numbers=False
nodes Document integral_floats=True
nodes Object any_order=False
nodes Object min_properties=0
nodes ObjectProduct min_properties=0
nodes ObjectProduct violated_if_empty=0
nodes ProductKey also_additional=False
nodes Property also_additional=False
nodes Property in_order=True
nodes Property required=True
nodes String min_length=0
output OutputType serialize.exclude_unset=False
parse parse_schema closed=False
parse parse_schema notes=True
parse parse_schema python=False
parse parse_schema strict=True
path SchemaPath __new__.python=False
prune prune closed=False
prune referenced_names unguarded=False
quote Quote words=True
refs References __init__.identifiers=True
unevaluated Evaluated all_items=False
unevaluated Evaluated all_properties=False
unevaluated Evaluated prefix=0
"""


def test_the_defaults_of_public_names() -> None:
    assert defaults("schema") == DEFAULTS.strip().splitlines()
