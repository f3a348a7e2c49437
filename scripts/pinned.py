"""Print the installed versions as constraints; those that need a newer Python than structkit are marked so."""

from __future__ import annotations

from importlib.metadata import Distribution, distributions

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

OLDEST = "3.10.0"
NOT_PINNED = {"pip", "structkit"}

HEADER = """\
# The versions that structkit is tested with, all of them: `pip install -c constraints.txt -e ".[transformers]"`.
# Written by scripts/pin. What pyproject.toml asks for is looser.
"""


def main() -> None:
    found = {canonicalize_name(each.name): each for each in distributions()}
    print(HEADER, end="")
    for name in sorted(found.keys() - NOT_PINNED):
        print(constraint(name, found[name]))


def constraint(name: str, found: Distribution) -> str:
    pinned = f"{name}=={Version(found.version).public}"
    needed = found.metadata.get("Requires-Python") or ">=3"
    return pinned if OLDEST in SpecifierSet(needed) else f'{pinned}; python_version >= "3.11"'


if __name__ == "__main__":
    main()
