"""Object code of the kernels, built when structkit is installed, so that the first use on a machine compiles nothing.

The folder `compiled` beside this file contains one file per compiled kernel and signature, and a manifest with the
versions of Python, numba and llvmlite, the platform, the required CPU features, and the hashes of the sources and of
the files. `python -m structkit.build_kernels` writes the folder. Whatever does not match is ignored, and numba compiles
the kernel and caches it as usual.

The files are pickles of numba, as in its own cache. They are unpickled only if their hash matches, and only from a
folder that belongs to this user or to root and that no other user can write to.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numba
from numba.core.caching import FunctionCache, NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps, loads

__all__ = ["MANIFEST", "KernelCache", "ObjectCode", "is_private", "kernel_sources"]

MANIFEST = "manifest.json"
"""The name of the file that describes all others."""

_ROOT = Path(__file__).parents[3]
"""The folder of the package `structkit`; sources are named relative to it."""

_DESCRIPTOR, _SIGNATURE = 1, 3
"""The indexes of the function's description and of the signature in a file."""

_OTHERS_WRITE = 0o022
"""The mode bits that allow the group or others to write."""

_REBUILD = "the kernels are compiled instead; `python -m structkit.build_kernels` builds it again"

_log = logging.getLogger("structkit")


class ObjectCode:
    """A folder with object code.

    Attributes:
        folder: The folder, which need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._reported = False
        self._is_enabled = True

    def disable(self) -> None:
        """Compile all kernels in this process."""
        self._is_enabled = False

    def load(self, function: Callable[..., object], signature: object, context: object) -> object:
        """Return the compiled kernel for a signature, or `None` if there is no usable object code.

        Args:
            function: The Python function of the kernel.
            signature: The types of its arguments.
            context: numba's target context, which receives the code.
        """
        name = _file_name(function, signature)
        expected = self._hashes.get(name) if self._is_enabled else None
        if expected is None or not self._runs_on(context):
            return None
        parts = self._read(name, expected)
        if not parts:
            return None
        names = parts[_DESCRIPTOR].llvm_func_name, parts[_DESCRIPTOR].llvm_cpython_wrapper_name
        context.codegen()._engine._defined_symbols.update(names)  # type: ignore[attr-defined]  # numba has no types
        return CompileResult._rebuild(context, *parts)

    def load_all(self, kernels: Iterable[Any]) -> None:
        """Load the compiled signatures of kernels immediately, so that no later call of a kernel waits for it.

        Args:
            kernels: Dispatchers of numba.
        """
        kernels_by_name = {_prefix(kernel.py_func): kernel for kernel in kernels}
        loaded = {_file_name(k.py_func, types) for k in kernels_by_name.values() for types in k.overloads}
        for name, expected in self._hashes.items() if self._is_enabled else ():
            kernel = kernels_by_name.get(name.rpartition("-")[0])
            if kernel is None or name in loaded or not self._runs_on(kernel.targetctx):
                continue
            if parts := self._read(name, expected):
                kernel.compile(parts[_SIGNATURE].args)

    def _read(self, name: str, expected: str) -> tuple[Any, ...]:
        """Return the parts of a compiled kernel; empty if the file does not have the expected hash."""
        path = self.folder / name
        try:
            content = path.read_bytes() if is_private(path) else b""
        except OSError:
            content = b""
        if hashlib.sha256(content).hexdigest() != expected:
            self.ignore(f"{path} is damaged, or another user can write to it")
            return ()
        parts: tuple[Any, ...] = loads(content)
        return parts

    def save(self, kernels: Iterable[object], sources: Iterable[Path]) -> int:
        """Write the compiled signatures of kernels, and the manifest last; return the number of signatures.

        Args:
            kernels: Dispatchers of numba.
            sources: The files whose contents determine the object code.
        """
        self.folder.mkdir(mode=0o755, exist_ok=True)
        self.folder.chmod(0o755)
        self.clear()
        kernels = list(kernels)
        called = _called(kernels)
        hashes, target = {}, {}
        for kernel in kernels:
            for signature, result in kernel.overloads.items():  # type: ignore[attr-defined]  # numba has no types
                name = _file_name(kernel.py_func, signature)  # type: ignore[attr-defined]
                path = self.folder / name
                parts = result._reduce()
                path.write_bytes(dumps(parts if result.library.name in called else _without_bitcode(parts)))
                path.chmod(0o644)
                hashes[name] = _hash(path)
                triple, _, features = result.codegen.magic_tuple()
                target = {"triple": triple, "features": features}
        manifest = {
            "versions": _versions(),
            "target": target,
            "sources": {path.relative_to(_ROOT).as_posix(): _hash(path) for path in sources},
            "files": hashes,
        }
        path = self.folder / MANIFEST
        path.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        path.chmod(0o644)
        return len(hashes)

    def clear(self) -> None:
        """Delete the files."""
        for path in [self.folder / MANIFEST, *self.folder.glob("*.nbc")]:
            path.unlink(missing_ok=True)

    def is_current(self, sources: Iterable[Path]) -> bool:
        """Return whether the folder has usable object code that was built from exactly these sources."""
        names = {path.relative_to(_ROOT).as_posix() for path in sources}
        return bool(self._hashes) and self._manifest.get("sources", {}).keys() == names

    @cached_property
    def _manifest(self) -> Mapping[str, Mapping[str, str]]:
        """The manifest; empty if there is none, or if it does not belong to this Python and these sources."""
        path = self.folder / MANIFEST
        try:
            if not (is_private(self.folder) and is_private(path)):
                self.ignore(f"another user owns {self.folder} or can write to it (run `chmod -R go-w` on it)")
                return {}
            manifest = json.loads(path.read_text(encoding="utf-8"))
            versions, sources = manifest["versions"], manifest["sources"]
            parts = (versions, manifest["target"], sources, manifest["files"])
            is_valid = all(isinstance(value, str) for part in parts for value in part.values())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            is_valid = False
        if not is_valid:
            self.ignore(f"{path} is damaged")
            return {}
        if versions != _versions():
            self.ignore(f"{self.folder} was built with other versions of Python, numba or llvmlite")
            return {}
        if not _are_unchanged(sources):
            self.ignore(f"{self.folder} was built from other sources")
            return {}
        checked: Mapping[str, Mapping[str, str]] = manifest
        return checked

    @property
    def _hashes(self) -> Mapping[str, str]:
        return self._manifest.get("files", {})

    def _runs_on(self, context: object) -> bool:
        """Return whether the processor has the features that the code requires."""
        triple, _, features = context.codegen().magic_tuple()  # type: ignore[attr-defined]  # numba has no types
        required = self._manifest["target"]
        needed = {each for each in required.get("features", "").split(",") if each}
        if required.get("triple") == triple and needed <= set(features.split(",")):
            return True
        self.ignore(f"{self.folder} was built for another processor")
        return False

    def ignore(self, reason: str) -> None:
        """Log once that kernels are compiled, with the reason."""
        if not self._reported:
            self._reported = True
            _log.warning("the object code of the kernels is not used: %s; %s", reason, _REBUILD)


class KernelCache:
    """The cache of a numba dispatcher: object code of the package first, then numba's own cache.

    The methods are those that a dispatcher calls.
    """

    def __init__(self, function: Callable[..., object], shipped: ObjectCode) -> None:
        self._function = function
        self._shipped = shipped

    @property
    def cache_path(self) -> str:
        """The folder of numba's own cache; empty if no folder can be written to."""
        return self._fallback.cache_path or ""

    def load_overload(self, signature: object, context: object) -> object:
        """Return the compiled kernel for a signature, or `None` if it must be compiled."""
        result = self._shipped.load(self._function, signature, context)
        if result is not None:
            return result
        try:
            return self._fallback.load_overload(signature, context)
        except Exception as error:  # unpickling a damaged file can raise anything
            self._shipped.ignore(f"a file in {self.cache_path} is damaged ({type(error).__name__}: {error})")
            with contextlib.suppress(OSError):  # a file that cannot be replaced is damaged the next time, too
                self.flush()
            return None

    def save_overload(self, signature: object, result: object) -> None:
        """Store a kernel that was compiled; this process can use it even if no file can be written."""
        try:
            self._fallback.save_overload(signature, result)
        except Exception as error:  # this reads the index, which can be damaged
            self._shipped.ignore(f"cannot write to {self.cache_path} ({type(error).__name__}: {error})")

    def flush(self) -> None:
        """Empty numba's own cache of this kernel."""
        self._fallback.flush()

    @cached_property
    def _fallback(self) -> FunctionCache | NullCache:
        """The cache of numba; created late, because it writes a new file to test whether a folder can be written to."""
        with contextlib.suppress(RuntimeError):  # no folder can be written to
            return _SourceCache(self._function)
        return NullCache()


