"""Classification of messages: customer, product and priority.

Prints:

    Ticket(customer='Peter Novak', product='lamp', priority='high')
"""

from typing import Literal

from pydantic import BaseModel

import structkit as sk


class Ticket(BaseModel):
    customer: str | None
    product: str
    priority: Literal["low", "medium", "high"]


if __name__ == "__main__":
    text = "Hello, this is Peter Novak. The lamp is broken, this is urgent."
    print(repr(sk.extract(sk.load(), text, Ticket)))
