"""The vLLM plug-in without vLLM: arguments of requests, and the masks of its rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import structkit as sk
from structkit.integrations.vllm.arguments import check_params, read_target, target_key
from structkit.integrations.vllm.rows import Guides, Row
from structkit.testing import byte_vocabulary

V = byte_vocabulary()
END = V.eos_token_ids[0]
ALL = list(range(V.size))
COLOR = json.dumps({"structkit_choice": ["red", "green"]})


def _params(**given: object) -> Any:
    return SimpleNamespace(**{"extra_args": None, "max_tokens": None} | given)


def _allowed(guides: Guides, rows: Sequence[Row | None]) -> list[list[int]]:
    out = np.zeros((len(rows), V.mask_words), np.uint32)
    guides.fill_masks(rows, out)
    bits = np.unpackbits(out.view(np.uint8), axis=1, bitorder="little")[:, : V.size]
    return [np.flatnonzero(row).tolist() for row in bits]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"structkit_json": '{"const": "a"}'}, b'"a"'),
        ({"structkit_json": {"const": [1, 2]}}, b"[1, 2]"),
        ({"structkit_regex": "a{3}"}, b"aaa"),
        ({"structkit_choice": ["yes"]}, b"yes"),
        ({"structkit_grammar": 'start: "a" start "b" | "c"'}, b"aacbb"),
    ],
)
def test_a_target_of_each_kind(arguments: dict[str, object], text: bytes) -> None:
    params = _params(extra_args=arguments)
    check_params(params)
    key = target_key(params)
    assert key is not None
    guides = Guides(V)
    row = Row(guides.guide(key))
    row.read([*text])
    assert _allowed(guides, [row]) == [[END]]
    assert guides.guide(key) is guides.guide(key)


def test_a_request_cannot_read_files(tmp_path: Path) -> None:
    """Whoever may send requests may not see the files of the server, also not in an error."""
    secret = tmp_path / "secret.lark"
    secret.write_text("password: [[[")
    keyword = {"type": "string", "x-structkit-grammar": ["start: x", str(secret), "lark", []]}
    imported = "%import .secret.A\nstart: A"
    for extra in (
        {"structkit_grammar": str(secret)},
        {"structkit_grammar": "/none/such.lark"},
        {"structkit_grammar": imported},
        {"structkit_json": {"properties": {"a": keyword}}},
        {"structkit_json": json.dumps(keyword)},
    ):
        with pytest.raises(ValueError, match=r".") as raised:
            check_params(_params(extra_args=extra))
        assert "password" not in str(raised.value)


def test_requests_without_a_target_are_not_read() -> None:
    for extra in (None, {}, {"kv_transfer_params": {}}):
        params = _params(extra_args=extra, min_tokens=5)
        check_params(params)
        assert target_key(params) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"structkit_jsno": "{}"}, "unknown argument 'structkit_jsno'\n  write one of structkit_json"),
        ({"structkit_json": "{}", "structkit_regex": "a"}, "a request has one target"),
        ({"structkit_json": '{"type":'}, "structkit_json is not JSON"),
        ({"structkit_json": 5}, "must be a JSON Schema, not int"),
        ({"structkit_json": {"type": "integer", "minimum": 3, "maximum": 1}}, "3|1"),
        ({"structkit_regex": "("}, "\\^|unterminated|parenthesis"),
        ({"structkit_regex": 5}, "structkit_regex is not a text but int"),
        ({"structkit_choice": "yes"}, "structkit_choice is not a list of texts"),
        ({"structkit_choice": []}, "at least one option"),
        ({"structkit_grammar": 'start: "a" other'}, "other"),
    ],
)
def test_a_bad_target_is_refused_before_the_engine_sees_it(
    arguments: dict[str, object], message: str
) -> None:
    for _ in range(2):  # the second answer comes from the cache
        with pytest.raises(ValueError, match=message):
            check_params(_params(extra_args=arguments))


@pytest.mark.parametrize(
    ("name", "value"),
    [("min_tokens", 3), ("ignore_eos", True), ("allowed_token_ids", [1]), ("bad_words", ["a"])],
)
def test_parameters_that_contradict_a_target_are_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name} and a target of structkit exclude each other"):
        check_params(_params(extra_args={"structkit_regex": "a"}, **{name: value}))


def test_rows_of_a_batch_are_independent() -> None:
    guides = Guides(V)
    bad = Row(guides.guide('{"structkit_regex": "("}'))
    wrong = Row(guides.guide(COLOR))
    wrong.read(b"x")
    good = Row(guides.guide(COLOR))
    good.read(b"gr")
    assert bad.error is not None and isinstance(wrong.error, sk.TokenRejected)
    assert _allowed(guides, [bad, None, good, wrong]) == [[END], ALL, [ord("e")], [END]]
    assert _allowed(guides, [None, bad]) == [ALL, [END]]


def test_a_value_ends_within_max_tokens() -> None:
    guides = Guides(V)
    guide = guides.guide('{"structkit_regex": "a+;"}')
    row = Row(guide, 4)  # two letters, the semicolon, the end
    seen = []
    for _ in range(4):
        (allowed,) = _allowed(guides, [row])
        seen.append(allowed[-1])
        row.read([allowed[-1]])
    assert bytes(seen[:3]) == b"aa;" and seen[3] == END
    # Without room for the end token, the value fits exactly.
    tight = Row(guide, 2)
    tight.read(b"a")
    assert _allowed(guides, [tight]) == [[ord(";")]]
    for left in (1, 0, 0):
        assert tight.budget == left
        tight.read(b";")
    short = Row(guide, 1)
    assert short.budget is None and _allowed(guides, [short]) == [[ord("a")]]


def test_a_target_begins_behind_the_thinking() -> None:
    guides = Guides(V)
    calls: list[list[int]] = []

    def ends(tokens: Sequence[int], last: Sequence[int]) -> bool:
        calls.append(list(tokens))
        return list(last) == [ord(">")]

    row = Row(guides.guide(COLOR), 20, prompt=b"p", end_of_thinking=ends)
    row.read(b"hm")
    assert row.is_thinking and _allowed(guides, [row]) == [ALL]
    row.read(b">gre")
    assert not row.is_thinking and _allowed(guides, [row]) == [[ord("e")]]
    assert bytes(calls[-1]) == b"phm>"
    # A request whose target fails ends at once.
    failed = Row(guides.guide('{"structkit_regex": "("}'), prompt=b"p", end_of_thinking=ends)
    assert _allowed(guides, [failed]) == [[END]]


def test_reading_again_gives_the_same_mask() -> None:
    guides = Guides(V)
    guide = guides.guide(json.dumps({"structkit_json": {"type": "array", "items": {"type": "integer"}}}))
    text = b"[1, 22, -3"
    one = Row(guide, 60)
    for token in text:
        one.read([token])
    again = Row(guide, 60)
    again.read(text)
    assert _allowed(guides, [one]) == _allowed(guides, [again]) and one.budget == again.budget


def test_tokens_after_the_end_and_placeholders() -> None:
    guides = Guides(V)
    row = Row(guides.guide(COLOR))
    row.read([*b"red", END, END])
    assert row.error is None and _allowed(guides, [row]) == [[END]]
    row = Row(guides.guide(COLOR))
    row.read([ord("r"), -1])
    assert isinstance(row.error, sk.TokenRejected) and _allowed(guides, [row]) == [[END]]


def test_the_target_of_a_key() -> None:
    assert read_target(COLOR) == sk.Choice(["red", "green"])
