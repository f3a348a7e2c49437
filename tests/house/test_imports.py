"""The river of the design as a test: a room imports only what lies upstream, and heavy things have one door."""

from __future__ import annotations

import json
import subprocess
import sys
from graphlib import TopologicalSorter

import pytest

from tests.house.source import SOURCES, Source

EVERYONE = {"error_notes", "errors", "frozen", "limits", "lru_cache", "unenforced"}

UPSTREAM = {
    "errors": set[str](),
    "limits": set[str](),
    "frozen": set[str](),
    "lru_cache": set[str](),
    "demo": set[str](),
    "error_notes": {"errors"},
    "vocabulary": set[str](),
    "unenforced": {"frozen"},
    "models": {"demo", "vocabulary"},
    "schema": set[str](),
    "regex": set[str](),
    "messages": {"schema"},
    "functions": {"schema"},
    "automaton": {"regex"},
    "lowering": {"automaton", "regex", "schema"},
    "index": {"automaton", "vocabulary"},
    "targets": {"automaton", "functions", "lowering", "regex", "schema"},
    "guide": {"automaton", "index", "vocabulary"},
    "compile": {"automaton", "guide", "index", "regex", "schema", "targets", "vocabulary"},
    "generate": {"automaton", "compile", "guide", "models", "regex", "schema", "targets", "vocabulary"},
    "processors": {"generate"},
    "classify": {"generate", "models", "targets"},
    "streaming": {"functions", "generate", "models", "targets"},
    "api": {"compile", "functions", "generate", "models", "regex", "schema", "targets"},
    "many": {"generate", "models", "targets"},
    "agent": {
        "functions",
        "generate",
        "lowering",
        "messages",
        "models",
        "regex",
        "schema",
        "targets",
        "vocabulary",
    },
    "integrations": {"generate", "guide"},
    "testing": {"compile", "functions", "generate", "guide", "models", "schema", "targets", "vocabulary"},
    "mcp": {"agent", "generate", "messages", "targets"},
    "cli": {"api", "generate", "models", "targets", "testing"},
    "__main__": {"cli"},
}
"""What each room may import besides itself, `errors` and `limits`. Nobody may import `api` but `cli`."""

DOORS = {
    "griffe": {"functions/docstring.py"},
    "pydantic": {
        "schema/python/arguments.py",
        "schema/python/serialize.py",
        "schema/python/generator.py",
        "schema/python/judge.py",
        "schema/python/output.py",
        "schema/python/validators.py",
        "schema/python/json_codec.py",
    },
    "pydantic_core": {
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


def test_the_table_has_no_circle() -> None:
    list(TopologicalSorter(UPSTREAM).static_order())  # raises CycleError


def test_no_modules_import_each_other() -> None:
    names = {source.module for source in SOURCES}
    graph = {
        source.module: {i.module for i in source.imports() if i.at_top and i.module in names}
        for source in SOURCES
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
