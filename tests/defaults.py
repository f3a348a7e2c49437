"""The flags and numbers that public dataclasses and functions have by default."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.shared import ROOT

__all__ = ["defaults"]


def defaults(folder: str) -> list[str]:
    """Return a line for each such default in a folder: the file, the public name, and the default."""
    return sorted(
        f"{path.stem} {name} {each}={default}"
        for path in sorted((ROOT / "structkit" / folder).rglob("*.py"))
        for name, value in _public(path)
        for each, default in _defaults(value)
    )


def _public(path: Path) -> Iterator[tuple[str, Any]]:
    if path.stem.endswith("torch"):  # an import that takes seconds
        return
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        if getattr(value, "__module__", "") == module.__name__:
            yield name, value


def _defaults(value: Any) -> Iterator[tuple[str, int]]:
    found: list[tuple[str, object]] = []
    if inspect.isclass(value):
        if is_dataclass(value):
            found += [(each.name, each.default) for each in fields(value)]
        for name, member in vars(value).items():
            function = getattr(member, "__func__", member)
            is_hidden = name.startswith("_") and (is_dataclass(value) or name not in ("__init__", "__new__"))
            if inspect.isfunction(function) and not is_hidden:
                found += [(f"{name}.{each}", default) for each, default in _of_function(function)]
    elif inspect.isfunction(value):
        found += _of_function(value)
    return ((name, default) for name, default in found if isinstance(default, int))


def _of_function(function: Any) -> list[tuple[str, object]]:
    return [(each.name, each.default) for each in inspect.signature(function).parameters.values()]
