"""What is left for another attempt."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

import structkit as sk
from structkit.generate.run.request import _retry_settings
from structkit.testing import byte_vocabulary

GUIDE = sk.compile(bool, byte_vocabulary())


@dataclass(frozen=True)
class _Settings:
    charge_discarded: bool
    max_tokens: int | None
    max_thinking_tokens: int


def _left(settings: _Settings, *, discarded: int, written: int, thought: int) -> Any:
    generated = SimpleNamespace(discarded_tokens=discarded, token_ids=[0] * written, thinking_tokens=thought)
    return _retry_settings(settings, generated, GUIDE)  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [_Settings(False, 10, 5), _Settings(True, None, 5)])
def test_an_attempt_that_is_not_charged_has_the_same_settings(settings: _Settings) -> None:
    assert _left(settings, discarded=50, written=50, thought=50) is settings


def test_what_earlier_attempts_wrote_is_charged() -> None:
    assert _left(_Settings(True, 20, 9), discarded=7, written=5, thought=4) == _Settings(True, 8, 5)
    assert _left(_Settings(True, 20, 0), discarded=7, written=9, thought=0) == _Settings(True, 4, 0)


@pytest.mark.parametrize(
    ("discarded", "written", "thought"), [(7, 10, 0), (7, 13, 0), (20, 20, 0), (0, 0, 9), (0, 0, 10)]
)
def test_there_is_no_attempt_for_which_no_value_or_no_thought_fits(
    discarded: int, written: int, thought: int
) -> None:
    assert _left(_Settings(True, 20, 9), discarded=discarded, written=written, thought=thought) is None
