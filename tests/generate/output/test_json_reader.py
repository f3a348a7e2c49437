"""The values in a text, compared with those that `json` parses."""

from __future__ import annotations

import json
import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structkit.generate.output.json_reader import MAX_DEPTH, ByPath, JsonReader, Path

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


TEXTS = [
    b'{"a": [1, "x\\"y\\\\", {"b\\n": true}], "": null , "c": [[], {}, false,-1.5e+3], "d": {"e": 2}} ',
    b'[true,null,[false],"",{"k":""},0]',
    b'{"a": True, "b": None, "c": [False, False]}',
    b' "a\\u00e9" ',
    b"false",
    b"12 ",
]


def _all(reader: JsonReader) -> tuple[object, ...]:
    return *_state(reader), bytes(reader.text), reader.values, reader.in_key, reader.is_deep


@pytest.mark.parametrize("text", TEXTS)
def test_a_rewound_reader_is_one_that_read_less(text: bytes) -> None:
    """Wherever the text is cut, and a fork cannot go back behind the byte where it was made."""
    fresh = []
    for length in range(len(text) + 1):
        fresh.append(JsonReader())
        fresh[-1].read(text[:length])
    random = Random(1)
    for length in range(len(text) + 1):
        for start in {0, length - 1, length, *(random.randrange(length + 1) for _ in range(2))} - {-1}:
            reader = JsonReader()
            reader.read(text[:length])
            if start % 2:
                reader.finish()
            reader.take_changes()
            reader.rewind(start)
            assert _all(reader) == _all(fresh[start])
            assert reader.take_changes() == []
            reader.read(text[start:length])
            assert _all(reader) == _all(fresh[length])
            fork = fresh[start].fork()
            fork.read(text[start:length])
            fork.rewind(start)
            assert _state(fork) == _state(fresh[start])
            if start:
                with pytest.raises(
                    ValueError, match=r"^a fork cannot be rewound past the byte at which it was "
                ):
                    fork.rewind(start - 1)


@pytest.mark.parametrize("text", TEXTS)
def test_the_state_inside_a_text(text: bytes) -> None:
    """Beside what the brackets, quotes and separators before each position say."""
    python = text.replace(b"true", b"True").replace(b"false", b"False").replace(b"null", b"None")
    for length in range(len(text) + 1):
        reader, twin = JsonReader(), JsonReader()
        reader.follow(bytearray(text[: length // 2])).follow(bytearray(text[:length]))
        twin.read(python[:length])
        assert _state(reader) == _state(twin)
        outside = re.sub(rb'"(?:[^"\\]|\\.)*"', b"#", text[:length])
        in_string = b'"' in outside
        outside = outside.partition(b'"')[0]
        depth = sum(outside.count(each) for each in b"{[") - sum(outside.count(each) for each in b"}]")
        assert (reader.in_string, reader.depth) == (in_string, depth)
        last = outside.rstrip()[-1:]
        current = reader.current()
        if in_string or re.search(rb"[\w.+-]$", outside):
            assert (
                reader.in_key
                or current is None
                or text[current[1] : length].lstrip() == text[current[1] : length]
            )
        elif last in (b"", b"[", b":") or (last == b"," and isinstance(current, tuple)):
            assert current is not None or (last == b"" and bool(text[:length].strip()))
        else:
            assert current is None
        assert (reader.key_start >= 0) == reader.in_key and (not reader.in_key or in_string)


def test_the_nesting_limit() -> None:
    for depth in (MAX_DEPTH - 1, MAX_DEPTH):
        reader = JsonReader()
        reader.read(b"[" * depth)
        assert reader.is_deep == (depth >= 190) and reader.depth == depth
        reader.read(b"1")
        assert reader.depth == depth


def test_the_error_of_a_path_names_the_one_that_was_meant() -> None:
    for path in ("$.items[2].age", "/items[2].age", ".items[2].age", "items[2].agee", ("items", 2, "agee")):
        with pytest.raises(KeyError, match=r"write 'items\[2\]\.age'\"$"):
            ByPath({"$": 1, "items[2].age": 2})[path]
    for count, shown in (
        (0, "none, without confidence=True or a Quote"),
        (1, "'0'"),
        (8, "'7'"),
        (9, "'7', ..."),
    ):
        with pytest.raises(KeyError) as error:
            ByPath({str(number): 1 for number in range(count)})["x" * 70]
        assert str(error.value.args[0]).endswith(shown)
