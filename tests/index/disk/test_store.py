from __future__ import annotations

import hashlib
import os
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.lazy_builder import LazyBuilder
from structkit.guide.guide import Guide
from structkit.index.disk import store
from structkit.index.guide_file import DiskKey, load_guide
from structkit.index.rows import row_files
from structkit.index.rows.mask import Mask
from structkit.index.rows.row import Row, shared_rows
from structkit.limits import Limits
from structkit.regex.nodes import CharClass, Choice, LiteralText, Repeat, RuleRef, Rules, Seq
from tests.languages import vocabulary

V = vocabulary()
RULES = Rules(
    Seq(
        (
            LiteralText('{"a": "'),
            RuleRef("text"),
            LiteralText(', "b": '),
            Choice((LiteralText("1"), LiteralText("22"))),
            LiteralText("}"),
        )
    ),
    {"text": Seq((Repeat(CharClass(((0x20, 0x21), (0x23, 0x7E)))), LiteralText('"')))},
)
ADDRESS = store.Addresses("a test").of(b"")
TEXT = b'{"a": "xy", "b": 22}'
FORM: store.ArrayLayout = {"a": ("int32", 1)}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(row_files, "MIN_SECONDS", 0.0)
    _use(tmp_path, monkeypatch)
    return tmp_path


def _use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a folder as a new process does."""
    monkeypatch.setenv("STRUCTKIT_CACHE_DIR", str(folder))
    store._cache.cache_clear()
    shared_rows.cache_clear()
    row_files.row_files.cache_clear()


def _guide() -> Guide:
    for cache in (store._cache, shared_rows, row_files.row_files):
        cache.cache_clear()
    stored, key = load_guide(ADDRESS), DiskKey(lambda: ADDRESS, lambda: b"source")
    if stored is None:
        return Guide(link(RULES), V, disk_key=key)
    automaton = Automaton(stored.tables, Limits(), lambda: LazyBuilder(RULES, Limits()))
    return Guide(automaton, V, disk_key=key, guide_file=stored)


def _masks(guide: Guide, text: bytes) -> list[bytes]:
    cursor, masks = guide.cursor(), []
    out = np.empty(V.mask_words, np.uint32)
    for byte in text:
        cursor.fill_mask(out)
        masks.append(out.tobytes())
        cursor.advance(byte)
    return masks


def test_a_saved_guide_has_the_same_masks(folder: Path) -> None:
    guide = _guide()
    masks = _masks(guide, TEXT)
    guide.save()
    assert len(list(folder.glob("*.cache"))) == 2, "one file for the guide, one for the text rule"
    loaded = _guide()
    assert load_guide(ADDRESS) is not None
    assert _masks(loaded, TEXT) == masks
    assert loaded.index.saver is not None and not loaded.index.saver.has_new_parts


def test_rows_that_are_quick_to_compute_are_not_stored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_files, "MIN_SECONDS", 10.0)
    guide = _guide()
    _masks(guide, TEXT)
    guide.save()
    assert [path.name for path in folder.iterdir()] == [f"{ADDRESS}.cache"]


def test_rows_of_two_processes_are_merged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A counted rule has a row for each count: one process stores some, another the others."""
    made: list[int] = []

    def row(remaining: int) -> Row:
        made.append(remaining)
        mask = Mask(None, np.array([0]), np.array([remaining], np.uint32))
        return Row(mask, np.arange(remaining, dtype=np.int32), -(1 << 40))

    def rows(counts: list[int]) -> dict[int, Row]:
        _use(folder, monkeypatch)
        files, cache = row_files.row_files(V, 1 << 20, 1 << 20), shared_rows(V, 1 << 20)
        keys = {count: (b"rule", (-1, 7, 0, count)) for count in counts}
        found = {count: cache.get(key) or files.row(key, partial(row, count)) for count, key in keys.items()}
        for _ in files.save():
            pass
        return found

    first, second, last = rows([1, 2]), rows([2, 3]), rows([1, 2, 3])
    assert made == [1, 2, 3]
    for count in (1, 2, 3):
        computed = first[count] if count < 3 else second[count]
        assert last[count].mask.tokens() == computed.mask.tokens()
        assert last[count].exit_nodes.tolist() == computed.exit_nodes.tolist()
        assert last[count].max_cost_after >= computed.max_cost_after, "an upper bound, of 32 bits"


def test_abandoned_temporary_files_are_removed(folder: Path) -> None:
    old, new = folder / ".new-1-aa", folder / ".new-2-bb"
    for path in (old, new):
        path.write_text("x")
    os.utime(old, (1, 1))
    store._shrink(folder, 10_000)
    assert not old.exists() and new.exists()


def _truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flipped(content: bytes) -> bytes:
    return content[:-9] + bytes((content[-9] ^ 1,)) + content[-8:]


