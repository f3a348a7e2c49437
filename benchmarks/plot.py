"""Draw log-log curves over sizes as an SVG that is readable on light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

__all__ = ["Panel", "draw"]

_COLORS = (
    *("#00796b", "#d95f02", "#5e3c99", "#c2185b", "#1f78b4"),
    *("#7a6a00", "#4d4d4d", "#33a02c", "#a6761d", "#e7298a"),
    *("#0b3c8c", "#8c0b0b"),
)
_INK, _GRID, _LINE = "#16302b", "#dfe9e6", "#5b7a73"
_WIDE, _HIGH, _LEFT, _TOP, _STEP, _FALL = 290, 190, 60, 74, 370, 264
"""Geometry of panels in pixels: area, origin of the first panel, and distance between panels."""

_ACROSS = 2
"""Panels per row."""


@dataclass(frozen=True)
class Panel:
    """A panel with curves.

    Attributes:
        title: The measured quantity, with its unit.
        curves: By name: size and value of each point.
        crosses: By name: points of failure, drawn as crosses off the line.
    """

    title: str
    curves: Mapping[str, Sequence[tuple[float, float]]]
    crosses: Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class _Axis:
    """An axis of the powers of ten from `low` to `high`, along `length` pixels from `begin`."""

    low: int
    high: int
    begin: float
    length: float

    @classmethod
    def of(cls, values: Sequence[float], begin: float, length: float) -> _Axis:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return cls(low, max(high, low + 1), begin, length)

    def position(self, value: float) -> float:
        return self.begin + self.length * (math.log10(value) - self.low) / (self.high - self.low)

    def decades(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def draw(panels: Sequence[Panel]) -> str:
    """Draw the panels in rows of two, with one legend; a curve has the same colour in all of them."""
    names = list(dict.fromkeys(name for panel in panels for name in [*panel.curves, *panel.crosses]))
    colors = dict(zip(names, _COLORS, strict=False))
    shapes = [_legend(names, colors, crosses=any(panel.crosses for panel in panels))]
    for number, panel in enumerate(panels):
        shapes += _panel(panel, _LEFT + number % _ACROSS * _STEP, _TOP + number // _ACROSS * _FALL, colors)
    width = _LEFT + (_ACROSS - 1) * _STEP + _WIDE + 24
    height = _TOP + (-(-len(panels) // _ACROSS) - 1) * _FALL + _HIGH + 40
    body = "\n".join(shapes)
    # The background is opaque, so that the drawing is readable on dark pages.
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="{_INK}">\n'
        f'<rect width="100%" height="100%" rx="10" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


def _legend(names: Sequence[str], colors: Mapping[str, str], *, crosses: bool) -> str:
    shapes, x, y = [], float(_LEFT), 16.0
    for name in names:
        wide = 52 + 6.6 * len(name)
        if x + wide > _LEFT + (_ACROSS - 1) * _STEP + _WIDE:
            x, y = float(_LEFT), y + 18
        shapes.append(_line([(x, y), (x + 22, y)], colors[name]) + _dot(x + 11, y, colors[name]))
        shapes.append(_text(x + 28, y + 4, name, "start"))
        x += wide
    if crosses:
        shapes.append(_cross(x + 6, y, _LINE) + _text(x + 18, y + 4, "refused", "start"))
    return "".join(shapes)


def _panel(panel: Panel, left: float, top: float, colors: Mapping[str, str]) -> list[str]:
    points = [point for each in (panel.curves, panel.crosses) for line in each.values() for point in line]
    across = _Axis.of([x for x, _ in points], left, _WIDE)
    up = _Axis.of([y for _, y in points], top + _HIGH, -_HIGH)
    shapes = [_text(left + _WIDE / 2, top - 16, panel.title, weight="bold")]
    for value in across.decades():
        x = across.position(value)
        shapes.append(
            _line([(x, top), (x, top + _HIGH)], _GRID, 1) + _text(x, top + _HIGH + 18, _short(value))
        )
    for value in up.decades():
        y = up.position(value)
        shapes.append(
            _line([(left, y), (left + _WIDE, y)], _GRID, 1) + _text(left - 6, y + 4, _short(value), "end")
        )
    for name, line in panel.curves.items():
        positions = [(across.position(x), up.position(y)) for x, y in line]
        shapes.append(
            _line(positions, colors[name]) + "".join(_dot(*each, colors[name]) for each in positions)
        )
    for name, line in panel.crosses.items():
        shapes += [_cross(across.position(x), up.position(y), colors[name]) for x, y in line]
    return shapes


def _short(value: float) -> str:
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def _line(positions: Sequence[tuple[float, float]], color: str, width: float = 2) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in positions)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"/>'


def _dot(x: float, y: float, color: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"/>'


def _cross(x: float, y: float, color: str) -> str:
    path = f"M {x - 4:.1f} {y - 4:.1f} l 8 8 m 0 -8 l -8 8"
    return f'<path d="{path}" fill="none" stroke="{color}" stroke-width="2.5"/>'


def _text(x: float, y: float, words: str, anchor: str = "middle", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'
    )
