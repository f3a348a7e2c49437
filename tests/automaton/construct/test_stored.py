"""Stored automata: those that would be built, and ignored unless everything matches."""

from __future__ import annotations

import json
import logging
import os
import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from structkit.automaton.construct import stored
from structkit.automaton.construct.compile_rule import rule_dfa
from structkit.automaton.construct.stored import FORMATS, StoredAutomata
from structkit.automaton.core.dfa import DEAD, Dfa
from structkit.automaton.core.kernels import OPERATION_BITS
from structkit.automaton.link import link
from structkit.automaton.runtime.reader import Reader
from structkit.limits import Limits
from structkit.lowering.strings.raw_text import format_body
from structkit.lowering.strings.registry import language
from structkit.lowering.strings.rfc import FORMAT_EXAMPLES
from structkit.regex.json_string import length_bounds
from structkit.regex.lazy_rules import LazyRules
from structkit.schema.ir.nodes import Format
from structkit.targets.targets import read_target
from tests.shared import cases

NAMES = "ipv4", "email", "uuid"


def _built(name: str, min_length: int = 0, max_length: int | None = None) -> Dfa:
    return rule_dfa(format_body(Format(name), min_length, max_length), Limits())


def _save(path: Path, names: Iterable[str]) -> None:
    lengths = {name: length_bounds(language(Format(name))) for name in names}
    known = {
        name: (shortest, longest) for name, (shortest, longest) in lengths.items() if shortest is not None
    }
    StoredAutomata(path).save({name: _built(name) for name in names}, known)


@pytest.fixture
def automata(tmp_path: Path) -> StoredAutomata:
    _save(tmp_path / "formats.bin", NAMES)
    return StoredAutomata(tmp_path / "formats.bin")


def _are_equal(left: Dfa | None, right: Dfa) -> bool:
    return left is not None and (left.fingerprint, left.min_count, left.max_count, left.work) == (
        right.fingerprint,
        right.min_count,
        right.max_count,
        right.work,
    )


def test_a_stored_automaton_is_the_one_that_was_built(automata: StoredAutomata) -> None:
    assert automata.names == {*NAMES}
    assert all(_are_equal(automata.get(name, Limits()), _built(name)) for name in NAMES)
    assert automata.get("email", Limits()) is automata.get("email", Limits())
    assert automata.get("uri", Limits()) is None


@pytest.mark.parametrize("name", FORMAT_EXAMPLES)
def test_the_installed_automata_are_those_of_the_formats(name: str) -> None:
    if not FORMATS.names:
        pytest.skip("python -m structkit.build_kernels builds them")
    assert _are_equal(FORMATS.get(name, Limits()), _built(name))


def _texts(dfa: Dfa, count: int) -> list[bytes]:
    """Return random texts of the automaton of a string without its opening quote."""
    source, texts = random.Random(1), []
    for _ in range(count):
        state, text, most = 0, bytearray(), source.randrange(1, 40)
        while not dfa.final[state] and len(text) < 300:
            moves = [byte for byte in range(256) if dfa.targets[state, dfa.classes[byte]] != DEAD]
            ends = [byte for byte in moves if byte == ord('"')]
            text.append(ends[0] if ends and len(text) > most else source.choice(moves))
            state = int(dfa.targets[state, dfa.classes[text[-1]]]) >> OPERATION_BITS
        texts.append(bytes(text))
    return texts


@pytest.mark.long(every=2)
@pytest.mark.parametrize("name", FORMAT_EXAMPLES)
def test_a_stored_automaton_with_lengths_has_the_texts_with_these_lengths(name: str) -> None:
    every = FORMATS.get(name, Limits())
    if every is None:
        pytest.skip("python -m structkit.build_kernels builds them")
    texts = [f'{FORMAT_EXAMPLES[name]}"'.encode(), *_texts(every, 100)]
    assert sum(every.accepts_each(texts)) > 50
    for low, high in ((0, 20), (11, None), (6, 9), (12, 300), (0, 10_000))[: cases(3, of=5)]:
        found = FORMATS.get(name, Limits(), low, high)
        assert found is not None and found is FORMATS.get(name, Limits(), low, high)
        fits = [
            ends and low <= len(json.loads(b'"' + text)) <= (high or 10_000)
            for text, ends in zip(texts, every.accepts_each(texts), strict=True)
        ]
        assert found.accepts_each(texts) == fits
        assert _built(name, low, high).accepts_each(texts) == fits


