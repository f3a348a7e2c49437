"""What the traces of real runs show, and what they never contain."""

from __future__ import annotations

import logging
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, field_validator

import structkit as sk
from structkit.models.protocols import Message
from structkit.testing import RandomModel, ScriptedModel
from structkit.trace.html import draw_html
from structkit.trace.picture import Note, Picture, Step, TraceSpan, text_of

SECRET = "Zanzibar"
"""A word of prompts."""


class Person(BaseModel):
    name: str
    age: int


class Adult(BaseModel):
    age: int

    @field_validator("age")
    @classmethod
    def grown(cls, age: int) -> int:
        if age < 18:
            raise ValueError("too young")
        return age


def replying(*replies: str | None, **options: Any) -> sk.Result[Any]:
    """Return the result of a run in which a function replies; `None` raises an error in the middle of a reply."""
    each = iter(replies)

    def function(request: object) -> Iterator[str]:
        reply = next(each, "")
        if reply is None:
            yield 'Ana", '
            raise OSError("the line is down")
        yield reply

    chat, continues = options.pop("chat", False), options.pop("continues", True)
    model: Any = sk.from_function(function, chat=chat, continues=continues, name="a function")
    return sk.generate(model, SECRET, options.pop("target", Person), **options)


def kinds(result: sk.Result[Any]) -> list[tuple[str, str, str]]:
    """Return the step, the kind and the text of each span that is drawn."""
    return [
        (step.title, span.kind, span.text)
        for step in result.trace.picture().steps
        for span in step.spans
        if span.text
    ]


def drawing(result: sk.Result[Any]) -> str:
    return str(result.trace)


def test_a_correction() -> None:
    result = replying('Ana", "years": 34}', " 34}")
    assert kinds(result) == [
        ("", "forced", '{"name": "'),
        ("1", "accepted", 'Ana", '),
        ("1", "refused", '"years": 34}'),
        ("1", "forced", '"age": '),
        ("2", "healed", " "),
        ("2", "skipped", " "),
        ("2", "accepted", "34}"),
    ]
    assert [(span.kind, span.text) for span in result.trace.spans] == [
        ("forced", '{"name": "'),
        ("accepted", 'Ana", '),
        ("forced", '"age": '),
        ("accepted", "34}"),
    ]
    assert drawing(result).split("\n")[0] == "a function, Person: corrected, 2 replies, 1 correction"


def test_what_was_offered_and_what_was_chosen() -> None:
    class Ticket(BaseModel):
        level: Literal["low", "high"]

    result = replying('{"level": "none"}', "High!", target=Ticket, chat=True, continues=False)
    assert kinds(result) == [
        ("1", "accepted", '{"level": '),
        ("1", "refused", '"none"}'),
        ("1", "forced", '"'),
        ("2", "skipped", "High!"),
        ("2", "accepted", 'high"'),
        ("2", "forced", "}"),
    ]
    assert '  2  offered    high" | low"\n' in drawing(result)


def test_a_reply_that_starts_over_withdraws_text() -> None:
    result = replying('{"name": "An"', '{"name": "Bo", "age": 3}', chat=True, continues=False)
    assert result.value == Person(name="Bo", age=3)
    assert kinds(result)[2:] == [
        ("2", "healed", " "),
        ("2", "repeated", '{"name": "'),
        ("2", "withdrawn", 'An", "age": '),
        ("2", "accepted", 'Bo", "age": 3}'),
    ]


def test_prose_and_fences_are_skipped() -> None:
    reply = 'Sure!\n```json\n{"name": "Ana", "age": 34}\n```\nBye.'
    result = replying(reply, chat=True, continues=False)
    (draft,) = result.trace.drafts
    assert (draft.skipped, draft.accepted) == ("Sure!\n```json\n", '{"name": "Ana", "age": 34}')
    assert reply == draft.skipped + draft.accepted + draft.rest
    assert "|Sure!\\n```json\\n|" in drawing(result)


def test_a_value_that_is_completed_without_the_model() -> None:
    result = replying("", "", max_corrections=1, finish="shortest")
    assert kinds(result) == [("", "forced", '{"name": "'), ("", "completed", '", "age": 0}')]
    assert drawing(result).endswith(
        '{"name": "", "age": 0}\n==========~~~~~~~~~~~~\n= forced   ~ completed\n'
        "completed: without the model: name, age"
    )
    assert "     ended      without anything to add\n" in drawing(result)


def test_a_failed_reply_is_kept() -> None:
    result = replying(None, '"age": 34}')
    assert result.trace.drafts[0].end == "failed"
    assert "     ended      because the model failed\n" in drawing(result)


def test_a_rejected_answer_is_withdrawn_with_its_reason() -> None:
    result = replying('{"age": 3}', '{"age": 30}', target=Adult, chat=True, continues=False)
    assert kinds(result) == [
        ("1", "accepted", '{"age": 3}'),
        ("", "withdrawn", '{"age": 3}'),
        ("2", "accepted", '{"age": 30}'),
    ]
    (rejected,) = result.trace.rejected
    assert rejected == ('{"age": 3}', 0, "age: too young")
    assert "     rejected   age: too young\n" in drawing(result)
    assert drawing(result).split("\n")[0].endswith("2 replies, 2 attempts")


