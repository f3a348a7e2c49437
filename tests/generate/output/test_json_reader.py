"""The values in a text, against what `json` reads."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from structkit.generate.output.json_reader import JsonReader, Path

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=15,
)


def _all(value: object, path: Path = ()) -> dict[Path, object]:
    found = {path: value}
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for step, item in entries:
        found |= _all(item, (*path, step))
    return found


@given(VALUES, st.booleans(), st.booleans(), st.data())
def test_every_value_is_found_where_it_is(
    value: object, ascii_only: bool, spaced: bool, data: st.DataObject
) -> None:
    separators = (", ", ": ") if spaced else (",", ":")
    text = json.dumps(value, ensure_ascii=ascii_only, separators=separators).encode("utf-8", "surrogatepass")
    fields, changes, at = JsonReader(), [], 0
    while at < len(text):
        step = data.draw(st.integers(1, 7))
        fields.read(text[at : at + step])
        at += step
        changes += fields.take_changes()
        assert all(field.end == -1 for field in fields.open_fields)
    fields.finish()
    changes += fields.take_changes()
    begun = [field for field, ended in changes if not ended]
    found = {field.path: field for field, ended in changes if ended}
    assert {path: json.loads(text[f.start : f.end]) for path, f in found.items()} == _all(json.loads(text))
    assert [field.path for field in begun] == list(_all(json.loads(text)))
    assert not fields.open_fields
