"""References, and the scopes in which dynamic ones are resolved."""

from __future__ import annotations

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