def test_the_tokens_of_a_model_with_logits() -> None:
    result = sk.generate(ScriptedModel(['{"age": 3}', '{"age": 30}']), SECRET, Adult)
    assert kinds(result) == [("", "repeated", '{"age": '), ("", "withdrawn", "3}")]
    assert len(result.trace.spans) == len(result.token_ids)
    for span, token in zip(result.trace.spans, result.events, strict=True):
        assert span.kind == ("forced" if token.forced else "sampled")
        assert span.text == token.text.decode()
        assert span.detail.startswith(f"token {token.token_id}")
    title, *_, answer, marks, legend = drawing(result).split("\n")
    forced = sum(token.forced for token in result.events)
    assert title == f"scripted, Adult: masked, {len(result.token_ids)} tokens, {forced} forced, 2 attempts"
    assert (answer, legend) == ('{"age": 30}', "= forced   ^- sampled")
    assert len(marks) == len(answer)
    assert marks.count("^") == len(result.token_ids) - forced


def test_token_healing() -> None:
    result = sk.generate(ScriptedModel(["true"]), "Is it ", bool, include_schema=False)
    assert (result.trace.healed_bytes, text_of(result.trace.spans)) == (1, "true")
    assert drawing(result).endswith("^- sampled\nhealed: the first token repeats 1 byte of the prompt")


@given(seed=st.integers(0, 10_000))
def test_the_spans_of_tokens_join_to_the_text(seed: int) -> None:
    result = sk.generate(RandomModel(seed), SECRET, list[str], max_tokens=30)
    assert text_of(result.trace.spans) == result.text
    assert all(line.isprintable() for line in drawing(result).split("\n"))


TRACES: dict[str, Callable[..., sk.Result[Any]]] = {
    "masked": lambda **options: sk.generate(ScriptedModel(["true"]), SECRET, bool, **options),
    "text": lambda **options: replying('Ana", "years": 34}', "34}", **options),
    "chat": lambda **options: replying(
        '{"name": 3}', 'Ana", "age": 34}', chat=True, continues=False, **options
    ),
    "rejected": lambda **options: replying(
        '{"age": 3}', '{"age": 30}', target=Adult, chat=True, continues=False, **options
    ),
}


@pytest.mark.parametrize("kind", TRACES)
def test_the_prompt_is_in_a_trace_only_if_asked_for(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "structkit"):
        hidden = TRACES[kind]().trace
    shown = TRACES[kind](trace_content=True).trace
    for text in (repr(hidden), str(hidden), hidden._repr_html_(), caplog.text):
        assert SECRET not in text
    assert shown.prompt == SECRET
    assert f"     prompt     |{SECRET}|" in str(shown)
    assert SECRET in shown._repr_html_()


def test_messages_of_a_prompt_have_their_roles() -> None:
    prompt: list[Message] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Is it?"},
    ]
    result = sk.generate(RandomModel(1), prompt, bool, trace_content=True)
    assert result.trace.prompt == "system: Be brief.\nuser: Is it?"


def test_a_page_is_saved(tmp_path: Path) -> None:
    result = replying('<b>é漢"', "34}", finish="shortest", max_corrections=1)
    result.trace.save(tmp_path / "run.html")
    result.trace.save(str(tmp_path / "same.html"))
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert page == (tmp_path / "same.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "&lt;b&gt;é漢" in page
    assert "<b>" not in page
    assert result.trace._repr_html_() in page
    with pytest.raises(OSError, match="missing"):
        result.trace.save(tmp_path / "missing" / "run.html")


def test_a_trace_is_a_value() -> None:
    trace = replying('Ana", "years": 34}', "34}").trace
    assert pickle.loads(pickle.dumps(trace)) == trace
    assert sk.Trace().spans == ()
    assert str(sk.Trace(model="m")) == "m: masked"


def test_each_reply_is_a_message_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "structkit"):
        replying('Ana", "years": 34}', "34}")
        replying('Ana", "years": 34}', "34}", trace_content=True)
    messages = [record.getMessage() for record in caplog.records if "reply" in record.getMessage()]
    assert [message.partition(", in ")[0] for message in messages] == [
        "a function, reply 1: refused, 6 characters accepted, 12 refused, 7 forced",
        "a function, reply 2: complete, 3 characters accepted, 0 refused, 0 forced",
    ] * 2
    assert "Ana" not in "".join(messages[:2])
    assert messages[2].endswith("""s: accepted 'Ana", ', refused '"years": 34}'""")


def test_the_first_row_of_each_part_of_a_page_is_marked() -> None:
    notes = (Note("offered", "x"), Note("took", "y"))
    # What was offered comes first, then what the step read.
    steps = (
        Step(title="1", asked=notes, spans=(TraceSpan("accepted", "a"),)),
        Step(title="2", asked=notes[:1]),
    )
    picture = Picture(title="t", prompt="p", steps=steps, spans=(TraceSpan("accepted", "a"),), notes=notes)
    rows = re.findall(
        r'<tr( class="first")?><td class="label">([^<]*)</td><td class="label">(\w+)</td>', draw_html(picture)
    )
    assert [(bool(first), title, label) for first, title, label in rows] == [
        (True, "", "prompt"),
        (True, "1", "offered"),
        (False, "", "took"),
        (False, "", "accepted"),
        (True, "2", "offered"),
        (True, "", "answer"),
        (False, "", "offered"),
        (False, "", "took"),
    ]
