"""Print the installed versions as constraints."""

from __future__ import annotations

from importlib.metadata import distributions

from packaging.utils import canonicalize_name
from packaging.version import Version

NOT_PINNED = {"pip", "structkit"}

HEADER = """\
# The versions that structkit is tested with, all of them: `pip install -c constraints.txt -e ".[transformers]"`.
# Written by scripts/pin. What pyproject.toml asks for is looser; Python 3.10 takes the newest that still know it.
"""


def main() -> None:
    versions = {canonicalize_name(each.name): Version(each.version).public for each in distributions()}
    print(HEADER, end="")
    for name in sorted(versions.keys() - NOT_PINNED):
        print(f'{name}=={versions[name]}; python_version >= "3.11"')


if __name__ == "__main__":
    main()