@pytest.mark.parametrize("lengths", [{}, {"maxLength": 100}])
def test_a_format_is_not_lowered_where_its_automaton_is_stored(
    lengths: dict[str, int], automata: StoredAutomata, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("automaton.runtime.lazy_builder", "lowering.strings.strings"):
        monkeypatch.setattr(f"structkit.{module}.FORMATS", automata)
    schema: dict[str, object] = {"items": {"type": "string", "format": "email", **lengths}}
    rules = read_target(schema).rules()
    assert isinstance(rules.rules, LazyRules)
    reader = Reader(link(rules))
    assert reader.accepts(b'["ana@example.com"]') and not reader.accepts(b'["ana@"]')
    [name] = rules.rules.formats
    assert name not in rules.rules.lowered
    assert _are_equal(_built("email", 0, lengths.get("maxLength")), rule_dfa(rules.rules[name], Limits()))


def test_an_automaton_is_not_used_under_lower_limits(automata: StoredAutomata) -> None:
    assert automata.get("email", replace(Limits(), states=1_000)) is None
    assert automata.get("email", replace(Limits(), states=1_000_000)) is not None


def _flip(offset: int) -> Callable[[Path], object]:
    def flip(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[offset] ^= 1
        path.write_bytes(content)

    return flip


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "another file": (_flip(0), "damaged"),
    "damaged description": (_flip(40), "damaged"),
    "damaged automaton": (_flip(-1), "damaged"),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "damaged"),
    "empty": (lambda path: path.write_bytes(b""), "buffer"),
    "file others can write": (lambda path: path.chmod(0o666), "another user"),
    "folder others can write": (lambda path: path.parent.chmod(0o777), "another user"),
    "no file": (lambda path: path.unlink(), ""),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_does_not_match_is_ignored(
    fault: str, automata: StoredAutomata, caplog: pytest.LogCaptureFixture
) -> None:
    if "others" in fault and sys.platform == "win32":
        pytest.skip("Windows has no modes")
    spoil, reason = FAULTS[fault]
    spoil(automata.path)
    with caplog.at_level(logging.WARNING, "structkit"):
        assert [automata.get("uuid", Limits()) for _ in range(2)] == [None, None]
    assert reason in caplog.text and caplog.text.count("not used") == bool(reason)


def _as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _as_link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("elsewhere")))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes")
@pytest.mark.parametrize("place", [_as_folder, _as_link, lambda path: (path.unlink(), os.mkfifo(path))])
def test_what_is_no_file_is_ignored(
    place: Callable[[Path], object], automata: StoredAutomata, caplog: pytest.LogCaptureFixture
) -> None:
    place(automata.path)
    assert automata.get("uuid", Limits()) is None
    assert caplog.text.count("not used") == 1


def test_every_flipped_byte_and_every_cut_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged size is not allocated either."""
    monkeypatch.setattr(stored, "_source_hash", lambda: "these")
    path, expected = tmp_path / "formats.bin", _built("ipv4")
    _save(path, ["ipv4"])
    whole = path.read_bytes()
    chance = random.Random(6)
    for at in sorted({*range(40), *chance.sample(range(len(whole)), cases(60, of=len(whole)))}):
        flipped = bytearray(whole)
        flipped[at] ^= chance.randrange(1, 256)
        for damaged in (bytes(flipped), whole[:at]):
            path.write_bytes(damaged)
            assert StoredAutomata(path).get("ipv4", Limits()) is None, at
    path.write_bytes(whole)
    assert _are_equal(StoredAutomata(path).get("ipv4", Limits()), expected)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_the_file_of_another_installation_is_not_written_through_a_link(
    link: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    path, other = tmp_path / "formats.bin", tmp_path / "other"
    other.write_text("other")
    link(other, path)
    _save(path, ["uuid"])
    assert other.read_text() == "other" and StoredAutomata(path).get("uuid", Limits()) is not None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_a_file_that_was_written_with_any_umask_is_read(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        _save(tmp_path / "new" / "formats.bin", ["uuid"])
    finally:
        os.umask(before)
    assert StoredAutomata(tmp_path / "new" / "formats.bin").get("uuid", Limits()) is not None


def test_automata_of_other_sources_are_ignored(
    automata: StoredAutomata, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert automata.is_current
    monkeypatch.setattr(stored, "_source_hash", lambda: "another")
    assert not automata.is_current and not caplog.text
    assert not automata.names and caplog.text.count("built from other sources") == 1


def test_stored_automata_depend_on_each_source_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "_ROOT", tmp_path)
    hashes = []
    for folder in stored._SOURCES:
        (tmp_path / folder / "inner").mkdir(parents=True)
        for path in (tmp_path / folder / "one.py", tmp_path / folder / "inner/two.py"):
            path.write_text(str(len(hashes)))
            hashes.append(stored._source_hash())
            (path.parent / "notes.txt").write_text("a")
            assert stored._source_hash() == hashes[-1]
    assert len({*hashes}) == len(hashes) and None not in hashes
