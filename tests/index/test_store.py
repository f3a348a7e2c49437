from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from structkit.automaton.link import link
from structkit.guide.guide import Guide
from structkit.index import store
from structkit.index.rows import shared_rows
from structkit.regex.nodes import Alt, Call, Chars, Repeat, Rules, Seq, Text
from tests.languages import vocabulary

V = vocabulary()
RULES = Rules(
    Seq((Text('{"a": "'), Call("text"), Text(', "b": '), Alt((Text("1"), Text("22"))), Text("}"))),
    {"text": Seq((Repeat(Chars(((0x61, 0x7A),))), Text('"')))},
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STRUCTKIT_CACHE_DIR", str(tmp_path))
    shared_rows.cache_clear()
    return tmp_path


def _guide() -> Guide:
    shared_rows.cache_clear()
    return Guide(link(RULES), V, cache=True)


def _masks(guide: Guide, text: bytes) -> list[bytes]:
    cursor, masks = guide.cursor(), []
    out = np.empty(V.words, np.uint32)
    for byte in text:
        cursor.fill_mask(out)
        masks.append(out.tobytes())
        cursor.advance(byte)
    return masks


TEXT = b'{"a": "xy", "b": 22}'


def test_what_was_saved_is_read_and_says_the_same(folder: Path) -> None:
    guide = _guide()
    masks = _masks(guide, TEXT)
    guide.save()
    assert len(list(folder.glob("*.cache"))) == 2, "one file for the target, one for the text rule"
    again = _guide()
    read = len(again.index.rows)
    assert read > 10
    assert _masks(again, TEXT) == masks
    assert len(again.index.rows) == read, "nothing had to be made"


def test_precompute_saves_every_mask(folder: Path) -> None:
    assert _guide().precompute() > 15
    again = _guide()
    read = len(again.index.rows)
    _masks(again, TEXT)
    assert len(again.index.rows) == read


def _truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flipped(content: bytes) -> bytes:
    return content[:-9] + bytes((content[-9] ^ 1,)) + content[-8:]


def _foreign(content: bytes) -> bytes:
    return b"PK\x03\x04" + content


@pytest.mark.parametrize(
    "damage", [_truncated, _flipped, _foreign, lambda content: b"", lambda content: content + b"x"]
)
def test_damaged_files_are_made_again(folder: Path, damage: object) -> None:
    guide = _guide()
    masks = _masks(guide, TEXT)
    guide.save()
    for path in folder.glob("*.cache"):
        path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    again = _guide()
    assert len(again.index.rows) == 0
    assert _masks(again, TEXT) == masks
    again.save()
    assert len(_guide().index.rows) > 10


def test_files_under_a_wrong_name_are_not_believed(folder: Path) -> None:
    _guide().precompute()
    first, second = sorted(folder.glob("*.cache"))
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(kept)
    assert len(_guide().index.rows) == 0


def test_positions_outside_the_trie_are_not_believed(folder: Path) -> None:
    guide = _guide()
    guide.precompute()
    key = guide.index._address
    arrays = store.load(key)
    assert arrays is not None
    for name in ("exits", "mask_words", "keys", "lists", "mask_first"):
        hostile = dict(arrays)
        hostile[name] = np.full_like(arrays[name], 2**30)
        store.save(key, hostile, 2**30)
        assert all(k[1] < len(guide.automaton.row) for k in _guide().index.rows.owned(None))
        _masks(_guide(), TEXT)


def test_cache_is_bounded_and_the_oldest_file_goes(folder: Path) -> None:
    for number in range(5):
        store.save(f"key {number}", {"a": np.zeros(1000, np.uint32)}, 10_000)
        path = store._path(f"key {number}")
        if path.exists():
            os.utime(path, (number, number))
    assert store.load("key 0") is None and store.load("key 4") is not None
    assert sum(path.stat().st_size for path in folder.glob("*")) <= 10_000


def test_folder_that_cannot_be_written_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").write_text("")
    monkeypatch.setenv("STRUCTKIT_CACHE_DIR", str(folder / "file"))
    guide = _guide()
    guide.save()
    assert store.load("anything") is None


def test_two_writers_leave_a_whole_file(folder: Path) -> None:
    for value in (1, 2):
        assert store.save("key", {"a": np.full(3, value, np.int32)}, 10_000)
    read = store.load("key")
    assert read is not None and read["a"].tolist() == [2, 2, 2]
    assert [path.name for path in folder.iterdir()] == [store._path("key").name]
