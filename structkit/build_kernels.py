"""Build the object code of the kernels: `python -m structkit.build_kernels`.

`scripts/install` and `scripts/build` run this module. It uses structkit on types that reach every kernel, with code for
any processor of the platform, and stores what numba compiled. A later run does nothing if the result is up to date.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

__all__ = ["build"]

_X86_FEATURES = "+sse4.2,+popcnt,+ssse3,+cx16"
"""What every x86-64 processor since 2009 has. On other platforms the code requires no optional features."""

_ITEM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 40},
        "price": {"type": "number", "minimum": 0, "maximum": 1000},
        "count": {"type": "integer", "minimum": 1, "maximum": 20, "default": 1},
        "code": {"type": "string", "pattern": "^[A-Z]{2,5}-[0-9]+$"},
    },
    "required": ["name", "price"],
    "additionalProperties": False,
}

_TREE = {
    "type": "object",
    "properties": {
        "value": {"type": ["integer", "string", "null"]},
        "items": {"type": "array", "items": _ITEM, "maxItems": 3},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "numbers": {
            "type": "array",
            "items": {"type": "integer"},
            "uniqueItems": True,
            "minItems": 2,
            "maxItems": 5,
        },
        "children": {"type": "array", "items": {"$ref": "#"}},
    },
    "required": ["value", "items", "tags", "numbers", "children"],
    "additionalProperties": False,
}

_DIFFERENCE = {
    "type": "string",
    "pattern": "^[a-z]+$",
    "not": {"enum": ["red", "green"]},
    "allOf": [{"pattern": "[aeiou]"}, {"pattern": "^.{3,2000}$"}],
}


def build(folder: Path | None = None) -> int:
    """Build the object code, and return the number of compiled signatures; 0 if it is up to date.

    The process must not have imported numba before.

    Args:
        folder: The folder to write; by default that of the package.
    """
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["NUMBA_CACHE_DIR"] = scratch
        os.environ["NUMBA_CPU_NAME"] = "generic"
        is_x86 = platform.machine().lower() in ("x86_64", "amd64")
        os.environ["NUMBA_CPU_FEATURES"] = _X86_FEATURES if is_x86 else ""
        from structkit.automaton.core.jit import SHIPPED
        from structkit.automaton.core.object_code import ObjectCode, kernel_sources

        objects = SHIPPED if folder is None else ObjectCode(folder)
        sources = kernel_sources()
        count = 0
        if not objects.is_current(sources):
            SHIPPED.disable()
            _use_kernels()
            count = objects.save(_kernels(), sources)
        _build_formats(objects.folder)
        return count


def _build_formats(folder: Path) -> None:
    """Store the automata of the formats of JSON Schema, unless they are up to date."""
    from structkit.automaton.construct.compile_rule import rule_dfa
    from structkit.automaton.construct.stored import FORMATS, StoredAutomata
    from structkit.limits import Limits
    from structkit.lowering.strings.raw_text import format_body
    from structkit.lowering.strings.registry import language
    from structkit.lowering.strings.rfc import FORMAT_EXAMPLES
    from structkit.regex.json_string import length_bounds
    from structkit.schema.ir.nodes import Format

    stored = StoredAutomata(folder / FORMATS.path.name)
    if not stored.is_current:
        built = {name: rule_dfa(format_body(Format(name)), Limits()) for name in FORMAT_EXAMPLES}
        automata = {name: dfa for name, dfa in built.items() if not dfa.callees}
        lengths = {name: length_bounds(language(Format(name))) for name in automata}
        stored.save(
            automata, {name: (shortest or 0, longest) for name, (shortest, longest) in lengths.items()}
        )


def _kernels() -> Iterator[object]:
    from structkit.automaton.core.object_code import KernelCache

    for name, module in sorted(sys.modules.items()):
        if name.startswith("structkit."):
            for value in vars(module).values():
                cache = getattr(value, "_cache", None)
                if isinstance(cache, KernelCache) and value.py_func.__module__ == name:
                    yield value


def _use_kernels() -> None:
    """Compile types and generate values, so that numba compiles every kernel for the types of its arguments."""
    import numpy as np

    import structkit as sk

    schemas = [sk.JsonSchema(each) for each in (_ITEM, _TREE, _DIFFERENCE)]
    words = sk.JsonSchema({"type": "string", "pattern": r"^(\S+\s+){0,49}\S+$"})
    counted = sk.JsonSchema({"type": "string", "pattern": "^[a-z]+( [a-z]+)*$", "maxLength": 300})
    chosen = sk.JsonSchema({"enum": ["ab", "b"], "pattern": "^a"})
    quote = Annotated[str, sk.Quote("one of these words")]
    targets: list[Any] = [*schemas, words, counted, chosen, quote, sk.Regex("(ab|a)*c"), list[str]]
    for vocabulary in (sk.testing.byte_vocabulary(), sk.testing.small_vocabulary()):
        model = sk.testing.RandomModel(0, vocabulary)
        for target in targets:
            out = np.zeros(vocabulary.mask_words, np.uint32)
            guide = sk.compile(target, vocabulary, cache=False)
            guide.cursor().fill_mask(out)
            guide.precompute()
            parser = guide.parser
            parser.advance_bytes(parser.start, b"a")
            parser.budgets.fitting_rows(parser.state(parser.start), 100)
            guide.cursor().min_tokens_to_end()
            cursors = [guide.cursor() for _ in range(8)]
            guide.fill_masks(cursors, np.zeros((len(cursors), len(out)), np.uint32))
            for temperature in (0.0, 1.0):
                sk.generate(model, "", target, max_tokens=400, temperature=temperature, seed=0)


if __name__ == "__main__":
    count = build()
    sys.stderr.write(
        f"structkit: the object code of the kernels is {f'built ({count})' if count else 'up to date'}\n"
    )
