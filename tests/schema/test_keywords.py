"""The tables of keywords."""

from __future__ import annotations

import itertools

from jsonschema import Draft4Validator, Draft7Validator, Draft202012Validator

from structkit.schema.keywords import ANNOTATIONS, FORMATS, IMPLEMENTED, PYTHON_FORMATS, REFUSED, REFUSED_WITH


def test_no_keyword_is_in_two_tables() -> None:
    for one, other in itertools.combinations((IMPLEMENTED, ANNOTATIONS, frozenset(REFUSED)), 2):
        assert one & other == frozenset()


def test_every_keyword_of_the_specification_is_in_a_table() -> None:
    """Those that a validator asserts are implemented or refused, and never an annotation."""
    asserted = {
        keyword
        for validator in (Draft4Validator, Draft7Validator, Draft202012Validator)
        for keyword in validator.VALIDATORS
    }
    assert asserted - IMPLEMENTED - REFUSED.keys() == set()


def test_companions_have_a_leader() -> None:
    assert {*REFUSED_WITH, *REFUSED_WITH.values()} <= REFUSED.keys()


def test_private_formats_do_not_collide_with_the_specification() -> None:
    assert {name for name, becomes in PYTHON_FORMATS.items() if name != becomes} & FORMATS == set()
