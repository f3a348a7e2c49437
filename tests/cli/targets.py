"""What several tests of the command line use."""

from __future__ import annotations

SOURCE = """
from __future__ import annotations
from pydantic import BaseModel
from helper_of_the_cli_tests import Age

class Person(BaseModel):
    name: str
    age: Age
    friend: Person | None

    class Inner(BaseModel):
        x: int
"""


ANA = '{"name": "Ana", "age": 34, "friend": null}'
