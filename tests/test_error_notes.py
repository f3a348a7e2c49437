"""An error that structkit does not expect asks for a report with a small case; no other error does."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

import structkit as sk
from structkit.error_notes import add_note
from structkit.generate.decode import decode
from structkit.lowering.containers import arrays
from structkit.testing import ScriptedModel, byte_vocabulary

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "tags": {"type": "array", "items": {"enum": [1, 2]}, "minItems": 1},
    },
    "required": ["name"],
}


def notes(error: BaseException) -> str:
    """Return the notes of an error; before Python 3.11 they are its root cause."""
    if sys.version_info >= (3, 11):
        return "\n".join(getattr(error, "__notes__", []))
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return str(error)


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the lowering of arrays."""

    def broken(self: Any, schema: Any, path: str) -> Any:
        return {}["minItems"]

    broken.__code__ = broken.__code__.replace(co_filename=arrays.__file__)
    monkeypatch.setattr(arrays.ArrayLowerer, "array", broken)


def run_broken(**options: Any) -> pytest.ExceptionInfo[KeyError]:
    with pytest.raises(KeyError, match="minItems") as caught:
        sk.compile(SCHEMA, byte_vocabulary(), **options)
    return caught


@pytest.mark.usefixtures("faulty")
@pytest.mark.filterwarnings("ignore")
def test_the_note_of_a_fault_has_a_small_case() -> None:
    note = notes(run_broken(whitespace="compact", cache=False).value)
    assert "please report it" in note and "KeyError" not in note
    code = note[note.index("    import structkit") :]
    assert "'name'" not in code and "'minItems'" in code and "whitespace='compact'" in code, code
    assert len(code) < 300
    # The case runs, and fails alike.
    lines = "\n".join(line.strip() for line in code.splitlines())
    with pytest.raises(KeyError, match="minItems"):
        exec(lines.replace("= ...", "= sk.testing.byte_vocabulary()"), {})


def test_a_fault_while_decoding_names_the_target_and_not_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any) -> Any:
        return [][3]

    broken.__code__ = broken.__code__.replace(co_filename=decode.__file__)
    monkeypatch.setattr(decode.Attempt, "run", broken)
    with pytest.raises(IndexError) as caught:
        sk.extract(ScriptedModel(["3"]), "the secret", int, seed=7)
    note = notes(caught.value)
    assert "sk.generate(model, prompt, {'type': 'integer'}" in note and "'seed': 7" in note
    assert "secret" not in note


def test_errors_of_users_ask_for_no_report() -> None:
    class Odd(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def check(cls, number: int) -> int:
            return {}[number]  # type: ignore[no-any-return]

    errors: list[BaseException] = []
    for call in (
        lambda: sk.extract(ScriptedModel(['{"number": 1}']), "x", Odd),
        lambda: sk.compile({"type": "strng"}, byte_vocabulary()),
        lambda: sk.compile(int, "no vocabulary"),  # type: ignore[arg-type]
        lambda: sk.compile(int, byte_vocabulary(), whitespace="wide"),  # type: ignore[arg-type]
    ):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            call()
        errors.append(caught.value)
    assert [type(error) for error in errors] == [KeyError, sk.SchemaError, TypeError, ValueError]
    assert all("report" not in notes(error) for error in errors)


class Old(ValueError):
    """An exception of Python 3.10, which has no notes."""

    add_note = None  # type: ignore[assignment]


@pytest.mark.parametrize("is_shown", [True, False])
def test_a_note_of_an_old_exception_is_its_root_cause(is_shown: bool) -> None:
    """What `raise ... from None` hides is no cause."""
    first, hidden, error = ValueError("first"), Old("hidden"), Old("error")
    error.__cause__ = first
    first.__context__, first.__suppress_context__ = hidden, not is_shown
    add_note(error, "a note")
    root = hidden if is_shown else first
    assert str(root.__cause__) == "a note" and (first if is_shown else hidden).__cause__ is None
