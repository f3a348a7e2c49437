"""The river of the design as a test: a room imports only what lies upstream, and heavy things have one door."""

from __future__ import annotations

import json
import subprocess
import sys
from graphlib import TopologicalSorter

import pytest

from tests.house.source import SOURCES, Source

BY_MODULE = {source.module: source for source in SOURCES}

EVERYONE = {"error_notes", "errors", "frozen", "limits", "lru_cache", "rejected", "unenforced"}

UPSTREAM = {
    "rejected": set[str](),
    "errors": {"rejected"},
    "limits": set[str](),
    "frozen": set[str](),
    "lru_cache": set[str](),
    "error_notes": {"errors"},
    "unenforced": {"frozen"},
    "demo": set[str](),
    "vocabulary": set[str](),
    "schema": set[str](),
    "regex": set[str](),
    "automaton": {"regex"},
    "lowering": {"schema", "regex", "automaton"},
    "index": {"vocabulary", "automaton"},
    "guide": {"vocabulary", "automaton", "index"},
    "functions": {"schema"},
    "targets": {"schema", "regex", "automaton", "lowering", "functions"},
    "compile": {"vocabulary", "schema", "regex", "automaton", "index", "guide", "targets"},
    "models": {"vocabulary", "demo"},
    "messages": {"schema"},
    "generate": {"vocabulary", "schema", "regex", "automaton", "guide", "targets", "compile", "models"},
    "processors": {"generate"},
    "agent": {
        "vocabulary",
        "schema",
        "regex",
        "lowering",
        "functions",
        "targets",
        "models",
        "messages",
        "generate",
    },
    "mcp": {"targets", "messages", "generate", "agent"},
    "testing": {"vocabulary", "schema", "guide", "functions", "targets", "compile", "models", "generate"},
    "integrations": {"guide", "generate"},
    "api": {"schema", "regex", "functions", "targets", "compile", "models", "generate"},
    "cli": {"targets", "models", "generate", "testing", "api"},
    "__main__": {"cli"},
}
"""What each room may import besides itself and `EVERYONE`. Only `cli` imports `api`."""

FOLDERS = {
    "schema": ["ir", "markers", "algebra", "json_schema", "view", "python"],
    "regex": ["", "pattern"],
    "automaton": ["core", "construct", "distance", "runtime", ""],
    "lowering": ["numbers", "strings", "containers", ""],
    "index": ["disk", "rows", ""],
    "models": ["", "transformers"],
    "generate": ["sample", "output", "input", "decode", "run"],
    "agent": ["tools", "formats", "run", ""],
    "testing": ["proof", ""],
}
"""The folders of a room, upstream first; the empty name stands for the files of the room itself."""

DOORS = {
    "griffe": {"functions/docstring.py"},
    "pydantic": {
        "schema/python/arguments.py",
        "schema/python/calls.py",
        "schema/python/serialize.py",
        "schema/python/generator.py",
        "schema/python/judge.py",
        "schema/python/output.py",
        "schema/python/validators.py",
        "schema/python/json_codec.py",
    },
    "pydantic_core": {
        "schema/python/calls.py",
        "schema/python/serialize.py",
        "schema/python/generator.py",
        "schema/python/judge.py",
        "schema/python/output.py",
        "schema/python/validators.py",
        "schema/python/json_codec.py",
    },
    "hypothesis": {"testing/proof/search.py"},
    "httpx2": {"mcp/endpoint.py"},
    "interegular": {"regex/pattern/parse.py"},
    "jsonschema": {"schema/json_schema/validate.py"},
    "referencing": {"schema/json_schema/validate.py"},
    "mcp": {"mcp/endpoint.py", "mcp/session.py"},
    "pytest": {"testing/pytest_plugin.py"},
    "numba": {"automaton/core/jit.py", "automaton/compile_notice.py"},
    "torch": {
        "generate/sample/select_torch.py",
        "generate/sample/processors.py",
        "models/transformers/kv_batch.py",
        "models/transformers/model.py",
    },
    "tqdm": {"generate/run/progress.py"},
    "transformers": {"models/transformers/kv_batch.py", "models/transformers/model.py"},
}
"""The only files that may import a package; types alone may be imported anywhere."""

ANYWHERE = {"numpy", "typing_extensions"}

NOWHERE = {"http", "marshal", "pickle", "shelve", "socket", "subprocess", "urllib.request"}
"""Untrusted bytes are never unpickled. Nothing is fetched but by transformers, no server is spoken to and no process is
started but by mcp."""

LAZY = {
    "griffe",
    "httpx2",
    "hypothesis",
    "interegular",
    "jsonschema",
    "mcp",
    "numba",
    "pydantic",
    "referencing",
    "torch",
    "transformers",
    "tokenizers",
    "tqdm",
}
"""What `import structkit` must not import."""


@pytest.mark.parametrize("source", [s for s in SOURCES if s.place != "__init__.py"], ids=lambda s: s.place)
def test_a_room_imports_only_what_lies_upstream(source: Source) -> None:
    allowed = UPSTREAM[source.room] | EVERYONE | {source.room}
    rooms = {
        f"line {each.line}: {each.module}"
        for each in source.imports()
        if each.module.startswith("structkit.") and each.module.split(".")[1] not in allowed
    }
    assert not rooms, f"{source.place} may import only {sorted(allowed)}"


@pytest.mark.parametrize("room", FOLDERS)
def test_a_folder_imports_only_what_lies_upstream_in_its_room(room: str) -> None:
    order = FOLDERS[room]
    assert {source.folder for source in SOURCES if source.room == room} <= {*order, ""}
    upward = [
        f"{source.place} line {each.line}: {each.module}"
        for source in SOURCES
        if source.room == room and source.path.name != "__init__.py"
        for each in source.imports()
        if (target := BY_MODULE.get(each.module)) is not None and target.room == room
        if order.index(target.folder) > order.index(source.folder)
    ]
    assert not upward


def test_rooms_and_modules_import_each_other_in_one_direction() -> None:
    """Imports for type checkers and imports inside functions count: each is a reader's way back."""
    list(TopologicalSorter(UPSTREAM).static_order())  # raises CycleError
    graph = {
        source.module: {each.module for each in source.imports()} & BY_MODULE.keys()
        for source in SOURCES
        if source.place != "__init__.py"
    }
    list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("source", SOURCES, ids=lambda s: s.place)
def test_heavy_packages_come_in_by_their_doors(source: Source) -> None:
    for each in source.imports():
        package = each.module.split(".")[0]
        if package in DOORS and not each.typing_only:
            assert source.place in DOORS[package], f"line {each.line}: {package} has its own door"
        known = package in sys.stdlib_module_names | ANYWHERE | DOORS.keys() | {"structkit"}
        assert known, f"line {each.line}: {package} is no dependency of structkit"
        assert not NOWHERE & {package, each.module}, (
            f"line {each.line}: {each.module} has no place in the library"
        )


def test_import_structkit_is_light() -> None:
    code = (
        "import time; begin = time.perf_counter(); import structkit; took = time.perf_counter() - begin\n"
        "import json, sys; print(json.dumps([took, sorted({name.split('.')[0] for name in sys.modules})]))"
    )
    took, modules = json.loads(
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    )
    print(f"import structkit took {took:.3f} s")
    assert not LAZY & set(modules)
