"""The digits after a decimal point."""

from __future__ import annotations

from structkit.regex.nodes import Node, Repeat, Text, seq

__all__ = ["fraction_of"]


def fraction_of(part: int, shift: int) -> Node:
    """The fraction `part / 10 ** shift` with its point, from its shortest spelling to `shift` digits."""
    figures = f"{part:0{shift}}".rstrip("0")
    zeros = Repeat(Text("0"), 0, shift - len(figures))
    if not figures:
        return Repeat(seq(Text("."), Repeat(Text("0"), 1, shift)), 0, 1)
    return seq(Text("." + figures), zeros) if len(figures) < shift else Text("." + figures)
