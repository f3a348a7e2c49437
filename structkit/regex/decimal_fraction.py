"""Digits after a decimal point."""

from __future__ import annotations

from structkit.regex.nodes import LiteralText, Node, Repeat, seq

__all__ = ["fraction_of"]


def fraction_of(part: int, shift: int) -> Node:
    """Return the fraction `part / 10 ** shift` with its point, from the shortest spelling to `shift` digits."""
    digits = f"{part:0{shift}}".rstrip("0")
    zeros = Repeat(LiteralText("0"), 0, shift - len(digits))
    if not digits:
        return Repeat(seq(LiteralText("."), Repeat(LiteralText("0"), 1, shift)), 0, 1)
    return seq(LiteralText("." + digits), zeros) if len(digits) < shift else LiteralText("." + digits)
