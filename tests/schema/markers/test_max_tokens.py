"""Which numbers of tokens a field can have."""

from __future__ import annotations

from typing import Any

import pytest

import structkit as sk


@pytest.mark.parametrize("tokens", [True, "3", 2.0, None])
def test_other_types_are_refused(tokens: Any) -> None:
    with pytest.raises(TypeError, match="must be an integer"):
        sk.MaxTokens(tokens)


@pytest.mark.parametrize("tokens", [0, -1])
def test_no_field_has_no_tokens(tokens: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        sk.MaxTokens(tokens)
    assert sk.MaxTokens(1).tokens == 1
