"""How a target is described for a chat template: the choice, its reason, and the text that the model reads."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import structkit as sk
from structkit.generate.input.prompt import prompt_text
from structkit.generate.input.prompt_format import RenderedPrompt, choose_format
from structkit.generate.input.settings import Settings
from structkit.generate.run.rejection import retry_prompt
from structkit.generate.run.request import prepare_prompt
from structkit.schema.markers.json_style import JsonStyle
from structkit.targets.targets import read_target
from structkit.testing import RandomModel, ScriptedModel

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers")

from tests.agent.templates import LLAMA, MISTRAL, PLAIN, QWEN, make_model


class Town(BaseModel):
    """A town."""

    name: str
    people: int = Field(ge=3)


class Person(BaseModel):
    name: str
    home: Town | None = None
    kind: Literal["child", "adult"] = "adult"


def _turns(before: str, after: str, last: str) -> str:
    return f"{{% for message in messages %}}{before}{{{{ message.content }}}}{after}{{% endfor %}}{last}"


_ROLE = "{{ message.role }}"

_LLAMA_3 = _turns(f"<|start_header_id|>{_ROLE}<|end_header_id|>\n\n", "<|eot_id|>", "")
_PHI_4 = _turns(f"<|im_start|>{_ROLE}<|im_sep|>", "<|im_end|>", "<|im_start|>assistant<|im_sep|>")
_GEMMA = _turns(f"<start_of_turn>{_ROLE}\n", "<end_of_turn>\n", "<start_of_turn>model\n")
_PHI_3 = _turns(f"<|{_ROLE}|>\n", "<|end|>\n", "<|assistant|>\n")

TEMPLATES: dict[str, tuple[str, str, list[str]]] = {
    "qwen": ("chatml", QWEN, ["<|im_start|>", "<|im_end|>"]),
    "chatml": ("chatml", PLAIN, ["<|im_start|>", "<|im_end|>"]),
    "llama 3": ("llama-3", _LLAMA_3, ["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]),
    "llama 3 with tools": ("llama-3", LLAMA, ["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]),
    "mistral": ("mistral", MISTRAL, ["[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "</s>"]),
    "gemma": ("gemma", _GEMMA, ["<start_of_turn>", "<end_of_turn>"]),
    "phi 3": ("phi-3", _PHI_3, ["<|user|>", "<|assistant|>", "<|end|>"]),
    "phi 4": ("phi-4", _PHI_4, ["<|im_start|>", "<|im_sep|>", "<|im_end|>"]),
    "own": ("unknown", _turns(f"{_ROLE}: ", "\n", "assistant: "), ["</s>"]),
}


def _model(name: str) -> Any:
    _, template, special = TEMPLATES[name]
    return make_model(template, special, bos="<s>")


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_family_of_a_template_decides_and_is_printed(name: str) -> None:
    rendered = sk.render_prompt(_model(name), "Ana lives in Porto.", Person)
    chosen = rendered.prompt_format
    assert (chosen.template, chosen.description) == (TEMPLATES[name][0], "types")
    assert f"Answer with JSON of this type:\n{'Person = {'}" in rendered
    lines = str(chosen).splitlines()
    assert lines[0] == f"chat template   {chosen.template}"
    assert [line.split()[0] for line in lines[1:]] == ["description", "whitespace", "null", "order", "fence"]
    measured = "most fields right" in lines[1]
    assert measured == (chosen.template == "phi-3")
    assert measured or "not measured with such a template" in lines[1]


def test_a_rendered_prompt_is_the_text() -> None:
    rendered = sk.render_prompt(ScriptedModel([]), "x", list[int])
    assert isinstance(rendered, RenderedPrompt)
    assert rendered == "x\n\nAnswer with JSON of this type:\nlist[int] = [integer, ...]"
    assert rendered.prompt_format.template == "unknown"


def test_a_rendered_prompt_can_be_copied_and_pickled() -> None:
    rendered = sk.render_prompt(RandomModel(), "x", int)
    for copied in (copy.copy(rendered), copy.deepcopy(rendered), pickle.loads(pickle.dumps(rendered))):
        assert copied == rendered
        assert copied.prompt_format == rendered.prompt_format


def test_the_demo_model_has_the_measured_choice() -> None:
    assert sk.render_prompt(sk.load(), "x", Person).prompt_format.template == "phi-3"


def test_a_tokenizer_without_a_chat_template_is_named() -> None:
    model = _model("own")
    model.tokenizer.chat_template = None
    rendered = sk.render_prompt(model, "x", Town)
    assert rendered.prompt_format.template == "none"
    assert rendered.endswith('Town = {"name": string, "people": integer (at least 3)} /* A town. */')
    with pytest.raises(sk.GenerationError, match="no chat template, so it cannot encode messages"):
        sk.generate(model, "x", Town, system="Be brief.")


def test_a_server_applies_a_template_that_is_not_known() -> None:
    model = sk.from_function(lambda text: "true")
    assert sk.render_prompt(model, "x", bool).prompt_format.template == "unknown"


def test_the_options_of_the_call_are_named() -> None:
    model = ScriptedModel([])
    chosen = sk.render_prompt(
        model, "x", Person, include_schema="example", whitespace="compact", null="omit", order="any"
    ).prompt_format
    assert {name: value for name, (value, _) in chosen.choices.items()} == {
        "description": "example",
        "whitespace": "compact",
        "null": "omit",
        "order": "any",
        "fence": "none",
    }
    assert all(why == "set by the call" for name, (_, why) in chosen.choices.items() if name != "fence")
    chosen = sk.render_prompt(model, "x", Person, include_schema=False, defaults="may_omit").prompt_format
    assert (chosen.description, chosen.choices["description"][0]) == (None, "none")
    assert chosen.choices["null"][0] == "may_omit"


def test_a_schema_is_described_without_what_only_structkit_reads() -> None:
    class Found(BaseModel):
        quoted: Annotated[str, sk.Quote()]
        home: Town

    text = sk.render_prompt(ScriptedModel([]), "Porto", Found, include_schema="json_schema")
    head, _, schema = text.partition("JSON that matches this JSON Schema:\n")
    assert head == "Porto\n\nAnswer with "
    assert json.loads(schema) == {
        "$defs": {
            "Town": {
                "description": "A town.",
                "properties": {"name": {"type": "string"}, "people": {"minimum": 3, "type": "integer"}},
                "required": ["name", "people"],
                "type": "object",
            }
        },
        "properties": {"quoted": {"type": "string"}, "home": {"$ref": "#/$defs/Town"}},
        "required": ["quoted", "home"],
        "title": "Found",
        "type": "object",
    }


@pytest.mark.parametrize(
    ("whitespace", "shown"),
    [
        (None, '{"name": "...", "home": {"name": "...", "people": 3}, "kind": "child"}'),
        ("compact", '{"name":"...","home":{"name":"...","people":3},"kind":"child"}'),
    ],
)
def test_an_example_is_written_as_the_answer(whitespace: Any, shown: str) -> None:
    options = {} if whitespace is None else {"whitespace": whitespace}
    text = sk.render_prompt(ScriptedModel([]), "x", Person, include_schema="example", **options)
    assert text == f"x\n\nAnswer with JSON like this example:\n{shown}"
    assert Person.model_validate_json(shown)


@pytest.mark.parametrize("target", [sk.Regex("[a-c]+"), sk.Choice(["yes", "no"])])
@pytest.mark.parametrize("form", ["json_schema", "example", "tools"])
def test_a_target_that_is_not_json_has_one_description(target: Any, form: Any) -> None:
    plain, other = (
        sk.render_prompt(ScriptedModel([]), "x", target, include_schema=each) for each in (True, form)
    )
    assert plain == other
    assert other.prompt_format.choices["description"][0] == "types"


@pytest.mark.parametrize("name", ["qwen", "llama 3 with tools", "mistral"])
def test_a_template_with_tools_describes_the_target_itself(name: str) -> None:
    model = _model(name)
    rendered = sk.render_prompt(model, "Porto has 240000 people.", Town, include_schema="tools")
    assert "Answer with JSON, the arguments of Town" in rendered
    assert rendered.count("A town.") == 1
    assert '"people"' in rendered
    assert "this type" not in rendered
    result = sk.generate(model, "Porto", Town, include_schema="tools", max_tokens=60)
    assert Town.model_validate_json(result.text) == result.value


def test_a_retry_keeps_the_tool() -> None:
    model = _model("qwen")
    settings = Settings.read("generate", {"include_schema": "tools"})
    prompt = prepare_prompt(model, "Porto", read_target(Town), settings)
    retried = retry_prompt(prompt, "{}", "no such town")
    text = prompt_text(model, retried)
    assert text.count("A town.") == 1
    assert text.index("Porto") < text.index("no such town")


@pytest.mark.parametrize("name", ["chatml", "gemma", "phi 3", "phi 4", "own"])
def test_a_template_without_tools_is_an_error(name: str) -> None:
    with pytest.raises(sk.GenerationError, match=r"renders tools, and that of .* does not"):
        sk.extract(_model(name), "x", Town, include_schema="tools")


@pytest.mark.parametrize(
    ("model", "target", "message"),
    [
        (RandomModel(1), Town, "a chat template that renders tools"),
        (sk.from_function(lambda text: "{}"), Town, "a chat template that renders tools"),
        (RandomModel(1), list[int], "describes objects, and .* is none"),
    ],
)
def test_other_models_and_targets_have_no_tools(model: Any, target: Any, message: str) -> None:
    with pytest.raises(sk.GenerationError, match=message):
        sk.extract(model, "x", target, include_schema="tools")


@pytest.mark.parametrize(("wrong", "error"), [("yaml", ValueError), (1, TypeError), (None, TypeError)])
def test_an_unknown_description_is_an_error(wrong: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="include_schema must be True or False, or one of 'types', 'json_schema'"):
        sk.extract(RandomModel(1), "x", Town, include_schema=wrong)


def test_an_agent_describes_its_tools_itself() -> None:
    with pytest.raises(ValueError, match="include_schema must be True or False for an agent, not 'example'"):
        sk.Agent(RandomModel(1), tools=[], output_type=Town, include_schema="example")


def test_the_whitespace_is_that_of_the_call_or_of_the_target() -> None:
    plain, regex = read_target(dict[str, int]), read_target(sk.Regex("a"))
    model = ScriptedModel([])
    for target in (plain, regex):
        for given in (None, "compact", "spaced"):
            found = choose_format(model, target, True, JsonStyle(whitespace=given))
            own = target.default_whitespace
            expected = (
                given or own or "spaced",
                "set by the call" if given else "set by the target" if own else "as json.dumps writes",
            )
            assert found.choices["whitespace"] == expected
        assert choose_format(model, target, False, JsonStyle()).description is None
        described = choose_format(model, target, "json_schema", JsonStyle()).description
        assert described == ("json_schema" if target.is_json else "types")
