"""The import order: components import only upstream ones, and only listed files import heavy packages."""

from __future__ import annotations

import json
import subprocess
import sys
from graphlib import TopologicalSorter

import pytest

from structkit.index.disk.store import SOURCE_PARTS
from tests.house.source import SOURCES

BY_MODULE = {source.module: source for source in SOURCES}

SHARED = {"arguments", "error_notes", "errors", "frozen", "limits", "lru_cache", "rejected", "unenforced"}

UPSTREAM = {
    "rejected": set[str](),
    "trace": set[str](),
    "errors": {"rejected", "trace"},
    "arguments": set[str](),
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
    "grammar": {"regex", "automaton"},
    "lowering": {"schema", "regex", "grammar", "automaton"},
    "index": {"vocabulary", "automaton"},
    "export": {"regex", "automaton"},
    "guide": {"trace", "vocabulary", "regex", "automaton", "index", "export"},
    "functions": {"schema"},
    "targets": {"trace", "schema", "regex", "grammar", "automaton", "lowering", "index", "functions"},
    "compile": {"vocabulary", "schema", "regex", "automaton", "index", "guide", "targets"},
    "grammars": {"functions", "grammar", "targets"},
    "models": {"vocabulary", "demo"},
    "messages": {"schema"},
    "generate": {
        "trace",
        "tracing",
        "vocabulary",
        "schema",
        "regex",
        "automaton",
        "guide",
        "targets",
        "compile",
        "models",
    },
    "processors": {"generate"},
    "tracing": set[str](),
    "agent": {
        "trace",
        "tracing",
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
    "integrations": {"vocabulary", "compile", "guide", "generate", "targets", "models", "messages", "agent"},
    "serve": {"vocabulary", "schema", "regex", "targets", "models", "messages", "generate", "agent"},
    "api": {
        "vocabulary",
        "schema",
        "regex",
        "export",
        "guide",
        "functions",
        "targets",
        "compile",
        "models",
        "generate",
    },
    "doctor": {"vocabulary", "index", "compile", "models", "generate", "agent"},
    "cli": {"targets", "models", "generate", "testing", "api", "doctor", "serve"},
    "__main__": {"cli"},
    "build_kernels": {"automaton", "lowering", "regex", "schema"},
}
"""The components that each component may import, besides itself and `SHARED`. Only `cli` imports `api`."""

FOLDERS = {
    "schema": ["ir", "markers", "algebra", "product", "json_schema", "view", "python"],
    "regex": ["", "pattern"],
    "automaton": ["core", "construct", "distance", "runtime", ""],
    "grammar": ["rules", "product", "syntax", "findings", ""],
    "lowering": ["numbers", "strings", "containers", ""],
    "index": ["disk", "distance", "rows", ""],
    "models": ["native", "", "text", "servers", "hosted", "llama_cpp", "transformers", "names"],
    "generate": ["sample", "output", "input", "threads", "decode", "correct", "schedule", "particles", "run"],
    "agent": ["tools", "formats", "prompt", "run", ""],
    "testing": ["proof", ""],
    "grammars": ["", "configuration"],
    "serve": ["bounds", "read", "write", "playground", ""],
}
"""The folders of a component, upstream first; the empty name stands for files directly in the component."""

IMPORTERS = {
    "griffe": {"functions/docstring.py"},
    "pydantic": {
        "integrations/langchain/model.py",
        "schema/python/calls.py",
        "schema/python/constraints.py",
        "schema/python/generator.py",
        "schema/python/judge.py",
        "schema/python/output.py",
        "schema/python/validators.py",
        "schema/python/json_codec.py",
        "schema/view/rejection.py",
    },
    "pydantic_core": {
        "schema/python/calls.py",
        "schema/python/constraints.py",
        "schema/python/custom_types.py",
        "schema/python/generator.py",
        "schema/python/judge.py",
        "schema/python/output.py",
        "schema/python/validators.py",
        "schema/python/json_codec.py",
        "schema/view/rejection.py",
        "integrations/langchain/model.py",
    },
    "hypothesis": {"testing/proof/search.py"},
    "shtab": {"cli/start.py"},
    "anthropic": {"models/hosted/anthropic.py"},
    "google": {"models/hosted/gemini.py"},
    "openai": {"models/hosted/openai.py"},
    "httpx2": {"mcp/bounds.py", "mcp/endpoint.py", "models/servers/http.py"},
    "interegular": {"regex/pattern/parse.py"},
    "lark": {
        "grammar/syntax/expansions.py",
        "grammar/syntax/indenter.py",
        "grammar/syntax/lalr.py",
        "grammar/syntax/lark_grammar.py",
        "grammar/syntax/lark_parser.py",
    },
    "jinja2": {"models/llama_cpp/tokenizer.py"},
    "jsonschema": {"schema/json_schema/validate.py"},
    "referencing": {"schema/json_schema/validate.py"},
    "langchain_core": {
        "integrations/langchain/__init__.py",
        "integrations/langchain/conversation.py",
        "integrations/langchain/language.py",
        "integrations/langchain/model.py",
    },
    "llama_cpp": {"models/llama_cpp/library.py"},
    "marshal": {"schema/ir/json_values.py"},
    "mcp": {"mcp/endpoint.py", "mcp/session.py"},
    "pydantic_ai": {
        "integrations/pydantic_ai/__init__.py",
        "integrations/pydantic_ai/conversation.py",
        "integrations/pydantic_ai/language.py",
        "integrations/pydantic_ai/model.py",
        "integrations/pydantic_ai/response.py",
    },
    "prometheus_client": {"serve/__init__.py", "serve/metrics.py"},
    "pytest": {"testing/pytest_plugin.py"},
    "opentelemetry": {"tracing.py"},
    "llvmlite": {"automaton/core/object_code.py", "integrations/vllm/processor.py"},
    "numba": {
        "automaton/core/jit.py",
        "automaton/core/memory.py",
        "automaton/core/object_code.py",
        "automaton/compile_notice.py",
    },
    "ray": {"integrations/ray.py"},
    "starlette": {"serve/__init__.py", "serve/app.py", "serve/transport.py"},
    "torch": {
        "generate/sample/select_torch.py",
        "generate/sample/processors.py",
        "integrations/vllm/processor.py",
        "models/transformers/forks.py",
        "models/transformers/forward.py",
        "models/transformers/kv_batch.py",
        "models/transformers/loading.py",
        "models/transformers/model.py",
    },
    "tenacity": {"models/servers/http.py"},
    "tqdm": {"generate/run/progress.py"},
    "transformers": {
        "models/transformers/forward.py",
        "models/transformers/kv_batch.py",
        "models/transformers/loading.py",
        "models/transformers/model.py",
    },
    "uvicorn": {"cli/timed_protocol.py", "cli/serve.py"},
    "vllm": {"integrations/vllm/processor.py"},
}
"""The only files that may import a package; imports for type checkers are allowed everywhere."""

ALLOWED_EVERYWHERE = {"numpy", "typing_extensions"}

FORBIDDEN = {"http", "pickle", "shelve", "socket", "subprocess", "urllib.request"}
"""structkit never unpickles bytes, and `marshal` only writes them, to hash or compare them. Only transformers downloads
files, only mcp, httpx2 and the clients of hosted models connect to servers, and only mcp starts processes."""

LAZY = {
    "anthropic",
    "google",
    "griffe",
    "httpx2",
    "hypothesis",
    "interegular",
    "jinja2",
    "jsonschema",
    "llama_cpp",
    "llvmlite",
    "mcp",
    "numba",
    "openai",
    "opentelemetry",
    "prometheus_client",
    "pydantic",
    "pydantic_ai",
    "referencing",
    "starlette",
    "tenacity",
    "torch",
    "transformers",
    "tokenizers",
    "tqdm",
    "uvicorn",
}
"""Packages that `import structkit` must not import."""


def test_a_component_imports_only_upstream_components() -> None:
    forbidden = [
        f"{source.relative_path} line {each.line}: {each.module}"
        for source in SOURCES
        if source.relative_path != "__init__.py"
        for each in source.imports
        if each.module.startswith("structkit.")
        if each.module.split(".")[1] not in UPSTREAM[source.component] | SHARED | {source.component}
    ]
    assert not forbidden, "UPSTREAM has what each component may import"


@pytest.mark.parametrize("component", FOLDERS)
def test_a_folder_imports_only_upstream_folders_of_its_component(component: str) -> None:
    order = FOLDERS[component]
    assert {source.folder for source in SOURCES if source.component == component} <= {*order, ""}
    upward = [
        f"{source.relative_path} line {each.line}: {each.module}"
        for source in SOURCES
        if source.component == component and source.path.name != "__init__.py"
        for each in source.imports
        if (target := BY_MODULE.get(each.module)) is not None and target.component == component
        if order.index(target.folder) > order.index(source.folder)
    ]
    assert not upward


def test_imports_have_no_cycles() -> None:
    """Imports for type checkers and imports inside functions count too."""
    list(TopologicalSorter(UPSTREAM).static_order())  # raises CycleError
    graph = {
        source.module: {each.module for each in source.imports} & BY_MODULE.keys()
        for source in SOURCES
        if source.relative_path != "__init__.py"
    }
    list(TopologicalSorter(graph).static_order())


def test_heavy_packages_are_imported_only_by_listed_files() -> None:
    known = sys.stdlib_module_names | ALLOWED_EVERYWHERE | IMPORTERS.keys() | {"structkit"}
    for source in SOURCES:
        for each in source.imports:
            place = f"{source.relative_path} line {each.line}"
            package = each.module.split(".")[0]
            if package in IMPORTERS and not each.typing_only:
                assert source.relative_path in IMPORTERS[package], (
                    f"{place}: only {sorted(IMPORTERS[package])} may import {package}"
                )
            assert package in known, f"{place}: {package} is not a dependency of structkit"
            assert not FORBIDDEN & {package, each.module}, (
                f"{place}: the library must not import {each.module}"
            )


def test_import_structkit_is_light() -> None:
    code = (
        "import time; start = time.perf_counter(); import structkit; seconds = time.perf_counter() - start\n"
        "import json, sys; print(json.dumps([seconds, sorted({name.split('.')[0] for name in sys.modules})]))"
    )
    seconds, modules = json.loads(
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    )
    print(f"import structkit took {seconds:.3f} s")
    assert not LAZY & set(modules)


def test_what_cache_files_depend_on_is_in_their_key() -> None:
    parts = {name.removesuffix(".py") for name in SOURCE_PARTS}
    # Python types and exports are not cached; traces and rejected values do not change a guide.
    needed = set().union(*(UPSTREAM[name] for name in parts)) - {"functions", "trace", "export", "rejected"}
    assert needed <= parts
