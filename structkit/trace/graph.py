"""Drawings of automata: states in columns by their distance from the start, and labelled edges, as an SVG."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from structkit.trace.visible import visible

__all__ = ["Edge", "Graph", "draw_graph", "join_chains"]

_ACROSS, _DOWN, _RADIUS, _MARGIN = 150, 84, 16, 44
_MAX_LABEL = 20
"""Characters of a label that are drawn; a tooltip has the rest."""

_STYLE = (
    ".sk-graph{--ink:#16302b;--page:#fff;--state:#e6f2ef;--line:#5b7a73;--mark:#00796b}"
    "@media(prefers-color-scheme:dark){"
    ".sk-graph{--ink:#e3efec;--page:#14201d;--state:#2d3b37;--line:#9db5af;--mark:#4db6ac}}"
    ".sk-graph text{font:12px system-ui,sans-serif;fill:var(--ink);text-anchor:middle}"
    ".sk-graph .edge{fill:none;stroke:var(--line);stroke-width:1.3}"
    ".sk-graph circle{fill:var(--state);stroke:var(--mark);stroke-width:1.6}"
)


@dataclass(frozen=True, slots=True)
class Edge:
    """A text, or a class of bytes, that leads from one state to another."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Graph:
    """An automaton as it is drawn.

    Attributes:
        start: The first state.
        final: The states in which a text may end.
        edges: The edges.
        title: What it is.
    """

    start: int
    final: frozenset[int]
    edges: tuple[Edge, ...]
    title: str = ""


def join_chains(graph: Graph) -> Graph:
    """Replace chains of states with one way in and one way out by one edge.

    >>> edges = (Edge(0, 1, "a"), Edge(1, 2, "b"), Edge(2, 2, "c"))
    >>> join_chains(Graph(0, frozenset({2}), edges)).edges
    (Edge(start=0, end=2, label='ab'), Edge(start=2, end=2, label='c'))
    """
    inward: dict[int, int] = {}
    outward: dict[int, list[Edge]] = {}
    for edge in graph.edges:
        inward[edge.end] = inward.get(edge.end, 0) + 1
        outward.setdefault(edge.start, []).append(edge)
    inner = {
        state
        for state, edges in outward.items()
        if len(edges) == 1 and inward.get(state) == 1 and state not in graph.final and state != graph.start
    }
    joined = []
    for edge in graph.edges:
        if edge.start in inner:
            continue
        labels, end = [edge.label], edge.end
        while end in inner:  # a cycle of them alone is not reached from the start
            (following,) = outward[end]
            labels.append(following.label)
            end = following.end
        joined.append(Edge(edge.start, end, "".join(labels)))
    return Graph(graph.start, graph.final, tuple(joined), graph.title)