class _SourceCache(FunctionCache):
    """numba's cache, for the present sources of all kernels: numba only compares the file that has the kernel.

    Each file has a hash of its key and contents. numba does not detect a changed byte; and since it writes the index
    first, a process that is killed leaves an index that names the file of another kernel.
    """

    def _index_key(self, signature: object, codegen: object) -> tuple[object, ...]:
        return *super()._index_key(signature, codegen), _sources_digest()

    def _load_overload(self, signature: object, context: Any) -> object:
        key = self._index_key(signature, context.codegen())
        stored = self._cache_file.load(key)
        if stored is None:
            return None
        expected, content = stored
        if _key_hash(key, content) != expected:
            raise ValueError("its hash differs")
        return self._impl.rebuild(context, loads(content))

    def _save_overload(self, signature: object, result: Any) -> None:
        if not self._impl.check_cachable(result):
            return
        self._impl.locator.ensure_cache_path()
        key = self._index_key(signature, result.codegen)
        content = dumps(self._impl.reduce(result))
        self._cache_file.save(key, (_key_hash(key, content), content))


def _key_hash(key: tuple[object, ...], content: bytes) -> str:
    return hashlib.sha256(f"{key}\n".encode() + content).hexdigest()


@cache
def _sources_digest() -> str:
    return hashlib.sha256("".join(map(_hash, kernel_sources())).encode()).hexdigest()


