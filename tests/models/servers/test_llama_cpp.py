"""The server of llama.cpp with the demo model, where the packages `xllamacpp` and `gguf` are installed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.doctor.text_model import check_text_model
from structkit.errors import CorrectionsExhausted
from tests.models.demo_gguf import write_gguf

PROMPTS = ["Ana Souza, 34, works in Porto.", 'Say "no\\n" to \u4f60\u597d \U0001f600.', ""]


class Color(Enum):
    RED = "red"
    GREEN = "gr\u00fcn"


class Person(BaseModel):
    name: Annotated[str, Field(max_length=20)]
    age: int


class Pair(BaseModel):
    label: Literal["a", "b"]
    color: Color | None = None


TARGETS: list[object] = [
    Person,
    bool,
    Color,
    Annotated[list[int], Field(max_length=4)],
    Annotated[list[Pair], Field(max_length=2)],
    Annotated[str, Field(pattern=r"^[a-z]{2,5}-\d{1,3}$")],
    Annotated[float, Field(ge=-1, le=1)],
    sk.Regex(r"(\w{1,8} ){2,3}end"),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("gguf", reason="needs the package gguf")
    xllamacpp = pytest.importorskip("xllamacpp", reason="needs the package xllamacpp")
    path = tmp_path_factory.mktemp("demo") / "demo.gguf"
    write_gguf(Path(path))
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.port, params.n_ctx, params.n_parallel, params.verbosity = 0, 2_048, 2, -1
    # Its threads wait for each other without sleeping, which takes minutes on a busy machine.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_the_server_enforces_the_grammar_to_the_last_byte(url: str, target: object, seed: int) -> None:
    model = sk.connect(url, options={"temperature": 1.5, "seed": seed})
    for prompt in PROMPTS:
        result: sk.Result[object] = sk.generate(model, prompt, target)  # type: ignore[call-overload]
        assert result.guarantee == "constrained", result.trace


def test_without_the_grammar_replies_are_corrected(url: str) -> None:
    model = sk.connect(url, constrain=False, options={"temperature": 1.0, "seed": 1})
    for target in (bool, list[int], Person):
        result = sk.generate(model, PROMPTS[0], target, finish="shortest", max_tokens=200)  # type: ignore[call-overload]
        assert result.guarantee == "corrected"


def test_exact_rest_after_a_correction(url: str) -> None:
    """The grammar starts at the first new token, after the start of the answer."""
    model = sk.connect(url, options={"temperature": 0})
    try:
        result = sk.generate(model, PROMPTS[0], Person, max_tokens=200)
    except CorrectionsExhausted as error:
        pytest.fail(str(error))
    assert result.trace.drafts[0].prefix == '{"name": "'
    assert result.guarantee == "constrained"


COLORS = Annotated[set[Literal["red", "green", "blue", "black", "white"]], Field(min_length=3)]
DIGITS = Annotated[set[Annotated[int, Field(ge=0, le=9)]], Field(min_length=4, max_length=6)]


@pytest.mark.parametrize("target", [COLORS, DIGITS], ids=["colors", "digits"])
def test_what_a_grammar_cannot_say_is_corrected_with_the_choices_as_a_grammar(
    url: str, target: object
) -> None:
    """The grammar allows an item of a set again, and a model that is greedy would write it for ever."""
    model = sk.connect(url, options={"temperature": 0})
    for prompt in PROMPTS:
        result: sk.Result[set[object]] = sk.generate(model, prompt, target)  # type: ignore[call-overload]
        assert len(result.value) >= 3
        assert all(draft.constraint == "grammar" for draft in result.trace.drafts)


def test_the_doctor_finds_what_the_server_does(url: str) -> None:
    model = sk.connect(url, options={"temperature": 0})
    checks = {check.name: check for check in check_text_model(model)}
    found = {name: checks[name].status for name in ("likely tokens", "constraint grammar", "value")}
    assert found == dict.fromkeys(found, "yes")
    assert checks["token ids"].status == "missing"


def test_a_likely_token_is_taken_where_a_reply_is_cut(url: str) -> None:
    model = sk.connect(url, constrain=False, options={"temperature": 0})
    result = sk.generate(model, PROMPTS[0], Annotated[float, Field(ge=-1, le=1)], finish="shortest")
    assert any(draft.chosen for draft in result.trace.drafts)  # type: ignore[union-attr]


def test_all_functions_work(url: str) -> None:
    model = sk.connect(url, options={"temperature": 1.0, "seed": 3})
    assert [type(value) for value in sk.extract_many(model, PROMPTS, Person)] == [Person] * 3
    *_, last = sk.stream(model, PROMPTS[0], bool)
    assert isinstance(last, sk.StreamEnd)

    async def use() -> list[object]:
        values: list[object] = [await sk.aextract(model, PROMPTS[0], Person)]
        values += await sk.aextract_many(model, PROMPTS, Color)
        values += [(await sk.agenerate(model, PROMPTS[0], bool)).value]
        return values + [event async for event in sk.astream(model, PROMPTS[0], bool)][-1:]

    kinds = [type(value) for value in asyncio.run(use())]
    assert kinds == [Person, *[Color] * 3, bool, sk.StreamEnd]


def test_an_agent_runs(url: str) -> None:
    """The model writes nonsense here, but each of its calls has arguments of the right types."""
    called: list[tuple[str, int]] = []

    def remind(text: Annotated[str, Field(max_length=10)], hour: int) -> str:
        called.append((text, hour))
        return "done"

    model = sk.connect(url, options={"temperature": 1.0, "seed": 5})
    agent = sk.Agent(model, tools=[remind], output_type=bool, max_steps=4)
    with suppress(sk.UsageLimitExceeded):
        run = agent.run("Remind me at 8.")
        assert isinstance(run.value, bool)
        assert all(step.guarantee == "constrained" for step in run.trace.steps)
    assert called
    assert all(isinstance(text, str) and isinstance(hour, int) for text, hour in called)