def _foreign(content: bytes) -> bytes:
    return b"PK\x03\x04" + content


@pytest.mark.parametrize(
    "damage", [_truncated, _flipped, _foreign, lambda content: b"", lambda content: content + b"x"]
)
def test_damaged_files_are_replaced(folder: Path, damage: object) -> None:
    guide = _guide()
    masks = _masks(guide, TEXT)
    guide.save()
    for path in folder.glob("*.cache"):
        path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert load_guide(ADDRESS) is None
    assert not (folder / f"{ADDRESS}.cache").exists()
    rebuilt = _guide()
    assert _masks(rebuilt, TEXT) == masks
    rebuilt.save()
    assert load_guide(ADDRESS) is not None


def test_files_with_a_wrong_name_are_rejected(folder: Path) -> None:
    guide = _guide()
    guide.precompute()
    guide.save()
    files = sorted(folder.glob("*.cache"))
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, [*contents[1:], contents[0]], strict=True):
        file.write_bytes(content)
    assert len(files) > 1 and load_guide(ADDRESS) is None


def test_the_cache_is_bounded_and_removes_the_oldest_file(folder: Path) -> None:
    addresses = [store.Addresses(f"key {number}").of(b"") for number in range(5)]
    for number, address in enumerate(addresses):
        store.save(address, FORM, {"a": np.zeros(1000, np.int32)}, 10_000)
        path = folder / f"{address}.cache"
        if path.exists():
            os.utime(path, (number, number))
    assert store.load(addresses[0], FORM) is None and store.load(addresses[4], FORM) is not None
    assert sum(path.stat().st_size for path in folder.glob("*")) <= 10_000


def test_many_small_files_are_bounded(folder: Path) -> None:
    for number in range(600):
        # With `Addresses`, the writes that check the folder would depend on the source of structkit.
        address = hashlib.blake2b(b"%d" % number, digest_size=16).hexdigest()
        store.save(address, FORM, {"a": np.zeros(10, np.int32)}, 10_000)
    assert sum(path.stat().st_size for path in folder.glob("*")) <= 30_000


def test_reading_a_file_updates_its_modification_time(folder: Path) -> None:
    store.save(ADDRESS, FORM, {"a": np.zeros(1, np.int32)}, 10_000)
    path = folder / f"{ADDRESS}.cache"
    os.utime(path, (1, 1))
    assert store.load(ADDRESS, FORM) is not None
    assert path.stat().st_mtime > 1


def test_an_unwritable_folder_is_not_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").write_text("")
    _use(folder / "file", monkeypatch)
    guide = _guide()
    guide.save()
    assert store.load(ADDRESS, FORM) is None


def test_two_writers_leave_one_complete_file(folder: Path) -> None:
    for value in (1, 2):
        assert store.save(ADDRESS, FORM, {"a": np.full(3, value, np.int32)}, 10_000)
    read = store.load(ADDRESS, FORM)
    assert read is not None and read["a"].tolist() == [2, 2, 2]
    assert [path.name for path in folder.iterdir()] == [f"{ADDRESS}.cache"]


def test_files_of_another_version_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert store.save(ADDRESS, FORM, {"a": np.zeros(1, np.int32)}, 10_000)
    monkeypatch.setattr(store, "source_hash", lambda: "another version")
    assert store.load(store.Addresses("a test").of(b""), FORM) is None


@pytest.mark.skipif(sys.platform == "win32", reason="file modes have no meaning on Windows")
def test_the_folder_is_created_for_this_user_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = folder / "deep" / "new"
    _use(new, monkeypatch)
    assert store.save(ADDRESS, FORM, {"a": np.zeros(1, np.int32)}, 10_000)
    assert new.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(sys.platform == "win32", reason="file modes have no meaning on Windows")
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, None])
def test_a_folder_that_others_can_write_to_is_not_used(
    folder: Path, mode: int | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert store.save(ADDRESS, FORM, {"a": np.zeros(1, np.int32)}, 10_000)
    files = sorted(folder.iterdir())
    monkeypatch.setattr(store, "_reported", set())
    if mode is None:
        monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    else:
        folder.chmod(mode)
    for name in ("a test", "another"):
        address = store.Addresses(name).of(b"")
        assert store.load(address, FORM) is None
        assert not store.save(address, FORM, {"a": np.ones(1, np.int32)}, 10_000)
    assert sorted(folder.iterdir()) == files
    warnings = [record for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1 and str(folder) in warnings[0].getMessage()
    monkeypatch.undo()
    folder.chmod(0o755)
    _use(folder, monkeypatch)
    assert store.load(ADDRESS, FORM) is not None


def test_the_hashed_source_files_exist() -> None:
    root = Path(store.__file__).parents[2]
    assert all((root / name).exists() for name in store.SOURCE_PARTS)
    assert len(store.source_hash() or "") == 64