def kernel_sources() -> list[Path]:
    """Return the files that determine the object code: those with kernels, what these import, and what writes it."""
    package = _ROOT / "structkit"
    paths = {package / "build_kernels.py", Path(__file__)}
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if _USES_KERNELS.search(text):
            imported = (f"{name.replace('.', '/')}.py" for name in _IMPORTED.findall(text))
            paths |= {path, *map(package.joinpath, imported)}
    return sorted(path for path in paths if path.exists())


_USES_KERNELS = re.compile(r"^from structkit\.automaton\.core\.jit import", re.MULTILINE)

_IMPORTED = re.compile(r"^from structkit\.([\w.]+) import", re.MULTILINE)


def _called(kernels: Iterable[object]) -> set[str]:
    """Return the names of the libraries that kernels call."""
    libraries = [result.library for kernel in kernels for result in kernel.overloads.values()]  # type: ignore[attr-defined]
    called: set[str] = set()
    while libraries:
        linked = [each for each in libraries.pop()._linking_libraries if each.name not in called]
        called.update(each.name for each in linked)
        libraries += linked
    return called


def _without_bitcode(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the parts of a compiled kernel with an empty module in place of its bitcode, to load it faster.

    numba inlines the bitcode into the callers of a kernel, so only a kernel that others call needs it. It also reads
    the names of the symbols from it, which `ObjectCode.load` adds instead.
    """
    (name, kind, (code, _)), *others = parts
    return (name, kind, (code, _EMPTY_MODULE)), *others


_EMPTY_MODULE: bytes = llvmlite.binding.parse_assembly("").as_bitcode()


def is_private(path: Path) -> bool:
    """Return whether something is a file or folder, and only this user or root can write to it."""
    if sys.platform == "win32":  # modes have no meaning
        return True
    about = path.lstat()
    is_plain = stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)  # reading a pipe would wait
    return is_plain and about.st_uid in (0, os.getuid()) and not about.st_mode & _OTHERS_WRITE


def _file_name(function: Callable[..., object], signature: object) -> str:
    digest = hashlib.sha256(str(signature).encode()).hexdigest()[:16]
    return f"{_prefix(function)}-{digest}.nbc"


def _prefix(function: Callable[..., object]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _are_unchanged(sources: Mapping[str, str]) -> bool:
    try:
        return all(_hash(_ROOT / name) == expected for name, expected in sources.items())
    except (OSError, ValueError):  # a name with a NUL character
        return False


def _versions() -> dict[str, str]:
    return {"python": sys.version, "numba": numba.__version__, "llvmlite": llvmlite.__version__}
