"""A batch of messages, and a stream of one message.

Prints:

    2 orders, of Clara Mendes and Peter Novak
    GenerationError: the message is too long
    customer = Marta Silva
    items[0] = 2 The Silent River
    items[1] = 1 Green Garden
"""

from pydantic import BaseModel, Field

import structkit as sk


class Line(BaseModel):
    title: str
    quantity: int = Field(ge=1)

    def __str__(self) -> str:
        return f"{self.quantity} {self.title}"


class Order(BaseModel):
    customer: str
    items: list[Line] = Field(min_length=1)


INBOX = [
    "Clara Mendes ordered 2 copies of Winter Garden and 1 copy of Red Lantern.",
    "Winter Garden is in the window again, and the cat sleeps on it. " * 100,
    "Peter Novak ordered 3 copies of The Silent River.",
]
LAST = "Order from Marta Silva: 2 copies of The Silent River and 1 copy of Green Garden."


if __name__ == "__main__":
    model = sk.load()

    outcomes = sk.extract_many(model, INBOX, Order, return_exceptions=True, progress=False)
    orders = [outcome for outcome in outcomes if isinstance(outcome, Order)]
    print(f"{len(orders)} orders, of", " and ".join(order.customer for order in orders))
    for outcome in outcomes:
        if isinstance(outcome, sk.GenerationError):
            print(f"{type(outcome).__name__}: the message is too long")

    with sk.stream(model, LAST, Order) as stream:
        for event in stream:
            match event:
                case sk.FieldEnd("customer", value):
                    print("customer =", value)
                case sk.FieldEnd(path, Line() as line):
                    print(path, "=", line)
