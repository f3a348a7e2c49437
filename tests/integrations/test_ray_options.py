"""Options of `extract_rows`, without Ray."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, cast

import pytest

from structkit.integrations.ray import extract_rows


class _Rows:
    def map_batches(self, *args: object, **options: object) -> dict[str, object]:
        return options


@pytest.fixture(autouse=True)
def data(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("ray.data")
    cast("Any", module).ActorPoolStrategy = dict
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    monkeypatch.setitem(sys.modules, "ray.data", module)


@pytest.mark.parametrize(
    ("size", "kind"), [(0, ValueError), (-1, ValueError), ("8", TypeError), (True, TypeError)]
)
def test_a_wrong_number_of_rows_is_an_error_before_ray_starts(size: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="rows_at_once must be"):
        extract_rows(cast("Any", _Rows()), int, rows_at_once=size)


def test_the_options_go_to_the_workers() -> None:
    made = cast("Any", extract_rows(cast("Any", _Rows()), int, workers=3, rows_at_once=4, max_tokens=9))
    assert made["fn_constructor_kwargs"] == {"rows_at_once": 4, "max_tokens": 9}
    assert made["compute"] == {"size": 3}
