"""What a model that returns text can do, by tiny real requests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import NamedTuple

from structkit.doctor.check import PERSON, Check
from structkit.errors import GenerationError
from structkit.generate.input.options import Settings
from structkit.generate.input.request import Request
from structkit.generate.run.batch import run
from structkit.generate.threads.reply import Reply
from structkit.models.capabilities import Constraint
from structkit.models.text.protocol import NativeConstraint, TextModel, TextRequest

__all__ = ["check_text_model"]

_MAX_TOKENS = 24

_PREFIX = "one, two, three, four,"
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
    """A reply, as far as it was read, the error that ended it, and the seconds until its first text."""

    text: str
    error: GenerationError | None
    seconds: float


def check_text_model(model: TextModel) -> Iterator[Check]:
    """Yield what a model that returns text can do; five requests at most, each of a few tokens.

    Yields:
        Whether it replies, continues the start of an answer, obeys its constraints, and gives a value.
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
    started = time.perf_counter()
    with closing(Reply(model, request, started + (model.timeout or 60.0))) as reply:
        try:
            with suppress(TimeoutError):
                while len(text) < 400 and (piece := reply.next()) is not None:
                    seconds = seconds or time.perf_counter() - started
                    text += piece
        except GenerationError as failed:
            error = failed
    return _Said(text, error, seconds)
