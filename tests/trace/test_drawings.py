"""Pictures drawn as text and as HTML, whatever the texts of a model contain."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.trace.html import draw_html, draw_page
from structkit.trace.picture import (
    Note,
    Picture,
    SpanKind,
    Step,
    TraceSpan,
    join_spans,
    replace_text,
    text_of,
)
from structkit.trace.text import draw_text, line_width
from structkit.trace.visible import columns, cut_middle, divide, visible

KINDS: tuple[SpanKind, ...] = (
    "sampled",
    "accepted",
    "forced",
    "completed",
    "healed",
    "skipped",
    "repeated",
    "refused",
    "withdrawn",
)
HOSTILE = [
    "<script>alert(1)</script>",
    "</td></table><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' style='position:fixed",
    "</style><style>*{display:none}</style>",
    "</title><title>x",
    "&lt;b&gt; &amp; &#60;b&#62;",
    "<!--",
    "]]>",
    "\x1b[2J\x1b]0;title\x07",
    "\u202egnol\u2066",
    "\udc80\x00\x85\u2028\u2029\ufeff",
    "e\u0301" * 50,
    "漢字" * 60,
    "\r\n" * 9,
    "javascript:alert(1)",
    "| forced     |",
]
TEXTS = st.text(max_size=30) | st.sampled_from(HOSTILE) | st.text("<>&\"'/=a ;#", max_size=20)


def picture_of(text: Callable[[], str]) -> Picture:
    """Return a picture that has a text in every place."""
    spans = tuple(TraceSpan(kind, text(), text()) for kind in KINDS)
    notes = (Note("offered", text()), Note("ended", text()))
    step = Step(title="1", asked=notes, spans=spans, ended=notes, seconds=0.5)
    return Picture(title=text(), prompt=text(), steps=(step, step), spans=spans, notes=notes)


class Reader(HTMLParser):
    """The tags of a page with the values of their attributes, apart from titles, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, list[str], list[str | None]]] = []
        self.texts: list[str] = []
        self.others: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = [value for name, value in attrs if name != "title"]
        self.tags.append((tag, [name for name, _ in attrs], values))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}", [], []))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)


HARMLESS = Reader(draw_page(picture_of(lambda: "x")))


@given(st.lists(TEXTS.map(lambda text: "x" + text), min_size=25, max_size=25))
def test_no_markup_of_a_text_survives(texts: list[str]) -> None:
    each = iter(texts)
    picture = picture_of(lambda: next(each))
    found = Reader(draw_page(picture))
    assert (found.tags, found.others) == (HARMLESS.tags, [])
    assert len(found.texts) == len(HARMLESS.texts)
    assert {visible(span.text) for span in picture.spans} <= set(found.texts)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_only_shown(text: str) -> None:
    page = draw_page(picture_of(lambda: text))
    found = Reader(page)
    assert (found.tags, found.others) == (HARMLESS.tags, [])
    assert found.texts.count(visible(text)) > len(KINDS)
    assert all(char.isprintable() or char == "\n" for char in page)


def test_a_page_loads_nothing_and_runs_nothing() -> None:
    page = draw_page(picture_of(lambda: "x"))
    tags = {tag for tag, _, _ in HARMLESS.tags}
    assert tags.isdisjoint({"script", "link", "img", "iframe", "object", "form", "a", "base", "svg"})
    assert not re.search(r"https?:|url\(|@import|\bsrc=|\bhref=|\bon\w+=", page)
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    assert "prefers-color-scheme: dark" in page
    assert draw_html(picture_of(lambda: "x")) in page


@given(st.integers(40, 120), st.lists(TEXTS, min_size=25, max_size=25) | st.permutations(HOSTILE * 2))
def test_lines_are_printable_and_fit_into_the_width(width: int, texts: list[str]) -> None:
    each = iter(texts)
    for line in draw_text(picture_of(lambda: next(each)), width).split("\n"):
        assert line.isprintable()
        assert columns(line) <= width


