"""Draw the diagrams of the docs: the pipeline, automata, sequences of calls and agent runs, and a corrected answer.

    python scripts/draw.py

The script writes docs/assets. tests/docs/test_tables.py compares the files with the output of the script.
"""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Annotated, TypeAlias
from xml.sax.saxutils import escape

import numpy as np
from pydantic import Field

from structkit import AgentResult, Call, Grammar, Result, to_regex
from structkit.automaton.core.dfa import DEAD, Dfa
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.automaton.runtime.stack import Frame, return_frames
from structkit.messages import Answer, Calls, Message, Output, User
from structkit.targets.targets import read_target
from structkit.trace.picture import SpanKind, TraceSpan, join_spans

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "docs/assets"
Age = Annotated[int, Field(ge=0, le=120)]

INK, PALE, LINE, MARK = "#16302b", "#e6f2ef", "#5b7a73", "#00796b"
ACROSS, DOWN, RADIUS = 150, 140, 24


@dataclass(frozen=True)
class Edge:
    """The bytes that lead from one state to another."""

    start: int
    end: int
    label: str


Places: TypeAlias = Mapping[int, tuple[float, float]]
"""The middle of each state."""


def main() -> None:
    for name, svg in drawings().items():
        (ASSETS / name).write_text(svg, encoding="utf-8")


def drawings() -> dict[str, str]:
    """Return every diagram by its file name."""
    age = draw_dfa(link(read_target(Age).rules()).dfa(0))
    return {
        "age.svg": age,
        "pipeline.svg": draw_pipeline(),
        "grammar.svg": draw_grammar(),
        "call.svg": draw_sequence(exchanges_of_call(names_after("docs/tutorial/7-tools.md", 1))),
        "agent-run.svg": draw_sequence(exchanges_of_run(names_after("docs/tutorial/8-agents.md", 1))),
        "agent-error.svg": draw_sequence(exchanges_of_run(names_after("docs/tutorial/8-agents.md", 3))),
        "correction.svg": draw_correction(names_after("docs/tutorial/11-any-model.md", 1)),
    }


def draw_dfa(dfa: Dfa) -> str:
    """Draw an acyclic automaton: its states in columns, and the bytes on its edges."""
    edges = list(read_edges(dfa))
    columns = columns_of(len(dfa.final), edges)
    places = {}
    height = max(map(len, columns))
    for x, column in enumerate(columns):
        for y, state in enumerate(column):
            top = (height - len(column)) * DOWN / 2
            places[state] = (60 + x * ACROSS, 50 + top + y * DOWN)
    shapes = [f'<path d="M 6 {places[0][1]} H {places[0][0] - RADIUS - 7}" {STROKE} {ARROW}/>']
    shapes += [draw_edge(edge, places) for edge in edges]
    shapes += [draw_state(state, bool(dfa.final[state]), places) for state in places]
    return page(60 * 2 + (len(columns) - 1) * ACROSS, 100 + (height - 1) * DOWN, shapes)


def read_edges(dfa: Dfa) -> Iterator[Edge]:
    """Yield the edges of an automaton without calls."""
    for state, targets in enumerate(dfa.targets):
        by_byte = targets[dfa.classes]
        for target in np.unique(by_byte[by_byte != DEAD]):
            yield Edge(
                state, int(target) >> OPERATION_BITS, spans(np.flatnonzero(by_byte == target).tolist())
            )


def spans(numbers: list[int]) -> str:
    """Format bytes as ranges of characters.

    >>> spans([48, 50, 51, 52])
    '0 2-4'
    """
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    return " ".join(chr(each[0]) if len(each) == 1 else f"{chr(each[0])}-{chr(each[-1])}" for each in ranges)


def columns_of(size: int, edges: list[Edge]) -> list[list[int]]:
    """Group the states of an acyclic automaton by the length of the longest path to them."""
    predecessors = {state: {edge.start for edge in edges if edge.end == state} for state in range(size)}
    column: dict[int, int] = {}
    for state in TopologicalSorter(predecessors).static_order():
        column[state] = 1 + max((column[each] for each in predecessors[state]), default=-1)
    return [[state for state in range(size) if column[state] == x] for x in range(1 + max(column.values()))]


STROKE = f'fill="none" stroke="{LINE}" stroke-width="1.5"'
ARROW = 'marker-end="url(#arrow)"'


