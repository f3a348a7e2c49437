"""The disk cache: named arrays under a content address. No other module writes files.

A file consists of `_MAGIC`, the CRC-32 of the rest, a hash of the key, the shapes of the arrays, and the arrays, where
each dtype starts at a multiple of eight bytes. The reader knows the names and dtypes. A file is written to a temporary
name and then moved, so that readers never see an incomplete file. A file that does not match its checksum or key is
deleted and written again. The source of structkit is part of every key, so files of other versions are not read.

The contents of a file with a valid checksum are trusted. Therefore the folder is created with mode 0700, and a folder
or a file that another user owns or can write to is not used. A user who makes a folder private that was open to others
keeps the files that they left in it, so each file is checked as well, and links are not followed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import os
import re
import stat
import struct
import sys
import time
import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Addresses", "ArrayLayout", "folder", "load", "may_contain", "remove", "save", "source_hash"]

Arrays: TypeAlias = Mapping[str, NDArray[np.generic]]

ArrayLayout: TypeAlias = Mapping[str, tuple[str, int]]
"""The dtype and the number of dimensions (one or two) of each array of a file, by name and in file order.

Arrays of the same dtype must be adjacent, because they are slices of one array.
"""

_SIZES = {"bool": 1, "int32": 4, "uint32": 4, "uint8": 1}
"""The item size of each dtype in bytes."""

SOURCE_PARTS = (
    *("automaton", "grammar", "guide", "index", "lowering", "regex", "schema", "targets", "vocabulary"),
    *("compile.py", "errors.py", "frozen.py", "limits.py", "unenforced.py"),
)
"""The parts of structkit whose source determines the contents of cache files."""

_MAGIC = b"structkit-cache\n"
_HEAD = struct.Struct("<16sI16s4x")
"""`_MAGIC`, the checksum, and the address."""

_ADDRESS, _OUTLINE = 16, 4
"""Size of an address, and of the outline at its beginning, in bytes."""

_OUTLINED = 16
"""Number of bytes that an outline depends on."""

_CHECKED = 20
"""Offset of the first byte that the checksum covers."""

_SHAPE = struct.Struct("<qq")
"""The dimensions of an array; the second is 1 for a one-dimensional array."""

_ALIGNED = 8
"""Alignment in bytes: kernels read the arrays in place, and unaligned arrays are slower."""

_MAX_FILE_BYTES = 1 << 27
"""Maximum size of a file in bytes; computing a larger one again is faster than reading it."""

_OTHERS_WRITE = 0o022
"""The mode bits that allow the group or others to write."""

_SUFFIX = ".cache"

_NAME = re.compile(f"[0-9a-f]{{{2 * _ADDRESS}}}{re.escape(_SUFFIX)}")
"""The name of a file; other names are ignored."""

_BINARY = getattr(os, "O_BINARY", 0)
"""On Windows, files are written in text mode without this flag."""

_READ = os.O_RDONLY | _BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags that open a file. A link is an error, and a pipe in the place of a file does not wait for its writer."""

_TOUCH_AFTER_SECONDS = 3600.0
"""Minimum age of a file's modification time, in seconds, to update it when the file is read."""

_ABANDONED_SECONDS = 3600.0
"""Age in seconds of a temporary file whose writer has ended before it could move or remove the file."""

_SIZE_CHECK_INTERVAL = 64
"""One of this many writes, selected by the file name, checks the size of the folder."""

_log = logging.getLogger("structkit")