@given(TEXTS, TEXTS, st.integers(40, 90))
def test_each_mark_is_below_its_character(forced: str, accepted: str, width: int) -> None:
    spans = (TraceSpan("forced", forced), TraceSpan("accepted", accepted))
    lines = draw_text(Picture(title="x", spans=spans), width).split("\n")
    shown, marks = "".join(lines[2:-1:2]), "".join(lines[3:-1:2])
    assert shown == visible(forced + accepted)
    assert marks == "=" * columns(visible(forced)) + "-" * columns(visible(accepted))


def test_long_texts_are_cut() -> None:
    spans = (TraceSpan("accepted", "a" * 100_000),)
    picture = Picture(title="x", steps=(Step(title="1", spans=spans),), spans=spans)
    drawing = draw_text(picture, 80)
    assert "a... a" in drawing
    assert "... 96,000 more characters" in drawing
    assert len(drawing) < 10_000
    assert len(draw_page(picture)) < 60_000


def test_the_width_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert line_width() == 100
    monkeypatch.setattr("sys.stdout", None)
    assert line_width() == 100

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdout", Terminal())
    for terminal, width in (("66", 66), ("7", 40)):
        monkeypatch.setenv("COLUMNS", terminal)
        assert line_width() == width


@given(st.text("ab\n漢\u0301", max_size=90), st.integers(12, 40))
def test_a_text_is_cut_in_its_middle_only_if_it_is_too_long(text: str, width: int) -> None:
    shown, whole = cut_middle(text, width), visible(text)
    assert len(shown) <= width
    assert columns(shown) <= width
    if max(len(whole), columns(whole)) <= width:
        assert shown == whole
    else:
        start, end = shown.split("... ")
        assert whole.startswith(start)
        assert whole.endswith(end)


@given(TEXTS, st.integers(2, 60))
def test_pieces_join_to_the_text(text: str, width: int) -> None:
    pieces = list(divide(visible(text), width))
    assert "".join(pieces) == visible(text)
    assert all(0 < len(piece) <= width and columns(piece) <= width for piece in pieces)


SPANS = st.lists(st.builds(TraceSpan, st.sampled_from(KINDS), st.text("ab", max_size=3)), max_size=6)


@given(SPANS, st.text("ab", max_size=9))
def test_spans_of_another_text_join_to_it(spans: list[TraceSpan], text: str) -> None:
    found, withdrawn = replace_text(spans, text, "accepted")
    before = text_of(spans)
    common = len(before) - len(withdrawn)
    assert text_of(found) == text and all(span.text for span in found)
    assert before[:common] == text[:common] and before == before[:common] + withdrawn
    assert text[common : common + 1] != withdrawn[:1] or not withdrawn
    kinds = [span.kind for span in spans for _ in span.text][:common] + ["accepted"] * (len(text) - common)
    assert [span.kind for span in found for _ in span.text] == kinds
    assert text_of(join_spans(spans)) == before


@pytest.mark.parametrize("prompt", [None, "p"])
def test_a_line_divides_the_prompt_the_steps_and_the_answer(prompt: str | None) -> None:
    """Further rows of a step, and notes on the answer, are below the first row of theirs."""
    spans, note = (TraceSpan("forced", "a"), TraceSpan("accepted", "b")), Note("n", "x")
    steps = (
        Step(title="1", asked=(note,), spans=spans, ended=(note,), seconds=1.0),
        Step(title="2", spans=spans),
    )
    drawn = draw_html(Picture(title="x", prompt=prompt, steps=steps, spans=spans, notes=(note, note)))
    rows = re.findall(
        r'<tr( class="first")?><td class="label">([^<]*)</td><td class="label">([^<]*)</td>', drawn
    )
    expected = [
        ("1", "n"),
        ("", "forced"),
        ("", "accepted"),
        ("", "n"),
        ("", "took"),
        ("2", "forced"),
        ("", "accepted"),
    ]
    assert [row[1:] for row in rows if row[1:] != ("", "prompt")] == [
        *expected,
        ("", "answer"),
        ("", "n"),
        ("", "n"),
    ]
    assert [row[1] or row[2] for row in rows if row[0]] == ["prompt"] * (prompt is not None) + [
        "1",
        "2",
        "answer",
    ]
