"""An agent with a small database: two tools and a typed output.

The demo model is too small for this example (`assistant.py` runs on it), so a scripted model is used; for a real model,
call `structkit.load("Qwen/Qwen3-0.6B")`. Prints:

    find_orders(customer='Ana Souza') -> [{'id': 7, 'title': 'Salt'}, {'id': 9, 'title': 'The Silent River'}]
    cancel(order=7) -> order 7 is cancelled
    Reply(text='Your order of Salt is cancelled.', cancelled=[7])
"""

import sqlite3

from pydantic import BaseModel

import structkit as sk
from structkit.testing import ScriptedModel

SCRIPT = [
    '{"name": "find_orders", "arguments": {"customer": "Ana Souza"}}',
    '{"name": "cancel", "arguments": {"order": 7}}',
    '{"text": "Your order of Salt is cancelled.", "cancelled": [7]}',
]


class Reply(BaseModel):
    text: str
    cancelled: list[int]


def find_orders(context: sk.Context[sqlite3.Connection], customer: str) -> list[dict[str, object]]:
    """The open orders of a customer."""
    rows = context.deps.execute("select id, title from orders where customer = ?", (customer,))
    return [{"id": number, "title": title} for number, title in rows]


def cancel(context: sk.Context[sqlite3.Connection], order: int) -> str:
    """Cancel an order by its id."""
    if not context.deps.execute("delete from orders where id = ?", (order,)).rowcount:
        raise sk.ToolError(f"there is no order {order}")
    return f"order {order} is cancelled"


if __name__ == "__main__":
    database = sqlite3.connect(":memory:")
    database.execute("create table orders (id integer, customer text, title text)")
    orders = [(7, "Ana Souza", "Salt"), (8, "Peter Novak", "Salt"), (9, "Ana Souza", "The Silent River")]
    database.executemany("insert into orders values (?, ?, ?)", orders)

    agent = sk.Agent(
        ScriptedModel(SCRIPT),
        tools=[find_orders, sk.tool(cancel, max_calls=1)],
        output_type=Reply,
        instructions="You answer the mail of a bookshop.",
    )
    result = agent.run("This is Ana Souza. Please cancel Salt.", deps=database)
    for call in result.calls:
        arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
        print(f"{call.name}({arguments}) -> {call.tool_result}")
    print(repr(result.value))
    database.close()
