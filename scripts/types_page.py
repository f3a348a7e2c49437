"""Generate docs/reference/types.md from the types in tests/zoo.

Run it from the root of the project: `python -m scripts.types_page`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pydantic

from structkit.schema.python.generator import PlainSchema
from tests.zoo import KINDS
from tests.zoo.specimen import Kind, Specimen

PAGE = Path(__file__).parents[1] / "docs/reference/types.md"

_MAX_CHARACTERS = 90
"""Maximum characters of a cell."""

_HEAD = f"""# Types

The table shows for each type:

- the JSON Schema that pydantic {pydantic.VERSION.rpartition(".")[0]} emits; if the schema is looser,
  structkit enforces the type;
- a text that a model can generate;
- a text that pydantic accepts and that is never generated, because each value has one canonical text;
- a text that pydantic rejects;
- the limits of the type; if a limit is checked afterwards, a text that fails the check raises `OutputValidationError`
  and is never returned.

The page is generated from the tests. For each of its {{count}} types the tests verify that the compiled language
contains the dumps of the valid values and none of the rejected texts, and that pydantic accepts 200 random texts of the
language.
"""

_UNIONS = """\
## Members of a union

pydantic decides which member of a union a text belongs to, so a union must leave each member a text of its own:

- In a union of classes, pydantic takes the member that reads the most fields, and the first of them if several do.
  With `Field(union_mode="left_to_right")` it takes the first member that accepts the text. With a discriminator,
  the field decides.
- Two members can have the same JSON: models or dataclasses without fields or with equal fields, enums with equal
  values, functions with equal parameters, and containers of these. Python types that differ only in the class do
  not differ in JSON, so every text is read as the first member. structkit raises `SchemaError` when it reads the
  type; the error names both members, the path and the remedy. Give each member a `Literal` field with a value of
  its own, such as `kind: Literal["cat"]`, and, if you like, name it in `Field(discriminator="kind")`.
- A member is also refused if each of its texts is one of an earlier member that has defaults for the other fields.
  For `Wide | Narrow`, where `Narrow` has some of the fields of `Wide`, the remedy is the order `Narrow | Wide`.
- Members whose languages overlap are not refused: a text in both is read as the member that pydantic chooses. A
  validator of the earlier member can reject a text and leave it to the later one, so such members are not refused
  either.
- In a union of models that contain the union, such as the nodes of a syntax tree, name a discriminator. Without one,
  pydantic reads each level once for each member: with two it takes 0.3 s for 16 levels and a minute for 24, with
  five 4 s for 9 levels. structkit logs a warning.
- Scalars, such as `str | date`, are not compared: pydantic reads `"2026-11-24"` as the first member that accepts
  it. Write `date | str`.
"""

_COLUMNS = (
    "| Type | JSON Schema | Generated | Also accepted | Rejected | Limits |\n|---|---|---|---|---|---|\n"
)


def page() -> str:
    """Return the page."""
    count = sum(not each.error for kind in KINDS.values() for each in kind.values())
    parts = [_HEAD.format(count=count), _UNIONS]
    parts += [f"## {title}\n\n{_table(kind)}" for title, kind in KINDS.items()]
    return "\n".join([*parts, f"## Unsupported types\n\n{_unsupported()}"])


def _table(kind: Kind) -> str:
    rows = (_row(name, each) for name, each in kind.items() if not each.error)
    return _COLUMNS + "".join(rows)


def _row(name: str, each: Specimen) -> str:
    accepted = [text for text in each.refuses if _is_accepted(each, text)]
    rejected = [text for text in each.refuses if text not in accepted]
    cells = (_generated(each), accepted[0] if accepted else "", min(rejected, key=len))
    return f"| {_cell(name)} | {_code(_schema(each))} | {' | '.join(map(_code, cells))} | {_cell(each.limits)} |\n"


def _unsupported() -> str:
    rows = "".join(
        f"| {_cell(name)} | {_cell(each.error)} |\n"
        for kind in KINDS.values()
        for name, each in kind.items()
        if each.error
    )
    return f"| Type | Error message |\n|---|---|\n{rows}"


def _generated(each: Specimen) -> str:
    texts = each.written()
    if not texts:
        return ""
    value = json.loads(texts[0])
    if each.accepts and isinstance(each.accepts[0], set | frozenset):
        value.sort(key=json.dumps)
    return json.dumps(value, ensure_ascii=False)


def _is_accepted(each: Specimen, text: str) -> bool:
    try:
        each.adapter.validate_json(text)
    except (ValueError, OverflowError, TypeError):  # errors of the validators of pydantic-extra-types
        return False
    return True


def _schema(each: Specimen) -> str:
    schema = each.adapter.json_schema(schema_generator=PlainSchema)
    return json.dumps(_without_titles(schema), ensure_ascii=False)


def _without_titles(schema: object) -> object:
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_titles(value)
        for key, value in schema.items()
        if key not in ("description", "examples") and not (key == "title" and isinstance(value, str))
    }


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else ""


def _cell(text: str) -> str:
    text = "; ".join(line.strip() for line in text.splitlines())
    short = text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 1]}…"
    return short.replace("`", "'").replace("|", "\\|").replace("\t", "\\t")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
