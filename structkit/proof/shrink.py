"""The smallest value that still shows something, found by leaving out one thing after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from structkit.proof.mutants import Json, at_path, paths, with_part

__all__ = ["shrunk"]


def shrunk(value: Json, shows: Callable[[Json], bool], most: int) -> Json:
    """A value from which nothing can be left out, or not in so many tries.

    Args:
        value: A JSON value that shows it.
        shows: Whether a value shows what is looked for.
        most: The values that are tried.

    >>> shrunk({"a": [1, 20, 300], "b": "x"}, lambda value: "300" in json.dumps(value), 100)
    300
    """
    tries = 0
    while tries < most:
        smaller = None
        for simpler in _simpler(value):
            tries += 1
            if tries > most:
                break
            if shows(simpler):
                smaller = simpler
                break
        if smaller is None:
            break
        value = smaller
    return value


def _simpler(value: Json) -> Iterator[Json]:
    """Values with less in one place, those with much less first; every one has a shorter text."""
    length = len(json.dumps(value))
    for path in paths(value):
        for part in _less(at_path(value, path)):
            simpler = with_part(value, path, part)
            if len(json.dumps(simpler)) < length:
                yield simpler


def _less(part: Json) -> Iterator[Json]:
    if isinstance(part, list):
        yield from part
        yield from (part[: len(part) // 2], part[len(part) // 2 :])
        yield from (part[:at] + part[at + 1 :] for at in range(len(part)))
    elif isinstance(part, dict):
        yield from part.values()
        yield from ({name: inner for name, inner in part.items() if name != gone} for gone in part)
    elif isinstance(part, str):
        yield from ("", part[: len(part) // 2], part[len(part) // 2 :])
        yield from (part[:at] + part[at + 1 :] for at in range(len(part)))
    elif isinstance(part, float):
        yield from (0, int(part) if abs(part) < 1e18 else 0, round(part, 1), round(part, 3))
    elif isinstance(part, int) and not isinstance(part, bool):
        yield from (0, 1, part // 10)
