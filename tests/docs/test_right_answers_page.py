"""The benchmark behind the page about right answers: what counts as right, and what the page says of it."""

from __future__ import annotations

import copy
import doctest
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import structkit as sk
from benchmarks import outcome, outcome_arms, outcome_sets
from benchmarks.outcome_sets import SETS, Task, equals, make_set


@pytest.mark.parametrize("module", [outcome_sets, outcome_arms], ids=lambda module: module.__name__)
def test_the_examples_of_the_docstrings_run(module) -> None:
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


@pytest.mark.parametrize("name", [name for name in SETS if not name.startswith("calls")])
def test_nothing_is_no_right_answer(name: str) -> None:
    tasks = make_set(name, seed=3, count=4)
    assert len({task.text for task in tasks}) > 1
    for task in tasks:
        grade = task.grade("{}")
        assert not grade.right
        assert grade.fields
        assert not grade.is_exact


def test_a_set_has_each_text_once() -> None:
    """A calibration would know a text that returns, and an interval would count it twice."""
    texts = [task.text for task in make_set("classification", seed=3, count=400)]
    assert len(texts) == len(set(texts)) <= 72


@pytest.mark.parametrize(
    ("more", "fewer", "p"), [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (9, 1, 22 / 1024), (3, 3, 1.0)]
)
def test_the_sign_test_counts_the_texts_that_differ(more: int, fewer: int, p: float) -> None:
    assert outcome.sign_test(more, fewer) == outcome.sign_test(fewer, more) == pytest.approx(p)


def test_arms_are_compared_text_by_text() -> None:
    def column(rights: list[int], texts: str) -> outcome.Column:
        return outcome.Column(
            grades=[outcome_sets.Grade(right, 4, right == 4, True) for right in rights], texts=list(texts)
        )

    mine, other = column([4, 2, 3, 1], "abcd"), column([4, 1, 1, 2], "axyz")
    assert mine.against(other).startswith("2 | 1 | 25% | +12.5 [")
    assert other.against(mine).startswith("1 | 2 | 25% | -12.5 [")
    assert mine.against(other).endswith("] | 1")
    assert mine.against(mine).startswith("0 | 0 | 100% | +0.0 [+0, +0] | 1")


@pytest.mark.parametrize(
    ("answer", "right", "is_exact", "is_valid"),
    [
        ('{"a": 1, "b": [true]}', 2, True, True),
        ('{"a": 1.0, "b": [true]}', 2, True, True),
        ('{"a": 1, "b": [1]}', 1, False, False),
        ('{"a": 1, "b": [true], "c": 0}', 2, False, False),
        ('{"a": 1, "b": [false]}', 1, False, True),
        ("1, 2", 0, False, False),
    ],
)
def test_fields_are_right_by_path_value_and_type(
    answer: str, right: int, is_exact: bool, is_valid: bool
) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "boolean"}}},
        "additionalProperties": False,
    }
    grade = Task("", schema, equals({"a": 1, "b": [True]})).grade(answer)
    assert (grade.right, grade.fields, grade.is_exact, grade.is_valid) == (right, 2, is_exact, is_valid)


CALLS = [{"area": {"base": [10], "unit": ["", "m"]}}, {"area": {"base": [4], "unit": ["", "m"]}}]


@pytest.mark.parametrize(
    ("calls", "right", "fields"),
    [
        ([("area", {"base": 10}), ("area", {"base": 4.0, "unit": "M."})], 6, 6),
        ([("area", {"base": 4}), ("area", {"base": 10})], 6, 6),  # in any order
        ([("area", {"base": 10})], 3, 6),
        ([("area", {"base": 10}), ("area", {"base": 4}), ("area", {})], 6, 7),
        ([("area", {"base": 10, "unit": "cm"}), ("volume", {"base": 4})], 2, 6),
        ([("area", {"base": 10, "height": 1}), ("area", {"base": 4})], 6, 7),
    ],
)
def test_calls_are_right_by_the_rule_of_the_leaderboard(calls, right: int, fields: int) -> None:
    answer = [{"name": name, "arguments": arguments} for name, arguments in calls]
    assert outcome_sets._calls(CALLS)(answer) == (right, fields, right == fields)


def test_no_call_is_right_where_none_fits() -> None:
    score = outcome_sets._calls([])
    assert score([]) == (1, 1, True)
    assert score([{"name": "area", "arguments": {}}]) == (0, 1, False)


