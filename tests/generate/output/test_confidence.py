"""Confidence, compared with the chain rule of probability."""

from __future__ import annotations

import json
import math
import re
import warnings
from enum import Enum
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import structkit as sk
from structkit.models.single_row import SingleRowBatch
from structkit.schema.json_schema.parse import parse_schema
from structkit.schema.view.choices import choices_at
from structkit.testing import RandomModel, ScriptedModel, small_vocabulary

SMALL = small_vocabulary()


class Urgency(Enum):
    LOW = "low"
    LOWER = "lower"
    HIGH = "high"


class Ticket(BaseModel):
    title: str
    urgency: Urgency
    open: bool
    owner: str | None


def _log_softmax(row: np.ndarray) -> np.ndarray:
    row = row.astype(np.float64)
    return row - row.max() - np.log(np.exp(row - row.max()).sum())


@settings(deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_a_choice_has_the_probabilities_of_its_texts(seed: int, forced: bool) -> None:
    """The quote is forced; "lower" continues "low" if both start with the same tokens."""
    chances = sk.classify(RandomModel(seed, SMALL), "x", Urgency, include_schema=False, fast_forward=forced)
    assert set(chances) == set(Urgency)
    assert list(chances.values()) == sorted(chances.values(), reverse=True)
    assert sum(chances.values()) == pytest.approx(1)
    model = RandomModel(seed, SMALL)
    prompt = model.encode("x")
    quoted = [] if not forced else model.encode_text('"')
    token_ids = {u: model.encode_text(u.value if forced else f'"{u.value}') for u in Urgency}

    def chance(tokens: list[int]) -> float:
        session = RandomModel(seed, SMALL).session()
        fed, total = [*prompt, *quoted], 0.0
        for token in tokens:
            total += _log_softmax(session.logits(fed))[token]
            fed = [token]
        return math.exp(total)

    expected = {u: chance(tokens) for u, tokens in token_ids.items()}
    low, lower = token_ids[Urgency.LOW], token_ids[Urgency.LOWER]
    if lower[: len(low)] == low:
        expected[Urgency.LOW] -= expected[Urgency.LOWER]
    total = sum(expected.values())
    assert chances == pytest.approx({u: value / total for u, value in expected.items()}, abs=1e-6)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0]))
def test_fields_have_the_probabilities_of_their_tokens(seed: int, temperature: float) -> None:
    result = sk.generate(
        RandomModel(seed, SMALL, brevity=6), "x", Ticket, temperature=temperature, seed=seed, max_tokens=120
    )
    assert set(result.confidence) == {"$", "title", "urgency", "open", "owner"}
    assert result.confidence["$"].logprob == pytest.approx(sum(token.logprob for token in result.events))
    assert b"".join(token.text for token in result.events).decode() == result.text
    assert sum(token.forced for token in result.events) == result.usage.forced_tokens
    assert all(token.logprob == token.masked_probability == 0 for token in result.events if token.forced)
    assert all(token.logprob <= 1e-6 and 0 <= token.masked_probability <= 1 for token in result.events)
    assert 0 <= result.pressure <= 1
    values = json.loads(result.text)
    # The keys are in the order of the class, and the title, which is first, cannot contain an unescaped quote.
    at = 0
    for name in ("title", "urgency", "open", "owner"):
        begin = result.text.index(f'"{name}": ', at) + len(f'"{name}": ')
        _, end = json.JSONDecoder().raw_decode(result.text, begin)
        first, last, at = len(result.text[:begin].encode()), len(result.text[:end].encode()), end
        written, tokens = 0, []
        for token in result.events:
            if written < last and written + len(token.text) > first:
                tokens.append(token)
            written += len(token.text)
        confidence = result.confidence[name]
        assert confidence.logprob == pytest.approx(sum(token.logprob for token in tokens))
        assert confidence.masked_probability == max(token.masked_probability for token in tokens)
    for name in ("urgency", "open", "owner"):
        choices = result.confidence[name].choices
        assert choices is not None
        assert sum(choices.values()) == pytest.approx(1)
        assert values[name] in choices or ... in choices
    assert set(result.confidence["owner"].choices or {}) == {None, ...}


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_forced_value_is_certain_whether_or_not_it_is_appended(seed: int, forced: bool) -> None:
    """The model may spell the constant in several ways, and its text stays the same."""

    class Call(BaseModel):
        name: Literal["then the next"]
        open: bool

    result = sk.generate(
        RandomModel(seed, SMALL), "x", Call, include_schema=False, fast_forward=forced, max_tokens=60
    )
    name = result.confidence["name"]
    assert (name.logprob, name.unmasked_logprob, name.masked_probability) == (0, 0, 0)
    assert result.confidence["open"].logprob < 0


