"""Print a software bill of materials (CycloneDX 1.6, JSON) of an installed structkit and what it depends on.

`python scripts/sbom.py [EXTRA ...]` reads the metadata of the environment that runs it. It has no hashes, because what
pip has installed no longer has the hash of its file; see `scripts/hashes.py`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = "structkit-llm"


def main(extras: Sequence[str]) -> None:
    print(json.dumps(bill(ROOT, extras), indent=2))


def bill(root: str, extras: Iterable[str] = ()) -> dict[str, object]:
    """Return the bill of materials of a distribution with some of its extras."""
    found: dict[str, Distribution] = {}
    needs: dict[str, set[str]] = {}
    pending = [(canonicalize_name(root), frozenset(extras))]
    seen = set(pending)
    while pending:
        name, chosen = pending.pop()
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            raise SystemExit(
                f"{name} is not installed; install structkit with the extras that you name"
            ) from None
        for requirement in map(Requirement, found[name].requires or ()):
            if not applies(requirement, chosen):
                continue
            needed = canonicalize_name(requirement.name), frozenset(requirement.extras)
            needs.setdefault(name, set()).add(needed[0])
            if needed not in seen:
                seen.add(needed)
                pending.append(needed)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(found[canonicalize_name(root)])},
        "components": [component(found[name]) for name in sorted(found) if name != canonicalize_name(root)],
        "dependencies": [
            {
                "ref": reference(found[name]),
                "dependsOn": sorted(reference(found[each]) for each in needs.get(name, ())),
            }
            for name in sorted(found)
        ],
    }


def applies(requirement: Requirement, extras: Iterable[str]) -> bool:
    """Return whether a requirement applies to this Python with some extras."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def component(package: Distribution) -> dict[str, object]:
    """Return the entry of a distribution."""
    names = ("License-Expression", "License")
    licence = next((text for name in names for text in package.metadata.get_all(name, []) if text), "")
    entry: dict[str, object] = {
        "type": "library",
        "bom-ref": reference(package),
        "name": canonicalize_name(package.metadata["Name"]),
        "version": package.version,
        "purl": reference(package),
    }
    if "License-Expression" in package.metadata:
        entry["licenses"] = [{"expression": licence}]
    elif licence and "\n" not in licence:  # some put the whole text here
        entry["licenses"] = [{"license": {"name": licence}}]
    return entry


def reference(package: Distribution) -> str:
    """Return the package URL of a distribution."""
    return f"pkg:pypi/{canonicalize_name(package.metadata['Name'])}@{package.version.replace('+', '%2B')}"


if __name__ == "__main__":
    main(sys.argv[1:])
