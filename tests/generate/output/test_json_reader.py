"""The values in a text, compared with those that `json` parses."""

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


def _values_by_path(value: object, path: Path = ()) -> dict[Path, object]:
    found = {path: value}
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for step, item in entries:
        found |= _values_by_path(item, (*path, step))
    return found


@given(VALUES, st.booleans(), st.booleans(), st.data())
def test_values_have_the_paths_and_spans_that_json_parses(
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
    started = [field for field, ended in changes if not ended]
    found = {field.path: field for field, ended in changes if ended}
    assert {path: json.loads(text[f.start : f.end]) for path, f in found.items()} == _values_by_path(
        json.loads(text)
    )
    assert [field.path for field in started] == list(_values_by_path(json.loads(text)))
    assert not fields.open_fields


def _state(reader: JsonReader) -> tuple[object, ...]:
    return reader.open_fields, reader.depth, reader.key_start, reader.in_string, reader.current()


@given(VALUES, st.booleans(), st.data())
def test_a_chain_of_forks_reads_like_one_reader(value: object, spaced: bool, data: st.DataObject) -> None:
    text = json.dumps(value, separators=(", ", ": ") if spaced else (",", ":")).encode()
    reader, fork, at = JsonReader(), JsonReader(), 0
    while at < len(text):
        piece = text[at : at + data.draw(st.integers(1, 7))]
        fork = fork.fork()
        start = _state(fork)
        for chunk in (piece, text[at:]) if data.draw(st.booleans()) else ():
            fork.read(chunk)
            fork.rewind(at)
            assert _state(fork) == start
        at += len(piece)
        fork.read(piece)
        reader.read(piece)
        assert _state(fork) == _state(reader)
        changes = [(field, ended) for field, ended in reader.take_changes()]
        assert fork.take_changes() == changes
    fork.finish()
    reader.finish()
    assert _state(fork) == _state(reader)


def test_a_fork_does_not_copy_the_text() -> None:
    reader = JsonReader()
    reader.read(b'{"key": ["' + 10_000 * b"x" + b'", ' + 5_000 * b"1, ")
    assert reader.fork().text == b", "
    reader.read(b'false], "name')
    assert reader.fork().text == b'"name'
