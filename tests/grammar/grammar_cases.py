"""What several tests of grammars as targets use."""

from __future__ import annotations

import structkit as sk
from structkit.testing import byte_vocabulary
from tests import reading

SUM = 'start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/\n%ignore " "\n'


def accepts(grammar: sk.Grammar[str], text: str) -> bool:
    """Return whether the guide of a grammar accepts a text."""
    return reading.accepts(sk.compile(grammar, byte_vocabulary(), cache=False), text)
