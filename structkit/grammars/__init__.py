"""Grammars of common languages, as targets.

```python
import structkit as sk
from structkit.testing import ScriptedModel

sk.extract(ScriptedModel(["2 * (3 + 4)"]), "Twice the sum of 3 and 4.", sk.grammars.arithmetic())
```

Each function returns a `structkit.Grammar`; its docstring says what the grammar guarantees and what no context-free
grammar can.
"""

from __future__ import annotations

from structkit.grammars.arithmetic import arithmetic
from structkit.grammars.configuration.hcl import hcl
from structkit.grammars.configuration.toml import toml
from structkit.grammars.csv import csv
from structkit.grammars.iso8601 import iso8601
from structkit.grammars.lark_grammar import lark_grammar
from structkit.grammars.mermaid import mermaid_flowchart
from structkit.grammars.python import python_expression, python_module
from structkit.grammars.python_block import python_block
from structkit.grammars.python_calls import python_calls
from structkit.grammars.regular_expression import regular_expression
from structkit.grammars.smiles import smiles
from structkit.grammars.sqlite import sqlite_select
from structkit.grammars.unified_diff import unified_diff

__all__ = [
    "arithmetic",
    "csv",
    "hcl",
    "iso8601",
    "lark_grammar",
    "mermaid_flowchart",
    "python_block",
    "python_calls",
    "python_expression",
    "python_module",
    "regular_expression",
    "smiles",
    "sqlite_select",
    "toml",
    "unified_diff",
]
