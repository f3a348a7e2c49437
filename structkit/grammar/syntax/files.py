"""The files that a Lark grammar imports, and those whose absence decides which these are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Files"]


@dataclass(frozen=True)
class Files:
    """The files of a grammar.

    Attributes:
        imported: What is imported, with a hash of its text. It includes grammars that come with Lark, which have no
            path.
        looked_for: The paths at which Lark looked, each with a hash of the text; `None` where it could read no file.
    """

    imported: tuple[tuple[str, str], ...] = ()
    looked_for: tuple[tuple[str, str | None], ...] = ()

    @classmethod
    def of(cls, tried: Iterable[Iterable[str]], imported: Mapping[str, str]) -> Files:
        """Return the files of some imports.

        Args:
            tried: The paths of each import, of which Lark reads the first that is a file.
            imported: What Lark read, with a hash of its text.
        """
        found: dict[str, str | None] = {}
        for paths in tried:
            for path in paths:
                found[path] = imported.get(path)
                if path in imported:
                    break
        return cls(tuple(sorted(imported.items())), tuple(found.items()))

    @property
    def are_unchanged(self) -> bool:
        """Whether Lark would read the same texts again."""
        return all(_digest(path) == digest for path, digest in self.looked_for)


def _digest(path: str) -> str | None:
    """Return the hash of the text of a file, as Lark computes it; `None` if it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_text(encoding="utf-8").encode()).hexdigest()
    except OSError:
        return None
    except ValueError:  # not UTF-8, which Lark does not read either
        return ""
