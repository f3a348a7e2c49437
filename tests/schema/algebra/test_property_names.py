"""Names of keys in two languages at once."""

from __future__ import annotations

from structkit.limits import Limits
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.schema.algebra.property_names import common_names
from structkit.schema.ir.nodes import String
from structkit.schema.ir.path import SchemaPath
from structkit.schema.json_schema.parse import parse_schema

PATH = SchemaPath()


def test_patterns_that_begin_differently_exclude_nothing() -> None:
    oracle = AutomatonOracle(python=False)
    left, right = String(patterns=("^a",)), String(forbidden=("^ab", "^b", "c"))
    assert common_names(left, right, oracle, PATH) == String(patterns=("^a",), forbidden=("^ab", "c"))
    assert common_names(left, String(patterns=("^b",)), oracle, PATH) is None
    assert common_names(left, String(forbidden=("^a",)), oracle, PATH) is None


def test_many_patterns_in_all_of_need_few_automata() -> None:
    parts = [{"patternProperties": {f"^{chr(97 + n % 26)}{n}$": {"type": "integer"}}} for n in range(60)]
    oracle = AutomatonOracle(python=False, limits=Limits(work=120_000))
    parse_schema({"type": "object", "allOf": parts}, oracle=oracle)