def draw_edge(edge: Edge, places: Places, along: float = 0.3) -> str:
    (x, y), (u, v) = places[edge.start], places[edge.end]
    distance = np.hypot(u - x, v - y)
    right, down = (u - x) / distance, (v - y) / distance
    path = f"M {x + right * RADIUS:.1f} {y + down * RADIUS:.1f} "
    path += f"L {u - right * (RADIUS + 7):.1f} {v - down * (RADIUS + 7):.1f}"
    # Labels are near the start of an edge, where edges into one state do not overlap.
    label = text(x + (u - x) * along - 12 * (u == x), y + (v - y) * along - 8, edge.label)
    return f'<path d="{path}" {STROKE} {ARROW}/>{label}'


def draw_state(state: int, final: bool, places: Places) -> str:
    x, y = places[state]
    ring = f'<circle cx="{x}" cy="{y}" r="{RADIUS - 5}" {STROKE}/>' if final else ""
    circle = f'<circle cx="{x}" cy="{y}" r="{RADIUS}" fill="{PALE}" stroke="{MARK}" stroke-width="2"/>'
    return f"{circle}{ring}{text(x, y + 5, str(state))}"


PIPELINE = {
    (0, 0): "a type: Person",
    (0, 1): "JSON Schema: schema/python",
    (0, 2): "schema nodes: schema/json_schema",
    (0, 3): "rules of regexes: lowering",
    (0, 4): "automaton: automaton",
    (1, 2): "a pattern: Regex(...)",
    (2, 1): "a tokenizer: of the model",
    (2, 2): "token bytes: vocabulary",
    (2, 3): "masks: index",
    (2, 4): "a cursor: guide",
    (3, 1): "a prompt: text or messages",
    (3, 2): "logits: models",
    (3, 3): "text: generate",
    (3, 4): "an instance: schema/python",
}
"""Each value of the pipeline and the folder that computes it, by row and column."""

GIVEN, RETURNED = {(0, 0), (1, 2), (2, 1), (3, 1)}, (3, 4)
ALSO = [((1, 2), (0, 3), "regex/pattern"), ((0, 4), (2, 3), ""), ((2, 4), (3, 3), "")]
"""Arrows between rows; within a row there is an arrow from each value to the next."""

WIDE, HIGH, STEP, FALL = 158, 54, 190, 100


def draw_pipeline() -> str:
    """Draw the pipeline: a box for each value with its folder, and an arrow for each step."""
    shapes = []
    for row, column in PIPELINE:
        x, y = corner(row, column)
        if (row, column + 1) in PIPELINE:
            shapes.append(f'<path d="M {x + WIDE} {y + HIGH / 2} H {x + STEP - 7}" {STROKE} {ARROW}/>')
    for start, end, label in ALSO:
        (x, y), (u, v) = corner(*start), corner(*end)
        if v < y:
            path = f"M {x + WIDE} {y + HIGH / 2} H {u + WIDE / 2} V {v + HIGH + 7}"
            shapes.append(text(x + WIDE + 60, y + HIGH / 2 + 18, label, LINE, 12))
        else:
            path = f"M {x + WIDE / 2} {y + HIGH} V {v - 23} H {u + WIDE / 2} V {v - 7}"
        shapes.append(f'<path d="{path}" {STROKE} {ARROW}/>')
    for place, box in PIPELINE.items():
        (x, y), (name, folder) = corner(*place), box.split(": ")
        filled = place in GIVEN or place == RETURNED
        shapes.append(
            f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="8" fill="{MARK if filled else PALE}" '
            f'stroke="{MARK}" stroke-width="1.5"/>'
            + text(x + WIDE / 2, y + 23, name, "#ffffff" if filled else INK, 15, "bold")
            + text(x + WIDE / 2, y + 41, folder, "#ffffff" if filled else LINE, 12)
        )
    return page(2 * 20 + 4 * STEP + WIDE, 2 * 20 + 3 * FALL + HIGH, shapes)


def corner(row: int, column: int) -> tuple[int, int]:
    """Return the upper left corner of a box of the pipeline."""
    return 20 + column * STEP, 20 + row * FALL


GRAMMAR = 'start: sum\nsum: sum "+" item | item\nitem: "n" | "(" sum ")"'
READ = "(n+(n"
STATES = [(60, 250), (60, 350), (280, 250), (280, 350)]
"""The places of the states of `sum`, which are in no columns because they have cycles."""


