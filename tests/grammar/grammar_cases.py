"""What several tests of grammars as targets use."""

from __future__ import annotations

import structkit as sk
from structkit.testing import byte_vocabulary

SUM = 'start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/\n%ignore " "\n'


def accepts(grammar: sk.Grammar[str], text: str) -> bool:
    cursor = sk.compile(grammar, byte_vocabulary(), cache=False).cursor()
    try:
        for byte in text.encode():
            cursor.advance(byte)
    except sk.TokenRejected:
        return False
    return cursor.is_accepting
