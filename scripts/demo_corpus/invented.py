"""Invented kinds: `The barn Trill was painted by Ana Souza and holds 12 litres.` Each text has a kind and fields of its own.

A field is named after the words around its value (`painted_by`, `litres`, `barn_name`), in one of a few regular ways, so
that the model learns the ways and not the names. Half of the words are invented.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from demo_corpus.example import Example
from demo_corpus.frames import LEADS, TAILS
from demo_corpus.shapes import (
    BOOLEAN,
    DATE,
    INTEGER,
    NUMBER,
    STRING,
    TIME,
    Array,
    Nullable,
    Object,
    Shape,
    enum,
)
from demo_corpus.values import SlotValue, Source, article

KINDS = """barn boat bridge camera candle castle chair clock coat cottage desk drum engine farm fence field garden glove guitar
helmet island jacket kite ladder lamp lake mirror mountain needle novel oven painting pan piano pond printer radio river robot
rope sail saw shed ship shop spoon statue store stove sword table tent tower toy train truck tunnel van violin wagon wall
watch wheel window workshop yacht""".split()
VERBS = """paint clean test open rent check print sign plant repair design record edit host guard tune load pack inspect select
visit invent discover fix polish measure move park mount shape cover carve weld paste label copy approve cancel create export
finish import launch notice order plan prepare publish raise remove replace rescue restore save sort store trace train""".split()
ROLES = """captain guide chairman editor guard helper judge leader owner painter planner producer runner speaker sponsor student
supervisor trainer tutor buyer tenant landlord agent officer driver mayor ranger winner loser founder partner""".split()
UNITS = """metres litres grams hours days weeks months miles pages watts tons seconds degrees steps floors rooms windows points
votes tickets tables wheels doors chapters songs players workers visitors copies boxes bottles bricks""".split()
MEASURES = """height width length depth volume power speed range size age score capacity load value output strength""".split()
TRAITS = """heated open covered licensed automatic wooden portable public private certified renewable rare famous
fragile haunted waterproof flooded broken empty full locked registered tested lit guarded fenced sealed""".split()
CATEGORIES = """colour style material shape class grade season mood texture stage rank flavour pattern finish origin tone""".split()
OPTIONS = """red blue green black white plain striped round square flat oak steel stone glass silver gold summer winter spring
autumn calm wild loud quiet sweet sour salty bitter rough smooth early late junior senior bronze cotton wool paper modern classic
local foreign digital manual simple double single fresh frozen bright dark dry wet""".split()


Fields: TypeAlias = "list[tuple[str, object, Shape]]"


@dataclass(frozen=True)
class Fact:
    """A fact about the thing of a text.

    Attributes:
        fields: The keys that it fills, with the value and the shape of each.
        clause: The text after the name of the thing: `was painted by Ana`.
        phrase: The text in a list: `painted by Ana`.
    """

    fields: tuple[tuple[str, object, Shape], ...]
    clause: str
    phrase: str


Maker: TypeAlias = "Callable[[Source, str], Fact]"


def exercise(source: Source) -> Example:
    """Return one exercise: mostly about one thing, sometimes a list of things of one kind."""
    kind = word(source, KINDS)
    key = source.pick([kind, f"{kind}_name", "name", "title"])
    name = source.pick([kind.title(), kind.title(), source.type_name()])
    if source.chance(0.85):
        makers = source.rng.sample(MAKERS, source.rng.choice([1, 2, 2, 3, 3, 4]))
        text, fields = thing(source, kind, key, [make(source, kind) for make in makers])
        return Example(source.pick(LEADS) + text + source.pick(TAILS), *requested(source, name, fields))
    makes = [maker(source) for maker in source.rng.sample(REPEATED, source.rng.randint(1, 2))]
    texts, answers, shape = [], [], Object(name, ())
    for _ in range(source.rng.randint(2, 3)):
        text, fields = thing(source, kind, key, [make() for make in makes])
        texts.append(text)
        shape = Object(name, tuple((key, inner, "") for key, _, inner in fields))
        answers.append({key: value for key, value, _ in fields})
    return Example(source.pick([" ", "\n"]).join(texts), Array(shape), answers)


def thing(source: Source, kind: str, key: str, told: list[Fact]) -> tuple[str, Fields]:
    """Return the text about one thing, and all fields of which it has the value."""
    name = source.own(lambda: source.pick([source.word(1, 3).title(), source.title(), source.code()]))
    clauses, phrases = [each.clause for each in told], [each.phrase for each in told]
    subject = source.pick(
        [f"The {kind} {name}", f"The {kind} {name}", name, f"{name}, {article(kind)},", f"Our {kind} {name}"]
    )
    roll = source.rng.random()
    if roll < 0.35:
        text = f"{subject} {joined(clauses)}."
    elif roll < 0.6:
        text = f"{subject} {clauses[0]}." + "".join(f" It {each}." for each in clauses[1:])
    elif roll < 0.8:
        text = f"{name}{source.pick([': ', ' - ', ', '])}{', '.join(phrases)}."
    else:
        text = f"{article(kind).capitalize()} called {name}: {source.pick([', ', '; ']).join(phrases)}."
    fields: Fields = [(key, name, STRING)]
    for each in told:
        fields += [one for one in each.fields if one[0] not in {known for known, _, _ in fields}]
    return text, fields


def joined(clauses: list[str]) -> str:
    return clauses[0] if len(clauses) == 1 else ", ".join(clauses[:-1]) + " and " + clauses[-1]


def requested(source: Source, name: str, fields: Fields) -> tuple[Shape, dict[str, object]]:
    """Return a type that requests some of the fields in any order, and some that are missing; and the answer."""
    rng = source.rng
    chosen = rng.sample(fields, len(fields) if rng.random() < 0.5 else rng.randint(1, len(fields)))
    chosen = [(key, value, Nullable(shape) if rng.random() < 0.2 else shape) for key, value, shape in chosen]
    if rng.random() < 0.35:
        key, _, shape = rng.choice(rng.choice(MAKERS)(source, word(source, KINDS)).fields)
        if key not in {each for each, _, _ in fields}:
            chosen.insert(rng.randint(0, len(chosen)), (key, None, Nullable(shape)))
    return Object(name, tuple((key, shape, "") for key, _, shape in chosen)), {
        key: value for key, value, _ in chosen
    }


def word(source: Source, real: list[str]) -> str:
    return source.pick(real) if source.chance(0.5) else source.word(1, 2)


def past(verb: str) -> str:
    """Return the past form of a regular verb.

    >>> past("paint"), past("raise")
    ('painted', 'raised')
    """
    return verb + ("d" if verb.endswith("e") else "ed")


def done_by(source: Source, kind: str) -> Fact:
    done, person = past(word(source, VERBS)), source.name()
    key = source.pick([f"{done}_by", f"{done}_by", f"who_{done}_it", f"{done}_by_whom"])
    return Fact(((key, person, STRING),), f"was {done} by {person}", f"{done} by {person}")


def role(source: Source, kind: str) -> Fact:
    name, person = word(source, ROLES), source.name()
    clause = source.pick(
        [
            f"has the {name} {person}",
            f"has {person} as {name}",
            f"got a new {name}, {person}",
            f"belongs to the {name} {person}",
        ]
    )
    return Fact(
        ((source.pick([name, name, f"{kind}_{name}", f"{name}_name"]), person, STRING),),
        clause,
        f"{name} {person}",
    )


def done_on(source: Source, kind: str) -> Fact:
    done, day = past(word(source, VERBS)), source.day()
    key = source.pick([f"{done}_on", f"{done}_on", f"date_{done}", f"{done}_date"])
    return Fact(((key, day.value, DATE),), f"was {done} on {day.text}", f"{done} on {day.text}")


def done_in(source: Source, kind: str) -> Fact:
    done = past(word(source, VERBS))
    if source.chance(0.5):
        year = source.rng.randint(1900, 2030)
        key = source.pick([f"{done}_in", f"year_{done}", f"{done}_year"])
        return Fact(
            ((key, year, INTEGER),), f"was {done} in {year}", f"{done} {source.pick(['in ', ''])}{year}"
        )
    city = source.city()
    return Fact(
        ((source.pick([f"{done}_in", f"where_{done}"]), city, STRING),),
        f"was {done} in {city}",
        f"{done} in {city}",
    )


def at_time(source: Source, kind: str) -> Fact:
    verb, time = word(source, VERBS), source.clock()
    return Fact(
        ((source.pick([f"{verb}s_at", f"{verb}_time", f"{verb}s"]), time.value, TIME),),
        f"{verb}s at {time.text}",
        f"{verb}s at {time.text}",
    )


def between(source: Source, kind: str) -> Fact:
    verb, first, second = word(source, VERBS), source.city(), source.city()
    fields = ((f"{verb}s_from", first, STRING), (f"{verb}s_to", second, STRING))
    if source.chance(0.3):
        fields = (("from_place", first, STRING), ("to_place", second, STRING))
    return Fact(fields, f"{verb}s from {first} to {second}", f"from {first} to {second}")


def count(source: Source, kind: str) -> Fact:
    unit, number = counted(source), source.integer(0, source.pick_int((9, 99, 999, 9999, 99999)))
    key = source.pick([unit, unit, f"number_of_{unit}", f"{unit}_in_total", f"total_{unit}"])
    return Fact(
        ((key, number.value, INTEGER),),
        f"{source.pick(['has', 'needs', 'holds', 'takes', 'gets'])} {number.text} {unit}",
        f"{number.text} {unit}",
    )


def measure(source: Source, kind: str) -> Fact:
    name, unit = word(source, MEASURES), counted(source)
    drawn, shape = (
        (source.decimal(0, 90), NUMBER) if source.chance(0.5) else (source.integer(1, 9999), INTEGER)
    )
    key = source.pick([name, f"{name}_{unit}", f"{name}_in_{unit}", f"{kind}_{name}"])
    clause = source.pick(
        [
            f"has a {name} of {drawn.text} {unit}",
            f"needs {drawn.text} {unit} of {name}",
            f"reaches a {name} of {drawn.text}",
        ]
    )
    return Fact(
        ((key, drawn.value, shape),),
        clause,
        source.pick(
            [f"{name} {drawn.text} {unit}", f"{drawn.text} {unit} of {name}", f"{name} {drawn.text}"]
        ),
    )


def two_counts(source: Source, kind: str) -> Fact:
    unit = counted(source)
    first, second = source.rng.sample([word(source, OPTIONS) for _ in range(4)], 2)
    one, two = (source.integer(0, 99) for _ in range(2))
    fields = ((f"{first}_{unit}", one.value, INTEGER), (f"{second}_{unit}", two.value, INTEGER))
    return Fact(
        fields,
        f"has {one.text} {first} {unit} and {two.text} {second} {unit}",
        f"{first} {unit} {one.text}, {second} {unit} {two.text}",
    )


def trait(source: Source, kind: str) -> Fact:
    value = source.chance(0.5)
    if source.chance(0.4):
        done = past(word(source, VERBS))
        return Fact(
            ((f"can_be_{done}", value, BOOLEAN),),
            f"{'can' if value else 'cannot'} be {done}",
            f"{'can' if value else 'cannot'} be {done}",
        )
    name = word(source, TRAITS)
    return Fact(
        ((source.pick([name, name, f"is_{name}"]), value, BOOLEAN),),
        f"is {name if value else 'not ' + name}",
        name if value else f"not {name}",
    )


def category(source: Source, kind: str) -> Fact:
    name = word(source, CATEGORIES)
    options = list(dict.fromkeys(word(source, OPTIONS) for _ in range(source.rng.randint(3, 5))))
    value = source.rng.choice(options)
    shape = enum(options) if source.chance(0.7) else STRING
    clause = (
        source.pick([f"is {value}", f"has a {value} {name}"]) if shape != STRING else f"has a {value} {name}"
    )
    return Fact(((name, value, shape),), clause, value if shape != STRING else f"{name} {value}")


def called(source: Source, kind: str) -> Fact:
    name = word(source, [*ROLES, *KINDS])
    value = source.own(
        lambda: source.pick([source.word(1, 3).title(), source.company(), source.code(), source.title()])
    )
    clause = source.pick(
        [f"has a {name} called {value}", f"comes with the {name} {value}", f"belongs to the {name} {value}"]
    )
    return Fact(
        ((source.pick([name, f"{name}_name", f"{kind}_{name}"]), value, STRING),), clause, f"{name} {value}"
    )


def counted(source: Source) -> str:
    return source.pick(UNITS) if source.chance(0.5) else source.word(1, 2) + "s"


MAKERS: list[Maker] = [
    done_by,
    role,
    done_on,
    done_in,
    at_time,
    between,
    count,
    measure,
    two_counts,
    trait,
    category,
    called,
]


def repeated_count(source: Source) -> Callable[[], Fact]:
    unit = counted(source)

    def make() -> Fact:
        number: SlotValue = source.integer(0, 999)
        return Fact(((unit, number.value, INTEGER),), f"has {number.text} {unit}", f"{number.text} {unit}")

    return make


def repeated_person(source: Source) -> Callable[[], Fact]:
    done = past(word(source, VERBS))

    def make() -> Fact:
        person = source.name()
        return Fact(((f"{done}_by", person, STRING),), f"was {done} by {person}", f"{done} by {person}")

    return make


REPEATED = [repeated_count, repeated_person]
