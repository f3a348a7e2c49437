"""What a person sees of a value: its repr says what it is, and a notebook draws it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Literal
from xml.etree import ElementTree

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.guide.picture import automaton_graph
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary
from structkit.testing.proof import report
from structkit.trace import table
from structkit.trace.graph import Edge, Graph, draw_graph, join_chains
from structkit.trace.table import draw_table


class Ticket(BaseModel):
    title: str
    priority: Literal["high", "low"]


REPLY = '{"title": "<script>alert(1)</script>", "priority": "low"}'


class Texts(HTMLParser):
    """The tags and texts of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(html: str) -> Texts:
    """Return what a browser reads; every element is closed, and none runs anything."""
    found = Texts(html)
    assert not found.open
    assert "script" not in found.tags
    return found


def add(a: int, b: int) -> int:
    return a + b


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (ScriptedModel(["1", "2"]), r"<ScriptedModel scripted: 2 of 2 replies left>"),
        (RandomModel(seed=3), r"<RandomModel random, seed 3>"),
        (sk.Agent(RandomModel()), r"<Agent random: no tools -> str>"),
        (sk.Agent(RandomModel(), tools=[add], output_type=int), r"<Agent random: add -> int>"),
        (sk.compile(bool, byte_vocabulary()), r"<Guide: 1 of 1 rules built, \d+ states, 257 tokens>"),
        (sk.explain(Ticket), r"<Explanation of Ticket: \d+ enforced, \d+ annotation>"),
        (sk.stream(ScriptedModel(["1"]), "x", int), r"<Stream of int from scripted, 0 characters so far>"),
        (sk.stream(ScriptedModel(["1"]), "x", 3), r"<Stream of an invalid target .*>"),  # type: ignore[call-overload]
        (sk.Agent(RandomModel()).stream("x"), r"<AgentStream, not at its end>"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_a_repr_says_what_it_is(shown: object, expected: str) -> None:
    assert re.fullmatch(expected, repr(shown)), repr(shown)


def test_the_repr_of_a_cursor_has_its_place() -> None:
    cursor = sk.compile(Literal["yes", "yes, please"], byte_vocabulary()).cursor()
    assert repr(cursor) == "<Cursor after 0 tokens, b'', not at an end>"
    for byte in b'"yes"':
        cursor.advance(byte)
    assert repr(cursor) == "<Cursor after 5 tokens, b'\"yes\"', may end>"
    cursor.advance(256)
    assert repr(cursor) == "<Cursor after 6 tokens, b'\"yes\"', terminated>"


def test_a_result_shows_value_confidence_and_trace() -> None:
    result = sk.generate(ScriptedModel([REPLY]), "x", Ticket)
    found = read(result._repr_html_())
    assert {"$.title", "$.priority"} <= {f"$.{text}" if "$" not in text else text for text in found.texts}
    assert any("'low' " in text for text in found.texts)
    assert "details" in found.tags and "trace" in found.texts


def test_a_stream_shows_its_part_and_then_its_result() -> None:
    stream = sk.stream(ScriptedModel([REPLY]), "x", Ticket)
    for event in stream:
        if isinstance(event, sk.TextDelta) and event.path:
            break
    part = read(stream._repr_html_())
    assert "partial" in part.texts and any('{"title": "' in text for text in part.texts)
    assert stream.result._repr_html_() == stream._repr_html_()
    assert "ended with Ticket(title=" in repr(stream)


def test_an_explanation_shows_its_table() -> None:
    explained = sk.explain({"type": "array", "not": {"uniqueItems": True}})
    found = read(explained._repr_html_())
    assert found.tags.count("tr") == len(explained.rows) + 1
    assert {"path", "refused", "uniqueItems"} <= set(found.texts)


def test_a_run_shows_its_calls() -> None:
    model = ScriptedModel(['{"name": "add", "arguments": {"a": 2, "b": 3}}', "<b>5</b>"])
    result = sk.Agent(model, tools=[add]).run("2 + 3?")
    found = read(result._repr_html_())
    assert {"add", '{"a": 2, "b": 3}', "5"} <= set(found.texts)
    assert "b" not in found.tags


def test_a_guide_shows_its_automaton() -> None:
    html = sk.compile(Ticket, byte_vocabulary())._repr_html_()
    svg = ElementTree.fromstring(html[html.index("<svg") :])
    texts = [node.text or "" for node in svg.iter("{http://www.w3.org/2000/svg}title")]
    assert '{"title": "<rule 1>, "priority": "' in texts and 'high" | low"' in texts
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}circle"))) == 5  # four states, one of them final


def test_chains_are_joined_and_the_language_is_kept() -> None:
    graph = automaton_graph(sk.compile(Literal["ab", "abc", "x"], byte_vocabulary()).automaton)
    edges = {(edge.start, edge.label): edge.end for edge in graph.edges}
    texts, pending = set(), [(graph.start, "")]
    while pending:
        state, text = pending.pop()
        texts |= {text} if state in graph.final else set()
        pending += [(end, text + label) for (start, label), end in edges.items() if start == state]
    assert texts == {'"ab"', '"abc"', '"x"'}


def test_a_large_graph_is_cut() -> None:
    edges = tuple(Edge(state, state + step, "ab"[step - 1]) for state in range(500) for step in (1, 2))
    graph = Graph(0, frozenset({501}), edges, "<many>")
    svg = draw_graph(join_chains(graph), max_states=10)
    ElementTree.fromstring(svg)
    assert svg.count("<circle") == 10 and "more</text>" in svg


def test_a_long_table_is_cut() -> None:
    found = read(draw_table("t", ["a"], [["x" * 10_000]] * 1000))
    assert found.tags.count("tr") == 202 and "... 800 more" in found.texts
    assert max(map(len, found.texts)) < 3_000


@pytest.mark.parametrize("length", [0, 1, 2, 3, 39, 40, 41, 80, 81, 500])
def test_a_long_cell_shows_its_two_ends(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(chr(0x4E00 + at) for at in range(length))
    for module, cut in ((table, table._safe), (report, report._cut)):
        name = "_MAX_CELL" if module is table else "_MAX_SHOWN"
        monkeypatch.setattr(module, name, 40)
        assert cut(text) == (text if length <= 40 else f"{text[:20]} ... {text[-20:]}")


def test_rows_beyond_the_bound_are_counted() -> None:
    for count in (0, 1, table._MAX_ROWS, table._MAX_ROWS + 1, table._MAX_ROWS + 2_000):
        html = table.draw_table("t", ["a"], [[f"row{at}."] for at in range(count)])
        left = max(0, count - table._MAX_ROWS)
        assert html.count("<td>row") == count - left
        assert (f"<td>... {left:,} more</td>" in html) == (left > 0)
