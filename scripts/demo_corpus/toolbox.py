"""Topics of the agents' tools: weather, sums, calendars, and databases of entities and their attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from demo_corpus import nonsense, tools
from demo_corpus.shapes import INTEGER, NUMBER, STRING, Shape, enum
from demo_corpus.values import Source


@dataclass(frozen=True)
class Attribute:
    """An attribute of an entity: its key, and questions for it in addition to the common ones."""

    key: str
    shape: Shape
    make: Callable[[Source], object]
    asks: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return self.key.replace("_", " ")


@dataclass(frozen=True)
class Entity:
    """A kind of entity: its names and its attributes."""

    name: str
    keys: str
    make: Callable[[Source], str]
    attributes: tuple[Attribute, ...]


ASKS = [
    "What is the {attr} of {x}?",
    "Give me the {attr} of {x}.",
    "Tell me the {attr} of {x}.",
    "I need the {attr} of {x}.",
    "What's the {attr} of {x}?",
    "Find the {attr} of {x}.",
    "The {attr} of {x}, please.",
    "Can you tell me the {attr} of {x}?",
    "{x}: what is the {attr}?",
    "Which {attr} does {x} have?",
    "Look up the {attr} of {x}.",
    "Please find out the {attr} of {x}.",
    "What {attr} does {x} have?",
    "{attr} of {x}?",
    "I want to know the {attr} of {x}.",
    "Do you know the {attr} of {x}?",
]
PRICE_ASKS = (
    "What does {x} cost?",
    "How much is {x}?",
    "How much does {x} cost?",
    "What is the price of {x}?",
    "How expensive is {x}?",
    "Price of {x}, please.",
    "How much do I pay for {x}?",
    "What do I pay for {x}?",
    "What does {x} cost?",
    "How much must I pay for {x}?",
)
STOCK_ASKS = (
    "How many copies of {x} are there?",
    "How many {x} do we have?",
    "How many copies of {x} do you have?",
    "How many of {x} are left?",
    "Is {x} in stock?",
    "Do you have {x}?",
    "Do we have {x}?",
    "How many copies of {x} are left?",
    "How much of {x} is in stock?",
    "Is there any {x} left?",
)
COPIES = (
    "How many copies of a book there are.",
    "How many copies there are.",
    "The number of copies in stock.",
)


def price(source: Source) -> float:
    return round(source.rng.randint(1, 60) + source.rng.choice([0.5, 0.99, 0.0, 0.25, 0.95, 0.4]), 2)


def number(low: int, high: int) -> Callable[[Source], int]:
    return lambda source: 0 if low == 0 and source.chance(0.3) else source.rng.randint(low, high)


def one_of(*options: str) -> Callable[[Source], str]:
    return lambda source: source.pick(options)


def iso(source: Source) -> str:
    return str(source.day().value)


ENTITIES = [
    Entity(
        "book",
        "title title title book name",
        Source.title,
        (
            Attribute(
                "price", NUMBER, price, PRICE_ASKS, ("The price of a book.", "What a book costs, in euros.")
            ),
            Attribute("stock", INTEGER, number(0, 40), STOCK_ASKS, COPIES),
            Attribute(
                "author",
                STRING,
                Source.name,
                ("Who wrote {x}?", "Who is the author of {x}?", "By whom is {x}?"),
            ),
            Attribute(
                "year", INTEGER, number(1850, 2024), ("When was {x} published?", "From which year is {x}?")
            ),
            Attribute(
                "shelf",
                STRING,
                Source.code,
                ("Where is {x}?", "On which shelf is {x}?", "Where do I find {x}?"),
            ),
        ),
    ),
    Entity(
        "product",
        "product item name article",
        Source.product,
        (
            Attribute(
                "price", NUMBER, price, PRICE_ASKS, ("What a product costs.", "Price of an item in the shop.")
            ),
            Attribute("stock", INTEGER, number(0, 300), STOCK_ASKS, ("How many pieces are in stock.",)),
            Attribute("colour", STRING, one_of("red", "blue", "green", "black", "white", "grey", "brown")),
            Attribute("weight", NUMBER, price, ("How heavy is {x}?", "What does {x} weigh?")),
        ),
    ),
    Entity(
        "customer",
        "name customer name client",
        Source.name,
        (
            Attribute(
                "email",
                STRING,
                Source.email,
                ("What is the e-mail address of {x}?", "How do I write to {x}?"),
            ),
            Attribute("phone", STRING, Source.phone, ("How can I call {x}?", "What is the number of {x}?")),
            Attribute("city", STRING, Source.city, ("Where does {x} live?", "In which city does {x} live?")),
            Attribute(
                "orders",
                INTEGER,
                number(0, 30),
                ("How many orders does {x} have?", "How often did {x} order?"),
            ),
            Attribute("balance", NUMBER, price, ("How much does {x} owe us?",)),
        ),
    ),
    Entity(
        "order",
        "order number code order_id",
        Source.code,
        (
            Attribute(
                "status",
                STRING,
                one_of("open", "shipped", "delivered", "cancelled", "paid", "lost"),
                ("Where is my order {x}?", "Was order {x} shipped?", "How is it with order {x}?"),
            ),
            Attribute("total", NUMBER, price, ("How much was order {x}?", "What did order {x} cost?")),
            Attribute("customer", STRING, Source.name, ("Who ordered {x}?", "Whose order is {x}?")),
            Attribute("date", STRING, iso, ("When was {x} ordered?",)),
        ),
    ),
    Entity(
        "employee",
        "name employee person name",
        Source.name,
        (
            Attribute(
                "department", STRING, one_of("sales", "finance", "support", "research", "kitchen", "legal")
            ),
            Attribute(
                "salary", INTEGER, number(1500, 9000), ("How much does {x} earn?", "What does {x} earn?")
            ),
            Attribute(
                "manager", STRING, Source.name, ("Who is the manager of {x}?", "For whom does {x} work?")
            ),
            Attribute("room", INTEGER, number(1, 400), ("In which room is {x}?", "Where does {x} sit?")),
            Attribute("phone", STRING, Source.phone, ("How can I call {x}?",)),
        ),
    ),
    Entity(
        "event",
        "title event name",
        lambda source: source.own(lambda: tools.title(source)),
        (
            Attribute("date", STRING, iso, ("When is {x}?", "On which day is {x}?")),
            Attribute("room", STRING, Source.code, ("Where is {x}?", "In which room is {x}?")),
            Attribute("guests", INTEGER, number(1, 90), ("How many guests come to {x}?",)),
        ),
    ),
    Entity(
        "country",
        "country name country",
        lambda source: source.own(lambda: source.word(2, 3).title() + source.pick(["", "ia", "land"])),
        (
            Attribute("capital", STRING, Source.city, ("What is the capital of {x}?",)),
            Attribute("population", INTEGER, number(1000, 90000), ("How many people live in {x}?",)),
            Attribute("currency", STRING, one_of("euro", "krone", "dollar", "franc", "pound")),
        ),
    ),
]


def made_up(source: Source) -> Entity:
    """Return an invented kind of entity with invented attributes."""
    makers = [Source.nonsense, Source.name, Source.city, Source.title, Source.product, Source.code]
    attributes: dict[str, Attribute] = {}
    for _ in range(source.rng.randint(1, 3)):
        key = noun(source)
        text, value, shape = nonsense.any_value(source)
        while isinstance(value, (list, bool)) or text != str(value):
            text, value, shape = nonsense.any_value(source)
        shape = shape if isinstance(value, (int, float)) else STRING
        attributes[key] = Attribute(key, shape, lambda _, value=value: value)  # type: ignore[misc]
    thing = noun(source)
    keys = source.pick([thing, "name", "id", "key", "item", "of", noun(source)])
    return Entity(thing, keys, source.rng.choice(makers), tuple(attributes.values()))


def noun(source: Source) -> str:
    """Return a noun of this split: real ones, some of which training excludes, and invented ones."""

    def make() -> str:
        if source.chance(0.5):
            return source.word(1, 3)
        word = source.pick(nonsense.ITEM_KEYS)
        return (
            word
            if source.chance(0.7)
            else f"{word}_{source.pick(['code', 'number', 'level', 'name', 'count'])}"
        )

    return source.own(make)


SKIES = "sunny cloudy rainy windy foggy snowy stormy clear grey dry wet".split()
WEATHER_NAMES = (
    "weather weather get_weather get_weather weather_in forecast get_forecast current_weather check_weather"
)
WEATHER_TEXTS = [
    "The weather in a city.",
    "What the weather is like in a place.",
    "Look up the weather.",
    "The weather of today.",
    "Weather forecast for a city.",
    "Tell the current weather of a city.",
]
TEMPERATURE_NAMES = "weather get_weather temperature get_temperature temperature_in degrees"
TEMPERATURE_TEXTS = [
    "The temperature in a city, in degrees.",
    "How warm it is in a place.",
    "The current temperature.",
    "Temperature of a city in degrees Celsius.",
]
WEATHER_ASKS = [
    "What is the weather in {city}?",
    "Weather in {city}?",
    "What is the weather like in {city}?",
    "Tell me the weather in {city}.",
    "How is the weather in {city}?",
    "What's the weather like in {city}?",
    "I am going to {city}. What is the weather like?",
    "Is it nice in {city} today?",
    "Give me the weather for {city}.",
    "The weather in {city}, please.",
    "I travel to {city} tomorrow, how is the weather there?",
    "Is it raining in {city}?",
    "Do I need an umbrella in {city}?",
    "What weather do they have in {city}?",
    "Check the weather in {city}.",
    "What will the weather be in {city}?",
]
TEMPERATURE_ASKS = [
    "How warm is it in {city}?",
    "What is the temperature in {city}?",
    "How cold is it in {city}?",
    "How many degrees is it in {city}?",
    "Temperature in {city}?",
    "What's the temperature in {city}?",
    "How hot is it in {city} now?",
    "Is it warm in {city}?",
    "Tell me the temperature in {city}.",
    "How warm is {city} today?",
]

SUM_NAMES = "calculate calculate calculator calculator compute calc evaluate arithmetic"
SUM_TEXTS = [
    "The value of an arithmetic expression.",
    "Calculate an expression such as 2 * 3.",
    "Do arithmetic.",
    "Work out a sum or a product.",
    "Evaluate an expression.",
    "Calculate.",
    "The result of a calculation.",
]
SUM_WORDS = {
    "+": ["+", "+", "plus", "plus", "and"],
    "-": ["-", "-", "minus", "minus", "less"],
    "*": ["*", "*", "times", "times", "x", "multiplied by"],
    "/": ["/", "/", "divided by", "divided by", "over"],
}
SUM_ASKS = [
    "What is {sum}?",
    "How much is {sum}?",
    "Calculate {sum}.",
    "Compute {sum}.",
    "What does {sum} make?",
    "{sum}?",
    "What is the result of {sum}?",
    "How much is {sum}, please?",
    "{sum} = ?",
    "Can you work out {sum}?",
    "Please calculate {sum}.",
    "Tell me what {sum} is.",
    "I need {sum}.",
    "What do I get for {sum}?",
    "Evaluate {sum}",
    "Work out {sum}.",
]
COMMANDS = {
    "+": ["Add {a} and {b}.", "What is the sum of {a} and {b}?", "Add {a} to {b}."],
    "-": ["What is the difference between {a} and {b}?", "Take {b} from {a}.", "Subtract {b} from {a}."],
    "*": ["Multiply {a} by {b}.", "What is the product of {a} and {b}?", "Multiply {a} and {b}."],
    "/": ["Divide {a} by {b}.", "Split {a} by {b}.", "Share {a} among {b}."],
}

CALENDAR_NAMES = "calendar calendar events events get_events agenda appointments day_plan plans on_day"
CALENDAR_TEXTS = [
    "What is in the calendar on a day.",
    "The events of a day.",
    "The appointments on a date.",
    "Look into the calendar.",
    "What the calendar says of a day.",
    "Everything that is planned for a day.",
]
CALENDAR_ASKS = [
    "What is in my calendar on {day}?",
    "What do I have on {day}?",
    "What is on {day}?",
    "What happens on {day}?",
    "Which appointments do I have on {day}?",
    "Am I free on {day}?",
    "Do I have time on {day}?",
    "What are my plans on {day}?",
    "My calendar on {day}, please.",
    "What is planned for {day}?",
    "Show me {day}.",
    "Which events are on {day}?",
    "What must I do on {day}?",
    "Is there anything on {day}?",
    "Tell me my appointments on {day}.",
    "What is going on on {day}?",
]
BUY_ASKS = [
    "How much do {n} copies of {x} cost?",
    "What do {n} {x} cost?",
    "How much are {n} copies of {x}?",
    "I want {n} copies of {x}. How much is that?",
    "What do {n} copies of {x} cost?",
    "How much is it for {n} {x}?",
    "What do I pay for {n} {x}?",
    "How much are {n} {x}?",
    "What is the price of {n} copies of {x}?",
    "{n} copies of {x}: how much is that together?",
    "The total for {n} {x}, please.",
    "I buy {n} {x}. What is the total?",
]
STATUSES = ["done", "ok", "sent", "it is done", "success", "accepted", "noted"]
SIGN_NAMES = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}


def sign_shape(source: Source, words: bool) -> Shape:
    """Return the shape of the four operations, by name or by sign."""
    options = list(SIGN_NAMES.values()) if words else list(SIGN_NAMES)
    if source.chance(0.3):
        source.rng.shuffle(options)
    return enum(options)
