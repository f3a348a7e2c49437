"""Print requirements with hashes from a report of pip (`pip install --report`), read from standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from packaging.utils import canonicalize_name


def main() -> None:
    print("\n".join(requirements(json.load(sys.stdin))))


def requirements(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each file that pip would install; folders, such as structkit itself, have no hash."""
    for entry in sorted(report["install"], key=lambda entry: canonicalize_name(entry["metadata"]["name"])):
        archive = entry["download_info"].get("archive_info")
        if archive is not None:
            name = canonicalize_name(entry["metadata"]["name"])
            digest = archive["hashes"]["sha256"]
            yield f"{name}=={entry['metadata']['version']} --hash=sha256:{digest}"


if __name__ == "__main__":
    main()
