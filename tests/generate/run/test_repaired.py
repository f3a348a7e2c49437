"""A repaired value is named: in the result, in the log, and as an error where the caller asks for it."""

from __future__ import annotations

import logging
import math
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from pydantic import AfterValidator, BaseModel, Field, field_validator

import structkit as sk
from structkit.testing import RandomModel, ScriptedModel, small_vocabulary

SMALL = small_vocabulary()
OPTIONS: dict[str, Any] = {"include_schema": False, "max_tokens": 40}


def _not_low(level: str) -> str:
    if level == "low":
        raise ValueError("low is not allowed")
    return level


class Ticket(BaseModel):
    title: str
    level: Annotated[Literal["low", "lower", "high"], AfterValidator(_not_low)]


LOW, HIGH = (f'{{"title": "lamp", "level": "{level}"}}' for level in ("low", "high"))


def test_a_repaired_value_says_what_was_said_what_refused_it_and_what_stands(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "structkit"):
        result = sk.generate(ScriptedModel([LOW, HIGH]), "x", Ticket)
    (repaired,) = result.repaired
    assert (repaired.path, repaired.said, repaired.now) == ("level", '"low"', '"high"')
    assert repaired.refused == "level: low is not allowed"
    assert repaired.probability == pytest.approx(math.exp(result.confidence["level"].unmasked_logprob))
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("level of Ticket was refused by validators")
    assert "high" not in record.getMessage()


def test_the_log_has_the_texts_where_traces_have_content(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "structkit"):
        sk.extract(ScriptedModel([LOW, HIGH]), "x", Ticket, trace_content=True)
    (record,) = caplog.records
    assert """it said '"low"', now '"high"'; refused: level: low is not allowed""" in record.getMessage()


def test_nothing_is_repaired_where_nothing_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    assert sk.generate(ScriptedModel([HIGH]), "x", Ticket).repaired == ()
    assert not caplog.records


def test_a_value_that_vanished_and_a_complete_value() -> None:
    class Box(BaseModel):
        parts: list[Annotated[Literal["low", "high"], AfterValidator(_not_low)]]

        @field_validator("parts")
        @classmethod
        def few(cls, parts: list[str]) -> list[str]:
            if len(parts) > 1:
                raise ValueError("too many")
            return parts

    texts = ['{"parts": ["low"]}', '{"parts": ["high", "high"]}', '{"parts": []}']
    gone, many = sk.generate(ScriptedModel(texts), "x", Box, retries=1 + len(texts)).repaired
    assert (gone.path, gone.said, gone.now) == ("parts[0]", '"low"', None)
    assert (many.path, many.now) == ("parts", "[]")
    assert gone.probability == many.probability

    def refuse(ticket: Ticket) -> None:
        if ticket.title == "lamp":
            raise sk.Retry("no lamps")

    chair = HIGH.replace("lamp", "chair")
    (complete,) = sk.generate(ScriptedModel([HIGH, chair]), "x", Ticket, validate=refuse).repaired
    assert (complete.path, complete.said, complete.now) == ("$", HIGH, chair)


@pytest.mark.parametrize("seed", range(6))
def test_the_probability_is_that_of_the_model_without_mask_and_bans(seed: int) -> None:
    class Level(BaseModel):
        level: Annotated[Literal["low", "high"], AfterValidator(_not_low)]

    result = sk.generate(RandomModel(seed, SMALL), "x", Level, fast_forward=False, **OPTIONS)
    assert result.value == Level.model_construct(level="high")
    model, logprob = RandomModel(seed, SMALL), 0.0
    session = model.session()
    row = session.logits(model.encode("x"))
    for token in result.events:
        row = row.astype(np.float64)
        if not token.forced:
            logprob += row[token.token_id] - np.logaddexp.reduce(row)
        row = session.logits([token.token_id])
    assert result.confidence["$"].unmasked_logprob == pytest.approx(logprob, abs=1e-3)
    for repaired in result.repaired:
        assert repaired.probability == math.exp(result.confidence["level"].unmasked_logprob)
        assert 0 < repaired.probability < 1  # only the ban leaves one text


def test_repair_raise_raises_at_the_first_rejection() -> None:
    with pytest.raises(sk.OutputValidationError, match="low is not allowed") as caught:
        sk.extract(ScriptedModel([LOW, HIGH]), "x", Ticket, repair="raise")
    assert caught.value.attempts == (LOW,)
    assert sk.generate(ScriptedModel([HIGH]), "x", Ticket, repair="raise").repaired == ()


def test_an_improbable_repair_is_an_error_with_both_texts() -> None:
    demo = sk.load() if _has_transformers() else pytest.skip("needs transformers")
    text = "This is Ana Souza. The lamp does not work. No rush."
    kept = sk.generate(demo, text, Ticket, min_repair_probability=1e-30)
    (repaired,) = kept.repaired
    assert repaired.probability is not None
    bound = min(1.0, repaired.probability * 1.01)
    with pytest.raises(
        sk.OutputValidationError, match=r"the repair of level of Ticket to .* has the"
    ) as caught:
        sk.generate(demo, text, Ticket, min_repair_probability=bound)
    assert caught.value.attempts == kept.attempts
    assert caught.value.path == ("level",)
    assert caught.value.text == kept.attempts[0]
    assert caught.value.usage.generated_tokens > 0
    assert sk.extract(demo, text, Ticket, min_repair_probability=repaired.probability * 0.99) == kept.value


def _has_transformers() -> bool:
    pytest.importorskip("transformers", reason="needs transformers")
    return True


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"repair": "never"}, ValueError, "repair must be 'retry' or 'raise', not 'never'"),
        ({"repair": "raise", "retries": 2}, ValueError, "leave out retries=2"),
        ({"min_repair_probability": 1.5}, ValueError, "min_repair_probability must be"),
        ({"min_repair_probability": "high"}, TypeError, "min_repair_probability must be"),
        ({"abstain": -0.1}, ValueError, "abstain must be"),
        ({"abstain": 0.5, "validate": print}, ValueError, "use one of them"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sk.generate(ScriptedModel([HIGH]), "x", Ticket, **options)


@pytest.mark.parametrize("option", ["min_repair_probability", "abstain"])
def test_a_text_model_has_no_probabilities(option: str) -> None:
    with pytest.raises(sk.GenerationError, match=option):
        sk.extract(sk.from_function(lambda prompt: HIGH), "x", Ticket, **{option: 0.5})  # type: ignore[call-overload]


def test_a_text_model_repairs_too() -> None:
    replies = iter([LOW, HIGH])
    result = sk.generate(sk.from_function(lambda prompt: next(replies)), "x", Ticket, retries=1)
    (repaired,) = result.repaired
    assert (repaired.said, repaired.now, repaired.probability) == ('"low"', '"high"', None)


@pytest.mark.parametrize("seed", range(4))
def test_confidence_does_not_change_what_is_sampled_after_a_rejection(seed: int) -> None:
    options = OPTIONS | {"temperature": 1.0, "seed": seed, "retries": 6}

    class Note(BaseModel):
        level: Annotated[Literal["low", "high"], AfterValidator(_not_low)]
        text: Annotated[str, Field(max_length=9)]

    texts = [
        sk.generate(RandomModel(seed, SMALL), "x", Note, confidence=confidence, **options).text
        for confidence in (True, False)
    ]
    assert texts[0] == texts[1]
