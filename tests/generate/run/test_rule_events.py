"""Events of the rules of a grammar, from a reader whose answers are given."""

from __future__ import annotations

from typing import Any, cast

from lark import Tree

from structkit.generate.decode.config import GeneratedTokens, TextView
from structkit.generate.run.rule_events import RuleEmitter, RuleEnd, RuleStart
from structkit.targets.rule_reader import RuleBoundary, RuleReader

TREE: Tree[Any] = Tree("any", [])


class GivenReader:
    """A reader that knows the boundaries of the rules, each marked in the text: `[a` starts a rule a, `]` ends it.

    A `?` leaves what follows undecided until the text is whole.
    """

    def __init__(self) -> None:
        self.text, self.cleared = b"", 0

    def clear(self) -> None:
        self.text, self.cleared = b"", self.cleared + 1

    def read(self, text: bytes) -> None:
        self.text += text

    def boundaries(self, *, is_whole: bool = False) -> tuple[list[RuleBoundary], int]:
        known = self.text if is_whole else self.text.partition(b"?")[0].removesuffix(b"[")
        found: list[RuleBoundary] = []
        names: list[str] = []
        for at, letter in enumerate(known):
            if letter == ord("[") and at + 1 < len(known):
                names.append(chr(known[at + 1]))
                found.append(RuleBoundary(names[-1], at, None))
            elif letter == ord("]"):
                found.append(RuleBoundary(names.pop(), at, TREE))
        return found, len(known)


class Stream:
    """A text that grows, and the events of its rules in short form."""

    def __init__(self) -> None:
        self.generated, self.reader = GeneratedTokens(), GivenReader()
        self.view = TextView(self.generated)
        self.emitter = RuleEmitter(self.view, cast(RuleReader, self.reader))

    def write(self, text: str | bytes, *, keep: int | None = None) -> list[str]:
        if keep is not None:
            self.generated.truncate(0, keep)
        self.generated.text += text if isinstance(text, bytes) else text.encode()
        return self.shown()

    def shown(self, *, is_whole: bool = False) -> list[str]:
        self.view.update()
        shown: list[str] = []
        for event in self.emitter.finish() if is_whole else self.emitter.poll():
            if isinstance(event, RuleStart | RuleEnd):
                shown.append(f"{'<' if isinstance(event, RuleStart) else '/'}{event.path} {event.rule}")
                assert not isinstance(event, RuleEnd) or event.tree is TREE
            else:
                shown.append(f"{event.path}: {getattr(event, 'text', 'retracted')}")
        return shown


def test_each_rule_has_a_number_within_the_rule_around_it() -> None:
    assert Stream().write("x[ab[b]c[b]d][a[b]]") == [
        "$: x", "<a[0] a", "a[0]: [ab", "<a[0].b[0] b", "a[0].b[0]: [b", "/a[0].b[0] b", "a[0]: ]c",
        "<a[0].b[1] b", "a[0].b[1]: [b", "/a[0].b[1] b", "a[0]: ]d", "/a[0] a", "$: ]",
        "<a[1] a", "a[1]: [a", "<a[1].b[0] b", "a[1].b[0]: [b", "/a[1].b[0] b", "a[1]: ]", "/a[1] a", "$: ]",
    ]  # fmt: skip


def test_an_event_is_emitted_once() -> None:
    stream, whole = Stream(), "x[ab[b]c[b]d][a[b]]"
    found = [event for letter in whole for event in stream.write(letter)]
    found += stream.shown() + stream.shown(is_whole=True)
    joined: list[str] = []
    for event in found:
        path, text, added = event.partition(": ")
        if text and joined and joined[-1].startswith(f"{path}: "):
            joined[-1] += added
        else:
            joined.append(event)
    assert joined == Stream().write(whole)
    assert stream.emitter.partial == whole and stream.reader.cleared == 0


def test_a_part_of_a_character_waits_for_the_rest() -> None:
    stream = Stream()
    assert stream.write("aé".encode()[:2]) == ["$: a"]
    assert stream.emitter.partial == "a"
    assert stream.write("é".encode()[1:]) == ["$: é"]
    assert stream.emitter.partial == "aé"


def test_what_is_undecided_waits_for_the_end() -> None:
    stream = Stream()
    assert stream.write("[ax?]y") == ["<a[0] a", "a[0]: [ax"]
    assert stream.write("z") == []
    assert stream.shown(is_whole=True) == ["a[0]: ?", "/a[0] a", "$: ]yz"]


def test_a_text_that_is_taken_back_starts_again() -> None:
    stream = Stream()
    assert stream.write("[ab]") == ["<a[0] a", "a[0]: [ab", "/a[0] a", "$: ]"]
    assert stream.write("c]", keep=2) == ["$: retracted", "<a[0] a", "a[0]: [ac", "/a[0] a", "$: ]"]
    assert (stream.reader.cleared, stream.reader.text) == (1, b"[ac]")
    assert stream.write("d") == ["$: d"]


def test_a_boundary_that_was_emitted_and_is_another_starts_again() -> None:
    """The parser reports what is certain; the tree of a whole ambiguous text can still have other rules."""
    stream = Stream()
    assert stream.write("[ab]") == ["<a[0] a", "a[0]: [ab", "/a[0] a", "$: ]"]
    stream.reader.text = b"[cb]"
    assert stream.shown()[:2] == ["$: retracted", "<c[0] c"]
    stream.reader.text = b"x[b]"
    assert stream.shown()[0] == "$: retracted"
    assert stream.reader.cleared == 0
