"""A nested type: an order with lines and an address.

Prints:

    Marta Silva
    2 The Silent River
    1 Green Garden
    street='12 Oak Street' city='Lisbon'
"""

from pydantic import BaseModel, Field

import structkit as sk


class Line(BaseModel):
    title: str
    quantity: int = Field(ge=1)


class Address(BaseModel):
    street: str
    city: str


class Order(BaseModel):
    customer: str
    items: list[Line]
    address: Address


if __name__ == "__main__":
    text = (
        "Order from Marta Silva: 2 copies of The Silent River and 1 copy of Green Garden. "
        "Ship to 12 Oak Street, Lisbon."
    )
    order = sk.extract(sk.load(), text, Order)
    print(order.customer)
    for line in order.items:
        print(line.quantity, line.title)
    print(order.address)
