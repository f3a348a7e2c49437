"""References, and the scopes in which dynamic ones are resolved."""

from __future__ import annotations

import re

import pytest

from structkit.errors import SchemaError, UnresolvedReference
from structkit.schema.ir import refs
from structkit.schema.ir.refs import References, Within, _step
from tests.schema.reading import read


def test_a_dynamic_reference_depends_on_the_outermost_anchor_only() -> None:
    """A resource is read once for each anchor that a dynamic reference in it can lead to, not for each way to it."""

    def resource(number: int, anchor: str) -> dict[str, object]:
        keys = {"next": {"$ref": f"d{number + 1}"}, "first": {"$dynamicRef": f"#{anchor}"}}
        return {"$id": f"http://x/d{number}", "$dynamicAnchor": anchor, "type": "object", "properties": keys}

    anchors = ["a" if number % 2 else "b" for number in range(40)]
    resources = {f"d{number}": resource(number, anchor) for number, anchor in enumerate(anchors)}
    last = {"$id": "http://x/d40", "type": "null"}
    document = read({"$ref": "http://x/d0", "$defs": {**resources, "d40": last}})
    assert len(document.definitions) <= 45


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"$ref": "#"}, "$"),
        ({"if": {"required": ["a"]}, "then": {"$ref": "#"}}, "$.then"),
        ({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}, "$.$defs.a.not"),
        ({"dependentSchemas": {"a": {"oneOf": [{"type": "null"}, {"$ref": "#"}]}}}, "$.dependentSchemas.a.oneOf[1]"),
        ({"items": {"$ref": "#"}, "anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"contains": {"$ref": "#"}}}}, None),
        ({"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "null"}}}, None),
        ({"$ref": "#/$defs/unreachable", "$defs": {"a": {"$ref": "#/$defs/a"}, "unreachable": {}}}, None),
    ],
)  # fmt: skip
def test_a_loop_of_references_is_found(schema: dict[str, object], place: str | None) -> None:
    assert References(schema).loop() == place


def test_a_schema_that_excludes_itself_is_refused_with_its_place() -> None:
    """Its difference with itself would be followed until there are too many combinations."""
    with pytest.raises(SchemaError, match="leads back") as caught:
        read({"not": {"allOf": [{"type": "boolean"}], "$ref": "#"}})
    assert caught.value.place == "$.not"


def test_a_loop_is_looked_for_in_few_subschemas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refs, "_MAX_LOOKED_AT", 100)
    loop: list[object] = [{"not": {"$ref": "#"}}]
    assert References({"anyOf": [{"type": "null"}] * 50 + loop}).loop() == "$.anyOf[50].not"
    assert References({"anyOf": [{"type": "null"}] * 200 + loop}).loop() is None
    assert References({"items": {"anyOf": [{"type": "null"}] * 200 + loop}}).loop() is None


@pytest.mark.parametrize(
    ("pointer", "meant"),
    [
        ("#/properties/prop", "#/properties/props"),
        ("#/propertys/props", "#/properties/props"),
        ("#/properties/props/item/not", "#/properties/props/items/not"),
        ("#/properties/props/item/anyOf/0", None),
        ("#/propertys/others", None),
        ("#/definitions/Name", "#/$defs/Name"),
    ],
)
def test_the_remedy_corrects_the_step_that_does_not_exist(pointer: str, meant: str | None) -> None:
    props = {"type": "array", "items": {"not": {"type": "null"}}}
    schema = {"properties": {"props": props, "a": {"$ref": pointer}}, "$defs": {"Name": True}}
    remedy = f"write '{meant}'" if meant else "add it, or correct the reference"
    with pytest.raises(UnresolvedReference, match=re.escape(remedy)):
        read(schema)


def test_the_step_of_each_keyword_through_the_value() -> None:
    assert [_step(each) for each in ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")] == [
        Within.SAME
    ] * 7
    assert _step("items") == Within.ITEM and _step("prefixItems", "2") == 2
    assert _step("properties", "a") == "a"
    assert _step("contentSchema") == Within.CONTENT
    others = ("additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties")
    assert [_step(each, "x") for each in others] == [Within.KEY] * 4