@lru_cache(maxsize=1)
def source_hash() -> str | None:
    """Return a hash of the source of `SOURCE_PARTS`, of Python's version, and of what parses patterns and grammars.

    These are interegular, and Lark, whose first file has its version. `None` if the source cannot be read, for example
    in a zip file; then nothing is cached.
    """
    root = Path(__file__).parents[2]
    patterns, grammars = find_spec("interegular"), find_spec("lark")
    parts = [root / name for name in SOURCE_PARTS]
    parts += map(Path, (patterns.submodule_search_locations or ()) if patterns else ())
    parts += [Path(grammars.origin)] if grammars and grammars.origin else []
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
    """Return the folder of the cache: `STRUCTKIT_CACHE_DIR`, or the platform's cache folder.

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


class Addresses:
    """Computes the addresses of contents under one key.

    An address consists of the outline of the content, for `may_contain`, and a hash of all.

    Args:
        key: What determines the meaning of a content, besides structkit's source.
    """

    def __init__(self, *key: str) -> None:
        source = source_hash()
        text = "\n".join((source or "", *key, "")).encode()
        # BLAKE2 needs no OpenSSL, whose import takes longer than many compilations.
        self._prefix = hashlib.blake2b(text, digest_size=_ADDRESS - _OUTLINE) if source is not None else None

    def of(self, content: bytes) -> str:
        """Return the address of a content; empty if nothing can be cached."""
        if self._prefix is None:
            return ""
        digest = self._prefix.copy()
        digest.update(content)
        return f"{_outline(content):08x}{digest.hexdigest()}"


def may_contain(content: bytes) -> bool:
    """Return whether there may be a file of a content.

    Most targets are new. For these, this takes a tenth of the time of computing an address and looking for its file.
    """
    return _outline(content) in _cache().outlines


def _outline(content: bytes) -> int:
    """Return 32 bits that depend on the length of a content and on a few of its bytes."""
    return zlib.crc32(content[:: len(content) // _OUTLINED + 1], len(content) & 0xFFFFFFFF)


class _Cache:
    """The folder of this process, and the files that were there at the first use or that this process wrote.

    Files that other processes write later are found by the processes that start after them.

    Attributes:
        folder: The folder.
        addresses: The addresses of the files.
        outlines: The outlines at the beginning of the addresses.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.addresses: set[str] = set()
        self.outlines: set[int] = set()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name):
                    self.add(entry.name.removesuffix(_SUFFIX))

    def add(self, address: str) -> None:
        """Add a file."""
        self.addresses.add(address)
        self.outlines.add(int(address[: 2 * _OUTLINE], 16))

    def path(self, address: str) -> Path:
        """Return the path of the file of an address."""
        return self.folder / f"{address}{_SUFFIX}"


@lru_cache(maxsize=1)
def _cache() -> _Cache:
    return _Cache(folder())


def load(address: str, layout: ArrayLayout) -> dict[str, NDArray[np.generic]] | None:
    """Return the arrays stored under an address, or `None`; a damaged file is deleted.

    The file is read, not mapped into memory: the checksum reads all of it anyway, and a mapped file that another
    process truncates would end this process.
    """
    cache = _cache()
    if address not in cache.addresses or not _is_private(cache.folder):
        return None
    path = f"{cache.folder}{os.sep}{address}{_SUFFIX}"  # a `Path` would take a tenth of the time of reading
    try:
        with io.FileIO(path, opener=_open) as file:
            about = os.fstat(file.fileno())
            is_usable = _is_own_file(about) and about.st_size <= _MAX_FILE_BYTES
            content = np.empty(about.st_size if is_usable else 0, np.uint8)
            arrays = (
                _parse(address, layout, content) if file.readinto(content.data) == about.st_size else None
            )
    except OSError:
        cache.addresses.discard(address)
        return None
    if arrays is None:
        _warn_of_damage(path)
        remove(address)
        return None
    if time.time() - about.st_mtime > _TOUCH_AFTER_SECONDS:
        with contextlib.suppress(OSError):
            os.utime(path)
    return arrays


