"""Object code of the kernels: used without compiling anything, and ignored unless everything matches."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from llvmlite.binding import parse_bitcode
from numba.core.serialize import loads

import structkit
from structkit.automaton.core import jit
from structkit.automaton.core.jit import SHIPPED
from structkit.automaton.core.object_code import MANIFEST
from tests.shared import ALL

KERNEL = "structkit.generate.sample.kernels.apply_mask"

PRELUDE = """
import json, os, sys
from pathlib import Path
import numba, numpy
from numba.core import event
numba.njit("i8(i8)")(lambda number: number)
first, *others = json.loads(sys.argv[1])
for each in others if hasattr(os, "fork") else []:
    child = os.fork()
    if not child:
        first, others = each, []
        break
    os.waitpid(child, 0)
folder, cache, out, log, before = first
os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT), 1)
os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT), 2)
os.environ["NUMBA_CACHE_DIR"] = cache
numba.core.config.reload_config()
from structkit.automaton.core import jit
jit.SHIPPED.folder = Path(folder)
compiled, stops, result = [], False, None
class Stopped(BaseException):
    pass
class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__module__)
        if stops:
            raise Stopped
    def on_end(self, event):
        pass
event.register("numba:compile", Listener())
exec(before)
"""

GENERATE = """
import structkit as sk
model = sk.testing.RandomModel(3, sk.testing.byte_vocabulary())
result = sk.generate(model, "", dict[str, list[int]], max_tokens=60).value
"""

APPLY_MASK = """
import numpy as np
from structkit.generate.sample.kernels import apply_mask
row = np.zeros(64, np.float32)
apply_mask(row, np.array([5, 0], np.uint32))
result = np.flatnonzero(np.isfinite(row)).tolist()
"""

STOP = """
import numpy as np
from structkit.generate.sample.kernels import apply_mask
stops = True
try:
    apply_mask(np.zeros(64, np.float32), np.array([5, 0], np.uint32))
except Stopped:
    result = "stopped"
