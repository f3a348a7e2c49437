"""The bill of materials and the requirements with hashes."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import structkit as sk
from scripts import hashes, sbom

tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no tomllib")


def test_the_bill_of_materials_has_every_dependency_and_its_version(root: Path) -> None:
    bill = sbom.bill("structkit-llm")
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    components = {part["name"]: part["version"] for part in bill["components"]}
    names = [Requirement(line).name.replace("_", "-") for line in project["dependencies"]]
    assert {name: components.get(name) for name in names} == {name: version(name) for name in names}
    assert bill["metadata"]["component"]["version"] == sk.__version__
    assert "torch" not in components


def test_references_lead_to_components() -> None:
    bill = sbom.bill("structkit-llm", ["servers"])
    assert json.loads(json.dumps(bill)) == bill
    references = [bill["metadata"]["component"]["bom-ref"], *(part["bom-ref"] for part in bill["components"])]
    assert len(set(references)) == len(references)
    assert {entry["ref"] for entry in bill["dependencies"]} == set(references)
    needed = {need for entry in bill["dependencies"] for need in entry["dependsOn"]}
    assert needed == set(references[1:])
    assert f"pkg:pypi/httpx2@{version('httpx2')}" in needed


def test_a_distribution_that_is_missing_is_named() -> None:
    with pytest.raises(SystemExit, match="no-such-package is not installed"):
        sbom.bill("no-such-package")


def test_requirements_with_hashes_are_those_of_the_report() -> None:
    def entry(name: str, download: dict[str, object]) -> dict[str, object]:
        return {"metadata": {"name": name, "version": "1.2"}, "download_info": download}

    report = {
        "install": [
            entry("Pydantic_Core", {"url": "x", "archive_info": {"hashes": {"sha256": "ab"}}}),
            entry("structkit-llm", {"url": "file:///x", "dir_info": {"editable": True}}),
            entry("lark", {"url": "y", "archive_info": {"hashes": {"sha256": "cd"}}}),
        ]
    }
    assert list(hashes.requirements(report)) == [
        "lark==1.2 --hash=sha256:cd",
        "pydantic-core==1.2 --hash=sha256:ab",
    ]
