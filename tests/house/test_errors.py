"""The tree drawn at the top of errors.py is the tree of the classes."""

from __future__ import annotations

import re

import structkit as sk
from structkit import errors


def _drawn() -> dict[str, str]:
    """Each error's parent, read from the drawing: three columns for each step into the tree."""
    parents: dict[str, str] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"([│├└─ ]*)([A-Z]\w+) {2,}", line)
        if found:
            depth = len(found[1]) // 3
            del above[depth:]
            parents[found[2]] = above[-1] if above else "Exception"
            above.append(found[2])
    return parents


def test_the_drawing_is_the_tree() -> None:
    real = {name: vars(errors)[name].__mro__[1].__name__ for name in errors.__all__}
    assert _drawn() == real


def test_all_errors_are_public() -> None:
    assert set(errors.__all__) <= set(sk.__all__)
