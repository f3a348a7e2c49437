"""Frequency of each keyword in real schemas, and how structkit enforces it.

```
python -m benchmarks.keywords --data sample.jsonl.gz
```
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.data import read_cases
from structkit.schema.ir.keywords import ANNOTATIONS, IMPLEMENTED, keyword_status
from structkit.schema.ir.refs import subschemas

__all__ = ["main", "table"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.keywords", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="schemas, JSONL, gzipped or not")
    schemas = [case.schema for case in read_cases(parser.parse_args(arguments).data, None, 0)]
    print(table(schemas))
    return 0


def table(schemas: Sequence[Mapping[str, object]]) -> str:
    """Return a Markdown table: for each keyword the share of schemas that contain it, and its status."""
    counts: Counter[str] = Counter()
    for schema in schemas:
        counts.update(_keywords(schema))
    known = sorted(IMPLEMENTED | ANNOTATIONS, key=lambda name: (-counts[name], name))
    lines = ["| keyword | schemas | |", "| --- | ---: | --- |"]
    lines += [
        f"| `{name}` | {100 * counts[name] / len(schemas):.1f} % | {_LABELS.get(status, status)} |"
        for name, status in ((name, keyword_status(name)) for name in known)
    ]
    return "\n".join(lines)


def _keywords(schema: Mapping[str, object]) -> set[str]:
    """Return the keywords of a schema and its subschemas."""
    names: set[str] = set()
    pending: list[Mapping[str, object]] = [schema]
    while pending:
        current = pending.pop()
        names |= current.keys()
        pending += [inner for _, inner in subschemas(current) if isinstance(inner, Mapping)]
    return names


_LABELS = {"enforced": "enforced while decoding"}


if __name__ == "__main__":
    sys.exit(main())
