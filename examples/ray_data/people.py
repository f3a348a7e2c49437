"""Extract a person from each row of Parquet files with Ray Data.

`python examples/ray_data/people.py texts/ people/` reads the column `text` of the files in one folder and writes files
with the columns `person` and `error` to the other.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import ray
from pydantic import BaseModel, Field

import structkit as sk


class Person(BaseModel):
    name: str = Field(max_length=30)
    age: int = Field(ge=0, le=130)
    job: str | None = Field(None, max_length=30)


class ExtractPeople:
    """A worker: it loads the model once, and extracts a person from each row of a batch."""

    def __init__(self, model: str | None = None) -> None:
        self.model = sk.load() if model is None else sk.load(model)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Add the columns `person` and `error` to a batch."""
        texts = [str(text) for text in batch["text"]]
        results = sk.generate_many(
            self.model, texts, Person, batch_size=32, max_tokens=120, return_exceptions=True, progress=False
        )
        # A JSON text, since Arrow would merge the fields of all objects of a column.
        people = [None if isinstance(each, Exception) else each.text for each in results]
        errors = [str(each) if isinstance(each, Exception) else None for each in results]
        return batch | {"person": np.array(people, object), "error": np.array(errors, object)}


def main(source: str, target: str, worker: type[ExtractPeople] = ExtractPeople, workers: int = 2) -> None:
    """Extract from all files of a folder, with workers of one core each."""
    rows = ray.data.read_parquet(source)
    compute = ray.data.ActorPoolStrategy(size=workers)
    rows.map_batches(worker, batch_size=64, compute=compute, num_cpus=1).write_parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:3])
