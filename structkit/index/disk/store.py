"""The disk cache: named arrays under a content address. The only file that writes.

A file is `MAGIC`, the CRC-32 of the rest, a hash of the key, the shapes of the arrays, whose names and dtypes a reader
has to know, and the arrays, those of each dtype at a multiple of eight bytes. It is written to a temporary file and
moved to its name, so that no reader sees half of one. A file that does not match its checksum or its key is deleted and
made again. The source of structkit is part of every key, so no file of another version is read.

The contents of a file that passes its checksum are trusted. So the folder is created with mode 0700, and a folder that
another user owns or can write to is not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import struct
import sys
import time
import zlib
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["ArrayLayout", "address_of", "folder", "load", "remove", "save", "source_hash"]

Arrays: TypeAlias = Mapping[str, NDArray[np.generic]]

ArrayLayout: TypeAlias = Mapping[str, tuple[str, int]]
"""What a file holds, in this order: of each array, by its name, the dtype and the number of dimensions, one or two.

Arrays of one dtype follow each other: those are cut from one.
"""

_SIZES = {"bool": 1, "int32": 4, "uint32": 4, "uint8": 1}
"""The bytes of a number of each dtype."""

SOURCE_PARTS = (
    *("automaton", "guide", "index", "lowering", "regex", "schema", "targets", "vocabulary"),
    *("compile.py", "errors.py", "frozen.py", "limits.py", "unenforced.py"),
)
"""The parts of structkit whose source decides what is kept."""

_MAGIC = b"structkit-cache\n"
_HEAD = struct.Struct("<16sI16s4x")
"""`MAGIC`, the checksum, and the hash of the key."""

_ADDRESS = 16
"""Bytes of that hash, which is the address."""

_CHECKED = 20
"""Bytes before those that the checksum is of."""

_SHAPE = struct.Struct("<qq")
"""The dimensions of an array; the second one is 1 if there is none."""

_ALIGNED = 8
"""Compiled code reads arrays where they lie, and those that are not aligned more slowly."""

_MAX_FILE_BYTES = 1 << 27
"""Bytes of one file; what is larger is made again sooner than it is read."""

_OTHERS_WRITE = 0o022
"""The mode bits that let the group or others write."""

_BINARY = getattr(os, "O_BINARY", 0)
"""On Windows files are texts unless one says so."""

_TOUCH_AFTER_SECONDS = 3600.0
"""Seconds after which a file that is read is marked as used once more."""

_SIZE_CHECK_INTERVAL = 64
"""Of so many files one, told by its name, makes its writer look how large the folder is."""

_log = logging.getLogger("structkit")


@lru_cache(maxsize=1)
def source_hash() -> str | None:
    """A hash of the source that decides what is kept, of Python's version and of interegular, which reads patterns.

    `None` where there is no source to read, as in a zip file; then nothing is kept.
    """
    root = Path(__file__).parents[2]
    patterns = find_spec("interegular")
    parts = [root / name for name in SOURCE_PARTS]
    parts += map(Path, (patterns.submodule_search_locations or ()) if patterns else ())
    digest = hashlib.sha256(sys.version.encode())
    for part in parts:
        files = sorted(part.rglob("*.py")) if part.is_dir() else [part]
        try:
            contents = [(path.name, path.read_bytes()) for path in files]
        except OSError:
            contents = []
        if not contents:
            return None
        for name, content in contents:
            digest.update(f"{name}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def folder() -> Path:
    """Where the cache lives: `STRUCTKIT_CACHE_DIR`, or the platform's cache folder.

    >>> folder().is_absolute()
    True
    """
    named = os.environ.get("STRUCTKIT_CACHE_DIR")
    if named:
        return Path(named).absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "structkit" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "structkit"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "structkit"


def address_of(*key: str) -> str:
    """The address under which to keep what a key and structkit's source decide; empty if nothing can be kept."""
    source = source_hash()
    if source is None:
        return ""
    # It is asked for with each target, so the hash that needs nothing but itself.
    text = "\n".join((source, *key)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=_ADDRESS).hexdigest()


def load(address: str, layout: ArrayLayout) -> dict[str, NDArray[np.generic]] | None:
    """The arrays stored under an address, or `None` if there are none; a damaged file is deleted."""
    path = _path(address)
    if not _is_private(Path(path).parent):
        return None
    try:
        file = os.open(path, os.O_RDONLY | _BINARY)
        try:
            about = os.fstat(file)
            content = bytearray(os.read(file, about.st_size) if about.st_size <= _MAX_FILE_BYTES else b"")
        finally:
            os.close(file)
    except OSError:
        return None
    arrays = _parse(address, layout, content)
    if arrays is None:
        _log.debug("the cache file %s is damaged; it is deleted and made again", path)
        remove(address)
        return None
    if time.time() - about.st_mtime > _TOUCH_AFTER_SECONDS:
        with contextlib.suppress(OSError):
            os.utime(path)
    return arrays