def draw_grammar() -> str:
    """Draw a grammar, its rules, the automaton of its recursive rule, and the stacks after a text."""
    automaton = link(read_target(Grammar(GRAMMAR)).rules()).build_all()
    rule = automaton.built[-1]
    dfa, offset = automaton.dfa(rule), automaton.state_range(rule)[0]
    lines = GRAMMAR.split("\n")
    rules = [line for line in to_regex(Grammar(GRAMMAR)).split("\n") if line.startswith("sum")]
    shapes = panel(20, 34, 290, "the grammar", lines) + panel(
        420, 34, 400, "its rule, without left recursion", rules
    )
    shapes.append(f'<path d="M 310 84 H 413" {STROKE} {ARROW}/>')
    shapes.append(f'<path d="M 620 134 V 160 H 265 V 186" {STROKE} {ARROW}/>')
    places = dict(enumerate(STATES))
    shapes.append(f'<path d="M 6 250 H {60 - RADIUS - 7}" {STROKE} {ARROW}/>')
    shapes.append(text(165, 190, "its automaton; dashed: a call", LINE, 12))
    for edge in read_edges(dfa):
        shapes.append(
            draw_arc(edge, places) if {edge.start, edge.end} == {0, 2} else draw_edge(edge, places, 0.5)
        )
    for state, _, after, _ in dfa.calls.tolist():
        call = draw_edge(Edge(state, after, "sum"), places, 0.5)
        shapes.append(call.replace("<path", '<path stroke-dasharray="4 4"'))
    shapes += [draw_state(state, bool(dfa.final[state]), places) for state in places]
    frames, _ = Reader(automaton).read(automaton.start_frames(), b"", READ.encode())
    stacks = sorted(
        ([state - offset for state in states] for frame in frames for states in stacks_of(frame)), key=len
    )
    shapes.append(f'<path d="M 510 295 H 563" {STROKE} {ARROW}/>')
    shapes.append(text(700, 204, f"the stacks after {READ}", LINE, 12))
    for number, states in enumerate(stacks):
        for height, state in enumerate(states[::-1]):
            box = f'x="{590 + number * 120}" y="{345 - height * 44}" width="90" height="36" rx="8"'
            shapes.append(f'<rect {box} fill="{PALE}" stroke="{MARK}" stroke-width="1.5"/>')
            shapes.append(text(635 + number * 120, 368 - height * 44, f"state {state}", INK, 13))
    return page(840, 400, shapes)


def stacks_of(frame: Frame) -> Iterator[list[int]]:
    """Yield the states of the stacks that a frame represents, each from the top down."""
    for rest in [states for below in return_frames(frame) for states in stacks_of(below)] or [[]]:
        yield [frame.state, *rest]


def panel(x: int, y: int, width: int, title: str, lines: list[str]) -> list[str]:
    """Draw a box with lines of text below a title."""
    box = f'x="{x}" y="{y}" width="{width}" height="100" rx="8"'
    box = f'<rect {box} fill="{PALE}" stroke="{MARK}" stroke-width="1.5"/>'
    shapes = [box, text(x + width / 2, y - 10, title, LINE, 12)]
    top = y + 54 - 11 * (len(lines) - 1)
    return shapes + [
        text(x + width / 2, top + 22 * number, line, INK, 14) for number, line in enumerate(lines)
    ]


def draw_arc(edge: Edge, places: Places) -> str:
    """Draw one of two edges between the same states of a row as an arc."""
    (x, y), (u, _) = places[edge.start], places[edge.end]
    side = 1 if u > x else -1
    path = (
        f"M {x + 17 * side} {y - 17 * side} Q {(x + u) / 2} {y - 45 * side} {u - 22 * side} {y - 22 * side}"
    )
    return f'<path d="{path}" {STROKE} {ARROW}/>{text((x + u) / 2, y - 42 * side + 5, edge.label)}'


BETWEEN, TURN, CHARACTERS, ERROR = 300, 58, 44, "#b3261e"


@dataclass(frozen=True)
class Exchange:
    """A text that one participant sends to another."""

    start: str
    end: str
    text: str
    is_error: bool = False


def names_after(page_name: str, count: int) -> dict[str, object]:
    """Run the first programs of a page and return its names."""
    text = (ROOT / page_name).read_text(encoding="utf-8")
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(None):
        for program in re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)[:count]:
            exec(compile(program, page_name, "exec", dont_inherit=True), names)  # a page of this project
    return names


def exchanges_of_call(names: dict[str, object]) -> list[Exchange]:
    """Return the exchanges up to the end of a call."""
    question, call = names["question"], names["call"]
    assert isinstance(question, str)
    assert isinstance(call, Call)
    return [
        Exchange("you", "the model", question),
        Exchange("the model", "you", str(call)),
        Exchange("you", call.name, "call.call()"),
        Exchange(call.name, "you", str(call.call())),
    ]


def exchanges_of_run(names: dict[str, object]) -> list[Exchange]:
    """Return the exchanges in the run of an agent."""
    result = names["result"]
    assert isinstance(result, AgentResult)
    return list(exchanges(result.messages))


