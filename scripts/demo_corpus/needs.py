"""Needs: questions that one tool answers, with the tools, the correct calls, their outputs, and the known facts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from demo_corpus import calls, toolbox, tools
from demo_corpus.conversation import Card, Parameter, Step
from demo_corpus.frames import sentences, words
from demo_corpus.shapes import (
    BOOLEAN,
    DATE,
    INTEGER,
    NUMBER,
    STRING,
    Array,
    Nullable,
    Object,
    Scalar,
    Shape,
    Union,
    enum,
)
from demo_corpus.toolbox import Attribute, Entity
from demo_corpus.tools import TOOLS, Tool
from demo_corpus.values import Source, article


@dataclass(frozen=True)
class Fact:
    """A possible field of the output: its possible keys, its shape and its value."""

    keys: str
    shape: Shape
    value: object


@dataclass(frozen=True)
class Need:
    """A question, the tools that answer it, the correct calls, the requested fact, and other known facts."""

    question: str
    cards: tuple[Card, ...]
    steps: tuple[Step, ...]
    main: Fact
    others: tuple[Fact, ...] = ()
    kinds: frozenset[str] = field(default_factory=frozenset)  # of tools that answer the question too

    @property
    def taken(self) -> frozenset[str]:
        return self.kinds | {card.kind for card in self.cards}


def fact(key: str, value: object) -> Fact:
    """Return a fact with the shape of its value."""
    shapes: dict[type, Shape] = {bool: BOOLEAN, int: INTEGER, float: NUMBER, list: Array(STRING)}
    return Fact(key, shapes.get(type(value), STRING), value)


def comment(source: Source, *options: str) -> str:
    return source.pick(options) if source.chance(0.2) else ""


def weather_card(source: Source, degrees: bool) -> Card:
    keys = "city city city place location town"
    key = Parameter(source.pick(words(keys)), STRING, comment(source, "Which city.", "The name of the city."))
    names, texts = (
        (toolbox.TEMPERATURE_NAMES, toolbox.TEMPERATURE_TEXTS)
        if degrees
        else (toolbox.WEATHER_NAMES, toolbox.WEATHER_TEXTS)
    )
    extra: tuple[Parameter, ...] = ()
    if source.chance(0.12):
        extra = (Parameter("unit", enum(["celsius", "fahrenheit"]), "", "celsius"),)
    return Card("weather", source.pick(words(names)), source.pick(texts), (key, *extra))


def weather(source: Source, heldout: bool) -> Need:
    """Return a question for the weather or the temperature; the output is a number, a text or an object of both."""
    degrees = source.chance(0.35)
    warm = degrees or source.chance(0.35)
    card = weather_card(source, degrees)
    city, sky, warmth = source.city(), source.pick(toolbox.SKIES), source.rng.randint(-15, 38)
    asks = toolbox.TEMPERATURE_ASKS if warm else toolbox.WEATHER_ASKS
    question = source.pick(sentences(asks, heldout)).replace("{city}", city)
    where, sky_fact = fact("city city place town location", city), fact("sky weather condition", sky)
    temperature = fact("temperature temperature degrees", warmth)
    output: object = warmth
    others: tuple[Fact, ...] = (where,)
    main = temperature
    if not degrees:
        texts = [
            "{sky}, {t} degrees",
            "{sky}, {t} degrees",
            "It is {sky} in {city}, {t} degrees.",
            "{t} °C, {sky}",
        ]
        output = source.pick([*texts, "{sky} and {t} degrees"]).format(sky=sky, city=city, t=warmth)
        main, others = fact("weather forecast", output), (where, temperature, sky_fact)
        roll = source.rng.random()
        if roll < 0.12:
            output, main, others = sky, fact("weather sky", sky), (where,)
        elif roll < 0.2 or (warm and roll < 0.35):
            output = {"sky": sky, "temperature": warmth}
            main, others = (temperature, (where, sky_fact)) if warm else (sky_fact, (where, temperature))
        elif warm and roll < 0.6:
            main, others = temperature, (where, sky_fact)
        if main is temperature and main.shape == INTEGER:
            main = Fact(main.keys, source.rng.choice([INTEGER, NUMBER]), warmth)
            return Need(
                question, (card,), (Step(card.name, {card.parameters[0].key: city}, output),), main, others
            )
    return Need(question, (card,), (Step(card.name, {card.parameters[0].key: city}, output),), main, others)


def sum_card(source: Source) -> Card:
    """Return a calculator of an expression, or of two numbers and an operation."""
    name, text = source.pick(words(toolbox.SUM_NAMES)), source.pick(toolbox.SUM_TEXTS)
    if source.chance(0.8):
        key = source.pick(words("expression expression expression formula calculation input"))
        hint = comment(source, "Such as 2 * 3.", "The expression.", "An arithmetic expression.")
        return Card("sum", name, text, (Parameter(key, STRING, hint),))
    a, b = source.rng.choice([("a", "b"), ("a", "b"), ("x", "y"), ("left", "right"), ("first", "second")])
    operation = Parameter(
        source.pick(words("operation operation operator sign")),
        toolbox.sign_shape(source, source.chance(0.6)),
    )
    numbers = (Parameter(a, NUMBER), Parameter(b, NUMBER))
    return Card("sum", name, text, (*numbers, operation) if source.chance(0.5) else (operation, *numbers))


def sum_step(card: Card, a: float, sign: str, b: float, rest: str = "") -> Step:
    """Return the call of a calculator for two numbers, or for more if it takes an expression."""
    expression = f"{a} {sign} {b}{rest}"
    output = round(value_of(expression), 4)
    if len(card.parameters) == 1:
        return Step(card.name, {card.parameters[0].key: expression}, output)
    named = [each for each in card.parameters if each.shape == NUMBER]
    values: dict[str, object] = {named[0].key: a, named[1].key: b}
    for each in card.parameters:
        if each.shape != NUMBER:
            by_name = '"add"' in getattr(each.shape, "text", "")
            values[each.key] = toolbox.SIGN_NAMES[sign] if by_name else sign
    return Step(card.name, {each.key: values[each.key] for each in card.parameters}, output)


def value_of(expression: str) -> float:
    """Return the value of an expression of numbers and signs, separated by spaces, with the usual precedence."""
    first, *rest = expression.split()
    terms = [number(first)]
    for sign, text in zip(rest[::2], rest[1::2], strict=True):
        if sign == "*":
            terms[-1] *= number(text)
        elif sign == "/":
            terms[-1] /= number(text)
        else:
            terms.append(number(text) if sign == "+" else -number(text))
    return sum(terms)


def number(text: str) -> float:
    return float(text) if "." in text else int(text)


def sum_of(source: Source, heldout: bool) -> Need:
    """Return a question for the value of an expression in signs or in words."""
    card = sum_card(source)
    a: float = source.rng.choice([source.rng.randint(1, 99), source.rng.randint(1, 9999)])
    b: float = source.rng.choice([source.rng.randint(1, 12), source.rng.randint(1, 999)])
    if source.chance(0.12):
        a = round(source.rng.uniform(1, 99), 2)
    while kept_numbers(a, b) != (source.split == "heldout"):
        a, b = source.rng.randint(1, 9999), source.rng.randint(1, 999)
    sign = source.pick("+-*/")
    rest = ""
    if source.chance(0.25):
        question = source.pick(toolbox.COMMANDS[sign]).format(a=a, b=b)
    else:
        expression = f"{a} {source.pick(toolbox.SUM_WORDS[sign])} {b}"
        if len(card.parameters) == 1 and source.chance(0.12):
            again = source.pick("+-*")
            rest = f" {again} {source.rng.randint(1, 99)}"
            expression = f"{a} {sign} {b}{rest}"
        question = source.pick(sentences(toolbox.SUM_ASKS, heldout)).replace("{sum}", expression)
    step = sum_step(card, a, sign, b, rest)
    asked = fact("expression sum calculation", f"{a} {sign} {b}{rest}")
    others = (asked,) if len(card.parameters) == 1 else (fact("a first", a), fact("b second", b))
    return Need(question, (card,), (step,), fact("value number total outcome", step.output), others)


def kept_numbers(a: float, b: float) -> bool:
    """Whether training excludes a pair of numbers (one in ten)."""
    return int(a * 7 + b * 3) % 10 == 0


def calendar_card(source: Source) -> Card:
    key = source.pick(words("day day date date on when"))
    hint = comment(source, "Which day.", "The date.")
    name = source.pick(words(toolbox.CALENDAR_NAMES))
    return Card("calendar", name, source.pick(toolbox.CALENDAR_TEXTS), (Parameter(key, DATE, hint),))


def event(source: Source) -> str:
    """Return the title of an event."""
    name = tools.title(source)
    return name if source.chance(0.5) else name[:1].upper() + name[1:]


def calendar(source: Source, heldout: bool) -> Need:
    """Return a question for the events of a day; the output is a text, a list, or empty."""
    card = calendar_card(source)
    day = source.day()
    count = source.rng.choice([0, 1, 1, 1, 2, 2, 3])
    events = []
    for _ in range(count):
        name = source.own(lambda: event(source))
        events.append(
            source.pick(["{n} at {t}", "{t} {n}", "{n}"]).format(n=name, t=str(source.clock().value)[:5])
        )
    output: object = events
    if source.chance(0.65):
        output = source.pick([", ", ", ", "; ", " and "]).join(events) or source.pick(
            ["nothing", "nothing", "no events", "free"]
        )
    main = fact("events plans appointments items", output)
    others = [Fact("day date", DATE, day.value)]
    question = source.pick(sentences(toolbox.CALENDAR_ASKS, heldout)).replace("{day}", day.text)
    if "free" in question or "time" in question:
        others.append(fact("free free available", not events))
    else:
        others.append(fact("busy", bool(events)))
    others = others[: 2 if source.chance(0.4) else 1]
    step = Step(card.name, {card.parameters[0].key: day.value}, output)
    return Need(question, (card,), (step,), main, tuple(others))


def entity_card(entity: Entity, attribute: Attribute, source: Source) -> Card:
    """Return a tool for one attribute of a kind of entity; sometimes only its description names the attribute."""
    key, attribute_words, thing = attribute.key, attribute.words, entity.name.replace("_", " ")
    a_thing = article(thing)
    names = [key, key, f"get_{key}", f"{key}_of", f"find_{key}", f"{entity.name}_{key}", f"lookup_{key}"]
    if key == "stock":
        names += ["count", "count", "count_copies", "how_many"]
    name = (
        source.pick(names)
        if source.chance(0.85)
        else source.pick(["lookup", "query", "f", "ask", source.word(1, 2)])
    )
    texts = [
        f"The {attribute_words} of {a_thing}.",
        f"The {attribute_words} of {a_thing}.",
        f"The {attribute_words} of {a_thing}, from the database.",
        f"Look up the {attribute_words} of {a_thing}.",
        f"Find the {attribute_words} of {a_thing} in the database.",
        f"Tells the {attribute_words}.",
        *attribute.descriptions,
        *attribute.descriptions,
    ]
    parameter = Parameter(
        source.pick(words(entity.keys)),
        STRING,
        comment(source, f"Which {thing}.", f"The {thing}.", "The exact name."),
    )
    return Card(f"{entity.name}.{key}", name, source.pick(texts), (parameter,))


def row_card(entity: Entity, source: Source) -> Card:
    """Return a tool for all attributes of an entity."""
    thing = entity.name.replace("_", " ")
    name = source.pick(
        [f"find_{entity.name}", f"get_{entity.name}", f"lookup_{entity.name}", entity.name, "lookup", "find"]
    )
    text = source.pick(
        [
            f"Look up {article(thing)}.",
            f"Everything about {article(thing)}.",
            f"Find {article(thing)} in the database.",
            f"The row of {article(thing)} in the database.",
        ]
    )
    return Card(f"{entity.name}.", name, text, (Parameter(source.pick(words(entity.keys)), STRING),))


def ask(attribute: Attribute, x: str, source: Source, heldout: bool) -> str:
    own = sentences(list(attribute.asks), heldout)
    asks = own if own and source.chance(0.6) else sentences(toolbox.ASKS, heldout)
    return source.pick(asks).format(attr=attribute.words, x=x)


def database(source: Source, heldout: bool) -> Need:
    return look_up(source.rng.choice([*toolbox.ENTITIES, *toolbox.ENTITIES[:1]]), source, heldout)


def made_up(source: Source, heldout: bool) -> Need:
    return look_up(toolbox.made_up(source), source, heldout)


def look_up(entity: Entity, source: Source, heldout: bool) -> Need:
    """Return a question for one attribute of an entity, from a tool for the attribute or for all attributes."""
    attribute = source.rng.choice(entity.attributes)
    x = entity.make(source)
    question = ask(attribute, x, source, heldout)
    values = {each.key: each.make(source) for each in entity.attributes}
    value = values[attribute.key]
    main = fact(f"{attribute.key} {attribute.key}", value)
    subject = Fact(f"{entity.name} {words(entity.keys)[0]}", STRING, x)
    others = [subject]
    if attribute.key == "stock":
        others.append(fact("available in_stock", bool(value)))
    row = len(values) > 1 and source.chance(0.2)
    card = row_card(entity, source) if row else entity_card(entity, attribute, source)
    output: object = value
    if row:
        kept = source.rng.sample(list(values), min(len(values), source.rng.choice([2, 2, 3])))
        kept = kept if attribute.key in kept else [attribute.key, *kept[1:]]
        source.rng.shuffle(kept)
        output = {key: values[key] for key in kept}
        others += [fact(key, values[key]) for key in kept if key != attribute.key]
    elif source.chance(0.04):
        return unknown(Need(question, (card,), (), main, (subject,)), entity, x)
    step = Step(card.name, {card.parameters[0].key: x}, output)
    kinds = frozenset(f"{entity.name}.{each.key}" for each in entity.attributes if row or each is attribute)
    return Need(question, (card,), (step,), main, tuple(others), kinds | {f"{entity.name}."})


def unknown(need: Need, entity: Entity, x: str) -> Need:
    """Return the need for an unknown entity: the tool fails, and the output is null."""
    card = need.cards[0]
    message = f"there is no {entity.name.replace('_', ' ')} called {x}"
    step = Step(card.name, {card.parameters[0].key: x}, message, failed=True)
    main = Fact(need.main.keys, Nullable(need.main.shape), None)
    return replace(need, steps=(step,), main=main)


def action_card(tool: Tool, source: Source, slots: list[str] | None = None) -> Card:
    name = source.pick(tool.names.split())
    parameters: dict[str, Parameter] = {}
    for slot in slots or source.rng.sample(list(tool.slots), source.rng.randint(1, len(tool.slots))):
        key = source.pick(tool.slots[slot].keys.split())
        key = f"{key}_" if key in ("from", "with", "in", "is") else key
        parameters[key] = Parameter(key, tool.slots[slot].shape_for(source))
    text = name.replace("_", " ").capitalize() + "."
    return Card(f"action {tool.names.split()[0]}", name, text, tuple(parameters.values()))


def action(source: Source, heldout: bool) -> Need:
    """Return a request for an action, with its status as output."""
    example = calls.call(source, heldout, TOOLS[3:])
    options = example.shape.options if isinstance(example.shape, Union) else (example.shape,)
    assert isinstance(example.value, dict)
    tag, holder = example.value
    name, arguments = example.value[tag], example.value[holder]
    tagged = Scalar(f'"{name}"')
    right = next(each for each in options if isinstance(each, Object) and each.fields[0][1] == tagged)
    inner = right.fields[1][1]
    assert isinstance(inner, Object)
    fields = [
        (key, shape) for key, shape, _ in inner.fields if key.isidentifier() and arguments[key] is not None
    ]
    renamed = {key: f"{key}_" if key in ("from", "with", "in", "is") else key for key, _ in fields}
    parameters = tuple(Parameter(renamed[key], shape) for key, shape in fields)
    kind = next(f"action {each.names.split()[0]}" for each in TOOLS if name in each.names.split())
    card = Card(kind, name, name.replace("_", " ").capitalize() + ".", parameters)
    output = (
        source.pick(toolbox.STATUSES)
        if source.chance(0.6)
        else f"{source.pick(['number', 'id', 'code'])} {source.code()}"
    )
    step = Step(name, {renamed[key]: arguments[key] for key, _ in fields}, output)
    others = tuple(Fact(renamed[key], shape, arguments[key]) for key, shape in fields)
    return Need(example.text, (card,), (step,), fact("status message outcome", output), others)
