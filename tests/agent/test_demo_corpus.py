"""The agent runs of the demo corpus are valid runs and end as the corpus states."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Annotated, Any

import pytest
from pydantic import Field

import structkit as sk
from structkit.testing import ScriptedModel
from tests.docs.blocks import ROOT


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    from demo_corpus import conversation, corpus

    return corpus, conversation


def test_copied_words_and_codes_are_counted(corpus: Any) -> None:
    from demo_corpus.grading import grade

    generator, _ = corpus
    example, *_ = generator.heldout_values(1, 1)
    value = {"name": "Ana", "code": "AB-12", "age": 7, "date": "2024-05-01"}
    example = replace(example, text="Ana, AB-12, is 7 on 1 May 2024.", value=value)
    found = grade([example], [json.dumps(value | {"code": "AB-21", "date": "2024-05-02"})])
    assert (found.fields_right, found.fields) == (2, 4)
    assert (found.words_right, found.words) == (1, 1)
    assert (found.codes_right, found.codes) == (0, 1)
    assert (found.objects_right, found.objects) == (0, 1)


@pytest.mark.long(every=2)
@pytest.mark.parametrize("heldout", [False, True])
def test_a_scripted_model_with_the_corpus_texts_makes_the_correct_calls(corpus: Any, heldout: bool) -> None:
    generator, conversation = corpus
    stream = iter(generator.heldout_tasks(5, 25)) if heldout else generator.train_tasks(5)
    for _, task in zip(range(25), stream, strict=False):
        model = scripted(task)
        agent = sk.Agent(
            model,
            tools=task.functions(),
            output_type=Annotated[str, Field()] if task.result is str else task.result,
            instructions=task.instructions,
            max_steps=6,
        )
        result = agent.run(task.question)
        assert task.is_right(conversation.RunOutcome.of(result.messages))
        assert_was_taught(task, model)


def test_the_assistant_of_the_tutorial_reads_the_corpus_prompt(corpus: Any) -> None:
    generator, conversation = corpus
    from demo_corpus import assistant

    for kind in assistant.MAKERS:
        for task in generator.heldout_questions(5, 3, kind):
            model = scripted(task)
            result = assistant.Assistant(model).run(task)
            assert task.is_right(conversation.RunOutcome.of(result.messages))
            assert_was_taught(task, model)


def scripted(task: Any) -> ScriptedModel:
    return ScriptedModel([text.removesuffix("<|end|>") for text, is_generated in task.pieces if is_generated])


def assert_was_taught(task: Any, model: ScriptedModel) -> None:
    """The prompt before the last step equals the prompt in the training data."""
    read = "".join(text for text, _ in task.pieces[:-1])
    shown = re.sub(r"^(system|user|assistant): ", "", model.prompts[-1], flags=re.M)
    read = re.sub(r"<\|(system|user|assistant)\|>\n", "", read).replace("<|end|>", "")
    assert shown.strip() == read.strip()
