"""The example of LlamaIndex with the real package; `sh scripts/test_clients` runs these tests."""

from __future__ import annotations

import ast
import asyncio
import runpy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs llama-index-core")

from llama_index.core.llms import ChatMessage
from llama_index.core.prompts import ChatPromptTemplate, PromptTemplate
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel, field_validator

import structkit as sk
from examples.llama_index.llm import StructkitLLM
from structkit.testing import ScriptedModel
from tests.docs.blocks import needs_demo

# LlamaIndex warns of its own code.
pytestmark = pytest.mark.filterwarnings("default")

ROOT = Path(__file__).parents[2]
ANA = '{"name": "Ana", "age": 34}'


class Person(BaseModel):
    name: str
    age: int

    @field_validator("age")
    @classmethod
    def grown_up(cls, age: int) -> int:
        if age < 18:
            raise ValueError("too young")
        return age


def _llm(*replies: str, **options: Any) -> StructkitLLM:
    return StructkitLLM(model=ScriptedModel(list(replies)), options=options)


def test_a_structured_answer_is_an_instance() -> None:
    llm = _llm(ANA, ANA, ANA, ANA)
    ana = Person(name="Ana", age=34)
    template = PromptTemplate("Who is it? {text}")
    assert llm.structured_predict(Person, template, text="Ana is 34.") == ana
    assert "Who is it? Ana is 34." in llm.model.prompts[0]
    assert asyncio.run(llm.astructured_predict(Person, template, text="Ana is 34.")) == ana
    structured = llm.as_structured_llm(Person)
    assert structured.complete("Ana is 34.").raw == ana
    assert structured.chat([ChatMessage(role="user", content="Ana is 34.")]).raw == ana


def test_messages_keep_their_roles() -> None:
    llm = _llm(ANA)
    messages = [ChatMessage(role="system", content="Be exact."), ChatMessage(role="user", content="{text}")]
    llm.structured_predict(Person, ChatPromptTemplate(messages), text="Ana is 34.")
    assert "Be exact." in llm.model.prompts[0] and "Ana is 34." in llm.model.prompts[0]


def test_options_of_a_call_override_those_of_the_model() -> None:
    llm = _llm(ANA, max_tokens=60)
    with pytest.raises(sk.BudgetTooSmall):
        llm.structured_predict(Person, PromptTemplate("Who?"), {"max_tokens": 2})
    assert llm.metadata.num_output == 60 and llm.metadata.model_name == "scripted"


def test_an_option_in_the_wrong_place_is_an_error() -> None:
    with pytest.raises(ValueError, match="temperature"):
        StructkitLLM(model=ScriptedModel([]), temperature=0)


def test_a_tool_of_llama_index_in_an_agent_of_structkit_has_a_remedy() -> None:
    given: Any = FunctionTool.from_defaults(fn=len)
    with pytest.raises(sk.AgentError, match=r"give its function, tool\.fn"):
        sk.Agent(ScriptedModel([]), [given])


def test_a_value_that_a_validator_rejects_is_generated_again() -> None:
    template = PromptTemplate("Who?")
    with pytest.raises(sk.OutputValidationError, match="too young"):
        _llm('{"name": "Ben", "age": 3}').structured_predict(Person, template, {"retries": 0})


def test_text_and_pieces_of_it() -> None:
    llm = _llm("Porto is a city.", "Porto is a city.", "Porto is a city.")
    assert llm.complete("What is Porto?").text == "Porto is a city."
    pieces = list(llm.stream_complete("What is Porto?"))
    assert len(pieces) > 3 and "".join(str(piece.delta) for piece in pieces) == pieces[-1].text
    assert llm.chat([ChatMessage(role="user", content="What?")]).message.content == "Porto is a city."


def test_the_program_prints_the_documented_output(capsys: pytest.CaptureFixture[str]) -> None:
    needs_demo()
    program = ROOT / "examples/llama_index/people.py"
    runpy.run_path(str(program), run_name="__main__")
    documented = (ast.get_docstring(ast.parse(program.read_text())) or "").partition("Prints:\n\n")[2]
    assert capsys.readouterr().out.split("\n")[:-1] == [line.strip() for line in documented.splitlines()]
