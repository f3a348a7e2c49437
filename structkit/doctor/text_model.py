"""What a model that returns text can do, by tiny real requests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import NamedTuple

from structkit.doctor.check import PERSON, Check
from structkit.errors import GenerationError
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.run.batch import run
from structkit.generate.threads.reply import Reply
from structkit.models.capabilities import Constraint
from structkit.models.text.protocol import NativeConstraint, SupportsTokenIds, TextModel, TextRequest
from structkit.models.text.scored import ScoredText, ScoredToken

__all__ = ["check_text_model"]

_MAX_TOKENS = 24

_PREFIX = "one, two, three, four,"
_PREFIX_LENGTH = 8
"""Characters of a reply that the next request goes on from."""

_COUNT = "Count from one to nine in words."

_CODE = "zq-7314"
"""A text that no model writes by chance."""

_CONSTRAINTS: dict[Constraint, NativeConstraint] = {
    "grammar": NativeConstraint("grammar", f'root ::= "{_CODE}"'),
    "regex": NativeConstraint("regex", _CODE),
    "json_schema": NativeConstraint(
        "json_schema",
        schema={
            "type": "object",
            "properties": {"code": {"type": "string", "enum": [_CODE]}},
            "required": ["code"],
            "additionalProperties": False,
        },
    ),
}


class _Said(NamedTuple):
    """A reply, as far as it was read, the error that ended it, the seconds until its first text, and its tokens."""

    text: str
    error: GenerationError | None
    seconds: float
    tokens: tuple[ScoredToken, ...]


def check_text_model(model: TextModel) -> Iterator[Check]:
    """Yield what a model that returns text can do; six requests at most, each of a few tokens.

    Yields:
        Whether it replies, ranks its tokens, returns and takes their ids, continues the start of an answer, obeys its
        constraints, and gives a value.
    """
    said = _ask(model, TextRequest(prompt=_COUNT, max_tokens=_MAX_TOKENS))
    if said.error is not None and not said.text:
        remedy = "see the log of the server, and `structkit doctor` for this machine"
        yield Check(name="reply", status="no", found=str(said.error), remedy=remedy)
        return
    if said.text.strip():
        yield Check(
            name="reply", status="yes", found=f"{said.text[:40]!r}, the first text after {said.seconds:.2f} s"
        )
    else:
        remedy = (
            "raise the maximum number of tokens of the server, or switch reasoning off, which can use it up"
        )
        yield Check(name="reply", status="no", found="it is empty", remedy=remedy)
    yield _check_ranked(model, said)
    yield _check_ids(model, said)
    yield _check_prefix(model)
    for kind in sorted(model.capabilities.constraints):
        yield _check_constraint(model, kind)
    if not model.capabilities.constraints:
        yield Check(
            name="constraint",
            status="missing",
            found="none is known, so replies are corrected",
            remedy='if the server enforces one, pass constrain="grammar", "regex" or "json_schema"',
        )
    yield _check_value(model)


def _check_ranked(model: TextModel, said: _Said) -> Check:
    """Check whether the reply names the likely tokens."""
    name = "likely tokens"
    count = max((len(token.likely) for token in said.tokens), default=0)
    if count > 1:
        what = f"{count} at each place, with log-probabilities; a cut reply goes on with the most likely one"
        return Check(name=name, status="yes", found=what)
    if model.capabilities.logits == "some":
        remedy = (
            "values stay valid, and cost more corrections; switch log-probabilities on, or update the server"
        )
        return Check(name=name, status="no", found="the reply names none", remedy=remedy)
    is_refused = "logprobs" in getattr(model, "refused", ())
    found = "refused" if is_refused else "none are known, so a cut reply is followed by another request"
    remedy = (
        "values stay valid; a server with log-probabilities, or with a constraint, needs fewer corrections"
    )
    return Check(name=name, status="missing", found=found, remedy=remedy)


def _check_ids(model: TextModel, said: _Said) -> Check:
    """Check whether the reply has the ids of its tokens, and a request can go on from them."""
    name = "token ids"
    if not (model.capabilities.token_ids and isinstance(model, SupportsTokenIds)):
        found = "none are known, so a correction goes on from the text"
        remedy = "values stay valid; the server may evaluate a part of the prompt again"
        return Check(name=name, status="missing", found=found, remedy=remedy)
    remedy = "values stay valid; update the server, so that its prefix cache has all tokens of a correction"
    request = TextRequest(
        prompt=_COUNT, prefix=said.text.rstrip()[:_PREFIX_LENGTH].rstrip(), max_tokens=_MAX_TOKENS
    )
    try:
        ids = model.token_ids(request)
    except GenerationError as error:
        return Check(name=name, status="no", found=error.message, remedy=remedy)
    if not ids:
        return Check(name=name, status="no", found="the reply has none", remedy=remedy)
    answered = _ask(model, request)
    if answered.error is not None or not model.capabilities.token_ids:
        found = "the server returns them, and refuses them as a prompt"
        return Check(name=name, status="no", found=found, remedy=remedy)
    found = f"returned, and taken as a prompt; {len(ids)} for the prompt and {request.prefix!r}"
    return Check(name=name, status="yes", found=found)


def _check_prefix(model: TextModel) -> Check:
    name = "start of an answer"
    if not model.capabilities.continues_prefix:
        return Check(
            name=name,
            status="missing",
            found="not continued, as far as is known; a second message shows it",
            remedy="if the server continues a last message of the assistant, pass continues=True",
        )
    said = _ask(model, TextRequest(prompt=_COUNT, prefix=_PREFIX, max_tokens=_MAX_TOKENS))
    if not model.capabilities.continues_prefix:
        found = "refused, so a second message shows it"
        return Check(
            name=name, status="missing", found=found, remedy="pass continues=False to save a request"
        )
    if said.text.strip().lower().startswith(_PREFIX[:8]):
        return Check(
            name=name,
            status="no",
            found=f"the reply starts over: {said.text[:40]!r}",
            remedy="pass continues=False",
        )
    return Check(name=name, status="yes", found=f"the reply does not start over: {said.text[:40]!r}")


def _check_constraint(model: TextModel, kind: Constraint) -> Check:
    name = f"constraint {kind}"
    request = TextRequest(prompt=_COUNT, max_tokens=_MAX_TOKENS, constraint=_CONSTRAINTS[kind])
    said = _ask(model, request)
    if kind not in model.capabilities.constraints:
        found = "the server refuses it"
        return Check(name=name, status="no", found=found, remedy="pass constrain=False, or update the server")
    if _CODE in said.text and len(said.text.strip()) <= len(_CODE) + 40:
        return Check(name=name, status="yes", found="the server obeys it")
    what = f"ignored: the reply is {said.text[:40]!r}" if said.error is None else str(said.error)
    remedy = "values stay valid, and cost corrections; pass constrain=False, or update the server"
    return Check(name=name, status="no", found=what, remedy=remedy)


def _check_value(model: TextModel) -> Check:
    started = time.perf_counter()
    request = Request(
        model=model,
        prompt="Ana is 34 years old.",
        target=PERSON,
        settings=Settings.read("generate", {"max_corrections": 4}),
    )
    try:
        result = run(request)
    except GenerationError as error:
        remedy = "describe the answer in the prompt, or use a larger model"
        return Check(name="value", status="no", found=error.message, remedy=remedy)
    seconds = time.perf_counter() - started
    corrections = result.trace.corrections
    found = f"{result.text[:60]}, {result.guarantee}, {corrections} corrections, {seconds:.2f} s"
    return Check(name="value", status="yes", found=found)


def _ask(model: TextModel, request: TextRequest) -> _Said:
    """Return the start of a reply."""
    text, error, seconds = "", None, 0.0
    tokens: list[ScoredToken] = []
    started = time.perf_counter()
    with closing(Reply(model, request, started + (model.timeout or 60.0))) as reply:
        try:
            with suppress(TimeoutError):
                while len(text) < 400 and (piece := reply.next()) is not None:
                    seconds = seconds or time.perf_counter() - started
                    tokens += piece.tokens if isinstance(piece, ScoredText) else ()
                    text += piece
        except GenerationError as failed:
            error = failed
    return _Said(text, error, seconds, tuple(tokens))
