"""The zoo: types by kind, with values that pydantic accepts and texts that the guide must reject."""

from __future__ import annotations

from collections.abc import Mapping

from tests.zoo.choices import CHOICES
from tests.zoo.constrained import CONSTRAINED
from tests.zoo.containers import CONTAINERS
from tests.zoo.custom import CUSTOM
from tests.zoo.extra import EXTRA
from tests.zoo.hostile import HOSTILE
from tests.zoo.models import MODELS
from tests.zoo.network import NETWORK
from tests.zoo.numbers import NUMBERS
from tests.zoo.specimen import Kind, Specimen
from tests.zoo.strings import STRINGS
from tests.zoo.times import TIMES
from tests.zoo.together import TOGETHER

__all__ = ["KINDS", "REFUSED", "ZOO"]

KINDS: Mapping[str, Kind] = {
    "Numbers, booleans, null": NUMBERS,
    "Strings and bytes": STRINGS,
    "Dates, times, UUIDs": TIMES,
    "Addresses": NETWORK,
    "Choices": CHOICES,
    "Containers": CONTAINERS,
    "Models": MODELS,
    "Composite types": TOGETHER,
    "Constraints": CONSTRAINED,
    "Combinations": HOSTILE,
    "pydantic-extra-types": EXTRA,
    "Custom types": CUSTOM,
}

ZOO: Mapping[str, Specimen] = {
    name: each for kind in KINDS.values() for name, each in kind.items() if not each.error
}
"""Supported types."""

REFUSED: Mapping[str, Specimen] = {
    name: each for kind in KINDS.values() for name, each in kind.items() if each.error
}
"""Unsupported types, with their error messages."""
