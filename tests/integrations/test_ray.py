"""The example of Ray Data on a local Ray; `sh scripts/test_ray` runs these tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray", reason="needs ray")

import pyarrow as arrow  # noqa: E402
import pyarrow.parquet as parquet  # noqa: E402

from examples.ray_data.people import Person, main  # noqa: E402
from structkit.errors import SchemaError  # noqa: E402
from structkit.integrations.ray import RowExtractor, extract_rows  # noqa: E402

# Ray warns of its own code.
pytestmark = pytest.mark.filterwarnings("default")

ROOT = Path(__file__).parents[2]

_ROWS = 2_000


@pytest.fixture(scope="module", autouse=True)
def local_ray() -> Iterator[None]:
    os.environ["PYTHONPATH"] = str(ROOT)
    os.environ["OMP_NUM_THREADS"] = "1"
    # With the default of 15, nothing happens on a busy machine.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
    # Reading and writing are tasks of their own, and wait for a core that no worker holds.
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def _write(folder: Path, texts: list[str | None], files: int) -> None:
    folder.mkdir()
    for number in range(files):
        ids = range(number, len(texts), files)
        table = arrow.table({"id": list(ids), "text": [texts[each] for each in ids]})
        parquet.write_table(table, folder / f"{number}.parquet")


def _read(folder: Path) -> list[dict[str, Any]]:
    return sorted(parquet.read_table(folder).to_pylist(), key=lambda row: row["id"])


class _KilledOnce(RowExtractor):
    """A worker that kills its process in the middle, unless another has done it."""

    def __init__(self, target: Any, marker: str, **options: Any) -> None:
        super().__init__(target, **options)
        self.marker = marker
        self.batches = 0

    def __call__(self, batch: Any) -> dict[str, object]:
        self.batches += 1
        if self.batches == 3:
            try:
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(batch)


def test_a_worker_that_is_killed_loses_no_row(tmp_path: Path) -> None:
    texts: list[str | None] = [f"Tom is {number % 90}." for number in range(_ROWS)]
    _write(tmp_path / "texts", texts, files=8)
    marker = str(tmp_path / "killed")
    people = ray.data.read_parquet(str(tmp_path / "texts")).map_batches(
        _KilledOnce,
        fn_constructor_args=(Person, marker),
        fn_constructor_kwargs={"value": "person", "max_tokens": 120},
        batch_size=64,
        compute=ray.data.ActorPoolStrategy(size=2),
        num_cpus=1,
    )
    people.write_parquet(str(tmp_path / "people"))
    rows = _read(tmp_path / "people")
    assert Path(marker).exists()
    assert [row["id"] for row in rows] == list(range(_ROWS))
    assert {row["error"] for row in rows} == {None}
    people = [Person.model_validate_json(row["person"]) for row in rows]
    assert sum(person.age == number % 90 for number, person in enumerate(people)) > 0.9 * _ROWS


def test_a_row_that_fails_has_an_error_and_harms_no_other(tmp_path: Path) -> None:
    texts = ["Ana Souza, 34, works as a nurse in Porto.", "long " * 5_000, None, "", "Tom is 7."]
    _write(tmp_path / "texts", texts, files=1)
    main(str(tmp_path / "texts"), str(tmp_path / "people"), workers=1)
    rows = _read(tmp_path / "people")
    assert [row["person"] is None for row in rows] == [False, True, True, False, False]
    assert "context" in rows[1]["error"]
    assert rows[2]["error"] == "the cell is None; give a text, or leave the row out"
    assert Person.model_validate_json(rows[0]["person"]).age == 34


def test_a_schema_can_be_a_text() -> None:
    rows = ray.data.from_items([{"id": 1, "story": "Ana is 34."}])
    [row] = extract_rows(rows, '{"type": "integer"}', column="story", max_tokens=5).take_all()
    assert row == {"id": 1, "story": "Ana is 34.", "value": "34", "error": None}


def test_what_is_wrong_in_the_call_is_an_error_before_ray_starts() -> None:
    rows = ray.data.from_items([{"text": "Ana is 34."}])
    with pytest.raises(ValueError, match="not a JSON Schema"):
        extract_rows(rows, "Person")
    with pytest.raises(SchemaError, match="write 'integer'"):
        extract_rows(rows, '{"type": "intger"}')
    with pytest.raises(TypeError, match="max_tokens"):
        extract_rows(rows, Person, max_token=5)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("options", "fault"),
    [({"model": "/no/such/model"}, "does not exist"), ({"column": "story"}, "no column")],
)
def test_a_worker_that_cannot_work_stops_the_run(options: Any, fault: str) -> None:
    rows = ray.data.from_items([{"text": "Ana is 34."}])
    with pytest.raises(Exception, match=fault):
        extract_rows(rows, Person, **options).take_all()


def test_a_file_that_is_cut_short_stops_the_run(tmp_path: Path) -> None:
    _write(tmp_path / "texts", ["Tom is 7."] * 8, files=2)
    path = tmp_path / "texts" / "1.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(Exception, match="arquet"):
        main(str(tmp_path / "texts"), str(tmp_path / "people"), workers=1)
