"""What a model that returns text can do, by tiny real requests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from structkit.doctor.check import PERSON, Check
from structkit.errors import GenerationError, ModelError
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.run.batch import run
from structkit.generate.threads.reply import Reply
from structkit.models.capabilities import Constraint
from structkit.models.text.protocol import NativeConstraint, SupportsTokenIds, TextModel, TextRequest
from structkit.models.text.scored import ScoredText, ScoredToken

__all__ = ["check_text_model"]

_MAX_TOKENS = 24

_MAX_REASONING = 1_024
"""Maximum number of tokens of a reply of a model that reasons first."""

_PREFIX = "one, two, three, four,"
_PREFIX_LENGTH = 8
"""Characters of a reply that the next request continues from."""

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
    """Yield what a model that returns text can do; seven requests at most, each of a few tokens, or of some reasoning.

    Yields:
        Whether it replies, ranks its tokens, returns and takes their ids, continues the start of an answer, obeys its
        constraints, and gives a value.
    """
    max_tokens = _MAX_TOKENS
    said = _ask(model, TextRequest(prompt=_COUNT, max_tokens=max_tokens))
    if said.error is None and not said.text.strip():
        max_tokens = _MAX_REASONING
        said = _ask(model, TextRequest(prompt=_COUNT, max_tokens=max_tokens))
    if said.error is not None and not said.text:
        remedy = "see the log of the server, and `structkit doctor` for this machine"
        yield Check(name="reply", status="no", found=said.error.message, remedy=remedy)
        return
    if said.text.strip():
        yield Check(
            name="reply", status="yes", found=f"{said.text[:40]!r}, the first text after {said.seconds:.2f} s"
        )
    else:
        remedy = (
            "see the log of the server; reasoning can use all tokens up, and options=... can switch it off"
        )
        found = f"{_MAX_REASONING} tokens were allowed, and it is empty"
        yield Check(name="reply", status="no", found=found, remedy=remedy)
    yield _check_ranked(model, said)
    yield _check_ids(model, said)
    yield _check_prefix(model, max_tokens)
    for kind in sorted(model.capabilities.constraints):
        yield _check_constraint(model, kind, max_tokens)
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
        what = (
            f"{count} at each place, with log-probabilities; a cut reply continues with the most likely one"
        )
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
    """Check whether the reply has the ids of its tokens, and a request can continue from them."""
    name = "token ids"
    if not (model.capabilities.token_ids and isinstance(model, SupportsTokenIds)):
        found = "none are known, so a correction continues from the text"
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


def _check_prefix(model: TextModel, max_tokens: int) -> Check:
    name = "start of an answer"
    if not model.capabilities.continues_prefix:
        return Check(
            name=name,
            status="missing",
            found="not continued, as far as is known; a second message shows it",
            remedy="if the server continues a last message of the assistant, pass continues=True",
        )
    said = _ask(model, TextRequest(prompt=_COUNT, prefix=_PREFIX, max_tokens=max_tokens))
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
    if said.error is not None:
        return Check(name=name, status="no", found=said.error.message, remedy="pass continues=False")
    if not said.text.strip():
        found = "not known: the reply is empty, as if nothing were missing"
        return Check(name=name, status="missing", found=found, remedy="values stay valid")
    return Check(name=name, status="yes", found=f"the reply does not start over: {said.text[:40]!r}")


def _check_constraint(model: TextModel, kind: Constraint, max_tokens: int) -> Check:
    name = f"constraint {kind}"
    request = TextRequest(prompt=_COUNT, max_tokens=max_tokens, constraint=_CONSTRAINTS[kind])
    said = _ask(model, request)
    if kind not in model.capabilities.constraints:
        found = "the server refuses it"
        return Check(name=name, status="no", found=found, remedy="pass constrain=False, or update the server")
    if _CODE in said.text and len(said.text.strip()) <= len(_CODE) + 40:
        return Check(name=name, status="yes", found="the server obeys it")
    if said.error is None and not said.text.strip():
        remedy = "values stay valid; reasoning can use all tokens up, and options=... can switch it off"
        return Check(name=name, status="missing", found="not known: the reply is empty", remedy=remedy)
    what = f"ignored: the reply is {said.text[:40]!r}" if said.error is None else said.error.message
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
    count = result.trace.corrections
    corrections = f"{count} correction{'s' * (count != 1)}"
    found = f"{result.text[:60]}, {result.guarantee}, {corrections}, {seconds:.2f} s"
    return Check(name="value", status="yes", found=found)


def _ask(model: TextModel, request: TextRequest) -> _Said:
    """Return the start of a reply."""
    text, error, seconds = "", None, 0.0
    tokens: list[ScoredToken] = []
    started = time.perf_counter()
    with closing(Reply(model, request, started + (model.timeout or 60.0))) as reply:
        try:
            while len(text) < 400 and (piece := reply.next()) is not None:
                seconds = seconds or time.perf_counter() - started
                tokens += piece.tokens if isinstance(piece, ScoredText) else ()
                text += piece
        except GenerationError as failed:
            error = failed
        except TimeoutError:
            waited = time.perf_counter() - started
            error = ModelError(f"there is no complete reply after {waited:.0f} s; find out why it hangs")
    return _Said(text, error, seconds, tuple(tokens))
