"""Drawings of automata: where states and edges are, and which of them are left out."""

from __future__ import annotations

import re
from itertools import product
from random import Random

import pytest

from structkit.trace.graph import Edge, Graph, _columns, _edge, draw_graph, join_chains

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _points(path: str) -> list[complex]:
    numbers = [float(each) for each in NUMBER.findall(path)]
    return [complex(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]


def _parts(svg: str) -> tuple[list[complex], complex]:
    """Return the points of the path of an edge, and the place of its label."""
    path, label = re.search(r' d="([^"]+)"', svg), re.search(r'<text x="([^"]+)" y="([^"]+)"', svg)
    assert path and label
    return _points(path[1]), complex(float(label[1]), float(label[2]))


@pytest.mark.parametrize("end", [complex(*each) for each in product((-300, -150, 0, 150, 300), (-84, 0, 42))])
def test_an_edge_leads_from_circle_to_circle(end: complex) -> None:
    start = 200 + 100j
    points, label = _parts(_edge((start.real, start.imag), ((start + end).real, (start + end).imag), "a"))
    if not end:
        assert [each - start for each in points] == [-8 - 14j, -26 - 52j, 26 - 52j, 9 - 20j]
        assert label - start == -48j
        return
    unit = end / abs(end)
    # One column to the right it is straight; else it bends to the left of its direction.
    bend = 0 if 0 < end.real <= 150 else 18 + abs(end) / 6
    middle = start + end / 2 - unit * 1j * bend
    expected = [start + 16 * unit, middle, start + end - 23 * unit]
    assert points == pytest.approx(expected, abs=0.1)
    assert label == pytest.approx(
        0.58**2 * start + 2 * 0.42 * 0.58 * middle + 0.42**2 * (start + end) - 6j, abs=0.1
    )


@pytest.mark.parametrize(
    ("length", "shown"), [(1, "x"), (20, "x" * 20), (21, "x" * 19 + "\N{HORIZONTAL ELLIPSIS}")]
)
def test_a_long_label_is_cut(length: int, shown: str) -> None:
    svg = _edge((0, 0), (150, 0), "x" * length)
    assert re.findall(r">([^<]+)</text>", svg) == [shown]


def _random(random: Random, states: int) -> Graph:
    edges = [
        Edge(random.randrange(states), random.randrange(states), random.choice("abc"))
        for _ in range(states + 3)
    ]
    return Graph(0, frozenset(state for state in range(states) if random.random() < 0.3), tuple(edges), "t")


def _texts(graph: Graph, most: int) -> set[str]:
    """Return the texts of at most some characters."""
    found, pending = set[str](), [(graph.start, "")]
    seen = set(pending)
    while pending:
        state, text = pending.pop()
        if state in graph.final:
            found.add(text)
        for edge in graph.edges:
            step = (edge.end, text + edge.label)
            if edge.start == state and len(step[1]) <= most and step not in seen:
                seen.add(step)
                pending.append(step)
    return found


def test_joined_chains_have_the_same_texts_and_no_state_with_one_way_through() -> None:
    random = Random(1)
    for _ in range(60):
        graph = _random(random, random.randrange(1, 7))
        joined = join_chains(graph)
        assert (joined.start, joined.final, joined.title) == (graph.start, graph.final, graph.title)
        assert _texts(joined, 4) == _texts(graph, 4)
        again = join_chains(joined)
        assert {each for each in again.edges if each.start in _reached(again)} == {
            each for each in joined.edges if each.start in _reached(joined)
        }


def _reached(graph: Graph) -> dict[int, int]:
    """Return the distances of the states from the start."""
    distance, pending = {graph.start: 0}, [graph.start]
    for state in pending:
        for edge in graph.edges:
            if edge.start == state and edge.end not in distance:
                distance[edge.end] = distance[state] + 1
                pending.append(edge.end)
    return distance


def test_the_nearest_states_are_in_columns_by_their_distance() -> None:
    random = Random(2)
    for _ in range(40):
        graph = _random(random, random.randrange(1, 8))
        distance = _reached(graph)
        for most in range(1, len(distance) + 2):
            columns = _columns(graph, most)
            shown = [state for column in columns for state in column]
            assert shown == [*distance][:most] and columns[0] == [graph.start]
            assert [[distance[state] for state in column] for column in columns] == [
                [at] * len(column) for at, column in enumerate(columns)
            ]


def test_a_drawing_has_each_state_once_and_counts_the_edges_to_others() -> None:
    edges = (
        Edge(0, 1, "<a>"),
        Edge(0, 1, "b"),
        Edge(0, 2, "c"),
        Edge(1, 3, "d"),
        Edge(1, 4, "e"),
        Edge(2, 2, "f"),
    )
    graph = Graph(0, frozenset({1, 4}), edges, "a & b")
    svg = draw_graph(graph, max_states=3)
    circles = [
        (float(x), float(y), int(r))
        for x, y, r in re.findall(r'<circle cx="(.+?)" cy="(.+?)" r="(\d+)"', svg)
    ]
    assert circles == [(68, 102, 16), (218, 60, 16), (218, 60, 12), (218, 144, 16)]
    assert '<text x="68" y="106.0">0</text>' in svg and '<text x="218" y="64.0">1</text>' in svg
    assert "&lt;a&gt; | b</text>" in svg and svg.count("2 more</text>") == 1 and "1 more" not in svg
    assert '<text x="248" y="54.0">2 more</text>' in svg and 'd="M234 60.0h40"' in svg
    assert 'd="M24 102.0H46"' in svg and 'aria-label="a &amp; b" width="326" height="204"' in svg
    whole = draw_graph(graph)
    assert whole.count("<circle") == 7 and "more</text>" not in whole and 'width="476"' in whole