def test_without_confidence_there_are_no_logprobs() -> None:
    result = sk.generate(ScriptedModel(["true"]), "x", bool, confidence=False)
    assert result.confidence == {}
    assert all(token.logprob == 0 for token in result.events)


def test_confidence_does_not_change_the_tokens() -> None:
    pytest.importorskip("transformers", reason="needs transformers")
    model, text = sk.load(), "Ana Souza, 34, works as a nurse in Porto."
    plain = sk.generate(model, text, Ticket, confidence=False, max_tokens=80)
    scored = sk.generate(model, text, Ticket, max_tokens=80)
    assert scored.token_ids == plain.token_ids
    together = sk.generate_many(model, [text] * 3, Ticket, confidence=True, max_tokens=80)
    for each in together:
        assert each.token_ids == plain.token_ids
        for path, expected in scored.confidence.items():
            assert each.confidence[path].logprob == pytest.approx(expected.logprob, abs=1e-3)
            if expected.choices:
                assert each.confidence[path].choices == pytest.approx(expected.choices, abs=1e-3)


def test_classify_takes_targets_with_enumerable_values() -> None:
    assert next(iter(sk.classify(ScriptedModel(["no"]), "x", sk.Choice(["yes", "no"])))) == "no"
    assert next(iter(sk.classify(ScriptedModel(["2"]), "x", Literal[1, 2]))) == 2
    with pytest.raises(sk.SchemaError, match="not a finite set of values"):
        sk.classify(ScriptedModel([]), "x", str)
    with pytest.raises(sk.SchemaError, match="not a finite set of values"):
        sk.classify(ScriptedModel([]), "x", str | None)
    assert next(iter(sk.classify(ScriptedModel(["true"]), "x", bool))) is True


def test_the_only_option_is_certain() -> None:
    assert sk.classify(ScriptedModel([]), "x", sk.Choice(["a"])) == {"a": 1.0}


@pytest.mark.parametrize("target", [Literal[1, True], sk.Choice([{"a": 1}, "a"])])
def test_classify_refuses_members_without_unique_keys(target: object) -> None:
    with pytest.raises(sk.SchemaError, match="cannot be keys of a dict"):
        sk.classify(ScriptedModel([]), "x", target)


class Same(Enum):
    ONE = 1
    ALSO = "1"


class Mixed(BaseModel):
    x: Literal[1, True, "true", None]


@pytest.mark.parametrize("seed", range(5))
def test_members_equal_in_python_stay_distinct(seed: int) -> None:
    result = sk.generate(RandomModel(seed, SMALL), "x", Mixed, include_schema=False)
    choices = result.confidence["x"].choices
    assert choices is not None
    assert set(choices) == {"1", "true", '"true"', "null"}
    assert sum(choices.values()) == pytest.approx(1)
    listed = sk.generate(RandomModel(seed, SMALL), "x", sk.Choice([[1], 1, "[1]"]), include_schema=False)
    assert set(listed.confidence["$"].choices or {}) == {"[1]", "1", '"[1]"'}
    assert set(sk.classify(RandomModel(seed, SMALL), "x", Same)) == set(Same)


def test_enum_members_that_look_like_json() -> None:
    class Flag(Enum):
        ONE = "1"
        YES = "true"

    chances = sk.classify(ScriptedModel(['"true"']), "x", Flag)
    assert next(iter(chances)) is Flag.YES
    assert sum(chances.values()) == pytest.approx(1)


@pytest.mark.parametrize("texts", [["...", "no"], ["no", "...", "Ellipsis"], ["null", "..."]])
def test_an_ellipsis_text_is_not_ellipsis(texts: list[str]) -> None:
    chances = sk.classify(RandomModel(2, SMALL), "x", sk.Choice(texts))
    assert set(chances) == set(texts)
    assert sum(chances.values()) == pytest.approx(1)
    result = sk.generate(ScriptedModel(["..."]), "x", sk.Choice(texts), include_schema=False)
    assert result.value == "..."
    assert next(iter(result.confidence["$"].choices or {})) == "..."
    stream = sk.stream(ScriptedModel(["..."]), "x", sk.Choice(texts))
    assert [stream.partial for _ in stream][-1] == "..."


