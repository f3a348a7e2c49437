"""The field of a request that an error of its tools or of its answer names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import structkit as sk
from structkit.serve.read.tools import ToolAsk, ToolSpec
from structkit.serve.write.calls import _constraint_param, _uri

TOOLS = tuple(
    ToolSpec(name, "", sk.JsonSchema({}), f"tools[{at}].function.parameters")
    for at, name in enumerate(("find", "finder"))
)


@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("answer", [None, "response_format"])
def test_the_field_at_fault(choice: Any, answer: str | None) -> None:
    """A place in the schema of a tool is that of the tool; other faults are those of the answer, if there is one."""
    ask: Any = SimpleNamespace(constraint=SimpleNamespace(param=answer))
    other = "tools" if choice == "required" or answer is None else answer
    for tools in (TOOLS, TOOLS[1:]):
        asked = ToolAsk(tools, choice, None, "", ())
        rest = tools[0].param if choice == "required" and len(tools) == 1 else other
        for spec in TOOLS:
            expected = spec.param if spec in tools else rest
            for place in (spec.name, f"{spec.name}: $.a", f'"{_uri(spec)}" of a reference'):
                assert _constraint_param(sk.SchemaError("no", place=place), ask, asked) == expected, place
        for nowhere in (None, "", "$.a", "find.a", "the finder"):
            assert _constraint_param(sk.SchemaError("no", place=nowhere), ask, asked) == rest, nowhere
