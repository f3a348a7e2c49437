"""The notations of values: JSON, and the keyword arguments of a Python call."""

from __future__ import annotations

from structkit.lowering.containers.notation import JSON, PYTHON, keywords_of
from structkit.schema.ir.nodes import ANY_KEYS, Anything, Array, Document, Object, Property, Ref, Schema


def _object(*names: str) -> Object:
    return Object(tuple(Property(name, Anything()) for name in names))


def test_an_object_whose_keys_are_names_is_keywords() -> None:
    assert keywords_of(Document(_object())) == _object()
    assert keywords_of(Document(_object("a", "é"))) == _object("a", "é")
    definitions: dict[str, Schema] = {"d": _object("a")}
    assert keywords_of(Document(Ref("d"), definitions)) == _object("a")
    for names in (["class"], ["a", "b c"], ["1"], ["ﬁ"], [""], ["a-b", "c"]):
        assert keywords_of(Document(_object(*names))) is None, names
    opened = Object(_object("a").properties, additional=ANY_KEYS)
    grouped = Object(_object("a").properties, required_groups=(("a",),))  # type: ignore[arg-type]
    for root in (opened, grouped, Array(), Anything()):
        assert keywords_of(Document(root)) is None


def test_the_names_of_values_in_each_notation() -> None:
    text = '{"null": [null, true, false, "true"], "a": "\\"false"}'
    assert JSON.render(text) == text
    assert PYTHON.render(text) == '{"null": [None, True, False, "true"], "a": "\\"false"}'