def save(address: str, layout: ArrayLayout, arrays: Arrays, max_bytes: int) -> bool:
    """Store arrays under an address; return whether they were stored.

    A folder that cannot be written to is not an error. Some writes check the size of the folder, and remove the least
    recently used files until the rest takes at most `max_bytes` bytes. Large arrays are written without copies, because
    a copy would stop other threads, while the checksum and the write do not.
    """
    cache = _cache()
    if not _is_private(cache.folder):
        return False
    shapes = b"".join(_SHAPE.pack(*(*arrays[name].shape, 1)[:2]) for name in layout)
    parts: list[bytes | memoryview] = [bytes.fromhex(address), bytes(4), shapes]
    current, size = "", _HEAD.size + len(shapes)
    for name, (dtype, _) in layout.items():
        padding = -size % _ALIGNED if dtype != current else 0
        content = np.ascontiguousarray(arrays[name], dtype).reshape(-1).view(np.uint8).data
        parts += [bytes(padding), content]
        current, size = dtype, size + padding + len(content)
    if size > _MAX_FILE_BYTES:
        return False
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    try:
        _write(cache.path(address), [_MAGIC, checksum.to_bytes(4, "little"), *parts])
        cache.add(address)
        # Scanning the folder takes longer than writing a file, so only large files always trigger it.
        if size > max_bytes // _SIZE_CHECK_INTERVAL or int(address[:8], 16) % _SIZE_CHECK_INTERVAL == 0:
            _shrink(cache.folder, max_bytes)
    except OSError as error:
        _warn_of_failure(error)
        return False
    return True


def _write(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write a temporary file in the same folder and move it; `tempfile` would double the duration."""
    new = f"{path.parent}{os.sep}.new-{os.getpid()}-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
    try:
        file = os.open(new, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(new, flags, 0o600)
    try:
        with os.fdopen(file, "wb") as opened:
            opened.writelines(parts)
        Path(new).replace(path)
    except BaseException:
        Path(new).unlink(missing_ok=True)
        raise


def remove(address: str) -> None:
    """Remove the file of an address."""
    cache = _cache()
    cache.addresses.discard(address)
    with contextlib.suppress(OSError):
        cache.path(address).unlink(missing_ok=True)


def _is_private(cache: Path) -> bool:
    """Return whether only this user can write to the cache folder, or it does not exist yet."""
    if sys.platform == "win32":  # the folder is in the user's profile, and modes have no meaning
        return True
    try:
        about = cache.stat()
    except OSError:
        return True
    if about.st_uid == os.getuid() and not about.st_mode & _OTHERS_WRITE:
        return True
    _warn_of_other_writers()
    return False


def _open(path: str, _: int) -> int:
    return os.open(path, _READ)


def _is_own_file(about: os.stat_result) -> bool:
    """Return whether only this user, or root, can have written a file."""
    if not stat.S_ISREG(about.st_mode):
        return False
    if sys.platform == "win32":
        return True
    return about.st_uid in (os.getuid(), 0) and not about.st_mode & _OTHERS_WRITE


_reported: set[str] = set()
"""The messages that were logged."""


def _warn_once(message: str, *values: object) -> None:
    """Log a message unless it was logged before, with any values."""
    if message not in _reported:
        _reported.add(message)
        _log.warning(message, *values)


def _warn_of_damage(path: str) -> None:
    _warn_once(
        "the cache file %s is damaged or belongs to another user; it is deleted and written again, as is every "
        "other such file",
        path,
    )


def _warn_of_failure(error: OSError) -> None:
    _warn_once(
        "cannot write to the disk cache: %s; each process compiles its targets again; set STRUCTKIT_CACHE_DIR to a "
        "folder with space that you can write to",
        error,
    )


def _warn_of_other_writers() -> None:
    _warn_once(
        "the cache folder %s is not used, because another user owns it or can write to it; run `chmod 700` on it, or "
        "set STRUCTKIT_CACHE_DIR to a private folder",
        folder(),
    )


def _parse(
    address: str, layout: ArrayLayout, content: NDArray[np.uint8]
) -> dict[str, NDArray[np.generic]] | None:
    end = _HEAD.size + len(layout) * _SHAPE.size
    if len(content) < end:
        return None
    view = content.data
    magic, checksum, key_hash = _HEAD.unpack_from(view)
    if magic != _MAGIC or key_hash.hex() != address or zlib.crc32(view[_CHECKED:]) != checksum:
        return None
    arrays: dict[str, NDArray[np.generic]] = {}
    shapes = _SHAPE.iter_unpack(view[_HEAD.size : end])
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
    """Remove the least recently used files, and the temporary files of processes that were killed."""
    for path in cache.glob(".new-*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                path.unlink()
    files = []
    for path in cache.glob(f"*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            files.append((path.stat().st_mtime, path.stat().st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= max_bytes:
            break
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size
