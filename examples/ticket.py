"""Sorting: a choice for the category, another for the priority, read from one message."""

from typing import Literal

from pydantic import BaseModel

import structkit as sk


class Ticket(BaseModel):
    customer: str | None
    product: str
    priority: Literal["low", "medium", "high"]


if __name__ == "__main__":
    model = sk.load()
    text = "Hello, this is Peter Novak. The lamp is broken, this is urgent."
    print(repr(sk.extract(model, text, Ticket)))
    print(sk.extract(model, text, sk.Choice(["question", "complaint", "praise"])))
