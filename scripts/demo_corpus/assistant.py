"""The assistant of the tutorial: an agent with four tools, and questions about towns, sums, days and books."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import date

from pydantic import BaseModel

import structkit as sk
from demo_corpus import needs, toolbox
from demo_corpus.conversation import Card, Parameter, Step, Task
from demo_corpus.frames import sentences
from demo_corpus.shapes import DATE, NUMBER, STRING, Object, Union
from demo_corpus.values import Source
from structkit.models.protocols import LogitsModel

CARDS = (
    Card("weather", "weather", "The weather in a city.", (Parameter("city", STRING),)),
    Card("sum", "calculate", "The value of an arithmetic expression.", (Parameter("expression", STRING),)),
    Card("calendar", "calendar", "What is in the calendar on a day.", (Parameter("day", DATE),)),
    Card("price", "price", "The price of a book, from the database.", (Parameter("title", STRING),)),
)
REPLY = Object("Reply", (("answer", Union((STRING, NUMBER)), ""),))


class Reply(BaseModel):  # noqa: D101  a docstring would be part of the prompt
    answer: str | float


class Assistant:
    """An agent with four tools, whose data are set for each question."""

    def __init__(self, model: LogitsModel) -> None:
        self.skies: dict[str, str] = {}
        self.plans: dict[date, str] = {}
        self.books = sqlite3.connect(":memory:")
        self.books.execute("create table books (title text, price real)")
        tools: list[Callable[..., object]] = [self.weather, self.calculate, self.calendar, self.price]
        self.agent: sk.Agent[Reply] = sk.Agent(
            model, tools=tools, output_type=Reply, max_steps=5, max_tokens=400, on_limit="answer"
        )

    def weather(self, city: str) -> str:
        """The weather in a city."""
        return self.skies.get(city, "unknown")

    def calculate(self, expression: str) -> float:
        """The value of an arithmetic expression."""
        return round(needs.value_of(expression), 2)

    def calendar(self, day: date) -> str:
        """What is in the calendar on a day."""
        return self.plans.get(day, "nothing")

    def price(self, title: str) -> float:
        """The price of a book, from the database."""
        row = self.books.execute("select price from books where title = ?", (title,)).fetchone()
        if row is None:
            raise sk.ToolError(f"there is no book called {title}")
        return float(row[0])

    def run(self, task: Task) -> sk.AgentResult[Reply]:
        """Set the data of the task, and run the agent."""
        self.skies.clear()
        self.plans.clear()
        self.books.execute("delete from books")
        for step in task.steps:
            (first, *_) = step.arguments.values()
            if step.tool == "weather":
                self.skies[str(first)] = str(step.output)
            elif step.tool == "calendar" and step.output != "nothing":
                self.plans[date.fromisoformat(str(first))] = str(step.output)
            elif step.tool == "price":
                self.books.execute("insert into books values (?, ?)", (first, step.output))
        return self.agent.run(task.question)


def task(source: Source, heldout: bool = False, kind: str | None = None) -> Task:
    """Return a question to the assistant; `heldout` uses sentences that training excludes."""
    return MAKERS[kind or source.pick([*MAKERS])](source, heldout)


def asked(question: str, *steps: Step) -> Task:
    return Task("assistant", question, CARDS, steps, REPLY, {"answer": steps[-1].output})


def weather(source: Source, heldout: bool) -> Task:
    city, sky, warmth = source.city(), source.pick(toolbox.SKIES), source.rng.randint(-15, 38)
    question = source.pick(sentences(toolbox.WEATHER_ASKS + toolbox.TEMPERATURE_ASKS, heldout))
    step = Step("weather", {"city": city}, f"{sky}, {warmth} degrees")
    return asked(question.replace("{city}", city), step)


def calculator(source: Source, heldout: bool) -> Task:
    a, b = 0, 0
    while not a or needs.kept_numbers(a, b) != (source.split == "heldout"):
        a, b = source.rng.randint(1, 9999), source.rng.randint(1, 999)
    sign = source.pick("+-*/")
    expression = f"{a} {source.pick(toolbox.SUM_WORDS[sign])} {b}"
    question = source.pick(sentences(toolbox.SUM_ASKS, heldout)).replace("{sum}", expression)
    return asked(question, summed(a, sign, b))


def summed(a: float, sign: str, b: float) -> Step:
    expression = f"{a} {sign} {b}"
    return Step("calculate", {"expression": expression}, round(needs.value_of(expression), 2))


def calendar(source: Source, heldout: bool) -> Task:
    day = source.day()
    events = [
        f"{source.clock().value!s:.5} {source.own(lambda: needs.event(source))}"
        for _ in range(source.rng.choice([0, 1, 1, 2]))
    ]
    question = source.pick(sentences(toolbox.CALENDAR_ASKS, heldout)).replace("{day}", day.text)
    return asked(question, Step("calendar", {"day": day.value}, ", ".join(events) or "nothing"))


def price(source: Source, heldout: bool) -> Task:
    title = source.title()
    question = source.pick(sentences([*toolbox.PRICE_ASKS, *toolbox.ASKS], heldout))
    return asked(
        question.format(x=title, attr="price"), Step("price", {"title": title}, toolbox.price(source))
    )


def several(source: Source, heldout: bool) -> Task:
    title, each, count = source.title(), toolbox.price(source), source.rng.randint(2, 40)
    question = source.pick(sentences(toolbox.BUY_ASKS, heldout)).format(n=count, x=title)
    return asked(question, Step("price", {"title": title}, each), summed(count, "*", each))


MAKERS: dict[str, Callable[[Source, bool], Task]] = {
    "weather": weather,
    "calculator": calculator,
    "calendar": calendar,
    "price": price,
    "price of several": several,
}