@pytest.mark.parametrize("name", [name for name in SETS if name.startswith("calls")])
def test_the_accepted_answers_of_the_leaderboard_are_right_and_valid(name: str) -> None:
    tasks = make_set(name, seed=0, count=10_000)
    if not tasks:
        pytest.skip("../shared/data/bfcl is not on this machine")
    path = outcome_sets.BFCL / f"{name.removeprefix('calls: ')}.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    questions = {outcome_sets.text_of(each["question"]): each.get("answers") or [] for each in records}
    valid = 0
    for task in tasks:
        truth = questions[task.text.rpartition("\n")[0]]
        calls = [
            {"name": name, "arguments": _first(accepted)} for each in truth for name, accepted in each.items()
        ]
        grade = task.grade(json.dumps(calls))
        assert grade.is_exact, task.text
        valid += grade.is_valid
    assert valid >= 0.9 * len(tasks)  # some answers of the leaderboard contradict its schemas


def _first(accepted):
    """Return the first accepted value of each argument that is not left out."""
    given = {}
    for name, values in accepted.items():
        value = next((each for each in values if each != ""), None)
        if isinstance(value, dict):
            value = _first(value)
        elif isinstance(value, list):
            value = [_first(each) if isinstance(each, dict) else each for each in value]
        if value is not None or None in values:
            given[name] = value
    return given


def test_the_table_and_the_plot_have_every_arm(tmp_path, capsys) -> None:
    arms = ["free, parsed", "structkit", "structkit, plain decode"]
    plot, answers = tmp_path / "plot.svg", tmp_path / "answers.jsonl"
    options = ["--sets", "values", "--count", "2", "--arms", "; ".join(arms), "--svg", str(plot)]
    options += ["--answers", str(answers)]
    assert outcome.main(options) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {cells[1].strip(): cells for cells in (line.split("|") for line in lines if line.startswith("| "))}
    assert [*rows][2:] == arms
    compared = lines[lines.index("**values**, each arm against structkit on the same texts") :]
    assert any(line.startswith("| structkit, plain decode | 0 | 0 | 100% |") for line in compared)
    records = [json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines()]
    assert [each["arm"] for each in records] == [arm for arm in arms for _ in range(2)]
    assert rows["structkit"][4].strip().startswith("100.0%")
    assert rows["structkit"][-2].strip() == "100.0%"
    assert set(arms) <= set(ElementTree.fromstring(plot.read_text(encoding="utf-8")).itertext())


@pytest.mark.parametrize(
    "template",
    [None, "{{ tools | tojson if tools }}{% for message in messages %}{{ message['content'] }}{% endfor %}"],
    ids=["no template", "tools"],
)
def test_any_model_runs(template: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    transformers = pytest.importorskip("transformers")
    demo = sk.load()
    config = transformers.AutoConfig.for_model(
        "llama",
        vocab_size=demo.vocabulary.size,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=1024,
    )
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    tokenizer = copy.deepcopy(demo.tokenizer)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(tmp_path)
    arms = ["free with retries", "structkit", "structkit, include_schema='tools'"]
    options = ["--sets", "classification", "--count", "1", "--max-tokens", "20", "--arms", "; ".join(arms)]
    assert outcome.main([*options, "--model", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith(tuple(f"| {arm} |" for arm in arms))]
    assert float(rows[0][4].partition(" ")[0]) == 60  # a free answer and two retries
    assert rows[1][3].startswith("100.0%")
    assert ("GenerationError" in rows[2][6]) is (template is None)


def test_the_page_has_a_row_for_every_arm_and_every_set(root: Path) -> None:
    page = (root / "docs/explain/right-answers.md").read_text(encoding="utf-8").replace("`", "")
    assert not [name for name in (*outcome_arms.ARMS, *SETS) if f"\n| {name} |" not in page]


def _shares(page: str) -> dict[str, dict[str, outcome.Share]]:
    """Return the figures of the tables of all arms, by set and arm."""
    shares: dict[str, dict[str, outcome.Share]] = {}
    for table in re.findall(r"^\| fields right, % \|.*(?:\n\|.*)*", page.replace("`", ""), flags=re.M):
        head, _, *rows = (line.strip("| ").split(" | ") for line in table.splitlines())
        if not any(arm.startswith("xgrammar") for arm, *_ in rows):
            continue
        for arm, *cells in rows:
            for name, cell in zip(head[1:], cells, strict=True):
                if figures := re.fullmatch(r"(\d+) \[(\d+), (\d+)\]", cell):
                    share, low, high = (int(each) / 100 for each in figures.groups())
                    shares.setdefault(name, {})[arm] = share, low, high
    return shares


def test_the_plot_has_the_figures_of_the_tables(root: Path) -> None:
    shares = _shares((root / "docs/explain/right-answers.md").read_text(encoding="utf-8"))
    assert {*shares["values"]} >= {*outcome_arms.ARMS} - {"structkit, include_schema='tools'"}
    assert (root / "docs/assets/outcome.svg").read_text(encoding="utf-8") == outcome.draw(shares)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sets", "poems"], "there is no set 'poems'"),
        (["--arms", "structkit; magic"], "there is no arm 'magic'"),
        (["--count", "0"], "2"),
    ],
)
def test_unknown_names_are_refused_with_those_that_exist(options: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        outcome.main(options)
