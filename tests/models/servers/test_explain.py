"""What a server enforces of a target, keyword by keyword."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.testing import ScriptedModel
from tests.models.servers.fake import serve


class Order(BaseModel):
    codes: set[str]
    amount: Annotated[int, Field(ge=1)]


class Node(BaseModel):
    child: Node | None


def checked(target: Any, model: Any) -> dict[str, str]:
    """Return the keywords that the server does not enforce, and why."""
    return {row.keyword: row.reason for row in sk.explain(target, model).rows if row.server == "checked"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("llama.cpp", {"uniqueItems": "no grammar says it"}),
        ("SGLang", {"uniqueItems": "no regex says it"}),
        (
            "Ollama",
            {
                "uniqueItems": "llama.cpp does not enforce it",
                "minimum": "llama.cpp does not enforce it",
            },
        ),
    ],
)
def test_what_a_server_enforces(kind: str, expected: dict[str, str]) -> None:
    with serve("", kind=kind) as server:
        model = sk.connect(server.url)
        assert checked(Order, model) == expected
        found = sk.explain(Order, model)
        assert {row.server for row in found.rows if row.how == "annotation"} <= {""}
        assert "server" in str(found).splitlines()[0]


def test_a_server_that_enforces_nothing_of_a_target() -> None:
    with serve("", kind="SGLang") as server:
        assert set(checked(Node, sk.connect(server.url)).values()) == {"no grammar says the target"}
    with serve("") as server:
        assert set(checked(Node, sk.connect(server.url)).values()) == {"it takes no constraint"}
        openai = sk.connect(server.url, constrain="json_schema")
        assert set(checked(list[int], openai).values()) == {"OpenAI takes only objects"}


def test_a_model_with_logits_enforces_all() -> None:
    assert all(row.server == "" for row in sk.explain(Order, ScriptedModel(["1"])).rows)


def test_what_is_checked_after_decoding_is_checked_for_a_server_too() -> None:
    with serve("", kind="llama.cpp") as server:
        schema = sk.JsonSchema({"type": "array", "not": {"uniqueItems": True}}, strict=False)
        found = {row.keyword: row for row in sk.explain(schema, sk.connect(server.url)).rows}
        assert found["type"].server == "enforced"
        assert (found["not"].how, found["not"].server) == ("checked after", "checked")
