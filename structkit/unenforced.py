"""Records of keywords that are checked after decoding instead of enforced while decoding."""

from __future__ import annotations

from structkit.frozen import frozen

__all__ = ["Unenforced"]


@frozen
class Unenforced:
    """A keyword, or a validator of a type, that decoding does not enforce, with its path and the reason."""

    path: str
    keyword: str
    reason: str
