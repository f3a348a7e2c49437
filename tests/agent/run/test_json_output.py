"""The JSON that pydantic writes of a run, such as for the response of a web service."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

import structkit as sk
from structkit.testing import ScriptedModel


class Person(BaseModel):
    name: str
    born: date


def look_up(day: date) -> set[str]:
    return {"Ana"}


def fail() -> None:
    raise sk.ToolError("nobody")


SCRIPT = [
    '{"name": "look_up", "arguments": {"day": "2026-01-01"}}',
    '{"name": "fail", "arguments": {}}',
    '{"name": "Ana", "born": "2001-02-03"}',
]


def result() -> sk.AgentResult[Person]:
    return sk.Agent(ScriptedModel(SCRIPT), tools=[look_up, fail], output_type=Person).run("Who?")


@pytest.mark.parametrize("form", [sk.AgentResult[Person], sk.AgentResult])
def test_a_result_is_written_without_trace_and_exceptions(form: Any) -> None:
    written = TypeAdapter(form).dump_python(result(), mode="json")
    assert written["value"] == {"name": "Ana", "born": "2001-02-03"}
    assert [call["tool_result"] for call in written["calls"]] == [["Ana"], None]
    assert [call["error"] for call in written["calls"]] == [None, "nobody"]
    assert "trace" not in written
    assert "raised" not in written["calls"][1]


def test_a_result_can_be_read_again() -> None:
    adapter = TypeAdapter(sk.AgentResult[Person])
    before = result()
    after = adapter.validate_json(adapter.dump_json(before))
    assert (after.value, after.messages, after.usage) == (before.value, before.messages, before.usage)
    assert adapter.validate_python(before) is before


def test_only_what_is_written_is_described() -> None:
    schema = TypeAdapter(sk.AgentResult[Person]).json_schema(mode="serialization")
    assert set(schema["$defs"]) == {
        "Answer",
        "CallPart",
        "Calls",
        "Output",
        "Person",
        "ToolCall",
        "Usage",
        "User",
    }
    assert "trace" not in schema["properties"]


@pytest.mark.parametrize(
    "form", [sk.ToolCall, sk.RunRecord, sk.AgentStep[int], sk.RunEnd[int], sk.ToolResult]
)
def test_other_parts_of_a_run_are_described(form: Any) -> None:
    assert TypeAdapter(form).json_schema(mode="serialization")["type"] == "object"


def test_a_web_framework_describes_a_response() -> None:
    fastapi = pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    from fastapi.testclient import TestClient

    app = fastapi.FastAPI()

    def ask() -> Any:
        return result()

    ask.__annotations__["return"] = sk.AgentResult[Person]
    app.get("/")(ask)
    client = TestClient(app)
    assert client.get("/").json()["value"]["name"] == "Ana"
    described = client.get("/openapi.json").json()["components"]["schemas"]
    assert "AgentResult_Person_" in described
    assert "Trace" not in described


def test_the_model_reads_the_value_of_a_result_that_a_tool_returns() -> None:
    def ask() -> sk.AgentResult[Person]:
        return result()

    def generate() -> sk.Result[int]:
        return sk.generate(ScriptedModel(["7"]), "A number.", int)

    script = ['{"name": "ask", "arguments": {}}', '{"name": "generate", "arguments": {}}', "done"]
    run = sk.Agent(ScriptedModel(script), tools=[ask, generate]).run("x")
    outputs = [each.content for each in run.messages if each.kind == "output"]
    assert outputs == ['{"name": "Ana", "born": "2001-02-03"}', "7"]
    assert isinstance(run.calls[0].tool_result, sk.AgentResult)
