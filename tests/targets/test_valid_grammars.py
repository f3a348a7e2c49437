"""Valid grammars on disk: they are read again only when something has changed, or when their rules are needed."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lark.indenter import Indenter

import structkit as sk
from structkit.grammar.read import GrammarSource
from structkit.index.disk import store
from structkit.targets import valid_grammars
from structkit.testing import byte_vocabulary


class _Lines(Indenter):
    NL_type, INDENT_type, DEDENT_type = "_NL", "_INDENT", "_DEDENT"
    OPEN_PAREN_types: list[str] = []  # noqa: RUF012
    CLOSE_PAREN_types: list[str] = []  # noqa: RUF012
    tab_len = 8


IMPORTS = "start: a+\n%import part.a\n%import common.INT\n"


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Store all grammars, in a folder of the test."""
    monkeypatch.setenv("STRUCTKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(valid_grammars, "_MIN_SECONDS", 0.0)
    store._cache.cache_clear()
    yield
    store._cache.cache_clear()


def _is_known(text: str | Path, **options: Any) -> bool:
    return sk.Grammar(text, **options).source.known_files is not None


def _store(text: str | Path, **options: Any) -> sk.Guide:
    """Compile a grammar, which stores it and its guide."""
    guide = sk.compile(sk.Grammar(text, **options), byte_vocabulary())
    guide.save()
    return guide


def _masks(guide: sk.Guide, text: bytes) -> list[bytes]:
    cursor, mask, found = guide.cursor(), np.zeros(guide.vocabulary.mask_words, np.uint32), []
    for byte in text:
        cursor.fill_mask(mask)
        found.append(mask.tobytes())
        cursor.advance(byte)
    return found


def test_a_guide_of_a_valid_grammar_needs_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'start: "a" B | "c" start\nB: /[b-d]+/'
    expected = _masks(_store(text), b"cabd")
    sk.compile(sk.Grammar(text), byte_vocabulary()).save()

    def read(*_: object) -> Any:
        raise AssertionError("the grammar is read again")

    monkeypatch.setattr(GrammarSource, "rules", property(read))
    assert _masks(sk.compile(sk.Grammar(text), byte_vocabulary()), b"cabd") == expected


def test_a_valid_grammar_is_read_when_its_rules_are_needed() -> None:
    text = 'start: "a" B\nB: /[b-d]+/'
    _store(text)
    grammar = sk.Grammar(text, value="tree")
    assert grammar.source.known_files is not None
    guide = sk.compile(grammar, byte_vocabulary(), cache=False)
    assert len(_masks(guide, b"abd")) == 3
    assert grammar.source.lark.parse("abd").children == ["bd"]


def test_other_arguments_are_another_grammar() -> None:
    text = 'start: "a" B\nb: "b"\nB: /[b-d]+/'
    _store(text)
    assert _is_known(text)
    assert not _is_known(text + "\n")
    assert not _is_known(text, start="b")
    assert not _is_known(text, parser="lalr")
    assert not _is_known(text, limits=sk.Limits(states=99_999))


def test_a_grammar_whose_imports_have_changed_is_read_again(tmp_path: Path) -> None:
    part = tmp_path / "part.lark"
    part.write_text('a: "a"')
    options: dict[str, Any] = {"import_paths": [str(tmp_path)]}
    _store(IMPORTS, **options)
    assert _is_known(IMPORTS, **options)
    part.write_text('b: "a"')
    with pytest.raises(sk.GrammarError, match="a"):
        sk.Grammar(IMPORTS, **options)
    part.write_text('a: "b"')
    assert len(_masks(_store(IMPORTS, **options), b"bb")) == 2
    part.unlink()
    with pytest.raises(sk.GrammarError, match="part"):
        sk.Grammar(IMPORTS, **options)


def test_a_file_in_an_earlier_folder_changes_a_grammar(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    for folder in (first, second):
        folder.mkdir()
    (second / "part.lark").write_text('a: "a"')
    options: dict[str, Any] = {"import_paths": [first, second]}
    _store(IMPORTS, **options)
    assert _is_known(IMPORTS, **options)
    (first / "common.lark").write_text("INT: /[0-7]+/")
    assert not _is_known(IMPORTS, **options)


def test_files_that_change_after_a_grammar_is_created_are_an_error(tmp_path: Path) -> None:
    part = tmp_path / "part.lark"
    part.write_text('a: "a"')
    options: dict[str, Any] = {"import_paths": [str(tmp_path)]}
    _store(IMPORTS, **options)
    grammar = sk.Grammar(IMPORTS, **options)
    part.write_text('a: "b"')
    with pytest.raises(sk.GrammarError, match="files that the grammar imports have changed"):
        sk.compile(grammar, byte_vocabulary(), cache=False)


def test_the_folder_of_a_grammar_is_that_of_its_imports(tmp_path: Path) -> None:
    (tmp_path / "main.lark").write_text("start: a\n%import .part.a\n")
    part = tmp_path / "part.lark"
    part.write_text('a: "a"')
    _store(tmp_path / "main.lark")
    assert _is_known(tmp_path / "main.lark")
    part.write_bytes(b"a: \xff")
    with pytest.raises(sk.GrammarError):
        sk.Grammar(tmp_path / "main.lark")


def test_a_damaged_file_is_ignored(tmp_path: Path) -> None:
    text = 'start: "a" B\nB: /[b-d]+/'
    _store(text)
    assert _is_known(text)
    for path in (tmp_path / "cache").iterdir():
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    assert not _is_known(text)


def test_nothing_is_stored_without_the_cache_or_of_a_grammar_that_is_read_fast(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = 'start: "a" B\nB: /[b-d]+/'
    sk.compile(sk.Grammar(text), byte_vocabulary(), cache=False)
    assert not _is_known(text)
    monkeypatch.setattr(valid_grammars, "_MIN_SECONDS", 1000.0)
    _store(text)
    assert not _is_known(text)


def test_a_grammar_that_lacks_texts_warns_in_each_process() -> None:
    """A grammar with a warning is not stored."""
    text = 'start: "a" B\nB: /[b-d]+/'
    grammar = sk.Grammar(text)
    grammar.source.rules.narrowed = ("B",)  # type: ignore[misc]
    sk.compile(grammar, byte_vocabulary())
    assert not _is_known(text)


def test_gbnf_has_no_files() -> None:
    options: dict[str, Any] = {"syntax": "gbnf"}
    text = 'root ::= "a" <|end|> [b-d]+'
    assert _store("root ::= [a-c]+", **options).vocabulary.size
    assert _is_known("root ::= [a-c]+", **options)
    assert not _is_known(text, **options)


def test_rules_that_are_not_in_the_file_of_a_guide_are_made() -> None:
    text = r"""
start: tree
tree: NAME _NL [_INDENT tree+ _DEDENT]
NAME: /[a-c]+/
_NL: /(\n *)+/
%declare _INDENT _DEDENT
"""
    options: dict[str, Any] = {"parser": "lalr", "postlex": _Lines()}
    guide = _store(text, **options)
    _masks(guide, b"a\n b\n")
    guide.save()
    read = b"a\n   b\n      c\n         c\n   a\n"
    expected = _masks(sk.compile(sk.Grammar(text, **options), byte_vocabulary(), cache=False), read)
    again = sk.compile(sk.Grammar(text, **options), byte_vocabulary())
    built = len(again.automaton.built)
    assert _masks(again, read) == expected
    assert len(again.automaton.built) > built


def test_a_grammar_of_another_process_is_not_read_to_be_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'start: "a" B\nB: /[b-d]+/'
    monkeypatch.setattr(valid_grammars, "_MIN_SECONDS", 1000.0)
    _store(text)
    sent = pickle.dumps(sk.Grammar(text))
    monkeypatch.setattr(valid_grammars, "_MIN_SECONDS", 0.0)

    def read(*_: object) -> Any:
        raise AssertionError("the grammar is read")

    monkeypatch.setattr(GrammarSource, "rules", property(read))
    assert len(_masks(sk.compile(pickle.loads(sent), byte_vocabulary()), b"ab")) == 2
