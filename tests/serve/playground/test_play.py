"""Requests of the playground, and what is shown of a target and of a result."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

import structkit as sk
from structkit.limits import Limits
from structkit.serve.bounds.api_error import ApiError
from structkit.serve.bounds.config import ServerConfig
from structkit.serve.playground import play
from structkit.serve.playground.play import read_play
from structkit.serve.playground.record import Forbidden
from structkit.serve.read.fields import Fields
from structkit.targets.explain import Explanation, KeywordRow
from structkit.targets.specs import Regex
from structkit.testing import RandomModel

BODY = {"kind": "regex", "target": "a+", "prompt": "x"}


def test_a_request_without_options_is_greedy_and_short() -> None:
    for most, tokens in ((1_000, 256), (257, 256), (256, 256), (255, 255)):
        config = ServerConfig(max_tokens=most)
        found = read_play(Fields(BODY), config)
        assert found.constraint.target(Limits()) == Regex("a+") and found.prompt == "x"
        assert found.limits == found.options["limits"] == config.target_limits
        assert (found.options["max_tokens"], found.options["temperature"]) == (tokens, 0.0)
        assert found.options["confidence"] and found.options["prompt_lookup"]
        assert not found.options["trace_content"] and "seed" not in found.options


def test_options_within_bounds_are_read() -> None:
    config = ServerConfig(max_tokens=9)
    for name, least, most in (("max_tokens", 1, 9), ("temperature", 0, 2), ("seed", 0, 2**63 - 1)):
        for value in (least, most):
            assert read_play(Fields({**BODY, name: value}), config).options[name] == value
        for value in (least - 1, most + 1):
            with pytest.raises(ApiError, match=f"^{name} must be from "):
                read_play(Fields({**BODY, name: value}), config)


def test_a_schema_is_a_json_object() -> None:
    found = read_play(
        Fields({**BODY, "kind": "schema", "target": json.dumps({"type": "null"})}), ServerConfig()
    )
    target = found.constraint.target(Limits())
    assert isinstance(target, sk.JsonSchema) and target.schema == {"type": "null"}
    for text, fault in (("[", "the schema is not JSON: "), ("[]", "the schema must be a JSON object")):
        with pytest.raises(ApiError, match=f"^{fault}") as error:
            read_play(Fields({**BODY, "kind": "schema", "target": text}), ServerConfig())
        assert (error.value.param, error.value.status, error.value.code) == ("target", 400, "invalid_value")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"prompt": None}, "prompt is required"),
        ({"target": ""}, "target is required: a JSON Schema, a regex or a grammar"),
        ({"kind": None}, "kind must be 'schema', 'regex' or 'grammar'"),
    ],
)
def test_what_lacks_is_named(changes: dict[str, object], fault: str) -> None:
    with pytest.raises(ApiError, match=f"^{fault}$"):
        read_play(Fields({**BODY, **changes}), ServerConfig())


@pytest.mark.parametrize("count", [20_000, 20_001])
def test_a_long_regex_is_cut_and_says_its_length(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(play, "format_regex", lambda *_: "a" * count)
    regex = play._described(Regex("a"), Limits())["regex"]
    assert regex == "a" * 20_000 + (" ... (20,001 characters)" if count > 20_000 else "")


@pytest.mark.parametrize("count", [499, 500, 501, 503])
def test_up_to_500_keywords_and_findings_are_shown(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    rows = [KeywordRow(f"$.{number}", "type", "enforced", "why") for number in range(count)]
    found = Explanation("x", tuple(rows), None, tuple(range(count)))
    monkeypatch.setattr(play, "explain_target", lambda *_, **__: found)
    shown = play._described(Regex("a"), Limits())
    assert shown["rows"] == [
        {"path": f"$.{number}", "keyword": "type", "how": "enforced", "reason": "why"}
        for number in range(min(count, 500))
    ]
    assert shown["hidden_rows"] == (count - 500 if count > 500 else 0)
    assert shown["findings"] == [*map(str, range(min(count, 500)))]


def test_a_target_that_is_refused_has_no_regex_and_no_states() -> None:
    shown = play._described({"type": "array", "not": {"uniqueItems": True}}, Limits())
    assert str(shown["regex"]).startswith("(none: ") and shown["states"] is None
    assert {row["how"] for row in shown["rows"]} == {"enforced", "refused"}
    assert play._described(Regex("ab"), Limits())["states"] == 3


def _token(text: bytes, **more: object) -> SimpleNamespace:
    plain = {"forced": False, "drafted": False, "logprob": -0.123456, "masked_probability": 0.654321}
    return SimpleNamespace(text=text, **{**plain, **more})


def test_the_tokens_of_a_result() -> None:
    tokens = [
        _token(b"caf\xc3"),
        _token(b"b", drafted=True, logprob=-float("inf")),
        _token(b"c", forced=True, drafted=True, logprob=0.0, masked_probability=0.0),
    ]
    usage = SimpleNamespace(prompt_tokens=7, model_seconds=1.000049, mask_seconds=0.1)
    result: Any = SimpleNamespace(events=tokens, usage=usage, text="x", finish_reason="stop")
    size = len(RandomModel(seed=1).vocabulary.tokens)
    likely = {7: (Forbidden(0x61, 0.123456), Forbidden(size, 0.1)), 9: (Forbidden(0x62, 0.5),)}
    recorder: Any = SimpleNamespace(at=lambda position: likely.get(position, ()))
    end = play._end(result, recorder, RandomModel(seed=1))
    assert (end["type"], end["text"], end["finish_reason"], end["seconds"]) == ("result", "x", "stop", 1.1)
    first, second, third = end["tokens"]
    assert first == {
        "text": "caf\\xc3",
        "kind": "sampled",
        "logprob": -0.1235,
        "masked": 0.6543,
        "forbidden": [["a", 0.1235], ["", 0.1]],
    }
    assert (second["kind"], second["logprob"], second["forbidden"]) == ("drafted", -9999.0, [])
    assert (third["kind"], third["logprob"], third["forbidden"]) == ("forced", 0, [])
    usage.model_seconds = 0.00006
    assert play._end(result, recorder, RandomModel(seed=1))["seconds"] == 0.1001
