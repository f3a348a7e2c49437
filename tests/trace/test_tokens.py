"""The spans and notes of generated tokens and of replies."""

from __future__ import annotations

from structkit.generate.output.token import Token
from structkit.generate.output.trace import token_spans


def test_each_token_has_its_kind_and_its_details() -> None:
    tokens = [
        Token(7, b"{", True, 0.0, 0.0),
        Token(9, b"a", False, -1.25, 0.5),
    ]
    spans = list(token_spans(tokens))
    assert [(span.kind, span.text) for span in spans] == [("forced", "{"), ("sampled", "a")]
    assert spans[0].detail == "token 7"
    assert spans[1].detail == "token 9, log-probability -1.25, 50% masked"