@pytest.mark.parametrize(
    ("schema", "path", "texts"),
    [
        ({"enum": [1, "a", None]}, [], ("1", '"a"', "null")),
        ({"enum": ["a"]}, [], None),
        ({"type": "array", "items": {"type": "boolean"}}, [7], ("true", "false")),
        ({"prefixItems": [{"enum": [1, 2]}], "items": False}, [0], ("1", "2")),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"enum": [5]}, {"type": "null"}]}}},
            [],
            ("5", "null"),
        ),
        ({"type": ["string", "null"]}, [], ("null", ...)),
        ({"type": ["string", "integer"]}, [], None),
        ({"properties": {"a": {"enum": list(range(300))}}}, ["a"], None),
        ({"properties": {"a": {}}}, ["b", 3], None),
        ({"properties": {"a": {}}, "additionalProperties": {"enum": [1, 2]}}, ["b"], ("1", "2")),
    ],
)
def test_choices_at_a_path(
    schema: dict[str, object], path: list[str | int], texts: tuple[object, ...] | None
) -> None:
    assert choices_at(parse_schema(schema), path) == texts


def test_long_members_have_a_probability() -> None:
    long = "the quick brown fox jumps over it " * 30
    chances = sk.classify(RandomModel(1), "x", sk.Choice(["a" + long, "b" + long]))
    assert sum(chances.values()) == pytest.approx(1)


def test_members_must_be_keys() -> None:
    with pytest.raises(sk.SchemaError, match="keys"):
        sk.classify(RandomModel(1), "x", sk.Choice(["none", [2, 3]]))


def test_probabilities_of_a_choice_add_up_to_one() -> None:
    assert sum(sk.classify(RandomModel(1), "x", bool).values()) == pytest.approx(1)


def test_members_longer_than_the_context_are_skipped() -> None:
    pytest.importorskip("transformers", reason="needs transformers")
    model = sk.load()
    target = Literal["yes", "a very long answer that is longer than the context, so that it is skipped"]
    model.context_length = len(model.encode("Is it? yes")) + 5
    results = [
        sk.generate(model, "Is it? yes", target, include_schema=False, confidence=scored)
        for scored in (False, True)
    ]
    assert [result.value for result in results] == ["yes", "yes"]


def test_a_member_without_a_logit_has_probability_zero() -> None:
    wide = RandomModel(1, SMALL)
    rows = SingleRowBatch(wide)
    rows.add([[97]])
    session = rows._active_session
    logits = session.logits
    session.logits = lambda token_ids: logits(token_ids)[:256]  # type: ignore[method-assign]
    assert rows.score(0, [[1, 300], [1, 2]])[0][1] == -np.inf


@pytest.mark.parametrize(("preferred", "warned"), [("true", False), ("maybe", True)])
def test_low_agreement_warns(preferred: str, warned: bool) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = sk.generate(ScriptedModel([preferred], strict=False), "x", bool, include_schema=False)
        sk.generate(
            ScriptedModel([preferred], strict=False), "x", bool, include_schema=False, confidence=False
        )
        list(sk.stream(ScriptedModel([preferred], strict=False), "x", bool, include_schema=False))
    assert (result.pressure > 0.5) is warned
    assert [each.category for each in caught] == [sk.LowAgreementWarning] * (2 * warned)


def test_random_models_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sk.generate(RandomModel(3), "x", list[bool], max_tokens=20).pressure > 0.5


def test_a_path_that_no_value_has_names_the_near_one() -> None:
    result = sk.generate(ScriptedModel(['{"age": 34, "b": [1]}']), "x", dict[str, int | list[int]])
    for path, meant in (
        ("$.age", "age"),
        ("agee", "age"),
        (("b", 0), "b[0]"),
        ("/b", "b"),
        ("$.b[0]", "b[0]"),
    ):
        with pytest.raises(KeyError, match=rf"no value has the path .*; write '{re.escape(meant)}'"):
            result.confidence[path]  # type: ignore[index]
    with pytest.raises(KeyError, match=r"'job'; the paths are '\$', 'age', 'b', 'b\[0\]'"):
        result.confidence["job"]
    with pytest.raises(KeyError, match=r"'age'; the paths are none, without confidence=True or a Quote"):
        result.spans["age"]
    assert "job" not in result.confidence
    assert result.confidence.get("job") is None


@pytest.mark.parametrize("confidence", [False, True])
def test_the_picture_of_a_result_says_how_to_get_its_confidence_unless_it_has_it(confidence: bool) -> None:
    shown = sk.generate(RandomModel(0), "x", bool, confidence=confidence)._repr_html_()
    assert ("confidence=True" in shown) != confidence
