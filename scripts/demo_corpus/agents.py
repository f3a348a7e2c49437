"""Agent runs: questions that need a tool, sometimes two in sequence or one twice, sometimes none.

Descriptions determine the right tool: the same questions occur with tools of other names, and among other tools.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from demo_corpus import frames, life, people, toolbox
from demo_corpus.conversation import Card, Step, Task
from demo_corpus.frames import sentences, words
from demo_corpus.needs import (
    Fact,
    Need,
    action,
    action_card,
    ask,
    calendar,
    calendar_card,
    database,
    entity_card,
    fact,
    made_up,
    sum_card,
    sum_of,
    sum_step,
    weather,
    weather_card,
)
from demo_corpus.shapes import (
    INTEGER,
    NUMBER,
    STRING,
    Nullable,
    Object,
    Shape,
    Union,
)
from demo_corpus.toolbox import Attribute
from demo_corpus.tools import TOOLS
from demo_corpus.values import ONES, Source

KINDS = [
    "weather",
    "calculator",
    "calendar",
    "database",
    "made up",
    "action",
    "two steps",
    "error",
    "no call",
]
SHARES = [14, 16, 14, 20, 10, 4, 12, 8, 2]
LEADS = ["", "", "", "", "", "", "Please help: ", "Hello! ", "Hi, ", "A question: "]
INSTRUCTIONS = [
    "You are a helpful assistant.",
    "You answer the questions of customers.",
    "You help with the work in an office.",
    "Answer briefly.",
    "You answer the mail of a bookshop.",
    "Use the functions.",
]
REPLIES = "Reply Reply Answer Result Response Output Fact"


def task(source: Source, heldout: bool = False, kind: str | None = None) -> Task:
    """Return one run of an agent; `heldout` uses sentences that training excludes."""
    kind = kind or source.rng.choices(KINDS, SHARES)[0]
    if kind == "no call":
        return without_call(source, heldout)
    need = MAKERS[kind](source, heldout)
    cards = with_others(need.cards, need.taken, source)
    shape, value = reply(need, source)
    return Task(kind, lead(need.question, source), cards, need.steps, shape, value, instructions(source))


def lead(question: str, source: Source) -> str:
    question = question if source.chance(0.1) else question[:1].upper() + question[1:]
    return source.pick(LEADS) + question


def instructions(source: Source) -> str | None:
    return source.pick(INSTRUCTIONS) if source.chance(0.08) else None


def with_others(cards: tuple[Card, ...], taken: frozenset[str], source: Source) -> tuple[Card, ...]:
    """Return the required tools among up to four others."""
    chosen = list(cards)
    for _ in range(source.rng.choice([0, 1, 2, 2, 3, 3, 4]) + 1 - len(cards)):
        other = any_card(source)
        if other.kind not in taken and other.name not in {card.name for card in chosen}:
            chosen.append(other)
            taken |= {other.kind}
    source.rng.shuffle(chosen)
    return tuple(chosen)


def any_card(source: Source) -> Card:
    """Return a tool of any kind."""
    roll = source.rng.random()
    if roll < 0.14:
        return weather_card(source, source.chance(0.5))
    if roll < 0.42:  # often, so that the model does not multiply a price only because a calculator exists
        return sum_card(source)
    if roll < 0.56:
        return calendar_card(source)
    if roll < 0.63:
        return action_card(source.rng.choice(TOOLS[3:]), source)
    entity = source.rng.choice(toolbox.ENTITIES) if source.chance(0.75) else toolbox.made_up(source)
    return entity_card(entity, source.rng.choice(entity.attributes), source)


def reply(need: Need, source: Source) -> tuple[Shape, object]:
    """Return a type for the output, and the output."""
    main = variant(need.main, source)
    name = source.pick(words(REPLIES)) if source.chance(0.85) else source.type_name()
    roll = source.rng.random()
    if roll < 0.12:
        return main.shape, main.value
    usual = source.pick(["answer", "answer", "answer", "result", "value", "reply", "output"])
    key = usual if roll < 0.5 or source.chance(0.3) else source.pick(words(main.keys))
    chosen = [(key, main)]
    if roll > 0.5:
        rest = source.rng.sample(need.others, min(len(need.others), source.rng.choice([1, 1, 2, 3])))
        chosen += [(source.pick(words(each.keys)), each) for each in rest]
        chosen = sorted(chosen[1:], key=lambda pair: need.others.index(pair[1])) + chosen[:1]
        if source.chance(0.25):
            source.rng.shuffle(chosen)
    kept = {key: each for key, each in chosen if key != "name"} or {usual: main}
    fields = tuple((key, each.shape, "") for key, each in kept.items())
    return Object(name, fields), {key: each.value for key, each in kept.items()}


def variant(fact: Fact, source: Source) -> Fact:
    """Return the same fact with its own type, or with a wider one."""
    shape, value = fact.shape, fact.value
    roll = source.rng.random()
    if shape in (INTEGER, NUMBER):
        if roll < 0.3:
            shape = Union((STRING, NUMBER) if source.chance(0.6) else (NUMBER, STRING))
        elif roll < 0.36:
            return Fact(fact.keys, STRING, str(value))
        elif roll < 0.5:
            shape = NUMBER
    elif shape == STRING and roll < 0.3:
        shape = Union((STRING, NUMBER) if source.chance(0.6) else (NUMBER, STRING))
    if not isinstance(shape, Union) and source.chance(0.06):
        shape = Nullable(shape)
    return Fact(fact.keys, shape, value)


def two_steps(source: Source, heldout: bool) -> Need:
    return buy(source, heldout) if source.chance(0.6) else relation(source, heldout)


def buy(source: Source, heldout: bool) -> Need:
    """Return a question for the total price of a number of items, which needs the price of one."""
    entity = toolbox.ENTITIES[0 if source.chance(0.7) else 1]
    card = entity_card(entity, entity.attributes[0], source)
    calculator = sum_card(source)
    while calculator.name == card.name:
        calculator = sum_card(source)
    x, count, each = entity.make(source), source.rng.randint(2, 40), toolbox.price(source)
    number = ONES[count] if count < 13 and source.chance(0.3) else str(count)
    question = source.pick(sentences(toolbox.BUY_ASKS, heldout)).format(n=number, x=x)
    first = Step(card.name, {card.parameters[0].key: x}, each)
    second = sum_step(calculator, count, "*", each)
    others = (
        fact(f"{entity.name} title product", x),
        fact("copies count quantity number", count),
        fact("price each", each),
    )
    total = fact("total total amount cost", second.output)
    return Need(question, (card, calculator), (first, second), total, others, frozenset({f"{entity.name}."}))


RELATIONS = [
    ("book", "author", "customer"),
    ("order", "customer", "customer"),
    ("employee", "manager", "employee"),
    ("customer", "city", "country"),
]


def relation(source: Source, heldout: bool) -> Need:
    """Return a question for an attribute of an attribute of an entity."""
    by_name = {each.name: each for each in toolbox.ENTITIES}
    if source.chance(0.5):
        start, key, end = source.rng.choice(RELATIONS)
        entity, other = by_name[start], by_name[end]
        between = next(each for each in entity.attributes if each.key == key)
    else:
        entity, other = toolbox.made_up(source), toolbox.made_up(source)
        word = other.name
        between = Attribute(word, STRING, other.make)
    asked = source.rng.choice(
        [each for each in other.attributes if each.key != between.key] or [*other.attributes]
    )
    x, middle, value = entity.make(source), str(between.make(source)), asked.make(source)
    cards = (entity_card(entity, between, source), entity_card(other, asked, source))
    if cards[0].name == cards[1].name or cards[0].kind == cards[1].kind:
        return buy(source, heldout)
    question = ask(asked, f"the {between.words} of {x}", source, heldout)
    steps = (
        Step(cards[0].name, {cards[0].parameters[0].key: x}, middle),
        Step(cards[1].name, {cards[1].parameters[0].key: middle}, value),
    )
    others = (Fact(f"{entity.name} item", STRING, x), Fact(between.key, STRING, middle))
    return Need(question, cards, steps, fact(asked.key, value), others)


def error(source: Source, heldout: bool) -> Need:
    """Return a question with a misspelled name: the tool fails with the correct name and is called again."""
    need = weather(source, heldout) if source.chance(0.2) else database(source, heldout)
    step = need.steps[-1]
    key, right = next(iter(step.arguments.items()))
    assert isinstance(right, str)
    if step.failed or len(right) < 4:
        return error(source, heldout)
    wrong = misspelt(right, source)
    thing = need.cards[0].kind.split(".")[0] if "." in need.cards[0].kind else "city"
    others = [
        next(each for each in toolbox.ENTITIES if each.name == thing).make(source)
        if thing != "city"
        else source.city()
        for _ in range(source.rng.randint(1, 3))
    ]
    listed = [right, *others]
    plural = "countries" if thing == "country" else "cities" if thing == "city" else f"{thing}s"
    source.rng.shuffle(listed)
    message = source.pick(
        [
            f"there is no {thing} called {wrong}; did you mean {right}?",
            f"no {thing} {wrong}; did you mean {right}?",
            f"unknown {thing}: {wrong}. Did you mean {right}?",
            f"{wrong} is not known, but {right} is",
            f"there is no {thing} called {wrong}; those known are {', '.join(listed)}",
            f"there is no {thing} called {wrong}; the {plural} are {', '.join(listed)}",
            f"unknown {thing} {wrong}; known are {', '.join(listed)}",
            f"no {thing} {wrong}, only {', '.join(listed)}",
        ]
    )
    failed = Step(step.tool, {key: wrong}, message, failed=True)
    question = need.question.replace(right, wrong)
    if wrong not in question:
        return error(source, heldout)
    return replace(need, question=question, steps=(failed, step))


def misspelt(right: str, source: Source) -> str:
    """Return a misspelled name."""
    parts = right.split()
    options: list[Callable[[], str]] = [
        lambda: right.lower(),
        lambda: swapped(right, source),
        lambda: dropped(right, source),
    ]
    if len(parts) > 1:
        options += [lambda: " ".join(parts[1:]), lambda: " ".join(parts[:-1])] * 2
    wrong = source.rng.choice(options)().strip()
    return wrong if wrong and wrong != right else right + "s"


def swapped(text: str, source: Source) -> str:
    at = source.rng.randint(1, len(text) - 2)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def dropped(text: str, source: Source) -> str:
    at = source.rng.randint(1, len(text) - 2)
    return text[:at] + text[at + 1 :]


def without_call(source: Source, heldout: bool) -> Task:
    """Return a task whose text contains the answer."""
    usable = [each for each in [*people.FRAMES, *life.FRAMES] if sentences(each.sentences, heldout)]
    while True:
        example = frames.exercise(source.rng.choice(usable), source, heldout)
        if isinstance(example.shape, Object) and not any(key == "name" for key, _, _ in example.shape.fields):
            break
    cards = with_others((), frozenset(), source) or (any_card(source),)
    return Task("no call", example.text, cards, (), example.shape, example.value, instructions(source))


MAKERS: dict[str, Callable[[Source, bool], Need]] = {
    "weather": weather,
    "calculator": sum_of,
    "calendar": calendar,
    "database": database,
    "made up": made_up,
    "action": action,
    "two steps": two_steps,
    "error": error,
}
