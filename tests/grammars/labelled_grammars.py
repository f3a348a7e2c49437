"""The shared grammars with labelled texts, and Lark's parser of each; see `../shared/data/grammars/README.md`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from lark import Lark

import structkit as sk
from structkit.grammar.syntax.lark_parser import without_interegular
from tests.shared import SHARED

__all__ = ["FOLDER", "NAMES", "LabelledGrammar"]

FOLDER = SHARED / "data" / "grammars"
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir()) if FOLDER.is_dir() else []

_ARGUMENTS = ("start", "parser", "lexer", "maybe_placeholders", "priority", "g_regex_flags", "postlex")


@dataclass(frozen=True)
class LabelledGrammar:
    """A grammar, its options and its labelled texts, in a folder."""

    folder: Path

    @cached_property
    def options(self) -> Mapping[str, Any]:
        """The options of the grammar."""
        return json.loads((self.folder / "options.json").read_text(encoding="utf-8"))

    @cached_property
    def cases(self) -> list[tuple[str, bool]]:
        """The texts, and whether they are in the language."""
        lines = (self.folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        return [(case["text"], case["valid"]) for case in map(json.loads, lines)]

    @property
    def is_earley(self) -> bool:
        """Whether the oracle is Lark's Earley parser, which takes long for long texts."""
        return self.options.get("oracle", self.options)["parser"] == "earley"

    def grammar(self) -> sk.Grammar[str]:
        """Return the grammar as a target."""
        text = next(self.folder.glob("grammar.*")).read_text(encoding="utf-8")
        if self.options.get("syntax") == "gbnf":
            return sk.Grammar(text, syntax="gbnf", start=self.options["start"])
        return sk.Grammar(text, **self._arguments(self.options))

    def oracle(self) -> Lark:
        """Return Lark's parser."""
        options = self.options.get("oracle", self.options)
        file = options.get("file") or "grammar.lark"
        text = (self.folder / file).read_text(encoding="utf-8")
        forest = {"ambiguity": "forest"} if self.is_earley else {}
        with without_interegular():
            return Lark(text, **self._arguments(options), **forest)

    def _arguments(self, options: Mapping[str, Any]) -> dict[str, Any]:
        found = {name: options[name] for name in _ARGUMENTS if options.get(name) is not None}
        if "postlex" in found:
            found["postlex"] = getattr(import_module("lark.indenter"), found["postlex"])()
        if "import_paths" in options:
            found["import_paths"] = [str(self.folder / path) for path in options["import_paths"]]
        return found
