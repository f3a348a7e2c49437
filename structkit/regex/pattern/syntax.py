"""The syntax of Python's `re`, as its own parser reads it."""

from __future__ import annotations

import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

from structkit.errors import PatternError

if TYPE_CHECKING or sys.version_info < (3, 11):
    import sre_parse
else:
    from re import _parser as sre_parse

__all__ = ["check_syntax", "parse_syntax"]


def parse_syntax(pattern: str, flags: int = 0) -> Any:
    """Return what the parser of `re` reads, whose form depends on the version of Python.

    Raises:
        PatternError: `re` rejects the pattern.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return sre_parse.parse(pattern, flags)
    except re.error as error:
        message = f"re rejects it: {error.msg}; correct it at the column"
        raise PatternError(message, pattern=pattern, column=error.pos or 0) from None
    except (OverflowError, RecursionError) as error:
        raise PatternError(str(error), pattern=pattern, column=0) from None


def check_syntax(pattern: str) -> None:
    r"""Check that `re.compile` accepts a pattern, without the cost of compiling it.

    >>> check_syntax(r"\d+(?i:ab)")
    >>> check_syntax(r"\p{L}")
    Traceback (most recent call last):
    structkit.errors.PatternError: re rejects it: bad escape \p
      \p{L}
      ^
      correct it at the column

    Raises:
        PatternError: `re` rejects the pattern.
    """
    pending: list[Any] = list(parse_syntax(pattern))
    while pending:
        item = pending.pop()
        if isinstance(item, sre_parse.SubPattern):
            pending.extend(item.data)
        elif isinstance(item, tuple | list):
            if len(item) == 2 and str(item[0]) in ("ASSERT", "ASSERT_NOT") and item[1][0] < 0:
                least, most = item[1][1].getwidth()
                if least != most:  # `re` finds this when it compiles
                    message = "re rejects it: look-behind requires fixed-width pattern; give one length to all of it"
                    raise PatternError(message, pattern=pattern, column=0)
            pending.extend(item)
