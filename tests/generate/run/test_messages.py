"""Messages before and after a generation: a full context, an empty prompt, and the line that a warning points to."""

from __future__ import annotations

import logging
import sys

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.generate.output.confidence import warn_low_agreement
from structkit.models.text.function import from_function
from tests.docs.blocks import needs_demo


def test_a_context_that_is_full_is_named() -> None:
    pytest.importorskip("transformers", reason="needs transformers")
    model = sk.load()
    with pytest.raises(
        sk.BudgetTooSmall, match=r"leaves 0: of 1024 tokens, .* for thinking\n  pass thinking=\d+"
    ):
        sk.extract(model, "x", int, max_tokens=100, thinking=True)
    with pytest.raises(sk.BudgetTooSmall, match="only 0 are allowed\n  pass max_tokens=1 or more"):
        sk.extract(model, "x", int, max_tokens=0)


class Person(BaseModel):
    name: str
    age: int
    job: str | None = None


def test_an_empty_prompt_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    model = from_function(lambda prompt: "3")
    with caplog.at_level(logging.WARNING, "structkit"):
        assert sk.extract(model, " ", int) == 3
    assert "the prompt is empty" in caplog.text


def test_a_warning_points_to_the_caller() -> None:
    with pytest.warns(sk.LowAgreementWarning) as caught:
        warn_low_agreement(0.9, "int")
    line = sys._getframe().f_lineno - 1
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_a_warning_about_compact_json_names_it() -> None:
    needs_demo()
    with pytest.warns(sk.LowAgreementWarning, match="leave out whitespace='compact', which"):
        sk.generate(sk.load(), "Ana Souza, 34, works as a nurse in Porto.", Person, whitespace="compact")
