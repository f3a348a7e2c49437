"""Generators of slot values, shared by many frames."""

from __future__ import annotations

from collections.abc import Callable

from demo_corpus.frames import Slot
from demo_corpus.shapes import BOOLEAN, DATE, DATETIME, INTEGER, NUMBER, STRING, TIME, Shape, enum
from demo_corpus.values import SlotValue, Source

Maker = Callable[[Source], SlotValue]


def plain(make: Callable[[Source], str]) -> Maker:
    """Return a generator of strings that the answer copies from the text."""

    def make_value(source: Source) -> SlotValue:
        text = make(source)
        return SlotValue(text, text)

    return make_value


def copied(keys: str, make: Callable[[Source], str], *comments: str, choice: bool = False) -> Slot:
    return Slot(keys, STRING, plain(make), comments, make if choice else None)


def person(keys: str, *comments: str) -> Slot:
    return copied(keys, Source.name, *comments)


def city(keys: str = "city town location place") -> Slot:
    return copied(keys, Source.city, "the city", choice=True)


def integer(keys: str, low: int, high: int, *comments: str) -> Slot:
    return Slot(keys, INTEGER, lambda source: source.integer(low, high), comments)


def money(keys: str, high: int = 200) -> Slot:
    return Slot(keys, NUMBER, lambda source: source.price(high), ("without the currency",))


def decimal(keys: str, low: float, high: float) -> Slot:
    return Slot(keys, NUMBER, lambda source: source.decimal(low, high))


def day(keys: str = "date day when on") -> Slot:
    return Slot(keys, DATE, Source.day, ("YYYY-MM-DD",))


def clock(keys: str = "time start start_time at hour") -> Slot:
    return Slot(keys, TIME, Source.clock)


def moment(keys: str) -> Slot:
    """Return a slot for a date and a time of day in one value."""

    def make(source: Source) -> SlotValue:
        date, time = source.day(), source.clock()
        return SlotValue(
            f"{date.text}{source.pick([' at ', ' at ', ', ', ' '])}{time.text}", f"{date.value}T{time.value}"
        )

    return Slot(keys, DATETIME, make)


def listed(keys: str, options: list[str], *comments: str) -> Slot:
    """Return a slot for a word of a short list, used literally in the text; the type may enumerate the list."""

    def shape(source: Source) -> Shape:
        if source.chance(0.4):
            return STRING
        chosen = list(options)
        if source.chance(0.4):
            source.rng.shuffle(chosen)
        return enum(chosen)

    return Slot(keys, shape, plain(lambda source: source.pick(options)), comments)


def judged(keys: str, cues: dict[str, Callable[[Source], str]]) -> Slot:
    """Return a slot for a word that the text implies: each option has a generator of phrases that imply it."""

    def make(source: Source) -> SlotValue:
        option = source.pick(list(cues))
        return SlotValue(cues[option](source), option)

    def shape(source: Source) -> Shape:
        options = list(cues)
        if source.chance(0.4):
            source.rng.shuffle(options)
        return enum(options)

    return Slot(keys, shape, make)


def flag(keys: str, yes: list[str], no: list[str]) -> Slot:
    """Return a slot for a boolean, with phrases for both values."""

    def make(source: Source) -> SlotValue:
        value = source.chance(0.5)
        return SlotValue(source.pick(yes if value else no), value)

    return Slot(keys, BOOLEAN, make)


def phrases(*options: str) -> Callable[[Source], str]:
    return lambda source: source.pick(options)
