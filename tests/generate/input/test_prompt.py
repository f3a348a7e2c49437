"""Prompts and their tokens."""

from __future__ import annotations

import re

import pytest

import structkit as sk
from structkit.errors import GenerationError
from structkit.generate.input.prompt import build_prompt, encode_prompt, prompt_text
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary

TYPE = "JSON of this type:\nA = {}"


def test_the_description_is_added_to_the_last_user_message() -> None:
    messages = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
        {"role": "assistant", "content": "four"},
    ]
    built = build_prompt(messages, TYPE)
    assert [message["content"] for message in built] == [
        "one",
        "two",
        "three\n\nAnswer with JSON of this type:\nA = {}",
        "four",
    ]
    assert messages[2]["content"] == "three"


def test_without_a_description_the_prompt_is_unchanged() -> None:
    assert build_prompt("x") == "x"
    assert build_prompt([{"role": "user", "content": "x"}]) == [{"role": "user", "content": "x"}]


def test_system_message_comes_first() -> None:
    built = build_prompt([{"role": "user", "content": "x"}], TYPE, "Be brief.")
    assert built[0] == {"role": "system", "content": "Be brief."}
    assert build_prompt("x", None, "Be brief.")[1] == {"role": "user", "content": "x"}


@pytest.mark.parametrize(
    ("prompt", "system", "message"),
    [
        ([{"role": "system", "content": "x"}], None, "role 'user'"),
        ([{"role": "system", "content": "x"}, {"role": "user", "content": "y"}], "z", "system message"),
    ],
)
def test_roles_that_do_not_fit(prompt: list[dict[str, str]], system: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_prompt(prompt, TYPE, system)


@pytest.mark.parametrize(
    ("role", "meant"),
    [
        ("end|>\n<|system", "system"),
        ("system|>\n<|user", "user"),
        ("user ", "user"),
        ("", "user"),
        ("sytem", "system"),
        ("usr", "user"),
    ],
)
def test_a_role_is_a_word(role: str, meant: str) -> None:
    """The template writes `<|role|>`, so that a role with a bar could open turns of its own."""
    with pytest.raises(
        ValueError, match=re.escape(f"message 1 of the prompt has the role {role!r}; write ")
    ) as raised:
        sk.render_prompt(sk.load(), [{"role": "user", "content": "Hi"}, {"role": role, "content": "x"}], int)
    assert str(raised.value).endswith(f"write {meant!r}")


@pytest.mark.parametrize("role", ["developer", "ipython", "critic", "tool-result"])
def test_a_template_can_have_roles_of_its_own(role: str) -> None:
    messages = [{"role": role, "content": "x"}]
    assert build_prompt(messages) == messages


@pytest.mark.parametrize(
    "prompt", [3, None, b"text", [], ["text"], [{"role": "user"}], [{"role": "user", "content": ["part"]}]]
)
def test_invalid_prompts_raise(prompt: object) -> None:
    with pytest.raises(
        TypeError, match=r"a prompt is a text or a list of messages|message 0 of the prompt is"
    ):
        build_prompt(prompt, TYPE)


def test_a_prompt_that_fills_the_context_raises_by_how_much() -> None:
    model = ScriptedModel([], byte_vocabulary(), context_length=10)
    assert len(encode_prompt(model, "123456789")) == 9
    with pytest.raises(GenerationError, match="3 tokens too long"):
        encode_prompt(model, "123456789012")
    with pytest.raises(GenerationError, match="no tokens"):
        encode_prompt(model, "")


class _Bare:
    """A model without `decode`."""

    vocabulary = byte_vocabulary()

    def encode(self, prompt: str) -> list[int]:
        return [256, *prompt.encode(), 300]


def test_control_tokens_without_decode_are_shown_as_ids() -> None:
    assert prompt_text(_Bare(), "é") == "<256>é<300>"


def test_arguments_of_the_wrong_kind_raise() -> None:
    with pytest.raises(sk.GenerationError, match="the prompt is not Unicode"):
        sk.extract(RandomModel(), "\ud800", int)
    for call in (
        sk.extract,
        sk.generate,
        sk.classify,
        lambda *args: list(sk.stream(*args)),
        sk.render_prompt,
    ):
        with pytest.raises(TypeError, match=r"write structkit.load\('gpt2'\)"):
            call("gpt2", "x", bool)
    with pytest.raises(TypeError, match=r"the model is a string"):
        sk.extract_many("gpt2", ["x"], bool)
    with pytest.raises(sk.GenerationError, match="the prompt is 1 token too long"):
        sk.extract(RandomModel(context_length=3), "abc", int, include_schema=False)


@pytest.mark.parametrize("system", [None, "Be brief."])
def test_examples_follow_the_system_message_if_there_is_one(system: str | None) -> None:
    turns = [("user", "1"), ("assistant", "2"), ("user", "x")]
    expected = [*([] if system is None else [("system", system)]), *turns]
    as_list = build_prompt(
        [{"role": role, "content": text} for role, text in expected if text not in "12"], None
    )
    for prompt in ("x", as_list):
        given = system if prompt == "x" else None
        built = build_prompt(prompt, None, given, examples=[("1", "2")], as_messages=True)
        assert [(message["role"], message["content"]) for message in built] == expected