def save(address: str, layout: ArrayLayout, arrays: Arrays, max_bytes: int) -> bool:
    """Store the arrays of a form under an address.

    Now and then the files unused for longest are removed, until all take at most `max_bytes` bytes.

    Returns whether it was stored: a folder that cannot be written is no error, only no cache.
    """
    path = Path(_path(address))
    if not _is_private(path.parent):
        return False
    parts = [_MAGIC, b"", bytes.fromhex(address), bytes(4)]
    parts += [_SHAPE.pack(*(*arrays[name].shape, 1)[:2]) for name in layout]
    current, size = "", _HEAD.size + len(layout) * _SHAPE.size
    for name, (dtype, _) in layout.items():
        padding = -size % _ALIGNED if dtype != current else 0
        parts += [bytes(padding), np.ascontiguousarray(arrays[name]).astype(dtype, copy=False).tobytes()]
        current, size = dtype, size + padding + len(parts[-1])
    parts[1] = zlib.crc32(b"".join(parts[2:])).to_bytes(4, "little")
    content = b"".join(parts)
    if len(content) > _MAX_FILE_BYTES:
        return False
    try:
        _write(path, content)
        # To look at every file takes longer than to write one. A file that takes much room is looked at at once.
        if (
            len(content) > max_bytes // _SIZE_CHECK_INTERVAL
            or int(path.name[:8], 16) % _SIZE_CHECK_INTERVAL == 0
        ):
            _shrink(path.parent, max_bytes)
    except OSError as error:
        _log.debug("nothing is cached on disk: %s", error)
        return False
    return True


def _write(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there; tempfile would take as long as all the rest."""
    new = f"{path.parent}{os.sep}.new-{os.getpid()}-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
    try:
        file = os.open(new, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(new, flags, 0o600)
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
        Path(new).replace(path)
    except BaseException:
        Path(new).unlink(missing_ok=True)
        raise


def remove(address: str) -> None:
    """Remove what is stored under an address."""
    with contextlib.suppress(OSError):
        Path(_path(address)).unlink(missing_ok=True)


def _is_private(cache: Path) -> bool:
    """Whether only this user can write to the cache folder; one that does not exist yet is created so."""
    if sys.platform == "win32":  # the folder lies in the user's profile, and modes say nothing
        return True
    try:
        about = cache.stat()
    except OSError:
        return True
    if about.st_uid == os.getuid() and not about.st_mode & _OTHERS_WRITE:
        return True
    _warn_once()
    return False


@lru_cache(maxsize=1)
def _warn_once() -> None:
    _log.warning(
        "the cache folder %s is not used, because other users own it or can write to it; run `chmod 700` on it, or set "
        "STRUCTKIT_CACHE_DIR to a folder of your own",
        folder(),
    )


def _path(address: str) -> str:
    return f"{os.environ.get('STRUCTKIT_CACHE_DIR') or folder()}{os.sep}{address}.cache"


def _parse(address: str, layout: ArrayLayout, content: bytearray) -> dict[str, NDArray[np.generic]] | None:
    end = _HEAD.size + len(layout) * _SHAPE.size
    if len(content) < end:
        return None
    whole = memoryview(content)
    magic, checksum, named = _HEAD.unpack_from(content)
    if magic != _MAGIC or named.hex() != address or zlib.crc32(whole[_CHECKED:]) != checksum:
        return None
    arrays: dict[str, NDArray[np.generic]] = {}
    shapes = _SHAPE.iter_unpack(whole[_HEAD.size : end])
    current, rest, at = "", np.empty(0), 0
    for (name, (dtype, dimensions)), (rows, columns) in zip(layout.items(), shapes, strict=True):
        if dtype != current:
            end += -end % _ALIGNED
            rest = np.frombuffer(content, dtype, (len(content) - end) // _SIZES[dtype], end)
            current, at = dtype, 0
        array = rest[at : at + rows * columns]
        arrays[name] = array.reshape(rows, columns) if dimensions == 2 else array
        at += len(array)
        end += array.nbytes
    return arrays


def _shrink(cache: Path, max_bytes: int) -> None:
    files = []
    for path in cache.glob("*.cache"):
        with contextlib.suppress(OSError):
            files.append((path.stat().st_mtime, path.stat().st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= max_bytes:
            break
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size
