"""What a model that returns logits can do."""

from __future__ import annotations

import time
from collections.abc import Iterator

from structkit.agent.formats.detect import detect_format
from structkit.doctor.check import PERSON, Check
from structkit.errors import GenerationError
from structkit.generate.input.request import Request
from structkit.generate.input.settings import Settings
from structkit.generate.run.batch import run
from structkit.models.protocols import LogitsModel, SupportsLookahead, SupportsMessages
from structkit.models.single_row import new_batch

__all__ = ["check_logits_model"]


_SETTINGS = Settings.read("generate", {"max_tokens": 100})


def check_logits_model(model: LogitsModel) -> Iterator[Check]:
    """Yield what a model that returns logits can do."""
    context = "unknown" if model.context_length is None else f"{model.context_length:,}"
    found = f"{model.name}: {model.vocabulary.size:,} tokens, context {context}"
    yield Check(name="model", status="yes", found=found)
    takes_messages = not isinstance(model, SupportsMessages) or model.takes_messages
    if takes_messages:
        yield Check(name="messages", status="yes", found="the chat template renders them")
    else:
        remedy = "messages are joined to one text; an instruction-tuned model has a template"
        yield Check(name="messages", status="missing", found="there is no chat template", remedy=remedy)
    format, is_native = detect_format("auto", model, None, tools=True)
    what = "the chat template writes it" if is_native else "no known format in the chat template"
    name = type(format).__name__.removesuffix("Format").lower()
    yield Check(name="tool calls", status="yes", found=f"{name}; {what}")
    yield _check_rewind(model)
    yield _check_value(model)


def _check_rewind(model: LogitsModel) -> Check:
    if isinstance(new_batch(model), SupportsLookahead):
        found = "forced text and drafts cost one pass"
        return Check(name="several tokens at once", status="yes", found=found)
    found = "no: the model cannot take back what it has read"
    return Check(name="several tokens at once", status="missing", found=found)


def _check_value(model: LogitsModel) -> Check:
    started = time.perf_counter()
    request = Request(model=model, prompt="Ana is 34 years old.", target=PERSON, settings=_SETTINGS)
    try:
        result = run(request)
    except GenerationError as error:
        return Check(name="value", status="no", found=error.message, remedy="report it with this output")
    seconds = time.perf_counter() - started
    tokens = result.usage.generated_tokens
    found = f"{result.text[:60]}, {result.guarantee}, {tokens} tokens, {seconds:.2f} s"
    return Check(name="value", status="yes", found=found)