def exchanges(messages: Sequence[Message]) -> Iterator[Exchange]:
    """Yield the exchanges of messages, in order."""
    for message in messages:
        match message:
            case User(content=content):
                yield Exchange("you", "the model", content)
            case Calls(calls=calls):
                for call in calls:
                    yield Exchange("the model", call.name, f"{call.name}({call.arguments})")
            case Output(name=name, content=content, failed=failed):
                yield Exchange(name, "the model", content, is_error=failed)
            case Answer(content=content):
                yield Exchange("the model", "you", content)


def draw_sequence(sequence: list[Exchange]) -> str:
    """Draw a sequence diagram: a lane for each participant, and an arrow for each exchange."""
    lanes = {
        name: 90 + BETWEEN * position
        for position, name in enumerate(dict.fromkeys(each.start for each in sequence))
    }
    bottom = 80 + TURN * len(sequence)
    shapes = []
    for name, x in lanes.items():
        shapes.append(f'<path d="M {x} 50 V {bottom}" stroke="{LINE}" stroke-dasharray="3 4"/>')
        box = f'x="{x - 65}" y="14" width="130" height="34" rx="8"'
        shapes.append(f'<rect {box} fill="{PALE}" stroke="{MARK}" stroke-width="1.5"/>')
        shapes.append(text(x, 36, name, weight="bold"))
    for position, each in enumerate(sequence):
        y, start, end = 106 + TURN * position, lanes[each.start], lanes[each.end]
        shapes.append(f'<path d="M {start} {y} H {end + (8 if end < start else -8)}" {STROKE} {ARROW}/>')
        lines = textwrap.wrap(each.text, CHARACTERS, max_lines=2, placeholder=" …")
        for line_number, line in enumerate(reversed(lines)):
            shapes.append(
                text((start + end) / 2, y - 7 - 15 * line_number, line, ERROR if each.is_error else INK, 12)
            )
    return page(180 + BETWEEN * (len(lanes) - 1), bottom + 20, shapes)


FILLS: dict[SpanKind, str] = {"accepted": "#d6ecf7", "forced": "#e4eae8", "refused": "#f9d9d3"}
CELL, ROW, MARGIN = 8.6, 44, 120
"""Width of a character, height of a row, and width of the names of the rows."""


def draw_correction(names: dict[str, object]) -> str:
    """Draw how an answer grew: a row for each reply and each forced text, at its place in the answer."""
    result = names["result"]
    assert isinstance(result, Result)
    picture = result.trace.picture()
    rows: list[tuple[str, list[TraceSpan]]] = []
    for step in picture.steps:
        shown = [span for span in join_spans(step.spans) if span.kind in FILLS]
        replies = [span for span in shown if span.kind != "forced"]
        rows += [(f"reply {step.title}", replies)] if replies else []
        rows += [("forced", [span]) for span in shown if span.kind == "forced"]
    shapes, start, widest = [], 0, 0
    for number, (name, spans) in enumerate([*rows, ("the answer", join_spans(picture.spans))]):
        y, at = 16 + ROW * number, start if number < len(rows) else 0
        shapes.append(text(MARGIN / 2, y + 20, name, MARK if name == "the answer" else LINE, 13, "bold"))
        for span in spans:
            shapes.append(draw_span(MARGIN + at * CELL, y, span))
            at += len(span.text)
            start += 0 if span.kind == "refused" else len(span.text)
        widest = max(widest, at)
    return page(int(MARGIN + widest * CELL + 20), 16 + ROW * (1 + len(rows)), shapes)


def draw_span(x: float, y: float, span: TraceSpan) -> str:
    """Draw a text in a box, crossed out if it is refused."""
    width = len(span.text) * CELL
    box = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="30" rx="4"'
    words = (
        f'<text x="{x:.1f}" y="{y + 20}" font-family="ui-monospace, monospace" font-size="14" fill="{INK}" '
        f'xml:space="preserve" textLength="{width:.1f}">{escape(span.text)}</text>'
    )
    line = f'<path d="M {x:.1f} {y + 15} h {width:.1f}" stroke="{ERROR}" stroke-width="1.5"/>'
    shape = f'<rect {box} fill="{FILLS[span.kind]}" stroke="#ffffff"/>{words}'
    return shape + line if span.kind == "refused" else shape


def text(x: float, y: float, words: str, color: str = INK, size: int = 14, weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-family="system-ui, sans-serif" '
        f'font-size="{size}" font-weight="{weight}" fill="{color}">{escape(words)}</text>'
    )


def page(width: float, height: float, shapes: list[str]) -> str:
    arrow = (
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="3" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M 0 1 L 9 5 L 0 9 z" fill="{LINE}"/></marker></defs>'
    )
    body = "\n".join(shapes)
    # The white background keeps the diagram readable on dark pages.
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f'{arrow}\n<rect width="100%" height="100%" rx="10" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    main()
