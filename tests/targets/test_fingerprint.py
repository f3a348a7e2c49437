"""Fingerprints of targets, and the targets that are read from a file."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

import pytest

import structkit as sk
from structkit.grammar.syntax.lark_grammar import LarkGrammar
from structkit.limits import Limits
from structkit.targets.fingerprint import fingerprint_of

GRAMMAR = 'start: "a" B\nB: /[b-d]+/'


def test_a_grammar_is_serialized_without_reading_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that writes files would otherwise take as long as the compilation."""
    target = sk.Grammar(GRAMMAR, parser="lalr", import_paths=["grammars"])
    found = fingerprint_of(target)
    assert found is not None

    def read(*_: object) -> Any:
        raise AssertionError("the grammar is read again")

    monkeypatch.setattr(LarkGrammar, "_load", read)
    stored = found.deserialize(found.serialize())
    assert isinstance(stored, sk.Grammar)
    assert (stored.text, stored.options) == (target.text, target.options)


@pytest.mark.parametrize(
    "target",
    [
        {"enum": [1, {"a": None}]},
        sk.Regex("[a-z]+"),
        sk.Choice(["a", 1, None]),
        sk.JsonSchema({"type": "integer"}, additional="closed"),
        sk.Grammar(GRAMMAR),
        sk.Grammar('root ::= "a" [b-d]+', syntax="gbnf", start="root"),
    ],
)
def test_a_target_that_is_read_from_a_file_has_the_fingerprint_of_the_target(target: Any) -> None:
    found = fingerprint_of(target)
    assert found is not None
    again = fingerprint_of(found.deserialize(found.serialize()))
    assert again is not None and again.content == found.content


def test_a_target_that_json_changes_is_not_serialized() -> None:
    found = fingerprint_of({"enum": [(1, 2)]})
    assert found is not None and found.serialize() == b""


def test_equal_schemas_have_one_fingerprint_whatever_objects_they_share() -> None:
    part = {"enum": ["a", 1]}
    shared = fingerprint_of({"anyOf": [part, part]})
    copied = fingerprint_of(json.loads(json.dumps({"anyOf": [part, part]})))
    assert shared is not None and copied is not None and shared.content == copied.content


def test_values_that_are_equal_in_python_have_other_fingerprints() -> None:
    schemas: list[dict[Any, Any]] = [{"enum": each} for each in ([1], [1.0], [True], (1,), ["1"])]
    schemas += [{"properties": {key: {}}} for key in (1, "1")]
    found = [fingerprint_of(each) for each in schemas]
    assert len({each.content for each in found if each is not None}) == len(schemas)


def test_a_schema_with_objects_of_other_classes_has_no_fingerprint() -> None:
    assert fingerprint_of({"properties": OrderedDict(a={})}) is None


def test_a_grammar_with_types_or_limits_has_no_fingerprint() -> None:
    text = 'start: "a" part\npart: "b"'
    assert fingerprint_of(sk.Grammar(text)) is not None
    assert fingerprint_of(sk.Grammar('start: "a" part', holes={"part": int})) is None
    assert fingerprint_of(sk.Grammar(text, limits=Limits(states=99_999))) is None