"""
"""The start of a compilation, which takes a second to its end."""

COMPILE = """
import structkit as sk
sk.compile(int, sk.testing.byte_vocabulary(), cache=False)
result = [kernel.py_func.__qualname__ for kernel in jit._KERNELS if not kernel.overloads]
"""

PRINT = """
print(json.dumps([[name for name in compiled if name.startswith('structkit.')], result]), flush=True)
"""

Outcome = tuple[list[str], object, str]
"""The modules of compiled kernels, the result, and the log."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with object code: that of this installation if it is current, since it takes a minute to build."""
    folder = tmp_path_factory.mktemp("object-code") / "compiled"
    if not ALL and SHIPPED.folder.is_dir():
        shutil.copytree(SHIPPED.folder, folder)
        if _run(GENERATE, folder, tmp_path_factory.mktemp("numba"))[::2] == ([], ""):
            return folder
        shutil.rmtree(folder)
    code = (
        f"from pathlib import Path; from structkit.build_kernels import build; build(Path({str(folder)!r}))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return folder


def _run(code: str, folder: Path, scratch: Path) -> Outcome:
    """Run code with the object code of a folder and an empty cache of numba."""
    (outcome,) = _run_all(code, [(folder, "cache", "")], scratch)
    return outcome


def _run_all(code: str, runs: list[tuple[Path, str, str]], scratch: Path) -> list[Outcome]:
    """Run code once for each folder of object code, name of a cache of numba, and code before it, in this order.

    Each run is a process: a fork of one that has imported numba and compiled a function, which takes a second, and has
    imported nothing of structkit.
    """
    scratch.mkdir(exist_ok=True)
    parameters = [
        [
            str(folder),
            str(scratch / cache),
            str(scratch / f"{number}-out"),
            str(scratch / f"{number}-log"),
            before,
        ]
        for number, (folder, cache, before) in enumerate(runs)
    ]
    for group in _groups(parameters):
        subprocess.run([sys.executable, "-c", PRELUDE + code + PRINT, json.dumps(group)], check=True)
    return [(*json.loads(Path(out).read_text()), Path(log).read_text()) for _, _, out, log, _ in parameters]


def _groups(runs: list[list[str]]) -> list[list[list[str]]]:
    """Return the runs of each process; a process starts the others of its group before its own, which is the first."""
    return [[runs[-1], *runs[:-1]]] if hasattr(os, "fork") else [[run] for run in runs]


def test_only_the_owner_can_write_object_code(built: Path) -> None:
    """Others may read it, and nobody runs it as a program."""
    assert stat.S_IMODE(built.stat().st_mode) == 0o755
    assert {stat.S_IMODE(path.stat().st_mode) for path in built.glob("*.nbc")} == {0o644}


def test_every_kernel_has_object_code(built: Path) -> None:
    package = Path(structkit.__file__).parent
    kernels = {
        f"{'.'.join(path.relative_to(package.parent).with_suffix('').parts)}.{name}"
        for path in package.rglob("*.py")
        for name in re.findall(
            r"^@(?:exclusive_)?kernel\ndef (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert kernels and kernels == {path.name.rpartition("-")[0] for path in built.glob("*.nbc")}


def test_only_a_kernel_that_others_call_has_bitcode(built: Path) -> None:
    """Parsing bitcode would take most of the time in which a process loads the kernels; only callers inline it."""
    structkit.generate, structkit.compile  # noqa: B018 (loads the modules with kernels)
    functions = [value for name, module in sys.modules.items() if name.startswith("structkit.")
                 for value in vars(module).values() if hasattr(value, "py_func")]  # fmt: skip
    names = {id(kernel): f"{kernel.py_func.__module__}.{kernel.py_func.__name__}" for kernel in jit._KERNELS}
    callees = {
        id(function.py_func.__globals__.get(name))
        for function in functions
        for name in function.py_func.__code__.co_names
    }
    assert len(functions) > len(names) > 30
    with_bitcode = set()
    for path in built.glob("*.nbc"):
        (_, _, (_, bitcode)), *_ = loads(path.read_bytes())
        if list(parse_bitcode(bitcode).functions):
            with_bitcode.add(path.name.rpartition("-")[0])
    assert with_bitcode == {name for key, name in names.items() if key in callees}


@pytest.mark.long
def test_a_kernel_is_compiled_that_calls_object_code(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "compiled"
    shutil.copytree(built, folder)
    _edit(
        lambda each: [
            each["files"].pop(name) for name in [*each["files"]] if "parse_kernels.advance-" in name
        ]
    )(folder)
    compiled, result, log = _run(GENERATE, folder, tmp_path / "cache")
    assert (
        "structkit.automaton.runtime.parse_kernels" in compiled
        and "not used" not in log
        and isinstance(result, dict)
    )


@pytest.mark.long
def test_nothing_is_compiled(built: Path, tmp_path: Path) -> None:
    compiled, result, log = _run(GENERATE, built, tmp_path)
    assert (compiled, log) == ([], "") and isinstance(result, dict)


def _edit(change: Callable[[dict[str, dict[str, str]]], object]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        manifest = json.loads((folder / MANIFEST).read_text())
        change(manifest)
        (folder / MANIFEST).write_text(json.dumps(manifest))

    return edit


def _damage(folder: Path) -> None:
    (path,) = folder.glob(f"{KERNEL}-*.nbc")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _replace(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def replace(folder: Path) -> None:
        for path in folder.glob(f"{KERNEL}-*.nbc"):
            path.unlink()
            make(path)

    return replace


def _move(folder: Path) -> None:
    folder.symlink_to(folder.rename(folder.with_name(f"{folder.name} elsewhere")))


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "damaged file": (_damage, "damaged"),
    "folder in place of a file": (_replace(Path.mkdir), "damaged"),
    "pipe in place of a file": (_replace(lambda path: os.mkfifo(path)), "damaged"),
    "link to another folder": (_move, "another user"),
    "missing file": (lambda folder: [path.unlink() for path in folder.glob("*.nbc")], "damaged"),
    "damaged manifest": (lambda folder: (folder / MANIFEST).write_text('{"files": 3'), "damaged"),
    "foreign manifest": (lambda folder: (folder / MANIFEST).write_text("[1]"), "damaged"),
    "deep manifest": (lambda folder: (folder / MANIFEST).write_text("[" * 100_000), "damaged"),
    "source that has no name": (_edit(lambda each: each["sources"].update({"\0": "0"})), "other sources"),
    "changed source": (
        _edit(lambda each: each["sources"].update({"automaton/core/kernels.py": "0"})),
        "other sources",
    ),
    "removed source": (_edit(lambda each: each["sources"].update({"gone.py": "0"})), "other sources"),
    "other numba": (_edit(lambda each: each["versions"].update(numba="0.1")), "other versions"),
    "other processor": (_edit(lambda each: each["target"].update(features="+none")), "another processor"),
    "folder others can write": (lambda folder: folder.chmod(0o777), "another user"),
    "manifest others can write": (lambda folder: (folder / MANIFEST).chmod(0o666), "another user"),
    "file others can write": (
        lambda folder: [path.chmod(0o666) for path in folder.glob("*.nbc")],
        "another user",
    ),
}


def test_a_guide_has_all_kernels_loaded(built: Path, tmp_path: Path) -> None:
    """No step waits until a kernel is loaded."""
    compiled, unloaded, _ = _run(COMPILE, built, tmp_path)
    assert (compiled, unloaded) == ([], [])


@pytest.mark.long
def test_object_code_that_does_not_match_is_ignored(built: Path, tmp_path: Path) -> None:
    """All faults in one test, because their processes are forks of one."""
    faults = [
        (name, tmp_path / str(number), *fault)
        for number, (name, fault) in enumerate(FAULTS.items())
        if not (sys.platform == "win32" and any(part in name for part in ("others", "pipe", "link")))
    ]
    for _, folder, damage, _ in faults:
        shutil.copytree(built, folder)
        damage(folder)
    runs = [(folder, f"cache {folder.name}", "") for _, folder, _, _ in faults]
    for (name, _, _, reason), (compiled, result, log) in zip(
        faults, _run_all(STOP, runs, tmp_path / "runs"), strict=True
    ):
        assert (compiled, result) == (["structkit.generate.sample.kernels"], "stopped"), name
        assert log.count("\n") == 1 and reason in log, name


@pytest.mark.long
def test_damaged_object_code_is_replaced_by_a_compilation(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "compiled"
    shutil.copytree(built, folder)
    _damage(folder)
    compiled, result, log = _run(APPLY_MASK, folder, tmp_path / "cache")
    assert (compiled, result) == (["structkit.generate.sample.kernels"], [0, 2]) and "damaged" in log


@pytest.mark.long
def test_kernels_compiled_from_other_sources_are_compiled_again(tmp_path: Path) -> None:
    """numba compares the file of a kernel only, and not the files of the helpers in it."""
    changed = (
        "from structkit.automaton.core import object_code\nobject_code._sources_digest = lambda: 'other'\n"
    )
    runs = [("", 1), ("", 0), (changed, 1), (changed, 0), ("", 0)]
    folder = tmp_path / "none"
    outcomes = _run_all(APPLY_MASK, [(folder, "cache", before) for before, _ in runs], tmp_path)
    for (_, expected), (compiled, result, log) in zip(runs, outcomes, strict=True):
        assert (len(compiled), result, log) == (expected, [0, 2], "")
