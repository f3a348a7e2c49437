"""The tokens of a reply with the most likely tokens at their places, as servers write log-probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from structkit.models.text.scored import ScoredToken

__all__ = ["scored_tokens"]


def scored_tokens(reply: Mapping[str, object]) -> tuple[ScoredToken, ...]:
    """Return the tokens of one object of a reply; none if it has no log-probabilities.

    >>> yes, no = {"token": "yes", "bytes": [121, 101, 115], "logprob": -1.0}, {"token": "no", "logprob": -0.5}
    >>> content = [{**no, "top_logprobs": [yes, no]}]
    >>> scored_tokens({"choices": [{"logprobs": {"content": content}}]})
    (ScoredToken(text=b'no', likely=(b'no', b'yes')),)
    >>> scored_tokens({"choices": [{"logprobs": {"tokens": ["a"], "top_logprobs": [{"a": -1.0, "b": -2.0}]}}]})
    (ScoredToken(text=b'a', likely=(b'a', b'b')),)
    >>> scored_tokens({})
    ()
    """
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    found = choice.get("logprobs") if isinstance(choice, Mapping) else None
    if not isinstance(found, Mapping):
        return ()
    content = found.get("content")
    return tuple(_of_chat(content) if isinstance(content, list) else _of_completion(found))


def _of_chat(content: list[object]) -> Iterator[ScoredToken]:
    for each in content:
        if isinstance(each, Mapping):
            top = each.get("top_logprobs")
            ranked = [
                (_number(one.get("logprob")), _bytes(one))
                for one in (top if isinstance(top, list) else ())
                if isinstance(one, Mapping)
            ]
            yield ScoredToken(_bytes(each), _sorted(ranked))


def _of_completion(found: Mapping[str, object]) -> Iterator[ScoredToken]:
    tokens, top = found.get("tokens"), found.get("top_logprobs")
    if not isinstance(tokens, list) or not isinstance(top, list):
        return
    for token, ranked in zip(tokens, top, strict=False):
        pairs = ranked.items() if isinstance(ranked, Mapping) else ()
        likely = _sorted([(_number(logprob), str(text).encode(errors="replace")) for text, logprob in pairs])
        yield ScoredToken(str(token).encode(errors="replace"), likely)


def _bytes(token: Mapping[str, object]) -> bytes:
    """Return the bytes of a token; those of its text if the server does not say them."""
    found = token.get("bytes")
    if isinstance(found, list) and all(type(each) is int and 0 <= each < 256 for each in found):
        return bytes(found)
    return str(token.get("token") or "").encode(errors="replace")


def _number(logprob: object) -> float:
    is_number = isinstance(logprob, (int, float)) and logprob == logprob
    return float(logprob) if is_number else float("-inf")  # type: ignore[arg-type]


def _sorted(ranked: list[tuple[float, bytes]]) -> tuple[bytes, ...]:
    return tuple(text for _, text in sorted(ranked, key=lambda each: -each[0]))
