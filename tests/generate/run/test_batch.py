"""Batches: the order of preparation, the places of errors, and what the prompts share."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import structkit as sk
from structkit.generate.input.settings import BatchSettings, Settings
from structkit.generate.run import batch as batches
from structkit.generate.run.batch import run_as_completed, run_many
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary


def _texts(outcomes: list[Any]) -> list[object]:
    return [str(each) if isinstance(each, Exception) else each.value for each in outcomes]


def test_the_common_prefix_leaves_the_last_token_of_the_shortest_prompt() -> None:
    rng = random.Random(1)
    for _ in range(300):
        prompts = [[rng.randrange(2) for _ in range(rng.randrange(6))] for _ in range(rng.randrange(4))]
        filled = [prompt for prompt in prompts if prompt]
        lengths = range(min(map(len, filled), default=0))
        shared = [length for length in lengths if len({tuple(prompt[:length]) for prompt in filled}) == 1]
        expected = filled[0][: max(shared)] if filled else []
        assert batches._common_prefix(prompts) == expected, prompts


@pytest.mark.parametrize(
    ("prompts", "targets", "message"),
    [
        (2, 3, "2 prompts and 3 targets; give one target per prompt"),
        (0, 1, "0 prompts and 1 targets; give one target per prompt"),
        (3, 2, "more prompts than the 2 targets; give one target per prompt"),
        (1, 0, "more prompts than the 0 targets; give one target per prompt"),
    ],
)
def test_the_targets_of_a_list_are_one_for_each_prompt(prompts: int, targets: int, message: str) -> None:
    model = ScriptedModel(["1"] * prompts)
    with pytest.raises(ValueError, match=f"^{message}$"):
        run_many(model, ["a"] * prompts, [int] * targets, Settings(), BatchSettings(progress=False))


def test_each_prompt_has_its_target_and_its_number() -> None:
    outcomes = run_many(
        ScriptedModel(["1", '"b"', "true"], strict=False), iter("abc"), (int, str, bool), Settings(),
        BatchSettings(size=1, progress=False),
    )  # fmt: skip
    assert _texts(outcomes) == [1, "b", True]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("returned", [True, False])
def test_an_error_names_its_prompt_among_several(count: int, returned: bool) -> None:
    model = sk.from_function(lambda text: 1 // 0 if text.startswith("fail") else "true", name="f")
    prompts = ["fail"] if count == 1 else ["a", "fail"]
    settings = BatchSettings(progress=False, return_exceptions=returned)
    if returned:
        *before, error = run_many(model, prompts, bool, Settings(), settings)
        assert [each.value for each in before if isinstance(each, sk.Result)] == [True] * (count - 1)
    else:
        with pytest.raises(sk.ModelError) as raised:
            run_many(model, prompts, bool, Settings(), settings)
        error = raised.value
    assert isinstance(error, sk.ModelError)
    assert ("prompts[1]" in str(error)) == (count == 2 and not returned)
    assert "prompts[0]" not in str(error)


@pytest.mark.parametrize(("length", "window"), [(70, 32), (None, 2)])
def test_prompts_are_read_in_windows_and_the_longest_of_a_window_come_first(
    length: int | None, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = [random.Random(3).randrange(1, 50) for _ in range(70)]
    started: list[int] = []
    prepare = batches._prepare

    def noted(requests: Any, *arguments: Any, **options: Any) -> Any:
        queue = prepare(requests, *arguments, **options)
        started.extend(request.number for request, _ in queue)
        assert len(queue) in (window, 70 % window)
        return queue

    monkeypatch.setattr(batches, "_prepare", noted)
    model = RandomModel(1, byte_vocabulary())
    prompts = enumerate("a" * length for length in lengths)
    done = dict(
        run_as_completed(
            model,
            prompts,
            bool,
            Settings(),
            BatchSettings(size=2, progress=False),
            length=length,
        )
    )
    assert sorted(done) == list(range(70))
    expected: list[int] = []
    for start in range(0, 70, window):
        expected += sorted(range(start, min(start + window, 70)), key=lambda each: -lengths[each])
    assert started == expected


def test_stored_results_come_where_their_prompts_are_read(tmp_path: Any) -> None:
    path = tmp_path / "results.jsonl"

    def run(model: Any, numbers: list[int]) -> list[tuple[int, object]]:
        prompts: Iterator[tuple[int, str]] = ((number, f"prompt {number}") for number in numbers)
        settings = BatchSettings(size=1, progress=False, results_file=path)
        outcomes = run_as_completed(model, prompts, int, Settings(), settings)
        return [(number, each.value) for number, each in outcomes if isinstance(each, sk.Result)]

    assert run(ScriptedModel(["10", "13", "15"]), [0, 3, 5]) == [(0, 10), (3, 13), (5, 15)]
    found = run(ScriptedModel(["21", "22", "24"]), [0, 1, 2, 3, 4, 5])
    assert sorted(found) == [(0, 10), (1, 21), (2, 22), (3, 13), (4, 24), (5, 15)] and found[0] == (0, 10)
    assert run(ScriptedModel([]), [0, 1, 2, 3, 4, 5]) == sorted(found)


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ({"seed": 1}, "set it where the text is made"),
        ({"abstain": 0.5}, "give a model such as structkit.load()"),
        ({"confidence": True, "seed": 1}, "give a model such as structkit.load()"),
    ],
)
def test_an_option_that_needs_logits_has_a_remedy(option: dict[str, Any], remedy: str) -> None:
    with pytest.raises(sk.GenerationError) as raised:
        sk.generate(sk.from_function(lambda prompt: "3"), "x", int, **option)
    assert f"{min(option)}=... needs a model that returns logits" in str(raised.value)
    assert f"leave it out, or {remedy}" in str(raised.value)


def test_samples_are_those_of_a_model_with_logits() -> None:
    text = sk.from_function(lambda text: "true", name="f")
    assert sk.generate(text, "a", bool, n=1)[0].value is True
    with pytest.raises(
        sk.GenerationError, match="f returns text, and n=2 samples of one prompt need a model that"
    ):
        sk.generate(text, "a", bool, n=2, temperature=1.0)
    with pytest.raises(sk.GenerationError, match="f returns text, and sampling='faithful' needs the logits"):
        sk.generate(text, "a", bool, sampling="faithful")


def test_an_assistant_has_the_tokens_of_its_model() -> None:
    model, other = sk.load(), RandomModel(1, byte_vocabulary())
    with pytest.raises(
        sk.GenerationError, match="scripted cannot take back what it has read, so no model can draft"
    ):
        sk.generate(ScriptedModel(["1"]), "a", int, assistant_model=other)
    assert sk.generate(model, "a", bool, assistant_model=model).value in (True, False)
    message = f"random has other tokens than {model.name}, so it cannot draft for it"
    with pytest.raises(sk.GenerationError, match=message):
        sk.generate(model, "a", int, assistant_model=other)
    with pytest.raises(sk.GenerationError, match=message):
        sk.extract_many(model, ["a"], int, assistant_model=other)
    stream = sk.stream(model, "a", int, assistant_model=other)
    with pytest.raises(sk.GenerationError, match=message):
        list(stream)
