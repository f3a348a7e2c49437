"""The tree in the docstring of errors.py is the tree of the classes."""

from __future__ import annotations

import re

import structkit as sk
from structkit import errors


def _documented_parents() -> dict[str, str]:
    """Return the parent of each error in the docstring; each level is indented by three columns."""
    parents: dict[str, str] = {}
    ancestors: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"([│├└─ ]*)([A-Z]\w+) {2,}", line)
        if match:
            depth = len(match[1]) // 3
            del ancestors[depth:]
            parents[match[2]] = ancestors[-1] if ancestors else "Exception"
            ancestors.append(match[2])
    return parents


def test_the_docstring_has_the_class_tree() -> None:
    real = {name: vars(errors)[name].__mro__[1].__name__ for name in errors.__all__}
    assert _documented_parents() == real


def test_all_errors_are_public() -> None:
    assert set(errors.__all__) <= set(sk.__all__)