def draw_graph(graph: Graph, max_states: int = 60) -> str:
    """Draw a graph as an SVG without scripts; every text is escaped.

    Args:
        graph: The graph.
        max_states: The states that are drawn, nearest to the start first; a dotted edge leads to the others.

    >>> svg = draw_graph(Graph(0, frozenset({1}), (Edge(0, 1, "<a>"),), "a letter"))
    >>> svg[:4], "&lt;a&gt;" in svg, svg.count("<circle")
    ('<svg', True, 3)
    """
    columns = _columns(graph, max_states)
    height = max(map(len, columns))
    places = {
        state: (
            _MARGIN + 24 + x * _ACROSS,
            _MARGIN + 16 + (height - len(column)) * _DOWN / 2 + y * _DOWN,
        )
        for x, column in enumerate(columns)
        for y, state in enumerate(column)
    }
    x, y = places[graph.start]
    shapes = [f'<path class="edge" marker-end="url(#sk-arrow)" d="M{x - 44} {y}H{x - _RADIUS - 6}"/>']
    merged: dict[tuple[int, int], list[str]] = {}
    cut: dict[int, int] = {}
    for edge in graph.edges:
        if edge.start in places and edge.end in places:
            merged.setdefault((edge.start, edge.end), []).append(edge.label)
        elif edge.start in places:
            cut[edge.start] = cut.get(edge.start, 0) + 1
    shapes += [_edge(places[a], places[b], " | ".join(labels)) for (a, b), labels in merged.items()]
    for state, count in cut.items():
        x, y = places[state]
        shapes.append(f'<path class="edge" stroke-dasharray="2 4" d="M{x + _RADIUS} {y}h40"/>')
        shapes.append(f'<text x="{x + 30}" y="{y - 6:.1f}">{count} more</text>')
    for state, (x, y) in places.items():
        shapes.append(f'<circle cx="{x}" cy="{y:.1f}" r="{_RADIUS}"/>')
        if state in graph.final:
            shapes.append(f'<circle cx="{x}" cy="{y:.1f}" r="{_RADIUS - 4}"/>')
        shapes.append(f'<text x="{x}" y="{y + 4:.1f}">{state}</text>')
    width, tall = (
        2 * _MARGIN + 48 + (len(columns) - 1) * _ACROSS + 40,
        2 * _MARGIN + 32 + (height - 1) * _DOWN,
    )
    title = escape(visible(graph.title))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sk-graph" role="img" aria-label="{title}" width="{width}" '
        f'height="{tall}" viewBox="0 0 {width} {tall}"><style>{_STYLE}</style><title>{title}</title>'
        '<defs><marker id="sk-arrow" viewBox="0 0 10 10" refX="3" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 1L9 5L0 9z" style="fill:var(--line)"/></marker></defs>'
        '<rect width="100%" height="100%" rx="8" style="fill:var(--page)"/>'
        f"{''.join(shapes)}</svg>"
    )


def _columns(graph: Graph, max_states: int) -> Sequence[Sequence[int]]:
    """Return the nearest states by their distance from the start."""
    after: dict[int, list[int]] = {}
    for edge in graph.edges:
        after.setdefault(edge.start, []).append(edge.end)
    distance, pending = {graph.start: 0}, deque([graph.start])
    while pending and len(distance) < max_states:
        state = pending.popleft()
        for end in dict.fromkeys(after.get(state, ())):
            if end not in distance and len(distance) < max_states:
                distance[end] = distance[state] + 1
                pending.append(end)
    columns: list[list[int]] = [[] for _ in range(1 + max(distance.values()))]
    for state, column in distance.items():
        columns[column].append(state)
    return columns


def _edge(start: tuple[float, float], end: tuple[float, float], label: str) -> str:
    (x, y), (u, v) = start, end
    if start == end:
        path = f"M{x - 8} {y - 14:.1f}C{x - 26} {y - 52:.1f} {x + 26} {y - 52:.1f} {x + 9} {y - 20:.1f}"
        return _labelled(path, x, y - 48, label)
    length = math.hypot(u - x, v - y)
    right, down = (u - x) / length, (v - y) / length
    # Edges that do not lead to the next column are bent, so that they do not pass through states.
    bend = 0 if 0 < u - x <= _ACROSS else 18 + length / 6
    middle_x, middle_y = (x + u) / 2 + down * bend, (y + v) / 2 - right * bend
    path = (
        f"M{x + right * _RADIUS:.1f} {y + down * _RADIUS:.1f}Q{middle_x:.1f} {middle_y:.1f} "
        f"{u - right * (_RADIUS + 7):.1f} {v - down * (_RADIUS + 7):.1f}"
    )
    # Near the start of an edge, where edges into one state do not overlap.
    at = 0.42
    label_x = (1 - at) ** 2 * x + 2 * at * (1 - at) * middle_x + at**2 * u
    label_y = (1 - at) ** 2 * y + 2 * at * (1 - at) * middle_y + at**2 * v
    return _labelled(path, label_x, label_y - 6, label)


def _labelled(path: str, x: float, y: float, label: str) -> str:
    shown = label if len(label) <= _MAX_LABEL else f"{label[: _MAX_LABEL - 1]}\N{HORIZONTAL ELLIPSIS}"
    return (
        f'<path class="edge" marker-end="url(#sk-arrow)" d="{path}"/><text x="{x:.1f}" y="{y:.1f}">'
        f"<title>{escape(visible(label))}</title>{escape(visible(shown))}</text>"
    )
