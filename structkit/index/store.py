"""The disk cache: named arrays under a content address. The only file that writes.

A file is `MAGIC`, the SHA-256 of the rest, the length of a JSON header, the header (the full key, and each array's
name, dtype and shape) and the arrays. It is written beside its place and moved there, so that no reader sees half of
one. What does not match its checksum, its key or its stated sizes is treated as absent and made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["FORMAT", "folder", "load", "save"]

FORMAT = 1
"""The version of what the arrays mean; part of every address."""

Arrays = Mapping[str, NDArray[np.generic]]

_MAGIC = b"structkit-cache\n"
_HEADER_LIMIT = 1 << 16
_DTYPES = frozenset({"uint8", "uint32", "int32", "int64"})
_log = logging.getLogger("structkit")


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


def load(key: str) -> dict[str, NDArray[np.generic]] | None:
    """The arrays stored under a key, or `None` if there are none that can be believed."""
    path = _path(key)
    try:
        content = path.read_bytes()
    except OSError:
        return None
    arrays = _parse(key, content)
    if arrays is None:
        _log.debug("the cache file %s is damaged or not ours; it is made again", path)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return arrays


def save(key: str, arrays: Arrays, limit: int) -> bool:
    """Store arrays under a key, then remove the files unused for longest until all take at most `limit` bytes.

    Returns whether it was stored: a folder that cannot be written is no error, only no cache.
    """
    header = json.dumps(
        {"key": key, "arrays": [[name, a.dtype.name, list(a.shape)] for name, a in arrays.items()]}
    ).encode()
    body = (
        len(header).to_bytes(4, "little")
        + header
        + b"".join(np.ascontiguousarray(a).tobytes() for a in arrays.values())
    )
    path = _path(key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-", delete=False) as file:
            new = Path(file.name)
            try:
                file.write(_MAGIC + hashlib.sha256(body).digest() + body)
                file.close()
                new.replace(path)
            except BaseException:
                new.unlink(missing_ok=True)
                raise
        _shrink(path.parent, limit)
    except OSError as error:
        _log.debug("nothing is cached on disk: %s", error)
        return False
    return True


def _path(key: str) -> Path:
    return folder() / f"{hashlib.sha256(f'{FORMAT}:{key}'.encode()).hexdigest()}.cache"


def _parse(key: str, content: bytes) -> dict[str, NDArray[np.generic]] | None:
    start = len(_MAGIC) + 32
    body = content[start:]
    if not content.startswith(_MAGIC) or hashlib.sha256(body).digest() != content[len(_MAGIC) : start]:
        return None
    size = int.from_bytes(body[:4], "little")
    if size > _HEADER_LIMIT:
        return None
    arrays: dict[str, NDArray[np.generic]] = {}
    offset = 4 + size
    try:
        header = json.loads(body[4:offset])
        if header["key"] != key:
            return None
        for name, dtype, shape in header["arrays"]:
            if dtype not in _DTYPES or any(not isinstance(n, int) or n < 0 for n in shape):
                return None
            count = int(np.prod(shape, dtype=object)) if shape else 1
            arrays[str(name)] = np.frombuffer(body, dtype, count, offset).reshape(shape)
            offset += arrays[str(name)].nbytes
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return arrays if offset == len(body) else None


def _shrink(cache: Path, limit: int) -> None:
    files = []
    for path in cache.glob("*.cache"):
        with contextlib.suppress(OSError):
            files.append((path.stat().st_mtime, path.stat().st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= limit:
            break
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size
