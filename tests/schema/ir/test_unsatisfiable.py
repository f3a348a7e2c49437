"""The reasons why a schema has no value."""

from __future__ import annotations

from structkit.schema.ir.nodes import Format, String
from structkit.schema.ir.unsatisfiable import no_string_reason


def test_a_reason_has_all_constraints_of_the_string() -> None:
    schema = String(
        3, 5, patterns=("^a$",), forbidden=("b",), format=Format("date"), forbidden_formats=(Format("uuid"),)
    )
    reason = no_string_reason(schema)
    for part in ("pattern '^a$'", "pattern 'b'", "the format date", "at least 3", "at most 5", "format uuid"):
        assert part in reason
    assert reason.count(" and ") == 5 and no_string_reason(String()) == "no string is allowed"


def test_a_reason_has_three_constraints_of_a_kind_at_most() -> None:
    names, formats = ("p1", "p2", "p3", "p4"), [Format(f"f{number}") for number in range(1, 5)]
    for schema, shown in [
        (String(patterns=names), "p"),
        (String(forbidden=names), "p"),
        (String(format=formats[0], more_formats=tuple(formats[1:])), "f"),
        (String(forbidden_formats=tuple(formats)), "f"),
    ]:
        reason = no_string_reason(schema)
        assert [f"{shown}{number}" in reason for number in range(1, 5)] == [True, True, True, False], reason
