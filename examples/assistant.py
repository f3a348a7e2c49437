"""An agent with four tools and a typed output, on the demo model: weather, a calculator, a calendar, a database.

Prints:

    How warm is it in Porto?
      weather(city='Porto') -> sunny, 18 degrees
    Reply(answer='sunny, 18 degrees')
    What is 1234 times 56?
      calculate(expression='1234 * 56') -> 69104.0
    Reply(answer=69104.0)
    What do I have on 3 December 2026?
      calendar(day=datetime.date(2026, 12, 3)) -> 12:30 lunch with Clara
    Reply(answer='12:30 lunch with Clara')
    How much is The Silent River?
      price(title='The Silent River') -> 12.5
    Reply(answer=12.5)
    How much are 4 copies of The Silent River?
      price(title='The Silent River') -> 12.5
      calculate(expression='4 * 12.5') -> 50.0
    Reply(answer=50.0)
"""

import operator
import sqlite3
from datetime import date

from pydantic import BaseModel

import structkit as sk

SKIES = {"Porto": "sunny, 18 degrees", "Oslo": "snowy, -4 degrees"}
PLANS = {date(2026, 12, 3): "12:30 lunch with Clara"}
OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


class Reply(BaseModel):
    answer: str | float


def weather(city: str) -> str:
    """The weather in a city."""
    return SKIES[city]


def calculate(expression: str) -> float:
    """The value of an arithmetic expression."""
    left, sign, right = expression.split()
    return round(OPERATIONS[sign](float(left), float(right)), 2)


def calendar(day: date) -> str:
    """What is in the calendar on a day."""
    return PLANS.get(day, "nothing")


def price(context: sk.Context[sqlite3.Connection], title: str) -> float:
    """The price of a book, from the database."""
    row = context.deps.execute("select price from books where title = ?", (title,)).fetchone()
    if row is None:
        raise sk.ToolError(f"there is no book called {title}")
    return float(row[0])


if __name__ == "__main__":
    shop = sqlite3.connect(":memory:")
    shop.execute("create table books (title text, price real)")
    shop.executemany("insert into books values (?, ?)", [("The Silent River", 12.5), ("Salt", 9.0)])
    agent = sk.Agent(sk.load(), tools=[weather, calculate, calendar, price], output_type=Reply)
    for question in [
        "How warm is it in Porto?",
        "What is 1234 times 56?",
        "What do I have on 3 December 2026?",
        "How much is The Silent River?",
        "How much are 4 copies of The Silent River?",
    ]:
        result = agent.run(question, deps=shop)
        print(question)
        for call in result.calls:
            arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
            print(f"  {call.name}({arguments}) -> {call.tool_result}")
        print(repr(result.value))
    shop.close()
