"""Extract a person from each row of Parquet files with Ray Data.

`python examples/ray_data/people.py texts/ people/` reads the column `text` of the files in one folder and writes files
with the columns `person` and `error` to the other.
"""

from __future__ import annotations

import sys

import ray
from pydantic import BaseModel, Field

from structkit.integrations.ray import extract_rows


class Person(BaseModel):
    name: str = Field(max_length=30)
    age: int = Field(ge=0, le=130)
    job: str | None = Field(None, max_length=30)


def main(source: str, target: str, workers: int = 2) -> None:
    """Extract from all files of a folder, with workers of one core each."""
    rows = ray.data.read_parquet(source)
    people = extract_rows(rows, Person, value="person", workers=workers, batch_size=64, max_tokens=120)
    people.write_parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:3])
