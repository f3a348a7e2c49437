"""The public names are sorted, exist, and are documented in the reference."""

from __future__ import annotations

import re
from pathlib import Path

import structkit as sk


def test_the_names_are_sorted_and_exist() -> None:
    assert list(sk.__all__) == sorted(sk.__all__)
    assert dir(sk) == list(sk.__all__)
    missing = [name for name in sk.__all__ if not hasattr(sk, name)]
    assert not missing


def test_every_public_name_is_in_the_reference(root: Path) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (root / "docs/reference").rglob("*.md"))
    documented = set(re.findall(r"^::: structkit\.(?:\w+\.)*(\w+)$", pages, flags=re.M))
    assert documented >= set(sk.__all__) - {"__version__"}
