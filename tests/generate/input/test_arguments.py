"""Arguments in the wrong place and of the wrong kind: the error says what to write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel

TEXT = "Ana is 34."


class Person(BaseModel):
    name: str


class _Network:
    """Looks like a model of transformers."""

    def generate(self) -> None: ...


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Person, "the model is a class, Person; the order is model, prompt, target"),
        (TEXT, "the model is a string, 'Ana is 34.'; the order is model, prompt, target"),
        ("org/name", "write structkit.load('org/name'), once for all calls"),
        ("http://host:8000", "write structkit.connect('http://host:8000'), once for all calls"),
        (ScriptedModel, "the model is a class, ScriptedModel; pass an object of it"),
        (None, "None is not a model; pass one, such as structkit.load()"),
        (
            _Network(),
            "_Network is not a model of structkit; write structkit.from_transformers(model, tokenizer)",
        ),
    ],
)
def test_what_is_no_model(model: Any, said: str) -> None:
    calls = [
        lambda: sk.extract(model, TEXT, bool),
        lambda: sk.generate(model, TEXT, bool),
        lambda: sk.classify(model, TEXT, bool),
        lambda: sk.extract_many(model, [TEXT], bool),
        lambda: list(sk.stream(model, TEXT, bool)),
        lambda: sk.render_prompt(model, TEXT, bool),
        lambda: sk.Agent(model),
    ]
    for call in calls:
        with pytest.raises(TypeError) as raised:
            call()
        assert said in str(raised.value)


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        (Person, "the order is model, prompt, target"),
        (34, "not 34; write a string, or"),
        (None, "not None; write a string, or"),
        ([], r"not []; write a string, or"),
        (b"Ana", "not b'Ana'; write prompt.decode()"),
        ({"role": "user", "content": "x"}, "write [{...}]"),
        (["Ana", "Ben"], "extract_many and generate_many take several prompts"),
        (
            [{"rol": "user", "content": "x"}],
            "message 0 of the prompt is {'rol': 'user', 'content': 'x'}; write {",
        ),
    ],
)
def test_what_is_no_prompt(prompt: Any, said: str) -> None:
    for call in (sk.extract, sk.render_prompt, lambda *args: list(sk.stream(*args))):
        with pytest.raises(TypeError) as raised:
            call(RandomModel(), prompt, bool)
        assert said in str(raised.value)


async def _source() -> AsyncIterator[str]:
    yield TEXT


@pytest.mark.parametrize(
    ("prompts", "said"),
    [
        (TEXT, "write [prompt]"),
        ({"role": "user", "content": "x"}, "write [prompt]"),
        (RandomModel(0), "the order is model, prompt, target"),
        (None, "the order is model, prompt, target"),
        (_source(), "; aextract_many takes an async source"),
    ],
)
def test_what_is_no_list_of_prompts(prompts: Any, said: str) -> None:
    with pytest.raises(TypeError) as raised:
        sk.extract_many(RandomModel(0), prompts, bool)
    assert "extract_many() takes a list of prompts, not " in str(raised.value)
    assert str(raised.value).endswith(said)


def test_roles_are_named_if_none_is_that_of_a_user() -> None:
    with pytest.raises(ValueError, match="the roles are 'critic'; add one"):
        sk.extract(RandomModel(), [{"role": "critic", "content": "x"}], bool)


def test_an_attribute_that_does_not_exist_is_corrected_by_python() -> None:
    with pytest.raises(AttributeError) as raised:
        _ = sk.extrat  # type: ignore[attr-defined]
    assert (raised.value.name, raised.value.obj) == ("extrat", sk)
