"""What this machine can do: packages, kernels, cache and processors."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from structkit.doctor.check import Check
from structkit.errors import MissingExtra

__all__ = ["check_machine"]

_EXTRAS = {
    "transformers": ("torch", "transformers"),
    "servers": ("httpx2", "tenacity"),
    "openai": ("openai",),
    "anthropic": ("anthropic",),
    "gemini": ("google-genai",),
    "llama-cpp": ("llama-cpp-python",),
    "jsonschema": ("jsonschema",),
    "check": ("hypothesis",),
    "mcp": ("mcp",),
    "otel": ("opentelemetry-api",),
    "pydantic-ai": ("pydantic-ai-slim",),
    "langchain": ("langchain-core",),
    "ray": ("ray",),
    "serve": ("prometheus-client", "starlette", "uvicorn"),
    "progress": ("tqdm",),
    "completion": ("shtab",),
}
"""The packages of each extra."""

_MAX_FIRST_MASK = 1.5
"""Seconds for the first mask above which the kernels were compiled in this process."""


def check_machine() -> Iterator[Check]:
    """Yield what this machine can do."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = (
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, {cores} processors"
    )
    yield Check(name="machine", status="yes", found=found)
    for extra, packages in _EXTRAS.items():
        yield _check_extra(extra, packages)
    yield _check_kernels()
    yield _check_cache()


def _check_extra(extra: str, packages: tuple[str, ...]) -> Check:
    found, missing = [], []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    if missing:
        remedy = MissingExtra.command_of(extra)
        what = f"{' and '.join(missing)} not installed"
        return Check(name=f"extra {extra}", status="missing", found=what, remedy=remedy)
    return Check(name=f"extra {extra}", status="yes", found=", ".join(found))


def _check_kernels() -> Check:
    # Imported here, because the time includes that of the import.
    import numpy as np

    from structkit.compile import compile
    from structkit.vocabulary.vocabulary import byte_vocabulary

    vocabulary = byte_vocabulary()
    started = time.perf_counter()
    cursor = compile(dict[str, int], vocabulary, cache=False).cursor()
    cursor.fill_mask(np.empty(vocabulary.mask_words, np.uint32))
    seconds = time.perf_counter() - started
    found = f"the first mask after {seconds:.2f} s"
    if seconds > _MAX_FIRST_MASK:
        remedy = "python -m structkit.build_kernels, so that no process compiles them"
        return Check(name="kernels", status="no", found=found, remedy=remedy)
    return Check(name="kernels", status="yes", found=found)


def _check_cache() -> Check:
    from structkit.index.disk.store import folder

    path = folder()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        remedy = "set STRUCTKIT_CACHE_DIR to a folder that you can write to"
        return Check(name="cache", status="no", found=f"{path}: {error.strerror}", remedy=remedy)
    return Check(name="cache", status="yes", found=str(path))
