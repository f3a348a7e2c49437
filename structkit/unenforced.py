"""Keywords that structkit does not enforce: a schema, its rules and its report all carry them."""

from __future__ import annotations

from structkit.frozen import frozen

__all__ = ["Unenforced"]


@frozen
class Unenforced:
    """A keyword that was left out because it cannot be enforced, or a validator of a type: where, and why."""

    path: str
    keyword: str
    reason: str
