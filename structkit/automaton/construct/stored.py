"""Automata of formats, built when structkit is installed.

The language of a format such as `email` depends on the source of structkit only, and its automaton takes up to 12 ms to
build, in the middle of a value. `python -m structkit.build_kernels` writes the automata to one file beside the object
code of the kernels. The file contains numbers and no code. A file that is damaged, or that was built from other
sources, is ignored with a message in the log, and automata are built when a text first needs them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import struct
import sys
import zlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from structkit.automaton.construct.compile_rule import allows, intersect_lengths
from structkit.automaton.core.dfa import Dfa
from structkit.automaton.core.object_code import is_private
from structkit.limits import Limits
from structkit.lru_cache import LruCache
from structkit.regex.json_string import free_text_body

__all__ = ["FORMATS", "StoredAutomata"]

_ROOT = Path(__file__).parents[2]

_SOURCES = "automaton/construct", "automaton/core", "lowering/strings", "regex"
"""The folders whose sources determine the automata."""

_HEADER = struct.Struct("<16sII")
"""`_MAGIC`, and the length and the checksum of the description."""

_MAGIC = b"structkit-dfas\n\0"

_REBUILD = "`python -m structkit.build_kernels` builds them again"

_log = logging.getLogger("structkit")


class StoredAutomata:
    """A file of automata without calls, by name. Only this user or root may be able to write to it.

    Attributes:
        path: The file, which need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._loaded: dict[str, Dfa] = {}
        self._with_lengths: LruCache[tuple[str, int, int | None, Limits], Dfa] = LruCache(max_size=64)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the automata; none if the file was built from other sources."""
        return frozenset(self._description)

    def get(
        self, name: str, limits: Limits, min_length: int = 0, max_length: int | None = None
    ) -> Dfa | None:
        """Return the automaton of the strings of a name with some lengths.

        The result is `None` if there is none that is built under these limits.

        Args:
            name: The name.
            limits: What may be built.
            min_length: Minimum number of characters.
            max_length: Maximum number of characters; `None` is unbounded.

        Raises:
            LimitExceeded: The automaton with the lengths would be too large.
        """
        found = self._all(name, limits)
        if found is None or (min_length == 0 and max_length is None):
            return found
        shortest, longest = self._description[name][-2:]
        if min_length <= shortest and (max_length is None or 0 <= longest <= max_length):
            return found
        key = name, min_length, max_length, limits
        known = self._with_lengths.get(key)
        if known is None:
            known = intersect_lengths(found, free_text_body(min_length, max_length), limits)
            self._with_lengths.put(key, known)
        return known

    def _all(self, name: str, limits: Limits) -> Dfa | None:
        if name not in self.names or not allows(limits, Limits()):
            return None
        if name not in self._loaded:
            try:
                self._loaded[name] = self._read(name)
            except (OSError, ValueError, struct.error) as error:
                _log.warning("the automata in %s are not used: %s; %s", self.path, error, _REBUILD)
                self.names = frozenset()
                return None
        return self._loaded[name]

    def save(self, automata: Mapping[str, Dfa], lengths: Mapping[str, tuple[int, int | None]]) -> None:
        """Write the file.

        Args:
            automata: The automata by name, each of a string without its opening quote.
            lengths: The characters of the shortest and of the longest text of each; `None` is unbounded.
        """
        described, contents, offset = {}, [], 0
        for name, dfa in automata.items():
            content = dfa.classes.tobytes() + dfa.targets.tobytes() + dfa.final.tobytes()
            shape = [*dfa.targets.shape, dfa.min_count, dfa.max_count, dfa.work]
            shortest, longest = lengths[name]
            bounds = shortest, -1 if longest is None else longest
            described[name] = [offset, len(content), zlib.crc32(content), *shape, *bounds]
            contents.append(content)
            offset += len(content)
        text = json.dumps({"sources": _source_hash(), "automata": described}).encode()
        self.path.parent.mkdir(mode=0o755, exist_ok=True)
        self.path.unlink(missing_ok=True)  # it can be a link to a file of another installation
        self.path.write_bytes(b"".join([_HEADER.pack(_MAGIC, len(text), zlib.crc32(text)), text, *contents]))
        self.path.chmod(0o644)
        self.__dict__.pop("names", None)
        self.__dict__.pop("_description", None)

    @property
    def is_current(self) -> bool:
        """Whether the file can be read, and was built from these sources."""
        try:
            return bool(self._read_description())
        except (OSError, ValueError, struct.error):
            return False

    @cached_property
    def _description(self) -> Mapping[str, list[int]]:
        try:
            return self._read_description()
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, struct.error) as error:
            _log.warning("the automata in %s are not used: %s; %s", self.path, error, _REBUILD)
            return {}

    def _read_description(self) -> Mapping[str, list[int]]:
        """Return the offset in the file, size, checksum, shape, counts and lengths of each automaton."""
        if not (is_private(self.path.parent) and is_private(self.path)):
            raise ValueError("another user can write to it")
        with self.path.open("rb") as file:
            magic, size, checksum = _HEADER.unpack(file.read(_HEADER.size))
            text = file.read(min(size, os.fstat(file.fileno()).st_size))  # a damaged size is up to 4 GiB
        if magic != _MAGIC or len(text) != size or zlib.crc32(text) != checksum:
            raise ValueError("the file is damaged")
        found = json.loads(text)
        if found["sources"] != _source_hash():
            raise ValueError("they were built from other sources")
        automata: Mapping[str, list[int]] = found["automata"]
        return automata

    def _read(self, name: str) -> Dfa:
        offset, size, checksum, states, width, min_count, max_count, work, *_ = self._description[name]
        with self.path.open("rb") as file:
            _, described, _ = _HEADER.unpack(file.read(_HEADER.size))
            file.seek(_HEADER.size + described + offset)
            content = bytearray(file.read(size))
        if len(content) != size or zlib.crc32(content) != checksum:
            raise ValueError("the file is damaged")
        targets = np.frombuffer(content, np.int32, states * width, 256).reshape(states, width)
        final = np.frombuffer(content, np.bool_, states, 256 + 4 * states * width)
        classes = np.frombuffer(content, np.uint8, 256)
        return Dfa(classes, targets, final, min_count=min_count, max_count=max_count, work=work)


def _source_hash() -> str:
    digest = hashlib.sha256(sys.version.encode())
    for folder in _SOURCES:
        for parent, folders, names in os.walk(_ROOT / folder):
            folders.sort()
            for name in sorted(names):
                if name.endswith(".py"):
                    digest.update(Path(parent, name).read_bytes())
    return digest.hexdigest()


FORMATS = StoredAutomata(_ROOT / "automaton/core/compiled/formats.bin")
"""The automata of the formats of JSON Schema, each a string without its opening quote."""
