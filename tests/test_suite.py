"""The JSON Schema Test Suite, compiled to automata: `suite.txt` lists the failing cases and may only shrink."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import jsonschema_specifications
import pytest

from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.reader import Reader
from structkit.errors import StructkitError, UnsatisfiableSchema
from structkit.lowering.lower import Order
from structkit.targets.specs import JsonSchema
from structkit.targets.targets import read_target
from tests.shared import SHARED

SUITE = SHARED / "data" / "json-schema-test-suite" / "draft2020-12"
RATCHET = Path(__file__).with_name("suite.txt")
COMMAND = "STRUCTKIT_UPDATE_SUITE=1 sh scripts/test tests/test_suite.py"
ORDERS: tuple[Order, ...] = ("declared", "any")

METASCHEMAS = {
    uri: dict(jsonschema_specifications.REGISTRY.contents(uri)) for uri in jsonschema_specifications.REGISTRY
}

HEADER = f"""\
# The required tests of the JSON Schema Test Suite, draft 2020-12. Every case that is not listed below passes: a valid
# instance can be written, an invalid instance cannot.
#
#   refused      the schema of the group is rejected, with the reason; its cases are not run
#   too strict   a valid instance cannot be written
#   too loose    an invalid instance can be written; the test fails for any such case
#
# An instance is written as json.dumps(instance, ensure_ascii=False). It passes if order="declared" or order="any"
# allows it, because the suite lists keys in any order. Most "too strict" cases are intended: formats are asserted, and
# the keys of unique items have one order. Most rejected schemas refer to documents outside the suite's folder; the
# metaschemas are provided.
#
# To record improvements: {COMMAND}
"""

Place = tuple[str, ...]
"""A file and the description of a group in it; for a case, also the description of the case."""


def test_no_case_regresses() -> None:
    if not SUITE.exists():
        pytest.skip(f"the JSON Schema test suite is not at {SUITE}")
    groups: dict[Place, dict[str, object]] = {
        (path.stem, group["description"]): group
        for path in sorted(SUITE.glob("*.json"))
        for group in json.loads(path.read_text(encoding="utf-8"))
    }
    found = {place: word for name, group in groups.items() for place, word in _failures(name, group)}
    assert not [place for place, word in found.items() if word == "too loose"]
    text = _text(groups, found)
    recorded = RATCHET.read_text(encoding="utf-8")
    before = _read(recorded)
    # A group that was rejected before may have cases that are too strict.
    worse = [place for place in found if place not in before and place[:2] not in before]
    assert not worse, f"regressions compared with {RATCHET.name}"
    if os.environ.get("STRUCTKIT_UPDATE_SUITE"):
        RATCHET.write_text(text, encoding="utf-8")
    else:
        assert text == recorded, f"improvements missing in {RATCHET.name}; record them with: {COMMAND}"


def _failures(name: Place, group: Mapping[str, object]) -> Iterator[tuple[Place, str]]:
    """Yield the failures of a group."""
    schema, cases = group["schema"], group["tests"]
    assert isinstance(cases, list)
    if isinstance(schema, bool):  # targets must be dicts
        schema = {} if schema else {"not": {}}
    assert isinstance(schema, dict)
    try:
        automata = [_automaton(schema, order) for order in ORDERS]
    except StructkitError as error:
        yield name, f"refused: {_reason(error)}"
        return
    for case in cases:
        text = json.dumps(case["data"], ensure_ascii=False).encode()
        written = any(automaton is not None and Reader(automaton).accepts(text) for automaton in automata)
        if written != case["valid"]:
            yield (*name, case["description"]), "too loose" if written else "too strict"


def _automaton(schema: Mapping[str, object], order: Order) -> Automaton | None:
    """Return the automaton of a schema, `None` if no text satisfies it."""
    try:
        return link(read_target(JsonSchema(schema, resources=METASCHEMAS)).rules(order=order))
    except UnsatisfiableSchema:
        return None


def _reason(error: StructkitError) -> str:
    detail = getattr(error, "keyword", getattr(error, "limit", ""))  # of UnsupportedKeyword, of LimitExceeded
    return f"{type(error).__name__} {detail}".strip()


def _text(groups: Mapping[Place, Mapping[str, object]], failures: Mapping[Place, str]) -> str:
    """Return the contents of the ratchet file: passing cases per file of the suite, then all failures."""
    total, right = dict[str, int](), dict[str, int]()
    for name, group in groups.items():
        cases = group["tests"]
        assert isinstance(cases, list)
        wrong = len(cases) if name in failures else sum(place[:2] == name for place in failures)
        total[name[0]] = total.get(name[0], 0) + len(cases)
        right[name[0]] = right.get(name[0], 0) + len(cases) - wrong
    complete = len(groups) - len({place[:2] for place in failures})
    lines = [
        f"{sum(right.values())} of {sum(total.values())} cases are right",
        f"{complete} of {len(groups)} groups are right in every case",
        "",
    ]
    lines += [f"{file}: {right[file]} of {total[file]}" for file in total]
    lines += ["", *(" | ".join([*place, word]) for place, word in failures.items())]
    return HEADER + "\n" + "\n".join(lines) + "\n"


def _read(text: str) -> set[Place]:
    """Return the places listed in the file."""
    return {tuple(line.split(" | ")[:-1]) for line in text.splitlines() if " | " in line}
