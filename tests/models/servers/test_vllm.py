"""vLLM with the demo model; `sh scripts/test_vllm` runs these tests.

`STRUCTKIT_VLLM` names an interpreter that has vLLM, or the address of a vLLM server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import structkit as sk
from benchmarks.launch import vllm
from structkit.doctor.text_model import check_text_model
from tests.models.servers.test_llama_cpp import (
    PROMPTS,
    TARGETS,
    Person,
    test_all_functions_work,
    test_an_agent_runs,
    test_what_a_grammar_cannot_say_is_corrected_with_the_choices_as_a_grammar,
)

__all__ = [  # these run with vLLM, too
    "test_all_functions_work",
    "test_an_agent_runs",
    "test_what_a_grammar_cannot_say_is_corrected_with_the_choices_as_a_grammar",
]

pytestmark = pytest.mark.skipif("STRUCTKIT_VLLM" not in os.environ, reason="needs STRUCTKIT_VLLM")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    found = os.environ["STRUCTKIT_VLLM"]
    if found.startswith("http"):
        yield found
        return
    with vllm(found) as server:
        yield server.url


def test_the_server_is_recognized(url: str) -> None:
    model = sk.connect(url)
    assert model.dialect == "vLLM"
    assert model.capabilities.continues_prefix
    assert "grammar" in model.capabilities.constraints


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_the_server_enforces_the_grammar_to_the_last_byte(url: str, target: object, seed: int) -> None:
    model = sk.connect(url, options={"temperature": 1.5, "seed": seed})
    for prompt in PROMPTS:
        result: sk.Result[object] = sk.generate(model, prompt, target)  # type: ignore[call-overload]
        assert result.guarantee == "constrained", result.trace


@pytest.mark.parametrize("kind", ["regex", "json_schema"])
def test_other_notations_give_valid_values(url: str, kind: str) -> None:
    model = sk.connect(url, constrain=kind, options={"temperature": 1.0, "seed": 1})  # type: ignore[arg-type]
    result = sk.generate(model, PROMPTS[0], Person, finish="shortest", max_tokens=200)
    assert result.value == Person.model_validate_json(result.text)


def test_without_a_constraint_replies_are_corrected(url: str) -> None:
    model = sk.connect(url, constrain=False, options={"temperature": 0})
    result = sk.generate(model, PROMPTS[0], Person)
    assert result.guarantee == "corrected"
    assert result.value == Person(name="Ana Souza", age=34)


def test_the_doctor_finds_token_ids_and_likely_tokens(url: str) -> None:
    model = sk.connect(url, options={"temperature": 0})
    checks = {check.name: check for check in check_text_model(model)}
    found = {name: checks[name].status for name in ("likely tokens", "token ids", "constraint grammar")}
    assert found == dict.fromkeys(found, "yes")


def test_the_start_of_an_answer_is_continued(url: str) -> None:
    result = sk.generate(sk.connect(url, options={"temperature": 0}), PROMPTS[0], Person)
    assert result.trace is not None
    assert result.trace.drafts[0].prefix == '{"name": "'
    assert result.guarantee == "constrained"
    assert result.value == Person(name="Ana Souza", age=34)


def test_a_stream_ends_in_the_value(url: str) -> None:
    events = list(sk.stream(sk.connect(url, options={"temperature": 0}), PROMPTS[0], Person))
    assert sk.FieldEnd(path="$", value=Person(name="Ana Souza", age=34)) in events
