"""The vLLM plug-in in a vLLM server with the demo model; `sh scripts/test_vllm` runs these tests.

`STRUCTKIT_VLLM` names an interpreter that has vLLM and the dependencies of structkit. The cache of the server is so
small that it preempts requests.
"""

from __future__ import annotations

import json
import os
import re
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from benchmarks.launch import vllm

openai = pytest.importorskip("openai", reason="needs openai")

_PYTHON = os.environ.get("STRUCTKIT_VLLM", "http")

pytestmark = pytest.mark.skipif(
    _PYTHON.startswith("http"), reason="needs STRUCTKIT_VLLM, an interpreter with vLLM"
)

_PARSER = Path(__file__).with_name("vllm_reasoning.py")

PROMPT = "Ana Souza, 34, works as a nurse in Porto."


class Person(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=30)
    age: int = Field(ge=0, le=130, multiple_of=7)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    plugin = "structkit.integrations.vllm:Guided"
    few = ("--num-gpu-blocks-override", "20", "--max-model-len", "512")
    # The engine computes in its own process, so that fewer processes start.
    one = ("--distributed-executor-backend", "uni")
    thinking = ("--reasoning-parser", "semicolon", "--reasoning-parser-plugin", str(_PARSER))
    with vllm(_PYTHON, "--logits-processors", plugin, *few, *one, *thinking) as server:
        yield server.url


@contextmanager
def _client(url: str) -> Iterator[tuple[Any, str]]:
    """Return a client and the name of the model."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=300) as client:
        yield client, client.models.list().data[0].id


def _ask(url: str, arguments: dict[str, object], **options: Any) -> Any:
    given = {"temperature": 0, "max_tokens": 100, "messages": [{"role": "user", "content": PROMPT}]} | options
    with _client(url) as (client, model):
        extra = {"vllm_xargs": arguments}
        return client.chat.completions.create(model=model, extra_body=extra, **given).choices[0]


def _schema(model: type[BaseModel] = Person) -> dict[str, object]:
    return {"structkit_json": json.dumps(model.model_json_schema())}


def test_a_schema_is_enforced_and_the_value_ends(url: str) -> None:
    answer = _ask(url, _schema())
    Person.model_validate_json(answer.message.content)
    assert answer.finish_reason == "stop"


def test_requests_of_a_batch_have_targets_of_their_own(url: str) -> None:
    patterns = {
        "structkit_regex": (r"[a-z]{2,8} \d{3}", r"[a-z]{2,8} \d{3}"),
        "structkit_choice": (["red", "green"], "red|green"),
        "structkit_grammar": ('start: "(" start ")" | "x"', r"\(*x\)*"),
    }
    calls = [({name: value}, pattern) for name, (value, pattern) in patterns.items()] * 4
    with ThreadPoolExecutor(len(calls) + 4) as pool:
        free = [pool.submit(_ask, url, {}, max_tokens=20) for _ in range(4)]
        found = [pool.submit(_ask, url, each, temperature=1.5, max_tokens=40) for each, _ in calls]
    for call, (_, pattern) in zip(found, calls, strict=True):
        answer = call.result()
        assert re.fullmatch(pattern, answer.message.content), answer
        assert answer.finish_reason == "stop"
    (text,) = {each.result().message.content for each in free}
    assert not any(re.fullmatch(pattern, text) for _, pattern in calls)


def test_preempted_requests_go_on_where_they_were(url: str) -> None:
    items = {"structkit_json": json.dumps({"type": "array", "items": {"type": "integer"}, "minItems": 30})}
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(_ask, url, items, temperature=1, max_tokens=200, seed=seed) for seed in range(8)]
    for call in calls:
        values = json.loads(call.result().message.content)
        assert len(values) >= 30 and all(value == int(value) for value in values)
    with urllib.request.urlopen(f"{url}/metrics") as reply:
        counts = re.findall(r"^vllm:num_preemptions_total\S* (\S+)", reply.read().decode(), re.MULTILINE)
    assert sum(map(float, counts)) > 0


def test_the_target_begins_behind_the_thinking(url: str) -> None:
    color = {"vllm_xargs": {"structkit_choice": ["red", "green"]}}
    with _client(url) as (client, model):

        def write(prompt: str, bias: dict[str, int]) -> str:
            options: Any = {"max_tokens": 8, "temperature": 0, "extra_body": color, "logit_bias": bias}
            return str(client.completions.create(model=model, prompt=prompt, **options).choices[0].text)

        body = json.dumps({"model": model, "prompt": ";", "add_special_tokens": False}).encode()
        request = urllib.request.Request(f"{url}/tokenize", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            (semicolon,) = json.load(reply)["tokens"]
        assert re.fullmatch("red|green", write("Ana.", {}))
        assert re.fullmatch(";(red|green)", write("Ana. Think.", {str(semicolon): 100}))
        # Without a semicolon the thinking does not end, and nothing is masked.
        assert not re.match("red|green", write("Ana. Think.", {str(semicolon): -100}))


def test_a_value_is_complete_within_max_tokens(url: str) -> None:
    for limit in (16, 24, 40):
        answer = _ask(url, _schema(), temperature=1.5, max_tokens=limit)
        Person.model_validate_json(answer.message.content)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            {"structkit_json": '{"type": "integer", "minimum": 3, "maximum": 1}'},
            {},
            "minimum|maximum|no value",
        ),
        ({"structkit_json": "{"}, {}, "not JSON"),
        ({"structkit_regex": "("}, {}, "regex|pattern|\\("),
        ({"structkit_other": "a"}, {}, "unknown argument"),
        ({"structkit_regex": "a"}, {"min_tokens": 3}, "min_tokens and a target of structkit"),
    ],
)
def test_a_bad_request_gets_status_400_and_harms_no_other(
    url: str, arguments: dict[str, object], options: dict[str, object], message: str
) -> None:
    with _client(url) as (client, model), pytest.raises(openai.BadRequestError, match=message):
        client.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": PROMPT}],
            extra_body={"vllm_xargs": arguments} | options,
        )
    assert _ask(url, {"structkit_choice": ["fine"]}).message.content == "fine"
